//! Code that is stored in the server: functions behind views, triggers, and procedures.
//!
//! Nothing in a statement's text says what they do. Whatever they do, nobody is answered from memory what they changed, and
//! a session goes on being answered from memory where they cannot have hidden a table from it.

use std::thread;
use std::time::Duration;

use freshet_tests::cached::{Counted, answer, connect, fresh_schema, run};
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
    "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); RETURN 1; END",
    "CREATE VIEW below AS SELECT f() AS a FROM one",
    "CREATE VIEW w AS SELECT a FROM below",
];

/// The function sleeps after it has written: how long to wait until it does.
const WRITTEN: Duration = Duration::from_millis(120);

/// What runs through one client, while another would be answered from memory what it changes: from the moment it is sent
/// until the stream has told of it, nobody may be.
fn is_fenced(freshet: &Freshet, schema: &str, change: &[&str]) {
    let what = change.join("; ");
    let mut counted = Counted::of(freshet);
    let mut reader = connect(freshet.target(), schema);
    let mut writer = connect(freshet.target(), schema);
    let before = counted.prime(&mut reader, ONE);
    let (last, first) = change.split_last().unwrap();
    run(&mut writer, first);
    let _ = counted.prime(&mut reader, ONE);
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            run(&mut writer, &[last]);
        });
        thread::sleep(WRITTEN);
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
        thread::sleep(WRITTEN);
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
