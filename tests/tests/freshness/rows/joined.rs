//! Lines on rows that are told apart by alternatives, by rows of columns, by merged columns and in subqueries.

use super::{Line, line};

pub(super) const LINES: &[Line] = &[
    line(
        "SELECT id FROM t WHERE c = 'José'",
        &[
            "UPDATE t SET c = 'Žofia' WHERE id = 1",
            "INSERT INTO t (id, c) VALUES (20, 'Łukasz')",
            "UPDATE t SET c = 'Иван' WHERE id = 20",
        ],
        &[
            "INSERT INTO t (id, c) VALUES (21, 'jose')",
            "UPDATE t SET c = 'JOSÉ ' WHERE id = 1",
            "DELETE FROM t WHERE c = 'jÓsë'",
        ],
    ),
    line(
        "SELECT id FROM t WHERE c IN ('東京', 'Киев', 'one')",
        &["UPDATE t SET c = '大阪' WHERE id = 3", "INSERT INTO t (id, c) VALUES (20, 'Äpfel')"],
        &[
            "INSERT INTO t (id, c) VALUES (21, '東京')",
            "UPDATE t SET c = 'КИЕВ' WHERE id = 3",
            "UPDATE t SET c = 'ｏｎｅ2' WHERE id = 1",
        ],
    ),
    line(
        "SELECT id FROM bins WHERE c = 'straße'",
        &[
            "UPDATE bins SET c = 'gaße' WHERE id = 1",
            "INSERT INTO bins VALUES (20, 'strasse')",
            "INSERT INTO bins VALUES (22, '\u{1F600}')",
        ],
        &["INSERT INTO bins VALUES (21, 'straße')", "UPDATE bins SET c = 'x' WHERE id = 21"],
    ),
    // A union of ENUMs is a text: compared with 1 it is its label, and not its index.
    line(
        "SELECT o.id, d.id FROM o LEFT JOIN (SELECT id, e AS x FROM labels UNION ALL SELECT id + 10, e FROM labels) d ON d.x = 1 WHERE o.id = 1",
        &[],
        &["INSERT INTO labels VALUES (4, '1')", "UPDATE labels SET e = '5' WHERE id = 4"],
    ),
    line(
        "SELECT t.c, o.q FROM t JOIN o USING (id) WHERE id = 1",
        &[
            "UPDATE o SET q = 9 WHERE id = 2",
            "UPDATE t SET c = 'z' WHERE id = 3",
            "INSERT INTO o VALUES (6, 1, 1)",
        ],
        &[
            "UPDATE o SET q = 9 WHERE id = 1",
            "UPDATE t SET c = 'y' WHERE id = 1",
            "UPDATE o SET id = 7 WHERE id = 1",
        ],
    ),
    line(
        "SELECT t.c, o.q FROM t LEFT JOIN o USING (id) WHERE id = 4",
        &["UPDATE o SET q = 9 WHERE id = 2", "UPDATE t SET c = 'z' WHERE id = 3"],
        &["INSERT INTO o VALUES (4, 1, 1)", "UPDATE t SET c = 'y' WHERE id = 4"],
    ),
    line(
        "SELECT id, q, c FROM t RIGHT JOIN o USING (id) WHERE id = 2",
        &["UPDATE o SET q = 9 WHERE id = 1", "UPDATE t SET c = 'z' WHERE id = 3"],
        &["UPDATE t SET c = 'y' WHERE id = 2", "DELETE FROM t WHERE id = 2", "DELETE FROM o WHERE id = 2"],
    ),
    line(
        "SELECT q, v FROM o NATURAL JOIN fp WHERE id = 1",
        &["UPDATE fp SET v = 9 WHERE id = 2", "UPDATE o SET q = 9 WHERE id = 2"],
        &["UPDATE fp SET v = 9 WHERE id = 1", "UPDATE o SET q = 9 WHERE id = 1"],
    ),
    line(
        "SELECT c FROM t WHERE id = 1 OR k = 20",
        &[
            "UPDATE t SET c = 'z' WHERE id = 3",
            "UPDATE t SET k = 40 WHERE id = 3",
            "INSERT INTO t (id, k, c) VALUES (5, 50, 'f')",
        ],
        &[
            "UPDATE t SET c = 'y' WHERE id = 1",
            "UPDATE t SET c = 'x' WHERE id = 2",
            "UPDATE t SET k = 20 WHERE id = 3",
            "UPDATE t SET k = 21 WHERE id = 2",
            "INSERT INTO t (id, k, c) VALUES (6, 20, 's')",
            "DELETE FROM t WHERE id = 1",
        ],
    ),
    line(
        "SELECT COUNT(*) FROM o WHERE q > 0 AND ((t_id = 1 AND q = 5) OR t_id = 2 OR id BETWEEN 100 AND 110)",
        &["UPDATE o SET q = 8 WHERE id = 2", "INSERT INTO o VALUES (50, 3, 1)"],
        &[
            "UPDATE o SET q = 5 WHERE id = 2",
            "INSERT INTO o VALUES (51, 2, 1)",
            "INSERT INTO o VALUES (105, 9, 9)",
            "UPDATE o SET t_id = 9 WHERE id = 51",
        ],
    ),
    line(
        "SELECT t.id, o.id FROM t JOIN o ON o.t_id = t.id WHERE (t.id = 1 OR o.id = 3) AND t.k > 0 ORDER BY o.id",
        &["INSERT INTO t (id, k) VALUES (5, -5)", "INSERT INTO o VALUES (60, 3, 1)"],
        &[
            "UPDATE o SET t_id = 3 WHERE id = 3",
            "INSERT INTO o VALUES (61, 1, 1)",
            "UPDATE t SET k = -1 WHERE id = 1",
        ],
    ),
    line(
        "SELECT v FROM p WHERE (a, b) = (1, 2)",
        &["UPDATE p SET v = 1 WHERE a = 1 AND b = 1", "INSERT INTO p VALUES (1,3,0)"],
        &["UPDATE p SET v = 2 WHERE a = 1 AND b = 2", "DELETE FROM p WHERE a = 1 AND b = 2"],
    ),
    line(
        "SELECT SUM(v) FROM p WHERE (a, b) IN ((1, 1), (2, 2))",
        &["UPDATE p SET v = 1 WHERE a = 1 AND b = 2", "UPDATE p SET v = 1 WHERE a = 2 AND b = 1"],
        &["UPDATE p SET v = 2 WHERE a = 1 AND b = 1", "INSERT INTO p VALUES (2,2,5)"],
    ),
    line(
        "SELECT id FROM t WHERE id IN (SELECT t_id FROM o WHERE q = 5) AND k = 10",
        &[
            "UPDATE t SET k = 31 WHERE id = 3",
            "UPDATE o SET t_id = 3 WHERE id = 3",
            "INSERT INTO o VALUES (60, 1, 1)",
        ],
        &[
            "UPDATE o SET q = 6 WHERE id = 1",
            "UPDATE o SET q = 5 WHERE id = 2",
            "UPDATE t SET k = 11 WHERE id = 1",
        ],
    ),
];
