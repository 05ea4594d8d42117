//! Takes conditions apart at their ANDs, and finds the conjuncts that say something of a single column.
//!
//! There is no grammar of expressions here. A conjunct counts only if the *whole* of its tokens matches exactly one of a few patterns.
//! The reader looks by name for every operator that binds less tightly than AND, or brings an AND of its own. Anything else in a conjunct
//! makes it opaque: it can only reject more rows, so no pin is lost.

mod alternatives;
mod pattern;

use std::ops::Range;

use self::pattern::Pattern;
pub(super) use self::pattern::value;
use super::source::Source;
use super::{Condition, Datum};
use crate::token::TokenKind;

/// The longest IN list that becomes a pin.
const LIST_MAX: usize = 256;
/// The most conjuncts of one condition that are looked at.
const CONJUNCTS_MAX: usize = 256;
/// How many parentheses around a conjunct are opened.
const DEPTH_MAX: usize = 32;

/// A column as it is named: `c`, `t.c` or `s.t.c`.
pub(super) type ColumnName = Vec<String>;

/// A conjunct that is understood.
#[derive(Clone, Debug)]
pub(super) enum Conjunct<C> {
    /// The column satisfies the condition. The flag says that the condition does not hold of NULL.
    Is(C, Condition, bool),
    /// Two columns are equal, and so neither is NULL.
    Equal(C, C),
    /// The column is equal to the value of a subquery in some row. The number is the subquery's first token.
    Within(C, usize),
    /// All conjuncts of at least one of these lists hold. No list is empty, and none contains an `Any`.
    Any(Vec<Vec<Conjunct<C>>>),
}

/// Returns the conjuncts of a condition that are understood.
pub(super) fn conjuncts(source: &Source<'_>, range: Range<usize>) -> Vec<Conjunct<ColumnName>> {
    let mut out = Vec::new();
    split(source, range, 0, &mut out);
    out
}

fn split(source: &Source<'_>, range: Range<usize>, depth: usize, out: &mut Vec<Conjunct<ColumnName>>) {
    match parts(source, range.clone()) {
        Some(parts) => parts.into_iter().for_each(|part| one(source, part, depth, out)),
        None => out.extend(alternatives::of_or(source, range, depth)),
    }
}

/// Reads one conjunct. Parentheses around the whole of it are opened.
fn one(source: &Source<'_>, range: Range<usize>, depth: usize, out: &mut Vec<Conjunct<ColumnName>>) {
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
        return;
    }
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    if let Some(conjuncts) = pattern.rows().filter(|_| pattern.at == range.end) {
        out.extend(conjuncts);
    }
}

/// Returns the pieces between the ANDs; `None` if an operator binds less tightly than AND, or the pairs are not balanced.
fn parts(source: &Source<'_>, range: Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (range.start, range.start);
    let (mut betweens, mut cases) = (0usize, 0usize);
    while at < range.end {
        let token = source.token(at)?;
        let mut is_and = false;
        match token.kind {
            TokenKind::Punct(b'(') => at = source.closing(at)?,
            // A comma makes it a list, not a condition.
            TokenKind::Punct(b',') | TokenKind::Unknown | TokenKind::At | TokenKind::AtAt => return None,
            TokenKind::Op => match source.bytes(at) {
                b"||" | b":=" => return None,
                b"&&" if cases == 0 => is_and = true,
                _ => {}
            },
            TokenKind::Word if source.any(at, &["OR", "SELECT", "WITH", "XOR"]) => return None,
            TokenKind::Word if source.word(at, "CASE") => cases += 1,
            // There are more ENDs than CASEs: one END is a name, and it is not known which.
            TokenKind::Word if source.word(at, "END") => cases = cases.checked_sub(1)?,
            TokenKind::Word if cases == 0 && source.word(at, "BETWEEN") => betweens += 1,
            TokenKind::Word if cases == 0 && source.word(at, "AND") && betweens > 0 => betweens -= 1,
            TokenKind::Word if cases == 0 && source.word(at, "AND") => is_and = true,
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

/// Returns the value written from `range.start` to its end, if that is all there is.
pub(super) fn datum(source: &Source<'_>, range: Range<usize>) -> Datum {
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    match pattern.literal() {
        Some(datum) if pattern.at == range.end => datum,
        _ => Datum::Other,
    }
}

/// Returns the column that is named from `range.start` on, and where its name ends.
pub(super) fn column(source: &Source<'_>, range: Range<usize>) -> (Option<ColumnName>, usize) {
    let mut pattern = Pattern { source, at: range.start, end: range.end };
    (pattern.column(), pattern.at)
}
