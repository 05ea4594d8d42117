//! The index of a shard: a dense array of slots, a hash chain through them, and two queues through them.
//!
//! Everything is an index into one array, so its memory is known exactly, removal is O(1) in all three
//! structures, there are no tombstones, and the array can always shrink, because the last slot moves into a hole.

use crate::budget::allocated;
use std::sync::atomic::{AtomicU8, Ordering};

/// No slot.
const NONE: u32 = u32::MAX;

/// Which of the two queues a slot is in; see `shard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    Small,
    Main,
}

/// 32 bytes: two of them to a cache line.
pub(crate) struct Slot {
    hash: u64,
    head: u32,
    charge: u32,
    chain: u32,
    newer: u32,
    older: u32,
    credit: AtomicU8,
    weight: u8,
    queue: Queue,
}

impl Slot {
    /// The first block of the entry.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    pub(crate) fn credit(&self) -> u8 {
        self.credit.load(Ordering::Relaxed)
    }

    /// Relaxed and not atomic as a whole: a credit lost to a race is no harm.
    #[inline]
    pub(crate) fn set_credit(&self, credit: u8) {
        self.credit.store(credit, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) const fn weight(&self) -> u8 {
        self.weight
    }

    pub(crate) const fn queue(&self) -> Queue {
        self.queue
    }
}

/// An entry, as the index needs to know it.
#[derive(Clone, Copy)]
pub(crate) struct Indexed {
    /// See [`Slot::head`].
    pub(crate) head: u32,
    /// What the entry takes of the memory, in blocks, rounded up.
    pub(crate) charge: u32,
    /// What a hit is worth besides one credit.
    pub(crate) weight: u8,
}

/// Both ends of a queue, and the charge of what is in it, in blocks.
#[derive(Clone, Copy)]
struct Ends {
    newest: u32,
    oldest: u32,
    charge: usize,
}

impl Default for Ends {
    fn default() -> Self {
        Self { newest: NONE, oldest: NONE, charge: 0 }
    }
}

/// Invariants: `slots.len() <= heads.len()`, which is the capacity, 0 or a power of two; each slot is in
/// exactly one chain, that of its hash, and in exactly one queue, its own.
#[derive(Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    heads: Box<[u32]>,
    ends: [Ends; 2],
}

impl Slab {
    /// The memory of a slab with this capacity.
    pub(crate) const fn bytes_for(capacity: usize) -> usize {
        allocated(capacity * size_of::<Slot>()) + allocated(capacity * size_of::<u32>())
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.heads.len()
    }

    pub(crate) const fn len(&self) -> usize {
        self.slots.len()
    }

    /// What is in this queue, in blocks.
    pub(crate) const fn queue_charge(&self, queue: Queue) -> usize {
        self.ends[queue as usize].charge
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<&Slot> {
        self.slots.get(at as usize)
    }

    /// The slot with this hash of whose entry `is_it` says so.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(&Slot) -> bool) -> Option<u32> {
        let mut at = *self.heads.get(self.bucket(hash))?;
        while let Some(slot) = self.get(at) {
            if slot.hash == hash && is_it(slot) {
                return Some(at);
            }
            at = slot.chain;
        }
        None
    }

    pub(crate) const fn oldest(&self, queue: Queue) -> Option<u32> {
        let at = self.ends[queue as usize].oldest;
        if at == NONE { None } else { Some(at) }
    }

    /// Adds a slot at the newest end of its queue. There must be a free one.
    pub(crate) fn push(&mut self, hash: u64, entry: Indexed, queue: Queue) {
        debug_assert!(self.len() < self.capacity());
        let at = self.slots.len() as u32;
        let credit = AtomicU8::new(0);
        let Indexed { head, charge, weight } = entry;
        let (chain, newer, older) = (NONE, NONE, NONE);
        self.slots.push(Slot { hash, head, charge, chain, newer, older, credit, weight, queue });
        self.link_chain(at);
        self.link_queue(at, queue);
    }

    /// Puts another entry of the same key into a slot, which keeps its place and its credit. Returns the first block of
    /// the one that was there.
    pub(crate) fn replace(&mut self, at: u32, entry: Indexed) -> u32 {
        let slot = &mut self.slots[at as usize];
        let ends = &mut self.ends[slot.queue as usize];
        ends.charge = ends.charge + entry.charge as usize - slot.charge as usize;
        (slot.charge, slot.weight) = (entry.charge, entry.weight);
        std::mem::replace(&mut slot.head, entry.head)
    }

    /// The first block of an entry has moved.
    pub(crate) fn set_head(&mut self, at: u32, head: u32) {
        self.slots[at as usize].head = head;
    }

    /// Moves a slot to the newest end of a queue.
    pub(crate) fn requeue(&mut self, at: u32, queue: Queue) {
        self.unlink_queue(at);
        self.link_queue(at, queue);
    }

    /// Takes a slot out; the last one moves into its place. Returns the first block of its entry.
    pub(crate) fn remove(&mut self, at: u32) -> u32 {
        self.unlink_queue(at);
        self.unlink_chain(at);
        let head = self.slots.swap_remove(at as usize).head;
        let moved_from = self.slots.len() as u32;
        if at != moved_from {
            self.repoint(moved_from, at);
        }
        head
    }

    /// Moves everything to a slab of another capacity, not below the length. When the capacity goes down by a
    /// factor of eight or more, no more memory than before is in use at any moment.
    pub(crate) fn relayout(&mut self, capacity: usize) {
        debug_assert!(self.len() <= capacity);
        self.heads = Box::default();
        let mut slots = Vec::with_capacity(capacity);
        slots.append(&mut self.slots);
        self.slots = slots;
        self.heads = vec![NONE; capacity].into_boxed_slice();
        for at in 0..self.slots.len() as u32 {
            self.link_chain(at);
        }
    }

    /// Checks that chains and queues hold each slot exactly once.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let mut chained = 0;
        for (bucket, head) in self.heads.iter().enumerate() {
            let mut at = *head;
            while let Some(slot) = self.get(at) {
                assert_eq!(self.bucket(slot.hash), bucket);
                chained += 1;
                assert!(chained <= self.len(), "a chain is a cycle");
                at = slot.chain;
            }
        }
        assert_eq!(chained, self.len());
        let queued = self.audit_queue(Queue::Small) + self.audit_queue(Queue::Main);
        assert_eq!(queued, self.len());
        assert_eq!(self.slots.capacity(), self.capacity(), "the array is as large as is charged");
    }

    #[cfg(test)]
    fn audit_queue(&self, queue: Queue) -> usize {
        let ends = self.ends[queue as usize];
        let (mut newer, mut at, mut count, mut charge) = (NONE, ends.newest, 0, 0);
        while let Some(slot) = self.get(at) {
            assert_eq!((slot.newer, slot.queue), (newer, queue));
            charge += slot.charge as usize;
            count += 1;
            assert!(count <= self.len(), "a queue is a cycle");
            (newer, at) = (at, slot.older);
        }
        assert_eq!((newer, charge), (ends.oldest, ends.charge));
        count
    }

    /// The capacity is a power of two. A shard is chosen by the high bits of the hash, a bucket by the low ones.
    #[inline]
    const fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.heads.len().wrapping_sub(1)
    }

    fn link_chain(&mut self, at: u32) {
        let bucket = self.bucket(self.slots[at as usize].hash);
        self.slots[at as usize].chain = std::mem::replace(&mut self.heads[bucket], at);
    }

    fn unlink_chain(&mut self, at: u32) {
        let next = self.slots[at as usize].chain;
        *self.chain_link_to(at) = next;
    }

    /// The head or the chain field that points to this slot.
    fn chain_link_to(&mut self, target: u32) -> &mut u32 {
        let bucket = self.bucket(self.slots[target as usize].hash);
        let mut before = NONE;
        let mut at = self.heads[bucket];
        while at != target {
            before = at;
            at = self.slots[at as usize].chain;
        }
        if before == NONE { &mut self.heads[bucket] } else { &mut self.slots[before as usize].chain }
    }

    fn link_queue(&mut self, at: u32, queue: Queue) {
        let ends = &mut self.ends[queue as usize];
        let slot = &mut self.slots[at as usize];
        (slot.queue, slot.newer, slot.older) = (queue, NONE, ends.newest);
        ends.charge += slot.charge as usize;
        let older = std::mem::replace(&mut ends.newest, at);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = at,
            None => ends.oldest = at,
        }
    }

    fn unlink_queue(&mut self, at: u32) {
        let slot = &self.slots[at as usize];
        let (newer, older, queue, charge) = (slot.newer, slot.older, slot.queue, slot.charge);
        self.point_neighbours(newer, older, queue, (newer, older));
        self.ends[queue as usize].charge -= charge as usize;
    }

    /// Makes the newer neighbour's `older` and the older neighbour's `newer`, or the ends where there is no
    /// neighbour, point to `to.1` and `to.0`.
    fn point_neighbours(&mut self, newer: u32, older: u32, queue: Queue, to: (u32, u32)) {
        let ends = &mut self.ends[queue as usize];
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = to.1,
            None => ends.newest = to.1,
        }
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = to.0,
            None => ends.oldest = to.0,
        }
    }

    /// The slot that was at `from` is at `to`: whatever pointed to it follows.
    fn repoint(&mut self, from: u32, to: u32) {
        let moved = &self.slots[to as usize];
        let (newer, older, queue) = (moved.newer, moved.older, moved.queue);
        self.point_neighbours(newer, older, queue, (to, to));
        let bucket = self.bucket(self.slots[to as usize].hash);
        let mut link = &mut self.heads[bucket];
        while *link != from {
            let at = *link;
            link = &mut self.slots[at as usize].chain;
        }
        *link = to;
    }
}
