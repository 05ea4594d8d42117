//! Statements that list the server's processes, and the columns of their rows.

use crate::cursor::Cursor;
use crate::lex::{Lexer, contains_ignoring_case};
use crate::modes::{Flavor, Modes};
use crate::statement::Statement;
use crate::token::TokenKind;

/// A longer text, in bytes, does not count as a plain question for the list.
const TEXT_BYTES_MAX: usize = 512;
/// The first columns of the table, and of SHOW PROCESSLIST.
const COLUMNS: [&str; 6] = ["ID", "USER", "HOST", "DB", "COMMAND", "TIME"];
/// The next columns of MariaDB's table.
const OF_MARIADB: [&str; 3] = ["STATE", "INFO", "TIME_MS"];

/// The columns of the rows of a list of processes, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessList {
    /// The number of the connection.
    pub id_at: usize,
    /// Where the client comes from, if that is shown. So with the others.
    pub host_at: Option<usize>,
    /// The command.
    pub command_at: Option<usize>,
    /// The time in seconds.
    pub time_at: Option<usize>,
    /// The time in milliseconds.
    pub time_ms_at: Option<usize>,
    /// It is the list of SHOW PROCESSLIST, with all columns and rows.
    pub is_whole: bool,
}

/// Reads `text` if it is SHOW [FULL] PROCESSLIST, or a plain SELECT of the table with the same rows: of `*`, or of named columns, the
/// number among them.
#[must_use]
pub fn process_list(text: &[u8], modes: Modes) -> Option<ProcessList> {
    if text.len() > TEXT_BYTES_MAX || !contains_ignoring_case(text, b"processlist") {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes).filter(|_| lexer.all(|token| token.is(b';')))?;
    let mut cursor = statement.cursor();
    if cursor.word("SHOW") {
        cursor.word("FULL");
        let is_list = cursor.word("PROCESSLIST") && cursor.at_end();
        let list = is_list.then_some(()).and_then(|()| places(&COLUMNS.map(str::to_owned)))?;
        return Some(ProcessList { is_whole: true, ..list });
    }
    if cursor.word("SELECT") { select(cursor, modes.flavor) } else { None }
}

fn select(mut cursor: Cursor<'_>, flavor: Flavor) -> Option<ProcessList> {
    let columns = if cursor.punct(b'*') {
        let more = if flavor == Flavor::MariaDb { &OF_MARIADB[..] } else { &[] };
        COLUMNS.iter().chain(more).map(|&name| name.to_owned()).collect()
    } else {
        named(&mut cursor)?
    };
    cursor.word("FROM").then_some(())?;
    let table = cursor.table_name()?;
    let is_table = table.schema.is_some_and(|schema| {
        schema.eq_ignore_ascii_case("information_schema") || schema.eq_ignore_ascii_case("performance_schema")
    }) && table.name.eq_ignore_ascii_case("processlist");
    is_table.then_some(()).and_then(|()| places(&columns))
}

fn named(cursor: &mut Cursor<'_>) -> Option<Vec<String>> {
    let mut columns = Vec::new();
    loop {
        let column = cursor.next().filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name))?;
        let name = std::str::from_utf8(cursor.bytes(column)).ok()?;
        columns.push(name.trim_matches('`').to_ascii_uppercase());
        if !cursor.punct(b',') {
            return Some(columns);
        }
    }
}

fn places(columns: &[String]) -> Option<ProcessList> {
    let at = |name: &str| columns.iter().position(|column| column == name);
    Some(ProcessList {
        id_at: at("ID")?,
        host_at: at("HOST"),
        command_at: at("COMMAND"),
        time_at: at("TIME"),
        time_ms_at: at("TIME_MS"),
        is_whole: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lists_are_read() {
        let at = |is_whole, id_at, host_at, command_at, time_at| {
            Some(ProcessList { id_at, host_at, command_at, time_at, time_ms_at: None, is_whole })
        };
        let all = |is_whole| at(is_whole, 0, Some(2), Some(4), Some(5));
        for (text, expected) in [
            ("SHOW PROCESSLIST", all(true)),
            ("show full processlist;", all(true)),
            ("SELECT * FROM information_schema.PROCESSLIST WHERE id = 1", all(false)),
            (
                "SELECT time, `id`, command FROM performance_schema.processlist",
                at(false, 1, None, Some(2), Some(0)),
            ),
            ("SELECT id FROM information_schema.processlist", at(false, 0, None, None, None)),
            ("SELECT COUNT(*) FROM information_schema.processlist", None),
            ("SELECT id, command, time + 1 FROM information_schema.processlist", None),
            ("SELECT id, command, time FROM processlist", None),
            ("SHOW PROCESSLIST; SELECT 1", None),
        ] {
            assert_eq!(process_list(text.as_bytes(), Modes::new(Flavor::MySql)), expected, "{text}");
        }
        for (text, expected) in [
            ("SELECT * FROM information_schema.processlist", Some(8)),
            ("SELECT time_ms, id, command, time FROM information_schema.processlist", Some(0)),
            ("SHOW PROCESSLIST", None),
        ] {
            let list = process_list(text.as_bytes(), Modes::new(Flavor::MariaDb)).unwrap();
            assert_eq!(list.time_ms_at, expected, "{text}");
        }
    }
}
