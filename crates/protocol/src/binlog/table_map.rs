//! TABLE_MAP: the shape of a table's rows.

/// One column, as far as the event describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The column's type, as the servers number it (`MYSQL_TYPE_*`); for enum
    /// and set the real type, not the string that they are sent as.
    pub kind: u8,
    /// The type's own parameters: lengths, precision, fractional digits.
    pub meta: u16,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether a numeric column is unsigned; `None` if the event does not say.
    pub unsigned: Option<bool>,
    /// Its name (`binlog_row_metadata=FULL`).
    pub name: Option<Vec<u8>>,
    /// Its collation's id, of strings, enums and sets.
    pub collation: Option<u16>,
    /// The values of an enum or set (`binlog_row_metadata=FULL`).
    pub values: Vec<Vec<u8>>,
    /// Whether it is visible; true if the event does not say.
    pub visible: bool,
}

/// Which table a number stands for in the rows events that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// The number, until the next statement.
    pub id: u64,
    /// The table's schema.
    pub schema: Vec<u8>,
    /// The table's name.
    pub table: Vec<u8>,
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
    /// The primary key's columns in key order, each with the length of its
    /// prefix in characters or 0 for the whole column; empty if the event does
    /// not say (`binlog_row_metadata=FULL`) or there is no primary key.
    pub primary_key: Vec<(usize, u32)>,
}
