use super::*;

fn at(raw: u64) -> Position {
    Position::new(raw)
}

fn gtid(seq: u64) -> Gtid {
    Gtid::MariaDb { domain: 0, server: 1, seq }
}

/// Returns a stream whose start is visible.
fn unseen() -> Unseen {
    let mut unseen = Unseen::since(at(5));
    unseen.seen(at(5));
    unseen
}

#[test]
fn what_is_acknowledged_is_visible_whichever_comes_first() {
    let mut unseen = unseen();
    unseen.applied(Some(&gtid(1)), at(10), false);
    assert_eq!(unseen.visible(), None);
    unseen.acknowledged(&gtid(1));
    assert_eq!(unseen.visible(), Some(at(10)));
    unseen.applied(Some(&gtid(2)), at(20), true);
    assert_eq!(unseen.visible(), Some(at(20)));
    assert_eq!(unseen.visible(), None);
}

#[test]
fn a_position_is_visible_when_all_before_it_are() {
    let mut unseen = unseen();
    for seq in 1..=3 {
        unseen.applied(Some(&gtid(seq)), at(seq * 10), false);
    }
    unseen.acknowledged(&gtid(3));
    unseen.acknowledged(&gtid(2));
    assert_eq!(unseen.visible(), None);
    unseen.acknowledged(&gtid(1));
    assert_eq!(unseen.visible(), Some(at(30)));
}

#[test]
fn what_nobody_acknowledges_waits_for_the_server_s_word() {
    let mut unseen = Unseen::since(at(5));
    unseen.applied(Some(&gtid(1)), at(10), true);
    assert_eq!(unseen.visible(), None, "the start is not known to be visible");
    unseen.applied(None, at(20), false);
    unseen.applied(Some(&gtid(3)), at(30), true);
    unseen.seen(at(19));
    assert_eq!(unseen.visible(), None);
    unseen.seen(at(20));
    assert_eq!(unseen.visible(), Some(at(30)));
}

#[test]
fn too_many_wait_together() {
    let mut unseen = unseen();
    let last = UNSEEN_MAX as u64 + 9;
    for seq in 1..=last {
        unseen.applied(Some(&gtid(seq)), at(seq * 10), false);
    }
    for seq in 1..=last {
        unseen.acknowledged(&gtid(seq));
    }
    assert_eq!(unseen.waiting.len(), UNSEEN_MAX);
    assert_eq!(unseen.visible(), Some(at((UNSEEN_MAX as u64 - 1) * 10)));
    assert_eq!(unseen.visible(), None);
    unseen.applied(Some(&gtid(last + 1)), at(last * 10 + 10), true);
    assert_eq!(unseen.visible(), None, "some of them may not be visible");
    unseen.seen(at(last * 10));
    assert_eq!(unseen.visible(), Some(at(last * 10 + 10)));
}
