use super::*;

const IDLE: StatusFlags = StatusFlags::AUTOCOMMIT;
const OPEN: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANS);
const READ_ONLY: StatusFlags = OPEN.union(StatusFlags::IN_TRANS_READONLY);
const MANUAL: StatusFlags = StatusFlags::empty();

/// The questions to a state.
fn told(tx: Tx) -> (bool, bool, bool) {
    (tx.surely_autocommits(), tx.surely_transacts(), tx.may_be_open())
}

fn ok(tx: Tx, status: StatusFlags) -> Tx {
    tx.answered(true, Some(status), false)
}

fn error(tx: Tx) -> Tx {
    tx.answered(true, None, true)
}

#[test]
fn flags_say_what_is_open_and_come_back_as_they_were() {
    for (status, expected) in [
        (IDLE, (true, false, false)),
        (OPEN, (false, true, true)),
        (READ_ONLY, (false, true, true)),
        // The next statement opens a transaction.
        (MANUAL, (false, true, false)),
        (StatusFlags::IN_TRANS, (false, true, true)),
    ] {
        let tx = Tx::new(status);
        assert_eq!((told(tx), tx.flags()), (expected, status));
        assert_eq!(ok(error(Tx::new(IDLE)), status), tx, "an answer with flags settles it");
    }
}

#[test]
fn an_error_leaves_open_what_is_open_and_keeps_its_flags() {
    for status in [IDLE, OPEN, READ_ONLY, MANUAL] {
        let tx = error(Tx::new(status));
        assert_eq!(told(tx), (false, false, status.contains(StatusFlags::IN_TRANS)));
        assert_eq!(tx.flags(), status);
        assert_eq!(error(tx), tx);
        assert_eq!(tx.answered(true, None, false), tx, "an answer without flags says nothing");
    }
}

#[test]
fn an_error_of_what_cannot_move_it_changes_nothing() {
    let tx = Tx::new(IDLE);
    assert_eq!(tx.answered(false, None, true), tx);
}

#[test]
fn flags_before_an_error_count_and_do_not_settle_it() {
    let tx = Tx::new(IDLE).answered(true, Some(OPEN), true);
    assert_eq!((told(tx), tx.flags()), ((false, false, true), OPEN));
}

#[test]
fn what_holds_for_one_transaction_alone_holds_until_the_server_says_otherwise() {
    let tx = Tx::new(IDLE).characterized(true);
    assert!(tx.next_differs() && tx.surely_autocommits());
    for later in [ok(tx, OPEN), error(tx), ok(ok(tx, OPEN), IDLE)] {
        assert!(later.next_differs());
        assert!(!later.characterized(false).next_differs());
    }
    assert_eq!(tx.characterized(false), Tx::new(IDLE));
}

#[test]
fn only_a_plain_statement_or_a_definition_surely_leaves_nothing_open() {
    let leaves = |status, effects: &Effects, facts: &StatementFacts| {
        Tx::new(status).leaves_nothing_open(effects, facts)
    };
    let (plain, none) = (Effects::none(), StatementFacts::default());
    assert!(leaves(IDLE, &plain, &none));
    assert!(!leaves(OPEN, &plain, &none) && !leaves(MANUAL, &plain, &none));
    assert!(!error(Tx::new(IDLE)).leaves_nothing_open(&plain, &none));
    let begins = Effects { transaction: TransactionEffect::Begins, ..Effects::none() };
    assert!(!leaves(IDLE, &begins, &none));
    assert!(!leaves(IDLE, &Effects { several: true, ..Effects::none() }, &none));
    assert!(!leaves(IDLE, &plain, &StatementFacts { may_commit: true, ..StatementFacts::default() }));
    let defines =
        Effects { is_definition: true, transaction: TransactionEffect::MayCommit, ..Effects::none() };
    assert!(leaves(IDLE, &defines, &none));
}
