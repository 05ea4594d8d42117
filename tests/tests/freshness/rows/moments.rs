//! TIMESTAMP: told apart where the session's time zone is always the same distance from UTC, and by the whole table elsewhere.

use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

use crate::freshness::levels::with_stall;

use super::{DROPPED, Line, TRIALS, failures_of, line};

/// UTC by the server's own name, a distance on either side of it, and a zone with an hour that occurs twice.
const FIXED: [&str; 3] = ["SYSTEM", "+02:00", "-09:30"];
const NAMED: &str = "Freshet/Summer";

/// From 25 October 2020, 01:00 UTC on, an hour is taken back.
const NAMED_SETUP: &[&str] = &[
    "REPLACE INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (7001, 'N')",
    "REPLACE INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('Freshet/Summer', 7001)",
    "REPLACE INTO mysql.time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST, Abbreviation) \
     VALUES (7001, 0, 7200, 1, 'S'), (7001, 1, 3600, 0, 'W')",
    "REPLACE INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id) \
     VALUES (7001, 0, 0), (7001, 1603587600, 1)",
];

const SETUP: &[&str] = &[
    "CREATE TABLE mark (id INT PRIMARY KEY, n INT)",
    "INSERT INTO mark VALUES (1,0)",
    "CREATE TABLE moments (id INT PRIMARY KEY, ts TIMESTAMP NULL, f TIMESTAMP(3) NULL, \
     up TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, k INT, v INT)",
    "INSERT INTO moments VALUES \
     (1,'2024-02-29 10:00:00','2024-02-29 10:00:00.250','2020-01-01 00:00:00',1,1), \
     (2,'2024-02-29 11:00:00','2024-02-29 10:00:00.251','2020-01-01 00:00:00',2,1), \
     (3,'2024-02-29 23:30:00',NULL,'2020-01-01 00:00:00',3,1), \
     (4,NULL,NULL,'2020-01-01 00:00:00',4,1)",
];

const LINES: &[Line] = &[
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE ts = '2024-02-29 10:00:00'",
        &[
            "UPDATE moments SET v = v + 1 WHERE ts = '2024-02-29 11:00:00'",
            "UPDATE moments SET v = v + 1 WHERE ts > '2024-02-29 10:00:00'",
            "INSERT INTO moments (id, ts, v) VALUES (7, '2024-02-29 12:00:00', 1)",
            "INSERT INTO moments (id, ts, v) VALUES (7, '2024-02-29 12:00:00', 1) ON DUPLICATE KEY UPDATE v = 7",
            "DELETE FROM moments WHERE ts = '2024-02-29 12:00:00'",
        ],
        &[
            "UPDATE moments SET v = v + 1 WHERE id = 1",
            "UPDATE moments SET v = v + 1 WHERE ts = '2024-02-29 10:00:00'",
            "UPDATE moments SET ts = '2024-02-29 10:00:00' WHERE ts = '2024-02-29 11:00:00'",
            "INSERT INTO moments (id, ts, v) VALUES (8, '2024-02-29 10:00:00', 1)",
            "INSERT INTO moments (id, ts, v) VALUES (9, 20240229100000, 1)",
            "INSERT INTO moments (id, ts, v) VALUES (10, '2024-02-29T10:00:00', 1)",
            "INSERT INTO moments (id, ts, v) VALUES (11, TIMESTAMP'2024-02-29 10:00:00', 1)",
            "INSERT INTO moments (id, ts, v) VALUES (12, '2024-02-29 10:00:00.2', 1)",
            "INSERT INTO moments (id, ts, v) SELECT 13, ts, 1 FROM moments WHERE id = 1",
            "UPDATE moments SET ts = ts - INTERVAL 1 HOUR WHERE id = 2",
            "DELETE FROM moments WHERE ts BETWEEN '2024-02-29 09:00:00' AND '2024-02-29 10:00:00'",
        ],
    ),
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE ts >= '2024-02-29 10:00:00' AND ts < '2024-02-29 11:00:00'",
        &[
            "UPDATE moments SET v = v + 1 WHERE ts = '2024-02-29 11:00:00'",
            "INSERT INTO moments (id, ts, v) VALUES (7, '2024-02-29 09:59:59', 1)",
        ],
        &[
            "UPDATE moments SET v = v + 1 WHERE id = 1",
            "INSERT INTO moments (id, ts, v) VALUES (8, '2024-02-29 10:59:59', 1)",
            "UPDATE moments SET ts = '2024-02-29 10:30:00' WHERE ts = '2024-02-29 11:00:00'",
        ],
    ),
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE f = '2024-02-29 10:00:00.25'",
        &["UPDATE moments SET v = v + 1 WHERE f = '2024-02-29 10:00:00.251'"],
        &[
            "UPDATE moments SET v = v + 1 WHERE id = 1",
            "UPDATE moments SET f = '2024-02-29 10:00:00.250' WHERE f = '2024-02-29 10:00:00.251'",
            "INSERT INTO moments (id, f, v) VALUES (8, '2024-02-29 10:00:00.2501', 1)",
        ],
    ),
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE ts IS NULL",
        &["INSERT INTO moments (id, ts, v) VALUES (7, '2024-02-29 12:00:00', 1)"],
        &["INSERT INTO moments (id, ts, v) VALUES (8, NULL, 1)", "INSERT INTO moments (id, v) VALUES (9, 1)"],
    ),
    // What a write does not name may change too.
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE up > '2020-06-01 00:00:00'",
        &["INSERT INTO moments (id, up, v) VALUES (6, '2020-02-01 00:00:00', 1)"],
        &[
            "UPDATE moments SET v = v + 1 WHERE id = 1",
            "INSERT INTO moments (id, v) VALUES (7, 1)",
            "INSERT INTO moments (id, up, v) VALUES (8, DEFAULT, 1)",
            "INSERT INTO moments (id, up, v) VALUES (1, '2020-01-01 00:00:00', 1) ON DUPLICATE KEY UPDATE v = v + 1",
            "UPDATE moments SET v = v + 1 WHERE up = '2020-01-01 00:00:00'",
        ],
    ),
    // Beyond what the type holds, nothing is told by the moment.
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE k = 1 AND ts < '2300-01-01 00:00:00'",
        &["UPDATE moments SET v = v + 1 WHERE k = 2"],
        &["UPDATE moments SET v = v + 1 WHERE id = 1"],
    ),
];

/// Where the zone does not tell the moment, the other conditions tell the rows.
const NAMED_LINES: &[Line] = &[
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE ts = '2020-10-25 02:30:00'",
        &[],
        &[
            "INSERT INTO moments (id, ts, v) VALUES (5, '2020-10-25 02:30:00', 1)",
            "UPDATE moments SET ts = FROM_UNIXTIME(1603589400) WHERE id = 1",
            "UPDATE moments SET ts = FROM_UNIXTIME(1603585800) WHERE id = 2",
            "DELETE FROM moments WHERE ts = '2020-10-25 02:30:00'",
        ],
    ),
    line(
        "SELECT COUNT(*), SUM(v) FROM moments WHERE k = 1 AND ts > '2020-10-25 02:30:00'",
        &["UPDATE moments SET v = v + 1 WHERE k = 2"],
        &["UPDATE moments SET v = v + 1 WHERE id = 1", "UPDATE moments SET k = 1 WHERE k = 3"],
    ),
];

#[test]
fn moments_are_told_apart_where_the_zone_tells_them() {
    const SCHEMA: &str = "fresh_moments";
    with_each(|server, freshet| {
        run(&mut server.target.connect(), NAMED_SETUP);
        let fixed = FIXED.iter().flat_map(|zone| LINES.iter().map(move |line| (*zone, line)));
        let named = LINES.iter().map(|Line { read, drops, .. }| Line { read, keeps: &[], drops });
        let named: Vec<Line> = named.collect();
        let named = NAMED_LINES.iter().chain(&named).map(|line| (NAMED, line));
        let mut failures = Vec::new();
        for (zone, line) in fixed.chain(named) {
            for around in [false, true] {
                let trial = || failures_of((server, freshet), (SCHEMA, SETUP, Some(zone)), line, around);
                let mut found = trial();
                for _ in 1..TRIALS {
                    if found.is_empty() || found.iter().any(|why| !why.contains(DROPPED)) {
                        break;
                    }
                    found = trial();
                }
                failures.extend(found.into_iter().map(|why| format!("{zone}: {why}")));
            }
        }
        assert!(failures.is_empty(), "{:?}:\n{}", server.flavor, failures.join("\n"));
    });
}

/// `2024-02-29` at this time, as a value of its own type.
fn at(hour: u8, minute: u8) -> Value {
    Value::Date(2024, 2, 29, hour, minute, 0, 0)
}

/// A reader with a prepared SELECT, which is always executed with the same value: MySQL looks at values next to moments, so that
/// another one might be answered in another way.
struct Prepared {
    reader: Conn,
    select: mysql::Statement,
    value: Value,
    counted: Counted,
    is_freshet: bool,
}

impl Prepared {
    fn new(freshet: &Freshet, schema: &str, value: Value) -> Self {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET time_zone = '+00:00'"]);
        let select =
            reader.prep("SELECT COUNT(*), SUM(v) FROM moments WHERE ts = ?").expect("it is prepared");
        Self { reader, select, value, counted: Counted::of(freshet), is_freshet: freshet.is_there() }
    }

    fn ask(&mut self) -> Vec<Value> {
        let row: Option<Row> =
            self.reader.exec_first(&self.select, (self.value.clone(),)).expect("an answer");
        row.expect("a row").unwrap()
    }

    /// Asks until an answer has come from memory.
    fn prime(&mut self) {
        let Self { reader, select, value, counted, .. } = self;
        counted.prime_by("an execution", || {
            let _: Option<Row> = reader.exec_first(&*select, (value.clone(),)).expect("an answer");
        });
    }

    /// Whether it is answered from memory.
    fn hits(&mut self) -> bool {
        let before = self.counted.hits();
        let _ = self.ask();
        !self.is_freshet || self.counted.hits() > before
    }
}

/// The same with values of parameters, given as moments and as texts; the writer has a zone of its own.
#[test]
fn moments_of_prepared_statements_are_told_apart_as_well() {
    const SCHEMA: &str = "fresh_prepared_moments";
    const NEIGHBOUR: &str = "SELECT SUM(v) FROM moments WHERE ts = '2024-02-29 11:00:00'";
    let text = Value::Bytes(b"2024-02-29 10:00:00".to_vec());
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, &["SET time_zone = '+00:00'"]);
        run(&mut direct, SETUP);
        // A statement that is executed while its tables' definitions change may be answered by the server alone from then on.
        caught_up(freshet);
        for (around, value) in [(false, at(10, 0)), (false, text.clone()), (true, at(10, 0))] {
            let mut reads = Prepared::new(freshet, SCHEMA, value);
            let mut writer = connect(if around { &server.target } else { freshet.target() }, SCHEMA);
            run(&mut writer, &["SET time_zone = '+02:00'"]);
            let update = writer.prep("UPDATE moments SET v = v + 1 WHERE ts = ?").expect("it is prepared");
            // The first readings may be kept by the whole table.
            eventually("an answer that survives its neighbour's change", || {
                reads.prime();
                writer.exec_drop(&update, (at(13, 0),)).expect("the neighbour changes");
                let newest = answer(&mut direct, NEIGHBOUR);
                eventually("the neighbour's change", || {
                    (answer(&mut reads.reader, NEIGHBOUR) == newest).then_some(())
                });
                reads.hits().then_some(())
            });
            let before = reads.ask();
            writer.exec_drop(&update, (at(12, 0),)).expect("the row changes");
            match around {
                false => assert_ne!(reads.ask(), before, "{:?}", server.flavor),
                true => eventually("the change", || (reads.ask() != before).then_some(())),
            }
        }
    });
}

/// A write whose zone is another than it seems to be is seen at once all the same: the stream is held up, so that nothing but its
/// fence shows it.
#[test]
fn a_moment_that_is_meant_in_another_zone_is_seen_at_once() {
    const SCHEMA: &str = "fresh_zones";
    const READ: &str = "SELECT COUNT(*) FROM moments WHERE ts = '2024-02-29 10:00:00'";
    with_stall(SCHEMA, &[], |server, freshet, stall, mut direct| {
        run(&mut direct, &["SET time_zone = '+00:00'"]);
        run(&mut direct, SETUP);
        run(&mut direct, CODE);
        let mut reader = connect(freshet.target(), SCHEMA);
        run(&mut reader, &["SET time_zone = '+00:00'"]);
        let mut counted = Counted::of(freshet);
        let mut seen = |what: &str, write: &mut dyn FnMut(&mut Conn)| {
            let mut writer = connect(freshet.target(), SCHEMA);
            run(&mut writer, &["SET time_zone = '+02:00'", "SELECT COUNT(*) FROM moments"]);
            let _ = counted.prime(&mut reader, READ);
            let before = answer(&mut direct, READ);
            stall.hold();
            write(&mut writer);
            let after = answer(&mut direct, READ);
            assert_eq!(answer(&mut reader, READ), after, "{:?} {what}", server.flavor);
            assert!(
                !is_known(server.flavor, what) || before != after,
                "{:?} {what} changes nothing",
                server.flavor
            );
            stall.release();
        };
        for (id, statement) in WRITES.iter().enumerate() {
            let id = id + 100;
            seen(statement, &mut |writer| {
                // What a server does not know it refuses.
                let _ = writer.query_drop(statement.replace("ID", &id.to_string()));
            });
        }
        seen("prepared before", &mut |writer| {
            let insert = writer.prep("INSERT INTO moments (id, ts) VALUES (?, '2024-02-29 14:00:00')");
            run(writer, MOVES);
            writer.exec_drop(insert.expect("it is prepared"), (200,)).expect("a row");
        });
        seen("prepared before, with a value", &mut |writer| {
            let insert = writer.prep("INSERT INTO moments (id, ts) VALUES (?, ?)").expect("it is prepared");
            run(writer, MOVES);
            writer.exec_drop(insert, (201, at(14, 0))).expect("a row");
        });
        seen("prepared before, and executed elsewhere", &mut |writer| {
            let insert = writer.prep("INSERT INTO moments (id, ts) VALUES (?, '2024-02-29 12:00:00')");
            let insert = insert.expect("it is prepared");
            run(writer, MOVES);
            writer.exec_drop(&insert, (203,)).expect("a row");
            run(writer, &["SET time_zone = '+02:00'", "SELECT COUNT(*) FROM moments"]);
            writer.exec_drop(&insert, (204,)).expect("a row");
        });
        seen("in a transaction", &mut |writer| {
            run(
                writer,
                &[
                    "BEGIN",
                    "INSERT INTO moments (id, ts) VALUES (202, '2024-02-29 12:00:00')",
                    "SET time_zone = '+04:00'",
                    "COMMIT",
                ],
            );
        });
    });
}

const CODE: &[&str] = &[
    "CREATE PROCEDURE moves() SET time_zone = '+04:00'",
    "CREATE FUNCTION moved(id INT) RETURNS INT DETERMINISTIC NO SQL BEGIN SET time_zone = '+04:00'; RETURN id; END",
    "CREATE VIEW moving AS SELECT moved(300) AS id",
];

/// What makes the new zone known.
const MOVES: &[&str] = &["SET time_zone = '+04:00'", "SELECT COUNT(*) FROM moments"];

/// Rows at 10:00 in UTC, in a session whose clock is two hours ahead.
const WRITES: &[&str] = &[
    "INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 12:00:00')",
    "INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 13:00:00+03:00')",
    "SET time_zone = '+04:00'; INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 14:00:00')",
    "CALL moves(); INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 14:00:00')",
    "INSERT /*+ SET_VAR(time_zone = '+04:00') */ INTO moments (id, ts) VALUES (ID, '2024-02-29 14:00:00')",
    "SET STATEMENT time_zone = '+04:00' FOR INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 14:00:00')",
    "INSERT INTO moments (id, ts) VALUES (moved(ID), '2024-02-29 14:00:00')",
    "INSERT INTO moments (id, ts) VALUES ((SELECT id FROM moving), '2024-02-29 14:00:00')",
    "EXECUTE IMMEDIATE \"INSERT INTO moments (id, ts) VALUES (ID, '2024-02-29 12:00:00')\"",
];

/// Whether a server knows this form.
fn is_known(flavor: Flavor, write: &str) -> bool {
    let has = |words: [&str; 2]| words.iter().any(|word| write.contains(word));
    match flavor {
        Flavor::MariaDb => !has(["SET_VAR", "+03:00"]),
        Flavor::MySql => !has(["SET STATEMENT", "EXECUTE IMMEDIATE"]),
    }
}
