//! How much any snapshot that is opened from now on contains.
//!
//! The binlog is sent before its commits take effect in the storage engine, so an applied transaction need not be visible. A commit that
//! was acknowledged to a session of ours is visible; [`crate::settle`] knows these. For the others the server is asked, by the means that
//! it has:
//!
//! * MySQL with GTIDs: `@@global.gtid_executed` has a transaction only after the engine has committed it. Received
//!   transactions queue here until they are found in it.
//! * MariaDB: the status `binlog_snapshot_file`, `binlog_snapshot_position` moves with the engine's commit and was never seen
//!   ahead of what is visible, whereas `@@gtid_binlog_pos` is.
//! * MySQL without GTIDs has no such means. A transaction counts as visible [`QUARANTINE_MS`] after it was received. This is no proof: a
//!   semi-synchronous commit that waits longer for its acknowledgement is visible later.

use std::collections::VecDeque;

use freshet_cache::Position;
use freshet_protocol::binlog::{Gtid, GtidSet};
use freshet_upstream::Error;

use crate::timeline::Timeline;

/// How long after its arrival a transaction counts as visible when the server cannot be asked, in milliseconds.
pub(crate) const QUARANTINE_MS: u64 = 1_000;

/// The step of the quarantine, in milliseconds. With it the queue has at most 1 + 1000 / 10 entries.
const QUARANTINE_STEP_MS: u64 = 10;

/// The most received transactions that wait one by one. At this bound further ones wait together, as one set.
const QUEUE_MAX: usize = 16_384;

/// The question to ask, and the received transactions that are not known to be visible yet.
#[derive(Debug)]
pub(crate) enum Visible {
    /// MySQL with GTIDs.
    Gtids(GtidQueue),
    /// MariaDB; the position is the newest received end of a transaction.
    Snapshot(Position),
    /// MySQL without GTIDs: when received transactions leave quarantine, in milliseconds of the monotonic clock.
    Quarantine(VecDeque<(u64, Position)>),
}

impl Visible {
    /// Returns the name of the method, for status and logs.
    pub(crate) const fn by(&self) -> &'static str {
        match self {
            Self::Gtids(_) => "gtid_executed",
            Self::Snapshot(_) => "binlog_snapshot_position",
            Self::Quarantine(_) => {
                "a wait of 1000 ms after arrival; semi-synchronous commits can take longer"
            }
        }
    }

    /// Notes that a transaction that ends at `at` has been applied. `visible` is the present value.
    pub(crate) fn received(&mut self, gtid: Option<&Gtid>, at: Position, visible: Position, now_ms: u64) {
        match self {
            Self::Gtids(queue) => {
                queue.forget(visible);
                queue.push(gtid, at);
            }
            Self::Snapshot(newest) => *newest = at,
            Self::Quarantine(queue) => quarantine(queue, at, now_ms),
        }
    }

    /// Notes that the stream has made a step to `at`; `visible` is the present value. Returns what that proves visible: everything that
    /// was received up to there, because the step itself is no transaction.
    pub(crate) fn stepped(&mut self, at: Position, visible: Position) -> Option<Position> {
        let is_behind = self.is_behind(visible);
        match self {
            Self::Gtids(queue) if is_behind => queue.stepped(at),
            Self::Quarantine(queue) if is_behind => {
                queue.back_mut().into_iter().for_each(|(_, last)| *last = at)
            }
            Self::Snapshot(newest) => *newest = at,
            Self::Gtids(_) | Self::Quarantine(_) => {}
        }
        (!is_behind).then_some(at)
    }

    /// Returns the question to ask the server; `None` if time alone tells.
    pub(crate) const fn question(&self) -> Option<&'static str> {
        match self {
            Self::Gtids(_) => Some("SELECT @@GLOBAL.gtid_executed"),
            Self::Snapshot(_) => Some("SHOW STATUS LIKE 'binlog_snapshot_%'"),
            Self::Quarantine(_) => None,
        }
    }

    /// Whether a transaction was received that is not known to be visible; `visible` is the present value.
    pub(crate) fn is_behind(&self, visible: Position) -> bool {
        match self {
            Self::Gtids(queue) => queue.end().is_some_and(|end| end > visible),
            Self::Snapshot(newest) => *newest > visible,
            Self::Quarantine(queue) => !queue.is_empty(),
        }
    }

    /// Returns what the answer to [`Self::question`] proves visible.
    ///
    /// # Errors
    /// When the answer does not have the expected form.
    pub(crate) fn learn(
        &mut self,
        answer: &ProbeAnswer,
        timeline: &mut Timeline,
    ) -> Result<Option<Position>, Error> {
        match self {
            Self::Gtids(queue) => queue.found(answer),
            Self::Snapshot(_) => snapshot(answer, timeline),
            Self::Quarantine(_) => Ok(None),
        }
    }

    /// Returns what the passed time has proven visible.
    pub(crate) fn tick(&mut self, now_ms: u64) -> Option<Position> {
        let Self::Quarantine(queue) = self else { return None };
        let mut free = None;
        while let Some((_, at)) = queue.front().copied().filter(|(until_ms, _)| *until_ms <= now_ms) {
            queue.pop_front();
            free = Some(at);
        }
        free
    }
}

/// The rows of an answer.
pub(crate) type ProbeAnswer = [Vec<Option<Vec<u8>>>];

fn quarantine(queue: &mut VecDeque<(u64, Position)>, at: Position, now_ms: u64) {
    // Rounded up to the next step, so that no entry is let out early.
    let until_ms = (now_ms + QUARANTINE_MS).next_multiple_of(QUARANTINE_STEP_MS);
    match queue.back_mut() {
        Some((last_ms, last)) if *last_ms == until_ms => *last = at,
        _ => queue.push_back((until_ms, at)),
    }
}

/// Received transactions of MySQL, in the order of the binlog.
#[derive(Debug, Default)]
pub(crate) struct GtidQueue {
    single: VecDeque<(Gtid, Position)>,
    together: Option<(GtidSet, Position)>,
    /// The last answer, as text and as a set: while nothing is committed, it stays the same.
    executed: (Vec<u8>, GtidSet),
}

impl GtidQueue {
    /// Returns the end of the last of them.
    fn end(&self) -> Option<Position> {
        let single = self.single.back().map(|(_, end)| *end);
        self.together.as_ref().map(|(_, end)| *end).or(single)
    }

    /// Removes the transactions that are known to be visible.
    fn forget(&mut self, visible: Position) {
        while self.single.front().is_some_and(|(_, end)| *end <= visible) {
            self.single.pop_front();
        }
        self.together.take_if(|(_, end)| *end <= visible);
    }

    fn push(&mut self, gtid: Option<&Gtid>, at: Position) {
        let Some(gtid) = gtid else { return };
        if self.together.is_none() && self.single.len() < QUEUE_MAX {
            self.single.push_back((gtid.clone(), at));
            return;
        }
        let (set, end) = self.together.get_or_insert_with(|| (GtidSet::default(), at));
        set.add(gtid);
        *end = at;
    }

    /// Moves the end of the last received transaction to the step.
    fn stepped(&mut self, at: Position) {
        let last = match &mut self.together {
            Some((_, end)) => Some(end),
            None => self.single.back_mut().map(|(_, end)| end),
        };
        last.into_iter().for_each(|end| *end = at);
    }

    /// Returns the position up to which all transactions are in the answer: commits may take effect in another order.
    fn found(&mut self, answer: &ProbeAnswer) -> Result<Option<Position>, Error> {
        let text = answer.first().and_then(|row| row.first()).and_then(Option::as_deref);
        let unexpected = || Error::Unexpected { question: "gtid_executed" };
        let text = text.ok_or_else(unexpected)?;
        if self.executed.0 != text {
            self.executed = (text.to_vec(), GtidSet::parse(text).map_err(|_| unexpected())?);
        }
        let executed = &self.executed.1;
        let mut visible = None;
        while let Some((gtid, at)) = self.single.front() {
            if !executed.contains(gtid) {
                break;
            }
            visible = Some(*at);
            self.single.pop_front();
        }
        if self.single.is_empty()
            && let Some((_, at)) = self.together.take_if(|(set, _)| executed.is_superset(set))
        {
            visible = Some(at);
        }
        Ok(visible)
    }
}

/// Returns the position in an answer: the file and the offset are two rows of name and value.
fn snapshot(answer: &ProbeAnswer, timeline: &mut Timeline) -> Result<Option<Position>, Error> {
    let coordinate =
        snapshot_coordinate(answer).ok_or(Error::Unexpected { question: "binlog_snapshot_position" })?;
    timeline
        .locate(&coordinate.0, coordinate.1)
        .map_err(|_| Error::Unexpected { question: "binlog_snapshot_file" })
}

/// Returns the file and the offset of `SHOW STATUS LIKE 'binlog_snapshot_%'`.
pub(crate) fn snapshot_coordinate(answer: &ProbeAnswer) -> Option<(Vec<u8>, u64)> {
    let value = |name: &[u8]| {
        let row = answer.iter().find(|row| {
            row.first().and_then(Option::as_deref).is_some_and(|found| found.eq_ignore_ascii_case(name))
        })?;
        row.get(1)?.clone()
    };
    let file = value(b"Binlog_snapshot_file").filter(|file| !file.is_empty())?;
    let offset = std::str::from_utf8(&value(b"Binlog_snapshot_position")?).ok()?.parse().ok()?;
    Some((file, offset))
}

#[cfg(test)]
mod tests;
