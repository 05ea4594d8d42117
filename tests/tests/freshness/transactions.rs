//! Transactions and what else lives in a session: a script of several clients reads the same through Freshet, with
//! everything primed, as directly.

use std::collections::HashMap;

use freshet_tests::cached::{Answer, Counted, answer, connect, eventually, fresh_schema, run};
use freshet_tests::{Freshet, Server, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const ONE: &str = "SELECT v FROM t WHERE id = 1";
const ALL: &str = "SELECT id, v FROM t ORDER BY id";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20)",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "INSERT INTO u VALUES (1,100)",
];

type Script = &'static [(&'static str, &'static str)];

fn play(target: &Target, schema: &str, script: Script) -> Vec<(String, Answer)> {
    let mut clients: HashMap<&str, Conn> = HashMap::new();
    let mut transcript = Vec::new();
    for (client, statement) in script {
        let conn = clients.entry(client).or_insert_with(|| client_of(target, schema));
        transcript.push((format!("{client}: {statement}"), answer(conn, statement)));
    }
    transcript
}

/// A client whose transactions at REPEATABLE READ are as of their first read, whoever writes what then: these scripts leave no time.
fn client_of(target: &Target, schema: &str) -> Conn {
    let mut conn = connect(target, schema);
    // The server does not know it.
    let _ = conn.query_drop("SET SESSION transaction_snapshot = eager");
    conn
}

fn prepare(server: &Server, schema: &str) {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, SETUP);
}

fn same(server: &Server, freshet: &Freshet, schema: &str, script: Script) {
    prepare(server, schema);
    let expected = play(&server.target, schema, script);
    prepare(server, schema);
    let mut counted = Counted::of(freshet);
    let mut reader = connect(freshet.target(), schema);
    for read in [ONE, ALL, "SELECT v FROM u WHERE id = 1"] {
        let _ = counted.prime(&mut reader, read);
    }
    let got = play(freshet.target(), schema, script);
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "{:?} in {script:#?}", server.flavor);
    }
}

const SCRIPTS: &[Script] = &[
    // A rollback leaves nothing behind, and shows nothing to others.
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("b", ONE),
        ("b", ONE),
        ("a", "ROLLBACK"),
        ("a", ONE),
        ("b", ONE),
        ("b", ALL),
    ],
    // A commit is seen by all, at once.
    &[
        ("a", "START TRANSACTION"),
        ("a", "UPDATE t SET v = 11"),
        ("a", "INSERT INTO t VALUES (3,30)"),
        ("b", ALL),
        ("a", ALL),
        ("a", "COMMIT"),
        ("b", ALL),
        ("a", ALL),
        ("c", ONE),
    ],
    // Savepoints.
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "SAVEPOINT s"),
        ("a", "UPDATE t SET v = 12 WHERE id = 1"),
        ("a", ONE),
        ("a", "ROLLBACK TO SAVEPOINT s"),
        ("a", ONE),
        ("b", ONE),
        ("a", "RELEASE SAVEPOINT s"),
        ("a", "COMMIT"),
        ("b", ONE),
        ("a", ONE),
    ],
    // REPEATABLE READ: a snapshot does not move.
    &[
        ("a", "BEGIN"),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("b", ONE),
        ("a", ONE),
        ("a", ALL),
        ("c", ALL),
        ("a", ALL),
        ("a", "COMMIT"),
        ("a", ONE),
    ],
    // Its snapshot is of all tables.
    &[
        ("a", "BEGIN"),
        ("a", ONE),
        ("b", "UPDATE u SET v = 101"),
        ("b", "SELECT v FROM u WHERE id = 1"),
        ("b", "SELECT v FROM u WHERE id = 1"),
        ("a", "SELECT v FROM u WHERE id = 1"),
        ("a", "COMMIT"),
        ("a", "SELECT v FROM u WHERE id = 1"),
    ],
    &[
        ("a", "START TRANSACTION WITH CONSISTENT SNAPSHOT"),
        ("b", "UPDATE t SET v = 11"),
        ("b", ONE),
        ("b", ONE),
        ("a", ONE),
        ("a", "COMMIT"),
        ("a", ONE),
    ],
    &[
        ("a", "START TRANSACTION READ ONLY"),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11"),
        ("b", ONE),
        ("b", ONE),
        ("a", ONE),
        ("a", "COMMIT"),
        ("a", ONE),
    ],
    // READ COMMITTED: every read on its own.
    &[
        ("a", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        ("a", "BEGIN"),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("a", "COMMIT"),
    ],
    &[
        ("a", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
        ("b", "BEGIN"),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("c", ONE),
        ("b", "ROLLBACK"),
        ("a", ONE),
    ],
    // A transaction that changes another table reads its own snapshot of this one.
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE u SET v = 0"),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("b", ONE),
        ("a", ONE),
        ("a", "COMMIT"),
        ("b", "SELECT v FROM u WHERE id = 1"),
    ],
    // Without autocommit.
    &[
        ("a", "SET autocommit = 0"),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("b", ONE),
        ("a", ONE),
        ("a", "COMMIT"),
        ("a", ONE),
        ("a", "UPDATE t SET v = 12 WHERE id = 1"),
        ("b", ONE),
        ("a", "SET autocommit = 1"),
        ("b", ONE),
        ("a", ONE),
    ],
    // What commits by itself.
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "CREATE TABLE x (id INT)"),
        ("b", ONE),
        ("a", "ROLLBACK"),
        ("b", ONE),
    ],
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "BEGIN"),
        ("b", ONE),
        ("a", "ROLLBACK"),
        ("b", ONE),
    ],
    &[
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "COMMIT AND CHAIN"),
        ("b", ONE),
        ("a", "UPDATE t SET v = 12 WHERE id = 1"),
        ("b", ONE),
        ("a", "ROLLBACK"),
        ("b", ONE),
    ],
    &[
        ("a", "LOCK TABLES t WRITE"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("a", "SELECT v FROM u WHERE id = 1"),
        ("a", "UNLOCK TABLES"),
        ("b", ONE),
        ("a", ONE),
    ],
    // A temporary table hides the other one from its session alone.
    &[
        ("a", "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v VARCHAR(20))"),
        ("a", "INSERT INTO t VALUES (1, 'mine')"),
        ("a", ONE),
        ("b", ONE),
        ("a", ONE),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("b", ONE),
        ("a", "DROP TEMPORARY TABLE t"),
        ("a", ONE),
        ("a", ONE),
    ],
    &[
        ("a", "CREATE PROCEDURE mk() CREATE TEMPORARY TABLE t AS SELECT 1 AS id, 'made' AS v"),
        ("a", "CALL mk()"),
        ("a", ONE),
        ("b", ONE),
        ("a", "DROP TABLE t"),
        ("a", ONE),
        ("b", ONE),
    ],
    // Not in the binlog, but through us.
    &[
        ("a", "SET sql_log_bin = 0"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("b", ONE),
        ("b", ALL),
        ("c", ALL),
        ("a", "BEGIN"),
        ("a", "UPDATE t SET v = 12 WHERE id = 1"),
        ("a", "COMMIT"),
        ("b", ONE),
        ("a", "SET sql_log_bin = 1"),
        ("b", ONE),
    ],
    &[
        ("a", "SET SESSION sql_log_bin = OFF"),
        ("a", "ALTER TABLE t ADD COLUMN x INT DEFAULT 5"),
        ("b", "SELECT * FROM t"),
        ("b", "SELECT * FROM t"),
        ("a", "DROP TABLE t"),
        ("b", ONE),
    ],
    // XA in one session.
    &[
        ("a", "XA START 'fresh'"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", ONE),
        ("b", ONE),
        ("a", "XA END 'fresh'"),
        ("a", "XA COMMIT 'fresh' ONE PHASE"),
        ("b", ONE),
        ("a", ONE),
    ],
    &[
        ("a", "XA START 'fresh2'"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "XA END 'fresh2'"),
        ("a", "XA PREPARE 'fresh2'"),
        ("b", ONE),
        ("a", "XA COMMIT 'fresh2'"),
        ("b", ONE),
        ("a", ONE),
    ],
    &[
        ("a", "XA START 'fresh3'"),
        ("a", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "XA END 'fresh3'"),
        ("a", "XA PREPARE 'fresh3'"),
        ("b", ONE),
        ("a", "XA ROLLBACK 'fresh3'"),
        ("b", ONE),
        ("a", ONE),
    ],
    // Serializable.
    &[
        ("a", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        ("a", "BEGIN"),
        ("a", ONE),
        ("b", "SET innodb_lock_wait_timeout = 1"),
        ("b", "UPDATE t SET v = 11 WHERE id = 1"),
        ("a", "COMMIT"),
        ("b", "UPDATE t SET v = 12 WHERE id = 1"),
        ("a", ONE),
    ],
    // A statement that fails changes nothing.
    &[
        ("a", "INSERT INTO t VALUES (3,30),(1,0)"),
        ("b", ALL),
        ("a", "BEGIN"),
        ("a", "INSERT INTO t VALUES (3,30),(1,0)"),
        ("a", "INSERT INTO t VALUES (4,40)"),
        ("a", ALL),
        ("b", ALL),
        ("a", "COMMIT"),
        ("b", ALL),
    ],
    // A multi-statement with a transaction in it.
    &[
        ("a", "BEGIN; UPDATE t SET v = 11 WHERE id = 1; COMMIT"),
        ("b", ONE),
        ("a", "BEGIN; UPDATE t SET v = 12 WHERE id = 1"),
        ("b", ONE),
        ("a", ONE),
        ("a", "COMMIT"),
        ("b", ONE),
    ],
    // What a procedure commits.
    &[
        ("a", "CREATE PROCEDURE pc() BEGIN START TRANSACTION; UPDATE t SET v = 11 WHERE id = 1; COMMIT; END"),
        ("a", "CALL pc()"),
        ("b", ONE),
        ("a", ONE),
    ],
];

#[test]
fn scripts_of_several_clients_read_as_directly() {
    with_each(|server, freshet| {
        let mut wrong = 0;
        for (number, script) in SCRIPTS.iter().enumerate() {
            let schema = format!("fresh_script_{number}");
            let played = std::panic::AssertUnwindSafe(|| same(server, freshet, &schema, script));
            wrong += usize::from(std::panic::catch_unwind(played).is_err());
            run(&mut server.target.connect(), &[&format!("DROP DATABASE {schema}")]);
        }
        assert_eq!(wrong, 0, "{:?}: so many scripts read otherwise", server.flavor);
    });
}

/// A prepared transaction outlives its session and holds its locks: none may be left of an earlier run.
fn roll_back(server: &Server, xids: &[&str]) {
    let mut direct = server.target.connect();
    for xid in xids {
        let _ = answer(&mut direct, &format!("XA ROLLBACK '{xid}'"));
    }
}

#[test]
fn what_another_client_prepared_is_seen_when_it_is_committed() {
    const XIDS: [&str; 2] = ["fresh_xa_1", "fresh_xa_2"];
    with_each(|server, freshet| {
        roll_back(server, &XIDS);
        prepare(server, "fresh_xa");
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_xa");
        for (xid, committer) in XIDS.into_iter().zip([freshet.target(), &server.target]) {
            // What was prepared and committed before must not keep the cache away for ever.
            let before = counted.prime(&mut reader, ONE);
            let mut preparing = connect(freshet.target(), "fresh_xa");
            run(
                &mut preparing,
                &[
                    &format!("XA START '{xid}'"),
                    "UPDATE t SET v = v + 1 WHERE id = 1",
                    &format!("XA END '{xid}'"),
                    &format!("XA PREPARE '{xid}'"),
                ],
            );
            drop(preparing);
            for _ in 0..3 {
                assert_eq!(answer(&mut reader, ONE), before);
            }
            // The server gives a prepared transaction away only when its session has ended.
            let mut committing = connect(committer, "fresh_xa");
            eventually("the prepared transaction can be committed", || {
                answer(&mut committing, &format!("XA COMMIT '{xid}'")).ok()
            });
            let wanted = answer(&mut connect(&server.target, "fresh_xa"), ONE);
            assert_ne!(before, wanted);
            if committer.port == server.target.port {
                crate::freshness::cases::seen_in_time(&mut reader, ONE, &wanted).expect("in time");
            } else {
                assert_eq!(answer(&mut reader, ONE), wanted);
            }
        }
    });
}

#[test]
fn prepared_statements_write_and_read_afresh() {
    with_each(|server, freshet| {
        prepare(server, "fresh_prepared");
        let mut writer = connect(freshet.target(), "fresh_prepared");
        let mut reader = connect(freshet.target(), "fresh_prepared");
        let update = writer.prep("UPDATE t SET v = ? WHERE id = ?").expect("prepared");
        let select = reader.prep("SELECT v FROM t WHERE id = ?").expect("prepared");
        for version in 100..160 {
            for _ in 0..3 {
                let _: Option<i32> = reader.exec_first(&select, (1,)).expect("read");
            }
            writer.exec_drop(&update, (version, 1)).expect("written");
            let seen: Option<i32> = reader.exec_first(&select, (1,)).expect("read");
            assert_eq!(seen, Some(version));
            let seen: Option<i32> = reader.query_first(ONE).expect("read");
            assert_eq!(seen, Some(version));
        }
        // The statement follows the table.
        writer.query_drop("ALTER TABLE t MODIFY v VARCHAR(20)").expect("altered");
        let seen: Option<String> = reader.exec_first(&select, (1,)).expect("read");
        assert_eq!(seen.as_deref(), Some("159"));
    });
}

#[test]
fn a_loaded_file_is_seen() {
    with_each(|server, freshet| {
        prepare(server, "fresh_load");
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_load");
        let _ = counted.prime(&mut reader, ALL);
        let mut writer = connect(freshet.target(), "fresh_load");
        writer.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(|_, out| {
            std::io::Write::write_all(out, b"7\t70\n8\t80\n")
        })));
        writer.query_drop("LOAD DATA LOCAL INFILE 'any' INTO TABLE t").expect("loaded");
        let wanted = answer(&mut connect(&server.target, "fresh_load"), ALL);
        assert_eq!(wanted.as_ref().map(Vec::len), Ok(4));
        assert_eq!(answer(&mut reader, ALL), wanted);
    });
}

#[test]
fn what_the_event_scheduler_writes_is_seen() {
    with_each(|server, freshet| {
        prepare(server, "fresh_event");
        let mut direct = connect(&server.target, "fresh_event");
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_event");
        let _ = counted.prime(&mut reader, ONE);
        run(
            &mut direct,
            &[
                "SET GLOBAL event_scheduler = ON",
                "CREATE EVENT e ON SCHEDULE AT CURRENT_TIMESTAMP DO UPDATE t SET v = 77 WHERE id = 1",
            ],
        );
        let wanted = Ok(vec![vec!["77".to_owned()]]);
        eventually("the event ran", || (answer(&mut direct, ONE) == wanted).then_some(()));
        crate::freshness::cases::seen_in_time(&mut reader, ONE, &wanted).expect("in time");
        run(&mut direct, &["SET GLOBAL event_scheduler = OFF"]);
    });
}
