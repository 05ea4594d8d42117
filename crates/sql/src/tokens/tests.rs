use super::*;
use crate::lex::work;
use crate::{Flavor, ParsedSelect, Slotted};

const MODES: Modes = Modes::new(Flavor::MySql);

const TEXTS: &[&str] = &[
    "SELECT a, b FROM t WHERE id = 5 AND a IN (1, 2) ORDER BY b LIMIT 3",
    "SELECT SQL_NO_CACHE a /* what */ FROM t; ",
    "SELECT /*+ SET_VAR(sort_buffer_size = 16) */ a FROM t",
    "SELECT SQL_CALC_FOUND_ROWS a FROM t WHERE a && b",
    "WITH x AS (SELECT 1) SELECT * FROM x JOIN t",
    "UPDATE t SET a = 1 WHERE id = 7",
    "BEGIN NOT ATOMIC SELECT 1; END",
    "SELECT 1; DROP TABLE t",
    "SET query_cache_type = OFF",
    "KILL 5",
    "SELECT 'open",
    "",
];

#[test]
fn each_pass_says_what_the_reader_of_the_text_says() {
    for text in TEXTS {
        let bytes = text.as_bytes();
        let tokens = Tokens::cut(bytes, MODES);
        assert_eq!(tokens.request(), crate::read(bytes, MODES), "{text}");
        assert_eq!(tokens.effects(), crate::effects(bytes, MODES), "{text}");
        assert_eq!(tokens.shape(), crate::shape(bytes, MODES), "{text}");
        assert_eq!(tokens.analyse(), crate::analyse(bytes, MODES), "{text}");
        assert_eq!(tokens.row_write(), crate::row_write(bytes, MODES), "{text}");
        assert_eq!(tokens.has_hint(), crate::strip_hint(bytes, MODES).is_some(), "{text}");
        let (mut of_tokens, mut of_text) = (Slotted::default(), Slotted::default());
        assert_eq!(of_tokens.read_tokens(&tokens, None), of_text.read(bytes, MODES, None), "{text}");
        assert_eq!(of_tokens, of_text, "{text}");
    }
}

#[test]
fn a_new_statement_is_cut_once() {
    let text = TEXTS[0].as_bytes();
    let (tokens, cut) = work::of(|| Tokens::cut(text, MODES));
    assert_eq!(cut, tokens.all.len() + 1);
    let ((), cut) = work::of(|| {
        assert!(Slotted::default().read_tokens(&tokens, None));
        let _ = (tokens.request(), tokens.effects(), tokens.shape(), tokens.analyse());
        let _ =
            (tokens.deprecations(), tokens.has_hint(), ParsedSelect::of_tokens(&tokens, &|_| None).is_ok());
    });
    assert_eq!(cut, 0);
}

#[test]
fn memory_is_used_again() {
    let buffer = Tokens::cut(TEXTS[0].as_bytes(), MODES).into_buffer();
    let tokens = Tokens::cut_into(buffer, b"SELECT a FROM t", MODES);
    assert_eq!(tokens.shape().text, b"SELECT a FROM t");
}
