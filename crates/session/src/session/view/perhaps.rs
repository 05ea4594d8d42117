//! The read view of a transaction that has written, locked rows or called a routine before its first read.
//!
//! The server opens the read view with the first statement that needs it, and does not report that. The read view is not older than the
//! transaction's first statement. Once a read without locks has returned a row of an InnoDB table, the read view
//! is open. So it lies between these two moments, and the facts for the snapshot rule are known: a position that it contains, read
//! before the first, and an end of the binlog that is asked for after the second. An answer that is servable by that rule is the same at each
//! moment in between.

use freshet_cache::Freshness;
use freshet_cache::sabotage::{self, Sabotage};
use freshet_follow::Upstream;

use super::{AtServer, Manner, ReadView};

impl ReadView {
    /// Notes that the server is going to read, or may read, by a read view that it opens by itself. Called before the statement is sent.
    pub(crate) fn note_read_at_server(&mut self, freshness: &Freshness) {
        // The server sets the savepoints before that, too.
        self.savepoints.note_read();
        if self.at_server == AtServer::None {
            let contains = freshness.valid_from();
            self.at_server = AtServer::Perhaps { contains };
            if sabotage::is(Sabotage::SupposedView) {
                self.opened(contains, 0);
            }
        }
    }

    /// Whether rows that are read now show that the read view is open.
    pub(crate) fn is_shown_by_rows(&self) -> bool {
        self.manner() == Some(Manner::Shared) && matches!(self.at_server, AtServer::Perhaps { .. })
    }

    /// Notes that rows were read by the read view, and the answer is complete.
    pub(crate) fn note_rows_read(&mut self, upstream: &Upstream, freshness: &Freshness) {
        // A transaction that reads once is not likely to read again.
        if self.opened_by_rows(freshness) && self.reads_left() > 0 {
            self.asks_if_unsettled(upstream, freshness);
        }
    }

    /// The transition of [`Self::note_rows_read`]. Returns whether the read view is known to be open only now.
    pub(super) fn opened_by_rows(&mut self, freshness: &Freshness) -> bool {
        let AtServer::Perhaps { contains } = self.at_server else { return false };
        self.opened(contains, freshness.ends_asked());
        true
    }
}
