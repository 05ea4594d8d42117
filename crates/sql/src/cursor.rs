//! A walk over the tokens of a statement.

use std::ops::Range;

use crate::TableName;
use crate::modes::Modes;
use crate::reserved::is_reserved;
use crate::token::{Token, TokenKind};

/// Walks tokens. Every step may find nothing; no step fails.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub text: &'a [u8],
    pub modes: Modes,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8], modes: Modes, tokens: &'a [Token]) -> Self {
        Cursor { text, modes, tokens, at: 0 }
    }

    pub fn peek(&self) -> Option<Token> {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub fn next(&mut self) -> Option<Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Returns the token that was passed last.
    pub fn previous(&self) -> Option<Token> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    pub fn at_end(&self) -> bool {
        self.peek().is_none()
    }

    /// Returns the tokens that are left.
    pub fn rest(&self) -> &'a [Token] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    pub fn bytes(&self, token: Token) -> &'a [u8] {
        token.of(self.text)
    }

    /// Returns the text of the tokens that are left, with everything between them.
    pub fn rest_text(&self) -> &'a [u8] {
        let (Some(first), Some(last)) = (self.rest().first(), self.rest().last()) else {
            return b"";
        };
        self.text.get(first.start..last.end).unwrap_or_default()
    }

    pub fn range_text(&self, range: Range<usize>) -> &'a [u8] {
        self.text.get(range).unwrap_or_default()
    }

    pub fn at_word(&self, word: &str) -> bool {
        self.at_word_ahead(0, word)
    }

    pub fn at_word_ahead(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_word(self.text, word))
    }

    /// Whether the next token is one of these words.
    pub fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }

    /// Passes the word if it is next.
    pub fn word(&mut self, word: &str) -> bool {
        let here = self.at_word(word);
        self.at += usize::from(here);
        here
    }

    /// Passes these words if they are next, all of them in order.
    pub fn words(&mut self, words: &[&str]) -> bool {
        let here = words.iter().enumerate().all(|(ahead, word)| self.at_word_ahead(ahead, word));
        self.at += if here { words.len() } else { 0 };
        here
    }

    /// Passes one of these words if it is next.
    pub fn any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.word(word))
    }

    /// Passes as many of these words as follow, in any order.
    pub fn skip_all(&mut self, words: &[&str]) {
        while self.any(words) {}
    }

    pub fn punct(&mut self, punct: u8) -> bool {
        let here = self.peek().is_some_and(|token| token.is(punct));
        self.at += usize::from(here);
        here
    }

    /// Passes IF EXISTS or IF NOT EXISTS.
    pub fn skip_if_exists(&mut self) {
        let _ = self.words(&["IF", "NOT", "EXISTS"]) || self.words(&["IF", "EXISTS"]);
    }

    /// Moves to just behind the next occurrence of the word outside of parentheses.
    pub fn seek_word(&mut self, word: &str) -> bool {
        let mut depth = 0usize;
        while let Some(token) = self.next() {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                TokenKind::Word if depth == 0 && token.is_word(self.text, word) => return true,
                _ => {}
            }
        }
        false
    }

    /// Moves behind the parenthesis that closes the one that was just passed.
    pub fn close(&mut self) {
        let mut depth = 1usize;
        while depth > 0 {
            let Some(token) = self.next() else { return };
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth -= 1,
                _ => {}
            }
        }
    }

    /// Returns an identifier without its quotes; None if there is none, or if its bytes are beyond ASCII.
    ///
    /// Which characters the bytes are depends on the client's character set, which is not known here. So a name beyond ASCII is not
    /// compared with anything.
    pub fn identifier(&mut self) -> Option<String> {
        let token = self.peek().filter(Token::is_name)?;
        let name = unquote_name(token.kind, self.bytes(token)).filter(|name| name.is_ascii())?;
        self.at += 1;
        Some(name)
    }

    /// Reads `name` or `schema.name`; None if the first is a keyword.
    pub fn table_name(&mut self) -> Option<TableName> {
        if self.peek().is_some_and(|token| token.kind == TokenKind::Word && is_reserved(self.bytes(token))) {
            return None;
        }
        let first = self.identifier()?;
        if !self.peek().is_some_and(|token| token.is(b'.')) {
            return Some(TableName { schema: None, name: first });
        }
        self.at += 1;
        let name = self.identifier()?;
        Some(TableName { schema: Some(first), name })
    }
}

/// Returns the name that a word or a quoted name stands for; None if it is not UTF-8.
pub(crate) fn unquote_name(kind: TokenKind, bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    if kind != TokenKind::Name {
        return Some(text.to_owned());
    }
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    let quote = text.get(..1)?;
    Some(inner.replace(&quote.repeat(2), quote))
}
