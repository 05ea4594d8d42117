//! What is found in the statements that are met every day.
use super::*;

/// Returns the pins of `SELECT * FROM t WHERE …`.
fn condition(text: &str) -> String {
    let shown = reads(&format!("SELECT * FROM t WHERE {text}"));
    shown.strip_prefix("t[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(&shown).to_owned()
}

const CONDITIONS: &[(&str, &str)] = &[
    ("id = 5", "id=5"),
    ("5 = id", "id=5"),
    ("t.id = 5", "id=5"),
    ("T.ID = 5", "id=5"),
    ("`t`.`ID`=5", "id=5"),
    ("a = 1 OR a = 2", "a=1,2"),
    ("b = 3 AND (a = 1 OR a IN (2, ?) OR 4 = a)", "b=3 & a=1,2,?0,4"),
    ("a = 1 OR b = 2", "a=1 | b=2"),
    ("a = 1 OR a > 2", "a=1 | a:(2.."),
    ("a = 1 OR a = 2 XOR b", ""),
    ("a = 1 OR a = 2 AND b = 3", "a=1,2 & a=1 | a=1,2 & a=2 & b=3"),
    ("a = 1 OR NOT a = 2", ""),
    ("a BETWEEN 1 AND 'x'", ""),
    ("a BETWEEN 'a' AND ?", "a:['a'..?0]"),
    ("id <=> 5", "id=5"),
    ("id <=> NULL", "id:null"),
    ("id <=> ?", "id=?0"),
    ("id = NULL", "id=NULL"),
    ("id IS NULL", "id:null"),
    ("id IS NOT NULL", ""),
    ("id = ? AND a = ?", "id=?0 & a=?1"),
    ("b < ? AND a IN (1, ?, 'x', NULL)", "b:..?0) & a=1,?1,'x',NULL"),
    ("a = -1", "a=-1"),
    ("a = - 1", "a=-1"),
    ("a = +1", "a=1"),
    ("a =-1.50", "a=-1.50"),
    ("a = .5", "a=.5"),
    ("a = 'x''y'", "a='x'y'"),
    ("a = \"x\"", "a='x'"),
    ("a BETWEEN 1 AND 5", "a:[1..5]"),
    ("a BETWEEN 1 AND 5 AND b = 2", "a:[1..5] & b=2"),
    ("b = 2 AND a BETWEEN ? AND ? AND c = 3", "b=2 & a:[?0..?1] & c=3"),
    ("a NOT BETWEEN 1 AND 5 AND b = 2", "b=2"),
    ("a >= 1 AND a < 5", "a:[1..5)"),
    ("5 > a AND b = 1 AND 1 <= a", "a:[1..5) & b=1"),
    ("a > 1", "a:(1.."),
    ("a > 1 AND a > 2 AND a < 9", "a:(1..9) & a:(2.."),
    ("a > NULL", ""),
    ("a BETWEEN NULL AND 1", ""),
    ("a LIKE 'abc%'", "a~'abc%'"),
    ("a LIKE BINARY 'abc%' AND b LIKE BINARY ?", "a~'abc%' & b~?0"),
    ("a = TRUE AND NOT b AND c IS FALSE", "a=1 & b=0 & c=0"),
    ("NOT a = TRUE", ""),
    ("NOT t.a", "a=0"),
    ("a IN (X'00ff', _binary 'x', _BINARY x'0a')", "a=X'00ff',X'78',X'0a'"),
    ("a = x'0' OR b = 5", ""),
    ("a = _binary 'é' AND b = _binary ''", ""),
    ("a = N'x' AND b = _binary N'x'", ""),
    ("(a, b) > (1, 2)", ""),
    ("(a, b) <=> (1, 2)", ""),
    ("a LIKE 'ab-1 x%'", "a~'ab-1 x%'"),
    ("a = 1 && b = 2", "a=1 & b=2"),
    ("(a = 1)", "a=1"),
    ("((a = 1) AND ((b = 2 AND c = 3)))", "a=1 & b=2 & c=3"),
    ("a = 1 AND (b = 2 OR c = 3)", "a=1 & b=2 | a=1 & c=3"),
    ("a = b AND b = 3", "b=3 & a=3<0.b"),
    ("a IN (1)", "a=1"),
    ("a = 1 AND a = 2", "a=1 & a=2"),
    ("date = '2020-01-01'", "date='2020-01-01'"),
    ("a = 1 ORDER BY b LIMIT 3, 4", "a=1"),
    ("a = 1 GROUP BY b WITH ROLLUP HAVING b = 2 ORDER BY NULL", "a=1"),
    ("a = 170141183460469231731687303715884105727", "a=170141183460469231731687303715884105727"),
    ("a = 999999999999999999999999999999999999999999", ""),
];

#[test]
fn conditions() {
    check(CONDITIONS, condition);
}

const JOINS: &[(&str, &str)] = &[
    ("SELECT * FROM t, u WHERE t.id = u.tid AND t.id = 5", "t[id=5] u[tid=5<0.id]"),
    ("SELECT * FROM t JOIN u ON t.id = u.tid WHERE u.tid = 5", "t[id=5<1.tid] u[tid=5]"),
    ("SELECT * FROM t CROSS JOIN u ON t.id = u.tid AND t.id > 5", "t[id:(5..] u[tid:(5..<0.id]"),
    ("SELECT * FROM t STRAIGHT_JOIN u ON t.id = u.tid AND x = 5", "t[] u[x=5]"),
    ("SELECT * FROM t a INNER JOIN u AS b ON a.id = b.tid WHERE a.id IN (1,2)", "t[id=1,2] u[tid=1,2<0.id]"),
    (
        "SELECT * FROM t JOIN u ON u.tid = t.id JOIN w ON w.uid = u.tid WHERE t.id = 1",
        "t[id=1] u[tid=1<0.id] w[uid=1<0.id<1.tid]",
    ),
    // Outer joins.
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE t.id = 5", "t[id=5] u[tid=5<0.id]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id AND u.x = 3", "t[] u[x=3]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id AND t.id = 3", "t[] u[tid=3<0.id]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.x = 3", "t[] u[x=3]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.tid = 3", "t[id=3<1.tid] u[tid=3]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id IS NULL AND t.a = 1", "t[a=1] u[]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id <=> NULL", "t[] u[]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id <=> ?", "t[] u[]"),
    ("SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id <=> 4", "t[] u[id=4]"),
    ("SELECT * FROM t LEFT JOIN u ON u.x IS NULL", "t[] u[x:null]"),
    ("SELECT * FROM t LEFT JOIN u ON u.x LIKE 'a%' WHERE u.y LIKE 'b%'", "t[] u[y~'b%' & x~'a%']"),
    ("SELECT * FROM t RIGHT JOIN u ON u.tid = t.id WHERE t.id IS NULL AND u.x = 1", "t[] u[x=1]"),
    (
        "SELECT * FROM t RIGHT OUTER JOIN u ON u.tid = t.id AND u.x = 1 WHERE u.tid = 2",
        "t[id=2<1.tid] u[tid=2]",
    ),
    ("SELECT * FROM t RIGHT JOIN u ON u.tid = t.id AND t.a = 1", "t[a=1] u[]"),
    (
        "SELECT * FROM t LEFT JOIN u ON u.tid = t.id LEFT JOIN w ON w.uid = u.tid WHERE t.id = 1",
        "t[id=1] u[tid=1<0.id] w[uid=1<0.id<1.tid]",
    ),
    (
        "SELECT * FROM t LEFT JOIN u ON u.tid = t.id LEFT JOIN w ON w.uid = u.id WHERE w.z = 1 AND t.a IS NULL",
        "t[a:null] u[] w[z=1]",
    ),
    (
        "SELECT * FROM t LEFT JOIN (u JOIN w ON w.uid = u.id AND w.z = 7) ON u.tid = t.id WHERE t.id = 1",
        "t[id=1] u[tid=1<0.id] w[z=7]",
    ),
    ("SELECT * FROM t LEFT JOIN u JOIN w ON w.uid = u.id ON u.tid = t.id WHERE w.z = 7", "t[] u[] w[z=7]"),
    (
        "SELECT * FROM t LEFT JOIN u LEFT JOIN w ON w.uid = u.id AND u.x = 2 ON u.tid = t.id AND t.a = 3",
        "t[] u[] w[]",
    ),
    // The ON of the outer join says nothing of what it keeps; a later join does.
    (
        "SELECT * FROM t LEFT JOIN u ON u.tid = t.id AND t.id = 1 JOIN w ON w.id = t.id",
        "t[] u[tid=1<0.id] w[]",
    ),
    (
        "SELECT * FROM (t, u) LEFT JOIN w ON w.uid = u.id WHERE u.id = 2 AND t.id = 1",
        "t[id=1] u[id=2] w[uid=2<1.id]",
    ),
    ("SELECT * FROM t, u LEFT JOIN w ON w.uid = u.id AND w.z = 2", "t[] u[] w[z=2]"),
    ("SELECT * FROM t a, t b WHERE a.id = 1 AND b.id = a.a", "t[id=1] t[]"),
    ("SELECT * FROM t a, t b WHERE a.id = 1 AND b.id = a.id", "t[id=1] t[id=1<0.id]"),
    ("SELECT * FROM t NATURAL JOIN u WHERE a = 1 AND id = 2", "t[a=1 & id=2] u[id=2<0.id]"),
    ("SELECT * FROM t NATURAL LEFT JOIN u WHERE u.x = 1", "t[] u[x=1]"),
    ("SELECT * FROM t JOIN u USING (id) WHERE id = 2 AND a = 1", "t[id=2 & a=1] u[id=2<0.id]"),
    ("SELECT * FROM t JOIN u USING (id) WHERE t.id = 2", "t[id=2] u[id=2<0.id]"),
    ("SELECT * FROM t RIGHT JOIN v USING (id) WHERE id = 2 AND a = 1", "t[a=1] v[]"),
    ("SELECT * FROM v JOIN t WHERE a = 1 AND v.id = 2 AND t.id = v.id", "v[] t[a=1]"),
    ("SELECT * FROM v NATURAL JOIN t WHERE a = 1", "v[] t[]"),
    ("SELECT * FROM t LEFT JOIN u USING (id) WHERE id = 2", "t[id=2] u[id=2<0.id]"),
    ("SELECT * FROM t RIGHT JOIN u USING (id) WHERE id = 2", "t[id=2<1.id] u[id=2]"),
    ("SELECT * FROM t LEFT JOIN u USING (id) WHERE u.id = 2", "t[id=2<1.id] u[id=2]"),
    (
        "SELECT * FROM (t RIGHT JOIN u USING (id)) JOIN w USING (id) WHERE id = 2",
        "t[id=2<1.id] u[id=2] w[id=2<1.id]",
    ),
    (
        "SELECT * FROM t JOIN (u JOIN w USING (id)) USING (id) WHERE w.id = 2",
        "t[id=2<2.id<1.id] u[id=2<2.id] w[id=2]",
    ),
    ("SELECT * FROM t JOIN u ON t.id = u.tid JOIN w USING (id) WHERE w.id = 2", "t[] u[] w[id=2]"),
    ("SELECT * FROM t a NATURAL JOIN t b WHERE b = 2 AND a.c = 3", "t[b=2 & c=3] t[b=2<0.b & c=3<0.c]"),
    ("SELECT * FROM t, u WHERE t.id = 1 AND (a = 2 OR x = 3)", "t[id=1] u[]"),
    (
        "SELECT * FROM t JOIN u ON u.tid = t.id WHERE (t.id = 1 OR u.tid = 2) AND u.x = 5",
        "t[id=1 | id=2<1.tid] u[x=5 & tid=1<0.id | tid=2 & x=5]",
    ),
    (
        "SELECT * FROM t LEFT JOIN u ON u.tid = t.id AND (u.x = 1 OR u.y = 2) WHERE t.id = 3",
        "t[id=3] u[x=1 & tid=3<0.id | y=2 & tid=3<0.id]",
    ),
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u WHERE x = 1 OR y = 2) AND a = 3", "t[a=3] u[x=1 | y=2]"),
    ("SELECT * FROM t WHERE (a = 1 OR EXISTS (SELECT 1 FROM u WHERE u.tid = t.id)) AND b = 2", "t[b=2] u[]"),
    (
        "SELECT a.id FROM s.t AS a FORCE INDEX FOR ORDER BY (`i`, PRIMARY) USE KEY () WHERE a.id = 1",
        "t[id=1]",
    ),
    ("SELECT * FROM s.t WHERE s.t.id = 1 AND t.a = 2", "t[id=1 & a=2]"),
    ("SELECT * FROM t WHERE s.t.id = 1", "t[]"),
    ("SELECT * FROM s.t, r.t WHERE t.id = 1 AND s.t.a = 1", "t[] t[]"),
    ("SELECT * FROM t PARTITION (p0) WHERE id = 1", "t[id=1]"),
    ("SELECT * FROM t JOIN u ON x = 1 AND w.z = 3, w", "t[] u[x=1] w[]"),
];

#[test]
fn joins() {
    check(JOINS, reads);
}

const SUBQUERIES: &[(&str, &str)] = &[
    (
        "SELECT * FROM t WHERE id = 1 AND EXISTS (SELECT 1 FROM u WHERE u.tid = t.id AND x = 2)",
        "t[id=1] u[x=2 & tid=1<0.id]",
    ),
    ("SELECT * FROM t WHERE id = 1 OR EXISTS (SELECT 1 FROM u WHERE u.tid = t.id)", "t[] u[]"),
    ("SELECT * FROM t WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM u WHERE tid = a)", "t[id=1] u[]"),
    ("SELECT * FROM t WHERE a = 1 AND NOT EXISTS (SELECT 1 FROM u WHERE tid = a)", "t[a=1] u[tid=1<0.a]"),
    ("SELECT (SELECT MAX(x) FROM u WHERE u.tid = t.id) FROM t WHERE id = 1", "u[tid=1<1.id] t[id=1]"),
    ("SELECT (SELECT MAX(x) FROM u WHERE u.tid = a), b AS a FROM t WHERE a = 1", "u[] t[a=1]"),
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u WHERE x = 3) AND a = 1", "t[a=1] u[x=3]"),
    // What is in a subquery is equal to what it is looked for.
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u) AND id = 5", "t[id=5] u[tid=5<0.id]"),
    ("SELECT * FROM t WHERE id IN (SELECT u.tid FROM u WHERE u.tid = 5)", "t[id=5<1.tid] u[tid=5]"),
    (
        "SELECT * FROM t WHERE (id IN (SELECT DISTINCT tid FROM u WHERE tid < 5))",
        "t[id:..5)<1.tid] u[tid:..5)]",
    ),
    (
        "SELECT * FROM t WHERE id IN (SELECT tid FROM u GROUP BY tid HAVING COUNT(*) > 1) AND id = 5",
        "t[id=5] u[tid=5<0.id]",
    ),
    // It is not known which rows make the others, or whether one that is NULL matters.
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u LIMIT 1) AND id = 5", "t[id=5] u[]"),
    ("SELECT * FROM t WHERE id IN (SELECT MAX(tid) FROM u) AND id = 5", "t[id=5] u[]"),
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u GROUP BY x) AND id = 5", "t[id=5] u[]"),
    ("SELECT * FROM t WHERE id NOT IN (SELECT tid FROM u) AND id = 5", "t[id=5] u[]"),
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u) IS NOT TRUE AND id = 5", "t[id=5] u[]"),
    ("SELECT * FROM t WHERE id IN (SELECT tid + 1 FROM u WHERE tid = 5)", "t[] u[tid=5]"),
    ("SELECT * FROM t WHERE id IN (SELECT tid FROM u WHERE tid = 5 UNION SELECT 3)", "t[] u[tid=5]"),
    ("SELECT * FROM t LEFT JOIN w ON w.uid IN (SELECT tid FROM u WHERE tid = 5)", "t[] w[] u[tid=5]"),
    ("SELECT * FROM t WHERE id = (SELECT 5)", "t[]"),
    (
        "SELECT * FROM t WHERE id = 5 GROUP BY a HAVING 1 < (SELECT COUNT(*) FROM u WHERE u.tid = t.id)",
        "t[id=5] u[tid=5<0.id]",
    ),
    ("SELECT * FROM t WHERE id = 5 ORDER BY (SELECT x FROM u WHERE u.tid = t.id)", "t[id=5] u[]"),
    ("SELECT * FROM (SELECT * FROM t WHERE id = 1) d WHERE d.a = 2", "t[id=1 & a=2]"),
    (
        "SELECT * FROM (SELECT * FROM t) d JOIN u ON u.tid = d.id WHERE d.id = 2 AND x = 1",
        "t[id=2] u[x=1 & tid=2<0.id]",
    ),
    ("SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.tid = t.id) d WHERE t.id = 1", "t[id=1] u[]"),
    ("SELECT * FROM t WHERE id = 1 UNION SELECT * FROM t WHERE id = 2 ORDER BY 1 LIMIT 2", "t[id=1] t[id=2]"),
    ("(SELECT a FROM t WHERE id = 1) UNION ALL (SELECT x FROM u WHERE tid = 2 LIMIT 1)", "t[id=1] u[tid=2]"),
    ("SELECT * FROM ((SELECT a FROM t WHERE a = 1) UNION (SELECT x FROM u WHERE x = 2)) d", "t[a=1] u[x=2]"),
    ("SELECT * FROM ((SELECT a FROM t WHERE a = 1) AS d, u) WHERE x = 2", "t[a=1] u[x=2]"),
    (
        "WITH c AS (SELECT * FROM t WHERE a = 1) SELECT * FROM c JOIN u ON c.id = u.tid WHERE c.id = 1 AND x = 2",
        "t[a=1 & id=1] u[x=2 & tid=1<0.id]",
    ),
    ("WITH t AS (SELECT * FROM t WHERE a = 1) SELECT * FROM t WHERE id = 1", "t[a=1 & id=1]"),
    (
        "WITH RECURSIVE c AS (SELECT * FROM t WHERE id = 1 UNION ALL SELECT t.* FROM t JOIN c ON t.a = c.id WHERE t.b = 3) SELECT * FROM c JOIN u ON u.tid = c.id WHERE u.x = 1",
        "t[] t[] u[x=1]",
    ),
    // The inner name hides the outer one.
    (
        "SELECT * FROM t a WHERE a.id = 1 AND EXISTS (SELECT 1 FROM u a WHERE a.tid = 2 AND a.id = a.x)",
        "t[id=1] u[tid=2]",
    ),
    ("SELECT * FROM t a WHERE a.id = 1 AND EXISTS (SELECT 1 FROM u A WHERE A.tid = a.id)", "-"),
    ("SELECT * FROM t WHERE id = 1 AND EXISTS (SELECT 1 FROM v WHERE v.a = t.id AND id = 4)", "t[id=1] v[]"),
    (
        "SELECT * FROM t WHERE id = 1 AND EXISTS (SELECT 1 FROM u, v WHERE tid = b AND x = 2)",
        "t[id=1] u[x=2] v[]",
    ),
    // Two blocks up.
    (
        "SELECT * FROM t WHERE t.id = 1 AND EXISTS (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.uid = t.id))",
        "t[id=1] u[] w[uid=1<0.id]",
    ),
    // An outer column that is compared in the inner block says nothing of the outer one.
    ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.tid = t.id AND t.id = 1)", "t[] u[tid=1<0.id]"),
    // A subquery in an ON is told nothing.
    (
        "SELECT * FROM t JOIN u ON EXISTS (SELECT 1 FROM w WHERE w.uid = t.id AND z = 1) WHERE t.id = 1",
        "t[id=1] u[] w[z=1]",
    ),
    (
        "SELECT * FROM t LEFT JOIN u ON u.tid = t.id WHERE t.id = 1 AND (SELECT 1 FROM w WHERE w.uid = u.tid) IS NULL",
        "t[id=1] u[tid=1<0.id] w[uid=1<0.id<1.tid]",
    ),
];

#[test]
fn subqueries() {
    check(SUBQUERIES, reads);
}

#[test]
fn columns() {
    for (text, expected) in [
        ("SELECT c FROM sbtest1 WHERE id=1", "c id sbtest1"),
        ("SELECT COUNT(*), a * b FROM t WHERE `Id` = 1", "a b count id t"),
        ("SELECT * FROM t", "all"),
        ("SELECT t.* FROM t", "all"),
        ("SELECT a, t . * FROM t", "all"),
        ("SELECT DISTINCT * FROM t", "all"),
        ("SELECT SQL_NO_CACHE * FROM t", "all"),
        ("SELECT a FROM t NATURAL JOIN u", "all"),
        ("SELECT a FROM t PARTITION (p0)", "all"),
        ("SELECT _rowid FROM t", "all"),
        ("SELECT a AS z FROM t WHERE EXISTS (SELECT * FROM u)", "all"),
        ("SELECT a FROM t JOIN u USING (id) ORDER BY y", "a id t u using y"),
    ] {
        let read = row_reads(text.as_bytes(), MYSQL, &columns_of).map(|reads| reads.columns);
        let shown = match read {
            Some(ColumnsRead::All) => "all".to_owned(),
            Some(ColumnsRead::Named(named)) => named.join(" "),
            None => "-".to_owned(),
        };
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn names_beyond_ascii_count_as_unknown() {
    let columns_of = |_: &TableName| {
        Some(TableDefinition::Table {
            columns: vec!["id".to_owned(), "é".to_owned()].into(),
            shows_all: true,
        })
    };
    let reads = row_reads(b"SELECT id FROM t WHERE id = 1", MYSQL, &columns_of).unwrap();
    assert_eq!(reads.columns, ColumnsRead::All);
    assert_eq!(show_alternatives(&reads.occurrences[0].alternatives), "");
}

/// Two readers over one lexer: what one of them understands, the other names the same tables in, as often.
#[test]
fn agrees_with_the_analysis() {
    let mut unread = Vec::new();
    for (text, _) in crate::analysis::tests::READ {
        let Some((tables, named)) = tables_named(text.as_bytes(), MYSQL) else {
            continue;
        };
        match row_reads_of(text.as_bytes(), MYSQL, &tables, &columns_of) {
            Some(reads) => assert_eq!(reads.occurrences.len(), named, "{text}"),
            None => unread.push(*text),
        }
    }
    println!("not read: {unread:#?}");
    assert!(unread.len() * 4 < crate::analysis::tests::READ.len(), "{unread:#?}");
}
