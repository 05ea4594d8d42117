//! The four bytes at an event's end.

use crate::Malformed;

/// Length of a checksum in bytes.
const LEN: usize = 4;
/// The header's flag of a file that is still being written; it is left out of the sum, because the server clears it in place when it
/// closes the file.
const IN_USE: u8 = 1;
/// Where the low byte of the header's flags stands.
const FLAGS_AT: usize = 17;

/// Whether events end with a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// No format description has been seen. The stream's first event, an
    /// artificial rotate, comes before it with or without a checksum, as the
    /// session asked for.
    Unknown,
    None,
    Crc32,
}

impl Checksum {
    /// Returns the algorithm that the byte before a format description's checksum names.
    pub(super) fn from_byte(byte: u8) -> Result<Self, Malformed> {
        match byte {
            0 => Ok(Checksum::None),
            1 => Ok(Checksum::Crc32),
            _ => Err(Malformed::new("unknown binlog checksum algorithm")),
        }
    }

    /// Returns the event without its checksum, which is verified.
    pub(super) fn strip(self, event: &[u8]) -> Result<&[u8], Malformed> {
        match self {
            Checksum::None => Ok(event),
            Checksum::Crc32 => strip_crc32(event).ok_or(Malformed::new("binlog event fails its checksum")),
            // A sum that matches by chance has odds of one to four billion, and would only garble the name of the file that the event
            // announces.
            Checksum::Unknown => Ok(strip_crc32(event).unwrap_or(event)),
        }
    }
}

fn strip_crc32(event: &[u8]) -> Option<&[u8]> {
    let (summed, sum) = event.split_last_chunk::<LEN>()?;
    (crc32fast::hash(summed) == u32::from_le_bytes(*sum)).then_some(summed)
}

/// Returns a format description without its checksum. It always has one, because it names the algorithm.
pub(super) fn strip_format(event: &[u8]) -> Result<&[u8], Malformed> {
    const BAD: Malformed = Malformed::new("binlog format description fails its checksum");
    let (summed, sum) = event.split_last_chunk::<LEN>().ok_or(BAD)?;
    let flags = *summed.get(FLAGS_AT).ok_or(BAD)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&summed[..FLAGS_AT]);
    hasher.update(&[flags & !IN_USE]);
    hasher.update(&summed[FLAGS_AT + 1..]);
    if hasher.finalize() == u32::from_le_bytes(*sum) { Ok(summed) } else { Err(BAD) }
}
