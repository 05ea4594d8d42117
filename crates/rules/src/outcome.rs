//! What the chain has come to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Settings;

/// The rules that a statement has met, in their order, and what they say together. Statements that meet the same rules share it.
#[derive(Debug)]
pub struct Outcome {
    /// No two outcomes of the process have the same; 0 where no rule was met.
    pub id: u64,
    /// The places of the rules in their set.
    pub(crate) rules: Box<[u32]>,
    /// Their `rule_id`s.
    pub(crate) ids: Box<[i64]>,
    pub(crate) settings: Settings,
    /// How often it came about, as far as that is counted here.
    pub(crate) times: AtomicU64,
}

impl Outcome {
    /// Counts statements that have come to it.
    pub fn count(&self, times: u64) {
        self.times.fetch_add(times, Ordering::Relaxed);
    }

    /// Whether no rule was met, and no hostgroup was asked for.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.rules.is_empty() && self.settings.hostgroup.is_none()
    }

    /// Returns the `rule_id`s of the rules that were met, in their order.
    #[must_use]
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// Returns what they say together.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the hostgroup that statements are counted under.
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
    /// Whether an answer may be stale for as long as its rule says it may be given.
    pub is_bargain: bool,
    /// At which age the first who asks for an answer makes it anew, in milliseconds.
    pub soft_ttl_ms: Option<u64>,
    /// Whether an answer without rows is stored.
    pub stores_empty: bool,
    /// How often it may be sent again, where that is safe.
    pub retries: u64,
    /// Whether it is written to the query log.
    pub is_logged: bool,
}
