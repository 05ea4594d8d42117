//! The commands that have come to the server recently, and are not answered yet.

/// The length of a period, in milliseconds. A command counts in the period in which it begins, and in the next one.
const PERIOD_MS: u64 = 512;

/// The commands under way that have begun in this period, or in the one before.
#[derive(Debug, Default)]
pub(super) struct Recent {
    period: u64,
    now: usize,
    before: usize,
}

impl Recent {
    /// Notes that a command begins. Returns its period. `now_ms` is in monotonic milliseconds; a moment of an earlier period than the present
    /// one counts as now.
    pub(super) fn begins(&mut self, now_ms: u64) -> u64 {
        self.pass(now_ms);
        self.now += 1;
        self.period
    }

    /// Notes that a command of this period has ended.
    pub(super) fn ends(&mut self, period: u64) {
        if period == self.period {
            self.now -= 1;
        } else if period + 1 == self.period {
            self.before -= 1;
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&mut self, now_ms: u64) -> usize {
        self.pass(now_ms);
        self.now + self.before
    }

    fn pass(&mut self, now_ms: u64) {
        let period = now_ms / PERIOD_MS;
        if period > self.period {
            self.before = if period == self.period + 1 { self.now } else { 0 };
            (self.period, self.now) = (period, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PERIOD_MS, Recent};

    #[test]
    fn what_has_been_under_way_for_long_does_not_count() {
        let mut recent = Recent::default();
        let first: Vec<u64> = (0..3).map(|_| recent.begins(5 * PERIOD_MS)).collect();
        assert_eq!(recent.count(6 * PERIOD_MS - 1), 3);
        recent.ends(first[0]);
        let second = recent.begins(6 * PERIOD_MS);
        assert_eq!(recent.count(6 * PERIOD_MS), 3);
        recent.ends(first[1]);
        assert_eq!(recent.count(6 * PERIOD_MS), 2);
        assert_eq!(recent.count(7 * PERIOD_MS), 1, "one of two has been there for long");
        recent.ends(first[2]);
        assert_eq!(recent.count(7 * PERIOD_MS), 1);
        recent.ends(second);
        assert_eq!(recent.count(7 * PERIOD_MS), 0);
        let late = recent.begins(7 * PERIOD_MS);
        assert_eq!(recent.count(9 * PERIOD_MS), 0, "a whole period has passed");
        recent.ends(late);
        assert_eq!(recent.count(9 * PERIOD_MS), 0);
    }
}
