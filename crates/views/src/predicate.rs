//! Predicates: the conditions of a query, in the three-valued logic of SQL.

use std::ops::RangeInclusive;

use crate::kind::{Cell, Number};

/// A reference to a column of a mention, both by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ColumnRef {
    pub(crate) mention: usize,
    pub(crate) column: usize,
}

/// A term of a predicate, or of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    Column(ColumnRef),
    Constant(Cell),
    /// A literal text that is shown, by its place among the SELECT's literals.
    Literal(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ComparisonOperator {
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
pub(crate) enum Predicate {
    Compare(ComparisonOperator, Term, Term),
    IsNull(Term),
    In(Term, Vec<Term>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
}

impl Term {
    pub(crate) fn value(&self, value_of: &impl Fn(ColumnRef) -> Cell) -> Cell {
        match self {
            Self::Column(column_ref) => value_of(*column_ref),
            Self::Constant(cell) => *cell,
            Self::Literal(at) => Number::try_from(*at).ok(),
        }
    }

    fn column_refs(&self, into: &mut Vec<ColumnRef>) {
        if let Self::Column(column_ref) = self {
            into.push(*column_ref);
        }
    }
}

impl ComparisonOperator {
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

    /// Returns the operator for the two terms in the other order.
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

impl Predicate {
    /// Whether the condition holds; `None`: unknown.
    pub(crate) fn holds(&self, value_of: &impl Fn(ColumnRef) -> Cell) -> Option<bool> {
        match self {
            Self::Compare(how, left, right) => how.holds(left.value(value_of), right.value(value_of)),
            Self::IsNull(term) => Some(term.value(value_of).is_none()),
            Self::In(term, list) => {
                let value = term.value(value_of)?;
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
    pub(crate) fn column_refs(&self) -> Vec<ColumnRef> {
        let mut into = Vec::new();
        self.add_column_refs(&mut into);
        into
    }

    fn add_column_refs(&self, into: &mut Vec<ColumnRef>) {
        match self {
            Self::Compare(_, left, right) => [left, right].into_iter().for_each(|one| one.column_refs(into)),
            Self::IsNull(one) => one.column_refs(into),
            Self::In(one, list) => std::iter::once(one).chain(list).for_each(|one| one.column_refs(into)),
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.add_column_refs(into)),
            Self::Not(one) => one.add_column_refs(into),
        }
    }

    /// Returns the column that the condition compares with a number, and the values for which it holds, if these are a range.
    pub(crate) fn range(&self) -> Option<(ColumnRef, RangeInclusive<Number>)> {
        let (how, column_ref, number) = match self {
            Self::Compare(how, Term::Column(column_ref), Term::Constant(Some(number))) => {
                (*how, column_ref, *number)
            }
            Self::Compare(how, Term::Constant(Some(number)), Term::Column(column_ref)) => {
                (how.turned(), column_ref, *number)
            }
            _ => return None,
        };
        let range = match how {
            ComparisonOperator::Equal | ComparisonOperator::Same => number..=number,
            ComparisonOperator::Less => Number::MIN..=number.checked_sub(1)?,
            ComparisonOperator::LessOrEqual => Number::MIN..=number,
            ComparisonOperator::Greater => number.checked_add(1)?..=Number::MAX,
            ComparisonOperator::GreaterOrEqual => number..=Number::MAX,
            ComparisonOperator::Unequal => return None,
        };
        Some((*column_ref, range))
    }

    /// Returns the two columns of different mentions that the condition equates.
    pub(crate) fn equal_columns(&self) -> Option<(ColumnRef, ColumnRef)> {
        match self {
            Self::Compare(ComparisonOperator::Equal, Term::Column(left), Term::Column(right))
                if left.mention != right.mention =>
            {
                Some((*left, *right))
            }
            _ => None,
        }
    }
}
