//! Tables, queries over them, and changes of their rows.

use std::ops::RangeInclusive;
use std::sync::Arc;

use ahash::HashMap;

use crate::join::{BoundRow, Changed, Join, JoinPlan};
use crate::kind::{Cell, ColumnSpec, Given, Number, TableName};
use crate::predicate::ColumnRef;
use crate::query::{MaintainedQuery, Select, Union};
use crate::results::{Results, Shown};
use crate::table::Table;

/// A query that is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryNumber(u64);

/// A change that does not fit the rows in the table: the table is wrong, and has to be loaded anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inconsistent(&'static str);

/// The size of a table in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRows {
    /// How many rows.
    pub rows: usize,
    /// The memory that they take, approximately, in bytes.
    pub bytes: usize,
}

/// A query with its results.
#[derive(Debug)]
struct Installed {
    selects: Vec<Installation>,
    union: Option<Union>,
}

/// One SELECT with its results.
#[derive(Debug)]
struct Installation {
    query: Select,
    /// Where the columns of each of its tables are in the table.
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
    by_table: HashMap<TableName, Vec<Reader>>,
    given: u64,
}

/// A query that reads a table.
#[derive(Debug)]
struct Reader {
    number: QueryNumber,
    /// The rows that it reads of the table; `None`: any.
    within: Option<Within>,
}

/// Rows by their values of one column.
#[derive(Debug)]
struct Within {
    /// Its place in the table.
    column: usize,
    range: RangeInclusive<Number>,
}

impl Reader {
    fn reads(&self, table: &Table, row: BoundRow<'_>) -> bool {
        let Some(Within { column, range }) = &self.within else { return true };
        let value = match row {
            BoundRow::Slot(slot) => table.get(slot, *column),
            BoundRow::Row(row) => row[*column],
            BoundRow::None => return true,
        };
        value.is_some_and(|value| range.contains(&value))
    }
}

impl Installed {
    /// Returns the result for these values of its parameters.
    fn show(&mut self, all: &HashMap<TableName, Table>, key: &[Number]) -> Option<Arc<Shown>> {
        let (mut shown, mut rest) = (Vec::new(), key);
        for select in &mut self.selects {
            let (own, others) = rest.split_at_checked(select.query.parameters.len())?;
            shown.push(select.show(all, own)?);
            rest = others;
        }
        match &self.union {
            _ if !rest.is_empty() => None,
            Some(union) => Some(Arc::new(union.of(&shown))),
            None => shown.pop(),
        }
    }
}

impl Installation {
    /// Returns the installation of a query whose tables are there; `None` if a table is missing.
    fn of(query: &Select, tables: &HashMap<TableName, Table>) -> Option<Self> {
        let places = |(name, columns): &(TableName, Vec<ColumnSpec>)| {
            let table = tables.get(name)?;
            columns.iter().map(|column| table.place_of(column)).collect::<Option<Vec<usize>>>()
        };
        let columns = query.tables.iter().map(places).collect::<Option<_>>()?;
        let plan = |mention| JoinPlan::new(query, mention);
        let plans = (0..query.mentions.len()).map(plan).collect::<Option<_>>()?;
        Some(Self { query: query.clone(), columns, plans, results: Results::default() })
    }

    /// Returns the columns by which its rows are found: their tables, and their places there.
    fn looked_by(&self) -> Vec<(TableName, usize)> {
        let sought = match sought(&self.query) {
            Some(Sought::Parameter(column_ref) | Sought::Listed(column_ref, _)) => Some(column_ref),
            Some(Sought::Range(..)) | None => None,
        };
        let column_refs = self.plans.iter().flat_map(JoinPlan::looked_by).chain(sought);
        column_refs.map(|column_ref| self.named(column_ref)).collect()
    }

    /// Returns the column whose range finds its first rows, if they are found so.
    fn ranged_by(&self) -> Option<(TableName, usize)> {
        let Sought::Range(column_ref, _) = sought(&self.query)? else { return None };
        Some(self.named(column_ref))
    }

    /// Returns the rows that it reads of this table, if they are those of a range.
    fn within(&self, name: &TableName) -> Option<Within> {
        let (column_ref, range) = self.query.ranged()?;
        let number = self.query.mentions[column_ref.mention];
        let is_once = self.query.mentions.iter().filter(|one| **one == number).count() == 1;
        let column = self.columns[number][column_ref.column];
        (is_once && self.query.tables[number].0 == *name).then_some(Within { column, range })
    }

    /// Returns the table of a column, and the column's place there.
    fn named(&self, column_ref: ColumnRef) -> (TableName, usize) {
        let number = self.query.mentions[column_ref.mention];
        (self.query.tables[number].0.clone(), self.columns[number][column_ref.column])
    }

    /// Returns the result for these values of its parameters. If it is not held, it is made from the base rows.
    fn show(&mut self, all: &HashMap<TableName, Table>, key: &[Number]) -> Option<Arc<Shown>> {
        if !self.results.has(key) {
            let mut results = std::mem::take(&mut self.results);
            results.begin(&self.query, key);
            let filled = fill(self, all, &mut results, key);
            self.results = results;
            filled?;
        }
        self.results.show(&self.query, key)
    }

    fn tables<'a>(&'a self, all: &'a HashMap<TableName, Table>) -> Option<Vec<(&'a Table, &'a [usize])>> {
        let tables = self.query.tables.iter().zip(&self.columns);
        tables.map(|((name, _), columns)| Some((all.get(name)?, columns.as_slice()))).collect()
    }

    /// Takes in that a row of this table was added, or removed.
    fn change(
        &mut self,
        all: &HashMap<TableName, Table>,
        name: &TableName,
        row: BoundRow<'_>,
        is_more: bool,
    ) {
        if self.results.is_empty() {
            return;
        }
        let Some(number) = self.query.tables.iter().position(|(own, _)| own == name) else { return };
        let Self { query, columns, plans, results } = self;
        let tables = query.tables.iter().zip(columns.iter());
        let tables: Option<Vec<(&Table, &[usize])>> =
            tables.map(|((name, _), columns)| Some((all.get(name)?, columns.as_slice()))).collect();
        let Some(tables) = tables else { return };
        for (mention, _) in query.mentions.iter().enumerate().filter(|(_, table)| **table == number) {
            let changed = Some(Changed { table: number, mention, row });
            let join = Join { plan: &plans[mention], changed, wanted: None };
            join.each(query, &tables, row, &mut |found, is_instead| {
                results.add(found, is_more != is_instead)
            });
        }
    }
}

impl Engine {
    /// Begins a table without rows. `columns` are its columns, `primary` the places of its primary key. An older table of this name is
    /// dropped.
    pub fn begin_table(&mut self, name: TableName, columns: Vec<ColumnSpec>, primary: Vec<usize>) {
        self.drop_table(&name);
        self.tables.insert(name, Table::new(columns, primary));
    }

    /// Drops a table, and all queries that read it.
    pub fn drop_table(&mut self, name: &TableName) {
        for reader in self.by_table.remove(name).unwrap_or_default() {
            self.drop_query(reader.number);
        }
        self.tables.remove(name);
    }

    /// Returns the size of a table, if it is held.
    #[must_use]
    pub fn table(&self, name: &TableName) -> Option<TableRows> {
        self.tables.get(name).map(|table| TableRows { rows: table.rows(), bytes: table.bytes() })
    }

    /// Returns the memory that everything takes, approximately, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tables: usize = self.tables.values().map(Table::bytes).sum();
        let selects = self.queries.values().flat_map(|installed| &installed.selects);
        tables + selects.map(|select| select.results.bytes()).sum::<usize>()
    }

    /// Adds a row that was read, or puts it in the place of the row with its key. No query may read the table yet.
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

    /// Changes a row: no `before` for an insert, no `after` for a delete.
    ///
    /// # Errors
    /// The change does not fit the rows in the table.
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
        self.tell(name, BoundRow::Slot(slot), false);
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
        self.tell(name, BoundRow::Row(&row), true);
        if let Some(table) = self.tables.get_mut(name) {
            table.insert(&row);
        }
        Ok(())
    }

    /// Tells a row to the queries that read it, as [`Installation::change`] says.
    fn tell(&mut self, name: &TableName, row: BoundRow<'_>, is_more: bool) {
        let Self { tables, queries, by_table, .. } = self;
        let Some(table) = tables.get(name) else { return };
        let readers = by_table.get(name).into_iter().flatten();
        for reader in readers.filter(|reader| reader.reads(table, row)) {
            if let Some(installed) = queries.get_mut(&reader.number) {
                installed.selects.iter_mut().for_each(|select| select.change(tables, name, row, is_more));
            }
        }
    }

    /// Installs a query whose tables are there with all their rows. `None` if a table is missing.
    pub fn install(&mut self, query: MaintainedQuery) -> Option<QueryNumber> {
        let install = |select| Installation::of(select, &self.tables);
        let selects: Vec<Installation> = query.selects.iter().map(install).collect::<Option<_>>()?;
        for (name, column) in selects.iter().flat_map(Installation::looked_by) {
            self.tables.get_mut(&name)?.index(column);
        }
        for (name, column) in selects.iter().filter_map(Installation::ranged_by) {
            self.tables.get_mut(&name)?.index_in_order(column);
        }
        self.given += 1;
        let number = QueryNumber(self.given);
        for (name, _) in query.tables() {
            let within = if let [only] = &selects[..] { only.within(name) } else { None };
            self.by_table.entry(name.clone()).or_default().push(Reader { number, within });
        }
        self.queries.insert(number, Installed { selects, union: query.union });
        Some(number)
    }

    /// Drops a query and its results.
    pub fn drop_query(&mut self, number: QueryNumber) {
        self.queries.remove(&number);
        self.by_table.values_mut().for_each(|readers| readers.retain(|one| one.number != number));
    }

    /// Whether a query is installed.
    #[must_use]
    pub fn has_query(&self, number: QueryNumber) -> bool {
        self.queries.contains_key(&number)
    }

    /// Drops all results. They are made again from the rows when they are asked for.
    pub fn drop_results(&mut self) {
        self.queries
            .values_mut()
            .flat_map(|installed| &mut installed.selects)
            .for_each(|select| select.results = Results::default());
    }

    /// Returns how many results of a query are held.
    #[must_use]
    pub fn results(&self, number: QueryNumber) -> usize {
        self.queries
            .get(&number)
            .map_or(0, |installed| installed.selects.iter().map(|select| select.results.len()).sum())
    }

    /// Returns the result for these values of a query's parameters. If it is not held, it is made from the base rows. `None` if there is
    /// no such query.
    pub fn show(&mut self, number: QueryNumber, key: &[Number]) -> Option<Arc<Shown>> {
        self.queries.get_mut(&number)?.show(&self.tables, key)
    }
}

/// Makes a result from the base rows.
fn fill(
    installed: &Installation,
    all: &HashMap<TableName, Table>,
    results: &mut Results,
    key: &[Number],
) -> Option<()> {
    let tables = installed.tables(all)?;
    let query = &installed.query;
    let sought = sought(query);
    let plan = installed.plans.get(sought.as_ref().map_or(0, |sought| sought.column_ref().mention))?;
    let (table, columns) = tables[query.mentions[plan.start]];
    let join = Join { plan, changed: None, wanted: Some(key) };
    let mut one = |slot| {
        join.each(query, &tables, BoundRow::Slot(slot), &mut |found, _| results.add(found, true));
    };
    let column = sought.as_ref().map(|sought| columns[sought.column_ref().column]);
    match (sought, column) {
        (Some(Sought::Range(_, range)), Some(column)) if table.is_in_order(column) => {
            table.between(column, range).for_each(&mut one);
        }
        (Some(Sought::Parameter(_)), Some(column)) if table.is_indexed(column) => {
            table.with(column, *key.first()?).iter().copied().for_each(&mut one);
        }
        (Some(Sought::Listed(_, values)), Some(column)) if table.is_indexed(column) => {
            values.iter().flat_map(|value| table.with(column, *value)).copied().for_each(&mut one);
        }
        _ => table.slots().for_each(&mut one),
    }
    Some(())
}

/// The column by which the first rows of a result are found.
enum Sought {
    /// The column of the first parameter.
    Parameter(ColumnRef),
    /// A column that has one of these values.
    Listed(ColumnRef, Vec<Number>),
    Range(ColumnRef, RangeInclusive<Number>),
}

impl Sought {
    const fn column_ref(&self) -> ColumnRef {
        match self {
            Self::Parameter(column_ref) | Self::Listed(column_ref, _) | Self::Range(column_ref, _) => {
                *column_ref
            }
        }
    }
}

fn sought(query: &Select) -> Option<Sought> {
    let parameter = query.parameters.first().map(|column_ref| Sought::Parameter(*column_ref));
    let listed = || query.listed().map(|(column_ref, values)| Sought::Listed(column_ref, values));
    let ranged = || query.ranged().map(|(column_ref, range)| Sought::Range(column_ref, range));
    parameter.or_else(listed).or_else(ranged)
}

/// NULL or a number, for callers that hand in rows.
impl From<Cell> for Given {
    fn from(cell: Cell) -> Self {
        Self::Number(cell)
    }
}

#[cfg(test)]
mod tests;
