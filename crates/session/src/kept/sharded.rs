//! A sharded [`Kept`], with keys of bytes: a few shards keep the event loops out of each other's way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::RandomState;

use super::Kept;

/// A map with keys of bytes, in `SHARDS` shards.
#[derive(Debug)]
pub(crate) struct Sharded<V, const SHARDS: usize> {
    shards: [Mutex<Kept<Box<[u8]>, V>>; SHARDS],
    hash: RandomState,
}

impl<V, const SHARDS: usize> Sharded<V, SHARDS> {
    /// Makes empty shards; the values of each take up to `bytes_max`.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(Kept::new(bytes_max)));
        Self { shards, hash: RandomState::new() }
    }

    /// Looks at everything, one shard after the other.
    pub(crate) fn each(&self, mut look: impl FnMut(&[u8], &V)) {
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.iter().for_each(|(key, value)| look(key, value));
        }
    }

    /// Returns the shard of this key.
    pub(crate) fn of(&self, key: &[u8]) -> MutexGuard<'_, Kept<Box<[u8]>, V>> {
        let at = (self.hash.hash_one(key) % SHARDS as u64) as usize;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
