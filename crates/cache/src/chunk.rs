//! A piece of memory from the system, cut into blocks of one size.
//!
//! It is mapped and unmapped, not allocated: what is freed is the system's at once, whichever thread frees it. A chunk is
//! large, because a system keeps a bounded number of maps per process (65,530 as Linux comes): 40,000 hold 10 GiB.

use memmap2::MmapMut;

/// The unit in which results are stored, in bytes; `arena` says how it was chosen.
pub(crate) const BLOCK_BYTES: usize = 256;
/// A power of two, so that the number of a block says by two shifts where it lies. 256 KiB with the above.
pub(crate) const BLOCKS_PER_CHUNK: usize = 1 << BLOCKS_PER_CHUNK_LOG2;
pub(crate) const BLOCKS_PER_CHUNK_LOG2: u32 = 9;
const WORDS: usize = BLOCKS_PER_CHUNK / u64::BITS as usize;

/// No block.
pub(crate) const NONE: u32 = u32::MAX;

/// What stands before a block in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Block(u32),
    /// It is the first block of the entry in this slot.
    Slot(u32),
}

/// The neighbours of a block, in 8 bytes: numbers of blocks and slots stay below [`Link::SLOT`], 512 GiB a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) next: u32,
    before: u32,
}

impl Link {
    const SLOT: u32 = 1 << 31;

    pub(crate) const fn new(before: Before, next: u32) -> Self {
        let mut link = Self { next, before: 0 };
        link.set_before(before);
        link
    }

    pub(crate) const fn before(self) -> Before {
        if self.before & Self::SLOT == 0 {
            Before::Block(self.before)
        } else {
            Before::Slot(self.before & !Self::SLOT)
        }
    }

    pub(crate) const fn set_before(&mut self, before: Before) {
        self.before = match before {
            Before::Block(block) => block,
            Before::Slot(slot) => slot | Self::SLOT,
        };
    }
}

/// Blocks here are numbered from 0. Invariant: a block is free iff its bit in `free` is set.
#[derive(Default)]
pub(crate) struct Chunk {
    bytes: Option<MmapMut>,
    links: Box<[Link]>,
    free: [u64; WORDS],
}

impl Chunk {
    /// All blocks are free, and take no memory until they are written. `None` if the system has none.
    pub(crate) fn map() -> Option<Self> {
        let bytes = MmapMut::map_anon(BLOCKS_PER_CHUNK * BLOCK_BYTES).ok()?;
        let links = vec![Link { next: NONE, before: 0 }; BLOCKS_PER_CHUNK].into_boxed_slice();
        Some(Self { bytes: Some(bytes), links, free: [u64::MAX; WORDS] })
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

    #[inline]
    pub(crate) const fn link(&self, at: usize) -> &Link {
        &self.links[at]
    }

    pub(crate) const fn link_mut(&mut self, at: usize) -> &mut Link {
        &mut self.links[at]
    }

    /// `len` bytes from offset `from` of a block on, which may reach into the blocks behind it.
    #[inline]
    pub(crate) fn read(&self, at: usize, from: usize, len: usize) -> &[u8] {
        let start = at * BLOCK_BYTES + from;
        self.bytes.as_deref().and_then(|bytes| bytes.get(start..start + len)).unwrap_or_default()
    }

    /// The bytes of a block.
    pub(crate) fn block_mut(&mut self, at: usize) -> &mut [u8] {
        let start = at * BLOCK_BYTES;
        self.bytes
            .as_deref_mut()
            .and_then(|bytes| bytes.get_mut(start..start + BLOCK_BYTES))
            .unwrap_or_default()
    }
}
