//! The server connection that serves a session. The lease has all facts of that connection, and of the client only the numbers that the
//! client knows its prepared statements by: the statements themselves move with them from connection to connection.
//!
//! A session has the environment, the transaction and the settings that its client believes in (`session/state.rs`). The reports that the
//! connection was asked for, the statements that ran on it, and the numbers that the server gave out on it belong to the connection: a
//! session that is served by another connection starts with the facts of that one.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use freshet_cache::Position;
use freshet_protocol::Capabilities;
use freshet_sql::Modes;
use freshet_upstream::lane::Returning;
use freshet_upstream::{Channel, Connection, Error, Rows, now_ms};

use super::prepared::PreparedStatements;
use super::{Traces, Tracking};
use crate::auth::{Admitted, Leave, LoginBegun};
use crate::relay::Lost;
use crate::relay::Own;

/// Where the connection is.
#[derive(Debug)]
enum ConnectionPlace {
    /// The connection is not open: the session has not needed one yet, or has given it up.
    Nowhere,
    Here(Connection),
    /// The connection carries the statements of many sessions meanwhile (`session/lanes.rs`).
    Lent(Returning),
    /// The connection was lost while it was lent. The session's state on it is gone, and no other connection takes its place.
    Lost,
}

impl ConnectionPlace {
    fn of(connection: Option<Connection>) -> Self {
        connection.map_or(Self::Nowhere, Self::Here)
    }

    const fn here(&self) -> Option<&Connection> {
        if let Self::Here(connection) = self { Some(connection) } else { None }
    }

    const fn here_mut(&mut self) -> Option<&mut Connection> {
        if let Self::Here(connection) = self { Some(connection) } else { None }
    }

    fn take(&mut self) -> Option<Connection> {
        match std::mem::replace(self, Self::Nowhere) {
            Self::Here(connection) => Some(connection),
            elsewhere => {
                *self = elsewhere;
                None
            }
        }
    }
}

/// A session's hold on a server connection.
#[derive(Debug)]
pub(crate) struct Lease {
    at: ConnectionPlace,
    /// The rights that the connection's login was given are those of this position or of a later one.
    pub(crate) rights_from: Position,
    /// The modes of the server at the other end, by its greeting; known once the connection is set up.
    pub(crate) server: Option<Modes>,
    /// When the connection was opened at the latest, in monotonic milliseconds.
    pub(crate) opened_ms: u64,
    /// When the connection was last used, in monotonic milliseconds.
    pub(crate) used_ms: u64,
    /// When Freshet last checked whether the session can do without the connection, in monotonic milliseconds.
    pub(super) looked_ms: u64,
    /// The value of `LAST_INSERT_ID()` on the connection, if it is known.
    pub(super) insert_id: Option<u64>,
    /// No question was sent whose answer differs between connections, such as the connection's number.
    pub(super) is_unknown_to_client: bool,
    /// How many commands the connection was sent, Freshet's own included.
    pub(crate) sent: u64,
    /// The commands that the client did not ask for.
    pub(crate) own: Own,
    /// The connection may have warnings or an error of an earlier statement that the client can still ask for.
    pub(crate) has_diagnostics: bool,
    /// When the connection's login was made, if the connection has served no other session before.
    pub(crate) begun: Option<LoginBegun>,
    /// The permission to keep the connection for another client when this one has left.
    pub(crate) leave: Option<Leave>,
    /// Since the login, the connection was sent only questions of Freshet's own, which leave no trace.
    pub(crate) untouched: bool,
    /// Nothing has run whose effects would survive a reset and a new login.
    pub(crate) can_be_undone: bool,
    /// Whether the server reports the session facts that Freshet needs.
    pub(crate) tracking: Tracking,
    /// The client's own settings were put back in an open transaction, without the GTIDs, which MySQL lets nobody set there.
    pub(crate) keeps_gtids: bool,
    /// The server must be asked for its reports anew before the next statement that may follow a question of Freshet's own.
    pub(crate) asks_anew: bool,
    /// An answer without room for a report announced a change of the session's state that an opened view explains.
    pub(crate) announced: bool,
    /// The prepared statements, by the numbers that the server has given them.
    pub(crate) prepared: PreparedStatements,
    /// What the statements on the connection have left there.
    pub(crate) traces: Traces,
    /// The buffer in which a command is put together before it is sent.
    pub(super) scratch: BytesMut,
}

impl Default for Lease {
    fn default() -> Self {
        Self::as_new(None)
    }
}

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
            tracking: Tracking::Unmet,
            keeps_gtids: false,
            asks_anew: false,
            announced: false,
            prepared: PreparedStatements::default(),
            traces: Traces::default(),
            scratch: BytesMut::new(),
        }
    }

    /// Makes the lease of a session that has given its connection up, with its prepared statements. The session goes on with the same
    /// rights until it has another connection.
    pub(super) fn after(before: &Self, prepared: PreparedStatements) -> Self {
        Self { rights_from: before.rights_from, server: before.server, prepared, ..Self::as_new(None) }
    }

    /// Notes that the client was told, or may be told, what distinguishes this connection from others: the session keeps it from now on.
    pub(crate) fn tells_of_itself(&mut self) {
        self.is_unknown_to_client = false;
    }

    /// Notes that COM_RESET_CONNECTION has succeeded. A reset may leave effects that a login would not, and does not run `init_connect`.
    pub(crate) fn note_reset(&mut self) {
        let (prepared, rights_from) = (self.prepared.begun_anew(), self.rights_from);
        // A reset keeps the effects of COM_SET_OPTION, and on MySQL traces of the optimizer and the resource group.
        let (can_be_undone, is_unknown_to_client) = (self.can_be_undone, self.is_unknown_to_client);
        let anew = Self::as_new(self.at.take());
        *self = Self { prepared, rights_from, can_be_undone, is_unknown_to_client, ..anew };
    }

    /// Gives the connection up.
    pub(crate) fn take(&mut self) -> Option<Connection> {
        self.at.take()
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.at, ConnectionPlace::Nowhere)
    }

    /// Whether the connection was lost while it was lent.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lost)
    }

    /// Marks the connection as lost: the session is over, and nothing may be asked on the connection any more.
    pub(super) fn lose(&mut self) {
        self.at = ConnectionPlace::Lost;
    }

    /// Whether the connection is open and carries the statements of many sessions.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lent(_))
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

    /// Whether the connection is open and the server reports the session facts that Freshet needs.
    pub(crate) fn is_ready(&self) -> bool {
        self.at.here().is_some() && self.tracking == Tracking::On
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

    /// Returns the bytes that the server has sent unasked.
    pub(crate) fn heard(&self) -> &[u8] {
        self.at.here().map_or(&[], Connection::heard)
    }
}
