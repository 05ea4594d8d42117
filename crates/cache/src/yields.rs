//! What becomes of results that are stored at the first time they are asked for: how many of them are read before they leave.
//!
//! Storing a result takes a few microseconds; where next to none is read again, they are better saved, and what is read again keeps its
//! place. So this is followed for each tag, which is what a result is a result of: where fewer than one in [`SELDOM`] is read, a result
//! is stored when its like is asked for a second time. One in [`TRIED`] is stored at the first time as before, so that a change shows.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// How many tags are told apart; others share a place.
const PLACES: usize = 1 << 12;
/// It does not pay to store results of which fewer than one in this many are read.
const SELDOM: u16 = 16;
/// One result in this many is tried all the same; a power of two.
const TRIED: u64 = 16;
/// A share moves by one in two to the power of this many of the distance to each new value: it is of some hundreds of results.
const INERTIA_LOG2: u32 = 8;
/// Where there is room for all, a share has to be low for this long: somebody may fill the cache first and read then.
const LOW_FOR_MS: u64 = 30_000;

/// What is known of the results of one tag.
#[derive(Default)]
struct Yield {
    /// How much of the share of those that are read is missing: 0 at first, so that nothing is written before it is needed.
    unread: AtomicU16,
    /// Since when it is low, in steps of [`Yields::STEP_MS`]; 0 if it is not.
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

    /// A result of this tag was read, or was not. What another thread notes at the same moment is lost: it is one of many.
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

    /// Whether results of this tag are worth storing whenever they are asked for. `is_full`: others have to leave for them.
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

/// Whether a result is one of those that are tried; by bits that choose neither shard nor place in a ghost.
pub(crate) const fn is_tried(hash: u64) -> bool {
    (hash >> 52).is_multiple_of(TRIED)
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) tag: u16,
    pub(crate) was_read: bool,
}
