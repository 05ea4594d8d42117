//! The clock of counters, as calendar time.

use std::time::{SystemTime, UNIX_EPOCH};

use freshet_upstream::now_ms;

/// The relation between the clock of counters and seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    now_ms: u64,
    now_s: u64,
}

impl Clock {
    pub(super) fn now() -> Self {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { now_ms: now_ms(), now_s }
    }

    pub(super) fn at(self, ms: u64) -> u64 {
        self.now_s.saturating_sub(self.now_ms.saturating_sub(ms) / 1000)
    }
}
