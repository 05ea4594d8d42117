//! Why a client is not let in.

use std::time::Duration;

use freshet_protocol::{ErrPacket, Malformed};
use tokio::time::timeout;

use crate::wire::{Wire, WireError};

/// How long a refused client may take to read the reason.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// Why a client is not let in.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// The server, or Freshet in its place, refused the login. This is expected: a wrong password is an example.
    #[error("refused: {} {}", .0.code, String::from_utf8_lossy(&.0.message))]
    Refused(ErrPacket),
    /// The server has never been reached, so there is no greeting to repeat.
    #[error("the server has not been reached: {0}")]
    NoServer(freshet_upstream::Error),
    /// The server could not be reached, or closed the connection.
    #[error("upstream: {0}")]
    Upstream(freshet_upstream::Error),
    /// The client's packet is no login.
    #[error("bad handshake: {}", .0.what)]
    BadHandshake(Malformed),
    /// The client's connection failed.
    #[error("client: {0}")]
    Wire(#[from] WireError),
    /// The login took too long.
    #[error("the login timed out")]
    TimedOut,
}

impl AdmitError {
    /// Makes a refusal of Freshet's own.
    pub(super) fn refused(code: u16, sqlstate: &str, text: impl AsRef<[u8]>) -> Self {
        Self::Refused(ErrPacket::new(code, sqlstate, text))
    }

    /// Returns the error packet for the client; `None` if nobody listens.
    fn to_err_packet(&self) -> Option<ErrPacket> {
        match self {
            Self::Refused(packet) => Some(packet.clone()),
            Self::NoServer(error) | Self::Upstream(error) => Some(error.to_err_packet()),
            Self::BadHandshake(_) => Some(ErrPacket::new(1043, "08S01", "Bad handshake")),
            Self::Wire(error) => error.to_err_packet(),
            Self::TimedOut => {
                Some(ErrPacket::new(1159, "08S01", "Got timeout reading communication packets"))
            }
        }
    }

    /// Tells the client and ends the conversation.
    pub(super) async fn tell(&self, wire: &mut Wire) {
        match (self, self.to_err_packet()) {
            (_, None) => return,
            // Before a greeting the protocol has no SQL state: clients would show its mark as text.
            (Self::NoServer(_), Some(packet)) => wire.put(&packet.without_sqlstate().encode()),
            (_, Some(packet)) => wire.put(&packet.encode()),
        }
        // A client that does not read its farewell does not get one.
        let _ = timeout(FAREWELL_MAX, wire.close()).await;
    }
}
