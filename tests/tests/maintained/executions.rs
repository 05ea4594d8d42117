//! Executions of prepared statements: the same rows, in the binary form.

use freshet_tests::cached::{answer, caught_up, connect, eventually, run, status};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Params, Row, Value};

use super::{from_memory, with_checks, with_stages};

const TABLES: [&str; 6] = [
    "CREATE TABLE t (id INT PRIMARY KEY, i1 TINYINT, i2 SMALLINT, u3 MEDIUMINT UNSIGNED, u4 INT UNSIGNED, i8 BIGINT, m DECIMAL(10, 2), d DATE, \
     t0 DATETIME, t6 DATETIME(6), v VARCHAR(300) CHARACTER SET utf8mb4, c CHAR(5) CHARACTER SET ascii)",
    "CREATE TABLE u (id INT PRIMARY KEY, tid INT, x SMALLINT UNSIGNED)",
    "CREATE TABLE w (id INT PRIMARY KEY, u8 BIGINT UNSIGNED, y YEAR, e ENUM('new', 'paid'), ts TIMESTAMP(2) NULL)",
    "INSERT INTO w VALUES (1, 18446744073709551615, 2024, 'new', '2024-02-29 12:00:00'), (2, 0, 1901, 'paid', '2024-02-29 00:00:00.25'), \
     (3, NULL, NULL, NULL, NULL)",
    "INSERT INTO t VALUES (1, -128, -32768, 16777215, 4294967295, -9223372036854775808, 1.10, '2024-02-29', '2024-02-29 00:00:00', \
     '2024-02-29 12:34:56.000001', REPEAT('é', 300), 'ab'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
     (3, 127, 32767, 0, 0, 9223372036854775807, -0.01, '2024-02-28', '2024-02-29 10:00:01', '2024-02-29 12:34:56', '', '')",
    "INSERT INTO u VALUES (1, 1, 65535), (2, 3, 7), (3, 3, NULL)",
];

/// Every value of the answer, each of its type, and what is said of the columns; in any order.
fn executed(conn: &mut Conn, query: &str, params: &[Value]) -> (Vec<Vec<Value>>, Vec<String>) {
    let params = if params.is_empty() { Params::Empty } else { Params::Positional(params.to_vec()) };
    let rows: Vec<Row> = conn.exec(query, params).unwrap_or_else(|error| panic!("{query}: {error}"));
    let said = |column: &mysql::Column| {
        let (name, kind, flags) = (column.name_str(), column.column_type(), column.flags());
        format!("{name} {kind:?} {flags:?} {} {}", column.column_length(), column.decimals())
    };
    let columns = rows.first().map(|row| row.columns_ref().iter().map(said).collect()).unwrap_or_default();
    let mut rows: Vec<Vec<Value>> = rows.into_iter().map(Row::unwrap).collect();
    rows.sort_by_key(|row| format!("{row:?}"));
    (rows, columns)
}

/// Queries with lists of values. MySQL reads a statement with other types of values, and beside moments and names with other values, in another way than
/// before: each has one list of them there.
fn queries() -> Vec<(&'static str, Vec<Vec<Value>>)> {
    let date = |year, month, day| Value::Date(year, month, day, 0, 0, 0, 0);
    vec![
        (
            "SELECT * FROM t WHERE id = ?",
            vec![vec![1.into()], vec![2.into()], vec![3.into()], vec![(-7).into()]],
        ),
        (
            "SELECT id, v, c FROM t WHERE id IN (?, ?)",
            vec![vec![1.into(), 3.into()], vec![2.into(), 2.into()]],
        ),
        ("SELECT id, t6 FROM t WHERE d = ?", vec![vec!["2024-02-29".into()]]),
        ("SELECT id, v FROM t WHERE d = ?", vec![vec![date(2024, 2, 28)]]),
        ("SELECT id FROM t WHERE t6 >= ?", vec![vec!["2024-02-29 12:34:56.000001".into()]]),
        ("SELECT id, i8 FROM t WHERE t6 >= ?", vec![vec![Value::Date(2024, 2, 29, 12, 34, 56, 0)]]),
        ("SELECT id, m FROM t WHERE m < ?", vec![vec![1.into()], vec![(-3).into()], vec![99.into()]]),
        (
            "SELECT u.id, t.i8, u.x FROM u JOIN t ON t.id = u.tid WHERE u.tid = ? AND t.u4 < ?",
            vec![vec![3.into(), 5.into()], vec![1.into(), i64::from(u32::MAX).into()]],
        ),
        (
            "SELECT tid, COUNT(*), SUM(x), AVG(x), MIN(x), MAX(id) FROM u WHERE id > ? GROUP BY tid ORDER BY tid",
            vec![vec![0.into()], vec![1.into()]],
        ),
        (
            "SELECT d, COUNT(*), MAX(t0), MIN(t6), MAX(m), SUM(m), MIN(i1), MAX(u3) FROM t GROUP BY d",
            vec![vec![]],
        ),
        (
            "SELECT id, t0 FROM t WHERE i1 BETWEEN ? AND ? ORDER BY id LIMIT ?",
            vec![vec![(-128).into(), 0.into(), 5.into()], vec![0.into(), 127.into(), 1.into()]],
        ),
        ("SELECT * FROM w WHERE id >= ?", vec![vec![0.into()]]),
        ("SELECT id FROM w WHERE u8 = ?", vec![vec![u64::MAX.into()], vec![Value::UInt(0)]]),
        ("SELECT id FROM w WHERE e = ? AND y > ?", vec![vec!["new".into(), 1901.into()]]),
        ("SELECT id, ts FROM w WHERE ts >= ?", vec![vec!["2024-02-29 12:00:00".into()]]),
        (
            "SELECT e, MAX(u8), SUM(u8), MIN(y), COUNT(DISTINCT y) FROM w GROUP BY e HAVING COUNT(*) > ?",
            vec![vec![0.into()]],
        ),
        ("SELECT id, y FROM w WHERE ts >= ?", vec![vec![Value::Date(2024, 2, 29, 0, 0, 0, 0)]]),
        ("SELECT MAX(ts), MIN(ts), MAX(y) FROM w WHERE id > ?", vec![vec![0.into()], vec![2.into()]]),
        ("SELECT DISTINCT t0, d FROM t WHERE id <> ?", vec![vec![5.into()]]),
    ]
}

const WRITES: [&str; 8] = [
    "INSERT INTO t (id, i1, m, d, t0, t6, v) VALUES (4, 5, 0.5, '2024-02-29', '2023-01-01 00:00:00', '2023-01-01 00:00:00.5', 'x')",
    "UPDATE t SET i2 = 7, u3 = 8, u4 = 4294967294, i8 = -1, c = 'zz' WHERE id <> 2",
    "INSERT INTO u VALUES (4, 1, 1), (5, 3, 100)",
    "UPDATE t SET t6 = t6 + INTERVAL 1 MICROSECOND, m = m + 1, d = d - INTERVAL 1 DAY",
    "DELETE FROM u WHERE id = 2",
    "UPDATE w SET u8 = 5, y = y + 1, e = 'paid', ts = ts + INTERVAL 1 SECOND",
    "INSERT INTO w VALUES (4, 18446744073709551614, 2000, 'new', '2030-01-01 00:00:00.01')",
    "DELETE FROM t WHERE id = 1",
];

#[test]
fn executions_are_answered_from_copies_with_the_types_of_their_columns() {
    let schema = "maintained_executions";
    let queries = queries();
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET time_zone = '+01:00'"]);
        run(direct, &["SET time_zone = '+01:00'"]);
        for (query, all) in &queries {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            let params = &all[0];
            assert_eq!(executed(&mut reader, query, params), executed(direct, query, params), "{query}");
        }
        for write in WRITES {
            run(direct, &[write]);
            caught_up(freshet);
            for (query, all) in &queries {
                for params in all {
                    let found = from_memory(&mut reader, |reader| executed(reader, query, params));
                    let when = format!("{:?} after {write}: {query} {params:?}", server.flavor);
                    assert_eq!(found, Some(executed(direct, query, params)), "{when}");
                }
            }
        }
    });
}

#[test]
fn values_of_other_types_than_their_columns_are_left_to_the_server() {
    let schema = "maintained_given";
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let queries = [
            "SELECT id FROM t WHERE i1 = ?",
            "SELECT id FROM t WHERE m = ?",
            "SELECT id FROM t WHERE t0 >= ?",
            "SELECT id FROM t WHERE d > ?",
        ];
        let date = Value::Date(2024, 2, 28, 10, 0, 0, 1);
        let given: [Value; 9] = [
            5.into(),
            "5".into(),
            5.0.into(),
            "5.0".into(),
            Value::NULL,
            "2024-02-28".into(),
            "2024-2-28 10".into(),
            date,
            20_240_228.into(),
        ];
        for query in queries {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        }
        for round in 0..2 {
            for value in &given {
                for query in queries {
                    run(direct, &[&format!("UPDATE t SET i1 = 5, m = 5, i2 = {round} WHERE id = 3")]);
                    caught_up(freshet);
                    let answers = [&mut reader, &mut *direct].map(|conn| {
                        let rows: Result<Vec<Row>, mysql::Error> = conn.exec(query, vec![value.clone()]);
                        rows.map(|rows| rows.into_iter().map(Row::unwrap).collect::<Vec<_>>())
                            .map_err(|error| format!("{error:?}"))
                    });
                    assert_eq!(answers[0], answers[1], "{:?}: {query} {value:?}", server.flavor);
                }
            }
        }
    });
}

#[test]
fn executions_are_compared_with_the_server_too() {
    let schema = "maintained_executed_checks";
    with_checks(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let query = "SELECT id, m FROM t WHERE d = ? AND id < ?";
        let params: [Value; 2] = ["2024-02-29".into(), 9.into()];
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        assert_eq!(executed(&mut reader, query, &params), executed(direct, query, &params));
        run(&mut reader, &["UPDATE t SET m = 3 WHERE id = 1"]);
        let found = from_memory(&mut reader, |reader| executed(reader, query, &params));
        assert_eq!(found, Some(executed(direct, query, &params)), "{:?}", server.flavor);
        let found_equal = |reader: &mut Conn| {
            let caches = answer(reader, "SHOW CACHES").expect("they are listed");
            (caches[0][8] != "NULL").then_some(())
        };
        eventually("it is found equal", || found_equal(&mut reader));
        assert_eq!(status(&mut reader, "Freshet_maintained_differences"), 0);
        // What neither the binlog nor Freshet is told of.
        run(direct, &["SET sql_log_bin = 0", "UPDATE t SET m = 7 WHERE id = 1", "SET sql_log_bin = 1"]);
        eventually("the difference is found", || {
            (status(&mut reader, "Freshet_maintained_differences") == 1).then_some(())
        });
    });
}

#[test]
fn executions_by_text_are_answered_from_copies_too() {
    let schema = "maintained_executed_by_text";
    // Texts in variables are compared by the collations of these, and left to the server.
    let queries = [
        ("by_key", "SELECT id, v, c, m, d, t6 FROM t WHERE id = ?", "@one"),
        ("by_range", "SELECT id, i8 FROM t WHERE i1 BETWEEN ? AND ? ORDER BY id LIMIT 5", "@low, @high"),
        ("all_of_w", "SELECT * FROM w WHERE id >= 0", ""),
        (
            "in_groups",
            "SELECT tid, COUNT( * ), SUM(x), AVG(x) FROM u WHERE id > ? GROUP BY tid ORDER BY tid",
            "@zero",
        ),
    ];
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let set = "SET @one = 1, @low = -128, @high = 127, @zero = 0";
        let execute = |name: &str, using: &str| match using {
            "" => format!("EXECUTE {name}"),
            _ => format!("EXECUTE {name} USING {using}"),
        };
        for conn in [&mut reader, &mut *direct] {
            run(conn, &["SET time_zone = '+01:00'", set]);
            for (name, query, _) in queries {
                run(conn, &[&format!("PREPARE {name} FROM '{query}'")]);
            }
        }
        let said = |conn: &mut Conn, statement: &str| {
            let rows: Vec<Row> = conn.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
            let said = |column: &mysql::Column| {
                let (name, kind, flags) = (column.name_str(), column.column_type(), column.flags());
                format!("{name} {kind:?} {flags:?} {} {}", column.column_length(), column.decimals())
            };
            let columns: Option<Vec<String>> =
                rows.first().map(|row| row.columns_ref().iter().map(said).collect());
            let mut rows: Vec<Vec<Value>> = rows.into_iter().map(Row::unwrap).collect();
            rows.sort_by_key(|row| format!("{row:?}"));
            (columns, rows)
        };
        for (name, query, using) in queries {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            let statement = execute(name, using);
            assert_eq!(said(&mut reader, &statement), said(direct, &statement), "{query}");
        }
        for write in WRITES {
            run(direct, &[write]);
            caught_up(freshet);
            for (name, query, using) in queries {
                let statement = execute(name, using);
                let found = from_memory(&mut reader, |reader| said(reader, &statement));
                let when = format!("{:?} after {write}: {query}", server.flavor);
                assert_eq!(found, Some(said(direct, &statement)), "{when}");
            }
        }
        // Another value is made from copies as well, and a text is the server's to compare.
        for set in ["SET @one = 3", "SET @one = '3'", "SET @one = NULL"] {
            let statement = execute("by_key", "@one");
            for conn in [&mut reader, &mut *direct] {
                run(conn, &[set]);
            }
            assert_eq!(said(&mut reader, &statement), said(direct, &statement), "{:?}: {set}", server.flavor);
        }
    });
}
