//! The errors between a client and Freshet, and the packets that the client gets for them.

use std::io;

use freshet_protocol::{ErrPacket, Malformed};

/// Why no packet could be read from the client, or none sent.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The client closed its connection between two packets.
    #[error("the client closed the connection")]
    Closed,
    /// The client closed its connection within a packet.
    #[error("the client closed the connection within a packet")]
    Truncated,
    /// A packet had another number than the one expected.
    #[error("a packet came out of order")]
    OutOfOrder,
    /// A packet is larger than allowed. Lengths in bytes.
    #[error("a packet of at least {len} bytes is larger than the {max} allowed")]
    TooLarge {
        /// The length that the client has announced so far.
        len: usize,
        /// The allowed length.
        max: usize,
    },
    /// The content of a compressed frame cannot be unpacked.
    #[error("a compressed frame cannot be unpacked")]
    NotUnpacked,
    /// The client has not finished a packet in time.
    #[error("the client did not finish a packet in time")]
    ReadTimeout,
    /// The client has not read its answer in time.
    #[error("the client did not read its answer in time")]
    WriteTimeout,
    /// The session was ended while its client did not read.
    #[error("the session was ended while its client did not read")]
    Ended,
    /// All memory for packets is taken by other clients.
    #[error("all memory for packets is taken")]
    NoMemory,
    /// A packet's content cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl WireError {
    /// Returns the server's error for the client before the connection closes; `None` if nobody listens any more.
    pub fn to_err_packet(&self) -> Option<ErrPacket> {
        match self {
            Self::Closed | Self::Truncated | Self::WriteTimeout | Self::Ended | Self::Io(_) => None,
            Self::ReadTimeout => {
                Some(ErrPacket::new(1159, "08S01", "Got timeout reading communication packets"))
            }
            Self::NoMemory => Some(ErrPacket::new(1041, "HY000", "Out of memory.")),
            Self::OutOfOrder => Some(ErrPacket::new(1156, "08S01", "Got packets out of order")),
            Self::TooLarge { .. } => {
                Some(ErrPacket::new(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes"))
            }
            Self::NotUnpacked => {
                Some(ErrPacket::new(1157, "08S01", "Couldn't uncompress communication packet"))
            }
            Self::Malformed(_) => Some(ErrPacket::new(
                Malformed::ER_MALFORMED_PACKET,
                "HY000",
                "Malformed communication packet.",
            )),
        }
    }
}
