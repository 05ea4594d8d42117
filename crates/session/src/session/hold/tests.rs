use freshet_protocol::{Command, StatusFlags};
use freshet_sql::Effects;

use super::*;
use crate::variables::Locals;

const IDLE: StatusFlags = StatusFlags::AUTOCOMMIT;

fn listed(state: &State, lease: &Lease) -> Vec<Hold> {
    SessionHolds { state, lease, globals: &Globals::default() }.list().collect()
}

#[test]
fn a_new_session_waits_for_nothing_but_its_environment() {
    let (state, mut lease) = (State::new(IDLE, Locals::default(), None), Lease::default());
    assert_eq!(listed(&state, &lease), [Hold::EnvironmentUnknown]);
    lease.note_no_longer_new();
    let expected = [Hold::Unreported, Hold::EnvironmentUnknown, Hold::LastStatement];
    assert_eq!(listed(&state, &lease), expected);
    lease.tracking.note_met();
    lease.tracking.note_requested();
    lease.tracking.note_reply(true);
    assert_eq!(listed(&state, &lease), [Hold::EnvironmentUnknown, Hold::LastStatement]);
}

#[test]
fn every_reason_is_listed_once_and_says_why() {
    let mut whys: Vec<String> = Hold::ALL.iter().map(Hold::to_string).collect();
    assert!(whys.iter().all(|why| why.len() > 10));
    whys.sort();
    whys.dedup();
    assert_eq!(whys.len(), Hold::ALL.len());
}

#[test]
fn a_transaction_and_what_is_said_for_the_next_bar_hits() {
    let bars = |tx: fn(&mut State)| {
        let mut state = State::new(IDLE, Locals::default(), None);
        tx(&mut state);
        let (lease, globals) = (Lease::default(), Globals::default());
        let holds = SessionHolds { state: &state, lease: &lease, globals: &globals };
        (holds.has(Hold::Transaction), holds.has(Hold::NextTransaction), holds.bar_all_hits())
    };
    assert_eq!(
        bars(|state| state.answered(true, Some(IDLE | StatusFlags::IN_TRANS), false)),
        (true, false, true)
    );
    assert_eq!(bars(|state| state.answered(true, None, true)), (true, false, true));
    assert_eq!(bars(|state| state.tx.characterized(true)), (false, true, true));
}

#[test]
fn what_a_statement_leaves_is_told_by_its_text_where_it_can_be() {
    let session = Effects { session: true, ..Effects::none() };
    let left = |text: &str, effects: &Effects| {
        let (state, mut lease) = (State::new(IDLE, Locals::default(), None), Lease::default());
        lease.note_command(Command::Query, effects, text.as_bytes());
        listed(&state, &lease)
            .into_iter()
            .filter(|hold| *hold != Hold::EnvironmentUnknown)
            .collect::<Vec<_>>()
    };
    assert_eq!(left("SET @a = 1", &session), [Hold::UserVariables]);
    assert_eq!(left("SELECT Get_Lock('a', 1)", &session), [Hold::NamedLocks]);
    assert_eq!(left("SET @a = get_lock('b', 1)", &session), [Hold::NamedLocks, Hold::UserVariables]);
    assert_eq!(left("SET @@optimizer_trace = 'on'", &session), [Hold::OtherState]);
    assert_eq!(left("", &session), [Hold::OtherState], "its text is not known");
    assert_eq!(left("SET time_zone = '+01:00'", &session), []);
    assert_eq!(left("SELECT @a", &Effects::none()), []);
}

#[test]
fn temporary_tables_and_doubts_do_not_bar_all() {
    let (mut state, lease, globals) =
        (State::new(IDLE, Locals::default(), None), Lease::default(), Globals::default());
    state.hidden.note_unknown_code();
    let holds = SessionHolds { state: &state, lease: &lease, globals: &globals };
    assert!(holds.hide_tables() && holds.has(Hold::TemporaryTables));
    assert!(Hold::HIDE_TABLES.iter().all(|hold| !Hold::BAR_ALL_HITS.contains(hold)));
}
