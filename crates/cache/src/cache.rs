//! The store: results under their full keys, within a strict bound of bytes.
//!
//! # Shape
//!
//! 64 shards, each an index and two queues (`slab`, `shard`) and memory for its entries (`arena`) behind a lock of its own,
//! and one budget for all of them (`budget`). A hash with a seed of this process chooses the shard; the whole key is
//! compared. Entries lie in blocks of one size, so that a change in the sizes of results leaves no holes that only the old
//! sizes fit; large bodies lie apart (`large`). All of it is memory straight from the system (`memory`).
//!
//! # Bound
//!
//! `used()` counts all blocks that hold something, with their links; large bodies in whole pages, also those that were evicted while a hit
//! still copies them; slots, the lines of the index and ghosts. Memory is reserved before it is taken and released after it is given back,
//! so `used()` never grows beyond `size()`. When the size goes down, nothing gets in until [`Cache::trim`] has evicted enough.
//!
//! Not counted are the cells (2.3 MiB) and the slots (up to 17 MiB, in pages that are taken only as rows change), the empty shards and
//! the counters (about 130 KiB), and two things that constants of the code bound: the free blocks of chunks in use, at most one chunk (136
//! KiB) per shard and one block in 32; and the rest of the last page of each shard's arrays (12 KiB).
//!
//! So the process holds little more than that. The test in `tests/memory.rs` changes the sizes of results from hundreds of bytes to tens
//! of thousands and back, mixed, on other threads. The resident memory was 106 to 117 % of a cache of 96 MiB at any moment, and 6 % after
//! the cache was cleared.
//!
//! # Locks
//!
//! A lookup takes its shard's lock *shared*: the part of the lock that belongs to its thread. Hits do not exclude each other. An insert,
//! an eviction or a removal takes the lock exclusively, for a copy of the result and some loads and stores. Memory goes back to the
//! system outside of the lock, and a thread never holds more than one shard's lock. A hit copies the entry under the shared lock. Bodies
//! of 256 KiB and more are copied after it, on a counted reference, and are written before the lock is taken.
//!
//! Measured with `examples/hit_cost.rs` on two cores that others used too; 200 bytes are copied; "spread" means over 20,000 keys. The
//! numbers are nanoseconds from one hit of a thread to its next:
//!
//! | | one key, 1 thread | one key, 2 | spread, 1 | spread, 2 |
//! |---|---|---|---|---|
//! | a table that nobody locks | 16 | 25 to 28 | 51 to 57 | 79 to 93 |
//! | shared lock | 21 to 24 | 47 to 158 | 56 to 66 | 90 to 136 |
//! | shared lock and a counted reference | 32 to 36 | 87 to 278 | 58 to 61 | 113 to 122 |
//! | mutex | 21 to 33 | 43 to 198 | 57 to 61 | 107 to 143 |
//! | **this store**: the first, with rule, queues, bound, counters | 48 to 56 | 57 to 100 | 131 to 176 | 195 to 342 |
//! | the rule alone | 6 to 11 | 6 to 14 | 6 to 9 | 6 to 13 |
//!
//! A mutex costs the same until a body is large or its holder is descheduled; then all threads that want the shard sleep. At 64 KiB and
//! one key, two threads: mutex 4,047 ns, shared 1,521. Without any lock, a hit would save some 30 ns of the thousands that reading and
//! writing the sockets takes. That needs reclamation by epochs, which frees late: the bound would no longer be strict.
//!
//! The shared side of a lock is eight parts on cache lines of their own, so that hits on several threads write no line in common. Where
//! all threads wrote one line, two threads on one key took 97 to 113 ns on the same machine at the same time. The price is that a change
//! of a shard takes eight locks: a fraction of a microsecond, which is little beside a question to the server.

mod admission;
mod lookup;
mod one_moment;
mod sweep;

use crate::budget::{Budget, Charge};
use crate::curve::{Curve, CurvePoint};
use crate::found::{Lookup, LookupKind};
use crate::insert::Insert;
use crate::large::Large;
use crate::shard::{Around, FIRST_INDEX_BYTES, Inserted, IsDead, Left, Shard};
use crate::snapshot::Ruling;
use crate::statistics::{Count, Counters};
use crate::stored::{self, NewEntry, Stored};
use crate::yields::Yields;
use crate::{Body, Entry, Fences, Fill, Freshness, Key, Position, Statistics, TimedKey};
use ahash::RandomState;
use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, TryLockError};

pub use one_moment::MomentReader;

/// A power of two. The top bits of the hash choose one.
const SHARDS: usize = 1 << SHARDS_LOG2;
const SHARDS_LOG2: u32 = 6;
/// The longest text of a key, in bytes. Keys are copied and compared under the lock, so longer keys are refused.
const TEXT_MAX: usize = 256 << 10;
/// One call evicts no more entries than this, which takes half a millisecond. An insert that needs more stores nothing.
/// [`Cache::make_room`] and [`Cache::trim`] go on with the next call, and the caller lets others run in between.
const EVICTIONS_PER_CALL_MAX: usize = 256;
/// How often an insert makes room for a shard's first index before it gives up because other inserts took the room.
const PLACINGS_MAX: usize = 4;
/// A sweep looks at this many entries under one lock.
const SWEPT_PER_LOCK: usize = 64;

/// A shard's lock, in eight parts, each on cache lines of its own. A shared lock takes one part, which the number of the thread chooses.
/// An exclusive lock takes all parts.
#[derive(Default)]
struct Locked(ShardedLock<Shard>);

/// A poisoned lock is taken all the same: an exclusive section runs no foreign code, so it cannot have panicked half-way.
impl Locked {
    #[inline]
    fn read(&self) -> ShardedLockReadGuard<'_, Shard> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> ShardedLockWriteGuard<'_, Shard> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_write(&self) -> Option<ShardedLockWriteGuard<'_, Shard>> {
        match self.0.try_write() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// All stored results. Shared by all threads in an `Arc`.
pub struct Cache {
    freshness: Arc<Freshness>,
    budget: Arc<Budget>,
    limit_bytes: AtomicUsize,
    hash: RandomState,
    shards: Box<[Locked]>,
    /// The shard from which the next victim is taken, apart from the fields that hits read. Then the shard to be swept next, with
    /// the slot to begin at.
    victims: CachePadded<AtomicUsize>,
    swept: AtomicU64,
    counters: Counters,
    yields: Yields,
    curve: Curve,
}

impl Cache {
    /// Returns a cache of `size_bytes` (0: off) for bodies of up to `limit_bytes`. Memory for entries is taken only when they are stored.
    #[must_use]
    pub fn new(freshness: Arc<Freshness>, size_bytes: usize, limit_bytes: usize) -> Self {
        Self::with_hash(freshness, size_bytes, limit_bytes, RandomState::new())
    }

    /// Like [`Self::new`], but keys are hashed with this seed: the same seed gives the same run.
    #[must_use]
    pub fn with_hash_seed(
        freshness: Arc<Freshness>,
        size_bytes: usize,
        limit_bytes: usize,
        seed: u64,
    ) -> Self {
        let hash = RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 2);
        Self::with_hash(freshness, size_bytes, limit_bytes, hash)
    }

    fn with_hash(
        freshness: Arc<Freshness>,
        size_bytes: usize,
        limit_bytes: usize,
        hash: RandomState,
    ) -> Self {
        Self {
            freshness,
            budget: Arc::new(Budget::new(size_bytes)),
            limit_bytes: AtomicUsize::new(limit_bytes),
            hash,
            shards: (0..SHARDS).map(|_| Locked::default()).collect(),
            victims: CachePadded::default(),
            swept: AtomicU64::new(0),
            counters: Counters::default(),
            yields: Yields::default(),
            curve: Curve::default(),
        }
    }

    /// Returns the stamps and fences by which entries are judged.
    #[must_use]
    pub const fn freshness(&self) -> &Arc<Freshness> {
        &self.freshness
    }

    /// Looks up a key. [`Fences::Ignore`] says what it asks of the caller. `f` runs only on a hit, perhaps under a lock: it must not call
    /// the cache and should do no more than copy. Allocates nothing.
    pub fn get<R>(
        &self,
        key: Key<'_>,
        now_ms: u64,
        fences: Fences,
        f: impl FnOnce(&Entry<'_>) -> R,
    ) -> Lookup<R> {
        self.get_if(key, now_ms, fences, |entry| Some(f(entry)))
    }

    /// As [`Self::get`], but `f` may decline the entry; then the lookup is no hit.
    pub fn get_if<R>(
        &self,
        key: Key<'_>,
        now_ms: u64,
        fences: Fences,
        f: impl FnOnce(&Entry<'_>) -> Option<R>,
    ) -> Lookup<R> {
        let check = |stored: &Stored<'_>| {
            Ruling::from(self.freshness.check_each(stored.deps(), stored.header().valid_from, fences))
        };
        self.counted(self.look_up(TimedKey { key, now_ms }, LookupKind::Proven, check, f))
    }

    fn counted<R>(&self, found: Lookup<R>) -> Lookup<R> {
        self.counters.add(match found {
            Lookup::Hit(_) => Count::Hits,
            Lookup::Miss | Lookup::Due => Count::Misses,
            Lookup::Stale { .. } => Count::Stale,
            Lookup::Fenced => Count::Fenced,
            Lookup::Unsettled => Count::Unsettled,
            Lookup::Moved => Count::Moved,
            Lookup::NotLive => Count::NotLive,
            Lookup::Declined => return found,
        });
        found
    }

    /// Evicts some of the entries that are in the way of this result. Returns whether to call again, after others have had their turn,
    /// before [`Self::insert`]: the result may need more room than one call makes.
    pub fn make_room(&self, key: Key<'_>, fill: &Fill) -> bool {
        let (in_blocks, in_large) = stored::charge_for(key, fill);
        // While the size goes down there is room for nothing. A result that is refused needs no room.
        if self.budget.is_over() || self.refuse(key, fill).is_err() {
            return false;
        }
        let needs_more = || !self.budget.has(in_blocks + in_large);
        self.evict_while(needs_more) && needs_more()
    }

    /// Stores a result, and evicts a few other entries for it; for more, see [`Self::make_room`]. May be called at any time after the
    /// statement was sent, and needs no check before: a change since `valid_from` makes the entry unservable.
    pub fn insert(&self, key: Key<'_>, fill: Fill) -> Insert {
        self.insert_from(key, fill, self.freshness.ends_asked())
    }

    /// As [`Self::insert`], for a result that is known to show nothing that is not applied.
    pub fn insert_settled(&self, key: Key<'_>, fill: Fill) -> Insert {
        self.insert_from(key, fill, 0)
    }

    fn insert_from(&self, key: Key<'_>, fill: Fill, ends_asked: u64) -> Insert {
        let became = self.try_insert(key, &fill, ends_asked).unwrap_or_else(|refusal| refusal);
        if became.is_in_memory() {
            self.counters.add(Count::Inserts);
            self.counters.add_many(Count::BytesStored, fill.body.len() as u64);
        }
        became
    }

    fn try_insert(&self, key: Key<'_>, fill: &Fill, ends_asked: u64) -> Result<Insert, Insert> {
        self.refuse(key, fill)?;
        let (in_blocks, in_large) = stored::charge_for(key, fill);
        if !self.reserve(in_blocks + in_large) {
            return Err(Insert::NoRoom);
        }
        let mut charge = Charge::new(&*self.budget, in_blocks + in_large);
        let large = if stored::is_large(fill) {
            let charge = charge.split(Arc::clone(&self.budget), in_large);
            Some(Arc::new(Large::new(&fill.body, charge).ok_or(Insert::NoRoom)?))
        } else {
            None
        };
        let hash = self.hash_of(key);
        let fences_raised = self.freshness.fences_raised();
        let prefix = stored::prefix_of(key, fill).map(|it| (self.hash.hash_one((it.text, it.body)), it));
        let new = NewEntry { hash, key, fill, large, charge: in_blocks, prefix, fences_raised, ends_asked };
        let placed = self.place(new, charge);
        // No reference to a large body is left here, so everything that is evicted is freed. The limit may have gone down since the room
        // was made: then either a trim has met this entry or this call sees the limit.
        self.trim();
        placed
    }

    /// Notes how many rows the statement of a stored result found, its LIMIT aside: the server's answer to a question right after the
    /// statement. Nothing happens if the entry that is stored now has another `valid_from`.
    pub fn note_found_rows(&self, key: Key<'_>, valid_from: Position, rows: u32) {
        let hash = self.hash_of(key);
        self.shard_of(hash).write().note_found_rows(hash, key, valid_from, rows);
    }

    fn refuse(&self, key: Key<'_>, fill: &Fill) -> Result<(), Insert> {
        let size = self.size();
        let (in_blocks, in_large) = stored::charge_for(key, fill);
        let charge = in_blocks.saturating_add(in_large).saturating_add(FIRST_INDEX_BYTES);
        if size == 0 {
            Err(Insert::Off)
        } else if fill.body.len() > self.limit() || charge > size || key.text.len() > TEXT_MAX {
            Err(Insert::TooLarge)
        } else if fill.is_bargain() {
            // A bargain that never expires is refused.
            if fill.expires_ms == 0 { Err(Insert::Stale) } else { Ok(()) }
        } else if !self.freshness.is_followed() {
            Err(Insert::NotLive)
        } else if self.freshness.is_dead(&fill.deps, fill.valid_from) {
            Err(Insert::Stale)
        } else {
            Ok(())
        }
    }

    /// Places an entry in its shard. If the budget has no room for a larger index, a full shard evicts one of its own entries for the
    /// slot; an empty shard needs room made elsewhere.
    fn place(&self, new: NewEntry<'_>, charge: Charge<&Budget>) -> Result<Insert, Insert> {
        for _ in 0..PLACINGS_MAX {
            let mut shard = self.shard_of(new.hash).write();
            let placed = shard.insert(&new, self.around(&self.is_dead()));
            let stored = if self.curve.samples(new.hash) { shard.find(new.hash, new.key) } else { None };
            let bytes = stored.map(|(at, _)| shard.bytes_of(at));
            if placed.is_some() {
                self.note_peer(&shard, new.hash);
            }
            drop(shard);
            if let Some(bytes) = bytes {
                self.curve.note_bytes(new.hash, bytes);
            }
            if let Some(inserted) = placed {
                return Ok(self.settle(inserted, charge));
            }
            if !self.reserve(FIRST_INDEX_BYTES) {
                break;
            }
            self.budget.release(FIRST_INDEX_BYTES);
        }
        Err(Insert::NoRoom)
    }

    /// Drops what has left the shard for an entry, and the charge if the shard has not taken it over.
    fn settle(&self, inserted: Inserted, charge: Charge<&Budget>) -> Insert {
        match inserted {
            Inserted::Outdated => return Insert::Outdated,
            Inserted::Added => {}
            Inserted::InPlaceOf(old) => drop(old),
            Inserted::Evicting(victim) => self.count_removed(&victim),
        }
        charge.hand_over();
        Insert::Stored
    }

    /// Reserves `bytes`, evicting from one shard after the other until they are there.
    fn reserve(&self, bytes: usize) -> bool {
        if self.budget.reserve(bytes) {
            return true;
        }
        // While the size goes down, only [`Self::trim`] evicts.
        if self.budget.is_over() {
            return false;
        }
        let mut reserved = false;
        self.evict_while(|| {
            reserved = self.budget.reserve(bytes);
            !reserved
        });
        reserved || self.budget.reserve(bytes)
    }

    /// Evicts while `goes_on` says so, up to the bound of one call. Returns whether there is more to evict.
    fn evict_while(&self, mut goes_on: impl FnMut() -> bool) -> bool {
        for _ in 0..EVICTIONS_PER_CALL_MAX {
            if !goes_on() {
                return true;
            }
            if !self.evict_one() {
                return false;
            }
        }
        true
    }

    /// Evicts one entry of the next shard that holds its share or more, so that the shards stay alike. The victim is freed outside of the
    /// lock.
    fn evict_one(&self) -> bool {
        let share = self.used() / SHARDS;
        // In the second round any shard will do: the used bytes may be those of indexes, and other threads insert and evict meanwhile.
        for least in [share, 0] {
            for _ in 0..SHARDS {
                if self.evict_from_next(least) {
                    return true;
                }
            }
        }
        false
    }

    fn evict_from_next(&self, least: usize) -> bool {
        let at = self.victims.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let mut shard = self.shards[at].write();
        let victim = if shard.holds(least) { shard.evict(self.around(&self.is_dead())) } else { None };
        drop(shard);
        if let Some(victim) = &victim {
            self.count_removed(victim);
        }
        victim.is_some()
    }

    fn around<'a>(&'a self, is_dead: IsDead<'a>) -> Around<'a> {
        Around { budget: &self.budget, is_dead, yields: &self.yields }
    }

    fn count_removed(&self, removed: &Left) {
        self.counters.add(if removed.was_dead { Count::Invalidated } else { Count::LowmemPrunes });
    }

    fn is_dead(&self) -> impl Fn(&Stored<'_>) -> bool {
        self.is_dead_at(0)
    }

    /// Whether an entry is dead, or has expired by now.
    fn is_dead_at(&self, now_ms: u64) -> impl Fn(&Stored<'_>) -> bool {
        move |stored| {
            let header = stored.header();
            header.expiry.is_over(now_ms) || self.freshness.is_any_dead(stored.deps(), header.valid_from)
        }
    }

    /// Removes the dead entry that a lookup has found. A lookup does not wait for this: if the shard is busy, the
    /// sweep or the eviction will do it.
    fn reclaim(&self, hash: u64, key: Key<'_>, now_ms: u64) {
        let Some(mut shard) = self.shard_of(hash).try_write() else { return };
        let removed = shard.remove_dead_key(hash, key, &self.budget, &self.is_dead_at(now_ms));
        drop(shard);
        if removed.is_some() {
            self.counters.add(Count::Invalidated);
        }
    }

    /// Changes the size; 0 turns the cache off. When the size goes down, nothing gets in until [`Self::trim`] has evicted enough; entries
    /// that are still stored are served meanwhile.
    pub fn resize(&self, bytes: usize) {
        self.budget.set_limit(bytes);
    }

    /// Evicts some of the entries that are above the size. Returns whether there are more, for another call after others have had their
    /// turn. An entry that hits are copying is freed when the copies are made.
    pub fn trim(&self) -> bool {
        let is_over = || self.budget.is_over();
        is_over() && self.evict_while(is_over) && is_over()
    }

    /// Removes all entries and gives their memory back.
    pub fn clear(&self) {
        for locked in &self.shards {
            let old = std::mem::take(&mut *locked.write());
            let charge = old.charge();
            drop(old);
            self.budget.release(charge);
        }
    }

    /// Returns the size: the bytes that may be used.
    #[must_use]
    pub fn size(&self) -> usize {
        self.budget.limit()
    }

    /// Returns the bytes in use, with all overhead.
    #[must_use]
    pub fn used(&self) -> usize {
        self.budget.used()
    }

    /// Returns the largest body that is stored, in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Changes the largest body that is stored, in bytes. Larger bodies that are stored already stay.
    pub fn set_limit(&self, bytes: usize) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns how many entries are stored, dead ones included.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.shards.iter().map(|locked| locked.read().len()).sum()
    }

    /// Sets the counts of hits, inserts, uncached statements and prunes to 0, as FLUSH STATUS does.
    pub fn flush_statistics(&self) {
        self.counters.flush();
    }

    /// Returns all counters, and the present state.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let (size, used) = (self.size() as u64, self.used() as u64);
        Statistics {
            queries_in_cache: self.entries() as u64,
            size,
            used,
            free_memory: size.saturating_sub(used),
            ..self.counters.read()
        }
    }

    /// Returns the number of sampled lookups, and what share of them caches of other sizes would answer, by their sizes.
    #[must_use]
    pub fn curve(&self) -> (u64, Vec<CurvePoint>) {
        self.curve.points()
    }

    /// Returns a number that tells bodies apart, in this process.
    #[must_use]
    pub fn fingerprint(&self, body: &[u8]) -> u64 {
        self.fingerprint_of(Body::apart(body))
    }

    /// Returns the fingerprint of a body, however it is cut into pieces.
    fn fingerprint_of(&self, body: Body<'_>) -> u64 {
        let mut sum = crc32fast::Hasher::new();
        let len = body.len() as u64;
        body.for_each(|piece| sum.update(piece));
        len << 32 | u64::from(sum.finalize())
    }

    /// Counts a result that was stale and is stored anew. `is_same`: the new result is the same as the old one.
    pub fn count_refilled(&self, is_same: bool) {
        self.counters.add(Count::Refilled);
        if is_same {
            self.counters.add(Count::Needless);
        }
    }

    /// Counts a statement that was not to be cached.
    pub fn count_not_cached(&self) {
        self.counters.add(Count::NotCached);
    }

    /// Computes from the stored entries what `used()` should be while nothing else runs.
    #[cfg(test)]
    fn audit(&self) -> usize {
        self.shards.iter().map(|locked| locked.read().audit()).sum()
    }

    #[inline]
    fn hash_of(&self, key: Key<'_>) -> u64 {
        self.hash.hash_one((key.environment, key.text))
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> &Locked {
        &self.shards[(hash >> (u64::BITS - SHARDS_LOG2)) as usize]
    }
}

#[cfg(test)]
mod scaling;
#[cfg(test)]
mod tests;
