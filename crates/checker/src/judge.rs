//! The judge: decides for each read whether a state that the level allows explains its answer.
//!
//! # The question
//!
//! Each transaction `T` was sent at `sent(T)` and is *known* at `known(T)`: when its writer got the OK, or when a read that
//! can only be explained by it was answered, whichever came first. It takes effect at one moment in between. A read that
//! was asked at `a` and answered at `b` saw the database at one moment `t`. So its answer is right iff there is a
//! `t` in `[a, b]` and a set `S` with
//!
//! * every `T` with `known(T) < t` in `S`, no `T` with `sent(T) > t` in `S`, the others either way, and
//! * the model, after `S`, gives the answer.
//!
//! That is strict serializability of every single read, whatever its shape: stale, torn, dirty and invented answers all fail
//! alike, and absence is judged as presence is. Only the transactions under way at `t` are open, at most as many as
//! there are writers, so all sets are tried. It suffices to try `t = a` and the moments in `(a, b]` at which something
//! was sent: between two of these the set of what may be seen only shrinks.
//!
//! # Transactions
//!
//! What a transaction at REPEATABLE READ reads is one read of several parts: *one* `t` and *one* `S` have to give all answers, each
//! with what the transaction itself had changed by then on top of `S`. The first part counts as the question, or the statement
//! that opens a snapshot at once, which also bounds `t`. Otherwise `t` may lie anywhere up to the last answer: nobody
//! promises that the snapshot is opened by the first read and not by a later one, as long as all answers are true at it. At
//! READ COMMITTED, and where a read locks, each is a read of its own.
//!
//! # Levels
//!
//! A weaker level lets `t` lie before `a`: see [`Level`]. Writers through Freshet and around it have a clock each, since
//! `strict` promises nothing in time of those who go around, but that they are seen within a lag. What such a late write
//! hides of others may be lacking with it: `hidden` says when.
//!
//! # Hits
//!
//! A cache that is right may still be a poor one: `ideal` compares its hits with those of an ideal one.
//!
//! # Memory
//!
//! Reads are judged in the order of their answers, as soon as every transaction that was sent before the answer has its
//! outcome. What lies [`KEPT_MS`] back is folded into one state.

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

/// Transactions are told apart for so long after they are known; reads that took longer are not decided.
pub const KEPT_MS: u64 = 4_000;
/// Transactions under way at once that are tried in all combinations; beyond, a read is not decided.
pub const OPEN_MAX: usize = 11;

/// Nanoseconds since the history began.
pub type Nanos = u64;

/// How a statement went to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Through Freshet.
    Through,
    /// Directly.
    Around,
}

/// What is promised to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Linearizable over those who go through Freshet; others are seen within the lag.
    Strict,
    /// Linearizable over all.
    Semisync,
    /// Each session reads its own writes and never goes back; others are seen within the lag.
    Session,
    /// Everything is seen within the lag.
    Eventual,
}

/// A transaction, once its outcome is known; those that were rolled back are not told of at all.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The statements, for the report.
    pub text: Arc<str>,
    /// How it went.
    pub path: Path,
    /// Before its commit was sent.
    pub sent: Nanos,
    /// After its commit was acknowledged; falls when a read shows it earlier.
    pub known: Nanos,
    /// What it did.
    pub changes: Vec<Change>,
    /// What the texts of its statements tell of that.
    pub told: Vec<Told>,
}

/// A definition that was under way, whether or not it changed anything.
#[derive(Clone, Copy, Debug)]
pub struct Defined {
    /// What it is of, as bits: tables, and the definitions of views.
    pub tables: u8,
    /// Before it was sent.
    pub sent: Nanos,
    /// After it was acknowledged, or refused.
    pub known: Nanos,
}

impl Transaction {
    /// Returns the tables that it changed, as bits.
    #[must_use]
    pub fn tables(&self) -> u8 {
        self.changes.iter().fold(0, |tables, change| tables | change.tables())
    }
}

/// A level of isolation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// One snapshot for all.
    #[default]
    RepeatableRead,
    /// One for each.
    ReadCommitted,
}

/// One SELECT, and what it was answered.
#[derive(Clone, Debug)]
pub struct Part {
    /// The question, by its place in the pool.
    pub query: usize,
    /// The answer.
    pub observed: Observed,
    /// What the session's own open transaction had changed by then.
    pub own: Arc<[Change]>,
    /// Before it was sent.
    pub asked: Nanos,
    /// After it was answered.
    pub answered: Nanos,
    /// It had a text that nobody had before.
    pub is_new: bool,
    /// Its statement was prepared.
    pub is_prepared: bool,
    /// Whether the answer was from memory, where that was watched within a transaction.
    pub is_hit: Option<bool>,
}

/// One or several SELECTs that saw one snapshot.
#[derive(Clone, Debug)]
pub struct Read {
    /// Whose.
    pub session: usize,
    /// How it went.
    pub path: Path,
    /// Before the first SELECT was sent, or what opens the snapshot.
    pub asked: Nanos,
    /// After all were answered.
    pub answered: Nanos,
    /// The snapshot was taken before this.
    pub until: Nanos,
    /// When the session's last own write was acknowledged; 0: it never wrote.
    pub own_known: Nanos,
    /// The questions and the answers.
    pub parts: Vec<Part>,
    /// Whether the statements were prepared.
    pub is_prepared: bool,
    /// Whether they were asked in a transaction.
    pub in_transaction: bool,
    /// What else the transaction's client said, for the report.
    pub said: Arc<str>,
    /// Whether it is found out how many of its transaction's reads were answered from memory.
    pub is_counted: bool,
    /// At which level of isolation.
    pub isolation: Isolation,
    /// It locks what it reads: it saw the newest state and not the transaction's snapshot.
    pub is_locking: bool,
    /// Whether the answer was from memory, where that was watched.
    pub is_hit: Option<bool>,
}

impl Read {
    /// Whether it is a read of a transaction in which each has a snapshot of its own.
    const fn is_at_read_committed(&self) -> bool {
        self.in_transaction && matches!(self.isolation, Isolation::ReadCommitted)
    }

    /// Returns the tables that it rests on, as bits.
    fn tables(&self, pool: &[Query]) -> u8 {
        self.parts.iter().fold(0, |tables, part| tables | pool[part.query].tables())
    }
}

#[cfg(test)]
mod tests;
