//! Questions for the number of rows that the statement before found.

use crate::lex::{Lexer, contains_ignoring_case, contains_name};
use crate::modes::{Flavor, Modes};
use crate::statement::Statement;
use crate::token::TokenKind;
use crate::words::begins_as_select;

/// Whether a SELECT surely returns all rows that it finds, because its text has no LIMIT and nothing similar.
#[must_use]
pub fn returns_what_it_finds(text: &[u8]) -> bool {
    const CUTTING: [&[u8]; 4] = [b"limit", b"fetch", b"procedure", b"sql_calc_found_rows"];
    !CUTTING.iter().any(|word| contains_ignoring_case(text, word))
}

/// A text that is longer than this, in bytes, does not count as the plain question.
const TEXT_BYTES_MAX: usize = 256;

/// Whether `text` asks for FOUND_ROWS() and nothing else: `SELECT FOUND_ROWS()`, with or without an alias.
#[must_use]
pub fn asks_found_rows(text: &[u8], modes: Modes) -> bool {
    if text.len() > TEXT_BYTES_MAX || modes.other_syntax || !may_ask(text) || !names_found_rows(text) {
        return false;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes);
    let Some(statement) = statement.filter(|_| lexer.all(|token| token.is(b';'))) else { return false };
    let mut cursor = statement.cursor();
    if !cursor.word("SELECT") || !cursor.at_word("FOUND_ROWS") {
        return false;
    }
    let name = cursor.next();
    // With a blank before the parenthesis it is a function only in some modes.
    let is_call = cursor.peek().is_some_and(|next| name.is_some_and(|name| name.end == next.start));
    if !is_call || !cursor.punct(b'(') || !cursor.punct(b')') {
        return false;
    }
    let has_as = cursor.word("AS");
    match cursor.next() {
        None => !has_as,
        Some(alias) => (alias.is_name() || alias.kind == TokenKind::Str) && cursor.at_end(),
    }
}

/// Whether the first letter behind SELECT allows for the question. Most statements cost no other look.
fn may_ask(text: &[u8]) -> bool {
    const SELECT: &[u8; 7] = b"SELECT ";
    let Some((select, rest)) = text.split_first_chunk() else { return true };
    // Nearly all texts have the word in one of these two forms, which are compared at once.
    let is_select = select == SELECT || select == b"select " || select.eq_ignore_ascii_case(SELECT);
    let is_other = |first: &u8| first.is_ascii_alphanumeric() && first | 0x20 != b'f';
    !(is_select && rest.first().is_some_and(is_other))
}

/// Whether the name of FOUND_ROWS stands anywhere in a text.
#[must_use]
pub fn names_found_rows(text: &[u8]) -> bool {
    contains_name(text, b"found_rows")
}

/// Words of statements that set FOUND_ROWS(), on one server or the other, where the same statement without the word does not.
const SETTING: [&str; 10] =
    ["CALL", "DO", "EXECUTE", "INTO", "JOIN", "LIMIT", "ORDER", "SELECT", "TABLE", "WITH"];

/// First words of statements that leave FOUND_ROWS() unchanged, if they have none of those words.
const KEEPING: [&str; 16] = [
    "BEGIN",
    "COMMIT",
    "DEALLOCATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "INSERT",
    "LOCK",
    "PREPARE",
    "RELEASE",
    "REPLACE",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "START",
    "UNLOCK",
];

/// Whether a statement that ran no stored code certainly left FOUND_ROWS() unchanged, whether or not it succeeded. `false` where it may
/// have set it.
#[must_use]
pub fn keeps_found_rows(text: &[u8], modes: Modes) -> bool {
    if begins_as_select(text) {
        return false;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes);
    let is_alone = lexer.next().is_none();
    let is_read = |statement: &Statement<'_>| !statement.cut_short && !statement.facts.lost;
    let Some(statement) = statement.filter(|it| is_read(it) && is_alone && !modes.other_syntax) else {
        return false;
    };
    let mut cursor = statement.cursor();
    const KEPT_BY: [[&str; 2]; 4] =
        [["SHOW", "WARNINGS"], ["SHOW", "ERRORS"], ["SHOW", "CREATE"], ["DROP", "TEMPORARY"]];
    if KEPT_BY.iter().any(|words| cursor.words(words)) {
        return true;
    }
    if cursor.word("USE") {
        return true;
    }
    // MySQL counts the rows that an UPDATE finds.
    let is_quiet = modes.flavor == Flavor::MariaDb && cursor.any(&["DO", "UPDATE"]);
    if !is_quiet && !cursor.at_any(&KEEPING) {
        return false;
    }
    let writes = cursor.any(&["INSERT", "REPLACE"]);
    let sets = |token: &crate::token::Token| {
        SETTING.iter().filter(|word| !writes || **word != "INTO").any(|word| token.is_word(text, word))
    };
    !cursor.rest().iter().any(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_question_is_known_with_any_alias() {
        let asks = |text: &str| asks_found_rows(text.as_bytes(), Modes::new(Flavor::MySql));
        for text in [
            "SELECT FOUND_ROWS()",
            "select found_rows() ;",
            "SELECT /* all */ FOUND_ROWS( ) AS total",
            "SELECT FOUND_ROWS() `n`",
            "SELECT FOUND_ROWS() AS 'n'",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "SELECT FOUND_ROWS() + 1",
            "SELECT FOUND_ROWS(), 1",
            "SELECT FOUND_ROWS() FROM t",
            "SELECT FOUND_ROWS() AS",
            "SELECT FOUND_ROWS ()",
            "SELECT FOUND_ROWS(); SELECT 1",
            "SELECT FOUND_ROWS",
            "DO FOUND_ROWS()",
        ] {
            assert!(!asks(text), "{text}");
        }
    }

    #[test]
    fn what_keeps_the_rows_found_is_known() {
        let keeps = |text: &str| keeps_found_rows(text.as_bytes(), Modes::new(Flavor::MySql));
        let update = b"UPDATE t SET a = 1 WHERE id = 2";
        assert!(keeps_found_rows(update, Modes::new(Flavor::MariaDb)));
        for text in [
            "SET @a = 1",
            "INSERT INTO t VALUES (1)",
            "REPLACE t SET a = 1",
            "DELETE FROM t",
            "BEGIN",
            "USE other",
            "SHOW WARNINGS",
            "SHOW CREATE TABLE t",
            "DROP TEMPORARY TABLE IF EXISTS t",
            "PREPARE s FROM 'SELECT 1'",
        ] {
            assert!(keeps(text), "{text}");
        }
        for text in [
            "SELECT 1",
            "SET @a = (SELECT COUNT(*) FROM t)",
            "INSERT INTO t SELECT 1",
            "INSERT INTO t TABLE u",
            "UPDATE t SET a = 1",
            "DELETE t FROM t JOIN u",
            "DO 1",
            "CALL p()",
            "SHOW TABLES",
            "SET @a = 1; SELECT 2",
            "",
        ] {
            assert!(!keeps(text), "{text}");
        }
    }
}
