//! What the cache counts.

use crate::striped::Striped;

/// Counters since the start (hits, inserts, `not_cached` and `lowmem_prunes` since [`crate::Cache::flush_statistics`]), and the state now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Lookups that were answered.
    pub hits: u64,
    /// Lookups that found no entry.
    pub misses: u64,
    /// Lookups that found an entry which a change has made stale.
    pub stale: u64,
    /// Lookups that found an entry under a fence.
    pub fenced: u64,
    /// Lookups of readers of one moment that found an entry which may show transactions that are not applied.
    pub unsettled: u64,
    /// Lookups of readers of one moment that found an entry which is newer than the moment, or which the reader has changed.
    pub moved: u64,
    /// Lookups while the stream was not proven live.
    pub not_live: u64,
    /// Results stored.
    pub inserts: u64,
    /// Statements that were not to be cached, counted by [`crate::Cache::count_not_cached`], and results refused.
    pub not_cached: u64,
    /// Entries evicted because their memory was needed.
    pub lowmem_prunes: u64,
    /// Entries removed because a change had made them stale.
    pub invalidated: u64,
    /// Results that were stale when they were asked for, and were stored anew.
    pub refilled: u64,
    /// Those of the `refilled` that had not changed at all: the change concerned something else.
    pub needless: u64,
    /// Bytes of the packets of results that were stored.
    pub bytes_stored: u64,
    /// Entries stored now, dead ones included.
    pub queries_in_cache: u64,
    /// Bytes that may be used, all overhead included.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// `size - used`.
    pub free_memory: u64,
}

/// The counters, each as its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Hits,
    Misses,
    Stale,
    Fenced,
    Unsettled,
    Moved,
    NotLive,
    Inserts,
    NotCached,
    LowmemPrunes,
    Invalidated,
    Refilled,
    Needless,
    BytesStored,
}

const COUNTS: usize = Count::BytesStored as usize + 1;

#[derive(Default)]
pub(crate) struct Counters(Striped<COUNTS>);

impl Counters {
    #[inline]
    pub(crate) fn add(&self, count: Count) {
        self.0.add(count as usize);
    }

    pub(crate) fn add_many(&self, count: Count, many: u64) {
        self.0.add_many(count as usize, many);
    }

    fn sum(&self, count: Count) -> u64 {
        self.0.sum(count as usize)
    }

    /// Sets those counters to 0 that FLUSH STATUS sets to 0 in the native query cache. What is counted at the same moment may be lost.
    pub(crate) fn flush(&self) {
        for count in [Count::Hits, Count::Inserts, Count::NotCached, Count::LowmemPrunes] {
            self.0.begin_anew(count as usize);
        }
    }

    /// Returns the counters. The caller fills in the present state.
    pub(crate) fn read(&self) -> Statistics {
        Statistics {
            hits: self.sum(Count::Hits),
            misses: self.sum(Count::Misses),
            stale: self.sum(Count::Stale),
            fenced: self.sum(Count::Fenced),
            unsettled: self.sum(Count::Unsettled),
            moved: self.sum(Count::Moved),
            not_live: self.sum(Count::NotLive),
            inserts: self.sum(Count::Inserts),
            not_cached: self.sum(Count::NotCached),
            lowmem_prunes: self.sum(Count::LowmemPrunes),
            invalidated: self.sum(Count::Invalidated),
            refilled: self.sum(Count::Refilled),
            needless: self.sum(Count::Needless),
            bytes_stored: self.sum(Count::BytesStored),
            ..Statistics::default()
        }
    }
}
