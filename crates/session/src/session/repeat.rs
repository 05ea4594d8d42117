//! A SELECT whose connection was lost before any of its answer came is sent once more, if a rule has `retries`.
//!
//! Only that is repeated which cannot have changed anything, and of which nobody has seen anything: a text that reads tables alone, outside of
//! transactions. The session goes on on another connection, so nothing may be left on the lost one that the client could miss: no user variables,
//! no temporary tables, no locks, no prepared statements, and no id that an INSERT was given. The settings of the session have to be those of a
//! new login, which is asked for before the statement is sent again. Otherwise the session ends, as it does without a rule.

use std::time::Duration;

use super::{Hold, Lease, Session};
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
            && !self.state.stops_time
            && !self.state.limits_time
            && self.lease.can_be_undone
            && !self.lease.traces.writes;
        let environment = self.environment().filter(|_| may).cloned();
        let repeating = &mut self.ruled.ruling.repeating;
        (repeating.sent_in, repeating.is_unanswered) = (environment, false);
    }

    /// Whether the statement under way, which has failed so, is to be sent again.
    pub(crate) fn repeats_after(&self, lost: &Lost) -> bool {
        let repeating = &self.ruled.ruling.repeating;
        matches!(lost, Lost::Upstream(_))
            && repeating.left > 0
            && repeating.is_unanswered
            && repeating.sent_in.is_some()
            && self.handle.ending() == Ending::No
    }

    /// Takes another connection for it, in as many tries as are left. Whether the session is there as it was before.
    ///
    /// # Errors
    /// The session is ended.
    pub(crate) async fn begins_elsewhere(&mut self) -> Result<bool, Lost> {
        let Some(sent_in) = self.ruled.ruling.repeating.sent_in.take() else { return Ok(false) };
        while self.ruled.ruling.repeating.left > 0 {
            self.ruled.ruling.repeating.left -= 1;
            self.delays(PAUSE).await?;
            drop(self.lease.take());
            let prepared = self.lease.prepared.begun_anew();
            self.lease = Lease::default();
            self.lease.prepared = prepared;
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
