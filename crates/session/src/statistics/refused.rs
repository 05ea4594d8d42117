//! How often answers of one digest were not stored, and why.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::why::{self, Refusal, Why};

/// The longest detail of a refusal that is kept, in characters.
const ABOUT_CHARS_MAX: usize = 256;

/// The refusals of one digest.
#[derive(Debug)]
pub(super) struct Refused {
    counts: [AtomicU32; why::COUNT],
    last: Mutex<Option<Refusal>>,
}

impl Default for Refused {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU32::new(0)), last: Mutex::default() }
    }
}

impl Refused {
    pub(super) fn add(&self, refusal: &Refusal) {
        self.counts[refusal.why as usize].fetch_add(1, Ordering::Relaxed);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(refusal) {
            let about: String = refusal.about.chars().take(ABOUT_CHARS_MAX).collect();
            *last = Some(Refusal::about(refusal.why, about));
        }
    }

    /// Notes that the last answer was stored.
    pub(super) fn is_over(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Resets the counts.
    pub(super) fn begin_anew(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.is_over();
    }

    /// Returns why the last answer was not stored, if it was not.
    pub(super) fn last(&self) -> Option<Refusal> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how often each reason occurred; the most frequent first.
    pub(super) fn counts(&self) -> Vec<(Why, u32)> {
        let mut counts: Vec<(Why, u32)> = (0..why::COUNT)
            .filter_map(|at| Some((Why::numbered(at)?, self.counts[at].load(Ordering::Relaxed))))
            .filter(|(_, count)| *count > 0)
            .collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}
