//! The number of a digest text.

use std::fmt;
use std::str::FromStr;

use crate::spooky;

/// The number of a digest text, written `0xBF001A0C13781C1D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u64);

/// Not a number of up to 16 hexadecimal digits, with or without `0x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotADigest;

impl Digest {
    /// Returns the number of this digest text.
    #[must_use]
    pub fn of(digest_text: &[u8]) -> Self {
        Self(spooky::hash64(digest_text))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016X}", self.0)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let text = text.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let all_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| all_digits);
        number.map(Self).ok_or(NotADigest)
    }
}
