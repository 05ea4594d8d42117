use proptest::prelude::*;

use super::*;

fn normal(query: &str) -> String {
    String::from_utf8(text(query.as_bytes(), &Options::default())).unwrap()
}

fn with(query: &str, change: fn(&mut Options)) -> String {
    let mut options = Options::default();
    change(&mut options);
    String::from_utf8(text(query.as_bytes(), &options)).unwrap()
}

/// Digest texts and their numbers as servers of ProxySQL have printed them.
const PRINTED: [(&str, u64); 11] = [
    ("SELECT c FROM sbtest1 WHERE id=?", 0xBF00_1A0C_1378_1C1D),
    ("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", 0x290B_92FD_7438_26DA),
    ("SELECT ?", 0x1C46_AE52_9DD5_A40E),
    ("select @@version_comment limit ?", 0x226C_D90D_52A2_BA0B),
    ("SELECT ? FROM t WHERE a IN (?,?,?,?)", 0xBA92_B05A_ED32_981F),
    ("SELECT ? FROM t WHERE a IN (?,?,?,...)", 0x4E09_0614_562B_7A35),
    ("INSERT INTO sbtest1 (id,k,c,pad) VALUES (?,?,?,NULL)", 0xB810_924E_5C3E_A7AF),
    ("SELECT * FROM test", 0xF32D_2EAE_D69C_6B36),
    ("select * from mysql.user", 0x40B7_5DE8_A4AD_05EE),
    ("select @@version", 0xAE77_E0F7_B80A_FC0B),
    ("SELECT * FROM catalogs WHERE status = ?", 0x2225_2F8A_75EC_B8C7),
];

#[test]
fn the_numbers_that_are_known() {
    for (text, number) in PRINTED {
        assert_eq!(Digest::of(text.as_bytes()), Digest(number), "{text}");
        // What is normal stays as it is.
        assert_eq!(normal(text), text);
    }
    assert_eq!(Digest(0x226C).to_string(), "0x000000000000226C");
}

#[test]
fn numbers_are_read_as_they_are_written() {
    assert_eq!("0xBF001A0C13781C1D".parse(), Ok(Digest(0xBF00_1A0C_1378_1C1D)));
    assert_eq!("bf001a0c13781c1d".parse(), Ok(Digest(0xBF00_1A0C_1378_1C1D)));
    for wrong in ["", "0x", "0xBF001A0C13781C1D0", "digest", "+1", "0x+1"] {
        assert_eq!(wrong.parse::<Digest>(), Err(NotADigest), "{wrong}");
    }
}

#[test]
fn values_comments_and_blanks() {
    let cases = [
        ("SELECT c FROM sbtest1 WHERE id=4711", "SELECT c FROM sbtest1 WHERE id=?"),
        (
            "SELECT c FROM sbtest1\n WHERE  id BETWEEN 1 AND 100 ; ",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        ),
        ("select @@version_comment limit 1", "select @@version_comment limit ?"),
        ("SELECT 1 FROM t WHERE a IN ( 1, 2 ,3 , 4 )", "SELECT ? FROM t WHERE a IN (?,?,?,?)"),
        ("SELECT 1 FROM t WHERE a IN (1,2,3,4,5)", "SELECT ? FROM t WHERE a IN (?,?,?,...)"),
        (
            "SELECT 1 FROM t WHERE a IN ('a','b','c','d','e','f','g')",
            "SELECT ? FROM t WHERE a IN (?,?,?,...)",
        ),
        (
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 2, 'it''s', NULL)",
            "INSERT INTO sbtest1 (id,k,c,pad) VALUES (?,?,?,NULL)",
        ),
        ("SELECT 'a\\'b', \"c\", 0x1F, 1.5e-3, .5", "SELECT ?,?,?,..."),
        ("SELECT /* one */ a -- two\n FROM t # three", "SELECT a FROM t"),
        ("SELECT /*!40001 SQL_NO_CACHE */ * FROM `t 1`", "SELECT SQL_NO_CACHE * FROM `t 1`"),
        ("SELECT a--1 FROM t", "SELECT a-? FROM t"),
        ("SELECT a + 1, b * 2, c-3, -4 FROM t", "SELECT a+?,b*?,c-?,? FROM t"),
        ("SELECT * FROM t WHERE a=-1 AND b = +2 OR c > -1.5", "SELECT * FROM t WHERE a=? AND b = ? OR c > ?"),
        ("SELECT COUNT( * ), t.* FROM t LIMIT 10, 20", "SELECT COUNT(*),t.* FROM t LIMIT ?,?"),
        ("SELECT 2x, x2, t1.c2 FROM t1", "SELECT 2x,x2,t1.c2 FROM t1"),
        ("SELECT 'never closed", "SELECT ?"),
        ("SELECT 1 /* never closed", "SELECT ?"),
        ("  \n;", ""),
    ];
    for (query, expected) in cases {
        assert_eq!(normal(query), expected, "{query}");
    }
}

#[test]
fn rows_are_grouped_after_their_values() {
    let rows = |count: usize| format!("INSERT INTO t VALUES {}", vec!["(1, 'a')"; count].join(", "));
    assert_eq!(normal(&rows(2)), "INSERT INTO t VALUES (?,?),(?,?)");
    let ten = ["(?,?)"; 10].join(",");
    assert_eq!(normal(&rows(12)), format!("INSERT INTO t VALUES {ten},..."));
    assert_eq!(normal(&rows(2000)), format!("INSERT INTO t VALUES {ten},..."));
    let three = |options: &mut Options| options.groups_grouping_limit = 1;
    assert_eq!(with(&rows(40), three), "INSERT INTO t VALUES (?,?),...");
    assert_eq!(
        with(&rows(3), |options| options.groups_grouping_limit = 0),
        "INSERT INTO t VALUES (?,?),(?,?),(?,?)"
    );
    assert_eq!(with("SELECT f(1),g(1),g(1),g(1)", three), "SELECT f(?),g(?),g(?),g(?)");
}

#[test]
fn the_options() {
    assert_eq!(with("SELECT c2 FROM sbtest12", |o| o.no_digits = true), "SELECT c? FROM sbtest?");
    assert_eq!(with("SELECT Null, 1", |o| o.replace_null = true), "SELECT ?,?");
    assert_eq!(with("SELECT A FROM `T`", |o| o.lowercase = true), "select a from `t`");
    assert_eq!(with("/* trace */ SELECT 1", |o| o.keep_comment = true), "/* trace */ SELECT ?");
    assert_eq!(with("SELECT 1,2,3,4,5", |o| o.grouping_limit = 1), "SELECT ?,...");
    assert_eq!(with("SELECT abcdef", |o| o.digest_length_max = 10), "SELECT abc");
    assert_eq!(with("SELECT abcdef", |o| o.query_length_max = 8), "SELECT a");
}

#[test]
fn a_long_list_takes_no_more_room_than_a_short_one() {
    let list = format!("SELECT 1 FROM t WHERE a IN ({}) AND b=1", vec!["1"; 15_000].join(","));
    assert_eq!(normal(&list), "SELECT ? FROM t WHERE a IN (?,?,?,...) AND b=?");
}

proptest! {
    #[test]
    fn any_bytes_are_a_statement(query in proptest::collection::vec(any::<u8>(), 0..300)) {
        let out = text(&query, &Options::default());
        prop_assert!(out.len() <= Options::default().digest_length_max);
    }

    #[test]
    fn what_looks_like_sql_never_panics_and_holds_no_string(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "SELECT", " ", "(", ")", ",", "1", "'secret'", "\"secret\"", "`n`", "/*!", "*/", "/*", "--", "-", "+", "*", "#",
                "\n", "'", "\\", "?", "0x1", "1e", ".", "5", "NULL", ";", "a1", "é", "=",
            ]),
            0..60,
        ),
        limits in (0_usize..4, 0_usize..4, 0_usize..64),
        flags in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let options = Options {
            grouping_limit: limits.0, groups_grouping_limit: limits.1, digest_length_max: limits.2,
            no_digits: flags.0, replace_null: flags.1, lowercase: flags.2, ..Options::default()
        };
        let out = text(pieces.concat().as_bytes(), &options);
        prop_assert!(out.len() <= options.digest_length_max);
    }
}
