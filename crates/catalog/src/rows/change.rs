//! From row images to stamps: what a change in the binlog concerns.

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Position};
use freshet_protocol::binlog::{Field, Value};

use super::blocks::KeyBlock;
use super::key::{Key, key_of_field};
use super::slot::{RowSlot, Tail, bits};
use super::watch::Watch;
use crate::ColumnInfo;

/// A row before and after its change, with all of its columns. At least one of the two is there.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a, 'f> {
    /// The row before, unless it was inserted.
    pub before: Option<&'a [Field<'f>]>,
    /// The row after, unless it was deleted.
    pub after: Option<&'a [Field<'f>]>,
}

/// The ordinal of a column, with the column's key if it is known.
pub type ColumnKey = (usize, Option<Key>);

/// Where a row stands among the rows of a watch.
#[derive(PartialEq, Eq)]
struct RowPlace {
    slot: RowSlot,
    /// The key of the range's column, in a watch with a range.
    end: Option<Key>,
}

impl Watch {
    /// Whether row images with this number of columns have the watch's layout.
    pub fn fits(&self, columns: usize) -> bool {
        self.layout().len() == columns
    }

    /// Stamps the dependency of every entry that rests on this watch.
    pub fn stamp_any(&self, at: Position) {
        self.freshness().stamp(self.any(), at);
    }

    /// Stamps what a row's change concerns.
    pub fn stamp_change(&self, images: Images<'_, '_>, at: Position) {
        if let (Some(before), Some(after)) = (images.before, images.after)
            && !self.is_concerned(before, after)
        {
            return;
        }
        if self.key_columns().is_empty() {
            return self.stamp_any(at);
        }
        let before = images.before.map(|before| self.place(|column| field(before, column)));
        // A column that is not in an after image has not changed.
        let after = images.after.map(|after| {
            self.place(|column| match (field(after, column), images.before) {
                (Field::Absent, Some(before)) if !self.is_generated(column) => field(before, column),
                (field, _) => field,
            })
        });
        let is_elsewhere = before != after;
        let moves = images.before.is_some() && images.after.is_some() && is_elsewhere;
        if let Some(before) = before
            && is_elsewhere
            && !(moves && sabotage::is(Sabotage::NoBeforeImages))
        {
            self.stamp_place(before, at);
        }
        if let Some(after) = after
            && !(moves && sabotage::is(Sabotage::NoAfterImages))
        {
            self.stamp_place(after, at);
        }
    }

    /// Stamps what a cascade concerns: rows that have these keys in these columns are deleted, or an update gives these columns other
    /// keys, `after`. A column whose key is not known may have any key.
    pub fn stamp_referring(&self, before: &[ColumnKey], after: Option<&[ColumnKey]>, at: Position) {
        if after.is_some_and(|after| !self.hears_of(after)) {
            return;
        }
        if self.key_columns().is_empty() {
            return self.stamp_any(at);
        }
        for keys in [Some(before), after].into_iter().flatten() {
            let known = |ordinal: usize| keys.iter().find(|(own, _)| *own == ordinal)?.1.clone();
            match (self.place_of(known), self.part_of(known)) {
                (None, Some(part)) => self.freshness().stamp(part, at),
                (place, _) => self.stamp_place(place, at),
            }
        }
    }

    /// Returns the dependency on all rows that have the same key in one of the columns whose keys are known.
    fn part_of(&self, key: impl Fn(usize) -> Option<Key>) -> Option<Dep> {
        let equal = self.key_ordinals().take(self.spec().equal.len()).enumerate();
        let mut parts = equal.filter_map(|(index, ordinal)| Some(self.part(index, &key(ordinal)?)));
        parts.next().filter(|_| self.has_parts())
    }

    /// Whether an update of these columns changes anything that an entry can have read.
    fn hears_of(&self, keys: &[ColumnKey]) -> bool {
        let changes = |ordinal: usize| {
            keys.iter().any(|(own, _)| *own == ordinal)
                || self.layout().get(ordinal).is_none_or(|column| column.generated || column.on_update)
        };
        match &self.spec().read {
            None => true,
            Some(read) => self.key_ordinals().chain(read.iter().copied().map(usize::from)).any(changes),
        }
    }

    /// Whether an update changes anything that an entry can have read.
    fn is_concerned(&self, before: &[Field<'_>], after: &[Field<'_>]) -> bool {
        let is_changed = |column: usize| {
            is_changed(field(before, column), field(after, column), self.is_generated(column))
        };
        match &self.spec().read {
            None => (0..self.layout().len()).any(is_changed),
            Some(read) => {
                let heard = read.len().saturating_sub(usize::from(sabotage::is(Sabotage::DeafColumns)));
                let read = read.iter().take(heard).copied().map(usize::from);
                self.key_ordinals().chain(read).any(is_changed)
            }
        }
    }

    fn is_generated(&self, column: usize) -> bool {
        self.layout().get(column).is_none_or(|column| column.generated)
    }

    /// Returns a row's place. `None` if a key column is not in the image, or has no key.
    fn place<'f>(&self, field: impl Fn(usize) -> Field<'f>) -> Option<RowPlace> {
        self.place_of(|ordinal| key_of_field(&self.layout().get(ordinal)?.key, field(ordinal)))
    }

    /// Returns a row's place by the keys of its columns.
    fn place_of(&self, key: impl Fn(usize) -> Option<Key>) -> Option<RowPlace> {
        let mut keys = self.key_ordinals().map(key);
        let mut slot = RowSlot::START;
        for _ in &self.spec().equal {
            slot = slot.with(self.hash(), &keys.next()??);
        }
        let end = match self.spec().range {
            Some(_) => Some(keys.next()??),
            None => None,
        };
        Some(RowPlace { slot, end })
    }

    /// Stamps what a row at this place concerns; `None`: the row may be anywhere.
    fn stamp_place(&self, place: Option<RowPlace>, at: Position) {
        let Some(RowPlace { slot, end }) = place else { return self.stamp_any(at) };
        let (hash, freshness) = (self.hash(), self.freshness());
        match end {
            None => freshness.stamp(self.dep(slot), at),
            Some(Key::Null) => freshness.stamp(self.dep(slot.ending_in(hash, &Tail::Null)), at),
            Some(Key::Ordered(key)) => {
                let is_stamped = |level: &u32| *level == 0 || !sabotage::is(Sabotage::NoRangeLevels);
                for level in bits(self.uses()).filter(is_stamped) {
                    freshness.stamp(self.dep(slot.in_block(hash, KeyBlock::of(key, level))), at);
                }
            }
            Some(Key::Text(text)) => {
                let lens = bits(self.uses()).filter_map(|len| text.get(..usize::try_from(len).ok()?));
                for prefix in lens {
                    freshness.stamp(self.dep(slot.starting_with(hash, prefix)), at);
                }
            }
        }
    }
}

fn field<'f>(image: &[Field<'f>], column: usize) -> Field<'f> {
    image.get(column).copied().unwrap_or(Field::Absent)
}

/// Whether an update may have changed the column with this ordinal.
pub fn may_have_changed(
    ordinal: usize,
    column: &ColumnInfo,
    before: &[Field<'_>],
    after: &[Field<'_>],
) -> bool {
    is_changed(field(before, ordinal), field(after, ordinal), column.generated)
}

/// Whether a column has changed. Images may leave out columns that have not changed (`binlog_row_image`). That a computed column is left
/// out does not count as a proof.
fn is_changed(before: Field<'_>, after: Field<'_>, is_generated: bool) -> bool {
    match (before, after) {
        (_, Field::Absent) => is_generated,
        (Field::Absent, _) => true,
        (before, after) => !is_same(before, after),
    }
}

/// Whether both fields show the same. Floats are told apart by their bits: the two zeros are equal and are shown differently.
fn is_same(one: Field<'_>, other: Field<'_>) -> bool {
    match (one, other) {
        (Field::Value(Value::Float(one)), Field::Value(Value::Float(other))) => {
            one.to_bits() == other.to_bits()
        }
        (Field::Value(Value::Double(one)), Field::Value(Value::Double(other))) => {
            one.to_bits() == other.to_bits()
        }
        (Field::Value(Value::JsonPartial(_)), _) | (_, Field::Value(Value::JsonPartial(_))) => false,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests;
