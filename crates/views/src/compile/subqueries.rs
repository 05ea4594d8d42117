//! Conditions on whether a subquery has rows: they become joins with a table that adds nothing to the output.

use freshet_sql::{Relation, Scalar};

use crate::query::Role;

/// A table beside those of FROM, and its join.
pub(super) struct Joined<'p> {
    pub(super) input: usize,
    pub(super) role: Role,
    pub(super) on: Vec<&'p Scalar>,
    /// The two sides of IN, which have to be equal as well.
    pub(super) equal: Option<(&'p Scalar, &'p Scalar)>,
}

impl<'p> Joined<'p> {
    /// Returns the join for a condition of WHERE; `None` if the condition is not on the rows of a subquery.
    ///
    /// # Errors
    /// The part of the subquery that is not maintained.
    pub(super) fn of(condition: &'p Scalar) -> Option<Result<Self, &'static str>> {
        let Scalar::Call(name, args) = condition else { return None };
        match (name.as_str(), args.as_slice()) {
            ("exists", [Scalar::Query(of)]) => Some(Self::of_query(of, None)),
            ("in", [value, Scalar::Query(of)]) => Some(Self::of_query(of, Some(value))),
            ("not", [one]) => Some(Self::of(one)?.map(Self::negated)),
            _ => None,
        }
    }

    fn negated(self) -> Self {
        let role = if self.role == Role::Missing { Role::Exists } else { Role::Missing };
        Self { role, ..self }
    }

    fn of_query(query: &'p Relation, value: Option<&'p Scalar>) -> Result<Self, &'static str> {
        let query = if let Relation::Distinct(of) = query { of } else { query };
        let Relation::Project(of, items) = query else { return Err("such a subquery") };
        let (on, of) = match &**of {
            Relation::Filter(of, on) => (on.iter().collect(), of),
            _ => (Vec::new(), of),
        };
        let Relation::Scan(input) = **of else {
            return Err("a subquery of more than one table, or of groups");
        };
        let equal = match (value, items.as_slice()) {
            (None, _) => None,
            (Some(value), [item]) => Some((value, &item.value)),
            (Some(_), _) => return Err("a subquery of several columns"),
        };
        Ok(Self { input, role: Role::Exists, on, equal })
    }

    /// Returns the join conditions, and the values that have to be equal.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &'p Scalar> {
        let equal = self.equal.into_iter().flat_map(|(left, right)| [left, right]);
        self.on.iter().copied().chain(equal)
    }
}
