//! The counts of statements that went to the server, by digest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::by_thread::{ByThread, DigestCount};

/// What a statement cost that went to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// When it was answered, in monotonic milliseconds.
    pub(crate) ended_ms: u64,
    pub(crate) time: Duration,
    pub(crate) affected: u64,
    pub(crate) rows: u64,
}

const COUNTS: usize = DigestCount::Needless as usize + 1;
pub(super) type Forwarded = ByThread<COUNTS>;

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
    /// Adds a number to a count.
    pub(super) fn add(&self, place: usize, of: DigestCount, many: u64) {
        if let Some(counts) = self.own(place) {
            counts[of as usize].fetch_add(many, Ordering::Relaxed);
        }
    }

    /// Counts a statement.
    pub(super) fn count(&self, place: usize, cost: Cost) {
        let Some(counts) = self.own(place) else { return };
        let of = |of: DigestCount| &counts[of as usize];
        let time_us = u64::try_from(cost.time.as_micros()).unwrap_or(u64::MAX);
        of(DigestCount::Count).fetch_add(1, Ordering::Relaxed);
        if of(DigestCount::FirstMs).load(Ordering::Relaxed) == 0 {
            of(DigestCount::FirstMs).store(cost.ended_ms, Ordering::Relaxed);
        }
        of(DigestCount::LastMs).store(cost.ended_ms, Ordering::Relaxed);
        of(DigestCount::SumUs).fetch_add(time_us, Ordering::Relaxed);
        of(DigestCount::LeastUs).fetch_max(u64::MAX - time_us, Ordering::Relaxed);
        of(DigestCount::MostUs).fetch_max(time_us, Ordering::Relaxed);
        of(DigestCount::Affected).fetch_add(cost.affected, Ordering::Relaxed);
        of(DigestCount::Rows).fetch_add(cost.rows, Ordering::Relaxed);
    }

    /// Counts from 0 again. What is counted at the same moment may be lost. When a statement was seen last stays known: what was not seen
    /// for the longest time makes room for others.
    pub(super) fn begin_anew(&self, place: usize) {
        for counts in self.each(place) {
            for (at, count) in counts.iter().enumerate() {
                if at != DigestCount::LastMs as usize {
                    count.store(0, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns what was counted of a digest, if a statement was.
    pub(super) fn total(&self, place: usize) -> Option<SentTotal> {
        let loaded = |counts: &[AtomicU64; COUNTS]| counts.each_ref().map(|it| it.load(Ordering::Relaxed));
        let [count, first_ms, last_ms, sum_us, least_us, most_us, affected, rows, ..] =
            self.each(place).map(loaded).reduce(both)?;
        // A statement may be half counted.
        let times_us = (sum_us, (u64::MAX - least_us).min(most_us), most_us);
        let seen_ms = (first_ms, last_ms);
        (count > 0).then_some(SentTotal { count, seen_ms, times_us, affected, rows })
    }
}

/// Returns what two threads have counted. A thread that begins to count has not noted the time yet.
fn both(one: [u64; COUNTS], other: [u64; COUNTS]) -> [u64; COUNTS] {
    const MOST: [usize; 3] =
        [DigestCount::LastMs as usize, DigestCount::LeastUs as usize, DigestCount::MostUs as usize];
    std::array::from_fn(|at| match (one[at], other[at]) {
        (0, only) | (only, 0) => only,
        (one, other) if at == DigestCount::FirstMs as usize => one.min(other),
        (one, other) if MOST.contains(&at) => one.max(other),
        (one, other) => one + other,
    })
}
