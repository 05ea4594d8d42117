//! The index of a shard by hash: a cache line for each bucket. It says in which slot an entry is, and in which block the entry begins, so that
//! a hit reads no slot: each line that a hit reads comes from far away if other results were asked for since.
//!
//! A line has places for as many slots as are there on average when the shard is nearly full. Where there are more, the others are in a
//! chain through the slots, whose beginning is in the line.

use crate::memory::Memory;

/// The slots of a shard for each line.
const SLOTS_PER_LINE: usize = 8;
/// The places of a line.
const PLACES: usize = 7;
const WORD_BYTES: usize = size_of::<u64>();
const LINE_BYTES: usize = (PLACES + 1) * WORD_BYTES;

/// A word has, from its lowest bit on, the block in which the entry begins (as in a link of `chunk`), some bits of its hash, and the number of
/// its slot, plus one.
const HEAD_BITS: u32 = 31;
const TAG_BITS: u32 = 7;
const SLOT_AT: u32 = HEAD_BITS + TAG_BITS;
/// The most slots of a shard.
pub(crate) const SLOTS_MAX: usize = 1 << (u64::BITS - SLOT_AT - 1);

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) slot: u32,
    /// The first block of the entry.
    pub(crate) head: u32,
}

/// The lines: a power of two of them, or none.
#[derive(Default)]
pub(crate) struct Index {
    lines: Memory,
}

impl Index {
    /// Returns the memory of an index for so many slots.
    pub(crate) const fn bytes_for(slots: usize) -> usize {
        slots.div_ceil(SLOTS_PER_LINE) * LINE_BYTES
    }

    /// Maps an index without entries. `None` if the system has no memory.
    pub(crate) fn map(slots: usize) -> Option<Self> {
        Some(Self { lines: Memory::map(Self::bytes_for(slots))? })
    }

    /// Returns the first place of this hash's line for which `found` returns something, and that.
    #[inline]
    pub(crate) fn find<T>(&self, hash: u64, found: impl Fn(Location) -> Option<T>) -> Option<(Location, T)> {
        let at = self.line(hash);
        let line: &[u8; LINE_BYTES] = self.lines.bytes().get(at..)?.first_chunk()?;
        let (words, _) = line.as_chunks();
        let tag = tag(hash);
        let places = words.iter().take(PLACES).map(|word| u64::from_le_bytes(*word));
        places
            .filter(|word| *word != 0 && tag_of(*word) == tag)
            .map(location_of)
            .find_map(|location| Some((location, found(location)?)))
    }

    /// Adds an entry. Returns false if its line is full.
    pub(crate) fn add(&mut self, hash: u64, location: Location) -> bool {
        let at = self.line(hash);
        let free = (0..PLACES).find(|nth| self.word(at, *nth) == 0);
        free.inspect(|nth| self.set_word(at, *nth, word_of(hash, location))).is_some()
    }

    /// Takes the entry in this slot out. Returns false if it is not in its line.
    pub(crate) fn take(&mut self, hash: u64, slot: u32) -> bool {
        let at = self.line(hash);
        self.nth(at, slot).inspect(|nth| self.set_word(at, *nth, 0)).is_some()
    }

    /// Notes that the entry in this slot is in another place now. Returns false if it is not in its line.
    pub(crate) fn change(&mut self, hash: u64, slot: u32, location: Location) -> bool {
        let at = self.line(hash);
        self.nth(at, slot).inspect(|nth| self.set_word(at, *nth, word_of(hash, location))).is_some()
    }

    /// Returns the first slot of the chain behind this hash's line.
    #[inline]
    pub(crate) fn chain(&self, hash: u64) -> Option<u32> {
        self.word(self.line(hash), PLACES).checked_sub(1).map(|slot| slot as u32)
    }

    pub(crate) fn set_chain(&mut self, hash: u64, slot: Option<u32>) {
        self.set_word(self.line(hash), PLACES, slot.map_or(0, |slot| u64::from(slot) + 1));
    }

    #[cfg(test)]
    pub(crate) fn is_full(&self, hash: u64) -> bool {
        let at = self.line(hash);
        (0..PLACES).all(|nth| self.word(at, nth) != 0)
    }

    /// Returns how many places are taken.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let lines = (0..self.lines.bytes().len()).step_by(LINE_BYTES);
        lines.map(|at| (0..PLACES).filter(|nth| self.word(at, *nth) != 0).count()).sum()
    }

    /// Returns the place of this slot in a line.
    fn nth(&self, at: usize, slot: u32) -> Option<usize> {
        (0..PLACES).find(|nth| self.word(at, *nth) >> SLOT_AT == u64::from(slot) + 1)
    }

    /// Returns the offset of this hash's line. The high bits of the hash choose a shard, the low bits a line.
    #[inline]
    fn line(&self, hash: u64) -> usize {
        let lines = self.lines.bytes().len() / LINE_BYTES;
        (hash as usize & lines.saturating_sub(1)) * LINE_BYTES
    }

    fn word(&self, at: usize, nth: usize) -> u64 {
        self.lines.get(at + nth * WORD_BYTES).map_or(0, u64::from_le_bytes)
    }

    fn set_word(&mut self, at: usize, nth: usize, word: u64) {
        self.lines.set(at + nth * WORD_BYTES, word.to_le_bytes());
    }
}

/// Returns bits of a hash that choose neither shard nor line.
const fn tag(hash: u64) -> u64 {
    hash >> 48 & ((1 << TAG_BITS) - 1)
}

const fn tag_of(word: u64) -> u64 {
    word >> HEAD_BITS & ((1 << TAG_BITS) - 1)
}

const fn location_of(word: u64) -> Location {
    Location { slot: (word >> SLOT_AT).wrapping_sub(1) as u32, head: (word & ((1 << HEAD_BITS) - 1)) as u32 }
}

fn word_of(hash: u64, location: Location) -> u64 {
    debug_assert!((location.slot as usize) < SLOTS_MAX && location.head >> HEAD_BITS == 0);
    (u64::from(location.slot) + 1) << SLOT_AT | tag(hash) << HEAD_BITS | u64::from(location.head)
}
