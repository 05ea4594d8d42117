//! Shapes of queries: HAVING, COUNT(DISTINCT), LEFT JOIN, lists.

use freshet_tests::cached::connect;

use super::{all_are_kept, with_stages};

const TABLES: [&str; 5] = [
    "CREATE TABLE c (id INT PRIMARY KEY, region INT, name VARCHAR(20) CHARACTER SET utf8mb4)",
    "CREATE TABLE o (id INT PRIMARY KEY, c INT, total DECIMAL(9, 2), status ENUM('new', 'paid'), KEY (c))",
    "CREATE TABLE l (id INT PRIMARY KEY, o INT, n INT)",
    "INSERT INTO c VALUES (1, 1, 'anna'), (2, 1, 'bob'), (3, 2, 'cé'), (4, NULL, 'dan')",
    "INSERT INTO o VALUES (10, 1, 5, 'new'), (11, 1, 7.5, 'paid'), (12, 2, NULL, 'paid'), (13, NULL, 1, NULL)",
];

const QUERIES: [&str; 20] = [
    "SELECT c.id, c.name, o.id, o.total, o.status FROM c LEFT JOIN o ON o.c = c.id",
    "SELECT c.id, o.id FROM c LEFT JOIN o ON o.c = c.id WHERE o.id IS NULL",
    "SELECT c.id, o.id FROM c LEFT JOIN o ON o.c = c.id AND o.status = 'paid'",
    "SELECT c.id, o.id FROM c LEFT JOIN o ON o.c = c.id AND c.region = 1",
    "SELECT c.id, o.id FROM c LEFT JOIN o ON o.c = c.id WHERE o.total = 7.5",
    "SELECT c.id, o.id FROM c LEFT JOIN o ON o.c = c.id WHERE o.total > 5 OR o.total IS NULL",
    "SELECT o.id, c.name FROM c RIGHT JOIN o ON o.c = c.id",
    "SELECT c.region, COUNT(*), COUNT(o.id), SUM(o.total), MAX(o.total), COUNT(DISTINCT o.c) FROM c LEFT JOIN o ON o.c = c.id GROUP BY c.region ORDER BY c.region",
    "SELECT c.id, COUNT(o.id) n FROM c LEFT JOIN o ON o.c = c.id GROUP BY c.id HAVING n = 0",
    "SELECT c.id, o.id, l.n FROM c LEFT JOIN o ON o.c = c.id LEFT JOIN l ON l.o = o.id",
    "SELECT c.id, o.id, l.n FROM c JOIN o ON o.c = c.id LEFT JOIN l ON l.o = o.id AND l.n > c.id",
    "SELECT a.id, b.id FROM o a LEFT JOIN o b ON b.c = a.c AND b.id <> a.id",
    "SELECT DISTINCT o.status, c.region FROM c LEFT JOIN o ON o.c = c.id",
    "SELECT c, COUNT(*) n, SUM(total) s FROM o GROUP BY c HAVING n > 1 AND s >= 12.5",
    "SELECT c FROM o GROUP BY c HAVING SUM(total) > 6 OR MAX(total) IS NULL",
    "SELECT COUNT(DISTINCT c), COUNT(DISTINCT total), COUNT(DISTINCT status) FROM o",
    "SELECT status, COUNT(DISTINCT c) d FROM o GROUP BY status ORDER BY d DESC, status",
    "SELECT id, total FROM o WHERE id IN (10, 12, 99, 10)",
    "SELECT SUM(total) FROM o WHERE c IN (1, 2) AND id NOT IN (11)",
    "SELECT region, COUNT(*) FROM c GROUP BY region HAVING NOT region = 2",
];

const WRITES: [&str; 16] = [
    "INSERT INTO o VALUES (14, 3, 6.01, 'new')",
    "INSERT INTO o VALUES (15, 4, 1, 'paid'), (16, 4, 2, 'paid')",
    "INSERT INTO l VALUES (1, 10, 5), (2, 10, 6), (3, 14, 1), (4, 77, 1)",
    "UPDATE o SET c = 2 WHERE id = 10",
    "UPDATE o SET status = 'paid', total = total + 1 WHERE c = 1",
    "UPDATE o SET c = NULL WHERE id = 14",
    "DELETE FROM o WHERE c = 4",
    "UPDATE c SET region = 2 WHERE id = 1",
    "UPDATE l SET n = 0, o = 11 WHERE id = 2",
    "INSERT INTO c VALUES (5, 1, 'eve')",
    "UPDATE o SET id = id + 100",
    "DELETE FROM c WHERE id = 2",
    "DELETE FROM l WHERE o = 10",
    "UPDATE c SET id = 2 WHERE id = 3",
    "DELETE FROM o",
    "INSERT INTO o VALUES (10, 1, 5, 'new'), (11, 2, 7.5, 'paid')",
];

#[test]
fn every_shape_is_kept_after_every_write() {
    let schema = "maintained_shapes";
    with_stages(schema, &TABLES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let when = format!("{:?}", server.flavor);
        all_are_kept((&mut reader, direct, freshet), &when, (&QUERIES, &WRITES));
    });
}
