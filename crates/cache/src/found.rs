//! Which entries lookups search, and what they find.

/// What a lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<R> {
    /// A servable entry, and the value that the caller's function made of it.
    Hit(R),
    /// Nothing under this key, or the cache is off.
    Miss,
    /// An entry that a change has killed.
    Stale {
        /// [`Cache::fingerprint`] of its body: when the result is stored anew, it shows whether the result has changed at all.
        body: u64,
    },
    /// An entry that a write under way may change.
    Fenced,
    /// An entry of which it is not known yet whether it is true at the reader's moment: see [`Ruling::Unsettled`].
    Unsettled,
    /// An entry that is newer than its reader's moment, or that its reader has changed.
    Moved,
    /// The stream is not proven live: nothing is served.
    NotLive,
    /// A servable entry that the caller declined.
    Declined,
    /// An entry that is due for refreshing: this client makes it anew, and all others still get it.
    Due,
}

/// Which entries a look-up may find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupKind {
    /// Those that the one rule lets be served.
    Proven,
    /// Those that the rule for one moment lets be served. The reader refreshes no entry: its results may not be stored.
    AsOf,
    /// Those that are served until they expire.
    Bargain,
}
