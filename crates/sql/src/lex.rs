//! The lexer: cuts a text as the servers do, without copying and without failing.
//!
//! A part that cannot be cut for certain (an open quote or comment, a version comment whose fate depends on the server's exact version,
//! bytes that mean different things in different character sets) becomes one `Unknown` token that takes the rest of the text. Every
//! reader of tokens must treat it as "anything may follow".

mod comment;
mod literal;
#[cfg(test)]
mod tests;

pub use comment::contains_ignoring_case;
pub(crate) use comment::contains_name;

use std::borrow::Cow;

use crate::modes::Modes;
use crate::token::{Token, TokenKind};

/// An iterator over tokens. It cuts a text, or goes over the tokens of a text that was cut before.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    modes: Modes,
    /// Inside a version comment whose content is code.
    in_version_comment: bool,
    /// The next word stands right behind a name and a dot: it is a name even if it starts with a digit.
    after_dot: bool,
    /// An optimizer hint that sets a variable has been passed.
    hint_sets_variable: bool,
    /// A comment of any kind has been passed.
    passed_comment: bool,
    /// The remaining tokens of a text that was cut before.
    cut_before: Option<std::slice::Iter<'a, Token>>,
}

/// The rest of the text cannot be cut.
#[derive(Debug)]
pub(crate) struct Uncuttable;

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8], modes: Modes) -> Self {
        Lexer {
            text,
            at: 0,
            modes,
            in_version_comment: false,
            after_dot: false,
            hint_sets_variable: false,
            passed_comment: false,
            cut_before: None,
        }
    }

    /// Goes over the tokens of a text. The flags say whether a hint that sets a variable, and a comment, stand in it.
    pub fn over(
        text: &'a [u8],
        modes: Modes,
        tokens: &'a [Token],
        hint_sets_variable: bool,
        passed_comment: bool,
    ) -> Self {
        let cut_before = Some(tokens.iter());
        Lexer { hint_sets_variable, passed_comment, cut_before, ..Self::new(text, modes) }
    }

    /// Returns the text that is cut.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the modes by which the text is cut.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// Takes the next tokens, at most so many. Those of a text that was cut before are not copied.
    pub fn take_all(&mut self, most: usize) -> Cow<'a, [Token]> {
        let Some(tokens) = &mut self.cut_before else { return Cow::Owned(self.take(most).collect()) };
        let (taken, rest) = tokens.as_slice().split_at(most.min(tokens.len()));
        *tokens = rest.iter();
        Cow::Borrowed(taken)
    }

    /// Whether a `/*+ SET_VAR(…) */` has come so far.
    pub fn hint_sets_variable(&self) -> bool {
        self.hint_sets_variable
    }

    /// Whether a comment has come so far.
    pub fn passed_comment(&self) -> bool {
        self.passed_comment
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn token(&mut self, start: usize, kind: TokenKind) -> Token {
        Token { kind, start, end: self.at }
    }

    fn unknown(&mut self, start: usize) -> Token {
        self.at = self.text.len();
        self.in_version_comment = false;
        self.token(start, TokenKind::Unknown)
    }

    fn cut(&mut self) -> Result<Option<Token>, Uncuttable> {
        self.skip_blanks_and_comments()?;
        let start = self.at;
        let Some(first) = self.byte(0) else {
            return Ok(None);
        };
        let after_dot = std::mem::take(&mut self.after_dot);
        let kind = match first {
            _ if STARTS_PLAIN_WORD[usize::from(first)] => self.word()?,
            b'\'' => self.string(b'\'')?,
            b'"' if !self.modes.ansi_quotes => self.string(b'"')?,
            b'"' | b'`' => self.quoted_name(first)?,
            b'0'..=b'9' if !after_dot => self.number_or_word()?,
            b'.' if self.byte(1).is_some_and(|b| b.is_ascii_digit()) && !self.dot_follows_name(start) => {
                self.fraction()
            }
            byte if is_word_byte(byte) => self.word_or_prefixed(after_dot)?,
            _ => self.symbol(first)?,
        };
        self.after_dot = first == b'.' && kind == TokenKind::Punct(b'.') && self.dot_follows_name(start);
        Ok(Some(self.token(start, kind)))
    }

    /// Whether a dot touches the name before it, so that it separates that name from the next one.
    fn dot_follows_name(&self, dot: usize) -> bool {
        dot.checked_sub(1).and_then(|i| self.text.get(i)).is_some_and(|&b| is_word_byte(b) || b == b'`')
    }

    fn word_or_prefixed(&mut self, after_dot: bool) -> Result<TokenKind, Uncuttable> {
        if after_dot || self.byte(1) != Some(b'\'') {
            return self.word();
        }
        match self.byte(0) {
            Some(b'n' | b'N') => {
                self.at += 1;
                self.string(b'\'')
            }
            Some(b'x' | b'X' | b'b' | b'B') => self.quoted_digits(),
            _ => self.word(),
        }
    }

    /// Reads a run of word bytes. Bytes beyond ASCII have to be UTF-8, and without the byte that is a blank in latin1, so that the run is
    /// one word in every character set with which this crate is used.
    fn word(&mut self) -> Result<TokenKind, Uncuttable> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (mut len, mut all) = (0, 0);
        for byte in rest.iter().copied().take_while(|&byte| is_word_byte(byte)) {
            len += 1;
            all |= byte;
        }
        let word = rest.get(..len).unwrap_or_default();
        let is_clear = || {
            let is_one_word = !word.contains(&LATIN1_BLANK) && std::str::from_utf8(word).is_ok();
            is_one_word && self.modes.multi_byte.is_none()
        };
        if !all.is_ascii() && !is_clear() {
            return Err(Uncuttable);
        }
        if word.first() == Some(&b'$') && word.iter().filter(|&&b| b == b'$').count() > 1 {
            return Err(Uncuttable); // It may open a dollar-quoted string.
        }
        self.at += len;
        Ok(TokenKind::Word)
    }

    fn symbol(&mut self, first: u8) -> Result<TokenKind, Uncuttable> {
        const TRIPLE: [&[u8]; 2] = [b"<=>", b"->>"];
        const DOUBLE: [&[u8]; 10] = [b"<=", b">=", b"<>", b"!=", b"||", b"&&", b"<<", b">>", b":=", b"->"];
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (len, kind) = match first {
            b'\\' if rest.get(1) == Some(&b'N') => (2, TokenKind::Literal),
            b'@' if rest.get(1) == Some(&b'@') => (2, TokenKind::AtAt),
            b'@' => (1, TokenKind::At),
            b'?' => (1, TokenKind::Param),
            b'(' | b')' | b',' | b'.' | b';' | b'=' | b'*' => (1, TokenKind::Punct(first)),
            _ if TRIPLE.iter().any(|op| rest.starts_with(op)) => (3, TokenKind::Op),
            _ if DOUBLE.iter().any(|op| rest.starts_with(op)) => (2, TokenKind::Op),
            _ if first.is_ascii_graphic() && first != b'\\' => (1, TokenKind::Punct(first)),
            _ => return Err(Uncuttable),
        };
        self.at += len;
        Ok(kind)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if let Some(tokens) = &mut self.cut_before {
            return tokens.next().copied();
        }
        #[cfg(test)]
        work::count();
        let start = self.at;
        match self.cut() {
            Ok(token) => token,
            Err(Uncuttable) => Some(self.unknown(start)),
        }
    }
}

/// A non-breaking blank in latin1 and others: a blank to a server that reads these, a part of a character to a server that reads UTF-8.
/// In other character sets of single bytes, this blank is 0xFF or does not exist; 0xFF is no part of UTF-8.
const LATIN1_BLANK: u8 = 0xA0;

/// Whether a byte can be part of a name without quotes.
#[inline]
pub(crate) fn is_word_byte(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

/// Letters with which no string or number begins.
const STARTS_PLAIN_WORD: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut at = 0;
    while at < 256 {
        let byte = (at as u8).to_ascii_lowercase();
        bytes[at] = byte.is_ascii_alphabetic() && !matches!(byte, b'n' | b'x' | b'b');
        at += 1;
    }
    bytes
};

const WORD_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        bytes[at] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
        at += 1;
    }
    bytes
};

/// Whether a byte is a blank between tokens.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Counts the tokens that this thread cuts, for tests of what a text costs.
#[cfg(test)]
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static TOKENS: Cell<usize> = const { Cell::new(0) };
    }

    pub fn count() {
        TOKENS.set(TOKENS.get() + 1);
    }

    /// Returns how many tokens `run` cuts.
    pub fn of<T>(run: impl FnOnce() -> T) -> (T, usize) {
        TOKENS.set(0);
        let out = run();
        (out, TOKENS.get())
    }
}
