//! The compressed protocol below the packets of a [`Raw`](super::Raw), by zlib, with every number checked.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};

/// The least that is worth compressing, and the most that one frame holds, in bytes.
const PACKED_MIN: usize = 50;
const CHUNK: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Compressed {
    seq: u8,
    unpacked: Vec<u8>,
    taken: usize,
}

impl Compressed {
    pub(super) fn begin(&mut self) {
        self.seq = 0;
    }

    pub(super) fn write(&mut self, stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            let mut packed = Vec::new();
            let plain = chunk.len() < PACKED_MIN;
            if plain {
                packed.extend(chunk);
            } else {
                ZlibEncoder::new(chunk, Compression::fast()).read_to_end(&mut packed)?;
            }
            let unpacked_len = if plain { 0 } else { chunk.len() };
            let (len, unpacked_len) = (packed.len().to_le_bytes(), unpacked_len.to_le_bytes());
            let header = [&len[..3], &[self.seq], &unpacked_len[..3]].concat();
            self.seq = self.seq.wrapping_add(1);
            stream.write_all(&[header, packed].concat())?;
        }
        Ok(())
    }

    pub(super) fn read(&mut self, stream: &mut impl Read, bytes: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            if self.taken == self.unpacked.len() {
                self.frame(stream)?;
            }
            let len = (bytes.len() - filled).min(self.unpacked.len() - self.taken);
            bytes[filled..filled + len].copy_from_slice(&self.unpacked[self.taken..self.taken + len]);
            (filled, self.taken) = (filled + len, self.taken + len);
        }
        Ok(())
    }

    fn frame(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let mut header = [0; 7];
        stream.read_exact(&mut header)?;
        if header[3] != self.seq {
            let said = format!("compressed frame {} where {} was due", header[3], self.seq);
            return Err(io::Error::new(io::ErrorKind::InvalidData, said));
        }
        self.seq = self.seq.wrapping_add(1);
        let number = |at: usize| {
            usize::from(header[at]) | usize::from(header[at + 1]) << 8 | usize::from(header[at + 2]) << 16
        };
        let mut packed = vec![0; number(0)];
        stream.read_exact(&mut packed)?;
        self.taken = 0;
        self.unpacked = packed;
        if number(4) > 0 {
            let mut unpacked = Vec::new();
            ZlibDecoder::new(&self.unpacked[..]).read_to_end(&mut unpacked)?;
            if unpacked.len() != number(4) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a frame has another length than it says",
                ));
            }
            self.unpacked = unpacked;
        }
        Ok(())
    }
}
