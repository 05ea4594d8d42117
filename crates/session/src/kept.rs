//! A map with a bound in bytes, which forgets the least used entries.
//!
//! Each entry has a count of uses. Room is made for an eighth of the bound at a time: first from the entries with the fewest uses, and
//! among these from the ones unused for longest. So each insert looks at a few others on average. An entry that is not used between two
//! such moments loses one use. So entries that are used once each, however many, never displace entries that are used
//! again and again.

mod sharded;

use std::borrow::Borrow;
use std::hash::Hash;

use ahash::HashMap;

pub(crate) use sharded::Sharded;

/// The largest count of uses.
const USES_MAX: u8 = 15;
/// One in this many bytes is freed at once.
const FREED_SHARE: usize = 8;

#[derive(Debug)]
struct KeptEntry<V> {
    value: V,
    bytes: usize,
    uses: u8,
    /// The moment of the last use; no two are the same.
    used_at: u64,
}

/// The map. The caller says how many bytes each value takes.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    slots: HashMap<K, KeptEntry<V>>,
    bytes: usize,
    bytes_max: usize,
    now: u64,
    /// When room was made last, on the map's own clock.
    freed_at: u64,
    /// How many slots were looked at to make room.
    #[cfg(test)]
    looked_at: usize,
}

impl<K: Eq + Hash, V> Kept<K, V> {
    /// An empty map of values of up to `bytes_max` together.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            slots: HashMap::default(),
            bytes: 0,
            bytes_max,
            now: 0,
            freed_at: 0,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// Returns the value under `key`. The call counts as a use.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.now += 1;
        let slot = self.slots.get_mut(key)?;
        slot.uses = (slot.uses + 1).min(USES_MAX);
        slot.used_at = self.now;
        Some(&slot.value)
    }

    /// Stores `value` in the place of the earlier one. A value larger than what is freed at once is not kept.
    pub(crate) fn insert(&mut self, key: K, value: V, bytes: usize) {
        self.now += 1;
        let old = self.slots.remove(&key);
        self.bytes -= old.as_ref().map_or(0, |old| old.bytes);
        if bytes > self.bytes_max / FREED_SHARE {
            return;
        }
        // Before the value is inserted: it has had no time to be used.
        if self.bytes + bytes > self.bytes_max {
            self.make_room();
        }
        self.bytes += bytes;
        let uses = old.map_or(0, |old| old.uses);
        self.slots.insert(key, KeptEntry { value, bytes, uses, used_at: self.now });
    }

    /// Returns all entries; this does not count as a use.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.slots.iter().map(|(key, slot)| (key, &slot.value))
    }

    /// Frees an eighth of the bound, or more.
    fn make_room(&mut self) {
        let mut all: Vec<(u8, u64, usize)> =
            self.slots.values().map(|slot| (slot.uses, slot.used_at, slot.bytes)).collect();
        all.sort_unstable();
        let goal = self.bytes_max - self.bytes_max / FREED_SHARE;
        let mut left = self.bytes;
        let first_kept = all.iter().find(|(_, _, bytes)| {
            let stays = left <= goal;
            left -= if stays { 0 } else { *bytes };
            stays
        });
        let first_kept = first_kept.map_or((u8::MAX, 0), |(uses, used_at, _)| (*uses, *used_at));
        self.slots.retain(|_, slot| (slot.uses, slot.used_at) >= first_kept);
        self.bytes = left;
        for slot in self.slots.values_mut().filter(|slot| slot.used_at <= self.freed_at) {
            slot.uses = slot.uses.saturating_sub(1);
        }
        self.freed_at = self.now;
        #[cfg(test)]
        {
            self.looked_at += all.len();
        }
    }
}

#[cfg(test)]
mod tests;
