//! Frames: how a payload of any length travels in pieces of at most 16 MiB - 1,
//! each behind a header of its length and a sequence number.

#[cfg(test)]
mod tests;

use ::bytes::{Buf, BufMut, BytesMut};

/// The longest payload of one frame, in bytes. A frame of exactly this length
/// is continued by the next one, which may be empty.
pub const FRAME_MAX: usize = 0xFF_FFFF;

/// The length of a frame's header, in bytes.
pub const HEADER_LEN: usize = 4;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The length of the payload that follows, at most [`FRAME_MAX`] bytes.
    pub len: usize,
    /// The sequence number, which starts anew with each command and wraps.
    pub seq: u8,
}

impl FrameHeader {
    /// Reads a header from the front of `bytes`; None if there are too few.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, seq] = *bytes.first_chunk::<HEADER_LEN>()?;
        Some(Self { len: usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, seq })
    }

    /// Returns the header's bytes. A length beyond [`FRAME_MAX`] loses its high bits.
    #[must_use]
    pub const fn encode(self) -> [u8; HEADER_LEN] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        [a, b, c, self.seq]
    }

    /// Whether the next frame belongs to the same packet.
    #[must_use]
    pub const fn is_continued(self) -> bool {
        self.len == FRAME_MAX
    }
}

/// A whole packet, joined from its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sequence number of its first frame.
    pub first_seq: u8,
    /// The sequence number of its last frame; an answer starts one above.
    pub last_seq: u8,
    /// The payload, without headers.
    pub payload: BytesMut,
}

/// Why no packet can be taken from a buffer, now or ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The packet is longer than the reader allows.
    #[error("a packet of at least {len} bytes exceeds the maximum of {max}")]
    TooLarge {
        /// Its length as far as it is known, in bytes.
        len: usize,
        /// What the reader allows, in bytes.
        max: usize,
    },
    /// A continuation does not carry the next sequence number.
    #[error("packets out of order")]
    OutOfOrder,
}

/// Where a whole packet lies in a buffer.
struct Extent {
    first_seq: u8,
    last_seq: u8,
    frames: usize,
    payload_len: usize,
}

/// Whether the sequence numbers of a packet's frames say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Each is one above the one before.
    Counts,
    /// They are not looked at, as inside of compressed frames, which have numbers of their own.
    Ignored,
}

/// Walks the headers of the first packet; None if its last frame is not there.
fn extent(buf: &[u8], max_len: usize, numbering: Numbering) -> Result<Option<Extent>, FrameError> {
    let mut found: Option<Extent> = None;
    let mut at = 0;
    while let Some(header) = buf.get(at..).and_then(FrameHeader::parse) {
        let before = found.take().unwrap_or(Extent {
            first_seq: header.seq,
            last_seq: header.seq.wrapping_sub(1),
            frames: 0,
            payload_len: 0,
        });
        if numbering == Numbering::Counts && header.seq != before.last_seq.wrapping_add(1) {
            return Err(FrameError::OutOfOrder);
        }
        let payload_len = before.payload_len + header.len;
        if payload_len > max_len {
            return Err(FrameError::TooLarge { len: payload_len, max: max_len });
        }
        let now = Extent { last_seq: header.seq, frames: before.frames + 1, payload_len, ..before };
        at += HEADER_LEN + header.len;
        if !header.is_continued() {
            return Ok((buf.len() >= at).then_some(now));
        }
        found = Some(now);
    }
    Ok(None)
}

/// Takes the first whole packet from the front of `buf`; None if more bytes
/// are needed. A packet of one frame, as nearly all are, is not copied.
///
/// `max_len` bounds the joined payload, in bytes. A buffer that is filled only
/// as long as this returns None therefore stays below `max_len`, the headers
/// and one read.
///
/// # Errors
/// [`FrameError::TooLarge`] as soon as a header announces more than `max_len`,
/// before the bytes arrive; [`FrameError::OutOfOrder`] for a continuation with
/// a wrong sequence number. The buffer is then as it was.
pub fn take_packet(buf: &mut BytesMut, max_len: usize) -> Result<Option<Packet>, FrameError> {
    take_packet_numbered(buf, max_len, Numbering::Counts)
}

/// As [`take_packet`], with the sequence numbers of continuations looked at or not.
///
/// # Errors
/// As [`take_packet`].
pub fn take_packet_numbered(
    buf: &mut BytesMut,
    max_len: usize,
    numbering: Numbering,
) -> Result<Option<Packet>, FrameError> {
    let Some(extent) = extent(buf, max_len, numbering)? else { return Ok(None) };
    let payload = if extent.frames == 1 {
        buf.advance(HEADER_LEN);
        buf.split_to(extent.payload_len)
    } else {
        join(buf, &extent)
    };
    Ok(Some(Packet { first_seq: extent.first_seq, last_seq: extent.last_seq, payload }))
}

/// Joins the frames of a packet that is known to be whole, in the memory that they are in.
fn join(buf: &mut BytesMut, extent: &Extent) -> BytesMut {
    let (mut from, mut end) = (0, HEADER_LEN);
    let payload_end = HEADER_LEN + extent.payload_len;
    while end < payload_end {
        from += HEADER_LEN;
        let piece = FRAME_MAX.min(payload_end - end);
        buf.copy_within(from..from + piece, end);
        from += piece;
        end += piece;
    }
    let mut packet = buf.split_to(extent.payload_len + extent.frames * HEADER_LEN);
    packet.truncate(payload_end);
    packet.advance(HEADER_LEN);
    packet
}

/// Appends a payload of any length as frames, and advances `seq` past the last.
/// A payload that fills its last frame exactly is followed by an empty one.
pub fn put_packet(out: &mut BytesMut, seq: &mut u8, payload: &[u8]) {
    let frames = payload.len() / FRAME_MAX + 1;
    out.reserve(payload.len() + frames * HEADER_LEN);
    for piece in payload.chunks(FRAME_MAX).chain(ends_full(payload).then_some(&[][..])) {
        out.put_slice(&FrameHeader { len: piece.len(), seq: *seq }.encode());
        out.put_slice(piece);
        *seq = seq.wrapping_add(1);
    }
}

/// Whether an empty frame must say that the payload ends. True of the empty
/// payload, too, which is one empty frame.
const fn ends_full(payload: &[u8]) -> bool {
    payload.len().is_multiple_of(FRAME_MAX)
}
