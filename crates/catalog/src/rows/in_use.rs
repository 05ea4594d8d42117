//! The parts of a watch that are in use, since when, and what they have to wait for.
//!
//! The watch itself, each level of its range and each length of its prefixes come into use in the same way:
//!
//! 1. It is made known to the applier, which stamps, and to the writers, which fence: the watch by being in the registry, a level by its bit in `to_stamp`.
//! 2. A new era of tickets begins. A write with a ticket of the new era has been told of (1), or will be told when it looks.
//! 3. `reached` is read, and nothing older may rest on the watch.
//! 4. Only now the level counts as known, so that nobody skips the steps before they are done.
//!
//! (1) and (3) are one half of a handshake. The applier does the other half: it publishes how far it has reached, and after that looks at
//! what it has to stamp. All four operations are sequentially consistent, so one of the two sees the other: either the applier stamps the
//! level for the event, or the event is not above the position that is read in (3).
//!
//! While a level waits, the watch as a whole counts as not usable. That costs other readers of the same watch a few milliseconds, once
//! for each level.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use freshet_cache::Position;
use freshet_cache::sabotage::{self, Sabotage};

use super::era::{Era, EraWait};

/// The position that the applier has reached: that of the event that it is about to apply.
#[derive(Debug, Default)]
pub(super) struct ReachedPosition(AtomicU64);

impl ReachedPosition {
    /// Publishes the position, before the event is applied and before the applier asks what is to be stamped.
    pub(super) fn publish(&self, at: Position) {
        self.0.store(at.get(), Ordering::SeqCst);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct InUse {
    to_stamp: AtomicU64,
    known: AtomicU64,
    born: AtomicU64,
    /// Written with the lock on `waiting` held.
    is_settled: AtomicBool,
    waiting: Mutex<EraWait>,
}

impl InUse {
    /// Whether all of these parts were brought into use.
    pub(super) fn has(&self, uses: u64) -> bool {
        self.known.load(Ordering::Acquire) & uses == uses
    }

    /// Returns the parts that are to be stamped and fenced.
    pub(super) fn to_stamp(&self) -> u64 {
        self.to_stamp.load(Ordering::SeqCst)
    }

    /// Brings these parts into use.
    pub(super) fn bring(&self, uses: u64, era: &Era, reached: &ReachedPosition) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.to_stamp.fetch_or(uses, Ordering::SeqCst);
        waiting.join(era.turn());
        self.is_settled.store(false, Ordering::Release);
        self.born.fetch_max(reached.read(), Ordering::AcqRel);
        self.known.fetch_or(uses, Ordering::Release);
    }

    /// Whether a result with this `valid_from` may rest on all parts that are known to be in use.
    pub(super) fn is_usable(&self, valid_from: Position) -> bool {
        self.born.load(Ordering::Acquire) <= valid_from.get() && self.is_settled()
    }

    fn is_settled(&self) -> bool {
        if self.is_settled.load(Ordering::Acquire) || sabotage::is(Sabotage::EarlyWatch) {
            return true;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = waiting.is_over();
        self.is_settled.store(is_over, Ordering::Release);
        is_over
    }
}

#[cfg(test)]
mod tests;
