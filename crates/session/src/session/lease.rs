//! The server connection that serves a session, with all that is known of that connection and nothing of the client.
//!
//! A session has the environment, the transaction and the settings that its client believes in (`session/state.rs`). What the
//! connection was asked to report, what ran on it, and the numbers that the server gave out on it belong to the connection: a
//! session that is served by another one starts with what that one is like.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use freshet_cache::Position;
use freshet_protocol::Capabilities;
use freshet_sql::Modes;
use freshet_upstream::lane::Returning;
use freshet_upstream::{Channel, Connection, Error, Rows, now_ms};
use tokio::io::AsyncReadExt as _;

use super::prepared::PreparedStatements;
use super::{Traces, Tracking};
use crate::auth::{Admitted, Leave, LoginBegun};
use crate::relay::Lost;
use crate::relay::Own;

/// Where the connection is.
#[derive(Debug)]
enum ConnectionPlace {
    /// It is not open: it was not needed yet, or was given up.
    Nowhere,
    Here(Connection),
    /// It carries the statements of many sessions meanwhile (`session/lanes.rs`).
    Lent(Returning),
    /// It was lost while it was lent. What its session has left there is gone, and no other connection takes its place.
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
    /// The rights that its login was given are those of this position or of a later one.
    pub(crate) rights_from: Position,
    /// Which server it leads to, as its greeting says; known once it is set up.
    pub(crate) server: Option<Modes>,
    /// When it was opened at the latest, in monotonic milliseconds.
    pub(crate) opened_ms: u64,
    /// When it was last used, in monotonic milliseconds.
    pub(crate) used_ms: u64,
    /// When it was last looked at whether the session can do without it, likewise.
    pub(super) looked_ms: u64,
    /// What `LAST_INSERT_ID()` says there, if that is known.
    pub(super) insert_id: Option<u64>,
    /// Nothing was asked on it whose answer tells it from another one, such as its number.
    pub(super) is_unknown_to_client: bool,
    /// How many commands it was sent, those of our own included.
    pub(crate) sent: u64,
    /// What of these its client did not ask for.
    pub(crate) own: Own,
    /// It may have warnings or an error of an earlier statement that can still be asked for.
    pub(crate) has_diagnostics: bool,
    /// When the login on it was made, if its session has been no other's before.
    pub(crate) begun: Option<LoginBegun>,
    /// It may be kept for another client when this one has left.
    pub(crate) leave: Option<Leave>,
    /// It was sent nothing since the login but questions of our own, which leave no trace.
    pub(crate) untouched: bool,
    /// Nothing has run that would be left on it by a reset and a new login.
    pub(crate) can_be_undone: bool,
    /// Whether the server reports what must be known of the session.
    pub(crate) tracking: Tracking,
    /// The server is to be asked for its reports anew before the next statement that may follow a question of ours.
    pub(crate) asks_anew: bool,
    /// An answer without room for it announced a change of the session's state that an opened view explains.
    pub(crate) announced: bool,
    /// By the numbers that the server has given them.
    pub(crate) prepared: PreparedStatements,
    /// What ran on it has left there.
    pub(crate) traces: Traces,
    /// What a command is put together in before it is sent.
    pub(super) scratch: BytesMut,
}

impl Default for Lease {
    fn default() -> Self {
        Self::as_new(None)
    }
}

impl Lease {
    /// What came with a login, if it took a connection. All up to `rights_from` was applied before it was made.
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
            asks_anew: false,
            announced: false,
            prepared: PreparedStatements::default(),
            traces: Traces::default(),
            scratch: BytesMut::new(),
        }
    }

    /// Of a session that has given this one up, with what it has prepared: it goes on with the same rights until it has another.
    pub(super) fn after(before: &Self, prepared: PreparedStatements) -> Self {
        Self { rights_from: before.rights_from, server: before.server, prepared, ..Self::as_new(None) }
    }

    /// Its client was told, or may be, what tells this connection from others: its session keeps it from now on.
    pub(crate) fn tells_of_itself(&mut self) {
        self.is_unknown_to_client = false;
    }

    /// COM_RESET_CONNECTION has succeeded. What a reset leaves that a login would not is not known, nor has `init_connect` run.
    pub(crate) fn note_reset(&mut self) {
        let (prepared, rights_from) = (self.prepared.begun_anew(), self.rights_from);
        // A reset leaves COM_SET_OPTION, and on MySQL traces of the optimizer and the resource group.
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

    /// Whether it was lost while it was lent.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lost)
    }

    /// The session is over: nothing may be asked on it any more.
    pub(super) fn lose(&mut self) {
        self.at = ConnectionPlace::Lost;
    }

    /// Whether it is open and carries the statements of many sessions.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.at, ConnectionPlace::Lent(_))
    }

    /// The connection, to be a lane, if nothing is under way on it.
    pub(super) fn take_to_lend(&mut self) -> Option<Connection> {
        if self.heard().is_empty() { self.take() } else { None }
    }

    /// It is a lane now.
    pub(super) fn lend_as(&mut self, returning: Returning) {
        self.at = ConnectionPlace::Lent(returning);
    }

    /// The lane that its connection is.
    pub(super) fn lent(&mut self) -> Option<&mut Returning> {
        if let ConnectionPlace::Lent(lent) = &mut self.at { Some(lent) } else { None }
    }

    /// The connection is back, unless it was lost.
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

    /// Whether it is open and the server reports what is to be known of the session.
    pub(crate) fn is_ready(&self) -> bool {
        self.at.here().is_some() && self.tracking == Tracking::On
    }

    /// The server's number of the connection; 0 while there is none.
    pub(crate) fn thread_id(&self) -> u32 {
        self.at.here().map_or(0, Connection::thread_id)
    }

    /// Whether nothing but the login is in the server's session, or would be if it were opened now.
    pub(crate) fn is_new(&self) -> bool {
        (!self.is_open() || self.begun.is_some()) && self.untouched
    }

    /// The server's version, as its greeting says.
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

    /// What was agreed on with the server.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.at.here().map_or(Capabilities::empty(), Connection::capabilities)
    }

    /// The connection, for an exchange.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn connection(&mut self) -> Result<&mut Connection, Lost> {
        self.at.here_mut().ok_or_else(|| Lost::Upstream(std::io::ErrorKind::NotConnected.into()))
    }

    /// A question of our own. It leaves its row count and warnings behind.
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
        let connection = match &mut self.at {
            ConnectionPlace::Here(connection) => connection,
            ConnectionPlace::Lost => return Poll::Ready(()),
            ConnectionPlace::Nowhere | ConnectionPlace::Lent(_) => return Poll::Pending,
        };
        let (stream, buffer) = connection.parts();
        match stream.poll_read_ready(cx) {
            Poll::Pending => Poll::Pending,
            // Whether it spoke, closed or failed: the connection is over.
            Poll::Ready(()) => pin!(stream.read_buf(buffer)).poll(cx).map(drop),
        }
    }

    /// Whether it is open, and the server has nothing to say that nobody asked for.
    pub(super) async fn is_quiet(&mut self) -> bool {
        match self.at.here_mut() {
            Some(connection) => connection.is_quiet().await,
            None => false,
        }
    }

    /// What the server has said that nobody asked for.
    pub(crate) fn heard(&mut self) -> &[u8] {
        self.at.here_mut().map_or(&[], |connection| connection.parts().1)
    }
}
