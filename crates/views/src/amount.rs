//! Exact numbers that are computed from a row, as the servers compute them.

use crate::kind::{Cell, Number};
use crate::predicate::{ColumnRef, Predicate, Term};

/// The domain in which the servers compute. Beyond it they give no result, or not the one that is computed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Domain {
    /// Integers of 64 bits with a sign. A result beyond them is an error.
    Signed,
    /// One of the two sides is unsigned: a result below 0 is an error, except in `NO_UNSIGNED_SUBTRACTION`.
    Unsigned,
    /// Numbers with a point.
    Decimal,
}

/// Greater decimal numbers are not computed here: the sum of 10^11 of them has to fit.
const DECIMAL_MAX: Number = 10_i128.pow(27);

impl Domain {
    fn has(self, number: Number) -> bool {
        match self {
            Self::Signed => i64::try_from(number).is_ok(),
            Self::Unsigned => (0..=i64::MAX.into()).contains(&number),
            Self::Decimal => number.abs() < DECIMAL_MAX,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Plus,
    Minus,
    Times,
}

/// A number of a row, in units of its last digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Amount {
    Of(Term),
    /// The number, multiplied to give it more digits behind the point.
    Scaled(Box<Self>, Number),
    Computed(Arithmetic, Domain, Box<(Self, Self)>),
    /// The first number that is not NULL.
    First(Vec<Self>),
    /// The second if the condition holds, otherwise the third.
    Either(Box<(Predicate, Self, Self)>),
    /// 1 if the condition holds, 0 if it does not.
    Truth(Box<Predicate>),
}

/// A number that the servers would not compute, or would compute differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond;

impl Amount {
    /// Returns the number; computes only the parts that are needed.
    pub(crate) fn value(&self, value_of: &impl Fn(ColumnRef) -> Cell) -> Result<Cell, Beyond> {
        Ok(match self {
            Self::Of(term) => term.value(value_of),
            Self::Scaled(of, unit) => match of.value(value_of)? {
                Some(number) => Some(number.checked_mul(*unit).ok_or(Beyond)?),
                None => None,
            },
            Self::Computed(how, domain, both) => {
                let (Some(left), Some(right)) = (both.0.value(value_of)?, both.1.value(value_of)?) else {
                    return Ok(None);
                };
                let computed = match how {
                    Arithmetic::Plus => left.checked_add(right),
                    Arithmetic::Minus => left.checked_sub(right),
                    Arithmetic::Times => left.checked_mul(right),
                };
                Some(computed.filter(|number| domain.has(*number)).ok_or(Beyond)?)
            }
            Self::First(all) => {
                for one in all {
                    if let Some(number) = one.value(value_of)? {
                        return Ok(Some(number));
                    }
                }
                None
            }
            Self::Either(parts) => {
                let (condition, then, otherwise) = &**parts;
                let chosen = if condition.holds(value_of) == Some(true) { then } else { otherwise };
                chosen.value(value_of)?
            }
            Self::Truth(condition) => condition.holds(value_of).map(Number::from),
        })
    }

    /// Returns the columns that the amount names.
    pub(crate) fn column_refs(&self) -> Vec<ColumnRef> {
        match self {
            Self::Of(Term::Column(column_ref)) => vec![*column_ref],
            Self::Of(Term::Constant(_) | Term::Literal(_)) => Vec::new(),
            Self::Scaled(of, _) => of.column_refs(),
            Self::Computed(_, _, both) => [both.0.column_refs(), both.1.column_refs()].concat(),
            Self::First(all) => all.iter().flat_map(Self::column_refs).collect(),
            Self::Either(parts) => {
                let (condition, then, otherwise) = &**parts;
                [condition.column_refs(), then.column_refs(), otherwise.column_refs()].concat()
            }
            Self::Truth(condition) => condition.column_refs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_servers_refuse_is_not_computed() {
        let of = |number: Number| Amount::Of(Term::Constant(Some(number)));
        let computed = |how, domain, left, right| {
            let both = Box::new((of(left), of(right)));
            Amount::Computed(how, domain, both).value(&|_| None)
        };
        let max = Number::from(i64::MAX);
        assert_eq!(computed(Arithmetic::Plus, Domain::Signed, max, 1), Err(Beyond));
        assert_eq!(computed(Arithmetic::Plus, Domain::Signed, max, 0), Ok(Some(max)));
        assert_eq!(computed(Arithmetic::Minus, Domain::Unsigned, 1, 2), Err(Beyond));
        assert_eq!(computed(Arithmetic::Minus, Domain::Signed, 1, 2), Ok(Some(-1)));
        assert_eq!(computed(Arithmetic::Times, Domain::Decimal, DECIMAL_MAX - 1, 2), Err(Beyond));
        assert_eq!(computed(Arithmetic::Times, Domain::Decimal, Number::MAX, 2), Err(Beyond));
    }
}
