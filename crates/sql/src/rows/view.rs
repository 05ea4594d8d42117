//! Reads a view as a derived table of the view's own text.
//!
//! The servers keep that text with every name in full, with `*` written out and in their own quotes, whatever modes were set when the
//! view was made. The text does *not* contain the names of the view's columns: MySQL shows the text without the column list of CREATE
//! VIEW, so that `CREATE VIEW v (a, b) AS SELECT b, a` reads as if `a` were `a`. The names come from another source, in the order of
//! their places. A view that is not understood stays unread: the caller then uses the whole of the view's tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::output::{Item, Selected};
use super::parsed::{Filter, Group, Leaf, Parsed, Query};
use super::query::QueryReader;
use super::source::Source;
use crate::analysis::view_named;
use crate::modes::{Modes, TableName};
use crate::reason::Reason;
use crate::tokens::Tokens;

/// How deep views may nest.
const VIEWS_DEPTH_MAX: usize = 8;

/// A view's text, and the findings of a full parser in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    text: String,
    modes: Modes,
    schema: String,
    columns: Vec<String>,
    tables: Vec<TableName>,
    named: usize,
}

impl View {
    /// Whether the view's rows may depend on the current date: [`Tokens::is_dated`].
    #[must_use]
    pub fn is_dated(&self, times: &mut BTreeSet<String>) -> bool {
        let tokens = Tokens::cut(self.text.as_bytes(), self.modes);
        if tokens.is_dated(times) {
            return true;
        }
        // Where columns are renamed, their places say which of them are TIMEs.
        let columns = || self.columns.iter().map(|column| column.to_lowercase());
        if tokens.names_any(times) && !tokens.shown_as().into_iter().eq(columns()) {
            times.extend(columns());
        }
        false
    }

    /// Reads the text of a view in `schema`, with the names of its columns in order.
    ///
    /// # Errors
    /// The reason why results that read the view cannot be tracked.
    pub fn read(text: &str, schema: &str, columns: &[&str], modes: Modes) -> Result<Self, Reason> {
        let (tables, named) = view_named(text.as_bytes(), modes)?;
        let in_full = |table: TableName| in_schema(table, schema);
        let tables = tables.into_iter().map(in_full).collect();
        let columns = columns.iter().map(|column| column.to_lowercase()).collect();
        Ok(Self { text: text.to_owned(), modes, schema: schema.to_owned(), columns, tables, named })
    }

    /// Returns the tables and views that the view's text names, each once and with its full name. The list may be empty.
    #[must_use]
    pub fn tables(&self) -> &[TableName] {
        &self.tables
    }
}

/// The definition of a table or view that a statement names.
#[derive(Clone, Debug)]
pub enum TableDefinition<'v> {
    /// A table.
    Table {
        /// The table's columns, in lower case.
        columns: Arc<[String]>,
        /// No column is hidden from `*`.
        shows_all: bool,
    },
    /// A view with this text.
    View(&'v View),
}

fn in_schema(table: TableName, schema: &str) -> TableName {
    TableName { schema: Some(table.schema.unwrap_or_else(|| schema.to_owned())), ..table }
}

impl<'v> QueryReader<'v, '_> {
    /// Notes a table or view of a block's FROM, and reads the view's text.
    pub(super) fn named(&mut self, name: TableName, leaf: Leaf) -> Option<Group<Filter>> {
        let name = match &self.view {
            Some((_, schema)) => in_schema(name, schema),
            None => name,
        };
        let definition = (self.definitions)(&name);
        let inside = self.view.as_ref().map(|(view, _)| *view);
        let group = self.leaf(Leaf { table: Some(name), inside, ..leaf })?;
        let id = self.parsed.leaves.len() - 1;
        match definition {
            Some(TableDefinition::Table { columns, shows_all }) => {
                let leaf = self.parsed.leaves.get_mut(id)?;
                (leaf.columns, leaf.shows_all) = (Some(columns), shows_all);
            }
            Some(TableDefinition::View(view)) => self.expand(id, view),
            None => {}
        }
        Some(group)
    }

    /// Reads the view that a leaf names. If this fails, nothing is changed.
    fn expand(&mut self, leaf: usize, view: &'v View) {
        if self.views_around >= VIEWS_DEPTH_MAX {
            return;
        }
        let Some(source) = Source::cut(view.text.as_bytes(), view.modes) else { return };
        let before = Size::of(&self.parsed);
        let mut reader = QueryReader::new(source, std::mem::take(&mut self.parsed), self.definitions);
        reader.view = Some((leaf, view.schema.clone()));
        reader.views_around = self.views_around + 1;
        let query = reader.whole();
        self.parsed = reader.parsed;
        let understood =
            |query: &Query| agrees(&self.parsed, leaf, view) && has_columns(&self.parsed, query, view);
        match query.filter(understood) {
            Some(query) => {
                let id = self.keep(Query { columns: view.columns.clone(), namings: 1, ..query });
                if let Some(leaf) = self.parsed.leaves.get_mut(leaf) {
                    leaf.query = Some(id);
                }
            }
            None => before.restore(&mut self.parsed),
        }
    }
}

/// Whether the full parser has found the same tables in the view's text, each as often.
fn agrees(parsed: &Parsed<'_>, leaf: usize, view: &View) -> bool {
    let inside = parsed.leaves.iter().filter(|inner| inner.inside == Some(leaf));
    let named: Vec<&TableName> = inside.filter_map(|inner| inner.table.as_ref()).collect();
    named.len() == view.named
        && named.iter().all(|table| view.tables.contains(table))
        && view.tables.iter().all(|table| named.contains(&table))
}

/// Whether each branch of a view's query selects one item for each column of the view.
fn has_columns(parsed: &Parsed<'_>, query: &Query, view: &View) -> bool {
    let is_one = |item: &Item| !matches!(item.what, Selected::All(_));
    let fits = |branch: &usize| {
        let block = parsed.blocks.get(*branch);
        block.is_some_and(|block| block.items.len() == view.columns.len() && block.items.iter().all(is_one))
    };
    view.columns.iter().all(|column| column.is_ascii()) && query.branches.iter().all(fits)
}

/// The amount that had been read before.
struct Size {
    sources: usize,
    blocks: usize,
    leaves: usize,
    queries: usize,
    subqueries: usize,
    reads_unnamed: bool,
}

impl Size {
    fn of(parsed: &Parsed<'_>) -> Self {
        Size {
            sources: parsed.sources.len(),
            blocks: parsed.blocks.len(),
            leaves: parsed.leaves.len(),
            queries: parsed.queries.len(),
            subqueries: parsed.subqueries.len(),
            reads_unnamed: parsed.reads_unnamed,
        }
    }

    fn restore(&self, parsed: &mut Parsed<'_>) {
        parsed.sources.truncate(self.sources);
        parsed.blocks.truncate(self.blocks);
        parsed.leaves.truncate(self.leaves);
        parsed.queries.truncate(self.queries);
        parsed.subqueries.truncate(self.subqueries);
        parsed.reads_unnamed = self.reads_unnamed;
    }
}
