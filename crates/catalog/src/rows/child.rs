//! What a foreign key does to a child's rows, told from the write to the parent.
//!
//! The child's rows that refer to a parent's row have the parent's values in the key's columns. InnoDB compares both columns alike, and
//! refuses a key where it cannot. So the write's pins on the parent's columns also hold for the child's columns.

use freshet_sql::{Condition, Datum, Given, OnDuplicate, Pin, RowWrite, TableName};

use super::key::{key_of_assigned, key_of_datum};
use super::plan::named;
use super::write::{may_change, stored};
use super::zone::Values;
use crate::{ColumnInfo, ForeignKey, OnDelete, OnUpdate, TableInfo};

/// What a foreign key does to the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// Nothing.
    Nothing,
    /// The same as this write to the child would do.
    Like(RowWrite),
    /// Anything, to any of the child's rows.
    Anything,
}

/// Returns what `key` does to its child when `write` changes its parent. The write is sent with these `values`.
#[must_use]
pub fn acted(
    key: &ForeignKey,
    parent: &TableInfo,
    child: &TableInfo,
    write: &RowWrite,
    values: Values<'_>,
) -> Acted {
    let action = Action { key, parent, child, values };
    match write {
        RowWrite::Insert { .. } | RowWrite::Fill { on_duplicate: OnDuplicate::Refused, .. } => Acted::Nothing,
        RowWrite::Delete { pins, .. } => action.deleted(pins),
        RowWrite::Update { assigned, pins, .. } => action.updated(assigned, pins),
        RowWrite::Upsert { columns, rows, assigned, .. } => {
            let rows = rows.iter().map(|row| row.iter().map(ChildValue::Written).collect());
            action.in_the_way(columns.as_deref(), &rows.collect::<Vec<Vec<_>>>(), assigned.as_deref())
        }
        RowWrite::Fill { columns, given, on_duplicate, .. } => {
            let assigned = match on_duplicate {
                OnDuplicate::Updated(assigned) => Some(assigned.as_slice()),
                OnDuplicate::Replaced | OnDuplicate::Refused => None,
            };
            action.in_the_way(columns.as_deref(), &[given.iter().map(ChildValue::of).collect()], assigned)
        }
    }
}

/// The value of a column in a row that replaces another row.
enum ChildValue<'a> {
    Written(&'a Datum),
    Pinned(&'a [Pin]),
}

impl<'a> ChildValue<'a> {
    fn of(given: &'a Given) -> Self {
        match given {
            Given::Value(datum) => Self::Written(datum),
            Given::Taken { pins, .. } => Self::Pinned(pins),
            Given::Other => Self::Pinned(&[]),
        }
    }
}

/// What a foreign key does when rows of the parent are deleted or updated.
struct Action<'a> {
    key: &'a ForeignKey,
    parent: &'a TableInfo,
    child: &'a TableInfo,
    values: Values<'a>,
}

impl Action<'_> {
    /// Returns what happens to the child when the rows that satisfy these pins are deleted.
    fn deleted(&self, pins: &[Pin]) -> Acted {
        match self.key.acts.on_delete {
            OnDelete::Nothing => Acted::Nothing,
            OnDelete::Anything => Acted::Anything,
            _ if self.key.columns.is_empty() => Acted::Anything,
            OnDelete::Deletes => {
                Acted::Like(RowWrite::Delete { table: self.child(), pins: self.all_carried(pins) })
            }
            OnDelete::SetsNull => self.becomes(pins, |_| Datum::Null),
        }
    }

    /// Returns what happens to the child when the rows that satisfy the pins get these values.
    fn updated(&self, assigned: &[(String, Datum)], pins: &[Pin]) -> Acted {
        if !self.acts_on(|column| may_change(column, assigned)) {
            return Acted::Nothing;
        }
        match self.key.acts.on_update {
            OnUpdate::Nothing => Acted::Nothing,
            OnUpdate::Anything => Acted::Anything,
            _ if self.key.columns.is_empty() => Acted::Anything,
            OnUpdate::SetsNull => self.becomes(pins, |_| Datum::Null),
            OnUpdate::Cascades => {
                self.becomes(pins, |columns| self.cascaded(columns, assigned, pins).unwrap_or(Datum::Other))
            }
        }
    }

    /// Returns the update of the child's rows that refer to the parent's rows with these pins: the key's columns get other values.
    fn becomes(&self, pins: &[Pin], value: impl Fn(&(String, String)) -> Datum) -> Acted {
        let columns = self.key.columns.iter();
        let assigned = columns.map(|columns| (columns.0.clone(), value(columns))).collect();
        Acted::Like(RowWrite::Update { table: self.child(), assigned, pins: self.all_carried(pins) })
    }

    /// Returns the value that a column of the child takes over from the parent's rows after their update, if both columns store it alike:
    /// the assigned value, or the only value that the rows have. `None` if it is not known.
    fn cascaded(
        &self,
        columns: &(String, String),
        assigned: &[(String, Datum)],
        pins: &[Pin],
    ) -> Option<Datum> {
        let (own, to) = self.pair(columns)?;
        let datum = if may_change(to, assigned) {
            assigned.iter().find(|(name, _)| *name == to.name).map(|(_, datum)| datum.clone())?
        } else {
            let carried = self.carried(pins, columns);
            let only = carried.iter().find_map(|pin| match &pin.condition {
                Condition::OneOf(values) => values.first().filter(|_| values.len() == 1).cloned(),
                _ => None,
            });
            only.filter(|datum| self.is_stored_as_compared(to, datum))?
        };
        let value = self.values.of(&datum)?;
        let key = stored(to, value, self.values)?;
        (stored(own, value, self.values)? == key).then_some(datum)
    }

    /// Whether a column that is given the value is equal to the value afterwards.
    fn is_stored_as_compared(&self, column: &ColumnInfo, datum: &Datum) -> bool {
        let (zone, value) = (self.values.zone, self.values.of(datum));
        value.is_some_and(|value| {
            let key = key_of_assigned(&column.key, value, zone);
            key.is_some() && key == key_of_datum(&column.key, value, zone)
        })
    }

    /// Whether an update of the columns for which `changes` is true updates a column to which the key refers.
    fn acts_on(&self, changes: impl Fn(&ColumnInfo) -> bool) -> bool {
        let is_changed =
            |name: &&str| named(&self.parent.columns, name).is_none_or(|(_, column)| changes(column));
        self.key.acts_on_update_of().is_none_or(|columns| columns.iter().any(is_changed))
    }

    fn child(&self) -> TableName {
        TableName::of(self.child.name.0.clone(), self.child.name.1.clone())
    }

    /// Returns the pins of the child's rows that follow from the parent's pins.
    fn all_carried(&self, pins: &[Pin]) -> Vec<Pin> {
        self.key.columns.iter().flat_map(|columns| self.carried(pins, columns)).collect()
    }

    /// Returns the pins of a column of the parent, as pins of the column of the child that refers to it.
    fn carried(&self, pins: &[Pin], columns: &(String, String)) -> Vec<Pin> {
        let Some((own, to)) = self.pair(columns) else { return Vec::new() };
        let came_alike = |pin: &&Pin| {
            let via = |name: &String| named(&self.parent.columns, name).map(|(_, via)| via);
            pin.via.iter().all(|(_, name)| via(name).is_some_and(|via| via.key.compares_like(&to.key)))
        };
        // A prefix says nothing of texts that are equal by collation.
        let is_of_equals =
            |pin: &&Pin| matches!(pin.condition, Condition::OneOf(_) | Condition::Between { .. });
        let on_it = pins.iter().filter(|pin| pin.column == to.name);
        let kept = on_it.filter(came_alike).filter(is_of_equals);
        kept.map(|pin| Pin { column: own.name.clone(), condition: pin.condition.clone(), via: Vec::new() })
            .collect()
    }

    /// Returns a column of the child and the column to which it refers, if a pin on the latter also holds for the former.
    fn pair(&self, (column, referenced): &(String, String)) -> Option<(&ColumnInfo, &ColumnInfo)> {
        let (_, own) = named(&self.child.columns, column)?;
        let (_, to) = named(&self.parent.columns, referenced)?;
        to.key.compares_like(&own.key).then_some((own, to))
    }

    /// Returns what happens to the child of rows that stand in the way of new rows: they have the same primary key, if no other key is
    /// unique. They are updated; or they are replaced, which deletes them, or updates them in place with their primary key.
    fn in_the_way(
        &self,
        columns: Option<&[String]>,
        rows: &[Vec<ChildValue<'_>>],
        assigned: Option<&[(String, Datum)]>,
    ) -> Acted {
        let only = self.parent.columns.iter().enumerate().find(|(_, column)| column.only_unique);
        let kept = only.map(|(_, column)| &column.name);
        if assigned.is_none() && self.acts_on(|column| Some(&column.name) != kept) {
            return Acted::Anything;
        }
        let pin = only.and_then(|(ordinal, column)| {
            let at = match columns {
                Some(columns) => columns.iter().position(|name| *name == column.name)?,
                None => ordinal,
            };
            self.found_by(column, rows, at, columns.is_some())
        });
        match assigned {
            Some(assigned) => self.updated(assigned, pin.as_slice()),
            None => self.deleted(pin.as_slice()),
        }
    }

    /// Returns the pin of the rows on the primary key: the value at a place in `row`.
    fn found_by(
        &self,
        column: &ColumnInfo,
        rows: &[Vec<ChildValue<'_>>],
        at: usize,
        is_listed: bool,
    ) -> Option<Pin> {
        let mut values = Vec::new();
        for row in rows {
            // Without a list of columns, hidden columns have no value.
            if !is_listed && row.len() != self.parent.columns.len() {
                return None;
            }
            match row.get(at)? {
                ChildValue::Written(datum) => {
                    self.is_stored_as_compared(column, datum).then_some(())?;
                    let datum = self.values.of(datum)?;
                    // A primary key is never NULL: outside of strict mode another value is stored for NULL.
                    (*datum != Datum::Null).then_some(())?;
                    values.push(datum.clone());
                }
                ChildValue::Pinned(pins) => {
                    let listed = pins.iter().find_map(|pin| match &pin.condition {
                        Condition::OneOf(values) => Some(values),
                        _ => None,
                    });
                    let listed = listed.filter(|values| !values.contains(&Datum::Null))?;
                    values.extend(listed.iter().cloned());
                }
            }
        }
        let condition = Condition::OneOf(values);
        Some(Pin { column: column.name.clone(), condition, via: Vec::new() })
    }
}

#[cfg(test)]
mod tests;
