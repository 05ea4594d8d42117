//! The turn of a statement that has no connection yet.

use crate::coalescing::{Leader, QuestionState};

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

impl TurnAhead {
    /// Has the others ask for themselves, all of them: this statement may take long to get a connection.
    pub(super) fn lets_all_ask(&mut self) {
        if let Self::Leads(leader) = self {
            leader.ends_with(QuestionState::Private);
            *self = Self::AsksAlone;
        }
    }
}
