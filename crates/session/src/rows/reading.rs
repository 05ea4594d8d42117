//! What an answer depends on.

use std::sync::Arc;

use freshet_cache::{Dep, Freshness, Position};
use freshet_sql::{Definition, Modes, RowReads, TableName};
use freshet_upstream::TableInfo;
use freshet_upstream::catalog::{Name, TableKind, Told, of_merged_tables};
use freshet_upstream::rows::{Reading, Watches, plan};

/// The most tables and views that a view is made of, for the rows of each to be told.
const BELOW_MAX: usize = 64;

/// A table or view that a statement names, or a view that it reads.
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

    fn definition(&self) -> Option<Definition<'_>> {
        match &self.info.kind {
            TableKind::Base => self.columns.clone().map(Definition::Table),
            TableKind::View { text, .. } => text.as_deref().map(Definition::View),
            TableKind::Unseen => None,
        }
    }

    /// What a view is made of, itself not included; nothing for a table, and for a view of so much that its text is not
    /// read for it.
    pub(crate) fn below(&self) -> &[Name] {
        let below = self.info.base_tables.get(1..).unwrap_or_default();
        if below.len() <= BELOW_MAX { below } else { &[] }
    }
}

/// The tables and views that the statements of a template name.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// As the statement writes them, each once.
    pub(crate) written: Vec<TableName>,
    /// The same, and what is known of each.
    pub(crate) known: Vec<Named>,
    /// What the views among them are made of: the statement does not name these, but its rows are theirs.
    pub(crate) below: Vec<Named>,
    /// How often tables are named by the statement altogether.
    pub(crate) named: usize,
}

impl Tables {
    /// Whether all that the statement names are tables.
    pub(crate) fn are_all_base(&self) -> bool {
        self.known.iter().all(|named| named.info.kind == TableKind::Base)
    }

    /// What is told by these rests on them.
    pub(crate) fn rest(&self, told: &mut Told) {
        self.all().for_each(|table| told.rest_on_table(&table.info));
    }

    /// Every one of them, first those that the statement names.
    fn all(&self) -> impl Iterator<Item = &Named> {
        self.known.iter().chain(&self.below)
    }
}

/// A statement as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    pub(crate) schema: Option<&'a str>,
}

/// What an answer depends on.
#[derive(Debug)]
pub(crate) struct Depends {
    /// Whatever its rows are, each once.
    pub(crate) deps: Vec<Dep>,
    /// And this, unless it has this many rows: then it shows that every row it asks for is there.
    pub(crate) absent: Option<(Dep, u64)>,
}

impl Depends {
    /// What an answer of so many rows depends on.
    pub(crate) fn with_rows(self, rows: u64) -> Vec<Dep> {
        let absent = self.absent.filter(|(_, present)| *present != rows);
        self.deps.into_iter().chain(absent.map(|(dep, _)| dep)).collect()
    }
}

/// What an answer to `statement`, which names `tables`, depends on if it is asked for now. `valid_from` was read before.
pub(crate) fn deps_of_reading(
    statement: Statement<'_>,
    tables: &Tables,
    valid_from: Position,
    (freshness, watches): (&Freshness, &Watches),
) -> Depends {
    let mut deps = Deps { freshness, watches, valid_from, all: Vec::new(), absent: Vec::new() };
    let told = occurrences(statement, tables).unwrap_or_default();
    for (at, table) in tables.all().enumerate() {
        let mut read = told.iter().filter(|read| read.table == at).peekable();
        let is_named = at < tables.known.len();
        if read.peek().is_none() && !is_named {
            continue; // Nothing is read of it, or it is a part of a view that is named as a whole.
        }
        if !deps.add_rows(table, &mut read) {
            deps.add_whole(table);
        }
        if table.info.may_be_merged {
            deps.all.push(of_merged_tables(freshness));
        }
    }
    let Deps { mut all, absent, .. } = deps;
    // The text is read once more only where something hangs on it.
    let is_shown =
        !absent.is_empty() && told.len() == 1 && freshet_sql::shows_rows(statement.text, statement.modes);
    all.extend(absent.iter().filter(|_| !is_shown).map(|(dep, _)| *dep));
    all.sort_unstable();
    all.dedup();
    Depends { deps: all, absent: absent.into_iter().find(|_| is_shown) }
}

/// One naming of a table or view.
struct Read {
    /// Which one it is, by its place among all.
    table: usize,
    /// It is a view, and what it reads is told by itself.
    is_expanded: bool,
    reading: Option<Reading>,
}

/// Every naming of a table or view, in the statement and in its views; `None` if the statement cannot be told.
fn occurrences(statement: Statement<'_>, tables: &Tables) -> Option<Vec<Read>> {
    let all: Vec<&Named> = tables.all().collect();
    let find = |table: &TableName| all.iter().position(|named| named.is(table, statement.schema));
    let definition_of = |table: &TableName| all.get(find(table)?)?.definition();
    let reads: RowReads =
        freshet_sql::row_reads_of(statement.text, statement.modes, &tables.written, &definition_of)?;
    if reads.named() != tables.named {
        return None; // Two readers of one text disagree.
    }
    let at: Vec<usize> =
        reads.occurrences.iter().map(|occurrence| find(&occurrence.table)).collect::<Option<_>>()?;
    let infos: Vec<Arc<TableInfo>> =
        at.iter().filter_map(|at| all.get(*at)).map(|named| Arc::clone(&named.info)).collect();
    let readings = plan(&reads, &infos);
    let is_expanded = reads.occurrences.iter().map(|occurrence| occurrence.expanded);
    let told = at.iter().zip(is_expanded).zip(readings);
    let told = told.map(|((&table, is_expanded), reading)| Read { table, is_expanded, reading }).collect();
    Some(told).filter(|told: &Vec<Read>| told.len() == at.len())
}

struct Deps<'a> {
    freshness: &'a Freshness,
    watches: &'a Watches,
    valid_from: Position,
    all: Vec<Dep>,
    /// What readings of rows by their primary key depend on if one of those is not there, and how many they are.
    absent: Vec<(Dep, u64)>,
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

    /// The rows that all namings of a table together depend on, unless one of them depends on the whole of it. Those of a
    /// view are those of its tables; itself it has a definition, which rests on theirs.
    fn add_rows(&mut self, table: &Named, reads: &mut dyn Iterator<Item = &Read>) -> bool {
        let mut rows = Vec::new();
        let mut is_read = false;
        for read in reads {
            is_read = true;
            if read.is_expanded {
                continue;
            }
            let slots = match &read.reading {
                Some(reading) => self.rows_of(table, reading),
                None => None,
            };
            let Some(slots) = slots else { return false };
            rows.extend(slots);
        }
        if !is_read {
            return false; // It is named somewhere, but nowhere that is understood.
        }
        for (schema, name) in &table.info.base_tables {
            self.all.extend([self.freshness.schema(schema), self.freshness.table(schema, name).definition]);
        }
        self.all.extend(rows);
        true
    }

    fn rows_of(&mut self, table: &Named, reading: &Reading) -> Option<Vec<Dep>> {
        let watch = self.watches.watch(&table.info, &reading.spec)?;
        let mut rows = watch.deps_of_reading(&reading.conditions, &[])?;
        // Asked after: what has just come into use has to be waited for.
        if !watch.is_usable(self.valid_from) {
            return None;
        }
        rows.push(watch.any());
        self.absent.extend(watch.present_if(&reading.conditions, &[]).map(|rows| (watch.absent(), rows)));
        Some(rows)
    }
}
