//! Counts by digest. Each thread counts on cache lines of its own: the statements of an application have few digests, so all threads would
//! write the same lines for each statement.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use freshet_cache::{STRIPES, stripe};
use zerocopy::FromZeros;

/// How many places there are for digests. The first belongs to no digest: its counts are not shown.
pub(super) const PLACES: usize = 1 << PLACE_BITS;
pub(super) const PLACE_BITS: u32 = 13;

/// What is counted of a digest. Everything begins at 0, so that memory is taken only for the digests that are seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum DigestCount {
    Count,
    FirstMs,
    LastMs,
    SumUs,
    /// The least time, as its distance from the greatest number.
    LeastUs,
    MostUs,
    Affected,
    Rows,
    Stored,
    /// How many answers were stored anew after a change, and how many of these were the same.
    Refilled,
    Needless,
}

/// The counts of all digests: the first ones of [`DigestCount`]. Those of a stripe of threads are made when its first thread counts.
#[derive(Debug)]
pub(super) struct ByThread<const COUNTS: usize>(Box<[OnceLock<Box<[Counts<COUNTS>]>>]>);

type Counts<const COUNTS: usize> = [AtomicU64; COUNTS];

impl<const COUNTS: usize> Default for ByThread<COUNTS> {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| OnceLock::new()).collect())
    }
}

impl<const COUNTS: usize> ByThread<COUNTS> {
    /// Returns the counts of this thread; `None` if the system has no memory for them.
    #[inline]
    pub(super) fn own(&self, place: usize) -> Option<&Counts<COUNTS>> {
        let counts = &self.0[stripe()];
        if counts.get().is_none() {
            // Another thread of the stripe may have been earlier.
            let _ = counts.set(<[Counts<COUNTS>]>::new_box_zeroed_with_elems(PLACES).ok()?);
        }
        counts.get()?.get(place)
    }

    /// Returns the counts of each thread that counts.
    pub(super) fn each(&self, place: usize) -> impl Iterator<Item = &Counts<COUNTS>> {
        self.0.iter().filter_map(OnceLock::get).filter_map(move |counts| counts.get(place))
    }

    fn values(&self, place: usize, of: DigestCount) -> impl Iterator<Item = u64> {
        self.each(place).map(move |counts| counts[of as usize].load(Ordering::Relaxed))
    }

    /// Returns the sum of all threads' counts.
    pub(super) fn sum(&self, place: usize, of: DigestCount) -> u64 {
        self.values(place, of).sum()
    }

    /// Returns when a statement was seen last.
    pub(super) fn last_ms(&self, place: usize) -> u64 {
        self.values(place, DigestCount::LastMs).max().unwrap_or(0)
    }
}
