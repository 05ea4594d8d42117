//! Whose the applied transactions are: our sessions', which have fenced their writes, or others'.
//!
//! The server acknowledges a commit to the session that made it, mostly before the stream has brought it or a moment later. A transaction
//! is *foreign* if no session of ours is told of it for a while, or if no acknowledgement can name it.

use std::collections::VecDeque;

use freshet_cache::Position;
use freshet_protocol::binlog::Gtid;

/// How long the acknowledgement of an applied transaction is awaited, in milliseconds.
const ACKNOWLEDGED_MS_MAX: u64 = 50;

/// The most transactions that are awaited at once. At this bound the first of them counts as foreign.
const AWAITED_MAX: usize = 1024;

/// Whose the transactions are, as far as that is known.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owners {
    /// The owners of all transactions up to here are known.
    pub(crate) judged: Position,
    /// The last foreign transaction, or a later position.
    pub(crate) foreign: Position,
}

/// Applied transactions in the order of the binlog, beginning with the first whose owner is not known.
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
    /// Begins at the start of a stream: all earlier transactions count as foreign.
    pub(super) fn since(start: Position) -> Self {
        Self { awaited: VecDeque::new(), owners: Owners { judged: start, foreign: start } }
    }

    /// Notes that a transaction that ends at `end` has been applied. `is_own`: a session of ours was told of it before.
    pub(super) fn applied(&mut self, gtid: Option<&Gtid>, end: Position, is_own: bool, now_ms: u64) {
        if self.awaited.len() >= AWAITED_MAX {
            self.judge_first();
        }
        let until_ms = if gtid.is_some() { now_ms + ACKNOWLEDGED_MS_MAX } else { 0 };
        self.awaited.push_back(Awaited { gtid: gtid.cloned(), end, is_own, until_ms });
    }

    /// Notes that the server has acknowledged a transaction, which was applied before, to a session of ours.
    pub(super) fn acknowledged(&mut self, gtid: &Gtid) {
        // The last one is the likeliest. A number that came twice is not relied on.
        let found = self.awaited.iter_mut().rev().find(|awaited| awaited.gtid.as_ref() == Some(gtid));
        found.into_iter().for_each(|awaited| awaited.is_own = true);
    }

    /// Returns what is known at this time. Everything up to `applied` is applied.
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
