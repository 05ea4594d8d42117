//! Points in the upstream's history.

use std::fmt;

/// A point in the upstream's binlog, totally ordered over the whole life of the process.
///
/// The cache compares positions and never looks inside one. The follower maps (stream generation, file, offset) to a position, so that a
/// position of a later generation is greater than every earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

impl Position {
    /// Before everything that was ever followed. Nothing is stamped here.
    pub const ZERO: Self = Self(0);

    /// After everything that will ever be followed. No change outdates a result that is valid from here: see [`crate::Fill::is_bargain`].
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the position with this place in the total order.
    #[must_use]
    #[inline]
    pub const fn new(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the place in the total order.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
