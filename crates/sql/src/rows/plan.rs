//! The *plan form* of a SELECT: the steps that produce its result.
//!
//! The statement is read in the same way as for its pins. [`super::query`] finds blocks, tables, joins, views and table expressions, and
//! [`super::resolve`] resolves names. Here clauses become relations and expressions become scalars. Nothing is left out: a part that has
//! no place in the form is refused, and the refusal names it.

mod input;
mod star;
mod clause;
mod scalar;
mod show;

use std::cell::RefCell;
use std::fmt;

use self::input::Columns;
pub use self::input::{DataType, Input, InputColumn};
use super::Datum;
use super::parsed::{Block, Built, Filter, Group, Leaf, Parsed, Query};
use super::resolve::Names;
use super::source::Source;
use crate::TableName;

/// How deep relations and scalars may nest.
const DEPTH_MAX: usize = 64;

/// The plan form of a SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlan {
    /// Every table, view and query named in a FROM, in the order of the text. Those in a view's text stand behind the view. Scans and
    /// columns refer to places in this list.
    pub named: Vec<Input>,
    /// The relation that produces the result.
    pub root: Relation,
}

/// Rows, and the way in which they are made.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The rows of a table.
    Scan(usize),
    /// The rows of a view, a derived table or a table expression.
    Derived(usize, Box<Relation>),
    /// Each row of one relation with each row of the others. Without relations: one row.
    Product(Vec<Relation>),
    /// Each row of the first relation with each row of the second that satisfies all conditions, or with NULLs if no row does.
    LeftJoin(Box<(Relation, Relation)>, Vec<Scalar>),
    /// The rows that satisfy all conditions.
    Filter(Box<Relation>, Vec<Scalar>),
    /// One row for each group of rows that are equal in all of these values; without values, one row for all rows. The relations around
    /// this one may use aggregates.
    Aggregate(Box<Relation>, Vec<Scalar>),
    /// One row for each row of the relation, with these named columns.
    Project(Box<Relation>, Vec<ResultColumn>),
    /// One row for each group of equal rows.
    Distinct(Box<Relation>),
    /// The rows of both relations.
    UnionAll(Box<(Relation, Relation)>),
    /// The rows in this order; true means descending.
    Order(Box<Relation>, Vec<(Scalar, bool)>),
    /// At most so many rows (the first number), after so many skipped ones (the second).
    Limit(Box<Relation>, Datum, Option<Datum>),
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// The column's name; None if the server makes one up.
    pub name: Option<String>,
    /// The column's value.
    pub value: Scalar,
}

/// A value for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A column of an input, in lower case.
    Column(usize, String),
    /// All rows, as in COUNT(*).
    All,
    /// The value of a column of the projection below, by the column's place.
    Item(usize),
    /// A literal, or a parameter.
    Value(Datum),
    /// An operator or a pure function on these, in lower case: `=`, `and`, `between`, `in`, `case`, `coalesce`.
    Call(String, Vec<Scalar>),
    /// An aggregate function on all rows of a group; true means DISTINCT.
    Aggregate(String, bool, Vec<Scalar>),
    /// The rows of a subquery, as an operand of a [`Scalar::Call`] such as `exists` or `in`. Elsewhere it stands for the subquery's one
    /// value.
    Query(Box<Relation>),
}

impl Scalar {
    /// Whether the scalar needs the groups of its block. The aggregates of a subquery belong to the subquery.
    fn is_of_groups(&self) -> bool {
        match self {
            Self::Aggregate(..) => true,
            Self::Call(_, args) => args.iter().any(Self::is_of_groups),
            Self::Column(..) | Self::All | Self::Item(_) | Self::Value(_) | Self::Query(_) => false,
        }
    }

    fn columns_of<'p>(&'p self, input: usize, named: &mut Vec<&'p str>) {
        match self {
            Self::Column(of, name) if *of == input => named.push(name),
            Self::Call(_, args) | Self::Aggregate(_, _, args) => {
                args.iter().for_each(|arg| arg.columns_of(input, named));
            }
            Self::Query(of) => of.columns_of(input, named),
            Self::Column(..) | Self::All | Self::Item(_) | Self::Value(_) => {}
        }
    }

    /// Calls `change` for each value.
    fn each_value(&mut self, change: &mut dyn FnMut(&mut Datum)) {
        match self {
            Self::Value(datum) => change(datum),
            Self::Call(_, args) | Self::Aggregate(_, _, args) => {
                args.iter_mut().for_each(|arg| arg.each_value(change));
            }
            Self::Query(of) => of.each_value(change),
            Self::Column(..) | Self::All | Self::Item(_) => {}
        }
    }

    /// Returns the inputs that the scalar names, except those within subqueries.
    fn inputs(&self) -> Vec<usize> {
        match self {
            Self::Column(input, _) => vec![*input],
            Self::Call(_, args) | Self::Aggregate(_, _, args) => args.iter().flat_map(Self::inputs).collect(),
            Self::All | Self::Item(_) | Self::Value(_) | Self::Query(_) => Vec::new(),
        }
    }
}

impl QueryPlan {
    /// Returns the names of the columns of an input that the plan needs. Only these have to be kept of its rows.
    #[must_use]
    pub fn columns_needed(&self, input: usize) -> Vec<&str> {
        let mut named = Vec::new();
        self.root.columns_of(input, &mut named);
        named.sort_unstable();
        named.dedup();
        named
    }
}

impl Relation {
    /// Calls `change` for each value in this relation.
    pub(super) fn each_value(&mut self, change: &mut dyn FnMut(&mut Datum)) {
        match self {
            Self::Scan(_) => {}
            Self::Derived(_, of) | Self::Distinct(of) => of.each_value(change),
            Self::Product(all) => all.iter_mut().for_each(|one| one.each_value(change)),
            Self::LeftJoin(both, on) => {
                both.0.each_value(change);
                both.1.each_value(change);
                on.iter_mut().for_each(|scalar| scalar.each_value(change));
            }
            Self::UnionAll(both) => {
                both.0.each_value(change);
                both.1.each_value(change);
            }
            Self::Filter(rows, scalars) | Self::Aggregate(rows, scalars) => {
                rows.each_value(change);
                scalars.iter_mut().for_each(|scalar| scalar.each_value(change));
            }
            Self::Project(rows, columns) => {
                rows.each_value(change);
                columns.iter_mut().for_each(|column| column.value.each_value(change));
            }
            Self::Order(rows, by) => {
                rows.each_value(change);
                by.iter_mut().for_each(|(value, _)| value.each_value(change));
            }
            Self::Limit(rows, count, skipped) => {
                rows.each_value(change);
                change(count);
                skipped.iter_mut().for_each(change);
            }
        }
    }

    /// Adds the columns of an input that are named in this relation.
    fn columns_of<'p>(&'p self, input: usize, named: &mut Vec<&'p str>) {
        let mut of =
            |scalars: &'p [Scalar]| scalars.iter().for_each(|scalar| scalar.columns_of(input, named));
        match self {
            Self::Scan(_) => {}
            Self::Derived(_, of) | Self::Distinct(of) | Self::Limit(of, ..) => of.columns_of(input, named),
            Self::Product(all) => all.iter().for_each(|one| one.columns_of(input, named)),
            Self::LeftJoin(both, on) => {
                of(on);
                both.0.columns_of(input, named);
                both.1.columns_of(input, named);
            }
            Self::UnionAll(both) => {
                both.0.columns_of(input, named);
                both.1.columns_of(input, named);
            }
            Self::Filter(rows, scalars) | Self::Aggregate(rows, scalars) => {
                of(scalars);
                rows.columns_of(input, named);
            }
            Self::Project(rows, columns) => {
                columns.iter().for_each(|column| column.value.columns_of(input, named));
                rows.columns_of(input, named);
            }
            Self::Order(rows, by) => {
                by.iter().for_each(|(value, _)| value.columns_of(input, named));
                rows.columns_of(input, named);
            }
        }
    }
}

/// The reason why a statement has no plan form: the part that cannot be represented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplanned(String);

impl Unplanned {
    pub(super) fn by(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Unplanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no plan: {}", self.0)
    }
}

impl std::error::Error for Unplanned {}

/// Returns the plan form of a SELECT: see [`super::ParsedSelect::plan`].
pub(super) fn of_parsed(
    parsed: &Parsed<'_>,
    columns_of: &dyn Fn(&TableName) -> Vec<InputColumn>,
) -> Result<QueryPlan, Unplanned> {
    if parsed.reads_unnamed {
        return Err(Unplanned::by("PARTITION"));
    }
    let names = Names::new(parsed).filter(Names::are_ascii);
    let names = names.ok_or_else(|| Unplanned::by("names that may be the same"))?;
    let columns = |leaf: &Leaf| match &leaf.table {
        Some(table) if leaf.query.is_none() => Columns { all: columns_of(table), is_whole: true },
        _ => Columns::default(),
    };
    let columns = RefCell::new(parsed.leaves.iter().map(columns).collect());
    let planner = Planner { parsed, names: &names, columns };
    let root = planner.query(&parsed.whole, DEPTH_MAX)?;
    let input = |(leaf, Columns { all: columns, .. }): (&Leaf, Columns)| Input {
        name: leaf.name.clone(),
        table: leaf.table.clone(),
        columns,
    };
    let columns = planner.columns.into_inner();
    Ok(QueryPlan { named: parsed.leaves.iter().zip(columns).map(input).collect(), root })
}

/// Makes relations from the blocks that were read.
struct Planner<'p, 'v> {
    parsed: &'p Parsed<'v>,
    names: &'p Names<'p, 'v>,
    /// The columns of each leaf. Those of a table are there from the beginning, those of a derived table once its query is planned.
    columns: RefCell<Vec<Columns>>,
}

type Planned<T> = Result<T, Unplanned>;

impl Planner<'_, '_> {
    fn query(&self, query: &Query, depth: usize) -> Planned<Relation> {
        self.built(&query.built, depth)
    }

    fn built(&self, built: &Built, depth: usize) -> Planned<Relation> {
        let depth = depth.checked_sub(1).ok_or_else(|| Unplanned::by("queries that nest too deep"))?;
        match built {
            Built::Nothing => Err(Unplanned::by("a query that was not read")),
            Built::Block(block) => self.block(self.block_of(*block)?, depth),
            Built::Set { is_union: false, .. } => Err(Unplanned::by("EXCEPT and INTERSECT")),
            Built::Set { all, both, .. } => {
                let both = (self.built(&both.0, depth)?, self.built(&both.1, depth)?);
                let union = Relation::UnionAll(Box::new(both));
                Ok(if *all { union } else { Relation::Distinct(Box::new(union)) })
            }
            Built::Ordered { of, source, order, limit } => {
                let mut relation = self.built(of, depth)?;
                if let Some(order) = order {
                    relation = Relation::Order(Box::new(relation), self.order(of, *source, order, depth)?);
                }
                match limit {
                    Some(limit) => self.limit(relation, *source, limit),
                    None => Ok(relation),
                }
            }
        }
    }

    fn block_of(&self, block: usize) -> Planned<&Block> {
        self.parsed.blocks.get(block).ok_or_else(|| Unplanned::by("a block that was not read"))
    }

    fn source_of(&self, source: usize) -> Planned<&Source<'_>> {
        let found = self.parsed.sources.get(source).map(AsRef::as_ref);
        found.ok_or_else(|| Unplanned::by("a text that was not read"))
    }

    fn block(&self, block: &Block, depth: usize) -> Planned<Relation> {
        if block.recursive {
            return Err(Unplanned::by("WITH RECURSIVE"));
        }
        if block.clauses.windows {
            return Err(Unplanned::by("WINDOW"));
        }
        let mut relation = self.group(block, &block.group, depth)?;
        let items = self.items(block, depth)?;
        relation = self.aggregated(block, relation, &items, depth)?;
        relation = Relation::Project(Box::new(relation), items);
        Ok(if block.clauses.is_distinct { Relation::Distinct(Box::new(relation)) } else { relation })
    }

    /// Returns the tables of a FROM with their conditions, including WHERE.
    fn group(&self, block: &Block, group: &Group<Filter>, depth: usize) -> Planned<Relation> {
        let relation = self.joined(block, group, depth)?;
        let filters = self.filters(block, &group.filters, depth)?;
        Ok(if filters.is_empty() { relation } else { Relation::Filter(Box::new(relation), filters) })
    }

    /// Returns the joined tables, without the conditions on all of them.
    fn joined(&self, block: &Block, group: &Group<Filter>, depth: usize) -> Planned<Relation> {
        let mut inner: Vec<Relation> =
            group.leaves.iter().map(|leaf| self.leaf(*leaf, depth)).collect::<Planned<_>>()?;
        let mut relation = if inner.len() == 1 { inner.remove(0) } else { Relation::Product(inner) };
        for optional in &group.optional {
            let right = self.joined(block, optional, depth)?;
            let on = self.filters(block, &optional.filters, depth)?;
            relation = Relation::LeftJoin(Box::new((relation, right)), on);
        }
        Ok(relation)
    }

    fn leaf(&self, leaf: usize, depth: usize) -> Planned<Relation> {
        let known = self.parsed.leaves.get(leaf).ok_or_else(|| Unplanned::by("a table that was not read"))?;
        match self.parsed.query_of(leaf) {
            Some(query) => {
                let relation = self.query(query, depth)?;
                self.note_columns(leaf, &query.columns, &relation);
                Ok(Relation::Derived(leaf, Box::new(relation)))
            }
            None if known.columns.is_some() => Ok(Relation::Scan(leaf)),
            None => Err(Unplanned::by(format!("{} is not known", known.name))),
        }
    }
}
