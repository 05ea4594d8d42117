//! Conditions joined by OR, and rows that are compared with several.
//!
//! Each alternative is a conjunction of its own. If all alternatives say something of one column, that is a conjunct like any other: `(a
//! = 1 AND b = 2) OR (a = 3 AND c = 4)` says `a IN (1, 3)`. Callers that can do so also look at the alternatives one by one.

use std::mem::discriminant;
use std::ops::Range;

use super::{ColumnName, Conjunct, LIST_MAX, one, parts};
use crate::rows::source::Source;
use crate::rows::{Condition, Datum};
use crate::token::TokenKind;

/// The most alternatives that are told apart.
pub(in crate::rows) const ALTERNATIVES_MAX: usize = 8;

/// The longest decimal that is compared within rows, in characters. A longer number could have the same bits as another one.
const DIGITS_MAX: usize = 18;
/// The most conjuncts of an alternative that are looked for in all others.
const COMMON_MAX: usize = 16;

/// A conjunction.
type All = Vec<Conjunct<ColumnName>>;

/// Returns what a condition says whose operands are joined by OR, the operator that binds least here. The result is empty if one operand
/// is not understood, because then any row may satisfy it.
pub(super) fn of_or(source: &Source<'_>, range: Range<usize>, depth: usize) -> Vec<Conjunct<ColumnName>> {
    let Some(operands) = operands(source, range) else { return Vec::new() };
    let mut alternatives = Vec::with_capacity(operands.len());
    for operand in operands {
        let mut all = Vec::new();
        for part in parts(source, operand).unwrap_or_default() {
            one(source, part, depth, &mut all);
        }
        if all.is_empty() {
            return Vec::new();
        }
        alternatives.push(all);
    }
    said(alternatives)
}

/// Returns what a comparison says of these columns, which are equal to one of these rows.
///
/// MySQL compares such rows in ways of its own: a number by its bits, whatever its sign, and a name in a list by the digits of
/// the number beside it. So negative and very large numbers are left out, and so are parameters and columns with values of
/// several kinds. An integer is given as [`Datum::InRow`].
pub(super) fn of_rows(columns: &[ColumnName], rows: &[Vec<Datum>]) -> Option<Vec<Conjunct<ColumnName>>> {
    let rows: Vec<Vec<Datum>> =
        rows.iter().map(|row| row.iter().map(in_row).collect()).collect::<Option<_>>()?;
    let is_value = |datum: &&Datum| **datum != Datum::Null;
    for column in 0..columns.len() {
        let mut kinds = rows.iter().filter_map(|row| row.get(column)).filter(is_value).map(discriminant);
        let first = kinds.next();
        if kinds.any(|kind| Some(kind) != first) {
            return None;
        }
    }
    let all = |row: &Vec<Datum>| {
        let each = columns.iter().zip(row);
        let one = |(column, value): (&ColumnName, &Datum)| {
            Conjunct::Is(column.clone(), Condition::OneOf(vec![value.clone()]), true)
        };
        each.map(one).collect()
    };
    Some(said(rows.iter().map(all).collect()))
}

fn in_row(datum: &Datum) -> Option<Datum> {
    match datum {
        Datum::Int(value) => {
            u64::try_from(*value).ok().and_then(|value| i64::try_from(value).ok()).map(Datum::InRow)
        }
        Datum::Text(text) | Datum::Shown(text) => (text.first() != Some(&b'-')).then(|| datum.clone()),
        Datum::Decimal(digits) => {
            (!digits.starts_with('-') && digits.len() <= DIGITS_MAX).then(|| datum.clone())
        }
        Datum::Null => Some(Datum::Null),
        _ => None,
    }
}

/// Returns the two or more operands of OR; `None` if an operator binds less tightly, or there is no OR.
fn operands(source: &Source<'_>, range: Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut operands = Vec::new();
    let (mut start, mut at, mut cases) = (range.start, range.start, 0usize);
    while at < range.end {
        let token = source.token(at)?;
        match token.kind {
            TokenKind::Punct(b'(') => at = source.closing(at)?,
            TokenKind::Punct(b',') | TokenKind::Unknown | TokenKind::At | TokenKind::AtAt => return None,
            TokenKind::Op if matches!(source.bytes(at), b"||" | b":=") => return None,
            TokenKind::Word if source.any(at, &["SELECT", "WITH"]) => return None,
            TokenKind::Word if source.word(at, "CASE") => cases += 1,
            // There are more ENDs than CASEs: one END is a name, and it is not known which.
            TokenKind::Word if source.word(at, "END") => cases = cases.checked_sub(1)?,
            TokenKind::Word if cases == 0 && source.word(at, "OR") => {
                operands.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    operands.push(start..range.end);
    (cases == 0 && operands.len() > 1 && operands.len() <= LIST_MAX).then_some(operands)
}

/// Returns what a list of non-empty alternatives says.
fn said(alternatives: Vec<All>) -> Vec<Conjunct<ColumnName>> {
    let mut said = common(&alternatives);
    if let Some(alternatives) = flat(alternatives).map(merged)
        && alternatives.len() > 1
        && alternatives.len() <= ALTERNATIVES_MAX
    {
        said.push(Conjunct::Any(alternatives));
    }
    said
}

/// Returns the columns that every alternative compares with values, with all these values.
fn common(alternatives: &[All]) -> Vec<Conjunct<ColumnName>> {
    let Some((first, rest)) = alternatives.split_first() else { return Vec::new() };
    let mut found: Vec<Conjunct<ColumnName>> = Vec::new();
    for (column, values, rejects_null) in first.iter().filter_map(values).take(COMMON_MAX) {
        let mut all = values.to_vec();
        let mut rejects = rejects_null;
        let is_in = |all: &mut Vec<Datum>, rejects: &mut bool, other: &All| {
            let same = other.iter().filter_map(self::values).find(|(named, ..)| *named == column);
            same.is_some_and(|(_, values, rejects_null)| {
                all.extend_from_slice(values);
                *rejects &= rejects_null;
                all.len() <= LIST_MAX
            })
        };
        if rest.iter().all(|other| is_in(&mut all, &mut rejects, other)) {
            found.push(Conjunct::Is(column.clone(), Condition::OneOf(all), rejects));
        }
    }
    found
}

fn values(conjunct: &Conjunct<ColumnName>) -> Option<(&ColumnName, &[Datum], bool)> {
    match conjunct {
        Conjunct::Is(column, Condition::OneOf(values), rejects_null) => Some((column, values, *rejects_null)),
        _ => None,
    }
}

/// Multiplies out alternatives within alternatives; `None` if the result has too many.
fn flat(alternatives: Vec<All>) -> Option<Vec<All>> {
    let mut flat: Vec<All> = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        let mut products: Vec<All> = vec![Vec::new()];
        for conjunct in alternative {
            match conjunct {
                Conjunct::Any(inner) if products.len() * inner.len() <= ALTERNATIVES_MAX => {
                    let with = |all: &All| {
                        let all = all.clone();
                        inner.iter().map(move |more| [all.as_slice(), more].concat()).collect::<Vec<All>>()
                    };
                    products = products.iter().flat_map(with).collect();
                }
                // A nested alternative only narrows an alternative that has other conjuncts.
                Conjunct::Any(_) => {}
                conjunct => products.iter_mut().for_each(|all| all.push(conjunct.clone())),
            }
        }
        flat.extend(products);
    }
    flat.iter().all(|all| !all.is_empty()).then_some(flat)
}

/// Merges the alternatives that compare only one column, the same in each.
fn merged(alternatives: Vec<All>) -> Vec<All> {
    let mut merged: Vec<All> = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        let [Conjunct::Is(column, Condition::OneOf(values), rejects)] = alternative.as_slice() else {
            merged.push(alternative);
            continue;
        };
        let same = merged.iter_mut().find_map(|known| match known.as_mut_slice() {
            [Conjunct::Is(known, Condition::OneOf(all), rejects)] if known == column => Some((all, rejects)),
            _ => None,
        });
        match same {
            Some((all, all_reject)) => {
                all.extend_from_slice(values);
                *all_reject &= *rejects;
            }
            None => merged.push(alternative),
        }
    }
    merged
}
