//! Recording what clients do, and judging it while it goes on.

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

/// Events that wait for the judge; at this bound the clients wait for it.
const EVENTS_MAX: usize = 1 << 16;
/// Reads that wait for the outcome of what was sent before them, beyond which no client should begin anything.
const WAITING_MAX: usize = 1 << 17;
/// The judge looks at the clock at least this often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const NANOS_OF_MS: u64 = 1_000_000;

/// What a client tells the judge.
#[derive(Debug)]
pub enum Event {
    /// A transaction was committed.
    Committed(Transaction),
    /// A definition is known to be done, or refused.
    Defined(Defined),
    /// A read was answered.
    Read(Read),
    /// So many reads of a watched transaction were answered from memory, of so many.
    Hits(Isolation, u64, u64),
}

/// What is under way: the numbers that were given out, and when each was sent.
#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    sent: BTreeMap<u64, Nanos>,
}

/// Where clients record what they do. Cheap to clone.
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
    /// Returns when.
    #[must_use]
    pub const fn at(&self) -> Nanos {
        self.transaction.sent
    }

    /// Returns the statements.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.transaction.text
    }

    /// Returns what it does.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.transaction.changes
    }

    /// Says what it has done, where that is not what it was to do.
    pub fn adopt(&mut self, changes: Vec<Change>) {
        self.transaction.changes = changes;
    }
}

impl Recorder {
    /// Now.
    #[must_use]
    pub fn now(&self) -> Nanos {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// To be called before the first byte of a commit is sent.
    pub fn sending(&self, text: &str, path: Path, changes: Vec<Change>, told: Vec<told::Told>) -> Sent {
        let (number, sent) = self.begin();
        Sent {
            number,
            transaction: Transaction { text: text.into(), path, sent, known: Nanos::MAX, changes, told },
        }
    }

    /// To be called after its outcome is known; gives the moment.
    pub fn done(&self, sent: Sent, is_committed: bool) -> Nanos {
        let known = self.now();
        if is_committed && !sent.transaction.changes.is_empty() {
            let _ = self.events.send(Event::Committed(Transaction { known, ..sent.transaction }));
        }
        self.end(sent.number);
        known
    }

    /// To be called in place of [`Self::done`] when the outcome cannot be found out: the server may carry it out at any time to
    /// come. It stays under way, so that nothing that ended after it was sent is judged any more.
    pub fn given_up(&self, sent: Sent) {
        drop(sent);
    }

    /// To be called before the first byte of a definition of these is sent; to be dropped when it is acknowledged or refused.
    #[must_use]
    pub fn defining(&self, tables: u8) -> Defining {
        let (number, sent) = self.begin();
        Defining { recorder: self.clone(), number, tables, sent }
    }

    /// Notes that something is under way.
    fn begin(&self) -> (u64, Nanos) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that whoever finds nothing under way knows that all to come is sent later.
        let sent = self.now();
        let number = under_way.next;
        under_way.next += 1;
        under_way.sent.insert(number, sent);
        (number, sent)
    }

    /// Notes that it is over. After it was told, so that what is not under way any more has been told.
    fn end(&self, number: u64) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).sent.remove(&number);
    }

    /// To be called after a read was answered.
    pub fn read(&self, read: Read) {
        let _ = self.events.send(Event::Read(read));
    }

    /// To be called after a watched transaction is over: so many of its reads were answered from memory.
    pub fn hits(&self, isolation: Isolation, hits: u64, reads: u64) {
        let _ = self.events.send(Event::Hits(isolation, hits, reads));
    }

    /// Whether so much is to be judged that nothing should be begun: an outcome that takes long to be found out keeps the
    /// judge waiting, and what is under way must be able to end.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > WAITING_MAX
    }

    /// Returns the moment before which everything that was sent has been told.
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
    /// Transactions that were told of and are not in the log yet, by when they were sent.
    coming: Vec<Transaction>,
    reads: BinaryHeap<Reverse<Waiting>>,
    /// The moment of the state that each session was shown last.
    floors: HashMap<usize, Nanos>,
    ideal: Ideal,
    report: Report,
}

impl Judge {
    /// Returns a judge of reads from this pool, over a database that begins in this state, and where its clients record. `lag` is
    /// how late the level lets answers be, in milliseconds.
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

    /// Judges until `is_over` says that no client works any more. `ends` is set with the first broken promise.
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
            // Before the events are taken: what is settled by then is among them.
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

    /// Takes what a client tells.
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

    /// Judges all reads that ended before a moment, before which everything has been told.
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

    /// Returns what was found.
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
        // What a locking read shows is newer than the snapshot that the transaction goes on with.
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
        let since = number.map(|number| {
            let later = self
                .log
                .between(0, read.answered, read.tables(&self.pool))
                .filter(|(other, _)| *other > number);
            later.take(SINCE_MAX).map(|(_, other)| other.clone()).collect()
        });
        let seen = self.reported(read);
        let since = since.unwrap_or_default();
        self.report.broke(Violation { kind, seen, since, write, shown_by, expected });
    }

    fn reported(&self, read: Read) -> ReportedRead {
        let questions = read.parts.iter().map(|part| self.pool[part.query].text().to_owned()).collect();
        ReportedRead { read, questions }
    }
}
