//! Statements that ask for the warnings and errors of the statement before.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::statement::Statement;
use crate::token::TokenKind;

/// A longer text, in bytes, is none of these.
const TEXT_BYTES_MAX: usize = 256;

/// The question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsksWarnings {
    /// SHOW WARNINGS or SHOW ERRORS: the rows.
    Rows {
        /// Errors alone.
        errors: bool,
        /// The number of rows that are left out at the start.
        offset: usize,
        /// The most rows of the answer.
        count: usize,
    },
    /// SHOW COUNT(*) WARNINGS or ERRORS, or SELECT of the variable: how many there are.
    Count {
        /// Errors alone.
        errors: bool,
        /// The title of the column.
        title: String,
    },
}

/// Reads a text that asks for warnings or errors and for nothing else.
#[must_use]
pub fn asks_warnings(text: &[u8], modes: Modes) -> Option<AsksWarnings> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes)?;
    if !lexer.all(|token| token.is(b';')) {
        return None;
    }
    let mut cursor = statement.cursor();
    let asked = if cursor.word("SHOW") { show(&mut cursor) } else { select(&mut cursor) }?;
    cursor.at_end().then_some(asked)
}

/// Reads what follows SHOW.
fn show(cursor: &mut Cursor<'_>) -> Option<AsksWarnings> {
    let counts = cursor.word("COUNT");
    if counts && !(cursor.punct(b'(') && cursor.punct(b'*') && cursor.punct(b')')) {
        return None;
    }
    let errors = cursor.word("ERRORS");
    if !errors && !cursor.word("WARNINGS") {
        return None;
    }
    if counts {
        let title = if errors { "@@session.error_count" } else { "@@session.warning_count" };
        return Some(AsksWarnings::Count { errors, title: title.to_owned() });
    }
    if !cursor.word("LIMIT") {
        return Some(AsksWarnings::Rows { errors, offset: 0, count: usize::MAX });
    }
    let (mut offset, mut count) = (0, number(cursor)?);
    if cursor.punct(b',') {
        (offset, count) = (count, number(cursor)?);
    } else if cursor.word("OFFSET") {
        offset = number(cursor)?;
    }
    Some(AsksWarnings::Rows { errors, offset, count })
}

fn number(cursor: &mut Cursor<'_>) -> Option<usize> {
    let token = cursor.next().filter(|token| token.kind == TokenKind::Int)?;
    std::str::from_utf8(cursor.bytes(token)).ok()?.parse().ok()
}

/// Reads SELECT @@warning_count or @@error_count.
fn select(cursor: &mut Cursor<'_>) -> Option<AsksWarnings> {
    let mark = Some(()).filter(|()| cursor.word("SELECT")).and_then(|()| cursor.next())?;
    let is_scoped = cursor.at_any(&["LOCAL", "SESSION"]) && cursor.peek_at(1)?.is(b'.');
    if is_scoped {
        cursor.next();
        cursor.next();
    }
    let name = cursor.peek().filter(|_| mark.kind == TokenKind::AtAt)?;
    let errors = cursor.word("ERROR_COUNT");
    if !errors && !cursor.word("WARNING_COUNT") {
        return None;
    }
    let written = String::from_utf8(cursor.range_text(mark.start..name.end).to_vec()).ok()?;
    let title = if cursor.word("AS") { cursor.identifier()? } else { written };
    Some(AsksWarnings::Count { errors, title })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flavor;

    #[test]
    fn questions_about_warnings_are_read() {
        let asks = |text: &str| asks_warnings(text.as_bytes(), Modes::new(Flavor::MySql));
        let rows = |errors, offset, count| Some(AsksWarnings::Rows { errors, offset, count });
        let counts = |errors, title: &str| Some(AsksWarnings::Count { errors, title: title.to_owned() });
        for (text, expected) in [
            ("show warnings;", rows(false, 0, usize::MAX)),
            ("SHOW /* x */ ERRORS", rows(true, 0, usize::MAX)),
            ("SHOW WARNINGS LIMIT 3", rows(false, 0, 3)),
            ("SHOW ERRORS LIMIT 1, 3", rows(true, 1, 3)),
            ("SHOW WARNINGS LIMIT 3 OFFSET 1", rows(false, 1, 3)),
            ("SHOW COUNT(*) WARNINGS", counts(false, "@@session.warning_count")),
            ("SELECT @@error_count", counts(true, "@@error_count")),
            ("SELECT @@session.warning_count AS n", counts(false, "n")),
            ("SHOW WARNINGS LIMIT x", None),
            ("SHOW WARNINGS; SELECT 1", None),
            ("SELECT @@warning_count + 1", None),
            ("SELECT @warning_count", None),
            ("SELECT @@global.warning_count", None),
            ("SHOW COUNT(*)", None),
            ("SELECT 1", None),
        ] {
            assert_eq!(asks(text), expected, "{text}");
        }
    }
}
