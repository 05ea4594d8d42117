//! Bytes to compressed frames.

use ::bytes::{BufMut, BytesMut};
use flate2::{Compress, Compression as ZlibLevel, FlushCompress, Status};
use zstd::bulk::Compressor as Zstd;

use super::{CompressedHeader, Compression};

/// Less than this, in bytes, is stored as it is: both servers draw the line here.
pub(super) const PACKED_MIN: usize = 50;
/// What one frame of ours holds at most, in bytes: packing it takes about a millisecond, and a thread serves many clients.
pub const PACK_CHUNK: usize = 64 * 1024;
/// The level of zlib. Both servers use it.
const ZLIB_LEVEL: u32 = 6;
/// The highest level of zstd that is used to pack. A client may ask for more, but it shares a thread with others; any
/// level unpacks the same way.
const ZSTD_LEVEL_MAX: u8 = 9;

/// Packs frames, one at a time and each for itself, so that one of these serves any number of connections. It takes its
/// memory, some hundred kilobytes, with the first use of each algorithm.
#[derive(Default)]
pub struct Packer {
    zlib: Option<Compress>,
    zstd: Option<Zstd<'static>>,
    packed: Vec<u8>,
}

impl Packer {
    /// Appends the first [`PACK_CHUNK`] bytes of `data`, or all if there are fewer, to `out` as one frame, advances `seq`
    /// past it, and returns the rest.
    pub fn put<'a>(
        &mut self,
        out: &mut BytesMut,
        seq: &mut u8,
        compression: Compression,
        data: &'a [u8],
    ) -> &'a [u8] {
        let (chunk, rest) = data.split_at(data.len().min(PACK_CHUNK));
        let packed = self.pack(compression, chunk);
        let (body, unpacked_len) = packed.map_or((chunk, 0), |packed| (packed, chunk.len()));
        out.put_slice(&CompressedHeader { len: body.len(), seq: *seq, unpacked_len }.encode());
        out.put_slice(body);
        *seq = seq.wrapping_add(1);
        rest
    }

    /// None if it is not worth it. A library that fails, for want of memory, is one that saves nothing.
    fn pack(&mut self, compression: Compression, chunk: &[u8]) -> Option<&[u8]> {
        if chunk.len() < PACKED_MIN {
            return None;
        }
        self.packed.clear();
        match compression {
            Compression::Zlib => self.zlib(chunk)?,
            Compression::Zstd { level } => self.zstd(level.min(ZSTD_LEVEL_MAX), chunk)?,
        }
        (self.packed.len() < chunk.len()).then_some(&self.packed)
    }

    fn zlib(&mut self, chunk: &[u8]) -> Option<()> {
        let zlib = self.zlib.get_or_insert_with(|| Compress::new(ZlibLevel::new(ZLIB_LEVEL), true));
        zlib.reset();
        self.packed.reserve(chunk.len());
        let status = zlib.compress_vec(chunk, &mut self.packed, FlushCompress::Finish).ok()?;
        (status == Status::StreamEnd).then_some(())
    }

    fn zstd(&mut self, level: u8, chunk: &[u8]) -> Option<()> {
        let level = i32::from(level);
        if self.zstd.is_none() {
            self.zstd = Some(Zstd::new(level).ok()?);
        }
        let zstd = self.zstd.as_mut()?;
        zstd.set_compression_level(level).ok()?;
        self.packed.reserve(zstd::zstd_safe::compress_bound(chunk.len()));
        zstd.compress_to_buffer(chunk, &mut self.packed).ok().map(|_| ())
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}
