//! What is known of `FOUND_ROWS()` in a session; `found.rs` says what becomes of it.

use freshet_cache::Position;

/// What is known of `FOUND_ROWS()` in a session.
#[derive(Debug, Default)]
pub(crate) struct FoundRows {
    /// What it is to the client, where that is known and the server may have another.
    pub(super) rows: Option<u32>,
    /// The answer from memory to which it belongs is not the last statement any more: row counts and warnings are the server's.
    pub(super) is_past: bool,
    /// Since then the session has moved, or its settings have changed.
    pub(super) is_elsewhere: bool,
    /// The answer that was stored last.
    pub(super) filled: Option<Filled>,
}

/// An answer that was stored, of which nothing more is known.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) environment: u32,
    pub(super) text: Box<[u8]>,
    pub(super) valid_from: Position,
    /// What had been sent to the server when it was complete.
    pub(super) sent: u64,
}

impl FoundRows {
    /// Notes an answer from memory with this number, if it is known.
    pub(super) fn hit(&mut self, rows: Option<u32>) {
        *self = Self { rows, ..Self::default() };
    }

    /// A statement of the client's that may ask about the one before it is the last one now.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Another statement is the last one now. `moves`: it may change the session's environment.
    pub(super) fn pass(&mut self, moves: bool) {
        self.is_past = true;
        self.is_elsewhere |= moves;
    }

    /// Whether the server has the row count and the warnings of the client's last statement.
    pub(crate) fn is_past(&self) -> bool {
        self.is_past
    }
}
