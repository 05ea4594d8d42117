//! Statements of ours among several in one text.

use std::ops::Range;

use super::parts::Ours;
use super::read;
use crate::cursor::Cursor;
use crate::lex::{Lexer, contains_ignoring_case};
use crate::modes::Modes;
use crate::statement::{STATEMENTS_MAX, Statement};

/// One of several statements in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Where it stands, without the semicolon.
    pub at: Range<usize>,
    /// The statement, if it sets, shows or empties something of ours.
    pub ours: Option<Ours>,
}

/// Returns the statements of a text, if there are several, one of them is ours, and each ends at its semicolon: in the body of a routine,
/// a semicolon is not the end.
#[must_use]
pub fn pieces(text: &[u8], modes: Modes) -> Option<Vec<Piece>> {
    if modes.other_syntax || !may_have_several(text) {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let mut pieces = Vec::new();
    while let Some(statement) = Statement::next(&mut lexer, text, modes) {
        if pieces.len() == STATEMENTS_MAX
            || statement.cut_short
            || statement.facts.lost
            || !ends_at_semicolon(statement.cursor())
        {
            return None;
        }
        let at = statement.head.first()?.start..statement.head.last()?.end;
        pieces.push(Piece { at, ours: read(&statement).filter(is_taken_over) });
    }
    let is_mixed = pieces.len() > 1 && pieces.iter().any(|piece| piece.ours.is_some());
    is_mixed.then_some(pieces)
}

/// Whether a text may have several statements, one of them ours; for most a glance shows that it has not.
fn may_have_several(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] = [
        b"query_cache",
        b"query cache",
        b"qcache",
        b"freshness",
        b"max_staleness",
        b"transaction_snapshot",
        b"fill_wait",
    ];
    let text = text.trim_ascii_end();
    let is_behind = |at: usize| at + 1 < text.len();
    memchr::memchr(b';', text).is_some_and(is_behind)
        && NAMES.iter().any(|name| contains_ignoring_case(text, name))
}

/// Whether a statement of ours is also carried out among others.
fn is_taken_over(ours: &Ours) -> bool {
    matches!(
        ours,
        Ours::SetVariables(_)
            | Ours::SetMixed { .. }
            | Ours::ShowVariables { .. }
            | Ours::ShowStatus { .. }
            | Ours::FlushQueryCache
            | Ours::ResetQueryCache
    )
}

/// Whether a statement cannot hold others.
fn ends_at_semicolon(mut cursor: Cursor<'_>) -> bool {
    const PLAIN: &[&str] = &[
        "ANALYZE",
        "CHECK",
        "COMMIT",
        "DELETE",
        "DESC",
        "DESCRIBE",
        "DO",
        "EXPLAIN",
        "FLUSH",
        "INSERT",
        "LOCK",
        "OPTIMIZE",
        "RELEASE",
        "RENAME",
        "REPLACE",
        "RESET",
        "ROLLBACK",
        "SAVEPOINT",
        "SELECT",
        "SHOW",
        "START",
        "TRUNCATE",
        "UNLOCK",
        "UPDATE",
        "USE",
        "VALUES",
        "WITH",
    ];
    const OF_DATA: &[&str] = &["DATABASE", "INDEX", "SCHEMA", "TABLE", "TEMPORARY", "UNIQUE"];
    while cursor.punct(b'(') {}
    if cursor.word("SET") {
        return !cursor.at_word("STATEMENT");
    }
    if cursor.word("BEGIN") {
        cursor.word("WORK");
        return cursor.at_end();
    }
    if cursor.any(&["ALTER", "CREATE", "DROP"]) {
        return cursor.at_any(OF_DATA);
    }
    cursor.at_any(PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Flavor;

    #[test]
    fn only_plain_statements_are_taken_apart() {
        let of = |text: &str| pieces(text.as_bytes(), Modes::new(Flavor::MariaDb));
        let text = "SELECT 'a;b' ; /*!40101 SET query_cache_type = 0 */;; SHOW STATUS LIKE 'Qcache%' ;RESET QUERY CACHE;";
        let found = of(text).expect("several");
        let pieces: Vec<(&str, bool)> =
            found.iter().map(|piece| (&text[piece.at.clone()], piece.ours.is_some())).collect();
        assert_eq!(
            pieces,
            [
                ("SELECT 'a;b'", false),
                ("SET query_cache_type = 0", true),
                ("SHOW STATUS LIKE 'Qcache%'", true),
                ("RESET QUERY CACHE", true),
            ]
        );
        for left in [
            "SET query_cache_type = 0",
            "SET query_cache_type = 0;",
            "SELECT 1; SET sort_buffer_size = 1",
            "SELECT 'query_cache_type'; SELECT 1",
            "CREATE PROCEDURE p() BEGIN SET query_cache_type = 0; SELECT 1; END",
            "SELECT 1; BEGIN NOT ATOMIC SET query_cache_type = 0; END",
            "IF 1 THEN SET query_cache_type = 0; END IF",
            "SET STATEMENT query_cache_type = 0 FOR SELECT 1; SET query_cache_type = 0",
            "PREPARE s FROM 'SELECT 1'; SET query_cache_type = 0",
        ] {
            assert_eq!(of(left), None, "{left}");
        }
    }
}
