//! Statements that read status variables of the session, and the columns of names and values in their rows.

use crate::cursor::Cursor;
use crate::lex::{Lexer, contains_ignoring_case};
use crate::modes::Modes;
use crate::statement::Statement;
use crate::string::unquote_string;
use crate::token::TokenKind;

/// A longer text, in bytes, does not count as a plain question for a status variable.
const TEXT_BYTES_MAX: usize = 512;
/// The columns of the tables.
const NAME: &str = "VARIABLE_NAME";
const VALUE: &str = "VARIABLE_VALUE";

/// Where the rows of a statement hold status variables of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The name.
    pub name: StatusName,
    /// The column of the value, from 0.
    pub value_at: usize,
}

/// Where the name of a status variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusName {
    /// In the column of this number, from 0.
    At(usize),
    /// In the statement: all rows are of this variable.
    Is(String),
}

/// Reads `text` if it is SHOW [SESSION] STATUS, or a plain SELECT of the table with the same rows.
pub fn session_status(text: &[u8], modes: Modes) -> Option<SessionStatus> {
    // All of these contain the word, so nearly no other text has to be read.
    if text.len() > TEXT_BYTES_MAX || !contains_ignoring_case(text, b"status") {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes).filter(|_| lexer.all(|token| token.is(b';')))?;
    let mut cursor = statement.cursor();
    if cursor.word("SHOW") {
        cursor.any(&["SESSION", "LOCAL"]);
        return cursor.word("STATUS").then_some(SessionStatus { name: StatusName::At(0), value_at: 1 });
    }
    if cursor.word("SELECT") { select(cursor) } else { None }
}

/// Whether `text` reads all of the table: `SELECT * FROM performance_schema.session_status`, with nothing behind it.
#[must_use]
pub fn lists_session_status(text: &[u8], modes: Modes) -> bool {
    if text.len() > TEXT_BYTES_MAX || !contains_ignoring_case(text, b"session_status") {
        return false;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes).filter(|_| lexer.all(|token| token.is(b';')));
    statement.is_some_and(|statement| {
        let mut cursor = statement.cursor();
        cursor.word("SELECT")
            && cursor.punct(b'*')
            && cursor.word("FROM")
            && is_session_status(&mut cursor)
            && cursor.at_end()
    })
}

/// Reads what follows SELECT: columns by their names, or all of them.
fn select(mut cursor: Cursor<'_>) -> Option<SessionStatus> {
    let mut columns = Vec::new();
    if cursor.punct(b'*') {
        columns.extend([NAME, VALUE]);
    } else {
        loop {
            let column = cursor.identifier()?;
            columns.push([NAME, VALUE].into_iter().find(|name| name.eq_ignore_ascii_case(&column))?);
            if !cursor.punct(b',') {
                break;
            }
        }
    }
    if !cursor.word("FROM") || !is_session_status(&mut cursor) {
        return None;
    }
    let at = |name| columns.iter().position(|column| *column == name);
    let name = match at(NAME) {
        Some(column) => StatusName::At(column),
        None => StatusName::Is(only_one(cursor)?),
    };
    Some(SessionStatus { name, value_at: at(VALUE)? })
}

/// Passes the table's name. MySQL has the table in one schema, MariaDB in the other.
fn is_session_status(cursor: &mut Cursor<'_>) -> bool {
    let Some(table) = cursor.table_name() else { return false };
    let schema = table.schema.unwrap_or_default();
    ["performance_schema", "information_schema"].iter().any(|name| schema.eq_ignore_ascii_case(name))
        && table.name.eq_ignore_ascii_case("session_status")
}

/// Reads WHERE VARIABLE_NAME = '…', and nothing else.
fn only_one(mut cursor: Cursor<'_>) -> Option<String> {
    if !cursor.word("WHERE") || !cursor.identifier()?.eq_ignore_ascii_case(NAME) || !cursor.punct(b'=') {
        return None;
    }
    let token = cursor.next().filter(|token| token.kind == TokenKind::Str && cursor.at_end())?;
    unquote_string(cursor.bytes(token), cursor.modes)
}

#[cfg(test)]
mod tests {
    use super::{SessionStatus, StatusName, lists_session_status, session_status};
    use crate::{Flavor, Modes};

    #[test]
    fn only_plain_questions_are_read() {
        let at = |name, value_at| Some(SessionStatus { name: StatusName::At(name), value_at });
        let is = |name: &str| Some(SessionStatus { name: StatusName::Is(name.to_owned()), value_at: 0 });
        for (text, expected) in [
            ("SHOW STATUS", at(0, 1)),
            ("show session status like 'Ssl%';", at(0, 1)),
            ("SHOW LOCAL STATUS WHERE Variable_name = 'Ssl_cipher'", at(0, 1)),
            ("SELECT * FROM performance_schema.session_status LIMIT 3", at(0, 1)),
            ("SELECT variable_value, VARIABLE_NAME FROM information_schema.SESSION_STATUS", at(1, 0)),
            (
                "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME='Ssl_cipher'",
                is("Ssl_cipher"),
            ),
            ("SHOW GLOBAL STATUS", None),
            ("SHOW STATUS; SELECT 1", None),
            ("SELECT VARIABLE_VALUE FROM performance_schema.session_status", None),
            (
                "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME='Ssl_cipher'",
                None,
            ),
            ("SELECT MAX(VARIABLE_VALUE) FROM performance_schema.session_status", None),
            ("SELECT 1", None),
        ] {
            assert_eq!(session_status(text.as_bytes(), Modes::new(Flavor::MySql)), expected, "{text}");
        }
    }

    #[test]
    fn all_of_the_table_is_told_from_a_part() {
        let lists = |text: &str| lists_session_status(text.as_bytes(), Modes::new(Flavor::MySql));
        assert!(lists("SELECT * FROM performance_schema.session_status"));
        assert!(lists("/* a */ select * from `information_schema`.SESSION_STATUS ;"));
        for other in [
            "SELECT * FROM performance_schema.session_status WHERE 1 -- session_status",
            "SELECT * FROM performance_schema.session_status LIMIT 1",
            "SELECT * FROM performance_schema.session_status a",
            "SELECT VARIABLE_NAME FROM performance_schema.session_status",
            "SELECT * FROM performance_schema.global_status",
            "SELECT * FROM session_status",
            "SHOW SESSION STATUS",
        ] {
            assert!(!lists(other), "{other}");
        }
    }
}
