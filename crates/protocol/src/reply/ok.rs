//! The OK packet, which ends a command or, with DEPRECATE_EOF, a result set.

use ::bytes::BufMut;

use super::changes;
use crate::{Capabilities, Malformed, Put, Reader, StateChange, StatusFlags};

/// The server says that it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkPacket {
    /// The rows that were changed, or found if the client asked for that.
    pub affected_rows: u64,
    /// The first value generated for an AUTO_INCREMENT column, or 0.
    pub last_insert_id: u64,
    /// The session's status.
    pub status: StatusFlags,
    /// How many warnings SHOW WARNINGS would show, up to 65,535.
    pub warnings: u16,
    /// Text for people.
    pub info: Vec<u8>,
    /// What changed in the session's state, where that is tracked.
    pub changes: Vec<StateChange>,
}

impl OkPacket {
    /// The first byte of an OK packet that ends a command.
    pub const HEADER: u8 = 0x00;
    /// The first byte of an OK packet in the place of an EOF packet.
    pub const HEADER_AS_EOF: u8 = 0xFE;

    /// Reads an OK packet with either header. A packet that ends before the
    /// changes that its status announces has none; the status tells.
    ///
    /// # Errors
    /// If it is truncated or something else.
    pub fn parse(payload: &[u8], caps: Capabilities) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if !matches!(reader.u8()?, Self::HEADER | Self::HEADER_AS_EOF) {
            return Err(Malformed::new("OK packet"));
        }
        let affected_rows = reader.lenenc_int()?;
        let last_insert_id = reader.lenenc_int()?;
        let status = StatusFlags::from_bits_retain(reader.u16()?);
        let warnings = reader.u16()?;
        let (info, changes) = parse_tail(reader, caps, status)?;
        Ok(Self { affected_rows, last_insert_id, status, warnings, info, changes })
    }

    /// Returns the payload. `header` is [`Self::HEADER`] or [`Self::HEADER_AS_EOF`].
    ///
    /// SESSION_STATE_CHANGED is set by whether there are changes and the
    /// client takes them, so that it never reads what is not there.
    #[must_use]
    pub fn encode(&self, caps: Capabilities, header: u8) -> Vec<u8> {
        let tracks = caps.contains(Capabilities::SESSION_TRACK);
        let changed = tracks && !self.changes.is_empty();
        let mut status = self.status;
        status.set(StatusFlags::SESSION_STATE_CHANGED, changed);
        let mut out = vec![header];
        out.put_lenenc_int(self.affected_rows);
        out.put_lenenc_int(self.last_insert_id);
        out.put_u16_le(status.bits());
        out.put_u16_le(self.warnings);
        // The documentation has the text unframed for clients without session tracking; both servers frame it always.
        if changed || !self.info.is_empty() {
            out.put_lenenc_bytes(&self.info);
        }
        if changed {
            let mut blocks = Vec::new();
            changes::put(&mut blocks, &self.changes);
            out.put_lenenc_bytes(&blocks);
        }
        out
    }
}

/// Reads what follows the warnings: text, and perhaps changes.
fn parse_tail(
    reader: &mut Reader<'_>,
    caps: Capabilities,
    status: StatusFlags,
) -> Result<(Vec<u8>, Vec<StateChange>), Malformed> {
    if reader.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let info = reader.lenenc_bytes()?.to_vec();
    let tracks = caps.contains(Capabilities::SESSION_TRACK);
    if !tracks || reader.is_empty() || !status.contains(StatusFlags::SESSION_STATE_CHANGED) {
        return Ok((info, Vec::new()));
    }
    Ok((info, changes::parse(reader.lenenc_bytes()?)?))
}

/// What a relay needs of an OK packet, read without allocating.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OkSummary {
    pub(crate) status: StatusFlags,
    /// Where the status flags stand in the payload.
    pub(crate) status_at: usize,
    pub(crate) warnings: u16,
}

/// Reads status and warnings of a payload that is known to be an OK packet.
pub(crate) fn summary(payload: &[u8]) -> Result<OkSummary, Malformed> {
    let reader = &mut Reader::new(payload);
    reader.u8()?;
    reader.lenenc_int()?;
    reader.lenenc_int()?;
    let status_at = payload.len() - reader.remaining();
    let status = StatusFlags::from_bits_retain(reader.u16()?);
    Ok(OkSummary { status, status_at, warnings: reader.u16()? })
}
