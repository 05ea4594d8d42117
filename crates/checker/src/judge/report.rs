//! The findings of the judge.

use std::collections::BTreeMap;
use std::fmt;

use super::{Comparison, Nanos, Path, Read, Transaction};
use crate::query::Query;

/// The most violations that are kept whole. Further ones are only counted.
const KEPT_MAX: usize = 20;
/// The most later writes to the same tables that are kept.
pub(super) const SINCE_MAX: usize = 12;
/// The most characters of a statement or an answer that are printed.
const SHOWN_CHARS_MAX: usize = 600;

/// How a promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// The answer is that of an older state than the level allows.
    Stale,
    /// No recent state of the database gives this answer: it is torn, dirty, rolled back, or invented.
    Impossible,
}

/// A read, and the texts of its questions.
#[derive(Debug)]
pub struct ReportedRead {
    /// The read.
    pub read: Read,
    /// The questions.
    pub questions: Vec<String>,
}

/// A read that broke the promise, and the answer that it should have had.
#[derive(Debug)]
pub struct Violation {
    /// How the promise was broken.
    pub kind: ViolationKind,
    /// The read and its answer.
    pub seen: ReportedRead,
    /// The first write that the answer lacks, if there is a clear one.
    pub write: Option<Transaction>,
    /// The read that showed this write before it was acknowledged, if there is one. One of the two reads is wrong.
    pub shown_by: Option<ReportedRead>,
    /// The later writes to the same tables, in the order in which they were sent. Without a clear one: the latest of all.
    pub since: Vec<Transaction>,
    /// The answer of the newest state that the level allows.
    pub expected: String,
}

/// All findings.
#[derive(Debug, Default)]
pub struct Report {
    /// Reads that were judged, by shape.
    pub shapes: BTreeMap<&'static str, u64>,
    /// Reads through Freshet, and around it.
    pub reads: [u64; 2],
    /// Prepared ones among these reads.
    pub prepared: u64,
    /// Snapshots of several SELECTs.
    pub snapshots: u64,
    /// Committed transactions through Freshet, and around it.
    pub writes: [u64; 2],
    /// Hits, and those of an ideal cache.
    pub comparison: Comparison,
    /// Reads that could not be decided.
    pub undecided: u64,
    /// The lateness of each answer that lacked a known write, in nanoseconds.
    pub late: Vec<Nanos>,
    /// The number of broken promises of each kind.
    pub broken: BTreeMap<ViolationKind, u64>,
    /// The first broken promises.
    pub violations: Vec<Violation>,
}

/// The most late answers that are kept for the distribution.
const LATE_MAX: usize = 1 << 20;

impl Report {
    /// Counts a read.
    pub fn count(&mut self, read: &Read, pool: &[Query]) {
        self.reads[usize::from(read.path == Path::Around)] += 1;
        self.prepared += u64::from(read.is_prepared);
        self.snapshots += u64::from(read.parts.len() > 1);
        for part in &read.parts {
            *self.shapes.entry(pool[part.query].shape()).or_default() += 1;
        }
    }

    /// Notes an answer that was late, as the level allows.
    pub fn was_late(&mut self, by: Nanos) {
        if self.late.len() < LATE_MAX {
            self.late.push(by);
        }
    }

    /// Notes a broken promise.
    pub fn broke(&mut self, violation: Violation) {
        *self.broken.entry(violation.kind).or_default() += 1;
        if self.violations.len() < KEPT_MAX {
            self.violations.push(violation);
        }
    }

    /// Returns all broken promises.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.broken.values().sum()
    }
}

fn ms(nanos: Nanos) -> String {
    format!("{}.{:03} ms", nanos / 1_000_000, nanos / 1_000 % 1_000)
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

impl fmt::Display for ReportedRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = &self.read;
        let form = match (read.in_transaction, read.is_locking, read.is_prepared) {
            (true, true, _) => ", locking",
            (true, false, _) => ", in a transaction",
            (false, _, true) => ", prepared",
            (false, _, false) => "",
        };
        let (asked, answered) = (ms(read.asked), ms(read.answered));
        writeln!(f, "session {}, {:?}{form}: asked {asked}, answered {answered}", read.session, read.path)?;
        for (question, part) in self.questions.iter().zip(&read.parts) {
            writeln!(f, "  read   {}", cut(question))?;
            writeln!(f, "  saw    {}", cut(&format!("{:?}", part.observed)))?;
            if read.parts.len() > 1 {
                writeln!(f, "         from {} to {}", ms(part.asked), ms(part.answered))?;
            }
            if let Some(is_hit) = part.is_hit {
                writeln!(f, "         {}", if is_hit { "from memory" } else { "from the server" })?;
            }
            if !part.own.is_empty() {
                writeln!(f, "  in a transaction that had done {}", cut(&format!("{:?}", part.own)))?;
            }
        }
        if read.said.is_empty() { Ok(()) } else { writeln!(f, "  said   {}", cut(&read.said)) }
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({:?})", cut(&self.text), self.path)?;
        writeln!(f, "         sent {}, known {}", ms(self.sent), ms(self.known))?;
        writeln!(f, "         made {}", cut(&format!("{:?}", self.changes)))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.seen)?;
        writeln!(f, "  due    {}", cut(&self.expected))?;
        match &self.write {
            Some(write) => write!(f, "  write  {write}")?,
            None => writeln!(f, "  no recent state explains it; the latest writes:")?,
        }
        if let Some(read) = &self.shown_by {
            write!(f, "which was shown to {read}")?;
        }
        self.since.iter().try_for_each(|write| write!(f, "  since  {write}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [through, around] = self.reads;
        writeln!(
            f,
            "reads: {through} through, {around} around; {} prepared, {} snapshots",
            self.prepared, self.snapshots
        )?;
        writeln!(f, "writes: {} through, {} around", self.writes[0], self.writes[1])?;
        let shapes: Vec<String> =
            self.shapes.iter().map(|(shape, count)| format!("{shape} {count}")).collect();
        writeln!(f, "shapes: {}", shapes.join(", "))?;
        write!(f, "{}", self.comparison)?;
        writeln!(f, "undecided: {}", self.undecided)?;
        let mut late = self.late.clone();
        late.sort_unstable();
        if let (Some(most), Some(usual)) = (late.last(), late.get(late.len() * 99 / 100)) {
            writeln!(f, "late, as the level allows: {}; p99 {}, most {}", late.len(), ms(*usual), ms(*most))?;
        }
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        writeln!(f, "violations: {} {:?}", self.broken(), self.broken)
    }
}
