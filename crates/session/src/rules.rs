//! The query rules that count for all sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use freshet_digest::Options;
use freshet_rules::{Defaults, Rule, RuleError, RuleSet};

use crate::query_log::QueryLog;

/// The rules that count now.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Another after each change.
    version: AtomicU64,
    set: RwLock<Option<Arc<RuleSet>>>,
    digests: RwLock<Options>,
    /// Where statements are written that rules name.
    pub(crate) log: QueryLog,
}

impl Rules {
    /// The version: whoever sees a new one sees the change.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The set; `None` if there are no rules.
    pub(crate) fn set(&self) -> Option<Arc<RuleSet>> {
        self.set.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How texts are normalised, for whom there are no rules as well.
    pub(crate) fn digests(&self) -> Options {
        *self.digests.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has these count in the place of those before. Returns whether that makes a difference.
    ///
    /// # Errors
    /// The first rule that cannot be carried out; those before go on counting.
    pub(crate) fn load(&self, rules: Vec<Rule>, defaults: Defaults) -> Result<bool, RuleError> {
        // What is loaded again as it was keeps its counts, and what is stored under it.
        if self.set().is_some_and(|set| set.is_of(&rules, defaults)) {
            return Ok(false);
        }
        let set = RuleSet::compile(rules, defaults)?;
        *self.digests.write().unwrap_or_else(PoisonError::into_inner) = defaults.digests;
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = (!set.is_idle()).then(|| Arc::new(set));
        self.version.fetch_add(1, Ordering::Release);
        Ok(true)
    }
}
