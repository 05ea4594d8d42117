//! The prepared statements of one server connection, by the numbers that the server gave them.

use std::sync::Arc;

use ahash::HashMap;
use freshet_protocol::Command;

use super::Prepared;

/// How many prepared statements of one session are told apart: the default of the server's
/// `max_prepared_stmt_count` for all of them together. One that is not remembered is taken to do anything.
const PREPARED_MAX: usize = 16_382;

/// The texts of SELECTs that are kept of all of them together, in bytes. The answers of those for which there is no room are not kept
/// in memory.
const SELECTS_BYTES_MAX: usize = 4 << 20;

/// The number with which MariaDB's clients name the statement prepared last.
const LAST_PREPARED: u32 = u32::MAX;

/// All of one connection.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    by_id: HashMap<u32, Arc<Prepared>>,
    last: Option<Arc<Prepared>>,
    /// Those that the client has closed, and that the server still has.
    pub(crate) closed: Vec<u32>,
    /// The bytes of all SELECTs among them.
    select_bytes: usize,
}

impl PreparedStatements {
    /// The server has prepared this one.
    pub(crate) fn add(&mut self, prepared: Prepared) {
        let bytes = self.select_bytes + prepared.select_bytes();
        let prepared =
            Arc::new(if bytes > SELECTS_BYTES_MAX { prepared.with_select(None) } else { prepared });
        self.last = Some(Arc::clone(&prepared));
        if self.by_id.len() < PREPARED_MAX {
            self.select_bytes += prepared.select_bytes();
            self.by_id.insert(prepared.id, prepared);
        }
    }

    /// The client tried to prepare one, and failed.
    pub(crate) fn failed(&mut self) {
        self.last = None;
    }

    /// The one that a client names so, if it is remembered.
    pub(crate) fn get(&self, id: u32) -> Option<Arc<Prepared>> {
        if id == LAST_PREPARED { self.last.clone() } else { self.by_id.get(&id).cloned() }
    }

    /// Whether a client's command names a statement that it has closed, and that the server still has.
    pub(crate) fn names_closed(&self, payload: &[u8]) -> bool {
        let [command, id @ ..] = payload else { return false };
        let names = matches!(
            Command::from_byte(*command),
            Command::StmtExecute | Command::StmtBulkExecute | Command::StmtReset | Command::StmtFetch
        );
        let id = id.first_chunk().map(|id| u32::from_le_bytes(*id));
        names && id.is_some_and(|id| self.closed.contains(&id))
    }

    pub(crate) fn are_none(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether values of parameters have been sent that wait for an execution.
    pub(crate) fn have_long_data(&self) -> bool {
        self.by_id.values().chain(&self.last).any(|prepared| prepared.has_long_data())
    }

    /// It is closed.
    pub(crate) fn remove(&mut self, id: u32) {
        let id = self.get(id).map_or(id, |prepared| prepared.id);
        if let Some(prepared) = self.by_id.remove(&id) {
            self.select_bytes -= prepared.select_bytes();
        }
        self.last = self.last.take().filter(|last| last.id != id);
    }
}
