//! What became of a result that was to be stored.

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// It is stored.
    Stored,
    /// One of the same key that is at least as new is stored already.
    Outdated,
    /// Larger than the limit for one result, or than the whole cache; or under a key of more than 256 KiB.
    TooLarge,
    /// No room could be made for it now.
    NoRoom,
    /// Something that it depends on has changed since its `valid_from`.
    Stale,
    /// The stream is not followed: nothing is stored.
    NotLive,
    /// The size is 0.
    Off,
}

impl Insert {
    /// Whether it, or one that is as good, is stored now.
    #[must_use]
    pub const fn is_in_memory(self) -> bool {
        matches!(self, Self::Stored | Self::Outdated)
    }
}
