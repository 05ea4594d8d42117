//! Where a session's connection is.

use freshet_upstream::Connection;
use freshet_upstream::lane::Returning;

/// Where the connection is.
#[derive(Debug)]
pub(super) enum ConnectionPlace {
    /// The connection is not open: the session has not needed one yet, or has given it up.
    Nowhere,
    Here(Connection),
    /// The connection carries the statements of many sessions meanwhile (`session/lanes.rs`).
    Lent(Returning),
    /// The connection was lost while it was lent. The session's state on it is gone, and no other connection takes its place.
    Lost,
}

impl ConnectionPlace {
    pub(super) fn of(connection: Option<Connection>) -> Self {
        connection.map_or(Self::Nowhere, Self::Here)
    }

    pub(super) const fn here(&self) -> Option<&Connection> {
        if let Self::Here(connection) = self { Some(connection) } else { None }
    }

    pub(super) const fn here_mut(&mut self) -> Option<&mut Connection> {
        if let Self::Here(connection) = self { Some(connection) } else { None }
    }

    pub(super) fn take(&mut self) -> Option<Connection> {
        match std::mem::replace(self, Self::Nowhere) {
            Self::Here(connection) => Some(connection),
            elsewhere => {
                *self = elsewhere;
                None
            }
        }
    }
}
