//! Conditions in the three-valued logic of SQL.

use std::ops::RangeInclusive;

use crate::kind::{Cell, Number};

/// A column of a mention, both by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) mention: usize,
    pub(crate) column: usize,
}

/// An operand of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    Column(Place),
    Constant(Cell),
    /// A literal text that is shown, by its place among the SELECT's literals.
    Literal(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `<=>`: equal, or both NULL.
    Same,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    Compare(Comparison, Operand, Operand),
    IsNull(Operand),
    In(Operand, Vec<Operand>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
}

impl Operand {
    pub(crate) fn value(&self, value_of: &impl Fn(Place) -> Cell) -> Cell {
        match self {
            Self::Column(place) => value_of(*place),
            Self::Constant(cell) => *cell,
            Self::Literal(at) => Number::try_from(*at).ok(),
        }
    }

    fn places(&self, into: &mut Vec<Place>) {
        if let Self::Column(place) = self {
            into.push(*place);
        }
    }
}

impl Comparison {
    fn holds(self, left: Cell, right: Cell) -> Option<bool> {
        if self == Self::Same {
            return Some(left == right);
        }
        let (left, right) = (left?, right?);
        Some(match self {
            Self::Equal | Self::Same => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        })
    }

    /// Returns the comparison for operands in the other order.
    pub(crate) const fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::Unequal | Self::Same => self,
        }
    }
}

impl Condition {
    /// Whether the condition holds; `None`: unknown.
    pub(crate) fn holds(&self, value_of: &impl Fn(Place) -> Cell) -> Option<bool> {
        match self {
            Self::Compare(how, left, right) => how.holds(left.value(value_of), right.value(value_of)),
            Self::IsNull(operand) => Some(operand.value(value_of).is_none()),
            Self::In(operand, list) => {
                let value = operand.value(value_of)?;
                let mut result = Some(false);
                for other in list {
                    match other.value(value_of) {
                        Some(other) if other == value => return Some(true),
                        Some(_) => {}
                        None => result = None,
                    }
                }
                result
            }
            Self::And(all) => all
                .iter()
                .try_fold(Some(true), |so_far, one| match one.holds(value_of) {
                    Some(false) => Err(()),
                    Some(true) => Ok(so_far),
                    None => Ok(None),
                })
                .unwrap_or(Some(false)),
            Self::Or(any) => any
                .iter()
                .try_fold(Some(false), |so_far, one| match one.holds(value_of) {
                    Some(true) => Err(()),
                    Some(false) => Ok(so_far),
                    None => Ok(None),
                })
                .unwrap_or(Some(true)),
            Self::Not(one) => one.holds(value_of).map(|holds| !holds),
        }
    }

    /// Returns the columns that the condition names.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut into = Vec::new();
        self.add_places(&mut into);
        into
    }

    fn add_places(&self, into: &mut Vec<Place>) {
        match self {
            Self::Compare(_, left, right) => [left, right].into_iter().for_each(|one| one.places(into)),
            Self::IsNull(one) => one.places(into),
            Self::In(one, list) => std::iter::once(one).chain(list).for_each(|one| one.places(into)),
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.add_places(into)),
            Self::Not(one) => one.add_places(into),
        }
    }

    /// Returns the column that the condition compares with a number, and the values for which it holds, if these are a range.
    pub(crate) fn range(&self) -> Option<(Place, RangeInclusive<Number>)> {
        let (how, place, number) = match self {
            Self::Compare(how, Operand::Column(place), Operand::Constant(Some(number))) => {
                (*how, place, *number)
            }
            Self::Compare(how, Operand::Constant(Some(number)), Operand::Column(place)) => {
                (how.turned(), place, *number)
            }
            _ => return None,
        };
        let range = match how {
            Comparison::Equal | Comparison::Same => number..=number,
            Comparison::Less => Number::MIN..=number.checked_sub(1)?,
            Comparison::LessOrEqual => Number::MIN..=number,
            Comparison::Greater => number.checked_add(1)?..=Number::MAX,
            Comparison::GreaterOrEqual => number..=Number::MAX,
            Comparison::Unequal => return None,
        };
        Some((*place, range))
    }

    /// Returns the two columns of different mentions that the condition equates.
    pub(crate) fn equal_columns(&self) -> Option<(Place, Place)> {
        match self {
            Self::Compare(Comparison::Equal, Operand::Column(left), Operand::Column(right))
                if left.mention != right.mention =>
            {
                Some((*left, *right))
            }
            _ => None,
        }
    }
}
