//! What has happened in a transaction so far: the server's work in it, and its answers from memory. That decides when the session's later
//! transactions open their read views (`session/view/caution.rs`).

use super::caution::Needs;

/// What the server has done in a transaction. A later value takes the place of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Work {
    #[default]
    Nothing,
    /// The server has opened a read view, and nothing was read by it.
    UnreadView,
    /// The server has carried out a statement that may have read or written.
    Read,
}

/// What of a transaction was answered without its own connection. A later value includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Served {
    #[default]
    Nothing,
    /// Something was served from memory.
    FromMemory,
    /// A result was read for the transaction in a read view that transactions share.
    InSharedView,
}

/// What has happened in a transaction so far.
#[derive(Debug, Default)]
pub(crate) struct Course {
    at_server: Work,
    served: Served,
    /// What the transaction's statements have needed.
    needs: Needs,
    /// How often the transaction has looked for an answer in memory.
    looks: u32,
    /// The server was told to open the read view because the client took its time; the server may have refused. Something has been served
    /// by then.
    is_opened_in_time: bool,
}

impl Course {
    /// Whether the server has carried out a statement in the transaction that may have read or written.
    pub(super) fn has_read(&self) -> bool {
        self.at_server == Work::Read
    }

    /// Returns what the transaction has needed; `None` if it has read nothing.
    pub(super) fn needs(&self) -> Option<Needs> {
        if !self.has_read() && self.served == Served::Nothing {
            return None;
        }
        // The client took its time: no statement has needed the read view.
        let is_opened_early = self.served == Served::InSharedView && self.is_opened_in_time;
        Some(match self.needs {
            Needs::View if is_opened_early => Needs::Nothing,
            Needs::Nothing if self.has_read() => Needs::Writes,
            needs => needs,
        })
    }

    /// Returns how often the transaction has looked for an answer in memory.
    pub(super) fn looks(&self) -> u32 {
        self.looks
    }

    /// Whether nothing was read in the transaction, neither by the server nor from memory.
    pub(crate) fn is_new(&self) -> bool {
        !self.has_read() && !self.has_served()
    }

    /// Whether the server has opened a read view for the transaction, and nothing was read by it.
    pub(crate) fn is_view_unread(&self) -> bool {
        self.at_server == Work::UnreadView
    }

    /// Whether something was served from memory in the transaction.
    pub(crate) fn has_served(&self) -> bool {
        self.served != Served::Nothing
    }

    /// Whether a result was read for the transaction in a read view that transactions share.
    pub(crate) fn rides(&self) -> bool {
        self.served == Served::InSharedView
    }

    /// Notes that the server has opened a read view, and nothing was read by it.
    pub(super) fn note_unread_view(&mut self) {
        debug_assert!(!self.has_read(), "{self:?}");
        self.at_server = Work::UnreadView;
    }

    /// Notes that the server has carried out a statement in the transaction that may have read or written, or that the transaction is not
    /// to be begun anew for another reason.
    pub(crate) fn note_read(&mut self) {
        self.at_server = Work::Read;
    }

    /// Notes that something was served from memory.
    pub(crate) fn note_served(&mut self) {
        self.served = self.served.max(Served::FromMemory);
    }

    /// Notes that a result was served that was read in a read view that transactions share.
    pub(crate) fn note_ride(&mut self) {
        self.served = Served::InSharedView;
    }

    /// Notes that a statement of the transaction needs this.
    pub(crate) fn note_needs(&mut self, needs: Needs) {
        self.needs = self.needs.max(needs);
    }

    /// Notes that the transaction looks for an answer in memory.
    pub(crate) fn note_look(&mut self) {
        self.looks = self.looks.saturating_add(1);
    }

    /// Notes that the next look is for the same read as the last one.
    pub(crate) fn note_repeated_look(&mut self) {
        self.looks = self.looks.saturating_sub(1);
    }

    /// Notes that the server was told to open the read view because the client took its time.
    pub(crate) fn note_opened_in_time(&mut self) {
        self.is_opened_in_time = true;
    }
}

#[cfg(test)]
mod tests;
