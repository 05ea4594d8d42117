//! From conditions to slots: what a reading depends on.

use std::ops::RangeInclusive;

use freshet_cache::Dep;
use freshet_sql::{Condition, Datum};

use super::blocks::{KeyBlock, cover};
use super::key::{Key, KeyType, bounds_of_datum, extent, key_of_datum, prefix_of_text};
use super::slot::{RowSlot, Tail};
use super::watch::Watch;
use super::zone::Values;
use crate::ColumnInfo;

/// The most slots of one reading in one watch.
pub(super) const SLOTS_MAX: usize = 256;

/// The length up to which prefixes are told apart, in bytes; longer prefixes are cut.
pub(super) const PREFIX_MAX: usize = 16;

/// Whether IS NULL finds the column's NULLs and nothing else. In columns that cannot be NULL the servers also find zero dates by it, and
/// under `sql_auto_is_null` the row that was inserted last.
pub(super) fn null_has_key(column: &ColumnInfo) -> bool {
    column.key != KeyType::None && column.nullable && !column.auto_increment
}

/// Returns the value to which a column has to be equal, if there is only one.
fn only_value<'a>(condition: &'a Condition, values: Values<'a>) -> Option<&'a Datum> {
    let Condition::OneOf(listed) = condition else { return None };
    let [only] = &listed[..] else { return None };
    values.of(only)
}

/// Returns the keys that satisfy a condition of equality. `None`: undecided, or the condition is no equality.
pub(super) fn points(column: &ColumnInfo, condition: &Condition, values: Values<'_>) -> Option<Vec<Key>> {
    match condition {
        Condition::OneOf(listed) => {
            if !are_alike(listed, values)? {
                return None; // One type may be chosen for all of them.
            }
            let key = |datum| key_of_datum(&column.key, values.of(datum)?, values.zone);
            let keys = listed.iter().map(key);
            let mut keys: Vec<Key> = keys.collect::<Option<_>>()?;
            keys.sort_unstable();
            keys.dedup();
            Some(keys)
        }
        Condition::IsNull => null_has_key(column).then(|| vec![Key::Null]),
        Condition::Between { .. } | Condition::Like(_) => None,
    }
}

/// The range that no key satisfies: nothing lies between NULL and anything.
const NO_KEYS: RangeInclusive<u64> = RangeInclusive::new(1, 0);

/// Returns the range from the least to the greatest key that can satisfy a range; it is empty if no value does. `None`: undecided.
#[must_use]
pub fn range(key_type: &KeyType, condition: &Condition, values: Values<'_>) -> Option<RangeInclusive<u64>> {
    let Condition::Between { low, high } = condition else { return None };
    if let (Some((low, _)), Some((high, _))) = (low, high)
        && differ(values.of(low)?, values.of(high)?)
    {
        return None; // One type is chosen for all three operands.
    }
    let (first, last) = extent(key_type)?;
    let (mut least, mut greatest) = (first, last);
    for (end, is_low) in [(low, true), (high, false)] {
        let Some((datum, is_included)) = end else { continue };
        let datum = values.of(datum)?;
        if *datum == Datum::Null {
            return Some(NO_KEYS);
        }
        let (floor, ceiling) = bounds_of_datum(key_type, datum, values.zone)?;
        // A literal between two values may be rounded to either; a literal beyond all values counts as the first or the last.
        let is_value = floor == ceiling && first < floor && floor < last;
        let left_out = u64::from(is_value && !is_included);
        if is_low { least = least.max(floor + left_out) } else { greatest = greatest.min(ceiling - left_out) }
    }
    Some(least..=greatest)
}

/// Whether a DOUBLE is among these, with nothing else beside NULL; or no DOUBLE is.
fn are_alike(listed: &[Datum], values: Values<'_>) -> Option<bool> {
    let (mut doubles, mut others) = (false, false);
    for datum in listed {
        match values.of(datum)? {
            Datum::Null => {}
            Datum::Double(_) => doubles = true,
            _ => others = true,
        }
    }
    Some(!(doubles && others))
}

/// Whether one is a text and the other a number, or only one of them is a DOUBLE.
const fn differ(one: &Datum, other: &Datum) -> bool {
    use Datum::{Decimal, Double, Int, Shown, Text};
    match (one, other) {
        (Double(_), Double(_) | Datum::Null) | (Datum::Null, Double(_)) => false,
        (Double(_), _) | (_, Double(_)) => true,
        (Text(_) | Shown(_), Int(_) | Decimal(_)) | (Int(_) | Decimal(_), Text(_) | Shown(_)) => true,
        _ => false,
    }
}

/// Returns the beginning of the keys that a LIKE finds; `None` if it says nothing.
#[must_use]
pub fn prefix(key_type: &KeyType, condition: &Condition, values: Values<'_>) -> Option<Vec<u8>> {
    let Condition::Like(pattern) = condition else { return None };
    let pattern = values.of(pattern)?;
    // The bytes of what begins so are not known.
    if matches!((pattern, key_type), (Datum::Shown(_), KeyType::Bytes { .. })) {
        return None;
    }
    let mut prefix = prefix_of_text(key_type, pattern.beginning())?;
    prefix.truncate(PREFIX_MAX);
    // A key has no blanks or zeros at its end, so the prefix may not ask for them.
    while prefix.last().is_some_and(|last| matches!(last, b' ' | 0)) {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// Returns the parts of a reading's slots behind the equality columns.
pub(super) fn tails(column: &ColumnInfo, condition: &Condition, values: Values<'_>) -> Option<Vec<Tail>> {
    if matches!(condition, Condition::Like(_)) {
        // Every text begins with the empty one. NULL is like nothing.
        return Some(vec![Tail::Prefix(prefix(&column.key, condition, values).unwrap_or_default())]);
    }
    if let Some(range) = range(&column.key, condition, values) {
        let blocks = cover(*range.start(), *range.end());
        return Some(blocks.into_iter().map(Tail::Block).collect());
    }
    let points = points(column, condition, values)?;
    points.into_iter().map(point_tail).collect()
}

/// Returns the part for a value of a range's column that is known exactly.
fn point_tail(key: Key) -> Option<Tail> {
    match key {
        Key::Null => Some(Tail::Null),
        Key::Ordered(key) => Some(Tail::Block(KeyBlock::of(key, 0))),
        Key::Text(_) => None,
    }
}

impl Watch {
    /// Returns the number of rows that proves that all rows with these keys are there: the number of values that the primary key has in
    /// these conditions. `None` if no key column is the primary key.
    ///
    /// An insert cannot make a row that is there already. So a result that was read from such rows alone, and shows each of them, is
    /// changed by no insert; an update or a delete that takes one of them away changes the result by itself.
    #[must_use]
    pub fn present_if(&self, conditions: &[Condition], values: Values<'_>) -> Option<u64> {
        let index = self.unique_key()?;
        let (column, condition) = (self.key_columns().get(index)?, conditions.get(index)?);
        if let Some(value) = only_value(condition, values) {
            return key_of_datum(&column.key, value, values.zone).map(|_| 1);
        }
        u64::try_from(points(column, condition, values)?.len()).ok()
    }

    /// Returns the slots of a reading with these conditions, one for each key column as in [`super::Reading`], and these values. None if
    /// the reading has no key columns, or no row can satisfy the conditions. `None`: too many slots, or undecided; then the reading may
    /// not rest on the watch.
    ///
    /// This may bring a part of the watch into use that has to wait: [`Self::is_usable`] is to be asked afterwards.
    #[must_use]
    pub fn deps_of_reading(&self, conditions: &[Condition], values: Values<'_>) -> Option<Vec<Dep>> {
        let columns = self.key_columns();
        if columns.len() != conditions.len() {
            return None;
        }
        let (equal, ranges) = conditions.split_at_checked(self.spec().equal.len())?;
        let hash = self.hash();
        let (mut slots, mut parts) = (vec![RowSlot::START], Vec::new());
        for (index, (column, condition)) in columns.iter().zip(equal).enumerate() {
            if let Some(value) = only_value(condition, values) {
                let key = key_of_datum(&column.key, value, values.zone)?;
                slots.iter_mut().for_each(|slot| *slot = slot.with(hash, &key));
                parts.extend(self.has_parts().then(|| self.part(index, &key)));
                continue;
            }
            let keys = points(column, condition, values)?;
            slots = product(&slots, &keys, |slot, key| slot.with(hash, key))?;
            if self.has_parts() {
                parts.extend(keys.iter().map(|key| self.part(index, key)));
            }
        }
        if let (Some(column), Some(condition)) = (columns.get(equal.len()), ranges.first()) {
            let tails = tails(column, condition, values)?;
            self.bring_into_use(tails.iter().fold(0, |uses, tail| uses | tail.uses()));
            slots = product(&slots, &tails, |slot, tail| slot.ending_in(hash, tail))?;
        }
        if columns.is_empty() {
            return Some(Vec::new());
        }
        Some(slots.into_iter().map(|slot| self.dep(slot)).chain(parts).collect())
    }
}

/// Returns every slot with every part; `None` if there are too many.
pub(super) fn product<T>(
    slots: &[RowSlot],
    parts: &[T],
    join: impl Fn(RowSlot, &T) -> RowSlot,
) -> Option<Vec<RowSlot>> {
    let count = slots.len().checked_mul(parts.len()).filter(|count| *count <= SLOTS_MAX)?;
    let mut joined = Vec::with_capacity(count);
    for slot in slots {
        joined.extend(parts.iter().map(|part| join(*slot, part)));
    }
    Some(joined)
}
