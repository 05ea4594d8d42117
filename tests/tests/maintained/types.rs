//! Types, each with what is maintained of it: every answer is the server's after each write.

use freshet_tests::cached::{answer, caught_up, connect, eventually, run};
use freshet_tests::{Freshet, Server};
use mysql::Conn;

use super::{is_from_memory, is_kept, sorted, with_stages};

/// Every query is kept after every write.
fn all_are_kept(
    (server, direct, freshet): (&Server, &mut Conn, &Freshet),
    reader: &mut Conn,
    (queries, writes): (&[&str], &[&str]),
) {
    for query in queries {
        run(reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        assert_eq!(sorted(answer(reader, query)), sorted(answer(direct, query)), "{query}");
    }
    for write in writes {
        run(direct, &[write]);
        caught_up(freshet);
        for query in queries {
            is_kept(reader, direct, query, &format!("{:?} after {write}", server.flavor));
            if query.contains("ORDER BY") {
                assert_eq!(answer(reader, query), answer(direct, query), "in this order: {query}");
            }
        }
    }
}

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
        all_are_kept((server, direct, freshet), &mut reader, (&queries, &writes));
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
        all_are_kept((server, direct, freshet), &mut reader, (&queries, &writes));
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
            all_are_kept((server, direct, freshet), &mut reader, (&queries, &writes));
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
        all_are_kept((server, direct, freshet), &mut reader, (&queries, &["UPDATE t SET g = g + 1"]));
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
