//! Reading and writing the protocol's elementary types: little-endian
//! integers, length-encoded integers and strings, NUL-terminated strings.

#[cfg(test)]
mod tests;

use ::bytes::{BufMut, BytesMut};

/// A packet that is not what the protocol says it must be.
///
/// The bytes came from outside, so this is an ordinary outcome and carries no
/// more than which part was wrong; clients are told `ER_MALFORMED_PACKET`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {what}")]
pub struct Malformed {
    /// The part that could not be read.
    pub what: &'static str,
}

impl Malformed {
    /// The server's error number for such a packet.
    pub const ER_MALFORMED_PACKET: u16 = 1835;

    /// Names the part that could not be read.
    #[must_use]
    pub const fn new(what: &'static str) -> Self {
        Self { what }
    }
}

/// The prefix of a length-encoded integer of two bytes.
const LENENC_2: u8 = 0xFC;
/// The prefix of a length-encoded integer of three bytes.
const LENENC_3: u8 = 0xFD;
/// The prefix of a length-encoded integer of eight bytes.
const LENENC_8: u8 = 0xFE;
/// The largest value that stands for itself in one byte; 0xFB is NULL.
const LENENC_1_MAX: u64 = 0xFA;
/// The smallest value that does not.
const LENENC_1_PAST: u64 = LENENC_1_MAX + 1;

/// A cursor over one payload. Every method takes from the front, or fails and
/// takes nothing that matters: after an error the packet is to be given up.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the next byte, which stays where it is.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Returns everything that is left, which may be nothing.
    #[must_use]
    pub const fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes;
        self.bytes = &[];
        rest
    }

    /// Takes the next `n` bytes.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or(Malformed::new("truncated"))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes, copied.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Malformed::new("truncated"))?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Takes a byte.
    ///
    /// # Errors
    /// If none is left.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Three bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u24(&mut self) -> Result<u32, Malformed> {
        self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Six bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u48(&mut self) -> Result<u64, Malformed> {
        self.array().map(|[a, b, c, d, e, f]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Takes a length-encoded integer. Overlong forms are accepted, as every server
    /// and client accepts them; NULL (0xFB) and 0xFF are no integers.
    ///
    /// # Errors
    /// If it is truncated or no integer.
    pub fn lenenc_int(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            LENENC_2 => self.u16().map(u64::from),
            LENENC_3 => self.u24().map(u64::from),
            LENENC_8 => self.u64(),
            byte if u64::from(byte) <= LENENC_1_MAX => Ok(u64::from(byte)),
            _ => Err(Malformed::new("length-encoded integer")),
        }
    }

    /// Takes a length-encoded string.
    ///
    /// # Errors
    /// If the length is no integer or exceeds what is left.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc_int()?;
        self.take(usize::try_from(len).map_err(|_| Malformed::new("length"))?)
    }

    /// Takes a string up to a NUL, which is taken too but not returned.
    ///
    /// # Errors
    /// If there is no NUL.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.bytes.iter().position(|&byte| byte == 0);
        let taken = self.take(len.ok_or(Malformed::new("unterminated string"))?)?;
        self.u8()?;
        Ok(taken)
    }
}

/// Appends the protocol's elementary types to a growing buffer. Fixed-width
/// integers are [`BufMut`]'s own (`put_u16_le` and its kin).
pub trait Put: BufMut {
    /// Appends a length-encoded integer in its shortest form.
    fn put_lenenc_int(&mut self, value: u64) {
        match value {
            0..=LENENC_1_MAX => self.put_uint_le(value, 1),
            LENENC_1_PAST..=0xFFFF => {
                self.put_u8(LENENC_2);
                self.put_uint_le(value, 2);
            }
            0x1_0000..=0xFF_FFFF => {
                self.put_u8(LENENC_3);
                self.put_uint_le(value, 3);
            }
            _ => {
                self.put_u8(LENENC_8);
                self.put_u64_le(value);
            }
        }
    }

    /// Appends a length-encoded string.
    fn put_lenenc_bytes(&mut self, bytes: &[u8]) {
        self.put_lenenc_int(bytes.len() as u64);
        self.put_slice(bytes);
    }

    /// Appends a NUL-terminated string. What follows a NUL inside it would be
    /// read as the next field, so it is cut there: a name can hold no NUL.
    fn put_nul_bytes(&mut self, bytes: &[u8]) {
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        self.put_slice(bytes.split_at(len).0);
        self.put_u8(0);
    }
}

// Only buffers that grow: writing to any other `BufMut` can run out of room.
impl Put for Vec<u8> {}
impl Put for BytesMut {}
