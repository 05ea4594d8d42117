//! How the statements of one template execute: how fast they are, and whether their answers are large. This decides which of them share
//! a connection with others.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use freshet_cache::once_in;
use freshet_upstream::now_ms;

/// A template whose statements take longer than this, in microseconds, shares no connection.
const QUICK_US_MAX: u32 = 2_000;
/// How long a template shares no connection after a large answer, or after repeated slow statements, in milliseconds.
const UNFIT_MS: u64 = 10_000;
/// How long a template shares no connection after one slow statement, in milliseconds: a server, or the machine, stands still now and then.
/// Each further slow statement makes the time four times as long, until none was slow for `FORGIVEN_AFTER_MS`, in milliseconds.
const UNFIT_ONCE_MS: u64 = 100;
const FORGIVEN_AFTER_MS: u64 = 60_000;
/// A statement that takes this long, in microseconds, is slow. Others of its template may be slow for `SLOW_MS`, in milliseconds.
const SLOW_US_MIN: u32 = 10_000;
const SLOW_MS: u64 = 60_000;
/// For how long statements may be slow after one was held up, by another or by itself, in milliseconds.
const SLOW_AFTER_HELD_UP_MS: u64 = 10_000;
/// Carried statements that take longer than this on average, in microseconds, hold up those that are carried with them, though the quickest
/// of them is quick: some find their rows in memory, and others wait for a disk.
const MEAN_US_MAX: u32 = 5_000;
/// One time in so many goes into the mean, and is this part of the new mean. No time counts as more than [`MEAN_SAMPLE_US_MAX`], so that the
/// machine may stand still now and then.
const MEAN_ONCE_IN: u32 = 4;
const MEAN_PART: u32 = 8;
const MEAN_SAMPLE_US_MAX: u32 = 4 * MEAN_US_MAX;
/// How much of a time above the best one is believed: one part in this many, of one time in so many. If a server is overloaded, most times
/// show waiting: only one in dozens shows the statement's own time. All threads read the best time, so it is seldom written.
const DRIFT: u32 = 8;
const DRIFTS_ONCE_IN: u32 = 8;

/// The measured facts of a template's statements.
#[derive(Debug)]
pub(crate) struct ExecutionProfile {
    /// The best recent time, in microseconds; other statements and clients only ever add to a time.
    best_us: AtomicU32,
    /// The best recent time of carried statements, in microseconds: carried statements add nothing to each other's times.
    best_carried_us: AtomicU32,
    /// The mean time of carried statements, in microseconds.
    mean_carried_us: AtomicU32,
    /// Until when the template is not tried again, in monotonic milliseconds.
    unfit_until_ms: AtomicU64,
    /// Until when the statements may be slow, in monotonic milliseconds.
    slow_until_ms: AtomicU64,
    /// Until when the answers may be too large to be stored, in monotonic milliseconds.
    large_until_ms: AtomicU64,
    /// How often a carried statement was slow recently, and when the last one was, in monotonic milliseconds.
    stalls: AtomicU32,
    stalled_ms: AtomicU64,
}

impl Default for ExecutionProfile {
    fn default() -> Self {
        Self {
            best_us: AtomicU32::new(u32::MAX),
            best_carried_us: AtomicU32::new(QUICK_US_MAX / 2),
            mean_carried_us: AtomicU32::new(0),
            unfit_until_ms: AtomicU64::new(0),
            slow_until_ms: AtomicU64::new(0),
            large_until_ms: AtomicU64::new(0),
            stalls: AtomicU32::new(0),
            stalled_ms: AtomicU64::new(0),
        }
    }
}

impl ExecutionProfile {
    /// Notes that the server took this long for a statement.
    pub(crate) fn took(&self, time: Duration) {
        self.took_us(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    /// Notes the time in microseconds.
    pub(crate) fn took_us(&self, us: u32) {
        believe(&self.best_us, us);
        if us >= SLOW_US_MIN {
            self.slow_until_ms.store(now_ms() + SLOW_MS, Ordering::Relaxed);
        }
    }

    /// Notes the time of a carried statement. The load on other connections may have made the template look quicker than it is. `patience`: by
    /// how many times a statement may take longer, because of all statements that are with the server.
    pub(crate) fn carried(&self, time: Duration, patience: u32) {
        self.took(time);
        let us = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let best_us = believe(&self.best_carried_us, us);
        if best_us > QUICK_US_MAX {
            self.best_carried_us.store(QUICK_US_MAX / 2, Ordering::Relaxed);
            self.note_unfit(now_ms());
        }
        if once_in(MEAN_ONCE_IN) {
            self.note_mean(us / patience.max(1));
        }
    }

    fn note_mean(&self, us: u32) {
        let before = self.mean_carried_us.load(Ordering::Relaxed);
        let mean = before - before / MEAN_PART + us.min(MEAN_SAMPLE_US_MAX) / MEAN_PART;
        let is_slow = mean > MEAN_US_MAX;
        // A value that another thread has written meanwhile is lost, which is harmless.
        self.mean_carried_us.store(if is_slow { 0 } else { mean }, Ordering::Relaxed);
        if is_slow {
            self.note_unfit(now_ms());
        }
    }

    /// Notes that a statement was held up on a lane.
    pub(crate) fn note_held_up(&self, now_ms: u64) {
        self.slow_until_ms.fetch_max(now_ms + SLOW_AFTER_HELD_UP_MS, Ordering::Relaxed);
    }

    /// Whether a statement may take long: nothing is known, or one was slow recently.
    pub(crate) fn may_be_slow(&self, now_ms: u64) -> bool {
        !self.is_quick() || now_ms < self.slow_until_ms.load(Ordering::Relaxed)
    }

    /// Notes that an answer was too large to be stored.
    pub(crate) fn note_large(&self, now_ms: u64) {
        self.large_until_ms.store(now_ms + SLOW_MS, Ordering::Relaxed);
    }

    /// Whether an answer was too large recently: nobody waits for an answer that only one session gets.
    pub(crate) fn is_large(&self, now_ms: u64) -> bool {
        now_ms < self.large_until_ms.load(Ordering::Relaxed)
    }

    /// Notes a slow statement that others waited behind.
    pub(crate) fn stalls(&self, now_ms: u64) {
        let before = self.stalled_ms.swap(now_ms, Ordering::Relaxed);
        let is_forgiven = before == 0 || now_ms.saturating_sub(before) >= FORGIVEN_AFTER_MS;
        let stalls = if is_forgiven { 0 } else { self.stalls.load(Ordering::Relaxed).saturating_add(1) };
        self.stalls.store(stalls, Ordering::Relaxed);
        let unfit_ms = (UNFIT_ONCE_MS << (2 * stalls.min(8))).min(UNFIT_MS);
        self.unfit_until_ms.fetch_max(now_ms + unfit_ms, Ordering::Relaxed);
    }

    /// Notes that an answer was large, or many statements were slow.
    pub(crate) fn note_unfit(&self, now_ms: u64) {
        self.unfit_until_ms.store(now_ms + UNFIT_MS, Ordering::Relaxed);
    }

    /// Whether the statements are known to be quick.
    pub(crate) fn is_quick(&self) -> bool {
        self.best_us.load(Ordering::Relaxed) <= QUICK_US_MAX
    }

    /// Whether the statements may turn out to be quick: nothing is known, or none was slow because of itself.
    pub(crate) fn may_be_quick(&self) -> bool {
        let best_us = self.best_us.load(Ordering::Relaxed);
        best_us < SLOW_US_MIN || best_us == u32::MAX
    }

    /// Whether the best recent time is less than this many microseconds.
    pub(crate) fn takes_less_than(&self, us: u32) -> bool {
        self.best_us.load(Ordering::Relaxed) < us
    }

    /// Whether no statement was slow, or had a large answer, recently.
    pub(crate) fn is_fit(&self, now_ms: u64) -> bool {
        now_ms >= self.unfit_until_ms.load(Ordering::Relaxed)
    }
}

/// Returns the best recent time to believe, after a statement that has taken this long.
fn believe(best_us: &AtomicU32, us: u32) -> u32 {
    let (us, best) = (us.min(u32::MAX - 1), best_us.load(Ordering::Relaxed));
    if us == best || us > best && !once_in(DRIFTS_ONCE_IN) {
        return best;
    }
    let believed = if best == u32::MAX { us } else { us.min(best.saturating_add(best / DRIFT + 1)) };
    // A value that another thread has written meanwhile is lost, which is harmless.
    best_us.store(believed, Ordering::Relaxed);
    believed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slow_among_those_that_it_is_carried_with_is_carried_no_more() {
        let profile = ExecutionProfile::default();
        profile.took_us(300);
        profile.carried(Duration::from_millis(3), 1);
        assert!(profile.is_fit(now_ms()), "one may have waited for the machine");
        (0..20).for_each(|_| {
            profile.carried(Duration::from_millis(3), 1);
            profile.carried(Duration::from_micros(500), 1);
        });
        assert!(profile.is_fit(now_ms()), "its best is quick");
        (0..200).for_each(|_| {
            profile.carried(Duration::from_millis(3), 1);
            profile.took_us(300);
        });
        assert!(profile.is_quick() && !profile.is_fit(now_ms()), "though it looks quick elsewhere");
    }

    #[test]
    fn what_is_slow_on_average_is_carried_no_more_though_some_are_quick() {
        let profile = ExecutionProfile::default();
        profile.took_us(100);
        let carries = |slow_ms, patience| {
            for _ in 0..400 {
                profile.carried(Duration::from_micros(100), patience);
                profile.carried(Duration::from_millis(slow_ms), patience);
            }
        };
        carries(2, 1);
        assert!(profile.is_fit(now_ms()), "1 ms on average");
        profile.carried(Duration::from_secs(1), 1);
        assert!(profile.is_fit(now_ms()), "the machine stood still");
        carries(4, 2);
        assert!(profile.is_fit(now_ms()), "the server has twice as much to do");
        carries(16, 1);
        assert!(profile.is_quick() && !profile.is_fit(now_ms()), "8 ms on average");
    }

    #[test]
    fn those_that_were_held_up_may_be_slow_for_a_while() {
        let profile = ExecutionProfile::default();
        profile.took_us(100);
        assert!(!profile.may_be_slow(1_000));
        profile.note_held_up(1_000);
        assert!(profile.may_be_slow(1_000) && profile.may_be_slow(10_999) && !profile.may_be_slow(11_000));
    }

    #[test]
    fn what_is_seen_once_is_quick_and_what_is_slow_for_long_is_not() {
        let profile = ExecutionProfile::default();
        assert!(!profile.is_quick(), "nothing is known");
        profile.took(Duration::from_micros(300));
        assert!(profile.is_quick());
        profile.took(Duration::from_secs(3));
        assert!(profile.is_quick(), "it may have waited for others");
        (0..200).for_each(|_| profile.took(Duration::from_secs(3)));
        assert!(!profile.is_quick());
        profile.took(Duration::from_micros(200));
        assert!(profile.is_quick());
    }

    #[test]
    fn one_that_is_unfit_is_tried_again_later() {
        let profile = ExecutionProfile::default();
        profile.took(Duration::from_micros(300));
        profile.note_unfit(5);
        assert!(!profile.is_fit(5) && profile.is_fit(5 + UNFIT_MS));
    }

    #[test]
    fn who_stalls_once_is_soon_fit_again_and_who_does_so_often_is_not() {
        let profile = ExecutionProfile::default();
        profile.stalls(1_000);
        assert!(!profile.is_fit(1_099) && profile.is_fit(1_100));
        profile.stalls(2_000);
        assert!(!profile.is_fit(2_399) && profile.is_fit(2_400));
        (0..6).for_each(|_| profile.stalls(3_000));
        assert!(!profile.is_fit(12_999) && profile.is_fit(13_000));
        profile.stalls(73_000);
        assert!(profile.is_fit(73_100));
    }
}
