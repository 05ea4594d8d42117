//! Texts. Those that are shown, sorted or grouped by are kept whole; those that are compared are kept as a number that equal texts share.

use freshet_sql::{DataType, Scalar};

use crate::kind::ColumnSpec;

/// What a query does with the columns of an input, by their names.
#[derive(Default)]
pub(super) struct Uses<'p> {
    shown: Vec<&'p str>,
    compared: Vec<&'p str>,
}

impl<'p> Uses<'p> {
    /// Returns the uses of an input's columns, from the conditions on rows and from the values that are shown, grouped and sorted by.
    pub(super) fn of(
        conditions: impl Iterator<Item = &'p Scalar>,
        values: impl Iterator<Item = &'p Scalar>,
        input: usize,
    ) -> Self {
        let mut uses = Self::default();
        conditions.for_each(|one| uses.condition(one, input));
        values.for_each(|one| uses.value(one, input));
        uses
    }

    fn condition(&mut self, scalar: &'p Scalar, input: usize) {
        match scalar {
            Scalar::Call(name, args) if name == "is null" => {
                args.iter().for_each(|arg| self.value(arg, input));
            }
            Scalar::Call(_, args) => args.iter().for_each(|arg| self.condition(arg, input)),
            Scalar::Column(of, name) if *of == input => self.compared.push(name),
            _ => {}
        }
    }

    fn value(&mut self, scalar: &'p Scalar, input: usize) {
        match scalar {
            Scalar::Aggregate(_, true, args) => args.iter().for_each(|arg| self.condition(arg, input)),
            Scalar::Aggregate(_, false, args) => args.iter().for_each(|arg| self.amount(arg, input)),
            Scalar::Call(_, args) => args.iter().for_each(|arg| self.value(arg, input)),
            Scalar::Column(of, name) if *of == input => self.shown.push(name),
            _ => {}
        }
    }

    /// Notes a value that is summed or counted.
    fn amount(&mut self, scalar: &'p Scalar, input: usize) {
        match scalar {
            Scalar::Call(name, args) if name == "case of" => {
                args.iter().take(1).for_each(|arg| self.condition(arg, input));
                args.iter().skip(1).for_each(|arg| self.amount(arg, input));
            }
            Scalar::Call(name, args) if is_computed(name) => {
                args.iter().for_each(|arg| self.amount(arg, input));
            }
            Scalar::Call(..) => self.condition(scalar, input),
            other => self.value(other, input),
        }
    }

    /// Returns the forms in which a column is kept.
    ///
    /// # Errors
    /// As of [`Kind::of`].
    pub(super) fn specs(&self, name: &str, declared: &DataType) -> Result<Vec<ColumnSpec>, String> {
        let spec = ColumnSpec::of(name, declared)?;
        let folded = spec.folded().filter(|_| self.compared.contains(&name));
        let is_shown = folded.is_none() || self.shown.contains(&name);
        Ok(is_shown.then_some(spec).into_iter().chain(folded).collect())
    }
}

/// Whether the servers compute a number from others by this name.
fn is_computed(name: &str) -> bool {
    matches!(name, "+" | "-" | "*" | "case" | "case of" | "if" | "ifnull" | "coalesce")
}
