//! Writes whose rows are found by reading: of several tables at once, from a query, or through a view.
//!
//! The tables, conditions and views of such a statement are read like those of a SELECT. An updated or deleted row is part of a
//! combination that passes the conditions, so the pins of its table hold of it. A new row gets the values of its query, which come from
//! rows that satisfy the pins of their tables.

use std::ops::Range;
use std::rc::Rc;

use super::conjunct;
use super::known;
use super::output::{self, Grouping, Item, Selected};
use super::parsed::{Block, Filter, Group, Leaf, Outer, Parsed};
use super::pins::{by_tables, occurrences, pins};
use super::query::{Definitions, Ends, QueryReader};
use super::resolve::{Column, Names};
use super::solve::Fact;
use super::source::Source;
use super::write::{self, DuplicateClause};
use super::{Datum, Given, Occurrence, OnDuplicate, RowWrite};
use crate::TableName;

/// The writes of a statement, table by table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrites {
    /// Every naming of a table or view, and the tables in the texts of the views. The indexes in [`Pin::via`] refer to this list.
    pub tables: Vec<TableName>,
    /// The writes, each with the place of its table (never a view) in `tables`. If its rows satisfy one of several alternatives, there is
    /// a write for each alternative. The server may update rows while it still looks for others: the pins hold of a row at the time it is
    /// looked at.
    pub writes: Vec<(usize, RowWrite)>,
}

/// The most columns that one table is assigned.
const ASSIGNED_MAX: usize = 256;
/// The most columns that an INSERT lists.
const LISTED_MAX: usize = 1024;

type Assigned = Vec<(String, Datum)>;

/// Returns the writes of `source`; None if the statement is not understood to its end.
pub(super) fn row_writes<'v>(source: Source<'v>, definitions: Definitions<'v, '_>) -> Option<RowWrites> {
    if !write::runs_nothing_else(&source) {
        return None;
    }
    let listed = write::row_write(&source);
    match listed {
        Some(listed @ (RowWrite::Insert { .. } | RowWrite::Upsert { .. })) => {
            through_view(source, listed, definitions)
        }
        _ if source.any(0, &["INSERT", "REPLACE"]) => fill(&source, definitions),
        _ => changed(source, definitions),
    }
}

/// Returns the writes of an INSERT of rows that are written out, into a view.
fn through_view<'v>(
    source: Source<'v>,
    mut write: RowWrite,
    definitions: Definitions<'v, '_>,
) -> Option<RowWrites> {
    let mut reader = QueryReader::new(source, Parsed::default(), definitions);
    let target = InsertTarget::read(&mut reader, write.table().clone())?;
    let told = ResolvedWrite::of(reader.parsed)?;
    let names = told.names()?;
    match &mut write {
        RowWrite::Insert { columns, .. } => target.name_columns(&told, &names, columns)?,
        RowWrite::Upsert { columns, assigned, .. } => {
            target.name_columns(&told, &names, columns)?;
            if let Some(assigned) = assigned {
                target.rename(&told, &names, assigned)?;
            }
        }
        _ => return None,
    }
    *write.table_mut() = target.table(&told)?;
    Some(RowWrites { tables: told.tables(), writes: vec![(target.occurrence(&told)?, write)] })
}

/// The table or view that rows are inserted into, as the one table of a block.
struct InsertTarget {
    block: usize,
    leaf: usize,
}

impl InsertTarget {
    fn read(reader: &mut QueryReader<'_, '_>, table: TableName) -> Option<Self> {
        let block = reader.open(None)?;
        let leaf = reader.parsed.leaves.len();
        let named = Leaf { name: table.name.clone(), block, ..Leaf::default() };
        let group = reader.named(table, named)?;
        reader.parsed.blocks.get_mut(block)?.group = group;
        Some(Self { block, leaf })
    }

    fn table(&self, told: &ResolvedWrite<'_>) -> Option<TableName> {
        told.leaf(told.base_of(self.leaf)?)?.table.clone()
    }

    fn occurrence(&self, told: &ResolvedWrite<'_>) -> Option<usize> {
        Some(told.occurrence(told.base_of(self.leaf)?))
    }

    /// Replaces the columns that the statement names, or all columns of a view, by the columns of the table under the view.
    fn name_columns(
        &self,
        told: &ResolvedWrite<'_>,
        names: &Names<'_, '_>,
        columns: &mut Option<Vec<String>>,
    ) -> Option<()> {
        let of_view = || told.parsed.query_of(self.leaf).map(|query| query.columns.clone());
        *columns = columns.take().or_else(of_view);
        let Some(columns) = columns else { return Some(()) };
        (columns.len() <= LISTED_MAX).then_some(())?;
        for column in columns {
            *column = self.column(told, names, column)?;
        }
        Some(())
    }

    fn rename(&self, told: &ResolvedWrite<'_>, names: &Names<'_, '_>, assigned: &mut Assigned) -> Option<()> {
        for (column, _) in assigned {
            *column = self.column(told, names, column)?;
        }
        Some(())
    }

    fn column(&self, told: &ResolvedWrite<'_>, names: &Names<'_, '_>, column: &str) -> Option<String> {
        let block = told.parsed.blocks.get(self.block)?;
        let origin = origin(names, &names.own_column(block, &[column.to_owned()])?)?;
        (Some(origin.leaf) == told.base_of(self.leaf)).then_some(origin.name)
    }
}

/// Returns the one column of a table that a view's column shows.
fn origin(names: &Names<'_, '_>, column: &Column) -> Option<Column> {
    let mut origins = names.origins(column)?.into_iter();
    let only = origins.next()?;
    origins.next().is_none().then_some(only)
}

/// A statement that was read, all of whose tables and views are known.
struct ResolvedWrite<'v> {
    parsed: Parsed<'v>,
}

impl<'v> ResolvedWrite<'v> {
    /// Resolves a statement; None if a table is not known, because it may be a view of any others.
    fn of(parsed: Parsed<'v>) -> Option<Self> {
        let is_known = |leaf: &Leaf| leaf.table.is_none() || leaf.columns.is_some() || leaf.query.is_some();
        parsed.leaves.iter().all(is_known).then_some(Self { parsed })
    }

    fn names(&self) -> Option<Names<'_, 'v>> {
        Names::new(&self.parsed).filter(Names::are_ascii)
    }

    fn leaf(&self, leaf: usize) -> Option<&Leaf> {
        self.parsed.leaves.get(leaf)
    }

    /// Returns the table that a write to a leaf changes: the leaf itself, or the one table of a view.
    fn base_of(&self, mut leaf: usize) -> Option<usize> {
        for _ in 0..self.parsed.leaves.len() {
            let Some(query) = self.parsed.query_of(leaf) else { return Some(leaf) };
            let [branch] = query.branches[..] else { return None };
            let group = &self.parsed.blocks.get(branch)?.group;
            let [only] = group.leaves[..] else { return None };
            group.optional.is_empty().then_some(())?;
            leaf = only;
        }
        None
    }

    /// Returns the tables of all occurrences, in their order.
    fn tables(&self) -> Vec<TableName> {
        self.parsed.leaves.iter().filter_map(|leaf| leaf.table.clone()).collect()
    }

    /// Returns the number of a leaf among the occurrences.
    fn occurrence(&self, leaf: usize) -> usize {
        self.parsed.leaves.iter().take(leaf).filter(|leaf| leaf.table.is_some()).count()
    }
}

/// Returns the writes of an UPDATE or DELETE of any number of tables and views.
fn changed<'v>(source: Source<'v>, definitions: Definitions<'v, '_>) -> Option<RowWrites> {
    let mut reader = QueryReader::new(source, Parsed::default(), definitions);
    if reader.take("WITH") {
        reader.with()?;
    }
    if reader.take("UPDATE") {
        reader.updated()
    } else if reader.take("DELETE") {
        reader.deleted()
    } else {
        None
    }
}

impl QueryReader<'_, '_> {
    fn skip(&mut self, words: &[&str]) {
        while self.source.any(self.at, words) {
            self.at += 1;
        }
    }

    fn updated(mut self) -> Option<RowWrites> {
        self.skip(&["IGNORE", "LOW_PRIORITY"]);
        let block = self.open(None)?;
        let group = self.tables(block)?;
        self.expect("SET")?;
        let set = self.expression(Some(Outer { block, bare: false }), Ends::Clause)?;
        self.conditions(block, group)?;
        let source = Rc::clone(&self.source);
        let told = ResolvedWrite::of(self.parsed)?;
        let names = told.names()?;
        let mut assigned: Vec<(usize, Assigned)> = Vec::new();
        for piece in source.pieces(set) {
            let (column, value) = assignment(&source, piece, &names, told.parsed.blocks.get(block)?)?;
            if !assigned.iter().any(|(leaf, _)| *leaf == column.leaf) {
                assigned.push((column.leaf, Vec::new()));
            }
            let (_, of_leaf) = assigned.iter_mut().find(|(leaf, _)| *leaf == column.leaf)?;
            match of_leaf.iter().position(|(name, _)| *name == column.name) {
                Some(at) => of_leaf.get_mut(at)?.1 = Datum::Other,
                None if of_leaf.len() >= ASSIGNED_MAX => return None,
                None => of_leaf.push((column.name, value)),
            }
        }
        let all = occurrences(&told.parsed, &names, &known::facts(&told.parsed, &names));
        let mut writes = Vec::new();
        for (leaf, assigned) in assigned {
            let at = told.occurrence(leaf);
            let Occurrence { table, alternatives, .. } = all.get(at)?;
            writes.extend(alternatives.iter().map(|pins| {
                let (table, assigned, pins) = (table.clone(), assigned.clone(), pins.clone());
                (at, RowWrite::Update { table, assigned, pins })
            }));
        }
        Some(RowWrites { tables: told.tables(), writes })
    }

    fn deleted(mut self) -> Option<RowWrites> {
        self.skip(&["IGNORE", "LOW_PRIORITY", "QUICK"]);
        let begins_with_from = self.take("FROM");
        let start = self.at;
        let mut targets = self.targets();
        let is_of_several = targets.is_some() && self.take(if begins_with_from { "USING" } else { "FROM" });
        if !is_of_several {
            begins_with_from.then_some(())?;
            self.at = start;
            targets = None;
        }
        let block = self.open(None)?;
        let group = self.tables(block)?;
        self.conditions(block, group)?;
        let told = ResolvedWrite::of(self.parsed)?;
        let names = told.names()?;
        let all = occurrences(&told.parsed, &names, &known::facts(&told.parsed, &names));
        let leaves = told.parsed.blocks.get(block)?.group.all_leaves();
        let leaves: Vec<usize> = match targets {
            Some(targets) => {
                targets.iter().map(|target| meant(&told, &leaves, target)).collect::<Option<_>>()?
            }
            None => leaves,
        };
        if !is_of_several && leaves.len() != 1 {
            return None;
        }
        let mut writes = Vec::new();
        for leaf in leaves {
            let at = told.occurrence(told.base_of(leaf)?);
            let Occurrence { table, alternatives, .. } = all.get(at)?;
            writes.extend(alternatives.iter().map(|pins| {
                let (table, pins) = (table.clone(), pins.clone());
                (at, RowWrite::Delete { table, pins })
            }));
        }
        Some(RowWrites { tables: told.tables(), writes })
    }

    /// Returns a table's name, in full or not.
    fn target_name(&mut self) -> Option<TableName> {
        let first = self.source.is_plain(self.at).then(|| self.name())??;
        if !self.punct(b'.') {
            return Some(TableName::bare(first));
        }
        Some(TableName::of(first, self.name()?))
    }

    /// Reads the list of tables `a, s.b.*`.
    fn targets(&mut self) -> Option<Vec<TableName>> {
        let mut targets = Vec::new();
        loop {
            let first = self.source.is_plain(self.at).then(|| self.name())??;
            let mut target = TableName::bare(first);
            while self.punct(b'.') && !self.source.is(self.at, b'*') {
                target = TableName::of(target.schema.is_none().then_some(target.name)?, self.name()?);
            }
            self.punct(b'*');
            targets.push(target);
            if !self.punct(b',') {
                return Some(targets);
            }
        }
    }

    /// Reads WHERE, then ORDER BY and LIMIT, to the end of the text.
    fn conditions(&mut self, block: usize, mut group: Group<Filter>) -> Option<()> {
        if self.take("WHERE") {
            let range = self.expression(Some(Outer { block, bare: true }), Ends::Clause)?;
            group.filters.push(Filter::Where(range));
        }
        self.order_and_limit()?;
        self.parsed.blocks.get_mut(block)?.group = group;
        (self.at == self.source.tokens.len()).then_some(())
    }
}

/// Returns the leaf of the join that a name in DELETE stands for.
fn meant(told: &ResolvedWrite<'_>, leaves: &[usize], target: &TableName) -> Option<usize> {
    let is_meant =
        |leaf: &&usize| told.leaf(**leaf).is_some_and(|leaf| leaf.name.eq_ignore_ascii_case(&target.name));
    let mut found = leaves.iter().filter(is_meant);
    let leaf = *found.next()?;
    let known = told.leaf(leaf)?;
    let same_schema = target.schema.is_none()
        || !known.aliased && known.table.as_ref().is_some_and(|table| table.schema == target.schema);
    (found.next().is_none() && same_schema).then_some(leaf)
}

/// Returns the column of a table, and what it is given.
fn assignment(
    source: &Source<'_>,
    piece: Range<usize>,
    names: &Names<'_, '_>,
    block: &Block,
) -> Option<(Column, Datum)> {
    let (named, end) = conjunct::column(source, piece.clone());
    let named = named?;
    // For a column that a join has merged the server chooses the table.
    (named.len() > 1 || block.merges.is_empty()).then_some(())?;
    let column = names.own_column(block, &named)?;
    let is_one = source.is(end, b'=') && end + 1 < piece.end;
    is_one
        .then(|| conjunct::datum(source, end + 1..piece.end))
        .zip(origin(names, &column))
        .map(|(v, c)| (c, v))
}

/// Returns the writes of INSERT … SELECT and REPLACE … SELECT.
fn fill<'v>(source: &Source<'v>, definitions: Definitions<'v, '_>) -> Option<RowWrites> {
    let replaces = source.word(0, "REPLACE");
    let clause = write::behind_query(source)?;
    let query_text = match &clause {
        Some(clause) => source.text.get(..source.token(clause.at)?.start)?,
        None => source.text,
    };
    let mut reader = QueryReader::new(Source::cut(query_text, source.modes)?, Parsed::default(), definitions);
    reader.at = 1;
    reader.skip(if replaces { &["LOW_PRIORITY"] } else { &["HIGH_PRIORITY", "IGNORE", "LOW_PRIORITY"] });
    reader.take("INTO");
    let table = reader.target_name()?;
    let target = InsertTarget::read(&mut reader, table)?;
    let is_query =
        reader.source.any(reader.at + 1, &["SELECT", "WITH"]) || reader.source.is(reader.at + 1, b'(');
    let mut columns = if reader.source.is(reader.at, b'(') && !is_query {
        Some(reader.columns_in_parentheses()?)
    } else {
        None
    };
    let query = reader.whole()?;
    let source = Rc::clone(&reader.source);
    let told = ResolvedWrite::of(reader.parsed)?;
    let names = told.names()?;
    let facts = known::facts(&told.parsed, &names);
    // It is not known which of several alternatives a row satisfies.
    let facts = if let [facts] = &facts[..] { facts.as_slice() } else { &[] };
    let branches = query.branches.iter().map(|branch| given(&told, &names, facts, &source, *branch));
    let branches: Vec<Vec<Given>> = branches.collect::<Option<_>>()?;
    target.name_columns(&told, &names, &mut columns)?;
    let on_duplicate = match (replaces, clause) {
        (true, None) => OnDuplicate::Replaced,
        (true, Some(_)) => return None,
        (false, None) => OnDuplicate::Refused,
        (false, Some(DuplicateClause { mut assigned, .. })) => {
            target.rename(&told, &names, &mut assigned)?;
            OnDuplicate::Updated(assigned)
        }
    };
    let width = columns.as_ref().map(Vec::len).or(branches.first().map(Vec::len))?;
    let even = branches.iter().all(|given| given.len() == width);
    let (table, at) = (target.table(&told)?, target.occurrence(&told)?);
    let fill = |given| {
        let (table, columns, on_duplicate) = (table.clone(), columns.clone(), on_duplicate.clone());
        (at, RowWrite::Fill { table, columns, given, on_duplicate })
    };
    even.then(|| RowWrites { tables: told.tables(), writes: branches.into_iter().map(fill).collect() })
}

/// Returns the content of each column in the rows of one branch of a query; None if the number of columns is not known.
fn given(
    told: &ResolvedWrite<'_>,
    names: &Names<'_, '_>,
    facts: &[Fact],
    source: &Source<'_>,
    branch: usize,
) -> Option<Vec<Given>> {
    let block = told.parsed.blocks.get(branch)?;
    let facts: Vec<Fact> = facts.iter().filter_map(|fact| by_tables(names, fact)).collect();
    let tables = |id: &usize| told.leaf(*id).is_some_and(|leaf| leaf.table.is_some());
    let order: Vec<usize> = (0..told.parsed.leaves.len()).filter(tables).collect();
    // An aggregate anywhere, even in ORDER BY only, may make one row of all rows, or of none.
    let makes_one = block.grouping == Grouping::None && output::has_aggregate(source, query_in(source));
    let may_roll_up =
        block.grouping == Grouping::Opaque && query_in(source).any(|at| source.word(at, "GROUP"));
    let taken = |named: &[String]| -> Option<Given> {
        (named.len() > 1 || block.merges.is_empty()).then_some(())?;
        let column = names.own_column(block, named)?;
        // A column of an outer joined table may be NULL instead, and so may a column of a result made of no row.
        let is_of_rows = block.group.leaves.contains(&column.leaf)
            && !makes_one
            && block.grouping != Grouping::Opaque
            && !block.recursive
            && names.is_of_table(&column);
        let own = facts.iter().filter(|fact| fact.column == column);
        is_of_rows.then(|| Given::Taken {
            from: told.occurrence(column.leaf),
            column: column.name.clone(),
            pins: pins(own, &order),
        })
    };
    let one = |item: &Item| match &item.what {
        Selected::All(_) => None,
        Selected::Column(named) => Some(taken(named).unwrap_or(Given::Other)),
        Selected::Other => Some(match conjunct::datum(source, without_name(source, &item.range)) {
            // ROLLUP puts NULL in place of the values that it groups by, including literals.
            Datum::Other => Given::Other,
            _ if may_roll_up => Given::Other,
            datum => Given::Value(datum),
        }),
    };
    block.items.iter().map(one).collect()
}

/// Returns the range from the first SELECT to the part of the INSERT behind its query.
fn query_in(source: &Source<'_>) -> Range<usize> {
    let all = 0..source.tokens.len();
    let find = |word: &str| all.clone().find(|at| source.word(*at, word));
    find("SELECT").unwrap_or(all.start)..find("DUPLICATE").unwrap_or(all.end)
}

/// Returns an item of a select list without `AS name` behind it.
fn without_name(source: &Source<'_>, range: &Range<usize>) -> Range<usize> {
    let named = range.len() > 2 && source.word(range.end - 2, "AS");
    range.start..range.end - if named { 2 } else { 0 }
}
