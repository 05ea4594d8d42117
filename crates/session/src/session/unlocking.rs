//! Results that the end of LOCK TABLES drops.
//!
//! Like the native query cache: at the end of a write lock on a table without transactions, the results of that table are dropped,
//! whether or not something was written, and whatever `query_cache_wlock_invalidate` says.

use std::sync::Arc;

use freshet_cache::Dep;

use crate::shared::Shared;

/// Drops the results with these dependencies when the value itself is dropped.
pub(crate) struct Unlocking {
    shared: Arc<Shared>,
    deps: Vec<Dep>,
}

impl Unlocking {
    /// Returns `None` if there is nothing to drop.
    pub(super) fn of(shared: &Arc<Shared>, deps: Vec<Dep>) -> Option<Self> {
        (!deps.is_empty()).then(|| Self { shared: Arc::clone(shared), deps })
    }
}

impl Drop for Unlocking {
    fn drop(&mut self) {
        self.shared.upstream.changed_unlogged(&self.deps);
    }
}

impl std::fmt::Debug for Unlocking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unlocking")
    }
}
