use freshet_sql::{TableName, Temporary, TransactionEffect, Writes};

use super::super::temporary::Existence;
use super::super::tx::Standing;
use super::*;

fn state() -> State {
    State::new(StatusFlags::AUTOCOMMIT, Locals::default(), None)
}

fn creates(name: TableName) -> Effects {
    Effects { temporary: Temporary::Creates(vec![name]), ..Effects::none() }
}

#[test]
fn a_temporary_table_counts_from_its_creations_attempt_until_its_drops_success() {
    let mut state = state();
    let creation = creates(TableName::of("d", "t"));
    state.ran(&creation, false);
    assert!(state.hidden.tables().shadow("d", "t"));
    assert!(state.hidden.tables().shadow("D", "T"), "the server may not tell them apart");
    assert!(!state.hidden.tables().surely_shadow("d", "t"), "the creation may fail");
    state.ran(&creation, true);
    assert!(state.hidden.tables().surely_shadow("d", "t"));
    assert!(!state.hidden.tables().surely_shadow("D", "T"));
    assert!(!state.hidden.tables().shadow("d", "u"));
    let drops = Effects { temporary: Temporary::Drops(vec![TableName::of("d", "t")]), ..Effects::none() };
    state.ran(&drops, false);
    assert!(state.hidden.tables().shadow("d", "t"), "the drop may fail");
    assert!(!state.hidden.tables().surely_shadow("d", "t"), "the drop may succeed");
    state.ran(&drops, true);
    assert!(state.hidden.tables().are_none());
}

#[test]
fn a_procedure_may_hide_any_table() {
    let mut state = state();
    state.ran(&Effects { temporary: Temporary::Unknown, ..Effects::none() }, false);
    assert!(state.hidden.tables().is_open("any", "table"));
    assert!(state.hidden.tables().shadow("any", "table"));
    assert!(!state.hidden.tables().surely_shadow("any", "table"));
}

#[test]
fn locks_are_in_force_from_the_attempt_until_unlock_succeeds() {
    let mut state = state();
    state.ran(&Effects { locks_tables: Some(true), ..Effects::none() }, false);
    assert!(state.locks.are_in_force());
    let unlock = Effects { locks_tables: Some(false), ..Effects::none() };
    state.ran(&unlock, false);
    assert!(state.locks.are_in_force());
    state.ran(&unlock, true);
    assert!(!state.locks.are_in_force());
}

#[test]
fn only_the_sessions_own_flags_are_put_into_answers_from_memory() {
    let mut state = state();
    let session = StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANS | StatusFlags::ANSI_QUOTES;
    let status = session | StatusFlags::NO_INDEX | StatusFlags::MORE_RESULTS;
    state.answered(true, Some(status), false);
    assert_eq!(state.status_for_answers(), session);
    assert!(!state.tx.surely_autocommits());
}

#[test]
fn nothing_stands_at_the_server_after_a_rollback_that_has_succeeded_and_begun_nothing() {
    let standing = Standing { savepoint: true, open_tables: true };
    for autocommits in [StatusFlags::AUTOCOMMIT, StatusFlags::empty()] {
        let open = autocommits | StatusFlags::IN_TRANS;
        let rolled_back = |status, failed| {
            let mut state = state();
            state.answered(true, Some(open), false);
            state.tx.left_behind(standing);
            state.note_rolled_back(status, failed);
            (state.tx.stage(), state.tx.standing())
        };
        let is_open = Stage::Open { is_read_only: false };
        assert_eq!(rolled_back(Some(autocommits), false), (Stage::None, Standing::default()));
        assert_eq!(rolled_back(Some(open), false), (is_open, standing), "another has begun");
        assert_eq!(rolled_back(None, true), (Stage::Unclear { before: open }, standing));
        assert_eq!(rolled_back(Some(autocommits), true).1, standing, "flags come before an error");
    }
}

#[test]
fn a_definition_may_rename_a_temporary_table() {
    let rename = Effects {
        writes: Writes::Tables(vec![TableName::of("d", "t"), TableName::of("d", "u")]),
        transaction: TransactionEffect::MayCommit,
        ..Effects::none()
    };
    let mut without = state();
    without.ran(&rename, true);
    assert!(without.hidden.tables().are_none());
    let mut with = state();
    with.ran(&creates(TableName::of("d", "t")), true);
    with.ran(&rename, true);
    assert!(with.hidden.tables().is_open("d", "t"));
}

fn open(state: &State, name: &str) -> (bool, bool) {
    (state.hidden.tables().shadow("d", name), state.hidden.tables().is_open("d", name))
}

#[test]
fn what_the_server_said_holds_until_unknown_code_runs_again() {
    let mut state = state();
    let unknown = Effects { temporary: Temporary::Unknown, ..Effects::none() };
    state.ran(&unknown, true);
    assert_eq!(open(&state, "t"), (true, true));
    assert!(!state.hidden.tables_mut().is_worth_asking(false), "the first read");
    assert!(state.hidden.tables_mut().is_worth_asking(false), "the second");
    state.hidden.tables_mut().learned("d", "t", Existence::Absent);
    state.hidden.tables_mut().learned("d", "u", Existence::Untold);
    assert_eq!(open(&state, "t"), (false, false));
    assert_eq!(open(&state, "u"), (true, false), "it is not asked again");
    assert_eq!(open(&state, "T"), (true, true), "that may be another table");
    assert!(!state.hidden.tables().are_none(), "there may be others");
    state.ran(&unknown, true);
    assert_eq!(open(&state, "t"), (true, true));
    assert!(state.hidden.tables().suspect_locks());
}

#[test]
fn a_creation_puts_in_doubt_what_is_called_the_same_in_another_case() {
    let mut state = state();
    state.ran(&creates(TableName::of("d", "t")), false);
    state.hidden.tables_mut().learned("d", "t", Existence::Absent);
    assert!(state.hidden.tables().are_none());
    state.ran(&creates(TableName::of("d", "T")), true);
    assert_eq!(open(&state, "t"), (true, true));
    assert_eq!(open(&state, "T"), (true, false));
    let drops = Effects { temporary: Temporary::Drops(vec![TableName::of("d", "t")]), ..Effects::none() };
    state.ran(&drops, true);
    assert!(!state.hidden.tables().surely_shadow("d", "T"), "it may be gone");
}
