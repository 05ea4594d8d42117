//! The forms of a conjunct that are understood, as sequences of tokens.

use super::{ColumnName, Conjunct, LIST_MAX, alternatives};
use crate::modes::Modes;
use crate::rows::source::Source;
use crate::rows::{Condition, Datum};
use crate::string::unquote_bytes;
use crate::token::TokenKind;

/// The most columns of a row in a comparison.
const COLUMNS_MAX: usize = 16;

/// Matches tokens against the patterns.
pub(super) struct Pattern<'s, 'a> {
    pub source: &'s Source<'a>,
    pub at: usize,
    pub end: usize,
}

/// The comparisons that are understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NullSafe,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Returns the comparison with its operands exchanged.
    fn mirrored(self) -> Self {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            other => other,
        }
    }
}

impl Pattern<'_, '_> {
    pub fn conjunct(&mut self) -> Option<Conjunct<ColumnName>> {
        if let Some(literal) = self.literal() {
            let comparison = self.comparison()?;
            return compared(self.column()?, comparison.mirrored(), literal);
        }
        if self.word("NOT") {
            return compared(self.column()?, Comparison::Equal, Datum::Int(0));
        }
        let column = self.column()?;
        if self.word("IN") {
            if let Some(subquery) = self.subquery() {
                return Some(Conjunct::Within(column, subquery));
            }
            return Some(Conjunct::Is(column, Condition::OneOf(self.list()?), true));
        }
        if self.word("BETWEEN") {
            let low = self.bound()?;
            let high = self.word("AND").then(|| self.bound())??;
            if is_text(&low) != is_text(&high) && !is_param(&low) && !is_param(&high) {
                return None; // One type is chosen for all three operands.
            }
            let condition = Condition::Between { low: Some((low, true)), high: Some((high, true)) };
            return Some(Conjunct::Is(column, condition, true));
        }
        if self.word("IS") {
            if self.word("FALSE") {
                return compared(column, Comparison::Equal, Datum::Int(0));
            }
            return self.word("NULL").then_some(Conjunct::Is(column, Condition::IsNull, false));
        }
        if self.word("LIKE") {
            // What is equal byte by byte is equal to every collation.
            let _ = self.word("BINARY");
            return Some(Conjunct::Is(column, Condition::Like(self.pattern()?), true));
        }
        let comparison = self.comparison()?;
        match self.literal() {
            Some(literal) => compared(column, comparison, literal),
            None if comparison == Comparison::Equal => Some(Conjunct::Equal(column, self.column()?)),
            None => None,
        }
    }

    /// Reads `(a, b) = (1, c)` or `(a, b) IN ((1, 2), (3, 4))`. The servers compare rows column by column, but not as they compare a column
    /// alone: MySQL compares a TIME with a text as texts. Only for equality is that the same.
    pub fn rows(&mut self) -> Option<Vec<Conjunct<ColumnName>>> {
        let left = self.row()?;
        if !self.word("IN") {
            self.is_equals().then_some(())?;
            let right = self.row()?;
            return (left.len() == right.len())
                .then(|| left.into_iter().zip(right).map(|(a, b)| equal(a, b)).collect())?;
        }
        let columns: Vec<ColumnName> = left.into_iter().map(Operand::column).collect::<Option<_>>()?;
        self.punct(b'(').then_some(())?;
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        loop {
            let row: Vec<Datum> = self.row()?.into_iter().map(Operand::literal).collect::<Option<_>>()?;
            if row.len() != columns.len() || rows.len() >= LIST_MAX {
                return None;
            }
            rows.push(row);
            if !self.punct(b',') {
                break;
            }
        }
        self.punct(b')').then_some(())?;
        alternatives::of_rows(&columns, &rows)
    }

    fn is_equals(&mut self) -> bool {
        let here = self.within() && self.source.bytes(self.at) == b"=";
        self.at += usize::from(here);
        here
    }

    /// Reads `(a, 1)` or `ROW(a, 1)`, with two operands or more.
    fn row(&mut self) -> Option<Vec<Operand>> {
        let _ = self.source.is(self.at + 1, b'(') && self.word("ROW");
        self.punct(b'(').then_some(())?;
        let mut operands = Vec::new();
        loop {
            operands.push(match self.literal() {
                Some(literal) => Operand::Literal(literal),
                None => Operand::Column(self.column()?),
            });
            if operands.len() > COLUMNS_MAX {
                return None;
            }
            if !self.punct(b',') {
                break;
            }
        }
        (self.punct(b')') && operands.len() > 1).then_some(operands)
    }

    fn within(&self) -> bool {
        self.at < self.end
    }

    fn word(&mut self, word: &str) -> bool {
        let here = self.within() && self.source.word(self.at, word);
        self.at += usize::from(here);
        here
    }

    fn punct(&mut self, punct: u8) -> bool {
        let here = self.within() && self.source.is(self.at, punct);
        self.at += usize::from(here);
        here
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.source.bytes(self.at) {
            b"=" => Comparison::Equal,
            b"<=>" => Comparison::NullSafe,
            b"<" => Comparison::Less,
            b"<=" => Comparison::LessOrEqual,
            b">" => Comparison::Greater,
            b">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(comparison)
    }

    pub fn column(&mut self) -> Option<ColumnName> {
        let mut parts = Vec::with_capacity(2);
        loop {
            if !self.within() || parts.len() == 3 {
                return None;
            }
            parts.push(self.source.name(self.at)?);
            self.at += 1;
            if !self.punct(b'.') {
                break;
            }
        }
        parts.last_mut()?.make_ascii_lowercase();
        Some(parts)
    }

    /// Returns a literal that stands for itself alone; the position is unchanged if there is none.
    pub fn literal(&mut self) -> Option<Datum> {
        let start = self.at;
        let datum = self.literal_here();
        if datum.is_none() {
            self.at = start;
        }
        datum
    }

    fn literal_here(&mut self) -> Option<Datum> {
        let negative = self.punct(b'-');
        let signed = negative || self.punct(b'+');
        let token = self.source.token(self.at).filter(|_| self.within())?;
        let bytes = self.source.bytes(self.at);
        let datum = match token.kind {
            TokenKind::Int | TokenKind::Real => value(token.kind, bytes, negative, self.source.modes)?,
            _ if signed => return None,
            TokenKind::Str | TokenKind::Literal => value(token.kind, bytes, false, self.source.modes)?,
            TokenKind::Param => Datum::Param(u16::try_from(self.source.params_before(self.at)).ok()?),
            TokenKind::Word => return self.named_literal(),
            _ => return None,
        };
        self.at += 1;
        Some(datum)
    }

    /// Reads a literal that is a word, or begins with one.
    fn named_literal(&mut self) -> Option<Datum> {
        for (word, datum) in [("NULL", Datum::Null), ("TRUE", Datum::Int(1)), ("FALSE", Datum::Int(0))] {
            if self.word(word) {
                return Some(datum);
            }
        }
        self.word("_BINARY").then_some(())?;
        let (kind, bytes) =
            (self.source.token(self.at).filter(|_| self.within())?.kind, self.source.bytes(self.at));
        self.at += 1;
        match kind {
            TokenKind::Str => string(bytes, self.source.modes),
            TokenKind::Literal => bytes_of_digits(bytes),
            _ => None,
        }
    }

    /// Returns a pattern, which may have more in it than what is compared: only its beginning counts.
    fn pattern(&mut self) -> Option<Datum> {
        if let Some(datum) = self.bound() {
            return Some(datum);
        }
        self.source.token(self.at).filter(|token| self.within() && token.kind == TokenKind::Str)?;
        let datum = string(self.source.bytes(self.at), self.source.modes)?;
        self.at += 1;
        Some(datum)
    }

    /// Returns a bound of a range. NULL is no bound: no comparison with it is true.
    fn bound(&mut self) -> Option<Datum> {
        self.literal().filter(|datum| *datum != Datum::Null)
    }

    /// Reads `(SELECT …)`, and returns its first token.
    fn subquery(&mut self) -> Option<usize> {
        let close = self.source.closing(self.at).filter(|close| *close < self.end)?;
        let first = self.at + 1;
        self.source.any(first, &["SELECT", "WITH"]).then_some(())?;
        self.at = close + 1;
        Some(first)
    }

    /// Reads `(1, 2, 3)`, a list of literals only.
    fn list(&mut self) -> Option<Vec<Datum>> {
        let mut list = Vec::new();
        if !self.punct(b'(') {
            return None;
        }
        loop {
            list.push(self.literal()?);
            if list.len() > LIST_MAX {
                return None;
            }
            if !self.punct(b',') {
                return self.punct(b')').then_some(list);
            }
        }
    }
}

/// One place of a row.
enum Operand {
    Column(ColumnName),
    Literal(Datum),
}

impl Operand {
    fn column(self) -> Option<ColumnName> {
        match self {
            Self::Column(column) => Some(column),
            Self::Literal(_) => None,
        }
    }

    fn literal(self) -> Option<Datum> {
        match self {
            Self::Literal(literal) => Some(literal),
            Self::Column(_) => None,
        }
    }
}

/// Returns what the equality of two operands says; None for two literals.
fn equal(one: Operand, other: Operand) -> Option<Conjunct<ColumnName>> {
    match (one, other) {
        (Operand::Column(one), Operand::Column(other)) => Some(Conjunct::Equal(one, other)),
        (Operand::Column(column), Operand::Literal(literal))
        | (Operand::Literal(literal), Operand::Column(column)) => {
            compared(column, Comparison::Equal, literal)
        }
        (Operand::Literal(_), Operand::Literal(_)) => None,
    }
}

fn compared(column: ColumnName, comparison: Comparison, literal: Datum) -> Option<Conjunct<ColumnName>> {
    let null = literal == Datum::Null;
    let included = matches!(comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual);
    let (condition, rejects_null) = match comparison {
        Comparison::Equal => (Condition::OneOf(vec![literal]), true),
        Comparison::NullSafe if null => (Condition::IsNull, false),
        // A parameter may be NULL.
        Comparison::NullSafe => {
            let known = !matches!(literal, Datum::Param(_));
            (Condition::OneOf(vec![literal]), known)
        }
        _ if null => return None,
        Comparison::Less | Comparison::LessOrEqual => {
            (Condition::Between { low: None, high: Some((literal, included)) }, true)
        }
        Comparison::Greater | Comparison::GreaterOrEqual => {
            (Condition::Between { low: Some((literal, included)), high: None }, true)
        }
    };
    Some(Conjunct::Is(column, condition, rejects_null))
}

fn is_text(datum: &Datum) -> bool {
    matches!(datum, Datum::Text(_) | Datum::Shown(_))
}

fn is_param(datum: &Datum) -> bool {
    matches!(datum, Datum::Param(_))
}

/// Returns the value of a literal; `None` if the text alone does not decide it.
pub(in crate::rows) fn value(kind: TokenKind, bytes: &[u8], negative: bool, modes: Modes) -> Option<Datum> {
    match kind {
        TokenKind::Int => integer(bytes, negative),
        TokenKind::Real => decimal(bytes, negative),
        TokenKind::Str => text(bytes, modes),
        TokenKind::Literal => bytes_of_digits(bytes),
        _ => None,
    }
}

/// Returns the bytes of `X'0f'` or `0x0f`; `None` for the other literals of this kind: bits, and `\N`.
fn bytes_of_digits(token: &[u8]) -> Option<Datum> {
    let digits = match token {
        [b'x' | b'X', b'\'', digits @ .., b'\''] => digits,
        [b'0', b'x', digits @ ..] => digits,
        _ => return None,
    };
    let (pairs, odd) = digits.as_chunks::<2>();
    // An odd digit is refused in one form, and stands behind a zero in the other.
    if pairs.is_empty() || !odd.is_empty() {
        return None;
    }
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect::<Option<_>>().map(Datum::Bytes)
}

fn integer(digits: &[u8], negative: bool) -> Option<Datum> {
    let value: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Datum::Int(if negative { -value } else { value }))
}

/// Returns a decimal. A number with an exponent is a binary fraction and compares differently.
fn decimal(digits: &[u8], negative: bool) -> Option<Datum> {
    let digits = std::str::from_utf8(digits).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    Some(Datum::Decimal(if negative { format!("-{digits}") } else { digits.to_owned() }))
}

/// Whether the content is UTF-8 without characters of four bytes. Older collations do not tell such characters apart.
fn is_of_three_bytes(content: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok() && !content.iter().any(|byte| *byte >= 0xF0)
}

fn text(token: &[u8], modes: Modes) -> Option<Datum> {
    if matches!(token.first(), Some(b'n' | b'N')) {
        return None; // A national string has a character set of its own.
    }
    let content = unquote_bytes(token, modes)?;
    if content.is_empty() && modes.empty_string_is_null {
        return None; // It is NULL to some comparisons and to what is stored.
    }
    let plain = content.iter().all(|&byte| matches!(byte, b' '..=b'~' | 0x80..) && byte != b'\\');
    let readable = content.is_ascii() || modes.utf8_strings && is_of_three_bytes(&content);
    let datum = if modes.is_shown { Datum::Shown } else { Datum::Text };
    (plain && readable).then(|| datum(content))
}

/// Returns the content of a string of any bytes, where the server takes them as they are: beyond ASCII, it may have converted them.
fn string(token: &[u8], modes: Modes) -> Option<Datum> {
    if matches!(token.first(), Some(b'n' | b'N')) || modes.is_shown {
        return None;
    }
    let content = unquote_bytes(token, modes)?;
    (!content.is_empty() && (content.is_ascii() || modes.utf8_strings)).then_some(Datum::Bytes(content))
}
