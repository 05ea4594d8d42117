//! Conditions: columns of one type, and literals in the form of that type.

use std::borrow::Cow;

use freshet_sql::{Datum, Scalar};

use super::{Compiler, Found, refused};
use crate::decimal::{self, Scaled};
use crate::kind::{ColumnSpec, Kind, Number};
use crate::predicate::{ComparisonOperator, Predicate, Term};

/// Returns the comparison of an operator's name.
pub(super) fn comparison(name: &str) -> Option<ComparisonOperator> {
    Some(match name {
        "=" => ComparisonOperator::Equal,
        "<>" => ComparisonOperator::Unequal,
        "<" => ComparisonOperator::Less,
        "<=" => ComparisonOperator::LessOrEqual,
        ">" => ComparisonOperator::Greater,
        ">=" => ComparisonOperator::GreaterOrEqual,
        "<=>" => ComparisonOperator::Same,
        _ => return None,
    })
}

impl Compiler<'_> {
    pub(super) fn condition(&self, scalar: &Scalar) -> Found<Predicate> {
        let Scalar::Call(name, args) = scalar else { return refused("a value as a condition") };
        let all = || args.iter().map(|arg| self.condition(arg)).collect::<Found<Vec<_>>>();
        match (name.as_str(), args.as_slice()) {
            ("and", _) => all().map(Predicate::And),
            ("or", _) => all().map(Predicate::Or),
            ("not", [one]) => Ok(Predicate::Not(Box::new(self.condition(one)?))),
            ("is null", [Scalar::Column(input, name)]) => {
                Ok(Predicate::IsNull(Term::Column(self.column_ref(*input, name)?)))
            }
            ("between", [of, low, high]) => Ok(Predicate::And(vec![
                self.compared(ComparisonOperator::GreaterOrEqual, of, low)?,
                self.compared(ComparisonOperator::LessOrEqual, of, high)?,
            ])),
            ("in", [of, list @ ..]) => {
                let (term, spec) = self.compared_column(of)?;
                let equal = |value: &Scalar| Ok(Term::Constant(Some(self.constant(value, spec)?.equal()?)));
                Ok(Predicate::In(term, list.iter().map(equal).collect::<Found<_>>()?))
            }
            (name, [left, right]) => match comparison(name) {
                Some(how) => self.compared(how, left, right),
                None => refused(name.to_uppercase()),
            },
            (name, _) => refused(name.to_uppercase()),
        }
    }

    /// Returns a comparison, its column on the left if only one side is a column.
    pub(super) fn compared(
        &self,
        how: ComparisonOperator,
        left: &Scalar,
        right: &Scalar,
    ) -> Found<Predicate> {
        match (left, right) {
            (Scalar::Column(..), Scalar::Column(..)) => {
                let ((left, of), (right, with)) = (self.compared_column(left)?, self.compared_column(right)?);
                if !of.kind.compares_with(with.kind) || of.filled_bytes != with.filled_bytes {
                    return refused("a comparison of two types, or of texts that are not told apart here");
                }
                of.told_by(how)?;
                Ok(Predicate::Compare(how, left, right))
            }
            (Scalar::Column(..), value) => {
                let (left, spec) = self.compared_column(left)?;
                self.constant(value, spec.told_by(how)?)?.compared(how, left)
            }
            (value, Scalar::Column(..)) => {
                let (right, spec) = self.compared_column(right)?;
                self.constant(value, spec.told_by(how)?)?.compared(how.turned(), right)
            }
            _ => refused("a comparison of computed values"),
        }
    }

    pub(super) fn column(&self, scalar: &Scalar) -> Found<(Term, &ColumnSpec)> {
        match scalar {
            Scalar::Column(input, name) => {
                let column_ref = self.column_ref(*input, name)?;
                Ok((Term::Column(column_ref), self.query.spec(column_ref)))
            }
            Scalar::Value(_) | Scalar::All => refused("a literal in the place of a column"),
            Scalar::Item(_) => refused("a condition on an item"),
            Scalar::Call(name, _) => refused(format!("{}()", name.to_uppercase())),
            Scalar::Aggregate(name, ..) => refused(format!("{}() in this place", name.to_uppercase())),
            Scalar::Query(_) => refused("a subquery"),
        }
    }

    /// Returns a literal as a value of this kind, if it has the form of one.
    pub(super) fn constant(&self, scalar: &Scalar, spec: &ColumnSpec) -> Found<Scaled> {
        let kind = spec.kind;
        let found = match scalar {
            Scalar::Value(datum) => self.value(datum, spec),
            // The sign of a literal is not part of its marker.
            Scalar::Call(name, args)
                if self.takes_markers
                    && name == "-"
                    && kind.digits().is_some()
                    && matches!(args[..], [Scalar::Value(Datum::Param(_))]) =>
            {
                Some(Scaled::Exact(0))
            }
            Scalar::Query(_) => return refused("a subquery"),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => refused("a value that is of another type than what it is compared with"),
        }
    }
}

impl Compiler<'_> {
    /// Returns a literal, or the value of a marker, as a value of this kind.
    fn value(&self, written: &Datum, spec: &ColumnSpec) -> Option<Scaled> {
        let kind = spec.kind;
        let is_given = matches!(written, Datum::Param(_));
        match (self.asker.value(written), kind.digits()) {
            (Datum::Int(number), Some((_, scale))) => Some(decimal::scaled(*number, 0, scale)),
            // Beside an integer, MySQL makes an integer of a marker's value.
            (Datum::Decimal(_), Some(_)) if is_given && matches!(kind, Kind::Integer(_)) => None,
            (Datum::Decimal(text), Some((_, scale))) => decimal::literal(text, scale),
            // Years of two digits become years of four.
            (Datum::Int(year @ YEAR_MIN..=YEAR_MAX), None) if kind == Kind::Year => {
                Some(Scaled::Exact(*year))
            }
            (Datum::Text(name) | Datum::Shown(name), None) if matches!(kind, Kind::Enum | Kind::Set) => {
                spec.number_of(name).map(Scaled::Exact)
            }
            // With blanks behind it, an index may find rows that a comparison does not.
            (Datum::Text(text) | Datum::Shown(text), None) if matches!(kind, Kind::Folded(_)) => {
                let is_plain = !text.ends_with(b" ");
                // A shorter value may be filled up before it is looked for in an index.
                let is_filled =
                    spec.filled_bytes.is_none_or(|bytes| usize::try_from(bytes) == Ok(text.len()));
                kind.parse(text).filter(|_| is_plain && is_filled).map(Scaled::Exact)
            }
            (Datum::Int(number), None) if has_bits(kind, *number) => Some(Scaled::Exact(*number)),
            (Datum::Text(text) | Datum::Shown(text), None) => self.moment(text, kind),
            (Datum::Moment(text), None) if is_given => self.moment(&as_of_kind(text, kind), kind),
            (Datum::Param(_), _) if self.takes_markers && !matches!(kind, Kind::Text { .. }) => {
                Some(Scaled::Exact(0))
            }
            _ => None,
        }
    }
}

impl Compiler<'_> {
    /// Returns a date, a time or a moment. A moment of UTC is written as the session's clock shows it.
    fn moment(&self, text: &[u8], kind: Kind) -> Option<Scaled> {
        let number = match kind {
            Kind::Date | Kind::Moment(_) | Kind::Time(_) => kind.parse(text)?,
            Kind::Stamp(_) => {
                let number = kind.parse(text)? - Number::from(self.query.offset_s) * 1_000_000;
                // Beyond these days of UTC the servers compare with a value that is no TIMESTAMP.
                Some(number).filter(|number| (STAMP_MIN..STAMP_MAX).contains(number))?
            }
            _ => return None,
        };
        // Of literals with more digits than their columns, MySQL rounds some and compares with others as they are.
        let unit = match kind {
            Kind::Moment(behind) | Kind::Time(behind) | Kind::Stamp(behind) => {
                10_i128.pow(6 - u32::from(behind.min(6)))
            }
            _ => 1,
        };
        (number % unit == 0).then_some(Scaled::Exact(number))
    }
}

/// Whether a number is one of a BIT of this kind.
fn has_bits(kind: Kind, number: Number) -> bool {
    matches!(kind, Kind::Bit(bits) if (0..1 << bits).contains(&number))
}

/// Returns a date or a moment that is given as such, in the form of a column of this kind: a date is the moment at its midnight.
fn as_of_kind(text: &[u8], kind: Kind) -> Cow<'_, [u8]> {
    const MIDNIGHT: &[u8] = b" 00:00:00";
    match (kind, text.strip_suffix(MIDNIGHT)) {
        (Kind::Date, Some(date)) => date.into(),
        (Kind::Moment(_) | Kind::Stamp(_), None) if text.len() == b"YYYY-MM-DD".len() => {
            [text, MIDNIGHT].concat().into()
        }
        _ => text.into(),
    }
}

/// The years of YEAR, 0 aside.
const YEAR_MIN: Number = 1901;
const YEAR_MAX: Number = 2155;
/// In microseconds since 1970: its second day, and 2038-01-18.
const STAMP_MIN: Number = 86_400_000_000;
const STAMP_MAX: Number = 2_147_385_600_000_000;

impl ColumnSpec {
    /// Returns the column, if this comparison with a literal can be told by numbers. The order of the names of an ENUM or SET is not that
    /// of their numbers.
    pub(super) fn told_by(&self, how: ComparisonOperator) -> Found<&Self> {
        match (how, self.kind) {
            (ComparisonOperator::Equal | ComparisonOperator::Unequal | ComparisonOperator::Same, _) => {
                Ok(self)
            }
            (_, Kind::Enum) => refused("an order of an ENUM's names"),
            (_, Kind::Set) => refused("an order of a SET's names"),
            (_, Kind::Folded(_)) => refused("an order of texts in a condition"),
            _ => Ok(self),
        }
    }
}

impl Scaled {
    /// Returns the number to which a column is equal. MariaDB rounds a literal of more digits to those of the column if it looks for it
    /// in an index, and not otherwise, so such a literal is refused.
    fn equal(self) -> Found<Number> {
        match self {
            Self::Exact(number) => Ok(number),
            Self::Above(_) => refused("an equality with a literal of more digits than the column has"),
        }
    }

    pub(super) fn compared(self, how: ComparisonOperator, left: Term) -> Found<Predicate> {
        let (how, number) = match (self, how) {
            (Self::Above(floor), ComparisonOperator::Less | ComparisonOperator::LessOrEqual) => {
                (ComparisonOperator::LessOrEqual, floor)
            }
            (Self::Above(floor), ComparisonOperator::Greater | ComparisonOperator::GreaterOrEqual) => {
                (ComparisonOperator::Greater, floor)
            }
            // No column has this number.
            (Self::Above(_), ComparisonOperator::Unequal) => (how, Number::MAX),
            (scaled, how) => (how, scaled.equal()?),
        };
        Ok(Predicate::Compare(how, left, Term::Constant(Some(number))))
    }
}
