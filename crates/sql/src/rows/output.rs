//! How a SELECT makes its result from its rows: the columns of the result, and whether a condition on such a column also holds of the
//! rows.
//!
//! A condition on a result's column holds of every row behind it under two conditions. The column is taken over unchanged from the rows.
//! Each row of the result is made of rows with the same value in it: of one row, or of a group by that column. A LIMIT chooses among all
//! rows, a window function looks at all rows, and an aggregate without GROUP BY is made of all rows. In these cases the rows that fail
//! the condition matter too.

use std::ops::Range;

use super::conjunct::{self, ColumnName};
use super::source::Source;
use crate::functions::{self, FunctionClass};
use crate::token::TokenKind;

/// One item of a select list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Where it stands.
    pub range: Range<usize>,
    /// The name of its column, in lower case; None if the server makes one up, or gives several.
    pub name: Option<String>,
    pub what: Selected,
}

/// What an item selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// A column as it is.
    Column(ColumnName),
    /// `*`, or `t.*` of one table.
    All(Option<String>),
    /// Anything else.
    Other,
}

/// How the rows of a block become rows of its result.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) enum Grouping {
    /// Each row becomes one row.
    #[default]
    None,
    /// Rows are grouped by these columns, among other expressions.
    By(Vec<ColumnName>),
    /// Rows are grouped in a way that is not understood, or all together.
    Opaque,
}

/// The reserved words (in both servers) that can stand before a select list.
const RESERVED_MODIFIERS: &[&str] = &[
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "SQL_BIG_RESULT",
    "SQL_CALC_FOUND_ROWS",
    "SQL_SMALL_RESULT",
    "STRAIGHT_JOIN",
];
/// The words that can stand there and may be a column's name as well.
const FREE_MODIFIERS: &[&str] = &["SQL_BUFFER_RESULT", "SQL_CACHE", "SQL_NO_CACHE"];

/// The pure functions that make one value of many rows, or rank them.
const AGGREGATES: &[&str] = &[
    "ANY_VALUE",
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "CUME_DIST",
    "DENSE_RANK",
    "FIRST_VALUE",
    "GROUPING",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "LAG",
    "LAST_VALUE",
    "LEAD",
    "MAX",
    "MEDIAN",
    "MIN",
    "NTH_VALUE",
    "NTILE",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "PERCENT_RANK",
    "RANK",
    "ROW_NUMBER",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Returns the items of the select list in `range`, modifiers first.
pub(super) fn items(source: &Source<'_>, range: Range<usize>) -> Vec<Item> {
    let mut start = range.start;
    while start < range.end && source.any(start, RESERVED_MODIFIERS) {
        start += 1;
    }
    source.pieces(start..range.end).into_iter().map(|piece| item(source, piece)).collect()
}

fn item(source: &Source<'_>, range: Range<usize>) -> Item {
    let of = |name, what| Item { range: range.clone(), name, what };
    let last = range.end.saturating_sub(1);
    if source.any(range.start, FREE_MODIFIERS) {
        return of(None, Selected::Other);
    }
    if source.is(last, b'*') {
        // `*`, `t.*` and `s.t.*`; a product does not end with its operator.
        let table = range.len().checked_sub(3).and_then(|_| source.name(last - 2));
        return of(None, Selected::All(table));
    }
    let (named, end) = conjunct::column(source, range.clone());
    let behind_as = end + usize::from(source.word(end, "AS"));
    match named {
        Some(named) if end == range.end => of(named.last().cloned(), Selected::Column(named)),
        Some(named) if behind_as == last && source.name(last).is_some() => {
            of(lower(source, last), Selected::Column(named))
        }
        _ if alias_from(source, &range).is_some() => of(lower(source, last), Selected::Other),
        _ => of(None, Selected::Other),
    }
}

/// Returns where the alias of a computed item begins: `a + 1 AS b`, and `COUNT(*) b`.
pub(super) fn alias_from(source: &Source<'_>, range: &Range<usize>) -> Option<usize> {
    let last = range.end.checked_sub(1).filter(|_| range.len() > 2)?;
    if source.word(last - 1, "AS") {
        return Some(last - 1);
    }
    // `CASE a WHEN 1 THEN (b) END` and `a + INTERVAL (1) DAY` end with words of the grammar.
    let has_words = range.clone().any(|at| source.any(at, &["CASE", "INTERVAL"]));
    (source.is(last - 1, b')') && source.name(last).is_some() && !has_words).then_some(last)
}

fn lower(source: &Source<'_>, at: usize) -> Option<String> {
    source.name(at).map(|name| name.to_ascii_lowercase())
}

/// Returns the grouping of a GROUP BY, or of none. `select` is the part computed from the rows: the select list and HAVING.
pub(super) fn grouping(
    source: &Source<'_>,
    group_by: Option<Range<usize>>,
    select: &[Range<usize>],
    items: &[Item],
) -> Grouping {
    if select.iter().any(|range| has_window(source, range.clone())) {
        return Grouping::Opaque;
    }
    match group_by {
        None if select.iter().any(|range| has_aggregate(source, range.clone())) => Grouping::Opaque,
        None => Grouping::None,
        // The totals of ROLLUP and its like are made of all rows, and have NULL in the columns that they are not grouped by.
        Some(range) if range.clone().any(|at| source.any(at, &["CUBE", "ROLLUP", "SETS"])) => {
            Grouping::Opaque
        }
        Some(range) => {
            let pieces = source.pieces(range).into_iter();
            Grouping::By(pieces.filter_map(|piece| grouped_by(source, piece, items)).collect())
        }
    }
}

/// Reads a column to group by. The servers look for a name without a table among the tables and in the select list. If the select list
/// takes over a column of this name, both ways lead to the same column.
fn grouped_by(source: &Source<'_>, piece: Range<usize>, items: &[Item]) -> Option<ColumnName> {
    let end = piece.end;
    let (named, read_to) = conjunct::column(source, piece);
    let named = named.filter(|_| read_to == end)?;
    let mut selected = items.iter().filter(|item| named.len() == 1 && item.name.as_ref() == named.last());
    match (selected.next(), selected.next()) {
        (None, _) => Some(named),
        (Some(Item { what: Selected::Column(column), .. }), None) if column.last() == named.last() => {
            Some(column.clone())
        }
        _ => None,
    }
}

/// Whether an expression in `range` may be made of more than one row. A subquery may hold an aggregate of this block.
pub(super) fn has_aggregate(source: &Source<'_>, range: Range<usize>) -> bool {
    range.clone().any(|at| {
        let is_call =
            source.is(at + 1, b'(') && source.token(at).is_some_and(|token| token.kind == TokenKind::Word);
        is_call && !is_plain_call(source, at)
    })
}

fn is_plain_call(source: &Source<'_>, at: usize) -> bool {
    let name = source.bytes(at);
    let pure = functions::class(name, false, source.modes) == FunctionClass::Pure;
    (pure || functions::is_grammar(name, source.modes)) && !crate::words::is_in(name, AGGREGATES)
}

/// Whether equal rows of the result are merged.
pub(super) fn is_distinct(source: &Source<'_>, select: Range<usize>) -> bool {
    let mut at = select.start;
    while source.any(at, RESERVED_MODIFIERS) || source.any(at, FREE_MODIFIERS) {
        if source.any(at, &["DISTINCT", "DISTINCTROW"]) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether there is a window function in `range`.
pub(super) fn has_window(source: &Source<'_>, mut range: Range<usize>) -> bool {
    range.any(|at| source.any(at, &["OVER"]))
}
