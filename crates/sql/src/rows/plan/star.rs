//! Finds the columns that `*` stands for, and with them the columns of a query.

use super::input::InputColumn;
use super::{Planned, Planner, Relation, ResultColumn, Scalar, Unplanned};
use crate::rows::output::{Item, Selected};
use crate::rows::parsed::{Block, Merge};

/// The columns that `*` stands for, each by its input and its name.
type Shown = Vec<(usize, String)>;

impl Planner<'_, '_> {
    /// Notes the columns of a derived table that `relation` makes. `names` replace the query's own names.
    pub(super) fn note_columns(&self, leaf: usize, names: &[String], relation: &Relation) {
        let made = projection(relation).unwrap_or_default();
        let is_one = !is_union(relation);
        let column = |(at, made): (usize, &ResultColumn)| {
            let name = if names.is_empty() { made.name.as_ref() } else { names.get(at) };
            let taken = match &made.value {
                Scalar::Column(input, name) if is_one => self.column(*input, name),
                _ => None,
            };
            let data_type = taken.and_then(|column| column.data_type);
            Some(InputColumn { name: name?.clone(), data_type, is_nullable: true, is_hidden: false })
        };
        let columns: Vec<Option<InputColumn>> = made.iter().enumerate().map(column).collect();
        if let Some(known) = self.columns.borrow_mut().get_mut(leaf) {
            known.is_whole = columns.iter().all(Option::is_some);
            known.all = columns.into_iter().flatten().collect();
        }
    }

    fn column(&self, input: usize, name: &str) -> Option<InputColumn> {
        let columns = self.columns.borrow();
        columns.get(input)?.all.iter().find(|column| column.name == name).cloned()
    }

    /// Returns the columns of an input that `*` shows.
    fn shown(&self, leaf: usize) -> Planned<Shown> {
        let columns = self.columns.borrow();
        let known = columns.get(leaf).filter(|known| known.is_whole && !known.all.is_empty());
        let known = known.ok_or_else(|| Unplanned::by("`*` where columns are not known"))?;
        let shown = known.all.iter().filter(|column| !column.is_hidden);
        Ok(shown.map(|column| (leaf, column.name.clone())).collect())
    }

    /// Returns what an item stands for that is `*`, or that of one table; None for any other.
    pub(super) fn expanded(&self, block: &Block, item: &Item) -> Planned<Option<Vec<ResultColumn>>> {
        let shown = match &item.what {
            Selected::All(None) => self.all_shown(block)?,
            Selected::All(Some(table)) => self.shown(self.leaf_named(block, table)?)?,
            Selected::Column(_) | Selected::Other => return Ok(None),
        };
        let column = |(input, name): (usize, String)| ResultColumn {
            name: Some(name.clone()),
            value: Scalar::Column(input, name),
        };
        Ok(Some(shown.into_iter().map(column).collect()))
    }

    /// Returns where an item stands in the projection, in which each `*` is written out.
    pub(super) fn place(&self, block: &Block, item: usize) -> Planned<usize> {
        let width = |item: &Item| Ok(self.expanded(block, item)?.map_or(1, |columns| columns.len()));
        block.items.iter().take(item).map(width).sum()
    }

    /// Returns the one input of a block that is called so.
    fn leaf_named(&self, block: &Block, table: &str) -> Planned<usize> {
        let is_it = |leaf: &usize| {
            self.parsed.leaves.get(*leaf).is_some_and(|leaf| leaf.name.eq_ignore_ascii_case(table))
        };
        let named: Vec<usize> = block.group.all_leaves().into_iter().filter(is_it).collect();
        let [only] = named[..] else { return Err(Unplanned::by(format!("{table}.*"))) };
        Ok(only)
    }

    /// Returns the columns of all inputs in the order of the text. Those that a join merges are shown once, in front of the others of its
    /// operands.
    fn all_shown(&self, block: &Block) -> Planned<Shown> {
        let mut leaves = block.group.all_leaves();
        leaves.sort_unstable();
        let each = leaves.iter().map(|leaf| Ok((vec![*leaf], self.shown(*leaf)?)));
        let mut parts = each.collect::<Planned<Vec<(Vec<usize>, Shown)>>>()?;
        for merge in &block.merges {
            let Merge { columns: Some(merged), keeps_right: false, .. } = merge else {
                return Err(Unplanned::by("`*` over columns of a RIGHT or NATURAL JOIN that merges them"));
            };
            let at = parts.iter().position(|(leaves, _)| is_among(leaves, &merge.left));
            let (left, others): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(leaves, _)| is_among(leaves, &merge.left));
            let (right, others): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|(leaves, _)| is_among(leaves, &merge.right));
            parts = others;
            let leaves = left.iter().chain(&right).flat_map(|(leaves, _)| leaves.clone()).collect();
            let columns = |parts: Vec<(Vec<usize>, Shown)>| parts.into_iter().flat_map(|(_, shown)| shown);
            let is_merged = |(_, name): &(usize, String)| merged.contains(name);
            let (once, rest): (Shown, Shown) = columns(left).partition(is_merged);
            let behind = columns(right).filter(|column| !is_merged(column));
            let shown = once.into_iter().chain(rest).chain(behind).collect();
            parts.insert(at.unwrap_or_default().min(parts.len()), (leaves, shown));
        }
        Ok(parts.into_iter().flat_map(|(_, shown)| shown).collect())
    }
}

/// Whether all of these are among those.
fn is_among(leaves: &[usize], those: &[usize]) -> bool {
    leaves.iter().all(|leaf| those.contains(leaf))
}

/// Whether a query has more blocks than one.
fn is_union(relation: &Relation) -> bool {
    match relation {
        Relation::UnionAll(_) => true,
        Relation::Distinct(of) | Relation::Order(of, _) | Relation::Limit(of, ..) => is_union(of),
        _ => false,
    }
}

/// Returns the columns that a query shows: those of its first block.
fn projection(relation: &Relation) -> Option<&[ResultColumn]> {
    match relation {
        Relation::Project(_, columns) => Some(columns),
        Relation::Distinct(of) | Relation::Order(of, _) | Relation::Limit(of, ..) => projection(of),
        Relation::UnionAll(both) => projection(&both.0),
        Relation::Scan(_)
        | Relation::Derived(..)
        | Relation::Product(_)
        | Relation::LeftJoin(..)
        | Relation::Filter(..)
        | Relation::Aggregate(..) => None,
    }
}
