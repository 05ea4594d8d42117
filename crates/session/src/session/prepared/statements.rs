//! The prepared statements of one server connection, by the client's numbers: the server's numbers, or
//! Freshet's own.

use std::num::NonZeroU32;
use std::sync::Arc;

use ahash::HashMap;
use freshet_protocol::Command;

use super::Prepared;
use super::stock::Stock;

/// How many prepared statements of one session are noted: the default of the server's
/// `max_prepared_stmt_count` for all sessions together. A statement that is not noted may do anything.
const PREPARED_MAX: usize = 16_382;

/// How many bytes of texts of SELECTs are kept for one session. The answers of SELECTs without room are not stored
/// in memory.
const SELECTS_BYTES_MAX: usize = 4 << 20;

/// The number with which MariaDB's clients name the statement prepared last.
pub(crate) const LAST_PREPARED: u32 = u32::MAX;

/// The first number for statements that are prepared from memory; numbers go up to twice this value. A client that reads a number with a
/// sign still reads them right. A server counts from 1 for each connection. MariaDB's numbers do not come so far; MySQL's may.
const HERE_MIN: u32 = 1 << 30;

/// How many of one session's statements may be unknown to the server.
const UNMADE_MAX: usize = 256;

/// All statements of one connection.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    by_id: HashMap<u32, Arc<Prepared>>,
    last: Option<Arc<Prepared>>,
    /// The server's numbers of statements that the client has closed, and that the server still has.
    closed: Vec<u32>,
    /// How many bytes all SELECTs have.
    select_bytes: usize,
    /// How many of the statements the server has not prepared.
    unmade: usize,
    /// How many statements were prepared from memory so far.
    prepared_here: u32,
    /// The server has prepared some of those, under numbers that no client knows.
    any_made: bool,
    /// The largest number that the server has given.
    server_id_max: u32,
    /// The client has numbers from another connection: numbers of this connection are none for it.
    are_numbered_here: bool,
    /// There were more statements than are noted.
    is_full: bool,
    /// Statements on the connection that belong to no session.
    stock: Stock,
}

impl PreparedStatements {
    /// Adds a statement that was prepared.
    pub(crate) fn add(&mut self, prepared: Prepared) -> Arc<Prepared> {
        let bytes = self.select_bytes + prepared.select_bytes();
        let prepared =
            Arc::new(if bytes > SELECTS_BYTES_MAX { prepared.with_select(None) } else { prepared });
        self.server_id_max = self.server_id_max.max(prepared.server_id().unwrap_or(0));
        self.unmade += usize::from(prepared.server_id().is_none());
        self.last = Some(Arc::clone(&prepared));
        self.any_made |= prepared.server_id().is_some_and(|id| id != prepared.id);
        if self.by_id.len() < PREPARED_MAX {
            self.select_bytes += prepared.select_bytes();
            self.by_id.insert(prepared.id, Arc::clone(&prepared));
        } else {
            self.is_full = true;
        }
        prepared
    }

    /// Returns the statements of a session that is reset: none. Numbers that were given before are not given again.
    pub(crate) fn begun_anew(&self) -> Self {
        let Self { prepared_here, are_numbered_here, .. } = *self;
        Self { prepared_here, are_numbered_here, ..Self::default() }
    }

    /// Returns a number for a statement that is prepared from memory, if there is room for one with a text of this length.
    pub(crate) fn next_here(&mut self, text_bytes: usize) -> Option<u32> {
        let has_room = self.by_id.len() < PREPARED_MAX
            && self.unmade < UNMADE_MAX
            && self.select_bytes + text_bytes <= SELECTS_BYTES_MAX
            && self.server_id_max < HERE_MIN;
        has_room.then(|| self.number())
    }

    /// Returns the client's number for the statement that the server prepares next; `None` if the server's number is used.
    pub(crate) fn next_numbered_here(&mut self) -> Option<NonZeroU32> {
        if self.are_numbered_here { NonZeroU32::new(self.number()) } else { None }
    }

    /// Returns a number of Freshet's that no statement has.
    fn number(&mut self) -> u32 {
        loop {
            self.prepared_here = self.prepared_here.wrapping_add(1) % HERE_MIN;
            let id = HERE_MIN + self.prepared_here;
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Whether another connection, in the session's environment with this version, could replace the one on which the statements
    /// are prepared.
    pub(crate) fn could_be_made_elsewhere(&self, environment: u32, version: u64) -> bool {
        let could = |prepared: &Arc<Prepared>| prepared.could_be_made_elsewhere(environment, version);
        !self.is_full && self.by_id.values().chain(&self.last).all(could)
    }

    /// Returns the statements for a session that gives its connection up in this environment (no connection has prepared them), and the
    /// rest that stays there.
    pub(crate) fn unmade_elsewhere(mut self, environment: u32) -> (Self, Self) {
        let mut left = Self {
            server_id_max: self.server_id_max,
            closed: std::mem::take(&mut self.closed),
            stock: std::mem::take(&mut self.stock),
            ..Self::default()
        };
        for prepared in self.by_id.values().chain(&self.last) {
            if let Some(id) = prepared.server_id()
                && !left.stock.put(environment, prepared, id)
            {
                left.closed.push(id);
            }
            prepared.is_unmade();
        }
        let mine = Self {
            unmade: self.by_id.len(),
            are_numbered_here: self.are_numbered_here || left.server_id_max > 0,
            any_made: false,
            server_id_max: 0,
            ..self
        };
        (mine, left)
    }

    /// Returns the statements for another connection, on which `left` remains of earlier sessions.
    pub(crate) fn on(self, left: Self) -> Self {
        let any_made = left.server_id_max > 0;
        Self { server_id_max: left.server_id_max, closed: left.closed, stock: left.stock, any_made, ..self }
    }

    /// Takes a statement of no session that is equivalent to this one out of the stock. Returns its number at the server.
    pub(crate) fn take_from_stock(&mut self, prepared: &Prepared) -> Option<u32> {
        self.stock.take(prepared)
    }

    /// Closes the statements of no session: the server may now prepare their texts differently.
    pub(crate) fn drop_stock(&mut self) {
        self.closed.extend(self.stock.drain());
    }

    pub(crate) fn has_stock(&self) -> bool {
        !self.stock.is_empty()
    }

    /// Whether the server's next number may equal the number of a statement that was prepared from memory.
    pub(crate) fn may_collide(&self) -> bool {
        self.server_id_max >= HERE_MIN - 1 && self.by_id.keys().any(|id| *id >= HERE_MIN)
    }

    /// Returns the statements that the server has not prepared, in the order in which they came.
    pub(crate) fn unmade(&self) -> Vec<Arc<Prepared>> {
        let is_unmade = |prepared: &&Arc<Prepared>| prepared.server_id().is_none();
        let mut unmade: Vec<_> = self.by_id.values().filter(is_unmade).cloned().collect();
        unmade.sort_unstable_by_key(|prepared| prepared.id);
        unmade
    }

    pub(crate) fn has_unmade(&self) -> bool {
        self.unmade > 0
    }

    /// Notes that the server has prepared this statement, under this number. If the client has closed it meanwhile, it is closed there too.
    pub(crate) fn make(&mut self, prepared: &Prepared, id: u32) {
        prepared.note_made(id);
        self.any_made = true;
        self.server_id_max = self.server_id_max.max(id);
        if self.by_id.contains_key(&prepared.id) {
            self.unmade -= 1;
        } else {
            self.closed.push(id);
        }
    }

    /// Notes that the server has prepared another text in the place of this one, under this number.
    pub(crate) fn make_again(&mut self, prepared: &Prepared, id: u32) {
        prepared.note_made(id);
        self.any_made = true;
        self.server_id_max = self.server_id_max.max(id);
    }

    /// Notes statements that were prepared for other sessions while the connection was lent: the server still has them.
    pub(crate) fn were_lent(&mut self, ids: &[u32]) {
        self.any_made |= !ids.is_empty();
        self.server_id_max = ids.iter().copied().fold(self.server_id_max, u32::max);
        self.closed.extend(ids);
    }

    /// Whether the server would take this number, which no statement of the client's has, for a statement on this connection.
    pub(crate) fn is_given_here(&self, id: u32) -> bool {
        let is_it = |prepared: &Arc<Prepared>| prepared.server_id() == Some(id);
        let is_made = || id == LAST_PREPARED || self.by_id.values().any(is_it);
        self.stock.has(id) || self.any_made && is_made()
    }

    /// Notes that the session's environment is the same as before, and has this version now.
    pub(crate) fn begin_at(&self, version: u64) {
        self.by_id.values().for_each(|prepared| prepared.prepared_in.begins_at(version));
    }

    /// Notes that the client has closed the statements that have these numbers at the server, or does not know them: the server is told
    /// before the next command.
    pub(crate) fn note_closed(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.closed.extend(ids);
    }

    /// Returns the numbers of the closed statements that the server is told of now. All but `kept`, of whose last answer the client may
    /// still ask.
    pub(crate) fn take_closed(&mut self, kept: Option<u32>) -> Vec<u32> {
        let (kept, closed) = std::mem::take(&mut self.closed).into_iter().partition(|id| Some(*id) == kept);
        self.closed = kept;
        closed
    }

    /// Whether the server still has statements that are closed.
    pub(crate) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Notes that the client tried to prepare a statement, and failed.
    pub(crate) fn failed(&mut self) {
        self.last = None;
    }

    /// Whether this statement belongs to this connection.
    pub(crate) fn is_one(&self, prepared: &Arc<Prepared>) -> bool {
        self.by_id.get(&prepared.id).is_some_and(|it| Arc::ptr_eq(it, prepared))
    }

    /// Whether the client has a statement with this number.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Returns the statement that a client names by this number, if it is noted.
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

    /// Removes a closed statement.
    pub(crate) fn remove(&mut self, id: u32) {
        let id = self.get(id).map_or(id, |prepared| prepared.id);
        if let Some(prepared) = self.by_id.remove(&id) {
            self.select_bytes -= prepared.select_bytes();
            self.unmade -= usize::from(prepared.server_id().is_none());
        }
        self.last = self.last.take().filter(|last| last.id != id);
    }
}
