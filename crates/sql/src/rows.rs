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
mod read;
mod write;
mod plan;
mod skeleton;
mod slots;

#[cfg(test)]
mod tests;

use self::pins::occurrences;
pub use self::plan::{
    DataType, Input, InputColumn, QueryPlan, Relation, ResultColumn, Scalar, Unplanned, query_plan,
};
pub use self::read::RowWrites;
use self::resolve::Names;
pub use self::shown::shows_rows;
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
/// calls [`row_reads_of`].
pub fn row_reads<'v>(
    text: &[u8],
    modes: Modes,
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowReads> {
    let (tables, named) = tables_named(text, modes)?;
    let reads = row_reads_of(text, modes, &tables, definition_of)?;
    (reads.named() == named).then_some(reads)
}

/// Returns the same as [`row_reads`], for a statement that is known to be cacheable and to read exactly `tables` (or whose template is).
///
/// Two readers that share only the lexer have to agree on the tables; otherwise the answer is `None`.
pub fn row_reads_of<'v>(
    text: &[u8],
    modes: Modes,
    tables: &[TableName],
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowReads> {
    reads_from(Source::cut(text, modes)?, tables, definition_of)
}

impl Tokens<'_> {
    /// Returns what the text, which is of a template that is known, can read row by row: [`row_reads_of`].
    #[must_use]
    pub fn row_reads_of<'v>(
        &self,
        tables: &[TableName],
        definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
    ) -> Option<RowReads> {
        reads_from(Source::of_tokens(self)?, tables, definition_of)
    }

    /// Returns which rows the text, if it is a write, touches: [`row_write`].
    #[must_use]
    pub fn row_write(&self) -> Option<RowWrite> {
        write::row_write(&Source::of_tokens(self)?)
    }
}

fn reads_from<'v>(
    source: Source<'_>,
    tables: &[TableName],
    definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'v>>,
) -> Option<RowReads> {
    // A view may outlive the statement, but its reading may not.
    let definitions = |table: &TableName| definition_of(table);
    let parsed = query::parse(source, &definitions)?;
    let named =
        || parsed.leaves.iter().filter(|leaf| leaf.inside.is_none()).filter_map(|leaf| leaf.table.as_ref());
    if !tables.iter().all(|table| named().any(|name| name == table))
        || !named().all(|table| tables.contains(table))
    {
        return None;
    }
    let names = Names::new(&parsed)?;
    let columns = match columns::columns_read(&parsed) {
        named if names.are_ascii() && !parsed.reads_unnamed => named,
        _ => ColumnsRead::All,
    };
    let facts = if names.are_ascii() { known::facts(&parsed, &names) } else { vec![Vec::new()] };
    Some(RowReads { occurrences: occurrences(&parsed, &names, &facts), columns })
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
