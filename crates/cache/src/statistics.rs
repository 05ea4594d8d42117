//! What the cache counts.

/// Counters since the start, and the state now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Lookups that were answered.
    pub hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
    /// Lookups that found an entry which a change has killed.
    pub stale: u64,
    /// Lookups that found an entry under a fence.
    pub fenced: u64,
    /// Lookups while the stream was not proven live.
    pub not_live: u64,
    /// Results stored.
    pub inserts: u64,
    /// Statements that were not to be cached, counted by [`crate::Cache::count_not_cached`], and results refused.
    pub not_cached: u64,
    /// Entries evicted because their memory was needed.
    pub lowmem_prunes: u64,
    /// Entries removed because a change had killed them.
    pub invalidated: u64,
    /// Entries stored now, dead ones included.
    pub queries_in_cache: u64,
    /// Bytes that may be used, all overhead included.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// `size - used`.
    pub free_memory: u64,
}
