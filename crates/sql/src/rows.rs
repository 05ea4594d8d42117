//! Which rows a statement can read or touch.
//!
//! What is found here only ever narrows: a *pin* is a condition that a row must satisfy to influence a result, or to be
//! touched by a write. Whatever is not recognised yields no pin, and whatever is doubtful yields nothing at all, so that
//! the caller falls back to the whole table.

use std::sync::Arc;

use crate::modes::{Modes, TableName};

/// A value written in a statement, or the place of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Datum {
    /// NULL.
    Null,
    /// An integer, with its sign.
    Int(i128),
    /// A number with a point and without an exponent, with its sign: digits as they were written.
    Decimal(String),
    /// The content of a string; printable ASCII without a backslash.
    Text(Vec<u8>),
    /// A `?` marker; they are numbered from 0 in the order of the text.
    Param(u16),
    /// Any other value: it cannot be told from the text alone. Never part of a condition.
    Other,
}

/// What a pinned column must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Equal to one of these: `=`, `IN`, `<=>`. A NULL among them, written or by parameter, is equal to NULL here.
    OneOf(Vec<Datum>),
    /// Between two bounds, each with whether it is itself included; at least one is there. Neither is NULL unless it is
    /// a parameter, and then no row satisfies it.
    Between {
        /// The lower bound.
        low: Option<(Datum, bool)>,
        /// The upper bound.
        high: Option<(Datum, bool)>,
    },
    /// LIKE 'abc%': starts with this text, which holds ASCII letters, digits, blanks and `-` only.
    Prefix(Datum),
    /// IS NULL. The servers also find '0000-00-00' in a DATE or DATETIME column declared NOT NULL by this, and with
    /// `sql_auto_is_null` the row inserted last: of such columns it says nothing.
    IsNull,
}

/// A condition that every row must satisfy to matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pin {
    /// The column, in lower case.
    pub column: String,
    /// What it must be.
    pub condition: Condition,
    /// Other columns, by the index of their occurrence, through which equality carried the value here. The pin holds only
    /// if all of them compare as this column does: the same type and collation.
    pub via: Vec<(usize, String)>,
}

/// One naming of a table in a statement; a self-join has two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The table, as the statement names it.
    pub table: TableName,
    /// Conditions that all of its rows that matter satisfy, each for itself.
    pub pins: Vec<Pin>,
}

/// The columns whose values can influence a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnsRead {
    /// Any of them.
    All,
    /// At most these, in lower case: every identifier that occurs anywhere in the statement.
    Named(Vec<String>),
}

/// What a SELECT can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReads {
    /// Every naming of a table, in the order of the text.
    pub occurrences: Vec<Occurrence>,
    /// The columns read, of all tables together.
    pub columns: ColumnsRead,
}

/// What a write can touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowWrite {
    /// INSERT of rows written out.
    Insert {
        /// The table.
        table: TableName,
        /// The columns named, in lower case; None if none were: then there is a value for every column in order.
        columns: Option<Vec<String>>,
        /// The values as written, each row as long as `columns`. What the server stores may be converted.
        rows: Vec<Vec<Datum>>,
    },
    /// UPDATE of one table.
    Update {
        /// The table.
        table: TableName,
        /// The columns assigned, in lower case and once each, with the value as written.
        assigned: Vec<(String, Datum)>,
        /// What every touched row satisfies before it is touched.
        pins: Vec<Pin>,
    },
    /// DELETE from one table.
    Delete {
        /// The table.
        table: TableName,
        /// What every touched row satisfies.
        pins: Vec<Pin>,
    },
}

/// What a SELECT can read, row by row; None: the whole of its tables.
///
/// `columns_of` gives a table's column names in lower case, or None if it is unknown or a view.
pub fn row_reads(
    text: &[u8],
    modes: Modes,
    columns_of: &dyn Fn(&TableName) -> Option<Arc<[String]>>,
) -> Option<RowReads> {
    let _ = (text, modes, columns_of);
    None
}

/// Which rows a write touches; None: any row of whatever it names.
///
/// What triggers and foreign keys do beyond that is not known here.
pub fn row_write(text: &[u8], modes: Modes) -> Option<RowWrite> {
    let _ = (text, modes);
    None
}
