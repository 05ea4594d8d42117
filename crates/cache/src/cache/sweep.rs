//! The search for entries that can never be served again.

use std::sync::atomic::Ordering;

use super::{Cache, Locked, SHARDS, SWEPT_PER_LOCK};
use crate::arena::BLOCK_CHARGE;
use crate::found::Lookup;
use crate::shard::Left;
use crate::statistics::Count;
use crate::stored::Stored;
use crate::{Body, Entry, Fences, Key, Summary, Verdict};

impl Cache {
    /// Looks at up to `budget` entries, from the place where the last sweep ended, and reclaims those that can never be served again.
    /// Returns how many it has reclaimed.
    pub fn sweep(&self, budget: usize, now_ms: u64) -> usize {
        let is_dead = self.is_dead_at(now_ms);
        let (mut reclaimed, mut looked_at, mut shards_ended) = (0, 0, 0);
        while looked_at < budget && shards_ended < SHARDS {
            let from = self.swept.load(Ordering::Relaxed);
            let (shard, slot) = ((from >> 32) as usize % SHARDS, from as u32);
            let count = SWEPT_PER_LOCK.min(budget - looked_at);
            let (dead, was_last) = self.sweep_shard(&self.shards[shard], slot, count, &is_dead);
            let next = if was_last { (shard as u64 + 1) << 32 } else { from + (count - dead) as u64 };
            self.swept.store(next, Ordering::Relaxed);
            shards_ended += usize::from(was_last);
            looked_at += count;
            reclaimed += dead;
        }
        reclaimed
    }

    /// Returns how many entries are stored and may be served now. Looks at up to `budget` of them, and counts the others as servable.
    #[must_use]
    pub fn servable(&self, budget: usize, now_ms: u64) -> usize {
        let is_barred = |stored: &Stored<'_>| !self.is_servable(stored, now_ms);
        let (mut left, mut barred) = (budget, 0);
        for shard in &self.shards {
            let shard = shard.read();
            let count = shard.len().min(left);
            left -= count;
            barred += (0..count as u32).filter(|at| shard.is_dead_at(*at, &is_barred)).count();
        }
        self.entries().saturating_sub(barred)
    }

    /// Returns what a lookup would find now. Counts nothing, and hands out no body.
    #[must_use]
    pub fn look(&self, key: Key<'_>, now_ms: u64, fences: Fences) -> Lookup<()> {
        if !self.freshness.is_live(now_ms) {
            return Lookup::NotLive;
        }
        let hash = self.hash_of(key);
        let shard = self.shard_of(hash).read();
        let Some((_, stored)) = shard.find(hash, key) else { return Lookup::Miss };
        if stored.header().expiry.is_over(now_ms) || stored.header().is_bargain() {
            return Lookup::Miss;
        }
        match self.freshness.check_each(stored.deps(), stored.header().valid_from, fences) {
            Verdict::Servable => Lookup::Hit(()),
            Verdict::Fenced => Lookup::Fenced,
            Verdict::Stale => Lookup::Stale { body: 0 },
        }
    }

    /// Shows `take` the entry under a key, whether it may be served or not. Counts nothing.
    pub fn show<R>(&self, key: Key<'_>, take: impl FnOnce(&Entry<'_>) -> R) -> Option<R> {
        let hash = self.hash_of(key);
        let shard = self.shard_of(hash).read();
        let (_, stored) = shard.find(hash, key)?;
        let Some(large) = shard.large(stored.header()) else {
            return Some(take(&stored.header().view(stored.body())));
        };
        let header = *stored.header();
        drop(shard);
        Some(take(&header.view(Body::apart(large.bytes()))))
    }

    fn is_servable(&self, stored: &Stored<'_>, now_ms: u64) -> bool {
        let header = stored.header();
        let verdict = || self.freshness.check_each(stored.deps(), header.valid_from, Fences::Refuse);
        !header.expiry.is_over(now_ms) && verdict() == Verdict::Servable
    }

    /// Removes all entries for whose tag `is_meant` is true. Returns how many it has removed. Others have their turn between two steps;
    /// entries that they store meanwhile may stay.
    pub fn purge(&self, is_meant: impl Fn(u16) -> bool) -> usize {
        let is_meant = |stored: &Stored<'_>| is_meant(stored.header().tag);
        let mut purged = 0;
        for shard in &self.shards {
            let mut slot = 0;
            loop {
                let (removed, was_last) = self.sweep_shard(shard, slot, SWEPT_PER_LOCK, &is_meant);
                purged += removed;
                slot += (SWEPT_PER_LOCK - removed) as u32;
                if was_last {
                    break;
                }
            }
        }
        purged
    }

    /// Returns summaries of stored entries that may be served now: up to `count_max` entries whose keys have up to `bytes_max` bytes
    /// together.
    #[must_use]
    pub fn summaries(&self, count_max: usize, bytes_max: usize, now_ms: u64) -> Vec<Summary> {
        self.summaries_of(|_| true, count_max, bytes_max, now_ms)
    }

    /// Returns the same summaries of the entries whose tags are wanted.
    #[must_use]
    pub fn summaries_of(
        &self,
        is_wanted: impl Fn(u16) -> bool,
        count_max: usize,
        bytes_max: usize,
        now_ms: u64,
    ) -> Vec<Summary> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for shard in &self.shards {
            let shard = shard.read();
            for (at, stored) in (0..shard.len() as u32).filter_map(|at| Some((at, shard.stored_at(at)?))) {
                let header = stored.header();
                if !is_wanted(header.tag) {
                    continue;
                }
                bytes += stored.text_len();
                if found.len() >= count_max || bytes > bytes_max {
                    return found;
                }
                if self.is_servable(&stored, now_ms) {
                    let large = shard.large(header).map(|large| (large.bytes().len(), large.charge()));
                    found.push(Summary { hits: shard.hits(at), ..summary(&stored, large) });
                }
            }
        }
        found
    }

    /// Calls `with` for each stored entry that may be served now: with its tag, and the bytes that it takes.
    pub fn each_servable(&self, now_ms: u64, mut with: impl FnMut(u16, usize)) {
        for shard in &self.shards {
            let shard = shard.read();
            for stored in (0..shard.len() as u32).filter_map(|at| shard.stored_at(at)) {
                let header = stored.header();
                if self.is_servable(&stored, now_ms) {
                    let blocks = header.blocks();
                    let large = shard.large(header).map_or(0, |large| large.charge());
                    with(header.tag, blocks * BLOCK_CHARGE + large);
                }
            }
        }
    }

    /// Looks under the shared lock, and takes the exclusive lock only if there is something to reclaim. Goes backwards, because a removal
    /// moves the last slot into the hole. Returns how many entries were dead, and whether the shard ends here.
    fn sweep_shard(
        &self,
        locked: &Locked,
        from: u32,
        count: usize,
        is_dead: &impl Fn(&Stored<'_>) -> bool,
    ) -> (usize, bool) {
        let to = from.saturating_add(count as u32);
        let shard = locked.read();
        let was_last = !shard.has(to);
        let any = (from..to).any(|at| shard.is_dead_at(at, is_dead));
        drop(shard);
        if !any {
            return (0, was_last);
        }
        let mut shard = locked.write();
        let removed: Vec<Left> =
            (from..to).rev().filter_map(|at| shard.remove_dead(at, &self.budget, is_dead)).collect();
        drop(shard);
        removed.iter().for_each(|_| self.counters.add(Count::Invalidated));
        (removed.len(), was_last)
    }
}

/// Summarises an entry. `large`: length and charge of a body that is kept apart.
fn summary(stored: &Stored<'_>, large: Option<(usize, usize)>) -> Summary {
    let header = stored.header();
    let text = stored.text();
    let blocks = header.blocks();
    let (large_bytes, large_charge) = large.unwrap_or((0, 0));
    Summary {
        environment: header.environment,
        text,
        body_bytes: stored.body().len() + large_bytes,
        blocks: blocks + usize::from(large.is_some()),
        bytes: blocks * BLOCK_CHARGE + large_charge,
        tag: header.tag,
        is_bargain: header.is_bargain(),
        hits: 0,
    }
}
