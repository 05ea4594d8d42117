//! The compressed protocol below a client's packets, if its login has agreed on it.
//!
//! A frame is unpacked when the earlier packets are used up, and not when it arrives: whether its number is right depends on
//! the command that it belongs to. The state for packing and unpacking is kept once per thread and not per client.

use std::cell::RefCell;

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{
    COMPRESSED_HEADER_LEN, CompressedHeader, Compression, HEADER_LEN, NotPacked, Packer, Unpacker,
};

use super::WireError;

thread_local! {
    /// Borrowed for one frame, never across an await.
    static PACKER: RefCell<Packer> = RefCell::default();
    /// Borrowed for one frame, never across an await.
    static UNPACKER: RefCell<Unpacker> = RefCell::default();
}

/// One client's compressed frames.
#[derive(Debug)]
pub(super) struct Compressed {
    compression: Compression,
    /// The bytes that the client has sent and that are not yet unpacked.
    pub(super) incoming: BytesMut,
    /// The packed bytes that are not yet sent: one frame at most.
    pub(super) outgoing: BytesMut,
    /// The number of the next frame, read or written: both sides count together.
    seq: u8,
    /// A command begins, and its frames are numbered from 0. The frames of an answer continue the numbers of the last frame read.
    is_new_command: bool,
}

impl Compressed {
    /// `incoming` are the bytes that the client has sent after its login.
    pub(super) fn new(compression: Compression, incoming: BytesMut) -> Self {
        Self { compression, incoming, outgoing: BytesMut::new(), seq: 0, is_new_command: true }
    }

    /// Returns how the frames are packed.
    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// Starts the numbering again.
    pub(super) fn begin_command(&mut self) {
        self.is_new_command = true;
    }

    /// Accepts the next frame with any number.
    pub(super) fn accept_number(&mut self) {
        if let Some(header) = CompressedHeader::parse(&self.incoming) {
            self.set_seq(header.seq);
        }
    }

    fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
        self.is_new_command = false;
    }

    /// Appends the content of the next frame to `out`; returns false if not all of it has arrived. A header that announces more than
    /// `bytes_max` and a packet's header is refused before its bytes arrive.
    pub(super) fn unpack(&mut self, out: &mut BytesMut, bytes_max: usize) -> Result<bool, WireError> {
        let Some(header) = CompressedHeader::parse(&self.incoming) else { return Ok(false) };
        let expected = if self.is_new_command { 0 } else { self.seq };
        if header.seq != expected {
            return Err(WireError::OutOfOrder);
        }
        let (len, max) = (header.announced(), bytes_max.saturating_add(HEADER_LEN));
        if len > max {
            return Err(WireError::TooLarge { len, max: bytes_max });
        }
        let Some(body) = self.incoming.get(COMPRESSED_HEADER_LEN..COMPRESSED_HEADER_LEN + header.len) else {
            return Ok(false);
        };
        match header.unpacked_len {
            0 => out.extend_from_slice(body),
            len => UNPACKER.with_borrow_mut(|unpacker| unpacker.unpack(self.compression, body, len, out))?,
        }
        self.incoming.advance(COMPRESSED_HEADER_LEN + header.len);
        self.set_seq(header.seq.wrapping_add(1));
        Ok(true)
    }

    /// Replaces the content of `outgoing` by the next frame, and returns the part of `data` that is left for further frames.
    pub(super) fn pack<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        self.outgoing.clear();
        self.is_new_command = false;
        PACKER.with_borrow_mut(|packer| packer.put(&mut self.outgoing, &mut self.seq, self.compression, data))
    }
}

impl From<NotPacked> for WireError {
    fn from(_: NotPacked) -> Self {
        Self::NotUnpacked
    }
}

#[cfg(test)]
mod tests;
