//! What sessions count beside the cache.

use std::sync::atomic::{AtomicU64, Ordering};

/// What sessions count beside the cache. On cache lines of its own: misses write it, beside what every hit reads.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Commands that went to the server.
    pub(crate) forwarded: AtomicU64,
    /// Clients let in since the start.
    pub(crate) connections: AtomicU64,
    /// Misses whose tables changed after what is known to be visible: answered, not stored.
    pub(crate) unsettled: AtomicU64,
    /// Lookups not made because a level's proof was not there.
    pub(crate) not_proven: AtomicU64,
    /// Transactions that were answered from memory from their beginning to their end.
    pub(crate) transactions: AtomicU64,
    /// Transactions that were rolled back because what they had read from memory was not proven true in the server's read view.
    pub(crate) snapshot_conflicts: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
