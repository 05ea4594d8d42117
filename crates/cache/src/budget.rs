//! Bytes: what an allocation really takes, and the one budget from which all of them are taken.
//!
//! The bound is strict because all code here keeps one order: **reserve, then allocate; free, then release.** So at no moment, with any
//! number of threads, do the store's allocations exceed the limit. A block counts as allocated when it is taken from its chunk (`arena`
//! bounds the free blocks of chunks).

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns what an allocation of `bytes` takes from the allocator.
///
/// General-purpose allocators (mimalloc, jemalloc, tcmalloc) hand out size classes. This computes with four classes in each doubling
/// above 64 bytes, as mimalloc has them; above 512 KiB, with whole pages of the system, and one page for the header.
pub(crate) const fn allocated(bytes: usize) -> usize {
    const SMALL_MAX: usize = 64;
    const CLASSED_MAX: usize = 512 << 10;
    const PAGE: usize = 4096;
    if bytes == 0 {
        0
    } else if bytes <= SMALL_MAX {
        bytes.next_multiple_of(16)
    } else if bytes <= CLASSED_MAX {
        let doubling = (bytes - 1).ilog2();
        bytes.next_multiple_of(1 << (doubling - 2))
    } else {
        bytes.next_multiple_of(PAGE) + PAGE
    }
}

/// How many bytes may be used, and how many are used.
///
/// Invariant: `used <= limit`. The exception is the time after the limit was lowered, in which [`crate::Cache::trim`] evicts; then `used`
/// does not grow.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: AtomicUsize,
    used: AtomicUsize,
}

impl Budget {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0) }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::SeqCst)
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used() > self.limit()
    }

    /// SeqCst here, in [`Self::reserve`] and in [`Self::is_over`]. One thread lowers the limit and then reads what is used; another adds
    /// to what is used and then reads the limit. At least one of the two sees the other's change. So either the reservation is undone or
    /// a trim evicts for it.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::SeqCst);
    }

    /// Whether `bytes` can be reserved now.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.used().checked_add(bytes).is_some_and(|sum| sum <= self.limit())
    }

    /// Reserves `bytes`. Returns whether the budget had room for them.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit());
        if self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).is_err() {
            return false;
        }
        let keeps = !self.is_over();
        if !keeps {
            self.release(bytes);
        }
        keeps
    }

    /// Gives back reserved bytes, after their memory was freed.
    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
    }
}

/// Reserved bytes that are released when this is dropped. `B` refers to the budget: a charge that lives no longer than a call borrows it,
/// since all threads would write the counter of references.
pub(crate) struct Charge<B: Deref<Target = Budget> = Arc<Budget>> {
    budget: B,
    bytes: usize,
}

impl<B: Deref<Target = Budget>> Charge<B> {
    /// Takes over `bytes` that were reserved from `budget`.
    pub(crate) const fn new(budget: B, bytes: usize) -> Self {
        Self { budget, bytes }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives up the bytes without releasing them: somebody else releases them.
    pub(crate) fn hand_over(mut self) {
        self.bytes = 0;
    }

    /// Splits `bytes` off, or all that are left if these are fewer. `budget` is that of this charge.
    pub(crate) fn split<C: Deref<Target = Budget>>(&mut self, budget: C, bytes: usize) -> Charge<C> {
        debug_assert!(std::ptr::eq(&raw const *budget, &raw const *self.budget), "a charge is of one budget");
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Charge { budget, bytes }
    }
}

impl<B: Deref<Target = Budget>> Drop for Charge<B> {
    fn drop(&mut self) {
        // All threads write the budget, so nothing is released in vain.
        if self.bytes > 0 {
            self.budget.release(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests;
