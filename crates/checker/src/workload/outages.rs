//! The times when the server was away. They explain lost connections, and must be over before an outcome is looked for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::judge::Nanos;

/// How long after the server's return an idle connection may be found dead, in milliseconds.
const NOTICED_MS_MAX: u64 = 10_000;
/// The server is back within this time, in seconds.
const AWAY_SECONDS_MAX: u64 = 180;
const NANOS_OF_MS: u64 = 1_000_000;

/// All outages, of which the last may still go on. A run has about one each minute.
#[derive(Debug, Default)]
pub struct Outages {
    all: Mutex<Vec<Outage>>,
    ended: Condvar,
}

#[derive(Clone, Copy, Debug)]
struct Outage {
    began: Nanos,
    ended: Option<Nanos>,
}

impl Outage {
    /// Whether this outage explains that a connection was used at one moment and found lost at another.
    fn explains(&self, used: Nanos, lost: Nanos) -> bool {
        let over = self.ended.map_or(Nanos::MAX, |ended| ended.saturating_add(NOTICED_MS_MAX * NANOS_OF_MS));
        self.began <= lost && used <= over
    }
}

impl Outages {
    /// Notes the beginning of an outage. It is called before the server is killed.
    pub fn begin(&self, now: Nanos) {
        self.all().push(Outage { began: now, ended: None });
    }

    /// Notes the end of an outage. It is called after the server is back.
    pub fn end(&self, now: Nanos) {
        if let Some(last) = self.all().last_mut() {
            last.ended = Some(now);
        }
        self.ended.notify_all();
    }

    /// Whether an outage explains that a connection used at one moment was found lost at another.
    #[must_use]
    pub fn explain(&self, used: Nanos, lost: Nanos) -> bool {
        self.all().iter().rev().any(|outage| outage.explains(used, lost))
    }

    /// Waits until no outage goes on. A statement that was under way before the outage is over then. Returns false if this takes too long.
    #[must_use]
    pub fn await_end(&self) -> bool {
        let until = Instant::now() + Duration::from_secs(AWAY_SECONDS_MAX);
        let mut all = self.all();
        while all.last().is_some_and(|last| last.ended.is_none()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            all = self.ended.wait_timeout(all, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn all(&self) -> MutexGuard<'_, Vec<Outage>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
