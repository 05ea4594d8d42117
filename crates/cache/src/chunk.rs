//! A piece of memory from the system, cut into blocks of one size.
//!
//! A chunk is large, because a system keeps a bounded number of maps per process (65,530 is the default of Linux). 80,000 chunks hold 10
//! GiB; the system merges maps that lie side by side, which leaves 40,000 in the worst case.

use crate::memory::Memory;

/// The unit in which results are stored, in bytes; `arena` says why it has this size.
pub(crate) const BLOCK_BYTES: usize = 120;
/// A power of two, so that two shifts find a block by its number. With the links, a chunk has 128 KiB.
pub(crate) const BLOCKS_PER_CHUNK: usize = 1 << BLOCKS_PER_CHUNK_LOG2;
pub(crate) const BLOCKS_PER_CHUNK_LOG2: u32 = 10;
const WORDS: usize = BLOCKS_PER_CHUNK / u64::BITS as usize;

/// No block.
pub(crate) const NONE: u32 = u32::MAX;

/// What stands before a block in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Block(u32),
    /// The block is the first of the entry in this slot.
    Slot(u32),
}

/// The neighbours of a block. Numbers of blocks and slots stay below [`Link::SLOT`], 512 GiB a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) before: Before,
    pub(crate) next: u32,
}

impl Link {
    pub(crate) const BYTES: usize = 8;
    const SLOT: u32 = 1 << 31;

    #[inline]
    fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let both = u64::from_le_bytes(bytes);
        let (next, before) = (both as u32, (both >> u32::BITS) as u32);
        let before =
            if before & Self::SLOT == 0 { Before::Block(before) } else { Before::Slot(before & !Self::SLOT) };
        Self { before, next }
    }

    fn encode(self) -> [u8; Self::BYTES] {
        let before = match self.before {
            Before::Block(block) => block,
            Before::Slot(slot) => slot | Self::SLOT,
        };
        (u64::from(before) << u32::BITS | u64::from(self.next)).to_le_bytes()
    }
}

/// Blocks in here are numbered from 0; behind all of them lie their links. Invariant: a block is free iff its bit in `free` is set.
#[derive(Default)]
pub(crate) struct Chunk {
    /// Empty where a chunk was taken out.
    memory: Memory,
    free: [u64; WORDS],
}

impl Chunk {
    const LINKS_AT: usize = BLOCKS_PER_CHUNK * BLOCK_BYTES;

    /// Maps a chunk whose blocks are all free; they take no memory until they are written. `None` if the system has no memory.
    pub(crate) fn map() -> Option<Self> {
        let memory = Memory::map(BLOCKS_PER_CHUNK * (BLOCK_BYTES + Link::BYTES))?;
        Some(Self { memory, free: [u64::MAX; WORDS] })
    }

    /// Takes the first free block, so that blocks taken one after the other lie side by side where they can.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let (at, word) = self.free.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some(at * u64::BITS as usize + bit as usize)
    }

    pub(crate) const fn give_back(&mut self, at: usize) {
        self.free[at / u64::BITS as usize] |= 1 << (at % u64::BITS as usize);
    }

    pub(crate) const fn is_free(&self, at: usize) -> bool {
        self.free[at / u64::BITS as usize] >> (at % u64::BITS as usize) & 1 == 1
    }

    /// Returns the link that was set last.
    #[inline]
    pub(crate) fn link(&self, at: usize) -> Link {
        Link::decode(self.memory.get(Self::LINKS_AT + at * Link::BYTES).unwrap_or([u8::MAX; Link::BYTES]))
    }

    pub(crate) fn set_link(&mut self, at: usize, link: Link) {
        self.memory.set(Self::LINKS_AT + at * Link::BYTES, link.encode());
    }

    /// Returns `len` bytes from offset `from` of a block on; they may reach into the blocks behind it.
    #[inline]
    pub(crate) fn read(&self, at: usize, from: usize, len: usize) -> &[u8] {
        let start = at * BLOCK_BYTES + from;
        self.memory.bytes().get(start..start + len).unwrap_or_default()
    }

    /// Returns the bytes of a block.
    pub(crate) fn block_mut(&mut self, at: usize) -> &mut [u8] {
        let start = at * BLOCK_BYTES;
        self.memory.bytes_mut().get_mut(start..start + BLOCK_BYTES).unwrap_or_default()
    }
}
