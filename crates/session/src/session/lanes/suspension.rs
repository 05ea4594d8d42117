//! When transactions may rely on lanes.
//!
//! A transaction that relies on lanes opens its read view late, or never. If a read cannot be carried after all, the transaction needs the
//! read view, and the served results must be proven in it. If rows are written as often as they are read, the proof fails too often. One
//! session alone would learn that slowly, and only for itself.

use std::cell::Cell;

/// For how long transactions do not rely on lanes after a conflict, in milliseconds: at first, and at most. Each further conflict soon
/// after doubles the time.
const SUSPENDED_MS_MIN: u64 = 1_000;
const SUSPENDED_MS_MAX: u64 = 60_000;

/// The suspension of one thread.
#[derive(Debug, Default)]
pub(super) struct Suspension {
    until_ms: Cell<u64>,
    for_ms: Cell<u64>,
}

impl Suspension {
    /// Whether transactions do not rely on lanes now; `now_ms` is in monotonic milliseconds.
    pub(super) fn is_on(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms.get()
    }

    /// Notes that the served results of a transaction that relied on lanes were not true in its read view.
    pub(super) fn note_conflict(&self, now_ms: u64) {
        if self.is_on(now_ms) {
            return; // It began before.
        }
        let (until, before) = (self.until_ms.get(), self.for_ms.get());
        let is_soon = before > 0 && now_ms - until < before;
        let suspended = if is_soon { (2 * before).min(SUSPENDED_MS_MAX) } else { SUSPENDED_MS_MIN };
        self.for_ms.set(suspended);
        self.until_ms.set(now_ms + suspended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_the_longer_the_sooner_the_next_conflict_comes() {
        let suspension = Suspension::default();
        assert!(!suspension.is_on(5));
        suspension.note_conflict(5);
        assert!(suspension.is_on(1_004) && !suspension.is_on(1_005));
        suspension.note_conflict(700);
        assert!(!suspension.is_on(1_005), "that transaction had begun before");
        suspension.note_conflict(1_500);
        assert!(suspension.is_on(3_499) && !suspension.is_on(3_500));
        suspension.note_conflict(9_000);
        assert!(suspension.is_on(9_999) && !suspension.is_on(10_000), "there was none for long");
        (0..20).for_each(|_| suspension.note_conflict(suspension.until_ms.get()));
        assert_eq!(suspension.for_ms.get(), SUSPENDED_MS_MAX);
    }
}
