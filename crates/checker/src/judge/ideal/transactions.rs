//! Reads in transactions, compared with those of an ideal cache.
//!
//! # The ideal
//!
//! At READ COMMITTED each read shows what is committed when it is asked: it is an *ideal hit* by the same definition as outside of
//! transactions. At REPEATABLE READ all reads show one moment, which lies between the question and the answer of what opens the snapshot: START
//! TRANSACTION WITH CONSISTENT SNAPSHOT, or the first read. A later read is an ideal hit iff the same text was answered before with
//! rows, whoever has asked it, and no write that changes its answer was under way or done between that answer's moment and the snapshot's,
//! whichever is earlier. At SERIALIZABLE a read locks what it reads, and at READ UNCOMMITTED it shows what no cache is told of: no read of
//! these is an ideal hit, and none is asked.
//!
//! No read of a question whose tables the transaction has written is an ideal hit. Nor is one with a text that nobody had before.
//!
//! What is read in a transaction fills an ideal cache, for all, where the transaction has not written the question's tables: as of the
//! snapshot, or as of the read.
//!
//! # What is within reach
//!
//! The ideal keeps all answers to a question that anybody was given. A cache that keeps one, and knows of it only that it is not changed by
//! now, reaches an ideal hit iff the answer that was asked for last is still true now. What is out of reach outside of transactions is out
//! of reach within.
//!
//! # Real hits
//!
//! Freshet says itself how much it has answered a session from memory, and is asked around each read: the server does not see that. What the
//! server counts is asked before a transaction and after it, since that would open one, and tells how many transactions needed no SELECT.
//! What Freshet itself asks on the session's connection counts against it, but for what it asks of each read view that it opens; the first
//! transaction of a session that was set up anew is left out.

use std::collections::BTreeMap;
use std::fmt;

use super::{Ideal, Log, Nanos, Part, Path, Read, Tally};

/// Reads of watched transactions at one level of isolation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InTransactions {
    /// The reads. Within reach is what a cache answers that keeps one answer to each question.
    pub tally: Tally,
    /// Ideal hits within reach by the kind of transaction and their place in it: how many were lost, of how many.
    pub kinds: BTreeMap<String, [u64; 2]>,
    /// Transactions, and those of them that the server was asked no SELECT in.
    pub transactions: [u64; 2],
}

/// Between which moments a transaction has taken its snapshot.
#[derive(Clone, Copy)]
struct SnapshotTaken {
    from: Nanos,
    to: Nanos,
}

impl Ideal {
    /// Takes the reads of a transaction that share a snapshot.
    pub(super) fn in_transaction(&mut self, read: &Read, log: &Log) {
        if !read.is_counted {
            self.comparison.unwatched[1] += 1;
        }
        let Some(first) = read.parts.first() else { return };
        let snapshot = SnapshotTaken { from: read.asked, to: read.until.min(first.answered) };
        for (place, part) in read.parts.iter().enumerate() {
            if read.is_counted && !read.is_locking {
                self.compare(read, place, snapshot, log);
            }
            let fills = !self.has_written(part) && !part.is_new && !part.is_prepared && !read.is_locking;
            if fills && part.observed.is_ok() {
                self.asked[part.query].note_read(snapshot.from, part.answered);
            }
        }
    }

    /// Whether the transaction has written any of the question's tables.
    fn has_written(&self, part: &Part) -> bool {
        let tables = self.pool[part.query].tables();
        part.own.iter().any(|change| change.tables() & tables != 0)
    }

    /// Compares what came of the read's part at a place with what an ideal cache does.
    fn compare(&mut self, read: &Read, place: usize, snapshot: SnapshotTaken, log: &Log) {
        let part = &read.parts[place];
        let is_answerable = !self.has_written(part) && !part.is_new && part.observed.is_ok();
        let is_ideal = is_answerable && self.holds(part, snapshot);
        let is_reachable = is_ideal && self.is_in_reach(read, part, snapshot.from, log);
        let is_hit = part.is_hit == Some(true);
        let of_level = &mut self.comparison.in_transactions[usize::from(read.is_at_read_committed())];
        of_level.tally.count([is_ideal, is_reachable, is_hit]);
        if is_reachable {
            let [lost, all] = of_level.kinds.entry(kind(read, part, place)).or_default();
            *lost += u64::from(!is_hit);
            *all += 1;
        }
    }

    /// Whether an answer that was given before is that of the snapshot.
    fn holds(&self, part: &Part, SnapshotTaken { from, to }: SnapshotTaken) -> bool {
        let asked = &self.asked[part.query];
        let by = asked.read_by(from, part.asked).is_some_and(|(before, _)| !asked.changed(before, to));
        let since = || asked.read_between(from, part.asked);
        by || since().is_some_and(|(_, ended)| !asked.changed(from, ended))
    }

    /// Whether the answer that was asked for last is that of the snapshot, which is not older than `from`, and true now, and a cache can know it.
    fn is_in_reach(&self, read: &Read, part: &Part, from: Nanos, log: &Log) -> bool {
        let asked = &self.asked[part.query];
        let Some((before, _)) = asked.read_before(part.asked) else { return false };
        let since = before.min(from);
        let now = Read { asked: part.asked, answered: part.answered, ..read.clone() };
        !asked.changed(since, part.answered)
            && !self.is_out_of_reach(&self.pool[part.query], since, &now, log)
    }

    /// Takes how many reads of a transaction were answered from memory, of so many.
    pub fn hits_in_transaction(&mut self, is_committed: bool, hits: u64, reads: u64) {
        let tally = &mut self.comparison.in_transactions[usize::from(is_committed)];
        tally.transactions[0] += 1;
        tally.transactions[1] += u64::from(hits == reads && reads > 0);
    }
}

/// Returns how the transaction began, whether it had written, and the read's place.
fn kind(read: &Read, part: &Part, place: usize) -> String {
    let begun = read.said.split("; ").next().unwrap_or_default();
    let written = if part.own.is_empty() { "" } else { ", after a write" };
    let place = match (read.is_at_read_committed(), place) {
        (true, _) => "",
        (false, 0) => ", first",
        _ => ", later",
    };
    let path = if read.path == Path::Around { ", around" } else { "" };
    format!("{begun}{written}{place}{path}")
}

impl InTransactions {
    /// Returns the kinds, those first that have lost most.
    pub(super) fn kinds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, [lost, _])| std::cmp::Reverse(*lost));
        kinds.iter().try_for_each(|(kind, [lost, all])| writeln!(f, "    lost {lost} of {all}: {kind}"))
    }
}

impl fmt::Display for InTransactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, transactions: [all, hit], .. } = self;
        let Tally { beyond, reads, .. } = tally;
        write!(f, "{tally}, {beyond} beyond; {reads} reads watched, {hit} of {all} transactions all hits")
    }
}
