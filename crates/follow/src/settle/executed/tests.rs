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

#[test]
fn what_a_snapshot_shows_of_mysql_is_what_is_executed_or_owned() {
    let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let mut executed = AppliedGtids::MySql(GtidSet::parse(format!("{uuid}:1-5").as_bytes()).unwrap());
    let shown = |owned: &str, done: &str| {
        let answers = [owned, done].map(|text| text.replace('U', uuid).into_bytes());
        ShownGtids::read(false, &answers).unwrap()
    };
    assert!(executed.have_all(&shown("", "U:1-5"), 0));
    assert!(!executed.have_all(&shown("", "U:1-6"), 0));
    assert!(
        !executed.have_all(&shown("U:6#18:7#19,\nU:t:5#20", "U:1-5"), 0),
        "they are about to be executed"
    );
    for gtid in GtidSet::parse(format!("{uuid}:6-7,{uuid}:t:5").as_bytes()).unwrap().iter() {
        assert!(!executed.have_all(&shown("U:6#18:7#19,\nU:t:5#20", "U:1-5"), 0));
        executed.add(&gtid);
    }
    assert!(executed.have_all(&shown("U:6#18:7#19,\nU:t:5#20", "U:1-5"), 0));
    assert_eq!(ShownGtids::read(false, &[vec![], vec![]]), None, "it has no GTIDs");
}

#[test]
fn what_a_snapshot_shows_of_mariadb_is_what_was_logged() {
    let mut executed = AppliedGtids::mariadb();
    let shown = |text: &str| ShownGtids::read(true, &[text.as_bytes().to_vec()]).unwrap();
    assert!(!executed.have_all(&shown("0-1-5"), 0), "nothing is known of the domain");
    executed.add(&gtid(0, 1, 5));
    assert!(executed.have_all(&shown("0-1-5"), 0));
    assert!(!executed.have_all(&shown("0-1-6"), 0));
    assert!(!executed.have_all(&shown("0-2-5"), 0), "another server's");
    assert!(!executed.have_all(&shown("0-1-5,1-1-1"), 0), "another domain");
    let since = executed.count();
    executed.add(&gtid(0, 1, 6));
    executed.add(&gtid(0, 1, 7));
    assert!(executed.have_all(&shown("0-1-5"), since) && executed.have_all(&shown("0-1-6"), since));
    assert!(!executed.have_all(&shown("0-1-6"), executed.count()), "a number that was used before");
    executed.add(&gtid(0, 1, 6));
    assert!(!executed.have_all(&shown("0-1-6"), 0), "the domain is not believed any more");
    assert_eq!(ShownGtids::read(true, &[vec![]]), None);
}
