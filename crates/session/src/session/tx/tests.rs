use freshet_sql::Isolation;

use super::*;

const IDLE: StatusFlags = StatusFlags::AUTOCOMMIT;
const OPEN: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANS);
const READ_ONLY: StatusFlags = OPEN.union(StatusFlags::IN_TRANS_READONLY);
const MANUAL: StatusFlags = StatusFlags::empty();

const READ_ONLY_NEXT: Characteristics = Characteristics { isolation: None, read_only: Some(true) };

/// The questions to a state.
fn told(tx: &Tx) -> (bool, bool, bool) {
    (tx.surely_autocommits(), tx.surely_transacts(), tx.may_be_open())
}

fn after(mut tx: Tx, happens: impl FnOnce(&mut Tx)) -> Tx {
    happens(&mut tx);
    tx
}

fn ok(tx: Tx, status: StatusFlags) -> Tx {
    after(tx, |tx| tx.answered(true, Some(status), false))
}

fn error(tx: Tx) -> Tx {
    after(tx, |tx| tx.answered(true, None, true))
}

fn begun_here() -> Tx {
    after(Tx::new(IDLE), |tx| tx.begun_here(false))
}

fn begun_at_server() -> Tx {
    after(Tx::new(READ_ONLY), |tx| assert!(tx.note_begun_at_server()))
}

fn anew(is_explicit: bool, is_read_only: bool, is_at_server: bool) -> Option<Begun> {
    Some(Begun { is_explicit, is_read_only, is_at_server })
}

/// Each stage, with all that can be told of the next transaction and of the server.
fn each() -> [Tx; 6] {
    [
        Tx::new(IDLE),
        Tx::new(MANUAL),
        begun_here(),
        begun_at_server(),
        Tx::new(OPEN),
        error(Tx::new(READ_ONLY)),
    ]
    .map(|tx| {
        after(tx, |tx| {
            tx.characterized(true);
            tx.characterized_here(READ_ONLY_NEXT);
            tx.left_behind(Standing { savepoint: true, open_tables: true });
        })
    })
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
        assert_eq!((told(&tx), tx.flags()), (expected, status));
        for earlier in each() {
            let standing = earlier.standing;
            let next = Next { autocommits: tx.autocommits(), ..earlier.next };
            let settled = Tx { stage: tx.stage, next, standing };
            assert_eq!(ok(earlier, status), settled, "an answer with flags settles it");
        }
    }
}

#[test]
fn an_answer_without_flags_says_nothing() {
    for (tx, same) in each().into_iter().zip(each()) {
        assert_eq!(after(tx, |tx| tx.answered(true, None, false)), same);
    }
}

#[test]
fn an_error_leaves_open_what_is_open_and_keeps_its_flags() {
    for tx in each() {
        let (flags, next, standing) = (tx.flags(), tx.next, tx.standing);
        let tx = error(tx);
        assert_eq!(tx, Tx { stage: Stage::Unclear { before: flags }, next, standing });
        assert_eq!(told(&tx), (false, false, flags.contains(StatusFlags::IN_TRANS)));
        assert_eq!(tx.flags(), flags);
        assert_eq!(error(tx), Tx { stage: Stage::Unclear { before: flags }, next, standing });
    }
}

#[test]
fn flags_before_an_error_count_and_do_not_settle_it() {
    let tx = after(Tx::new(IDLE), |tx| tx.answered(true, Some(OPEN), true));
    assert_eq!((told(&tx), tx.flags()), ((false, false, true), OPEN));
}

#[test]
fn an_error_of_what_cannot_move_it_changes_nothing() {
    for (tx, same) in each().into_iter().zip(each()) {
        assert_eq!(after(tx, |tx| tx.answered(false, None, true)), same);
    }
    for (tx, same) in each().into_iter().zip(each()) {
        let told = after(tx, |tx| tx.answered(false, Some(OPEN), true));
        assert_eq!(told, ok(same, OPEN), "flags before the error count");
    }
}

#[test]
fn what_holds_for_one_transaction_alone_holds_until_the_server_says_otherwise() {
    let differing = || after(Tx::new(IDLE), |tx| tx.characterized(true));
    assert!(differing().next_differs() && differing().surely_autocommits());
    for later in [ok(differing(), OPEN), error(differing()), ok(ok(differing(), OPEN), IDLE)] {
        assert!(later.next_differs());
        assert!(!after(later, |tx| tx.characterized(false)).next_differs());
    }
    assert_eq!(after(differing(), |tx| tx.characterized(false)), Tx::new(IDLE));
}

#[test]
fn what_is_said_of_the_next_transaction_here_adds_up_until_the_server_is_told() {
    let isolation = Some(Isolation::ReadCommitted);
    let tx = after(Tx::new(IDLE), |tx| {
        tx.characterized_here(READ_ONLY_NEXT);
        tx.characterized_here(Characteristics { isolation, read_only: None });
    });
    assert_eq!(tx.said(), Characteristics { isolation, read_only: Some(true) });
    assert!(tx.surely_autocommits() && !tx.next_differs());
    let tx = after(tx, Tx::passed_on);
    assert_eq!(tx, after(Tx::new(IDLE), |tx| tx.characterized(true)));
}

#[test]
fn what_begins_here_is_at_the_server_if_it_was() {
    for tx in each() {
        let was_there = tx.begun().is_some_and(|begun| begun.is_at_server);
        let (autocommits, standing) = (tx.autocommits(), tx.standing());
        let tx = after(tx, |tx| tx.begun_here(true));
        assert_eq!(tx.begun(), anew(true, true, was_there));
        assert!(tx.said().is_empty() && tx.next_differs(), "it is said of this transaction now");
        assert_eq!((tx.autocommits(), tx.standing()), (autocommits, standing));
        assert_eq!((tx.surely_transacts(), tx.may_be_open_at_server()), (true, was_there));
        assert!(tx.flags().contains(StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY));
    }
}

#[test]
fn an_answer_from_memory_begins_a_transaction_by_itself() {
    let said = after(Tx::new(MANUAL), |tx| tx.characterized_here(READ_ONLY_NEXT));
    let tx = after(said, |tx| tx.begun_by_itself(true));
    assert_eq!((tx.begun(), tx.said()), (anew(false, true, false), Characteristics::default()));
    assert!(!tx.begins_by_itself() && !tx.may_be_open_at_server());
}

#[test]
fn what_was_begun_here_ends_here() {
    assert_eq!(after(begun_here(), Tx::ended_here), Tx::new(IDLE));
    let by_itself = after(Tx::new(MANUAL), |tx| tx.begun_by_itself(false));
    assert_eq!(after(by_itself, Tx::ended_here), Tx::new(MANUAL));
}

#[test]
fn the_next_of_a_chain_is_as_the_one_before_and_begun_by_a_statement() {
    assert_eq!(after(begun_at_server(), Tx::chained_here).begun(), anew(true, true, true));
    let by_itself = after(Tx::new(MANUAL), |tx| tx.begun_by_itself(true));
    assert_eq!(after(by_itself, Tx::chained_here).begun(), anew(true, true, false));
}

#[test]
fn only_an_open_transaction_can_have_been_begun_at_the_server() {
    for (tx, same) in each().into_iter().zip(each()) {
        let (was_open, is_read_only) = (tx.is_open(), tx.flags().contains(StatusFlags::IN_TRANS_READONLY));
        let tx = after(tx, |tx| assert_eq!(tx.note_begun_at_server(), was_open));
        let expected = if was_open { anew(true, is_read_only, true) } else { same.begun() };
        assert_eq!(tx.begun(), expected);
        assert!(was_open || tx == same);
    }
    assert_eq!(begun_at_server().begun(), anew(true, true, true));
}

#[test]
fn only_after_an_error_a_transaction_can_turn_out_to_be_unread() {
    for (tx, same) in each().into_iter().zip(each()) {
        let is_unclear = matches!(tx.stage(), Stage::Unclear { .. });
        let tx = after(tx, Tx::found_unread);
        assert_eq!(tx.begun(), if is_unclear { anew(true, true, true) } else { same.begun() });
        assert!(is_unclear || tx == same);
    }
}

#[test]
fn a_statement_that_touches_nothing_leaves_a_transaction_begun() {
    let begun = Begun { is_explicit: false, is_read_only: true, is_at_server: true };
    for tx in each() {
        let tx = after(tx, |tx| tx.left_untouched(begun));
        assert_eq!((tx.begun(), tx.said()), (Some(begun), Characteristics::default()));
    }
}

#[test]
fn a_begun_transaction_that_is_not_entered_is_where_the_flags_say() {
    for (last, is_at_server) in [(None, false), (Some(OPEN), true), (Some(IDLE), false)] {
        assert_eq!(after(begun_here(), |tx| tx.not_entered(last)).begun(), anew(true, false, is_at_server));
        for (tx, same) in each().into_iter().zip(each()).filter(|(tx, _)| tx.begun().is_none()) {
            assert_eq!(after(tx, |tx| tx.not_entered(last)), same);
        }
    }
    assert_eq!(after(begun_at_server(), |tx| tx.not_entered(None)).begun(), anew(true, true, true));
}

#[test]
fn what_is_taken_back_has_never_begun() {
    for (mut tx, same) in each().into_iter().zip(each()) {
        let before = tx.before_begin();
        tx.begun_here(true);
        tx.not_entered(Some(OPEN));
        tx.taken_back(before);
        assert_eq!(tx, same, "what was said is said again, too");
    }
}

#[test]
fn what_a_statement_leaves_stands_until_the_server_ends_the_transaction() {
    let (savepoint, open_tables) =
        (Standing { savepoint: true, open_tables: false }, Standing { savepoint: false, open_tables: true });
    for status in [MANUAL, OPEN] {
        let tx = after(Tx::new(status), |tx| tx.left_behind(savepoint));
        assert_eq!(tx.standing(), savepoint);
        let tx = after(tx, |tx| tx.left_behind(open_tables));
        assert_eq!(tx.standing(), Standing { savepoint: true, open_tables: true });
        assert_eq!(after(tx, Tx::completed_at_server), Tx::new(status));
    }
    let committed = ok(after(Tx::new(OPEN), |tx| tx.left_behind(savepoint)), IDLE);
    assert_eq!(
        after(committed, |tx| tx.left_behind(open_tables)),
        Tx::new(IDLE),
        "each statement ends its own"
    );
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

#[test]
fn autocommit_that_is_set_here_is_like_the_servers() {
    for (flags, autocommits) in [(IDLE, false), (MANUAL, true)] {
        let set = after(Tx::new(flags), |tx| tx.autocommit_set_here(autocommits));
        assert_eq!(set, Tx::new(if autocommits { IDLE } else { MANUAL }));
    }
}
