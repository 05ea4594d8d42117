//! Which rows a statement can read or touch.
//!
//! The findings here only narrow. A *pin* is a condition that a row must satisfy to influence a result, or to be touched by a write. A
//! part that is not recognised yields no pin. A doubtful statement yields nothing at all, and the caller falls back to the whole table.

// What is found of a statement.
mod told;
mod display;

// How the clauses are read: blocks, tables, conditions, names.
mod source;
mod conjunct;
mod output;
mod parsed;
mod from;
mod query;
mod view;
mod resolve;

// The facts that hold of every row that matters.
mod solve;
mod known;
mod pins;
mod columns;
mod shown;

// The outcomes: reads, writes, the plan form, and forms with parameters.
mod parsed_select;
mod read;
mod write;
mod plan;
mod skeleton;
mod slots;

#[cfg(test)]
mod tests;

pub use self::parsed_select::ParsedSelect;
pub use self::plan::{DataType, Input, InputColumn, QueryPlan, Relation, ResultColumn, Scalar, Unplanned};
pub use self::read::RowWrites;
pub use self::skeleton::{Places, Skeleton};
pub use self::slots::Slotted;
use self::source::Source;
pub use self::told::{
    ColumnsRead, Condition, Datum, Given, Occurrence, OnDuplicate, Pin, RowReads, RowWrite,
};
pub use self::view::{TableDefinition, View};
use crate::analysis::tables_named;
use crate::modes::{Modes, TableName};
use crate::tokens::Tokens;

/// Returns what a SELECT can read, row by row. `None` means the whole of its tables.
///
/// `definition_of` returns the definition of a table or view, or `None` if it is unknown. It is called for the names in the statement,
/// and for the full names in the texts of its views. The statement is analysed in full; a caller that has already analysed its template
/// calls [`ParsedSelect::row_reads`].
pub fn row_reads<'v>(
    text: &[u8],
    modes: Modes,
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowReads> {
    let (tables, named) = tables_named(text, modes)?;
    let reads = row_reads_of(text, modes, &tables, definition_of)?;
    (reads.named() == named).then_some(reads)
}

/// Returns the same of a text that is known to be cacheable and to read exactly `tables`: see [`ParsedSelect::row_reads`].
pub fn row_reads_of<'v>(
    text: &[u8],
    modes: Modes,
    tables: &[TableName],
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowReads> {
    let definition_of = |table: &TableName| definition_of(table);
    ParsedSelect::read(text, modes, &definition_of).ok()?.row_reads(tables)
}

impl Tokens<'_> {
    /// Returns which rows the text, if it is a write, touches: [`row_write`].
    #[must_use]
    pub fn row_write(&self) -> Option<RowWrite> {
        write::row_write(&Source::of_tokens(self)?)
    }
}

/// Returns the values that a procedure is called with, where the text is that call and nothing else: [`Datum::Other`] for an expression.
pub fn call_arguments(text: &[u8], modes: Modes) -> Option<Vec<Datum>> {
    write::call_arguments(&Source::cut(text, modes)?)
}

/// Returns which rows a write touches. `None` means any row of any table that it names.
///
/// The text alone decides, so only writes are covered that name one table and take no rows from a query. The effects of triggers and
/// foreign keys are not known here.
pub fn row_write(text: &[u8], modes: Modes) -> Option<RowWrite> {
    write::row_write(&Source::cut(text, modes)?)
}

/// Returns the rows that a write of any form touches, table by table: of several tables, from a query, or through views.
///
/// `definition_of` is the same as for [`row_reads`]. If one definition is not known, the answer is `None`.
pub fn row_writes<'v>(
    text: &[u8],
    modes: Modes,
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowWrites> {
    // A view may outlive the statement, but its reading may not.
    let definitions = |table: &TableName| definition_of(table);
    read::row_writes(Source::cut(text, modes)?, &definitions)
}
