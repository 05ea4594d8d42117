//! Code that is stored in the server: functions behind views, triggers, and procedures.
//!
//! Nothing in a statement's text says what they do. Whatever they do, nobody is answered from memory what they changed, and
//! a session goes on being answered from memory where they cannot have hidden a table from it.

use std::thread;

use freshet_tests::cached::{Answer, Counted, answer, await_asleep, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const ONE: &str = "SELECT v FROM t WHERE id = 1";

/// A function that writes must be declared so, or trusted, where the binlog is on.
fn with_trust() {
    for server in freshet_tests::server::all() {
        run(&mut server.target.connect(), &["SET GLOBAL log_bin_trust_function_creators = 1"]);
    }
}

const VIEW: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20)",
    "CREATE TABLE s (a INT)",
    "CREATE TABLE one (a INT)",
    "INSERT INTO one VALUES (1)",
    "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.5); RETURN 1; END",
    "CREATE VIEW below AS SELECT f() AS a FROM one",
    "CREATE VIEW w AS SELECT a FROM below",
];

/// What [`ONE`] shows of a new table.
fn initial() -> Answer {
    Ok(vec![vec!["10".to_owned()]])
}

/// What runs through one client, while another would be answered from memory what it changes: from the moment it is sent
/// until the stream has told of it, nobody may be.
fn is_fenced(freshet: &Freshet, schema: &str, change: &[&str]) {
    let what = change.join("; ");
    let mut counted = Counted::of(freshet);
    let mut reader = connect(freshet.target(), schema);
    let mut writer = connect(freshet.target(), schema);
    // The schema was made anew around Freshet: what is there must not be the one before it.
    eventually("the new table is seen", || (answer(&mut reader, ONE) == initial()).then_some(()));
    let before = counted.prime(&mut reader, ONE);
    let (last, first) = change.split_last().unwrap();
    run(&mut writer, first);
    let _ = counted.prime(&mut reader, ONE);
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            run(&mut writer, &[last]);
        });
        await_asleep(freshet.target(), schema);
        assert!(!writing.is_finished(), "{what}: the function is still asleep");
        if freshet.is_there() {
            assert_eq!(counted.hits_of(&mut reader, ONE, 1), 0, "{what}: not while it runs");
        }
        writing.join().unwrap();
    });
    let after = answer(&mut reader, ONE);
    assert_ne!(after, before, "{what}");
    assert_eq!(after, answer(&mut connect(freshet.target(), schema), ONE), "{what}");
}

fn all_are_fenced(flavor: Option<Flavor>, changes: &[&[&str]]) {
    with_trust();
    with_each(|server, freshet| {
        if flavor.is_some_and(|flavor| flavor != server.flavor) {
            return;
        }
        for change in changes {
            run(&mut fresh_schema(server, "stored_view"), VIEW);
            is_fenced(freshet, "stored_view", change);
        }
    });
}

#[test]
fn a_view_whose_function_writes() {
    all_are_fenced(
        None,
        &[
            &["SELECT a FROM w"],
            &["SELECT RAND(), a FROM w"],
            &["SELECT NOW(), w.* FROM one JOIN w ON 1"],
            &["SELECT a, @b FROM w"],
            &["SELECT a FROM w FOR UPDATE"],
            &["SELECT a FROM w INTO @x"],
            &["USE mysql", "SELECT UUID(), a FROM stored_view.w"],
            &["SELECT UUID(), (SELECT a FROM w)"],
            &["SELECT UUID() FROM (SELECT a + 0 AS b FROM w) d WHERE b = 1"],
            &["WITH c AS (SELECT a FROM w) SELECT UUID(), a FROM c"],
            &["SET @x = (SELECT a FROM w)"],
            &["DO (SELECT a FROM w)"],
            &["INSERT INTO s SELECT a FROM w"],
            &["REPLACE INTO s SELECT a FROM w"],
            &["INSERT INTO s VALUES ((SELECT a FROM w))"],
            &["INSERT INTO s VALUES (0)", "UPDATE s SET a = (SELECT a FROM w)"],
            &["INSERT INTO s VALUES (0)", "DELETE FROM s WHERE a <> (SELECT a FROM w)"],
            &["PREPARE p FROM 'SELECT RAND(), a FROM w'", "EXECUTE p"],
            &["SELECT 1; SELECT UUID(), a FROM w; SELECT 2"],
            &["CREATE OR REPLACE VIEW w AS SELECT f() AS a; SELECT UUID(), a FROM w"],
        ],
    );
    all_are_fenced(
        Some(Flavor::MySql),
        &[&["TABLE w"], &["INSERT INTO s TABLE w"], &["EXPLAIN ANALYZE SELECT a FROM w"]],
    );
    all_are_fenced(
        Some(Flavor::MariaDb),
        &[
            // MySQL refuses these.
            &["CREATE TABLE n SELECT a FROM w"],
            &["CREATE TEMPORARY TABLE n SELECT a FROM w"],
            &["ANALYZE SELECT a FROM w"],
            &["SET STATEMENT max_statement_time = 10 FOR SELECT UUID(), a FROM w"],
        ],
    );
}

fn executes_fenced(
    freshet: &Freshet,
    counted: &mut Counted,
    (reader, writer): (&mut Conn, &mut Conn),
    statement: &mysql::Statement,
) {
    let before = counted.prime(reader, ONE);
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let _: Vec<i32> = writer.exec(statement, ()).unwrap();
        });
        await_asleep(freshet.target(), "stored_prepared");
        if freshet.is_there() {
            assert_eq!(counted.hits_of(reader, ONE, 1), 0, "not while it runs");
        }
        writing.join().unwrap();
    });
    assert_ne!(answer(reader, ONE), before);
}

/// A statement of the binary protocol, prepared before and after somebody has given its view a function.
#[test]
fn a_prepared_select_of_a_view_whose_function_writes() {
    with_trust();
    for server in freshet_tests::server::all() {
        let mut direct = fresh_schema(&server, "stored_prepared");
        run(&mut direct, VIEW);
        run(&mut direct, &["CREATE VIEW late AS SELECT a FROM one"]);
        let freshet = Freshet::before(&server);
        let mut counted = Counted::of(&freshet);
        let mut reader = connect(freshet.target(), "stored_prepared");
        let mut writer = connect(freshet.target(), "stored_prepared");
        let early = writer.prep("SELECT a FROM late").unwrap();
        let plain = writer.prep("SELECT a FROM w").unwrap();
        for _ in 0..2 {
            executes_fenced(&freshet, &mut counted, (&mut reader, &mut writer), &plain);
        }
        let _: Vec<i32> = writer.exec(&early, ()).unwrap();
        let mut other = connect(freshet.target(), "stored_prepared");
        run(&mut other, &["CREATE OR REPLACE VIEW late AS SELECT f() AS a FROM one"]);
        for _ in 0..2 {
            executes_fenced(&freshet, &mut counted, (&mut reader, &mut writer), &early);
        }
        freshet.stop();
    }
}

const AUDITED: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20)",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what INT)",
    "CREATE TABLE total (n INT)",
    "INSERT INTO total VALUES (0)",
    "CREATE TABLE other (a INT)",
    "INSERT INTO other VALUES (7)",
    "CREATE TABLE child (id INT PRIMARY KEY)",
    "CREATE TRIGGER ta AFTER UPDATE ON t FOR EACH ROW BEGIN DECLARE n INT DEFAULT 0; SET n = NEW.v; \
     IF n > 0 THEN INSERT INTO log (what) VALUES (n); END IF; DO SLEEP(0.5); END",
    "CREATE TRIGGER la AFTER INSERT ON log FOR EACH ROW UPDATE total SET n = n + 1",
];

/// A table whose triggers keep a log: what they write is fenced while they run, nothing else is, and the session that
/// wrote is answered from memory as before.
#[test]
fn triggers_that_are_understood() {
    with_each(|server, freshet| {
        run(&mut fresh_schema(server, "stored_audit"), AUDITED);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "stored_audit");
        let mut writer = connect(freshet.target(), "stored_audit");
        let log = "SELECT COUNT(*) FROM log";
        let total = "SELECT n FROM total";
        let other = "SELECT a FROM other";
        // A definition that was just made is settled before the trial begins.
        run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
        let before = [log, total, other].map(|read| counted.prime(&mut reader, read));
        let _ = counted.prime(&mut writer, other);
        // What others define or call meanwhile on the same server may cost the other table its hits in one trial.
        eventually(
            "a log, what its own trigger writes and the table itself are fenced, and no other table",
            || {
                let _ = [log, total, ONE, other].map(|read| counted.prime(&mut reader, read));
                thread::scope(|scope| {
                    let writing = scope.spawn(|| run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]));
                    await_asleep(freshet.target(), "stored_audit");
                    let hits = [log, total, ONE].map(|read| counted.hits_of(&mut reader, read, 1));
                    let spared = counted.hits_of(&mut reader, other, 3);
                    writing.join().unwrap();
                    assert_eq!(hits, [0, 0, 0], "the log, what its own trigger writes, the table itself");
                    (!freshet.is_there() || spared == 3).then_some(())
                })
            },
        );
        let after = [log, total, other].map(|read| answer(&mut reader, read));
        assert!(before[0] != after[0] && before[1] != after[1] && before[2] == after[2]);
        if freshet.is_there() {
            // What others define meanwhile on the same server may cost it one.
            eventually("the writer has its hits", || {
                (counted.hits_of(&mut writer, other, 3) == 3).then_some(())
            });
        }
        let _ = counted.prime(&mut writer, ONE);
        let _ = counted.prime(&mut writer, total);
    });
}

const HIDES: &[(&str, &str)] = &[
    (
        "a trigger that makes a table",
        "CREATE TRIGGER h AFTER INSERT ON src FOR EACH ROW CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v",
    ),
    (
        "a compound trigger that makes a table",
        "CREATE TRIGGER h AFTER INSERT ON src FOR EACH ROW BEGIN IF NEW.a > 0 THEN CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; END IF; END",
    ),
    ("a trigger that calls", "CREATE TRIGGER h AFTER INSERT ON src FOR EACH ROW CALL hides()"),
    (
        "a trigger whose table has one",
        "CREATE TRIGGER h AFTER INSERT ON src FOR EACH ROW INSERT INTO far VALUES (1)",
    ),
];

/// A trigger that hides a table from its session by a temporary one, which no server reports.
#[test]
fn triggers_that_hide_a_table() {
    with_each(|server, freshet| {
        for (name, trigger) in HIDES {
            let mut direct = fresh_schema(server, "stored_hides");
            let setup = [
                "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
                "INSERT INTO t VALUES (1,10)",
                "CREATE TABLE src (a INT)",
                "CREATE TABLE far (a INT)",
                "CREATE PROCEDURE hides() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v",
                "CREATE TRIGGER f AFTER INSERT ON far FOR EACH ROW CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v",
            ];
            run(&mut direct, &setup);
            run(&mut direct, &[trigger]);
            let mut counted = Counted::of(freshet);
            let mut session = connect(freshet.target(), "stored_hides");
            let _ = counted.prime(&mut session, ONE);
            run(&mut session, &["INSERT INTO src VALUES (1)"]);
            assert_eq!(answer(&mut session, ONE), Ok(vec![vec!["99".to_owned()]]), "{name}");
            assert_eq!(answer(&mut session, ONE), Ok(vec![vec!["99".to_owned()]]), "{name}");
        }
    });
}

/// A trigger that is made while sessions write, and one that is made another.
#[test]
fn triggers_that_change() {
    with_each(|server, freshet| {
        run(&mut fresh_schema(server, "stored_changing"), AUDITED);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "stored_changing");
        let mut writer = connect(freshet.target(), "stored_changing");
        run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
        let other = "SELECT a FROM other";
        run(
            &mut writer,
            &[
                "DROP TRIGGER ta",
                "CREATE TRIGGER ta AFTER UPDATE ON t FOR EACH ROW BEGIN UPDATE other SET a = a + 1; DO SLEEP(0.5); END",
            ],
        );
        let before = counted.prime(&mut reader, other);
        thread::scope(|scope| {
            let writing = scope.spawn(|| run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]));
            await_asleep(freshet.target(), "stored_changing");
            if freshet.is_there() {
                assert_eq!(counted.hits_of(&mut reader, other, 1), 0, "the new trigger's table is fenced");
            }
            writing.join().unwrap();
        });
        assert_ne!(answer(&mut reader, other), before);
    });
}
