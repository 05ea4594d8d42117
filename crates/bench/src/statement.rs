//! A statement, independent of its encoding.

/// The forms of statements, with `{t}` for the table. Those of sysbench have its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One row by its primary key.
    Point,
    /// One row by its primary key, with a text that no other statement has.
    Once,
    /// One row by its primary key, with the time in the answer, so that no cache may store it.
    Volatile,
    /// A hundred rows.
    Range,
    /// The sum over a hundred rows.
    Sum,
    /// A hundred rows in order.
    Ordered,
    /// The distinct values of a hundred rows.
    Distinct,
    /// Changes an indexed column.
    UpdateIndexed,
    /// Changes another column.
    UpdateOther,
    /// Deletes a row.
    Delete,
    /// Inserts the row again.
    Insert,
}

impl Form {
    /// All forms, in the order of their numbers.
    pub const ALL: [Form; 11] = [
        Form::Point,
        Form::Once,
        Form::Volatile,
        Form::Range,
        Form::Sum,
        Form::Ordered,
        Form::Distinct,
        Form::UpdateIndexed,
        Form::UpdateOther,
        Form::Delete,
        Form::Insert,
    ];

    /// Returns the text, with a question mark for each value.
    pub fn text(self) -> &'static str {
        match self {
            Form::Point => "SELECT c FROM {t} WHERE id=?",
            Form::Once => "SELECT c FROM {t} WHERE id=? AND k<>?",
            Form::Volatile => "SELECT c, NOW() FROM {t} WHERE id=?",
            Form::Range => "SELECT c FROM {t} WHERE id BETWEEN ? AND ?",
            Form::Sum => "SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?",
            Form::Ordered => "SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c",
            Form::Distinct => "SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c",
            Form::UpdateIndexed => "UPDATE {t} SET k=k+1 WHERE id=?",
            Form::UpdateOther => "UPDATE {t} SET c=? WHERE id=?",
            Form::Delete => "DELETE FROM {t} WHERE id=?",
            Form::Insert => "INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)",
        }
    }

    /// Whether a statement of this form reads.
    pub fn reads(self) -> bool {
        (self as usize) < Form::UpdateIndexed as usize
    }
}

/// A value in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// No value.
    None,
    /// A number.
    Int(u32),
    /// A text of digits.
    Digits {
        /// The number.
        number: u32,
        /// The length in bytes; it is filled up with zeros.
        width: usize,
    },
}

/// The most values of a statement.
pub const VALUES_MAX: usize = 4;

/// The next action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// Begins a transaction.
    Begin,
    /// Ends the transaction.
    Commit,
    /// A statement that reads or writes.
    Of {
        /// The form.
        form: Form,
        /// The table's number, from 1.
        table: u32,
        /// The values.
        values: [Value; VALUES_MAX],
    },
}

impl Statement {
    /// Whether the statement reads rows.
    pub fn reads(&self) -> bool {
        matches!(self, Statement::Of { form, .. } if form.reads())
    }
}
