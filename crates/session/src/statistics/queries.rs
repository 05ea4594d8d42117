//! All facts of each digest, one row for each: the rows of `freshet.queries`.

use std::sync::{Arc, PoisonError};

use freshet_digest::Digest;
use freshet_rules::Outcome;

use super::by_thread::DigestCount;
use super::{Clock, DigestStatistics, Whose, place_of};
use crate::created::NamedQuery;
use crate::rows::{Named, Tables};
use crate::why::{Refusal, Why};

/// A digest's row.
#[derive(Debug, Clone)]
pub(crate) struct QueryRow {
    pub(crate) schema: String,
    pub(crate) user: String,
    pub(crate) digest: String,
    pub(crate) text: String,
    /// How many statements were sent to the server.
    pub(crate) sent: u64,
    /// How many were answered from memory.
    pub(crate) hits: u64,
    /// How many answers were stored.
    pub(crate) stored: u64,
    /// How many answers were stored anew after a change, and how many of these were the same.
    pub(crate) refilled: u64,
    pub(crate) needless: u64,
    /// The outcome of the query rules, if rules were met.
    pub(crate) outcome: Option<Arc<Outcome>>,
    /// Why answers were not stored, and how often.
    pub(crate) refused: Vec<(Why, u32)>,
    /// Why the last answer of the server's was not stored, if it was not.
    pub(crate) last: Option<Refusal>,
    /// The first and the last time, in seconds since 1970.
    pub(crate) seen: (u64, u64),
    /// The server's time, in microseconds.
    pub(crate) server_us: u64,
    /// Rows that the server sent, and that it changed.
    pub(crate) rows: (u64, u64),
    /// The tables that the statements read, if known.
    pub(crate) tables: Vec<(String, String)>,
    /// The name of the query, if known.
    pub(crate) query: Option<NamedQuery>,
    /// The tag of stored entries.
    pub(crate) tag: u16,
}

impl QueryRow {
    /// Returns the server's time that hits saved, in microseconds: for each hit the average time.
    pub(crate) fn saved_us(&self) -> u64 {
        self.server_us.checked_div(self.sent).unwrap_or(0).saturating_mul(self.hits)
    }
}

impl DigestStatistics {
    /// Counts an answer that was stored.
    pub(crate) fn count_stored(&self, tag: u16) {
        let place = place_of(tag);
        if self.is_anybodys(tag) {
            self.sent.add(place, DigestCount::Stored, 1);
            if let Some(refused) = self.refused[place].get() {
                refused.is_over();
            }
        }
    }

    /// Counts an answer that is stored anew after a change; `is_same`: the answer had not changed at all.
    pub(crate) fn count_refilled(&self, tag: u16, is_same: bool) {
        if self.is_anybodys(tag) {
            self.sent.add(place_of(tag), DigestCount::Refilled, 1);
            self.sent.add(place_of(tag), DigestCount::Needless, u64::from(is_same));
        }
    }

    /// Counts an answer that was not stored.
    pub(crate) fn count_refused(&self, tag: u16, refusal: &Refusal) {
        if self.is_anybodys(tag) {
            self.refused[place_of(tag)].get_or_init(Box::default).add(refusal);
        }
    }

    /// Notes the tables that statements of a digest read, and the name of their query.
    pub(crate) fn note_template(&self, tag: u16, tables: &Tables, query: &NamedQuery) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(named) = known.named.get(&place_of(tag)).filter(|_| self.is_anybodys(tag)) else { return };
        named.query.get_or_init(|| query.clone());
        let of = |table: &Named| (table.schema.clone(), table.name.clone());
        named.tables.get_or_init(|| {
            tables.known.iter().filter(|named| !named.is_absent()).chain(&tables.below).map(of).collect()
        });
    }

    /// Returns one row for each digest that has been seen. `is_shown` selects users.
    pub(crate) fn queries(&self, is_shown: impl Fn(&str) -> bool) -> Vec<QueryRow> {
        let clock = Clock::now();
        // Under this lock, nobody takes a place, and all can count.
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let shown = known.named.iter().filter(|(_, named)| is_shown(&named.user));
        shown.filter_map(|(place, named)| self.query(*place, named, clock)).collect()
    }

    /// Returns the row of one digest, for statements that have met these query rules.
    pub(crate) fn query_of(&self, whose: Whose<'_>, digest: Digest) -> Option<QueryRow> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let place = place_of(*known.places.get(&(digest, self.hash_of(whose)))?);
        self.query(place, known.named.get(&place)?, Clock::now())
    }

    fn query(&self, place: usize, named: &super::KnownDigest, clock: Clock) -> Option<QueryRow> {
        let sent = self.sent_row(place, named, clock);
        let hits = self.hits_row(place, named, clock);
        let first = [&sent, &hits].into_iter().flatten().map(|row| row.seen.0).min()?;
        let last = [&sent, &hits].into_iter().flatten().map(|row| row.seen.1).max()?;
        let refused = self.refused[place].get();
        let count = |row: &Option<super::DigestRow>| row.as_ref().map_or(0, |row| row.count);
        Some(QueryRow {
            schema: named.schema.to_string(),
            user: named.user.to_string(),
            digest: named.digest.to_string(),
            text: named.text.to_string(),
            sent: count(&sent),
            hits: count(&hits),
            stored: self.sent.sum(place, DigestCount::Stored),
            refilled: self.sent.sum(place, DigestCount::Refilled),
            needless: self.sent.sum(place, DigestCount::Needless),
            outcome: named.outcome.clone().filter(|outcome| !outcome.is_nothing()),
            refused: refused.map(|refused| refused.counts()).unwrap_or_default(),
            last: refused.and_then(|refused| refused.last_refusal()),
            seen: (first, last),
            server_us: sent.as_ref().map_or(0, |row| row.times_us.0),
            rows: sent.as_ref().map_or((0, 0), |row| (row.sent, row.affected)),
            tables: named.tables.get().map(|names| names.to_vec()).unwrap_or_default(),
            query: named.query.get().cloned(),
            tag: self.tag_of(place),
        })
    }
}
