//! What the client may ask about its last statement, as far as the server would say otherwise: because Freshet answered the statement, or
//! because the connection on which the statement ran is given up.

use std::sync::Arc;

use freshet_protocol::Command;

use super::found_rows::{Filled, FoundRows};
use super::prepared::Prepared;
use crate::warnings::Warnings;

/// How many bytes the buffer for the last statement keeps between two statements.
const HIT_BYTES_KEPT: usize = 16 * 1024;

/// What a client has prepared since the last answer from memory, or since the last command that the server has carried out.
#[derive(Debug)]
pub(super) enum PreparedSince {
    /// By the server, with this packet.
    ThereBy(Box<[u8]>),
    /// From memory.
    Here(Arc<Prepared>),
}

/// The last statement of a session.
#[derive(Debug, Default)]
pub(crate) struct LastStatement {
    /// The warnings of a statement that Freshet answered itself.
    pub(crate) warnings: Warnings,
    /// The statement of the last answer from memory, while no other statement has reached the server since; otherwise empty.
    hit: Vec<u8>,
    /// The session has opened its connection since.
    is_before_connection: bool,
    /// If set, `hit` is the packet of an execution of this statement, and no text.
    hit_of: Option<Arc<Prepared>>,
    /// The value of `FOUND_ROWS()` for the client.
    found: FoundRows,
    /// What the client has prepared since.
    prepared_since: Option<PreparedSince>,
    /// The last statement has left this row count and no warnings, and the server does not know: Freshet answered a statement that ends a
    /// transaction or marks a place in it, or the connection on which the last statement ran is given up.
    row_count: Option<u32>,
    /// The last command since then is a ping, or has the same effects.
    pinged: bool,
}

impl LastStatement {
    /// Notes that `statement` was answered from memory, with the number of rows that it found, if that is known.
    pub(super) fn note_hit(&mut self, statement: &[u8], found_rows: Option<u32>) {
        if self.hit.capacity() > HIT_BYTES_KEPT {
            self.hit = Vec::new();
        }
        self.hit.clear();
        self.hit.extend_from_slice(statement);
        self.hit_of = None;
        self.is_before_connection = false;
        self.found.hit(found_rows);
        self.prepared_since = None;
        self.row_count = None;
        self.pinged = false;
        self.warnings.clear();
    }

    /// Notes that the session has a new connection, which knows nothing of what was answered before.
    pub(super) fn note_connection_opened(&mut self) {
        self.is_before_connection = true;
    }

    /// Whether the last statement was answered from memory before the session had its connection.
    pub(super) fn is_before_connection(&self) -> bool {
        self.is_before_connection && self.is_from_memory()
    }

    /// Notes that the statement that was just answered from memory is an execution of this one.
    pub(crate) fn note_execution_of(&mut self, prepared: &Arc<Prepared>) {
        self.hit[1..5].copy_from_slice(&prepared.id.to_le_bytes());
        self.hit_of = Some(Arc::clone(prepared));
    }

    /// Notes what the last statement has left on a connection that is to be given up. `alike`: a statement that finds as many rows. After
    /// a result there is no `row_count`.
    pub(super) fn note_left_behind(&mut self, alike: String, found_rows: u32, row_count: Option<u32>) {
        self.forget();
        self.hit = alike.into_bytes();
        self.found.hit(Some(found_rows));
        self.row_count = row_count;
    }

    /// Notes that Freshet answered a statement that leaves no counts and no warnings.
    pub(super) fn note_nothing_left(&mut self) {
        self.warnings.clear();
        self.row_count = Some(0);
    }

    /// Notes that Freshet answered a ping, or a command with the same effects.
    pub(crate) fn note_ping(&mut self) {
        self.pinged = true;
    }

    /// Notes that this statement was prepared from memory.
    pub(super) fn note_prepared_here(&mut self, prepared: Arc<Prepared>) {
        self.warnings.clear();
        self.prepared_since = Some(PreparedSince::Here(prepared));
    }

    /// Notes that the server was sent a preparation. From now on the client can ask for the preparation's warnings or error, and no longer
    /// for the warnings of the last answer from memory; the counts of that answer stay.
    pub(super) fn note_prepared_there(&mut self, payload: &[u8]) {
        if self.is_from_memory() {
            self.prepared_since = Some(PreparedSince::ThereBy(payload.into()));
        }
    }

    /// Notes that the server is sent a command. `asks_back`: it asks about the statement before it. `moves`: it may change the session's
    /// environment.
    pub(super) fn note_followed_by(&mut self, command: Command, asks_back: bool, moves: bool) {
        // After these commands, the client can still ask for nearly all facts of the answer. A preparation even keeps the row counts.
        let keeps = matches!(command, Command::Ping | Command::StmtReset | Command::StmtPrepare);
        if !keeps {
            // The command leaves counts of its own, and a repetition now would replace them.
            self.row_count = None;
        }
        if !keeps || asks_back {
            self.prepared_since = None;
            self.found.pass(moves);
        }
        if matches!(command, Command::Ping | Command::StmtReset) {
            self.pinged = true;
        } else {
            self.pinged &= keeps;
            self.warnings.clear();
        }
    }

    /// Notes that the last command was refused before any row was read. The found rows are still those of the statement before it.
    pub(super) fn note_refused(&mut self) {
        self.row_count = None;
        self.prepared_since = None;
        self.pinged = false;
        self.found.pass(false);
    }

    /// Notes that the session has moved to another schema.
    pub(super) fn note_moved(&mut self) {
        self.found.moves();
    }

    /// Notes that the server has what the last statement has left.
    pub(super) fn forget(&mut self) {
        self.hit.clear();
        self.hit_of = None;
        self.found.forget();
        self.prepared_since = None;
        self.row_count = None;
    }

    /// Whether the client may still ask about an answer from memory, which need not be the last statement any more.
    pub(super) fn has_hit(&self) -> bool {
        !self.hit.is_empty()
    }

    /// Whether the last statement was answered from memory.
    pub(super) fn is_from_memory(&self) -> bool {
        self.has_hit() && !self.found.is_past()
    }

    /// Whether the server does not have the counts of the last statement.
    pub(super) fn is_only_here(&self) -> bool {
        self.is_from_memory() || self.row_count.is_some()
    }

    /// Whether the client may still ask for the found rows of an answer from memory that is not the last statement any more.
    pub(super) fn may_be_asked_for_rows(&self) -> bool {
        self.found.is_past() && (self.found.rows.is_some() || self.has_hit())
    }

    /// Returns the text of the last answer's statement, or the packet of its execution.
    pub(super) fn hit(&self) -> &[u8] {
        &self.hit
    }

    /// Takes the packet of the last answer's execution.
    pub(super) fn take_hit(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.hit)
    }

    /// Returns the prepared statement whose execution was answered from memory last.
    pub(super) fn hit_of(&self) -> Option<&Arc<Prepared>> {
        self.hit_of.as_ref()
    }

    /// Returns the server's number of that statement.
    pub(super) fn executed_id(&self) -> Option<u32> {
        self.hit_of.as_ref().and_then(|prepared| prepared.server_id())
    }

    /// Returns the value of `FOUND_ROWS()` for the client.
    pub(super) fn found(&self) -> &FoundRows {
        &self.found
    }

    /// Notes which answer was stored last, if it is remembered.
    pub(super) fn note_filled(&mut self, filled: Option<Filled>) {
        self.found.filled = filled;
    }

    /// Takes the answer that was stored last.
    pub(super) fn take_filled(&mut self) -> Option<Filled> {
        self.found.filled.take()
    }

    /// Takes what the client has prepared since.
    pub(super) fn take_prepared(&mut self) -> Option<PreparedSince> {
        self.prepared_since.take()
    }

    /// Returns the row count of the last statement, if the server does not know that count.
    pub(crate) fn row_count(&self) -> Option<u32> {
        self.row_count
    }

    /// Returns that row count, and notes that the server knows it.
    pub(super) fn take_row_count(&mut self) -> Option<u32> {
        self.row_count.take()
    }

    /// Whether the last command was a ping, or had the same effects.
    pub(super) fn was_pinged(&self) -> bool {
        self.pinged
    }
}

#[cfg(test)]
mod tests;
