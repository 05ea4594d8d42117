//! Whose the applied transactions are: our sessions', which have fenced their writes, or others'.
//!
//! A session of ours is told when its transaction is committed. Commits of others become known only when the stream brings them. So after
//! a while it is known of each applied transaction whether it is *own*. Any other transaction is *foreign*.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Position;

/// On cache lines of their own.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Owners {
    foreign: AtomicU64,
    judged: AtomicU64,
}

impl Owners {
    /// Publishes that every transaction up to `judged` is own, or at or below `foreign`. Release, and in this order: a thread that sees
    /// the second value sees the first.
    pub(crate) fn publish(&self, judged: Position, foreign: Position) {
        self.foreign.fetch_max(foreign.get(), Ordering::Release);
        self.judged.fetch_max(judged.get(), Ordering::Release);
    }

    /// Whether all transactions after `since` and up to `within` are own. `None` while that is not known.
    pub(crate) fn are_own(&self, since: Position, within: Position) -> Option<bool> {
        let is_judged = self.judged.load(Ordering::Acquire) >= within.get();
        is_judged.then(|| self.foreign.load(Ordering::Acquire) <= since.get())
    }
}
