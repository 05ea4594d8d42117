//! HAVING: conditions on values that are computed from groups.

use freshet_sql::{ResultColumn, Scalar};

use super::conditions::comparison;
use super::{Compiler, Found, Unmaintained, refused};
use crate::kind::{ColumnSpec, Kind, Width};
use crate::predicate::{ColumnRef, ComparisonOperator, Predicate, Term};
use crate::query::Item;

/// The most digits of a number.
const DIGITS_MAX: u8 = 38;

/// The items of groups, and further items that conditions name.
pub(super) struct Groups<'c, 'p> {
    pub(super) compiler: &'c Compiler<'p>,
    pub(super) by: &'c [Term],
    pub(super) items: Vec<Item>,
    pub(super) shown: &'c [ResultColumn],
}

impl Groups<'_, '_> {
    pub(super) fn condition(&mut self, scalar: &Scalar) -> Found<Predicate> {
        let Scalar::Call(name, args) = scalar else { return refused("a value in HAVING") };
        match (name.as_str(), args.as_slice()) {
            ("and", _) => self.all(args).map(Predicate::And),
            ("or", _) => self.all(args).map(Predicate::Or),
            ("not", [one]) => Ok(Predicate::Not(Box::new(self.condition(one)?))),
            ("is null", [of]) => Ok(Predicate::IsNull(self.item(of)?.0)),
            ("between", [of, low, high]) => Ok(Predicate::And(vec![
                self.compared(ComparisonOperator::GreaterOrEqual, of, low)?,
                self.compared(ComparisonOperator::LessOrEqual, of, high)?,
            ])),
            (name, [left, right]) => {
                let how = comparison(name)
                    .map_or_else(|| refused(format!("{} in HAVING", name.to_uppercase())), Ok)?;
                if matches!(left, Scalar::Value(_)) {
                    return self.compared(how.turned(), right, left);
                }
                self.compared(how, left, right)
            }
            (name, _) => refused(format!("{} in HAVING", name.to_uppercase())),
        }
    }

    fn all(&mut self, args: &[Scalar]) -> Found<Vec<Predicate>> {
        args.iter().map(|arg| self.condition(arg)).collect()
    }

    /// Returns an item that is compared with a literal.
    fn compared(&mut self, how: ComparisonOperator, of: &Scalar, with: &Scalar) -> Found<Predicate> {
        let (term, spec) = self.item(of)?;
        self.compiler.constant(with, spec.told_by(how)?)?.compared(how, term)
    }

    /// Returns an item by its place, and its values' kind. The item is added behind the others if it is not among them.
    fn item(&mut self, scalar: &Scalar) -> Found<(Term, ColumnSpec)> {
        let value = match scalar {
            Scalar::Item(at) => self.shown.get(*at).map(|item| &item.value),
            other => Some(other),
        };
        let unknown = || Unmaintained("an item that is not known".to_owned());
        let item = self.compiler.item(value.ok_or_else(unknown)?, self.by)?;
        let of_kind = |kind| ColumnSpec { name: String::new(), kind, names: None, filled_bytes: None };
        let query = &self.compiler.query;
        let spec = match &item {
            Item::Key(at) => query.spec_of(&self.by[*at]).cloned(),
            Item::Extreme { of, .. } => query.spec_of(of).cloned(),
            Item::Count(_) | Item::Distinct(_) => Some(of_kind(Kind::Integer(Width::Wide))),
            Item::Sum { scale, .. } => Some(of_kind(Kind::Decimal { digits: DIGITS_MAX, scale: *scale })),
            // The servers compare more of its digits than they show.
            Item::Average { .. } => return refused("AVG() in HAVING"),
        };
        let at = self.items.iter().position(|own| *own == item).unwrap_or(self.items.len());
        if at == self.items.len() {
            self.items.push(item);
        }
        Ok((Term::Column(ColumnRef { mention: 0, column: at }), spec.ok_or_else(unknown)?))
    }
}
