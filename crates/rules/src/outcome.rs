//! What the chain has come to.

use std::sync::Arc;

use crate::Settings;

/// The rules that a statement has met, in their order, and what they say together. Statements that meet the same rules share it.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// No two outcomes of the process have the same; 0 where no rule was met.
    pub id: u64,
    /// The places of the rules in their set.
    pub(crate) rules: Box<[u32]>,
    pub(crate) settings: Settings,
}

impl Outcome {
    /// The hostgroup that statements are counted under.
    #[must_use]
    pub const fn hostgroup(&self) -> Option<i64> {
        self.settings.hostgroup
    }
}

/// What becomes of a statement.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The rules that it has met.
    pub outcome: Arc<Outcome>,
    /// What they say, and what the statement itself asks for in their place.
    pub settings: Settings,
    /// The statement that takes its place.
    pub rewritten: Option<Vec<u8>>,
    /// Whether answers to it may be stored, where that is possible at all.
    pub is_cached: bool,
    /// Whether an answer without rows is stored.
    pub stores_empty: bool,
}
