use super::*;
use crate::modes::Flavor;

const MYSQL: Modes = Modes::new(Flavor::MySql);
const MARIADB: Modes = Modes::new(Flavor::MariaDb);

/// Returns the tables of a cacheable statement, joined by blanks; or the reason in brackets.
fn tables(text: &str, modes: Modes) -> String {
    match analyse(text.as_bytes(), modes) {
        Analysis::Cacheable { tables, .. } => {
            let names = tables.iter().map(|table| match &table.schema {
                Some(schema) => format!("{schema}.{}", table.name),
                None => table.name.clone(),
            });
            let mut names: Vec<_> = names.collect();
            names.sort();
            names.join(" ")
        }
        Analysis::Not(reason) => format!("[{reason:?}]"),
    }
}

/// Real statements and the tables they read, on both servers.
pub(crate) const READ: &[(&str, &str)] = &[
    // sysbench
    ("SELECT c FROM sbtest1 WHERE id=42", "sbtest1"),
    ("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100", "sbtest1"),
    ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 100", "sbtest1"),
    ("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c", "sbtest1"),
    ("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c", "sbtest1"),
    ("SELECT c FROM sbtest1 WHERE id=?", "sbtest1"),
    // WordPress
    (
        "SELECT option_name, option_value FROM wp_options WHERE autoload IN ( 'yes', 'on', 'auto-on', 'auto' )",
        "wp_options",
    ),
    (
        "SELECT SQL_CALC_FOUND_ROWS  wp_posts.ID FROM wp_posts  WHERE 1=1  AND ((wp_posts.post_type = 'post' AND (wp_posts.post_status = 'publish' OR wp_posts.post_status = 'private')))  ORDER BY wp_posts.post_date DESC LIMIT 0, 10",
        "wp_posts",
    ),
    (
        "SELECT  t.*, tt.* FROM wp_terms AS t  INNER JOIN wp_term_taxonomy AS tt ON t.term_id = tt.term_id INNER JOIN wp_term_relationships AS tr ON tr.term_taxonomy_id = tt.term_taxonomy_id WHERE tt.taxonomy IN ('category', 'post_tag') AND tr.object_id IN (1, 2) ORDER BY t.name ASC",
        "wp_terms wp_term_taxonomy wp_term_relationships",
    ),
    (
        "SELECT post_id, meta_key, meta_value FROM wp_postmeta WHERE post_id IN (1,2,3) ORDER BY meta_id ASC",
        "wp_postmeta",
    ),
    (
        "SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM wp_posts  WHERE post_type = 'post' AND post_status = 'publish' GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY post_date DESC",
        "wp_posts",
    ),
    (
        "SELECT wp_posts.* FROM wp_posts LEFT JOIN wp_postmeta ON ( wp_posts.ID = wp_postmeta.post_id ) WHERE wp_posts.post_title LIKE '%a\\'b%' AND CAST(wp_postmeta.meta_value AS SIGNED) > '3' GROUP BY wp_posts.ID ORDER BY FIELD(wp_posts.ID,3,1,2)",
        "wp_posts wp_postmeta",
    ),
    // Magento
    (
        "SELECT `e`.*, IF(at_status.value_id > 0, at_status.value, at_status_default.value) AS `status` FROM `catalog_product_entity` AS `e` INNER JOIN `catalog_product_entity_int` AS `at_status_default` ON (`at_status_default`.`entity_id` = `e`.`entity_id`) AND (`at_status_default`.`store_id` = 0) LEFT JOIN `catalog_product_entity_int` AS `at_status` ON (`at_status`.`entity_id` = `e`.`entity_id`) WHERE (IF(at_status.value_id > 0, at_status.value, at_status_default.value) = '1')",
        "catalog_product_entity catalog_product_entity_int",
    ),
    (
        "SELECT `main_table`.`entity_id`, COUNT(DISTINCT `e`.`sku`) FROM `sales_order` AS `main_table` STRAIGHT_JOIN `x` AS `e` USE INDEX FOR JOIN (`a`, PRIMARY) IGNORE KEY (b) ON e.a <=> main_table.b",
        "sales_order x",
    ),
    // Drupal
    ("SELECT base.uid FROM users base", "users"),
    (
        "SELECT cid, data, created, expire, serialized, tags, checksum FROM cache_bootstrap WHERE cid IN ( 'a', 'b' ) ORDER BY cid",
        "cache_bootstrap",
    ),
    ("SELECT 1 AS expression FROM node n WHERE (nid = '1') FOR_NOTHING", "[NotParsed]"),
    // Rails and Django
    ("SELECT `users`.* FROM `users` WHERE `users`.`id` = 1 LIMIT 1", "users"),
    (
        "SELECT COUNT(*) AS `__count` FROM (SELECT DISTINCT `a`.`id` AS Col1 FROM `auth_user` `a`) subquery",
        "auth_user",
    ),
    (
        "SELECT (1) AS `a` FROM `django_session` WHERE (`django_session`.`expire_date` > '2020-01-01 00:00:00.123456' AND `django_session`.`session_key` = 'x') LIMIT 1",
        "django_session",
    ),
    (
        "SELECT `app_a`.`id`, CASE WHEN `app_a`.`x` IS NULL THEN 'n' WHEN NOT (`app_a`.`y` = 3) THEN 2 ELSE NULL END AS `c` FROM `app_a` WHERE EXISTS(SELECT 1 AS `a` FROM `app_b` U0 WHERE U0.`a_id` = (`app_a`.`id`) LIMIT 1) ORDER BY `app_a`.`id` ASC LIMIT 21 OFFSET 5",
        "app_a app_b",
    ),
    // phpBB and MediaWiki
    (
        "SELECT t.*, f.* FROM (topics t, forums f) LEFT JOIN posts p ON (p.tid = t.tid) WHERE f.a = t.b",
        "topics forums posts",
    ),
    (
        "SELECT /* Title::x */ page_id FROM `page` FORCE INDEX (PRIMARY) WHERE page_namespace = '0' LIMIT 1",
        "page",
    ),
    // Joins and table expressions
    ("SELECT * FROM a, b JOIN c USING (x), d NATURAL JOIN e NATURAL LEFT OUTER JOIN f", "a b c d e f"),
    ("SELECT * FROM a RIGHT JOIN (b CROSS JOIN c) ON a.x = b.x INNER JOIN d", "a b c d"),
    ("SELECT * FROM db1.a x, `db-2`.`b``c` AS y", "db1.a db-2.b`c"),
    ("SELECT * FROM t PARTITION (p0, p1) AS x WHERE x.a IN (SELECT b FROM u)", "t u"),
    ("SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) AS l", "a b"),
    (
        "SELECT * FROM {oj a LEFT OUTER JOIN b ON a.x = b.x} WHERE d > {d '2020-01-01'} AND {fn ABS(x)} = 1",
        "a b",
    ),
    (
        "SELECT * FROM a, JSON_TABLE(a.j, '$[*]' COLUMNS (id INT PATH '$.id', NESTED PATH '$.x[*]' COLUMNS (y VARCHAR(10) PATH '$' DEFAULT '1' ON EMPTY))) AS jt WHERE jt.id = 1",
        "a",
    ),
    (
        "SELECT 1 FROM a UNION ALL SELECT 2 FROM b UNION DISTINCT (SELECT 3 FROM c ORDER BY x LIMIT 1) ORDER BY 1",
        "b a c",
    ),
    ("(SELECT a FROM t1) UNION (SELECT b FROM t2) LIMIT 3", "t2 t1"),
    ("SELECT a FROM t1 EXCEPT SELECT a FROM t2 INTERSECT SELECT a FROM t3", "t2 t3 t1"),
    ("SELECT (SELECT MAX(x) FROM b) + 1 FROM a WHERE 1 = (SELECT 1 FROM DUAL)", "a b"),
    ("SELECT a.b.c FROM a.b", "a.b"),
    // Common table expressions
    ("WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN u", "t u"),
    (
        "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5), d AS (SELECT * FROM c) SELECT * FROM d, t",
        "t",
    ),
    ("WITH t AS (SELECT * FROM t) SELECT * FROM t", "t"),
    ("SELECT * FROM (WITH c AS (SELECT * FROM t) SELECT * FROM c) x, c", "t c"),
    ("WITH C AS (SELECT 1 FROM t) SELECT * FROM c", "t c"),
    // Expressions
    (
        "SELECT GROUP_CONCAT(DISTINCT a, b ORDER BY c DESC, d SEPARATOR '; ') FROM t GROUP BY e WITH ROLLUP HAVING COUNT(*) > 1",
        "t",
    ),
    (
        "SELECT d + INTERVAL 1 DAY, DATE_ADD(d, INTERVAL -1 MONTH), DATE_SUB(d, INTERVAL '1:1' MINUTE_SECOND), INTERVAL(5, 1, 10), day FROM t WHERE d < INTERVAL (a + b) HOUR + c",
        "t",
    ),
    (
        "SELECT MATCH (a, b) AGAINST ('+x -y' IN BOOLEAN MODE), MATCH(a) AGAINST('z' WITH QUERY EXPANSION) AS m FROM t WHERE MATCH(a) AGAINST ('x' IN NATURAL LANGUAGE MODE)",
        "t",
    ),
    (
        "SELECT a REGEXP 'x', a NOT RLIKE '^y', a DIV 2, a MOD 3, a % 4, a XOR b, a <=> NULL, NOT a, !a, ~a, -a, a || b, a && b, a << 1 | 2 & 3 ^ 4 FROM t",
        "t",
    ),
    (
        "SELECT a COLLATE utf8mb4_bin, CONVERT(a USING latin1), CONVERT(a, DECIMAL(10,2)), CAST(a AS CHAR(10) CHARACTER SET utf8mb4), BINARY a, CAST(b AS UNSIGNED INTEGER), _utf8mb4'x', _latin1 X'41', N'y', 0x1F, X'1f', b'01', 0b11, 1e5, .5, 1.5e-3, 'a' 'b' FROM t ORDER BY a COLLATE 'utf8mb4_general_ci' DESC",
        "t",
    ),
    (
        "SELECT EXTRACT(YEAR_MONTH FROM d), TRIM(BOTH 'x' FROM a), TRIM(LEADING FROM a), TRIM(a), SUBSTRING(a FROM 2 FOR 3), SUBSTR(a, 1), MID(a, 1, 2), POSITION('a' IN b), CHAR(77, 121 USING utf8mb4), WEIGHT_STRING(a AS CHAR(4)), TIMESTAMPDIFF(MONTH, a, b), TIMESTAMPADD(SQL_TSI_DAY, 1, d), GET_FORMAT(DATE, 'EUR') FROM t",
        "t",
    ),
    (
        "SELECT j->'$.a', j->>'$.b.c', JSON_EXTRACT(j, '$[0]'), JSON_CONTAINS(j, '1', '$') FROM t WHERE JSON_UNQUOTE(j->'$.a') = 'x' AND 3 MEMBER OF (j->'$.l')",
        "t",
    ),
    (
        "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC), SUM(x) OVER w, LAG(a, 1) OVER (ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM t WINDOW w AS (PARTITION BY a ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW), v AS (w)",
        "t",
    ),
    (
        "SELECT a FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND ROW(a, b) = (SELECT c, d FROM u) AND a > ALL (SELECT x FROM v) AND b = ANY (SELECT y FROM w) AND c <> SOME (SELECT 1 FROM z)",
        "t u v w z",
    ),
    (
        "SELECT a IS NULL, a IS NOT NULL, a IS TRUE, a IS NOT FALSE, a IS UNKNOWN, a NOT BETWEEN 1 AND 2, a NOT LIKE 'x' ESCAPE '|', a SOUNDS LIKE 'b', ISNULL(a), \\N FROM t",
        "t",
    ),
    (
        "SELECT DATE '2020-01-01', TIMESTAMP'2020-01-01 00:00:00', TIME '10:00', DATE(a), TIME(b), TIMESTAMP(c), date, time, timestamp FROM t",
        "t",
    ),
    (
        "SELECT UNIX_TIMESTAMP(d), FROM_UNIXTIME(x), DATE_FORMAT(d, '%Y'), IFNULL(a, b), COALESCE(a, 1), LEFT(a, 1), RIGHT(a, 2), REPLACE(a, 'x', 'y'), INSERT(a, 1, 2, 'x'), REPEAT(a, 3), MOD(a, 2), TRUNCATE(a, 1), VERSION() FROM t",
        "t",
    ),
    (
        "SELECT STRAIGHT_JOIN HIGH_PRIORITY SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT DISTINCTROW a FROM t",
        "t",
    ),
    ("SELECT a 'alias', b AS 'x', c \"y\", d AS z, e end, `f` status, 'lit' AS \"q\" FROM t ORDER BY 1", "t"),
    (
        "SELECT end, status, offset, name, value, type, level, user, date, text, comment, json, rank_, password, position, any, language FROM t",
        "t",
    ),
    ("SELECT t.select, t.from, t.key FROM t", "t"),
    ("SELECT a FROM t WHERE b = 'it''s' AND c = 'a\\'b' AND d = \"q\"\"r\" -- the end", "t"),
    ("SELECT a FROM t # comment\nWHERE b = 1 /* c */ AND c = 2;", "t"),
    ("SELECT /*! STRAIGHT_JOIN */ a FROM t /*!40000 , u */", "t u"),
    ("SELECT /*+ MAX_EXECUTION_TIME(100) NO_INDEX_MERGE(t) */ a FROM t", "t"),
    ("SELECT SQL_CACHE a FROM t", "t"),
    ("SELECT POINT(1, 2), a IN (1,2,3,4,5,6,7,8,9), b FROM t LIMIT 1, 2", "t"),
    ("SELECT a FROM t WHERE b = ? AND c IN (?, ?, ?) LIMIT ?, ?", "t"),
    ("SELECT * FROM t WHERE a LIKE CONCAT('%', ?, '%') LIMIT 10 OFFSET 20", "t"),
    ("SELECT a FROM t GROUP BY a DESC ORDER BY NULL", "t"),
    ("SELECT COUNT(*), COUNT(DISTINCT a, b), SUM(DISTINCT a), AVG(ALL b), MAX(a) FROM t", "t"),
    ("SELECT * FROM `a-b`.`c+d` WHERE `c+d`.`e` = 1", "a-b.c+d"),
    ("SELECT * FROM 1st WHERE 2nd = 3", "1st"),
    ("SELECT * FROM s.1st", "s.1st"),
    ("SELECT t.a AS b, @ FROM t", "[Variable]"),
    ("VALUES ROW(1)", "[NotSelect]"),
    ("SELECT * FROM (VALUES ROW(1, 2), ROW(3, 4)) v, t", "t"),
];

/// Statements that must not be cached, and why.
pub(crate) const NOT: &[(&str, &str)] = &[
    ("SELECT NOW() FROM t", "Volatile"),
    ("SELECT now() FROM t", "Volatile"),
    ("SELECT a FROM t WHERE d > CURDATE()", "Volatile"),
    ("SELECT a FROM t WHERE d > CURRENT_DATE", "Volatile"),
    ("SELECT a FROM t WHERE d > current_timestamp", "Volatile"),
    ("SELECT a FROM t WHERE d > LOCALTIME - 1", "Volatile"),
    ("SELECT CURRENT_USER FROM t", "Volatile"),
    ("SELECT UTC_TIMESTAMP FROM t", "Volatile"),
    ("SELECT UNIX_TIMESTAMP() FROM t", "Volatile"),
    ("SELECT {fn NOW()} FROM t", "Volatile"),
    ("SELECT RAND(3) FROM t", "Volatile"),
    ("SELECT a FROM t ORDER BY RAND()", "Volatile"),
    ("SELECT a FROM t GROUP BY UUID()", "Volatile"),
    ("SELECT a FROM t HAVING SLEEP(1)", "Volatile"),
    ("SELECT a FROM t JOIN u ON SYSDATE() = 1", "Volatile"),
    ("SELECT SUM(RAND()) OVER (ORDER BY a) FROM t", "Volatile"),
    ("SELECT SUM(a) OVER (ORDER BY RAND()) FROM t", "Volatile"),
    ("SELECT SUM(a) OVER w FROM t WINDOW w AS (PARTITION BY RAND())", "Volatile"),
    ("SELECT DATABASE(), a FROM t", "Volatile"),
    ("SELECT SCHEMA(), a FROM t", "Volatile"),
    ("SELECT USER(), a FROM t", "Volatile"),
    ("SELECT LAST_INSERT_ID(), a FROM t", "Volatile"),
    ("SELECT FOUND_ROWS() FROM t", "Volatile"),
    ("SELECT GET_LOCK('a', 1) FROM t", "Volatile"),
    ("SELECT IF(1, CASE WHEN a THEN CAST(NOW() AS DATE) END, 2) FROM t", "Volatile"),
    ("SELECT d + INTERVAL RAND() DAY FROM t", "Volatile"),
    ("SELECT GROUP_CONCAT(a ORDER BY RAND()) FROM t", "Volatile"),
    ("SELECT CONVERT(NOW() USING utf8mb4), CONVERT(NOW(), CHAR) FROM t", "Volatile"),
    ("SELECT EXTRACT(DAY FROM NOW()) FROM t", "Volatile"),
    ("SELECT TRIM(BOTH RAND() FROM a) FROM t", "Volatile"),
    ("SELECT MATCH(a) AGAINST (UUID() IN BOOLEAN MODE) FROM t", "Volatile"),
    ("SELECT * FROM a, JSON_TABLE(UUID(), '$' COLUMNS (x INT PATH '$')) j", "Volatile"),
    ("SELECT my_function(a) FROM t", "UnknownFunction"),
    ("SELECT db.f(a) FROM t", "UnknownFunction"),
    ("SELECT `abs`(a) FROM t", "UnknownFunction"),
    ("SELECT count (a) FROM t", "UnknownFunction"),
    ("SELECT MAX/**/(a) FROM t", "UnknownFunction"),
    ("SELECT POINT(1, 2, 3) FROM t", "Volatile"),
    ("SELECT JSON_TABLE(a, 'b') FROM t", "UnknownFunction"),
    ("SELECT JSON_TABLE(a, columns(b)) FROM t", "NotParsed"),
    ("SELECT a FROM f(1)", "NotParsed"),
    ("SELECT @a FROM t", "Variable"),
    ("SELECT @a := a FROM t", "Variable"),
    ("SELECT @@version, a FROM t", "Variable"),
    ("SELECT a FROM t FOR UPDATE", "Locks"),
    ("SELECT a FROM t FOR UPDATE SKIP LOCKED", "Locks"),
    ("SELECT a FROM t FOR SHARE OF t NOWAIT", "Locks"),
    ("SELECT a FROM t LOCK IN SHARE MODE", "Locks"),
    ("SELECT a FROM t WHERE b IN (SELECT c FROM u FOR UPDATE)", "Locks"),
    ("SELECT a INTO OUTFILE '/tmp/x' FROM t", "Into"),
    ("SELECT a FROM t INTO @x", "Into"),
    ("SELECT a FROM t INTO DUMPFILE 'x'", "Into"),
    ("SELECT a FROM t PROCEDURE ANALYSE()", "Procedure"),
    ("SELECT NEXT VALUE FOR s FROM t", "Sequence"),
    ("SELECT a FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01'", "SystemTime"),
    ("SELECT /*+ SET_VAR(sql_mode='') */ a FROM t", "HintSetsVariable"),
    ("SELECT 1", "NoTable"),
    ("SELECT 1 FROM DUAL", "NoTable"),
    ("WITH c AS (SELECT 1) SELECT * FROM c", "NoTable"),
    ("SELECT * FROM JSON_TABLE('[1]', '$' COLUMNS (x INT PATH '$')) j", "NoTable"),
    ("SELECT * FROM information_schema.tables", "SystemSchema"),
    ("SELECT * FROM `MySQL`.user", "SystemSchema"),
    ("SELECT * FROM t, sys.version", "SystemSchema"),
    ("SELECT a FROM t; SELECT 1", "SeveralStatements"),
    ("SELECT a FROM t /*!100500 x */", "NotReadable"),
    ("SELECT 'open FROM t", "NotReadable"),
    ("SELECT a FROM tä", "NameBeyondAscii"),
    ("UPDATE t SET a = 1", "NotSelect"),
    ("WITH c AS (SELECT 1 FROM t) DELETE FROM t", "NotSelect"),
    ("SHOW TABLES", "NotSelect"),
    ("", "NotSelect"),
    ("SELECT FROM WHERE", "NotParsed"),
    ("SELECT a FROM t LIMIT ROWS EXAMINED 5", "NotParsed"),
    ("SELECT a FROM t FETCH FIRST 1 ROWS ONLY", "NotParsed"),
    ("SELECT a FROM t JOIN TABLE u", "NotParsed"),
    ("SELECT a FROM (TABLE u) x", "NotParsed"),
    ("SELECT DEFAULT FROM t", "NotParsed"),
    ("SELECT a FROM t INTERSECT", "NotParsed"),
    ("SELECT * FROM intersect", "NotParsed"),
    ("SELECT * FROM t, except", "NotParsed"),
    ("SELECT * FROM t JOIN intersect", "NotParsed"),
    ("SELECT * FROM (intersect)", "NotParsed"),
];

/// Where the text is in UTF-8, a name beyond ASCII is itself, unless it may be that of a common table expression.
#[test]
fn names_beyond_ascii_are_read_where_their_character_set_is_known() {
    let utf8 = Modes { utf8_names: true, ..Modes::new(Flavor::MySql) };
    assert_reads("SELECT a FROM tä JOIN `ї$`.`t$ї`", "tä ї$.t$ї", utf8);
    assert_reads("SELECT a FROM `\u{1f600}`", "[NameBeyondAscii]", utf8);
    assert_reads("WITH c AS (SELECT 1) SELECT a FROM tä JOIN c", "[NameBeyondAscii]", utf8);
    assert_reads("SELECT a FROM (WITH c AS (SELECT 1) SELECT * FROM c) x JOIN tä", "tä", utf8);
}

/// What is a reserved word today may be an alias to MySQL 5.7, behind which there is a table.
#[test]
fn words_that_are_names_to_mysql_5_7_are_not_read_there() {
    let before = Modes { before_8: true, ..Modes::new(Flavor::MySql) };
    assert_reads("SELECT t.rank, `groups` FROM t", "t", before);
    for text in [
        "SELECT RANK() OVER (ORDER BY a) FROM t",
        "SELECT rank FROM t",
        "SELECT a FROM t EXCEPT SELECT a FROM u",
        "SELECT * FROM t intersect JOIN u",
    ] {
        assert_reads(text, "[NotParsed]", before);
    }
}

fn assert_reads(text: &str, expected: &str, modes: Modes) {
    let found = tables(text, modes);
    match expected.strip_prefix('[') {
        Some(reason) => {
            assert!(found.starts_with(&format!("[{}", reason.trim_end_matches(']'))), "{text}: {found}")
        }
        None => {
            let mut names: Vec<_> = expected.split(' ').collect();
            names.sort_unstable();
            assert_eq!(found, names.join(" "), "{text}");
        }
    }
}

#[test]
fn reads_what_applications_send() {
    for (text, expected) in READ {
        for modes in [MYSQL, MARIADB] {
            assert_reads(text, expected, modes);
        }
    }
}

#[test]
fn refuses_what_is_not_a_function_of_tables() {
    for (text, reason) in NOT {
        for modes in [MYSQL, MARIADB] {
            let found = tables(text, modes);
            assert!(found.starts_with(&format!("[{reason}")), "{text}: {found}");
        }
    }
}

#[test]
fn a_default_is_computed_anew_on_mariadb_alone() {
    for text in ["SELECT DEFAULT(a) FROM t", "SELECT a FROM t WHERE b > DEFAULT ( t.b )"] {
        assert!(tables(text, MARIADB).starts_with("[Volatile"), "{text}");
        assert_eq!(tables(text, MYSQL), "t", "{text}");
    }
}

fn soup() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let word = prop::sample::select(vec![
        "SELECT",
        "FROM",
        "t",
        "a",
        "b",
        "WHERE",
        "(",
        ")",
        ",",
        ".",
        "*",
        "1",
        "'x'",
        "\"y\"",
        "`z`",
        "@",
        "@@",
        ":=",
        ";",
        "JOIN",
        "ON",
        "UNION",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "INTERVAL",
        "DAY",
        "CAST",
        "AS",
        "CHAR",
        "CONVERT",
        "USING",
        "TRIM",
        "EXTRACT",
        "JSON_TABLE",
        "COLUMNS",
        "OVER",
        "WINDOW",
        "WITH",
        "RECURSIVE",
        "IN",
        "NOT",
        "-",
        "+",
        "=",
        "{",
        "}",
        "fn",
        "/*!",
        "*/",
        "/*",
        "-- ",
        "#",
        "\n",
        "?",
        "\\N",
        "0x1",
        "1e5",
        "GROUP_CONCAT",
        "SEPARATOR",
        "ORDER",
        "BY",
        "LIMIT",
        "OFFSET",
        "MATCH",
        "AGAINST",
        "COLLATE",
        "USE",
        "INDEX",
        "PARTITION",
        "VALUES",
        "ROW",
        "LATERAL",
        "INTO",
        "SET",
        "UPDATE",
        "DELETE",
        "INSERT",
        "CREATE",
        "TABLE",
        "ALTER",
        "DROP",
        "VIEW",
        "TRIGGER",
        "XA",
        "COMMIT",
        "SHOW",
        "VARIABLES",
        "LIKE",
        "'query_cache%'",
        "query_cache_size",
        "SQL_CACHE",
        "SQL_NO_CACHE",
        "KILL",
        "FOR",
        "STATEMENT",
        "RENAME",
        "TO",
        "/*+ SET_VAR(x=1) */",
        "é",
        "\u{a0}",
        "$$",
        "'",
        "`",
        "\"",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

fn all_modes() -> impl proptest::strategy::Strategy<Value = Modes> {
    use proptest::prelude::*;
    (any::<[bool; 9]>()).prop_map(
        |[
            maria,
            ansi_quotes,
            no_backslash_escapes,
            pipes_as_concat,
            ignore_space,
            other,
            before_8,
            utf8_names,
            multi_byte,
        ]| Modes {
            flavor: if maria { Flavor::MariaDb } else { Flavor::MySql },
            ansi_quotes,
            no_backslash_escapes,
            pipes_as_concat,
            ignore_space,
            empty_string_is_null: false,
            utf8_strings: ansi_quotes,
            is_shown: false,
            utf8_names,
            multi_byte: crate::MultiByte::of_name(if pipes_as_concat { "gbk" } else { "gb18030" })
                .filter(|_| multi_byte),
            other_syntax: other && maria,
            before_8: before_8 && !maria,
        },
    )
}

/// Everything the crate does with a text.
fn all(text: &[u8], modes: Modes) {
    let _ = crate::read(text, modes);
    let _ = crate::effects(text, modes);
    let _ = analyse(text, modes);
    let _ = view_named(text, modes);
    let _ = pure_expression(text, modes);
    let _ = crate::strip_hint(text, modes);
    let _ = crate::hint_error(text, modes);
    let _ = crate::key_text(text, modes, true);
    let _ = crate::binlog_effect(text, "s", modes.flavor, false);
    let shape = crate::shape(text, modes);
    assert_eq!(crate::shape(&shape.text, modes), shape, "{:?}", String::from_utf8_lossy(text));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn bears_any_soup(text in soup(), modes in all_modes()) {
        all(text.as_bytes(), modes);
    }

    #[test]
    fn bears_any_bytes(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), modes in all_modes()) {
        all(&text, modes);
    }

    #[test]
    fn blanks_and_comments_change_nothing(at in 0..READ.len(), gaps in proptest::collection::vec(0..5usize, 1..40)) {
        let (text, _) = READ[at];
        let mut lexer = crate::lex::Lexer::new(text.as_bytes(), MYSQL);
        let tokens: Vec<_> = lexer.by_ref().collect();
        // Where nothing stood between two tokens, nothing may: `count(` and `a.b` mean other things with a blank.
        let mut spaced = String::new();
        let mut last = 0;
        for (index, token) in tokens.iter().enumerate() {
            if token.start > last && index > 0 {
                spaced.push_str([" ", "\n\t", " /* x */ ", " -- y\n", " # z\n"][gaps[index % gaps.len()]]);
            }
            spaced.push_str(std::str::from_utf8(token.of(text.as_bytes())).unwrap_or("?"));
            last = token.end;
        }
        if !lexer.passed_comment() {
            proptest::prop_assert_eq!(tables(&spaced, MYSQL), tables(text, MYSQL));
        }
    }
}

#[test]
fn deep_and_long_texts_are_refused_in_time() {
    let started = std::time::Instant::now();
    let nested =
        |open: &str, close: &str| format!("SELECT {}1{} FROM t", open.repeat(3000), close.repeat(3000));
    for text in [
        nested("(", ")"),
        nested("IF(", ")"),
        nested("(SELECT ", ")"),
        nested("CASE WHEN ", " THEN 1 END"),
        nested("ABS(-(", "))"),
        format!("SELECT 1 FROM {}t{}", "(".repeat(3000), ")".repeat(3000)),
        format!("SELECT 1 FROM {}t{}", "(SELECT 1 FROM ".repeat(40), ") x".repeat(40)),
        format!("SELECT 1 FROM t WHERE {}", "a = 1 OR ".repeat(50_000)),
        format!("SELECT 1 FROM t{}", " UNION SELECT 1 FROM t".repeat(5000)),
        format!("SELECT 1 FROM {}", "a JOIN ".repeat(5000)),
        format!("SELECT 1 FROM t WHERE {}", "(a = (b = ".repeat(30)),
        format!("SELECT {} FROM t", "case when a then ".repeat(25)),
    ] {
        assert!(tables(&text, MYSQL).starts_with('['), "{}", &text[..60]);
    }
    let list = format!("SELECT 1 FROM t WHERE a IN ({}1)", "1, ".repeat(90_000));
    assert_eq!(tables(&list, MYSQL), "t");
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

/// Whatever word stands anywhere, no table behind it may be lost.
#[test]
fn no_word_hides_a_table() {
    let forms = [
        "SELECT 1 FROM t #, u",
        "SELECT 1 FROM t AS #, u",
        "SELECT 1 FROM t #, u WHERE 1",
        "SELECT 1 FROM # , t, u",
        "SELECT 1 FROM # JOIN t JOIN u",
        "SELECT 1 FROM t # JOIN u",
        "SELECT 1 FROM t JOIN u #",
        "SELECT 1 FROM (t #, u)",
        "SELECT # FROM t, u",
        "SELECT a # FROM t, u",
        "SELECT a, # FROM t, u",
        "SELECT # a FROM t, u",
        "SELECT #(a) FROM t, u",
        "SELECT #(a, b) FROM t, u",
        "SELECT f.#, 1 FROM t, u",
        "SELECT 1 FROM t WHERE # IN (SELECT 1 FROM u)",
        "SELECT 1 FROM t WHERE a # (SELECT 1 FROM u)",
        "SELECT 1 FROM t WHERE # (SELECT 1 FROM u)",
        "SELECT #((SELECT 1 FROM u)) FROM t",
        "SELECT #(1 FROM (SELECT 1 FROM u)) FROM t",
        "SELECT #(1, (SELECT 1 FROM u)) FROM t",
        "SELECT #(1 AS (SELECT 1 FROM u)) FROM t",
        "SELECT #(1 USING (SELECT 1 FROM u)) FROM t",
        "SELECT #(1 COLUMNS (SELECT 1 FROM u)) FROM t",
        "SELECT #(1 IN (SELECT 1 FROM u)) FROM t",
        "SELECT SUM(a) OVER (# (SELECT 1 FROM u)) FROM t",
        "SELECT 1 FROM t ORDER BY # , (SELECT 1 FROM u)",
        "SELECT 1 FROM t GROUP BY a # HAVING (SELECT 1 FROM u)",
        "SELECT INTERVAL 1 # + (SELECT 1 FROM u) FROM t",
        "SELECT INTERVAL a FROM # JOIN t, u",
        "SELECT a COLLATE # , (SELECT 1 FROM u) FROM t",
        "SELECT a # 'x' FROM t, u",
        "SELECT 1 FROM t # (a) JOIN u",
        "SELECT 1 FROM (SELECT 1 FROM u) # (a), t",
        "SELECT 1 FROM t UNION # SELECT 1 FROM u",
        "SELECT 1 FROM t # SELECT 1 FROM u",
        "WITH # AS (SELECT 1 FROM u) SELECT 1 FROM t, #",
        "WITH # (a) AS (SELECT 1 FROM u) SELECT 1 FROM t",
        "SELECT 1 FROM t LIMIT 1 # 2 UNION SELECT 1 FROM u",
    ];
    let own = [
        "ANY_VALUE",
        "SOUNDS",
        "MEMBER",
        "REGEXP",
        "RLIKE",
        "SEPARATOR",
        "DISTINCTROW",
        "XOR",
        "_utf8",
        "_x",
    ];
    let mut cacheable = 0;
    for word in sqlparser::keywords::ALL_KEYWORDS.iter().chain(&own) {
        for (form, modes) in forms.iter().flat_map(|form| [(form, MYSQL), (form, MARIADB)]) {
            let text = form.replace('#', word);
            if let Analysis::Cacheable { tables, .. } = analyse(text.as_bytes(), modes) {
                let named = |name: &str| tables.contains(&TableName::bare(name));
                assert!(named("t") && named("u"), "{text}: {tables:?}");
                cacheable += 1;
            }
        }
    }
    assert!(cacheable > 10_000, "{cacheable}");
}

#[test]
fn quotes_follow_the_modes() {
    let ansi = Modes { ansi_quotes: true, ..MYSQL };
    assert_eq!(tables("SELECT \"a\" FROM \"s\".\"t\"", ansi), "s.t");
    assert!(tables("SELECT a FROM \"t\"", MYSQL).starts_with("[NotParsed"));
    let plain = Modes { no_backslash_escapes: true, ..MYSQL };
    assert_eq!(tables("SELECT '\\' FROM t, u WHERE '' = ''", plain), "t u");
    assert_eq!(tables("SELECT '\\' FROM t WHERE ' = '' FROM x", MYSQL), "x");
    assert_eq!(
        tables("SELECT a FROM t WHERE b = 'x'", Modes { other_syntax: true, ..MYSQL }),
        "[OtherSyntax]"
    );
    assert_eq!(tables("SELECT count (a) FROM t", Modes { ignore_space: true, ..MYSQL }), "t");
}

#[test]
fn hints_are_told() {
    let hint = |text: &str| match analyse(text.as_bytes(), MARIADB) {
        Analysis::Cacheable { hint, .. } => hint,
        Analysis::Not(reason) => panic!("{text}: {reason}"),
    };
    assert_eq!(hint("SELECT a FROM t"), None);
    assert_eq!(hint("SELECT SQL_CACHE a FROM t"), Some(Hint::Cache));
    assert_eq!(hint("(SELECT DISTINCT SQL_NO_CACHE a FROM t)"), Some(Hint::NoCache));
    assert_eq!(hint("SELECT a, SQL_CACHE FROM t"), None);
}

#[test]
fn views_and_generated_columns() {
    let tables = view_named(b"select `s`.`t`.`a` AS `a` from `s`.`t` join `s`.`u` where 1", MYSQL);
    assert_eq!(tables, Ok((vec![TableName::of("s", "t"), TableName::of("s", "u")], 2)));
    assert_eq!(view_named(b"select 1 AS `1`", MYSQL), Ok((Vec::new(), 0)));
    assert!(view_named(b"select now() AS `now()`", MYSQL).is_err());
    assert!(pure_expression(b"(`a` + 1) * json_unquote(json_extract(`j`,_utf8mb4'$.x'))", MYSQL));
    assert!(pure_expression(b"cast(`a` as char charset utf8mb4)", MYSQL));
    assert!(!pure_expression(b"now() + `a`", MYSQL));
    assert!(!pure_expression(b"current_timestamp", MYSQL));
    assert!(!pure_expression(b"(select 1 from t)", MYSQL));
    assert!(!pure_expression(b"", MYSQL));
}

/// The parser calls itself for each join that follows another without ON.
#[test]
fn many_joins_do_not_exhaust_the_stack() {
    /// What a thread of the program has, and more, since calls take more of it without optimisation.
    const STACK_BYTES: usize = 16 << 20;
    let joins = [(" JOIN t", ""), (" STRAIGHT_JOIN t", ""), (", t", ")"), (" LEFT JOIN t", "")];
    let analysed = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        for (join, end) in joins {
            for count in [100, 129, 900, 5_000] {
                let open = if end.is_empty() { "" } else { "(" };
                let text = format!("SELECT 1 FROM {open}t{}{end}", join.repeat(count));
                let found = analyse(text.as_bytes(), Modes::new(Flavor::MySql));
                let is_refused = found == Analysis::Not(Reason::TooLarge);
                assert!(is_refused || count < 129, "{count} times {join}: {found:?}");
            }
        }
    });
    analysed.expect("a thread starts").join().expect("nothing is exhausted");
}

#[test]
fn a_moment_is_tables_time_and_chance_and_no_more() {
    let read = |text: &str, modes| match tables_at_a_moment(text.as_bytes(), modes) {
        Ok(tables) => tables.iter().map(|table| table.name.clone()).collect::<Vec<_>>().join(" "),
        Err(reason) => format!("[{reason:?}]"),
    };
    for modes in [MYSQL, MARIADB] {
        for (text, tables) in [
            ("SELECT 1", ""),
            ("SELECT NOW(), CURRENT_TIMESTAMP, current_date, UTC_TIME(), sysdate(6), UNIX_TIMESTAMP()", ""),
            ("SELECT rand(3), uuid(), UUID_SHORT(), DATABASE(), schema()", ""),
            ("SELECT v FROM t WHERE at > NOW() - INTERVAL 1 DAY ORDER BY RAND() LIMIT 3", "t"),
            ("SELECT (SELECT MAX(v) FROM u WHERE d = CURDATE()) FROM t", "t u"),
            ("SELECT v FROM t", "t"),
        ] {
            assert_eq!(read(text, modes), tables, "{text}");
        }
        for text in [
            "SELECT @a FROM t",
            "SELECT @@timestamp",
            "SELECT @a := v FROM t",
            "SELECT v INTO @a FROM t",
            "SELECT v FROM t FOR UPDATE",
            "SELECT v FROM t LOCK IN SHARE MODE",
            "SELECT LAST_INSERT_ID()",
            "SELECT LAST_INSERT_ID(v) FROM t",
            "SELECT FOUND_ROWS()",
            "SELECT ROW_COUNT()",
            "SELECT CONNECTION_ID()",
            "SELECT USER()",
            "SELECT CURRENT_USER",
            "SELECT GET_LOCK('a', 1)",
            "SELECT IS_FREE_LOCK('a')",
            "SELECT SLEEP(1)",
            "SELECT BENCHMARK(10, 1)",
            "SELECT LOAD_FILE('a')",
            "SELECT f(v) FROM t",
            "SELECT s.f(v) FROM t",
            "SELECT `now`()",
            "SELECT NOW (1)",
            "SELECT NEXTVAL(s)",
            "SELECT NEXT VALUE FOR s",
            "SELECT v FROM t PROCEDURE ANALYSE()",
            "SELECT * FROM information_schema.processlist",
            "SELECT v FROM t; SELECT 1",
            "UPDATE t SET v = NOW()",
            "SHOW TABLES",
        ] {
            assert!(read(text, modes).starts_with('['), "{text}");
        }
    }
    // Without the bargain, they are as they were.
    assert_eq!(tables("SELECT NOW() FROM t", MYSQL), "[Volatile(\"NOW\")]");
    assert_eq!(tables("SELECT CURRENT_DATE FROM t", MYSQL), "[Volatile(\"CURRENT_DATE\")]");
}
