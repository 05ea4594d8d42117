//! Sends a SELECT once more if its connection was lost before any part of its answer came, and a rule has `retries`.
//!
//! Only a statement that has changed nothing, and whose answer nobody has seen, is repeated: a text that reads tables alone, outside of
//! transactions. The session goes on on another connection, so the lost connection must have nothing that the client could miss: no user
//! variables, no temporary tables, no locks, no prepared statements, and no id of an INSERT. The settings of the session have to be those
//! of a new login; Freshet checks this before it sends the statement again. Otherwise the session ends, as without a rule.

use std::time::Duration;

use super::{Hold, Session};
use crate::counters::Count;
use crate::registry::Ending;
use crate::relay::Lost;
use crate::template::Template;

/// How long a session waits before each further try, so that a server that is restarted is not asked in vain.
const PAUSE: Duration = Duration::from_millis(100);

impl Session {
    /// Notes that a SELECT of this template is about to be sent.
    pub(crate) fn note_repeatable(&mut self, template: &Template) {
        if self.ruled.ruling.repeating.left == 0 {
            return;
        }
        let leaves_nothing = |hold: Hold| matches!(hold, Hold::LastStatement | Hold::CacheOff);
        let may = template.reads_tables_alone()
            && self.state.tx.surely_autocommits()
            && self.holds().list().all(leaves_nothing)
            && self.state.pending.is_empty()
            && self.has_time_of_all()
            && self.lease.can_be_undone()
            && !self.lease.traces().writes;
        let environment = self.environment().filter(|_| may).cloned();
        let repeating = &mut self.ruled.ruling.repeating;
        (repeating.sent_in, repeating.is_unanswered) = (environment, false);
    }

    /// Whether the statement under way is to be sent again after this error.
    pub(crate) fn repeats_after(&self, lost: &Lost) -> bool {
        let repeating = &self.ruled.ruling.repeating;
        matches!(lost, Lost::Upstream(_))
            && repeating.left > 0
            && repeating.is_unanswered
            && repeating.sent_in.is_some()
            && self.handle.ending() == Ending::No
    }

    /// Opens another connection for the statement, with as many tries as are left. Returns whether the session has its earlier state there.
    ///
    /// # Errors
    /// The session has ended.
    pub(crate) async fn begins_elsewhere(&mut self) -> Result<bool, Lost> {
        let Some(sent_in) = self.ruled.ruling.repeating.sent_in.take() else { return Ok(false) };
        while self.ruled.ruling.repeating.left > 0 {
            self.ruled.ruling.repeating.left -= 1;
            self.delays(PAUSE).await?;
            self.lease.note_broken();
            // The number may be another client's after a restart of the server.
            self.handle.set_thread_id(0);
            if self.connect().await.is_ok() && self.learn().await.is_ok() {
                let is_same = self.is_in(&sent_in);
                if is_same {
                    self.shared.counters.add(Count::Repeated);
                }
                return Ok(is_same);
            }
        }
        Ok(false)
    }
}
