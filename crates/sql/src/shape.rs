//! The digest text: a statement without its literals, in the form from which ProxySQL computes its digests.
//!
//! Statements of one shape share one analysis, so texts that `analyse` can tell apart must have different shapes. A text that cannot be
//! read to its end, or has a hint that sets a variable, is its own shape, unchanged.

mod lists;
#[cfg(test)]
mod tests;

use std::hash::Hasher;

use crate::lex::{Lexer, is_blank};
use crate::modes::Modes;
use crate::reserved::is_reserved;
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;

/// A statement without its literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A hash of `text`, the same in every process of one build. Callers for which a collision would be wrong compare `text`.
    pub hash: u128,
    /// The digest text, in the form ProxySQL gives it.
    pub text: Vec<u8>,
}

/// Returns the shape of `text`. Total.
///
/// A shape depends on the modes as well: under other modes the same bytes are another shape.
pub fn shape(text: &[u8], modes: Modes) -> Shape {
    shape_of(Lexer::new(text, modes))
}

impl Tokens<'_> {
    /// Returns the shape of the text: [`shape`].
    #[must_use]
    pub fn shape(&self) -> Shape {
        shape_of(self.walk())
    }
}

fn shape_of(lexer: Lexer<'_>) -> Shape {
    let text = lexer.text();
    let text = digest_text(lexer).unwrap_or_else(|| text.trim_ascii().to_vec());
    Shape { hash: hash(&text), text }
}

/// Returns the results of two runs of one hash function over different beginnings.
fn hash(text: &[u8]) -> u128 {
    let half = |seed: u8| {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(text);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Returns the digest text. None if the text has to stay as it is.
fn digest_text(mut lexer: Lexer<'_>) -> Option<Vec<u8>> {
    let text = lexer.text();
    let mut writer = DigestWriter {
        text,
        out: Vec::with_capacity(text.len().min(OUT_CAPACITY)),
        last: None,
        signs: Vec::new(),
    };
    for token in lexer.by_ref() {
        if token.kind == TokenKind::Unknown {
            return None;
        }
        writer.token(token);
    }
    writer.flush_signs();
    if lexer.hint_sets_variable() {
        return None;
    }
    let mut out = lists::group(&writer.out);
    while out.last().is_some_and(|&byte| byte == b';' || is_blank(byte)) {
        out.pop();
    }
    Some(out)
}

/// The memory that is reserved at once, in bytes; a bulk insert's shape is much shorter than its text.
const OUT_CAPACITY: usize = 4096;

/// The class of a token, as far as it decides about the blanks and signs beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenClass {
    /// A name, a literal, a closing parenthesis: an operator that follows joins it with the next.
    Operand,
    /// A word that cannot be an operand.
    Keyword,
    /// `(` or `,`: no blank follows.
    Opens,
    /// An arithmetic operator between two operands: no blank on either side.
    Arithmetic,
    /// A sign: no blank behind it.
    Sign,
    /// Any other.
    Other,
}

struct DigestWriter<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    /// The class of the last written token, and where the token ended.
    last: Option<(TokenClass, usize)>,
    /// Signs that wait for the next token: before a literal they are left out.
    signs: Vec<Token>,
}

impl DigestWriter<'_> {
    fn token(&mut self, token: Token) {
        if matches!(token.kind, TokenKind::Punct(b'+' | b'-')) && !self.after_operand() {
            return self.signs.push(token);
        }
        if token.is_literal() || token.kind == TokenKind::Param {
            // The literal begins at its first sign.
            let start = self.signs.first().map_or(token.start, |sign| sign.start);
            self.signs.clear();
            return self.write(Token { start, ..token }, TokenClass::Operand);
        }
        self.flush_signs();
        let binary =
            matches!(token.kind, TokenKind::Punct(b'+' | b'-' | b'*' | b'/' | b'%')) && self.after_operand();
        let class = if binary { TokenClass::Arithmetic } else { self.class(token) };
        self.write(token, class);
    }

    fn flush_signs(&mut self) {
        for sign in std::mem::take(&mut self.signs) {
            self.write(sign, TokenClass::Sign);
        }
    }

    fn after_operand(&self) -> bool {
        self.last.is_some_and(|(last, _)| last == TokenClass::Operand)
    }

    fn write(&mut self, token: Token, class: TokenClass) {
        if self.wants_blank(token, class) {
            self.out.push(b' ');
        }
        if token.is_literal() || token.kind == TokenKind::Param {
            self.out.push(b'?');
        } else {
            self.out.extend_from_slice(token.of(self.text));
        }
        self.last = Some((class, token.end));
    }

    fn wants_blank(&self, token: Token, class: TokenClass) -> bool {
        let Some((last, end)) = self.last else {
            return false;
        };
        let glued = match last {
            TokenClass::Opens => true,
            // Two of them without a blank could be read as a comment.
            TokenClass::Arithmetic | TokenClass::Sign => {
                !matches!(class, TokenClass::Sign) && !token.is(b'*') && !token.is(b'/')
            }
            _ => class == TokenClass::Arithmetic || matches!(token.kind, TokenKind::Punct(b')' | b',')),
        };
        token.start > end && !glued
    }

    fn class(&self, token: Token) -> TokenClass {
        match token.kind {
            TokenKind::Punct(b'(' | b',') => TokenClass::Opens,
            TokenKind::Punct(b')') | TokenKind::Name => TokenClass::Operand,
            TokenKind::Word if is_reserved(token.of(self.text)) => TokenClass::Keyword,
            TokenKind::Word => TokenClass::Operand,
            _ => TokenClass::Other,
        }
    }
}
