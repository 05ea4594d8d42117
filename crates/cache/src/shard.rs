//! One shard of the store, behind its own lock: an index, and what is worth keeping.
//!
//! Eviction is S3-FIFO, adapted to bytes and to upstream time. New entries enter the *small* queue, a tenth of the
//! bytes; what was hit there moves to *main*, the rest leaves soon, so a scan passes through without
//! displacing anything. Main is a FIFO with second chances. A *ghost* remembers the hashes of what has left: a
//! result that is asked for again goes to main at once.
//!
//! A hit gives credit, and credit is spent for surviving the end of a queue. A result that saves much more upstream time
//! for its bytes than its neighbours gets more credit for a hit. A hit moves nothing and takes no lock for it: at most one
//! store of a byte, and none once the credit is full.

use crate::Key;
use crate::budget::{Budget, allocated};
use crate::slab::{Queue, Slab, Slot};
use crate::stored::{Held, Stored};

/// The capacity of the first index, in slots.
const CAPACITY_MIN: usize = 4;
/// The small queue's share of the bytes is one in this many.
const SMALL_SHARE: usize = 10;
/// Hits beyond this much credit change nothing.
const CREDIT_MAX: u8 = 6;
/// With this much credit an entry moves from small to main: two hits, or one that saves much.
const CREDIT_TO_STAY: u8 = 2;
/// What one search for a victim may pass over before it takes the next one, whatever its credit.
const PASSED_OVER_MAX: usize = 64;
/// A hit is worth one more credit for each time that the upstream time saved per byte is this power of two above the
/// (geometric) mean of what was stored, but no more than `WEIGHT_MAX` more.
const DENSE_LOG2: u32 = 2;
const WEIGHT_MAX: u32 = 2;
/// The logarithm is kept as a multiple of one in this many.
const LOG2_SCALE: u32 = 256;
/// The mean moves by one in this many of the distance to each new value.
const MEAN_INERTIA: u32 = 16;

/// Says of an entry that it can never be served again.
pub(crate) type IsDead<'a> = &'a dyn Fn(&Stored) -> bool;

#[derive(Default)]
pub(crate) struct Shard {
    slab: Slab,
    /// Fingerprints of hashes that have left, in a table that forgets by overwriting; as long as the slab's capacity.
    ghost: Box<[u32]>,
    mean_log2: u32,
}

impl Shard {
    pub(crate) const fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn get(&self, at: u32) -> Option<&Slot> {
        self.slab.get(at)
    }

    /// The entry under this key. The hit is credited by [`Self::credit`].
    pub(crate) fn find(&self, hash: u64, key: Key<'_>) -> Option<&Slot> {
        self.slab.find(hash, key).and_then(|at| self.slab.get(at))
    }

    pub(crate) fn credit(slot: &Slot) {
        let credit = slot.credit();
        if credit < CREDIT_MAX {
            slot.set_credit((credit + 1 + slot.weight()).min(CREDIT_MAX));
        }
    }

    /// Stores an entry. What leaves for it (an older one of the same key, or one whose slot it needs) is handed
    /// back in `Ok`, to be dropped outside of the lock; the new one in `Err`, if there is neither a slot nor the
    /// budget for one.
    pub(crate) fn insert(
        &mut self,
        (hash, key): (u64, Key<'_>),
        held: Held,
        budget: &Budget,
        is_dead: IsDead<'_>,
    ) -> Result<Inserted, Held> {
        if let Some(at) = self.slab.find(hash, key) {
            return Ok(Inserted::InPlaceOf(self.renew(at, held)));
        }
        let mut evicted = None;
        if self.slab.len() == self.slab.capacity() && !self.grow(budget) {
            evicted = self.evict(budget, is_dead);
            if evicted.is_none() {
                return Err(held);
            }
        }
        if self.slab.len() == self.slab.capacity() && !self.grow(budget) {
            return Err(held);
        }
        let queue = if self.recall(hash) { Queue::Main } else { Queue::Small };
        let weight = self.weigh(&held);
        self.slab.push(hash, held, queue, weight);
        Ok(evicted.map_or(Inserted::Added, Inserted::Evicting))
    }

    /// Of two entries of the same key the one with the later `valid_from` is servable for longer.
    fn renew(&mut self, at: u32, held: Held) -> Held {
        let valid_from = |held: &Held| held.get().map(Stored::valid_from);
        let is_older = self.slab.get(at).is_some_and(|old| valid_from(old.held()) >= valid_from(&held));
        if is_older {
            return held;
        }
        let weight = self.weigh(&held);
        self.slab.replace(at, held, weight)
    }

    /// Takes out the entry that is worth least.
    pub(crate) fn evict(&mut self, budget: &Budget, is_dead: IsDead<'_>) -> Option<Held> {
        let at = self.victim(is_dead)?;
        self.remember(at);
        let held = self.slab.remove(at);
        self.shrink(budget);
        Some(held)
    }

    /// Takes out a dead entry. What has proven its worth is remembered: its next result goes to main again.
    fn remove(&mut self, at: u32, budget: &Budget) -> Held {
        if self.slab.get(at).is_some_and(|slot| slot.queue() == Queue::Main || slot.credit() > 0) {
            self.remember(at);
        }
        let held = self.slab.remove(at);
        self.shrink(budget);
        held
    }

    /// Takes out what is in this slot if it is dead.
    pub(crate) fn remove_dead(&mut self, at: u32, budget: &Budget, is_dead: IsDead<'_>) -> Option<Held> {
        self.is_dead_at(at, is_dead).then(|| self.remove(at, budget))
    }

    /// Takes out what is under this key if it is dead.
    pub(crate) fn remove_dead_key(
        &mut self,
        (hash, key): (u64, Key<'_>),
        budget: &Budget,
        is_dead: IsDead<'_>,
    ) -> Option<Held> {
        self.slab.find(hash, key).and_then(|at| self.remove_dead(at, budget, is_dead))
    }

    pub(crate) fn is_dead_at(&self, at: u32, is_dead: IsDead<'_>) -> bool {
        self.slab.get(at).and_then(|slot| slot.held().get()).is_some_and(is_dead)
    }

    /// The memory of the index.
    pub(crate) const fn index_bytes(&self) -> usize {
        bytes_for(self.slab.capacity())
    }

    /// Everything that is charged for this shard; checks the index on the way.
    #[cfg(test)]
    pub(crate) fn audit(&self) -> usize {
        assert_eq!(self.ghost.len(), self.slab.capacity());
        self.index_bytes() + self.slab.audit()
    }

    fn victim(&mut self, is_dead: IsDead<'_>) -> Option<u32> {
        for _ in 0..PASSED_OVER_MAX {
            let at = self.next_to_leave()?;
            if self.is_dead_at(at, is_dead) || !self.is_kept(at) {
                return Some(at);
            }
        }
        self.next_to_leave()
    }

    fn next_to_leave(&self) -> Option<u32> {
        let (small, main) = (self.slab.queue_bytes(Queue::Small), self.slab.queue_bytes(Queue::Main));
        let small_first = small > (small + main) / SMALL_SHARE;
        let first = if small_first { Queue::Small } else { Queue::Main };
        let other = if small_first { Queue::Main } else { Queue::Small };
        self.slab.oldest(first).or_else(|| self.slab.oldest(other))
    }

    /// Spends the credit of an entry at the end of its queue, if it has enough to stay.
    fn is_kept(&mut self, at: u32) -> bool {
        let Some(slot) = self.slab.get(at) else { return false };
        let left = match slot.queue() {
            Queue::Small if slot.credit() >= CREDIT_TO_STAY => 0,
            Queue::Main if slot.credit() > 0 => slot.credit() - 1,
            Queue::Small | Queue::Main => return false,
        };
        slot.set_credit(left);
        self.slab.requeue(at, Queue::Main);
        true
    }

    /// How much more than one credit a hit on this is worth. Compared in logarithms, because costs spread over
    /// orders of magnitude, and a few huge ones must not make all others look cheap.
    fn weigh(&mut self, held: &Held) -> u8 {
        const KIB: u64 = 1024;
        let cost_us = held.get().map_or(0, |stored| u64::from(stored.cost_us()));
        let density = 1 + cost_us * KIB / (held.charge() as u64).max(1);
        let log2 = density.ilog2() * LOG2_SCALE;
        let above = log2.saturating_sub(self.mean_log2) / LOG2_SCALE;
        self.mean_log2 = (self.mean_log2 * (MEAN_INERTIA - 1) + log2) / MEAN_INERTIA;
        (above / DENSE_LOG2).min(WEIGHT_MAX) as u8
    }

    fn remember(&mut self, at: u32) {
        let Some(hash) = self.slab.get(at).map(Slot::hash) else { return };
        let place = self.ghost_place(hash);
        if let Some(mark) = self.ghost.get_mut(place) {
            *mark = fingerprint(hash);
        }
    }

    fn recall(&mut self, hash: u64) -> bool {
        let place = self.ghost_place(hash);
        self.ghost.get_mut(place).is_some_and(|mark| {
            let known = *mark == fingerprint(hash);
            *mark = if known { 0 } else { *mark };
            known
        })
    }

    const fn ghost_place(&self, hash: u64) -> usize {
        hash as usize & self.ghost.len().wrapping_sub(1)
    }

    /// Doubles the index, if the budget has the new one beside the old one.
    fn grow(&mut self, budget: &Budget) -> bool {
        let old = self.slab.capacity();
        let new = (old * 2).max(CAPACITY_MIN);
        if !budget.reserve(bytes_for(new)) {
            return false;
        }
        self.relayout(new);
        budget.release(bytes_for(old));
        true
    }

    /// Gives back the index of an empty shard, and three quarters of one that is seven eighths empty: what that needs
    /// for the moment of moving is what it has just given up (`heads` and `ghost`), so it needs no reservation.
    fn shrink(&mut self, budget: &Budget) {
        let old = self.slab.capacity();
        if self.slab.len() == 0 {
            *self = Self { mean_log2: self.mean_log2, ..Self::default() };
            budget.release(bytes_for(old));
        } else if self.slab.len() <= old / 8 && old / 4 >= CAPACITY_MIN {
            self.relayout(old / 4);
            budget.release(bytes_for(old) - bytes_for(old / 4));
        }
    }

    /// The ghost is a guess about the past; it may be lost with the layout.
    fn relayout(&mut self, capacity: usize) {
        self.ghost = Box::default();
        self.slab.relayout(capacity);
        self.ghost = vec![0; capacity].into_boxed_slice();
    }
}

/// What became of an insert.
pub(crate) enum Inserted {
    Added,
    InPlaceOf(Held),
    Evicting(Held),
}

/// The memory of a shard's index with this capacity: slab and ghost.
pub(crate) const fn bytes_for(capacity: usize) -> usize {
    Slab::bytes_for(capacity) + allocated(capacity * size_of::<u32>())
}

/// The least that a shard needs to hold anything.
pub(crate) const FIRST_INDEX_BYTES: usize = bytes_for(CAPACITY_MIN);

/// Not 0, which marks an empty place; from bits that choose neither shard nor place.
const fn fingerprint(hash: u64) -> u32 {
    (hash >> 24) as u32 | 1
}
