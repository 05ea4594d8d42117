//! Exact numbers, kept as the server packs them and printed as it prints them.

use std::fmt;

/// A DECIMAL value, not yet unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal<'a> {
    precision: u8,
    scale: u8,
    packed: &'a [u8],
}

impl fmt::Display for Decimal<'_> {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
