//! The rows that a statement reads or writes, as far as they can be found.

use crate::modes::TableName;

/// A value written in a statement, or the place of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Datum {
    /// NULL.
    Null,
    /// An integer, with its sign.
    Int(i128),
    /// An integer of 0 or more, from a comparison of a row with several rows. It does not stand for a place in a list of names.
    InRow(i64),
    /// A number with a point and without an exponent, with its sign: digits as they were written.
    Decimal(String),
    /// An integer between -2^53 and 2^53 that a parameter gives as DOUBLE. The servers compare it as DOUBLE: only for integers is it
    /// certain which values are equal to it.
    Double(i64),
    /// The content of a string: printable ASCII without a backslash, and UTF-8 of up to three bytes a character beyond it.
    Text(Vec<u8>),
    /// The same of a string whose bytes are not known: see [`crate::Modes::is_shown`]. A column of bytes may be equal to another one.
    Shown(Vec<u8>),
    /// Bytes that are no text: X'0f', 0x0f, _binary'…', and what a parameter gives beside a [`Datum::Text`]. Only columns of bytes compare
    /// them as they are.
    Bytes(Vec<u8>),
    /// A moment or a date that a parameter gives as such, as text in canonical form. The servers compare it as such, even with a text:
    /// '2024-2-9' is equal to it too.
    Moment(Vec<u8>),
    /// A `?` marker; they are numbered from 0 in the order of the text.
    Param(u16),
    /// Any other value: the text alone does not decide it. It is never part of a condition.
    Other,
}

impl Datum {
    /// Returns the characters with which a value has to begin that LIKE finds by this pattern: up to the first wildcard, and to the first
    /// character that not every collation compares by itself alone.
    #[must_use]
    pub fn beginning(&self) -> &[u8] {
        let (Self::Text(pattern) | Self::Shown(pattern) | Self::Bytes(pattern)) = self else { return &[] };
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'%' | b'_' | b'\\');
        let len = pattern.iter().position(|byte| !is_plain(byte)).unwrap_or(pattern.len());
        pattern.get(..len).unwrap_or_default()
    }
}

/// The condition that a pin sets on its column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Equal to one of these values: `=`, `IN`, `<=>`. A NULL in the list, written or from a parameter, is equal to NULL here.
    OneOf(Vec<Datum>),
    /// Between two bounds, each with a flag: whether the bound itself is included. At least one bound is there. A bound is NULL only if a
    /// parameter gives it, and then no row satisfies the condition. A parameter may also bring a text together with a number. Then the
    /// servers choose one type for both bounds and the column, and the condition says nothing.
    Between {
        /// The lower bound.
        low: Option<(Datum, bool)>,
        /// The upper bound.
        high: Option<(Datum, bool)>,
    },
    /// LIKE this pattern, without an ESCAPE: what it begins with is compared character by character, or byte by byte.
    Like(Datum),
    /// IS NULL. In a DATE or DATETIME column declared NOT NULL the servers also find '0000-00-00' by this, and with `sql_auto_is_null`
    /// the row inserted last. For such columns the condition says nothing.
    IsNull,
}

/// A condition that every row must satisfy to matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pin {
    /// The column, in lower case.
    pub column: String,
    /// The condition on the column.
    pub condition: Condition,
    /// Other columns through which an equality carried the condition here, each with the index of its occurrence. The pin holds only if
    /// all of them compare like this column: with the same type and collation.
    pub via: Vec<(usize, String)>,
}

/// One naming of a table in a statement; a self-join has two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The table, as the statement names it.
    pub table: TableName,
    /// A row that matters satisfies all pins of at least one alternative. There is at least one alternative.
    pub alternatives: Vec<Vec<Pin>>,
    /// The occurrence of the view whose text names the table; None if the statement itself names it. Within a view the name is in full.
    pub inside: Option<usize>,
    /// The occurrence is a view whose text was read. The occurrences inside of it are what the view reads.
    pub expanded: bool,
}

impl Occurrence {
    /// Returns an occurrence in the statement itself. Its table's rows that matter all satisfy the same conditions.
    #[must_use]
    pub fn of(table: TableName, pins: Vec<Pin>) -> Self {
        Self { table, alternatives: vec![pins], inside: None, expanded: false }
    }
}

/// The columns whose values can influence a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnsRead {
    /// Any column.
    All,
    /// At most these, in lower case: every identifier that occurs anywhere in the statement, or in a view that it reads.
    Named(Vec<String>),
}

/// The rows and columns that a SELECT can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReads {
    /// Every naming of a table or view, in the order of the text. Those in a view's text stand behind the view.
    pub occurrences: Vec<Occurrence>,
    /// The columns read, of all tables together.
    pub columns: ColumnsRead,
    /// Whether each row of the result is one row of the only table. False if that is not certain.
    pub shows_rows: bool,
}

/// The rows that a write can touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowWrite {
    /// INSERT of rows written out.
    Insert {
        /// The table.
        table: TableName,
        /// The columns named, in lower case; None if none is named: then each row has a value for every column in order.
        columns: Option<Vec<String>>,
        /// The values as written; each row has as many as `columns`. The server may convert them when it stores them.
        rows: Vec<Vec<Datum>>,
    },
    /// INSERT … ON DUPLICATE KEY UPDATE of rows written out, or REPLACE. Each row written out may make a new row, and may change rows
    /// that share a unique key with it.
    Upsert {
        /// The table.
        table: TableName,
        /// As in an INSERT.
        columns: Option<Vec<String>>,
        /// As in an INSERT.
        rows: Vec<Vec<Datum>>,
        /// The columns assigned in an existing row, as in an UPDATE; None if existing rows are replaced.
        assigned: Option<Vec<(String, Datum)>>,
    },
    /// INSERT or REPLACE of the rows of a query, in any number.
    Fill {
        /// The table.
        table: TableName,
        /// As in an INSERT.
        columns: Option<Vec<String>>,
        /// The content of each column of the new rows, as many as `columns`.
        given: Vec<Given>,
        /// The effect on existing rows.
        on_duplicate: OnDuplicate,
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

/// The content of a column in a row that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A value written in the statement. The server may convert it when it stores it.
    Value(Datum),
    /// The content of a column in a row of a table that the statement reads.
    Taken {
        /// The table, by its place in [`RowWrites::tables`].
        from: usize,
        /// The column there, in lower case.
        column: String,
        /// What is known of that column.
        pins: Vec<Pin>,
    },
    /// A content that is not known.
    Other,
}

/// The effect on an existing row that has a unique key of a new row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The existing row stays as it is, and the new row is not made.
    Refused,
    /// The existing row is replaced.
    Replaced,
    /// The existing row is updated. The columns assigned are given as in an UPDATE.
    Updated(Vec<(String, Datum)>),
}

impl RowReads {
    /// Returns how often the statement itself names a table or view.
    #[must_use]
    pub fn named(&self) -> usize {
        self.occurrences.iter().filter(|occurrence| occurrence.inside.is_none()).count()
    }
}

impl RowWrite {
    /// Returns the table that is written.
    #[must_use]
    pub const fn table(&self) -> &TableName {
        let (Self::Insert { table, .. }
        | Self::Upsert { table, .. }
        | Self::Fill { table, .. }
        | Self::Update { table, .. }
        | Self::Delete { table, .. }) = self;
        table
    }

    pub(crate) const fn table_mut(&mut self) -> &mut TableName {
        let (Self::Insert { table, .. }
        | Self::Upsert { table, .. }
        | Self::Fill { table, .. }
        | Self::Update { table, .. }
        | Self::Delete { table, .. }) = self;
        table
    }

    /// Whether the write makes rows, or may make rows.
    #[must_use]
    pub const fn is_insert(&self) -> bool {
        matches!(self, Self::Insert { .. } | Self::Upsert { .. } | Self::Fill { .. })
    }
}
