//! The numbers of the fences that stand.
//!
//! Each raising takes the next number, and keeps it until it is lifted. Only two numbers are ever asked for: the last one that was given
//! out, and the least that still stands. Hits ask for the second. So both are published. The set itself is behind a lock that only
//! writers take, for one insertion or removal in a tree of the writes that are under way.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// [`Raised::oldest`] when nothing stands.
const NONE: u64 = u64::MAX;

/// On cache lines of its own: writers write it, and every hit of some sessions reads it.
#[repr(align(128))]
pub(crate) struct Raised {
    last: AtomicU64,
    oldest: AtomicU64,
    standing: Mutex<BTreeSet<u64>>,
}

impl Default for Raised {
    fn default() -> Self {
        Self { last: AtomicU64::new(0), oldest: AtomicU64::new(NONE), standing: Mutex::default() }
    }
}

impl Raised {
    /// Takes the next number. The number is published before this returns, hence before its write is sent.
    pub(crate) fn raise(&self) -> u64 {
        let mut standing = self.standing();
        let number = self.last.load(Ordering::Relaxed) + 1;
        standing.insert(number);
        // In this order, so that a thread that finds the number given out finds it standing, or lifted already.
        self.publish_oldest(&standing);
        self.last.store(number, Ordering::SeqCst);
        number
    }

    /// Gives a number back, after `applied` has passed the write. The lock orders all earlier liftings before this one: a thread that
    /// finds, by the Release in here, that nothing older stands sees the stamps that all lifters have seen.
    pub(crate) fn lift(&self, number: u64) {
        let mut standing = self.standing();
        standing.remove(&number);
        self.publish_oldest(&standing);
    }

    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.oldest.load(Ordering::Acquire)
    }

    fn publish_oldest(&self, standing: &BTreeSet<u64>) {
        self.oldest.store(standing.first().copied().unwrap_or(NONE), Ordering::SeqCst);
    }

    /// Locks the set. A poisoned set is used all the same: nothing in here panics half-way.
    fn standing(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
