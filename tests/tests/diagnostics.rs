//! What a session can ask about the statement before: counts, warnings, errors, the last id. Freshet asks questions of
//! its own on the client's connection and answers from memory; neither may show.

use std::time::Duration;

use freshet_tests::cached::{Answer, Counted, answer, connect, eventually, fresh_schema, run, user_of};
use freshet_tests::raw::{Raw, command};
use freshet_tests::{Flavor, Server, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const SCHEMA: &str = "diagnostics";
const HIT: &str = "SELECT v FROM t WHERE id = 1";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20),(3,30)",
    "CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(3))",
    "CREATE TABLE tr (a INT)",
    "CREATE TRIGGER trg BEFORE INSERT ON tr FOR EACH ROW SET @x = 1",
    "CREATE PROCEDURE pw() INSERT INTO n (a) VALUES ('abcdef')",
    "CREATE PROCEDURE pu() UPDATE t SET v = v + 1",
    "CREATE PROCEDURE ps() SELECT id FROM t",
    "CREATE PROCEDURE pe() SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'told'",
    "CREATE PROCEDURE pwarn() SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'warned'",
    "CREATE FUNCTION fn() RETURNS INT BEGIN INSERT INTO n (a) VALUES ('x'); RETURN LAST_INSERT_ID(); END",
    "CREATE FUNCTION asks() RETURNS INT NO SQL RETURN 10 * FOUND_ROWS() + ROW_COUNT()",
    "CREATE VIEW asked AS SELECT asks() AS a",
    "CREATE TABLE ta (a INT)",
    "CREATE TRIGGER tra BEFORE INSERT ON ta FOR EACH ROW INSERT INTO n (a) VALUES (FOUND_ROWS())",
    "CREATE TABLE tu (a INT)",
    "CREATE TRIGGER tru BEFORE INSERT ON tu FOR EACH ROW \
     BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS tt2 (a INT); INSERT INTO n (a) VALUES (FOUND_ROWS()); END",
];

/// What is done, one after the other; the last is what is asked about.
const DONE: &[&[&str]] = &[
    &["SET @a = 1"],
    &["SET NAMES utf8"],
    &["SET NAMES utf8mb4"],
    &["SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'"],
    &["SET max_sort_length = 1"],
    &["SET sql_mode = ''", "CALL pw()"],
    &["CALL pw()"],
    &["CALL pu()"],
    &["CALL ps()"],
    &["CALL pe()"],
    &["CALL pwarn()"],
    &["CALL nothing()"],
    &["PREPARE s FROM 'INSERT INTO n (a) VALUES (1),(2),(3)'", "EXECUTE s"],
    &["EXECUTE nothing"],
    &["SET @b = 2", "INSERT INTO n (a) VALUES ('a'), ('b')"],
    &["INSERT INTO n (a) VALUES ('a'), ('b')"],
    &["INSERT INTO n (id, a) VALUES (LAST_INSERT_ID(77), 'z') ON DUPLICATE KEY UPDATE a = 'y'"],
    &["INSERT INTO tr VALUES (1), (2)"],
    &["SELECT fn()"],
    &["UPDATE t SET v = v + 1"],
    &["UPDATE t SET v = v"],
    &["DELETE FROM t WHERE id = -1"],
    &["SET @a = 1", "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1"],
    &["SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1"],
    &["SET @a = 1; SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1"],
    &["SELECT id FROM t"],
    &["SELECT id FROM t LIMIT 2"],
    &["SELECT id FROM t WHERE id > 100"],
    &["SET @c = 1", "SELECT id FROM t"],
    &["CALL ps()", "SELECT id FROM t"],
    &["SELECT 1/0, CAST('x' AS SIGNED)"],
    &["SELECT CAST('x' AS SIGNED) FROM t"],
    &["SET @d = 1", "SELECT CAST('x' AS SIGNED) FROM t"],
    &["SELECT nothing FROM t"],
    &["selec"],
    &["INSERT INTO t VALUES (1, 1)"],
    &["INSERT IGNORE INTO t VALUES (1, 1), (2, 2)"],
    &["DROP TABLE IF EXISTS nothing"],
    &["USE diagnostics; DROP TABLE IF EXISTS nothing"],
    &["DROP TEMPORARY TABLE IF EXISTS nothing"],
    &["CREATE TABLE IF NOT EXISTS t (id INT)"],
    &["CREATE TEMPORARY TABLE tt SELECT id FROM t"],
    &["USE diagnostics"],
    &["BEGIN", "UPDATE t SET v = v + 1", "COMMIT"],
    &["BEGIN", "UPDATE t SET v = v + 1 WHERE id = 2", "ROLLBACK"],
    &["SET autocommit = 0", "UPDATE t SET v = v + 1", "SET autocommit = 1"],
    &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED"],
    &["DO 1/0"],
    &["ANALYZE TABLE n"],
    &["SHOW TABLES"],
    &["EXPLAIN SELECT * FROM t"],
    // What is remembered, after each kind of thing.
    &[HIT],
    &[HIT, HIT],
    &["SELECT 1/0", HIT],
    &["UPDATE t SET v = v WHERE id < 0", HIT],
    &["INSERT INTO n (a) VALUES ('a')", HIT],
    &["CALL pw()", HIT],
    &["SET @e = 1", HIT, HIT],
    &["SELECT nothing", HIT],
    &[HIT, "SET @f = 1"],
    &[HIT, "SELECT id FROM t"],
    &[HIT, "UPDATE t SET v = v + 1 WHERE id > 1"],
    &[HIT, "SELECT 1/0"],
    &[HIT, "CALL pe()"],
];

/// Each on a run of its own, because asking changes what can be asked next.
const ASKED: &[&str] = &[
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT LAST_INSERT_ID()",
    "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW ERRORS",
    "SHOW COUNT(*) ERRORS",
    "SELECT @@warning_count",
    "SELECT @@error_count, @@warning_count",
    "GET DIAGNOSTICS @g = NUMBER, @r = ROW_COUNT; SELECT @g, @r",
    "SET @r = ROW_COUNT(), @f = FOUND_ROWS()",
    "INSERT INTO n (a) VALUES (ROW_COUNT())",
    // By code that the statement's text does not show, known or not.
    "SELECT asks()",
    "SELECT a FROM asked",
    "INSERT INTO ta VALUES (1)",
    "INSERT INTO tu VALUES (1)",
];
/// Those that are asked after something that is no statement, too.
const BETWEEN: &[&str] = &["SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()", "SHOW WARNINGS"];
/// What shows the answers of the last two.
const SHOWN: &str = "SELECT @g, @r, @f, (SELECT a FROM n ORDER BY id DESC LIMIT 1)";

fn transcript(target: &Target, direct: &mut Conn, done: &[&str], asked: &str, way: Way) -> Vec<Answer> {
    // The tables are as they were each time. A definition is slow, and only needed where ids were given out.
    let gives_ids =
        |text: &&str| ["INTO n ", "INTO t", "EXECUTE s", "pw()", "fn()"].iter().any(|it| text.contains(it));
    run(direct, &["REPLACE INTO t VALUES (1,10),(2,20),(3,30)", "DELETE FROM n", "DELETE FROM tr"]);
    if done.iter().chain([&asked]).any(gives_ids) {
        run(direct, &["ALTER TABLE n AUTO_INCREMENT = 1"]);
    }
    let mut conn = connect(target, SCHEMA);
    // The session is known, and has asked for something.
    let _ = answer(&mut conn, "SELECT id FROM t WHERE id = 2");
    let mut told: Vec<Answer> = done.iter().map(|statement| answer(&mut conn, statement)).collect();
    told.push(ask(&mut conn, asked, way));
    told.push(answer(&mut conn, asked));
    told.push(answer(&mut conn, SHOWN));
    told
}

/// How it is asked, or what that asks nothing comes in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Said,
    Prepared,
    AfterPing,
    AfterPrepare,
}

fn ask(conn: &mut Conn, asked: &str, way: Way) -> Answer {
    match way {
        Way::Said => {}
        Way::Prepared => return execute(conn, asked),
        Way::AfterPing => conn.ping().expect("it answers"),
        Way::AfterPrepare => drop(conn.prep("SELECT id FROM t WHERE v = 1").expect("it is prepared")),
    }
    answer(conn, asked)
}

fn execute(conn: &mut Conn, statement: &str) -> Answer {
    let rows = conn.prep(statement).and_then(|statement| conn.exec::<mysql::Row, _, _>(statement, ()));
    match rows {
        Ok(rows) => {
            Ok(rows.into_iter().map(|row| row.unwrap().iter().map(|v| v.as_sql(true)).collect()).collect())
        }
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{statement}: {other}"),
    }
}

#[test]
fn what_is_asked_about_the_statement_before_is_answered_as_directly() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, &["SET GLOBAL log_bin_trust_function_creators = 1"]);
        run(&mut direct, SETUP);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), SCHEMA);
        let mut wrong = Vec::new();
        for done in DONE {
            if done.contains(&HIT) {
                let _ = counted.prime(&mut reader, HIT);
            }
            for asked in ASKED {
                for way in [Way::Said, Way::Prepared, Way::AfterPing, Way::AfterPrepare] {
                    // The servers prepare no multi-statement; what comes in between, one question shows.
                    let left_out = match way {
                        Way::Said => false,
                        Way::Prepared => asked.contains(';'),
                        Way::AfterPing | Way::AfterPrepare => !BETWEEN.contains(asked),
                    };
                    if left_out {
                        continue;
                    }
                    let wanted = transcript(&server.target, &mut direct, done, asked, way);
                    let got = transcript(freshet.target(), &mut direct, done, asked, way);
                    if got != wanted {
                        wrong.push(format!("{done:?} {asked} {way:?}: {got:?} instead of {wanted:?}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{:?}: {}\n{}", server.flavor, wrong.len(), wrong.join("\n"));
    });
}

/// The client's own message, and nothing of how Freshet is made.
#[test]
fn a_killed_connection_is_told_of_in_the_clients_words() {
    with_each(|server, freshet| {
        let mut direct = server.target.connect();
        for _ in 0..5 {
            let mut client = freshet.target().connect();
            let id: Option<u64> = client.query_first("SELECT @@pseudo_thread_id").expect("it has one");
            run(&mut direct, &[&format!("KILL {}", id.expect("it has one"))]);
            let error = client.query_drop("SELECT 1 FROM mysql.user").expect_err("it was killed").to_string();
            for inside in ["rustls", "docs.rs", "tokio", "TLS", "panicked", "Custom {"] {
                assert!(!error.contains(inside), "{:?}: {error}", server.flavor);
            }
        }
    });
}

/// A client that asks nothing by itself, of the account of [`user_of`].
fn client(target: &Target) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
    raw.login(SCHEMA, SCHEMA, 0).expect("a login");
    raw
}

/// Makes a table of three rows, and that account.
fn three_rows(server: &Server) -> Conn {
    let mut direct = fresh_schema(server, SCHEMA);
    run(
        &mut direct,
        &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10),(2,20),(3,30)"],
    );
    user_of(&mut direct, SCHEMA);
    direct
}

/// What a statement before an answer from memory has left is shown by nothing that comes after it.
#[test]
fn an_older_error_is_not_shown_behind_a_hit_and_warnings_outlive_a_count_from_memory() {
    with_each(|server, freshet| {
        let _direct = three_rows(server);
        let mut counted = Counted::of(freshet);
        let mut primer = client(freshet.target());
        eventually("a row and its count are answered from memory", || {
            let before = counted.hits();
            primer.query(HIT).unwrap();
            primer.query("SELECT FOUND_ROWS()").unwrap();
            (counted.hits() > before || !freshet.is_there()).then_some(())
        });
        let asked = |target: &Target| {
            let mut raw = client(target);
            let mut told = Vec::new();
            for _ in 0..3 {
                raw.query("SELECT nothing FROM t").unwrap();
                raw.query(HIT).unwrap();
                raw.ask(command::INIT_DB, SCHEMA.as_bytes()).unwrap();
                told.push(raw.query("SHOW COUNT(*) ERRORS").unwrap());
                raw.query(HIT).unwrap();
                raw.query("INSERT IGNORE INTO t VALUES (1, 11)").unwrap();
                told.push(raw.query("SELECT FOUND_ROWS()").unwrap());
                told.push(raw.query("SHOW WARNINGS").unwrap());
            }
            told
        };
        assert_eq!(asked(freshet.target()), asked(&server.target), "{:?}", server.flavor);
    });
}

/// What Freshet asks of the server in between is nobody's warning, also where it may not be asked.
#[test]
fn a_transaction_shows_no_warnings_but_its_own() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
        user_of(&mut direct, SCHEMA);
        let asked = |target: &Target| {
            let mut raw = client(target);
            let warnings = |raw: &mut Raw| raw.query("SHOW WARNINGS").unwrap().len();
            raw.query("BEGIN").unwrap();
            for _ in 0..3 {
                raw.query("SELECT id FROM t").unwrap();
            }
            let inside = warnings(&mut raw);
            raw.query("COMMIT").unwrap();
            raw.query("SELECT id FROM t").unwrap();
            (inside, warnings(&mut raw))
        };
        assert_eq!(asked(freshet.target()), asked(&server.target), "{:?}", server.flavor);
    });
}

/// What a client does that has asked nothing yet; "ping" is the command.
const FIRST: &[&[&str]] = &[
    &["ping"],
    &[HIT, "ping"],
    &["ping", HIT],
    &[HIT, "ping", "ping"],
    &[HIT, "ping", HIT],
    &["BEGIN", "ping"],
    &["BEGIN", HIT, "ping"],
    &["BEGIN", HIT, "COMMIT", "ping"],
    &[HIT, "BEGIN", "ping", "COMMIT"],
];

/// Clients that are served from memory have no connection of their own yet. What they do is asked about there all the same.
#[test]
fn what_was_done_before_there_was_a_connection_can_be_asked_about() {
    with_each(|server, freshet| {
        let mut direct = three_rows(server);
        let connections = |direct: &mut Conn| {
            let list = format!("SELECT id FROM information_schema.processlist WHERE user = '{SCHEMA}'");
            direct.query::<u64, _>(list).expect("they are listed").len()
        };
        let mut wrong = Vec::new();
        for first in FIRST {
            // MariaDB itself tells a new connection of the rows that some earlier one has found.
            let has_read = first.contains(&HIT);
            for asked in ASKED_FIRST.iter().filter(|asked| has_read || !asked.contains("FOUND_ROWS")) {
                let told = |target: &Target| {
                    let mut raw = client(target);
                    first.iter().chain([asked]).map(|step| told_of(&mut raw, step)).collect::<Vec<_>>()
                };
                eventually("a session needs no connection", || {
                    let mut raw = client(freshet.target());
                    raw.query(HIT).expect("an answer");
                    (connections(&mut direct) == 0).then_some(())
                });
                let (got, wanted) = (told(freshet.target()), told(&server.target));
                if got != wanted {
                    wrong.push(format!("{first:?} {asked}: {got:?} instead of {wanted:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{:?}: {}\n{}", server.flavor, wrong.len(), wrong.join("\n"));
    });
}

/// What a ping or a statement is answered.
fn told_of(raw: &mut Raw, step: &str) -> Vec<Vec<u8>> {
    if step == "ping" { raw.ask(command::PING, &[]) } else { raw.query(step) }.expect("an answer")
}
const ASKED_FIRST: &[&str] = &[
    "SELECT ROW_COUNT(), LAST_INSERT_ID()",
    "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SELECT @@warning_count",
];

/// A connection that is kept alive beside answers from memory tells nothing of that.
#[test]
fn what_keeps_a_connection_leaves_no_counts() {
    with_each(|server, freshet| {
        three_rows(server);
        let told = |target: &Target| {
            let mut raw = client(target);
            raw.query("SET SESSION wait_timeout = 3").expect("an answer");
            for _ in 0..3 {
                raw.query("SELECT v FROM t WHERE id = 3").expect("an answer");
                raw.ask(command::STMT_PREPARE, HIT.as_bytes()).expect("an answer");
            }
            raw.query("UPDATE t SET v = v + 1 WHERE id > 1").expect("an answer");
            std::thread::sleep(Duration::from_millis(1500));
            raw.ask(command::STMT_PREPARE, HIT.as_bytes()).expect("an answer");
            raw.query("SELECT ROW_COUNT()").expect("an answer")
        };
        assert_eq!(told(freshet.target()), told(&server.target), "{:?}", server.flavor);
    });
}

/// A transaction in which all is answered from memory is not idle to its client, and so not to the server.
#[test]
fn a_busy_transaction_is_not_cut_off_as_idle() {
    with_each(|server, freshet| {
        if server.flavor != Flavor::MariaDb {
            return;
        }
        three_rows(server);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), SCHEMA);
        let _ = counted.prime(&mut reader, HIT);
        run(&mut reader, &["SET SESSION idle_transaction_timeout = 1", READ_COMMITTED]);
        let _ = counted.prime(&mut reader, HIT);
        run(&mut reader, &["BEGIN"]);
        let _ = answer(&mut reader, "SELECT v FROM t WHERE id = 2 FOR UPDATE");
        let before = counted.hits();
        for _ in 0..10 {
            assert_eq!(answer(&mut reader, HIT), Ok(vec![vec!["10".to_owned()]]));
            std::thread::sleep(Duration::from_millis(250));
        }
        assert!(counted.hits() >= before + 9, "the server saw the transaction all the time");
        assert_eq!(answer(&mut reader, "SELECT v FROM t WHERE id = 3"), Ok(vec![vec!["30".to_owned()]]));
        run(&mut reader, &["COMMIT"]);
    });
}

/// So that a transaction goes on being answered from memory when the server has opened it.
const READ_COMMITTED: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
