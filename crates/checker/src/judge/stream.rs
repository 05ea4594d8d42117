//! Records the actions of clients, and judges them at the same time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::explain::{Case, Explained, Explanation};
use super::ideal::Ideal;
use super::log::{Clocks, Log};
use super::report::{Report, ReportedRead, SINCE_MAX, Violation, ViolationKind};
use super::{Defined, Isolation, KEPT_MS, Level, Nanos, Path, Read, Transaction};
use crate::model::{Change, Db};
use crate::query::Query;
use crate::told;

/// The most events that wait for the judge. At this bound the clients wait for the judge.
const EVENTS_MAX: usize = 1 << 16;
/// The most reads that wait for the outcome of earlier transactions. Above it no client should begin anything.
const WAITING_MAX: usize = 1 << 17;
/// The judge looks at the clock at least this often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const NANOS_OF_MS: u64 = 1_000_000;

/// An event that a client reports to the judge.
#[derive(Debug)]
pub enum Event {
    /// A transaction was committed.
    Committed(Transaction),
    /// A definition is known to be done, or refused.
    Defined(Defined),
    /// A read was answered.
    Read(Read),
    /// The number of reads of a watched transaction that were answered from memory, and the number of all its reads.
    Hits(Isolation, u64, u64),
}

/// The open transactions and definitions: their numbers, and when each was sent.
#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    sent: BTreeMap<u64, Nanos>,
}

/// The recorder of the clients' actions. A clone is cheap.
#[derive(Clone, Debug)]
pub struct Recorder {
    began: Instant,
    events: SyncSender<Event>,
    under_way: Arc<Mutex<UnderWay>>,
    waiting: Arc<AtomicUsize>,
}

/// A transaction that was sent.
#[derive(Debug)]
#[must_use]
pub struct Sent {
    number: u64,
    transaction: Transaction,
}

impl Sent {
    /// Returns when the transaction was sent.
    #[must_use]
    pub const fn at(&self) -> Nanos {
        self.transaction.sent
    }

    /// Returns the statements.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.transaction.text
    }

    /// Returns the changes of the transaction.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.transaction.changes
    }

    /// Replaces the changes by those that the transaction has really made.
    pub fn adopt(&mut self, changes: Vec<Change>) {
        self.transaction.changes = changes;
    }
}

impl Recorder {
    /// Returns the present moment.
    #[must_use]
    pub fn now(&self) -> Nanos {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes a transaction. It is called before the first byte of the commit is sent.
    pub fn sending(&self, text: &str, path: Path, changes: Vec<Change>, told: Vec<told::Told>) -> Sent {
        let (number, sent) = self.begin();
        Sent {
            number,
            transaction: Transaction { text: text.into(), path, sent, known: Nanos::MAX, changes, told },
        }
    }

    /// Notes the outcome of a transaction, once it is known, and returns the moment.
    pub fn done(&self, sent: Sent, is_committed: bool) -> Nanos {
        let known = self.now();
        if is_committed && !sent.transaction.changes.is_empty() {
            let _ = self.events.send(Event::Committed(Transaction { known, ..sent.transaction }));
        }
        self.end(sent.number);
        known
    }

    /// Notes that the outcome of a transaction cannot be found out. It is called in place of [`Self::done`]. The server may carry out the
    /// transaction at any later time, so it stays open, and no read that ended after it was sent is judged.
    pub fn given_up(&self, sent: Sent) {
        drop(sent);
    }

    /// Notes a definition of these tables. It is called before the first byte is sent. The returned value is dropped when the definition is
    /// acknowledged or refused.
    #[must_use]
    pub fn defining(&self, tables: u8) -> Defining {
        let (number, sent) = self.begin();
        Defining { recorder: self.clone(), number, tables, sent }
    }

    /// Notes that an action has begun.
    fn begin(&self) -> (u64, Nanos) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // The moment is taken under the lock: a thread that finds no open action knows that all later ones are sent later.
        let sent = self.now();
        let number = under_way.next;
        under_way.next += 1;
        under_way.sent.insert(number, sent);
        (number, sent)
    }

    /// Notes that an action is over. It is called after the action was reported: an action that is no longer open has been reported.
    fn end(&self, number: u64) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).sent.remove(&number);
    }

    /// Reports a read. It is called after the answer.
    pub fn read(&self, read: Read) {
        let _ = self.events.send(Event::Read(read));
    }

    /// Reports how many reads of a watched transaction were answered from memory. It is called after the transaction.
    pub fn hits(&self, isolation: Isolation, hits: u64, reads: u64) {
        let _ = self.events.send(Event::Hits(isolation, hits, reads));
    }

    /// Whether so many reads wait that no client should begin anything. An outcome that takes long to find out keeps the judge waiting,
    /// and the open actions must be able to end.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > WAITING_MAX
    }

    /// Returns the moment before which everything that was sent has been reported.
    fn settled(&self) -> Nanos {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.sent.values().min().copied().unwrap_or_else(|| self.now())
    }
}

/// A definition that was sent.
#[derive(Debug)]
pub struct Defining {
    recorder: Recorder,
    number: u64,
    tables: u8,
    sent: Nanos,
}

impl Drop for Defining {
    fn drop(&mut self) {
        let Self { ref recorder, number, tables, sent } = *self;
        let _ = recorder.events.send(Event::Defined(Defined { tables, sent, known: recorder.now() }));
        recorder.end(number);
    }
}

/// A read in the queue, ordered by its answer.
struct Waiting(Read);

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.0.answered == other.0.answered
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.answered.cmp(&other.0.answered)
    }
}

/// The judge, while clients are at work.
pub struct Judge {
    pool: Arc<[Query]>,
    level: Level,
    lag: Nanos,
    log: Log,
    /// Transactions that were reported and are not in the log yet. The judge sorts them by when they were sent.
    coming: Vec<Transaction>,
    reads: BinaryHeap<Reverse<Waiting>>,
    /// For each session the moment of the state that it was shown last.
    floors: HashMap<usize, Nanos>,
    ideal: Ideal,
    report: Report,
}

impl Judge {
    /// Returns a judge of reads from this pool, with the database's first state and the recorder of the clients. `lag` is how late the
    /// level lets answers be, in milliseconds.
    #[must_use]
    pub fn new(pool: Arc<[Query]>, base: Db, level: Level, lag_ms: u64) -> (Self, Recorder, Receiver<Event>) {
        let (events, told) = sync_channel(EVENTS_MAX);
        let recorder =
            Recorder { began: Instant::now(), events, under_way: Arc::default(), waiting: Arc::default() };
        let judge = Self {
            ideal: Ideal::new(pool.clone(), base),
            pool,
            level,
            lag: lag_ms * NANOS_OF_MS,
            log: Log::new(base),
            coming: Vec::new(),
            reads: BinaryHeap::new(),
            floors: HashMap::new(),
            report: Report::default(),
        };
        (judge, recorder, told)
    }

    /// Judges until `is_over` says that no client works any more. `ends` is set at the first broken promise.
    #[must_use]
    pub fn run(
        mut self,
        recorder: &Recorder,
        told: &Receiver<Event>,
        is_over: impl Fn() -> bool,
        ends: Option<&AtomicBool>,
    ) -> Report {
        loop {
            let over = is_over();
            // The moment is taken before the events: everything settled by then is among them.
            let settled = recorder.settled();
            let mut next = told.recv_timeout(LOOK_EVERY);
            while let Ok(event) = next {
                self.take(event);
                next = told.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            self.judge_until(settled);
            recorder.waiting.store(self.reads.len(), Ordering::Relaxed);
            if let Some(ends) = ends.filter(|_| self.report.broken() > 0) {
                ends.store(true, Ordering::Relaxed);
            }
            if over {
                return self.into_report();
            }
        }
    }

    /// Takes an event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Committed(transaction) => self.coming.push(transaction),
            Event::Defined(defined) => self.ideal.define(defined),
            Event::Hits(isolation, hits, reads) => {
                self.ideal.hits_in_transaction(isolation == Isolation::ReadCommitted, hits, reads);
            }
            Event::Read(read) => self.reads.push(Reverse(Waiting(read))),
        }
    }

    /// Judges all reads that ended before a moment. Everything before this moment has been reported.
    pub fn judge_until(&mut self, settled: Nanos) {
        self.coming.sort_by_key(|transaction| transaction.sent);
        let ready = self.coming.partition_point(|transaction| transaction.sent < settled);
        for transaction in self.coming.drain(..ready) {
            self.report.writes[usize::from(transaction.path == Path::Around)] += 1;
            self.ideal.write(&transaction);
            self.log.add(transaction);
        }
        while self.reads.peek().is_some_and(|next| next.0.0.answered < settled) {
            if let Some(Reverse(Waiting(read))) = self.reads.pop() {
                self.judge(read);
            }
        }
        self.log.forget(settled.saturating_sub(KEPT_MS * NANOS_OF_MS + self.lag));
    }

    /// Returns the findings.
    #[must_use]
    pub fn into_report(self) -> Report {
        Report { comparison: self.ideal.into_comparison(), ..self.report }
    }

    fn judge(&mut self, read: Read) {
        self.report.count(&read, &self.pool);
        self.ideal.read(&read, &self.log);
        let floor = self.floors.get(&read.session).copied().unwrap_or(0);
        let case =
            Case { log: &self.log, pool: &self.pool, read: &read, level: self.level, lag: self.lag, floor };
        match case.explain() {
            Explained::Undecided => self.report.undecided += 1,
            Explained::Yes(explanation) => self.believe(&read, &explanation),
            Explained::No(older) => self.convict(read, older),
        }
    }

    fn believe(&mut self, read: &Read, explanation: &Explanation) {
        // A locking read shows a newer state than the snapshot with which the transaction goes on.
        if !read.is_locking {
            let floor = self.floors.entry(read.session).or_default();
            *floor = explanation.at.min(read.answered).max(*floor);
        }
        if let Some(missing) = explanation.missing.and_then(|number| self.log.get(number)) {
            self.report.was_late(read.asked.saturating_sub(missing.known));
        }
        for number in &explanation.proven {
            self.log.shown(*number, read);
        }
    }

    fn convict(&mut self, read: Read, older: Option<Explanation>) {
        let newest = self.log.open(Clocks { through: read.answered, around: read.answered }, u8::MAX);
        let due = read.parts.iter().map(|part| format!("{:?}", self.pool[part.query].ask(&newest.db)));
        let expected = due.collect::<Vec<_>>().join("; ");
        let kind = if older.is_some() { ViolationKind::Stale } else { ViolationKind::Impossible };
        let number = older.and_then(|older| older.missing);
        let write = number.and_then(|number| self.log.get(number)).cloned();
        let shown_by =
            number.and_then(|number| self.log.shown_by(number)).map(|read| self.reported(read.clone()));
        let tables = read.tables(&self.pool);
        let writes = self.log.between(0, read.answered, tables);
        let since = match number {
            Some(number) => {
                let later = writes.filter(|(other, _)| *other > number);
                later.take(SINCE_MAX).map(|(_, other)| other.clone()).collect()
            }
            // Where no write is the clear one, it is among the latest.
            None => {
                let all: Vec<&Transaction> = writes.map(|(_, write)| write).collect();
                all[all.len().saturating_sub(SINCE_MAX)..].iter().copied().cloned().collect()
            }
        };
        let seen = self.reported(read);
        self.report.broke(Violation { kind, seen, since, write, shown_by, expected });
    }

    fn reported(&self, read: Read) -> ReportedRead {
        let questions = read.parts.iter().map(|part| self.pool[part.query].text().to_owned()).collect();
        ReportedRead { read, questions }
    }
}
