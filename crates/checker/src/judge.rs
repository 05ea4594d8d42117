//! The judge: decides for each read whether a state that the level allows explains its answer.
//!
//! # The question
//!
//! Each transaction `T` was sent at `sent(T)` and is *known* at `known(T)`. That is when its writer got the OK, or when a read was
//! answered that only `T` explains, whichever came first. The transaction takes effect at one moment in between. A read that was asked at
//! `a` and answered at `b` saw the database at one moment `t`. So its answer is right iff there is a `t` in `[a, b]` and a set `S` with
//! these properties:
//!
//! * every `T` with `known(T) < t` in `S`, no `T` with `sent(T) > t` in `S`, the others either way, and
//! * the model, after `S`, gives the answer.
//!
//! This is strict serializability of every single read, whatever its shape. Stale, torn, dirty and invented answers all fail alike, and a
//! missing row is judged like a row that is there. Only the transactions under way at `t` are open, at most as many as there are writers,
//! so all sets are tried. It is enough to try `t = a` and the moments in `(a, b]` at which a transaction was sent: between two of these
//! moments the set of allowed states only shrinks.
//!
//! # Transactions
//!
//! The reads of a transaction at REPEATABLE READ are one read of several parts. *One* `t` and *one* `S` have to give all answers, each
//! with the changes that the transaction itself had made by then on top of `S`. The first part counts as the question. If a statement
//! opens the snapshot at once, that statement counts as the question, and it also bounds `t`. Otherwise `t` may lie anywhere up to the
//! last answer: no promise says that the first read and not a later one opens the snapshot, as long as all answers are true at it. At
//! READ COMMITTED, and for locking reads, each part is a read of its own.
//!
//! # Levels
//!
//! A weaker level lets `t` lie before `a`: see [`Level`]. Writers through Freshet and around it have a clock each, because of writers
//! around Freshet `strict` promises only that their writes are seen within a lag. A late write can hide other writes, and these may then
//! be missing with it: see `hidden`.
//!
//! # Hits
//!
//! A cache that is right may still hit rarely: `ideal` compares its hits with those of an ideal cache.
//!
//! # Memory
//!
//! Reads are judged in the order of their answers, as soon as the outcome of every transaction that was sent before the answer is known.
//! Transactions older than [`KEPT_MS`] are folded into one state.

mod explain;
mod hidden;
mod ideal;
mod log;
mod report;
mod stream;

pub use explain::{Explained, Explanation};
pub use ideal::{Comparison, Cost, Ideal, InTransactions, Tally};
pub use log::Log;
pub use report::{Report, Violation, ViolationKind};
pub use stream::{Defining, Event, Judge, Recorder, Sent};

use std::sync::Arc;

use crate::model::Change;
use crate::query::{Observed, Query};
use crate::told::Told;

/// For so long after they are known, transactions are kept apart, in milliseconds. Reads that took longer are not decided.
pub const KEPT_MS: u64 = 4_000;
/// The most transactions under way at once whose combinations are all tried. With more, a read is not decided.
pub const OPEN_MAX: usize = 11;

/// Nanoseconds since the history began.
pub type Nanos = u64;

/// The way of a statement to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Through Freshet.
    Through,
    /// Directly.
    Around,
}

/// The promise to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Linearizable over the clients that go through Freshet. Writes of other clients are seen within the lag.
    Strict,
    /// Linearizable over all clients.
    Semisync,
    /// Each session reads its own writes and never goes back. Writes of other sessions are seen within the lag.
    Session,
    /// Every write is seen within the lag.
    Eventual,
}

/// A transaction with a known outcome. Transactions that were rolled back are not recorded.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The statements, for the report.
    pub text: Arc<str>,
    /// The way of its statements.
    pub path: Path,
    /// The moment before its commit was sent.
    pub sent: Nanos,
    /// The moment after its commit was acknowledged. It becomes earlier if a read shows the transaction earlier.
    pub known: Nanos,
    /// The changes that it made.
    pub changes: Vec<Change>,
    /// What the texts of its statements tell of the changes.
    pub told: Vec<Told>,
}

/// A definition that was under way, even if it changed nothing.
#[derive(Clone, Copy, Debug)]
pub struct Defined {
    /// The tables and the definitions of views that it concerns, as bits.
    pub tables: u8,
    /// The moment before it was sent.
    pub sent: Nanos,
    /// The moment after it was acknowledged or refused.
    pub known: Nanos,
}

impl Transaction {
    /// Returns the tables that the transaction changed, as bits.
    #[must_use]
    pub fn tables(&self) -> u8 {
        self.changes.iter().fold(0, |tables, change| tables | change.tables())
    }
}

/// A level of isolation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// One snapshot for all reads.
    #[default]
    RepeatableRead,
    /// One snapshot for each read.
    ReadCommitted,
}

/// One SELECT and its answer.
#[derive(Clone, Debug)]
pub struct Part {
    /// The question, by its place in the pool.
    pub query: usize,
    /// The answer.
    pub observed: Observed,
    /// The changes that the session's own open transaction had made by then.
    pub own: Arc<[Change]>,
    /// The moment before it was sent.
    pub asked: Nanos,
    /// The moment after it was answered.
    pub answered: Nanos,
    /// No client had sent its text before.
    pub is_new: bool,
    /// Its statement was prepared.
    pub is_prepared: bool,
    /// Whether the answer came from memory, if that was watched within a transaction.
    pub is_hit: Option<bool>,
}

/// One or several SELECTs that saw one snapshot.
#[derive(Clone, Debug)]
pub struct Read {
    /// The session that asked.
    pub session: usize,
    /// The way of its statements.
    pub path: Path,
    /// The moment before the first SELECT was sent, or the statement that opens the snapshot.
    pub asked: Nanos,
    /// The moment after all parts were answered.
    pub answered: Nanos,
    /// The snapshot was taken before this moment.
    pub until: Nanos,
    /// When the session's last own write was acknowledged; 0 if it never wrote.
    pub own_known: Nanos,
    /// The questions and the answers.
    pub parts: Vec<Part>,
    /// Whether the statements were prepared.
    pub is_prepared: bool,
    /// Whether they were asked in a transaction.
    pub in_transaction: bool,
    /// The other statements of the transaction's client, for the report.
    pub said: Arc<str>,
    /// Whether the reads of its transaction that are answered from memory are counted.
    pub is_counted: bool,
    /// The level of isolation.
    pub isolation: Isolation,
    /// The read locks its rows: it saw the newest state and not the transaction's snapshot.
    pub is_locking: bool,
    /// Whether the answer came from memory, if that was watched.
    pub is_hit: Option<bool>,
}

impl Read {
    /// Whether this is a read of a transaction in which each read has a snapshot of its own.
    const fn is_at_read_committed(&self) -> bool {
        self.in_transaction && matches!(self.isolation, Isolation::ReadCommitted)
    }

    /// Returns the tables that the read depends on, as bits.
    fn tables(&self, pool: &[Query]) -> u8 {
        self.parts.iter().fold(0, |tables, part| tables | pool[part.query].tables())
    }
}

#[cfg(test)]
mod tests;
