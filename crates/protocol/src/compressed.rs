//! The compressed protocol: a layer of frames of its own below the packets.
//!
//! The bytes of all packets, headers included, are cut into compressed frames wherever it suits the sender: a frame may
//! hold several packets, and a packet may go over several frames. Each frame has a header of seven bytes: the length
//! of what follows, a sequence number, and the length of what it unpacks to, which is 0 where the bytes are stored as
//! they are. These sequence numbers are the only ones that count: neither server looks at those of the packets inside.

mod pack;
#[cfg(test)]
mod tests;
mod unpack;

use crate::Capabilities;

pub use pack::Packer;
pub use unpack::{NotPacked, Unpacker};

/// The length of a compressed frame's header, in bytes.
pub const COMPRESSED_HEADER_LEN: usize = 7;
/// What one frame holds at most, in bytes, packed or not.
const COMPRESSED_MAX: usize = 0xFF_FFFF;

/// The level of zstd that a login may name (MySQL's `zstd_compression_level`).
const ZSTD_LEVEL_MAX: u8 = 22;

/// How the bytes of a frame are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zlib, of both servers.
    Zlib,
    /// zstd, of MySQL from 8.0.18.
    Zstd {
        /// From 1 to 22, as the client's login names it.
        level: u8,
    },
}

/// The login names a level that zstd does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a zstd level that there is not")]
pub struct NoSuchLevel;

impl Compression {
    /// Returns what a login with these capabilities and this level agrees on; zlib goes before zstd, as in the server.
    ///
    /// # Errors
    /// [`NoSuchLevel`]; the server refuses the login then.
    pub fn agreed(capabilities: Capabilities, zstd_level: Option<u8>) -> Result<Option<Self>, NoSuchLevel> {
        if capabilities.contains(Capabilities::COMPRESS) {
            return Ok(Some(Self::Zlib));
        }
        if !capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            return Ok(None);
        }
        match zstd_level {
            Some(level @ 1..=ZSTD_LEVEL_MAX) => Ok(Some(Self::Zstd { level })),
            _ => Err(NoSuchLevel),
        }
    }
}

/// A compressed frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedHeader {
    /// The length of what follows, in bytes, below 16 MiB.
    pub len: usize,
    /// The sequence number, which starts anew with each command and wraps.
    pub seq: u8,
    /// The length of what that unpacks to, in bytes; 0 if it is not packed.
    pub unpacked_len: usize,
}

impl CompressedHeader {
    /// Reads a header from the front of `bytes`; None if there are too few.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, seq, d, e, f] = *bytes.first_chunk::<COMPRESSED_HEADER_LEN>()?;
        let len = |three: [u8; 3]| three.iter().rev().fold(0, |len, byte| len << 8 | usize::from(*byte));
        Some(Self { len: len([a, b, c]), seq, unpacked_len: len([d, e, f]) })
    }

    /// Returns the header's bytes. A length of 16 MiB or more loses its high bits.
    #[must_use]
    pub const fn encode(self) -> [u8; COMPRESSED_HEADER_LEN] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        let [d, e, f, ..] = self.unpacked_len.to_le_bytes();
        [a, b, c, self.seq, d, e, f]
    }

    /// Returns the most bytes that the frame stands for, as far as its header tells.
    #[must_use]
    pub const fn announced(self) -> usize {
        if self.unpacked_len > self.len { self.unpacked_len } else { self.len }
    }
}
