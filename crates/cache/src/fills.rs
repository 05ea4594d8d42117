//! How full the chunks of an arena are: the fullest chunk that is not full, and the emptiest chunk.
//!
//! Chunks with about the same number of free blocks are in one list; "about" means within an eighth. A bit for each list says whether it
//! holds a chunk, so both answers take the same few steps however many chunks there are.

use crate::chunk::BLOCKS_PER_CHUNK;

/// One bit of a word for each list.
const LISTS: usize = u64::BITS as usize;
/// Two to this power lists share each doubling of the number of free blocks. Up to twice as many blocks, each number has a list of its
/// own.
const LISTS_PER_DOUBLING_LOG2: u32 = 3;
/// No chunk.
const NONE: u32 = u32::MAX;

/// What is known of one chunk.
#[derive(Clone, Copy)]
struct ChunkFill {
    free: u16,
    /// The neighbours in its list.
    next: u32,
    before: u32,
}

/// Invariants: each chunk with a free block is in exactly one list, that of its number of free blocks; bit `n` of `some` is set iff list
/// `n` holds a chunk. A chunk that was taken out has no free block in here.
pub(crate) struct Fills {
    fills: Vec<ChunkFill>,
    first: [u32; LISTS],
    some: u64,
    /// The numbers of chunks that were taken out; new chunks get them.
    gaps: Vec<u32>,
}

impl Default for Fills {
    fn default() -> Self {
        Self { fills: Vec::new(), first: [NONE; LISTS], some: 0, gaps: Vec::new() }
    }
}

impl Fills {
    /// Returns a number for a new chunk, whose blocks are all free.
    pub(crate) fn add(&mut self) -> usize {
        let fill = ChunkFill { free: 0, next: NONE, before: NONE };
        let chunk = self.gaps.pop().map_or(self.fills.len(), |gap| gap as usize);
        if chunk == self.fills.len() {
            self.fills.push(fill);
        }
        self.set_free(chunk, BLOCKS_PER_CHUNK);
        chunk
    }

    /// Takes a chunk out. Returns how many of its blocks were free.
    pub(crate) fn take_out(&mut self, chunk: usize) -> usize {
        let free = self.free_in(chunk);
        self.set_free(chunk, 0);
        self.gaps.push(chunk as u32);
        free
    }

    /// Returns how many blocks of a chunk are free; 0 where there is no chunk.
    #[inline]
    pub(crate) fn free_in(&self, chunk: usize) -> usize {
        self.fills.get(chunk).map_or(0, |fill| usize::from(fill.free))
    }

    /// Notes how many blocks of a chunk are free now.
    #[inline]
    pub(crate) fn set_free(&mut self, chunk: usize, free: usize) {
        let (old, new) = (list(self.free_in(chunk)), list(free));
        if old != new {
            self.unlink(chunk, old);
        }
        self.fills[chunk].free = free as u16;
        if old != new {
            self.link(chunk, new);
        }
    }

    /// Returns about the fullest chunk that is not full.
    pub(crate) fn fullest(&self) -> Option<usize> {
        self.first.get(self.some.trailing_zeros() as usize).map(|chunk| *chunk as usize)
    }

    /// Returns about the emptiest chunk.
    pub(crate) fn emptiest(&self) -> Option<usize> {
        self.some.checked_ilog2().map(|list| self.first[list as usize] as usize)
    }

    fn link(&mut self, chunk: usize, list: Option<usize>) {
        let Some(list) = list else { return };
        let next = std::mem::replace(&mut self.first[list], chunk as u32);
        self.some |= 1 << list;
        (self.fills[chunk].next, self.fills[chunk].before) = (next, NONE);
        if next != NONE {
            self.fills[next as usize].before = chunk as u32;
        }
    }

    fn unlink(&mut self, chunk: usize, list: Option<usize>) {
        let Some(list) = list else { return };
        let ChunkFill { next, before, .. } = self.fills[chunk];
        if before == NONE {
            self.first[list] = next;
        } else {
            self.fills[before as usize].next = next;
        }
        if next != NONE {
            self.fills[next as usize].before = before;
        }
        if self.first[list] == NONE {
            self.some &= !(1 << list);
        }
    }

    /// Returns how many chunks there are, and how many of their blocks are free. Checks the lists on the way.
    #[cfg(test)]
    pub(crate) fn audit(&self) -> (usize, usize) {
        let mut listed = 0;
        for (at, first) in self.first.iter().enumerate() {
            assert_eq!(self.some >> at & 1 == 1, *first != NONE);
            let (mut chunk, mut before) = (*first, NONE);
            while chunk != NONE {
                let fill = self.fills[chunk as usize];
                assert_eq!((list(usize::from(fill.free)), fill.before), (Some(at), before));
                (before, chunk, listed) = (chunk, fill.next, listed + 1);
            }
        }
        assert_eq!(listed, self.fills.iter().filter(|fill| fill.free > 0).count());
        let free = self.fills.iter().map(|fill| usize::from(fill.free)).sum();
        (self.fills.len() - self.gaps.len(), free)
    }
}

/// Returns the list of chunks with this many free blocks; the list of the fullest chunks is the first. `None` for a full chunk.
#[inline]
const fn list(free: usize) -> Option<usize> {
    if free == 0 {
        return None;
    }
    let shift = free.ilog2().saturating_sub(LISTS_PER_DOUBLING_LOG2) as usize;
    Some((shift << LISTS_PER_DOUBLING_LOG2) + (free >> shift) - 1)
}

// The last list is that of empty chunks.
const _: () = assert!(matches!(list(BLOCKS_PER_CHUNK), Some(at) if at + 1 == LISTS));

#[cfg(test)]
mod tests;
