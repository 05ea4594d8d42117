//! When the server opens a transaction's read view, by the outcome of the session's earlier transactions.
//!
//! A result that is served before the read view is open must be proven to be true in it. The longer that takes, the more has changed. A
//! transaction that needs no server needs no read view either, so at first the read view opens late. A transaction usually resembles the
//! one before it. If the last one has needed the server, the next one's read view opens before its first answer from memory, which waits
//! for one exchange. Then only other sessions' writes can come between. If that has happened, the first read is the server's.
//!
//! With lanes, a read that memory does not answer needs no read view of the transaction's own. So if a transaction that only reads has
//! needed one anyway, only a few of the next ones open theirs early, and then the late opening is tried again.

/// For how many transactions a conflict is remembered: at first, and at most.
const CAREFUL_MIN: u32 = 4;
const CAREFUL_MAX: u32 = 256;

/// With lanes, at most this many transactions in a row open their read view early because one has needed it.
const DESPITE_LANES_MAX: u32 = 16;

/// With lanes, this many transactions in a row must not have written before the next one counts as one that only reads.
const SINCE_WRITE_MIN: u32 = 4;

/// When the server opens the read view of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Opens {
    /// When a statement needs the server, or after some time.
    #[default]
    Late,
    /// Before the first answer from memory.
    Before,
    /// With the first read, which is the server's.
    First,
}

/// What a transaction has needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Needs {
    /// The transaction needed no server.
    #[default]
    Nothing,
    /// The transaction's read view.
    View,
    /// The server has carried out something in the transaction that was no read by its read view.
    Writes,
}

/// The outcome of a session's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Caution {
    /// What the last transaction has needed.
    last: Needs,
    /// How many transactions in a row have not written.
    since_write: u32,
    /// Lanes may carry the reads that memory does not answer.
    has_lanes: bool,
    /// How many of the next transactions open their read view early, although there are lanes.
    despite_lanes: u32,
    /// The next value of `despite_lanes`, set when a transaction that opened late needs its read view.
    next_despite_lanes: u32,
    /// How many reads the last transaction had.
    reads: u32,
    /// How many of the next transactions open their read view at `at_least`, or earlier.
    left: u32,
    at_least: Opens,
    /// The value of `left` after the next conflict.
    next: u32,
}

impl Caution {
    /// Begins a transaction. Returns when its read view opens.
    pub(super) fn begins(&mut self) -> Opens {
        let opens = self.next_opens();
        self.left = self.left.saturating_sub(1);
        self.despite_lanes = self.despite_lanes.saturating_sub(1);
        opens
    }

    /// Returns when the next transaction's read view opens.
    pub(super) fn next_opens(&self) -> Opens {
        let is_before = match self.last {
            Needs::Nothing => self.has_lanes && self.despite_lanes > 0,
            Needs::View => !self.has_lanes || self.despite_lanes > 0 || self.since_write < SINCE_WRITE_MIN,
            // A read after a write must be proven to be of the same moment as the reads before it.
            Needs::Writes => true,
        };
        let usual = if is_before { Opens::Before } else { Opens::Late };
        if self.left > 0 { usual.max(self.at_least) } else { usual }
    }

    /// Ends a transaction with these needs and this many reads, whose read view was opened in this way, if it was.
    pub(super) fn ends(&mut self, needs: Needs, opened: Opens, reads: u32) {
        self.last = needs;
        self.since_write = if needs == Needs::Writes { 0 } else { self.since_write.saturating_add(1) };
        match needs {
            Needs::Nothing => {
                self.next_despite_lanes /= 2;
                self.note_proven(opened);
            }
            Needs::View | Needs::Writes if self.has_lanes && opened == Opens::Late => {
                self.despite_lanes = self.next_despite_lanes;
                self.next_despite_lanes = (4 * self.despite_lanes).clamp(4, DESPITE_LANES_MAX);
            }
            Needs::View | Needs::Writes => {}
        }
        self.reads = reads;
    }

    /// Notes whether lanes may carry the reads that memory does not answer.
    pub(super) fn note_lanes(&mut self, are_there: bool) {
        self.has_lanes = are_there;
    }

    /// Returns how many reads a transaction has, if it is like the last one.
    pub(super) fn reads(&self) -> u32 {
        self.reads
    }

    /// Notes that results served in a transaction that opened its read view in this way were not true: the next transactions open it
    /// earlier. The more often that happens, the longer it is remembered.
    pub(super) fn refute(&mut self, opened: Opens) {
        self.left = self.next.max(CAREFUL_MIN);
        self.next = (2 * self.left).min(CAREFUL_MAX);
        self.at_least = if opened == Opens::Late { Opens::Before } else { Opens::First };
    }

    /// Notes that results served in a transaction that opened its read view in this way were true. If others with the same risk failed, the
    /// next conflict counts less.
    pub(super) fn note_proven(&mut self, opened: Opens) {
        if opened < self.at_least {
            self.next = self.next.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
