//! Computes the hits of an ideal cache, to compare real hits with them.
//!
//! # The ideal
//!
//! A read of one plain statement outside of transactions is an *ideal hit* under two conditions. The same text was answered through
//! Freshet before, with rows. And no write that changes its answer was under way or done between the moment at which that earlier read
//! was asked and the moment at which this read was answered. If there are several earlier reads, the one that was asked last counts.
//!
//! A write *changes an answer* if the model gives different answers to the question before and after the write, with the transactions in
//! the order in which they were sent. The writes of each row have that same order, and each write leaves a version that no other write
//! leaves. So a write of a shown row always changes the answer. A write that changes the answer forbids a hit to every cache that does
//! not guess: no cache knows whether a write under way has happened. A write that does not change the answer forbids nothing. So no
//! correct cache hits more often than the ideal cache, except with answers that the level lets be late.
//!
//! # What is within reach
//!
//! The ideal is a bound, and part of it cannot be reached. The ideal cache knows the rows before they are written: an `UPDATE … WHERE id
//! = 3` under way forbids it only answers that show row 3. A real cache does not know the row's other columns, which may have been
//! written around it a moment ago. So while the write is under way, it may change any answer that is not chosen by the primary key.
//! Therefore an ideal hit is *out of reach* if
//!
//! * while the question was asked again, a write through Freshet was under way whose text says that it may change the answer, whatever is
//!   in the tables ([`Told`](crate::told::Told)); or
//! * a definition of one of its tables was under way or done since the earlier answer. A definition counts as a change of everything.
//!
//! No other hit is out of reach. The rows of a known write are known. An answer that came while a write was under way can be kept until
//! the write's outcome is known. [`Moment`] tells how many hits are lost beside writes, and how many after them.
//!
//! # Real hits
//!
//! Watched clients ask the server for their session's `Com_select` around each read, by a prepared statement, which the server itself
//! answers. If the server has counted no SELECT of the session in between, the answer came from memory.
//!
//! # Transactions
//!
//! Reads in transactions are compared separately ([`InTransactions`]).

mod transactions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::{Defined, Log, Nanos, Part, Path, Read, Transaction};
use crate::model::Db;
use crate::query::{Observed, Query};

pub use transactions::InTransactions;

/// The most reads and the most writes that are remembered for each question. If older ones are needed, a read is no ideal hit.
const REMEMBERED_MAX: usize = 1 << 10;
/// The most definitions that are remembered: a few seconds of them.
const DEFINED_MAX: usize = 1 << 12;
/// An answer within this time after a write, in nanoseconds, may have come too early to be stored.
const CLOSE: Nanos = 100_000_000;
/// The text for the case that no write to the question's tables is known since the earlier answer.
const NONE: &str = "no write";
const NONE_SINCE: &str = "no write since, one shortly before";

/// Counts of watched reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All watched reads.
    pub reads: u64,
    /// The reads that an ideal cache answers.
    pub ideal: u64,
    /// The ideal hits that were answered from memory.
    pub real: u64,
    /// The reads that a cache can answer which does not know the rows before they are written.
    pub reachable: u64,
    /// The reachable hits that were answered from memory.
    pub reached: u64,
    /// The reads that were answered from memory although an ideal cache does not answer them: the level lets answers be late.
    pub beyond: u64,
}

impl Tally {
    /// Counts a read.
    fn count(&mut self, [is_ideal, is_reachable, is_hit]: [bool; 3]) {
        self.reads += 1;
        self.ideal += u64::from(is_ideal);
        self.real += u64::from(is_ideal && is_hit);
        self.reachable += u64::from(is_reachable);
        self.reached += u64::from(is_reachable && is_hit);
        self.beyond += u64::from(is_hit && !is_ideal);
    }
}

/// Ideal hits with a form of write to the question's tables since the earlier answer: the number of lost ones, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// There was no other form of write.
    pub alone: [u64; 2],
    /// There were other forms of write too.
    pub among: [u64; 2],
}

/// When writes to a question's tables were under way that do not change the answer. A cache that cannot see the rows of other writers
/// cannot know this of most writes: an UPDATE by the primary key does not tell the row's other columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A write was under way when the question was asked again.
    Beside,
    /// A write was under way when the question was answered before. A cache could keep this answer only if it knew that the write
    /// concerns other rows.
    Before,
    /// No write was under way at either time, but some were in between.
    Between,
    /// No write was under way at all.
    Never,
}

/// The comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Watched reads by shape.
    pub shapes: BTreeMap<&'static str, Tally>,
    /// The cost of writes that do not change the answer, by their forms.
    pub costs: BTreeMap<String, Cost>,
    /// Ideal hits by the writes under way to the question's tables: the number of lost ones and of all, then the same two numbers for the
    /// hits within reach.
    pub moments: BTreeMap<Moment, [u64; 4]>,
    /// Reads through Freshet that are not watched for hits: prepared ones, and those in transactions.
    pub unwatched: [u64; 2],
    /// Reads in transactions: at REPEATABLE READ, and at READ COMMITTED.
    pub in_transactions: [InTransactions; 2],
}

impl Comparison {
    /// Returns all shapes together.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.shapes.values().fold(Tally::default(), |all, one| Tally {
            reads: all.reads + one.reads,
            ideal: all.ideal + one.ideal,
            real: all.real + one.real,
            reachable: all.reachable + one.reachable,
            reached: all.reached + one.reached,
            beyond: all.beyond + one.beyond,
        })
    }
}

/// The remembered events of one question.
#[derive(Debug, Default)]
struct Asked {
    /// The moments at which each read was asked and answered.
    reads: VecDeque<(Nanos, Nanos)>,
    /// The moments at which each write that changes the answer was sent and known.
    writes: VecDeque<(Nanos, Nanos)>,
    /// All writes that are no longer remembered were known by this moment.
    forgotten: Nanos,
}

/// An ideal cache.
#[derive(Debug)]
pub struct Ideal {
    pool: Arc<[Query]>,
    db: Db,
    answers: Vec<Observed>,
    asked: Vec<Asked>,
    /// The latest definitions.
    defined: VecDeque<Defined>,
    comparison: Comparison,
}

impl Ideal {
    /// Returns a cache that holds nothing, with a database in this state.
    #[must_use]
    pub fn new(pool: Arc<[Query]>, db: Db) -> Self {
        let answers: Vec<Observed> = pool.iter().map(|query| query.ask(&db)).collect();
        let asked = pool.iter().map(|_| Asked::default()).collect();
        Self { pool, db, answers, asked, defined: VecDeque::new(), comparison: Comparison::default() }
    }

    /// Takes committed transactions, in the order in which they were sent.
    pub fn write(&mut self, transaction: &Transaction) {
        transaction.changes.iter().for_each(|change| self.db.apply(change));
        let tables = transaction.tables();
        let questions = self.pool.iter().zip(&mut self.answers).zip(&mut self.asked);
        for ((query, answer), asked) in questions.filter(|((query, _), _)| query.tables() & tables != 0) {
            let new = query.ask(&self.db);
            if new != *answer {
                *answer = new;
                asked.note_write(transaction.sent, transaction.known);
            }
        }
    }

    /// Takes a definition, before the reads that were answered after it was known.
    pub fn define(&mut self, defined: Defined) {
        if self.defined.len() == DEFINED_MAX {
            self.defined.pop_front();
        }
        self.defined.push_back(defined);
    }

    /// Whether no cache without knowledge of unwritten rows can know that the answer between these moments equals the earlier answer.
    fn is_out_of_reach(&self, query: &Query, before: Nanos, read: &Read, log: &Log) -> bool {
        let is_defined = |defined: &Defined| {
            defined.tables & query.tables() != 0 && defined.known >= before && defined.sent <= read.answered
        };
        let beside = log.between(read.asked, read.answered, u8::MAX);
        let mut through = beside.filter(|(_, write)| write.path == Path::Through);
        self.defined.iter().any(is_defined)
            || through.any(|(_, write)| write.told.iter().any(|told| query.may_be_changed_by(told, &self.db)))
    }

    /// Takes a read, in the order of the answers. `log` has the latest writes.
    pub fn read(&mut self, read: &Read, log: &Log) {
        if read.path == Path::Around {
            return;
        }
        if read.in_transaction {
            return self.in_transaction(read, log);
        }
        if read.is_prepared {
            self.comparison.unwatched[0] += 1;
            return;
        }
        let [Part { query, observed: Ok(_), .. }] = &read.parts[..] else { return };
        let before = self.asked[*query].read_before(read.asked);
        let is_ideal = before.is_some_and(|(before, _)| !self.asked[*query].changed(before, read.answered));
        self.asked[*query].note_read(read.asked, read.answered);
        let Some(is_hit) = read.is_hit else { return };
        let is_reachable = before
            .filter(|_| is_ideal)
            .is_some_and(|(before, _)| !self.is_out_of_reach(&self.pool[*query], before, read, log));
        let tally = self.comparison.shapes.entry(self.pool[*query].shape()).or_default();
        tally.count([is_ideal, is_reachable, is_hit]);
        if let Some((before, stored)) = before.filter(|_| is_ideal) {
            let tables = self.pool[*query].tables();
            let is_any = |from, to| log.between(from, to, tables).next().is_some();
            let moment = if is_any(read.asked, read.answered) {
                Moment::Beside
            } else if is_any(before, stored) {
                Moment::Before
            } else if is_any(before, read.answered) {
                Moment::Between
            } else {
                Moment::Never
            };
            let counts = self.comparison.moments.entry(moment).or_default();
            let is_lost = !is_hit;
            let these = [is_lost, true, is_lost && is_reachable, is_reachable];
            counts.iter_mut().zip(these).for_each(|(count, is)| *count += u64::from(is));
            let forms =
                |from| log.between(from, read.answered, tables).map(|(_, write)| form(write)).collect();
            let mut since: BTreeSet<String> = forms(before);
            if since.is_empty() {
                let earlier: BTreeSet<String> = forms(before.saturating_sub(CLOSE));
                since.insert(if earlier.is_empty() { NONE } else { NONE_SINCE }.to_owned());
            }
            if is_reachable {
                self.comparison.charge(since, !is_hit);
            }
        }
    }

    /// Returns the comparison.
    #[must_use]
    pub fn into_comparison(self) -> Comparison {
        self.comparison
    }
}

impl Comparison {
    fn charge(&mut self, forms: BTreeSet<String>, is_lost: bool) {
        let is_alone = forms.len() == 1;
        for form in forms {
            let Cost { alone, among } = self.costs.entry(form).or_default();
            let [lost, all] = if is_alone { alone } else { among };
            *lost += u64::from(is_lost);
            *all += 1;
        }
    }
}

impl Asked {
    fn note_read(&mut self, asked: Nanos, ended: Nanos) {
        if self.reads.len() == REMEMBERED_MAX {
            self.reads.pop_front();
        }
        self.reads.push_back((asked, ended));
    }

    fn note_write(&mut self, sent: Nanos, known: Nanos) {
        if self.writes.len() == REMEMBERED_MAX {
            let forgotten = self.writes.pop_front().map_or(0, |(_, known)| known);
            self.forgotten = self.forgotten.max(forgotten);
        }
        self.writes.push_back((sent, known));
    }

    /// Returns when a read was asked and answered: the first answered one of the reads that were asked after `from` and answered before
    /// `moment`.
    fn read_between(&self, from: Nanos, moment: Nanos) -> Option<(Nanos, Nanos)> {
        let between = |(asked, ended): &&(Nanos, Nanos)| *asked > from && *ended < moment;
        self.reads.iter().filter(between).copied().min_by_key(|(_, ended)| *ended)
    }

    /// Returns the same for the read that was asked last, of the reads asked by `by` and answered before `moment`.
    fn read_by(&self, by: Nanos, moment: Nanos) -> Option<(Nanos, Nanos)> {
        let before = |(asked, ended): &&(Nanos, Nanos)| *asked <= by && *ended < moment;
        self.reads.iter().filter(before).copied().max()
    }

    /// Returns the same for the read that was asked last, of the reads answered before `moment`.
    fn read_before(&self, moment: Nanos) -> Option<(Nanos, Nanos)> {
        self.reads.iter().filter(|(_, ended)| *ended < moment).copied().max()
    }

    /// Whether a write that changes the answer was under way, or done, between two moments.
    fn changed(&self, from: Nanos, to: Nanos) -> bool {
        let in_between = |(sent, known): &(Nanos, Nanos)| *known >= from && *sent <= to;
        self.forgotten >= from || self.writes.iter().any(in_between)
    }
}

/// Returns the form of a transaction: its way, and the part that its statements have in common with others.
fn form(transaction: &Transaction) -> String {
    let text = &*transaction.text;
    let verb = text.split(' ').next().unwrap_or_default();
    let rules = [
        ("ALTER ", "beside ALTER"),
        ("; ", "in a transaction"),
        ("(SELECT ", "with a subquery"),
        (" ON DUPLICATE", "on duplicate key"),
        (" SELECT ", "… select"),
        (" JOIN ", "of two tables"),
        (" + 1, ", "of a computed key"),
        ("DELETE FROM p", "of a parent"),
        ("SLEEP", "that is slow"),
        ("UPDATE s ", "with a trigger"),
        (" INTO s ", "with a trigger"),
        ("WHERE k = ", "by a value"),
        ("WHERE id >= ", "by a range"),
        ("), (", "of several rows"),
    ];
    let kind = rules.iter().find(|(part, _)| text.contains(part)).map_or("of one row", |(_, kind)| kind);
    let way = if transaction.path == Path::Around { "around: " } else { "" };
    let verb = if kind == "in a transaction" { "writes" } else { verb };
    format!("{way}{verb} {kind}")
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |real: u64, all: u64| (real * 100).checked_div(all).unwrap_or(0);
        let (ideal, reachable) = (percent(self.real, self.ideal), percent(self.reached, self.reachable));
        write!(f, "{ideal} % ({} of {})", self.real, self.ideal)?;
        write!(f, ", {reachable} % of what is within reach ({} of {})", self.reached, self.reachable)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beside => "beside a write",
            Self::Before => "answered before beside a write",
            Self::Between => "after a write",
            Self::Never => "without a write",
        })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        writeln!(
            f,
            "hits, of an ideal cache's: {total}; {} beyond; {} reads watched",
            total.beyond, total.reads
        )?;
        let shapes: Vec<String> =
            self.shapes.iter().map(|(shape, tally)| format!("    {shape}: {tally}\n")).collect();
        write!(f, "  by shape:\n{}", shapes.concat())?;
        let [prepared, in_transactions] = self.unwatched;
        writeln!(f, "  not watched: {prepared} prepared, {in_transactions} in transactions")?;
        for (level, tally) in ["REPEATABLE READ", "READ COMMITTED"].into_iter().zip(&self.in_transactions) {
            writeln!(f, "hits in transactions at {level}, of an ideal cache's: {tally}")?;
            tally.kinds(f)?;
        }
        let moments = self.moments.iter().map(|(moment, [lost, all, near, all_near])| {
            format!("{moment} {lost} of {all} ({near} of {all_near} within reach)")
        });
        writeln!(f, "  lost by moment: {}", moments.collect::<Vec<_>>().join(", "))?;
        let mut costs: Vec<_> = self.costs.iter().collect();
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.alone[0] + cost.among[0]));
        writeln!(
            f,
            "  lost within reach to writes that change nothing of the answer, alone and among others:"
        )?;
        costs.iter().try_for_each(|(form, Cost { alone, among })| {
            writeln!(f, "    {form}: {} of {}, {} of {}", alone[0], alone[1], among[0], among[1])
        })
    }
}

#[cfg(test)]
mod tests;
