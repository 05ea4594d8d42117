//! Counters that all threads add to, and that are seldom read: each thread writes cache lines of its own.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of pairs of cache lines over which counters are spread. With more threads than this, some threads share a pair.
pub const STRIPES: usize = 32;

/// Two cache lines, because processors fetch them in pairs.
#[repr(align(128))]
struct Stripe<const COUNTS: usize>([AtomicU64; COUNTS]);

/// A number of counters, each named by its place.
pub struct Striped<const COUNTS: usize>([Stripe<COUNTS>; STRIPES]);

impl<const COUNTS: usize> Default for Striped<COUNTS> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Stripe(std::array::from_fn(|_| AtomicU64::new(0)))))
    }
}

impl<const COUNTS: usize> Striped<COUNTS> {
    /// Counts one. A place beyond the last counter is ignored.
    #[inline]
    pub fn add(&self, at: usize) {
        self.add_many(at, 1);
    }

    /// Adds a number to a counter.
    #[inline]
    pub fn add_many(&self, at: usize, count: u64) {
        let stripe = stripe();
        if let Some(counter) = self.0[stripe].0.get(at) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Counts from 0 again. What is counted at the same moment may be lost.
    pub fn begin_anew(&self, at: usize) {
        self.0
            .iter()
            .filter_map(|stripe| stripe.0.get(at))
            .for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// Returns the sum of all threads' counts.
    #[must_use]
    pub fn sum(&self, at: usize) -> u64 {
        self.0
            .iter()
            .filter_map(|stripe| stripe.0.get(at))
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum()
    }
}

impl<const COUNTS: usize> fmt::Debug for Striped<COUNTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..COUNTS).map(|at| self.sum(at))).finish()
    }
}

/// Returns this thread's stripe, below [`STRIPES`].
#[inline]
#[must_use]
pub fn stripe() -> usize {
    STRIPE.with(|stripe| *stripe)
}

/// Each thread takes the next stripe when it first counts.
static NEXT_STRIPE: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    static STRIPE: usize = NEXT_STRIPE.fetch_add(1, Ordering::Relaxed) % STRIPES;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_writes_lines_of_its_own_and_all_are_summed() {
        const THREADS: usize = 8;
        let counters = Striped::<3>::default();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..1000).for_each(|_| counters.add(1)));
            }
        });
        assert_eq!((counters.sum(0), counters.sum(1), counters.sum(3)), (0, 8000, 0));
        let written: Vec<&Stripe<3>> =
            counters.0.iter().filter(|stripe| stripe.0[1].load(Ordering::Relaxed) > 0).collect();
        // Other tests of this process take stripes too, so two of these threads may get the same stripe.
        assert!(written.len() >= THREADS / 2, "{} stripes", written.len());
        let places: Vec<usize> = written.iter().map(|stripe| std::ptr::from_ref(*stripe).addr()).collect();
        assert!(places.iter().all(|place| place % 128 == 0));
        assert!(places.windows(2).all(|two| two[1] - two[0] >= 128));
    }
}
