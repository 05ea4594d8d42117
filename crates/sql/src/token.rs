//! Tokens: what a text is cut into.

use std::borrow::Cow;

/// The kind of a token. Words are not marked as keywords: that depends on their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword without quotes.
    Word,
    /// A name in backticks, or in double quotes under ANSI_QUOTES.
    Name,
    /// A string, with its N if it has one.
    Str,
    /// Digits only.
    Int,
    /// A number with a point or an exponent.
    Real,
    /// A hexadecimal or bit literal, or `\N`.
    Literal,
    /// A `?` marker.
    Param,
    /// `@` before a user variable or a host.
    At,
    /// `@@` before a system variable.
    AtAt,
    /// Any other character of its own.
    Punct(u8),
    /// An operator of two or three characters.
    Op,
    /// Bytes that cannot be read; nothing comes after it.
    Unknown,
}

/// A piece of a text: `text[start..end]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    /// Returns the token's bytes in the text from which it was cut.
    pub fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether the token is this single character.
    pub fn is(&self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }

    /// Whether the token is this word, in any case and without quotes; `word` is in upper case.
    pub fn is_word(&self, text: &[u8], word: &str) -> bool {
        self.kind == TokenKind::Word && self.of(text).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether the token can be an identifier: a word (reserved or not) or a quoted name.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Name)
    }

    /// Whether the token is a written value.
    pub fn is_literal(&self) -> bool {
        matches!(self.kind, TokenKind::Str | TokenKind::Int | TokenKind::Real | TokenKind::Literal)
    }
}

/// Returns the tokens without the `;` at their end.
pub(crate) fn without_end(tokens: Cow<'_, [Token]>) -> Cow<'_, [Token]> {
    let end = tokens.iter().rposition(|token| !token.is(b';')).map_or(0, |last| last + 1);
    match tokens {
        Cow::Borrowed(tokens) => Cow::Borrowed(&tokens[..end]),
        Cow::Owned(mut tokens) => {
            tokens.truncate(end);
            Cow::Owned(tokens)
        }
    }
}
