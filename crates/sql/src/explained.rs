//! `EXPLAIN FRESHET <statement>`.
//!
//! `EXPLAIN freshet id` is the servers' own: it describes the column `id` of a table `freshet`. The words in `BEGIN` cannot be a column's
//! name unless they are quoted.

use crate::lex::Lexer;
use crate::modes::Modes;

/// The first words of the statements that can be explained; all of them are reserved.
const BEGIN: &[&str] =
    &["CALL", "DELETE", "INSERT", "REPLACE", "SELECT", "SET", "SHOW", "TABLE", "UPDATE", "VALUES", "WITH"];

/// Returns the statement in `EXPLAIN FRESHET <statement>`, without a `;` at its end; `None` if the text is anything else.
#[must_use]
pub fn explained(text: &[u8], modes: Modes) -> Option<&[u8]> {
    let mut lexer = Lexer::new(text, modes);
    if !lexer.next()?.is_word(text, "EXPLAIN") || !lexer.next()?.is_word(text, "FRESHET") {
        return None;
    }
    let first = lexer.next()?;
    let begins = first.is(b'(') || BEGIN.iter().any(|word| first.is_word(text, word));
    let statement = text.get(first.start..).filter(|_| begins)?.trim_ascii_end();
    Some(statement.strip_suffix(b";").unwrap_or(statement).trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::explained;
    use crate::modes::{Flavor, Modes};

    #[test]
    fn only_statements_are_explained() {
        let of = |text: &str| {
            let found = explained(text.as_bytes(), Modes::new(Flavor::MySql))?;
            Some(String::from_utf8_lossy(found).into_owned())
        };
        for (text, statement) in [
            ("EXPLAIN FRESHET SELECT 1", Some("SELECT 1")),
            ("explain/**/freshet\nselect 1 ; ", Some("select 1")),
            ("-- a comment\nEXPLAIN FRESHET (SELECT 1)", Some("(SELECT 1)")),
            ("EXPLAIN FRESHET SELECT SQL_NO_CACHE 1;", Some("SELECT SQL_NO_CACHE 1")),
            ("EXPLAIN FRESHET WITH a AS (SELECT 1) SELECT 1", Some("WITH a AS (SELECT 1) SELECT 1")),
            ("EXPLAIN FRESHET UPDATE t SET a = 1", Some("UPDATE t SET a = 1")),
            ("EXPLAIN freshet", None),
            ("EXPLAIN freshet id", None),
            ("EXPLAIN freshet `select`", None),
            ("EXPLAIN SELECT 1", None),
            ("EXPLAIN FORMAT=JSON SELECT 1", None),
            ("SELECT 1", None),
            ("", None),
        ] {
            assert_eq!(of(text).as_deref(), statement, "{text}");
        }
    }
}
