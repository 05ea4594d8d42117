//! Syntax of which a server may warn wherever it stands in a SELECT: the warning depends on the text alone.

use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;

/// One piece of such syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deprecated {
    /// SQL_CALC_FOUND_ROWS.
    CalcFoundRows,
    /// FOUND_ROWS().
    FoundRows,
    /// `&&`.
    And,
    /// `||`, where it means OR.
    Or,
    /// `!` before an expression.
    Not,
    /// BINARY before an expression.
    Binary,
}

impl Deprecated {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::CalcFoundRows, Self::FoundRows, Self::And, Self::Or, Self::Not, Self::Binary];

    /// Returns a statement that has this syntax once, and nothing else of which a server can warn.
    #[must_use]
    pub const fn sample(self) -> &'static str {
        match self {
            Self::CalcFoundRows => "SELECT SQL_CALC_FOUND_ROWS 1",
            Self::FoundRows => "SELECT FOUND_ROWS()",
            Self::And => "SELECT 1 && 1",
            Self::Or => "SELECT 1 || 1",
            Self::Not => "SELECT !1",
            Self::Binary => "SELECT BINARY 'a'",
        }
    }
}

/// How often each of [`Deprecated::ALL`] stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deprecations([u16; Deprecated::ALL.len()]);

impl Tokens<'_> {
    /// Returns the deprecated syntax in the text; `None` where it cannot be told.
    #[must_use]
    pub fn deprecations(&self) -> Option<Deprecations> {
        Deprecations::from(self.walk())
    }
}

impl Deprecations {
    /// Counts the deprecated syntax in `text`; `None` where it cannot be told.
    #[must_use]
    pub fn of(text: &[u8], modes: Modes) -> Option<Self> {
        Self::from(Lexer::new(text, modes))
    }

    fn from(lexer: Lexer<'_>) -> Option<Self> {
        let (text, modes) = (lexer.text(), lexer.modes());
        let mut found = Self::default();
        let mut before = None;
        let mut tokens = lexer.filter(|_| !modes.other_syntax).peekable();
        while let Some(token) = tokens.next() {
            if token.kind == TokenKind::Unknown {
                return None;
            }
            match syntax(text, modes, before, token, tokens.peek()) {
                Syntax::Deprecated(what) => {
                    let count = &mut found.0[what as usize];
                    *count = count.checked_add(1)?;
                }
                Syntax::Current => {}
                Syntax::Unclear => return None,
            }
            before = Some(token);
        }
        (!modes.other_syntax).then_some(found)
    }

    /// Whether the text has no such syntax.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of warnings from a server that warns of the syntax for which `warns` holds.
    #[must_use]
    pub fn warnings(&self, warns: impl Fn(Deprecated) -> bool) -> u16 {
        let counted = Deprecated::ALL.into_iter().filter(|what| warns(*what));
        counted.map(|what| self.0[what as usize]).fold(0, u16::saturating_add)
    }
}

/// The meaning of a token between its neighbours.
enum Syntax {
    Deprecated(Deprecated),
    /// No server warns of it.
    Current,
    /// It cannot be told which of the two it is.
    Unclear,
}

fn syntax(text: &[u8], modes: Modes, before: Option<Token>, token: Token, behind: Option<&Token>) -> Syntax {
    let is_part_of_name = before.is_some_and(|before| before.is(b'.') || before.kind == TokenKind::AtAt);
    let what = match token.kind {
        TokenKind::Op if token.of(text) == b"&&" => Deprecated::And,
        TokenKind::Op if token.of(text) == b"||" && !modes.pipes_as_concat => Deprecated::Or,
        TokenKind::Punct(b'!') => Deprecated::Not,
        TokenKind::Word if is_part_of_name => return Syntax::Current,
        TokenKind::Word if token.is_word(text, "SQL_CALC_FOUND_ROWS") => Deprecated::CalcFoundRows,
        TokenKind::Word if token.is_word(text, "FOUND_ROWS") && behind.is_some_and(|next| next.is(b'(')) => {
            Deprecated::FoundRows
        }
        TokenKind::Word if token.is_word(text, "BINARY") => match before {
            Some(before) if begins_expression(text, before) => Deprecated::Binary,
            _ => return Syntax::Unclear,
        },
        _ => return Syntax::Current,
    };
    Syntax::Deprecated(what)
}

/// Whether BINARY behind this token is an operator, and not a type or a character set.
fn begins_expression(text: &[u8], before: Token) -> bool {
    const WORDS: [&str; 13] = [
        "AND", "BETWEEN", "BY", "DISTINCT", "HAVING", "LIKE", "NOT", "ON", "OR", "SELECT", "THEN", "WHEN",
        "WHERE",
    ];
    let is_word = WORDS.iter().any(|word| before.is_word(text, word));
    let is_sign = matches!(before.kind, TokenKind::Op | TokenKind::Punct(b'(' | b',' | b'=' | b'<' | b'>'));
    is_word || is_sign
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flavor;

    fn warnings(text: &str) -> Option<u16> {
        let modes = Modes::new(Flavor::MySql);
        Tokens::cut(text.as_bytes(), modes).deprecations().map(|found| found.warnings(|_| true))
    }

    #[test]
    fn each_sample_has_its_own_once() {
        for what in Deprecated::ALL {
            let found =
                Tokens::cut(what.sample().as_bytes(), Modes::new(Flavor::MySql)).deprecations().unwrap();
            assert_eq!(found.warnings(|other| other == what), 1, "{what:?}");
            assert_eq!(found.warnings(|_| true), 1, "{what:?}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not_counted() {
        for (text, expected) in [
            ("SELECT '&& || !', `||`, \"!\" FROM t /* && */ WHERE a != 1 -- ||", Some(0)),
            ("SELECT t.SQL_CALC_FOUND_ROWS, t.binary FROM t", Some(0)),
            ("SELECT a && b || !c, BINARY d, (BINARY e) FROM t WHERE BINARY f = BINARY g", Some(7)),
            ("SELECT found_rows FROM t", Some(0)),
            ("SELECT CAST(a AS BINARY) FROM t", None),
            ("SELECT CONVERT(a USING binary) FROM t", None),
            ("SELECT a COLLATE binary FROM t", None),
            ("SELECT 'a", None),
        ] {
            assert_eq!(warnings(text), expected, "{text}");
        }
        let pipes = Modes { pipes_as_concat: true, ..Modes::new(Flavor::MySql) };
        assert!(Tokens::cut(b"SELECT a || b FROM t", pipes).deprecations().unwrap().are_none());
    }
}
