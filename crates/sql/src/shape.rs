//! The digest text: a statement with its literals taken out, in the form that ProxySQL's digests are taken of.
//!
//! Statements of one shape have one analysis, so whatever `analyse` can tell apart has to stay apart here: a text that
//! cannot be read to its end, or has a hint that sets a variable, is its own shape, unchanged.

mod lists;
#[cfg(test)]
mod tests;

use std::hash::Hasher;

use crate::analysis::is_reserved;
use crate::lex::{Lexer, is_blank};
use crate::modes::Modes;
use crate::token::{Kind, Token};

/// A statement without its literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A hash of `text`, the same in every process of one build. Those who cannot bear a collision compare `text`.
    pub hash: u128,
    /// The digest text, in the form ProxySQL gives it.
    pub text: Vec<u8>,
}

/// The shape of `text`. Total.
///
/// A shape depends on the modes as well: under other modes the same bytes are another shape.
pub fn shape(text: &[u8], modes: Modes) -> Shape {
    let text = digest_text(text, modes).unwrap_or_else(|| text.trim_ascii().to_vec());
    Shape { hash: hash(&text), text }
}

/// Two runs of one hash function over different beginnings.
fn hash(text: &[u8]) -> u128 {
    let half = |seed: u8| {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(text);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// None if the text has to stay as it is.
fn digest_text(text: &[u8], modes: Modes) -> Option<Vec<u8>> {
    let mut writer =
        Writer { text, out: Vec::with_capacity(text.len().min(OUT_CAPACITY)), last: None, gap: false };
    let mut lexer = Lexer::new(text, modes);
    let mut next = lexer.next();
    while let Some(token) = next {
        next = lexer.next();
        if token.kind == Kind::Unknown {
            return None;
        }
        writer.token(token, next);
    }
    if lexer.hint_sets_variable() {
        return None;
    }
    let mut out = lists::group(&writer.out);
    while out.last().is_some_and(|&byte| byte == b';' || is_blank(byte)) {
        out.pop();
    }
    Some(out)
}

/// What is set aside at once; a bulk insert's shape is much shorter than its text.
const OUT_CAPACITY: usize = 4096;

/// What was written last, as far as it decides about blanks and signs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A name, a literal, a closing parenthesis: an operator that follows joins it with the next.
    Operand,
    /// A word that cannot be an operand.
    Keyword,
    /// `(` or `,`: no blank follows.
    Opens,
    /// An arithmetic operator: no blank follows, but before another one.
    Arithmetic,
    /// Any other.
    Other,
}

struct Writer<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    /// What was written last, and where its token ended.
    last: Option<(Last, usize)>,
    /// A sign was left out, before which a blank stood.
    gap: bool,
}

impl Writer<'_> {
    fn token(&mut self, token: Token, next: Option<Token>) {
        let arithmetic = matches!(token.kind, Kind::Punct(b'+' | b'-' | b'*' | b'/' | b'%'));
        let after_operand = self.last.is_some_and(|(last, _)| last == Last::Operand);
        let sign = matches!(token.kind, Kind::Punct(b'+' | b'-')) && !after_operand;
        let before_literal = next.is_some_and(|next| next.is_literal() || next.kind == Kind::Param);
        if sign && before_literal {
            self.gap |= self.stood_apart(token);
            self.last = self.last.map(|(last, _)| (last, token.end));
            if let Some(next) = next {
                // What follows the sign counts as standing where the sign stood.
                self.last = self.last.map(|(last, _)| (last, next.start));
            }
            return;
        }
        let binary = arithmetic && after_operand;
        if self.wants_blank(token, binary, arithmetic) {
            self.out.push(b' ');
        }
        self.gap = false;
        let literal = token.is_literal() || token.kind == Kind::Param;
        if literal {
            self.out.push(b'?')
        } else {
            self.out.extend_from_slice(token.of(self.text))
        }
        self.last = Some((self.class(token, literal, binary || sign), token.end));
    }

    /// Whether anything stood between the last token and this one.
    fn stood_apart(&self, token: Token) -> bool {
        self.last.is_some_and(|(_, end)| token.start > end)
    }

    fn wants_blank(&self, token: Token, binary: bool, arithmetic: bool) -> bool {
        let Some((last, _)) = self.last else {
            return false;
        };
        if !(self.gap || self.stood_apart(token)) {
            return false;
        }
        let glued = match last {
            Last::Opens => true,
            Last::Arithmetic => !arithmetic,
            _ => false,
        };
        !glued && !binary && !matches!(token.kind, Kind::Punct(b')' | b','))
    }

    fn class(&self, token: Token, literal: bool, joins: bool) -> Last {
        match token.kind {
            _ if literal => Last::Operand,
            _ if joins => Last::Arithmetic,
            Kind::Punct(b'(' | b',') => Last::Opens,
            Kind::Punct(b')') | Kind::Name => Last::Operand,
            Kind::Word if is_reserved(token.of(self.text)) => Last::Keyword,
            Kind::Word => Last::Operand,
            _ => Last::Other,
        }
    }
}
