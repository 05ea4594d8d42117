//! Types, each with what is maintained of it: every answer is the server's after each write.

use freshet_tests::cached::{answer, caught_up, connect, eventually, run};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

use super::{all_are_kept, from_memory, is_from_memory, is_kept, sorted, with_stages};

#[test]
fn numbers_without_a_sign_are_kept_to_their_last() {
    let schema = "maintained_unsigned";
    let tables = [
        "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, g INT, n BIGINT UNSIGNED, i BIGINT)",
        "CREATE TABLE u (id INT PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, i INT)",
        "INSERT INTO t VALUES (0, 1, 0, -1), (18446744073709551615, 1, 18446744073709551615, 9223372036854775807), \
         (9223372036854775808, 1, 18446744073709551614, -9223372036854775808), (5, 2, NULL, NULL), (6, 2, 9223372036854775807, 5)",
        "INSERT INTO u VALUES (1, 18446744073709551615, -1), (2, 5, 5), (3, 9223372036854775807, 6)",
    ];
    let queries = [
        "SELECT * FROM t WHERE id > 4",
        "SELECT * FROM t WHERE id = 18446744073709551615",
        "SELECT id FROM t WHERE n < 18446744073709551615",
        "SELECT id FROM t WHERE n > -1",
        "SELECT id FROM t WHERE i < 18446744073709551615 AND n >= 9223372036854775807.5",
        "SELECT id FROM t WHERE n IN (0, 18446744073709551614, 3)",
        "SELECT id FROM t WHERE n > i",
        "SELECT g, SUM(n), AVG(n), MIN(n), MAX(n), COUNT(DISTINCT n), SUM(id) FROM t GROUP BY g ORDER BY g",
        "SELECT SUM(n), AVG(n) FROM t",
        "SELECT DISTINCT n FROM t ORDER BY n DESC",
        "SELECT t.id, u.id FROM t JOIN u ON u.n = t.n",
        "SELECT t.id, u.id FROM t JOIN u ON u.i = t.id",
        "SELECT u.id, t.n FROM u LEFT JOIN t ON t.id = u.n",
    ];
    let writes = [
        "UPDATE t SET n = n - 1 WHERE n > 0",
        "INSERT INTO t VALUES (18446744073709551614, 1, 18446744073709551615, 0), (7, 1, 18446744073709551615, 0)",
        "UPDATE t SET n = 18446744073709551615",
        "UPDATE u SET n = 18446744073709551614, i = 7 WHERE id = 2",
        "UPDATE t SET id = id - 1 WHERE id = 18446744073709551615",
        "DELETE FROM t WHERE g = 1",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let writes: Vec<&str> =
            // Its key is taken.
            writes.into_iter().filter(|write| !write.contains("SET id = id - 1")).collect();
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&queries, &writes));
    });
}

#[test]
fn times_are_kept_with_their_sign_and_their_digits() {
    let schema = "maintained_times";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, a TIME, b TIME(6) NOT NULL, c TIME(2), g INT)",
        "CREATE TABLE u (k TIME PRIMARY KEY, x INT)",
        "INSERT INTO t VALUES (1, '00:00:00', '-838:59:59.000000', '10:00:00.05', 1), (2, '-00:00:01', '00:00:00.000001', '-99:59:59.99', 1), \
         (3, '838:59:59', '838:59:59', '00:00:00', 2), (4, NULL, '23:59:59.999999', NULL, 3), (5, '100:00:00', '00:00:00', '100:00:00', 2)",
        "INSERT INTO u VALUES ('10:00:00', 1), ('-00:00:01', 2), ('838:59:59', 3)",
    ];
    let queries = [
        "SELECT * FROM t WHERE id > 0",
        "SELECT id FROM t WHERE a = '100:00:00'",
        "SELECT id, c FROM t WHERE c < '00:00:00' OR a >= '00:00:00'",
        "SELECT id FROM t WHERE b IN ('00:00:00.000001', '-838:59:59') OR a IS NULL",
        "SELECT id FROM t WHERE b BETWEEN '-00:00:01' AND '23:59:59.999999' AND NOT c <=> '10:00:00.05'",
        "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY a",
        "SELECT DISTINCT c FROM t ORDER BY c DESC",
        "SELECT g, MIN(b), MAX(b), COUNT(DISTINCT a), COUNT(c) FROM t GROUP BY g ORDER BY g",
        "SELECT k, x FROM u WHERE x > 1",
    ];
    let writes = [
        "UPDATE t SET a = '10:00:00', c = '-838:59:59' WHERE id < 3",
        "INSERT INTO t VALUES (6, '-00:00:01', '-00:00:00.000001', '00:00:00.01', 3)",
        "UPDATE u SET k = '100:00:00' WHERE x = 1",
        "UPDATE t SET a = NULL, b = '01:02:03.04' WHERE g = 2",
        "DELETE FROM t WHERE id IN (1, 4)",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&queries, &writes));
        // What is executed shows them in another form.
        let all = "SELECT id, a, b, c FROM t WHERE id > ?";
        run(&mut reader, &["CREATE DEEP CACHE FROM SELECT id, a, b, c FROM t WHERE id > 0"]);
        let rows = |conn: &mut Conn| {
            let mut rows: Vec<Vec<Value>> =
                conn.exec(all, (0,)).expect("it is answered").into_iter().map(Row::unwrap).collect();
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        let due = rows(direct);
        assert_eq!(from_memory(&mut reader, rows), Some(due), "{:?}", server.flavor);
    });
}

#[test]
fn years_and_names_are_kept() {
    let schema = "maintained_names_of_enums";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, y YEAR, e ENUM('new', 'paid', 'sent', 'a''b', 'Other one') NOT NULL DEFAULT 'new', \
         f ENUM('y', 'n') CHARACTER SET ascii, n INT)",
        "CREATE TABLE u (id INT PRIMARY KEY, y YEAR NOT NULL)",
        "INSERT INTO t VALUES (1, 1901, 'new', 'y', 1), (2, 2155, 'sent', 'n', 2), (3, NULL, 'a''b', NULL, 3), (4, 2024, 'paid', 'y', NULL)",
        "INSERT INTO u VALUES (1, 2024), (2, 1901), (3, 1999)",
    ];
    let queries = [
        "SELECT * FROM t WHERE id <> 9",
        "SELECT id FROM t WHERE e = 'sent'",
        "SELECT id, e FROM t WHERE e <> 'new' AND f = 'y'",
        "SELECT id FROM t WHERE e IN ('new', 'a''b')",
        "SELECT id FROM t WHERE NOT f <=> 'n'",
        "SELECT id FROM t WHERE y = 2024 OR y IS NULL",
        "SELECT id, y FROM t WHERE y BETWEEN 1950 AND 2155",
        "SELECT e, COUNT(*), MIN(y), MAX(y), COUNT(DISTINCT f), SUM(n) FROM t GROUP BY e ORDER BY e",
        "SELECT e, f, COUNT(*) FROM t WHERE e = 'new' GROUP BY e, f",
        "SELECT DISTINCT f, y FROM t ORDER BY y DESC, f",
        "SELECT y, COUNT(*) FROM t GROUP BY y ORDER BY y",
        "SELECT t.id, u.id, u.y FROM t JOIN u ON u.y = t.y",
        "SELECT e, MAX(y) FROM t GROUP BY e HAVING NOT e = 'new' OR MAX(y) > 1950",
    ];
    let writes = [
        "UPDATE t SET e = 'Other one', y = 2000 WHERE id = 1",
        "INSERT INTO t VALUES (5, 1999, 'new', 'n', 4), (6, 1901, 'new', NULL, 4)",
        "UPDATE t SET e = 1, f = 2",
        "UPDATE u SET y = 1999",
        "UPDATE t SET y = 1999 WHERE id > 2",
        "DELETE FROM t WHERE f = 'n' AND id < 5",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&queries, &writes));
        // Another case, and what is no name at all, are the server's to judge.
        for odd in [
            "SELECT id FROM t WHERE e = 'NEW'",
            "SELECT id FROM t WHERE e = '1'",
            "SELECT id FROM t WHERE y = 99",
        ] {
            assert_eq!(sorted(answer(&mut reader, odd)), sorted(answer(direct, odd)), "{odd}");
        }
        // What was none of the names is the server's to show.
        for odd in ["UPDATE t SET e = 'none' WHERE id = 6", "UPDATE t SET e = 'new', y = 0 WHERE id = 6"] {
            run(direct, &["SET sql_mode = ''", odd]);
            caught_up(freshet);
            for query in queries {
                assert_eq!(
                    sorted(answer(&mut reader, query)),
                    sorted(answer(direct, query)),
                    "{odd}: {query}"
                );
            }
        }
        // Other names with the same numbers.
        run(direct, &["DELETE FROM t WHERE id = 6", "ALTER TABLE t MODIFY f ENUM('y', 'no')"]);
        caught_up(freshet);
        let named = "SELECT DISTINCT f, y FROM t ORDER BY y DESC, f";
        eventually("it is kept again", || {
            run(direct, &["UPDATE t SET n = n + 1"]);
            caught_up(freshet);
            assert_eq!(answer(&mut reader, named), answer(direct, named));
            is_from_memory(&mut reader).then_some(())
        });
    });
}

#[test]
fn moments_of_utc_are_shown_by_the_session_s_clock_where_that_is_even() {
    let schema = "maintained_stamps";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL, fine TIMESTAMP(3) NULL, n INT, \
         changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
        "CREATE TABLE l (at TIMESTAMP NOT NULL, id INT, PRIMARY KEY (at, id))",
        "SET time_zone = '+00:00'",
        "INSERT INTO t (id, at, fine, n) VALUES (1, '1970-01-01 00:00:01', '2038-01-19 03:14:07.999', 1), \
         (2, '2024-02-29 23:30:00', '2024-02-29 12:00:00.5', 2), (3, NULL, NULL, 3), (4, '2024-03-31 01:30:00', '2024-10-27 00:30:00', 4)",
        "INSERT INTO l VALUES ('2024-02-29 23:30:00', 1), ('2024-03-01 00:00:00', 2)",
    ];
    let queries = [
        "SELECT * FROM t WHERE id <> 9",
        "SELECT id, at FROM t WHERE at > '2024-02-29 23:00:00'",
        "SELECT id FROM t WHERE at = '2024-02-29 23:30:00'",
        "SELECT id, fine FROM t WHERE fine BETWEEN '2024-02-29 12:00:00.499' AND '2024-10-27 00:30:00'",
        "SELECT at, COUNT(*), MAX(changed), MIN(changed) FROM t GROUP BY at ORDER BY at",
        "SELECT DISTINCT at FROM t ORDER BY at DESC",
        "SELECT at, COUNT(*), MAX(changed) FROM t GROUP BY at HAVING at >= '2024-02-29 23:30:00'",
        "SELECT t.id, l.id, l.at FROM t JOIN l ON l.at = t.at",
        "SELECT MAX(changed), COUNT(DISTINCT at), MIN(at), MAX(fine) FROM t",
    ];
    let writes = [
        "UPDATE t SET at = at + INTERVAL 1 SECOND WHERE id > 1",
        "INSERT INTO t (id, at, fine, n) VALUES (5, '2024-02-29 23:30:00', NULL, 7)",
        "UPDATE l SET at = '2024-03-01 00:00:01' WHERE id = 2",
        "UPDATE t SET n = n + 1",
        "DELETE FROM t WHERE id = 2",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for zone in ["+00:00", "+05:30", "-11:00"] {
            let set = format!("SET time_zone = '{zone}'");
            run(&mut reader, &[&set, "DROP ALL CACHES"]);
            run(direct, &[&set]);
            all_are_kept(
                (&mut reader, direct, freshet),
                &format!("{:?}", server.flavor),
                (&queries, &writes),
            );
            run(direct, &["DELETE FROM t WHERE id = 5", "SET time_zone = '+00:00'"]);
            run(
                direct,
                &[
                    "REPLACE INTO t (id, at, fine, n) VALUES (2, '2024-02-29 23:30:00', '2024-02-29 12:00:00.5', 2)",
                ],
            );
            caught_up(freshet);
        }
        run(direct, &["DELETE FROM t"]);
        caught_up(freshet);
        is_kept(&mut reader, direct, queries[8], "without rows");
        // A clock that jumps, or may, is the server's.
        run(&mut reader, &["DROP ALL CACHES", "SET time_zone = 'SYSTEM'"]);
        run(direct, &["SET time_zone = 'SYSTEM'"]);
        for query in queries {
            assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)), "{query}");
        }
    });
}

#[test]
fn what_the_server_may_warn_of_is_the_server_s() {
    let schema = "maintained_warned";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, g INT, d DATE, at TIMESTAMP NULL)",
        "INSERT INTO t VALUES (1, 1, '2024-01-01', '2024-01-01 00:00:00'), (2, 2, '2024-01-02', '2024-01-02 00:00:00'), (3, 2, NULL, NULL)",
    ];
    let queries = [
        "SELECT g, MIN(d), COUNT(*) n FROM t GROUP BY g ORDER BY n, g",
        "SELECT g, MAX(at), COUNT(*) n FROM t GROUP BY g ORDER BY n, g",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for conn in [&mut reader, &mut *direct] {
            run(conn, &["SET time_zone = '+00:00'"]);
        }
        all_are_kept(
            (&mut reader, direct, freshet),
            &format!("{:?}", server.flavor),
            (&queries, &["UPDATE t SET g = g + 1"]),
        );
        run(direct, &["UPDATE t SET g = 9 WHERE id = 3"]);
        caught_up(freshet);
        for query in queries {
            let answers = [&mut reader, &mut *direct].map(|conn| {
                let rows = answer(conn, query);
                (rows, answer(conn, "SHOW WARNINGS"))
            });
            assert_eq!(answers[0], answers[1], "{:?}: {query}", server.flavor);
        }
    });
}

const SETS_AND_BITS: [&str; 22] = [
    "SELECT * FROM t WHERE id <> 9",
    "SELECT * FROM m WHERE id <> 9",
    "SELECT id FROM t WHERE s = 'paid,a''b'",
    "SELECT id, s FROM t WHERE s <> '' AND ten <> 9",
    "SELECT id FROM t WHERE s IN ('', 'new', '7')",
    "SELECT id FROM t WHERE NOT a <=> 'y,n'",
    "SELECT id FROM t WHERE a IS NULL OR one IS NULL",
    "SELECT id, ten FROM t WHERE ten > 8 AND one = 1",
    "SELECT id FROM t WHERE ten BETWEEN 9 AND 1000",
    "SELECT id, one FROM t WHERE all_of >= 9223372036854775808 OR all_of IN (0, 5)",
    "SELECT s, COUNT(*), MIN(n), COUNT(DISTINCT a), COUNT(one), COUNT(ten) FROM t GROUP BY s ORDER BY s",
    "SELECT s, a, COUNT(*) FROM t WHERE s = 'new' GROUP BY s, a",
    "SELECT DISTINCT a, s FROM t ORDER BY s DESC, a",
    "SELECT one, ten, all_of FROM t ORDER BY id DESC",
    "SELECT id, one, ten, s FROM t ORDER BY n, s DESC, id LIMIT 3",
    "SELECT n, COUNT(*) FROM t WHERE ten > 9 GROUP BY n HAVING COUNT(*) < 9",
    "SELECT s, COUNT(*) FROM t GROUP BY s HAVING s <> 'new'",
    "SELECT t.ten, m.b, m.names, t.s FROM t JOIN m ON m.tid = t.id",
    "SELECT t.id, m.id, m.b, m.names FROM t LEFT JOIN m ON m.tid = t.id AND m.b > 64",
    "SELECT t.id, m.names, t.s FROM t LEFT JOIN m ON m.tid = t.id ORDER BY t.s DESC, m.id, t.id",
    "SELECT names, COUNT(*) FROM m GROUP BY names",
    "SELECT t.s, COUNT(*), COUNT(m.b), MAX(m.id) FROM t JOIN m ON m.tid = t.id GROUP BY t.s ORDER BY t.s DESC",
];

const WRITES_OF_SETS_AND_BITS: [&str; 7] = [
    "UPDATE t SET s = 'Other one,new', ten = ten + 1 WHERE ten < 1023",
    "INSERT INTO t VALUES (5, 8, 'n', 0, 65, 66, 5), (6, 'new', 'n', NULL, 1000, 13, 4)",
    "UPDATE t SET s = 16, a = 2, one = 1 WHERE id < 4",
    "UPDATE m SET names = names ^ 1, b = b ^ 1 WHERE id <> 5",
    "UPDATE m SET tid = 3, names = '', b = NULL WHERE id > 2",
    "UPDATE t SET all_of = 9223372036854775809 WHERE id > 2",
    "DELETE FROM t WHERE ten = 10 OR id = 2",
];

/// What of them is not kept, and why.
const REFUSED_OF_SETS_AND_BITS: [(&str, &str); 12] = [
    ("SELECT id FROM m ORDER BY names", "ORDER BY a SET of 64 names"),
    ("SELECT names, COUNT(*) FROM m GROUP BY names ORDER BY names", "ORDER BY a SET of 64 names"),
    ("SELECT MAX(s) FROM t", "MIN() and MAX() of a SET"),
    ("SELECT id FROM t WHERE s > 'new'", "an order of a SET's names"),
    ("SELECT DISTINCT ten FROM t", "DISTINCT of a BIT"),
    ("SELECT ten, COUNT(*) FROM t GROUP BY ten", "GROUP BY a BIT"),
    ("SELECT COUNT(DISTINCT ten) FROM t", "COUNT(DISTINCT) of a BIT"),
    ("SELECT id FROM t ORDER BY ten", "ORDER BY a BIT"),
    ("SELECT t.ten FROM t JOIN m ON m.tid = t.id ORDER BY m.id", "a BIT in the rows of a join"),
    ("SELECT MAX(ten) FROM t", "MIN() and MAX() of a BIT"),
    ("SELECT SUM(ten) FROM t", "SUM() of what is no exact number"),
    ("SELECT t.id FROM t JOIN m ON m.b = t.ten", "a comparison of two types, or of texts"),
];

#[test]
fn sets_and_bits_are_kept_to_the_byte() {
    let schema = "maintained_sets_and_bits";
    let many: Vec<String> = (1..=64).map(|number| format!("'n{number}'")).collect();
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, s SET('new', 'paid', 'a''b', '7', 'Other one') NOT NULL DEFAULT '', \
         a SET('y', 'n') CHARACTER SET ascii, one BIT, ten BIT(10) NOT NULL, all_of BIT(64), n INT, KEY (s), KEY (ten))",
        &format!("CREATE TABLE m (id INT PRIMARY KEY, tid INT, names SET({}), b BIT(33))", many.join(",")),
        "INSERT INTO t VALUES (1, '', 'y', b'1', 0, 18446744073709551615, 1), (2, 'paid,a''b', 'y,n', b'0', 1023, 0, 2), \
         (3, 'new', NULL, NULL, 513, NULL, 3), (4, 'new,paid,a''b,7,Other one', '', b'1', 9, 9223372036854775808, 4)",
        "INSERT INTO m VALUES (1, 1, 'n1,n64', 8589934591), (2, 2, 'n54,n55', 4294967296), (3, 2, '', NULL), (4, 4, NULL, 0), (5, 4, 2, 65)",
        "UPDATE m SET names = 18446744073709551615 WHERE id = 5",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let raw = |conn: &mut Conn, query: &str, is_prepared: bool| {
            let rows: Result<Vec<Row>, _> =
                if is_prepared { conn.exec(query, ()) } else { conn.query(query) };
            let rows = rows.unwrap_or_else(|error| panic!("{query}: {error}"));
            let mut rows: Vec<Vec<Value>> = rows.into_iter().map(Row::unwrap).collect();
            if !query.contains("ORDER BY") {
                rows.sort_by_key(|row| format!("{row:?}"));
            }
            rows
        };
        for query in SETS_AND_BITS {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        }
        let both =
            |conn: &mut Conn, query: &str| [false, true].map(|is_prepared| raw(conn, query, is_prepared));
        for query in SETS_AND_BITS {
            assert_eq!(both(&mut reader, query), both(direct, query), "{:?}: {query}", server.flavor);
        }
        for write in WRITES_OF_SETS_AND_BITS {
            run(direct, &[write]);
            caught_up(freshet);
            for query in SETS_AND_BITS {
                for is_prepared in [false, true] {
                    let found = from_memory(&mut reader, |reader| raw(reader, query, is_prepared));
                    let when = format!("{:?} after {write}: {query}, prepared: {is_prepared}", server.flavor);
                    assert_eq!(found, Some(raw(direct, query, is_prepared)), "{when}");
                }
            }
        }
        // What is not kept exactly is refused by name, and the server's to answer.
        for (odd, why) in REFUSED_OF_SETS_AND_BITS {
            let error =
                reader.query_drop(format!("CREATE DEEP CACHE FROM {odd}")).expect_err(odd).to_string();
            assert!(error.contains(why), "{odd}: {error}");
            assert_eq!(raw(&mut reader, odd, false), raw(direct, odd, false), "{odd}");
        }
        for odd in
            ["s = 'paid,new'", "s = 'NEW'", "s = 3", "ten < -1", "ten = 1024", "ten = b'1001'", "ten = '9'"]
        {
            let odd = format!("SELECT id FROM t WHERE {odd}");
            for _ in 0..2 {
                assert_eq!(raw(&mut reader, &odd, false), raw(direct, &odd, false), "{odd}");
            }
        }
    });
}

#[test]
fn bytes_are_kept_as_they_are() {
    let schema = "maintained_bytes";
    let tables = [
        "CREATE TABLE t (id BINARY(4) PRIMARY KEY, v VARBINARY(20), w BINARY(3) NOT NULL, n INT, KEY (v), KEY (w))",
        "CREATE TABLE u (id INT PRIMARY KEY, t BINARY(4), v VARBINARY(12), KEY (t))",
        "INSERT INTO t VALUES (x'00000000', x'00ff', x'0a0000', 1), (x'0000ff00', 'ab', 'ab', 2), ('abcd', 'AB', 'abc', 3), \
         (x'ff00fe01', NULL, x'202020', 4), ('a', '', '', 5), (x'c3a92020', 'ab ', x'616263', 6), (x'27223b5c', x'275c2200', 'AB', NULL)",
        "INSERT INTO u VALUES (1, x'00000000', 'ab'), (2, 'abcd', x'00ff'), (3, 'a', 'AB'), (4, NULL, ''), (5, x'ff00fe01', 'ab ')",
    ];
    let queries = [
        "SELECT id, v, w, n FROM t WHERE n <> 9",
        "SELECT n FROM t WHERE v = 'ab'",
        "SELECT n FROM t WHERE w = 'abc' OR id = 'abcd'",
        "SELECT n FROM t WHERE v IN ('ab', 'AB', '') AND NOT w <=> 'abc'",
        "SELECT u.id, t.v FROM u JOIN t ON t.id = u.t",
        "SELECT t.n, u.id FROM t LEFT JOIN u ON u.v = t.v",
        "SELECT w, COUNT(*), MAX(v), MIN(v), MIN(id) FROM t GROUP BY w ORDER BY w",
        "SELECT v, COUNT(DISTINCT w), SUM(n) FROM t GROUP BY v ORDER BY v DESC",
        "SELECT DISTINCT w FROM t ORDER BY w DESC",
        "SELECT id, n FROM t ORDER BY id DESC LIMIT 3",
        "SELECT MAX(v), MIN(w), COUNT(v) FROM t",
    ];
    let writes = [
        "UPDATE t SET v = x'ff', w = x'00' WHERE n = 1",
        "INSERT INTO t VALUES (x'01', 'ab', 'abc', 7), (x'0100', x'c3', x'610000', 8) ON DUPLICATE KEY UPDATE n = 9",
        "UPDATE t SET w = 'a' WHERE n > 4",
        "UPDATE u SET t = 'a', v = NULL WHERE id < 3",
        "UPDATE t SET id = 'b' WHERE n = 2",
        "DELETE FROM t WHERE v = 'AB'",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&queries, &writes));
        // What an index may fill up with zeros before it looks for it is the server's.
        let joined = "SELECT n FROM t JOIN u ON u.v = t.w";
        assert_eq!(answer(&mut reader, &format!("CREATE DEEP CACHE FROM {joined}")), Err(1105));
        for odd in ["SELECT n FROM t WHERE w = 'a'", "SELECT n FROM t WHERE w <> 'a'", joined] {
            run(&mut reader, &[&format!("CREATE CACHE FROM {odd}")]);
            (0..3).for_each(|_| {
                assert_eq!(sorted(answer(&mut reader, odd)), sorted(answer(direct, odd)), "{odd}")
            });
        }
    });
}

#[test]
fn a_table_whose_key_is_bytes_is_kept() {
    let schema = "maintained_key_of_bytes";
    let rows = "SELECT UNHEX(LEFT(SHA2(CONCAT(a.n, b.n, c.n, d.n, e.n), 256), 32)), a.n * b.n FROM d a, d b, d c, d d, d e WHERE e.n < 5";
    let tables = [
        "CREATE TABLE d (n INT PRIMARY KEY)",
        "INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE TABLE t (id BINARY(16) PRIMARY KEY, v INT)",
        &format!("INSERT INTO t {rows}"),
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let queries =
            ["SELECT v, COUNT(*), MIN(id), MAX(id) FROM t GROUP BY v", "SELECT SUM(v), COUNT(*) FROM t"];
        let writes = [
            "UPDATE t SET v = v + 1 WHERE id < x'01'",
            "DELETE FROM t WHERE id > x'f0'",
            "INSERT INTO t VALUES (x'ff', 1), (x'ffffffffffffffffffffffffffffffff', 2), (x'00', 3)",
        ];
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&queries, &writes));
    });
}
