//! The dependencies of an answer.

use freshet_cache::{Dep, Freshness, Position};
use freshet_catalog::of_merged_tables;
use freshet_catalog::rows::{Reading, Values, Watches};
use freshet_sql::Datum;

use super::plans::{ReadPlan, TableReads};
use super::tables::{Named, StatementText, Tables};

/// The dependencies of an answer.
#[derive(Debug)]
pub(crate) struct Depends {
    /// The dependencies with any rows, without duplicates.
    pub(crate) deps: Vec<Dep>,
    /// A further dependency, unless the answer has this many rows: in that case the answer shows that every row it asks for exists.
    pub(crate) absent: Option<(Dep, u64)>,
}

impl Depends {
    /// Returns the dependencies that an answer may have, with any number of rows.
    pub(crate) fn all(&self) -> Vec<Dep> {
        self.deps.iter().copied().chain(self.absent.map(|(dep, _)| dep)).collect()
    }

    /// Returns the dependencies of an answer with this many rows.
    pub(crate) fn with_rows(self, rows: u64) -> Vec<Dep> {
        let mut deps = self.deps;
        deps.extend(self.absent.filter(|(_, present)| *present != rows).map(|(dep, _)| dep));
        deps
    }
}

/// The sources of dependencies.
#[derive(Clone, Copy)]
pub(crate) struct Behind<'a> {
    /// A position that was read before the others.
    pub(crate) valid_from: Position,
    pub(crate) freshness: &'a Freshness,
    pub(crate) watches: &'a Watches,
}

/// A plan that a statement shares with others of its form, and the values of this statement.
#[derive(Clone, Copy)]
pub(crate) struct BoundPlan<'a> {
    pub(crate) plan: &'a ReadPlan,
    pub(crate) values: &'a [Datum],
}

/// Returns the dependencies of an answer to `statement`, which names `tables`, if the server is asked now. They come from the shared plan
/// and the statement's own values, if there is a shared plan.
pub(crate) fn deps_of_reading(
    statement: StatementText<'_>,
    tables: &Tables,
    shared: Option<BoundPlan<'_>>,
    behind: Behind<'_>,
) -> Depends {
    // If the types alone do not tell what a value equals, the shared plan fails; the statement's own plan may use other values.
    let by_shared = |shared| depends(statement, tables, shared, behind).ok();
    let alone = || {
        let plan = ReadPlan::of(statement, tables);
        depends(statement, tables, BoundPlan { plan: &plan, values: &[] }, behind)
            .unwrap_or_else(|whole| whole)
    };
    shared.and_then(by_shared).unwrap_or_else(alone)
}

/// Like [`deps_of_reading`], for a prepared statement that is executed with these values.
pub(crate) fn deps_of_execution(
    statement: StatementText<'_>,
    plan: BoundPlan<'_>,
    tables: &Tables,
    behind: Behind<'_>,
) -> Depends {
    depends(statement, tables, plan, behind).unwrap_or_else(|whole| whole)
}

/// Returns the dependencies of the definitions of these tables, and of all tables below them.
pub(crate) fn deps_of_definitions(tables: &Tables, freshness: &Freshness) -> Vec<Dep> {
    let mut deps = Vec::with_capacity(DEPS_AT_ONCE);
    for table in tables.all() {
        for (schema, name) in &table.info.base_tables {
            deps.extend([freshness.schema(schema), freshness.table(schema, name).definition]);
        }
        if table.info.may_be_merged {
            deps.push(of_merged_tables(freshness));
        }
    }
    deps.sort_unstable();
    deps.dedup();
    deps
}

/// Returns the dependencies by a plan and its values. If a value could not be told, the error has the dependencies, with whole tables.
fn depends(
    statement: StatementText<'_>,
    tables: &Tables,
    BoundPlan { plan, values: parameters }: BoundPlan<'_>,
    behind: Behind<'_>,
) -> Result<Depends, Depends> {
    let Behind { valid_from, freshness, watches } = behind;
    let all = Vec::with_capacity(DEPS_AT_ONCE);
    let values = Values { parameters, zone: statement.zone };
    let mut deps = Deps { freshness, watches, valid_from, values, is_told: true, all, absent: Vec::new() };
    for (at, table) in tables.all().enumerate() {
        let mut read = plan.reads.iter().filter(|read| read.table == at).peekable();
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
    let Deps { mut all, absent, is_told, .. } = deps;
    let is_shown = plan.shows_rows();
    all.extend(absent.iter().filter(|_| !is_shown).map(|(dep, _)| *dep));
    all.sort_unstable();
    all.dedup();
    let depends = Depends { deps: all, absent: absent.into_iter().find(|_| is_shown) };
    if is_told { Ok(depends) } else { Err(depends) }
}

/// Initial room for dependencies: a few rows of one table, and the account.
const DEPS_AT_ONCE: usize = 8;

struct Deps<'a> {
    freshness: &'a Freshness,
    watches: &'a Watches,
    valid_from: Position,
    /// The values of the plan's parameters.
    values: Values<'a>,
    /// Whether every condition could be told with these values.
    is_told: bool,
    all: Vec<Dep>,
    /// The dependencies of reads by primary key if one of the rows does not exist, and how many rows are read.
    absent: Vec<(Dep, u64)>,
}

impl Deps<'_> {
    /// Adds the table, and for a view all tables below it.
    fn add_whole(&mut self, table: &Named) {
        // The names as the server reports them, which are also the names in the binlog; the first is the table itself.
        for (schema, name) in &table.info.base_tables {
            let of_table = self.freshness.table(schema, name);
            self.all.extend([self.freshness.schema(schema), of_table.definition, of_table.rows]);
        }
    }

    /// Adds the rows that all mentions of a table together depend on, unless a mention depends on the whole table. The rows of a
    /// view are those of its tables; the view itself has only a definition, which rests on theirs.
    fn add_rows(&mut self, table: &Named, reads: &mut dyn Iterator<Item = &TableReads>) -> bool {
        let before = self.all.len();
        let mut is_read = false;
        for read in reads {
            is_read = true;
            if read.is_expanded {
                continue;
            }
            let is_told = read.readings.iter().all(|reading| self.add_reading(table, reading).is_some());
            if !is_told || read.readings.is_empty() {
                self.all.truncate(before);
                return false;
            }
        }
        if !is_read {
            return false; // It is named somewhere, but nowhere that is understood.
        }
        for (schema, name) in &table.info.base_tables {
            self.all.extend([self.freshness.schema(schema), self.freshness.table(schema, name).definition]);
        }
        true
    }

    /// Adds the rows of one reading; `None` if they cannot be told apart.
    fn add_reading(&mut self, table: &Named, reading: &Reading) -> Option<()> {
        let watch = self.watches.watch(&table.info, &reading.spec)?;
        let Some(rows) = watch.deps_of_reading(&reading.conditions, self.values) else {
            self.is_told = false;
            return None;
        };
        // Checked after: a watch that has just come into use must be waited for.
        if !watch.is_usable(self.valid_from) {
            return None;
        }
        self.all.extend(rows);
        self.all.push(watch.any());
        self.absent
            .extend(watch.present_if(&reading.conditions, self.values).map(|rows| (watch.absent(), rows)));
        Some(())
    }
}
