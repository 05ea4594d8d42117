//! The output of a query, and its order.

use freshet_sql::{Datum, ResultColumn, Scalar};

use super::amounts::Typed;
use super::having::Groups;
use super::{CompiledOutput, Compiler, Found, Parts, Unmaintained, refused};
use crate::amount::Amount;
use crate::decimal;
use crate::kind::Kind;
use crate::predicate::Term;
use crate::query::{Item, Output};

impl Compiler<'_> {
    pub(super) fn output(&self, parts: &Parts<'_>) -> Found<CompiledOutput> {
        match parts.groups {
            Some(by) => self.groups(parts, by),
            None => self.rows(parts),
        }
    }

    fn rows(&self, parts: &Parts<'_>) -> Found<CompiledOutput> {
        let mut literals = Vec::new();
        let column = |item: &ResultColumn| match (&item.value, parts.is_distinct) {
            (value, true) => self.sortable(value, "DISTINCT of"),
            (Scalar::Value(written), false) => self.shown_literal(written, &mut literals),
            (value, false) => self.column(value).map(|(term, _)| term),
        };
        let mut columns = parts.items.iter().map(column).collect::<Found<Vec<_>>>()?;
        let shown = columns.len();
        let is_bit =
            |term: &Term| self.query.spec_of(term).is_some_and(|spec| matches!(spec.kind, Kind::Bit(_)));
        // The servers may use a temporary table for it.
        if !parts.order.is_empty() && parts.scans.len() > 1 && columns.iter().any(is_bit) {
            return refused("a BIT in the rows of a join in an order");
        }
        let mut order = Vec::new();
        for (scalar, descends) in parts.order {
            let value = match scalar {
                Scalar::Item(at) => parts.items.get(*at).map_or(scalar, |item| &item.value),
                other => other,
            };
            let term = self.sortable(value, "ORDER BY")?;
            self.sorted(&term)?;
            let at = columns.iter().position(|column| *column == term).unwrap_or(columns.len());
            if at == columns.len() {
                columns.push(term);
            }
            order.push((at, *descends));
        }
        if parts.is_distinct && columns.len() > shown {
            return refused("DISTINCT in the order of what is not shown");
        }
        let output = Output::Rows { columns, shown, is_distinct: parts.is_distinct };
        Ok(CompiledOutput { output, having: Vec::new(), order, literals })
    }

    fn groups(&self, parts: &Parts<'_>, by: &[Scalar]) -> Found<CompiledOutput> {
        if parts.is_distinct {
            return refused("DISTINCT of groups");
        }
        let value = |scalar: &Scalar| match scalar {
            Scalar::Item(at) => parts.items.get(*at).map(|item| item.value.clone()),
            other => Some(other.clone()),
        };
        let unknown = || Unmaintained("an item that is not known".to_owned());
        let key = |scalar: &Scalar| self.sortable(&value(scalar).ok_or_else(unknown)?, "GROUP BY");
        let by = by.iter().map(key).collect::<Found<Vec<_>>>()?;
        let item = |scalar: &Scalar| self.item(scalar, &by);
        let mut items = parts.items.iter().map(|shown| item(&shown.value)).collect::<Found<Vec<_>>>()?;
        let shown = items.len();
        let mut order = Vec::new();
        for (scalar, descends) in parts.order {
            let item = item(&value(scalar).ok_or_else(unknown)?)?;
            if let Item::Key(at) = &item {
                self.sorted(&by[*at])?;
            }
            let at = items.iter().position(|own| *own == item).unwrap_or(items.len());
            if at == items.len() {
                items.push(item);
            }
            order.push((at, *descends));
        }
        let mut groups = Groups { compiler: self, by: &by, items, shown: parts.items };
        let having = parts.having.iter().map(|scalar| groups.condition(scalar)).collect::<Found<_>>()?;
        let Groups { items, .. } = groups;
        Ok(CompiledOutput {
            output: Output::Groups { by, items, shown },
            having,
            order,
            literals: Vec::new(),
        })
    }

    /// Returns a literal that is shown. The type of a marker's value depends on how it is executed.
    fn shown_literal(&self, written: &Datum, literals: &mut Vec<Box<[u8]>>) -> Found<Term> {
        match written {
            Datum::Int(number) => Ok(Term::Constant(Some(*number))),
            Datum::Text(text) | Datum::Shown(text) if text.is_ascii() => {
                literals.push(text.as_slice().into());
                Ok(Term::Literal(literals.len() - 1))
            }
            Datum::Param(_) if self.takes_markers => Ok(Term::Constant(Some(0))),
            _ => refused("such a literal in the place of a column"),
        }
    }

    /// Checks that a column's values are sorted by their numbers.
    fn sorted(&self, term: &Term) -> Found<()> {
        match self.query.spec_of(term) {
            Some(spec) if !spec.is_sorted_by_number() => refused("ORDER BY a SET of 64 names"),
            _ => Ok(()),
        }
    }

    pub(super) fn item(&self, scalar: &Scalar, by: &[Term]) -> Found<Item> {
        match scalar {
            Scalar::Aggregate(name, true, args) => match (name.as_str(), args.as_slice()) {
                ("count", [of]) => Ok(Item::Distinct(self.counted(of, "COUNT(DISTINCT) of")?)),
                _ => refused(format!("{}(DISTINCT)", name.to_uppercase())),
            },
            Scalar::Aggregate(name, false, args) => match (name.as_str(), args.as_slice()) {
                ("count", [Scalar::All | Scalar::Value(Datum::Int(_))]) => Ok(Item::Count(None)),
                ("count", [of @ Scalar::Call(..)]) => Ok(Item::Count(Some(self.amount(of)?.amount))),
                ("count", [of]) => Ok(Item::Count(Some(Amount::Of(self.column(of)?.0)))),
                ("sum" | "avg", [of @ Scalar::Call(..)]) => {
                    let Typed { amount, scale, .. } = self.amount(of)?;
                    self.sum(name, amount, Some((decimal::SUM_DIGITS_MAX, scale)))
                }
                ("sum" | "avg", [of]) => {
                    let (of, spec) = self.column(of)?;
                    self.sum(name, Amount::Of(of), spec.kind.digits())
                }
                ("min" | "max", [of]) => {
                    match self.column(of)?.1.kind {
                        Kind::Enum => {
                            return refused("MIN() and MAX() of an ENUM, which are those of its names");
                        }
                        Kind::Set => {
                            return refused("MIN() and MAX() of a SET, which are those of its names");
                        }
                        _ => {}
                    }
                    let of = self.sortable(of, "MIN() and MAX() of")?;
                    let is_text =
                        self.query.spec_of(&of).is_some_and(|spec| matches!(spec.kind, Kind::Text { .. }));
                    Ok(Item::Extreme { of, is_max: name == "max", is_text })
                }
                (name, _) => refused(format!("{}()", name.to_uppercase())),
            },
            Scalar::Call(name, args) if matches!(name.as_str(), "coalesce" | "ifnull") => {
                match args.as_slice() {
                    [of @ Scalar::Aggregate(..), or] => self.or_literal(self.item(of, by)?, or),
                    _ => refused(format!("{}() of this", name.to_uppercase())),
                }
            }
            column => {
                let term = self.column(column)?.0;
                let at = by.iter().position(|own| *own == term);
                at.map(Item::Key).ok_or_else(|| Unmaintained("a column that is not grouped by".to_owned()))
            }
        }
    }

    /// Returns a sum or an average of numbers. `digits`: how many digits they have, and how many of these are behind the point; `None`:
    /// they are not exact.
    fn sum(&self, name: &str, of: Amount, digits: Option<(u8, u8)>) -> Found<Item> {
        let called = name.to_uppercase();
        let more = self.asker.computing.division_digits;
        match (name, digits) {
            (_, None) => refused(format!("{called}() of what is no exact number")),
            ("sum", Some((digits, scale))) if decimal::can_sum(digits) => {
                Ok(Item::Sum { of, scale, or: None })
            }
            ("avg", Some((digits, scale))) if decimal::can_average(digits, scale, more) => {
                Ok(Item::Average { of, scale, more, or: None })
            }
            (_, Some(_)) => refused(format!("{called}() with so many digits")),
        }
    }

    /// Returns a sum or an average with the value that is shown in the place of NULL. A literal with more digits behind the point would
    /// give them to every result.
    fn or_literal(&self, mut item: Item, literal: &Scalar) -> Found<Item> {
        let (scale, place) = match &mut item {
            Item::Sum { scale, or, .. } => (*scale, or),
            Item::Average { scale, more, or, .. } => (*scale + *more, or),
            _ => return refused("COALESCE() of this"),
        };
        let literal = self.amount(literal)?;
        if literal.scale > scale || !literal.amount.column_refs().is_empty() {
            return refused("COALESCE() with such a value");
        }
        *place = literal
            .scaled(scale)
            .amount
            .value(&|_| None)
            .or_else(|_| refused("COALESCE() with such a value"))?;
        Ok(item)
    }
}
