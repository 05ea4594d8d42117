//! What is told of the rows that a statement reads or writes.

use crate::modes::TableName;

/// A value written in a statement, or the place of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Datum {
    /// NULL.
    Null,
    /// An integer, with its sign.
    Int(i128),
    /// An integer that is compared within a row with several rows, 0 or more: it does not stand for a place in a list of names.
    InRow(i64),
    /// A number with a point and without an exponent, with its sign: digits as they were written.
    Decimal(String),
    /// An integer of less than 2^53 either way that a parameter gives as DOUBLE. The servers compare it as such: only with integers is it
    /// certain what is equal to it.
    Double(i64),
    /// The content of a string: printable ASCII without a backslash, and UTF-8 of up to three bytes a character beyond it.
    Text(Vec<u8>),
    /// A moment or a date that a parameter gives as such, in the canonical form of its text. The servers compare it as what it
    /// is, even with a text: '2024-2-9' is equal to it too.
    Moment(Vec<u8>),
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
    /// a parameter, and then no row satisfies it. Where a text meets a number, which only parameters can bring about, the
    /// servers choose one type for both and the column: then it says nothing.
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
    /// A row of it that matters satisfies all conditions of at least one of these; there is one at least.
    pub alternatives: Vec<Vec<Pin>>,
    /// The occurrence of the view whose text names it; None if the statement itself does. Its name is in full then.
    pub inside: Option<usize>,
    /// It is a view, and its text was read: what it reads are the occurrences inside of it.
    pub expanded: bool,
}

impl Occurrence {
    /// One in the statement itself, of a table, all of whose rows that matter satisfy the same conditions.
    #[must_use]
    pub fn of(table: TableName, pins: Vec<Pin>) -> Self {
        Self { table, alternatives: vec![pins], inside: None, expanded: false }
    }
}

/// The columns whose values can influence a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnsRead {
    /// Any of them.
    All,
    /// At most these, in lower case: every identifier that occurs anywhere in the statement, or in a view that it reads.
    Named(Vec<String>),
}

/// What a SELECT can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReads {
    /// Every naming of a table or view, in the order of the text; those in a view's text behind the view.
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
    /// INSERT … ON DUPLICATE KEY UPDATE of rows written out, or REPLACE: each may make a row, and may change those that
    /// have one of its unique keys.
    Upsert {
        /// The table.
        table: TableName,
        /// As in an INSERT.
        columns: Option<Vec<String>>,
        /// As in an INSERT.
        rows: Vec<Vec<Datum>>,
        /// What is assigned to a row that is there, as in an UPDATE; None if such rows are replaced.
        assigned: Option<Vec<(String, Datum)>>,
    },
    /// INSERT or REPLACE of rows that a query shows, of which there may be any number.
    Fill {
        /// The table.
        table: TableName,
        /// As in an INSERT.
        columns: Option<Vec<String>>,
        /// What each row is given, as long as `columns`.
        given: Vec<Given>,
        /// What becomes of rows that are there.
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

/// What a row that is made holds in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// What is written. What the server stores may be converted.
    Value(Datum),
    /// What a row of a table that is read holds in a column.
    Taken {
        /// The table, by its place in [`RowWrites::tables`].
        from: usize,
        /// The column there, in lower case.
        column: String,
        /// What is known of that column.
        pins: Vec<Pin>,
    },
    /// It cannot be told.
    Other,
}

/// What becomes of a row that stands in the way of a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It stays as it is, and the new one is not made.
    Refused,
    /// It is replaced.
    Replaced,
    /// It is updated: the columns assigned, as in an UPDATE.
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

    /// Whether it makes rows, or may.
    #[must_use]
    pub const fn is_insert(&self) -> bool {
        matches!(self, Self::Insert { .. } | Self::Upsert { .. } | Self::Fill { .. })
    }
}
