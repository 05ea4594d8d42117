//! SELECT of our system variables and nothing else.

use super::parts::{Ours, SelectedVariable, is_ours, system_variable};
use crate::cursor::Cursor;
use crate::string::unquote_string;
use crate::token::TokenKind;

/// Reads what follows SELECT.
pub(super) fn read(mut cursor: Cursor<'_>) -> Option<Ours> {
    let mut all = vec![selected(&mut cursor)?];
    while cursor.punct(b',') {
        all.push(selected(&mut cursor)?);
    }
    if cursor.word("LIMIT") && cursor.peek()?.kind == TokenKind::Int && cursor.bytes(cursor.peek()?) != b"0" {
        cursor.next();
    }
    cursor.at_end().then_some(Ours::SelectVariables(all))
}

fn selected(cursor: &mut Cursor<'_>) -> Option<SelectedVariable> {
    let mark = cursor.next().filter(|token| token.kind == TokenKind::AtAt)?;
    let before = *cursor;
    let (scope, name) = system_variable(cursor)?;
    if !is_ours(name.as_bytes()) {
        return None;
    }
    let passed = before.rest().len() - cursor.rest().len();
    let last = before.rest().get(passed.checked_sub(1)?)?;
    let written = cursor.range_text(mark.start..last.end);
    let title = title(cursor, written)?;
    Some(SelectedVariable { scope, name, title })
}

/// Returns the column's name: the alias, or the expression as it was written; None if an alias cannot be read.
fn title(cursor: &mut Cursor<'_>, written: &[u8]) -> Option<String> {
    let explicit = cursor.word("AS");
    match cursor.peek() {
        Some(token) if token.kind == TokenKind::Str => {
            cursor.next();
            unquote_string(cursor.bytes(token), cursor.modes)
        }
        Some(token) if token.is_name() && !cursor.at_any(&["FROM", "LIMIT", "WHERE"]) => cursor.identifier(),
        _ if explicit => None,
        _ => String::from_utf8(written.to_vec()).ok(),
    }
}
