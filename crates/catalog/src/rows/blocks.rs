//! Ranges of keys as blocks.
//!
//! A block of level `l` holds `2^l` keys that differ in their low `l` bits only. Levels are even, so that each block has four blocks of
//! the next lower level. A range is covered by few blocks, and a key lies in one block of each level: a reader depends on the blocks of
//! its cover, and a change of a key stamps its block on every level that any reader uses.

/// Levels are `0, STEP, 2 * STEP, …`.
const STEP: u32 = 2;

/// The number of levels: four blocks of the highest level cover all keys.
pub(super) const LEVELS: u32 = u64::BITS / STEP;

/// The most blocks in a cover. A range that would need more is widened at both ends.
pub(super) const COVER_MAX: usize = 24;

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeyBlock {
    /// The number of its level, below [`LEVELS`].
    pub(super) level: u32,
    /// Its place on the level.
    pub(super) index: u64,
}

impl KeyBlock {
    /// Returns the block of this level in which a key lies.
    pub(super) const fn of(key: u64, level: u32) -> Self {
        Self { level, index: key >> (level * STEP) }
    }
}

/// Returns blocks that hold every key from `low` to `high`, both included; none if the range is empty.
pub(super) fn cover(low: u64, high: u64) -> Vec<KeyBlock> {
    if low > high {
        return Vec::new();
    }
    (0..LEVELS).find_map(|finest| cover_from(finest, low, high)).unwrap_or_default()
}

/// Returns a cover without blocks below the level `finest`; `None` if it takes too many.
fn cover_from(finest: u32, low: u64, high: u64) -> Option<Vec<KeyBlock>> {
    let mut next = u128::from(low >> (finest * STEP) << (finest * STEP));
    let end = (u128::from(high >> (finest * STEP)) + 1) << (finest * STEP);
    let mut blocks = Vec::new();
    while next < end {
        if blocks.len() == COVER_MAX {
            return None;
        }
        let level = greatest_level(next, end);
        // Below the end, which is at most 2^64.
        blocks.push(KeyBlock::of(u64::try_from(next).unwrap_or(u64::MAX), level));
        next += 1 << (level * STEP);
    }
    Some(blocks)
}

/// Returns the highest level that has a block which begins at `at` and does not go beyond `end`.
fn greatest_level(at: u128, end: u128) -> u32 {
    let aligned = at.trailing_zeros() / STEP;
    let fitting = (end - at).ilog2() / STEP;
    aligned.min(fitting).min(LEVELS - 1)
}

/// Returns the blocks of one level that hold any key from `low` to `high`: the index of the first block, and their number.
pub(super) const fn span(low: u64, high: u64, level: u32) -> (u64, u64) {
    let (first, last) = (KeyBlock::of(low, level).index, KeyBlock::of(high, level).index);
    (first, last.saturating_sub(first).saturating_add(1))
}

#[cfg(test)]
mod tests;
