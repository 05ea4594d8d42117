//! What to do when the server has no more connections: sessions give up those that they do not use, and whoever needs one looks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use freshet_protocol::ErrPacket;
use freshet_upstream::{Error, now_ms};

use crate::registry::Registry;

/// For how long a session looks for a connection if the server has no more.
pub(crate) const FULL_FOR: Duration = Duration::from_secs(10);
/// For how long a login looks for one. The time for logins, 10 s by default, covers all that a login does.
pub(crate) const LOGIN_FULL_FOR: Duration = Duration::from_secs(5);
/// How long apart the looks are: at first, and at most.
const LOOKS_APART: Duration = Duration::from_millis(20);
const LOOKS_APART_MAX: Duration = Duration::from_millis(320);
/// For how long the server counts as full, in milliseconds, after it has refused a connection.
const FULL_FOR_MS: u64 = 2_000;
/// How long apart sessions are asked to give up what they do not use, in milliseconds.
const ASKED_APART_MS: u64 = 20;

/// Whether the server has refused a connection because it has no more.
pub(crate) fn is_refused_as_full(error: &Error) -> bool {
    matches!(error, Error::Server(refusal) if refusal.code == ErrPacket::TOO_MANY_CONNECTIONS)
}

/// Whether the server has connections left, as far as is known.
#[derive(Debug)]
pub(crate) struct FullServer {
    /// The sessions that may give up connections.
    registry: Arc<Registry>,
    /// Whether sessions give up connections at all.
    is_shared: bool,
    /// When the server last had no more, in monotonic milliseconds; 0: never.
    at_ms: AtomicU64,
}

impl FullServer {
    pub(crate) const fn new(registry: Arc<Registry>, is_shared: bool) -> Self {
        Self { registry, is_shared, at_ms: AtomicU64::new(0) }
    }

    /// Notes that the server has no more connections: for a while, all sessions give up connections that they do not use. If many ask at
    /// once, one does it.
    pub(crate) fn note(&self) {
        let now_ms = now_ms();
        let before = self.at_ms.load(Ordering::Relaxed);
        let noted =
            || self.at_ms.compare_exchange(before, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if now_ms.saturating_sub(before) >= ASKED_APART_MS && noted() {
            self.registry.rest(now_ms, 0, true);
        }
    }

    /// Whether the server had no more connections recently.
    pub(crate) fn is_now(&self) -> bool {
        let at_ms = self.at_ms.load(Ordering::Relaxed);
        at_ms != 0 && now_ms().saturating_sub(at_ms) < FULL_FOR_MS
    }

    /// Whether it is worth looking again for a connection.
    pub(crate) const fn may_have_room(&self) -> bool {
        self.is_shared
    }

    /// Whether sessions have connections that they may give up.
    pub(crate) fn can_make_room(&self) -> bool {
        self.is_shared && self.registry.connected().read(false).0 > 0
    }
}

/// The looks for a connection: when the next one is due, and whether there is one.
#[derive(Debug)]
pub(crate) struct Looks {
    began: Instant,
    apart: Duration,
}

impl Looks {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), apart: LOOKS_APART }
    }

    /// Returns how long to wait for the next look; `None` if looks have been made for `most`.
    pub(crate) fn next(&mut self, most: Duration) -> Option<Duration> {
        let apart = self.apart;
        self.apart = (2 * apart).min(LOOKS_APART_MAX);
        (self.began.elapsed() < most).then_some(apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_ever_less_often_until_their_time_is_over() {
        let mut looks = Looks::begin();
        let pauses: Vec<_> =
            (0..6).map_while(|_| looks.next(FULL_FOR)).map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 320]);
        assert_eq!(looks.next(Duration::ZERO), None);
    }

    #[test]
    fn a_server_that_has_refused_a_connection_counts_as_full() {
        let full = FullServer::new(Arc::new(Registry::default()), true);
        assert!(!full.is_now());
        full.note();
        assert!(full.is_now() && full.may_have_room() && !full.can_make_room());
    }
}
