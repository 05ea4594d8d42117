//! SELECTs whose grammar Freshet does not understand: answered from memory all the same, and never stale, whatever one of their names
//! turns out to mean.

use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, with_each};

const SCHEMA: &str = "by_names";

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "INSERT INTO u VALUES (1, 1)",
    "CREATE TABLE alone (id INT PRIMARY KEY)",
    "CREATE TABLE timed (id INT PRIMARY KEY, tm TIME)",
    "CREATE VIEW w AS SELECT id, v FROM u",
    "CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC NO SQL RETURN a",
];

/// Statements of each server whose grammar is not understood, with a write of each of their tables.
fn cached(flavor: Flavor) -> &'static [(&'static str, &'static [&'static str])] {
    match flavor {
        Flavor::MariaDb => &[
            ("SELECT v FROM t ORDER BY id FETCH FIRST 1 ROWS ONLY", &["UPDATE t SET v = v + 1 WHERE id = 1"]),
            (
                "SELECT t.v, w.v FROM t JOIN w USING (id) ORDER BY t.id OFFSET 0 ROWS FETCH NEXT 2 ROWS ONLY",
                &[
                    "UPDATE t SET v = v + 1",
                    "UPDATE u SET v = v + 1",
                    "DELETE FROM u",
                    "INSERT INTO u VALUES (1, 5)",
                ],
            ),
            (
                "WITH RECURSIVE c AS (SELECT id AS n FROM t UNION SELECT n + 1 FROM c WHERE n < 4) CYCLE n RESTRICT \
                 SELECT COUNT(*) FROM c",
                &["DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (1, 10)"],
            ),
        ],
        Flavor::MySql => &[
            ("SELECT v FROM (TABLE t) x WHERE x.id = 1", &["UPDATE t SET v = v + 1 WHERE id = 1"]),
            (
                "SELECT v FROM t WHERE id IN (TABLE alone)",
                &["INSERT INTO alone VALUES (1)", "UPDATE t SET v = v + 1", "DELETE FROM alone"],
            ),
            (
                "SELECT id FROM (TABLE w) x ORDER BY id",
                &["INSERT INTO u VALUES (7, 5)", "DELETE FROM u WHERE id = 7"],
            ),
        ],
    }
}

fn refused(flavor: Flavor) -> &'static [&'static str] {
    match flavor {
        Flavor::MariaDb => &[
            "SELECT NOW(6) FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT f(v) FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT `f`(v) FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT CURRENT_TIMESTAMP, v FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT @a, v FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT v FROM t FETCH FIRST 1 ROWS ONLY FOR UPDATE",
            "SELECT id FROM timed FETCH FIRST 1 ROWS ONLY",
            "SELECT COUNT(*) FROM information_schema.TABLES FETCH FIRST 1 ROWS ONLY",
        ],
        Flavor::MySql => &[
            "SELECT NOW(6) FROM (TABLE t) x",
            "SELECT f(v) FROM (TABLE t) x",
            "SELECT CURRENT_TIMESTAMP FROM (TABLE t) x",
            "SELECT @a FROM (TABLE t) x",
            "SELECT id FROM (TABLE timed) x",
            "SELECT COUNT(*) FROM (TABLE information_schema.SCHEMATA) x",
            "SELECT v FROM (TABLE t) x FOR UPDATE",
        ],
    }
}

#[test]
fn what_is_not_understood_is_answered_from_memory_until_one_of_its_tables_changes() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, SETUP);
        caught_up(freshet);
        let (mut reader, mut writer) = (connect(freshet.target(), SCHEMA), connect(freshet.target(), SCHEMA));
        let mut counted = Counted::of(freshet);
        for (statement, writes) in cached(server.flavor) {
            assert_eq!(counted.prime(&mut reader, statement), answer(&mut direct, statement), "{statement}");
            run(&mut writer, &["INSERT INTO timed VALUES (1, '10:00') ON DUPLICATE KEY UPDATE id = 1"]);
            assert_eq!(counted.prime(&mut reader, statement), answer(&mut direct, statement), "{statement}");
            for write in *writes {
                run(&mut writer, &[write]);
                let now = answer(&mut direct, statement);
                assert_eq!(answer(&mut reader, statement), now, "{statement} after {write}");
                assert_eq!(counted.prime(&mut reader, statement), now, "{statement} after {write}");
            }
        }
        for statement in refused(server.flavor).iter().filter(|_| freshet.is_there()) {
            assert!(answer(&mut reader, statement).is_ok(), "{statement}");
            assert_eq!(counted.hits_of(&mut reader, statement, 5), 0, "{statement}");
        }
    });
}

/// Under a name that means nothing there comes to be something, and it is read.
#[test]
fn a_name_that_comes_to_mean_a_table_ends_what_rested_on_its_absence() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "by_names_later");
        run(&mut direct, SETUP);
        caught_up(freshet);
        let mut reader = connect(freshet.target(), "by_names_later");
        let mut counted = Counted::of(freshet);
        // The name of a common table expression, which is in the way of the table only where it is in scope.
        let statement = match server.flavor {
            Flavor::MariaDb => "SELECT (SELECT MAX(v) FROM t FETCH FIRST 1 ROWS ONLY) AS later FROM w",
            Flavor::MySql => "SELECT (SELECT MAX(v) FROM (TABLE t) x) AS later FROM w",
        };
        let before = counted.prime(&mut reader, statement);
        assert_eq!(before, answer(&mut direct, statement));
        run(&mut direct, &["DROP VIEW w", "CREATE VIEW w AS SELECT 1 FROM t"]);
        let now = answer(&mut direct, statement);
        assert_ne!(now, before);
        eventually("the other view", || (answer(&mut reader, statement) == now).then_some(()));
        assert_eq!(counted.prime(&mut reader, statement), now);
        run(&mut direct, &["CREATE TABLE later (id INT)", "CREATE TABLE x (id INT)"]);
        assert_eq!(counted.prime(&mut reader, statement), now, "they are not read");
        let mut own = connect(freshet.target(), "by_names_later");
        run(&mut own, &["CREATE TEMPORARY TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 99)"]);
        assert_eq!(answer(&mut own, statement).map(|rows| rows[0].clone()), Ok(vec!["99".to_owned()]));
        assert_eq!(answer(&mut reader, statement), now);
        if freshet.is_there() {
            let explained =
                answer(&mut reader, &format!("EXPLAIN FRESHET {statement}")).expect("it is explained");
            assert!(explained.iter().any(|line| line[0] == "read_by"), "{explained:?}");
            assert!(explained.contains(&vec!["hit_now".to_owned(), "YES".to_owned()]), "{explained:?}");
        }
    });
}
