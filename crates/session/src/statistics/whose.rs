//! What a statement is counted under.

use std::sync::Arc;

use freshet_rules::Outcome;

/// The schema, the user and the query rules that a statement is counted under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    /// The default schema; empty where there is none.
    pub(crate) schema: &'a str,
    pub(crate) user: &'a [u8],
    /// What query rules have come to, if they have.
    pub(crate) outcome: Option<&'a Arc<Outcome>>,
}
