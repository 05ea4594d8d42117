//! The memory of a shard's entries: chains of blocks of one size, in chunks.
//!
//! Any free block serves any entry, so it does not matter how the sizes of results change: there are no size classes, and a few entries
//! of one size cannot pin memory. Blocks can move, because everything that points to a block is known: the link of the block before it,
//! or the slot of its entry. So when enough blocks are free, the emptiest chunk is emptied into the others and goes back to the system.
//!
//! Memory that is mapped and not in use is bounded: for each shard, one chunk, and one in [`SLACK_SHARE`] of all blocks. A block that was
//! never written takes no memory, so an arena that holds little has little slack.
//!
//! An entry wastes half a block on average, and 8 bytes of each block for its link. A body is copied in as many parts as it has runs of
//! blocks. With blocks of 128 bytes and their links, a result of 300 to 600 bytes takes a fifth more than its bytes; with blocks of 256
//! bytes, a third. A hit costs the same, within what other load on the machine hides: up to 8 KiB in one piece, 161 to 201 ns against 128.

use crate::chunk::{BLOCK_BYTES, BLOCKS_PER_CHUNK, BLOCKS_PER_CHUNK_LOG2, Before, Chunk, Link, NONE};
use crate::fills::Fills;

/// The bytes that a block takes, its link included.
pub(crate) const BLOCK_CHARGE: usize = BLOCK_BYTES + Link::BYTES;
/// One block in this many may be free, beside those of one chunk. So a chunk that is emptied is not quite full: between two emptyings, a
/// chunk's worth of blocks must be freed. In the long run no more blocks are moved than freed.
pub(crate) const SLACK_SHARE: usize = 32;

/// Returns how many blocks are needed for this many bytes.
pub(crate) const fn blocks_for(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK_BYTES)
}

/// Invariants: `fills` has the number of free blocks of each chunk; `in_use` and `free` are the sums over all chunks; each block in use
/// is in exactly one chain, and the link behind it points back to it.
#[derive(Default)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    fills: Fills,
    /// The chunk from which the next block is taken, if it has a free one.
    current: usize,
    in_use: usize,
    free: usize,
}

impl Arena {
    /// Returns how many blocks hold something.
    pub(crate) const fn in_use(&self) -> usize {
        self.in_use
    }

    /// Maps memory until so many blocks are free. `None` if the system has none.
    pub(crate) fn make_room(&mut self, blocks: usize) -> Option<()> {
        while self.free < blocks {
            self.add_chunk()?;
        }
        Some(())
    }

    /// Writes `parts` to a new chain for this slot, and returns its first block. The parts lie one behind the other, and are not all
    /// empty. `None` if the system has no memory; then nothing has changed.
    pub(crate) fn store(&mut self, slot: u32, parts: &[&[u8]]) -> Option<u32> {
        self.make_room(blocks_for(parts.iter().map(|part| part.len()).sum()))?;
        let head = self.take(Before::Slot(slot))?;
        let (mut block, mut at) = (head, 0);
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                if at == BLOCK_BYTES {
                    (block, at) = (self.take(Before::Block(block))?, 0);
                }
                let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - at));
                self.block_mut(block)[at..at + now.len()].copy_from_slice(now);
                (rest, at) = (later, at + now.len());
            }
        }
        Some(head)
    }

    /// Gives back all blocks of a chain, and returns how many they were.
    pub(crate) fn free(&mut self, head: u32) -> usize {
        let (mut block, mut count) = (head, 0);
        while block != NONE {
            let next = self.link(block).next;
            self.give_back(block);
            (block, count) = (next, count + 1);
        }
        count
    }

    /// Notes that the entry that begins with this block is in another slot now.
    pub(crate) fn set_slot(&mut self, head: u32, slot: u32) {
        self.set_before(head, Before::Slot(slot));
    }

    /// Returns `len` bytes of a chain, from offset `from` on.
    #[inline]
    pub(crate) fn read(&self, head: u32, from: usize, len: usize) -> Pieces<'_> {
        let (mut block, mut at) = (head, from);
        while at >= BLOCK_BYTES && len > 0 {
            (block, at) = (self.link(block).next, at - BLOCK_BYTES);
        }
        Pieces { arena: self, block, at, left: len }
    }

    /// Returns the bytes of the first block of a chain.
    #[inline]
    pub(crate) fn head(&self, head: u32) -> &[u8] {
        let (chunk, at) = place(head);
        self.chunks[chunk].read(at, 0, BLOCK_BYTES)
    }

    /// Writes over bytes of the first block of a chain, from offset `at` on.
    pub(crate) fn patch(&mut self, head: u32, at: usize, bytes: &[u8]) {
        if let Some(place) = self.block_mut(head).get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Empties a chunk if too many blocks are free, and returns it, to be unmapped outside of the lock. The caller calls again until this
    /// returns `None`. `moved` is called with the slot and the new first block of each entry whose first block has moved.
    pub(crate) fn compact(&mut self, moved: &mut dyn FnMut(u32, u32)) -> Option<Chunk> {
        if self.free <= BLOCKS_PER_CHUNK + (self.free + self.in_use) / SLACK_SHARE {
            return None;
        }
        let chunk = self.fills.emptiest()?;
        self.free -= self.fills.take_out(chunk);
        for at in 0..BLOCKS_PER_CHUNK {
            if !self.chunks[chunk].is_free(at) {
                self.relocate(number(chunk, at), moved);
            }
        }
        Some(std::mem::take(&mut self.chunks[chunk]))
    }

    /// Moves a block of a chunk that is no longer counted into a chunk that is.
    fn relocate(&mut self, from: u32, moved: &mut dyn FnMut(u32, u32)) {
        let link = self.link(from);
        let Some(to) = self.take(link.before) else { return };
        self.in_use -= 1;
        let (chunk, at) = place(from);
        let mut bytes = [0; BLOCK_BYTES];
        bytes.copy_from_slice(self.chunks[chunk].read(at, 0, BLOCK_BYTES));
        self.block_mut(to).copy_from_slice(&bytes);
        self.set_link(to, link);
        if link.next != NONE {
            self.set_before(link.next, Before::Block(to));
        }
        if let Before::Slot(slot) = link.before {
            moved(slot, to);
        }
    }

    /// Checks that the chains with these first blocks hold each block in use once. The first chain is that of slot 0, and so on.
    #[cfg(test)]
    pub(crate) fn audit(&self, heads: &[u32]) {
        let mut chained = std::collections::HashSet::new();
        for (slot, head) in heads.iter().enumerate() {
            let (mut block, mut before) = (*head, Before::Slot(slot as u32));
            while block != NONE {
                let (chunk, at) = place(block);
                assert!(!self.chunks[chunk].is_free(at) && chained.insert(block));
                assert_eq!(self.link(block).before, before);
                (before, block) = (Before::Block(block), self.link(block).next);
            }
        }
        let (chunks, free) = self.fills.audit();
        assert_eq!(chained.len(), self.in_use);
        assert_eq!((free, chunks * BLOCKS_PER_CHUNK), (self.free, self.in_use + self.free));
    }

    fn add_chunk(&mut self) -> Option<()> {
        let chunk = Chunk::map()?;
        let at = self.fills.add();
        match self.chunks.get_mut(at) {
            Some(gap) => *gap = chunk,
            None => self.chunks.push(chunk),
        }
        self.free += BLOCKS_PER_CHUNK;
        Some(())
    }

    /// Takes a free block as the last of its chain, and makes what stands before it point to it.
    fn take(&mut self, before: Before) -> Option<u32> {
        // From the fullest chunk, so that others become empty.
        if self.fills.free_in(self.current) == 0 {
            self.current = self.fills.fullest()?;
        }
        let at = self.chunks[self.current].take()?;
        let block = number(self.current, at);
        self.fills.set_free(self.current, self.fills.free_in(self.current) - 1);
        (self.in_use, self.free) = (self.in_use + 1, self.free - 1);
        self.set_link(block, Link { before, next: NONE });
        if let Before::Block(before) = before {
            self.set_link(before, Link { next: block, ..self.link(before) });
        }
        Some(block)
    }

    fn give_back(&mut self, block: u32) {
        let (chunk, at) = place(block);
        self.chunks[chunk].give_back(at);
        self.fills.set_free(chunk, self.fills.free_in(chunk) + 1);
        (self.in_use, self.free) = (self.in_use - 1, self.free + 1);
    }

    #[inline]
    fn link(&self, block: u32) -> Link {
        let (chunk, at) = place(block);
        self.chunks[chunk].link(at)
    }

    fn set_link(&mut self, block: u32, link: Link) {
        let (chunk, at) = place(block);
        self.chunks[chunk].set_link(at, link);
    }

    fn set_before(&mut self, block: u32, before: Before) {
        self.set_link(block, Link { before, ..self.link(block) });
    }

    fn block_mut(&mut self, block: u32) -> &mut [u8] {
        let (chunk, at) = place(block);
        self.chunks[chunk].block_mut(at)
    }
}

#[inline]
const fn place(block: u32) -> (usize, usize) {
    ((block >> BLOCKS_PER_CHUNK_LOG2) as usize, block as usize % BLOCKS_PER_CHUNK)
}

const fn number(chunk: usize, at: usize) -> u32 {
    ((chunk << BLOCKS_PER_CHUNK_LOG2) + at) as u32
}

/// Part of a chain, in slices. Blocks that lie side by side are one slice.
#[derive(Clone)]
pub(crate) struct Pieces<'a> {
    arena: &'a Arena,
    block: u32,
    at: usize,
    left: usize,
}

impl Pieces<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.left
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let ((chunk, first), from) = (place(self.block), self.at);
        let chunk = &self.arena.chunks[chunk];
        let (mut last, mut len) = (first, BLOCK_BYTES - from);
        let mut next = NONE;
        while len < self.left {
            next = chunk.link(last).next;
            if next != self.block + 1 || last + 1 == BLOCKS_PER_CHUNK {
                break;
            }
            (self.block, last, len) = (next, last + 1, len + BLOCK_BYTES);
        }
        let len = len.min(self.left);
        (self.block, self.at, self.left) = (next, 0, self.left - len);
        Some(chunk.read(first, from, len))
    }
}

#[cfg(test)]
mod tests;
