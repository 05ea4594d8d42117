//! The server connection that serves a session. The lease has all facts of that connection, and of the client only the numbers that the
//! client knows its prepared statements by: the statements themselves move with them from connection to connection.
//!
//! A session has the environment, the transaction and the settings that its client believes in (`session/state.rs`). The reports that the
//! connection was asked for, the statements that ran on it, and the numbers that the server gave out on it belong to the connection: a
//! session that is served by another connection starts with the facts of that one.
//!
//! Only the methods of [`Lease`] change these facts: each is named for what has happened. Each row of this table is one transition. "New"
//! means as after a login.
//!
//! | what has happened | method | what changes |
//! |---|---|---|
//! | the client has logged in | [`Lease::of`] | all is new |
//! | COM_CHANGE_USER has logged the client in again | [`Lease::note_login_replaced`] | all is new; numbers of statements are not given again |
//! | a connection was opened for a session that had none | [`Lease::note_opened`] | all is new but the statements |
//! | COM_RESET_CONNECTION has succeeded | [`Lease::note_reset`] | all is new but what a reset keeps; there are no statements |
//! | a reset has undone what `init_connect` did on a connection that was just opened | [`Lease::note_beginning_undone`] | the same, but the statements stay |
//! | the connection was lost, with nothing on it that the client misses | [`Lease::note_broken`] | there is none, and no statement |
//! | the session gives the connection up | [`Lease::note_given_up`] | there is none; the statements are to be made anew |
//! | another session's connection is taken over | [`Lease::note_taken_over`] | the facts are that connection's; the statements stay |
//! | the client has left, or logs in anew; or nobody waits for the connection | [`Lease::take`] | where it is |
//! | the connection becomes a lane, or comes back from being one | [`Lease::lend_as`], [`Lease::give_back`] | where it is; what the lane has done there |
//! | the session is over, and nothing may be asked any more | [`Lease::lose`] | where it is |
//! | the server was met: its greeting is read | [`Lease::note_met`] | the server's modes, the time of the opening |
//! | a write with a command of the client's or of Freshet's, and statements before it | [`Lease::note_sends`] | it is not untouched; the time of the last use; the counts |
//! | a statement of Freshet's own makes the session unlike one that has just begun | [`Lease::note_no_longer_new`] | it is not untouched |
//! | a command of the client's is about to be sent | [`Lease::note_command`] | the traces; whether they can be undone; the id, after LOAD |
//! | such a command was answered | [`Lease::note_ran`] | the same |
//! | such a command was answered | [`Lease::note_diagnostics`] | the diagnostics |
//! | Freshet has passed on the server's refusal to prepare | [`Lease::note_refusal`] | there are diagnostics |
//! | the statement of an answer from memory is repeated | [`Lease::note_diagnostics_replaced`] | there are none of an earlier statement |
//! | the server has shown its `LAST_INSERT_ID()`, or was given it | [`Lease::note_insert_id`] | the id |
//! | the client's `LAST_INSERT_ID()` holds for this connection too | [`Lease::note_id_moves_here`] | a write may have given it |
//! | the client learns what only this connection has | [`Lease::note_tells_of_itself`] | it is not unknown to the client |
//! | Freshet has looked whether the session can do without | [`Lease::note_looked`] | the time of the look |
//! | a command of Freshet's own | [`Lease::note_asks`], [`Lease::note_repeats`], [`Lease::note_makes`], [`Lease::note_prepares`], [`Lease::note_pings`] | the counts of such commands |
//! | FLUSH STATUS | [`Lease::note_status_flushed`] | the same |

mod place;

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use freshet_cache::Position;
use freshet_protocol::{Capabilities, Command};
use freshet_sql::{Effects, Modes, Writes};
use freshet_upstream::lane::Returning;
use freshet_upstream::{Channel, Connection, Error, Rows, now_ms};
use place::ConnectionPlace;

use super::StatementFacts;
use super::begun::words::first_word_is;
use super::prepared::PreparedStatements;
use super::traces::{Traces, is_undone};
use super::tracking::Tracking;
use crate::auth::{Admitted, Leave, LoginBegun};
use crate::environment::modes_of_server;
use crate::relay::{Lost, Own, Relayed, Repeated};

/// A session's hold on a server connection.
#[derive(Debug)]
pub(crate) struct Lease {
    at: ConnectionPlace,
    /// The rights that the connection's login was given are those of this position or of a later one.
    rights_from: Position,
    /// The modes of the server at the other end, by its greeting; known once the connection is set up.
    server: Option<Modes>,
    /// When the connection was opened at the latest, in monotonic milliseconds.
    opened_ms: u64,
    /// When the connection was last used, in monotonic milliseconds.
    used_ms: u64,
    /// When Freshet last checked whether the session can do without the connection, in monotonic milliseconds.
    looked_ms: u64,
    /// The value of `LAST_INSERT_ID()` on the connection, if it is known.
    insert_id: Option<u64>,
    /// No question was sent whose answer differs between connections, such as the connection's number.
    is_unknown_to_client: bool,
    /// How many commands the connection was sent, Freshet's own included.
    sent: u64,
    /// The commands that the client did not ask for.
    own: Own,
    /// The connection may have warnings or an error of an earlier statement that the client can still ask for.
    has_diagnostics: bool,
    /// When the connection's login was made, if the connection has served no other session before.
    begun: Option<LoginBegun>,
    /// The permission to keep the connection for another client when this one has left.
    leave: Option<Leave>,
    /// Since the login, the connection was sent only questions of Freshet's own, which leave no trace.
    untouched: bool,
    /// Nothing has run whose effects would survive a reset and a new login.
    can_be_undone: bool,
    /// What the statements on the connection have left there.
    traces: Traces,
    /// What is known of the server's reports. Not private: the value has private fields, and its transitions have names of their own.
    pub(super) tracking: Tracking,
    /// The prepared statements, by the numbers that the server has given them. Not private, for the same reason. Only the methods of the
    /// lease put other statements in their place.
    pub(crate) prepared: PreparedStatements,
    /// The buffer in which a command is put together before it is sent. Not private: it says nothing about the connection, and only
    /// `session/exchange.rs` uses it.
    pub(super) scratch: BytesMut,
}

impl Default for Lease {
    fn default() -> Self {
        Self::as_new(None)
    }
}

/// The transitions from one connection to another, and to the beginning.
impl Lease {
    /// Makes the lease of a login's connection, if the login took one. All up to `rights_from` was applied before the login was made.
    pub(crate) fn of(admitted: &mut Admitted, rights_from: Position) -> Self {
        Self {
            rights_from,
            begun: admitted.begun.take(),
            leave: admitted.leave.take(),
            ..Self::as_new(admitted.upstream.take())
        }
    }

    pub(super) fn as_new(connection: Option<Connection>) -> Self {
        Self {
            at: ConnectionPlace::of(connection),
            rights_from: Position::ZERO,
            server: None,
            opened_ms: 0,
            used_ms: 0,
            looked_ms: 0,
            insert_id: Some(0),
            is_unknown_to_client: true,
            sent: 0,
            own: Own::default(),
            has_diagnostics: false,
            begun: None,
            leave: None,
            untouched: true,
            can_be_undone: true,
            traces: Traces::default(),
            tracking: Tracking::default(),
            prepared: PreparedStatements::default(),
            scratch: BytesMut::new(),
        }
    }

    /// Notes that the client has logged in again, on this connection or another. The login has what [`Lease::of`] takes.
    pub(super) fn note_login_replaced(&mut self, admitted: &mut Admitted, rights_from: Position) {
        *self = Self { prepared: self.prepared.begun_anew(), ..Self::of(admitted, rights_from) };
    }

    /// Notes that a connection was opened for a session that has none. The login has what [`Lease::of`] takes.
    pub(super) fn note_opened(&mut self, admitted: &mut Admitted, rights_from: Position) {
        *self = Self { prepared: std::mem::take(&mut self.prepared), ..Self::of(admitted, rights_from) };
    }

    /// Notes that COM_RESET_CONNECTION has succeeded. A reset may leave effects that a login would not, and does not run `init_connect`.
    pub(crate) fn note_reset(&mut self) {
        let (prepared, rights_from) = (self.prepared.begun_anew(), self.rights_from);
        // A reset keeps the effects of COM_SET_OPTION, and on MySQL traces of the optimizer and the resource group.
        let (can_be_undone, is_unknown_to_client) = (self.can_be_undone, self.is_unknown_to_client);
        let anew = Self::as_new(self.at.take());
        *self = Self { prepared, rights_from, can_be_undone, is_unknown_to_client, ..anew };
    }

    /// Notes that a reset has undone what `init_connect` did on a connection that was just opened. The session is still not like one that has
    /// just begun, and its prepared statements are still to be made there.
    pub(super) fn note_beginning_undone(&mut self) {
        let prepared = std::mem::take(&mut self.prepared);
        self.note_reset();
        (self.prepared, self.untouched) = (prepared, false);
    }

    /// Notes that the connection was lost, with nothing on it that the client could miss: another one may be opened.
    pub(super) fn note_broken(&mut self) {
        *self = Self { prepared: self.prepared.begun_anew(), ..Self::default() };
    }

    /// Notes that the session gives the connection up, in this environment. The session goes on with the same rights, and with its prepared
    /// statements, until it has another connection. Returns the facts of the connection.
    pub(super) fn note_given_up(&mut self, environment: u32) -> Self {
        let (prepared, left) = std::mem::take(&mut self.prepared).unmade_elsewhere(environment);
        let (rights_from, server) = (self.rights_from, self.server);
        let after = Self { rights_from, server, prepared, ..Self::as_new(None) };
        Self { prepared: left, ..std::mem::replace(self, after) }
    }

    /// Notes that the session takes over the connection that has these facts.
    pub(super) fn note_taken_over(&mut self, mut taken: Self) {
        let left = std::mem::take(&mut taken.prepared);
        taken.prepared = std::mem::take(&mut self.prepared).on(left);
        taken.looked_ms = 0;
        taken.traces.cursor = false;
        *self = taken;
    }
}

/// The transitions of the place.
impl Lease {
    /// Gives the connection up.
    pub(crate) fn take(&mut self) -> Option<Connection> {
        self.at.take()
    }

    /// Marks the connection as lost: the session is over, and nothing may be asked on the connection any more.
    pub(super) fn lose(&mut self) {
        self.at = ConnectionPlace::Lost;
    }

    /// Returns the connection, to be a lane, if nothing is under way on it.
    pub(super) fn take_to_lend(&mut self) -> Option<Connection> {
        if self.heard().is_empty() { self.take() } else { None }
    }

    /// Notes that the connection is a lane now.
    pub(super) fn lend_as(&mut self, returning: Returning) {
        self.at = ConnectionPlace::Lent(returning);
    }

    /// Returns the lane that the connection is.
    pub(super) fn lent(&mut self) -> Option<&mut Returning> {
        if let ConnectionPlace::Lent(lent) = &mut self.at { Some(lent) } else { None }
    }

    /// Takes the connection back; `None` if it was lost.
    pub(super) fn give_back(&mut self, connection: Option<Connection>) {
        let back = connection.map_or(ConnectionPlace::Lost, ConnectionPlace::Here);
        if let ConnectionPlace::Lent(lent) = std::mem::replace(&mut self.at, back) {
            self.sent += lent.carried().commands();
            self.own.carried(lent.carried());
            self.prepared.were_lent(&lent.prepared());
            self.has_diagnostics |= lent.has_diagnostics();
        }
        self.used_ms = now_ms();
    }
}

/// The transitions of one connection.
impl Lease {
    /// Notes that the server's greeting is read. This is later than the opening: a restart of the server since then is not taken for one that
    /// ended the connection.
    pub(super) fn note_met(&mut self) {
        self.server = self.version().map(modes_of_server);
        self.opened_ms = now_ms();
    }

    /// Notes that a command is sent now, and these statements of Freshet's own before it.
    pub(super) fn note_sends(&mut self, before: &[String]) {
        self.untouched = false;
        self.sent += 1;
        self.used_ms = now_ms();
        before.iter().for_each(|sql| self.own.asked(sql));
    }

    /// Notes that statements of Freshet's own make the session on the connection unlike one that has just begun.
    pub(crate) fn note_no_longer_new(&mut self) {
        self.untouched = false;
    }

    /// Notes a command of the client's that is about to be sent.
    pub(super) fn note_command(&mut self, command: Command, effects: &Effects, text: &[u8]) {
        self.can_be_undone &= is_undone(command, effects, text);
        self.traces.sent(command, effects, text);
        if first_word_is(text.trim_ascii_start(), "LOAD") {
            // LOAD gives ids out, and does not report them.
            self.insert_id = None;
        }
    }

    /// Notes the answer to a command of the client's.
    pub(super) fn note_ran(&mut self, effects: &Effects, facts: &StatementFacts, relayed: &Relayed) {
        self.traces.ran(facts, relayed);
        let may_give_ids = effects.writes != Writes::Nothing || !effects.calls.is_nothing();
        let may_have_given =
            relayed.error.is_some() || relayed.tells_id || relayed.rows > 0 || facts.run_code();
        if may_give_ids && may_have_given {
            self.insert_id = None;
        }
        let is_unexplained = relayed.state_changed && !effects.session;
        self.can_be_undone &= !facts.run_code() && !is_unexplained;
    }

    /// Notes the diagnostics that a command of the client's has left. `drops`: those of earlier statements are gone.
    pub(super) fn note_diagnostics(&mut self, drops: bool, relayed: &Relayed) {
        self.has_diagnostics &= !drops;
        self.has_diagnostics |= relayed.warned || relayed.error.is_some();
    }

    /// Notes that the client was shown the server's error for a statement that the server does not prepare, or does not know.
    pub(super) fn note_refusal(&mut self) {
        self.has_diagnostics = true;
    }

    /// Notes that the statement of an answer from memory is carried out next: the diagnostics of the statements before are gone.
    pub(super) fn note_diagnostics_replaced(&mut self) {
        self.has_diagnostics = false;
    }

    /// Notes the value of `LAST_INSERT_ID()` that the server has shown, or was given; `None` if the server has not shown it.
    pub(super) fn note_insert_id(&mut self, id: Option<u64>) {
        self.insert_id = id;
    }

    /// Notes that the client's value of `LAST_INSERT_ID()`, from a write on another connection, is to be the value on this one.
    pub(super) fn note_id_moves_here(&mut self, id: u64) {
        self.traces.writes |= id != 0;
    }

    /// Notes that the client was told, or may be told, what distinguishes this connection from others: the session keeps it from now on.
    pub(crate) fn note_tells_of_itself(&mut self) {
        self.is_unknown_to_client = false;
    }

    /// Notes that Freshet looks now whether the session can do without the connection. The look is later than the last use.
    pub(super) fn note_looked(&mut self) {
        self.looked_ms = now_ms().max(self.used_ms + 1);
    }

    /// Notes a text of Freshet's own.
    pub(super) fn note_asks(&mut self, sql: &str) {
        self.own.asked(sql);
    }

    /// Notes that a SELECT of the client's is repeated.
    pub(super) fn note_repeats(&mut self, what: Repeated) {
        self.own.repeated(what);
    }

    /// Notes that a statement that was prepared from memory is prepared by the server.
    pub(super) fn note_makes(&mut self) {
        self.own.made();
    }

    /// Notes that a statement is prepared once more, and will be closed again.
    pub(super) fn note_prepares(&mut self) {
        self.own.prepared();
    }

    /// Notes a ping.
    pub(super) fn note_pings(&mut self) {
        self.own.pinged();
    }

    /// Notes that FLUSH STATUS has reset the server's counts for the session.
    pub(super) fn note_status_flushed(&mut self) {
        self.own = Own::default();
    }

    /// Takes the permission to keep the connection for another client, when this one has left.
    pub(super) fn take_leave(&mut self) -> Option<Leave> {
        self.leave.take()
    }
}

/// The questions.
impl Lease {
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.at, ConnectionPlace::Nowhere)
    }

    /// Whether the connection was lost while it was lent.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lost)
    }

    /// Whether the connection is open and carries the statements of many sessions.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lent(_))
    }

    /// Whether the connection is open and the server reports the session facts that Freshet needs.
    pub(crate) fn is_ready(&self) -> bool {
        self.at.here().is_some() && self.tracking.is_on()
    }

    /// Returns the server's number of the connection; 0 if there is none.
    pub(crate) fn thread_id(&self) -> u32 {
        self.at.here().map_or(0, Connection::thread_id)
    }

    /// Whether the server's session has nothing but the login, or would have nothing else if it were opened now.
    pub(crate) fn is_new(&self) -> bool {
        (!self.is_open() || self.begun.is_some()) && self.untouched
    }

    /// Returns the server's version, by its greeting.
    pub(crate) fn version(&self) -> Option<&[u8]> {
        self.at.here().map(|connection| connection.greeting().server_version.as_slice())
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.at.here().is_some_and(|connection| connection.channel() == Channel::Tls)
    }

    /// Whether a query is sent with attributes.
    pub(crate) fn has_attributes(&self) -> bool {
        self.capabilities().contains(Capabilities::QUERY_ATTRIBUTES)
    }

    /// Returns the capabilities that were agreed on with the server.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.at.here().map_or(Capabilities::empty(), Connection::capabilities)
    }

    /// Returns the modes of the server, if the server was met.
    pub(super) fn server(&self) -> Option<Modes> {
        self.server
    }

    /// Returns a position: the rights that the login was given are those of this position or of a later one.
    pub(super) fn rights_from(&self) -> Position {
        self.rights_from
    }

    /// Returns when the connection was opened at the latest, in monotonic milliseconds; 0 if the server was not met.
    pub(super) fn opened_ms(&self) -> u64 {
        self.opened_ms
    }

    /// Returns when the connection was last used, in monotonic milliseconds.
    pub(super) fn used_ms(&self) -> u64 {
        self.used_ms
    }

    /// Returns when Freshet last looked whether the session can do without the connection, in monotonic milliseconds.
    pub(super) fn looked_ms(&self) -> u64 {
        self.looked_ms
    }

    /// Returns when the login was made, if nothing has happened on the connection since, and no other session was served before.
    pub(super) fn login_begun(&self) -> Option<LoginBegun> {
        self.begun.filter(|_| self.untouched)
    }

    /// Whether the connection was sent only questions of Freshet's own since the login, which leave no trace.
    pub(super) fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Whether a reset and a new login would undo all that has run.
    pub(super) fn can_be_undone(&self) -> bool {
        self.can_be_undone
    }

    /// Returns what the statements on the connection have left there.
    pub(super) fn traces(&self) -> &Traces {
        &self.traces
    }

    /// Returns the value of `LAST_INSERT_ID()` on the connection, if it is known.
    pub(super) fn insert_id(&self) -> Option<u64> {
        self.insert_id
    }

    /// Whether the client cannot know on which connection its statements run.
    pub(super) fn is_unknown_to_client(&self) -> bool {
        self.is_unknown_to_client
    }

    /// Whether the connection may have warnings or an error of an earlier statement that the client can still ask for.
    pub(super) fn has_diagnostics(&self) -> bool {
        self.has_diagnostics
    }

    /// Returns how many commands the connection was sent, Freshet's own included.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the counts of the commands that the client did not ask for.
    pub(super) fn own(&self) -> Own {
        self.own
    }

    /// Returns the bytes that the server has sent unasked.
    pub(crate) fn heard(&self) -> &[u8] {
        self.at.here().map_or(&[], Connection::heard)
    }
}

/// The talk with the server.
impl Lease {
    /// Returns the connection, for an exchange.
    ///
    /// # Errors
    /// The session has no connection.
    pub(crate) fn connection(&mut self) -> Result<&mut Connection, Lost> {
        self.at.here_mut().ok_or_else(|| Lost::Upstream(std::io::ErrorKind::NotConnected.into()))
    }

    /// Asks a question of Freshet's own. The question leaves its row count and warnings behind.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost or not open.
    pub(crate) async fn ask(&mut self, sql: &str) -> Result<Rows, Error> {
        self.sent += 1;
        self.own.asked(sql);
        match self.at.here_mut() {
            Some(connection) => connection.query(sql).await,
            None => Err(Error::Closed),
        }
    }

    /// Waits until the server says something that nobody asked for, or closes the connection.
    pub(crate) fn poll_unasked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let ConnectionPlace::Lent(lent) = &mut self.at {
            match pin!(lent).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(connection) => self.give_back(connection),
            }
        }
        match &mut self.at {
            ConnectionPlace::Here(connection) => connection.poll_unasked(cx),
            ConnectionPlace::Lost => Poll::Ready(()),
            ConnectionPlace::Nowhere | ConnectionPlace::Lent(_) => Poll::Pending,
        }
    }

    /// Gives the buffers back, if there is nothing in them.
    pub(super) fn trim(&mut self) {
        if let Some(connection) = self.at.here_mut() {
            connection.trim();
        }
        if self.scratch.is_empty() {
            self.scratch = BytesMut::new();
        }
    }

    /// Whether the connection is open, and the server says nothing that nobody asked for.
    pub(super) async fn is_quiet(&mut self) -> bool {
        match self.at.here_mut() {
            Some(connection) => connection.is_quiet().await,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests;
