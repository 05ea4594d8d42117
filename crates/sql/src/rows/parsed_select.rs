//! A SELECT whose clauses have been read: the one form from which its rows and its plan form come.

use super::parsed::Parsed;
use super::pins::occurrences;
use super::plan::{self, InputColumn, QueryPlan, Unplanned};
use super::resolve::Names;
use super::shown::shows_rows;
use super::source::Source;
use super::told::{ColumnsRead, RowReads};
use super::view::TableDefinition;
use super::{columns, known, query};
use crate::modes::{Modes, TableName};
use crate::tokens::Tokens;

/// A SELECT with its clauses, and those of the views that it names.
#[derive(Debug)]
pub struct ParsedSelect<'a> {
    parsed: Parsed<'a>,
    modes: Modes,
}

impl<'a> ParsedSelect<'a> {
    /// Reads the clauses of a text. `definition_of` returns the definition of a table or view, or `None` if it is unknown. It is called
    /// for the names in the statement, and for the full names in the texts of its views.
    ///
    /// # Errors
    /// The text cannot be cut into tokens, or is not understood to its end.
    pub fn read(
        text: &'a [u8],
        modes: Modes,
        definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'a>>,
    ) -> Result<Self, Unplanned> {
        Self::of_source(Source::cut(text, modes), modes, definition_of)
    }

    /// Reads the clauses of a text that has already been cut.
    ///
    /// # Errors
    /// As [`ParsedSelect::read`].
    pub fn of_tokens(
        tokens: &'a Tokens<'_>,
        definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'a>>,
    ) -> Result<Self, Unplanned> {
        Self::of_source(Source::of_tokens(tokens), tokens.modes(), definition_of)
    }

    fn of_source(
        source: Option<Source<'a>>,
        modes: Modes,
        definition_of: &dyn Fn(&TableName) -> Option<TableDefinition<'a>>,
    ) -> Result<Self, Unplanned> {
        let source = source.ok_or_else(|| Unplanned::by("the text cannot be cut into tokens"))?;
        let parsed = query::parse(source, definition_of);
        let parsed = parsed.ok_or_else(|| Unplanned::by("its clauses are not understood"))?;
        Ok(Self { parsed, modes })
    }

    /// Returns what the SELECT can read, row by row. It is known to be cacheable and to read exactly `tables`, or its template is. `None`
    /// means the whole of its tables.
    ///
    /// Two readers that share only the lexer have to agree on the tables; otherwise the answer is `None`.
    #[must_use]
    pub fn row_reads(&self, tables: &[TableName]) -> Option<RowReads> {
        let parsed = &self.parsed;
        let named = || {
            let own = parsed.leaves.iter().filter(|leaf| leaf.inside.is_none());
            own.filter_map(|leaf| leaf.table.as_ref())
        };
        if !tables.iter().all(|table| named().any(|name| name == table))
            || !named().all(|table| tables.contains(table))
        {
            return None;
        }
        let names = Names::new(parsed)?;
        let columns = match columns::columns_read(parsed) {
            named if names.are_ascii() && !parsed.reads_unnamed => named,
            _ => ColumnsRead::All,
        };
        let facts = if names.are_ascii() { known::facts(parsed, &names) } else { vec![Vec::new()] };
        let shows_rows = parsed.sources.first().is_some_and(|source| shows_rows(source));
        Some(RowReads { occurrences: occurrences(parsed, &names, &facts), columns, shows_rows })
    }

    /// Returns the plan form of the SELECT. `columns_of` returns the columns of a table, or none if they are not known.
    ///
    /// # Errors
    /// The first part that has no place in the form.
    pub fn plan(&self, columns_of: &dyn Fn(&TableName) -> Vec<InputColumn>) -> Result<QueryPlan, Unplanned> {
        if self.modes.before_8 {
            return Err(Unplanned::by("MySQL 5.7 orders what it groups"));
        }
        plan::of_parsed(&self.parsed, columns_of)
    }
}
