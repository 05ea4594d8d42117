//! Numbers that are computed from rows for SUM(), AVG() and COUNT(): arithmetic, CASE, IF(), COALESCE(), and conditions as 0 and 1.

use freshet_sql::{DataType, Datum, Scalar};

use super::conditions::comparison;
use super::{Compiler, Found, refused};
use crate::amount::{Amount, Arithmetic, Domain};
use crate::decimal;
use crate::predicate::{ComparisonOperator, Predicate, Term};
use crate::query::declared;

/// The most digits behind the point of a computed number. MySQL has up to 30, and MariaDB up to 38.
const SCALE_MAX: u8 = 28;

/// A number, and its type to the servers.
pub(super) struct Typed {
    pub(super) amount: Amount,
    /// Digits behind the point.
    pub(super) scale: u8,
    domain: Domain,
}

impl Typed {
    const NULL: Self = Self { amount: Amount::Of(Term::Constant(None)), scale: 0, domain: Domain::Signed };

    fn integer(amount: Amount) -> Self {
        Self { amount, scale: 0, domain: Domain::Signed }
    }

    /// Returns the number with more digits behind the point.
    pub(super) fn scaled(self, scale: u8) -> Self {
        let Some(more @ 1..) = scale.checked_sub(self.scale) else { return self };
        let amount = Amount::Scaled(Box::new(self.amount), 10_i128.pow(more.into()));
        Self { amount, scale, ..self }
    }

    fn computed(how: Arithmetic, left: Self, right: Self) -> Found<Self> {
        let domain = left.domain.beside(right.domain);
        let (left, right, scale) = match how {
            Arithmetic::Times => {
                let scale = left.scale + right.scale;
                (left, right, scale)
            }
            Arithmetic::Plus | Arithmetic::Minus => {
                let scale = left.scale.max(right.scale);
                (left.scaled(scale), right.scaled(scale), scale)
            }
        };
        if scale > SCALE_MAX {
            return refused("a product with so many digits");
        }
        let amount = Amount::Computed(how, domain, Box::new((left.amount, right.amount)));
        Ok(Self { amount, scale, domain })
    }
}

impl Domain {
    /// Returns the domain in which two numbers of these domains are computed.
    fn beside(self, other: Self) -> Self {
        match (self, other) {
            (Self::Decimal, _) | (_, Self::Decimal) => Self::Decimal,
            (Self::Unsigned, _) | (_, Self::Unsigned) => Self::Unsigned,
            (Self::Signed, Self::Signed) => Self::Signed,
        }
    }

    fn of(declared: &DataType) -> Option<Self> {
        match &*declared.name {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" if declared.is_unsigned => {
                Some(Self::Unsigned)
            }
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Some(Self::Signed),
            "decimal" => Some(Self::Decimal),
            _ => None,
        }
    }
}

impl Compiler<'_> {
    /// Returns a number that is computed from a row.
    pub(super) fn amount(&self, scalar: &Scalar) -> Found<Typed> {
        let Scalar::Call(name, args) = scalar else { return self.plain(scalar) };
        match (name.as_str(), args.as_slice()) {
            ("+", [left, right]) => self.arithmetic(Arithmetic::Plus, left, right),
            ("-", [left, right]) => self.arithmetic(Arithmetic::Minus, left, right),
            ("*", [left, right]) => self.arithmetic(Arithmetic::Times, left, right),
            ("-", [Scalar::Value(datum)]) => {
                let of = self.literal(datum)?;
                Ok(Typed { amount: Amount::Scaled(Box::new(of.amount), -1), ..of })
            }
            ("coalesce" | "ifnull", all @ [_, ..]) => {
                let all = all.iter().map(|one| self.amount(one)).collect::<Found<Vec<_>>>()?;
                let (all, scale, domain) = alike(all)?;
                Ok(Typed { amount: Amount::First(all), scale, domain })
            }
            ("if", [condition, then, otherwise]) => {
                self.chosen(vec![(self.condition(condition)?, then)], otherwise)
            }
            ("case", [pairs @ .., otherwise]) => {
                let case = |pair: &'_ [Scalar]| self.condition(&pair[0]);
                let conditions = pairs.chunks_exact(2).map(case).collect::<Found<Vec<_>>>()?;
                self.chosen(conditions.into_iter().zip(pairs.iter().skip(1).step_by(2)).collect(), otherwise)
            }
            ("case of", [of, pairs @ .., otherwise]) => {
                let case = |pair: &'_ [Scalar]| self.compared(ComparisonOperator::Equal, of, &pair[0]);
                let conditions = pairs.chunks_exact(2).map(case).collect::<Found<Vec<_>>>()?;
                self.chosen(conditions.into_iter().zip(pairs.iter().skip(1).step_by(2)).collect(), otherwise)
            }
            (name, _) if is_condition(name) => {
                let condition = self.condition(scalar)?;
                Ok(Typed::integer(Amount::Truth(Box::new(condition))))
            }
            (name, _) => refused(format!("{} in what is summed or counted", name.to_uppercase())),
        }
    }

    /// Returns a column or a literal.
    fn plain(&self, scalar: &Scalar) -> Found<Typed> {
        let (input, name) = match scalar {
            Scalar::Column(input, name) => (*input, name),
            Scalar::Value(datum) => return self.literal(datum),
            other => return self.column(other).and_then(|_| refused("such a value")),
        };
        let (term, spec) = self.column(scalar)?;
        let domain = self.plan.named.get(input).and_then(|input| declared(&input.columns, name));
        match (domain.and_then(Domain::of), spec.kind.digits()) {
            (Some(domain), Some((_, scale))) => Ok(Typed { amount: Amount::Of(term), scale, domain }),
            _ => refused(format!("{name} as a number, which is no exact one")),
        }
    }

    /// Reads a literal. The type of a marker's value is chosen by the servers from what is around it.
    fn literal(&self, datum: &Datum) -> Found<Typed> {
        let of = |number| Amount::Of(Term::Constant(Some(number)));
        match datum {
            Datum::Null => Ok(Typed::NULL),
            Datum::Int(number) if i64::try_from(*number).is_ok() => Ok(Typed::integer(of(*number))),
            Datum::Decimal(text) => match decimal::parts(text) {
                Some((number, scale)) => Ok(Typed { amount: of(number), scale, domain: Domain::Decimal }),
                None => refused("such a number in what is summed or counted"),
            },
            Datum::Param(_) if self.takes_markers => Ok(Typed::integer(of(0))),
            _ => refused("such a value in what is summed or counted"),
        }
    }

    fn arithmetic(&self, how: Arithmetic, left: &Scalar, right: &Scalar) -> Found<Typed> {
        Typed::computed(how, self.amount(left)?, self.amount(right)?)
    }

    /// Returns the value beside the first condition that holds, or else the last value.
    fn chosen(&self, cases: Vec<(Predicate, &Scalar)>, otherwise: &Scalar) -> Found<Typed> {
        let (conditions, values): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
        let values = values.into_iter().chain([otherwise]).map(|value| self.amount(value));
        let (mut values, scale, domain) = alike(values.collect::<Found<Vec<_>>>()?)?;
        let last = values.pop().unwrap_or(Typed::NULL.amount);
        let cases = conditions.into_iter().zip(values).rev();
        let amount = cases.fold(last, |otherwise, (condition, then)| {
            Amount::Either(Box::new((condition, then, otherwise)))
        });
        Ok(Typed { amount, scale, domain })
    }
}

/// Returns the values of a choice with their common type: the servers give all of them a type that holds each. Signed beside unsigned
/// numbers get a type that is not the same on all servers, so they are refused.
fn alike(all: Vec<Typed>) -> Found<(Vec<Amount>, u8, Domain)> {
    let scale = all.iter().map(|one| one.scale).max().unwrap_or(0);
    let domain = all.iter().map(|one| one.domain).reduce(Domain::beside).unwrap_or(Domain::Signed);
    let may_be_negative = |one: &Typed| match one.amount {
        Amount::Of(Term::Constant(value)) => value.is_some_and(|number| number < 0),
        _ => one.domain == Domain::Signed,
    };
    if domain == Domain::Unsigned && all.iter().any(may_be_negative) {
        return refused("a choice of numbers with a sign and without");
    }
    Ok((all.into_iter().map(|one| one.scaled(scale).amount).collect(), scale, domain))
}

fn is_condition(name: &str) -> bool {
    comparison(name).is_some() || matches!(name, "and" | "or" | "not" | "is null" | "in" | "between")
}
