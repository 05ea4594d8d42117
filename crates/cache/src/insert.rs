//! The outcome of an insert.

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// The result is stored.
    Stored,
    /// A result of the same key that is at least as new is stored already.
    Outdated,
    /// The result is larger than the limit for one result, or than the whole cache; or its key is longer than 256 KiB.
    TooLarge,
    /// No room could be made for the result now.
    NoRoom,
    /// A dependency of the result has changed since its `valid_from`.
    Stale,
    /// The stream is not followed: nothing is stored.
    NotLive,
    /// The cache's size is 0.
    Off,
}

impl Insert {
    /// Whether this result, or one that is as good, is stored now.
    #[must_use]
    pub const fn is_in_memory(self) -> bool {
        matches!(self, Self::Stored | Self::Outdated)
    }
}
