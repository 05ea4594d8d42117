//! One shard of the store, behind its own lock: an index, and the policy that decides which entries are worth keeping.
//!
//! Eviction is S3-FIFO, adapted to bytes and to upstream time. New entries enter the *small* queue, a tenth of the bytes. Entries that
//! are hit there move to *main*; the others leave soon, so a scan passes through without displacing anything. Main is a FIFO with second
//! chances. A *ghost* remembers the hashes of entries that have left, and of results that were not stored when they were first asked for
//! (`yields`): a result that is asked for again goes to main at once.
//!
//! A hit gives credit, and an entry at the end of a queue spends credit to stay. A result that saves much more upstream time for its
//! bytes than others gets more credit for a hit. A hit moves nothing and takes no exclusive lock: it does at most one store of two bytes,
//! and none once the credit is full and some thousand hits are counted.

use crate::arena::{Arena, BLOCK_CHARGE};
use crate::budget::Budget;
use crate::chunk::Chunk;
use crate::index::{self, Location};
use crate::large::Large;
use crate::memory::Words;
use crate::prefixes::{Prefix, PrefixNumber, Prefixes};
use crate::slab::{Indexed, Queue, Slab};
use crate::stored::{self, Expiry, Header, NewEntry, Stored};
use crate::yields::{Sample, Yields, is_tried};
use crate::{Key, Position};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The capacity of the first index, in slots.
const CAPACITY_MIN: usize = 4;
/// The small queue's share of the bytes is one in this many.
pub(crate) const SMALL_SHARE: usize = 10;
/// Hits beyond this much credit change nothing.
pub(crate) const CREDIT_MAX: u8 = 6;
/// With this much credit an entry moves from small to main: two hits, or one that saves much.
pub(crate) const CREDIT_TO_STAY: u8 = 2;
/// How many entries one search for a victim may pass over; then it takes the next entry, whatever its credit.
const PASSED_OVER_MAX: usize = 64;
/// A hit is worth one more credit for each time that the entry's upstream time per byte is this power of two above the (geometric) mean
/// of the stored entries; at most `WEIGHT_MAX` more.
const DENSE_LOG2: u32 = 2;
const WEIGHT_MAX: u32 = 2;
/// The logarithm is kept as a multiple of 1 divided by this.
const LOG2_SCALE: u32 = 256;
/// Each new value moves the mean by one in this many of the distance to it.
const MEAN_INERTIA: u32 = 16;

/// Whether an entry can never be served again.
pub(crate) type IsDead<'a> = &'a dyn Fn(&Stored<'_>) -> bool;

/// The things outside of the shard that an eviction needs.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) budget: &'a Budget,
    pub(crate) is_dead: IsDead<'a>,
    pub(crate) yields: &'a Yields,
}

/// A new entry without the prefix that it shares with others.
struct Shortened<'a> {
    /// None if the entry has all of its bytes itself; `by` is empty then.
    prefix: Option<PrefixNumber>,
    by: Prefix<'a>,
    /// The bytes that it takes in blocks.
    charge: usize,
}

/// The outcome of an insert.
pub(crate) enum Inserted {
    Added,
    InPlaceOf(Left),
    Evicting(Left),
    /// An entry of the same key that is at least as new is stored already: this one is not stored.
    Outdated,
}

/// Entries that have left a shard: to be dropped outside of its lock, because giving memory back to the system takes long.
#[derive(Default)]
pub(crate) struct Left {
    /// The entry could never have been served again.
    pub(crate) was_dead: bool,
    garbage: Garbage,
}

/// Memory that is held only to be dropped.
#[derive(Default)]
#[expect(dead_code, reason = "nobody reads what is to be dropped")]
struct Garbage {
    large: Option<Arc<Large>>,
    chunks: Vec<Chunk>,
    arena: Option<Arena>,
}

#[derive(Default)]
pub(crate) struct Shard {
    slab: Slab,
    arena: Arena,
    prefixes: Prefixes,
    /// Bodies that are kept apart, by the number in the header.
    larges: BTreeMap<u32, Arc<Large>>,
    large_last: u32,
    /// Fingerprints of the hashes of entries that have left, in a table that forgets by overwriting. It is as long as the slab's
    /// capacity.
    ghost: Words,
    mean_log2: u32,
}

impl Shard {
    pub(crate) const fn len(&self) -> usize {
        self.slab.len()
    }

    /// Returns the entry under this key, and its slot. [`Self::credit_hit`] credits the hit.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: Key<'_>) -> Option<(u32, Stored<'_>)> {
        self.find_located(hash, key).map(|(location, stored)| (location.slot, stored))
    }

    fn find_location(&self, hash: u64, key: Key<'_>) -> Option<Location> {
        self.find_located(hash, key).map(|(location, _)| location)
    }

    #[inline]
    fn find_located(&self, hash: u64, key: Key<'_>) -> Option<(Location, Stored<'_>)> {
        self.slab.find(hash, |head| self.stored(head).filter(|stored| stored.is_for(key)))
    }

    #[inline]
    fn stored(&self, head: u32) -> Option<Stored<'_>> {
        Stored::at(&self.arena, &self.prefixes, head)
    }

    pub(crate) fn stored_at(&self, at: u32) -> Option<Stored<'_>> {
        self.slab.get(at).and_then(|slot| self.stored(slot.head()))
    }

    /// Returns the bytes that the entry in this slot takes of the cache, its share of the index included.
    pub(crate) fn bytes_of(&self, at: u32) -> u32 {
        let blocks = self.slab.get(at).map_or(0, |slot| slot.charge() as usize);
        u32::try_from(blocks.saturating_mul(BLOCK_CHARGE) + INDEX_BYTES).unwrap_or(u32::MAX)
    }

    /// Returns the body of this entry, if it is kept apart.
    #[inline]
    pub(crate) fn large(&self, header: &Header) -> Option<Arc<Large>> {
        if header.large == 0 { None } else { self.larges.get(&header.large).cloned() }
    }

    pub(crate) const fn has(&self, at: u32) -> bool {
        (at as usize) < self.slab.len()
    }

    #[inline]
    pub(crate) fn credit_hit(&self, at: u32) {
        let before = self.slab.credit(at);
        // An entry that is hit often has all credit, and its slot is not read.
        let weight = if before < CREDIT_MAX { self.slab.get(at).map_or(0, |slot| slot.weight()) } else { 0 };
        self.slab.hit(at, (before + 1 + weight).min(CREDIT_MAX));
    }

    /// Returns how often the entry was hit, up to a bound.
    pub(crate) fn hits(&self, at: u32) -> u16 {
        self.slab.hits(at)
    }

    /// Stores an entry. Returns the entries that leave for it (an older one of the same key, or one whose slot it needs), to be dropped
    /// outside of the lock. `None` if there is neither a slot nor the budget for one, or if the system has no memory.
    pub(crate) fn insert(&mut self, new: &NewEntry<'_>, around: Around<'_>) -> Option<Inserted> {
        let budget = around.budget;
        if let Some(Location { slot, .. }) = self.find_location(new.hash, new.key) {
            return self.renew(slot, new, budget);
        }
        let mut evicted = None;
        if self.slab.len() == self.slab.capacity() && !self.grow(budget) {
            evicted = Some(self.evict(around)?);
        }
        if self.slab.len() == self.slab.capacity() && !self.grow(budget) {
            return None;
        }
        let entry = self.write(self.slab.len() as u32, new, budget)?;
        let queue = if self.recall(new.hash) { Queue::Main } else { Queue::Small };
        self.slab.push(new.hash, entry, queue);
        Some(evicted.map_or(Inserted::Added, Inserted::Evicting))
    }

    /// Notes how many rows the statement of this entry found, if the entry has this `valid_from`.
    pub(crate) fn note_found_rows(&mut self, hash: u64, key: Key<'_>, valid_from: Position, rows: u32) {
        let Some(Location { head, .. }) = self.find_location(hash, key) else { return };
        if self.stored(head).is_some_and(|stored| stored.header().valid_from == valid_from) {
            self.arena.patch(head, Header::FOUND_ROWS_AT, &rows.to_le_bytes());
        }
    }

    /// Whether the entry under this key is due for refreshing. The first caller gets `true`, all later callers `false`.
    pub(crate) fn claim_refresh(&mut self, hash: u64, key: Key<'_>, now_ms: u64) -> bool {
        let Some(Location { head, .. }) = self.find_location(hash, key) else { return false };
        let refresh = self.stored(head).map_or(Expiry::NEVER, |stored| stored.header().refresh);
        if !refresh.is_over(now_ms) {
            return false;
        }
        debug_assert!(refresh != Expiry::NEVER);
        self.arena.patch(head, Header::REFRESH_AT, &Expiry::NEVER.to_le_bytes());
        true
    }

    /// Replaces the entry of the same key, unless the old entry can be served for longer: it is as new, and does not expire before the
    /// new one.
    fn renew(&mut self, at: u32, new: &NewEntry<'_>, budget: &Budget) -> Option<Inserted> {
        let old = *self.stored_at(at)?.header();
        if old.valid_from >= new.fill.valid_from && !old.expiry.is_before(Expiry::at(new.fill.expires_ms)) {
            return Some(Inserted::Outdated);
        }
        let entry = self.write(at, new, budget)?;
        let head = self.slab.replace(at, entry)?;
        Some(Inserted::InPlaceOf(self.let_go(head, &old, budget)))
    }

    /// Writes an entry for this slot to the arena.
    fn write(&mut self, slot: u32, new: &NewEntry<'_>, budget: &Budget) -> Option<Indexed> {
        self.arena.make_room(new.charge / BLOCK_CHARGE)?;
        let number = new.large.as_ref().map_or(0, |_| self.next_large());
        let Shortened { prefix, by, charge } = self.shorten(new, budget);
        let front = stored::front(new, number, prefix, by);
        let text = &new.key.text[by.text.len()..];
        let body = if new.large.is_some() { &[][..] } else { &new.fill.body[by.body.len()..] };
        let head = self.arena.store(slot, &[&front, text, body])?;
        if let Some(large) = &new.large {
            self.larges.insert(number, Arc::clone(large));
            self.large_last = number;
        }
        let blocks = new.blocks(charge);
        Some(Indexed { head, charge: blocks, weight: self.weigh(new, blocks) })
    }

    /// Lets a new entry hold its prefix, if the prefix is stored, and releases the bytes that the entry then does not need.
    fn shorten<'n>(&mut self, new: &NewEntry<'n>, budget: &Budget) -> Shortened<'n> {
        let whole = Shortened { prefix: None, by: Prefix::default(), charge: new.charge };
        let Some((hash, by)) = new.prefix else { return whole };
        let charge = stored::charge_without(by.len(), new.key, new.fill);
        let mut saved = new.charge - charge;
        let Some(number) = self.prefixes.hold(hash, by, &mut saved, budget) else { return whole };
        budget.release(saved);
        Shortened { prefix: Some(number), by, charge }
    }

    /// Returns a number that no body in here has. There are by far more numbers than bodies.
    fn next_large(&self) -> u32 {
        let mut number = self.large_last;
        loop {
            number = number.wrapping_add(1).max(1);
            if !self.larges.contains_key(&number) {
                return number;
            }
        }
    }

    /// Gives back the memory of an entry that is no longer in the index.
    fn let_go(&mut self, head: u32, header: &Header, budget: &Budget) -> Left {
        let blocks = self.arena.free(head);
        budget.release(blocks * BLOCK_CHARGE);
        self.prefixes.let_go(header.prefix, budget);
        let large = self.larges.remove(&header.large);
        let slab = &mut self.slab;
        let compact = || self.arena.compact(&mut |slot, head| slab.set_head(slot, head));
        let chunks = std::iter::from_fn(compact).collect();
        Left { was_dead: false, garbage: Garbage { large, chunks, arena: None } }
    }

    /// Takes out the entry that is worth least. `None` if the shard is empty.
    pub(crate) fn evict(&mut self, around: Around<'_>) -> Option<Left> {
        let at = self.victim(around)?;
        self.remember(at);
        let was_dead = self.is_dead_at(at, around.is_dead);
        if !was_dead && let Some(sample) = self.sample(at) {
            around.yields.note(sample);
        }
        Some(Left { was_dead, ..self.take_out(at, around.budget)? })
    }

    /// Takes out a dead entry. If it has proven its worth, its hash is remembered: its next result goes to main again.
    fn remove(&mut self, at: u32, budget: &Budget) -> Option<Left> {
        if self.slab.get(at).is_some_and(|slot| slot.queue() == Queue::Main || self.slab.credit(at) > 0) {
            self.remember(at);
        }
        Some(Left { was_dead: true, ..self.take_out(at, budget)? })
    }

    fn take_out(&mut self, at: u32, budget: &Budget) -> Option<Left> {
        let head = self.slab.get(at)?.head();
        let header = *self.stored_at(at)?.header();
        self.slab.remove(at);
        if let Some(moved) = self.slab.get(at) {
            self.arena.set_slot(moved.head(), at);
        }
        let mut left = self.let_go(head, &header, budget);
        left.garbage.arena = self.shrink(budget);
        Some(left)
    }

    /// Takes out the entry in this slot if it is dead.
    pub(crate) fn remove_dead(&mut self, at: u32, budget: &Budget, is_dead: IsDead<'_>) -> Option<Left> {
        if self.is_dead_at(at, is_dead) { self.remove(at, budget) } else { None }
    }

    /// Takes out the entry under this key if it is dead.
    pub(crate) fn remove_dead_key(
        &mut self,
        hash: u64,
        key: Key<'_>,
        budget: &Budget,
        is_dead: IsDead<'_>,
    ) -> Option<Left> {
        self.find_location(hash, key).and_then(|location| self.remove_dead(location.slot, budget, is_dead))
    }

    pub(crate) fn is_dead_at(&self, at: u32, is_dead: IsDead<'_>) -> bool {
        self.stored_at(at).is_some_and(|stored| is_dead(&stored))
    }

    /// Returns all bytes that are charged for this shard, large bodies excepted.
    pub(crate) fn charge(&self) -> usize {
        bytes_for(self.slab.capacity()) + self.held()
    }

    /// Returns the bytes that its entries take, large bodies excepted.
    fn held(&self) -> usize {
        self.arena.in_use() * BLOCK_CHARGE + self.prefixes.charge()
    }

    /// Whether index and entries, large bodies included, take this many bytes.
    pub(crate) fn holds(&self, bytes: usize) -> bool {
        let entries = self.slab.queue_charge(Queue::Small) + self.slab.queue_charge(Queue::Main);
        bytes_for(self.slab.capacity()) + entries * BLOCK_CHARGE >= bytes
    }

    /// Returns all bytes that are charged for this shard. Checks the index and the arena on the way.
    #[cfg(test)]
    pub(crate) fn audit(&self) -> usize {
        assert_eq!(self.ghost.len(), self.slab.capacity());
        self.slab.audit();
        let slots = 0..self.len() as u32;
        let heads: Vec<u32> = slots.clone().map(|at| self.slab.get(at).unwrap().head()).collect();
        self.arena.audit(&heads);
        self.prefixes.audit(slots.clone().filter_map(|at| self.stored_at(at).unwrap().header().prefix));
        let numbers =
            slots.filter_map(|at| Some(self.stored_at(at).unwrap().header().large).filter(|n| *n != 0));
        let numbers: std::collections::BTreeSet<u32> = numbers.collect();
        assert!(numbers.iter().eq(self.larges.keys()), "each body apart has its entry");
        self.charge() + self.larges.values().map(|large| large.charge()).sum::<usize>()
    }

    fn victim(&mut self, Around { is_dead, yields, .. }: Around<'_>) -> Option<u32> {
        for _ in 0..PASSED_OVER_MAX {
            let at = self.next_to_leave()?;
            if self.is_dead_at(at, is_dead) || !self.is_kept(at, yields) {
                return Some(at);
            }
        }
        self.next_to_leave()
    }

    fn next_to_leave(&self) -> Option<u32> {
        let (small, main) = (self.slab.queue_charge(Queue::Small), self.slab.queue_charge(Queue::Main));
        let small_first = small > (small + main) / SMALL_SHARE;
        let first = if small_first { Queue::Small } else { Queue::Main };
        let other = if small_first { Queue::Main } else { Queue::Small };
        self.slab.oldest(first).or_else(|| self.slab.oldest(other))
    }

    /// Spends the credit of an entry at the end of its queue. Returns whether the entry stays.
    fn is_kept(&mut self, at: u32, yields: &Yields) -> bool {
        let Some(slot) = self.slab.get(at) else { return false };
        let credit = self.slab.credit(at);
        let left = match slot.queue() {
            Queue::Small if credit >= CREDIT_TO_STAY => 0,
            Queue::Main if credit > 0 => credit - 1,
            Queue::Small | Queue::Main => return false,
        };
        if let Some(sample) = self.sample(at) {
            yields.note(sample);
        }
        self.slab.set_credit(at, left);
        self.slab.requeue(at, Queue::Main);
        true
    }

    /// Returns how much more than one credit a hit on this entry is worth. The comparison is one of logarithms, because costs spread over
    /// orders of magnitude, and a few huge costs must not make all others look cheap.
    fn weigh(&mut self, new: &NewEntry<'_>, blocks: u32) -> u8 {
        const KIB: u64 = 1024;
        let bytes = u64::from(blocks) * BLOCK_CHARGE as u64;
        let density = 1 + u64::from(new.fill.cost_us) * KIB / bytes.max(1);
        let log2 = density.ilog2() * LOG2_SCALE;
        let above = log2.saturating_sub(self.mean_log2) / LOG2_SCALE;
        self.mean_log2 = (self.mean_log2 * (MEAN_INERTIA - 1) + log2) / MEAN_INERTIA;
        (above / DENSE_LOG2).min(WEIGHT_MAX) as u8
    }

    /// Returns whether the entry in this slot was read since it was stored. `None` unless the entry is in the small queue: only those
    /// entries were stored when they were first asked for.
    fn sample(&self, at: u32) -> Option<Sample> {
        self.slab.get(at).filter(|slot| slot.queue() == Queue::Small)?;
        Some(Sample { tag: self.stored_at(at)?.header().tag, was_read: self.hits(at) > 0 })
    }

    /// Returns the same for an entry that a hash chooses.
    pub(crate) fn sample_by(&self, hash: u64) -> Option<Sample> {
        self.sample((hash >> 8).checked_rem(self.slab.len() as u64)? as u32)
    }

    /// Whether a result is stored although results of its tag are seldom read: it is one that is tried, or was asked for recently. If not,
    /// the shard remembers that it was asked for.
    pub(crate) fn admits(&mut self, hash: u64) -> bool {
        if is_tried(hash) || self.ghost.len() == 0 || self.knows(hash) {
            return true;
        }
        self.ghost.set(self.ghost_place(hash), fingerprint(hash));
        false
    }

    fn remember(&mut self, at: u32) {
        let Some(hash) = self.slab.get(at).map(|slot| slot.hash()) else { return };
        self.ghost.set(self.ghost_place(hash), fingerprint(hash));
    }

    fn knows(&self, hash: u64) -> bool {
        self.ghost.get(self.ghost_place(hash)) == Some(fingerprint(hash))
    }

    fn recall(&mut self, hash: u64) -> bool {
        let known = self.knows(hash);
        if known {
            self.ghost.set(self.ghost_place(hash), 0);
        }
        known
    }

    fn ghost_place(&self, hash: u64) -> usize {
        hash as usize & self.ghost.len().saturating_sub(1)
    }

    /// Doubles the index, if the budget has room for the new one beside the old one.
    fn grow(&mut self, budget: &Budget) -> bool {
        let old = self.slab.capacity();
        let new = (old * 2).max(CAPACITY_MIN);
        if new > index::SLOTS_MAX || !budget.reserve(bytes_for(new)) {
            return false;
        }
        let has_grown = self.relayout(new, budget);
        budget.release(if has_grown { bytes_for(old) } else { bytes_for(old) + bytes_for(new) });
        has_grown
    }

    /// Gives back the index and the arena of an empty shard, and three quarters of the index of a shard that is seven eighths empty.
    /// Moving needs memory for a moment, but no more than it has just given up (the index and `ghost`), so it needs no reservation.
    fn shrink(&mut self, budget: &Budget) -> Option<Arena> {
        let old = self.slab.capacity();
        if self.slab.len() == 0 {
            let empty = Self { mean_log2: self.mean_log2, ..Self::default() };
            let Self { arena, .. } = std::mem::replace(self, empty);
            budget.release(bytes_for(old));
            return Some(arena);
        }
        if self.slab.len() <= old / 8 && old / 4 >= CAPACITY_MIN {
            let left = if self.relayout(old / 4, budget) { bytes_for(old / 4) } else { 0 };
            budget.release(bytes_for(old) - left);
        }
        None
    }

    /// Moves the index to memory of another size; the caller settles the charge. The ghost is a guess about the past and may be lost. If
    /// the system has no memory, the shard forgets everything.
    fn relayout(&mut self, capacity: usize, budget: &Budget) -> bool {
        self.ghost = Words::default();
        let has_moved = self.slab.relayout(capacity).is_some();
        if has_moved {
            self.ghost = Words::map(capacity).unwrap_or_default();
        } else {
            budget.release(self.held());
            *self = Self::default();
        }
        has_moved
    }
}

/// Returns the memory of a shard's index with this capacity: slab and ghost.
pub(crate) const fn bytes_for(capacity: usize) -> usize {
    Slab::bytes_for(capacity) + capacity * Words::BYTES
}

/// The bytes that an entry takes in the index, which has room for up to twice as many entries.
const INDEX_BYTES: usize = bytes_for(CAPACITY_COUNTED) / CAPACITY_COUNTED * 3 / 2;
const CAPACITY_COUNTED: usize = 1 << 10;

/// The least number of bytes that a shard needs to hold anything.
pub(crate) const FIRST_INDEX_BYTES: usize = bytes_for(CAPACITY_MIN);

/// Returns the fingerprint of a hash. It is never 0, which marks an empty place, and uses bits that choose neither shard nor place.
const fn fingerprint(hash: u64) -> u32 {
    (hash >> 24) as u32 | 1
}
