//! The monotonic clock by which liveness is told.

use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// Returns milliseconds of a clock that never goes back and is the same for all threads of this process. It starts at 1, so that 0 can
/// mean "never". This is the clock of `Freshness::lives_until` and `Freshness::is_live`.
#[must_use]
pub fn now_ms() -> u64 {
    let elapsed = START.get_or_init(Instant::now).elapsed();
    // `as_millis` would divide a number of 128 bits.
    elapsed.as_secs() * 1000 + u64::from(elapsed.subsec_millis()) + 1
}
