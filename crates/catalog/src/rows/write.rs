//! From writes to slots: what a statement may change, told from its text before it is sent.
//!
//! The answer has to hold whatever the server makes of the statement. Before the write, a row that it touches has the keys that its pins
//! say. After the write, the row has the assigned keys, if they are stored as they are written. Where the server might fill in a value of
//! its own, the answer is [`TouchedSlots::Any`].

use std::collections::HashSet;

use freshet_cache::Dep;
use freshet_sql::{Condition, Datum, Given, OnDuplicate, Pin, RowWrite};

use super::blocks::{KeyBlock, span};
use super::key::{Key, key_of_assigned};
use super::plan::named;
use super::reading::{points, prefix, product, range};
use super::slot::{RowSlot, Tail, bits};
use super::watch::Watch;
use super::zone::{Values, Zone};
use crate::{ColumnInfo, Descendants, Name, TableInfo};

/// What a write touches of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TouchedSlots {
    /// Nothing on which entries of the watch rest.
    Nothing,
    /// These slots, or the dependencies of rows that one column tells apart: at most 64.
    Slots(Vec<Dep>),
    /// Unknown rows that are new and have not existed before: [`Watch::absent`].
    Absent,
    /// Anything: [`Watch::any`].
    Any,
}

/// What is known of a key column of the touched rows.
#[derive(Clone, Debug)]
enum SlotPart {
    /// The key is one of these.
    Points(Vec<Key>),
    /// The key lies between these, both included.
    Range(u64, u64),
    /// The value starts with this.
    Prefix(Vec<u8>),
}

/// The most slots that a write is known by.
const TOUCHED_MAX: usize = 64;

/// A range of up to so many keys is treated as a list of keys.
const SHORT_RANGE_MAX: u64 = 32;

type AssignedKey = [(String, Datum)];

/// Returns the tables that foreign keys change together with a write to this one.
#[must_use]
pub fn reached<'a>(table: &TableInfo, below: &'a Descendants, write: &RowWrite) -> Vec<&'a Name> {
    match write {
        RowWrite::Insert { .. } | RowWrite::Fill { on_duplicate: OnDuplicate::Refused, .. } => Vec::new(),
        RowWrite::Delete { .. } => below.on_delete.iter().collect(),
        // A replaced row may be deleted, or updated in its place.
        RowWrite::Upsert { assigned: None, .. }
        | RowWrite::Fill { on_duplicate: OnDuplicate::Replaced, .. } => below.all.iter().collect(),
        RowWrite::Update { assigned, .. }
        | RowWrite::Upsert { assigned: Some(assigned), .. }
        | RowWrite::Fill { on_duplicate: OnDuplicate::Updated(assigned), .. } => {
            let changes = |name: &str| {
                let column = table.columns.iter().find(|column| column.name == name);
                column.is_none_or(|column| may_change(column, assigned))
            };
            below.on_update_of(changes).collect()
        }
    }
}

/// Whether no foreign key changes anything together with a write, whatever keys there are: nothing refers to a newly inserted row yet.
#[must_use]
pub const fn reaches_nothing(write: &RowWrite) -> bool {
    matches!(write, RowWrite::Insert { .. } | RowWrite::Fill { on_duplicate: OnDuplicate::Refused, .. })
}

/// What an INSERT says of one column of a new row.
enum ColumnValue<'a, T> {
    Given(&'a T),
    /// The column is not listed, and has its default.
    Omitted,
    /// It cannot be told which value belongs to the column.
    Unclear,
}

impl<'a, T> ColumnValue<'a, T> {
    fn given(self) -> Option<&'a T> {
        if let Self::Given(value) = self { Some(value) } else { None }
    }
}

impl Watch {
    /// Returns what a write touches of its table, whose definition is `table`, if it is sent with these values.
    #[must_use]
    pub fn deps_of_write(&self, table: &TableInfo, write: &RowWrite, values: Values<'_>) -> TouchedSlots {
        // A trigger may assign anything to the row that is about to be stored.
        let may_have_triggers = table.triggers.as_ref().is_none_or(|triggers| triggers.any);
        if table.has_triggers || may_have_triggers || !table.has_layout(self.layout()) {
            return TouchedSlots::Any;
        }
        let slots = match write {
            RowWrite::Insert { columns, rows, .. } => self.made(columns.as_deref(), rows, values),
            RowWrite::Upsert { columns, rows, assigned, .. } => {
                let made = self.made(columns.as_deref(), rows, values);
                made.and_then(|made| self.upserted(made, assigned.as_deref(), values))
            }
            RowWrite::Fill { columns, given, on_duplicate, .. } => {
                let made = self.filled(columns.as_deref(), given, values);
                made.and_then(|made| match on_duplicate {
                    OnDuplicate::Refused => Some(made),
                    OnDuplicate::Replaced => self.upserted(made, None, values),
                    OnDuplicate::Updated(assigned) => self.upserted(made, Some(assigned), values),
                })
            }
            RowWrite::Update { assigned, .. } if !self.is_concerned_by(assigned) => {
                return TouchedSlots::Nothing;
            }
            RowWrite::Update { assigned, pins, .. } => self.updated(assigned, pins, values),
            RowWrite::Delete { pins, .. } => {
                self.pinned(pins, values).and_then(|parts| self.slots_of(&parts))
            }
        };
        match slots {
            // Without key columns there is nothing to tell rows apart by.
            Some(slots) if !self.key_columns().is_empty() && slots.len() <= TOUCHED_MAX => {
                TouchedSlots::Slots(slots.into_iter().map(|slot| self.dep(slot)).collect())
            }
            _ if self.gets_new_numbers(table, write, values) => TouchedSlots::Absent,
            _ => self.part_of_write(write, values).map_or(TouchedSlots::Any, TouchedSlots::Slots),
        }
    }

    /// Returns what a write touches, before and after, by the one key column that narrows its rows most, where the other columns are not
    /// known. `None` without such a column.
    fn part_of_write(&self, write: &RowWrite, values: Values<'_>) -> Option<Vec<Dep>> {
        if !self.has_parts() {
            return None;
        }
        let ordinals = self.key_ordinals().take(self.spec().equal.len());
        let keys = ordinals.enumerate().filter_map(|(index, ordinal)| {
            let keys = self.keys_of_write(ordinal, write, values)?;
            (keys.len() <= TOUCHED_MAX).then_some((index, keys))
        });
        let (index, keys) = keys.min_by_key(|(_, keys)| keys.len())?;
        Some(keys.iter().map(|key| self.part(index, key)).collect())
    }

    /// Returns the keys that the rows may have in the column with this ordinal, before and after. `None` where they are not known.
    fn keys_of_write(&self, ordinal: usize, write: &RowWrite, values: Values<'_>) -> Option<HashSet<Key>> {
        let column = self.layout().get(ordinal)?;
        let mut keys = HashSet::new();
        match write {
            RowWrite::Insert { columns, rows, .. } => {
                for row in rows {
                    let datum = self.value_of(ordinal, columns.as_deref(), row).given()?;
                    keys.insert(stored(column, values.of(datum)?, values)?);
                }
            }
            RowWrite::Fill { columns, given, on_duplicate: OnDuplicate::Refused, .. } => {
                let given = self.value_of(ordinal, columns.as_deref(), given).given()?;
                keys.extend(filled(column, given, values, false)?.points()?);
            }
            RowWrite::Update { pins, .. } | RowWrite::Delete { pins, .. } => {
                keys.extend(self.pinned_in(column, pins, values, false)?.points()?);
            }
            RowWrite::Upsert { .. } | RowWrite::Fill { .. } => return None,
        }
        if let RowWrite::Update { assigned, .. } = write
            && may_change(column, assigned)
        {
            let (_, datum) = assigned.iter().find(|(name, _)| *name == column.name)?;
            keys.insert(stored(column, values.of(datum)?, values)?);
        }
        Some(keys)
    }

    /// Whether the server gives each new row a number that no row has had before, and the watch tells rows apart by that number. A key
    /// from the statement may be that of a row that was deleted around us, and that a stored result still shows.
    fn gets_new_numbers(&self, table: &TableInfo, write: &RowWrite, values: Values<'_>) -> bool {
        let Some(index) = self.unique_key() else { return false };
        let Some(ordinal) = self.key_ordinals().nth(index) else { return false };
        let Some(column) = self.layout().get(ordinal) else { return false };
        let is_null = |datum| values.of(datum) == Some(&Datum::Null);
        let is_numbered = match write {
            RowWrite::Insert { columns, rows, .. } => {
                rows.iter().all(|row| match self.value_of(ordinal, columns.as_deref(), row) {
                    ColumnValue::Given(datum) => is_null(datum),
                    ColumnValue::Omitted => true,
                    ColumnValue::Unclear => false,
                })
            }
            RowWrite::Fill { columns, given, on_duplicate: OnDuplicate::Refused, .. } => {
                match self.value_of(ordinal, columns.as_deref(), given) {
                    ColumnValue::Given(Given::Value(datum)) => is_null(datum),
                    ColumnValue::Omitted => true,
                    ColumnValue::Given(_) | ColumnValue::Unclear => false,
                }
            }
            _ => false,
        };
        // With other engines the counter may begin anew.
        table.engine.eq_ignore_ascii_case("InnoDB") && column.auto_increment && is_numbered
    }

    /// Returns the slots of new rows.
    fn made(
        &self,
        columns: Option<&[String]>,
        rows: &[Vec<Datum>],
        values: Values<'_>,
    ) -> Option<Vec<RowSlot>> {
        rows.iter().try_fold(Vec::new(), |mut slots, row| {
            add_new(&mut slots, self.slots_of(&self.inserted(columns, row, values)?)?);
            (slots.len() <= TOUCHED_MAX).then_some(slots)
        })
    }

    /// Returns the slots of new rows that come from a query.
    fn filled(
        &self,
        columns: Option<&[String]>,
        given: &[Given],
        values: Values<'_>,
    ) -> Option<Vec<RowSlot>> {
        let mut parts = Vec::new();
        for (index, ordinal) in self.key_ordinals().enumerate() {
            let is_range = index >= self.spec().equal.len();
            let given = self.value_of(ordinal, columns, given).given()?;
            parts.push(filled(self.layout().get(ordinal)?, given, values, is_range)?);
        }
        self.slots_of(&parts)
    }

    /// Returns the slots of new rows, of the rows that stand in their way, and of the latter after their update. A row in the way has the
    /// new row's primary key, if no other key is unique, and anything in the other columns: any row may have been written there around
    /// us.
    fn upserted(
        &self,
        mut made: Vec<RowSlot>,
        assigned: Option<&AssignedKey>,
        values: Values<'_>,
    ) -> Option<Vec<RowSlot>> {
        let [column] = self.key_columns() else { return None };
        if !column.only_unique {
            return None;
        }
        if let Some(assigned) = assigned.filter(|assigned| may_change(column, assigned)) {
            let (_, datum) = assigned.iter().find(|(name, _)| *name == column.name)?;
            let key = stored(column, values.of(datum)?, values)?;
            add_new(&mut made, self.slots_of(&[SlotPart::Points(vec![key])])?);
        }
        Some(made)
    }

    /// Returns the keys of a new row in the key columns.
    fn inserted(
        &self,
        columns: Option<&[String]>,
        row: &[Datum],
        values: Values<'_>,
    ) -> Option<Vec<SlotPart>> {
        let part = |ordinal| {
            let datum = self.value_of(ordinal, columns, row).given()?;
            let key = stored(self.layout().get(ordinal)?, values.of(datum)?, values)?;
            Some(SlotPart::Points(vec![key]))
        };
        self.key_ordinals().map(part).collect()
    }

    /// Returns the value of a new row in the column with this ordinal. Without a list of columns there is a value for each column that is
    /// not hidden, so the places are known only where no column is hidden.
    fn value_of<'a, T>(
        &self,
        ordinal: usize,
        columns: Option<&[String]>,
        row: &'a [T],
    ) -> ColumnValue<'a, T> {
        let Some(column) = self.layout().get(ordinal) else { return ColumnValue::Unclear };
        let at = match columns {
            Some(columns) => match columns.iter().position(|name| *name == column.name) {
                Some(at) => at,
                None => return ColumnValue::Omitted,
            },
            None if row.len() == self.layout().len() => ordinal,
            None => return ColumnValue::Unclear,
        };
        row.get(at).map_or(ColumnValue::Unclear, ColumnValue::Given)
    }

    /// Whether an update of these columns can change anything that an entry has read.
    fn is_concerned_by(&self, assigned: &AssignedKey) -> bool {
        let changes =
            |ordinal: usize| self.layout().get(ordinal).is_none_or(|column| may_change(column, assigned));
        match &self.spec().read {
            None => true,
            Some(read) => self.key_ordinals().chain(read.iter().copied().map(usize::from)).any(changes),
        }
    }

    /// Returns the slots of the rows before and after an update.
    fn updated(&self, assigned: &AssignedKey, pins: &[Pin], values: Values<'_>) -> Option<Vec<RowSlot>> {
        let before = self.pinned(pins, values)?;
        let mut after = before.clone();
        for (part, column) in after.iter_mut().zip(self.key_columns()) {
            if !may_change(column, assigned) {
                continue;
            }
            let (_, datum) = assigned.iter().find(|(name, _)| *name == column.name)?;
            *part = SlotPart::Points(vec![stored(column, values.of(datum)?, values)?]);
        }
        let mut slots = self.slots_of(&before)?;
        add_new(&mut slots, self.slots_of(&after)?);
        Some(slots)
    }

    /// Returns the keys in the key columns of the rows that satisfy the pins; `None` if a key column is not pinned.
    fn pinned(&self, pins: &[Pin], values: Values<'_>) -> Option<Vec<SlotPart>> {
        let mut parts = Vec::new();
        for (index, column) in self.key_columns().iter().enumerate() {
            let is_range = index >= self.spec().equal.len();
            parts.push(self.pinned_in(column, pins, values, is_range)?);
        }
        Some(parts)
    }

    fn pinned_in(
        &self,
        column: &ColumnInfo,
        pins: &[Pin],
        values: Values<'_>,
        is_range: bool,
    ) -> Option<SlotPart> {
        let of_column = pins.iter().filter(|pin| pin.column == column.name && self.holds(pin, column));
        let part = of_column.filter_map(|pin| part(column, &pin.condition, values, is_range));
        part.min_by_key(SlotPart::breadth)
    }

    /// Whether equality carries the pin's value to the column as the column compares.
    fn holds(&self, pin: &Pin, column: &ColumnInfo) -> bool {
        pin.via.iter().all(|(_, name)| {
            named(self.layout(), name).is_some_and(|(_, via)| via.key.compares_like(&column.key))
        })
    }

    fn slots_of(&self, parts: &[SlotPart]) -> Option<Vec<RowSlot>> {
        let hash = self.hash();
        let (equal, ranges) = parts.split_at_checked(self.spec().equal.len())?;
        let mut slots = vec![RowSlot::START];
        for part in equal {
            let SlotPart::Points(keys) = part else { return None };
            slots = product(&slots, keys, |slot, key| slot.with(hash, key))?;
        }
        if let Some(part) = ranges.first() {
            let tails = tails_in_use(part, self.uses())?;
            slots = product(&slots, &tails, |slot, tail| slot.ending_in(hash, tail))?;
        }
        if slots.len() > TOUCHED_MAX {
            return None;
        }
        let mut different = Vec::with_capacity(slots.len());
        add_new(&mut different, slots);
        Some(different)
    }
}

/// Adds those slots that are not there yet. There are few: [`TOUCHED_MAX`] are the most that count.
fn add_new(slots: &mut Vec<RowSlot>, more: Vec<RowSlot>) {
    for slot in more {
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
}

/// Returns the keys of a new row in a column that gets this value.
fn filled(column: &ColumnInfo, given: &Given, values: Values<'_>, is_range: bool) -> Option<SlotPart> {
    match given {
        Given::Value(datum) => Some(SlotPart::Points(vec![stored(column, values.of(datum)?, values)?])),
        Given::Taken { pins, .. } => {
            let part = pins.iter().filter_map(|pin| part(column, &pin.condition, values, is_range));
            part.min_by_key(SlotPart::breadth).filter(|part| is_kept(column, part))
        }
        Given::Other => None,
    }
}

impl SlotPart {
    /// Returns the listed keys; `None` for a range and a prefix.
    fn points(self) -> Option<Vec<Key>> {
        match self {
            Self::Points(keys) => Some(keys),
            Self::Range(..) | Self::Prefix(_) => None,
        }
    }

    /// Returns how many keys this allows, for comparison.
    fn breadth(&self) -> u64 {
        match self {
            Self::Points(keys) => u64::try_from(keys.len()).unwrap_or(u64::MAX),
            Self::Range(low, high) => high.saturating_sub(*low).saturating_add(1),
            Self::Prefix(_) => u64::MAX,
        }
    }
}

/// Whether a column that takes over one of these values keeps it. NULL and zero may be replaced by the server.
fn is_kept(column: &ColumnInfo, part: &SlotPart) -> bool {
    if column.generated {
        return false;
    }
    match part {
        SlotPart::Points(keys) => {
            let zero = key_of_assigned(&column.key, &Datum::Int(0), Zone::Other);
            let is_zero = |key: &Key| column.auto_increment && Some(key) == zero.as_ref();
            keys.iter().all(|key| (*key != Key::Null || column.nullable) && !is_zero(key))
        }
        SlotPart::Range(..) | SlotPart::Prefix(_) => !column.auto_increment,
    }
}

/// Whether the server may change the column when these are assigned.
pub(super) fn may_change(column: &ColumnInfo, assigned: &AssignedKey) -> bool {
    column.generated || column.on_update || assigned.iter().any(|(name, _)| *name == column.name)
}

/// Returns the key of a column after an assignment; `None` if the server may store something else.
pub(super) fn stored(column: &ColumnInfo, datum: &Datum, values: Values<'_>) -> Option<Key> {
    let is_filled_in = match datum {
        Datum::Null => !column.nullable,
        // Zero stands for the next number.
        _ => column.auto_increment && is_zero(datum),
    };
    let is_computed = column.generated || is_filled_in;
    if is_computed { None } else { key_of_assigned(&column.key, datum, values.zone) }
}

fn is_zero(datum: &Datum) -> bool {
    match datum {
        Datum::Int(value) => *value == 0,
        // It is not followed how the server reads the value.
        _ => true,
    }
}

fn part(column: &ColumnInfo, condition: &Condition, values: Values<'_>, is_range: bool) -> Option<SlotPart> {
    if let Some(keys) = points(column, condition, values) {
        return Some(SlotPart::Points(keys));
    }
    if let Some(range) = range(&column.key, condition, values) {
        let (low, high) = range.into_inner();
        let is_short = low > high || high - low < SHORT_RANGE_MAX;
        return match is_range {
            true => Some(SlotPart::Range(low, high)),
            false => is_short.then(|| SlotPart::Points((low..=high).map(Key::Ordered).collect())),
        };
    }
    if !is_range {
        return None;
    }
    prefix(&column.key, condition, values).map(SlotPart::Prefix)
}

/// Returns the parts of a range's column on all levels, or in all lengths of prefixes, that are in use. `None`: too many, or the part is
/// not known exactly enough.
fn tails_in_use(part: &SlotPart, uses: u64) -> Option<Vec<Tail>> {
    let mut tails = Vec::new();
    match part {
        SlotPart::Points(keys) => {
            for key in keys {
                match key {
                    Key::Null => tails.push(Tail::Null),
                    Key::Ordered(key) => {
                        tails.extend(bits(uses).map(|level| Tail::Block(KeyBlock::of(*key, level))));
                    }
                    Key::Text(text) => tails.extend(bits(uses).filter_map(|len| prefix_tail(text, len))),
                }
            }
        }
        SlotPart::Range(low, high) if low <= high => {
            for level in bits(uses) {
                let (first, count) = span(*low, *high, level);
                if count > TOUCHED_MAX as u64 {
                    return None;
                }
                tails.extend((0..count).map(|offset| Tail::Block(KeyBlock { level, index: first + offset })));
            }
        }
        SlotPart::Range(..) => {}
        SlotPart::Prefix(prefix) => {
            for len in bits(uses) {
                tails.push(prefix_tail(prefix, len)?);
            }
        }
    }
    (tails.len() <= TOUCHED_MAX).then_some(tails)
}

/// Returns the prefix of this length. `None` if the text is shorter.
fn prefix_tail(text: &[u8], len: u32) -> Option<Tail> {
    Some(Tail::Prefix(text.get(..usize::try_from(len).ok()?)?.to_vec()))
}

#[cfg(test)]
mod tests;
