//! The row under which a statement is counted.

use std::sync::Arc;

use freshet_rules::Outcome;

/// The schema, the user and the query rules that a statement is counted under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    /// The default schema; empty if there is none.
    pub(crate) schema: &'a str,
    pub(crate) user: &'a [u8],
    /// The outcome of the query rules, if rules were met.
    pub(crate) outcome: Option<&'a Arc<Outcome>>,
}
