//! The same text means something else in another session: what that session would be told is what it is told.

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, with_each};
use mysql::prelude::Queryable;

const SCHEMA: &str = "fresh_sessions";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20) CHARACTER SET utf8mb4, c CHAR(5), s TIMESTAMP NULL, d DATE, x VARBINARY(4))",
    "INSERT INTO t VALUES (1, 10, 'é', 'ab', '2026-01-02 03:04:05', '2026-01-04', X'E9'), (2, 3, 'É', 'a', NULL, '2026-05-03', X'5C')",
    "CREATE PROCEDURE zone() SET SESSION time_zone = '+07:00'",
    "DROP DATABASE IF EXISTS fresh_sessions_other",
    "CREATE DATABASE fresh_sessions_other",
    "CREATE TABLE fresh_sessions_other.t (id INT PRIMARY KEY, v INT, w VARCHAR(20))",
    "INSERT INTO fresh_sessions_other.t VALUES (1, -10, 'other')",
    "CREATE TABLE fresh_sessions_other.u (id INT PRIMARY KEY)",
];

/// What a session sets, and the text whose meaning that changes.
const PAIRS: &[(&str, &str)] = &[
    ("SET NAMES latin1", "SELECT w FROM t ORDER BY id"),
    ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SELECT id, 'a' = 'A' FROM t"),
    ("SET character_set_results = NULL", "SELECT w FROM t ORDER BY id"),
    ("SET character_set_results = latin1", "SELECT w FROM t ORDER BY id"),
    ("SET character_set_client = latin1", "SELECT id FROM t WHERE w = 'Ã©'"),
    ("SET collation_connection = utf8mb4_bin", "SELECT v FROM t WHERE 'x' = 'X'"),
    ("SET time_zone = '+05:00'", "SELECT s FROM t WHERE id = 1"),
    ("SET @@session.time_zone = '-03:00'", "SELECT s FROM t WHERE id = 1"),
    ("CALL zone()", "SELECT s FROM t WHERE id = 1"),
    ("SET sql_mode = 'PIPES_AS_CONCAT'", "SELECT id || v FROM t"),
    ("SET sql_mode = 'ANSI_QUOTES'", "SELECT \"v\" FROM t ORDER BY id"),
    ("SET sql_mode = 'ANSI'", "SELECT \"v\", id || v FROM t ORDER BY id"),
    ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SELECT id, 'a\\n' FROM t"),
    ("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'", "SELECT CAST(1 AS UNSIGNED) - v FROM t WHERE id < 0"),
    ("SET sql_mode = 'HIGH_NOT_PRECEDENCE'", "SELECT id FROM t WHERE NOT v BETWEEN -5 AND 5"),
    ("SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "SELECT CHAR_LENGTH(c), c FROM t"),
    ("SET sql_mode = 'IGNORE_SPACE'", "SELECT COUNT (*) FROM t"),
    ("SET sql_select_limit = 1", "SELECT id FROM t ORDER BY id"),
    ("SET SESSION sql_select_limit = 0", "SELECT id FROM t ORDER BY id"),
    ("SET div_precision_increment = 9", "SELECT v / 7 FROM t ORDER BY id"),
    ("SET group_concat_max_len = 4", "SELECT GROUP_CONCAT(v, '----') FROM t"),
    ("SET lc_time_names = 'de_DE'", "SELECT DATE_FORMAT(d, '%M %W') FROM t ORDER BY id"),
    ("SET default_week_format = 3", "SELECT WEEK(d) FROM t ORDER BY id"),
    ("SET max_sort_length = 4", "SELECT id FROM t ORDER BY w, id"),
    ("USE fresh_sessions_other", "SELECT v FROM t WHERE id = 1"),
    ("USE fresh_sessions_other", "SELECT v FROM fresh_sessions.t WHERE id = 1"),
    ("CREATE TEMPORARY TABLE t SELECT 1 AS id, 'temporary' AS v", "SELECT v FROM t WHERE id = 1"),
    ("SET autocommit = 0", "SELECT v FROM t WHERE id = 1"),
    ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT v FROM t WHERE id = 1"),
    ("LOCK TABLES fresh_sessions_other.t READ", "SELECT v FROM t WHERE id = 1"),
    ("SET sql_safe_updates = 1", "SELECT v FROM t WHERE id = 1"),
    ("SET max_join_size = 1", "SELECT a.v FROM t a, t b, t c"),
    ("SET timestamp = 1000000000", "SELECT v FROM t WHERE s > FROM_UNIXTIME(1000000000)"),
];

/// The same, where only one of the servers has the setting.
const PAIRS_OF_MARIADB: &[(&str, &str)] = &[
    ("SET old_passwords = 1", "SELECT PASSWORD(v) FROM t WHERE id = 1"),
    (
        "SET max_recursive_iterations = 3",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT COUNT(*) FROM n JOIN t ON t.id = 1",
    ),
];
const PAIRS_OF_MYSQL: &[(&str, &str)] = &[(
    "SET cte_max_recursion_depth = 3",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT COUNT(*) FROM n JOIN t ON t.id = 1",
)];

#[test]
fn a_session_is_told_what_its_own_settings_say() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, SETUP);
        let mut counted = Counted::of(freshet);
        let mut wrong = Vec::new();
        let own = if server.flavor == Flavor::MariaDb { PAIRS_OF_MARIADB } else { PAIRS_OF_MYSQL };
        for (set, read) in PAIRS.iter().chain(own) {
            let mut plain = connect(freshet.target(), SCHEMA);
            let primed = match answer(&mut direct, read) {
                Ok(rows) if !rows.is_empty() && !read.contains("||") && !read.contains("PASSWORD") => {
                    counted.prime(&mut plain, read)
                }
                _ => answer(&mut plain, read),
            };
            let mut own = connect(freshet.target(), SCHEMA);
            let mut own_direct = connect(&server.target, SCHEMA);
            run(&mut own, &[set]);
            run(&mut own_direct, &[set]);
            let expected = answer(&mut own_direct, read);
            for time in 0..3 {
                let got = answer(&mut own, read);
                if got != expected {
                    wrong.push(format!("{set}: {read}: {got:?} instead of {expected:?} (time {time})"));
                }
            }
            let again = answer(&mut plain, read);
            if again != primed {
                wrong.push(format!("{set} of another session changed {read}: {again:?}"));
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
        run(&mut server.target.connect(), &["DROP DATABASE fresh_sessions_other"]);
    });
}

#[test]
fn a_session_that_is_reset_is_told_what_a_new_one_is() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_reset");
        run(
            &mut direct,
            &["CREATE TABLE t (s TIMESTAMP NULL)", "INSERT INTO t VALUES ('2026-01-02 03:04:05')"],
        );
        const READ: &str = "SELECT s FROM fresh_reset.t";
        let mut counted = Counted::of(freshet);
        let mut own = connect(freshet.target(), "fresh_reset");
        let plain = counted.prime(&mut own, READ);
        run(&mut own, &["SET time_zone = '+09:00'"]);
        let shifted = counted.prime(&mut own, READ);
        assert_ne!(plain, shifted);
        own.reset().expect("the session is reset");
        assert_eq!(answer(&mut own, READ), plain);
        run(&mut own, &["SET time_zone = '+09:00'"]);
        assert_eq!(answer(&mut own, READ), shifted);
        own.change_user(mysql::ChangeUserOpts::DEFAULT).expect("the user is changed to itself");
        assert_eq!(answer(&mut own, READ), plain);
    });
}

#[test]
fn a_global_setting_reaches_new_sessions() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_global");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
        const READ: &str = "SELECT v / 7 FROM t";
        let mut counted = Counted::of(freshet);
        let before = counted.prime(&mut connect(freshet.target(), "fresh_global"), READ);
        run(&mut direct, &["SET GLOBAL div_precision_increment = 12"]);
        let expected = answer(&mut connect(&server.target, "fresh_global"), READ);
        assert_ne!(before, expected);
        let outcome = std::panic::catch_unwind(|| {
            eventually("a new session has the new global value", || {
                let got = answer(&mut connect(freshet.target(), "fresh_global"), READ);
                (got == expected).then_some(())
            });
        });
        run(&mut direct, &["SET GLOBAL div_precision_increment = 4"]);
        assert!(outcome.is_ok());
    });
}

#[test]
fn names_of_tables_and_schemas_are_told_apart_as_the_server_does() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_names");
        run(
            &mut direct,
            &[
                "CREATE TABLE Mixed (id INT PRIMARY KEY, v INT)",
                "CREATE TABLE mixed (id INT PRIMARY KEY, v INT)",
                "CREATE TABLE `odd ``name;--` (id INT PRIMARY KEY, v INT)",
                "CREATE TABLE `größe` (id INT PRIMARY KEY, v INT)",
                "INSERT INTO Mixed VALUES (1, 1)",
                "INSERT INTO mixed VALUES (1, 2)",
                "INSERT INTO `odd ``name;--` VALUES (1, 3)",
                "INSERT INTO `größe` VALUES (1, 4)",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_names");
        let mut writer = connect(freshet.target(), "fresh_names");
        for name in ["Mixed", "mixed", "`odd ``name;--`", "`größe`", "fresh_names . Mixed"] {
            let read = format!("SELECT v FROM {name} WHERE id = 1");
            // That a name is cached is not promised; that it is fresh is.
            if name.is_ascii() {
                let _ = counted.prime(&mut reader, &read);
            } else {
                let _ = counted.hits_of(&mut reader, &read, 3);
            }
            writer.query_drop(format!("UPDATE {name} SET v = v + 10 WHERE id = 1")).expect("it is written");
            assert_eq!(answer(&mut reader, &read), answer(&mut direct, &read), "{name}");
        }
        if server.flavor == Flavor::MariaDb {
            assert_eq!(answer(&mut reader, "SELECT v FROM MIXED"), Err(1146));
        }
    });
}
