//! Finds the column that a name stands for.
//!
//! The servers look first among the tables of the name's own block, then in the block around it. A name is resolved here only if this
//! search can be followed to its end: every table that could have the column is known, or the name itself gives the table. A name that is
//! an error to the servers may be resolved to anything.
//!
//! A derived table, a table expression and a view have the columns of their select list. The servers refuse a list in which two columns
//! have one name. So if a column of the name is found among those that are understood, the name stands for it.

use super::conjunct::{self, ColumnName, Conjunct};
use super::output::{Item, Selected};
use super::parsed::{Block, Filter, Leaf, Merge, Parsed, Query, Subquery};
use super::source::Source;

/// A column of an occurrence: the index of its leaf, and its name in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub leaf: usize,
    pub name: String,
}

/// The tables of a statement, with their columns.
pub(super) struct Names<'p, 'v> {
    parsed: &'p Parsed<'v>,
}

/// How deep a column is followed into derived tables.
const DEPTH_MAX: usize = 32;

/// The most joins that merge columns in a block with a NATURAL one.
const NATURAL_MAX: usize = 6;
/// The most columns that a NATURAL join is asked about.
const NATURAL_COLUMNS_MAX: usize = 256;

/// The scope of a name: a block's own tables, and the blocks around it.
#[derive(Clone, Copy)]
struct NameScope<'b> {
    block: &'b Block,
    leaves: &'b [usize],
    outward: bool,
}

impl<'p, 'v> Names<'p, 'v> {
    /// Returns the names; None if two table names of one text differ only in case. Then the server decides whether they are equal.
    pub fn new(parsed: &'p Parsed<'v>) -> Option<Self> {
        let differ = |a: &Leaf, b: &Leaf| {
            a.name.eq_ignore_ascii_case(&b.name)
                && a.name != b.name
                && parsed.source_of(a) == parsed.source_of(b)
        };
        let leaves = &parsed.leaves;
        let is_unclear = |(at, leaf)| leaves.iter().take(at).any(|other| differ(leaf, other));
        (!leaves.iter().enumerate().any(is_unclear)).then_some(Names { parsed })
    }

    /// Whether the names of all known columns are ASCII. The servers take `e` for `é` in the name of a column.
    pub fn are_ascii(&self) -> bool {
        let known = self.parsed.leaves.iter().filter_map(|leaf| leaf.columns.as_ref());
        known.flat_map(|columns| columns.iter()).all(|column| column.is_ascii())
    }

    /// Whether a column belongs to a table and not to a query.
    pub fn is_of_table(&self, column: &Column) -> bool {
        self.parsed.leaves.get(column.leaf).is_some_and(|leaf| leaf.table.is_some() && leaf.query.is_none())
    }

    /// Returns the columns of tables whose values a column has, one for each branch of a UNION; None if its values are made in
    /// another way.
    pub fn origins(&self, column: &Column) -> Option<Vec<Column>> {
        self.origins_within(column, DEPTH_MAX)
    }

    fn origins_within(&self, column: &Column, depth: usize) -> Option<Vec<Column>> {
        if self.is_of_table(column) {
            return Some(vec![column.clone()]);
        }
        let depth = depth.checked_sub(1)?;
        let each = self.inner(column)?.into_iter().map(|(_, inner)| self.origins_within(&inner, depth));
        Some(each.collect::<Option<Vec<_>>>()?.concat())
    }

    /// Returns the column that each branch of a derived table's query takes over for a column of it.
    pub fn inner(&self, column: &Column) -> Option<Vec<(usize, Column)>> {
        let query = self.parsed.query_of(column.leaf)?;
        let found = self.item(column.leaf, &column.name)?;
        query
            .branches
            .iter()
            .map(|&branch| Some((branch, self.taken_over(branch, found, &column.name)?)))
            .collect()
    }

    fn taken_over(&self, branch: usize, found: MadeAt, name: &str) -> Option<Column> {
        let block = self.parsed.blocks.get(branch)?;
        let all = block.group.all_leaves();
        let scope = NameScope { block, leaves: &all, outward: false };
        match found {
            MadeAt::At(at) => match &block.items.get(at)?.what {
                Selected::Column(named) => self.column(scope, named),
                _ => None,
            },
            MadeAt::AmongAll => self.column(scope, &[name.to_owned()]),
        }
    }

    /// Returns the column that a subquery of one block shows unchanged, and that block. The select list must hold nothing else, and the
    /// result must contain every row that the block finds, or an equal row.
    pub fn shown_alone(&self, source: usize, at: usize) -> Option<(usize, Column)> {
        let is_it = |subquery: &&Subquery| (subquery.source, subquery.at) == (source, at);
        let query = &self.parsed.subqueries.iter().find(is_it)?.query;
        let ([branch], true) = (&query.branches[..], query.is_open) else { return None };
        let block = self.parsed.blocks.get(*branch)?;
        match &block.items[..] {
            [Item { what: Selected::Column(named), .. }] => Some((*branch, self.own_column(block, named)?)),
            _ => None,
        }
    }

    /// Returns a column of a block's own tables.
    pub fn own_column(&self, block: &Block, named: &[String]) -> Option<Column> {
        self.column(NameScope { block, leaves: &block.group.all_leaves(), outward: false }, named)
    }

    /// Returns a column that an expression of a block can see: one of its own tables, or of a block around it.
    pub fn visible_column(&self, block: &Block, named: &[String]) -> Option<Column> {
        self.column(NameScope { block, leaves: &block.group.all_leaves(), outward: true }, named)
    }

    /// Returns a column of one of these tables of a block.
    pub fn joined_column(&self, block: &Block, leaves: &[usize], named: &[String]) -> Option<Column> {
        self.column(NameScope { block, leaves, outward: false }, named)
    }

    /// Returns where in its query's select list a leaf's column is made.
    fn item(&self, leaf: usize, name: &str) -> Option<MadeAt> {
        let query = self.parsed.query_of(leaf)?;
        let first = self.parsed.blocks.get(*query.branches.first()?)?;
        let named = |item: &Item| item.name.as_deref() == Some(name);
        let at = if query.columns.is_empty() {
            first.items.iter().position(named)
        } else {
            Some(query.columns.iter().position(|column| column == name)?)
        };
        match at {
            Some(at) if self.counts_to(query, at) => Some(MadeAt::At(at)),
            Some(_) => None,
            None => {
                let reader = self.parsed.blocks.get(self.parsed.leaves.get(leaf)?.block)?;
                (!reader.enclosed && self.is_among_all(query, first, name)).then_some(MadeAt::AmongAll)
            }
        }
    }

    /// Whether the column at a place is the same item in every branch. Behind a `*` the item is not known.
    fn counts_to(&self, query: &Query, at: usize) -> bool {
        let is_one = |item: &Item| !matches!(item.what, Selected::All(_));
        let has_place = |branch: &usize| {
            let items =
                self.parsed.blocks.get(*branch).map(|block| block.items.as_slice()).unwrap_or_default();
            items.len() > at && items.iter().take(at + 1).all(is_one)
        };
        (query.branches.len() == 1 && query.columns.is_empty()) || query.branches.iter().all(has_place)
    }

    /// Whether a column is one of the columns of `SELECT *`. A column may be hidden from `*`. Then the name could stand for another
    /// column: of a table that is not known, or of an item whose name the server makes up. Both are excluded here. The caller has made
    /// sure that no table around the reader can be meant.
    fn is_among_all(&self, query: &Query, block: &Block, name: &str) -> bool {
        let made_up = |item: &Item| item.name.is_none() && item.what == Selected::Other;
        let all = block.items.iter().any(|item| item.what == Selected::All(None));
        query.branches.len() == 1
            && query.columns.is_empty()
            && all
            && !block.items.iter().any(made_up)
            && block.group.all_leaves().into_iter().all(|leaf| self.has(leaf, name).is_some())
            && self.own_column(block, &[name.to_owned()]).is_some()
    }

    /// Returns the understood conjuncts of a filter, with their columns resolved. A conjunct is left out if one of its columns cannot be
    /// resolved.
    pub fn conjuncts(&self, block: &Block, filter: &Filter, source: &Source<'_>) -> Vec<Conjunct<Column>> {
        let all = block.group.all_leaves();
        let (range, leaves, outward) = match filter {
            Filter::Where(range) => (range, &all, true),
            Filter::On(range, operands) => (range, operands, false),
            Filter::Merged(at) => {
                return block.merges.get(*at).map(|merge| self.merged(block, merge)).unwrap_or_default();
            }
        };
        let scope = NameScope { block, leaves, outward };
        let named = conjunct::conjuncts(source, range.clone());
        named.into_iter().filter_map(|named| self.conjunct(scope, named)).collect()
    }

    fn conjunct(&self, scope: NameScope<'_>, named: Conjunct<ColumnName>) -> Option<Conjunct<Column>> {
        Some(match named {
            Conjunct::Is(column, condition, rejects_null) => {
                Conjunct::Is(self.column(scope, &column)?, condition, rejects_null)
            }
            Conjunct::Equal(a, b) => Conjunct::Equal(self.column(scope, &a)?, self.column(scope, &b)?),
            Conjunct::Within(column, subquery) => Conjunct::Within(self.column(scope, &column)?, subquery),
            Conjunct::Any(alternatives) => {
                let resolved = |all: Vec<Conjunct<ColumnName>>| {
                    let all: Vec<_> = all.into_iter().filter_map(|one| self.conjunct(scope, one)).collect();
                    (!all.is_empty()).then_some(all)
                };
                Conjunct::Any(alternatives.into_iter().map(resolved).collect::<Option<_>>()?)
            }
        })
    }

    /// Returns the equalities of a join that merges columns.
    fn merged(&self, block: &Block, merge: &Merge) -> Vec<Conjunct<Column>> {
        let columns: Vec<&String> = match &merge.columns {
            Some(columns) => columns.iter().collect(),
            None => {
                let tables = merge.left.iter().filter_map(|leaf| self.parsed.leaves.get(*leaf));
                tables
                    .filter_map(|leaf| leaf.columns.as_deref())
                    .flatten()
                    .take(NATURAL_COLUMNS_MAX)
                    .collect()
            }
        };
        let is_merged = |column: &&&String| self.merges(block, merge, column) == Some(true);
        let equal = |column: &String| {
            let left = self.among(block, &merge.left, column)?;
            let right = self.among(block, &merge.right, column)?;
            match (left, right) {
                (Found::Here(left), Found::Here(right)) => {
                    let of = |leaf| Column { leaf, name: column.clone() };
                    Some(Conjunct::Equal(of(left), of(right)))
                }
                _ => None,
            }
        };
        columns.iter().filter(is_merged).filter_map(|column| equal(column)).collect()
    }

    /// Whether a join merges the columns of this name of its operands; None if that is not known. NATURAL merges the columns that both
    /// operands have and show.
    fn merges(&self, block: &Block, merge: &Merge, column: &str) -> Option<bool> {
        if let Some(columns) = &merge.columns {
            return Some(columns.iter().any(|merged| merged == column));
        }
        let in_one = |leaves: &[usize]| Some(matches!(self.among(block, leaves, column)?, Found::Here(_)));
        let mut all = merge.left.iter().chain(&merge.right).filter_map(|leaf| self.parsed.leaves.get(*leaf));
        (block.merges.len() <= NATURAL_MAX && all.all(|leaf| leaf.shows_all)).then_some(())?;
        Some(in_one(&merge.left)? && in_one(&merge.right)?)
    }

    fn column(&self, scope: NameScope<'_>, named: &[String]) -> Option<Column> {
        let found = match named {
            [column] => self.bare(scope, column)?,
            [table, column] => self.qualified(scope, None, table, column)?,
            [schema, table, column] => self.qualified(scope, Some(schema), table, column)?,
            _ => return None,
        };
        match found {
            Found::Here(leaf) => Some(Column { leaf, name: named.last()?.clone() }),
            Found::Outside => {
                let outer =
                    scope.block.outer.filter(|outer| scope.outward && (outer.bare || named.len() > 1))?;
                let block = self.parsed.blocks.get(outer.block)?;
                self.column(NameScope { block, leaves: &block.group.all_leaves(), outward: true }, named)
            }
        }
    }

    fn has(&self, leaf: usize, column: &str) -> Option<bool> {
        let known = self.parsed.leaves.get(leaf)?;
        if let Some(columns) = &known.columns {
            return Some(columns.iter().any(|name| name == column));
        }
        let query = self.parsed.queries.get(known.query?)?;
        if self.item(leaf, column).is_some() {
            return Some(true);
        }
        let block = self.parsed.blocks.get(*query.branches.first()?)?;
        let all_named = !query.columns.is_empty() || block.items.iter().all(|item| item.name.is_some());
        let is_named = |name: &String| name == column;
        let may_have = query.columns.iter().any(is_named)
            || (query.columns.is_empty()
                && block.items.iter().filter_map(|item| item.name.as_ref()).any(is_named));
        (all_named && !may_have).then_some(false)
    }

    /// Finds the column of a name without a table. If one table has the column, no other table can have it, or the server refuses the
    /// name as ambiguous. A column that a join has merged is an exception.
    fn bare(&self, scope: NameScope<'_>, column: &str) -> Option<Found> {
        self.among(scope.block, scope.leaves, column)
    }

    /// Finds the column of a name without a table among these tables of a block. A merged column is the column of the operand whose rows
    /// are kept, and of the left operand if the rows of both are kept. The servers document it so.
    fn among(&self, block: &Block, leaves: &[usize], column: &str) -> Option<Found> {
        let unknown = leaves.iter().any(|&leaf| self.has(leaf, column).is_none());
        let may_merge =
            |merge: &Merge| merge.columns.as_ref().is_none_or(|all| all.iter().any(|one| one == column));
        if unknown && block.merges.iter().any(may_merge) {
            return None;
        }
        let holders: Vec<usize> =
            leaves.iter().copied().filter(|&leaf| self.has(leaf, column) == Some(true)).collect();
        match holders.as_slice() {
            [leaf] => Some(Found::Here(*leaf)),
            [] if !unknown => Some(Found::Outside),
            [] => None,
            _ => {
                let has_all = |merge: &&Merge| {
                    let in_left = holders.iter().filter(|leaf| merge.left.contains(leaf)).count();
                    let in_right = holders.iter().filter(|leaf| merge.right.contains(leaf)).count();
                    may_merge(merge) && in_left > 0 && in_right > 0 && in_left + in_right == holders.len()
                };
                let merge = block.merges.iter().find(has_all)?;
                self.merges(block, merge, column)?.then_some(())?;
                self.among(block, if merge.keeps_right { &merge.right } else { &merge.left }, column)
            }
        }
    }

    fn qualified(
        &self,
        scope: NameScope<'_>,
        schema: Option<&String>,
        table: &str,
        column: &str,
    ) -> Option<Found> {
        let leaf_of = |&leaf: &usize| self.parsed.leaves.get(leaf).map(|found| (leaf, found));
        let mut named =
            scope.leaves.iter().filter_map(leaf_of).filter(|(_, leaf)| leaf.name.eq_ignore_ascii_case(table));
        let (leaf, found) = match (named.next(), named.next()) {
            (Some(only), None) => only,
            (None, _) => return Some(Found::Outside),
            _ => return None,
        };
        // In the texts of views, MySQL puts the schema of its table before an alias too.
        let may_be_aliased = scope.block.source > 0;
        let same_schema = schema.is_none()
            || ((may_be_aliased || !found.aliased)
                && found.table.as_ref().is_some_and(|table| table.schema.as_ref() == schema));
        (same_schema && self.has(leaf, column) == Some(true)).then_some(Found::Here(leaf))
    }
}

/// The place in a select list where a column is made.
#[derive(Clone, Copy)]
enum MadeAt {
    At(usize),
    /// The column is one of those of `*`.
    AmongAll,
}

/// The outcome of the search for a name.
enum Found {
    Here(usize),
    /// No table of the block has the column: it belongs to a block around it.
    Outside,
}
