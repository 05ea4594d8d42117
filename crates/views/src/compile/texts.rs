//! Columns as they are shown, compared and sorted: for a text, these are different columns.

use freshet_sql::{Collation, Scalar};

use super::{Compiler, Found, Unmaintained, refused};
use crate::kind::{ColumnSpec, Kind};
use crate::predicate::{ColumnRef, Term};

impl Compiler<'_> {
    /// Returns a column in the form for comparisons with others and with literals.
    pub(super) fn compared_column(&self, scalar: &Scalar) -> Found<(Term, &ColumnSpec)> {
        let Scalar::Column(input, name) = scalar else { return self.column(scalar) };
        let is_compared = |spec: &ColumnSpec| !matches!(spec.kind, Kind::Text { .. });
        match self.column_ref_of(*input, name, is_compared) {
            Some(column_ref) => Ok((Term::Column(column_ref), self.query.spec(column_ref))),
            None => self.column(scalar),
        }
    }

    /// Returns a column in the form in which the servers tell its values apart and sort them.
    pub(super) fn sortable(&self, scalar: &Scalar, why: &str) -> Found<Term> {
        let (term, spec) = self.column(scalar)?;
        match spec.kind {
            Kind::Text { collation: Some(collation), is_short: true }
                if is_sorted(collation) && self.asker.computing.sorts_texts =>
            {
                Ok(term)
            }
            _ => self.comparable(scalar, why),
        }
    }

    pub(super) fn column_ref(&self, input: usize, name: &str) -> Found<ColumnRef> {
        let shown = self.column_ref_of(input, name, |spec| !matches!(spec.kind, Kind::Folded(_)));
        let unknown = || {
            let input = self.plan.named.get(input).map_or("?", |input| &input.name);
            Unmaintained(format!("{input}.{name}, which is a column of another query"))
        };
        // Both forms tell whether it is NULL.
        shown.or_else(|| self.column_ref_of(input, name, |_| true)).ok_or_else(unknown)
    }

    fn column_ref_of(
        &self,
        input: usize,
        name: &str,
        is_it: impl Fn(&ColumnSpec) -> bool,
    ) -> Option<ColumnRef> {
        let mention = self.scans.iter().position(|scan| *scan == input)?;
        let columns = &self.query.tables[self.query.mentions[mention]].1;
        let column = columns.iter().position(|column| column.name == name && is_it(column))?;
        Some(ColumnRef { mention, column })
    }

    /// Returns a column whose numbers tell its values apart.
    pub(super) fn comparable(&self, scalar: &Scalar, why: &str) -> Found<Term> {
        let (term, spec) = self.column(scalar)?;
        told_apart(term, spec, why)
    }

    /// Returns a column whose different values are counted.
    pub(super) fn counted(&self, scalar: &Scalar, why: &str) -> Found<Term> {
        match self.compared_column(scalar)? {
            (term, spec) if matches!(spec.kind, Kind::Folded(_)) => Ok(term),
            (term, spec) => told_apart(term, spec, why),
        }
    }
}

/// Returns a column, unless the numbers of its kind do not tell its values apart.
fn told_apart(term: Term, spec: &ColumnSpec, why: &str) -> Found<Term> {
    match spec.kind {
        Kind::Text { .. } | Kind::Folded(_) => refused(format!("{why} a text")),
        // In a temporary table it is a number, which MariaDB shows in digits.
        Kind::Bit(_) => refused(format!("{why} a BIT")),
        _ => Ok(term),
    }
}

/// Whether the order of a collation is known.
fn is_sorted(collation: Collation) -> bool {
    collation.sorted(b"").is_some()
}
