use freshet_sql::Isolation;

use super::*;

const OPEN: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANS);

fn begun() -> Transaction {
    let mut transaction = Transaction::new(StatusFlags::AUTOCOMMIT);
    let said = Characteristics { isolation: Some(Isolation::RepeatableRead), ..Characteristics::default() };
    transaction.begun_here(false, Some(Manner::Shared), said);
    transaction
}

fn opened() -> Transaction {
    let mut transaction = begun();
    transaction.view_mut().opened(Position::ZERO, 0);
    transaction
}

#[test]
fn a_transaction_that_ends_has_no_reads_left() {
    let none = |transaction: &Transaction| transaction.view().manner().is_none();
    let mut ended = begun();
    ended.ended_here();
    assert!(none(&ended) && ended.surely_autocommits());
    let mut rolled_back = opened();
    assert!(!rolled_back.rolled_back(Some(StatusFlags::AUTOCOMMIT), false));
    assert!(none(&rolled_back) && rolled_back.surely_autocommits());
    let mut answered = opened();
    answered.answered(true, Some(StatusFlags::AUTOCOMMIT), false);
    answered.has_read(true, false);
    assert!(none(&answered) && answered.surely_autocommits());
    let mut taken_back = Transaction::new(StatusFlags::AUTOCOMMIT);
    let before = taken_back.before_begin();
    taken_back.begun_here(true, Some(Manner::Each), Characteristics::default());
    taken_back.taken_back(before);
    assert!(none(&taken_back) && taken_back.surely_autocommits());
}

#[test]
fn the_next_transaction_of_a_chain_reads_like_the_one_before() {
    let mut transaction = opened();
    let said = transaction.view().said();
    transaction.chained_here();
    assert_eq!((transaction.view().manner(), transaction.view().said()), (Some(Manner::Shared), said));
    assert!(transaction.view().is_unopened() && transaction.begun().is_some());
}

#[test]
fn reads_begin_only_with_a_transaction_that_the_server_has_begun() {
    let mut transaction = Transaction::new(StatusFlags::AUTOCOMMIT);
    assert!(!transaction.note_begun_at_server(Manner::Shared, Characteristics::default()));
    assert!(!transaction.note_begun_with_view(Some(Manner::Shared), Position::ZERO, 0));
    assert!(transaction.view().manner().is_none());
    transaction.answered(true, Some(OPEN), false);
    assert!(transaction.note_begun_with_view(Some(Manner::Shared), Position::ZERO, 0));
    assert!(transaction.view().is_shared_view() && transaction.is_open());
    assert!(transaction.note_begun_at_server(Manner::Each, Characteristics::default()));
    assert!(transaction.view().manner() == Some(Manner::Each) && transaction.begun().is_some());
}

#[test]
fn a_statement_that_fails_unread_keeps_what_is_known_of_the_reads() {
    let failed = |is_other: bool, is_unread: bool| {
        let mut transaction = opened();
        transaction.answered(true, Some(OPEN), true);
        transaction.has_read(is_other, is_unread);
        (transaction.begun().is_some(), transaction.view().is_known())
    };
    assert_eq!(failed(false, true), (true, true));
    assert_eq!(failed(false, false), (false, false));
    let mut goes_on = opened();
    goes_on.answered(false, Some(OPEN), false);
    goes_on.has_read(false, false);
    assert!(goes_on.view().is_known());
    goes_on.has_read(true, false);
    assert!(!goes_on.view().is_known(), "anything may have happened");
    let mut refused = begun();
    refused.has_read_anything();
    assert!(!refused.view().is_known());
}
