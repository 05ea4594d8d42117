//! What a plan reads: tables and queries, with the types of their columns.

use std::fmt;
use std::sync::Arc;

use crate::TableName;

/// What is named in a FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name that columns are qualified with.
    pub name: String,
    /// None for a derived table, and for a table expression.
    pub table: Option<TableName>,
    /// Its columns in their order. A derived table's are those that its query shows; a column that has no name there cannot be
    /// named here either, and is left out.
    pub columns: Vec<InputColumn>,
}

/// A column of what is named in a FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputColumn {
    /// Its name, in lower case.
    pub name: String,
    /// None where it is computed, and where nothing is known of the table's types.
    pub data_type: Option<DataType>,
    /// It may be NULL.
    pub is_nullable: bool,
    /// `*` leaves it out.
    pub is_hidden: bool,
}

/// The type of a column as the server declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataType {
    /// Its name in lower case, such as `int`, `varchar` or `decimal`.
    pub name: Box<str>,
    /// Of a number that has no sign.
    pub is_unsigned: bool,
    /// The most characters of CHAR and VARCHAR, the most bytes of BINARY and VARBINARY, the digits of a DECIMAL.
    pub length: Option<u32>,
    /// The digits behind the point: of a DECIMAL, and of the seconds of a time.
    pub scale: Option<u32>,
    /// Of a text.
    pub collation: Option<Box<str>>,
    /// The names of an ENUM or a SET in their order, if they are printable ASCII and its collation tells them apart. No name of a SET is empty.
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

/// What is known of an input's columns while a plan is made.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub all: Vec<InputColumn>,
    /// There are no others.
    pub is_whole: bool,
}
