//! Memory straight from the system, read and written as plain bytes.
//!
//! It is mapped and unmapped, not allocated. Freed memory is the system's at once, whichever thread frees it and whatever its threads do
//! afterwards. An allocator keeps for each thread what that thread has freed, and what others have freed of its memory until the thread
//! looks. Measured: that was a quarter of a cache of 96 MiB after the sizes of results had changed twice.

use memmap2::MmapMut;

/// Some bytes, from the beginning of a page on; or none.
#[derive(Default)]
pub(crate) struct Memory(Option<MmapMut>);

impl Memory {
    /// Maps bytes that are 0, and that take no memory until they are written. `None` if the system has no memory.
    pub(crate) fn map(len: usize) -> Option<Self> {
        if len == 0 { Some(Self(None)) } else { MmapMut::map_anon(len).ok().map(|map| Self(Some(map))) }
    }

    /// Returns all bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }

    /// Returns the `N` bytes from `at` on; `None` if there are fewer.
    #[inline]
    pub(crate) fn get<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes().get(at..)?.first_chunk().copied()
    }

    /// Writes bytes. Does nothing if they are not all within the memory.
    pub(crate) fn set<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        if let Some(place) = self.bytes_mut().get_mut(at..at + N) {
            place.copy_from_slice(&bytes);
        }
    }
}

/// An array of numbers.
#[derive(Default)]
pub(crate) struct Words(Memory);

impl Words {
    pub(crate) const BYTES: usize = size_of::<u32>();

    /// Maps so many numbers that are all 0. `None` if the system has no memory.
    pub(crate) fn map(len: usize) -> Option<Self> {
        Memory::map(len * Self::BYTES).map(Self)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bytes().len() / Self::BYTES
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u32> {
        self.0.get(at * Self::BYTES).map(u32::from_le_bytes)
    }

    pub(crate) fn set(&mut self, at: usize, word: u32) {
        self.0.set(at * Self::BYTES, word.to_le_bytes());
    }
}
