//! How many results are read before they leave, of those that are stored when they are first asked for.
//!
//! Storing a result takes a few microseconds. Where next to no result is read again, it is better to save them, and results that are read
//! again keep their place. So the share of read results is followed for each tag. Where fewer than one in [`SELDOM`] is read, a result is
//! stored when it is asked for a second time. One in [`TRIED`] is still stored the first time, so that a change of the share shows.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// The number of places. Tags beyond this number share a place.
const PLACES: usize = 1 << 12;
/// It does not pay to store results if fewer than one in this many are read.
const SELDOM: u16 = 16;
/// One result in this many is tried all the same; a power of two.
const TRIED: u64 = 16;
/// Each new value moves a share by one in two to the power of this many of the distance to it: a share rests on some hundreds of results.
const INERTIA_LOG2: u32 = 8;
/// Where there is room for all results, a share has to be low for this long, in milliseconds: a client may fill the cache first and read
/// then.
const LOW_FOR_MS: u64 = 30_000;

/// What is known of the results of one tag.
#[derive(Default)]
struct Yield {
    /// The share of results that are not read: 0 at first, so that nothing is written before it is needed.
    unread: AtomicU16,
    /// Since when the share of read results is low, in steps of [`Yields::STEP_MS`]; 0 if it is not low.
    low_since: AtomicU32,
}

pub(crate) struct Yields(Box<[Yield]>);

impl Default for Yields {
    fn default() -> Self {
        Self((0..PLACES).map(|_| Yield::default()).collect())
    }
}

impl Yields {
    const STEP_MS: u64 = 16;

    fn of(&self, tag: u16) -> &Yield {
        &self.0[usize::from(tag) % PLACES]
    }

    /// Notes whether a result of this tag was read. A sample that another thread notes at the same moment may be lost: it is one of many.
    pub(crate) fn note(&self, Sample { tag, was_read }: Sample) {
        let unread = &self.of(tag).unread;
        let before = unread.load(Ordering::Relaxed);
        let after = if was_read {
            before - (before >> INERTIA_LOG2)
        } else {
            before + ((u16::MAX - before) >> INERTIA_LOG2)
        };
        if after != before {
            unread.store(after, Ordering::Relaxed);
        }
    }

    /// Whether results of this tag are worth storing each time. `is_full`: others have to leave for them.
    pub(crate) fn pay(&self, tag: u16, is_full: impl FnOnce() -> bool, now_ms: impl FnOnce() -> u64) -> bool {
        let Yield { unread, low_since } = self.of(tag);
        let since = low_since.load(Ordering::Relaxed);
        if u16::MAX - unread.load(Ordering::Relaxed) >= u16::MAX / SELDOM {
            if since != 0 {
                low_since.store(0, Ordering::Relaxed);
            }
            return true;
        }
        let now = u32::try_from(now_ms() / Self::STEP_MS).unwrap_or(u32::MAX).max(1);
        if since == 0 {
            low_since.store(now, Ordering::Relaxed);
        }
        !is_full() && (since == 0 || u64::from(now.saturating_sub(since)) * Self::STEP_MS < LOW_FOR_MS)
    }
}

/// Whether a result is one of those that are tried. Uses bits that choose neither shard nor place in a ghost.
pub(crate) const fn is_tried(hash: u64) -> bool {
    (hash >> 52).is_multiple_of(TRIED)
}

/// Whether a result was read before it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) tag: u16,
    pub(crate) was_read: bool,
}
