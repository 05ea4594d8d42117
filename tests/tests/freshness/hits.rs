//! A promise of its own: what may be answered from memory is, whatever its shape, from whichever schema it is asked, and in
//! whichever form the client takes its answers.

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run, user_of};
use freshet_tests::raw::{Raw, capability};
use freshet_tests::{Freshet, Server, Target, with_each};

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20) CHARACTER SET utf8mb4, KEY (v))",
    "INSERT INTO t VALUES (1,10,'a'),(2,20,'b'),(3,20,'c')",
    "CREATE TABLE u (id INT PRIMARY KEY, t INT, d DATE, n DECIMAL(9,2), FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
    "INSERT INTO u VALUES (1,1,'2024-02-29',1.50),(2,2,NULL,2.25)",
    "CREATE TABLE j (id INT PRIMARY KEY, doc JSON, c CHAR(3) CHARACTER SET ascii, b VARBINARY(9))",
    "INSERT INTO j VALUES (1,'{\"a\":[1,2]}','abc',x'00ff')",
    "CREATE TABLE p (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO p VALUES (1,1),(2,2)",
    "CREATE TABLE g (id INT PRIMARY KEY, v INT, twice INT GENERATED ALWAYS AS (v * 2) STORED)",
    "INSERT INTO g (id, v) VALUES (1,4)",
    "CREATE TABLE m (id INT PRIMARY KEY, v INT, FULLTEXT KEY (w), w TEXT) ENGINE=MyISAM",
    "INSERT INTO m VALUES (1,1,'some words')",
    "CREATE VIEW plain AS SELECT id, v FROM t",
    "CREATE VIEW joined AS SELECT t.id, t.w, u.d FROM t JOIN u ON u.t = t.id",
    "CREATE VIEW counted AS SELECT v, COUNT(*) AS n FROM t GROUP BY v",
    "CREATE VIEW nested AS SELECT n FROM counted WHERE v > 0",
    "CREATE SQL SECURITY INVOKER VIEW invoked AS SELECT w FROM t",
    "CREATE ALGORITHM=TEMPTABLE VIEW kept AS SELECT v FROM t",
];

/// A name and a SELECT. `$` stands for the schema and a dot, or for nothing.
const SHAPES: &[(&str, &str)] = &[
    ("a row", "SELECT v FROM $t WHERE id = 1"),
    ("no row", "SELECT v FROM $t WHERE id = 77"),
    ("all", "SELECT * FROM $t ORDER BY id"),
    ("a comment", "/* by */ SELECT v FROM $t WHERE id = 2 -- so"),
    ("a list", "SELECT v FROM $t WHERE id IN (1, 2)"),
    ("a range", "SELECT v FROM $t WHERE id BETWEEN 1 AND 2 ORDER BY v LIMIT 1"),
    ("a pattern", "SELECT id FROM $t WHERE w LIKE 'a%'"),
    ("parentheses", "(SELECT v FROM $t WHERE id = 1)"),
    ("a join", "SELECT t.v, u.n FROM $t AS t JOIN $u AS u ON u.t = t.id"),
    ("a join of the same", "SELECT a.v FROM $t a JOIN $t b ON b.id = a.id + 1"),
    ("a join from the left", "SELECT t.v, u.d FROM $t AS t LEFT JOIN $u AS u ON u.t = t.id ORDER BY t.id"),
    ("a natural join", "SELECT COUNT(*) FROM $t NATURAL JOIN $u"),
    ("a comma", "SELECT t.v FROM $t AS t, $u AS u WHERE u.t = t.id"),
    ("an aggregate", "SELECT COUNT(*), SUM(v), MIN(w), AVG(v) FROM $t"),
    ("groups", "SELECT v, COUNT(*) FROM $t GROUP BY v HAVING COUNT(*) > 1"),
    ("groups with totals", "SELECT v, COUNT(*) FROM $t GROUP BY v WITH ROLLUP"),
    ("distinct", "SELECT DISTINCT v FROM $t ORDER BY v"),
    ("a concatenation", "SELECT GROUP_CONCAT(w ORDER BY w SEPARATOR '|') FROM $t"),
    ("a window", "SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM $t"),
    ("a named window", "SELECT SUM(v) OVER o FROM $t WINDOW o AS (ORDER BY id)"),
    ("a derived table", "SELECT x.v FROM (SELECT v FROM $t WHERE id = 1) x"),
    ("a derived table of two", "SELECT SUM(x.v) FROM (SELECT v FROM $t UNION ALL SELECT id FROM $u) x"),
    ("a common table expression", "WITH c AS (SELECT SUM(v) s FROM $t) SELECT s FROM c"),
    (
        "a recursive one",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT c.n, t.v FROM c JOIN $t AS t ON t.id = c.n",
    ),
    ("a union", "SELECT v FROM $t WHERE id = 1 UNION SELECT t FROM $u"),
    ("a union in order", "(SELECT id FROM $t) UNION ALL (SELECT id FROM $u) ORDER BY id LIMIT 2"),
    ("an intersection", "SELECT id FROM $t INTERSECT SELECT t FROM $u"),
    ("a difference", "SELECT id FROM $t EXCEPT SELECT t FROM $u"),
    ("a scalar subquery", "SELECT id FROM $t WHERE v = (SELECT MAX(v) FROM $t)"),
    ("a subquery in a list", "SELECT w FROM $t WHERE id IN (SELECT t FROM $u)"),
    ("a correlated subquery", "SELECT w FROM $t AS t WHERE EXISTS (SELECT 1 FROM $u AS u WHERE u.t = t.id)"),
    (
        "a subquery in the list of columns",
        "SELECT id, (SELECT COUNT(*) FROM $u AS u WHERE u.t = t.id) FROM $t AS t",
    ),
    ("a quantified subquery", "SELECT id FROM $t WHERE v >= ALL (SELECT v FROM $t)"),
    ("a case", "SELECT CASE WHEN v > 10 THEN 'x' ELSE 'y' END FROM $t ORDER BY id"),
    ("dates", "SELECT YEAR(d), DATE_ADD(d, INTERVAL 1 DAY), DATE_FORMAT(d, '%Y') FROM $u WHERE id = 1"),
    ("numbers", "SELECT ROUND(n, 1), n * 2, n DIV 1, CAST(n AS SIGNED) FROM $u"),
    ("texts", "SELECT UPPER(w), CONCAT(w, '-'), LENGTH(w), w COLLATE utf8mb4_bin FROM $t"),
    ("a pattern by rule", "SELECT id FROM $t WHERE w REGEXP '^a'"),
    ("json", "SELECT JSON_EXTRACT(doc, '$.a[0]'), JSON_LENGTH(doc) FROM $j"),
    ("json as a table", "SELECT x.n FROM $j AS d, JSON_TABLE(d.doc, '$.a' COLUMNS (n INT PATH '$.x')) AS x"),
    ("bytes", "SELECT HEX(b), c, b = x'00ff' FROM $j"),
    ("an index named", "SELECT id FROM $t FORCE INDEX (v) WHERE v = 20"),
    ("partitions", "SELECT v FROM $p WHERE id = 1"),
    ("a partition named", "SELECT v FROM $p PARTITION (p1)"),
    ("a computed column", "SELECT twice FROM $g WHERE id = 1"),
    ("a table without transactions", "SELECT v FROM $m WHERE id = 1"),
    ("words", "SELECT id FROM $m WHERE MATCH (w) AGAINST ('words')"),
    ("a view", "SELECT * FROM $plain ORDER BY id"),
    ("a row of a view", "SELECT v FROM $plain WHERE id = 2"),
    ("a view of two tables", "SELECT w FROM $joined WHERE id = 1"),
    ("a view of groups", "SELECT n FROM $counted WHERE v = 20"),
    ("a view of a view", "SELECT n FROM $nested ORDER BY n"),
    ("a view of the invoker's", "SELECT w FROM $invoked ORDER BY w"),
    ("a view that is kept", "SELECT v FROM $kept ORDER BY v"),
    ("a view and a table", "SELECT p.v, u.n FROM $plain AS p JOIN $u AS u ON u.t = p.id"),
    ("a derived table over a view", "SELECT COUNT(*) FROM (SELECT id FROM $plain) x"),
    ("a union over views", "SELECT id FROM $plain UNION SELECT n FROM $counted"),
];

/// What a client agrees on for the ends of its answers, and for what it is told of the session.
const FORMS: [u32; 4] = [
    0,
    capability::SESSION_TRACK,
    capability::DEPRECATE_EOF,
    capability::DEPRECATE_EOF | capability::SESSION_TRACK,
];

/// Makes the tables in `schema`, an empty schema beside it, and a user of its name without a password. The name of the
/// empty schema is returned.
fn stage(server: &Server, schema: &str) -> String {
    let elsewhere = format!("{schema}_elsewhere");
    drop(fresh_schema(server, &elsewhere));
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, TABLES);
    user_of(&mut direct, schema);
    elsewhere
}

fn statements(prefix: &str) -> impl Iterator<Item = (&'static str, String)> {
    SHAPES.iter().map(move |(name, text)| {
        let text = text.replace("'$.", "'\u{1}.").replace('$', prefix).replace('\u{1}', "$");
        (*name, text)
    })
}

#[test]
fn every_shape_is_answered_from_memory() {
    with_each(|server, freshet| {
        let elsewhere = stage(server, "fresh_hits");
        let mut never = Vec::new();
        for (schema, prefix) in [("fresh_hits", ""), (&elsewhere, "fresh_hits."), ("", "fresh_hits.")] {
            let mut counted = Counted::of(freshet);
            let mut direct = connect(&server.target, schema);
            let mut reader = connect(freshet.target(), schema);
            for (name, text) in statements(prefix) {
                let expected = answer(&mut direct, &text);
                // MariaDB has it from 10.6 on.
                if name == "json as a table" && expected == Err(1064) {
                    continue;
                }
                assert!(expected.is_ok(), "{name}: {expected:?}");
                match counted.try_prime(&mut reader, &text) {
                    Some(got) => assert_eq!(got, expected, "{name} from {schema:?}"),
                    None => never.push(format!("{name} from {schema:?}: {text}")),
                }
            }
        }
        assert!(never.is_empty(), "{:?}: never from memory:\n{}", server.flavor, never.join("\n"));
    });
}

fn dial(target: &Target, user: &str, schema: &str, form: u32) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(user, schema, form).expect("it lets in");
    raw
}

/// Asks until an answer has come from memory. It must be what a forwarded one is, to the last byte.
fn hit_as_forwarded(freshet: &Freshet, client: &mut Raw, statement: &str) {
    if !freshet.is_there() {
        return;
    }
    let mut counted = Counted::of(freshet);
    let mut forwarded = None;
    eventually(&format!("a hit for {statement} as {:#x}", client.capabilities()), || {
        let before = counted.hits();
        let got = client.query(statement).expect("an answer");
        if counted.hits() == before {
            forwarded = Some(got);
            return None;
        }
        if let Some(forwarded) = &forwarded {
            assert_eq!(&got, forwarded, "{statement} as {:#x}", client.capabilities());
        }
        Some(())
    });
}

#[test]
fn a_view_of_another_schema_is_answered_from_memory_in_every_form() {
    with_each(|server, freshet| {
        let elsewhere = stage(server, "fresh_hits_views");
        for form in FORMS {
            for schema in [elsewhere.as_str(), ""] {
                let mut client = dial(freshet.target(), "fresh_hits_views", schema, form);
                let mut direct = dial(&server.target, "fresh_hits_views", schema, form);
                let view = "SELECT v FROM fresh_hits_views.plain WHERE id = 1";
                hit_as_forwarded(freshet, &mut client, view);
                if form & capability::DEPRECATE_EOF != 0 {
                    let direct = direct.query(view).expect("an answer");
                    assert_eq!(
                        client.query(view).expect("an answer"),
                        direct,
                        "as {form:#x} from {schema:?}"
                    );
                }
            }
        }
    });
}

/// What the server reports of a session that opens views of another schema makes nothing uncertain.
#[test]
fn a_session_that_opens_views_is_answered_from_memory_afterwards() {
    with_each(|server, freshet| {
        let elsewhere = stage(server, "fresh_hits_after");
        let opens = [
            "SELECT v FROM fresh_hits_after.plain WHERE id = 1",
            "SELECT NOW(), v FROM fresh_hits_after.plain WHERE id = 1",
            "SELECT v FROM fresh_hits_after.plain WHERE id = 1 FOR UPDATE",
            "DESCRIBE fresh_hits_after.plain",
            "SHOW CREATE VIEW fresh_hits_after.plain",
            "EXPLAIN SELECT v FROM fresh_hits_after.plain",
            "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'fresh_hits_after'",
            "SELECT COUNT(*) FROM information_schema.TABLES",
            "INSERT INTO fresh_hits_after.plain VALUES (9, 90)",
            "UPDATE fresh_hits_after.plain SET v = 91 WHERE id = 9",
            "DELETE FROM fresh_hits_after.plain WHERE id = 9",
            "INSERT INTO fresh_hits_after.t (id, v) SELECT id + 100, v FROM fresh_hits_after.plain",
        ];
        for form in FORMS {
            for way in opens {
                run(&mut connect(&server.target, "fresh_hits_after"), &["DELETE FROM t WHERE id > 8"]);
                let mut client = dial(freshet.target(), "fresh_hits_after", &elsewhere, form);
                for statement in ["SELECT 1", "BEGIN", way, "COMMIT", way, "SET @a = 1"] {
                    client.query(statement).expect("an answer");
                }
                println!("{way} as {form:#x}");
                hit_as_forwarded(freshet, &mut client, "SELECT w FROM fresh_hits_after.t WHERE id = 2");
            }
        }
    });
}
