//! Large bodies: each in memory of its own from the system, so that it can be written before the lock is taken and copied after.

use crate::budget::Charge;
use crate::memory::Memory;

/// Bodies from this many bytes on are kept apart. The number is not lower, because a system keeps a bounded number of maps per process;
/// see `chunk`.
pub(crate) const LARGE_MIN: usize = 256 << 10;
const PAGE: usize = 4096;
/// The bytes that a large body takes beside itself: the counters, this struct, its place in a tree of a shard.
const OVERHEAD: usize = 160;

/// Returns the memory that a body takes if it is kept apart, in bytes.
pub(crate) const fn charge_for(body_len: usize) -> usize {
    if body_len < LARGE_MIN { 0 } else { body_len.next_multiple_of(PAGE) + OVERHEAD }
}

/// A large body. Dropping the last counted reference unmaps it; until then it is charged.
pub(crate) struct Large {
    memory: Memory,
    /// The order of the fields is the order in which they are dropped: first the memory, then its charge.
    charge: Charge,
}

impl Large {
    /// Copies `body`. `charge` is [`charge_for`] this body. `None` if the system has no memory.
    pub(crate) fn new(body: &[u8], charge: Charge) -> Option<Self> {
        let mut memory = Memory::map(body.len())?;
        memory.bytes_mut().copy_from_slice(body);
        Some(Self { memory, charge })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    pub(crate) const fn charge(&self) -> usize {
        self.charge.bytes()
    }
}
