//! New forms of statements. The analysis of a form costs more than passing its statement on, and only pays for forms that come
//! again. If very many forms are new at once, they are invented. Then a form is analysed when it comes for the second time.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many new forms a second are analysed at first sight. The start of a large application stays below.
const AT_ONCE_MAX: u32 = 1000;
/// How many seen forms are remembered. A forgotten one counts as new again.
const SEEN: usize = 1 << 14;

/// The forms that were seen recently, and how many are new in this second.
#[derive(Debug)]
pub(crate) struct Newcomers {
    second: AtomicU64,
    count: AtomicU32,
    /// Hashes of forms, each at the place that the hash gives.
    seen: Box<[AtomicU64]>,
}

impl Default for Newcomers {
    fn default() -> Self {
        Self {
            second: AtomicU64::new(0),
            count: AtomicU32::new(0),
            seen: (0..SEEN).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Newcomers {
    /// Whether a form with this hash, which is unknown, is to be analysed now. `now_ms` is a clock's milliseconds.
    ///
    /// All that can go wrong between threads is that a form is analysed a little earlier or later.
    pub(crate) fn admits(&self, hash: u128, now_ms: u64) -> bool {
        // The upper half; the lower one has chosen the shard.
        let hash = (hash >> 64) as u64;
        let place = &self.seen[hash as usize % SEEN];
        let is_seen = place.swap(hash, Ordering::Relaxed) == hash;
        if self.second.swap(now_ms / 1000, Ordering::Relaxed) != now_ms / 1000 {
            self.count.store(0, Ordering::Relaxed);
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        is_seen || count < AT_ONCE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_a_form_is_admitted_the_second_time() {
        let newcomers = Newcomers::default();
        let hash = |number: u32| u128::from(number) << 64 | 7;
        for number in 0..AT_ONCE_MAX {
            assert!(newcomers.admits(hash(number), 5_000), "{number}");
        }
        assert!(!newcomers.admits(hash(AT_ONCE_MAX), 5_900));
        assert!(newcomers.admits(hash(AT_ONCE_MAX), 5_901));
        assert!(!newcomers.admits(hash(AT_ONCE_MAX + 1), 5_902));
        // Another second.
        assert!(newcomers.admits(hash(AT_ONCE_MAX + 2), 6_000));
    }
}
