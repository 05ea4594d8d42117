//! Whether a result shows the rows that it was made of.

use super::source::Source;
use crate::modes::Modes;
use crate::token::Kind;

/// Words by which rows are merged, dropped or made, or that begin a query of their own.
const RESHAPES: [&str; 12] = [
    "DISTINCT",
    "DISTINCTROW",
    "EXCEPT",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "MINUS",
    "OVER",
    "PROCEDURE",
    "TABLE",
    "UNION",
    "VALUES",
];

/// Whether each row of the result of a SELECT from one table is one row of the table. False where it is not certain: any call
/// in the select list may be an aggregate.
pub fn shows_rows(text: &[u8], modes: Modes) -> bool {
    let Some(source) = Source::cut(text, modes) else { return false };
    let is_word = |at: usize, word: &str| source.token(at).is_some_and(|token| token.is_word(text, word));
    let all = 0..source.tokens.len();
    let mut selects = all.clone().filter(|at| is_word(*at, "SELECT"));
    let is_single = selects.next() == Some(0) && selects.next().is_none();
    let list = all.clone().take_while(|at| !is_word(*at, "FROM"));
    let calls = list.filter(|at| source.is(*at, b'(')).count();
    let reshapes = all
        .filter(|at| source.token(*at).is_some_and(|token| token.kind == Kind::Word))
        .any(|at| RESHAPES.iter().any(|word| is_word(at, word)));
    is_single && calls == 0 && !reshapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Flavor;

    fn shows(text: &str) -> bool {
        shows_rows(text.as_bytes(), Modes::new(Flavor::MySql))
    }

    #[test]
    fn a_plain_select_shows_its_rows() {
        for text in [
            "SELECT c FROM t WHERE id = 1",
            "select t.*, `group` from t where id in (1, 2) and length(c) > 3 order by c limit 5",
            "SELECT a + 1 AS x, 'y' FROM t FORCE INDEX (k)",
        ] {
            assert!(shows(text), "{text}");
        }
    }

    #[test]
    fn whatever_may_merge_or_make_rows_does_not() {
        for text in [
            "SELECT COUNT(*) FROM t WHERE id = 1",
            "SELECT UPPER(c) FROM t WHERE id = 1",
            "SELECT DISTINCT c FROM t",
            "SELECT c FROM t GROUP BY c",
            "SELECT c FROM t HAVING c > 1",
            "SELECT c FROM t UNION ALL SELECT 1",
            "SELECT c FROM t UNION VALUES ROW(1)",
            "SELECT c FROM t WHERE id = (SELECT 1)",
            "SELECT c FROM (SELECT c FROM t) s",
            "WITH s AS (SELECT c FROM t) SELECT c FROM s",
            "(SELECT c FROM t)",
            "SELECT c FROM t; SELECT 1",
            "SELECT 'open",
        ] {
            assert!(!shows(text), "{text}");
        }
    }
}
