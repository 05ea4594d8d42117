//! What look-ups look for, and what they find.

/// What a lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<R> {
    /// A servable entry, and what was made of it.
    Hit(R),
    /// Nothing under this key, or the cache is off.
    Miss,
    /// An entry that a change has killed.
    Stale {
        /// [`Cache::fingerprint`] of its body: whether the change was for nothing shows when the result is stored anew.
        body: u64,
    },
    /// An entry that a write under way may change.
    Fenced,
    /// An entry of which it is not known yet whether it is that of its reader's moment: see [`Ruling::Unsettled`].
    Unsettled,
    /// An entry that was read after its reader's moment, or that its reader has changed.
    Moved,
    /// The stream is not proven live: nothing is served.
    NotLive,
    /// A servable entry that was not wanted after all.
    Declined,
    /// An entry that is to be made anew by whoever has asked, and is served to all others meanwhile.
    Due,
}

/// Which entries a look-up may find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupKind {
    /// Those that the rule lets be served.
    Proven,
    /// The same, for a reader of one moment. It makes nothing anew: what it reads may not be stored.
    AsOf,
    /// Those that are served until they expire.
    Bargain,
}
