//! What else a session has left at its connection: locked tables, and what a global `init_connect` did there.

use super::given_up::{UNUSED, has_none, read_for, with_users, with_users_of, without};
use super::*;

#[test]
fn a_session_that_has_locked_tables_keeps_its_connection_and_its_locks() {
    let schema = "lanes_kept_locks";
    with_users(schema, |server, direct, freshet, target| {
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
        read_for(UNUSED, &mut conns[..1]);
        run(&mut conns[1], &["LOCK TABLES t READ"]);
        read_for(2 * UNUSED, &mut conns);
        assert!(!has_none(freshet, &conns[1]), "{:?}", server.flavor);
        run(direct, &["SET SESSION lock_wait_timeout = 1"]);
        assert_eq!(answer(direct, "UPDATE t SET v = v + 1"), Err(1205), "{:?}", server.flavor);
        assert_eq!(answer(&mut conns[1], "UPDATE t SET v = v + 1"), Err(1099), "{:?}", server.flavor);
        assert_eq!(answer(&mut conns[1], "SELECT v FROM u WHERE id = 1"), Err(1100));
        run(&mut conns[1], &["UNLOCK TABLES"]);
        run(direct, &["UPDATE t SET v = v + 0"]);
    });
}

/// What `init_connect` does to each connection of those who may not do everything.
const INIT_CONNECT: &str = "SET @own = 7, time_zone = '+05:30'; CREATE TEMPORARY TABLE own AS SELECT 5 AS v";
const SHOWN: [(&str, &str); 3] =
    [("SELECT @own", "7"), ("SELECT @@time_zone", "+05:30"), ("SELECT v FROM own", "5")];

/// Does this while `init_connect` is set.
fn with_init_connect(direct: &mut Conn, then: impl FnOnce()) {
    run(direct, &[&format!("SET GLOBAL init_connect = \"{INIT_CONNECT}\"")]);
    let done = std::panic::catch_unwind(AssertUnwindSafe(then));
    run(direct, &["SET GLOBAL init_connect = ''"]);
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Direct sessions that were there before have nothing of it, and so have those that gave their connections up before.
#[test]
fn what_init_connect_does_is_not_done_to_who_was_there_before() {
    let schema = "lanes_kept_uninit";
    with_users_of(schema, schema, |server, direct, freshet, target| {
        let mut conn = without((freshet, target), schema, &["SET time_zone = '+02:00'"]);
        // None of those is left that were opened before.
        let opened = format!("SELECT id FROM information_schema.PROCESSLIST WHERE user = '{schema}'");
        for id in answer(direct, &opened).expect("the list of clients").concat() {
            run(direct, &[&format!("KILL {id}")]);
        }
        with_init_connect(direct, || {
            run(&mut conn, &["UPDATE u SET v = v + 0 WHERE id = 1"]);
            assert!(!has_none(freshet, &conn), "it has another connection");
            let question = "SELECT COALESCE(@own, 'NULL'), @@time_zone, DATABASE()";
            let shown = vec![vec!["NULL".to_owned(), "+02:00".to_owned(), schema.to_owned()]];
            assert_eq!(answer(&mut conn, question), Ok(shown), "{:?}", server.flavor);
            assert_eq!(answer(&mut conn, "SELECT v FROM own"), Err(1146), "{:?}", server.flavor);
        });
    });
}

#[test]
fn what_init_connect_has_done_is_there_behind_many_reads() {
    let schema = "lanes_kept_init";
    with_users_of(schema, schema, |server, direct, _, target| {
        let Target { user, password, .. } = target.clone();
        let own = Target { user, password, ..server.target.clone() };
        with_init_connect(direct, || {
            let mut asked_directly = connect(&own, schema);
            let mut conns: Vec<Conn> = (0..3).map(|_| connect(target, schema)).collect();
            for round in 0..2 {
                read_for(2 * UNUSED, &mut conns);
                conns.iter_mut().for_each(|conn| run(conn, &["UPDATE u SET v = v + 0 WHERE id = 1"]));
                for (question, shown) in SHOWN {
                    assert_eq!(one(&mut asked_directly, question), shown, "{:?}", server.flavor);
                    for conn in &mut conns {
                        assert_eq!(one(conn, question), shown, "round {round} on {:?}", server.flavor);
                    }
                }
            }
        });
    });
}
