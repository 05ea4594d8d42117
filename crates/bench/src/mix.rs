//! The mixes of statements.

use clap::ValueEnum;

use crate::statement::Form;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mix {
    /// Point selects, with the share of updates that --writes says.
    Points,
    /// Point selects, no two of which are the same.
    Once,
    /// Point selects with the time in their answers, which no cache may store.
    Volatile,
    /// Ranges of a hundred rows.
    Ranges,
    /// The statements of sysbench's `oltp_read_only`: ten point selects, four ranges of a hundred rows.
    ReadOnly,
    /// The statements of sysbench's `oltp_read_write`: those, and two updates, a delete and an insert.
    ReadWrite,
}

/// A cycle of `oltp_read_write`.
pub const READ_WRITE: [Form; 18] = [
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Point,
    Form::Range,
    Form::Sum,
    Form::Ordered,
    Form::Distinct,
    Form::UpdateIndexed,
    Form::UpdateOther,
    Form::Delete,
    Form::Insert,
];
/// How much of it `oltp_read_only` has.
const READS: usize = 14;
impl Mix {
    /// Whether it changes rows.
    pub fn writes(self) -> bool {
        self.cycle().iter().any(|form| !form.reads())
    }

    /// Returns the forms of a cycle.
    pub fn cycle(self) -> &'static [Form] {
        match self {
            Mix::Points => &[Form::Point],
            Mix::Once => &[Form::Once],
            Mix::Volatile => &[Form::Volatile],
            Mix::Ranges => &[Form::Range],
            Mix::ReadOnly => READ_WRITE.split_at(READS).0,
            Mix::ReadWrite => &READ_WRITE,
        }
    }
}

/// Returns the name of one of the tables: with a number behind if there are several.
pub fn name(table: &str, tables: u32, number: u32) -> String {
    if tables == 1 { table.to_owned() } else { format!("{table}{number}") }
}
