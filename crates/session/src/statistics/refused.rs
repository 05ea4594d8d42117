//! How often answers of one digest were not stored, and why.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::RandomState;
use freshet_cache::once_in;

use crate::why::{self, Refusal, Why};

/// The longest detail of a refusal that is kept, in characters.
const ABOUT_CHARS_MAX: usize = 256;

/// How many refusals for one reason are counted one by one. Of the further ones, one in [`STEP`] counts for as many: otherwise each
/// statement that is not stored would write a line that all threads write.
const EXACT: u32 = 1024;
const STEP: u32 = 16;

/// The refusals of one digest.
#[derive(Debug)]
pub(super) struct Refused {
    counts: [AtomicU32; why::COUNT],
    last: Mutex<Option<Refusal>>,
    /// A hash of `last`; 0 for none. Most refusals of a digest are alike, and need not take the lock.
    last_hash: AtomicU64,
}

fn hash_of(refusal: &Refusal) -> u64 {
    RandomState::with_seeds(1, 2, 3, 4).hash_one((refusal.why as u8, &refusal.about)).max(1)
}

impl Default for Refused {
    fn default() -> Self {
        Self {
            counts: std::array::from_fn(|_| AtomicU32::new(0)),
            last: Mutex::default(),
            last_hash: AtomicU64::new(0),
        }
    }
}

impl Refused {
    pub(super) fn add(&self, refusal: &Refusal) {
        let count = &self.counts[refusal.why as usize];
        if count.load(Ordering::Relaxed) < EXACT {
            count.fetch_add(1, Ordering::Relaxed);
        } else if once_in(STEP) {
            count.fetch_add(STEP, Ordering::Relaxed);
        }
        let hash = hash_of(refusal);
        if self.last_hash.load(Ordering::Relaxed) != hash {
            let about: String = refusal.about.chars().take(ABOUT_CHARS_MAX).collect();
            self.note(Some(Refusal::about(refusal.why, about)), hash);
        }
    }

    fn note(&self, refusal: Option<Refusal>, hash: u64) {
        let mut last = self.last();
        self.last_hash.store(hash, Ordering::Relaxed);
        *last = refusal;
    }

    /// Notes that the last answer was stored.
    pub(super) fn is_over(&self) {
        if self.last_hash.load(Ordering::Relaxed) != 0 {
            self.note(None, 0);
        }
    }

    /// Resets the counts.
    pub(super) fn begin_anew(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.is_over();
    }

    /// Returns why the last answer was not stored, if it was not.
    pub(super) fn last_refusal(&self) -> Option<Refusal> {
        self.last().clone()
    }

    fn last(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often each reason occurred, of many refusals about how often; the most frequent first.
    pub(super) fn counts(&self) -> Vec<(Why, u32)> {
        let mut counts: Vec<(Why, u32)> = (0..why::COUNT)
            .filter_map(|at| Some((Why::numbered(at)?, self.counts[at].load(Ordering::Relaxed))))
            .filter(|(_, count)| *count > 0)
            .collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}
