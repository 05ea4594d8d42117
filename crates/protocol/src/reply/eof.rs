//! The EOF packet, which ends columns and rows without DEPRECATE_EOF.

use ::bytes::BufMut;

use crate::{Malformed, Reader, StatusFlags};

/// The end of columns or rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EofPacket {
    /// How many warnings SHOW WARNINGS would show, up to 65,535.
    pub warnings: u16,
    /// The session's status.
    pub status: StatusFlags,
}

impl EofPacket {
    /// The first byte of an EOF packet.
    pub const HEADER: u8 = 0xFE;
    /// The length of an EOF packet, in bytes.
    pub const LEN: usize = 5;
    /// Where the status flags stand in the payload.
    pub const STATUS_AT: usize = 3;
    /// A payload that starts as an EOF packet and has at least this many bytes
    /// is none: then 0xFE is the prefix of a length of eight bytes.
    pub const LEN_END: usize = 9;

    /// Reads an EOF packet.
    ///
    /// # Errors
    /// If it is truncated or something else.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8()? != Self::HEADER || payload.len() >= Self::LEN_END {
            return Err(Malformed::new("EOF packet"));
        }
        let warnings = reader.u16()?;
        Ok(Self { warnings, status: StatusFlags::from_bits_retain(reader.u16()?) })
    }

    /// Returns the payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::LEN);
        out.put_u8(Self::HEADER);
        out.put_u16_le(self.warnings);
        out.put_u16_le(self.status.bits());
        out
    }
}
