//! The counts of statements that went to the server, by digest. Each thread counts on cache lines of its own, as for answers from memory:
//! the statements of an application have few digests, so all threads would write the same lines for each miss.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use freshet_cache::{STRIPES, stripe};
use zerocopy::FromZeros;

/// What a statement cost that went to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    pub(crate) affected: u64,
    pub(crate) rows: u64,
}

/// What is counted of a digest. Everything begins at 0, so that memory is taken only for the digests that are seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
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

const COUNTS: usize = Sent::Needless as usize + 1;
type Counts = [AtomicU64; COUNTS];

/// The counts of all digests. Those of a stripe of threads are made when its first thread counts.
#[derive(Debug)]
pub(super) struct Forwarded {
    stripes: Box<[OnceLock<Box<[Counts]>>]>,
    places: usize,
}

/// What all threads have counted of a digest.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentTotal {
    pub(super) count: u64,
    /// When a statement was seen first and last.
    pub(super) seen_ms: (u64, u64),
    /// The sum, the least and the most of their times.
    pub(super) times_us: (u64, u64, u64),
    pub(super) affected: u64,
    pub(super) rows: u64,
}

impl Forwarded {
    pub(super) fn new(places: usize) -> Self {
        Self { stripes: (0..STRIPES).map(|_| OnceLock::new()).collect(), places }
    }

    /// Returns the counts of this thread; `None` if the system has no memory for them.
    fn own(&self, place: usize) -> Option<&Counts> {
        let counts = &self.stripes[stripe()];
        if counts.get().is_none() {
            let made = <[Counts]>::new_box_zeroed_with_elems(self.places).ok()?;
            // Another thread of the stripe may have been earlier.
            let _ = counts.set(made);
        }
        counts.get()?.get(place)
    }

    fn each(&self, place: usize) -> impl Iterator<Item = &Counts> {
        self.stripes.iter().filter_map(OnceLock::get).filter_map(move |counts| counts.get(place))
    }

    fn values(&self, place: usize, of: Sent) -> impl Iterator<Item = u64> {
        self.each(place).map(move |counts| counts[of as usize].load(Ordering::Relaxed))
    }

    /// Returns the sum of all threads' counts.
    pub(super) fn sum(&self, place: usize, of: Sent) -> u64 {
        self.values(place, of).sum()
    }

    fn most(&self, place: usize, of: Sent) -> u64 {
        self.values(place, of).max().unwrap_or(0)
    }

    /// Returns when a statement was seen last.
    pub(super) fn last_ms(&self, place: usize) -> u64 {
        self.most(place, Sent::LastMs)
    }

    /// Adds a number to a count.
    pub(super) fn add(&self, place: usize, of: Sent, many: u64) {
        if let Some(counts) = self.own(place) {
            counts[of as usize].fetch_add(many, Ordering::Relaxed);
        }
    }

    /// Counts a statement.
    pub(super) fn count(&self, place: usize, cost: Cost, now_ms: u64) {
        let Some(counts) = self.own(place) else { return };
        let of = |of: Sent| &counts[of as usize];
        let time_us = u64::try_from(cost.time.as_micros()).unwrap_or(u64::MAX);
        of(Sent::Count).fetch_add(1, Ordering::Relaxed);
        if of(Sent::FirstMs).load(Ordering::Relaxed) == 0 {
            of(Sent::FirstMs).store(now_ms, Ordering::Relaxed);
        }
        of(Sent::LastMs).store(now_ms, Ordering::Relaxed);
        of(Sent::SumUs).fetch_add(time_us, Ordering::Relaxed);
        of(Sent::LeastUs).fetch_max(u64::MAX - time_us, Ordering::Relaxed);
        of(Sent::MostUs).fetch_max(time_us, Ordering::Relaxed);
        of(Sent::Affected).fetch_add(cost.affected, Ordering::Relaxed);
        of(Sent::Rows).fetch_add(cost.rows, Ordering::Relaxed);
    }

    /// Counts from 0 again. What is counted at the same moment may be lost. When a statement was seen last stays known: what was not seen
    /// for the longest time makes room for others.
    pub(super) fn begin_anew(&self, place: usize) {
        for counts in self.each(place) {
            for (at, count) in counts.iter().enumerate() {
                if at != Sent::LastMs as usize {
                    count.store(0, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns what was counted of a digest, if a statement was.
    pub(super) fn total(&self, place: usize) -> Option<SentTotal> {
        let count = self.sum(place, Sent::Count);
        // A thread that begins to count has not noted the time yet.
        let first_ms = self.values(place, Sent::FirstMs).filter(|first_ms| *first_ms > 0).min().unwrap_or(0);
        let most_us = self.most(place, Sent::MostUs);
        // A statement may be half counted.
        let least_us = (u64::MAX - self.most(place, Sent::LeastUs)).min(most_us);
        (count > 0).then(|| SentTotal {
            count,
            seen_ms: (first_ms, self.last_ms(place)),
            times_us: (self.sum(place, Sent::SumUs), least_us, most_us),
            affected: self.sum(place, Sent::Affected),
            rows: self.sum(place, Sent::Rows),
        })
    }
}
