use freshet_sql::TableName;

use super::*;

fn state() -> State {
    State::new(StatusFlags::AUTOCOMMIT)
}

fn creates(name: TableName) -> Effects {
    Effects { temporary: Temporary::Creates(vec![name]), ..Effects::none() }
}

#[test]
fn a_temporary_table_counts_from_its_creations_attempt_until_its_drops_success() {
    let mut state = state();
    let creation = creates(TableName::of("d", "t"));
    state.ran(&creation, false);
    assert!(state.temporary.shadow("d", "t"));
    assert!(state.temporary.shadow("D", "T"), "the server may not tell them apart");
    assert!(!state.temporary.surely_shadow("d", "t"), "the creation may fail");
    state.ran(&creation, true);
    assert!(state.temporary.surely_shadow("d", "t"));
    assert!(!state.temporary.surely_shadow("D", "T"));
    assert!(!state.temporary.shadow("d", "u"));
    let drops = Effects { temporary: Temporary::Drops(vec![TableName::of("d", "t")]), ..Effects::none() };
    state.ran(&drops, false);
    assert!(state.temporary.shadow("d", "t"), "the drop may fail");
    assert!(!state.temporary.surely_shadow("d", "t"), "the drop may succeed");
    state.ran(&drops, true);
    assert!(state.temporary.is_empty());
}

#[test]
fn a_procedure_may_hide_any_table() {
    let mut state = state();
    state.ran(&Effects { temporary: Temporary::Unknown, ..Effects::none() }, false);
    assert!(matches!(state.temporary, TemporaryTables::Unknown));
    assert!(state.temporary.shadow("any", "table"));
    assert!(!state.temporary.surely_shadow("any", "table"));
}

#[test]
fn locks_are_in_force_from_the_attempt_until_unlock_succeeds() {
    let mut state = state();
    state.ran(&Effects { locks_tables: Some(true), ..Effects::none() }, false);
    assert!(state.locked);
    let unlock = Effects { locks_tables: Some(false), ..Effects::none() };
    state.ran(&unlock, false);
    assert!(state.locked);
    state.ran(&unlock, true);
    assert!(!state.locked);
}

#[test]
fn only_the_sessions_own_flags_are_put_into_answers_from_memory() {
    let mut state = state();
    state.status |= StatusFlags::NO_INDEX | StatusFlags::MORE_RESULTS | StatusFlags::IN_TRANS;
    assert_eq!(state.status_for_answers(), StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANS);
    assert!(!state.autocommits());
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
    assert!(without.temporary.is_empty());
    let mut with = state();
    with.ran(&creates(TableName::of("d", "t")), true);
    with.ran(&rename, true);
    assert!(matches!(with.temporary, TemporaryTables::Unknown));
}
