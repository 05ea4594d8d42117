//! What the native query cache answers to its variables and hints, statement by statement, as MariaDB 10.11 with its own cache says it. Freshet
//! says the same on every server.

use freshet_tests::cached::{Answer, answer, caught_up, connect, fresh_schema, hits, run};
use freshet_tests::{Flavor, Freshet, Server, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use Outcome::{Disabled, Done, Fails, Warns};

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It succeeds without a warning.
    Done,
    /// It succeeds with this warning.
    Warns(u16, &'static str),
    /// It fails with this error, whose text begins so.
    Fails(u16, &'static str),
    /// It fails because the cache is off for all: MySQL 5.7 and MariaDB say it in words of their own.
    Disabled,
}

fn with_freshet(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    with_each(|server, freshet| {
        if freshet.is_there() {
            let mut direct = fresh_schema(server, schema);
            run(&mut direct, &["CREATE TABLE t1 (a INT, b INT)", "INSERT INTO t1 VALUES (1, 2)"]);
            caught_up(freshet);
            test(server, freshet, connect(freshet.target(), schema));
        }
    });
}

fn assert_outcome(flavor: Flavor, conn: &mut Conn, statement: &str, expected: &Outcome) {
    let disabled = match flavor {
        Flavor::MySql => {
            Fails(1651, "Query cache is disabled; set the global query_cache_type=1 to enable it")
        }
        Flavor::MariaDb => {
            Fails(1925, "Query cache is globally disabled and you can't enable it only for this session")
        }
    };
    let expected = if *expected == Disabled { &disabled } else { expected };
    match (conn.query::<mysql::Row, _>(statement), expected) {
        (Ok(_), Done | Warns(..)) => {}
        (Err(Error::MySqlError(error)), Fails(code, text)) => {
            assert_eq!(error.code, *code, "{statement}: {error}");
            assert!(error.message.starts_with(text), "{statement}: {error}");
        }
        (got, _) => panic!("{statement}: {got:?}, and not {expected:?}"),
    }
    let warning =
        |code: &u16, text: &str| vec![vec!["Warning".to_owned(), code.to_string(), text.to_owned()]];
    match expected {
        Warns(code, text) => {
            assert_eq!(answer(conn, "SHOW WARNINGS"), Ok(warning(code, text)), "{statement}")
        }
        // A server may warn of a SELECT for reasons of its own.
        Done if statement.starts_with("SET ") => {
            assert_eq!(answer(conn, "SHOW WARNINGS"), Ok(vec![]), "{statement}");
        }
        _ => {}
    }
}

/// In their order: some hang on those before.
const VARIABLES: &[(&str, Outcome)] = &[
    ("SET query_cache_type = 3", Fails(1231, "Variable 'query_cache_type' can't be set to the value of '3'")),
    (
        "SET query_cache_type = -1",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of '-1'"),
    ),
    (
        "SET query_cache_type = 'maybe'",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of 'maybe'"),
    ),
    ("SET query_cache_type = ''", Fails(1231, "Variable 'query_cache_type' can't be set to the value of ''")),
    (
        "SET query_cache_type = NULL",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of 'NULL'"),
    ),
    ("SET query_cache_type = 1.5", Fails(1232, "Incorrect argument type to variable 'query_cache_type'")),
    ("SET query_cache_type = 1e0", Fails(1232, "Incorrect argument type to variable 'query_cache_type'")),
    ("SET query_cache_type = TRUE", Done),
    ("SET query_cache_type = ON", Done),
    ("SET query_cache_type = 'demand'", Done),
    (
        "SET GLOBAL query_cache_type = 4",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of '4'"),
    ),
    ("SET GLOBAL query_cache_type = DEMAND", Done),
    ("SET GLOBAL query_cache_type = OFF", Done),
    ("SET query_cache_type = ON", Disabled),
    ("SET GLOBAL query_cache_type = ON", Done),
    ("SET query_cache_type = ON", Done),
    (
        "SET query_cache_size = 1048576",
        Fails(1229, "Variable 'query_cache_size' is a GLOBAL variable and should be set with SET GLOBAL"),
    ),
    (
        "SET SESSION query_cache_size = 1048576",
        Fails(1229, "Variable 'query_cache_size' is a GLOBAL variable and should be set with SET GLOBAL"),
    ),
    (
        "SET GLOBAL query_cache_size = 'big'",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = ''",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = NULL",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = 1.5",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = 1e6",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = ON",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    ("SET GLOBAL query_cache_size = TRUE", Warns(1292, "Truncated incorrect query_cache_size value: '1'")),
    ("SET GLOBAL query_cache_size = -1", Warns(1292, "Truncated incorrect query_cache_size value: '-1'")),
    (
        "SET GLOBAL query_cache_size = 1048577",
        Warns(1292, "Truncated incorrect query_cache_size value: '1048577'"),
    ),
    (
        "SET GLOBAL query_cache_size = 1024",
        Warns(1282, "Query cache failed to set size 1024; new query cache size is 0"),
    ),
    (
        "SET GLOBAL query_cache_size = 40960",
        Warns(1282, "Query cache failed to set size 40960; new query cache size is 0"),
    ),
    ("SET GLOBAL query_cache_size = 51200", Done),
    (
        "SET GLOBAL query_cache_size = 49152",
        Warns(1282, "Query cache failed to set size 49152; new query cache size is 0"),
    ),
    ("SET GLOBAL query_cache_size = 0", Done),
    ("SET GLOBAL query_cache_size = 2 * 1048576", Done),
    ("SET GLOBAL query_cache_limit = 0", Done),
    ("SET GLOBAL query_cache_limit = -1", Warns(1292, "Truncated incorrect query_cache_limit value: '-1'")),
    ("SET GLOBAL query_cache_limit = 4294967295", Done),
    (
        "SET GLOBAL query_cache_limit = 4294967296",
        Warns(1292, "Truncated incorrect query_cache_limit value: '4294967296'"),
    ),
    (
        "SET GLOBAL query_cache_limit = 'x'",
        Fails(1232, "Incorrect argument type to variable 'query_cache_limit'"),
    ),
    (
        "SET GLOBAL query_cache_limit = 1.5",
        Fails(1232, "Incorrect argument type to variable 'query_cache_limit'"),
    ),
    (
        "SET GLOBAL query_cache_limit = NULL",
        Fails(1232, "Incorrect argument type to variable 'query_cache_limit'"),
    ),
    (
        "SET query_cache_limit = 1",
        Fails(1229, "Variable 'query_cache_limit' is a GLOBAL variable and should be set with SET GLOBAL"),
    ),
    ("SET GLOBAL query_cache_limit = DEFAULT", Done),
    ("SET GLOBAL query_cache_min_res_unit = 0", Done),
    (
        "SET GLOBAL query_cache_min_res_unit = 1",
        Warns(1292, "Truncated incorrect query_cache_min_res_unit value: '1'"),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = 513",
        Warns(1292, "Truncated incorrect query_cache_min_res_unit value: '513'"),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = -1",
        Warns(1292, "Truncated incorrect query_cache_min_res_unit value: '-1'"),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = 4294967296",
        Warns(1292, "Truncated incorrect query_cache_min_res_unit value: '4294967296'"),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = 'x'",
        Fails(1232, "Incorrect argument type to variable 'query_cache_min_res_unit'"),
    ),
    (
        "SET query_cache_min_res_unit = 8",
        Fails(
            1229,
            "Variable 'query_cache_min_res_unit' is a GLOBAL variable and should be set with SET GLOBAL",
        ),
    ),
    ("SET GLOBAL query_cache_min_res_unit = DEFAULT", Done),
    (
        "SET query_cache_wlock_invalidate = 7",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of '7'"),
    ),
    (
        "SET query_cache_wlock_invalidate = -1",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of '-1'"),
    ),
    (
        "SET query_cache_wlock_invalidate = 'x'",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of 'x'"),
    ),
    (
        "SET query_cache_wlock_invalidate = NULL",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of 'NULL'"),
    ),
    (
        "SET query_cache_wlock_invalidate = 1.0",
        Fails(1232, "Incorrect argument type to variable 'query_cache_wlock_invalidate'"),
    ),
    ("SET query_cache_wlock_invalidate = TRUE", Done),
    (
        "SET GLOBAL query_cache_wlock_invalidate = 2",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of '2'"),
    ),
    ("SET query_cache_wlock_invalidate = DEFAULT", Done),
    (
        "SET query_cache_strip_comments = 2",
        Fails(1231, "Variable 'query_cache_strip_comments' can't be set to the value of '2'"),
    ),
    (
        "SET query_cache_strip_comments = 'x'",
        Fails(1231, "Variable 'query_cache_strip_comments' can't be set to the value of 'x'"),
    ),
    (
        "SET query_cache_strip_comments = NULL",
        Fails(1231, "Variable 'query_cache_strip_comments' can't be set to the value of 'NULL'"),
    ),
    (
        "SET query_cache_strip_comments = 1.0",
        Fails(1232, "Incorrect argument type to variable 'query_cache_strip_comments'"),
    ),
    ("SET query_cache_strip_comments = ON", Done),
    ("SET query_cache_strip_comments = DEFAULT", Done),
    (
        "SET query_cache_type = NULL + 1",
        Fails(1232, "Incorrect argument type to variable 'query_cache_type'"),
    ),
    (
        "SET query_cache_type = CONCAT(NULL, 'a')",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of 'NULL'"),
    ),
    (
        "SET query_cache_type = 0x31",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of '1'"),
    ),
    (
        "SET query_cache_strip_comments = NULL + 1",
        Fails(1232, "Incorrect argument type to variable 'query_cache_strip_comments'"),
    ),
    (
        "SET query_cache_wlock_invalidate = 1e0 + NULL",
        Fails(1232, "Incorrect argument type to variable 'query_cache_wlock_invalidate'"),
    ),
    (
        "SET GLOBAL query_cache_size = NULL + 1",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    (
        "SET GLOBAL query_cache_size = 0x100000",
        Fails(1232, "Incorrect argument type to variable 'query_cache_size'"),
    ),
    ("SET GLOBAL query_cache_size = 1048576 DIV 1", Done),
    ("SET GLOBAL query_cache_limit = IF(0, 1, NULL)", Done),
    ("SET GLOBAL query_cache_limit = DEFAULT", Done),
    ("SET query_cache_type = RAND()", Fails(1232, "Incorrect argument type to variable 'query_cache_type'")),
    (
        "SET query_cache_type = @no_such",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of 'NULL'"),
    ),
    (
        "SET SESSION query_cache_limit = 1",
        Fails(1229, "Variable 'query_cache_limit' is a GLOBAL variable and should be set with SET GLOBAL"),
    ),
    (
        "SET SESSION query_cache_min_res_unit = 512",
        Fails(
            1229,
            "Variable 'query_cache_min_res_unit' is a GLOBAL variable and should be set with SET GLOBAL",
        ),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = 1.5",
        Fails(1232, "Incorrect argument type to variable 'query_cache_min_res_unit'"),
    ),
    (
        "SET GLOBAL query_cache_min_res_unit = NULL",
        Fails(1232, "Incorrect argument type to variable 'query_cache_min_res_unit'"),
    ),
    (
        "SET GLOBAL query_cache_strip_comments = 'x'",
        Fails(1231, "Variable 'query_cache_strip_comments' can't be set to the value of 'x'"),
    ),
    (
        "SET GLOBAL query_cache_wlock_invalidate = NULL",
        Fails(1231, "Variable 'query_cache_wlock_invalidate' can't be set to the value of 'NULL'"),
    ),
    ("SET have_query_cache = 1", Fails(1238, "Variable 'have_query_cache' is a read only variable")),
    (
        "SET GLOBAL have_query_cache = 'NO'",
        Fails(1238, "Variable 'have_query_cache' is a read only variable"),
    ),
    (
        "SET SESSION have_query_cache = DEFAULT",
        Fails(1238, "Variable 'have_query_cache' is a read only variable"),
    ),
    ("SELECT @@session.query_cache_size", Fails(1238, "Variable 'query_cache_size' is a GLOBAL variable")),
    ("SELECT @@session.query_cache_limit", Fails(1238, "Variable 'query_cache_limit' is a GLOBAL variable")),
    (
        "SELECT @@session.query_cache_min_res_unit",
        Fails(1238, "Variable 'query_cache_min_res_unit' is a GLOBAL variable"),
    ),
    ("SELECT @@session.have_query_cache", Fails(1238, "Variable 'have_query_cache' is a GLOBAL variable")),
    ("SELECT @@query_cache_nonsense", Fails(1193, "Unknown system variable 'query_cache_nonsense'")),
    ("SET query_cache_nonsense = 1", Fails(1193, "Unknown system variable 'query_cache_nonsense'")),
    ("SET query_cache_type = 1 +", Fails(1064, "You have an error in your SQL syntax")),
    (
        "SET query_cache_type = no_such_column",
        Fails(1231, "Variable 'query_cache_type' can't be set to the value of 'no_such_column'"),
    ),
    (
        "SET GLOBAL query_cache_size = 10485760001",
        Warns(1292, "Truncated incorrect query_cache_size value: '10485760001'"),
    ),
];

#[test]
fn variables_take_and_refuse_what_the_native_ones_do() {
    with_freshet("native_variables", |server, _, mut conn| {
        for (statement, expected) in VARIABLES {
            assert_outcome(server.flavor, &mut conn, statement, expected);
        }
    });
}

const HINTS: &[(&str, Outcome)] = &[
    (
        "SELECT SQL_CACHE 1 FROM t1 UNION SELECT SQL_CACHE 1 FROM t1",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    ("SELECT SQL_CACHE DISTINCT a FROM t1", Done),
    ("SELECT DISTINCT SQL_NO_CACHE a FROM t1", Done),
    ("SELECT SQL_CACHE SQL_CACHE a FROM t1", Fails(1225, "Option 'SQL_CACHE' used twice in statement")),
    ("SELECT * FROM (SELECT SQL_CACHE a FROM t1) x", Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'")),
    (
        "SELECT a FROM t1 WHERE a IN (SELECT SQL_NO_CACHE a FROM t1)",
        Fails(1234, "Incorrect usage/placement of 'SQL_NO_CACHE'"),
    ),
    ("(SELECT SQL_CACHE a FROM t1)", Done),
    ("(SELECT SQL_CACHE a FROM t1) UNION (SELECT a FROM t1)", Done),
    (
        "WITH q AS (SELECT SQL_CACHE a FROM t1) SELECT * FROM q",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    ("WITH q AS (SELECT a FROM t1) SELECT SQL_CACHE * FROM q", Done),
    ("SELECT /*! SQL_CACHE */ a FROM t1", Done),
    ("SELECT /*!40001 SQL_NO_CACHE */ a FROM t1", Done),
    ("SELECT /* SQL_NO_CACHE */ a FROM t1", Done),
    ("SELECT SQL_CACHE SQL_CALC_FOUND_ROWS a FROM t1", Done),
    ("SELECT HIGH_PRIORITY SQL_NO_CACHE SQL_BUFFER_RESULT a FROM t1", Done),
    ("INSERT INTO t1 SELECT SQL_CACHE a, b FROM t1 WHERE 0", Done),
    ("INSERT INTO t1 (SELECT SQL_NO_CACHE a, b FROM t1 WHERE 0)", Done),
    ("REPLACE INTO t1 SELECT SQL_CACHE a, b FROM t1 WHERE 0", Done),
    ("CREATE TEMPORARY TABLE tt SELECT SQL_NO_CACHE a FROM t1", Done),
    ("CREATE TEMPORARY TABLE tt AS (SELECT SQL_CACHE a FROM t1)", Done),
    ("EXPLAIN SELECT SQL_CACHE a FROM t1", Done),
    ("DO (SELECT SQL_CACHE 1)", Done),
    ("SET @x = (SELECT SQL_NO_CACHE 1)", Fails(1234, "Incorrect usage/placement of 'SQL_NO_CACHE'")),
    (
        "DELETE FROM t1 WHERE a IN (SELECT SQL_CACHE 5)",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    ("SELECT a AS sql_cached FROM t1", Done),
    ("SELECT 'SQL_CACHE' FROM t1", Done),
    ("SELECT SQL_CACHE SQL_NO_CACHE a FROM t1", Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE")),
    ("SELECT SQL_NO_CACHE SQL_CACHE a FROM t1", Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE")),
    (
        "INSERT INTO t1 SELECT SQL_CACHE SQL_NO_CACHE a, b FROM t1 WHERE 0",
        Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE"),
    ),
    (
        "SELECT /*!40001 SQL_CACHE */ SQL_NO_CACHE a FROM t1",
        Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE"),
    ),
    (
        "SELECT SQL_NO_CACHE SQL_NO_CACHE a FROM t1",
        Fails(1225, "Option 'SQL_NO_CACHE' used twice in statement"),
    ),
    (
        "SELECT a FROM t1 UNION SELECT SQL_CACHE a FROM t1",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    ("SELECT EXISTS(SELECT SQL_CACHE 1)", Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'")),
    ("UPDATE t1 SET a=(SELECT SQL_CACHE 1)", Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'")),
    ("SELECT SQL_CACHE 1", Done),
    (
        "PREPARE s FROM 'SELECT SQL_CACHE SQL_NO_CACHE a FROM t1'",
        Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE"),
    ),
    ("PREPARE s FROM 'SELECT SQL_CACHE a FROM t1'", Done),
    (
        "CREATE OR REPLACE VIEW hv AS SELECT SQL_NO_CACHE SQL_CACHE a FROM t1",
        Fails(1221, "Incorrect usage of SQL_NO_CACHE and SQL_CACHE"),
    ),
    ("CREATE OR REPLACE VIEW hv AS SELECT SQL_NO_CACHE a FROM t1", Done),
    ("SELECT a SQL_CACHED FROM t1", Done),
    ("SELECT ALL SQL_CACHE a FROM t1", Done),
    ("SELECT SQL_CACHE ALL a FROM t1", Done),
    (
        "SELECT SQL_CACHE * FROM t1 WHERE a IN (SELECT a FROM t1 UNION SELECT SQL_NO_CACHE a FROM t1)",
        Fails(1234, "Incorrect usage/placement of 'SQL_NO_CACHE'"),
    ),
    (
        "SELECT a FROM t1 HAVING a = (SELECT SQL_CACHE 1)",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    ("SELECT (SELECT SQL_NO_CACHE 1)", Fails(1234, "Incorrect usage/placement of 'SQL_NO_CACHE'")),
    ("SELECT SQL_CACHE a INTO @y FROM t1 LIMIT 1", Done),
    ("SELECT SQL_NO_CACHE a FROM t1 FOR UPDATE", Done),
    (
        "CREATE OR REPLACE VIEW hv AS SELECT * FROM (SELECT SQL_CACHE a FROM t1) x",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
    (
        "INSERT INTO t1 SELECT a, b FROM t1 WHERE a IN (SELECT SQL_CACHE 5)",
        Fails(1234, "Incorrect usage/placement of 'SQL_CACHE'"),
    ),
];

#[test]
fn hints_stand_where_the_native_cache_takes_them() {
    with_freshet("native_hints", |server, _, mut conn| {
        for (statement, expected) in HINTS {
            run(&mut conn, &["DROP TEMPORARY TABLE IF EXISTS tt"]);
            assert_outcome(server.flavor, &mut conn, statement, expected);
            // The same where it is prepared: MySQL does not prepare all of them, and PREPARE by PREPARE is refused.
            if let Fails(code, _) = expected
                && !statement.starts_with("PREPARE")
            {
                match conn.prep(statement) {
                    Err(Error::MySqlError(error)) => assert_eq!(error.code, *code, "{statement}, prepared"),
                    other => panic!("{statement}, prepared: {other:?}"),
                }
            }
        }
    });
}

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

/// How many of three readings hit, where each waits until its answer can be stored.
fn hits_of(conn: &mut Conn, statement: &str) -> u64 {
    let before = hits(conn);
    for _ in 0..3 {
        answer(conn, statement).unwrap_or_else(|code| panic!("{statement}: {code}"));
    }
    hits(conn) - before
}

const WAIT: &str = "SET fill_wait = 20000";

/// MySQL does not keep the hints of a view's text.
#[test]
fn the_hints_of_a_view_count_for_who_reads_it() {
    with_freshet("native_views", |server, _, mut conn| {
        if server.flavor == Flavor::MySql {
            return;
        }
        run(
            &mut conn,
            &[
                WAIT,
                "CREATE VIEW plain AS SELECT a FROM t1",
                "CREATE VIEW never AS SELECT SQL_NO_CACHE a FROM t1",
                "CREATE VIEW asks AS SELECT SQL_CACHE a FROM t1",
                "CREATE VIEW above AS SELECT a FROM asks",
                "CREATE VIEW above_never AS SELECT a FROM never",
            ],
        );
        for (statement, when_on, on_demand) in [
            ("SELECT a FROM plain", 2, 0),
            ("SELECT a FROM never", 0, 0),
            ("SELECT a FROM above_never", 0, 0),
            ("SELECT a FROM asks", 2, 2),
            ("SELECT a FROM above", 2, 2),
            ("SELECT SQL_NO_CACHE a FROM asks", 0, 0),
            ("SELECT SQL_CACHE a FROM plain", 2, 2),
        ] {
            for (kind, expected) in [("ON", when_on), ("DEMAND", on_demand)] {
                run(&mut conn, &[&format!("SET query_cache_type = {kind}")]);
                assert_eq!(hits_of(&mut conn, statement), expected, "{statement}, {kind}");
            }
        }
    });
}

#[test]
fn a_session_begins_with_the_global_values_and_keeps_them() {
    with_freshet("native_sessions", |_, freshet, mut conn| {
        const OWN: &str = "SELECT @@query_cache_type";
        let mut earlier = connect(freshet.target(), "native_sessions");
        assert_eq!(answer(&mut earlier, OWN), one("ON"));
        run(&mut conn, &["SET GLOBAL query_cache_type = DEMAND"]);
        let mut later = connect(freshet.target(), "native_sessions");
        assert_eq!((answer(&mut earlier, OWN), answer(&mut later, OWN)), (one("ON"), one("DEMAND")));
        // Whoever turns it off for all is off, and stays so.
        run(&mut conn, &["SET GLOBAL query_cache_type = OFF"]);
        assert_eq!((answer(&mut conn, OWN), answer(&mut earlier, OWN)), (one("OFF"), one("ON")));
        run(&mut conn, &["SET GLOBAL query_cache_type = ON"]);
        assert_eq!((answer(&mut conn, OWN), answer(&mut later, OWN)), (one("OFF"), one("DEMAND")));
        run(&mut conn, &["SET SESSION query_cache_type = DEFAULT"]);
        assert_eq!(answer(&mut conn, OWN), one("ON"));
        later.reset().expect("it is reset");
        assert_eq!(answer(&mut later, OWN), one("ON"));
    });
}

/// A definition that is under way, or what it leaves in doubt, is waited for as well.
#[test]
fn a_reader_that_waits_fills_the_cache_right_after_a_definition() {
    with_freshet("native_waits", |_, _, mut conn| {
        const READ: &str = "SELECT a FROM n";
        run(&mut conn, &[WAIT]);
        for definitions in [
            &["CREATE TABLE n (a INT)"][..],
            &["CREATE TABLE m (a INT)", "ALTER TABLE m RENAME TO n"],
            &[
                "CREATE TABLE n (a INT)",
                "ALTER TABLE n PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (5))",
            ],
        ] {
            run(&mut conn, &["DROP TABLE IF EXISTS n"]);
            assert_eq!(answer(&mut conn, READ), Err(1146));
            run(&mut conn, definitions);
            assert_eq!(hits_of(&mut conn, READ), 2, "{definitions:?}");
        }
    });
}

#[test]
fn sessions_in_character_sets_of_single_bytes_hit() {
    with_freshet("native_charsets", |_, freshet, _| {
        for charset in ["cp1251", "cp1257", "greek", "hebrew", "koi8r", "latin2", "latin5", "tis620"] {
            let mut conn = connect(freshet.target(), "native_charsets");
            run(&mut conn, &[WAIT, &format!("SET NAMES {charset}")]);
            assert_eq!(
                hits_of(&mut conn, &format!("SELECT a, '{charset}' FROM t1 WHERE a = 1")),
                2,
                "{charset}"
            );
        }
        let mut conn = connect(freshet.target(), "native_charsets");
        run(&mut conn, &[WAIT, "SET NAMES swe7"]);
        assert_eq!(hits_of(&mut conn, "SELECT a FROM t1"), 0, "its lower half is not ASCII");
    });
}

/// Where the variable says so, a WRITE lock drops what is stored for the table.
#[test]
fn a_write_lock_drops_results_where_it_is_to() {
    with_freshet("native_wlock", |_, _, mut conn| {
        run(&mut conn, &[WAIT]);
        for (on, kept) in [("OFF", 1), ("ON", 0)] {
            run(&mut conn, &[&format!("SET query_cache_wlock_invalidate = {on}")]);
            let _ = hits_of(&mut conn, "SELECT a FROM t1");
            run(&mut conn, &["LOCK TABLE t1 WRITE", "UNLOCK TABLES"]);
            let before = hits(&mut conn);
            assert_eq!(answer(&mut conn, "SELECT a FROM t1"), one("1"));
            assert_eq!(hits(&mut conn) - before, kept, "{on}");
        }
    });
}
