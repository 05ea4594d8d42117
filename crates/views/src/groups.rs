//! Groups of rows, and what is computed of each.

use std::collections::BTreeMap;

use crate::kind::Cell;
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
    Sum { sum: i128, of: u64 },
    Extreme(BTreeMap<i64, u64>),
}

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Computed {
    /// One that is shown as its column is.
    Cell(Cell),
    /// An integer.
    Number(i128),
    /// One of the last of so many digits behind the point.
    Decimal(i128, u8),
}

impl Group {
    pub(crate) fn new(items: &[Item]) -> Self {
        let aggregate = |item: &Item| match item {
            Item::Key(_) => Aggregate::None,
            Item::Count(_) => Aggregate::Count(0),
            Item::Sum(_) | Item::Average(..) => Aggregate::Sum { sum: 0, of: 0 },
            Item::Extreme { .. } => Aggregate::Extreme(BTreeMap::new()),
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
                (Aggregate::Sum { sum, of }, Item::Sum(operand) | Item::Average(operand, _)) => {
                    let Some(value) = value_of(operand) else { continue };
                    *sum += if is_more { i128::from(value) } else { -i128::from(value) };
                    step(of, is_more);
                }
                (Aggregate::Extreme(values), Item::Extreme { of, .. }) => {
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
            (Aggregate::Count(count), _) => Computed::Number(i128::from(*count)),
            (Aggregate::Sum { of: 0, .. }, _) => Computed::Cell(None),
            (Aggregate::Sum { sum, of }, Item::Average(_, digits)) => {
                Computed::Decimal(average(*sum, *of, *digits), *digits)
            }
            (Aggregate::Sum { sum, .. }, _) => Computed::Number(*sum),
            (Aggregate::Extreme(values), Item::Extreme { is_max: true, .. }) => {
                Computed::Cell(values.last_key_value().map(|(value, _)| *value))
            }
            (Aggregate::Extreme(values), _) => {
                Computed::Cell(values.first_key_value().map(|(value, _)| *value))
            }
            (Aggregate::None, Item::Key(of)) => Computed::Cell(key[*of]),
            (Aggregate::None, _) => Computed::Cell(None),
        }
    }
}

/// A quotient in units of its last digit. The servers round it half away from zero.
fn average(sum: i128, of: u64, digits: u8) -> i128 {
    let (scaled, of) = (sum * 10_i128.pow(digits.into()), i128::from(of));
    let rounded = (scaled.abs() * 2 + of) / (of * 2);
    if scaled < 0 { -rounded } else { rounded }
}

fn step(count: &mut u64, is_more: bool) {
    *count = if is_more { count.saturating_add(1) } else { count.saturating_sub(1) };
}
