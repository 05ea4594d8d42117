use std::sync::Arc;

use freshet_sql::Flavor;

use super::*;
use crate::environment::{Environments, VectorQuery};

/// Returns the environment of the session variables with these values. All environments of one `known` have identities of their own.
fn environment(known: &Environments, values: &[(&str, &str)]) -> Arc<Environment> {
    let query = VectorQuery::new(|_| true, true);
    let mut row = vec![Some(Vec::new()); query.width()];
    for (name, value) in values {
        row[query.position(name).unwrap()] = Some(value.as_bytes().to_vec());
    }
    known.intern(Environment::read(&query, b"user", &row, Modes::new(Flavor::MySql)))
}

fn two() -> (Arc<Environment>, Arc<Environment>) {
    let known = Environments::default();
    let of = |schema| environment(&known, &[("schema", schema), ("character_set_results", "utf8mb4")]);
    (of("a"), of("b"))
}

fn is(known: Option<&Arc<Environment>>, environment: &Arc<Environment>) -> bool {
    known.is_some_and(|known| Arc::ptr_eq(known, environment))
}

/// What has happened to a session, and whether that may have changed its environment.
type Deed = (fn(&mut KnownEnvironment, Arc<Environment>), bool);

const DEEDS: [Deed; 8] = [
    (|session, other| session.note_recalled(other), false),
    (|session, other| session.note_read(other), false),
    (|session, other| session.note_set_here(other), true),
    (|session, _| session.note_changed_by(b"SET sql_mode = ''", true), true),
    (|session, _| session.note_changed_by(b"SET sql_mode = @@global.sql_mode", false), true),
    (|session, _| session.note_unknown(), true),
    (|session, _| session.note_unread(), false),
    (|session, _| *session = session.begun_anew(None), true),
];

#[test]
fn whatever_may_change_the_environment_makes_another_version_and_none_comes_twice() {
    let (first, second) = two();
    for (before, (deed, changes)) in DEEDS.iter().flat_map(|(before, _)| DEEDS.map(|deed| (before, deed))) {
        let mut session = KnownEnvironment::of_login(None);
        before(&mut session, Arc::clone(&first));
        let version = session.version();
        deed(&mut session, Arc::clone(&second));
        assert_eq!(session.version() > version, changes);
        assert!(session.version() >= version);
    }
}

#[test]
fn a_key_is_dropped_with_the_environment_that_it_is_of() {
    let (first, second) = two();
    for (at, (deed, _)) in DEEDS.iter().enumerate() {
        let mut session = KnownEnvironment::of_login(None);
        session.note_key(Some(7), 1);
        assert_eq!(session.key(), None, "nothing is known of the environment");
        session.note_read(Arc::clone(&first));
        session.note_key(Some(7), 1);
        deed(&mut session, Arc::clone(&second));
        // Other sessions' beginnings tell nothing of a session that has read its own environment.
        let is_there = is(session.current(), &first);
        assert_eq!(session.key(), is_there.then_some(7), "{at}");
        assert_eq!(is_there, at == 0);
    }
    let mut session = KnownEnvironment::of_login(None);
    session.note_recalled(Arc::clone(&first));
    session.note_key(Some(7), 1);
    session.note_read(first);
    assert_eq!(session.key(), Some(7), "it is the same environment");
    assert!(session.is_key_of(1) && !session.is_key_of(2));
}

#[test]
fn a_session_that_waits_is_supposed_to_be_where_others_have_begun() {
    let (first, _) = two();
    let mut session = KnownEnvironment::of_login(Some("login".to_owned()));
    assert!(!session.suppose(), "nothing is known");
    session.note_recalled(Arc::clone(&first));
    assert!(session.read().is_none() && is(session.recalled(), &first));
    assert_eq!(session.schema(), Some("login"));
    let version = session.version();
    assert!(session.suppose());
    assert!(is(session.read(), &first) && session.recalled().is_none());
    assert_eq!(session.schema(), Some("a"));
    session.note_wait_over();
    assert!(session.read().is_none() && is(session.recalled(), &first));
    assert_eq!((session.schema(), session.version()), (Some("login"), version));
}

#[test]
fn what_has_happened_during_a_wait_stays() {
    let (first, second) = two();
    for (at, (deed, _)) in DEEDS.iter().enumerate() {
        let waiting = || {
            let mut session = KnownEnvironment::of_login(None);
            session.note_recalled(Arc::clone(&first));
            session
        };
        let (mut with, mut without) = (waiting(), waiting());
        assert!(with.suppose());
        deed(&mut with, Arc::clone(&second));
        with.note_wait_over();
        deed(&mut without, Arc::clone(&second));
        assert_eq!(format!("{with:?}"), format!("{without:?}"), "{at}");
    }
}

#[test]
fn plain_statements_lead_from_the_environment_that_was_read() {
    let (first, _) = two();
    let mut session = KnownEnvironment::of_login(None);
    session.note_read(Arc::clone(&first));
    assert!(session.transition().is_none());
    session.note_changed_by(b"SET sql_mode = ''", true);
    let (before, transition) = session.transition().unwrap();
    assert!(Arc::ptr_eq(&before, &first) && transition.before == first.whole);
    assert!(session.current().is_none() && !session.is_unknown() && session.modes().is_some());
    session.note_unread();
    assert!(session.transition().is_none() && session.is_unknown() && session.modes().is_none());
}
