//! The server's number of a session's connection, and the KILLs under way by that number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many sessions have a connection to the server.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Connected {
    /// Returns how many sessions have a connection, and the most that have had one at the same time. `resets`: the most counts from now on.
    pub(crate) fn read(&self, resets: bool) -> (usize, usize) {
        let now = self.now.load(Ordering::Relaxed);
        let most =
            if resets { self.most.swap(now, Ordering::Relaxed) } else { self.most.load(Ordering::Relaxed) };
        (now, most.max(now))
    }

    fn changes(&self, was_connected: bool, is_connected: bool) {
        match (was_connected, is_connected) {
            (false, true) => {
                let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
                self.most.fetch_max(now, Ordering::Relaxed);
            }
            (true, false) => {
                self.now.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// The number of a connection, and how many KILLs are under way by it. Both are in one word, so that a reader sees them as of one moment.
#[derive(Debug, Default)]
pub(super) struct ConnectionSlot {
    /// The number in the lower half, 0 if there is no connection; the count of KILLs in the upper.
    word: AtomicU64,
    connected: Arc<Connected>,
}

/// One KILL.
const AIM: u64 = 1 << 32;
const NUMBER: u64 = AIM - 1;

fn number(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

impl ConnectionSlot {
    pub(super) fn among(connected: &Arc<Connected>) -> Arc<Self> {
        Arc::new(Self { word: AtomicU64::new(0), connected: Arc::clone(connected) })
    }

    pub(super) fn number(&self) -> u32 {
        number(self.word.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, id: u32) {
        let with = |word: u64| Some(word & !NUMBER | u64::from(id));
        let before = self.word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, with);
        self.connected.changes(before.is_ok_and(|word| number(word) != 0), id != 0);
    }

    /// Takes the number away. Returns false, and changes nothing, while somebody is about to kill by it.
    pub(super) fn take(&self) -> bool {
        let without = |word: u64| (word < AIM || number(word) == 0).then_some(word & !NUMBER);
        let before = self.word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, without);
        before.inspect(|word| self.connected.changes(number(*word) != 0, false)).is_ok()
    }

    /// Notes that somebody is about to kill by the number. Returns the number.
    pub(super) fn aim(&self) -> u32 {
        number(self.word.fetch_add(AIM, Ordering::SeqCst))
    }

    /// Whether somebody is about to kill by the number.
    pub(super) fn is_aimed_at(&self) -> bool {
        self.word.load(Ordering::SeqCst) >= AIM
    }

    pub(super) fn aims_no_more(&self) {
        self.word.fetch_sub(AIM, Ordering::SeqCst);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.set(0);
    }
}
