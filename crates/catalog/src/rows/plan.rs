//! The watch that a reading needs.
//!
//! Of the conditions on an occurrence, those on columns with keys are usable. The more columns are equal to something, the fewer rows are
//! left. So the plan takes all of these conditions, those with the fewest values first, as long as their combinations stay within the
//! slots that an entry may depend on. It also takes one range.
//!
//! A condition is not taken if it says nothing of the keys, because of its literals or because a moment cannot be told in the session's
//! time zone.
//!
//! Where the primary key is equal to something, only that condition is taken: further columns would leave no fewer rows to depend on, and
//! a write that is known by the primary key alone would concern every entry that other columns tell apart too.

use std::sync::Arc;

use freshet_sql::{ColumnsRead, Condition, Datum, Pin, RowReads};

use super::key::KeyType;
use super::reading::{SLOTS_MAX, null_has_key, points, prefix, range};
use super::spec::WatchSpec;
use super::zone::{Values, Zone};
use crate::{ColumnInfo, TableInfo};

/// The most equality columns of one watch.
const EQUAL_MAX: usize = 4;

/// MySQL's other name for a primary key that is one integer.
const ROW_ID: &str = "_rowid";

/// What one occurrence of a table in a statement reads of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The watch for it.
    pub spec: WatchSpec,
    /// The condition on each of the watch's key columns: first those that are equal to something, in their order, then that of the range.
    pub conditions: Vec<Condition>,
}

/// Returns the readings of each occurrence in a session of this time zone; an entry depends on all of them together. `tables` are the
/// definitions of the occurrences' tables, in their order. An occurrence for which nothing narrower than the whole table is known has no
/// reading.
#[must_use]
pub fn plan(reads: &RowReads, tables: &[Arc<TableInfo>], zone: Zone) -> Vec<Vec<Reading>> {
    let each = reads.occurrences.iter().enumerate();
    each.map(|(index, occurrence)| {
        let Some(table) = tables.get(index).filter(|table| !table.columns.is_empty()) else {
            return Vec::new();
        };
        let read = columns_read(&table.columns, &reads.columns);
        let reading = |pins: &Vec<Pin>| {
            let usable: Vec<Usable<'_>> =
                pins.iter().filter_map(|pin| usable(pin, table, tables, zone)).collect();
            chosen(&usable, read.clone())
        };
        let mut readings: Vec<Reading> = occurrence.alternatives.iter().map(reading).collect();
        // A reading of any row includes the rows of the others.
        if let Some(any) = readings.iter().position(|reading| reading.conditions.is_empty()) {
            readings = vec![readings.swap_remove(any)];
        }
        // A watch that tells nothing apart would be the whole table again.
        readings.retain(|reading| !reading.conditions.is_empty() || reading.spec.read.is_some());
        readings
    })
    .collect()
}

/// Returns the columns that are read; `None`: all. A computed column changes with other columns, which are not named.
fn columns_read(columns: &[ColumnInfo], read: &ColumnsRead) -> Option<Vec<u16>> {
    let ColumnsRead::Named(names) = read else { return None };
    let mut ordinals = Vec::new();
    for (ordinal, column) in columns.iter().enumerate() {
        if names.contains(&column.name) {
            if column.generated {
                return None;
            }
            ordinals.push(u16::try_from(ordinal).ok()?);
        }
    }
    let is_all = ordinals.len() == columns.len() || names.iter().any(|name| name == ROW_ID);
    (!is_all).then_some(ordinals)
}

/// A condition whose values have keys.
struct Usable<'a> {
    ordinal: u16,
    /// The condition is on the primary key, which is this column alone.
    is_unique: bool,
    condition: &'a Condition,
    /// The number of values that the condition allows; `None` for a range.
    values: Option<usize>,
}

fn usable<'a>(pin: &'a Pin, table: &TableInfo, tables: &[Arc<TableInfo>], zone: Zone) -> Option<Usable<'a>> {
    let (ordinal, column) = named(&table.columns, &pin.column)?;
    let compares_alike = pin.via.iter().all(|(occurrence, name)| {
        let via = tables.get(*occurrence).and_then(|table| named(&table.columns, name));
        via.is_some_and(|(_, via)| via.key.compares_like(&column.key))
    });
    has_keys(&pin.condition, column).then_some(())?;
    let values = value_count(&pin.condition);
    let is_told = compares_alike && is_told(&pin.condition, column, zone);
    is_told.then_some(Usable { ordinal, is_unique: column.unique, condition: &pin.condition, values })
}

pub(super) fn named<'a>(columns: &'a [ColumnInfo], name: &str) -> Option<(u16, &'a ColumnInfo)> {
    let ordinal = columns.iter().position(|column| column.name == name)?;
    Some((u16::try_from(ordinal).ok()?, columns.get(ordinal)?))
}

/// Whether the condition says something of the column's keys; with parameters, whether it does for some values.
fn is_told(condition: &Condition, column: &ColumnInfo, zone: Zone) -> bool {
    let is_parameter = |datum: &Datum| matches!(datum, Datum::Param(_));
    let has_parameters = match condition {
        Condition::OneOf(values) => values.iter().any(is_parameter),
        Condition::Between { low, high } => {
            [low, high].into_iter().flatten().any(|(datum, _)| is_parameter(datum))
        }
        Condition::Like(pattern) => is_parameter(pattern),
        Condition::IsNull => return true,
    };
    let values = Values { zone, ..Values::default() };
    match condition {
        _ if has_parameters => zone.is_fixed() || !matches!(column.key, KeyType::Timestamp { .. }),
        Condition::Between { .. } => range(&column.key, condition, values).is_some(),
        Condition::Like(_) => prefix(&column.key, condition, values).is_some(),
        _ => points(column, condition, values).is_some(),
    }
}

/// Whether the values that the condition allows have keys in this column.
fn has_keys(condition: &Condition, column: &ColumnInfo) -> bool {
    match condition {
        Condition::OneOf(values) => {
            let is_known = !values.contains(&Datum::Other) && values.len() <= SLOTS_MAX;
            is_known && column.key != KeyType::None
        }
        Condition::IsNull => null_has_key(column),
        Condition::Between { .. } => column.key.is_ordered(),
        Condition::Like(_) => column.key.has_prefixes(),
    }
}

/// Returns the number of values that the condition allows; `None` for a range.
fn value_count(condition: &Condition) -> Option<usize> {
    match condition {
        Condition::OneOf(values) => Some(values.len()),
        Condition::IsNull => Some(1),
        Condition::Between { .. } | Condition::Like(_) => None,
    }
}

/// Returns the best of the conditions.
fn chosen(usable: &[Usable<'_>], read: Option<Vec<u16>>) -> Reading {
    let by_key = usable.iter().enumerate().filter(|(_, pin)| pin.is_unique && pin.values.is_some());
    let by_key = by_key.min_by_key(|(_, pin)| pin.values).and_then(|(at, _)| usable.get(at..=at));
    let usable = by_key.unwrap_or(usable);
    let mut points: Vec<(usize, u16, &Condition)> =
        usable.iter().filter_map(|pin| Some((pin.values?, pin.ordinal, pin.condition))).collect();
    points.sort_by_key(|(values, ordinal, _)| (*values, *ordinal));
    let (mut equal, mut combinations): (Vec<(u16, &Condition)>, usize) = (Vec::new(), 1);
    for (values, ordinal, condition) in points {
        let more = combinations.saturating_mul(values.max(1));
        let is_new = equal.iter().all(|(taken, _)| *taken != ordinal);
        if is_new && equal.len() < EQUAL_MAX && more <= SLOTS_MAX {
            equal.push((ordinal, condition));
            combinations = more;
        }
    }
    equal.sort_by_key(|(ordinal, _)| *ordinal);
    let is_free =
        |pin: &&Usable<'_>| pin.values.is_none() && equal.iter().all(|(taken, _)| *taken != pin.ordinal);
    // A range needs several slots for each combination.
    let range = usable
        .iter()
        .filter(is_free)
        .max_by_key(|pin| tightness(pin.condition))
        .filter(|_| combinations <= 2);
    let (ordinals, conditions): (Vec<u16>, Vec<&Condition>) = equal.into_iter().unzip();
    Reading {
        spec: WatchSpec { equal: ordinals, range: range.map(|pin| pin.ordinal), read },
        conditions: conditions.into_iter().chain(range.map(|pin| pin.condition)).cloned().collect(),
    }
}

/// Returns how tight a range is: the greater, the fewer values it is likely to hold.
fn tightness(condition: &Condition) -> u8 {
    match condition {
        Condition::Between { low: Some(_), high: Some(_) } => 3,
        Condition::Like(Datum::Param(_)) => 0,
        Condition::Like(_) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
