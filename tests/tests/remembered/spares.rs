//! Clients of `caching_sha2_password` in clear, whose proofs only the server can check: each of their logins is made there, on a
//! connection that another client of the same user has left.

use std::collections::BTreeSet;

use freshet_tests::cached::{answer, eventually, fresh_schema, run, status};
use freshet_tests::{Flavor, Freshet, Server, Target};
use mysql::Conn;
use mysql::prelude::Queryable;

use super::{
    LOGINS, PASSWORD, QUESTION, SCHEMA, ask, changes_hold, login, login_into, make, remember,
    remember_answer, row,
};

/// With one event loop, each client can have what the one before has left.
fn with_mysql(test: impl Fn(&Server, &Freshet)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in freshet_tests::server::all().iter().filter(|it| it.flavor == Flavor::MySql) {
        let mut admin = fresh_schema(server, SCHEMA);
        run(&mut admin, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
        let freshet = Freshet::with(server, &["--threads", "1"]);
        test(server, &freshet);
        freshet.stop();
    }
}

/// Makes a user whose password the server has in its own memory, and Freshet has not.
fn make_known(server: &Server, user: &str) {
    make(&mut server.target.connect(), user);
    login(&server.target, user, PASSWORD).expect("the server lets it in");
}

/// The server's number of a session's connection.
fn id(conn: &mut Conn) -> u32 {
    conn.query_first("SELECT @@pseudo_thread_id").expect("it answers").expect("a row")
}

/// Has a client come, do something, and leave, and gives the next one, until that has the connection of the first.
fn hand_on(freshet: &Freshet, user: &str, mut first: impl FnMut(&mut Conn)) -> Conn {
    eventually(&format!("a client of {user} leaves its connection to the next"), || {
        let mut conn = login(freshet.target(), user, PASSWORD).expect("it is let in");
        first(&mut conn);
        let left = id(&mut conn);
        drop(conn);
        let mut next = login(freshet.target(), user, PASSWORD).expect("it is let in");
        (id(&mut next) == left).then_some(next)
    })
}

/// How many connections of a user the server has.
fn connections(admin: &mut Conn, user: &str) -> u32 {
    let question = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{user}'");
    admin.query_first(question).expect("it answers").expect("a row")
}

/// How many COM_CHANGE_USER the server has seen.
fn changes(admin: &mut Conn) -> u64 {
    let question = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_global_by_event_name
                    WHERE EVENT_NAME = 'statement/com/Change user'";
    admin.query_first(question).expect("it answers").expect("a row")
}

#[test]
fn a_login_that_the_server_alone_can_judge_takes_no_new_connection() {
    with_mysql(|server, freshet| {
        let mut admin = server.target.connect();
        make_known(server, "spare_ann");
        remember(server, freshet, "spare_ann");
        assert_eq!(remember_answer(server, freshet, "spare_ann", QUESTION), row("10"));
        // The server is asked each time, on a connection that it has: what it counts tells. If somebody changes accounts, connections are
        // kept for nobody for a while.
        eventually("logins are made on connections that others have left", || {
            let before = (changes(&mut admin), status(&mut admin, "Connections"));
            for _ in 0..LOGINS {
                drop(login(freshet.target(), "spare_ann", PASSWORD).expect("it is let in"));
            }
            let on_others = changes(&mut admin) - before.0;
            assert!(on_others + status(&mut admin, "Connections") - before.1 >= LOGINS as u64);
            (on_others >= LOGINS as u64).then_some(())
        });
        run(&mut freshet.target().connect(), &[&format!("UPDATE {SCHEMA}.t SET v = 11 WHERE id = 1")]);
        assert_eq!(ask(freshet.target(), "spare_ann", PASSWORD, QUESTION), row("11"), "a write is seen");
        assert_eq!(remember_answer(server, freshet, "spare_ann", QUESTION), row("11"));
        // Nobody has them for long.
        eventually("connections are closed", || (connections(&mut admin, "spare_ann") == 0).then_some(()));
    });
}

#[test]
fn what_is_changed_of_an_account_holds_for_what_is_kept() {
    const USER: &str = "spare_bob";
    with_mysql(|server, freshet| changes_hold(server, freshet, USER, || make_known(server, USER)));
}

/// What a session shows of what was before it. The first asks about the statement before.
const PROBES: [&str; 8] = [
    "SELECT FOUND_ROWS(), LAST_INSERT_ID()",
    "SELECT @@character_set_client, @@collation_connection, @@sql_mode, @@time_zone, @@wait_timeout, @a, DATABASE(),
        CURRENT_ROLE(), @@insert_id, @@autocommit, @@transaction_isolation, @@transaction_read_only,
        @@session_track_gtids, @@sql_log_bin, @@optimizer_trace, @@profiling, IS_USED_LOCK('spare')",
    "SELECT COUNT(*) FROM information_schema.OPTIMIZER_TRACE",
    "SELECT RESOURCE_GROUP FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM own",
    "EXECUTE prepared",
    "SHOW PROFILES",
];

fn probed(target: &Target, user: &str, mut conn: Conn) -> (u32, Vec<String>) {
    let said = PROBES.map(|probe| format!("{probe}: {:?}", answer(&mut conn, probe)));
    assert_eq!(conn.query_first("SELECT USER()").unwrap(), Some(format!("{user}@{}", target.host)));
    (id(&mut conn), said.into())
}

/// What a session does, and whether the next may have its connection all the same.
const DEEDS: [(&[&str], bool); 16] = [
    (&["SELECT 1 UNION SELECT 2"], true),
    (&["SET NAMES latin1"], true),
    (&["SET time_zone = '+05:00', SESSION sql_mode = 'ANSI,NO_ZERO_DATE', wait_timeout = 77"], true),
    (&["USE information_schema"], true),
    (&["INSERT INTO t VALUES (7, 7)", "DELETE FROM t WHERE id = 7"], true),
    (&["BEGIN", "INSERT INTO t VALUES (7, 7)", "ROLLBACK"], true),
    (&["INSERT INTO numbered (v) VALUES (1)", "DELETE FROM numbered"], true),
    (&["SELECT * FROM nowhere"], true),
    (&["BEGIN", "INSERT INTO t VALUES (7, 7)"], false),
    (&["SET autocommit = 0", "INSERT INTO t VALUES (7, 7)"], false),
    (&["CREATE TEMPORARY TABLE own (id INT)"], false),
    (&["SET @a = 1", "PREPARE prepared FROM 'SELECT 1'", "SET ROLE spare_role"], false),
    (&["SET optimizer_trace = 'enabled=on'", "SELECT COUNT(*) FROM t WHERE v > 3"], false),
    (
        &["SET time_zone = '+01:00', optimizer_trace = 'enabled=on'", "SELECT COUNT(*) FROM t WHERE v > 4"],
        false,
    ),
    (&["SELECT GET_LOCK('spare', 0)"], false),
    (&["SET RESOURCE GROUP spare_group"], false),
];

#[test]
fn nothing_of_a_session_is_left_to_the_next() {
    const USER: &str = "spare_cat";
    with_mysql(|server, freshet| {
        let mut admin = server.target.connect();
        make_known(server, USER);
        run(
            &mut admin,
            &[
                &format!("CREATE TABLE {SCHEMA}.numbered (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"),
                &format!("GRANT DELETE ON {SCHEMA}.* TO {USER}@'%'"),
                &format!("GRANT SELECT ON performance_schema.* TO {USER}@'%'"),
                &format!("GRANT RESOURCE_GROUP_USER ON *.* TO {USER}@'%'"),
                "CREATE ROLE IF NOT EXISTS spare_role",
                &format!("GRANT spare_role TO {USER}@'%'"),
            ],
        );
        // A server may not be allowed to make one.
        let _ = admin.query_drop("CREATE RESOURCE GROUP spare_group TYPE = USER VCPU = 0");
        let new = login(&server.target, USER, PASSWORD).expect("the server lets it in");
        let (_, expected) = probed(&server.target, USER, new);
        // Soon after a change of accounts the server is asked about this one, on a login's own connection.
        run(&mut freshet.target().connect(), &[&format!("GRANT SELECT ON {SCHEMA}.* TO {USER}@'%'")]);
        for _ in 0..LOGINS {
            let next = login(freshet.target(), USER, PASSWORD).expect("it is let in");
            assert_eq!(probed(freshet.target(), USER, next).1, expected);
        }
        for (deeds, is_handed_on) in DEEDS {
            eventually(&format!("a connection is handed on after {deeds:?}"), || {
                let mut conn = login(freshet.target(), USER, PASSWORD).expect("it is let in");
                deeds.iter().for_each(|deed| drop(answer(&mut conn, deed)));
                let left = id(&mut conn);
                drop(conn);
                let next = login(freshet.target(), USER, PASSWORD).expect("it is let in");
                let (taken, found) = probed(freshet.target(), USER, next);
                assert_eq!(found, expected, "after {deeds:?}");
                assert!(is_handed_on || taken != left, "after {deeds:?}");
                (!is_handed_on || taken == left).then_some(())
            });
        }
        // What a client has reset itself, it may have had before.
        let mut conn = login(freshet.target(), USER, PASSWORD).expect("it is let in");
        run(&mut conn, &["SET optimizer_trace = 'enabled=on'", "SELECT COUNT(*) FROM t WHERE v > 5"]);
        conn.reset().expect("it is reset");
        drop(conn);
        for _ in 0..LOGINS {
            let next = login(freshet.target(), USER, PASSWORD).expect("it is let in");
            assert_eq!(probed(freshet.target(), USER, next).1, expected);
        }
    });
}

/// A login into a schema, and what the server says to it, word for word.
fn said(target: &Target, user: &str, password: &str, schema: &str) -> String {
    let outcome = login_into(target, user, password, schema);
    outcome.map_or_else(|error| error.to_string(), |_| "let in".to_owned())
}

#[test]
fn refusals_are_those_of_a_new_login() {
    const USER: &str = "spare_dan";
    with_mysql(|server, freshet| {
        make_known(server, USER);
        let mut admin = server.target.connect();
        for (password, schema) in
            [(PASSWORD, "nowhere"), (PASSWORD, "mysql"), ("wrong", SCHEMA), ("", SCHEMA)]
        {
            let expected = said(&server.target, USER, password, schema);
            assert!(expected.contains("denied"), "{expected}");
            eventually("a connection that was left is refused on", || {
                drop(hand_on(freshet, USER, |_| {}));
                let before = changes(&mut admin);
                assert_eq!(said(freshet.target(), USER, password, schema), expected);
                (changes(&mut admin) > before).then_some(())
            });
        }
    });
}

/// Whether several clients one after the other each have a connection of their own, which is asked for by its number.
fn are_all_new(freshet: &Freshet, user: &str, mut look: impl FnMut(&mut Conn)) -> bool {
    let ids = (0..LOGINS).map(|_| {
        let mut conn = login(freshet.target(), user, PASSWORD).expect("it is let in");
        look(&mut conn);
        id(&mut conn)
    });
    ids.collect::<BTreeSet<u32>>().len() == LOGINS
}

#[test]
fn where_the_server_has_few_places_left_none_is_taken() {
    const USER: &str = "spare_eli";
    with_mysql(|server, freshet| {
        make_known(server, USER);
        let mut admin = server.target.connect();
        let before: u32 = admin.query_first("SELECT @@GLOBAL.max_connections").unwrap().unwrap();
        drop(hand_on(freshet, USER, |_| {}));
        let outcome = std::panic::catch_unwind(|| {
            let mut admin = server.target.connect();
            let taken = status(&mut admin, "Threads_connected");
            run(&mut admin, &[&format!("SET GLOBAL max_connections = {}", taken * 3 / 2)]);
            eventually("nothing is kept", || are_all_new(freshet, USER, |_| {}).then_some(()));
        });
        run(&mut admin, &[&format!("SET GLOBAL max_connections = {before}")]);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drop(hand_on(freshet, USER, |_| {}));
    });
}

/// `init_connect` runs in new connections alone, and `max_user_connections` counts those that are kept.
#[test]
fn where_a_variable_tells_new_connections_apart_none_is_kept() {
    const USER: &str = "spare_fay";
    with_mysql(|server, freshet| {
        make_known(server, USER);
        let mut through = freshet.target().connect();
        for (variable, value, ran) in
            [("init_connect", "'SET @ran = 1'", "1"), ("max_user_connections", "50", "NULL")]
        {
            drop(hand_on(freshet, USER, |_| {}));
            let before: String =
                through.query_first(format!("SELECT QUOTE(@@GLOBAL.{variable})")).unwrap().unwrap();
            run(&mut through, &[&format!("SET GLOBAL {variable} = {value}")]);
            let outcome = std::panic::catch_unwind(|| {
                let look = |conn: &mut Conn| assert_eq!(answer(conn, "SELECT @ran"), row(ran), "{variable}");
                assert!(are_all_new(freshet, USER, look), "{variable}");
            });
            let before =
                if variable == "init_connect" { before } else { before.trim_matches('\'').to_owned() };
            run(&mut through, &[&format!("SET GLOBAL {variable} = {before}")]);
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

#[test]
fn an_account_with_bounds_has_none_kept() {
    const USER: &str = "spare_gus";
    with_mysql(|server, freshet| {
        make_known(server, "spare_guy");
        make_known(server, USER);
        let mut admin = server.target.connect();
        run(&mut admin, &[&format!("ALTER USER {USER}@'%' WITH MAX_USER_CONNECTIONS 1")]);
        login(&server.target, USER, PASSWORD).expect("the server lets it in");
        for _ in 0..3 {
            // A connection that is closed counts until the server has seen it.
            eventually("one is let in, and no other", || {
                let first = login(freshet.target(), USER, PASSWORD).ok()?;
                let second = ask(freshet.target(), USER, PASSWORD, QUESTION);
                drop(first);
                assert_eq!(second, Err(1226));
                eventually("the bound is free again", || login(&server.target, USER, PASSWORD).ok());
                Some(())
            });
        }
        run(
            &mut admin,
            &[&format!("ALTER USER {USER}@'%' WITH MAX_USER_CONNECTIONS 0 MAX_QUERIES_PER_HOUR 1000000")],
        );
        login(&server.target, USER, PASSWORD).expect("the server lets it in");
        for _ in 0..3 {
            // Those of others are kept.
            drop(hand_on(freshet, "spare_guy", |_| {}));
            assert!(are_all_new(freshet, USER, |_| {}));
        }
    });
}

#[test]
fn a_kept_connection_that_the_server_ends_is_not_missed() {
    const USER: &str = "spare_hal";
    with_mysql(|server, freshet| {
        make_known(server, USER);
        let mut admin = server.target.connect();
        for _ in 0..LOGINS {
            let mut conn = hand_on(freshet, USER, |_| {});
            let left = id(&mut conn);
            drop(conn);
            // It may be the client's still, or nobody's.
            let _ = admin.query_drop(format!("KILL {left}"));
            assert_eq!(ask(freshet.target(), USER, PASSWORD, QUESTION), row("10"));
        }
    });
}
