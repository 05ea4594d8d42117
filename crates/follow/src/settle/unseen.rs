//! Transactions that are applied and not known to be visible, and what acknowledgements tell of them.
//!
//! A server acknowledges a commit after its storage engine has made it visible. So once a client has its OK, every later snapshot
//! contains that transaction. Commits may take effect in another order than that of the binlog. So a position is known to be visible when
//! *each* transaction up to it is: by its acknowledgement, or because the server was asked. Where all writes go through us, nobody has to
//! ask.

use std::collections::VecDeque;

use freshet_cache::Position;
use freshet_protocol::binlog::Gtid;

/// The most transactions that wait one by one, few enough to look through for each acknowledgement. At this bound the last of them waits
/// until the server is asked, together with all that follow.
const UNSEEN_MAX: usize = 256;

/// Applied transactions that are not known to be visible, in the order of the binlog.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    waiting: VecDeque<UnseenTransaction>,
}

#[derive(Debug)]
struct UnseenTransaction {
    /// `None`: no acknowledgement will name it.
    gtid: Option<Gtid>,
    end: Position,
    is_acknowledged: bool,
}

impl Unseen {
    /// Begins at the start of a stream: nothing is known of earlier transactions.
    pub(super) fn since(start: Position) -> Self {
        Self {
            waiting: VecDeque::from([UnseenTransaction { gtid: None, end: start, is_acknowledged: false }]),
        }
    }

    /// Notes that a transaction that ends at `end` has been applied.
    pub(super) fn applied(&mut self, gtid: Option<&Gtid>, end: Position, is_acknowledged: bool) {
        if self.waiting.len() < UNSEEN_MAX {
            self.waiting.push_back(UnseenTransaction { gtid: gtid.cloned(), end, is_acknowledged });
        } else if let Some(last) = self.waiting.back_mut() {
            *last = UnseenTransaction { gtid: None, end, is_acknowledged: false };
        }
    }

    /// Notes that the server has acknowledged a transaction that was applied before.
    pub(super) fn acknowledged(&mut self, gtid: &Gtid) {
        // The last one is the likeliest. A number that came twice is not relied on.
        let found = self.waiting.iter_mut().rev().find(|waiting| waiting.gtid.as_ref() == Some(gtid));
        found.into_iter().for_each(|waiting| waiting.is_acknowledged = true);
    }

    /// Notes that everything up to `at` is visible.
    pub(super) fn seen(&mut self, at: Position) {
        while self.waiting.front().is_some_and(|first| first.end <= at) {
            self.waiting.pop_front();
        }
    }

    /// Returns the position up to which acknowledgements prove everything visible, if that is more than was known.
    pub(super) fn visible(&mut self) -> Option<Position> {
        let mut visible = None;
        while let Some(first) = self.waiting.front().filter(|first| first.is_acknowledged) {
            visible = Some(first.end);
            self.waiting.pop_front();
        }
        visible
    }
}

#[cfg(test)]
mod tests;
