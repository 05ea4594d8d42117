//! Conditions: columns of one type, and literals that are written as one.

use freshet_sql::{Datum, Scalar};

use super::{Compiler, Found, refused};
use crate::condition::{Comparison, Condition, Operand};
use crate::decimal::{self, Scaled};
use crate::kind::{Kind, Number};

impl Compiler<'_> {
    pub(super) fn condition(&self, scalar: &Scalar) -> Found<Condition> {
        let Scalar::Call(name, args) = scalar else { return refused("a value as a condition") };
        let all = || args.iter().map(|arg| self.condition(arg)).collect::<Found<Vec<_>>>();
        let comparison = |name: &str| {
            Some(match name {
                "=" => Comparison::Equal,
                "<>" => Comparison::Unequal,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                ">=" => Comparison::GreaterOrEqual,
                "<=>" => Comparison::Same,
                _ => return None,
            })
        };
        match (name.as_str(), args.as_slice()) {
            ("and", _) => all().map(Condition::And),
            ("or", _) => all().map(Condition::Or),
            ("not", [one]) => Ok(Condition::Not(Box::new(self.condition(one)?))),
            ("is null", [Scalar::Column(input, name)]) => {
                Ok(Condition::IsNull(Operand::Column(self.place(*input, name)?)))
            }
            ("between", [of, low, high]) => Ok(Condition::And(vec![
                self.compared(Comparison::GreaterOrEqual, of, low)?,
                self.compared(Comparison::LessOrEqual, of, high)?,
            ])),
            ("in", [of, list @ ..]) => {
                let (operand, kind) = self.column(of)?;
                let equal =
                    |value: &Scalar| Ok(Operand::Constant(Some(self.constant(value, kind)?.equal()?)));
                Ok(Condition::In(operand, list.iter().map(equal).collect::<Found<_>>()?))
            }
            (name, [left, right]) => match comparison(name) {
                Some(how) => self.compared(how, left, right),
                None => refused(name.to_uppercase()),
            },
            (name, _) => refused(name.to_uppercase()),
        }
    }

    /// A comparison, its column on the left if only one side is a column.
    fn compared(&self, how: Comparison, left: &Scalar, right: &Scalar) -> Found<Condition> {
        match (left, right) {
            (Scalar::Column(..), Scalar::Column(..)) => {
                let ((left, of), (right, with)) = (self.column(left)?, self.column(right)?);
                if !of.compares_with(with) {
                    return refused("a comparison of texts, or of two types");
                }
                Ok(Condition::Compare(how, left, right))
            }
            (Scalar::Column(..), value) => {
                let (left, kind) = self.column(left)?;
                self.constant(value, kind)?.compared(how, left)
            }
            (value, Scalar::Column(..)) => {
                let (right, kind) = self.column(right)?;
                self.constant(value, kind)?.compared(how.turned(), right)
            }
            _ => refused("a comparison of computed values"),
        }
    }

    pub(super) fn column(&self, scalar: &Scalar) -> Found<(Operand, Kind)> {
        match scalar {
            Scalar::Column(input, name) => {
                let place = self.place(*input, name)?;
                Ok((Operand::Column(place), self.query.kind(place)))
            }
            Scalar::Value(_) | Scalar::All => refused("a literal in the place of a column"),
            Scalar::Item(_) => refused("a condition on an item"),
            Scalar::Call(name, _) => refused(format!("{}()", name.to_uppercase())),
            Scalar::Aggregate(name, ..) => refused(format!("{}() in this place", name.to_uppercase())),
            Scalar::Query(_) => refused("a subquery"),
        }
    }

    /// A column whose values can be told apart as their numbers.
    pub(super) fn comparable(&self, scalar: &Scalar, why: &str) -> Found<Operand> {
        match self.column(scalar)? {
            (_, Kind::Text) => refused(format!("{why} a text")),
            (operand, _) => Ok(operand),
        }
    }

    /// A literal as a value of this kind, if it is written as one.
    fn constant(&self, scalar: &Scalar, kind: Kind) -> Found<Scaled> {
        let found = match (scalar, kind.digits()) {
            (Scalar::Value(Datum::Int(number)), Some((_, scale))) => Some(decimal::scaled(*number, 0, scale)),
            (Scalar::Value(Datum::Decimal(text)), Some((_, scale))) => decimal::literal(text, scale),
            (Scalar::Value(Datum::Text(text)), None) => kind.parse(text).map(Scaled::Exact),
            (Scalar::Value(Datum::Param(_)), _) if self.takes_markers && kind != Kind::Text => {
                Some(Scaled::Exact(0))
            }
            // A literal's sign is not part of its marker.
            (Scalar::Call(name, args), Some(_))
                if self.takes_markers
                    && name == "-"
                    && matches!(args[..], [Scalar::Value(Datum::Param(_))]) =>
            {
                Some(Scaled::Exact(0))
            }
            (Scalar::Query(_), _) => return refused("a subquery"),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => refused("a value that is of another type than what it is compared with"),
        }
    }
}

impl Scaled {
    /// What is equal to it. MariaDB rounds a literal of more digits to those of the column if it looks for it in an index, and not otherwise.
    fn equal(self) -> Found<Number> {
        match self {
            Self::Exact(number) => Ok(number),
            Self::Above(_) => refused("an equality with a literal of more digits than the column has"),
        }
    }

    fn compared(self, how: Comparison, left: Operand) -> Found<Condition> {
        let (how, number) = match (self, how) {
            (Self::Above(floor), Comparison::Less | Comparison::LessOrEqual) => {
                (Comparison::LessOrEqual, floor)
            }
            (Self::Above(floor), Comparison::Greater | Comparison::GreaterOrEqual) => {
                (Comparison::Greater, floor)
            }
            // No column has this number.
            (Self::Above(_), Comparison::Unequal) => (how, Number::MAX),
            (scaled, how) => (how, scaled.equal()?),
        };
        Ok(Condition::Compare(how, left, Operand::Constant(Some(number))))
    }
}
