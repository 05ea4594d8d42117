//! UNION, and literals among what is shown.

use freshet_tests::cached::{answer, connect, run};
use mysql::prelude::Queryable as _;

use super::{all_are_kept, from_memory, with_stages};

const TABLES: [&str; 5] = [
    "CREATE TABLE o (id INT PRIMARY KEY, cid BIGINT, total DECIMAL(8,2), at DATETIME, note VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)",
    "CREATE TABLE r (id BIGINT UNSIGNED PRIMARY KEY, cid INT, total DECIMAL(12,2) NOT NULL, at DATETIME, \
     note VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n DECIMAL(9,3))",
    "CREATE TABLE c (id INT PRIMARY KEY, city VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)",
    "INSERT INTO o VALUES (1, 1, 5, '2024-01-01 10:00:00', 'a'), (2, 1, 7.5, '2024-01-03 10:00:00', NULL), (3, 2, NULL, NULL, 'c'), \
     (4, NULL, 1, '2024-01-02 00:00:00', 'b b')",
    "INSERT INTO r VALUES (1, 1, 2, '2024-01-02 10:00:00', 'a', 1), (18446744073709551615, 2, 7.5, '2024-01-05 10:00:00', NULL, 2)",
];

const QUERIES: [&str; 14] = [
    "SELECT id, cid FROM o UNION ALL SELECT id, cid FROM r",
    "SELECT cid FROM o WHERE total > 4 UNION ALL SELECT cid FROM r WHERE cid = 1 UNION ALL SELECT id FROM c",
    "SELECT id, total, at FROM o UNION ALL SELECT id, total, at FROM r ORDER BY at DESC, id LIMIT 3",
    "SELECT 'order' AS kind, id, at FROM o UNION ALL SELECT 'refund', id, at FROM r ORDER BY at, id",
    "SELECT 1 AS kind, cid FROM o WHERE cid = 1 UNION ALL SELECT 2, cid FROM r WHERE cid = 1",
    "SELECT cid FROM o UNION SELECT cid FROM r",
    "SELECT cid, total FROM o UNION DISTINCT SELECT cid, total FROM r ORDER BY total DESC, cid",
    "SELECT note FROM o UNION SELECT note FROM r ORDER BY note",
    "SELECT note, COUNT(*) AS k FROM o GROUP BY note UNION ALL SELECT city, id FROM c ORDER BY k DESC, note LIMIT 4",
    "SELECT c.city, SUM(o.total) FROM c LEFT JOIN o ON o.cid = c.id GROUP BY c.city UNION ALL SELECT note, total FROM r",
    "SELECT COUNT(*), MAX(at) FROM o UNION ALL SELECT COUNT(*), MIN(at) FROM r",
    "SELECT id, 'it''s' AS t, 7 FROM o WHERE cid = 1",
    "(SELECT id FROM o) UNION ALL (SELECT id FROM r) ORDER BY id DESC",
    "SELECT cid FROM o UNION SELECT cid FROM r UNION SELECT id FROM c ORDER BY cid",
];

const WRITES: [&str; 7] = [
    "UPDATE o SET total = 7.5, cid = 2 WHERE id = 2",
    "INSERT INTO r VALUES (7, 2, 7.5, '2024-01-03 10:00:00', 'c', NULL), (8, NULL, 0, NULL, 'zz', NULL)",
    "INSERT INTO c VALUES (1, 'Oslo'), (2, 'Lima')",
    "UPDATE r SET at = '2023-01-01 00:00:00', note = 'a' WHERE id > 7",
    "DELETE FROM o WHERE id = 1",
    "UPDATE o SET cid = 1",
    "DELETE FROM r",
];

#[test]
fn a_union_is_answered_from_memory() {
    let schema = "maintained_unions";
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        all_are_kept((&mut reader, direct, freshet), &format!("{:?}", server.flavor), (&QUERIES, &WRITES));
    });
}

#[test]
fn a_union_is_executed_with_its_values() {
    let schema = "maintained_unions_executed";
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let text = "SELECT id, total FROM o WHERE cid = ? UNION ALL SELECT id, total FROM r WHERE cid = ? ORDER BY id, total LIMIT 5";
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {text}")]);
        let statement = reader.prep(text).expect("it is prepared");
        let straight = direct.prep(text).expect("it is prepared");
        let executed = |conn: &mut mysql::Conn, statement: &mysql::Statement, values: (i64, i64)| {
            let rows: Vec<mysql::Row> = conn.exec(statement, values).expect("it is executed");
            rows.into_iter().map(mysql::Row::unwrap).collect::<Vec<_>>()
        };
        for write in ["UPDATE o SET total = total + 1", "UPDATE r SET cid = 1", "DELETE FROM o WHERE id = 2"]
        {
            run(direct, &[write]);
            freshet_tests::cached::caught_up(freshet);
            for values in [(1, 2), (2, 1), (1, 1), (9, 9)] {
                let found = from_memory(&mut reader, |reader| executed(reader, &statement, values));
                assert_eq!(
                    found,
                    Some(executed(direct, &straight, values)),
                    "{:?} {write} {values:?} {:?}",
                    server.flavor,
                    answer(&mut reader, "SHOW CACHES")
                );
            }
        }
    });
}

#[test]
fn what_a_union_converts_is_left_to_the_server() {
    let schema = "maintained_unions_refused";
    with_stages(schema, &TABLES, |_, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for (odd, why) in [
            ("SELECT total FROM o UNION ALL SELECT n FROM r", "UNION of columns of different types"),
            ("SELECT total FROM o UNION ALL SELECT cid FROM r", "UNION of columns of different types"),
            ("SELECT note FROM o UNION SELECT CONCAT(note, 'a') FROM r", "CONCAT()"),
            ("(SELECT id FROM o ORDER BY id LIMIT 1) UNION ALL SELECT id FROM r", "LIMIT at the top"),
        ] {
            let error =
                reader.query_drop(format!("CREATE DEEP CACHE FROM {odd}")).expect_err(odd).to_string();
            assert!(error.contains(why), "{odd}: {error}");
            assert_eq!(
                answer(&mut reader, odd).map(|rows| rows.len()),
                answer(direct, odd).map(|rows| rows.len()),
                "{odd}"
            );
        }
        // Spellings that are equal: which one is shown the server decides.
        let told_apart = "SELECT note FROM o UNION SELECT note FROM r";
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {told_apart}")]);
        run(direct, &["UPDATE r SET note = 'A' WHERE id = 1"]);
        freshet_tests::cached::caught_up(freshet);
        for _ in 0..3 {
            assert_eq!(
                super::sorted(answer(&mut reader, told_apart)),
                super::sorted(answer(direct, told_apart))
            );
        }
    });
}
