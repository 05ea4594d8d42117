//! What a foreign key does to a child's rows, told from the write to the parent.
//!
//! The child's rows that go with a parent's are those whose columns are equal to the ones that the key refers to. InnoDB
//! compares both alike, and refuses a key where it cannot. So what the write's pins say of the parent's columns holds of
//! the child's.

use freshet_sql::{Condition, Datum, Given, OnDuplicate, Pin, RowWrite, TableName};

use super::key::{key_of_assigned, key_of_datum};
use super::plan::named;
use super::write::may_change;
use super::zone::Values;
use crate::{ColumnInfo, ForeignKey, OnDelete, OnUpdate, TableInfo};

/// What a foreign key does to the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// Nothing.
    Nothing,
    /// The same as this write to the child.
    Like(RowWrite),
    /// Anything, to any of its rows.
    Anything,
}

/// What `key` does to its child when `write` changes its parent. The write is sent with these `values`.
#[must_use]
pub fn acted(
    key: &ForeignKey,
    (parent, child): (&TableInfo, &TableInfo),
    write: &RowWrite,
    values: Values<'_>,
) -> Acted {
    let deletion = Deletion { key, parent, child, values };
    match write {
        RowWrite::Insert { .. } | RowWrite::Fill { on_duplicate: OnDuplicate::Refused, .. } => Acted::Nothing,
        RowWrite::Delete { pins, .. } => deletion.of(pins),
        RowWrite::Update { assigned, .. }
        | RowWrite::Upsert { assigned: Some(assigned), .. }
        | RowWrite::Fill { on_duplicate: OnDuplicate::Updated(assigned), .. } => {
            let changes = |name: &String| {
                named(&parent.columns, name).is_none_or(|(_, column)| may_change(column, assigned))
            };
            updated(key, &changes)
        }
        // A row that is replaced may be deleted, or updated in its place, where it keeps what it was found by.
        RowWrite::Upsert { columns, rows, assigned: None, .. } => {
            let rows = rows.iter().map(|row| row.iter().map(ChildValue::Written).collect());
            deletion.replaced(columns.as_deref(), &rows.collect::<Vec<Vec<_>>>())
        }
        RowWrite::Fill { columns, given, on_duplicate: OnDuplicate::Replaced, .. } => {
            deletion.replaced(columns.as_deref(), &[given.iter().map(ChildValue::of).collect()])
        }
    }
}

fn updated(key: &ForeignKey, changes: &dyn Fn(&String) -> bool) -> Acted {
    match &key.acts.on_update {
        OnUpdate::Never => Acted::Nothing,
        OnUpdate::OfColumns(columns) if !columns.iter().any(changes) => Acted::Nothing,
        OnUpdate::OfColumns(_) | OnUpdate::OfAny => Acted::Anything,
    }
}

/// What a row that replaces another is given in a column.
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

/// Rows of a parent are deleted.
struct Deletion<'a> {
    key: &'a ForeignKey,
    parent: &'a TableInfo,
    child: &'a TableInfo,
    values: Values<'a>,
}

impl Deletion<'_> {
    /// Those that satisfy these.
    fn of(&self, pins: &[Pin]) -> Acted {
        let pins: Vec<Pin> =
            self.key.columns.iter().flat_map(|columns| self.carried(pins, columns)).collect();
        let table = TableName::of(self.child.name.0.clone(), self.child.name.1.clone());
        match self.key.acts.on_delete {
            OnDelete::Nothing => Acted::Nothing,
            OnDelete::Anything => Acted::Anything,
            _ if self.key.columns.is_empty() => Acted::Anything,
            OnDelete::Deletes => Acted::Like(RowWrite::Delete { table, pins }),
            OnDelete::SetsNull => {
                let null = |(column, _): &(String, String)| (column.clone(), Datum::Null);
                let assigned = self.key.columns.iter().map(null).collect();
                Acted::Like(RowWrite::Update { table, assigned, pins })
            }
        }
    }

    /// The pins of a column of the parent, as pins of the child's that refers to it.
    fn carried(&self, pins: &[Pin], (column, referenced): &(String, String)) -> Vec<Pin> {
        let Some((own, to)) = self.pair((column, referenced)) else { return Vec::new() };
        let came_alike = |pin: &&Pin| {
            let via = |name: &String| named(&self.parent.columns, name).map(|(_, via)| via);
            pin.via.iter().all(|(_, name)| via(name).is_some_and(|via| via.key.compares_like(&to.key)))
        };
        // A prefix says nothing of what is equal by collation.
        let is_of_equals =
            |pin: &&Pin| matches!(pin.condition, Condition::OneOf(_) | Condition::Between { .. });
        let on_it = pins.iter().filter(|pin| pin.column == to.name);
        let kept = on_it.filter(came_alike).filter(is_of_equals);
        kept.map(|pin| Pin { column: own.name.clone(), condition: pin.condition.clone(), via: Vec::new() })
            .collect()
    }

    /// A column of the child and the one that it refers to, if what is known of this one holds of that one.
    fn pair(&self, (column, referenced): (&String, &String)) -> Option<(&ColumnInfo, &ColumnInfo)> {
        let (_, own) = named(&self.child.columns, column)?;
        let (_, to) = named(&self.parent.columns, referenced)?;
        to.key.compares_like(&own.key).then_some((own, to))
    }

    /// Those in whose place others come that have the same primary key, if no other key is unique.
    fn replaced(&self, columns: Option<&[String]>, rows: &[Vec<ChildValue<'_>>]) -> Acted {
        let only = self.parent.columns.iter().enumerate().find(|(_, column)| column.only_unique);
        let kept = only.map(|(_, column)| &column.name);
        if updated(self.key, &|name| Some(name) != kept) == Acted::Anything {
            return Acted::Anything;
        }
        let pin = only.and_then(|(ordinal, column)| {
            let at = match columns {
                Some(columns) => columns.iter().position(|name| *name == column.name)?,
                None => ordinal,
            };
            self.found_by(column, rows, (at, columns.is_some()))
        });
        self.of(pin.as_slice())
    }

    /// What the rows have in the primary key, which is the value at a place.
    fn found_by(
        &self,
        column: &ColumnInfo,
        rows: &[Vec<ChildValue<'_>>],
        (at, is_listed): (usize, bool),
    ) -> Option<Pin> {
        let mut values = Vec::new();
        for row in rows {
            // Without a list of columns, hidden ones have no value.
            if !is_listed && row.len() != self.parent.columns.len() {
                return None;
            }
            match row.get(at)? {
                ChildValue::Written(datum) => {
                    let datum = self.values.of(datum)?;
                    // A primary key is never NULL: outside of strict mode another value is stored for it.
                    (*datum != Datum::Null).then_some(())?;
                    let key = key_of_assigned(&column.key, datum, self.values.zone)?;
                    (Some(key) == key_of_datum(&column.key, datum, self.values.zone)).then_some(())?;
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
