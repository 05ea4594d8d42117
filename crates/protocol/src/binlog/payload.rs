//! TRANSACTION_PAYLOAD: a whole transaction's events, compressed together.

use std::io::Read;

use super::inflate::UNPACKED_LEN_MAX;
use crate::{Malformed, Reader};

use super::event::EventHeader;

const FIELD_END: u64 = 0;
const FIELD_COMPRESSION: u64 = 2;
const FIELD_UNPACKED_LEN: u64 = 3;

const COMPRESSION_ZSTD: u64 = 0;
const COMPRESSION_NONE: u64 = 255;

/// The largest window that zstd's highest level uses, as a power of two.
const WINDOW_LOG_MAX: u32 = 27;

const BROKEN: Malformed = Malformed::new("broken compressed transaction");

/// Calls `each` with the bytes of every event inside, header included; they
/// carry no checksums. False if it is larger than the bound or compressed in
/// an unknown way, perhaps after some events.
pub(super) fn each_event(
    body: &[u8],
    each: &mut dyn FnMut(&[u8]) -> Result<(), Malformed>,
) -> Result<bool, Malformed> {
    let mut reader = Reader::new(body);
    let (compression, len) = fields(&mut reader)?;
    if len > UNPACKED_LEN_MAX as u64 {
        return Ok(false);
    }
    match compression {
        COMPRESSION_NONE => split(reader.rest(), each),
        COMPRESSION_ZSTD => {
            let mut zstd = zstd::stream::read::Decoder::new(reader.rest()).map_err(|_e| BROKEN)?;
            zstd.window_log_max(WINDOW_LOG_MAX).map_err(|_e| BROKEN)?;
            split(zstd, each)
        }
        _ => Ok(false),
    }
}

/// Returns the fields before the payload: number, length, value.
fn fields(reader: &mut Reader<'_>) -> Result<(u64, u64), Malformed> {
    let (mut compression, mut unpacked_len) = (COMPRESSION_NONE, 0);
    loop {
        let field = reader.lenenc_int()?;
        if field == FIELD_END {
            return Ok((compression, unpacked_len));
        }
        let mut value = Reader::new(reader.lenenc_bytes()?);
        match field {
            FIELD_COMPRESSION => compression = value.lenenc_int()?,
            FIELD_UNPACKED_LEN => unpacked_len = value.lenenc_int()?,
            _ => {}
        }
    }
}

/// Cuts the stream into events as it is unpacked, so that only one of them is
/// held beside what it decodes to.
fn split(
    mut source: impl Read,
    each: &mut dyn FnMut(&[u8]) -> Result<(), Malformed>,
) -> Result<bool, Malformed> {
    let mut event = Vec::new();
    let mut budget = UNPACKED_LEN_MAX;
    loop {
        event.clear();
        fill(&mut source, EventHeader::LEN, &mut event)?;
        if event.is_empty() {
            return Ok(true);
        }
        let size = EventHeader::parse(&event)?.size as usize;
        if size > budget {
            return Ok(false);
        }
        budget -= size;
        let body_len = size.checked_sub(EventHeader::LEN).ok_or(BROKEN)?;
        fill(&mut source, body_len, &mut event)?;
        if event.len() != size {
            return Err(BROKEN);
        }
        each(&event)?;
    }
}

/// Appends up to `len` bytes; fewer only at the end.
fn fill(source: &mut impl Read, len: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    source.take(len as u64).read_to_end(out).map_err(|_broken| BROKEN)?;
    Ok(())
}
