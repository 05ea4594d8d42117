//! The transactions of late, and one state of all before.

use std::collections::{HashMap, VecDeque};

use super::{Nanos, Path, Read, Transaction};
use crate::model::Db;

/// A state is remembered every so many transactions, so that none has to be made from the oldest.
const CHECKPOINT_EVERY: u64 = 64;

/// Moments, one for each way a transaction may have gone.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Of those through Freshet.
    pub through: Nanos,
    /// Of those around it.
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
    /// The number of the first transaction that is not in it.
    next: u64,
    /// All in it were known by then.
    known: Nanos,
    db: Db,
}

/// What happened, in the order in which it was sent; of two that touch one row the earlier was known before the later
/// was sent, so this is each row's own order.
pub struct Log {
    transactions: VecDeque<Transaction>,
    /// The number of the first in the queue.
    first: u64,
    base: Db,
    /// Everything in the base was known by then.
    base_known: Nanos,
    checkpoints: VecDeque<Checkpoint>,
    /// The reads that showed transactions before these were acknowledged, by the transactions' numbers.
    shown: HashMap<u64, Read>,
}

/// What can be said of a transaction at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has happened.
    Certain,
    /// It may have happened.
    Open,
    /// It has not happened by the clock of its way, although others that were sent later have by theirs.
    NotYet,
}

/// A state of what is certain, and what may have happened besides, in order.
#[derive(Debug)]
pub struct Open {
    /// After all that is certain before the first that is not.
    pub db: Db,
    /// The numbers of what follows.
    pub rest: Vec<(u64, Standing)>,
    /// How many are open.
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

    /// Adds what was committed, in the order in which it was sent.
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

    /// Folds what was known before a moment into the base.
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

    /// Nothing can be said of moments up to this one.
    #[must_use]
    pub const fn begins(&self) -> Nanos {
        self.base_known
    }

    /// Returns a transaction by its number.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&Transaction> {
        self.transactions.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Lowers the moment at which a transaction was known to the end of a read that shows it.
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

    /// Returns what may have been seen at a moment, of these tables.
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

    /// Returns the numbers of what concerns these tables, may not have been known at one moment, and was sent by another.
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
