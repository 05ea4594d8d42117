//! Slots: keys as one number, the same for readers, writers and the applier.

use ahash::RandomState;

use super::blocks::KeyBlock;
use super::key::Key;

/// The keys of the columns taken so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowSlot(u64);

/// The part of a slot behind the equality columns, in a watch with a range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tail {
    /// The column is NULL.
    Null,
    /// The value lies in this block.
    Block(KeyBlock),
    /// The value starts with this.
    Prefix(Vec<u8>),
}

impl RowSlot {
    /// The slot of no columns.
    pub(super) const START: Self = Self(0);

    /// Returns the number for [`freshet_cache::Freshness::row`].
    pub(super) const fn number(self) -> u64 {
        self.0
    }

    pub(super) fn with(self, hash: &RandomState, key: &Key) -> Self {
        Self(hash.hash_one((self.0, key)))
    }

    pub(super) fn ending_in(self, hash: &RandomState, tail: &Tail) -> Self {
        match tail {
            Tail::Null => Self(hash.hash_one((self.0, u64::MAX))),
            Tail::Block(block) => self.in_block(hash, *block),
            Tail::Prefix(prefix) => self.starting_with(hash, prefix),
        }
    }

    pub(super) fn in_block(self, hash: &RandomState, block: KeyBlock) -> Self {
        Self(hash.hash_one((self.0, u64::from(block.level), block.index)))
    }

    pub(super) fn starting_with(self, hash: &RandomState, prefix: &[u8]) -> Self {
        Self(hash.hash_one((self.0, prefix)))
    }
}

impl Tail {
    /// Returns the part of a watch that has to be in use so that this is stamped: a bit for the block's level, or for the prefix's
    /// length. NULL is always stamped.
    pub(super) fn uses(&self) -> u64 {
        match self {
            Self::Null => 0,
            Self::Block(block) => 1 << block.level,
            Self::Prefix(prefix) => 1 << prefix.len().min(63),
        }
    }
}

/// Returns the numbers of the bits that are set.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(lowest)
    })
}
