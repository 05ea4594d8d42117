//! Whose the applied transactions are: sessions of ours, which have fenced what they wrote, or others.
//!
//! A session of ours is told that its transaction is committed. Whoever else commits is not heard of before the stream brings it. So
//! of a transaction that is applied it is known after a while whether it is *own*. Any other is *foreign*.

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
    /// Every transaction up to `judged` is own, or at or below `foreign`. Release, and in this order: who sees the second sees the
    /// first.
    pub(crate) fn publish(&self, judged: Position, foreign: Position) {
        self.foreign.fetch_max(foreign.get(), Ordering::Release);
        self.judged.fetch_max(judged.get(), Ordering::Release);
    }

    /// Whether all transactions behind `since` and up to `within` are own. `None` while that is not known.
    pub(crate) fn are_own(&self, since: Position, within: Position) -> Option<bool> {
        let is_judged = self.judged.load(Ordering::Acquire) >= within.get();
        is_judged.then(|| self.foreign.load(Ordering::Acquire) <= since.get())
    }
}
