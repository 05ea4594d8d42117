//! The costs of statements and the savings of the cache, by digest: for each schema, user and digest the statements that went to the
//! server, and the ones that were answered from memory.
//!
//! A hit finds its entry by key, without a template or a text. So an entry carries the *tag* of its digest: 16 bits
//! that were free in its header. A hit counts on a line of its own thread, at the place that the tag names, and takes no lock. What goes
//! to the server counts on lines of its own thread too (`by_thread`).
//!
//! Up to [`DIGESTS_MAX`] digests are known. When there is one more, the eighth that was not seen for the longest time is dropped, with its
//! counts; ProxySQL keeps all, as long as there is memory. A reused place has another generation, which is part
//! of the tag: hits of entries of the earlier digest are not counted.

// How things are counted.
mod by_thread;
mod clock;

// The row under which a statement is counted.
mod whose;
mod memo;

// What is counted.
mod forwarded;
mod refused;
mod errors;
mod commands;

// All counts of a digest, in one row.
mod queries;

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use crossbeam_utils::sync::{ShardedLock, ShardedLockWriteGuard};

use ahash::{HashMap, RandomState};
use freshet_digest::{Digest, Options, put_text};
use freshet_protocol::ErrPacket;
use freshet_rules::Outcome;
use freshet_sql::Skeleton;

use by_thread::{ByThread, DigestCount, PLACE_BITS, PLACES};
use clock::Clock;
pub use commands::CommandRow;
use commands::Commands;
pub use errors::ErrorRow;
use errors::Errors;
pub(crate) use forwarded::Cost;
use forwarded::Forwarded;
pub(crate) use memo::DigestMemo;
pub(crate) use queries::QueryRow;
use refused::Refused;
pub(crate) use whose::Whose;

use crate::created::NamedQuery;

/// How many digests are known at once, at most.
pub const DIGESTS_MAX: usize = PLACES - 1;
/// How many of [`DigestCount`] are counted for answers from memory.
const HITS: usize = DigestCount::LastMs as usize + 1;
/// How many digests are dropped when there is one too many.
const LEAVING: usize = PLACES / 8;

/// A digest that has a place.
#[derive(Debug)]
pub(crate) struct KnownDigest {
    pub(crate) schema: Box<str>,
    pub(crate) user: Box<str>,
    pub(crate) digest: Digest,
    text: Box<str>,
    /// The tables that its statements read, noted once.
    tables: OnceLock<TableNames>,
    /// The name of its query, noted once.
    query: OnceLock<NamedQuery>,
    /// The query rules that its statements have met.
    pub(crate) outcome: Option<Arc<Outcome>>,
}

/// The schemas and names of tables.
type TableNames = Box<[(String, String)]>;

/// The key of a digest: its number, and a hash of the schema, the user, and the query rules that were met.
type DigestKey = (Digest, u64);

#[derive(Debug, Default)]
struct Digests {
    /// The tags of digests.
    places: HashMap<DigestKey, u16>,
    named: HashMap<usize, KnownDigest>,
    free: Vec<usize>,
    /// The number of places that have ever been taken.
    taken: usize,
    /// How texts are normalised.
    options: Options,
}

/// The counts by digest.
#[derive(Debug)]
pub(crate) struct DigestStatistics {
    known: ShardedLock<Digests>,
    sent: Forwarded,
    generations: Box<[AtomicU8]>,
    /// The answers from memory.
    hits: ByThread<HITS>,
    /// The refusals, made when an answer is not stored for the first time.
    refused: Box<[OnceLock<Box<Refused>>]>,
    commands: Commands,
    errors: Errors,
    /// For each place, the command under which its statements are counted.
    kinds: Box<[AtomicU8]>,
    hash: RandomState,
    /// How often digests have left, or the way has changed in which texts are normalised: until then, the tag of a digest that was noted
    /// is still that digest's.
    epoch: AtomicU64,
}

impl Default for DigestStatistics {
    fn default() -> Self {
        Self {
            known: ShardedLock::default(),
            sent: Forwarded::default(),
            generations: (0..PLACES).map(|_| AtomicU8::new(0)).collect(),
            hits: ByThread::default(),
            refused: (0..PLACES).map(|_| OnceLock::new()).collect(),
            commands: Commands::default(),
            errors: Errors::default(),
            kinds: (0..PLACES).map(|_| AtomicU8::new(0)).collect(),
            hash: RandomState::new(),
            epoch: AtomicU64::new(0),
        }
    }
}

/// One row: statements that went to the server, or that were answered from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestRow {
    /// Whether these are the answers from memory.
    pub from_memory: bool,
    /// The hostgroup that query rules have named, if they have.
    pub hostgroup: Option<i64>,
    /// The default schema.
    pub schema: String,
    /// The user.
    pub user: String,
    /// The digest.
    pub digest: String,
    /// Its text.
    pub text: String,
    /// How many statements.
    pub count: u64,
    /// The first and the last time, in seconds since 1970.
    pub seen: (u64, u64),
    /// The sum, the least and the most of its times, in microseconds.
    pub times_us: (u64, u64, u64),
    /// Rows changed.
    pub affected: u64,
    /// Rows sent.
    pub sent: u64,
}

const fn tag(place: usize, generation: u8) -> u16 {
    (place | (generation as usize) << PLACE_BITS) as u16
}

const fn place_of(tag: u16) -> usize {
    tag as usize % PLACES
}

impl DigestStatistics {
    /// Counts an answer from memory.
    #[inline]
    pub(crate) fn count_hit(&self, tag: u16, now_ms: u64) {
        if !self.is_anybodys(tag) {
            return;
        }
        let Some([count, first_ms, last_ms]) = self.hits.own(place_of(tag)) else { return };
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            first_ms.store(now_ms, Ordering::Relaxed);
        }
        last_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Whether the place that a tag names still belongs to the tag's digest.
    #[inline]
    fn is_anybodys(&self, tag: u16) -> bool {
        let place = place_of(tag);
        place != 0 && self.generations[place].load(Ordering::Relaxed) == (tag >> PLACE_BITS) as u8
    }

    fn tag_of(&self, place: usize) -> u16 {
        tag(place, self.generations[place].load(Ordering::Relaxed))
    }

    /// Counts a statement that went to the server. Returns the tag of its digest. `memo`: what was noted of statements like this one.
    pub(crate) fn count_sent(
        &self,
        whose: Whose<'_>,
        text: &[u8],
        memo: Option<&DigestMemo>,
        cost: Cost,
    ) -> u16 {
        let hash = self.hash_of(whose);
        let noted = memo.and_then(|memo| memo.tag(self.memo_key(hash))).filter(|tag| self.is_anybodys(*tag));
        let tag = noted.unwrap_or_else(|| self.tag_for(hash, whose, text, memo));
        let place = place_of(tag);
        self.sent.count(place, cost);
        self.commands.add(self.kinds[place].load(Ordering::Relaxed), cost.time);
        tag
    }

    /// Returns the tag of a statement's digest, and notes it.
    fn tag_for(&self, hash: u64, whose: Whose<'_>, text: &[u8], memo: Option<&DigestMemo>) -> u16 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut digest_text = Vec::with_capacity(text.len().min(known.options.digest_length_max));
        put_text(text, &known.options, &mut digest_text);
        let digest = Digest::of(&digest_text);
        let id = (digest, hash);
        let place = known.places.get(&id).copied();
        // A text that is cut short does not tell the digest of others like it.
        let tells = known.options.query_length_max >= Skeleton::TEXT_BYTES_MAX
            && digest_text.len() < known.options.digest_length_max;
        // In the epoch of the look-up: making room for a new digest begins another.
        let noted_for = self.memo_key(hash);
        drop(known);
        let tag = place.unwrap_or_else(|| self.take_place(id, whose, &digest_text));
        if let Some(memo) = memo.filter(|_| tells) {
            memo.note(noted_for, tag);
        }
        tag
    }

    /// Sets how texts of later statements are normalised. Returns whether that is a change.
    pub(crate) fn normalise(&self, options: Options) -> bool {
        let mut known = self.write();
        let is_change = std::mem::replace(&mut known.options, options) != options;
        if is_change {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
        is_change
    }

    /// Counts an error of the server's.
    pub(crate) fn count_error(&self, whose: Whose<'_>, refusal: &ErrPacket) {
        self.errors.count(whose, refusal);
    }

    /// Returns the server's errors, as they were counted. `resets`: they are forgotten.
    pub(crate) fn errors(&self, resets: bool) -> Vec<ErrorRow> {
        self.errors.rows(resets)
    }

    /// Returns what the second part of a [`DigestKey`] is noted as in this epoch.
    fn memo_key(&self, hash: u64) -> u64 {
        hash ^ self.epoch.load(Ordering::Relaxed) << u16::BITS
    }

    /// Returns the second part of a [`DigestKey`].
    fn hash_of(&self, Whose { schema, user, outcome }: Whose<'_>) -> u64 {
        self.hash.hash_one((schema, user, outcome.map(|it| it.id)))
    }

    fn take_place(&self, id: DigestKey, whose: Whose<'_>, digest_text: &[u8]) -> u16 {
        let mut known = self.write();
        if let Some(tag) = known.places.get(&id) {
            return *tag;
        }
        if known.places.len() == DIGESTS_MAX {
            self.make_room(&mut known);
        }
        let place = known.free.pop().unwrap_or(known.taken + 1);
        known.taken = known.taken.max(place);
        self.kinds[place].store(commands::place(digest_text), Ordering::Relaxed);
        let tag = self.tag_of(place);
        known.places.insert(id, tag);
        let digest = KnownDigest {
            schema: whose.schema.into(),
            user: String::from_utf8_lossy(whose.user).into(),
            digest: id.0,
            text: String::from_utf8_lossy(digest_text).into(),
            tables: OnceLock::new(),
            query: OnceLock::new(),
            outcome: whose.outcome.cloned(),
        };
        known.named.insert(place, digest);
        tag
    }

    /// Drops the digests that were not seen for the longest time.
    fn make_room(&self, known: &mut Digests) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        let mut by_age: Vec<(u64, DigestKey, usize)> = known
            .places
            .iter()
            .map(|(id, tag)| (self.last_ms(place_of(*tag)), *id, place_of(*tag)))
            .collect();
        by_age.select_nth_unstable(LEAVING);
        for (_, id, place) in by_age.into_iter().take(LEAVING) {
            known.places.remove(&id);
            let named = known.named.remove(&place);
            // Later hits of the digest's entries are not counted.
            let next =
                (self.generations[place].load(Ordering::Relaxed) + 1) % (1 << (u16::BITS - PLACE_BITS));
            self.generations[place].store(next, Ordering::Relaxed);
            self.begin_anew(place, named.as_ref());
            known.free.push(place);
        }
    }

    fn last_ms(&self, place: usize) -> u64 {
        self.hits.last_ms(place).max(self.sent.last_ms(place))
    }

    /// Resets the counts of a place. A count at the same moment may be lost. Rules keep their counts.
    fn begin_anew(&self, place: usize, named: Option<&KnownDigest>) {
        if let Some(outcome) = named.and_then(|named| named.outcome.as_ref()) {
            outcome.count(self.times(place));
        }
        // The counts of commands go on.
        let hits = self.hits.each(place).map(|[count, ..]| count.swap(0, Ordering::Relaxed)).sum();
        self.commands.add_hits(self.kinds[place].load(Ordering::Relaxed), hits);
        if let Some(refused) = self.refused[place].get() {
            refused.begin_anew();
        }
        self.sent.begin_anew(place);
    }

    /// Returns how often statements of a place were answered from memory.
    fn hits_of(&self, place: usize) -> u64 {
        self.hits.sum(place, DigestCount::Count)
    }

    /// Returns how often statements of a digest were answered from memory, by its tag.
    pub(crate) fn hits_of_tag(&self, tag: u16) -> u64 {
        self.hits_of(place_of(tag))
    }

    /// Returns how often statements of a place were counted.
    fn times(&self, place: usize) -> u64 {
        self.hits_of(place) + self.sent.sum(place, DigestCount::Count)
    }

    /// Returns how often each outcome of query rules occurred, by the outcomes' ids.
    pub(crate) fn outcomes(&self) -> HashMap<u64, u64> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut times = HashMap::default();
        for (place, named) in &known.named {
            if let Some(outcome) = &named.outcome {
                *times.entry(outcome.id).or_default() += self.times(*place);
            }
        }
        times
    }

    /// Returns a function that says whether a tag is meant. A tag that belongs to no digest any more may have been.
    pub(crate) fn tags(&self, is_meant: impl Fn(&KnownDigest) -> bool) -> Box<dyn Fn(u16) -> bool + '_> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut spared = vec![false; PLACES];
        for (place, named) in &known.named {
            spared[*place] = !is_meant(named);
        }
        Box::new(move |tag| {
            let place = place_of(tag);
            let is_current = self.generations[place].load(Ordering::Relaxed) == (tag >> PLACE_BITS) as u8;
            !(is_current && spared[place])
        })
    }

    fn write(&self) -> ShardedLockWriteGuard<'_, Digests> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows with at least one statement. `resets`: they start from 0 again.
    pub(crate) fn rows(&self, resets: bool) -> Vec<DigestRow> {
        // Under either lock, nobody takes a place. One reset at a time.
        let rows = if resets {
            self.rows_of(&self.write(), true)
        } else {
            self.rows_of(&self.known.read().unwrap_or_else(PoisonError::into_inner), false)
        };
        merged(rows)
    }

    fn rows_of(&self, known: &Digests, resets: bool) -> Vec<DigestRow> {
        let clock = Clock::now();
        let mut rows = Vec::new();
        for (place, named) in &known.named {
            rows.extend(self.sent_row(*place, named, clock));
            rows.extend(self.hits_row(*place, named, clock));
            if resets {
                self.begin_anew(*place, Some(named));
            }
        }
        rows
    }

    /// Returns the counts by command.
    pub(crate) fn commands(&self) -> Vec<CommandRow> {
        // Under this lock, no digest is dropped.
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut hits = [0; commands::COUNT];
        for place in known.named.keys() {
            hits[usize::from(self.kinds[*place].load(Ordering::Relaxed))] += self.hits_of(*place);
        }
        self.commands.rows(&hits)
    }

    fn sent_row(&self, place: usize, named: &KnownDigest, clock: Clock) -> Option<DigestRow> {
        let total = self.sent.total(place)?;
        Some(DigestRow {
            count: total.count,
            seen: (clock.at(total.seen_ms.0), clock.at(total.seen_ms.1)),
            times_us: total.times_us,
            affected: total.affected,
            sent: total.rows,
            ..named.row()
        })
    }

    fn hits_row(&self, place: usize, named: &KnownDigest, clock: Clock) -> Option<DigestRow> {
        let (mut count, mut first, mut last) = (0, u64::MAX, 0);
        for hits in self.hits.each(place) {
            let [more, first_ms, last_ms] = hits.each_ref().map(|it| it.load(Ordering::Relaxed));
            if more > 0 {
                count += more;
                first = first.min(first_ms);
                last = last.max(last_ms);
            }
        }
        let row =
            DigestRow { from_memory: true, count, seen: (clock.at(first), clock.at(last)), ..named.row() };
        (count > 0).then_some(row)
    }
}

impl KnownDigest {
    fn row(&self) -> DigestRow {
        DigestRow {
            from_memory: false,
            hostgroup: self.outcome.as_ref().and_then(|outcome| outcome.hostgroup()),
            schema: self.schema.to_string(),
            user: self.user.to_string(),
            digest: self.digest.to_string(),
            text: self.text.to_string(),
            count: 0,
            seen: (0, 0),
            times_us: (0, 0, 0),
            affected: 0,
            sent: 0,
        }
    }
}

/// Merges rows that differ only in the query rules that were met.
fn merged(rows: Vec<DigestRow>) -> Vec<DigestRow> {
    let mut merged: HashMap<(bool, Option<i64>, String, String, String), DigestRow> = HashMap::default();
    for row in rows {
        let hostgroup = row.hostgroup.filter(|_| !row.from_memory);
        let id = (row.from_memory, hostgroup, row.schema.clone(), row.user.clone(), row.digest.clone());
        match merged.entry(id) {
            Entry::Vacant(place) => drop(place.insert(row)),
            Entry::Occupied(mut place) => place.get_mut().add(&row),
        }
    }
    merged.into_values().collect()
}

impl DigestRow {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.seen = (self.seen.0.min(other.seen.0), self.seen.1.max(other.seen.1));
        let ((sum, min, max), more) = (self.times_us, other.times_us);
        self.times_us = (sum + more.0, min.min(more.1), max.max(more.2));
        self.affected += other.affected;
        self.sent += other.sent;
    }
}

#[cfg(test)]
mod tests;
