use super::*;
use crate::effects::Writes;
use crate::lex::work;
use crate::modes::Flavor;

const MODES: Modes = Modes::new(Flavor::MySql);

#[test]
fn selects_are_told_from_the_rest() {
    let select = |hint| Request::Select { hint };
    for (text, expected) in [
        ("SELECT 1", select(None)),
        (" /* x */ (SELECT a FROM t) UNION SELECT 2;", select(None)),
        ("SELECT SQL_CACHE a FROM t", select(Some(Hint::Cache))),
        ("SELECT SQL_NO_CACHE a FROM t;;", select(Some(Hint::NoCache))),
        ("WITH c AS (SELECT 1) SELECT SQL_CACHE * FROM c", select(Some(Hint::Cache))),
        ("SELECT @@version, @@query_cache_size", select(None)),
        ("SELECT @@sql_mode", select(None)),
    ] {
        assert_eq!(read(text.as_bytes(), MODES), expected, "{text}");
    }
    for text in [
        "",
        "SELECT 1; SELECT 2",
        "WITH c AS (SELECT 1) DELETE FROM t",
        "SELECT 'x",
        "BEGIN",
        "VALUES ROW(1)",
    ] {
        assert!(matches!(read(text.as_bytes(), MODES), Request::Other(_)), "{text}");
    }
    let Request::Other(effects) = read(b"SELECT 1; DELETE FROM t", MODES) else { panic!() };
    assert_eq!(effects.writes, Writes::Tables(vec![crate::TableName::bare("t")]));
}

#[test]
fn kills_with_a_plain_number() {
    let kill = |query_only, id, id_at| Request::Kill(Kill { query_only, id, id_at, starts_at: 0 });
    assert_eq!(read(b"KILL 42", MODES), kill(false, 42, 5..7));
    assert_eq!(read(b"kill connection 7;", MODES), kill(false, 7, 16..17));
    assert_eq!(read(b"KILL HARD QUERY 18446744073709551615", MODES), kill(true, u64::MAX, 16..36));
    for text in
        ["KILL QUERY ID 5", "KILL USER a", "KILL 1 + 1", "KILL CONNECTION_ID()", "KILL 99999999999999999999"]
    {
        assert!(matches!(read(text.as_bytes(), MODES), Request::Other(_)), "{text}");
    }
}

/// No text is cut into tokens more than once to know what it is, but for a SELECT that is none.
#[test]
fn a_text_is_cut_once() {
    for text in [
        "INSERT INTO t VALUES (1)".to_owned() + &",(1)".repeat(10_000),
        "UPDATE t SET a=1;".repeat(1000),
        "SELECT 1 FROM t WHERE a IN (1".to_owned() + &",1".repeat(10_000) + ")",
        "SET autocommit=1".to_owned() + &",autocommit=1".repeat(10_000),
        "nothing that is known ".repeat(10_000),
    ] {
        let tokens = Lexer::new(text.as_bytes(), MODES).count();
        let (_, cut) = work::of(|| read(text.as_bytes(), MODES));
        assert!(cut < tokens + tokens / 10 + 10, "{cut} of {tokens}: {}", &text[..20]);
    }
}
