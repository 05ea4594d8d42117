//! What the text of a write tells of the rows that it touches, whatever is in the tables.
//!
//! A row is a set of ids, and for each column a set of codes. What the text does not say may be anything: a row may have been
//! written around Freshet a moment ago.

use crate::model::{COLUMNS, Column, ROWS, Row, Table};

/// A set of ids, or of a column's codes, as bits; the code that stands for NULL is [`NULL`].
pub type Bits = u32;
/// The bit of NULL in a set of codes.
const NULL: u32 = 31;
/// Columns as bits: those of [`Column`], then these two.
pub const V: u16 = 1 << COLUMNS;
/// The primary key.
pub const ID: u16 = V << 1;
/// All of them.
const ALL: u16 = ID | (ID - 1);

/// What a row may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct May {
    ids: Bits,
    cells: [Bits; COLUMNS],
}

/// What one statement tells of a table that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The table.
    pub table: Table,
    /// Rows as they were; `None`: there were none.
    pub before: Option<May>,
    /// Rows as they are then; `None`: there are none.
    pub after: Option<May>,
    /// The columns in which a row can be another than before, as bits.
    pub changed: u16,
}

/// Returns the bit of a code.
#[must_use]
pub fn code_bit(code: Option<i8>) -> Bits {
    1 << code.map_or(NULL, |code| u32::from(code.unsigned_abs()))
}

/// Returns the bit of a column.
#[must_use]
pub const fn column_bit(column: Column) -> u16 {
    1 << column as u16
}

impl May {
    /// Any row.
    pub const ANY: Self = Self { ids: ((1 << ROWS) - 1) << 1, cells: [Bits::MAX; COLUMNS] };

    /// Returns a row with this id.
    #[must_use]
    pub fn id(id: usize) -> Self {
        Self::ids(id..id + 1)
    }

    /// Rows with these ids.
    #[must_use]
    pub fn ids(ids: std::ops::Range<usize>) -> Self {
        Self { ids: ids.fold(0, |bits, id| bits | 1 << id), ..Self::ANY }
    }

    /// This row.
    #[must_use]
    pub fn row(id: usize, row: &Row) -> Self {
        Self { cells: row.cells.map(code_bit), ..Self::id(id) }
    }

    /// The same with this in a column.
    #[must_use]
    pub fn with(mut self, column: Column, code: Option<i8>) -> Self {
        self.cells[column as usize] = code_bit(code);
        self
    }

    /// Whether it may have an id of which this holds.
    pub fn any_id(&self, holds: impl Fn(i8) -> bool) -> bool {
        (1..=ROWS).any(|id| self.ids & 1 << id != 0 && holds(i8::try_from(id).unwrap_or(0)))
    }

    /// Whether it may have in a column what this holds of.
    pub fn any_code(&self, column: Column, holds: impl Fn(Option<i8>) -> bool) -> bool {
        let codes = (0..column.codes()).filter_map(|code| i8::try_from(code).ok()).map(Some);
        codes.chain([None]).any(|code| self.cells[column as usize] & code_bit(code) != 0 && holds(code))
    }
}

impl Told {
    /// A row is made.
    #[must_use]
    pub const fn made(table: Table, after: May) -> Self {
        Self { table, before: None, after: Some(after), changed: ALL }
    }

    /// Rows go.
    #[must_use]
    pub const fn gone(table: Table, before: May) -> Self {
        Self { table, before: Some(before), after: None, changed: ALL }
    }

    /// Rows get another `v`.
    #[must_use]
    pub const fn versioned(table: Table, rows: May) -> Self {
        Self { table, before: Some(rows), after: Some(rows), changed: V }
    }

    /// Rows get another `v`, and this in a column.
    #[must_use]
    pub fn assigned(table: Table, rows: May, column: Column, code: Option<i8>) -> Self {
        let after = Some(rows.with(column, code));
        Self { after, changed: V | column_bit(column), ..Self::versioned(table, rows) }
    }

    /// A row is replaced, or made.
    #[must_use]
    pub const fn replaced(table: Table, before: May, after: May) -> Self {
        Self { before: Some(before), ..Self::made(table, after) }
    }
}
