//! The counters of sessions, besides those of the cache.

use std::sync::atomic::{AtomicU64, Ordering};

use freshet_cache::Striped;

/// A counter, as a place among the counters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// Commands that went to the server.
    Forwarded,
    /// Clients let in since the start.
    Connections,
    /// Statements that were prepared from memory.
    Prepared,
    /// Misses whose tables changed after what is known to be visible: answered, not stored.
    Unsettled,
    /// Look-ups that were not made because a level's proof was missing.
    NotProven,
    /// Transactions that were answered from memory from their beginning to their end.
    Transactions,
    /// Transactions that were rolled back because what they had read from memory was not proven true in the server's read view.
    SnapshotConflicts,
    /// Answers from memory that may have been stale, as query rules allow.
    Bargains,
    /// Reads that were carried on a connection with those of other sessions.
    Carried,
    /// Connections that sessions have given up.
    GivenUp,
    /// SELECTs that were sent again after the loss of a connection, as query rules allow.
    Repeated,
    /// Statements that waited for the answer to an identical one.
    Coalesced,
    /// Answers that were made from copies of rows.
    Maintained,
    /// Copies of rows that were begun.
    MaintainedLoads,
    /// Comparisons of such answers with the server's.
    MaintainedChecks,
    /// Comparisons that found a difference.
    MaintainedDifferences,
    /// Bytes of commands that went to the server.
    BytesSent,
    /// Bytes of the server's answers that were sent to clients.
    BytesReceived,
    /// Bytes of answers from memory, where statements are counted by digest.
    BytesServed,
}

const COUNTS: usize = Count::BytesServed as usize + 1;

/// The counters of sessions, besides those of the cache. Each event loop writes cache lines of its own.
#[derive(Debug, Default)]
pub(crate) struct Counters(Striped<COUNTS>);

impl Counters {
    pub(crate) fn add(&self, count: Count) {
        self.0.add(count as usize);
    }

    pub(crate) fn add_many(&self, count: Count, many: usize) {
        self.0.add_many(count as usize, many as u64);
    }

    pub(crate) fn sum(&self, count: Count) -> u64 {
        self.0.sum(count as usize)
    }
}

/// Adds one to a counter that changes seldom.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
