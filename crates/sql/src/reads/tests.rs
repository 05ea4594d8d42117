use super::*;
use crate::effects::effects;
use crate::modes::{Flavor, Modes};

fn reads(text: &str, flavor: Flavor) -> String {
    match effects(text.as_bytes(), Modes::new(flavor)).reads {
        Reads::Unknown => "?".to_owned(),
        Reads::Tables(names) => {
            let full = |table: &TableName| match &table.schema {
                Some(schema) => format!("{schema}.{}", table.name),
                None => table.name.clone(),
            };
            names.iter().map(full).collect::<Vec<_>>().join(",")
        }
    }
}

const BOTH: &[(&str, &str)] = &[
    ("SELECT 1", ""),
    ("SELECT NOW() FROM DUAL", ""),
    ("SELECT RAND(), v.* FROM v", "v"),
    ("SELECT a, b FROM v AS x, d.w y, `u`.`t``t` WHERE a IN (1, 2) ORDER BY a, b", "v,d.w,u.t`t"),
    ("SELECT @a, NOW() FROM v FOR UPDATE", "v"),
    ("SELECT a INTO @x FROM v", "v"),
    ("SELECT a FROM v INTO @x, @y", "v"),
    ("SELECT a FROM v INTO OUTFILE 'x'", "v"),
    ("SELECT (SELECT MAX(a) FROM v), RAND()", "v"),
    ("SELECT EXTRACT(YEAR FROM a), TRIM(BOTH 'x' FROM b), CONVERT(c USING utf8mb4)", ""),
    ("SELECT SUBSTRING(a FROM 2 FOR 1) FROM t WHERE b = (SELECT TRIM('x' FROM c) FROM v)", "t,v"),
    ("SELECT * FROM (a, b) JOIN (c JOIN v ON f = g) USING (x, y), w", "a,b,c,v,w"),
    ("SELECT * FROM (SELECT 1 AS n FROM v) d, w", "v,w"),
    ("SELECT * FROM ((SELECT 1 FROM v)) d", "v"),
    ("SELECT * FROM t USE INDEX (i, j) PARTITION (p, q) STRAIGHT_JOIN v ON t.a = v.b, w", "t,v,w"),
    ("SELECT * FROM t JOIN u ON t.`where` = u.where, v WHERE 1", "t,u,v"),
    ("SELECT * FROM {oj t LEFT JOIN v ON 1}", "?"),
    ("SELECT * FROM tä, v", "tä,tÃ¤,t??,v"),
    ("SELECT * FROM d.`tä`, ß.v", "d.tä,d.tÃ¤,d.t??,ß.v,ÃŸ.v,??.v"),
    ("SELECT * FROM t WHERE d > {d '2020-01-01'}", "t"),
    ("SELECT * FROM t WHERE a = @from AND b = @@join", "t"),
    ("SELECT 1 FROM a UNION SELECT 2 FROM v UNION (TABLE w)", "a,v,w"),
    ("WITH c AS (SELECT * FROM v), e AS (SELECT 1) SELECT RAND() FROM c, e", "v,c,e"),
    ("TABLE v", "v"),
    ("TABLE d.v ORDER BY a LIMIT 1", "d.v"),
    ("VALUES ROW(1, (SELECT a FROM v))", "v"),
    ("DO (SELECT a FROM v)", "v"),
    ("SET @x = (SELECT a FROM v), @y = 1", "v"),
    ("EXPLAIN SELECT * FROM v", "v"),
    ("EXPLAIN UPDATE v SET a = 1", "v"),
    ("CREATE TABLE t SELECT * FROM v", "v"),
    ("CREATE TABLE IF NOT EXISTS t (a INT, b INT) AS SELECT * FROM v", "v"),
    ("CREATE TEMPORARY TABLE t SELECT * FROM v", "v"),
    ("INSERT INTO t VALUES (1, 2), (3, 4)", ""),
    ("INSERT INTO t (a, b) SELECT a, b FROM v ON DUPLICATE KEY UPDATE a = 1, b = 2", "v"),
    ("INSERT INTO t TABLE v", "v"),
    ("INSERT INTO t VALUES ((SELECT a FROM v), 2)", "v"),
    ("REPLACE INTO t SELECT * FROM d.v", "d.v"),
    ("UPDATE t, v SET t.a = v.b, t.c = 1 WHERE t.d IN (SELECT e FROM w)", "t,v,w"),
    ("UPDATE LOW_PRIORITY IGNORE t SET a = 1", "t"),
    ("DELETE FROM t WHERE a IN (SELECT a FROM v)", "t,v"),
    ("DELETE FROM t USING t JOIN v ON t.a = v.b WHERE v.c = 1", "t,v"),
    ("HANDLER t READ FIRST WHERE a = (SELECT b FROM v)", "v"),
    ("LOAD DATA INFILE 'x' INTO TABLE t SET a = (SELECT b FROM v)", "t,v"),
    ("SHOW TABLES WHERE Tables_in_d IN (SELECT a FROM v)", "v"),
    ("SELECT 1 FROM a; SELECT 2 FROM b", "a,b"),
    ("SELECT * FROM d.v, d.v2, d.v, d, d.x", "d.v,d.v2,d,d.x"),
    ("CREATE VIEW v AS SELECT f() AS a; SELECT RAND() FROM v", "?"),
    ("ALTER TABLE x RENAME TO v; SELECT RAND() FROM v", "?"),
    ("RENAME TABLE x TO v; SELECT RAND() FROM v", "?"),
    ("CREATE TABLE t (a INT); SELECT RAND() FROM t", "t"),
    ("FROB x", ""),
];

#[test]
fn reads_of_statements() {
    for (text, expected) in BOTH {
        for flavor in [Flavor::MySql, Flavor::MariaDb] {
            assert_eq!(reads(text, flavor), *expected, "{text}");
        }
    }
    let mariadb = [
        ("ANALYZE FORMAT=JSON SELECT * FROM v", "v"),
        ("SET STATEMENT max_statement_time = 1 FOR SELECT RAND() FROM v", "v"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF NOW(), v", "t,v"),
    ];
    for (text, expected) in mariadb {
        assert_eq!(reads(text, Flavor::MariaDb), expected, "{text}");
    }
    assert_eq!(reads(&format!("SELECT {}1 FROM v", "(".repeat(DEPTH_MAX + 1)), Flavor::MySql), "?");
    let many = (0..=TABLES_MAX).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(reads(&format!("SELECT NOW() FROM {many}"), Flavor::MySql), "?");
}

/// Whatever word stands anywhere, no view that is read may be missed.
#[test]
fn no_word_hides_a_view() {
    let forms = [
        "SELECT # FROM v",
        "SELECT a AS # FROM v",
        "SELECT * FROM t #, v",
        "SELECT * FROM t AS #, v",
        "SELECT * FROM #, v",
        "SELECT * FROM #.t, v",
        "SELECT * FROM t JOIN # ON 1, v",
        "SELECT * FROM # JOIN v ON t.# = 1",
        "SELECT * FROM t JOIN u ON t.# = u.a, v",
        "SELECT * FROM (t # JOIN v)",
        "SELECT * FROM (SELECT 1) #, v",
        "SELECT (SELECT # FROM v)",
        "WITH # AS (SELECT 1) SELECT * FROM #, v",
        "WITH # AS (SELECT 1) SELECT * FROM t, v",
        "INSERT INTO # SELECT * FROM v",
        "INSERT INTO t (#) SELECT a FROM v",
        "INSERT INTO t (#) TABLE v",
        "CREATE TABLE # SELECT * FROM v",
        "SET @# = (SELECT a FROM v)",
        "DO (SELECT # FROM v)",
        "TABLE v ORDER BY #",
    ];
    for word in sqlparser::keywords::ALL_KEYWORDS.iter().filter(|word| !is_reserved(word.as_bytes())) {
        for form in forms {
            for flavor in [Flavor::MySql, Flavor::MariaDb] {
                let text = form.replace('#', word);
                let found = effects(text.as_bytes(), Modes::new(flavor)).reads;
                let seen = match &found {
                    Reads::Unknown => true,
                    Reads::Tables(names) => names.contains(&TableName::bare("v")),
                };
                assert!(seen, "{text}: {found:?}");
            }
        }
    }
}
