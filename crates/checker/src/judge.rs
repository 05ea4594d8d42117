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
pub use ideal::{Comparison, Cost, Ideal, Tally};
pub use log::Log;
pub use report::{Kind, Report, Violation};
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
    /// The tables that it changed, as bits.
    #[must_use]
    pub fn tables(&self) -> u8 {
        self.changes.iter().fold(0, |tables, change| tables | change.tables())
    }
}

/// One or several SELECTs that saw one snapshot.
#[derive(Clone, Debug)]
pub struct Read {
    /// Whose.
    pub session: usize,
    /// How it went.
    pub path: Path,
    /// Before the first SELECT was sent.
    pub asked: Nanos,
    /// After all were answered: the snapshot was taken before this.
    pub answered: Nanos,
    /// When the session's last own write was acknowledged; 0: it never wrote.
    pub own_known: Nanos,
    /// What the session's own open transaction had changed.
    pub own: Vec<Change>,
    /// The questions, by their place in the pool, and the answers.
    pub parts: Vec<(usize, Observed)>,
    /// Whether the statements were prepared.
    pub is_prepared: bool,
    /// Whether they were asked in a transaction.
    pub in_transaction: bool,
    /// Whether the answer was from memory, where that was watched.
    pub is_hit: Option<bool>,
}

impl Read {
    /// The tables that it rests on, as bits.
    fn tables(&self, pool: &[Query]) -> u8 {
        self.parts.iter().fold(0, |tables, (query, _)| tables | pool[*query].tables())
    }
}

#[cfg(test)]
mod tests;
