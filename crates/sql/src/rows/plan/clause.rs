//! Clauses: conditions, groups, select lists, orders and limits.

use std::ops::Range;

use super::scalar::{Expression, Sees};
use super::{Planned, Planner, Relation, ResultColumn, Scalar, Unplanned};
use crate::rows::conjunct::Conjunct;
use crate::rows::output::{self, Selected};
use crate::rows::parsed::{Block, Built, Filter};
use crate::rows::resolve;
use crate::rows::{Datum, conjunct};
use crate::token::TokenKind;

/// The most columns of one projection. The servers have the same limit.
const COLUMNS_MAX: usize = 4096;

impl Planner<'_, '_> {
    pub(super) fn filters(&self, block: &Block, filters: &[Filter], depth: usize) -> Planned<Vec<Scalar>> {
        let mut all = Vec::new();
        for filter in filters {
            match filter {
                Filter::Where(range) => {
                    all.push(self.scalar(block, range.clone(), Sees::Rows, depth)?);
                }
                Filter::On(range, operands) => {
                    all.push(self.scalar(block, range.clone(), Sees::Join(operands), depth)?);
                }
                Filter::Merged(_) => all.extend(self.merged(block, filter)?),
            }
        }
        Ok(all)
    }

    /// Returns the equalities of a join that merges columns. An equality that cannot be found is refused, not left out.
    fn merged(&self, block: &Block, filter: &Filter) -> Planned<Vec<Scalar>> {
        let told = self.names.conjuncts(block, filter, self.source_of(block.source)?);
        let Filter::Merged(at) = filter else { return Ok(Vec::new()) };
        let columns = block.merges.get(*at).and_then(|merge| merge.columns.as_ref());
        let Some(columns) = columns else { return Err(Unplanned::by("NATURAL JOIN")) };
        if told.len() != columns.len() {
            return Err(Unplanned::by("USING columns that are not known"));
        }
        let of = |column: resolve::Column| Scalar::Column(column.leaf, column.name);
        let equal = |conjunct| match conjunct {
            Conjunct::Equal(a, b) => Ok(Scalar::Call("=".to_owned(), vec![of(a), of(b)])),
            Conjunct::Is(..) | Conjunct::Any(_) | Conjunct::Within(..) => Err(Unplanned::by("USING")),
        };
        told.into_iter().map(equal).collect()
    }

    /// Applies GROUP BY and HAVING. A block with aggregates and without GROUP BY has one group.
    pub(super) fn aggregated(
        &self,
        block: &Block,
        rows: Relation,
        items: &[ResultColumn],
        depth: usize,
    ) -> Planned<Relation> {
        let source = self.source_of(block.source)?;
        let having = block.clauses.having.clone();
        let having = having.map(|range| self.scalar(block, range, Sees::Items, depth)).transpose()?;
        let by = match &block.clauses.group_by {
            Some(range) => source
                .pieces(range.clone())
                .into_iter()
                .map(|piece| self.scalar(block, piece, Sees::Items, depth))
                .collect::<Planned<_>>()?,
            None if is_of_groups(items) || having.as_ref().is_some_and(Scalar::is_of_groups) => Vec::new(),
            None if having.is_some() => return Err(Unplanned::by("HAVING without groups")),
            None => return Ok(rows),
        };
        let groups = Relation::Aggregate(Box::new(rows), by);
        Ok(match having {
            Some(having) => Relation::Filter(Box::new(groups), vec![having]),
            None => groups,
        })
    }

    pub(super) fn items(&self, block: &Block, depth: usize) -> Planned<Vec<ResultColumn>> {
        let source = self.source_of(block.source)?;
        let mut columns = Vec::with_capacity(block.items.len());
        for item in &block.items {
            if let Some(all) = self.expanded(block, item)? {
                columns.extend(all);
                continue;
            }
            let value = self.scalar(block, without_alias(source, item), Sees::Rows, depth)?;
            columns.push(ResultColumn { name: item.name.clone(), value });
            if columns.len() > COLUMNS_MAX {
                return Err(Unplanned::by("so many columns"));
            }
        }
        Ok(columns)
    }

    /// Returns the order of a query. ORDER BY of one block can use everything that the block sees; that of a union can use only the
    /// union's columns.
    pub(super) fn order(
        &self,
        of: &Built,
        source: usize,
        range: &Range<usize>,
        depth: usize,
    ) -> Planned<Vec<(Scalar, bool)>> {
        let source = self.source_of(source)?;
        // A union's columns have the names of its first block's.
        let block = self.block_of(of.first_block().ok_or_else(|| Unplanned::by("ORDER BY of a query"))?)?;
        let items = self.items(block, depth)?;
        let one = |piece: Range<usize>| {
            let last = piece.end.saturating_sub(1);
            let descends = source.word(last, "DESC");
            let ends = descends || source.word(last, "ASC");
            let piece = piece.start..piece.end - usize::from(ends);
            // A number is a column's place in the select list.
            let is_word = source.token(piece.start).is_some_and(|token| token.kind == TokenKind::Word);
            // TRUE is none to MySQL.
            if let Datum::Int(number) = conjunct::datum(source, piece.clone())
                && !is_word
            {
                let at = usize::try_from(number.saturating_sub(1)).ok().filter(|at| *at < items.len());
                return Ok((Scalar::Item(at.ok_or_else(|| Unplanned::by("ORDER BY a number"))?), descends));
            }
            if matches!(of, Built::Set { .. }) {
                let (named, end) = conjunct::column(source, piece.clone());
                let named = named.filter(|_| end == piece.end);
                return Ok((
                    Scalar::Item(item_named(&items, named.as_deref().unwrap_or_default())?),
                    descends,
                ));
            }
            Ok((self.scalar(block, piece, Sees::Items, depth)?, descends))
        };
        let by: Vec<(Scalar, bool)> =
            source.pieces(range.clone()).into_iter().map(one).collect::<Planned<_>>()?;
        if matches!(of, Built::Set { .. }) {
            return Ok(by);
        }
        let is_grouped = block.clauses.group_by.is_some() || is_of_groups(&items);
        if !is_grouped && by.iter().any(|(value, _)| value.is_of_groups()) {
            return Err(Unplanned::by("an aggregate in ORDER BY alone"));
        }
        let is_shown = |value: &Scalar| {
            matches!(value, Scalar::Item(_)) || items.iter().any(|item| item.value == *value)
        };
        if block.clauses.is_distinct && !by.iter().all(|(value, _)| is_shown(value)) {
            return Err(Unplanned::by("DISTINCT, ordered by what is not shown"));
        }
        Ok(by)
    }

    /// Applies `LIMIT 5`, `LIMIT 10, 5` or `LIMIT 5 OFFSET 10`.
    pub(super) fn limit(&self, rows: Relation, source: usize, range: &Range<usize>) -> Planned<Relation> {
        let source = self.source_of(source)?;
        let datum = |at: usize| conjunct::datum(source, at..at + 1);
        let (count, offset) = match range.len() {
            1 => (datum(range.start), None),
            3 if source.is(range.start + 1, b',') => (datum(range.start + 2), Some(datum(range.start))),
            3 => (datum(range.start), Some(datum(range.start + 2))),
            _ => return Err(Unplanned::by("LIMIT")),
        };
        Ok(Relation::Limit(Box::new(rows), count, offset))
    }

    /// Returns the value of an expression of a block. The expression must fill the whole range.
    pub(super) fn scalar(
        &self,
        block: &Block,
        range: Range<usize>,
        place: Sees<'_>,
        depth: usize,
    ) -> Planned<Scalar> {
        let source = self.source_of(block.source)?;
        let mut reader = Expression { planner: self, block, source, place, at: range.start, end: range.end };
        let value = reader.any(depth)?;
        reader.is_over().then_some(value).ok_or_else(|| reader.refused())
    }
}

fn is_of_groups(items: &[ResultColumn]) -> bool {
    items.iter().any(|item| item.value.is_of_groups())
}

/// Returns the range of an item without its alias.
fn without_alias(source: &crate::rows::source::Source<'_>, item: &output::Item) -> Range<usize> {
    let range = item.range.clone();
    let last = range.end.saturating_sub(1);
    if let Some(alias) = output::alias_from(source, &range) {
        return range.start..alias;
    }
    // `column alias`: both are names, with no dot between them.
    let is_aliased =
        matches!(item.what, Selected::Column(_)) && range.len() > 1 && !source.is(last - 1, b'.');
    range.start..range.end - usize::from(is_aliased)
}

/// Returns the one item of this name.
fn item_named(items: &[ResultColumn], named: &[String]) -> Planned<usize> {
    let [name] = named else {
        return Err(Unplanned::by("ORDER BY of a union by what is no name of a column"));
    };
    let mut found = items.iter().enumerate().filter(|(_, item)| item.name.as_ref() == Some(name));
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        _ => Err(Unplanned::by(format!("{name}, which is not one column of a union"))),
    }
}
