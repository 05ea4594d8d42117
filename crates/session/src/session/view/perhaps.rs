//! The read view of a transaction that has written, locked rows or called something before its first read.
//!
//! The server opens it with the first statement that needs it, and does not say so. It is not older than the transaction: there was none
//! before the transaction's first statement was sent. And once the transaction has been shown a row of an InnoDB table by a read that
//! locks nothing, it is open. So it lies between the two, and what the rule for snapshots asks for is known: a position that it contains, read
//! before the first, and an end of the binlog that is asked for after the second. Whatever is servable by that rule is the same at each
//! moment in between.

use freshet_cache::Freshness;
use freshet_cache::sabotage::{self, Sabotage};
use freshet_follow::Upstream;

use super::{AtServer, Manner, ReadView};

impl ReadView {
    /// The server is going to read, or may do so, by a read view that it opens by itself. To be called before the statement is sent.
    pub(crate) fn note_read_at_server(&mut self, freshness: &Freshness) {
        // Savepoints are set before that there, too.
        self.early.clear();
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
        self.manner == Some(Manner::Shared) && matches!(self.at_server, AtServer::Perhaps { .. })
    }

    /// Rows were read by it, and the answer is complete.
    pub(crate) fn note_rows_read(&mut self, upstream: &Upstream, freshness: &Freshness) {
        if let AtServer::Perhaps { contains } = self.at_server {
            self.opened(contains, freshness.ends_asked());
            // Who reads once is not likely to read again.
            if self.reads_left() > 0 {
                self.asks_if_unsettled(upstream, freshness);
            }
        }
    }
}
