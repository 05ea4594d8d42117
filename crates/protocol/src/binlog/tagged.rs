//! MySQL's own serialisation (8.3 and later), as far as GTID_TAGGED uses it.
//!
//! An integer's first byte tells by its trailing one bits how many bytes
//! follow. A message is: format version, length, the last field that must be
//! understood, then fields of (number, value) in ascending order.

use super::gtid::{GtidEvent, TAG_LEN_MAX};
use crate::{Malformed, Reader};

const VERSION: u64 = 1;
/// The fields that are read; what comes after them are times and sizes.
const FIELD_FLAGS: u64 = 0;
const FIELD_UUID: u64 = 1;
const FIELD_GNO: u64 = 2;
const FIELD_TAG: u64 = 3;

const BAD: Malformed = Malformed::new("tagged GTID in an unknown form");

/// Reads an integer of one to nine bytes.
pub(super) fn varint(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let first = reader.u8()?;
    let more = first.trailing_ones() as usize;
    let bytes = reader.take(more)?;
    let tail = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if more >= 7 {
        // All bits of the first byte are used up by the count.
        return Ok(tail);
    }
    let low = u64::from(first) >> (more + 1);
    Ok(tail << (7 - more) | low)
}

/// Reads GTID_TAGGED.
pub(super) fn parse_gtid(body: &[u8]) -> Result<GtidEvent, Malformed> {
    let mut reader = Reader::new(body);
    let version = varint(&mut reader)?;
    let _length = varint(&mut reader)?;
    let must_know = varint(&mut reader)?;
    if version != VERSION || must_know > FIELD_TAG {
        return Err(BAD);
    }
    field(&mut reader, FIELD_FLAGS)?;
    varint(&mut reader)?;
    field(&mut reader, FIELD_UUID)?;
    let mut uuid = [0; 16];
    for byte in &mut uuid {
        *byte = u8::try_from(varint(&mut reader)?).map_err(|_large| BAD)?;
    }
    field(&mut reader, FIELD_GNO)?;
    let gno = positive(varint(&mut reader)?)?;
    field(&mut reader, FIELD_TAG)?;
    let tag = tag(&mut reader)?;
    Ok(GtidEvent::mysql(uuid, tag, gno))
}

fn field(reader: &mut Reader<'_>, expected: u64) -> Result<(), Malformed> {
    if varint(reader)? == expected { Ok(()) } else { Err(BAD) }
}

/// Returns a signed integer that must be positive: its sign is the lowest bit.
fn positive(zigzag: u64) -> Result<u64, Malformed> {
    if zigzag & 1 == 0 { Ok(zigzag >> 1) } else { Err(BAD) }
}

/// Returns a tag behind its length.
pub(super) fn tag(reader: &mut Reader<'_>) -> Result<String, Malformed> {
    let len = usize::try_from(varint(reader)?).unwrap_or(usize::MAX);
    if len > TAG_LEN_MAX {
        return Err(BAD);
    }
    let tag = std::str::from_utf8(reader.take(len)?).map_err(|_bytes| BAD)?;
    Ok(tag.to_owned())
}
