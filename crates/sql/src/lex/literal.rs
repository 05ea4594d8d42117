//! Strings, quoted names and numbers.

use super::{Lexer, Uncuttable, is_word_byte};
use crate::token::TokenKind;

impl Lexer<'_> {
    /// Reads a string; its opening quote stands at the current byte.
    pub(super) fn string(&mut self, quote: u8) -> Result<TokenKind, Uncuttable> {
        let escapes = !self.modes.no_backslash_escapes;
        self.quoted(quote, escapes).map(|()| TokenKind::Str)
    }

    /// Reads a name in quotes, in which a backslash has no special meaning.
    pub(super) fn quoted_name(&mut self, quote: u8) -> Result<TokenKind, Uncuttable> {
        let start = self.at;
        self.quoted(quote, false)?;
        let name = self.text.get(start..self.at).unwrap_or_default();
        // Names are text: other bytes mean something else in another character set. The servers find the end of a quoted name in another
        // way than the end of a string.
        let is_clear =
            name.is_ascii() || self.modes.multi_byte.is_none() && std::str::from_utf8(name).is_ok();
        if is_clear { Ok(TokenKind::Name) } else { Err(Uncuttable) }
    }

    /// Passes the opening quote, the content and the closing quote.
    fn quoted(&mut self, quote: u8, escapes: bool) -> Result<(), Uncuttable> {
        self.at += 1;
        while let Some(byte) = self.skip_plain(quote, escapes) {
            let doubled = byte == quote && self.byte(1) == Some(quote);
            let escaped = byte == b'\\' && escapes;
            self.at += if doubled || escaped { 2 } else { 1 };
            if byte == quote && !doubled {
                return Ok(());
            }
        }
        Err(Uncuttable)
    }

    /// Passes bytes without a special meaning in quotes, and returns the byte that stands there then.
    fn skip_plain(&mut self, quote: u8, escapes: bool) -> Option<u8> {
        let rest = self.text.get(self.at..)?;
        if let Some(multi_byte) = self.modes.multi_byte {
            let is_special = |byte: u8| byte == quote || byte == b'\\' && escapes;
            while let Some(byte) = self.byte(0).filter(|byte| !is_special(*byte)) {
                self.at += if byte.is_ascii() { 1 } else { multi_byte.len(self.text.get(self.at..)?) };
            }
            return self.byte(0);
        }
        let special = if escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
        self.at += special.unwrap_or(rest.len());
        self.byte(0)
    }

    /// Reads `x'1F'` or `b'01'`.
    pub(super) fn quoted_digits(&mut self) -> Result<TokenKind, Uncuttable> {
        self.at += 1;
        self.quoted(b'\'', false).map(|()| TokenKind::Literal)
    }

    /// Reads a token that starts with a digit: a number, or a name such as `1st`.
    pub(super) fn number_or_word(&mut self) -> Result<TokenKind, Uncuttable> {
        if self.prefixed_number(b'x', |b| b.is_ascii_hexdigit())
            || self.prefixed_number(b'b', |b| matches!(b, b'0' | b'1'))
        {
            return Ok(TokenKind::Literal);
        }
        let digits = self.digits_from(0);
        match self.byte(digits) {
            Some(b'.') => {
                self.at += digits;
                Ok(self.fraction())
            }
            Some(b'e' | b'E') if self.exponent_len(digits) > 0 => {
                self.at += digits + self.exponent_len(digits);
                Ok(TokenKind::Real)
            }
            Some(byte) if is_word_byte(byte) => self.word(),
            _ => {
                self.at += digits;
                Ok(TokenKind::Int)
            }
        }
    }

    /// Reads the point, the digits behind it, and an exponent.
    pub(super) fn fraction(&mut self) -> TokenKind {
        let digits = 1 + self.digits_from(1);
        self.at += digits + self.exponent_len(digits);
        TokenKind::Real
    }

    /// Passes `0x1F` and `0b01`, if nothing follows that makes it a name.
    fn prefixed_number(&mut self, letter: u8, is_digit: fn(u8) -> bool) -> bool {
        if self.byte(0) != Some(b'0') || self.byte(1) != Some(letter) {
            return false;
        }
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        let len = rest.iter().position(|&b| !is_digit(b)).unwrap_or(rest.len());
        if len == 0 || rest.get(len).is_some_and(|&b| is_word_byte(b)) {
            return false;
        }
        self.at += 2 + len;
        true
    }

    fn digits_from(&self, ahead: usize) -> usize {
        let rest = self.text.get(self.at + ahead..).unwrap_or_default();
        rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len())
    }

    /// Returns the length of an exponent that starts `ahead` of here; 0 if none does.
    fn exponent_len(&self, ahead: usize) -> usize {
        if !matches!(self.byte(ahead), Some(b'e' | b'E')) {
            return 0;
        }
        let sign = usize::from(matches!(self.byte(ahead + 1), Some(b'+' | b'-')));
        match self.digits_from(ahead + 1 + sign) {
            0 => 0,
            digits => 1 + sign + digits,
        }
    }
}
