use super::*;

fn gtid(domain: u32, server: u32, seq: u64) -> Gtid {
    Gtid::MariaDb { domain, server, seq }
}

#[test]
fn mariadb_gtids_are_awaited_then_applied() {
    let mut executed = AppliedGtids::mariadb();
    assert_eq!(executed.known(&gtid(0, 1, 5)), GtidFate::Awaited);
    executed.add(&gtid(0, 1, 5));
    assert_eq!(executed.known(&gtid(0, 1, 5)), GtidFate::Applied);
    assert_eq!(executed.known(&gtid(0, 1, 6)), GtidFate::Awaited);
    assert_eq!(executed.known(&gtid(7, 1, 1)), GtidFate::Awaited, "domains are independent");
}

#[test]
fn a_lower_number_that_was_not_seen_proves_nothing() {
    let mut executed = AppliedGtids::mariadb();
    executed.add(&gtid(0, 1, 5));
    assert_eq!(executed.known(&gtid(0, 1, 4)), GtidFate::Unreliable);
    assert_eq!(executed.known(&gtid(0, 2, 5)), GtidFate::Unreliable, "another server's");
}

#[test]
fn a_domain_whose_numbers_go_back_is_never_believed_again() {
    let mut executed = AppliedGtids::mariadb();
    executed.add(&gtid(0, 1, 5));
    executed.add(&gtid(0, 1, 3));
    executed.add(&gtid(0, 1, 9));
    for seq in [3, 5, 9, 10] {
        assert_eq!(executed.known(&gtid(0, 1, seq)), GtidFate::Unreliable, "{seq}");
    }
}

#[test]
fn the_memory_is_bounded() {
    let mut executed = AppliedGtids::mariadb();
    for seq in 1..=(RECENT_MAX as u64 + 10) {
        executed.add(&gtid(0, 1, seq));
    }
    assert_eq!(executed.known(&gtid(0, 1, 1)), GtidFate::Unreliable);
    assert_eq!(executed.known(&gtid(0, 1, 11)), GtidFate::Applied);
    let mut executed = AppliedGtids::mariadb();
    for domain in 0..=DOMAINS_MAX as u32 {
        executed.add(&gtid(domain, 1, 1));
    }
    assert_eq!(executed.known(&gtid(DOMAINS_MAX as u32, 1, 1)), GtidFate::Unreliable);
}

#[test]
fn flavours_do_not_mix() {
    let executed = AppliedGtids::MySql(GtidSet::default());
    assert_eq!(executed.known(&gtid(0, 1, 1)), GtidFate::Unreliable);
    assert_eq!(AppliedGtids::Untold.known(&gtid(0, 1, 1)), GtidFate::Unreliable);
}
