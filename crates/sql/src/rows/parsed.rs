//! A SELECT taken apart: its blocks, the tables of each with the conditions on them, and where the rows of one block are
//! the rows that another one reads.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::output::{Grouping, Item};
use super::source::Source;
use crate::TableName;

/// A table, view, derived table or table expression in a FROM.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    /// The name that columns are qualified with.
    pub name: String,
    /// The name is an alias.
    pub aliased: bool,
    /// None for what is neither a table nor a view by itself.
    pub table: Option<TableName>,
    /// The columns of a table, in lower case; None if they are not known, or it is no table.
    pub columns: Option<Arc<[String]>>,
    /// No column of the table is hidden from `*` and from NATURAL joins.
    pub shows_all: bool,
    /// The query whose result it is: a derived table's, a table expression's, a view's.
    pub query: Option<usize>,
    /// The block in whose FROM it stands.
    pub block: usize,
    /// The view whose text names it, as a leaf.
    pub inside: Option<usize>,
}

/// What rows of a block have to satisfy.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// WHERE, which sees the block's tables and, beyond them, the blocks around it.
    Where(Range<usize>),
    /// ON, which sees the tables of the join's operands.
    On(Range<usize>, Vec<usize>),
    /// The columns that a join has merged are equal: the join's place among the block's merges.
    Merged(usize),
}

/// A join by USING, or a NATURAL one: it makes one column of two that are equal.
#[derive(Debug)]
pub(super) struct Merge {
    /// The columns' names, in lower case; None for all that the operands have in common.
    pub columns: Option<Vec<String>>,
    /// The tables of the left operand.
    pub left: Vec<usize>,
    /// The tables of the right operand.
    pub right: Vec<usize>,
    /// A merged column has the right operand's value: rows without a match are that operand's.
    pub keeps_right: bool,
}

/// Tables joined by inner joins, and the outer joins on top of them, in order.
///
/// It stands for: the product of `leaves`, outer joined to each of `optional` in turn, filtered by all `filters`. The ON of
/// an outer join is among the filters of its optional side, because a row of that side that fails it matches nothing.
/// Every FROM has this form: inner joins commute with outer joins whose ON they take no part in, and a filter on the
/// preserved side can be applied before or after the join.
#[derive(Clone, Debug)]
pub(super) struct Group<F> {
    pub leaves: Vec<usize>,
    pub filters: Vec<F>,
    pub optional: Vec<Group<F>>,
}

impl<F> Default for Group<F> {
    fn default() -> Self {
        Group { leaves: Vec::new(), filters: Vec::new(), optional: Vec::new() }
    }
}

impl<F> Group<F> {
    /// Joins another to it, without a condition.
    pub fn join(&mut self, other: Group<F>) {
        self.leaves.extend(other.leaves);
        self.filters.extend(other.filters);
        self.optional.extend(other.optional);
    }

    /// Its tables, those of outer joins included.
    pub fn all_leaves(&self) -> Vec<usize> {
        let inner = self.optional.iter().flat_map(Group::all_leaves);
        self.leaves.iter().copied().chain(inner).collect()
    }

    /// The same tables with what each filter stands for.
    pub fn map<G>(&self, of_filter: &dyn Fn(&F) -> Vec<G>) -> Group<G> {
        Group {
            leaves: self.leaves.clone(),
            filters: self.filters.iter().flat_map(of_filter).collect(),
            optional: self.optional.iter().map(|inner| inner.map(of_filter)).collect(),
        }
    }
}

/// The block around a subquery, as far as the subquery may know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub block: usize,
    /// A name without a table can be one of its columns. Outside of WHERE it may be an alias of the select list as well.
    pub bare: bool,
}

/// One SELECT.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The text that it is part of.
    pub source: usize,
    pub outer: Option<Outer>,
    /// Whatever is around it, it may see some of that: it is in a subquery, or LATERAL.
    pub enclosed: bool,
    pub group: Group<Filter>,
    /// Its joins by USING and NATURAL ones; an operand's stand before those of the join around it.
    pub merges: Vec<Merge>,
    /// It belongs to a recursive table expression: its rows come round again.
    pub recursive: bool,
    /// Its select list.
    pub items: Vec<Item>,
    /// How its rows become those of its result.
    pub grouping: Grouping,
    /// Its clauses, where they stand.
    pub clauses: Clauses,
}

/// Where the clauses of a block stand that say nothing of its rows.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    pub is_distinct: bool,
    pub group_by: Option<Range<usize>>,
    pub having: Option<Range<usize>>,
    /// It defines windows.
    pub windows: bool,
}

/// How a query is made of blocks.
#[derive(Clone, Debug, Default)]
pub(super) enum Built {
    #[default]
    Nothing,
    Block(usize),
    /// UNION, or the other two.
    Set {
        is_union: bool,
        all: bool,
        both: Box<(Built, Built)>,
    },
    /// ORDER BY and LIMIT on top of it.
    Ordered {
        of: Box<Built>,
        source: usize,
        order: Option<Range<usize>>,
        limit: Option<Range<usize>>,
    },
}

impl Built {
    /// Returns the block whose columns give a query's columns their names.
    pub(super) fn first_block(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Block(block) => Some(*block),
            Self::Set { both, .. } => both.0.first_block(),
            Self::Ordered { of, .. } => of.first_block(),
        }
    }
}

/// A query that can be read like a table: one block, or several that are a UNION of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pub branches: Vec<usize>,
    /// Names of its columns that stand in place of those in its select list.
    pub columns: Vec<String>,
    /// A row of its result comes from rows that have the same values in the columns that it takes over from them, and from
    /// all that is in their block. It does not if there is a LIMIT, EXCEPT or INTERSECT.
    pub is_open: bool,
    /// Rows that are equal become one.
    pub merges: bool,
    /// How often it is named.
    pub namings: usize,
    /// What it is made of.
    pub built: Built,
}

/// A subquery, where it stands in a text.
#[derive(Debug)]
pub(super) struct Subquery {
    /// The text.
    pub source: usize,
    /// Its first token.
    pub at: usize,
    pub query: Query,
}

/// A statement taken apart, with the views that it reads.
#[derive(Debug, Default)]
pub(super) struct Parsed<'v> {
    /// The statement's own text, and those of the views in it: each stands behind the one that names it.
    pub sources: Vec<Rc<Source<'v>>>,
    pub blocks: Vec<Block>,
    pub leaves: Vec<Leaf>,
    pub queries: Vec<Query>,
    /// The statement itself, if it is a query.
    pub whole: Query,
    /// The subqueries of expressions; each has a block at least.
    pub subqueries: Vec<Subquery>,
    /// A column that is not named may decide about a row, such as one of a partitioning.
    pub reads_unnamed: bool,
}

impl Parsed<'_> {
    /// Returns the text that a leaf stands in.
    pub fn source_of(&self, leaf: &Leaf) -> Option<usize> {
        self.blocks.get(leaf.block).map(|block| block.source)
    }

    /// Returns the query whose result a leaf is.
    pub fn query_of(&self, leaf: usize) -> Option<&Query> {
        self.queries.get(self.leaves.get(leaf)?.query?)
    }
}
