//! The rest of a packet that has begun to arrive: bounded in time, and in memory as it grows.

use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use freshet_protocol::{CompressedHeader, FrameHeader, HEADER_LEN};
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout};

use super::pace::Pace;
use super::{READ_BYTES, Wire, WireError, below};
use crate::counters;

/// How long a client waits for memory for its packet before it is refused.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(10);
/// The step, in bytes, in which a packet's memory is counted, once it has as much.
const STEP_BYTES_MAX: usize = 1 << 20;
/// The step, in bytes, in which a packet of several frames gets its memory.
const ROOM_BYTES_MAX: usize = 64 << 20;
/// While others wait for memory, a client that holds some has to send at least this many bytes of its packet in each period.
const PACE_BYTES_MIN: usize = 64 * 1024;
const PACE_PERIOD: Duration = Duration::from_secs(1);

impl Wire {
    /// Reads once more of the packet that has begun to arrive.
    ///
    /// # Errors
    /// The errors of [`Wire::fill`]; [`WireError::ReadTimeout`] if nothing has arrived for too long, or too little
    /// while others wait for memory; [`WireError::NoMemory`].
    pub(super) async fn fill_rest(&mut self) -> Result<(), WireError> {
        let bytes_max = match &self.compressed {
            None => self.make_room(missing(&self.read)).await?,
            Some(_) => self.make_packed_room().await?,
        };
        let patience = self.bounds.net_read_timeout;
        let mut waited = Duration::ZERO;
        while waited < patience {
            let Some(stream) = &mut self.stream else { return Err(WireError::Closed) };
            let wait = (patience - waited).min(PACE_PERIOD);
            let mut rest = below(&mut self.read, &mut self.compressed).limit(bytes_max);
            match timeout(wait, stream.read_buf(&mut rest)).await {
                Ok(read) => match read? {
                    0 => return Err(WireError::Truncated),
                    read => return self.keeps_pace(read),
                },
                Err(_) => self.keeps_pace(0)?,
            }
            waited += wait;
        }
        Err(self.too_slow())
    }

    /// Makes room for the next read, and returns how many bytes that read may bring. Memory is counted as the packet grows, so a client
    /// has to send it and not only announce it. Not much beyond the packet is read, so that nothing of the next one has to
    /// be moved out of a large buffer.
    async fn make_room(&mut self, missing: usize) -> Result<usize, WireError> {
        let len = self.read.len();
        let wanted = missing.max(READ_BYTES);
        let more = wanted.min(len.clamp(READ_BYTES, STEP_BYTES_MAX));
        if !self.received.cover_in_time(&self.bounds.receive, len + more, ROOM_WAIT_MAX).await {
            return Err(WireError::NoMemory);
        }
        if self.read.capacity() < len + more {
            let mut larger = BytesMut::with_capacity(len + self.room(wanted, more));
            larger.extend_from_slice(&self.read);
            self.read = larger;
        }
        Ok(more)
    }

    /// Like [`Self::make_room`], with compression: a complete frame is unpacked at once, so it is counted when it is announced.
    async fn make_packed_room(&mut self) -> Result<usize, WireError> {
        let announced = CompressedHeader::parse(self.incoming()).map_or(0, |header| header.announced());
        let bytes = self.read.len() + self.incoming().len() + announced + READ_BYTES;
        if !self.received.cover_in_time(&self.bounds.receive, bytes, ROOM_WAIT_MAX).await {
            return Err(WireError::NoMemory);
        }
        below(&mut self.read, &mut self.compressed).reserve(READ_BYTES);
        Ok(bytes)
    }

    /// Returns how much larger the buffer becomes. Untouched memory costs nothing, and moved memory exists twice for a
    /// time: a packet that is really arriving gets its whole room at once, also if it has several frames.
    fn room(&self, wanted: usize, more: usize) -> usize {
        let len = self.read.len();
        let is_continued = FrameHeader::parse(&self.read).is_some_and(|header| header.is_continued());
        match len {
            0..STEP_BYTES_MAX => more,
            _ if is_continued => wanted.max(self.packet_bytes_max.saturating_sub(len).min(ROOM_BYTES_MAX)),
            _ => wanted,
        }
    }

    /// Counts the bytes that have arrived. Fails if they are too few while others wait for memory that this client holds.
    fn keeps_pace(&mut self, bytes: usize) -> Result<(), WireError> {
        if !self.received.is_held() {
            return Ok(());
        }
        let now = Instant::now();
        let pace = self.pace.get_or_insert(Pace { since: now, bytes: 0 });
        pace.bytes += bytes;
        if now - pace.since < PACE_PERIOD {
            return Ok(());
        }
        let is_slow = pace.bytes < PACE_BYTES_MIN && self.bounds.receive.is_wanted();
        self.pace = Some(Pace { since: now, bytes: 0 });
        if is_slow { Err(self.too_slow()) } else { Ok(()) }
    }

    fn too_slow(&self) -> WireError {
        counters::count(&self.bounds.read_timeouts);
        WireError::ReadTimeout
    }

    /// Gives the memory of a packet back that will not be handled any more.
    pub(crate) fn give_packet_up(&mut self) {
        self.read = BytesMut::new();
        *below(&mut self.read, &mut self.compressed) = BytesMut::new();
        self.received.release_when_returned();
    }

    /// Gives the memory of a handled packet back, and keeps the bytes after it.
    pub(super) fn packet_is_done(&mut self) {
        if self.received.is_held() {
            self.read = BytesMut::from(&self.read[..]);
            let below = below(&mut self.read, &mut self.compressed);
            *below = BytesMut::from(&below[..]);
            self.received.release();
            self.pace = None;
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.give_packet_up();
    }
}

/// Returns how many bytes of the packet at the front of `buffer` are known to be missing: the rest of its last frame, or of a
/// header.
fn missing(buffer: &[u8]) -> usize {
    let mut at = 0;
    while let Some(header) = FrameHeader::parse(buffer.get(at..).unwrap_or_default()) {
        at += HEADER_LEN + header.len;
        if at > buffer.len() || !header.is_continued() {
            return at.saturating_sub(buffer.len());
        }
    }
    at + HEADER_LEN - buffer.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_that_is_announced_says_what_is_missing() {
        assert_eq!(missing(b""), 4);
        assert_eq!(missing(b"\x05\0"), 2);
        assert_eq!(missing(b"\x05\0\0\0"), 5);
        assert_eq!(missing(b"\x05\0\0\0abc"), 2);
        assert_eq!(missing(b"\x05\0\0\0abcde"), 0);
        let mut full = vec![0xff, 0xff, 0xff, 0];
        full.resize(4 + 0xff_ffff, 7);
        assert_eq!(missing(&full), 4);
        full.extend([3, 0, 0, 1, 9]);
        assert_eq!(missing(&full), 2);
    }
}
