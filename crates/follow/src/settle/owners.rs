//! Whose the applied transactions are: sessions of ours, which have fenced what they wrote, or others.
//!
//! The server acknowledges a commit to the session that made it, mostly before the stream has brought it or a moment later. A
//! transaction of which nobody of ours is told for a while is *foreign*, and so is one that no acknowledgement can name.

use std::collections::VecDeque;

use freshet_cache::Position;
use freshet_protocol::binlog::Gtid;

/// How long after it was applied a transaction's acknowledgement is awaited, milliseconds.
const ACKNOWLEDGED_MS_MAX: u64 = 50;

/// Transactions that are awaited at once. At this bound the first of them counts as foreign.
const AWAITED_MAX: usize = 1024;

/// What is known of whose the transactions are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owners {
    /// It is known of all up to here.
    pub(crate) judged: Position,
    /// The last foreign one, or a later position.
    pub(crate) foreign: Position,
}

/// Applied transactions, in the binlog's order, from the first on of which it is not known whose it is.
#[derive(Debug, Default)]
pub(super) struct Judging {
    awaited: VecDeque<Awaited>,
    owners: Owners,
}

#[derive(Debug)]
struct Awaited {
    gtid: Option<Gtid>,
    end: Position,
    is_own: bool,
    until_ms: u64,
}

impl Judging {
    /// At the start of a stream: all that comes before counts as foreign.
    pub(super) fn since(start: Position) -> Self {
        Self { awaited: VecDeque::new(), owners: Owners { judged: start, foreign: start } }
    }

    /// A transaction that ends at `end` has been applied. `is_own`: a session of ours was told of it before.
    pub(super) fn applied(&mut self, gtid: Option<&Gtid>, end: Position, is_own: bool, now_ms: u64) {
        if self.awaited.len() >= AWAITED_MAX {
            self.judge_first();
        }
        let until_ms = if gtid.is_some() { now_ms + ACKNOWLEDGED_MS_MAX } else { 0 };
        self.awaited.push_back(Awaited { gtid: gtid.cloned(), end, is_own, until_ms });
    }

    /// The server has acknowledged a transaction that was applied before to a session of ours.
    pub(super) fn acknowledged(&mut self, gtid: &Gtid) {
        // The last one is the likeliest. A number that came twice is none that is relied on.
        let found = self.awaited.iter_mut().rev().find(|awaited| awaited.gtid.as_ref() == Some(gtid));
        found.into_iter().for_each(|awaited| awaited.is_own = true);
    }

    /// Returns what is known at this time, everything up to `applied` being applied.
    pub(super) fn owners(&mut self, applied: Position, now_ms: u64) -> Owners {
        while self.awaited.front().is_some_and(|first| first.is_own || first.until_ms <= now_ms) {
            self.judge_first();
        }
        if self.awaited.is_empty() {
            self.owners.judged = self.owners.judged.max(applied);
        }
        self.owners
    }

    fn judge_first(&mut self) {
        let Some(first) = self.awaited.pop_front() else { return };
        self.owners.judged = first.end;
        if !first.is_own {
            self.owners.foreign = first.end;
        }
    }
}

#[cfg(test)]
mod tests;
