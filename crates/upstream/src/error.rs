//! Failures between us and the server, and how a client is told.

use std::io;
use std::time::Duration;

use freshet_protocol::{ErrPacket, FrameError, Malformed};

/// A failure of a connection to the server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not be reached.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// An established connection broke.
    #[error("the connection to the server broke: {0}")]
    Io(#[from] io::Error),
    /// The server closed an established connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server refused with an error of its own.
    #[error("the server answered {}: {}", .0.code, String::from_utf8_lossy(&.0.message))]
    Server(ErrPacket),
    /// The server sent something that is not the protocol.
    #[error("the server sent a malformed packet: {}", .0.what)]
    Protocol(#[from] Malformed),
    /// The server sent a packet out of order or larger than allowed.
    #[error("the server's packets do not fit: {0}")]
    Frame(String),
    /// TLS was wanted and could not be had.
    #[error("TLS: {0}")]
    Tls(String),
    /// A time limit passed.
    #[error("{doing} took longer than {limit:?}")]
    TimedOut {
        /// The action that was under way.
        doing: &'static str,
        /// The limit that passed.
        limit: Duration,
    },
    /// The server asks for an authentication that we cannot, or must not, perform.
    #[error("authentication plugin '{plugin}': {why}")]
    Authentication {
        /// The plugin the server named.
        plugin: String,
        /// Why it cannot be answered.
        why: &'static str,
    },
    /// An answer was larger than the bound of the place that reads it.
    #[error("an answer exceeded {max} bytes")]
    TooLarge {
        /// The bound, in bytes.
        max: usize,
    },
    /// The server left out of its answer a definition that is being changed just now.
    #[error("a definition is being changed")]
    Unsettled,
    /// The server's answer to one of our own questions was not of the form expected.
    #[error("unexpected answer to {question}")]
    Unexpected {
        /// The question.
        question: &'static str,
    },
}

impl From<FrameError> for Error {
    fn from(error: FrameError) -> Self {
        Self::Frame(format!("{error:?}"))
    }
}

/// The codes for a client. ER_CON_COUNT_ERROR and similar errors are passed on unchanged. A failure that the server did not report is
/// told with the code of a client library whose connection broke, so that drivers treat it as such and reconnect.
mod code {
    /// CR_CONN_HOST_ERROR.
    pub const CANNOT_CONNECT: u16 = 2003;
    /// CR_SERVER_LOST.
    pub const SERVER_LOST: u16 = 2013;
    /// CR_SSL_CONNECTION_ERROR.
    pub const TLS: u16 = 2026;
    /// CR_MALFORMED_PACKET.
    pub const MALFORMED: u16 = 2027;
    /// CR_AUTH_PLUGIN_CANNOT_LOAD.
    pub const PLUGIN: u16 = 2059;
}

impl Error {
    /// Returns the error packet that tells a client of this failure.
    ///
    /// The server's own errors are passed on word for word. Every other failure means that the
    /// server cannot be used through this connection: SQLSTATE is of class 08 or HY000 and the
    /// code is the one a client library would have reported had it connected directly.
    pub fn to_err_packet(&self) -> ErrPacket {
        let (code, state) = match self {
            Self::Server(packet) => return packet.clone(),
            Self::Connect { .. } => (code::CANNOT_CONNECT, "HY000"),
            Self::TimedOut { .. } | Self::Io(_) | Self::Closed | Self::Unsettled => {
                (code::SERVER_LOST, "08S01")
            }
            Self::Tls(_) => (code::TLS, "HY000"),
            Self::Authentication { .. } => (code::PLUGIN, "HY000"),
            Self::Protocol(_) | Self::Frame(_) | Self::TooLarge { .. } | Self::Unexpected { .. } => {
                (code::MALFORMED, "08S01")
            }
        };
        ErrPacket::new(code, state, self.to_string())
    }

    /// Whether the connection can still be used after this failure: only when the server answered
    /// in good order.
    pub fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Unsettled)
    }
}
