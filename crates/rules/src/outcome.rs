//! The outcome of the chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Settings;

/// The rules that a statement has met, in their order, and their settings together. Statements that meet the same rules share an outcome.
#[derive(Debug)]
pub struct Outcome {
    /// A number that no other outcome of the process has; 0 where no rule was met.
    pub id: u64,
    /// The places of the rules in their set.
    pub(crate) rules: Box<[u32]>,
    /// Their `rule_id`s.
    pub(crate) ids: Box<[i64]>,
    pub(crate) settings: Settings,
    /// How often the outcome was reached, as far as that is counted here.
    pub(crate) times: AtomicU64,
}

impl Outcome {
    /// Counts statements with this outcome.
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

    /// Returns the settings of the rules together.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the hostgroup under which the statements are counted.
    #[must_use]
    pub const fn hostgroup(&self) -> Option<i64> {
        self.settings.hostgroup
    }
}

/// The decision about a statement.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The rules that it has met.
    pub outcome: Arc<Outcome>,
    /// The settings of these rules, replaced where the statement asks for its own.
    pub settings: Settings,
    /// The statement that is carried out instead.
    pub rewritten: Option<Vec<u8>>,
    /// Whether its answers may be stored, where that is possible at all.
    pub is_cached: bool,
    /// Whether an answer may be stale as long as its rule lets it be given.
    pub is_bargain: bool,
    /// The age at which the first client that asks for an answer makes it anew, in milliseconds.
    pub soft_ttl_ms: Option<u64>,
    /// Whether an answer without rows is stored.
    pub stores_empty: bool,
    /// How often the statement may be sent again, where that is safe.
    pub retries: u64,
    /// Whether the statement is written to the query log.
    pub is_logged: bool,
}
