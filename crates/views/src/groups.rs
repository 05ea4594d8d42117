//! Groups of rows, and what is computed of each.

use std::collections::BTreeMap;

use crate::decimal;
use crate::kind::{Cell, Number};
use crate::query::Item;

/// One group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) rows: u64,
    aggregates: Vec<Aggregate>,
}

#[derive(Debug)]
enum Aggregate {
    None,
    Count(u64),
    Sum {
        sum: Number,
        count: u64,
    },
    /// How often each value is there.
    Values(BTreeMap<Number, u64>),
}

impl Computed {
    /// Its number.
    pub(crate) const fn cell(self) -> Cell {
        match self {
            Self::Cell(cell) => cell,
            Self::Number(number) | Self::Decimal(number, _) => Some(number),
        }
    }
}

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Computed {
    /// One that is shown as its column is.
    Cell(Cell),
    /// An integer.
    Number(Number),
    /// One of the last of so many digits behind the point.
    Decimal(Number, u8),
}

impl Group {
    pub(crate) fn new(items: &[Item]) -> Self {
        let aggregate = |item: &Item| match item {
            Item::Key(_) => Aggregate::None,
            Item::Count(_) => Aggregate::Count(0),
            Item::Sum { .. } | Item::Average { .. } => Aggregate::Sum { sum: 0, count: 0 },
            Item::Extreme { .. } | Item::Distinct(_) => Aggregate::Values(BTreeMap::new()),
        };
        Self { rows: 0, aggregates: items.iter().map(aggregate).collect() }
    }

    /// One row more, or less; `values`: of each item's operand.
    pub(crate) fn add(
        &mut self,
        is_more: bool,
        items: &[Item],
        value_of: impl Fn(&crate::condition::Operand) -> Cell,
    ) {
        step(&mut self.rows, is_more);
        for (aggregate, item) in self.aggregates.iter_mut().zip(items) {
            match (aggregate, item) {
                (Aggregate::Count(count), Item::Count(operand))
                    if operand.as_ref().is_none_or(|it| value_of(it).is_some()) =>
                {
                    step(count, is_more);
                }
                (Aggregate::Sum { sum, count }, Item::Sum { of, .. } | Item::Average { of, .. }) => {
                    let Some(value) = value_of(of) else { continue };
                    *sum += if is_more { value } else { -value };
                    step(count, is_more);
                }
                (Aggregate::Values(values), Item::Extreme { of, .. } | Item::Distinct(of)) => {
                    let Some(value) = value_of(of) else { continue };
                    let count = values.entry(value).or_default();
                    step(count, is_more);
                    if *count == 0 {
                        values.remove(&value);
                    }
                }
                _ => {}
            }
        }
    }

    /// The value of an item; `key`: the group's.
    pub(crate) fn value(&self, at: usize, item: &Item, key: &[Cell]) -> Computed {
        match (&self.aggregates[at], item) {
            (Aggregate::Count(count), _) => Computed::Number(Number::from(*count)),
            (Aggregate::Sum { count: 0, .. }, _) => Computed::Cell(None),
            (Aggregate::Sum { sum, count }, Item::Average { scale, more, .. }) => {
                Computed::Decimal(decimal::average(*sum, *count, *more), scale + more)
            }
            (Aggregate::Sum { sum, .. }, Item::Sum { scale, .. }) => Computed::Decimal(*sum, *scale),
            (Aggregate::Values(values), Item::Distinct(_)) => Computed::Number(values.len() as Number),
            (Aggregate::Values(values), Item::Extreme { is_max: true, .. }) => {
                Computed::Cell(values.last_key_value().map(|(value, _)| *value))
            }
            (Aggregate::Values(values), _) => {
                Computed::Cell(values.first_key_value().map(|(value, _)| *value))
            }
            (Aggregate::None, Item::Key(of)) => Computed::Cell(key[*of]),
            (Aggregate::None | Aggregate::Sum { .. }, _) => Computed::Cell(None),
        }
    }
}

fn step(count: &mut u64, is_more: bool) {
    *count = if is_more { count.saturating_add(1) } else { count.saturating_sub(1) };
}
