use super::*;
use crate::analysis::Analysis;
use crate::analysis::tests::{NOT, READ};
use crate::modes::Flavor;

const BOTH: [Modes; 2] = [Modes::new(Flavor::MySql), Modes::new(Flavor::MariaDb)];

fn full(table: &TableName) -> String {
    table.schema.as_ref().map_or_else(|| table.name.clone(), |schema| format!("{schema}.{}", table.name))
}

fn names_of(tables: &[TableName]) -> String {
    tables.iter().map(full).collect::<Vec<_>>().join(" ")
}

/// Returns the names in a SELECT that the parser does not understand.
fn by_names(tokens: &Tokens<'_>) -> Result<ByNames, Reason> {
    match tokens.analyse() {
        Analysis::Not(reason @ Reason::NotParsed(_)) => tokens.by_names(reason),
        Analysis::Not(reason) => Err(reason),
        understood => panic!("{understood:?}"),
    }
}

#[test]
fn what_stands_like_a_table_is_one_and_whatever_has_a_name_may_be() {
    for modes in BOTH {
        for (text, read, names) in [
            ("SELECT a FROM t FETCH FIRST 1 ROWS ONLY", "t", "a t FIRST ROWS ONLY"),
            ("SELECT a FROM s.t JOIN TABLE u", "s.t u", "a s.t u"),
            ("SELECT x.a FROM (TABLE `u`) x", "u", "x.a u x"),
            ("SELECT a, s.t.b FROM t WHERE a IN (TABLE u)", "t u", "a s.t t u"),
            ("SELECT COUNT(*) FROM t WHERE (a, b) OVERLAPS (c, d)", "t", "t a b OVERLAPS c d"),
            (
                "WITH RECURSIVE c AS (SELECT 1 n UNION SELECT n + 1 FROM c) CYCLE n RESTRICT SELECT n FROM c JOIN t",
                "c t",
                "WITH c n CYCLE t",
            ),
        ] {
            let tokens = Tokens::cut(text.as_bytes(), modes);
            let by_names = by_names(&tokens).unwrap_or_else(|reason| panic!("{text}: {reason}"));
            assert_eq!(
                (names_of(&by_names.read).as_str(), names_of(&by_names.names).as_str()),
                (read, names)
            );
        }
    }
}

#[test]
fn what_is_in_doubt_is_refused() {
    for modes in BOTH {
        for text in [
            "SELECT NOW() FROM t FETCH FIRST 1 ROWS ONLY",
            "SELECT CURRENT_DATE FROM (TABLE t) x",
            "SELECT UNIX_TIMESTAMP() FROM (TABLE t) x",
            "SELECT RAND() FROM (TABLE t) x",
            "SELECT f(a) FROM (TABLE t) x",
            "SELECT s.f(a) FROM (TABLE t) x",
            "SELECT `f`(a) FROM (TABLE t) x",
            "SELECT f (a) FROM (TABLE t) x",
            "SELECT count (a) FROM (TABLE t) x",
            "SELECT @a FROM (TABLE t) x",
            "SELECT @@sql_mode FROM (TABLE t) x",
            "SELECT a FROM (TABLE t) x FOR UPDATE",
            "SELECT a FROM (TABLE t) x LOCK IN SHARE MODE",
            "SELECT a INTO b FROM (TABLE t) x",
            "SELECT FOUND_ROWS() FROM (TABLE t) x",
            "SELECT NEXTVAL(s) FROM (TABLE t) x",
            "SELECT NEXT VALUE FOR s FROM (TABLE t) x",
            "SELECT PREVIOUS VALUE FOR s FROM (TABLE t) x",
            "SELECT a FROM (TABLE t) x WHERE b = ?",
            "SELECT a FROM (TABLE mysql.user) x",
            "SELECT a FROM (TABLE information_schema.tables) x",
            "SELECT a FROM (TABLE t) x WHERE TIME '10:00' < b",
            "SELECT a FROM t FOR SYSTEM_TIME ALL FETCH FIRST 1 ROWS ONLY",
            "SELECT a FROM (TABLE tä) x",
            "SELECT a FROM (TABLE a.b.c.d) x",
            "SELECT 1 FETCH FIRST 1 ROWS ONLY",
            "SELECT a FROM (TABLE t) x; DELETE FROM t",
            "DELETE FROM t WHERE a IN (TABLE u)",
            "TABLE t",
        ] {
            let tokens = Tokens::cut(text.as_bytes(), modes);
            assert!(by_names(&tokens).is_err(), "{text}: {:?}", by_names(&tokens));
        }
        let many = (0..=NAMES_MAX).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ");
        let text = format!("SELECT {many} FROM (TABLE t) x");
        assert_eq!(by_names(&Tokens::cut(text.as_bytes(), modes)), Err(Reason::TooLarge));
    }
}

/// Of what the parser understands, the names hold every table, and what it refuses is refused.
#[test]
fn the_parser_never_finds_a_table_or_a_doubt_that_the_names_do_not_tell_of() {
    for modes in BOTH {
        let mut told = 0;
        for (text, tables) in READ.iter().filter(|(_, tables)| !tables.starts_with('[')) {
            let Ok(by_names) = read(&Tokens::cut(text.as_bytes(), modes)) else { continue };
            let names: Vec<String> = by_names.names.iter().map(full).collect();
            for table in tables.split(' ') {
                assert!(names.iter().any(|name| name == table), "{table} is not among {names:?}: {text}");
            }
            told += 1;
        }
        assert!(told * 2 > READ.len(), "{told} of {}", READ.len());
        for (text, reason) in NOT {
            let tokens = Tokens::cut(text.as_bytes(), modes);
            let is_refused = matches!(tokens.analyse(), Analysis::Not(why) if !matches!(why, Reason::NotParsed(_) | Reason::NoTable));
            assert!(!is_refused || read(&tokens).is_err(), "{text}: {reason}, {:?}", read(&tokens));
        }
    }
}
