//! Writes of several tables, or of rows that are read: what the definitions of the tables say about them.
//!
//! A statement's text says to which columns equality carries a value, and from which column a new row takes a value. Whether that is so
//! depends on the columns' types. The writes that this module returns need no other table to be understood.
//!
//! A UNION gives each of its columns one type for all of its branches, and each branch is a write of its own here. A branch's value is
//! stored unchanged only where no other branch gives the column another type.
//!
//! An UPDATE gives rows new values while it still looks for others. A pin that came by a column to which the statement itself may give
//! another value says nothing. Nor does a pin on a column of a table that the statement names twice, if it changes that column.

use std::sync::Arc;

use freshet_sql::{Condition, Datum, Given, Pin, RowWrite, RowWrites};

use super::key::KeyType;
use super::plan::named;
use super::reading::null_has_key;
use super::write::may_change;
use crate::{ColumnInfo, TableInfo, TableKind};

/// Returns the writes of a statement, each with its table, and with pins that need no other table. `tables` are the definitions in the
/// order of [`RowWrites::tables`]. `None` if a written object is not a table whose columns are known.
#[must_use]
pub fn settled(writes: RowWrites, tables: &[Arc<TableInfo>]) -> Option<Vec<(Arc<TableInfo>, RowWrite)>> {
    let statement = SettledStatement { tables, updates: updates(&writes.writes, tables) };
    let mixed = statement.mixed(&writes.writes);
    let each = writes.writes.into_iter().map(|(at, write)| {
        let write = without(write, &mixed);
        let table = tables.get(at)?;
        let is_known = table.kind == TableKind::Base && !table.columns.is_empty();
        is_known.then(|| (Arc::clone(table), statement.settle(at, write)))
    });
    each.collect()
}

/// Returns the write without the values of the columns at these places.
fn without(mut write: RowWrite, mixed: &[usize]) -> RowWrite {
    if let RowWrite::Fill { given, .. } = &mut write {
        let columns = given.iter_mut().enumerate().filter(|(place, _)| mixed.contains(place));
        columns.for_each(|(_, given)| *given = Given::Other);
    }
    write
}

/// The assignments to each table.
type Updates = Vec<(Arc<TableInfo>, Vec<(String, Datum)>)>;

fn updates(writes: &[(usize, RowWrite)], tables: &[Arc<TableInfo>]) -> Updates {
    let update = |(at, write): &(usize, RowWrite)| match write {
        RowWrite::Update { assigned, .. } => Some((Arc::clone(tables.get(*at)?), assigned.clone())),
        _ => None,
    };
    writes.iter().filter_map(update).collect()
}

/// Families of types. A UNION makes one type of a family's types, which holds all values unchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// NULL, which is of any family.
    Null,
    Integer,
    Text,
}

/// All parts of a statement.
struct SettledStatement<'a> {
    tables: &'a [Arc<TableInfo>],
    updates: Updates,
}

impl SettledStatement<'_> {
    fn settle(&self, at: usize, write: RowWrite) -> RowWrite {
        match write {
            RowWrite::Update { table, assigned, pins } => {
                RowWrite::Update { table, assigned, pins: self.holding(at, pins) }
            }
            RowWrite::Delete { table, pins } => RowWrite::Delete { table, pins: self.holding(at, pins) },
            RowWrite::Fill { table, columns, given, on_duplicate } => {
                let to = |index: usize| self.filled(at, columns.as_deref(), index);
                let given = given.into_iter().enumerate().map(|(index, given)| self.taken(given, to(index)));
                let given = given.collect();
                RowWrite::Fill { table, columns, given, on_duplicate }
            }
            other => other,
        }
    }

    /// Returns the places of a UNION's columns that may have another type than a branch gives them. Integers beside integers, and texts
    /// beside texts, keep their values.
    fn mixed(&self, writes: &[(usize, RowWrite)]) -> Vec<usize> {
        let of = |(_, write): &'_ (usize, RowWrite)| match write {
            RowWrite::Fill { given, .. } => given.iter().map(|given| self.family(given)).collect(),
            _ => Vec::new(),
        };
        let branches: Vec<Vec<Option<Family>>> = writes.iter().map(of).collect();
        let [first, others @ ..] = branches.as_slice() else { return Vec::new() };
        if others.is_empty() {
            return Vec::new();
        }
        let is_mixed = |place: &usize| {
            let each = branches.iter().map(|branch| branch.get(*place).copied().flatten());
            let mut said = each.filter(|family| *family != Some(Family::Null));
            let first = said.next();
            first.is_some_and(|first| first.is_none() || said.any(|other| other != first))
        };
        (0..first.len()).filter(is_mixed).collect()
    }

    /// Returns the family of the type that a UNION gives its column.
    fn family(&self, given: &Given) -> Option<Family> {
        match given {
            Given::Value(Datum::Null) => Some(Family::Null),
            Given::Value(Datum::Int(_)) => Some(Family::Integer),
            Given::Value(Datum::Text(_)) => Some(Family::Text),
            Given::Taken { from, column, .. } => match self.column(*from, column)?.key {
                KeyType::Integer { .. } => Some(Family::Integer),
                KeyType::Text { .. } => Some(Family::Text),
                _ => None,
            },
            Given::Value(_) | Given::Other => None,
        }
    }

    fn column(&self, at: usize, name: &str) -> Option<&ColumnInfo> {
        Some(named(&self.tables.get(at)?.columns, name)?.1)
    }

    /// Returns the pins of an occurrence that hold, without the columns by which they came.
    fn holding(&self, at: usize, pins: Vec<Pin>) -> Vec<Pin> {
        let Some(table) = self.tables.get(at) else { return Vec::new() };
        let is_named_twice = self.tables.iter().filter(|other| other.name == table.name).count() > 1;
        let holds = |pin: &Pin| {
            self.came_alike(at, pin) && !(is_named_twice && self.may_have_changed(at, &pin.column))
        };
        pins.into_iter().filter(holds).map(|pin| Pin { via: Vec::new(), ..pin }).collect()
    }

    /// Whether equality carried the value to the column by the column's own comparison, through columns that keep their values.
    fn came_alike(&self, at: usize, pin: &Pin) -> bool {
        let Some(column) = self.column(at, &pin.column) else { return false };
        pin.via.iter().all(|(via, name)| {
            let compares_alike =
                self.column(*via, name).is_some_and(|via| via.key.compares_like(&column.key));
            compares_alike && !self.may_have_changed(*via, name)
        })
    }

    /// Whether the statement may give a column of an occurrence another value.
    fn may_have_changed(&self, at: usize, name: &str) -> bool {
        let (Some(table), Some(column)) = (self.tables.get(at), self.column(at, name)) else { return true };
        let of_table = self.updates.iter().filter(|(updated, _)| updated.name == table.name);
        of_table.into_iter().any(|(_, assigned)| may_change(column, assigned))
    }

    /// Returns the column that gets the value with this index.
    fn filled(&self, at: usize, columns: Option<&[String]>, index: usize) -> Option<&ColumnInfo> {
        match columns {
            Some(columns) => self.column(at, columns.get(index)?),
            None => self.tables.get(at)?.columns.get(index),
        }
    }

    /// Returns the value that a column is given. A value from another column counts only if it is taken over unchanged.
    fn taken(&self, given: Given, to: Option<&ColumnInfo>) -> Given {
        let Given::Taken { from, column, pins } = given else { return given };
        let (Some(source), Some(to)) = (self.column(from, &column), to) else { return Given::Other };
        if !source.key.is_stored_alike(&to.key) {
            return Given::Other;
        }
        let says = |pin: &Pin| {
            self.came_alike(from, pin) && (pin.condition != Condition::IsNull || null_has_key(source))
        };
        let pins = pins.into_iter().filter(says).map(|pin| Pin { via: Vec::new(), ..pin }).collect();
        Given::Taken { from, column, pins }
    }
}

impl KeyType {
    /// Whether a column of the other type takes over every value of this type unchanged.
    fn is_stored_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer { bytes: from, .. }, Self::Integer { bytes: to, .. }) => {
                self.compares_like(other) && from <= to
            }
            (Self::Text { chars: from, .. }, Self::Text { chars: to, .. }) => {
                self.compares_like(other) && from <= to
            }
            (Self::Bytes { len: from }, Self::Bytes { len: to }) => from <= to,
            (one, other) => *one != Self::None && one == other,
        }
    }
}

#[cfg(test)]
mod tests;
