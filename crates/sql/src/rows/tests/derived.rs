//! What is said outside of derived tables and table expressions of the rows inside.
use super::*;

const DERIVED: &[(&str, &str)] = &[
    ("SELECT * FROM (SELECT id, a FROM t) d WHERE d.id = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT id, a FROM t) d WHERE id = 5", "t[id=5]"),
    (
        "SELECT * FROM (SELECT id i, t.a AS z FROM t WHERE b = 1) d WHERE i = 5 AND z > 3",
        "t[b=1 & id=5 & a:(3..]",
    ),
    ("SELECT * FROM (SELECT id FROM t) d (z) WHERE z = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT id, a FROM t) d (z, id) WHERE id = 5", "t[a=5]"),
    ("SELECT * FROM (SELECT * FROM t) d (z, y) WHERE z = 5", "t[]"),
    ("SELECT * FROM (SELECT * FROM t) d WHERE d.id = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT *, a + 1 AS z FROM t) d WHERE d.id = 5 AND z = 2", "t[id=5]"),
    // A column that is hidden from `*`, and an item that is named like it.
    ("SELECT * FROM (SELECT *, 'id' FROM t) d WHERE d.id = 'id'", "t[]"),
    ("SELECT * FROM (SELECT * FROM t, v) d WHERE d.a = 5", "t[] v[]"),
    ("SELECT * FROM (SELECT * FROM t, u) d WHERE d.id = 5 AND d.a = 1", "t[a=1] u[]"),
    ("SELECT * FROM (SELECT t.id, u.x FROM t, u WHERE u.tid = t.id) d WHERE id = 5", "t[id=5] u[tid=5<0.id]"),
    // Not the column as it is.
    ("SELECT * FROM (SELECT id + 0 AS id FROM t) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT -id AS id, a FROM t) d WHERE id = 5 AND a = 1", "t[a=1]"),
    ("SELECT * FROM (SELECT a AS id, id AS a FROM t) d WHERE id = 5", "t[a=5]"),
    ("SELECT * FROM (SELECT a AS 'b' FROM t) d WHERE b = 5", "t[]"),
    ("SELECT * FROM (SELECT (SELECT x FROM u) AS id FROM t) d WHERE id = 5", "u[] t[]"),
    // All rows matter.
    ("SELECT * FROM (SELECT id FROM t LIMIT 5) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id FROM t ORDER BY a) d WHERE id = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT id FROM t ORDER BY COUNT(*)) d WHERE id = 5", "t[]"),
    ("SELECT * FROM ((SELECT id FROM t LIMIT 5)) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, RANK() OVER (ORDER BY a) r FROM t) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, RANK() OVER w r FROM t WINDOW w AS (ORDER BY a)) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id FROM t ORDER BY RANK() OVER (ORDER BY a)) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, COUNT(*) n FROM t) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, 1 + MAX(b) n FROM t) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, (SELECT SUM(t.a) FROM u LIMIT 1) n FROM t) d WHERE id = 5", "u[] t[]"),
    ("SELECT * FROM (SELECT id FROM t HAVING MAX(a) > 1) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id FROM t HAVING a > 1) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id, IFNULL(a, 0) n FROM t) d WHERE id = 5", "t[id=5]"),
    // Groups.
    ("SELECT * FROM (SELECT a, COUNT(*) n FROM t GROUP BY a) d WHERE a = 5 AND n = 1", "t[a=5]"),
    ("SELECT * FROM (SELECT a, COUNT(*) n FROM t GROUP BY a HAVING n > 1) d WHERE a = 5", "t[a=5]"),
    ("SELECT * FROM (SELECT t.a, COUNT(*) n FROM t GROUP BY b, t.a) d WHERE a = 5", "t[a=5]"),
    ("SELECT * FROM (SELECT a AS z, COUNT(*) n FROM t GROUP BY a) d WHERE z = 5", "t[a=5]"),
    ("SELECT * FROM (SELECT a AS z, COUNT(*) n FROM t GROUP BY z) d WHERE z = 5", "t[]"),
    ("SELECT * FROM (SELECT a, b, COUNT(*) n FROM t GROUP BY a) d WHERE b = 5", "t[]"),
    ("SELECT * FROM (SELECT b AS a, a AS c FROM t GROUP BY a) d WHERE c = 5", "t[]"),
    ("SELECT * FROM (SELECT v.a, t.a AS x FROM t, v GROUP BY a) d WHERE x = 5", "t[] v[]"),
    ("SELECT * FROM (SELECT a, COUNT(*) n FROM t GROUP BY a + 0) d WHERE a = 5", "t[]"),
    ("SELECT * FROM (SELECT a, COUNT(*) n FROM t GROUP BY a WITH ROLLUP) d WHERE a = 5", "t[]"),
    ("SELECT * FROM (SELECT a, RANK() OVER (ORDER BY a) n FROM t GROUP BY a) d WHERE a = 5", "t[]"),
    ("SELECT * FROM (SELECT DISTINCT a, b FROM t) d WHERE a = 5 AND b LIKE 'x%'", "t[a=5]"),
    ("SELECT * FROM (SELECT a, b FROM t) d WHERE a = 5 AND b LIKE 'x%'", "t[a=5 & b~'x%']"),
    ("SELECT * FROM (SELECT a FROM t GROUP BY a) d WHERE a LIKE 'x%'", "t[]"),
    // Unions.
    (
        "SELECT * FROM (SELECT id FROM t UNION SELECT tid FROM u) d WHERE id = 5",
        "t[id=5<1.tid] u[tid=5<0.id]",
    ),
    (
        "SELECT * FROM (SELECT id, 1 FROM t UNION ALL SELECT tid, 2 FROM u) d WHERE id = 5",
        "t[id=5<1.tid] u[tid=5<0.id]",
    ),
    ("SELECT * FROM (SELECT id FROM t UNION SELECT 5) d WHERE id = 5", "t[]"),
    ("SELECT * FROM (SELECT id FROM t UNION SELECT tid FROM u LIMIT 1) d WHERE id = 5", "t[] u[]"),
    ("SELECT * FROM (SELECT id FROM t UNION (SELECT tid FROM u LIMIT 1)) d WHERE id = 5", "t[] u[]"),
    ("SELECT * FROM (SELECT id FROM t EXCEPT SELECT tid FROM u) d WHERE id = 5", "t[] u[]"),
    ("SELECT * FROM (SELECT * FROM t UNION SELECT * FROM t) d WHERE id = 5", "t[] t[]"),
    (
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT x FROM u) d WHERE a LIKE 'x%'",
        "t[a~'x%'<1.x] u[x~'x%'<0.a]",
    ),
    ("SELECT * FROM (SELECT a FROM t UNION SELECT x FROM u) d WHERE a LIKE 'x%'", "t[] u[]"),
    ("SELECT * FROM (SELECT a, COUNT(*) FROM t UNION SELECT x, y FROM u) d WHERE a = 5", "t[] u[x=5<0.a]"),
    // Chains of equalities.
    ("SELECT * FROM t, (SELECT tid k, y FROM u) d WHERE t.id = 5 AND d.k = t.id", "t[id=5] u[tid=5<0.id]"),
    (
        "SELECT * FROM t, (SELECT tid k FROM u) d, w WHERE t.id = 5 AND d.k = t.id AND w.uid = d.k",
        "t[id=5] u[tid=5<0.id] w[uid=5<0.id<1.tid]",
    ),
    (
        "SELECT * FROM t, (SELECT tid k FROM u UNION SELECT uid FROM w) d WHERE d.k = 5 AND t.id = d.k",
        "t[id=5<1.tid<2.uid] u[tid=5<2.uid] w[uid=5<1.tid]",
    ),
    ("SELECT * FROM t, (SELECT tid + 0 k FROM u) d WHERE d.k = 5 AND t.id = d.k", "t[] u[]"),
    // Outer joins, outside and inside.
    (
        "SELECT * FROM t LEFT JOIN (SELECT tid, x FROM u) d ON d.tid = t.id WHERE t.id = 5",
        "t[id=5] u[tid=5<0.id]",
    ),
    ("SELECT * FROM t LEFT JOIN (SELECT tid, x FROM u) d ON d.tid = t.id WHERE x IS NULL", "t[] u[]"),
    ("SELECT * FROM t LEFT JOIN (SELECT tid, x FROM u) d ON d.tid = t.id AND x IS NULL", "t[] u[x:null]"),
    ("SELECT * FROM (SELECT t.id, x FROM t LEFT JOIN u ON tid = t.id) d WHERE x IS NULL", "t[] u[]"),
    ("SELECT * FROM (SELECT t.id, x FROM t LEFT JOIN u ON tid = t.id) d WHERE x = 3", "t[] u[x=3]"),
    ("SELECT * FROM (SELECT t.id, x FROM t LEFT JOIN u ON tid = t.id) d WHERE x = ?", "t[] u[x=?0]"),
    ("SELECT * FROM (SELECT t.id, x FROM t LEFT JOIN u ON tid = t.id) d WHERE x <=> ?", "t[] u[]"),
    (
        "SELECT * FROM (SELECT t.id, x FROM t LEFT JOIN u ON tid = t.id) d WHERE id = 3",
        "t[id=3] u[tid=3<0.id]",
    ),
    // Within each other, and within subqueries.
    ("SELECT * FROM (SELECT z FROM (SELECT id AS z FROM t) e) d WHERE z = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT * FROM (SELECT * FROM t) e) d WHERE id = 5", "t[id=5]"),
    ("SELECT * FROM (SELECT z FROM (SELECT id AS z FROM t LIMIT 1) e) d WHERE z = 5", "t[]"),
    (
        "SELECT * FROM t WHERE id = 1 AND EXISTS (SELECT 1 FROM (SELECT tid k FROM u) d WHERE d.k = t.id)",
        "t[id=1] u[tid=1<0.id]",
    ),
    ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u) d WHERE x = 1)", "t[] u[]"),
    ("SELECT * FROM t, LATERAL (SELECT u.tid FROM u WHERE u.tid = t.id) d WHERE d.tid = 1", "t[] u[tid=1]"),
    (
        "SELECT * FROM (SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.tid = t.id)) d WHERE id = 5",
        "t[id=5] u[tid=5<0.id]",
    ),
];

#[test]
fn derived_tables() {
    check(DERIVED, reads);
}

const EXPRESSIONS: &[(&str, &str)] = &[
    ("WITH c AS (SELECT id, a FROM t) SELECT * FROM c WHERE id = 5", "t[id=5]"),
    ("WITH c (z) AS (SELECT id FROM t) SELECT * FROM c WHERE z = 5", "t[id=5]"),
    (
        "WITH c AS (SELECT id FROM t) SELECT * FROM c AS e JOIN u ON u.tid = e.id WHERE e.id = 5",
        "t[id=5] u[tid=5<0.id]",
    ),
    ("WITH c AS (SELECT id FROM t) SELECT * FROM c, c AS e WHERE c.id = 5", "t[]"),
    ("WITH c AS (SELECT id FROM t), e AS (SELECT id FROM c) SELECT * FROM e WHERE id = 5", "t[id=5]"),
    ("WITH c AS (SELECT id FROM t), e AS (SELECT id FROM c) SELECT * FROM e, c WHERE e.id = 5", "t[]"),
    (
        "WITH c AS (SELECT id FROM t), e AS (SELECT id FROM c WHERE id = 3) SELECT * FROM e, e AS f WHERE e.id = 5",
        "t[id=3]",
    ),
    ("WITH RECURSIVE c AS (SELECT id FROM t) SELECT * FROM c WHERE id = 5", "t[]"),
    (
        "WITH RECURSIVE c AS (SELECT id FROM t UNION ALL SELECT t.a FROM t, c WHERE t.id = c.id) SELECT * FROM c WHERE id = 5",
        "t[] t[]",
    ),
    (
        "SELECT * FROM t WHERE EXISTS (WITH c AS (SELECT tid FROM u) SELECT 1 FROM c WHERE c.tid = 5)",
        "t[] u[tid=5]",
    ),
    ("WITH c AS (SELECT * FROM t) SELECT * FROM u WHERE EXISTS (SELECT 1 FROM c WHERE a = 5)", "t[] u[]"),
    (
        "WITH c AS (SELECT id FROM t) SELECT * FROM u WHERE EXISTS (SELECT 1 FROM c WHERE id = 5)",
        "t[id=5] u[]",
    ),
];

#[test]
fn table_expressions() {
    check(EXPRESSIONS, reads);
}
