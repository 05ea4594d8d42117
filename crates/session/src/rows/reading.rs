//! What an answer depends on.

use std::sync::Arc;

use freshet_cache::{Dep, Freshness, Position};
use freshet_sql::{Definition, Modes, RowReads, TableName};
use freshet_upstream::TableInfo;
use freshet_upstream::catalog::TableKind;
use freshet_upstream::rows::{Reading, Watches, plan};

/// A table or view that a statement names.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) info: Arc<TableInfo>,
    /// Its columns' names, if it is a table of which they are known.
    columns: Option<Arc<[String]>>,
}

impl Named {
    pub(crate) fn new(schema: String, name: String, info: Arc<TableInfo>) -> Self {
        let is_known = info.kind == TableKind::Base && !info.columns.is_empty();
        let columns = is_known.then(|| info.columns.iter().map(|column| column.name.clone()).collect());
        Self { schema, name, info, columns }
    }

    fn is(&self, table: &TableName, default: Option<&str>) -> bool {
        self.name == table.name && table.schema.as_deref().or(default) == Some(&self.schema)
    }
}

/// The tables and views that the statements of a template name.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// As the statement writes them, each once.
    pub(crate) written: Vec<TableName>,
    /// The same, and what is known of each.
    pub(crate) known: Vec<Named>,
    /// How often they are named altogether.
    pub(crate) named: usize,
}

/// A statement as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    pub(crate) schema: Option<&'a str>,
}

/// What an answer to `statement`, which names `tables`, depends on if it is asked for now. `valid_from` was read before.
pub(crate) fn deps_of_reading(
    statement: Statement<'_>,
    tables: &Tables,
    valid_from: Position,
    (freshness, watches): (&Freshness, &Watches),
) -> Vec<Dep> {
    let mut deps = Deps { freshness, watches, valid_from, all: Vec::new() };
    let told = occurrences(statement, tables);
    for (at, table) in tables.known.iter().enumerate() {
        let readings = told.as_ref().map(|told| told.iter().filter(|(of, _)| *of == at));
        let by_rows = readings.is_some_and(|mut readings| deps.add_rows(table, &mut readings));
        if !by_rows {
            deps.add_whole(table);
        }
    }
    deps.all.sort_unstable();
    deps.all.dedup();
    deps.all
}

/// For each naming of a table, which of `tables` it is and what is read of it; `None` if the statement cannot be told.
fn occurrences(statement: Statement<'_>, tables: &Tables) -> Option<Vec<(usize, Option<Reading>)>> {
    let Tables { written, known, named } = tables;
    let find = |table: &TableName| known.iter().position(|named| named.is(table, statement.schema));
    let columns_of = |table: &TableName| known.get(find(table)?)?.columns.clone().map(Definition::Table);
    let reads: RowReads = freshet_sql::row_reads_of(statement.text, statement.modes, written, &columns_of)?;
    if reads.named() != *named {
        return None; // Two readers of one text disagree.
    }
    let at: Vec<usize> =
        reads.occurrences.iter().map(|occurrence| find(&occurrence.table)).collect::<Option<_>>()?;
    let infos: Vec<Arc<TableInfo>> = at.iter().map(|at| Arc::clone(&known[*at].info)).collect();
    let readings = plan(&reads, &infos);
    (readings.len() == at.len()).then(|| at.into_iter().zip(readings).collect())
}

struct Deps<'a> {
    freshness: &'a Freshness,
    watches: &'a Watches,
    valid_from: Position,
    all: Vec<Dep>,
}

impl Deps<'_> {
    /// The table, and for a view all that it is made of.
    fn add_whole(&mut self, table: &Named) {
        // The names as the server reports them, which is how the binlog has them too; the first is the table itself.
        for (schema, name) in &table.info.base_tables {
            let of_table = self.freshness.table(schema, name);
            self.all.extend([self.freshness.schema(schema), of_table.definition, of_table.rows]);
        }
    }

    /// The rows that all `readings` of a table together depend on, unless one of them depends on the whole of it.
    fn add_rows(
        &mut self,
        table: &Named,
        readings: &mut dyn Iterator<Item = &(usize, Option<Reading>)>,
    ) -> bool {
        if table.columns.is_none() {
            return false;
        }
        let mut rows = Vec::new();
        for (_, reading) in readings {
            let Some(slots) = reading.as_ref().and_then(|reading| self.rows_of(table, reading)) else {
                return false;
            };
            rows.extend(slots);
        }
        if rows.is_empty() {
            return false; // It is named somewhere, but nowhere that is understood.
        }
        let (schema, name) = &table.info.name;
        self.all.extend([self.freshness.schema(schema), self.freshness.table(schema, name).definition]);
        self.all.extend(rows);
        true
    }

    fn rows_of(&self, table: &Named, reading: &Reading) -> Option<Vec<Dep>> {
        let watch = self.watches.watch(&table.info, &reading.spec)?;
        let mut rows = watch.deps_of_reading(&reading.conditions, &[])?;
        // Asked after: what has just come into use has to be waited for.
        if !watch.is_usable(self.valid_from) {
            return None;
        }
        rows.push(watch.any());
        Some(rows)
    }
}
