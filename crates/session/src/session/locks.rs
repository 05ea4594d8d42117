//! LOCK TABLES of a session: what it bars, and the results that its end drops.
//!
//! Like the native query cache: at the end of a write lock on a table without transactions, the results of that table are dropped,
//! whether or not something was written, and whatever `query_cache_wlock_invalidate` says.

use std::sync::Arc;

use freshet_cache::Dep;

use crate::fences::Locked;
use crate::shared::{Shared, Wlock};

/// LOCK TABLES of a session. Neither COMMIT nor ROLLBACK ends it, so it is no state of the transaction.
#[derive(Debug, Default)]
pub(crate) struct TableLocks {
    are_in_force: bool,
    /// Held if `query_cache_wlock_invalidate` is on: no session is answered from memory.
    wlock: Option<Wlock>,
    /// What the end of the locks drops.
    unlocking: Option<Unlocking>,
}

impl TableLocks {
    pub(crate) const fn are_in_force(&self) -> bool {
        self.are_in_force
    }

    /// Notes a LOCK TABLES that is about to be sent, and that ends the earlier locks. `bars_others`: while it holds, no session reads the
    /// locked tables from memory.
    pub(super) fn begin(&mut self, shared: &Arc<Shared>, locked: Locked, bars_others: bool) {
        self.unlocking = Unlocking::of(shared, locked.at_once);
        if bars_others {
            // The stored results of these tables are dropped for good.
            shared.upstream.changed_unlogged(&locked.all);
            self.wlock = (!locked.all.is_empty()).then(|| shared.wlock(locked.all));
        }
    }

    /// Notes what a question to the server has shown.
    pub(super) const fn learned(&mut self, are_in_force: bool) {
        self.are_in_force = are_in_force;
    }

    /// Notes a statement that may have locked tables (`Some(true)`) or unlocked them. A LOCK TABLES that fails may have locked some.
    pub(super) fn ran(&mut self, locks: Option<bool>, succeeded: bool) {
        match locks {
            Some(true) => self.are_in_force = true,
            Some(false) if succeeded => self.are_in_force = false,
            _ => {}
        }
        if !self.are_in_force {
            self.wlock = None;
            self.unlocking = None;
        }
    }
}

/// Drops the results with these dependencies when the value itself is dropped.
struct Unlocking {
    shared: Arc<Shared>,
    deps: Vec<Dep>,
}

impl Unlocking {
    /// Returns `None` if there is nothing to drop.
    fn of(shared: &Arc<Shared>, deps: Vec<Dep>) -> Option<Self> {
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
