//! Whose statement is counted.

use std::sync::Arc;

use freshet_rules::Outcome;

/// Whose statements they are, and under which query rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    /// The default schema; empty where there is none.
    pub(crate) schema: &'a str,
    pub(crate) user: &'a [u8],
    /// What query rules have come to, if they have.
    pub(crate) outcome: Option<&'a Arc<Outcome>>,
}
