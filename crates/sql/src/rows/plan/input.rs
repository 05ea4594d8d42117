//! The inputs of a plan: tables and queries, with the types of their columns.

use std::fmt;
use std::sync::Arc;

use crate::TableName;

/// A table, view or query that is named in a FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name that columns are qualified with.
    pub name: String,
    /// The table; None for a derived table and for a table expression.
    pub table: Option<TableName>,
    /// The columns in their order. A derived table has the columns that its query shows. A column without a name there cannot be named
    /// here, and is left out.
    pub columns: Vec<InputColumn>,
}

/// A column of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputColumn {
    /// Its name, in lower case.
    pub name: String,
    /// The column's type; None if the column is computed, or if the types of the table are not known.
    pub data_type: Option<DataType>,
    /// The column may be NULL.
    pub is_nullable: bool,
    /// `*` leaves it out.
    pub is_hidden: bool,
}

/// The type of a column as the server declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataType {
    /// Its name in lower case, such as `int`, `varchar` or `decimal`.
    pub name: Box<str>,
    /// The type is a number without a sign.
    pub is_unsigned: bool,
    /// The most characters of CHAR and VARCHAR, the most bytes of BINARY and VARBINARY, the digits of a DECIMAL.
    pub length: Option<u32>,
    /// The digits behind the point, of a DECIMAL or of the seconds of a time.
    pub scale: Option<u32>,
    /// The collation of a text.
    pub collation: Option<Box<str>>,
    /// The names of an ENUM or a SET in their order, if all are printable ASCII and the collation tells them apart. No name of a SET is
    /// empty.
    pub names: Option<Arc<[Vec<u8>]>>,
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match (self.length, self.scale) {
            (Some(length), Some(scale)) => write!(f, "({length},{scale})")?,
            (Some(length), None) | (None, Some(length)) => write!(f, "({length})")?,
            (None, None) => {}
        }
        if self.is_unsigned {
            f.write_str(" unsigned")?;
        }
        self.collation.iter().try_for_each(|collation| write!(f, " {collation}"))
    }
}

impl fmt::Display for InputColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.data_type.iter().try_for_each(|data_type| write!(f, " {data_type}"))?;
        if self.is_nullable { Ok(()) } else { f.write_str(" not null") }
    }
}

/// The known columns of an input, while a plan is made.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub all: Vec<InputColumn>,
    /// The list is complete.
    pub is_whole: bool,
}
