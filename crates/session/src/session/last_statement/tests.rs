use freshet_sql::Effects;

use super::*;

fn hit(found_rows: Option<u32>) -> LastStatement {
    let mut last = LastStatement::default();
    last.note_hit(b"SELECT 1", found_rows);
    last
}

#[test]
fn a_hit_is_the_last_statement_until_a_command_leaves_counts_of_its_own() {
    let mut last = hit(Some(3));
    assert!(last.is_from_memory() && last.is_only_here() && !last.may_be_asked_for_rows());
    for command in [Command::Ping, Command::StmtReset, Command::StmtPrepare] {
        last.note_followed_by(command, false, false);
        assert!(last.is_from_memory() && last.was_pinged(), "{command:?}");
    }
    last.note_followed_by(Command::Query, false, true);
    assert!(!last.is_from_memory() && !last.is_only_here() && !last.was_pinged());
    assert!(last.has_hit() && last.may_be_asked_for_rows() && last.found().is_elsewhere);
    last.forget();
    assert!(!last.has_hit() && !last.may_be_asked_for_rows());
}

#[test]
fn a_refused_command_leaves_the_found_rows() {
    let mut last = hit(Some(3));
    last.note_refused();
    assert!(!last.is_from_memory() && last.may_be_asked_for_rows() && last.found().rows == Some(3));
    assert!(!last.found().is_elsewhere && last.has_hit());
}

#[test]
fn a_preparation_that_asks_back_is_a_statement_of_its_own() {
    let mut last = hit(None);
    last.note_prepared_there(b"\x16SELECT 1");
    last.note_followed_by(Command::StmtPrepare, false, false);
    assert!(last.take_prepared().is_some() && last.is_from_memory());
    last.note_followed_by(Command::StmtPrepare, true, false);
    assert!(!last.is_from_memory());
    last.note_prepared_there(b"\x16SELECT 2");
    assert!(last.take_prepared().is_none(), "only the preparation after an answer from memory is repeated");
}

#[test]
fn a_hit_replaces_all_that_the_statement_before_has_left() {
    let mut last = LastStatement::default();
    last.note_left_behind("SELECT 1 LIMIT 0".to_owned(), 0, Some(7));
    assert!(last.is_from_memory() && last.row_count() == Some(7) && last.found().rows == Some(0));
    last.note_ping();
    let packet = [Command::StmtExecute.byte(), 9, 9, 9, 9, 0];
    last.note_hit(&packet, Some(2));
    assert!(last.row_count().is_none() && !last.was_pinged() && last.found().rows == Some(2));
    let prepared = Arc::new(Prepared::new(5, 0, Effects::none()));
    last.note_execution_of(&prepared);
    assert_eq!(last.hit(), [Command::StmtExecute.byte(), 5, 0, 0, 0, 0]);
    last.note_hit(b"SELECT 2", None);
    assert!(last.hit_of().is_none() && last.hit() == b"SELECT 2" && last.found().rows.is_none());
}

#[test]
fn what_leaves_nothing_keeps_the_hit_before_it() {
    let mut last = hit(Some(1));
    last.note_nothing_left();
    assert!(last.is_from_memory() && last.take_row_count() == Some(0) && last.row_count().is_none());
    last.note_nothing_left();
    last.note_followed_by(Command::Ping, false, false);
    assert_eq!(last.row_count(), Some(0), "a ping leaves the counts");
    last.note_followed_by(Command::Query, false, false);
    assert!(last.row_count().is_none());
}
