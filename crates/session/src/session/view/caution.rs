//! When the server opens a transaction's read view, by what became of the session's transactions before.
//!
//! What is read from memory before the read view is open has to be proven to be true in it. The longer that takes, the more has
//! changed. A transaction that needs no server needs no read view either, so it is opened late at first. Transactions are like
//! those before them: where the last one has needed the server, the next one's read view is opened before its first answer from
//! memory, which waits for one exchange. Then only foreign writers are left that can come between. Where one did, the first
//! read is the server's.

/// For how many transactions a conflict is remembered: at first, and at most.
const CAREFUL_MIN: u32 = 4;
const CAREFUL_MAX: u32 = 256;

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

/// What became of a session's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Caution {
    /// The last one has needed the server.
    has_needed: bool,
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
        let usual = if self.has_needed { Opens::Before } else { Opens::Late };
        let opens = if self.left > 0 { usual.max(self.at_least) } else { usual };
        self.left = self.left.saturating_sub(1);
        opens
    }

    /// A transaction is over in which so much was read. `needed`: the server has carried something out in it.
    pub(super) fn ends(&mut self, needed: bool, reads: u32) {
        self.has_needed = needed;
        self.reads = reads;
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

    /// It was true: the next conflict counts less.
    pub(super) fn note_proven(&mut self) {
        self.next = self.next.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
