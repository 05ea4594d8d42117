//! The turn of a statement that has no connection yet.

use crate::coalescing::Leader;

/// What a statement that may be slow knows of its turn before it has a connection.
#[derive(Debug, Default)]
pub(crate) enum TurnAhead {
    /// Nothing.
    #[default]
    Unknown,
    /// The others wait for this statement.
    Leads(Box<Leader>),
    /// The statement has waited often enough.
    AsksAlone,
}
