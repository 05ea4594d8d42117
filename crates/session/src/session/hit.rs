//! Answering from memory.

use freshet_cache::{Fences, Key, Lookup};
use freshet_protocol::StatusFlags;
use freshet_upstream::follow::now_ms;

use super::Session;

/// The flags of a stored answer that stay its own; the others are those of the session that reads it.
const ENTRY_FLAGS: StatusFlags = StatusFlags::NO_GOOD_INDEX.union(StatusFlags::NO_INDEX);

/// What the buffer for the last statement keeps of itself, in bytes.
const LAST_HIT_BYTES_KEPT: usize = 16 * 1024;

/// How long the server's connection may lie unused while its client is answered from memory, at most, in
/// milliseconds, before it is pinged so that the server does not take the client for gone.
const KEEPALIVE_MS_MAX: u64 = 60_000;

impl Session {
    /// Answers `text` from memory, if it may be and can be. Nothing is parsed and nothing is allocated on this path.
    pub(crate) fn answer_from_memory(&mut self, text: &[u8], environment: u32) -> bool {
        let status = self.state.status_for_answers();
        let now = now_ms();
        let (out, seq) = self.wire.out();
        let found = self.shared.cache.get(Key { environment, text }, now, Fences::Refuse, |entry| {
            let start = out.len();
            out.reserve(entry.body.len());
            entry.body.clone().for_each(|piece| out.extend_from_slice(piece));
            let own = StatusFlags::from_bits_retain(entry.status) & ENTRY_FLAGS;
            let flags = (own | status).bits().to_le_bytes();
            for at in entry.status_at {
                if let Some(place) = out.get_mut(start + at as usize..).and_then(|rest| rest.get_mut(..2)) {
                    place.copy_from_slice(&flags);
                }
            }
        });
        match found {
            Lookup::Hit(()) => {}
            Lookup::Stale { body } => {
                self.state.stale_body = Some(body);
                return false;
            }
            _ => return false,
        }
        // The client's next command starts the numbering anew.
        *seq = 0;
        self.active(now);
        if self.state.last_hit.capacity() > LAST_HIT_BYTES_KEPT {
            self.state.last_hit = Vec::new();
        }
        self.state.pinged = false;
        self.state.last_hit.clear();
        self.state.last_hit.extend_from_slice(text);
        self.state.warnings.clear();
        true
    }

    /// Whether the server's connection has been unused for so long that it needs a sign of life.
    pub(crate) fn needs_keepalive(&self) -> bool {
        let wait_ms = self.environment().map_or(KEEPALIVE_MS_MAX, |known| known.wait_timeout_s * 1000 / 3);
        self.admitted.upstream.is_some()
            && now_ms().saturating_sub(self.state.upstream_used_ms) > wait_ms.clamp(1, KEEPALIVE_MS_MAX)
    }
}
