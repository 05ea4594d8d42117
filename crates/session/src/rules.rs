//! The query rules of all sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use freshet_digest::Options;
use freshet_rules::{Defaults, Rule, RuleError, RuleSet};

use crate::query_log::QueryLog;

/// The present query rules.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Changes with each change of the rules.
    version: AtomicU64,
    set: RwLock<Option<Arc<RuleSet>>>,
    digests: RwLock<Options>,
    /// The log for statements whose rules ask for it.
    pub(crate) log: QueryLog,
}

impl Rules {
    /// Returns the version: a reader of a new version sees the change.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the set; `None` if there are no rules.
    pub(crate) fn set(&self) -> Option<Arc<RuleSet>> {
        self.set.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how texts are normalised, also without rules.
    pub(crate) fn digests(&self) -> Options {
        *self.digests.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the rules by these. Returns whether that makes a difference.
    ///
    /// # Errors
    /// The first rule that cannot be carried out; the earlier rules stay.
    pub(crate) fn load(&self, rules: Vec<Rule>, defaults: Defaults) -> Result<bool, RuleError> {
        // If the same rules are loaded again, their counts and the answers stored under them stay.
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
