//! Compressed frames to bytes.

use ::bytes::BytesMut;
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Zstd, InBuffer, Operation, OutBuffer};

use super::{COMPRESSED_MAX, Compression};

/// What is unpacked at a time, in bytes: the buffer grows by what is there, not by what a header announces.
const STEP: usize = 16 * 1024;
/// The largest window that zstd may ask for, as a power of two: that of the longest frame.
const ZSTD_WINDOW_LOG_MAX: u32 = 24;

/// The bytes of a frame are not what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a compressed frame cannot be unpacked")]
pub struct NotPacked;

/// Unpacks frames, one at a time and each for itself, so that one of these serves any number of connections. It takes its
/// memory with the first use of each algorithm: tens of kilobytes, and up to 16 MiB if a frame of zstd's asks for it.
#[derive(Default)]
pub struct Unpacker {
    zlib: Option<Decompress>,
    zstd: Option<Zstd<'static>>,
    step: Vec<u8>,
}

/// What one step has done.
struct UnpackStep {
    consumed: usize,
    produced: usize,
    ended: bool,
}

impl Unpacker {
    /// Appends what `packed` unpacks to, at most `unpacked_len` bytes. Fewer are accepted, and so are bytes behind the
    /// end of the packed ones: both servers accept them.
    ///
    /// # Errors
    /// If it is broken or cut, or unpacks to more.
    pub fn unpack(
        &mut self,
        compression: Compression,
        mut packed: &[u8],
        unpacked_len: usize,
        out: &mut BytesMut,
    ) -> Result<(), NotPacked> {
        self.start(compression)?;
        self.step.resize(STEP, 0);
        let mut left = unpacked_len.min(COMPRESSED_MAX);
        loop {
            // One byte more than there may be, so that a frame that holds more is noticed.
            let room = STEP.min(left + 1);
            let step = self.step(compression, packed, room)?;
            left = left.checked_sub(step.produced).ok_or(NotPacked)?;
            out.extend_from_slice(self.step.get(..step.produced).ok_or(NotPacked)?);
            packed = packed.get(step.consumed..).ok_or(NotPacked)?;
            if step.ended {
                return Ok(());
            }
            if step.consumed == 0 && step.produced == 0 {
                return Err(NotPacked);
            }
        }
    }

    /// Forgets the frame before, however it ended.
    fn start(&mut self, compression: Compression) -> Result<(), NotPacked> {
        match compression {
            Compression::Zlib => self.zlib.get_or_insert_with(|| Decompress::new(true)).reset(true),
            Compression::Zstd { .. } => match &mut self.zstd {
                Some(zstd) => zstd.reinit().map_err(|_broken| NotPacked)?,
                none => *none = Some(zstd()?),
            },
        }
        Ok(())
    }

    fn step(
        &mut self,
        compression: Compression,
        packed: &[u8],
        room: usize,
    ) -> Result<UnpackStep, NotPacked> {
        let into = self.step.get_mut(..room).ok_or(NotPacked)?;
        match (compression, &mut self.zlib, &mut self.zstd) {
            (Compression::Zlib, Some(zlib), _) => inflate(zlib, packed, into),
            (Compression::Zstd { .. }, _, Some(zstd)) => {
                let (mut from, mut to) = (InBuffer::around(packed), OutBuffer::around(into));
                let hint = zstd.run(&mut from, &mut to).map_err(|_broken| NotPacked)?;
                Ok(UnpackStep { consumed: from.pos(), produced: to.pos(), ended: hint == 0 })
            }
            _ => Err(NotPacked),
        }
    }
}

fn zstd() -> Result<Zstd<'static>, NotPacked> {
    let mut zstd = Zstd::new().map_err(|_broken| NotPacked)?;
    zstd.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(|_broken| NotPacked)?;
    Ok(zstd)
}

fn inflate(zlib: &mut Decompress, packed: &[u8], into: &mut [u8]) -> Result<UnpackStep, NotPacked> {
    let (before_in, before_out) = (zlib.total_in(), zlib.total_out());
    let status = zlib.decompress(packed, into, FlushDecompress::None).map_err(|_broken| NotPacked)?;
    // Both are at most the lengths that were handed in.
    let (consumed, produced) =
        ((zlib.total_in() - before_in) as usize, (zlib.total_out() - before_out) as usize);
    Ok(UnpackStep { consumed, produced, ended: status == Status::StreamEnd })
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}
