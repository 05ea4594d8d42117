//! MariaDB's zlib: of whole events, and of single column values.

use std::io::Read;

use crate::{Malformed, Reader};

/// Bytes that one compressed event, or one compressed transaction, may unpack
/// to. What is larger becomes [`super::EventBody::Unknown`]: it is better to forget
/// everything once than to hold an unbounded transaction in memory.
pub const UNPACKED_LEN_MAX: usize = 64 << 20;

const BROKEN: Malformed = Malformed::new("broken zlib data in a binlog event");

/// Unpacks a record: a byte with the algorithm and the size of the length, the
/// length (big-endian), zlib data. `None` if it is larger than the bound.
pub(super) fn record(bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut reader = Reader::new(bytes);
    let head = reader.u8()?;
    if head & 0xf0 != 0x80 {
        return Err(Malformed::new("unknown compression of a binlog event"));
    }
    let len = reader.take(usize::from(head & 7))?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
    if len > UNPACKED_LEN_MAX {
        return Ok(None);
    }
    let mut out = Vec::new();
    zlib(reader.rest(), len, &mut out)?;
    Ok(Some(out))
}

/// Appends zlib data of a known unpacked length.
pub(super) fn zlib(packed: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    exactly(flate2::read::ZlibDecoder::new(packed), len, out)
}

/// Appends deflate data, without zlib's frame, of a known unpacked length.
pub(super) fn deflate(packed: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    exactly(flate2::read::DeflateDecoder::new(packed), len, out)
}

/// Reads one byte more than there should be, to find data that lies about its
/// length; the vector grows as bytes arrive, not as the length claims.
fn exactly(source: impl Read, len: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = out.len();
    let limit = len as u64 + 1;
    source.take(limit).read_to_end(out).map_err(|_broken| BROKEN)?;
    if out.len() - start == len { Ok(()) } else { Err(BROKEN) }
}
