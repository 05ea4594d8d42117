//! KILL in each form in which its id can be told: as a statement, among others, and as a text that is prepared.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::statement::{STATEMENTS_MAX, Statement};
use crate::token::TokenKind;

/// A longer text, in bytes, does not count as one of these.
const TEXT_BYTES_MAX: usize = 1024;

/// A KILL with a plain number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// KILL QUERY: the connection stays.
    pub query_only: bool,
    /// The thread id as the client knows it.
    pub id: u64,
    /// Where the number stands in the text.
    pub id_at: Range<usize>,
    /// Where the statement begins; it ends with the number.
    pub starts_at: usize,
}

/// A KILL that is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedKill {
    /// Its text.
    text: Vec<u8>,
    /// KILL QUERY: the connection stays.
    pub query_only: bool,
    /// The thread id as the client knows it; `None` where a marker stands for it.
    pub id: Option<u64>,
    id_at: Range<usize>,
}

impl PreparedKill {
    /// Returns the text with this number in the place of the id or the marker.
    pub fn with_id(&self, id: u32) -> Vec<u8> {
        let (before, after) = (&self.text[..self.id_at.start], &self.text[self.id_at.end..]);
        [before, id.to_string().as_bytes(), after].concat()
    }
}

/// Reads `text` if it is a KILL with a plain number or a marker, and nothing else.
pub fn prepared_kill(text: &[u8], modes: Modes) -> Option<PreparedKill> {
    let statement = alone(text, modes)?;
    let (query_only, mut cursor) = killed(&statement)?;
    let token = cursor.next().filter(|_| cursor.at_end())?;
    let id = match token.kind {
        TokenKind::Int => Some(number(cursor.bytes(token))?),
        TokenKind::Param => None,
        _ => return None,
    };
    Some(PreparedKill { text: text.to_vec(), query_only, id, id_at: token.start..token.end })
}

/// Returns the KILLs with a plain number among the statements of a text, in order.
pub fn kills(text: &[u8], modes: Modes) -> Vec<Kill> {
    let mut lexer = Lexer::new(text, modes);
    let statements = std::iter::from_fn(|| Statement::next(&mut lexer, text, modes));
    statements.take(STATEMENTS_MAX).filter_map(|statement| numbered(&statement)).collect()
}

/// Reads KILL … n.
pub(crate) fn numbered(statement: &Statement<'_>) -> Option<Kill> {
    let (query_only, mut cursor) = killed(statement)?;
    let token = cursor.next().filter(|token| token.kind == TokenKind::Int && cursor.at_end())?;
    let starts_at = statement.cursor().peek()?.start;
    Some(Kill { query_only, id: number(cursor.bytes(token))?, id_at: token.start..token.end, starts_at })
}

/// Returns where the user variable stands in a text that is KILL … @name, and nothing else.
pub fn kill_by_variable(text: &[u8], modes: Modes) -> Option<Range<usize>> {
    let statement = alone(text, modes)?;
    let (_, mut cursor) = killed(&statement)?;
    let mark = cursor.next().filter(|token| token.kind == TokenKind::At)?;
    let name = cursor.next().filter(|name| name.kind != TokenKind::Str && cursor.at_end())?;
    Some(mark.start..name.end)
}

/// Reads KILL [HARD | SOFT] [CONNECTION | QUERY]. Returns whether the connection stays, and a cursor behind that.
fn killed<'a>(statement: &'a Statement<'_>) -> Option<(bool, Cursor<'a>)> {
    let mut cursor = statement.cursor();
    if !cursor.word("KILL") {
        return None;
    }
    cursor.any(&["HARD", "SOFT"]);
    let query_only = cursor.word("QUERY");
    if !query_only {
        cursor.word("CONNECTION");
    }
    Some((query_only, cursor))
}

/// Returns a statement, if it is the only one of a short text.
fn alone(text: &[u8], modes: Modes) -> Option<Statement<'_>> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes)?;
    lexer.all(|token| token.is(b';')).then_some(statement)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
