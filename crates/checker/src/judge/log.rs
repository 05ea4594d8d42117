//! The latest transactions, and one state that contains all earlier ones.

use std::collections::{HashMap, VecDeque};

use super::{Nanos, Path, Read, Transaction};
use crate::model::Db;

/// A state is stored after every so many transactions, so that no state has to be computed from the oldest one.
const CHECKPOINT_EVERY: u64 = 64;

/// Two moments, one for each way of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// For transactions through Freshet.
    pub through: Nanos,
    /// For transactions around Freshet.
    pub around: Nanos,
}

impl Clocks {
    /// Returns the moment that counts for a transaction.
    #[must_use]
    pub const fn of(&self, path: Path) -> Nanos {
        match path {
            Path::Through => self.through,
            Path::Around => self.around,
        }
    }
}

struct Checkpoint {
    /// The number of the first transaction that is not in the state.
    next: u64,
    /// All transactions in the state were known by this moment.
    known: Nanos,
    db: Db,
}

/// The transactions in the order in which they were sent. If two of them touch one row, the earlier was known before the later was sent.
/// So this is each row's own order.
pub struct Log {
    transactions: VecDeque<Transaction>,
    /// The number of the first transaction in the queue.
    first: u64,
    base: Db,
    /// All transactions in the base were known by this moment.
    base_known: Nanos,
    checkpoints: VecDeque<Checkpoint>,
    /// The reads that showed a transaction before it was acknowledged, by the transaction's number.
    shown: HashMap<u64, Read>,
}

/// The standing of a transaction at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has happened.
    Certain,
    /// It may have happened.
    Open,
    /// It has not happened by the clock of its way, although later transactions have happened by the clock of theirs.
    NotYet,
}

/// A state of the certain transactions, and the others that may have happened, in order.
#[derive(Debug)]
pub struct Open {
    /// The state after all certain transactions before the first one that is not certain.
    pub db: Db,
    /// The numbers of the transactions that follow.
    pub rest: Vec<(u64, Standing)>,
    /// The number of open transactions.
    pub count: usize,
}

impl Log {
    /// Begins with a state.
    #[must_use]
    pub fn new(base: Db) -> Self {
        Self {
            transactions: VecDeque::new(),
            first: 0,
            base,
            base_known: 0,
            checkpoints: VecDeque::new(),
            shown: HashMap::new(),
        }
    }

    /// Adds committed transactions, in the order in which they were sent.
    pub fn add(&mut self, transaction: Transaction) {
        self.transactions.push_back(transaction);
        let next = self.first + self.transactions.len() as u64;
        if next.is_multiple_of(CHECKPOINT_EVERY) {
            let (from, mut known, mut db) = match self.checkpoints.back() {
                Some(last) => (last.next, last.known, last.db),
                None => (self.first, self.base_known, self.base),
            };
            for number in from..next {
                let Some(transaction) = self.get(number) else { continue };
                known = known.max(transaction.known);
                transaction.changes.iter().for_each(|change| db.apply(change));
            }
            self.checkpoints.push_back(Checkpoint { next, known, db });
        }
    }

    /// Folds the transactions that were known before a moment into the base.
    pub fn forget(&mut self, before: Nanos) {
        while self.transactions.front().is_some_and(|oldest| oldest.known < before) {
            let Some(oldest) = self.transactions.pop_front() else { break };
            oldest.changes.iter().for_each(|change| self.base.apply(change));
            self.base_known = self.base_known.max(oldest.known);
            self.shown.remove(&self.first);
            self.first += 1;
        }
        while self.checkpoints.front().is_some_and(|point| point.next <= self.first) {
            self.checkpoints.pop_front();
        }
    }

    /// Returns the moment up to which no state can be told.
    #[must_use]
    pub const fn begins(&self) -> Nanos {
        self.base_known
    }

    /// Returns a transaction by its number.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&Transaction> {
        self.transactions.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Notes that a read shows a transaction: it was known by the end of this read.
    pub fn shown(&mut self, number: u64, by: &Read) {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let transaction = place.and_then(|place| self.transactions.get_mut(place));
        if let Some(transaction) = transaction.filter(|transaction| transaction.known > by.answered) {
            transaction.known = by.answered;
            self.shown.insert(number, by.clone());
        }
    }

    /// Returns the read that showed a transaction before it was acknowledged, if one did.
    #[must_use]
    pub fn shown_by(&self, number: u64) -> Option<&Read> {
        self.shown.get(&number)
    }

    /// Returns the states of these tables that may have been seen at a moment.
    #[must_use]
    pub fn open(&self, clocks: Clocks, tables: u8) -> Open {
        let least = clocks.through.min(clocks.around);
        let point = self.checkpoints.iter().rev().find(|point| point.known < least);
        let (from, db) = point.map_or((self.first, self.base), |point| (point.next, point.db));
        let mut open = Open { db, rest: Vec::new(), count: 0 };
        for number in from..self.first + self.transactions.len() as u64 {
            let Some(transaction) = self.get(number) else { break };
            let clock = clocks.of(transaction.path);
            if transaction.sent > clocks.through.max(clocks.around) {
                break;
            }
            if transaction.tables() & tables == 0 {
                continue;
            }
            let standing = match clock {
                clock if transaction.sent > clock => Standing::NotYet,
                clock if transaction.known >= clock => Standing::Open,
                _ => Standing::Certain,
            };
            if open.rest.is_empty() && standing == Standing::Certain {
                transaction.changes.iter().for_each(|change| open.db.apply(change));
            } else {
                open.rest.push((number, standing));
                open.count += usize::from(standing == Standing::Open);
            }
        }
        open
    }

    /// Returns the numbers of the transactions that concern these tables, may not have been known at one moment, and were sent by
    /// another.
    pub fn between(
        &self,
        known: Nanos,
        sent: Nanos,
        tables: u8,
    ) -> impl Iterator<Item = (u64, &Transaction)> {
        let numbered = (self.first..).zip(&self.transactions);
        numbered
            .take_while(move |(_, transaction)| transaction.sent <= sent)
            .filter(move |(_, transaction)| transaction.known >= known && transaction.tables() & tables != 0)
    }
}
