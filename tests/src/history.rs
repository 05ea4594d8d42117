//! The judge of a recorded history: pure, so that it is itself tested on histories known to be good or bad.
//!
//! Every row holds a version that only grows. A write says which version it left behind and when it was acknowledged; a
//! read says when it was asked and answered, and which versions it saw. Freshness is then a floor for each row: what was
//! acknowledged, or shown to anyone, before a read began must be seen by it.
//!
//! Rows that are written around Freshet are held to the lag alone: a miss may show such a write before the binlog stream
//! has told of it, and an older answer may then still be given until it has.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How a write went to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Through Freshet: seen by every read that begins after its acknowledgement.
    Through,
    /// Directly: seen after a bounded lag.
    Around,
}

/// An acknowledged write. One whose outcome is unknown is not recorded: nobody may rely on it.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// The row.
    pub row: u32,
    /// The version that it left behind.
    pub version: u64,
    /// When its acknowledgement had come, since the history's beginning.
    pub acknowledged: Duration,
    /// How it went.
    pub path: Path,
}

/// One thing that a read saw: the sum of the versions of some rows, mostly of a single one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The rows, in ascending order.
    pub rows: Vec<u32>,
    /// The sum of their versions.
    pub total: u64,
}

impl Seen {
    /// A single row's version.
    pub fn one(row: u32, version: u64) -> Seen {
        Seen { rows: vec![row], total: version }
    }
}

/// A read that was answered.
#[derive(Debug, Clone)]
pub struct Read {
    /// The statement, for the report.
    pub text: String,
    /// When it was about to be sent.
    pub asked: Duration,
    /// When its answer had come.
    pub answered: Duration,
    /// What it showed.
    pub seen: Vec<Seen>,
}

/// All that happened, in any order.
#[derive(Debug, Default)]
pub struct History {
    /// The acknowledged writes.
    pub writes: Vec<Write>,
    /// The answered reads.
    pub reads: Vec<Read>,
}

impl History {
    /// Adds what another client recorded.
    pub fn merge(&mut self, other: History) {
        self.writes.extend(other.writes);
        self.reads.extend(other.reads);
    }
}

/// What the judge holds a history to.
#[derive(Debug)]
pub struct Rules {
    /// How long a write around Freshet may stay unseen.
    pub lag: Duration,
    /// Pairs of rows that are only ever written together: one SELECT sees the same version of both.
    pub together: Vec<(u32, u32)>,
}

/// A read that no fresh cache could have answered so.
#[derive(Debug, PartialEq, Eq)]
pub enum Violation {
    /// It saw less than what was acknowledged, or shown to anyone, before it began.
    Stale {
        /// The read.
        text: String,
        /// What it saw.
        seen: Seen,
        /// The least total that it had to see.
        floor: u64,
        /// When it was asked.
        asked: Duration,
    },
    /// It saw one half of a transaction.
    Torn {
        /// The read.
        text: String,
        /// The versions of the two rows.
        versions: (u64, u64),
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Stale { text, seen, floor, asked } => {
                write!(f, "stale at {asked:?}: {text} saw {seen:?}, but {floor} was known before")
            }
            Violation::Torn { text, versions } => write!(f, "torn: {text} saw {versions:?}"),
        }
    }
}

/// Every violation in a history, in the order of the reads' beginnings.
pub fn judge(history: &History, rules: &Rules) -> Vec<Violation> {
    let mut reads: Vec<&Read> = history.reads.iter().collect();
    reads.sort_by_key(|read| read.asked);
    let mut known = Known::of(history, rules);
    let mut violations = Vec::new();
    for read in reads {
        known.advance(read.asked);
        violations.extend(read.seen.iter().filter_map(|seen| known.stale(read, seen)));
        violations.extend(torn(read, rules));
    }
    violations
}

/// What every read that begins now must see, as it grows with time.
struct Known<'a> {
    /// When each thing becomes known; sorted, last first, so that the next one is popped.
    coming: Vec<(Duration, &'a [u32], u64)>,
    rows: HashMap<u32, u64>,
    totals: HashMap<&'a [u32], u64>,
}

impl<'a> Known<'a> {
    fn of(history: &'a History, rules: &Rules) -> Known<'a> {
        let writes = history.writes.iter().map(|write| {
            let lag = if write.path == Path::Around { rules.lag } else { Duration::ZERO };
            (write.acknowledged + lag, std::slice::from_ref(&write.row), write.version)
        });
        let around = |write: &&Write| write.path == Path::Around;
        let late: HashSet<u32> = history.writes.iter().filter(around).map(|write| write.row).collect();
        let shown = history.reads.iter().flat_map(|read| read.seen.iter().map(|seen| (read.answered, seen)));
        let shown = shown.map(|(at, seen)| {
            let is_late = seen.rows.iter().any(|row| late.contains(row));
            let lag = if is_late { rules.lag } else { Duration::ZERO };
            (at + lag, seen.rows.as_slice(), seen.total)
        });
        let mut coming: Vec<_> = writes.chain(shown).collect();
        coming.sort_by_key(|&(at, ..)| std::cmp::Reverse(at));
        Known { coming, rows: HashMap::new(), totals: HashMap::new() }
    }

    /// Takes in what was known strictly before an instant.
    fn advance(&mut self, now: Duration) {
        while let Some((_, rows, total)) = self.coming.pop_if(|next| next.0 < now) {
            let known = match rows {
                [row] => self.rows.entry(*row).or_default(),
                rows => self.totals.entry(rows).or_default(),
            };
            *known = total.max(*known);
        }
    }

    fn stale(&self, read: &Read, seen: &Seen) -> Option<Violation> {
        let of_rows = seen.rows.iter().map(|row| self.rows.get(row).copied().unwrap_or(0)).sum();
        let floor = self.totals.get(seen.rows.as_slice()).copied().unwrap_or(0).max(of_rows);
        (seen.total < floor).then(|| Violation::Stale {
            text: read.text.clone(),
            seen: seen.clone(),
            floor,
            asked: read.asked,
        })
    }
}

fn torn<'a>(read: &'a Read, rules: &'a Rules) -> impl Iterator<Item = Violation> + 'a {
    let version = |row: u32| read.seen.iter().find(|seen| seen.rows == [row]).map(|seen| seen.total);
    rules.together.iter().filter_map(move |&(left, right)| {
        let versions = (version(left)?, version(right)?);
        (versions.0 != versions.1).then(|| Violation::Torn { text: read.text.clone(), versions })
    })
}
