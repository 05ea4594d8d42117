//! Which results are stored at all.

use super::Cache;
use crate::Key;
use crate::shard::Shard;

/// The cache is full when less than one in this many of its bytes is free.
const FREE_SHARE: usize = 16;

impl Cache {
    /// Whether results of this tag ([`crate::Fill::tag`]) are worth storing each time: enough of them are read before they leave, or
    /// there has been room for all for less than half a minute. If they are not, [`Self::admits`] says which results are.
    #[must_use]
    pub fn pays(&self, tag: u16, now_ms: impl FnOnce() -> u64) -> bool {
        self.yields.pay(tag, || self.is_full(), now_ms)
    }

    /// Whether a result under this key is worth storing although few results of its tag are read: it was asked for recently, or is one of
    /// the few that are tried. Notes that it was asked for.
    #[must_use]
    pub fn admits(&self, key: Key<'_>) -> bool {
        let hash = self.hash_of(key);
        let mut shard = self.shard_of(hash).write();
        let admits = shard.admits(hash);
        self.note_peer(&shard, hash);
        admits
    }

    /// Notes whether one of a shard's entries was read. In a full cache this is not needed: each entry that leaves is noted, which is
    /// more exact.
    pub(super) fn note_peer(&self, shard: &Shard, hash: u64) {
        if !self.is_full()
            && let Some(sample) = shard.sample_by(hash)
        {
            self.yields.note(sample);
        }
    }

    fn is_full(&self) -> bool {
        let size = self.size();
        self.used() > size - size / FREE_SHARE
    }
}

#[cfg(test)]
mod tests;
