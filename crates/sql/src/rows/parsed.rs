//! A SELECT taken apart: its blocks, the tables of each block with the conditions on them, and the links between a block and the block
//! that reads its rows.

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
    /// None for a derived table and a table expression.
    pub table: Option<TableName>,
    /// The columns of a table, in lower case; None if they are not known, or the leaf is no table.
    pub columns: Option<Arc<[String]>>,
    /// No column of the table is hidden from `*` and from NATURAL joins.
    pub shows_all: bool,
    /// The query whose result the leaf is, for a derived table, a table expression or a view.
    pub query: Option<usize>,
    /// The block whose FROM contains the leaf.
    pub block: usize,
    /// The leaf of the view whose text names this leaf.
    pub inside: Option<usize>,
}

/// A condition on the rows of a block.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// WHERE, which sees the block's tables and the blocks around it.
    Where(Range<usize>),
    /// ON, which sees the tables of the join's operands.
    On(Range<usize>, Vec<usize>),
    /// The columns that a join has merged are equal. The number is the join's place among the block's merges.
    Merged(usize),
}

/// A join by USING or a NATURAL join: it merges two equal columns into one.
#[derive(Debug)]
pub(super) struct Merge {
    /// The columns' names, in lower case; None for all columns that both operands have.
    pub columns: Option<Vec<String>>,
    /// The tables of the left operand.
    pub left: Vec<usize>,
    /// The tables of the right operand.
    pub right: Vec<usize>,
    /// A merged column has the right operand's value, because rows without a match are kept from the right operand.
    pub keeps_right: bool,
}

/// Tables joined by inner joins, and the outer joins on top of them, in order.
///
/// The group stands for the product of `leaves`, outer joined to each of `optional` in turn, filtered by all `filters`. The ON of an
/// outer join is among the filters of its optional side: a row of that side that fails the ON matches nothing. Every FROM can be written
/// in this form. Inner joins commute with outer joins whose ON does not name them, and a filter on the preserved side can be applied
/// before or after the join.
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
    /// Joins another group to this one, without a condition.
    pub fn join(&mut self, other: Group<F>) {
        self.leaves.extend(other.leaves);
        self.filters.extend(other.filters);
        self.optional.extend(other.optional);
    }

    /// Returns the group's tables, including those of outer joins.
    pub fn all_leaves(&self) -> Vec<usize> {
        let inner = self.optional.iter().flat_map(Group::all_leaves);
        self.leaves.iter().copied().chain(inner).collect()
    }

    /// Returns the same tables, with each filter replaced by what `of_filter` makes of it.
    pub fn map<G>(&self, of_filter: &dyn Fn(&F) -> Vec<G>) -> Group<G> {
        Group {
            leaves: self.leaves.clone(),
            filters: self.filters.iter().flat_map(of_filter).collect(),
            optional: self.optional.iter().map(|inner| inner.map(of_filter)).collect(),
        }
    }
}

/// The block around a subquery, as far as the subquery can see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub block: usize,
    /// A name without a table can be a column of that block. Outside of WHERE such a name may be an alias of the select list instead.
    pub bare: bool,
}

/// One SELECT.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The text that contains the block.
    pub source: usize,
    pub outer: Option<Outer>,
    /// The block is in a subquery or is LATERAL, so it may see columns of the blocks around it.
    pub enclosed: bool,
    pub group: Group<Filter>,
    /// The block's joins by USING and NATURAL joins. The joins of an operand stand before the join around it.
    pub merges: Vec<Merge>,
    /// The block belongs to a recursive table expression, which reads its own rows again.
    pub recursive: bool,
    /// The select list.
    pub items: Vec<Item>,
    /// How the block's rows become the rows of its result.
    pub grouping: Grouping,
    /// The places of the clauses.
    pub clauses: Clauses,
}

/// The places of the clauses that set no condition on a block's rows.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    pub is_distinct: bool,
    pub group_by: Option<Range<usize>>,
    pub having: Option<Range<usize>>,
    /// The block defines windows.
    pub windows: bool,
}

/// How a query is made of blocks.
#[derive(Clone, Debug, Default)]
pub(super) enum Built {
    #[default]
    Nothing,
    Block(usize),
    /// UNION, EXCEPT or INTERSECT.
    Set {
        is_union: bool,
        all: bool,
        both: Box<(Built, Built)>,
    },
    /// A query with ORDER BY and LIMIT around it.
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
    /// The names of its columns, which replace those of its select list.
    pub columns: Vec<String>,
    /// Every row of the result is made only of rows that have its values in the columns taken over. LIMIT, EXCEPT and INTERSECT
    /// break this, and so do window functions and a HAVING without GROUP BY.
    pub is_open: bool,
    /// Equal rows are merged into one.
    pub merges: bool,
    /// How often the statement names the query.
    pub namings: usize,
    /// The blocks that the query is made of.
    pub built: Built,
}

/// The place of a subquery in a text.
#[derive(Debug)]
pub(super) struct Subquery {
    /// The number of the text.
    pub source: usize,
    /// The number of its first token in the text.
    pub at: usize,
    pub query: Query,
}

/// A statement taken apart, with the views that it reads.
#[derive(Debug, Default)]
pub(super) struct Parsed<'v> {
    /// The statement's own text and the texts of its views. Each stands behind the text that names it.
    pub sources: Vec<Rc<Source<'v>>>,
    pub blocks: Vec<Block>,
    pub leaves: Vec<Leaf>,
    pub queries: Vec<Query>,
    /// The statement itself, if it is a query.
    pub whole: Query,
    /// The subqueries of expressions. Each has at least one block.
    pub subqueries: Vec<Subquery>,
    /// A column that the statement does not name may decide about a row, such as a column of a partitioning.
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
