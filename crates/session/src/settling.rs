//! Whether a wait until a read view settles, and a question what it shows, are worth their time.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use freshet_cache::once_in;
use freshet_follow::Upstream;
use tokio::time::{Instant, timeout_at};

/// If waits are not worth their time, one in this many is tried, to notice when they are.
const TRIED_ONE_IN: u64 = 16;

/// One in this many of the reads still to come is expected to be from memory.
const READS_PER_HIT: u64 = 2;

/// Looks at once, and again whenever more is settled, until something is found or this time is over. A look that finds nothing asks for
/// what it needs.
pub(crate) async fn found_within<T>(
    upstream: &Upstream,
    wait_max: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let deadline = Instant::now() + wait_max;
    loop {
        // Listens before the look: nothing in between is missed.
        let mut told = pin!(upstream.settling_told());
        told.as_mut().enable();
        let found = look();
        if found.is_some() {
            return found;
        }
        timeout_at(deadline, told).await.ok()?;
    }
}

/// How long waits and answers of the server have taken recently.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    waits: MeanTime,
    answers: MeanTime,
    refused: AtomicU64,
    /// Questions what a read view shows were found to be useless: answers are long, or a MySQL without GTIDs has none.
    pub(crate) is_asked_in_vain: AtomicBool,
}

/// A mean in which the last time that counts is an eighth, in microseconds. The first time counts, and one in [`MeanTime::COUNTS_ONCE_IN`]
/// of the others: all threads read the mean. Of times at the same moment one may be lost, which does no harm.
#[derive(Debug, Default)]
struct MeanTime(AtomicU64);

impl MeanTime {
    const COUNTS_ONCE_IN: u32 = 4;

    fn us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, time: Duration) {
        let before = self.us();
        if before != 0 && !once_in(Self::COUNTS_ONCE_IN) {
            return;
        }
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).min(1 << 32);
        let mean = (7 * before + us) / 8;
        if mean != before {
            self.0.store(mean, Ordering::Relaxed);
        }
    }
}

impl Settling {
    /// Notes that the server has taken this long for an answer.
    pub(crate) fn has_answered(&self, time: Duration) {
        self.answers.add(time);
    }

    /// Notes a wait of this length, in vain or not.
    pub(crate) fn has_settled(&self, time: Duration) {
        self.waits.add(time);
    }

    /// Whether a wait is worth its time, with this many reads still to come.
    pub(crate) fn is_worth(&self, reads_left: u32) -> bool {
        let saved_us = u64::from(reads_left) * self.answers.us() / READS_PER_HIT;
        self.waits.us() <= saved_us
            || self.refused.fetch_add(1, Ordering::Relaxed).is_multiple_of(TRIED_ONE_IN)
    }
}
