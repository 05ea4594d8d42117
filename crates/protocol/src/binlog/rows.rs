//! Rows events, and the rows in them.

use super::table_map::TableMap;
use super::value::Field;
use crate::Malformed;

/// What happened to the rows of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// Each row has an after image.
    Insert,
    /// Each row has both images.
    Update,
    /// Each row has a before image.
    Delete,
}

/// Rows of one table that one statement changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The number that a [`TableMap`] gave the table.
    pub table_id: u64,
    /// What happened to them.
    pub kind: RowsKind,
    /// No more rows of this statement follow.
    pub last_of_statement: bool,
    width: usize,
}

impl Rows {
    /// The rows, where they lie.
    pub fn rows<'a>(&'a self, _map: &'a TableMap) -> Result<RowChanges<'a>, Malformed> {
        unimplemented!()
    }
}

/// The rows of an event, one change at a time.
#[derive(Clone, Debug)]
pub struct RowChanges<'a> {
    map: &'a TableMap,
}

impl<'a> Iterator for RowChanges<'a> {
    type Item = Result<RowChange<'a>, Malformed>;
    fn next(&mut self) -> Option<Self::Item> {
        unimplemented!()
    }
}

/// One row's change.
#[derive(Clone, Copy, Debug)]
pub struct RowChange<'a> {
    /// The row before it, unless it was inserted.
    pub before: Option<RowImage<'a>>,
    /// The row after it, unless it was deleted.
    pub after: Option<RowImage<'a>>,
}

/// One row as it was or as it became.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    map: &'a TableMap,
}

impl<'a> RowImage<'a> {
    /// Its columns, in order.
    pub fn fields(&self) -> Fields<'a> {
        unimplemented!()
    }
    /// One column, by its ordinal from 0; it walks over those before it.
    pub fn field(&self, _column: usize) -> Result<Field<'a>, Malformed> {
        unimplemented!()
    }
}

/// The columns of a row image, in the table's order.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    map: &'a TableMap,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;
    fn next(&mut self) -> Option<Self::Item> {
        unimplemented!()
    }
}
