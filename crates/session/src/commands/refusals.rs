//! The errors that a client gets for a command that does not reach the server.

use freshet_protocol::{ErrPacket, Malformed};

use crate::relay::Lost;
use crate::session::{Flow, Session};

/// Tells the client that the server cannot be asked: with the server's own error, or with the error that a client library would have shown.
/// If the connection was open and broke, the session ends too, as without Freshet.
pub(super) fn unavailable(session: &mut Session, error: &freshet_upstream::Error) -> Result<Flow, Lost> {
    session.put_error(&error.to_err_packet());
    let over = session.lease.is_open() && !error.leaves_connection_usable();
    Ok(if over { Flow::Close } else { Flow::Continue })
}

/// Tells the client that its statement was interrupted by a KILL QUERY before it was sent.
pub(super) fn refuse_interrupted(session: &mut Session) -> Result<Flow, Lost> {
    session.put_interrupted();
    Ok(Flow::Continue)
}

/// Returns the error for a packet that cannot be read.
pub(super) fn malformed() -> ErrPacket {
    ErrPacket::new(Malformed::ER_MALFORMED_PACKET, "HY000", "Malformed communication packet")
}
