//! What a client is told of a command that does not reach the server.

use freshet_protocol::ErrPacket;

use crate::relay::Lost;
use crate::session::{Flow, Session};

/// The server cannot be asked: its own error, or the one that a client library would have shown. A connection that was
/// open and broke takes the session with it, as without us.
pub(super) fn unavailable(session: &mut Session, error: &freshet_upstream::Error) -> Result<Flow, Lost> {
    session.put_error(&error.to_err_packet());
    let over = session.lease.is_open() && !error.leaves_connection_usable();
    Ok(if over { Flow::Close } else { Flow::Continue })
}

/// A packet that cannot be read.
pub(super) fn malformed() -> ErrPacket {
    ErrPacket::new(1835, "HY000", "Malformed communication packet")
}
