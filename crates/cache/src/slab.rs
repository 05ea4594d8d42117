//! The slots of a shard: a dense array, an index by hash, and two queues through the slots.
//!
//! Everything is an index into one array. So its memory is known exactly, removal is O(1) in all three structures, there are no
//! tombstones, and the array can always shrink, because the last slot moves into a hole.

use crate::budget::allocated;
use crate::chance::once_in;
use crate::index::{Index, Location};
use crate::memory::Memory;
use std::sync::atomic::{AtomicU16, Ordering};

/// A slot's count has its credit in this many low bits, and the number of its hits above them.
const CREDIT_BITS: u32 = 3;
const CREDIT_MASK: u16 = (1 << CREDIT_BITS) - 1;
/// More hits than this are not counted, so that an entry that is hit all the time is not written all the time.
pub(crate) const HITS_MAX: u16 = u16::MAX >> CREDIT_BITS;
/// How many hits of an entry are counted one by one, but for those that are lost to a race. Of the later ones, one in [`HITS_STEP`] counts
/// for as many: otherwise each hit would write a line that all threads write which hit the entry, or one of its neighbours.
pub(crate) const HITS_EXACT: u16 = 64;
const HITS_STEP: u16 = 16;

/// No slot.
const NONE: u32 = u32::MAX;

/// Which of the two queues a slot is in; see `shard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    Small,
    Main,
}

/// The contents of a slot without its credit.
#[derive(Clone, Copy)]
pub(crate) struct SlabEntry {
    hash: u64,
    entry: Indexed,
    /// The next slot behind a full line of the index.
    chain: u32,
    newer: u32,
    older: u32,
    queue: Queue,
}

impl SlabEntry {
    /// Two slots to a cache line.
    const BYTES: usize = 32;

    /// Returns the first block of the entry.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.entry.head
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The credit that a hit is worth beyond one.
    pub(crate) const fn weight(&self) -> u8 {
        self.entry.weight
    }

    pub(crate) const fn queue(&self) -> Queue {
        self.queue
    }

    /// See [`Indexed::charge`].
    pub(crate) const fn charge(&self) -> u32 {
        self.entry.charge
    }

    #[inline]
    fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            hash: u64::from(word(0)) | u64::from(word(4)) << u32::BITS,
            entry: Indexed { head: word(8), charge: word(12), weight: bytes[28] },
            chain: word(16),
            newer: word(20),
            older: word(24),
            queue: if bytes[29] == Queue::Main as u8 { Queue::Main } else { Queue::Small },
        }
    }

    fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let words = [self.hash as u32, (self.hash >> u32::BITS) as u32, self.entry.head, self.entry.charge];
        let more = [self.chain, self.newer, self.older];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words.into_iter().chain(more)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[28..30].copy_from_slice(&[self.entry.weight, self.queue as u8]);
        bytes
    }
}

/// The facts of an entry that the index needs.
#[derive(Clone, Copy)]
pub(crate) struct Indexed {
    /// See [`SlabEntry::head`].
    pub(crate) head: u32,
    /// The memory that the entry takes, in blocks, rounded up.
    pub(crate) charge: u32,
    /// See [`SlabEntry::weight`].
    pub(crate) weight: u8,
}

/// Both ends of a queue, and the charge of its entries, in blocks.
#[derive(Clone, Copy)]
struct QueueEnds {
    newest: u32,
    oldest: u32,
    charge: usize,
}

impl Default for QueueEnds {
    fn default() -> Self {
        Self { newest: NONE, oldest: NONE, charge: 0 }
    }
}

/// Invariants: `len <= capacity`, which is 0 or a power of two; each slot is in the index once, in the line of its hash or in the chain
/// behind that line, and in exactly one queue, its own. Only behind a full line is there a chain.
#[derive(Default)]
pub(crate) struct Slab {
    len: usize,
    capacity: usize,
    slots: Memory,
    index: Index,
    /// Apart from the slots, because hits write it under a shared lock.
    counts: Box<[AtomicU16]>,
    ends: [QueueEnds; 2],
}

impl Slab {
    /// Returns the memory of a slab with this capacity.
    pub(crate) const fn bytes_for(capacity: usize) -> usize {
        capacity * SlabEntry::BYTES
            + Index::bytes_for(capacity)
            + allocated(capacity * size_of::<AtomicU16>())
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the charge of all entries in this queue, in blocks.
    pub(crate) const fn queue_charge(&self, queue: Queue) -> usize {
        self.ends[queue as usize].charge
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<SlabEntry> {
        if (at as usize) < self.len {
            self.slots.bytes().get(at as usize * SlabEntry::BYTES..)?.first_chunk().map(SlabEntry::decode)
        } else {
            None
        }
    }

    /// Returns the credit of a slot; 0 if there is no such slot.
    #[inline]
    pub(crate) fn credit(&self, at: u32) -> u8 {
        (self.count(at) & CREDIT_MASK) as u8
    }

    /// Returns how often the entry was hit: counted one by one up to [`HITS_EXACT`], and about so often up to [`HITS_MAX`].
    #[inline]
    pub(crate) fn hits(&self, at: u32) -> u16 {
        self.count(at) >> CREDIT_BITS
    }

    #[inline]
    fn count(&self, at: u32) -> u16 {
        self.counts.get(at as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    #[inline]
    fn set_count(&self, at: u32, count: u16) {
        if let Some(place) = self.counts.get(at as usize) {
            place.store(count, Ordering::Relaxed);
        }
    }

    /// Sets the credit of a slot. Relaxed, and not atomic as a whole: a credit that is lost to a race does no harm.
    #[inline]
    pub(crate) fn set_credit(&self, at: u32, credit: u8) {
        self.set_count(at, self.count(at) & !CREDIT_MASK | u16::from(credit) & CREDIT_MASK);
    }

    /// Notes a hit, and the credit after it: one store, or none, as for nearly all hits of an entry that is hit often. A hit that is
    /// lost to a race does no harm either.
    #[inline]
    pub(crate) fn hit(&self, at: u32, credit: u8) {
        let before = self.count(at);
        let hits = before >> CREDIT_BITS;
        let more = match hits {
            ..HITS_EXACT => 1,
            HITS_MAX.. => 0,
            _ if once_in(u32::from(HITS_STEP)) => HITS_STEP,
            _ => 0,
        };
        let hits = (hits + more).min(HITS_MAX);
        let count = hits << CREDIT_BITS | u16::from(credit) & CREDIT_MASK;
        if count != before {
            self.set_count(at, count);
        }
    }

    /// Returns the place of the entry with this hash for whose first block `found` returns something, and that.
    #[inline]
    pub(crate) fn find<T>(&self, hash: u64, found: impl Fn(u32) -> Option<T>) -> Option<(Location, T)> {
        self.index.find(hash, |place| found(place.head)).or_else(|| {
            let mut alike = self.chained(hash).filter(|(_, slot)| slot.hash == hash);
            alike.find_map(|(at, slot)| Some((Location { slot: at, head: slot.head() }, found(slot.head())?)))
        })
    }

    /// Returns the slots of the chain behind the line of this hash.
    #[inline]
    fn chained(&self, hash: u64) -> impl Iterator<Item = (u32, SlabEntry)> {
        let with_slot = |at| Some((at, self.get(at)?));
        std::iter::successors(self.index.chain(hash).and_then(with_slot), move |(_, slot)| {
            with_slot(slot.chain)
        })
    }

    pub(crate) const fn oldest(&self, queue: Queue) -> Option<u32> {
        let at = self.ends[queue as usize].oldest;
        if at == NONE { None } else { Some(at) }
    }

    /// Adds a slot at the newest end of a queue. The caller has made sure that a slot is free.
    pub(crate) fn push(&mut self, hash: u64, entry: Indexed, queue: Queue) {
        debug_assert!(self.len() < self.capacity());
        let at = self.len as u32;
        self.len += 1;
        self.set(at, &SlabEntry { hash, entry, chain: NONE, newer: NONE, older: NONE, queue });
        self.set_count(at, 0);
        self.link_index(at);
        self.link_queue(at, queue);
    }

    /// Puts another entry of the same key into a slot, which keeps its place and its credit, and sets its hits to 0. Returns the first
    /// block of the old entry.
    pub(crate) fn replace(&mut self, at: u32, entry: Indexed) -> Option<u32> {
        let old = self.get(at)?;
        let ends = &mut self.ends[old.queue as usize];
        ends.charge = ends.charge + entry.charge as usize - old.entry.charge as usize;
        self.set(at, &SlabEntry { entry, ..old });
        self.index.change(old.hash, at, Location { slot: at, head: entry.head });
        self.set_count(at, self.count(at) & CREDIT_MASK);
        Some(old.head())
    }

    /// Notes that the first block of an entry has moved.
    pub(crate) fn set_head(&mut self, at: u32, head: u32) {
        self.change(at, |slot| slot.entry.head = head);
        if let Some(slot) = self.get(at) {
            self.index.change(slot.hash, at, Location { slot: at, head });
        }
    }

    /// Moves a slot to the newest end of a queue.
    pub(crate) fn requeue(&mut self, at: u32, queue: Queue) {
        self.unlink_queue(at);
        self.link_queue(at, queue);
    }

    /// Takes a slot out; the last slot moves into its place.
    pub(crate) fn remove(&mut self, at: u32) {
        self.unlink_queue(at);
        self.unlink_index(at);
        self.len -= 1;
        let last = self.len as u32;
        if at != last {
            let moved =
                self.slots.get::<{ SlabEntry::BYTES }>(last as usize * SlabEntry::BYTES).unwrap_or_default();
            self.slots.set(at as usize * SlabEntry::BYTES, moved);
            self.set_count(at, self.count(last));
            self.repoint(last, at);
        }
    }

    /// Moves everything to a slab of another capacity, which is not below the length. When the capacity goes down by a factor of four or
    /// more, and the ghost has been given up, no more memory than before is in use at any moment. `None` if the system has no memory:
    /// then the slab can no longer be used.
    pub(crate) fn relayout(&mut self, capacity: usize) -> Option<()> {
        debug_assert!(self.len() <= capacity);
        (self.index, self.capacity) = (Index::default(), 0);
        let used = self.len * SlabEntry::BYTES;
        let mut slots = Memory::map(capacity * SlabEntry::BYTES)?;
        slots.bytes_mut()[..used].copy_from_slice(&self.slots.bytes()[..used]);
        self.slots = slots;
        self.counts = (0..capacity as u32).map(|at| AtomicU16::new(self.count(at))).collect();
        (self.index, self.capacity) = (Index::map(capacity)?, capacity);
        (0..self.len as u32).for_each(|at| self.link_index(at));
        Some(())
    }

    /// Checks that index and queues hold each slot exactly once.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let mut placed = 0;
        for at in 0..self.len() as u32 {
            let slot = self.get(at).unwrap();
            if let Some((place, ())) = self.index.find(slot.hash, |place| (place.slot == at).then_some(())) {
                assert_eq!(place.head, slot.head());
                placed += 1;
            } else {
                assert!(self.index.is_full(slot.hash), "a chain is only behind a full line");
                let in_chain = self.chained(slot.hash).take(self.len()).filter(|(other, _)| *other == at);
                assert_eq!(in_chain.count(), 1);
            }
        }
        assert_eq!(self.index.len(), placed, "all places are those of slots");
        let queued = self.audit_queue(Queue::Small) + self.audit_queue(Queue::Main);
        assert_eq!(queued, self.len());
        assert_eq!(self.slots.bytes().len(), self.capacity() * SlabEntry::BYTES, "as large as is charged");
        assert_eq!(self.counts.len(), self.capacity());
    }

    #[cfg(test)]
    fn audit_queue(&self, queue: Queue) -> usize {
        let ends = self.ends[queue as usize];
        let (mut newer, mut at, mut count, mut charge) = (NONE, ends.newest, 0, 0);
        while let Some(slot) = self.get(at) {
            assert_eq!((slot.newer, slot.queue), (newer, queue));
            charge += slot.entry.charge as usize;
            count += 1;
            assert!(count <= self.len(), "a queue is a cycle");
            (newer, at) = (at, slot.older);
        }
        assert_eq!((newer, charge), (ends.oldest, ends.charge));
        count
    }

    fn set(&mut self, at: u32, slot: &SlabEntry) {
        self.slots.set(at as usize * SlabEntry::BYTES, slot.encode());
    }

    fn change(&mut self, at: u32, change: impl FnOnce(&mut SlabEntry)) {
        if let Some(mut slot) = self.get(at) {
            change(&mut slot);
            self.set(at, &slot);
        }
    }

    fn link_index(&mut self, at: u32) {
        let Some(slot) = self.get(at) else { return };
        if !self.index.add(slot.hash, Location { slot: at, head: slot.head() }) {
            let chain = self.index.chain(slot.hash).unwrap_or(NONE);
            self.set(at, &SlabEntry { chain, ..slot });
            self.index.set_chain(slot.hash, Some(at));
        }
    }

    fn unlink_index(&mut self, at: u32) {
        let Some(slot) = self.get(at) else { return };
        if !self.index.take(slot.hash, at) {
            self.point_chain(slot.hash, at, slot.chain);
            return;
        }
        let chained = self.chained(slot.hash).next();
        if let Some((first, chained)) = chained {
            // The place in the line is free for it.
            self.point_chain(slot.hash, first, chained.chain);
            self.link_index(first);
        }
    }

    /// Finds what points to `from` in the chain behind the line of this hash, and makes it point to `to`.
    fn point_chain(&mut self, hash: u64, from: u32, to: u32) {
        if self.index.chain(hash) == Some(from) {
            return self.index.set_chain(hash, (to != NONE).then_some(to));
        }
        let before = self.chained(hash).find(|(_, slot)| slot.chain == from);
        if let Some((at, slot)) = before {
            self.set(at, &SlabEntry { chain: to, ..slot });
        }
    }

    fn link_queue(&mut self, at: u32, queue: Queue) {
        let Some(slot) = self.get(at) else { return };
        let ends = &mut self.ends[queue as usize];
        ends.charge += slot.entry.charge as usize;
        let older = std::mem::replace(&mut ends.newest, at);
        if older == NONE {
            ends.oldest = at;
        }
        self.set(at, &SlabEntry { queue, newer: NONE, older, ..slot });
        self.change(older, |slot| slot.newer = at);
    }

    fn unlink_queue(&mut self, at: u32) {
        let Some(slot) = self.get(at) else { return };
        self.point_neighbours(&slot, (slot.newer, slot.older));
        self.ends[slot.queue as usize].charge -= slot.entry.charge as usize;
    }

    /// Makes the newer neighbour's `older` point to `to.1`, and the older neighbour's `newer` to `to.0`. Where there is no neighbour, the
    /// end of the queue is changed.
    fn point_neighbours(&mut self, slot: &SlabEntry, to: (u32, u32)) {
        let ends = &mut self.ends[slot.queue as usize];
        if slot.newer == NONE {
            ends.newest = to.1;
        }
        if slot.older == NONE {
            ends.oldest = to.0;
        }
        self.change(slot.newer, |newer| newer.older = to.1);
        self.change(slot.older, |older| older.newer = to.0);
    }

    /// Notes that the slot at `from` is at `to` now: everything that pointed to it follows.
    fn repoint(&mut self, from: u32, to: u32) {
        if let Some(moved) = self.get(to) {
            self.point_neighbours(&moved, (to, to));
            if !self.index.change(moved.hash, from, Location { slot: to, head: moved.head() }) {
                self.point_chain(moved.hash, from, to);
            }
        }
    }
}
