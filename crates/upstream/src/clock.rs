//! The monotonic clock by which liveness is told.

use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// Returns milliseconds of a clock that never goes back and is the same for all threads of this process. It starts at 1, so that 0 can
/// mean "never". This is the clock of `Freshness::lives_until` and `Freshness::is_live`.
#[must_use]
pub fn now_ms() -> u64 {
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX - 1) + 1
}
