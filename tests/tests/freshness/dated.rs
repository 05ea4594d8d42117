//! Answers that are others after midnight: where a TIME is taken as a date and time, the servers complete it by the current date.

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run};
use freshet_tests::with_each;
use mysql::Value;
use mysql::prelude::Queryable;

const SCHEMA: &str = "fresh_dated";

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, tm TIME, dt DATETIME, d DATE)",
    "INSERT INTO t VALUES (1, '10:00', '2026-01-01 10:00', '2026-01-01'), (2, '11:00', NOW(), CURDATE())",
    "CREATE TABLE u (id INT PRIMARY KEY, n INT, dt DATETIME)",
    "INSERT INTO u VALUES (1, 36000, NOW())",
    "CREATE VIEW bare AS SELECT id, tm AS at, dt FROM t WHERE tm > '09:00'",
    "CREATE VIEW listed (dt, tm) AS SELECT tm, dt FROM t",
    "CREATE VIEW dated AS SELECT id FROM t WHERE tm < dt",
    "CREATE VIEW made AS SELECT SEC_TO_TIME(n) AS x, dt AS y FROM u",
];

/// Each depends on the day on which it is asked.
const DATED: &[&str] = &[
    "SELECT tm = dt FROM t",
    "SELECT id FROM t WHERE tm IN (SELECT dt FROM u)",
    "SELECT CAST(tm AS DATETIME) FROM t",
    "SELECT id FROM t WHERE dt BETWEEN '2000-01-01' AND tm",
    "SELECT DAYNAME(tm) FROM t",
    "SELECT COALESCE(tm, dt) FROM t",
    "SELECT tm FROM t UNION ALL SELECT dt FROM t",
    "SELECT a.id FROM t a JOIN t b ON a.tm = b.dt",
    "SELECT SEC_TO_TIME(n) > dt FROM u",
    "SELECT at = dt FROM bare",
    "SELECT dt = tm FROM listed",
    "SELECT id FROM dated",
    "SELECT x = y FROM made",
];

/// These do not.
const UNDATED: &[&str] = &[
    "SELECT * FROM t WHERE id = 1",
    "SELECT * FROM t WHERE id IN (SELECT id FROM u)",
    "SELECT tm, dt FROM t WHERE dt > (SELECT MIN(dt) FROM u WHERE id > 9)",
    "SELECT id, tm AS at, dt FROM t WHERE tm BETWEEN '09:00' AND '10:30' ORDER BY tm",
    "SELECT HOUR(tm), MIN(tm), COUNT(*) FROM t GROUP BY HOUR(tm)",
    "SELECT TIMESTAMP(d, tm) FROM t",
    "SELECT SEC_TO_TIME(SUM(n)) AS total FROM u",
    "SELECT id, at FROM bare ORDER BY at",
    "SELECT x FROM made",
    "SELECT dt = CAST('2026-01-01' AS DATETIME) FROM t",
    "SELECT id, dt FROM t UNION ALL SELECT id, dt FROM u ORDER BY dt, id",
];

#[test]
fn what_depends_on_the_current_date_is_not_answered_from_memory_and_what_does_not_is() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, SETUP);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), SCHEMA);
        for statement in UNDATED {
            let got = counted.prime(&mut reader, statement);
            assert_eq!(got, answer(&mut direct, statement), "{statement}");
        }
        for statement in DATED {
            assert!(answer(&mut reader, statement).is_ok(), "{statement}");
            assert_eq!(counted.hits_of(&mut reader, statement, 4), 0, "{statement}");
        }
        // What a parameter is is known when it is executed.
        let statement = reader.prep("SELECT id FROM t WHERE tm = ?").expect("it is prepared");
        let time = Value::Time(false, 0, 10, 0, 0, 0);
        let moment = Value::Date(2026, 1, 1, 10, 0, 0, 0);
        let mut execute = |value: &Value| {
            let before = counted.hits();
            let _: Vec<u32> = reader.exec(&statement, (value,)).expect("it is executed");
            counted.hits() - before
        };
        eventually("a hit", || (execute(&time) > 0).then_some(()));
        assert_eq!((0..4).map(|_| execute(&moment)).sum::<u64>(), 0);
    });
}

/// A virtual column is computed when it is read.
#[test]
fn a_virtual_column_that_depends_on_the_current_date_keeps_its_table_out() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, "fresh_dated_virtual");
        run(
            &mut direct,
            &[
                "CREATE TABLE kept (id INT PRIMARY KEY, tm TIME, h INT AS (HOUR(tm)) VIRTUAL)",
                "INSERT INTO kept (id, tm) VALUES (1, '10:00')",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_dated_virtual");
        let _ = counted.prime(&mut reader, "SELECT h FROM kept");
        // Where the server takes such a column.
        let made = "CREATE TABLE dated (id INT PRIMARY KEY, tm TIME, at DATETIME AS (TIMESTAMP(tm)) VIRTUAL)";
        if answer(&mut direct, made).is_ok() {
            run(&mut direct, &["INSERT INTO dated (id, tm) VALUES (1, '10:00')"]);
            assert_eq!(counted.hits_of(&mut reader, "SELECT at FROM dated", 4), 0);
        }
    });
}
