//! Tables, queries over them, and changes of their rows.

use std::sync::Arc;

use ahash::HashMap;

use crate::condition::Place;
use crate::join::{Bound, Changed, Join, JoinPlan};
use crate::kind::{Cell, ColumnSpec, Given, Number, TableName};
use crate::query::Query;
use crate::results::{Results, Shown};
use crate::table::Table;

/// A query that is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryNumber(u64);

/// A change that does not fit the rows that are there: the table is not what it should be, and has to be loaded anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inconsistent(&'static str);

/// What is held of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRows {
    /// How many rows.
    pub rows: usize,
    /// About the memory that they take, in bytes.
    pub bytes: usize,
}

/// A query with its results.
#[derive(Debug)]
struct Installed {
    query: Query,
    /// Where the columns of each of its tables stand in the table.
    columns: Vec<Vec<usize>>,
    /// For each mention, how its rows are joined with the others.
    plans: Vec<JoinPlan>,
    results: Results,
}

/// Base rows and results.
#[derive(Debug, Default)]
pub struct Engine {
    tables: HashMap<TableName, Table>,
    queries: HashMap<QueryNumber, Installed>,
    by_table: HashMap<TableName, Vec<QueryNumber>>,
    given: u64,
}

impl Installed {
    fn tables<'a>(&'a self, all: &'a HashMap<TableName, Table>) -> Option<Vec<(&'a Table, &'a [usize])>> {
        let tables = self.query.tables().zip(&self.columns);
        tables.map(|((name, _), columns)| Some((all.get(name)?, columns.as_slice()))).collect()
    }

    /// A row of this table is there, or is gone.
    fn change(
        &mut self,
        all: &HashMap<TableName, Table>,
        name: &TableName,
        (row, is_more): (Bound<'_>, bool),
    ) {
        if self.results.is_empty() {
            return;
        }
        let Some(number) = self.query.tables().position(|(own, _)| own == name) else { return };
        let Self { query, columns, plans, results } = self;
        let tables = query.tables().zip(columns.iter());
        let tables: Option<Vec<(&Table, &[usize])>> =
            tables.map(|((name, _), columns)| Some((all.get(name)?, columns.as_slice()))).collect();
        let Some(tables) = tables else { return };
        for (mention, _) in query.mentions.iter().enumerate().filter(|(_, table)| **table == number) {
            let changed = Some(Changed { table: number, mention, row });
            let join = Join { plan: &plans[mention], changed, wanted: None };
            join.each((query, &tables), row, &mut |found, is_instead| {
                results.add(found, is_more != is_instead)
            });
        }
    }
}

impl Engine {
    /// Begins a table without rows, which have these columns; `primary`: those of its primary key. One of this name is dropped.
    pub fn begin_table(&mut self, name: TableName, columns: Vec<ColumnSpec>, primary: Vec<usize>) {
        self.drop_table(&name);
        self.tables.insert(name, Table::new(columns, primary));
    }

    /// Drops a table, and all queries that read it.
    pub fn drop_table(&mut self, name: &TableName) {
        for number in self.by_table.remove(name).unwrap_or_default() {
            self.drop_query(number);
        }
        self.tables.remove(name);
    }

    /// What is held of a table, if it is held.
    #[must_use]
    pub fn table(&self, name: &TableName) -> Option<TableRows> {
        self.tables.get(name).map(|table| TableRows { rows: table.rows(), bytes: table.bytes() })
    }

    /// Whether a table has all of these columns.
    #[must_use]
    pub fn has_columns(&self, name: &TableName, columns: &[ColumnSpec]) -> bool {
        self.tables
            .get(name)
            .is_some_and(|table| columns.iter().all(|column| table.place_of(column).is_some()))
    }

    /// About the memory that all takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tables: usize = self.tables.values().map(Table::bytes).sum();
        tables + self.queries.values().map(|installed| installed.results.bytes()).sum::<usize>()
    }

    /// Adds a row that was read, or puts it in the place of the one with its key. No query may read the table yet.
    pub fn overwrite(&mut self, name: &TableName, before: Option<&[Given]>, after: Option<&[Given]>) {
        let Some(table) = self.tables.get_mut(name) else { return };
        for (given, is_kept) in [(before, false), (after, true)] {
            let Some(row) = given.and_then(|given| table.take(given)) else { continue };
            if let Some(slot) = table.same_key(&row) {
                table.remove(slot);
            }
            if is_kept {
                table.insert(&row);
            } else {
                table.release(&row);
            }
        }
    }

    /// A row is another: no `before` for one that is inserted, no `after` for one that is deleted.
    ///
    /// # Errors
    /// It does not fit the rows that are there.
    pub fn change(
        &mut self,
        name: &TableName,
        before: Option<&[Given]>,
        after: Option<&[Given]>,
    ) -> Result<(), Inconsistent> {
        if let Some(given) = before {
            self.remove(name, given)?;
        }
        after.map_or(Ok(()), |given| self.insert(name, given))
    }

    fn remove(&mut self, name: &TableName, given: &[Given]) -> Result<(), Inconsistent> {
        let table = self.tables.get_mut(name).ok_or(Inconsistent("there is no such table"))?;
        let row = table.take(given).ok_or(Inconsistent("a row has another number of columns"))?;
        let slot = table.same_key(&row).filter(|slot| table.row(*slot) == row);
        table.release(&row);
        let slot = slot.ok_or(Inconsistent("a row that is not there was changed"))?;
        self.tell(name, (Bound::Slot(slot), false));
        if let Some(table) = self.tables.get_mut(name) {
            table.remove(slot);
        }
        Ok(())
    }

    fn insert(&mut self, name: &TableName, given: &[Given]) -> Result<(), Inconsistent> {
        let table = self.tables.get_mut(name).ok_or(Inconsistent("there is no such table"))?;
        let row = table.take(given).ok_or(Inconsistent("a row has another number of columns"))?;
        if table.same_key(&row).is_some() {
            table.release(&row);
            return Err(Inconsistent("a row was inserted that is there"));
        }
        self.tell(name, (Bound::Row(&row), true));
        if let Some(table) = self.tables.get_mut(name) {
            table.insert(&row);
        }
        Ok(())
    }

    fn tell(&mut self, name: &TableName, change: (Bound<'_>, bool)) {
        let Self { tables, queries, by_table, .. } = self;
        for number in by_table.get(name).into_iter().flatten() {
            if let Some(installed) = queries.get_mut(number) {
                installed.change(tables, name, change);
            }
        }
    }

    /// Installs a query, whose tables are there with all their rows. `None` if they are not.
    pub fn install(&mut self, query: Query) -> Option<QueryNumber> {
        let places = |(name, columns): (&TableName, &[ColumnSpec])| {
            let table = self.tables.get(name)?;
            columns.iter().map(|column| table.place_of(column)).collect::<Option<Vec<usize>>>()
        };
        let columns: Vec<Vec<usize>> = query.tables().map(places).collect::<Option<_>>()?;
        let plan = |mention| JoinPlan::new(&query, mention);
        let plans: Vec<JoinPlan> = (0..query.mentions.len()).map(plan).collect::<Option<_>>()?;
        let looked_by: Vec<Place> = plans
            .iter()
            .flat_map(JoinPlan::looked_by)
            .chain(sought(&query).map(|(place, _)| place))
            .collect();
        for place in looked_by {
            let number = query.mentions[place.mention];
            self.tables.get_mut(&query.tables[number].0)?.index(columns[number][place.column]);
        }
        self.given += 1;
        let number = QueryNumber(self.given);
        for (name, _) in query.tables() {
            self.by_table.entry(name.clone()).or_default().push(number);
        }
        self.queries.insert(number, Installed { query, columns, plans, results: Results::default() });
        Some(number)
    }

    /// Drops a query and its results.
    pub fn drop_query(&mut self, number: QueryNumber) {
        self.queries.remove(&number);
        self.by_table.values_mut().for_each(|numbers| numbers.retain(|one| *one != number));
    }

    /// Whether a query is installed.
    #[must_use]
    pub fn has_query(&self, number: QueryNumber) -> bool {
        self.queries.contains_key(&number)
    }

    /// Drops all results. They are made again from the rows when they are asked for.
    pub fn drop_results(&mut self) {
        self.queries.values_mut().for_each(|installed| installed.results = Results::default());
    }

    /// How many results of a query are held.
    #[must_use]
    pub fn results(&self, number: QueryNumber) -> usize {
        self.queries.get(&number).map_or(0, |installed| installed.results.len())
    }

    /// The result for these values of a query's parameters, made from the base rows if it is not held. `None` if there is no such query.
    pub fn show(&mut self, number: QueryNumber, key: &[Number]) -> Option<Arc<Shown>> {
        let installed = self.queries.get_mut(&number)?;
        if key.len() != installed.query.parameters.len() {
            return None;
        }
        if !installed.results.has(key) {
            let mut results = std::mem::take(&mut installed.results);
            results.begin(&installed.query, key);
            let filled = fill(installed, &self.tables, (&mut results, key));
            installed.results = results;
            filled?;
        }
        installed.results.show(&installed.query, key)
    }
}

/// Makes a result from the base rows.
fn fill(
    installed: &Installed,
    all: &HashMap<TableName, Table>,
    (results, key): (&mut Results, &[Number]),
) -> Option<()> {
    let tables = installed.tables(all)?;
    let query = &installed.query;
    let sought = sought(query);
    let plan = installed.plans.get(sought.as_ref().map_or(0, |(place, _)| place.mention))?;
    let (table, columns) = tables[query.mentions[plan.start]];
    let join = Join { plan, changed: None, wanted: Some(key) };
    let mut one = |slot| {
        join.each((query, &tables), Bound::Slot(slot), &mut |found, _| results.add(found, true));
    };
    match sought {
        Some((place, values)) if table.is_indexed(columns[place.column]) => {
            let values = if query.parameters.is_empty() { values } else { key[..1].to_vec() };
            let slots = values.iter().flat_map(|value| table.with(columns[place.column], *value));
            slots.copied().for_each(&mut one);
        }
        _ => table.slots().for_each(&mut one),
    }
    Some(())
}

/// The column by which the first rows of a result are found: that of a parameter, or one that has one of these values.
fn sought(query: &Query) -> Option<(Place, Vec<Number>)> {
    let parameter = query.parameters.first().map(|place| (*place, Vec::new()));
    parameter.or_else(|| query.listed())
}

/// NULL or a number, for who hands in rows.
impl From<Cell> for Given {
    fn from(cell: Cell) -> Self {
        Self::Number(cell)
    }
}
