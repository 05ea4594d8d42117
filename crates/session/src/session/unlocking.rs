//! What the end of LOCK TABLES drops.
//!
//! As the native query cache has it: with the end of a write lock on a table without transactions, the results of that table are gone,
//! whether or not something was written, and whatever `query_cache_wlock_invalidate` says.

use std::sync::Arc;

use freshet_cache::Dep;

use crate::shared::Shared;

/// Drops what depends on these when it is dropped itself.
pub(crate) struct Unlocking {
    shared: Arc<Shared>,
    deps: Vec<Dep>,
}

impl Unlocking {
    /// `None` where there is nothing to drop.
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
