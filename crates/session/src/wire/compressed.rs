//! The compressed protocol below a client's packets, once its login has agreed on it.
//!
//! A frame is unpacked when the packets before it are used up, and not when it arrives: its number is right or wrong
//! by which command it belongs to. What packing and unpacking need is kept once for each thread and not for each client.

use std::cell::RefCell;

use bytes::{Buf as _, BytesMut};
use freshet_protocol::{
    COMPRESSED_HEADER_LEN, CompressedHeader, Compression, HEADER_LEN, NotPacked, Packer, Unpacker,
};

use super::WireError;

thread_local! {
    /// Borrowed for one frame, never across an await.
    static PACKER: RefCell<Packer> = RefCell::default();
    /// The same.
    static UNPACKER: RefCell<Unpacker> = RefCell::default();
}

/// One client's compressed frames.
#[derive(Debug)]
pub(super) struct Compressed {
    compression: Compression,
    /// What the client has sent and is not yet unpacked.
    pub(super) incoming: BytesMut,
    /// What is packed and not yet sent: one frame at most.
    pub(super) outgoing: BytesMut,
    /// The number of the next frame, read or written: both sides count together.
    seq: u8,
    /// A command begins, and its frames are numbered from 0. An answer goes on from what was read last.
    is_new_command: bool,
}

impl Compressed {
    /// `incoming` is what the client has sent behind its login.
    pub(super) fn new(compression: Compression, incoming: BytesMut) -> Self {
        Self { compression, incoming, outgoing: BytesMut::new(), seq: 0, is_new_command: true }
    }

    /// How the frames are packed.
    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// The numbering starts again.
    pub(super) fn begin_command(&mut self) {
        self.is_new_command = true;
    }

    /// The next frame is taken with whatever number it has.
    pub(super) fn accept_number(&mut self) {
        if let Some(header) = CompressedHeader::parse(&self.incoming) {
            self.set_seq(header.seq);
        }
    }

    fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
        self.is_new_command = false;
    }

    /// Appends what the next frame holds to `out`; false if not all of it is here. A header that announces more than
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

    /// Puts the next frame in the place of what is in `outgoing`, and returns what of `data` is left for further ones.
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
