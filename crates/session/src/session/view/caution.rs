//! When the server opens a transaction's read view, by what became of the session's transactions before.
//!
//! What is read from memory before the read view is open has to be proven to be true in it. The longer that takes, the more has
//! changed. A transaction that needs no server needs no read view either, so it is opened late at first. Transactions are like
//! those before them: where the last one has needed the server, the next one's read view is opened before its first answer from
//! memory, which waits for one exchange. Then only foreign writers are left that can come between. Where one did, the first
//! read is the server's.
//!
//! Where there are lanes, what is not in memory needs no read view of the transaction's own. So a transaction that only reads, and has needed one for all that,
//! makes only some of the next ones open theirs before, and then it is tried again.

/// For how many transactions a conflict is remembered: at first, and at most.
const CAREFUL_MIN: u32 = 4;
const CAREFUL_MAX: u32 = 256;

/// Where there are lanes, so many transactions in a row at most open their read view before because one has needed it.
const DESPITE_LANES_MAX: u32 = 16;

/// Where there are lanes, so many transactions in a row must not have written before the next one is taken for one that only reads.
const SINCE_WRITE_MIN: u32 = 4;

/// When the server opens the read view of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Opens {
    /// When a statement needs the server, or after a time.
    #[default]
    Late,
    /// Before the first answer from memory.
    Before,
    /// By the first read, which is the server's.
    First,
}

/// What a transaction has needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Needs {
    /// No server.
    #[default]
    Nothing,
    /// The transaction's read view.
    View,
    /// The server has carried something out in it that was no read by its read view.
    Writes,
}

/// What became of a session's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Caution {
    /// What the last one has needed.
    last: Needs,
    /// So many transactions in a row have not written.
    since_write: u32,
    /// What is not in memory may be read on a lane.
    has_lanes: bool,
    /// So many to come open it before, although there are lanes.
    despite_lanes: u32,
    /// What that number is set to when the next one needs one that has opened it late.
    next_despite_lanes: u32,
    /// So many reads were in it.
    reads: u32,
    /// So many to come open it as is said here, or earlier.
    left: u32,
    at_least: Opens,
    /// What the next conflict sets that number to.
    next: u32,
}

impl Caution {
    /// A transaction begins.
    pub(super) fn begins(&mut self) -> Opens {
        let opens = self.next_opens();
        self.left = self.left.saturating_sub(1);
        self.despite_lanes = self.despite_lanes.saturating_sub(1);
        opens
    }

    /// When the next transaction's read view is opened.
    pub(super) fn next_opens(&self) -> Opens {
        let is_before = match self.last {
            Needs::Nothing => self.has_lanes && self.despite_lanes > 0,
            Needs::View => !self.has_lanes || self.despite_lanes > 0 || self.since_write < SINCE_WRITE_MIN,
            // What is read after a write has to be proven to be of the same moment as what was read before.
            Needs::Writes => true,
        };
        let usual = if is_before { Opens::Before } else { Opens::Late };
        if self.left > 0 { usual.max(self.at_least) } else { usual }
    }

    /// A transaction is over in which so much was read, and whose read view was opened so, if it was.
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

    /// Whether what is not in memory may be read on a lane.
    pub(super) fn note_lanes(&mut self, are_there: bool) {
        self.has_lanes = are_there;
    }

    /// How many reads there will be in a transaction, if it is like the last one.
    pub(super) fn reads(&self) -> u32 {
        self.reads
    }

    /// What was served in a transaction that opened its read view so was not true in it: the next ones open it earlier. The more often
    /// that happens, the longer it is remembered.
    pub(super) fn refute(&mut self, opened: Opens) {
        self.left = self.next.max(CAREFUL_MIN);
        self.next = (2 * self.left).min(CAREFUL_MAX);
        self.at_least = if opened == Opens::Late { Opens::Before } else { Opens::First };
    }

    /// What was served in a transaction that opened its read view so was true. Where others that dared as much were refuted, the next conflict counts less.
    pub(super) fn note_proven(&mut self, opened: Opens) {
        if opened < self.at_least {
            self.next = self.next.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
