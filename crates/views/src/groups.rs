//! Groups of rows, and the values that are computed from each.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use crate::amount::Beyond;
use crate::decimal;
use crate::kind::{Cell, Kind, Number};
use crate::predicate::{ColumnRef, Term};
use crate::query::Item;

/// A text by which a result is sorted, or by which its rows are told apart.
#[derive(Debug)]
pub(crate) struct KeyText {
    pub(crate) shown: Box<[u8]>,
    /// A form that sorts as the texts do; `None` if their order is not known.
    pub(crate) sorted: Option<Box<[u8]>>,
}

impl KeyText {
    pub(crate) fn new(text: &[u8], kind: Kind) -> Self {
        let sorted = match kind {
            Kind::Text { collation: Some(collation), .. } => {
                collation.sorted(text).map(|sorted| sorted.into_owned().into())
            }
            _ => None,
        };
        Self { shown: text.into(), sorted }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.shown.len() + self.sorted.as_ref().map_or(0, |sorted| sorted.len())
    }
}

impl PartialEq for KeyText {
    fn eq(&self, other: &Self) -> bool {
        self.sorted == other.sorted
    }
}
impl Eq for KeyText {}
impl Hash for KeyText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sorted.hash(state);
    }
}
impl PartialOrd for KeyText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for KeyText {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sorted.cmp(&other.sorted)
    }
}

/// The state of one group: its aggregates.
#[derive(Debug, Default)]
pub(crate) struct GroupState {
    pub(crate) rows: u64,
    /// How many numbers of its rows the servers would not compute, or would compute differently.
    pub(crate) beyond: u64,
    /// The texts in its key, by their places; empty if there is none.
    pub(crate) texts: Box<[Option<KeyText>]>,
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
    /// How often each value occurs.
    Values(BTreeMap<Number, u64>),
    /// How often each text occurs: equal texts together, by the form that sorts as the texts do.
    Texts(BTreeMap<Box<[u8]>, Vec<(KeyText, u64)>>),
}

/// Adds or removes one occurrence of a text.
fn add_text(texts: &mut BTreeMap<Box<[u8]>, Vec<(KeyText, u64)>>, is_more: bool, text: KeyText) {
    let Some(sorted) = text.sorted.clone() else { return };
    let equal = texts.entry(sorted.clone()).or_default();
    if let Some((_, count)) = equal.iter_mut().find(|(own, _)| own.shown == text.shown) {
        step(count, is_more);
    } else if is_more {
        equal.push((text, 1));
    }
    equal.retain(|(_, count)| *count > 0);
    if equal.is_empty() {
        texts.remove(&sorted);
    }
}

impl Aggregate {
    fn add(&mut self, is_more: bool, value: Number) {
        match self {
            Self::None | Self::Texts(_) => {}
            Self::Count(count) => step(count, is_more),
            Self::Sum { sum, count } => {
                *sum += if is_more { value } else { -value };
                step(count, is_more);
            }
            Self::Values(values) => {
                let count = values.entry(value).or_default();
                step(count, is_more);
                if *count == 0 {
                    values.remove(&value);
                }
            }
        }
    }

    /// Returns the texts that are equal to the least of all, or to the greatest.
    fn extremes(&self, is_max: bool) -> &[(KeyText, u64)] {
        let Self::Texts(texts) = self else { return &[] };
        let found = if is_max { texts.last_key_value() } else { texts.first_key_value() };
        found.map_or(&[], |(_, equal)| equal)
    }
}

impl Computed<'_> {
    /// Returns the number.
    pub(crate) const fn cell(self) -> Cell {
        match self {
            Self::Cell(cell) => cell,
            Self::Number(number) | Self::Decimal(number, _) => Some(number),
            // Only whether it is NULL is asked for.
            Self::Text(_) => Some(0),
        }
    }
}

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Computed<'g> {
    /// A value that is shown as its column is.
    Cell(Cell),
    /// A text.
    Text(&'g KeyText),
    /// An integer.
    Number(Number),
    /// A number in units of its last digit, and how many digits are behind the point.
    Decimal(Number, u8),
}

impl GroupState {
    pub(crate) fn new(items: &[Item], texts: Box<[Option<KeyText>]>) -> Self {
        let aggregate = |item: &Item| match item {
            Item::Key(_) => Aggregate::None,
            Item::Count(_) => Aggregate::Count(0),
            Item::Sum { .. } | Item::Average { .. } => Aggregate::Sum { sum: 0, count: 0 },
            Item::Extreme { is_text: true, .. } => Aggregate::Texts(BTreeMap::new()),
            Item::Extreme { .. } | Item::Distinct(_) => Aggregate::Values(BTreeMap::new()),
        };
        Self { rows: 0, beyond: 0, texts, aggregates: items.iter().map(aggregate).collect() }
    }

    /// Adds or removes a row, with the values of its columns, and the texts of those that have some.
    pub(crate) fn add(
        &mut self,
        is_more: bool,
        items: &[Item],
        value_of: &impl Fn(ColumnRef) -> Cell,
        text_of: &impl Fn(ColumnRef) -> Option<KeyText>,
    ) {
        step(&mut self.rows, is_more);
        for (aggregate, item) in self.aggregates.iter_mut().zip(items) {
            let value = match item {
                Item::Key(_) => continue,
                Item::Extreme { of: Term::Column(column_ref), is_text: true, .. } => {
                    match (text_of(*column_ref), &mut *aggregate) {
                        (Some(text), _) if text.sorted.is_none() => step(&mut self.beyond, is_more),
                        (Some(text), Aggregate::Texts(texts)) => add_text(texts, is_more, text),
                        _ => {}
                    }
                    continue;
                }
                Item::Count(None) => Ok(Some(1)),
                Item::Count(Some(of)) | Item::Sum { of, .. } | Item::Average { of, .. } => of.value(value_of),
                Item::Extreme { of, .. } | Item::Distinct(of) => Ok(of.value(value_of)),
            };
            match value {
                Ok(Some(value)) => aggregate.add(is_more, value),
                Ok(None) => {}
                Err(Beyond) => step(&mut self.beyond, is_more),
            }
        }
    }

    /// Whether an item is one of several texts that are equal without being the same.
    pub(crate) fn has_equal_extremes(&self, items: &[Item]) -> bool {
        let is_one_of_several = |(aggregate, item): (&Aggregate, &Item)| match item {
            Item::Extreme { is_max, is_text: true, .. } => aggregate.extremes(*is_max).len() > 1,
            _ => false,
        };
        self.aggregates.iter().zip(items).any(is_one_of_several)
    }

    /// Returns the value of an item; `key` is the group's.
    pub(crate) fn value(&self, at: usize, item: &Item, key: &[Cell]) -> Computed<'_> {
        let aggregate = &self.aggregates[at];
        match (aggregate, item) {
            (Aggregate::Count(count), _) => Computed::Number(Number::from(*count)),
            (Aggregate::Sum { count: 0, .. }, Item::Sum { scale, or: Some(or), .. }) => {
                Computed::Decimal(*or, *scale)
            }
            (Aggregate::Sum { count: 0, .. }, Item::Average { scale, more, or: Some(or), .. }) => {
                Computed::Decimal(*or, scale + more)
            }
            (Aggregate::Sum { count: 0, .. }, _) => Computed::Cell(None),
            (Aggregate::Sum { sum, count }, Item::Average { scale, more, .. }) => {
                Computed::Decimal(decimal::average(*sum, *count, *more), scale + more)
            }
            (Aggregate::Sum { sum, .. }, Item::Sum { scale, .. }) => Computed::Decimal(*sum, *scale),
            (Aggregate::Texts(_), Item::Extreme { is_max, .. }) => aggregate
                .extremes(*is_max)
                .first()
                .map_or(Computed::Cell(None), |(text, _)| Computed::Text(text)),
            (Aggregate::Values(values), Item::Distinct(_)) => Computed::Number(values.len() as Number),
            (Aggregate::Values(values), Item::Extreme { is_max: true, .. }) => {
                Computed::Cell(values.last_key_value().map(|(value, _)| *value))
            }
            (Aggregate::Values(values), _) => {
                Computed::Cell(values.first_key_value().map(|(value, _)| *value))
            }
            (Aggregate::None, Item::Key(of)) => match self.texts.get(*of) {
                Some(Some(text)) => Computed::Text(text),
                _ => Computed::Cell(key[*of]),
            },
            (Aggregate::None | Aggregate::Texts(_) | Aggregate::Sum { .. }, _) => Computed::Cell(None),
        }
    }
}

fn step(count: &mut u64, is_more: bool) {
    *count = if is_more { count.saturating_add(1) } else { count.saturating_sub(1) };
}
