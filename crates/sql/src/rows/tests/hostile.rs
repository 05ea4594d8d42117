//! Statements that look as if they pinned more than they do.
use super::*;

fn condition(text: &str) -> String {
    let shown = reads(&format!("SELECT * FROM t WHERE {text}"));
    shown.strip_prefix("t[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(&shown).to_owned()
}

const CONDITIONS: &[(&str, &str)] = &[
    ("a = 1 OR b = 2", "a=1 | b=2"),
    ("a = 1 OR b = 2 AND c = 3", "a=1 | b=2 & c=3"),
    ("a = 1 AND b = 2 OR c = 3", "a=1 & b=2 | c=3"),
    ("a = 1 XOR b = 2", ""),
    ("a = 1 || b = 2", ""),
    ("a = 1 || b = 2 AND c = 3", ""),
    ("NOT a = 1", ""),
    ("NOT a = 1 AND b = 2", "b=2"),
    ("NOT (a = 1 AND b = 2)", ""),
    ("! a = 1", ""),
    ("NOT(a = 1)", ""),
    ("(a = 1) IS FALSE", ""),
    ("a = 1 IS TRUE", ""),
    ("a = 1 IS NOT TRUE AND b = 2", "b=2"),
    ("a IS NULL IS NULL", ""),
    ("a = b = 1", ""),
    ("a = (b = 1)", ""),
    ("a = 1 = 0", ""),
    ("1 = a = 0", ""),
    ("a = 1 COLLATE utf8mb4_bin", ""),
    ("a COLLATE utf8mb4_bin = 'x'", ""),
    ("BINARY a = 'x'", ""),
    ("a = BINARY 'x'", ""),
    ("a = _utf8mb4'x'", ""),
    ("a = N'x'", ""),
    ("a = 'x' 'y'", ""),
    ("a = 'x' \"y\" AND b = 1", "b=1"),
    ("a = 'x\\\\y'", ""),
    ("a = 'x\\'y'", "a='x'y'"),
    ("a = 'x\\ny'", ""),
    ("a = 'é'", ""),
    ("a = ''", "a=''"),
    ("a = 0x61", "a=X'61'"),
    ("a = x'61'", "a=X'61'"),
    ("a = b'1'", ""),
    ("a = TRUE", "a=1"),
    ("a = 1e3", ""),
    ("a = 1.5e0", ""),
    ("a = --1", ""),
    ("a = -'1'", ""),
    ("a = -?", ""),
    ("a = !1", ""),
    ("a = ~1", ""),
    ("a = DATE '2020-01-01'", ""),
    ("date = DATE'2020-01-01'", ""),
    ("a = 1 | 2", ""),
    ("a = 1 + 1", ""),
    ("a + 1 = 2", ""),
    ("1 = a + 1", ""),
    ("-a = 1", ""),
    ("a = 1 - b", ""),
    ("a = 1 AND b = 2 + c", "a=1"),
    ("a = ANY (SELECT 1)", ""),
    ("a = ALL (SELECT 1)", ""),
    ("a IN (1, (SELECT 2))", ""),
    ("a IN (SELECT 1)", ""),
    ("a IN (1, b)", ""),
    ("a IN (1, 2 + 3)", ""),
    ("a IN (1, 2) IS FALSE", ""),
    ("a NOT IN (1, 2)", ""),
    ("a IN ((1), 2)", ""),
    ("a <> 1", ""),
    ("a != 1", ""),
    ("a NOT LIKE 'x%'", ""),
    ("a LIKE '%'", "a~'%'"),
    ("a LIKE 'x'", "a~'x'"),
    ("a LIKE 'x%%'", "a~'x%%'"),
    ("a LIKE 'x_%'", "a~'x_%'"),
    ("a LIKE 'x\\%'", "a~X'785c25'"),
    ("a LIKE 'x\\_y%'", "a~X'785c5f7925'"),
    ("a LIKE 'x' 'y%'", ""),
    ("a LIKE 'x%' ESCAPE 'x'", ""),
    ("a LIKE ?", "a~?0"),
    ("a LIKE 'ß%'", ""),
    ("a LIKE 'x.%'", "a~'x.%'"),
    ("a LIKE 'x%' COLLATE utf8mb4_bin", ""),
    ("a BETWEEN 1 AND b", ""),
    ("a BETWEEN 1 AND 2 + 3 AND b = 1", "b=1"),
    ("a BETWEEN b AND 5 AND c = 1", "c=1"),
    ("a BETWEEN 1 AND 2 OR b = 1", "a:[1..2] | b=1"),
    ("a BETWEEN 1 AND b BETWEEN 2 AND 3 AND c = 4", "c=4"),
    ("a BETWEEN (1) AND 2", ""),
    ("a = CASE WHEN b = 1 AND c = 2 THEN 1 END", ""),
    ("CASE WHEN a = 1 AND b = 2 THEN 3 END AND c = 4", "c=4"),
    ("CASE a WHEN b = 1 AND c = 2 THEN 1 ELSE 0 END = 1 AND date = 1", "date=1"),
    ("CASE WHEN (end = 5) AND b = 1 AND c = 2 THEN 1 END", "-"),
    ("CASE WHEN t.end = 5 AND b = 1 THEN c = 2 END", ""),
    ("`end` = 5 AND `case` = 6 AND `order` = 7", "end=5 & case=6 & order=7"),
    ("t.end = 5 AND t.case = 6 AND t.order = 7", "end=5 & case=6 & order=7"),
    ("a > 1 + INTERVAL 1 DAY AND b = 2", "b=2"),
    ("a = 1 /* OR b = 2 */ AND c = 3", "a=1 & c=3"),
    ("a = 1 -- OR b = 2\n AND c = 3", "a=1 & c=3"),
    ("a = 1 # OR b = 2\n", "a=1"),
    ("a = 1 /*! OR b = 2 */", "a=1 | b=2"),
    ("a = 1 /*!50000 OR b = 2 */ AND c = 3", "a=1 | b=2 & c=3"),
    ("a/**/=/**/1", "a=1"),
    ("(a, b) = (1, 2)", "a=1 & b=2"),
    (
        "(a, b) IN ((1, 2), (3, 4)) AND c = 5",
        "a=1,3 & b=2,4 & a=1 & b=2 & c=5 | a=1,3 & b=2,4 & a=3 & b=4 & c=5",
    ),
    ("(a, b) IN ((1, 2))", "a=1 & b=2"),
    ("(a, b) IN ((-1, 2), (3, 4))", ""),
    ("(a, b) IN ((18446744073709551615, 2))", ""),
    ("(a, b) IN (('-1', 2))", ""),
    ("(a, b) IN ((-1.0, 2))", ""),
    ("(a, b) IN ((1, 2), ('x', 3))", ""),
    ("(a, b) IN ((1, 2), (1.5, 3))", ""),
    ("(a, b) IN ((1, ?))", ""),
    ("(a, b) IN ((1, 2), (1, 2, 3))", ""),
    ("(a, b) = (1, 2, 3)", ""),
    ("(a, b) <=> (1, 2)", ""),
    ("(a, b) NOT IN ((1, 2))", ""),
    ("NOT (a, b) = (1, 2)", ""),
    ("(a, b) = (1, 2) = c", ""),
    ("a = 1 OR b = 2 XOR c = 3", ""),
    ("a = 1 XOR b = 2 OR c = 3", ""),
    ("(a = 1 OR b = 2) IS NOT TRUE", ""),
    ("CASE WHEN a = 1 OR b = 2 THEN 1 END", ""),
    ("a = 1 OR b + 1 = 2", ""),
    ("a = 1 || b = 2", ""),
    ("a = 'é'", ""),
    ("ROW(a, b) = ROW(1, 2)", "a=1 & b=2"),
    ("(a) = 1", ""),
    ("a = (1)", ""),
    ("IF(a = 1 AND b = 2, 0, 1)", ""),
    ("COALESCE(a, 1) = 1 AND b = 2", "b=2"),
    ("a->'$.x' = 1 AND b = 2", "b=2"),
    ("a SOUNDS LIKE 'x' AND b = 1", "b=1"),
    ("a = 1 AND z = 2", "a=1"),
    ("u.a = 1", ""),
    ("`a b` = 1", ""),
    ("'a' = 'b'", ""),
    ("1 = 1", ""),
    ("? = ?", ""),
    ("a = 1 MEMBER OF ('[1]') AND b = 2", "b=2"),
    ("a = 1 HAVING b = 2", "a=1"),
    ("TRUE = 1", ""),
    ("current_date = 1", "-"),
    ("a = b AND b = c", ""),
    ("a <=> b AND a = 1", "a=1"),
    ("a < b AND b < 3", "b:..3)"),
    ("a IS NULL AND a = b", "a:null"),
    ("a LIKE 'x%' AND a = b", "a~'x%'"),
    ("a = 1 AND MATCH(b) AGAINST ('x')", "-"),
];

#[test]
fn conditions() {
    check(CONDITIONS, condition);
}

const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT *, MATCH(b) AGAINST ('x') FROM t WHERE a = 1", "-"),
    ("SELECT * FROM t WHERE a = 1 FOR UPDATE", "-"),
    ("SELECT * FROM t WHERE a = 1 INTO @x", "-"),
    ("SELECT * FROM t WHERE a = @x", "-"),
    ("SELECT * FROM t WHERE a = 1; SELECT 1", "-"),
    ("SELECT * FROM t WHERE a = 1;", "t[a=1]"),
    ("SELECT * FROM {oj t LEFT JOIN u ON t.id = u.tid} WHERE t.a = 1", "-"),
    ("SELECT * FROM t WHERE a = {d '2020-01-01'}", "-"),
    ("SELECT * FROM t LEFT JOIN u ON t.id = u.tid ON 1 = 1 WHERE a = 1", "-"),
    ("SELECT * FROM t, DUAL WHERE a = 1", "t[a=1]"),
    ("SELECT * FROM t `é` WHERE a = 1", "-"),
    ("SELECT * FROM t WHERE a = 1 LIMIT 10 ROWS EXAMINED 5", "-"),
    ("SELECT * FROM t JOIN u ON t.id = u.tid AND a = 1 OR x = 2 WHERE b = 3", "t[b=3] u[]"),
    ("SELECT a = 1 AND b = 2 FROM t", "t[]"),
    ("SELECT a FROM t GROUP BY a HAVING a = 1", "t[]"),
    ("SELECT IF(a = 1, b, 2) FROM t WHERE TRIM(LEADING 'x' FROM b) = 'y' AND a = 2", "t[a=2]"),
    ("SELECT EXTRACT(YEAR FROM b) FROM t WHERE a = 2", "t[a=2]"),
    ("SELECT GROUP_CONCAT(b ORDER BY c SEPARATOR ',') FROM t WHERE a = 2", "t[a=2]"),
    ("SELECT ROW_NUMBER() OVER (PARTITION BY b ORDER BY c) FROM t WHERE a = 2", "t[a=2]"),
    ("SELECT SUM(b) OVER w FROM t WHERE a = 2 WINDOW w AS (ORDER BY c)", "t[a=2]"),
    ("SELECT 'FROM t WHERE a = 1' FROM t WHERE b = 'x OR 1'", "t[b='x OR 1']"),
    ("SELECT `from` FROM t WHERE t.`where` = 1 AND a = 1", "t[a=1]"),
    ("SELECT t.from FROM t WHERE a = 1", "t[a=1]"),
    ("SELECT a FROM t AS `where` WHERE `where`.a = 1", "t[a=1]"),
    ("SELECT a FROM t LEFT JOIN u ON LEFT(x, 1) = 'a' AND y = 1", "t[] u[y=1]"),
    ("SELECT * FROM t, JSON_TABLE(t.b, '$[*]' COLUMNS (x INT PATH '$')) j WHERE a = 1", "-"),
    ("SELECT * FROM (SELECT 1) d, t WHERE a = 1", "t[a=1]"),
    ("SELECT * FROM t a JOIN t b ON a.id = b.id WHERE id = 1 AND a.a = 2", "t[a=2] t[]"),
];

#[test]
fn statements() {
    check(STATEMENTS, reads);
}

#[test]
fn modes_decide() {
    let ansi = Modes { ansi_quotes: true, ..MYSQL };
    assert_eq!(reads_in("SELECT * FROM t WHERE \"a\" = 1 AND b = \"c\"", ansi), "t[a=1]");
    assert_eq!(reads_in("SELECT * FROM t WHERE \"a\" = 1 AND b = \"c\"", MYSQL), "t[b='c']");
    let pipes = Modes { pipes_as_concat: true, ..MYSQL };
    assert_eq!(reads_in("SELECT * FROM t WHERE a = 1 || b AND c = 1", pipes), "t[]");
    let other = Modes { other_syntax: true, ..MYSQL };
    assert_eq!(reads_in("SELECT * FROM t WHERE a = 1", other), "-");
    assert_eq!(row_write(b"DELETE FROM t WHERE a = 1", other), None);
    let empty = Modes { empty_string_is_null: true, ..MARIADB };
    assert_eq!(reads_in("SELECT * FROM t WHERE a <=> '' AND b = 1 AND c = 'x'", empty), "t[b=1 & c='x']");
    assert_eq!(reads_in("SELECT * FROM t WHERE a IN ('', 'x')", empty), "t[]");
    let write = row_write(b"UPDATE t SET a = '' WHERE b <=> ''", empty);
    let other = vec![("a".to_owned(), Datum::Other)];
    assert_eq!(
        write,
        Some(RowWrite::Update { table: TableName::bare("t"), assigned: other, pins: Vec::new() })
    );
    let plain = Modes { no_backslash_escapes: true, ..MYSQL };
    assert_eq!(reads_in("SELECT * FROM t WHERE a = 'x\\' AND b = 1", plain), "t[b=1]");
}

#[test]
fn long_statements_are_bounded() {
    let list = |count: usize| vec!["1"; count].join(",");
    assert_ne!(condition(&format!("a IN ({})", list(256))), "");
    assert_eq!(condition(&format!("a IN ({})", list(257))), "");
    let deep = format!("{}a = 1{}", "(".repeat(100), ")".repeat(100));
    assert!(matches!(condition(&deep).as_str(), "" | "-"));
    let source = format!("SELECT 1 FROM t WHERE {}", vec!["a = 1"; 2000].join(" AND "));
    let tables = [TableName::bare("t")];
    let read = row_reads_of(source.as_bytes(), MYSQL, &tables, &columns_of).unwrap();
    assert!(read.occurrences[0].alternatives[0].len() <= super::super::pins::PINS_MAX);
    let nested = format!("{}SELECT 1 FROM t{}", "SELECT * FROM (".repeat(60), ") d".repeat(60));
    assert!(row_reads_of(nested.as_bytes(), MYSQL, &tables, &columns_of).is_none());
}

#[test]
fn other_tables_than_analysed_are_refused() {
    let text = b"SELECT * FROM t WHERE a = 1";
    assert!(row_reads_of(text, MYSQL, &[TableName::bare("t")], &columns_of).is_some());
    assert!(row_reads_of(text, MYSQL, &[TableName::bare("u")], &columns_of).is_none());
    assert!(row_reads_of(text, MYSQL, &[], &columns_of).is_none());
    let both = [TableName::bare("t"), TableName::bare("u")];
    assert!(row_reads_of(text, MYSQL, &both, &columns_of).is_none());
}

/// How many markers stand before each is found without going through all of them again.
#[test]
fn markers_cost_few_steps_each_and_are_numbered_as_they_stand() {
    let insert = |markers: usize| {
        let rows = vec![format!("({})", vec!["?"; 16].join(",")); markers / 16].join(",");
        format!("INSERT INTO t VALUES {rows}")
    };
    let steps_of = |markers: usize| {
        let text = insert(markers);
        let (write, steps) = source::work::of(|| row_write(text.as_bytes(), MYSQL));
        let Some(RowWrite::Insert { rows, .. }) = write else { panic!("{markers} markers are not read") };
        let found: Vec<Datum> = rows.concat();
        let expected: Vec<Datum> = (0..markers as u16).map(Datum::Param).collect();
        assert_eq!(found, expected);
        steps
    };
    for markers in [16, 256, 4096] {
        let steps = steps_of(markers);
        assert!(steps <= markers * (2 + markers.ilog2() as usize), "{steps} steps for {markers} markers");
    }
}

/// The numbers of markers are those that a count of all tokens before each gives.
#[test]
fn markers_are_counted_as_one_by_one() {
    let text = "SELECT ? FROM t WHERE a IN (?, 1, '?', `?`, ?) AND b = ? -- ?";
    let source = Source::cut(text.as_bytes(), MYSQL).unwrap();
    for at in 0..=source.tokens.len() + 1 {
        let counted =
            source.tokens.iter().take(at).filter(|token| token.kind == crate::token::TokenKind::Param);
        assert_eq!(source.params_before(at), counted.count(), "{at}");
    }
}
