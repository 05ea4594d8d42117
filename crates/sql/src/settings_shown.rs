//! SELECTs of literals and settings: drivers send them to look whether the server is there, and to learn how their session is set up.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::statement::Statement;
use crate::token::TokenKind;

/// A longer text, in bytes, is none of these.
const TEXT_BYTES_MAX: usize = 512;

/// The functions that tell facts of the session and of the server, with the parentheses that they need.
const FUNCTIONS: [&str; 4] = ["CURRENT_USER", "DATABASE", "SCHEMA", "VERSION"];

/// Whether a text is a SELECT without tables, each of whose columns is a literal, `VERSION()`, `DATABASE()`, `CURRENT_USER()` or a system
/// variable: of the session, or of the server without a value of the session's own. `is_known`: whether a variable of this name, in lower
/// case, may be one of them.
#[must_use]
pub fn shows_settings_alone(text: &[u8], modes: Modes, is_known: &dyn Fn(&str) -> bool) -> bool {
    text.len() <= TEXT_BYTES_MAX && reads(text, modes, is_known).is_some()
}

fn reads(text: &[u8], modes: Modes, is_known: &dyn Fn(&str) -> bool) -> Option<()> {
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes)?;
    lexer.all(|token| token.is(b';')).then_some(())?;
    let mut cursor = statement.cursor();
    cursor.word("SELECT").then_some(())?;
    loop {
        value(&mut cursor, is_known)?;
        if cursor.word("AS") {
            cursor.next().filter(|token| token.is_name() || token.kind == TokenKind::Str)?;
        }
        if !cursor.punct(b',') {
            break;
        }
    }
    if cursor.word("LIMIT") {
        cursor.next().filter(|token| token.kind == TokenKind::Int)?;
    }
    cursor.at_end().then_some(())
}

/// Passes the value of a column.
fn value(cursor: &mut Cursor<'_>, is_known: &dyn Fn(&str) -> bool) -> Option<()> {
    if cursor.any(&FUNCTIONS) {
        return (cursor.punct(b'(') && cursor.punct(b')')).then_some(());
    }
    let token = cursor.next()?;
    if token.kind != TokenKind::AtAt {
        return token.is_literal().then_some(());
    }
    let is_scoped = cursor.at_any(&["LOCAL", "SESSION"]) && cursor.peek_at(1)?.is(b'.');
    if is_scoped {
        cursor.next();
        cursor.next();
    }
    let name = cursor.next().filter(|token| token.kind == TokenKind::Word)?;
    let name = std::str::from_utf8(cursor.bytes(name)).ok()?.to_ascii_lowercase();
    is_known(&name).then_some(())
}

#[cfg(test)]
mod tests {
    use super::shows_settings_alone;
    use crate::{Flavor, Modes};

    #[test]
    fn what_drivers_ask_at_first_is_told_from_all_else() {
        let is_known = |name: &str| ["autocommit", "version", "version_comment"].contains(&name);
        let shows = |text: &str| shows_settings_alone(text.as_bytes(), Modes::new(Flavor::MySql), &is_known);
        for text in [
            "SELECT 1",
            "select 1;",
            "/* ping */ SELECT 1",
            "SELECT 'x' AS a, 1.5, 0x41",
            "SELECT VERSION(), DATABASE(), SCHEMA(), CURRENT_USER()",
            "select @@version_comment limit 1",
            "SELECT @@session.autocommit AS `a`, @@local.AutoCommit as 'b', @@version",
        ] {
            assert!(shows(text), "{text}");
        }
        for text in [
            "",
            "SELECT",
            "SELECT 1; SELECT 2",
            "SELECT 1 FROM t",
            "SELECT 1 INTO @a",
            "SELECT 1 + 1",
            "SELECT -1 LIMIT ?",
            "SELECT ?",
            "SELECT a",
            "SELECT @a",
            "SELECT VERSION",
            "SELECT NOW()",
            "SELECT USER()",
            "SELECT CONNECTION_ID()",
            "SELECT @@global.autocommit",
            "SELECT @@wait_timeout",
            "SELECT @@session.version.x",
            "SELECT DISTINCT 1",
            "SELECT SQL_NO_CACHE 1",
            "(SELECT 1)",
            "DO 1",
        ] {
            assert!(!shows(text), "{text}");
        }
    }
}
