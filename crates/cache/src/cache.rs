//! The store (skeleton).
#![allow(clippy::unimplemented, missing_docs, unused_variables, dead_code, clippy::missing_const_for_fn)]
use crate::{Entry, Fill, Freshness, Key, Statistics};
use std::sync::Arc;

/// What a lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<R> {
    /// A servable entry, and what was made of it.
    Hit(R),
    /// Nothing under this key, or the cache is off.
    Miss,
    /// An entry that a change has killed.
    Stale,
    /// An entry that a write under way may change.
    Fenced,
    /// The stream is not proven live: nothing is served.
    NotLive,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// It is stored (or a newer one is).
    Stored,
    /// Larger than the limit for one result, or than the whole cache.
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

pub struct Cache {
    freshness: Arc<Freshness>,
}

impl Cache {
    #[must_use]
    pub fn new(freshness: Arc<Freshness>, size_bytes: usize, limit_bytes: usize) -> Self {
        unimplemented!()
    }
    pub fn freshness(&self) -> &Arc<Freshness> {
        &self.freshness
    }
    /// Looks up; `f` runs only on a hit.
    pub fn get<R>(&self, key: Key<'_>, now_ms: u64, f: impl FnOnce(&Entry<'_>) -> R) -> Lookup<R> {
        unimplemented!()
    }
    pub fn insert(&self, key: Key<'_>, fill: Fill) -> Insert {
        unimplemented!()
    }
    /// Evicts at once when it goes down; 0 turns the cache off.
    pub fn resize(&self, bytes: usize) {
        unimplemented!()
    }
    /// The largest body that is stored, in bytes.
    pub fn set_limit(&self, bytes: usize) {
        unimplemented!()
    }
    pub fn limit(&self) -> usize {
        unimplemented!()
    }
    pub fn size(&self) -> usize {
        unimplemented!()
    }
    pub fn used(&self) -> usize {
        unimplemented!()
    }
    pub fn entries(&self) -> usize {
        unimplemented!()
    }
    pub fn clear(&self) {
        unimplemented!()
    }
    pub fn statistics(&self) -> Statistics {
        unimplemented!()
    }
    pub fn count_not_cached(&self) {
        unimplemented!()
    }
    /// Looks at up to `budget` entries and reclaims those that can never be served again; returns how many.
    pub fn sweep(&self, budget: usize) -> usize {
        unimplemented!()
    }
}
