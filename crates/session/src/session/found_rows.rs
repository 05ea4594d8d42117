//! What Freshet knows of `FOUND_ROWS()` in a session; `found.rs` has the rules.

use freshet_cache::Position;

/// What Freshet knows of `FOUND_ROWS()` in a session.
#[derive(Debug, Default)]
pub(crate) struct FoundRows {
    /// The number for the client, if it is known and the server may have another.
    pub(super) rows: Option<u32>,
    /// The number's answer from memory is not the last statement any more: row counts and warnings are the server's.
    pub(super) is_past: bool,
    /// Since then the session has moved to another schema, or its settings have changed.
    pub(super) is_elsewhere: bool,
    /// The answer that was stored last.
    pub(super) filled: Option<Filled>,
}

/// An answer that was stored, before the client asked for its number of rows.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) environment: u32,
    pub(super) text: Box<[u8]>,
    pub(super) valid_from: Position,
    /// How many commands the server had been sent when the answer was complete.
    pub(super) sent: u64,
}

impl FoundRows {
    /// Notes an answer from memory with this number, if it is known.
    pub(super) fn hit(&mut self, rows: Option<u32>) {
        *self = Self { rows, ..Self::default() };
    }

    /// Notes that the last statement is now one of the client's that may ask about the statement before it.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Notes that another statement is the last one now. `moves`: the statement may change the session's environment.
    pub(super) fn pass(&mut self, moves: bool) {
        self.is_past = true;
        self.is_elsewhere |= moves;
    }

    /// Notes that the session has moved to another schema.
    pub(super) fn moves(&mut self) {
        self.is_elsewhere = true;
    }

    /// Whether the server has the row count and the warnings of the client's last statement.
    pub(super) fn is_past(&self) -> bool {
        self.is_past
    }
}
