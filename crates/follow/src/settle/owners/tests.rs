use super::*;

fn at(raw: u64) -> Position {
    Position::new(raw)
}

fn gtid(seq: u64) -> Gtid {
    Gtid::MariaDb { domain: 0, server: 1, seq }
}

fn owners(judged: u64, foreign: u64) -> Owners {
    Owners { judged: at(judged), foreign: at(foreign) }
}

#[test]
fn what_is_acknowledged_is_own_whichever_comes_first() {
    let mut judging = Judging::since(at(5));
    assert_eq!(judging.owners(at(5), 0), owners(5, 5), "all before the start is foreign");
    judging.applied(Some(&gtid(1)), at(10), false, 100);
    assert_eq!(judging.owners(at(10), 100), owners(5, 5));
    judging.acknowledged(&gtid(1));
    assert_eq!(judging.owners(at(10), 100), owners(10, 5));
    judging.applied(Some(&gtid(2)), at(20), true, 100);
    assert_eq!(judging.owners(at(24), 100), owners(24, 5), "what is no transaction is nobody's");
}

#[test]
fn what_nobody_is_told_of_is_foreign_after_a_while() {
    let mut judging = Judging::since(at(5));
    judging.applied(Some(&gtid(1)), at(10), false, 100);
    judging.applied(Some(&gtid(2)), at(20), true, 100);
    assert_eq!(judging.owners(at(20), 99 + ACKNOWLEDGED_MS_MAX), owners(5, 5), "it is judged in its turn");
    assert_eq!(judging.owners(at(20), 100 + ACKNOWLEDGED_MS_MAX), owners(20, 10));
    judging.acknowledged(&gtid(1));
    assert_eq!(judging.owners(at(20), 200), owners(20, 10), "too late");
}

#[test]
fn what_has_no_name_is_foreign_at_once() {
    let mut judging = Judging::since(at(5));
    judging.applied(None, at(10), false, 100);
    assert_eq!(judging.owners(at(10), 100), owners(10, 10));
}

#[test]
fn too_many_are_not_awaited() {
    let mut judging = Judging::since(at(5));
    for seq in 1..=AWAITED_MAX as u64 + 2 {
        judging.applied(Some(&gtid(seq)), at(10 * seq), false, 100);
    }
    assert_eq!(judging.owners(at(u64::MAX), 100), owners(20, 20));
}
