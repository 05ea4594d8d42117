//! Reads answers to their ends.

use bytes::Buf as _;
use freshet_protocol::{ErrPacket, FrameHeader, HEADER_LEN};

use crate::answer::{Step, Walk};
use crate::wire::Wire;

/// The errors that clients cause each other: two clients insert the same row, or wait for each other's locks.
const EXPECTED_ERRORS: [u16; 3] = [1062, 1205, 1213];

/// Whether a statement was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The statement was carried out.
    Yes,
    /// The statement was refused with an error that is expected among clients that write.
    Refused,
}

/// Reads to the end of an answer. An unexpected error is returned as one.
pub async fn read_answer(wire: &mut Wire) -> Result<Done, String> {
    match read_any(wire).await? {
        Some(error) if EXPECTED_ERRORS.contains(&error.code) => Ok(Done::Refused),
        Some(error) => {
            Err(format!("the server said {}: {}", error.code, String::from_utf8_lossy(&error.message)))
        }
        None => Ok(Done::Yes),
    }
}

/// Reads to the end of an answer, and returns its error if it is one.
pub async fn read_any(wire: &mut Wire) -> Result<Option<ErrPacket>, String> {
    let mut walk = Walk::default();
    loop {
        // Bytes that were read behind the previous answer come first.
        if wire.buffer().is_empty() {
            wire.fill().await.map_err(|error| error.to_string())?;
        }
        let step = walk.step(wire.buffer());
        match step {
            Step::More(walked) => {
                wire.buffer().advance(walked);
                if !wire.buffer().is_empty() {
                    wire.fill().await.map_err(|error| error.to_string())?;
                }
            }
            Step::End(end) => {
                wire.buffer().advance(end);
                return Ok(None);
            }
            Step::Err(at) => {
                let error =
                    ErrPacket::parse(&wire.buffer()[at + HEADER_LEN..]).map_err(|error| error.to_string())?;
                let end = wire.buffer().len().min(at + HEADER_LEN + error_len(&wire.buffer()[at..]));
                wire.buffer().advance(end);
                return Ok(Some(error));
            }
        }
    }
}

/// Returns the length of the packet that begins here.
fn error_len(packet: &[u8]) -> usize {
    FrameHeader::parse(packet).map_or(0, |header| header.len)
}
