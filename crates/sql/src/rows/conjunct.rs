//! Conditions, taken apart at their ANDs, and those conjuncts that say something of a single column.
//!
//! There is no grammar of expressions here. A conjunct counts only if the *whole* of its tokens is exactly one of a few
//! patterns, and every operator of the servers that binds less tightly than AND, or brings an AND of its own, is looked for
//! by name. Whatever else stands in a conjunct makes it opaque: it can only reject more rows, and that is no pin lost.

use std::ops::Range;

use super::source::Source;
use super::{Condition, Datum};
use crate::modes::Modes;
use crate::string::unquote_bytes;
use crate::token::Kind;

/// The longest IN list that becomes a pin.
const LIST_MAX: usize = 256;
/// The most conjuncts of one condition that are looked at.
const CONJUNCTS_MAX: usize = 256;
/// How many parentheses around a conjunct are opened.
const DEPTH_MAX: usize = 32;

/// A column as it is named: `c`, `t.c` or `s.t.c`.
pub(super) type Named = Vec<String>;

/// A conjunct that is understood.
#[derive(Clone, Debug)]
pub(super) enum Conjunct<C> {
    /// The column satisfies the condition. The flag: it does not hold of NULL.
    Is(C, Condition, bool),
    /// Two columns are equal, and so neither is NULL.
    Equal(C, C),
}

/// The conjuncts of a condition that are understood.
pub(super) fn conjuncts(source: &Source<'_>, range: Range<usize>) -> Vec<Conjunct<Named>> {
    let mut out = Vec::new();
    split(source, range, 0, &mut out);
    out
}

fn split(source: &Source<'_>, range: Range<usize>, depth: usize, out: &mut Vec<Conjunct<Named>>) {
    match parts(source, range.clone()) {
        Some(parts) => parts.into_iter().for_each(|part| one(source, part, depth, out)),
        None => out.extend(alternatives(source, range)),
    }
}

/// `a = 1 OR a = 2 OR a IN (3, 4)`: as good as one IN. OR binds less tightly than whatever else can stand in a condition,
/// so each piece is an operand of it, if all of them match.
fn alternatives(source: &Source<'_>, range: Range<usize>) -> Option<Conjunct<Named>> {
    let mut named: Option<Named> = None;
    let mut data = Vec::new();
    let mut rejects_null = true;
    let mut start = range.start;
    while start < range.end {
        let mut end = start;
        while end < range.end && !source.word(end, "OR") {
            end = source.closing(end).unwrap_or(end) + 1;
        }
        let mut pattern = Pattern { source, at: start, end };
        let Conjunct::Is(column, Condition::OneOf(values), rejects) = pattern.conjunct()? else {
            return None;
        };
        let same = named.get_or_insert_with(|| column.clone()) == &column;
        data.extend(values);
        rejects_null &= rejects;
        if pattern.at != end || !same || data.len() > LIST_MAX || end + 1 == range.end {
            return None;
        }
        start = end + 1;
    }
    Some(Conjunct::Is(named?, Condition::OneOf(data), rejects_null))
}

/// One conjunct; parentheses around the whole of it are opened.
fn one(source: &Source<'_>, range: Range<usize>, depth: usize, out: &mut Vec<Conjunct<Named>>) {
    if out.len() >= CONJUNCTS_MAX {
        return;
    }
    if source.closing(range.start).is_some_and(|close| close + 1 == range.end) {
        if depth < DEPTH_MAX {
            split(source, range.start + 1..range.end - 1, depth + 1, out);
        }
        return;
    }
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    if let Some(conjunct) = pattern.conjunct().filter(|_| pattern.at == range.end) {
        out.push(conjunct);
    }
}

/// The pieces between the ANDs; None if something binds less tightly than AND, or the pairs do not come out even.
fn parts(source: &Source<'_>, range: Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (range.start, range.start);
    let (mut betweens, mut cases) = (0usize, 0usize);
    while at < range.end {
        let token = source.token(at)?;
        let mut is_and = false;
        match token.kind {
            Kind::Punct(b'(') => at = source.closing(at)?,
            // A comma makes it a list, not a condition.
            Kind::Punct(b',') | Kind::Unknown | Kind::At | Kind::AtAt => return None,
            Kind::Op => match source.bytes(at) {
                b"||" | b":=" => return None,
                b"&&" if cases == 0 => is_and = true,
                _ => {}
            },
            Kind::Word if source.any(at, &["OR", "SELECT", "WITH", "XOR"]) => return None,
            Kind::Word if source.word(at, "CASE") => cases += 1,
            // More ENDs than CASEs: one of them is a name, and which one is not known.
            Kind::Word if source.word(at, "END") => cases = cases.checked_sub(1)?,
            Kind::Word if cases == 0 && source.word(at, "BETWEEN") => betweens += 1,
            Kind::Word if cases == 0 && source.word(at, "AND") && betweens > 0 => betweens -= 1,
            Kind::Word if cases == 0 && source.word(at, "AND") => is_and = true,
            _ => {}
        }
        if is_and {
            parts.push(start..at);
            start = at + 1;
        }
        at += 1;
    }
    parts.push(start..range.end);
    (betweens == 0 && cases == 0).then_some(parts)
}

/// The value written from `range.start` to its end, if that is all there is.
pub(super) fn datum(source: &Source<'_>, range: Range<usize>) -> Datum {
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    match pattern.literal() {
        Some(datum) if pattern.at == range.end => datum,
        _ => Datum::Other,
    }
}

/// The column that is named from `range.start` on, and where its name ends.
pub(super) fn column(source: &Source<'_>, range: Range<usize>) -> (Option<Named>, usize) {
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    (pattern.column(), pattern.at)
}

/// Matches tokens against the patterns.
struct Pattern<'s, 'a> {
    source: &'s Source<'a>,
    at: usize,
    end: usize,
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
    /// With its operands exchanged.
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
    fn conjunct(&mut self) -> Option<Conjunct<Named>> {
        if let Some(literal) = self.literal() {
            let comparison = self.comparison()?;
            return compared(self.column()?, comparison.mirrored(), literal);
        }
        let column = self.column()?;
        if self.word("IN") {
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
            return self.word("NULL").then_some(Conjunct::Is(column, Condition::IsNull, false));
        }
        if self.word("LIKE") {
            return Some(Conjunct::Is(column, Condition::Prefix(self.prefix()?), true));
        }
        let comparison = self.comparison()?;
        match self.literal() {
            Some(literal) => compared(column, comparison, literal),
            None if comparison == Comparison::Equal => Some(Conjunct::Equal(column, self.column()?)),
            None => None,
        }
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

    fn column(&mut self) -> Option<Named> {
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

    /// A literal that stands for itself alone; the position is unchanged if there is none.
    fn literal(&mut self) -> Option<Datum> {
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
            Kind::Int | Kind::Real => value(token.kind, bytes, negative, self.source.modes)?,
            _ if signed => return None,
            Kind::Str => value(token.kind, bytes, false, self.source.modes)?,
            Kind::Param => Datum::Param(u16::try_from(self.source.params_before(self.at)).ok()?),
            Kind::Word if self.source.word(self.at, "NULL") => Datum::Null,
            _ => return None,
        };
        self.at += 1;
        Some(datum)
    }

    /// A bound of a range. With NULL there is nothing to compare.
    fn bound(&mut self) -> Option<Datum> {
        self.literal().filter(|datum| *datum != Datum::Null)
    }

    /// `(1, 2, 3)`, of literals alone.
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

    /// The text before the only `%` of a pattern, which is its last character.
    ///
    /// Only characters that every collation compares one by one, and that LIKE takes for themselves, may be in it.
    fn prefix(&mut self) -> Option<Datum> {
        let Datum::Text(mut pattern) = self.literal()? else {
            return None;
        };
        let wildcard = pattern.pop()?;
        let plain = pattern.iter().all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-'));
        (wildcard == b'%' && plain && !pattern.is_empty()).then_some(Datum::Text(pattern))
    }
}

fn compared(column: Named, comparison: Comparison, literal: Datum) -> Option<Conjunct<Named>> {
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
    matches!(datum, Datum::Text(_))
}

fn is_param(datum: &Datum) -> bool {
    matches!(datum, Datum::Param(_))
}

/// The value of a literal; `None` if it is not told by its text alone.
pub(super) fn value(kind: Kind, bytes: &[u8], negative: bool, modes: Modes) -> Option<Datum> {
    match kind {
        Kind::Int => integer(bytes, negative),
        Kind::Real => decimal(bytes, negative),
        Kind::Str => text(bytes, modes),
        _ => None,
    }
}

fn integer(digits: &[u8], negative: bool) -> Option<Datum> {
    let value: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Datum::Int(if negative { -value } else { value }))
}

/// With an exponent it is a binary fraction, which is compared in other ways.
fn decimal(digits: &[u8], negative: bool) -> Option<Datum> {
    let digits = std::str::from_utf8(digits).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    Some(Datum::Decimal(if negative { format!("-{digits}") } else { digits.to_owned() }))
}

fn text(token: &[u8], modes: Modes) -> Option<Datum> {
    if matches!(token.first(), Some(b'n' | b'N')) {
        return None; // A national string has a character set of its own.
    }
    let content = unquote_bytes(token, modes)?;
    if content.is_empty() && modes.empty_string_is_null {
        return None; // It is NULL to some comparisons and to what is stored.
    }
    let plain = content.iter().all(|&byte| matches!(byte, b' '..=b'~') && byte != b'\\');
    plain.then_some(Datum::Text(content))
}
