//! A statement's pieces, in one pass.

use crate::options::Options;
use crate::output::{End, Output};

/// Appends the digest text of `query`. Allocates nothing but room in `out`.
pub fn put_text(query: &[u8], options: &Options, out: &mut Vec<u8>) {
    let query = query.get(..query.len().min(options.query_length_max)).unwrap_or_default();
    let mut scan = Scan { query, at: 0, keeps_comments: options.keep_comment, in_versioned: false };
    let replaces_null = options.replace_null;
    let mut out = Output::new(out, options);
    while let Some(byte) = scan.byte(0) {
        if out.is_full() {
            break;
        }
        scan.piece(byte, replaces_null, &mut out);
    }
    out.finish();
}

/// Whether a sign after this word belongs to a value, and `*` is no product.
fn is_keyword(word: &[u8]) -> bool {
    let of_length: &[&[u8]] = match word.len() {
        2 => &[b"or", b"in", b"is", b"by", b"on"],
        3 => &[b"all", b"and", b"xor", b"not", b"set", b"div", b"mod"],
        4 => &[b"like", b"when", b"then", b"else", b"case"],
        5 => &[b"where", b"limit"],
        6 => &[b"select", b"having", b"offset", b"values", b"return"],
        7 => &[b"between"],
        8 => &[b"distinct", b"interval"],
        9 => &[b"sql_cache"],
        12 => &[b"sql_no_cache"],
        19 => &[b"sql_calc_found_rows"],
        _ => &[],
    };
    of_length.iter().any(|it| it.eq_ignore_ascii_case(word))
}

struct Scan<'a> {
    query: &'a [u8],
    at: usize,
    keeps_comments: bool,
    /// Inside `/*! … */`, whose body counts.
    in_versioned: bool,
}

impl<'a> Scan<'a> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.query.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.query.get(self.at..).unwrap_or_default()
    }

    /// Takes so many bytes, or what is left.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let rest = self.rest();
        let taken = rest.get(..count.min(rest.len())).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    /// Takes one piece, or several: at least one byte.
    fn piece(&mut self, byte: u8, replaces_null: bool, out: &mut Output<'_>) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0 => {
                self.at += 1;
                out.put_blank();
            }
            b'/' if self.byte(1) == Some(b'*') => self.comment(out),
            b'*' if self.in_versioned && self.byte(1) == Some(b'/') => {
                self.at += 2;
                self.in_versioned = false;
                out.put_blank();
            }
            b'#' => self.line(out),
            b'-' if self.byte(1) == Some(b'-') && self.byte(2).is_none_or(|byte| byte <= b' ') => {
                self.line(out)
            }
            b'\'' | b'"' => {
                let len = string_len(self.rest(), byte);
                self.at += len;
                out.put_value();
            }
            b'`' => {
                let len = name_len(self.rest());
                out.put_word(self.take(len), End::Operand);
            }
            b'?' => {
                self.at += 1;
                out.put_value();
            }
            b'0'..=b'9' => self.number_or_name(out),
            b'.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) && out.end() != End::Operand => {
                self.number_or_name(out);
            }
            _ if is_word(byte) => self.word(replaces_null, out),
            _ => self.symbol(byte, out),
        }
    }

    fn comment(&mut self, out: &mut Output<'_>) {
        if self.byte(2) == Some(b'!') {
            self.at += 3;
            self.at += self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.in_versioned = true;
            return out.put_blank();
        }
        let body = self.rest().get(2..).unwrap_or_default();
        let end = body.windows(2).position(|two| two == b"*/").map_or(body.len(), |end| end + 2);
        let comment = self.take(end + 2);
        if self.keeps_comments {
            out.put(comment, out.end());
        }
        out.put_blank();
    }

    /// Passes a comment up to the end of the line.
    fn line(&mut self, out: &mut Output<'_>) {
        let len = self.rest().iter().position(|byte| *byte == b'\n').unwrap_or(self.rest().len());
        let comment = self.take(len);
        if self.keeps_comments {
            out.put(comment, out.end());
        }
        out.put_blank();
    }

    fn number_or_name(&mut self, out: &mut Output<'_>) {
        let rest = self.rest();
        let run = word_len(rest);
        match number_len(rest) {
            Some(len) if len >= run => {
                self.at += len;
                out.put_value();
            }
            _ => {
                let word = self.take(run.max(1));
                out.put_word(word, End::Operand);
            }
        }
    }

    fn word(&mut self, replaces_null: bool, out: &mut Output<'_>) {
        let word = self.take(word_len(self.rest()));
        if replaces_null && word.eq_ignore_ascii_case(b"null") {
            return out.put_value();
        }
        out.put_word(word, if is_keyword(word) { End::Keyword } else { End::Operand });
    }

    fn symbol(&mut self, byte: u8, out: &mut Output<'_>) {
        let begins_value = |at: usize| {
            let digit = |ahead: usize| self.byte(ahead).is_some_and(|byte| byte.is_ascii_digit());
            digit(at) || self.byte(at) == Some(b'.') && digit(at + 1)
        };
        match byte {
            b'(' => out.open(),
            b')' => out.close(),
            b',' => out.comma(),
            // A value's sign goes with the value.
            b'+' | b'-' if out.end() != End::Operand && begins_value(1) => {}
            b'+' | b'-' | b'/' | b'%' | b'*' if out.end() == End::Operand => {
                out.put_tight(byte);
                self.skip_blanks();
            }
            _ => {
                out.put(&[byte], End::Open);
            }
        }
        self.at += 1;
        if matches!(byte, b'(' | b',') {
            self.skip_blanks_here();
        }
    }

    /// Passes the blanks behind the current byte.
    fn skip_blanks(&mut self) {
        while self.byte(1).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn skip_blanks_here(&mut self) {
        while self.byte(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }
}

/// For each byte, whether it is part of a name or a number.
static WORD: [bool; 256] = {
    let (mut are, mut byte) = ([false; 256], 0);
    while byte < 256 {
        let it = byte as u8;
        are[byte] = it.is_ascii_alphanumeric() || matches!(it, b'_' | b'$' | b'@') || it >= 0x80;
        byte += 1;
    }
    are
};

fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// Returns the length of the name or number that the text begins with.
fn word_len(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len())
}

/// Returns the length of a string with its quotes; one that is not closed takes the rest.
fn string_len(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of a quoted name with its quotes.
fn name_len(text: &[u8]) -> usize {
    let body = text.get(1..).unwrap_or_default();
    body.iter().position(|byte| *byte == b'`').map_or(text.len(), |end| end + 2)
}

/// Returns the length of the number that the text begins with, if it does.
fn number_len(text: &[u8]) -> Option<usize> {
    let digits = |from: usize, is: fn(&u8) -> bool| {
        text.get(from..).unwrap_or_default().iter().take_while(|byte| is(byte)).count()
    };
    if let Some((b"0x" | b"0X", _)) = text.split_at_checked(2) {
        let count = digits(2, u8::is_ascii_hexdigit);
        return (count > 0).then_some(count + 2);
    }
    if let Some((b"0b", _)) = text.split_at_checked(2) {
        let count = digits(2, |byte| matches!(byte, b'0' | b'1'));
        return (count > 0).then_some(count + 2);
    }
    let whole = digits(0, u8::is_ascii_digit);
    let mut len = whole;
    if text.get(len) == Some(&b'.') {
        len += 1 + digits(len + 1, u8::is_ascii_digit);
    }
    if matches!(text.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(len + 1), Some(b'+' | b'-')));
        let count = digits(len + 1 + sign, u8::is_ascii_digit);
        len += if count > 0 { 1 + sign + count } else { 0 };
    }
    (len > 0).then_some(len)
}
