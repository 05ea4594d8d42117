//! The rows that a write touches, table by table, by the definitions of its tables.

use std::cell::RefCell;
use std::sync::Arc;

use freshet_catalog::{TableInfo, TableKind, is_same_name, rows};
use freshet_sql::{Effects, Reads, RowWrite, RowWrites, TableName};

use super::settled::{Looking, Sources, settled};
use crate::rows::{Named, Write, WriteText};
use crate::session::TemporaryTables;

/// The most tables and views that are looked up for a statement, those below its views included.
const NAMED_MAX: usize = 64;
/// The most tables that are looked up as children of a table by foreign keys.
const BELOW_MAX: usize = 16;
/// How often the text is read at most: once more for each level of views.
const READINGS_MAX: usize = 10;

/// A table with the write to it.
pub(super) type Touched = (Arc<TableInfo>, RowWrite);

/// The tables and rows that a write touches, and whether it goes through views.
pub(super) struct TouchedRows {
    pub(super) touched: Vec<Touched>,
    pub(super) through_views: bool,
}

/// A statement's effects, and the tables that it writes by them, without temporary ones.
#[derive(Clone, Copy)]
pub(super) struct WrittenTables<'a> {
    pub(super) tables: &'a [TableName],
    pub(super) effects: &'a Effects,
}

/// Returns what `write` touches. `None` if that is not certain: then the statement may touch any rows of its written tables.
pub(super) async fn found(
    write: &Write<'_>,
    written: WrittenTables<'_>,
    temporary: &TemporaryTables,
    looking: Looking<'_>,
) -> Option<TouchedRows> {
    let sources = looking.sources;
    let mut lookup = TableLookup { text: write.text?, temporary, named: Vec::new() };
    let writes = lookup.read(written, sources).await?;
    lookup.named.iter().for_each(|named| looking.told.rest_on_table(&named.info));
    let is_plain = |named: &Named| {
        !(named.info.runs_unknown_code || named.info.runs_any_code() || named.info.writes_elsewhere)
    };
    let infos: Vec<Arc<TableInfo>> =
        writes.tables.iter().map(|table| lookup.info(table)).collect::<Option<_>>()?;
    let touched = rows::settled(writes, &infos)?;
    let is_certain = lookup.named.iter().all(is_plain)
        && touched.iter().all(|touched| {
            lookup.agrees(&touched.0, written)
                && write.is_told(&touched.1)
                && reaches_no_other(touched, &infos, sources)
        });
    let through_views = lookup.named.iter().any(|named| matches!(named.info.kind, TableKind::View { .. }));
    is_certain.then_some(TouchedRows { touched, through_views })
}

/// Returns the children, by foreign keys, of a table whose rows are deleted or change in referenced columns, as far as the children are few
/// and known.
pub(super) async fn below((info, what): &Touched, looking: Looking<'_>) -> Vec<Arc<TableInfo>> {
    let Looking { sources, told } = looking;
    let mut below = Vec::new();
    if rows::reaches_nothing(what) {
        return below;
    }
    let Some(names) = sources.upstream.descendants(&info.name.0, &info.name.1) else { return below };
    let reached = rows::reached(info, &names, what);
    let known = names.by_keys.iter().filter(|name| reached.contains(name));
    for (schema, name) in known.take(BELOW_MAX) {
        let Some(child) = settled(schema, name, sources).await else { break };
        told.rest_on_table(&child);
        below.push(child);
    }
    below
}

/// Whether foreign keys carry an update to no other table of the statement. Otherwise that table's rows would change while rows are looked
/// for.
fn reaches_no_other((info, what): &Touched, infos: &[Arc<TableInfo>], sources: Sources<'_>) -> bool {
    if infos.len() < 2 || !matches!(what, RowWrite::Update { .. }) {
        return true;
    }
    let Some(below) = sources.upstream.descendants(&info.name.0, &info.name.1) else { return false };
    let reached = rows::reached(info, &below, what);
    !reached.iter().any(|name| infos.iter().any(|info| is_same_name(name, &info.name)))
}

/// A statement whose tables are being looked up.
struct TableLookup<'a> {
    text: WriteText<'a>,
    temporary: &'a TemporaryTables,
    named: Vec<Named>,
}

impl TableLookup<'_> {
    /// Reads the text again as long as it names tables that have not been looked up.
    async fn read(
        &mut self,
        WrittenTables { tables, effects }: WrittenTables<'_>,
        sources: Sources<'_>,
    ) -> Option<RowWrites> {
        let read = match &effects.reads {
            Reads::Tables(read) => read.as_slice(),
            Reads::Unknown => &[],
        };
        self.look_up(tables.iter().chain(read).cloned().collect(), sources).await?;
        for _ in 0..READINGS_MAX {
            let missing = RefCell::new(Vec::new());
            let definition_of = |table: &TableName| {
                let known = self.find(table);
                if known.is_none() {
                    missing.borrow_mut().push(table.clone());
                }
                known.and_then(Named::definition)
            };
            let writes = freshet_sql::row_writes(self.text.text, self.text.modes, &definition_of);
            let missing = missing.into_inner();
            if missing.is_empty() {
                return writes;
            }
            self.look_up(missing, sources).await?;
        }
        None
    }

    async fn look_up(&mut self, tables: Vec<TableName>, sources: Sources<'_>) -> Option<()> {
        for table in tables {
            if self.find(&table).is_some() {
                continue;
            }
            let schema = table.schema.as_deref().or(self.text.schema)?;
            // The definition of a temporary table is unknown here.
            if self.named.len() >= NAMED_MAX || self.temporary.shadow(schema, &table.name) {
                return None;
            }
            let info = settled(schema, &table.name, sources).await?;
            self.named.push(Named::new((schema.to_owned(), table.name.clone()), info));
        }
        Some(())
    }

    fn find(&self, table: &TableName) -> Option<&Named> {
        self.named.iter().find(|named| named.is(table, self.text.schema))
    }

    fn info(&self, table: &TableName) -> Option<Arc<TableInfo>> {
        self.find(table).map(|named| Arc::clone(&named.info))
    }

    /// Whether the other reader of the text also found that this table is written, itself or under a view.
    fn agrees(&self, info: &TableInfo, written: WrittenTables<'_>) -> bool {
        let written = written.tables.iter().filter_map(|table| self.find(table));
        written.into_iter().any(|named| named.info.base_tables.contains(&info.name))
    }
}
