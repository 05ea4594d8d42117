//! A whole statement as tokens, with its parentheses paired.

use std::borrow::Cow;
use std::ops::Range;

use crate::cursor::unquote_name;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reserved::{is_reserved, structures};
use crate::token::{Token, TokenKind, without_end};
use crate::tokens::Tokens;

/// The most tokens of a statement that is analysed.
const TOKENS_MAX: usize = 16_384;

/// One statement, read to its end.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub text: &'a [u8],
    pub modes: Modes,
    pub tokens: Cow<'a, [Token]>,
    /// The closing parenthesis of each opening one; for any other token, the token itself.
    closes: Vec<usize>,
    /// Where the parameters stand, in order.
    params: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Cuts a text; None if it is more than one statement, cannot be read to its end, or has a name beyond ASCII. Such a name's
    /// characters, and the names that the server takes for equal to it, are not known here.
    pub fn cut(text: &'a [u8], modes: Modes) -> Option<Self> {
        Self::of(Lexer::new(text, modes))
    }

    /// Returns the same for a text that has already been cut.
    pub fn of_tokens(tokens: &'a Tokens<'_>) -> Option<Self> {
        Self::of(tokens.walk())
    }

    fn of(mut lexer: Lexer<'a>) -> Option<Self> {
        let (text, modes) = (lexer.text(), lexer.modes());
        if modes.other_syntax {
            return None;
        }
        let tokens = without_end(lexer.take_all(TOKENS_MAX + 1));
        let readable = tokens.iter().all(|token| match token.kind {
            TokenKind::Unknown | TokenKind::Punct(b';' | b'{' | b'}') => false,
            TokenKind::Word | TokenKind::Name => token.of(text).is_ascii(),
            _ => true,
        });
        if tokens.len() > TOKENS_MAX || !readable {
            return None;
        }
        let closes = pair(&tokens)?;
        let is_param = |(at, token): (usize, &Token)| (token.kind == TokenKind::Param).then_some(at);
        let params = tokens.iter().enumerate().filter_map(is_param).collect();
        Some(Source { text, modes, tokens, closes, params })
    }

    pub fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    pub fn is(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    pub fn bytes(&self, at: usize) -> &'a [u8] {
        self.tokens.get(at).map(|token| token.of(self.text)).unwrap_or_default()
    }

    /// Returns where the parenthesis that opens at `at` closes.
    pub fn closing(&self, at: usize) -> Option<usize> {
        self.closes.get(at).copied().filter(|_| self.is(at, b'('))
    }

    /// Returns the pieces of a list between its commas.
    pub fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (range.start, range.start);
        while at < range.end {
            if self.is(at, b',') {
                pieces.push(start..at);
                start = at + 1;
            }
            at = self.closing(at).unwrap_or(at) + 1;
        }
        pieces.push(start..range.end);
        pieces
    }

    /// Whether the word `at` can be a keyword. Behind or before a dot it is a name.
    fn stands_alone(&self, at: usize) -> bool {
        let behind_dot = at.checked_sub(1).is_some_and(|before| self.is(before, b'.'));
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word)
            && !behind_dot
            && !self.is(at + 1, b'.')
    }

    /// Whether the word `at` is this keyword, which is given in upper case.
    pub fn word(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.text, word)) && self.stands_alone(at)
    }

    /// Whether the word `at` is one of these keywords.
    pub fn any(&self, at: usize, words: &[&str]) -> bool {
        let word = self.bytes(at);
        words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word)) && self.stands_alone(at)
    }

    /// Returns the identifier `at`, without quotes, in its own case. A word must be free to be a name, unless it follows a dot.
    pub fn name(&self, at: usize) -> Option<String> {
        let token = self.token(at).filter(Token::is_name)?;
        let behind_dot = at.checked_sub(1).is_some_and(|before| self.is(before, b'.'));
        if token.kind == TokenKind::Word && !behind_dot && !is_free(self.bytes(at)) {
            return None;
        }
        unquote_name(token.kind, self.bytes(at))
    }

    /// Whether the name `at` is quoted, or is a word without any meaning of its own.
    pub fn is_plain(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| match token.kind {
            TokenKind::Name => true,
            TokenKind::Word => is_free(self.bytes(at)) && !structures(self.bytes(at)),
            _ => false,
        })
    }

    /// Returns how many parameters stand before `at`.
    pub fn params_before(&self, at: usize) -> usize {
        self.params.partition_point(|&param| {
            #[cfg(test)]
            work::count();
            param < at
        })
    }
}

/// Whether a word can name something: it is neither reserved, nor a value, nor a function without parentheses.
///
/// A few reserved words pass as well, whose meaning depends on their place. In the places where names are read here, these words are
/// errors to the servers.
fn is_free(word: &[u8]) -> bool {
    let value = crate::words::is_in(word, &["FALSE", "NULL", "TRUE"]);
    !value && !is_reserved(word) && !crate::functions::is_volatile_word(word)
}

fn pair(tokens: &[Token]) -> Option<Vec<usize>> {
    let mut closes: Vec<usize> = (0..tokens.len()).collect();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is(b'(') {
            open.push(at);
        } else if token.is(b')') {
            *closes.get_mut(open.pop()?)? = at;
        }
    }
    open.is_empty().then_some(closes)
}

/// Counts the steps of this thread, for tests of what a statement costs.
#[cfg(test)]
pub(super) mod work {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    /// Returns the steps of `run`.
    pub fn of<T>(run: impl FnOnce() -> T) -> (T, usize) {
        STEPS.set(0);
        let out = run();
        (out, STEPS.get())
    }
}
