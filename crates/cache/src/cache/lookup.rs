//! Lookups: the part that does not depend on the rule by which an entry is judged.

use super::Cache;
use crate::curve::Sampled;
use crate::found::{Lookup, LookupKind};
use crate::snapshot::Ruling;
use crate::stored::Stored;
use crate::{Body, Entry, Key, TimedKey};

impl Cache {
    /// Looks up an entry that is served until it expires, whatever has changed ([`Fill::is_bargain`]). `f` is as with [`Self::get_if`].
    pub fn get_bargain<R>(
        &self,
        key: Key<'_>,
        now_ms: u64,
        f: impl FnOnce(&Entry<'_>) -> Option<R>,
    ) -> Lookup<R> {
        self.counted(self.look_up(TimedKey { key, now_ms }, LookupKind::Bargain, |_| Ruling::Servable, f))
    }

    /// Whether [`Self::get_bargain`] would find an entry. Counts nothing.
    pub fn has_bargain(&self, key: Key<'_>, now_ms: u64) -> bool {
        let hash = self.hash_of(key);
        let shard = self.shard_of(hash).read();
        shard.find(hash, key).is_some_and(|(_, stored)| {
            stored.header().is_bargain() && !stored.header().expiry.is_over(now_ms)
        })
    }

    pub(super) fn look_up<R>(
        &self,
        TimedKey { key, now_ms }: TimedKey<'_>,
        kind: LookupKind,
        check: impl FnOnce(&Stored<'_>) -> Ruling,
        f: impl FnOnce(&Entry<'_>) -> Option<R>,
    ) -> Lookup<R> {
        if kind != LookupKind::Bargain && !self.freshness.is_live(now_ms) {
            return Lookup::NotLive;
        }
        let hash = self.hash_of(key);
        let shard = self.shard_of(hash).read();
        let Some((at, stored)) = shard.find(hash, key) else {
            drop(shard);
            self.curve.note(hash, || self.size(), Sampled::Miss);
            return Lookup::Miss;
        };
        let header = stored.header();
        if header.is_bargain() != (kind == LookupKind::Bargain) {
            return Lookup::Miss;
        }
        if header.expiry.is_over(now_ms) {
            drop(shard);
            self.reclaim(hash, key, now_ms);
            self.curve.note(hash, || self.size(), Sampled::Stale);
            return Lookup::Miss;
        }
        if header.refresh.is_over(now_ms) && kind != LookupKind::AsOf {
            drop(shard);
            if self.shard_of(hash).write().claim_refresh(hash, key, now_ms) {
                return Lookup::Due;
            }
            // Another client makes the result anew, or has made it anew.
            return self.look_up(TimedKey { key, now_ms }, kind, check, f);
        }
        match check(&stored) {
            Ruling::Servable => {}
            Ruling::Fenced => return Lookup::Fenced,
            Ruling::Unsettled => return Lookup::Unsettled,
            Ruling::Moved => return Lookup::Moved,
            Ruling::Stale => {
                let large = shard.large(stored.header());
                let body = match &large {
                    None => self.fingerprint_of(stored.body()),
                    Some(large) => self.fingerprint(large.bytes()),
                };
                drop(shard);
                self.reclaim(hash, key, now_ms);
                self.curve.note(hash, || self.size(), Sampled::Stale);
                return Lookup::Stale { body };
            }
        }
        shard.credit_hit(at);
        let sampled = Sampled::Hit(if self.curve.samples(hash) { shard.bytes_of(at) } else { 0 });
        let found = if let Some(large) = shard.large(stored.header()) {
            let header = *stored.header();
            drop(shard);
            f(&header.view(Body::apart(large.bytes())))
        } else {
            let found = f(&stored.header().view(stored.body()));
            drop(shard);
            found
        };
        if found.is_some() {
            self.curve.note(hash, || self.size(), sampled);
        }
        found.map_or(Lookup::Declined, Lookup::Hit)
    }
}
