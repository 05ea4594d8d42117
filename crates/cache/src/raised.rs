//! The numbers of the fences that stand.
//!
//! Each raising takes the next number, and keeps it until it is lifted. Only two numbers are ever asked for, the latest
//! that was given out and the least that still stands, and hits ask for the second; so both are published, and the set
//! itself is behind a lock that only writers take, for one insertion or removal in a tree of what is under way now.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What [`Raised::oldest`] is when nothing stands.
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
    /// Takes the next number. It is published before this returns, hence before a write whose fence it is is sent.
    pub(crate) fn raise(&self) -> u64 {
        let mut standing = self.standing();
        let number = self.last.load(Ordering::Relaxed) + 1;
        standing.insert(number);
        // In this order, so that who finds the number given out finds it standing too, or lifted.
        self.publish_oldest(&standing);
        self.last.store(number, Ordering::SeqCst);
        number
    }

    /// Gives a number back, after `applied` has passed the write. The lock orders all that lifted before: who finds, by
    /// the Release in here, that nothing older stands sees the stamps that every one of them has seen.
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

    /// A poisoned set is used all the same: nothing in here panics half-way.
    fn standing(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
