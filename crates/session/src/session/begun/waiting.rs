//! Waiting for what stands in the way of an answer that is in memory.
//!
//! A result or a read view settles within a fraction of a millisecond, where nobody is busy. The server would answer sooner, but all
//! further reads of the transaction may be from memory then. So it is waited for where that is likely to save more time than it takes.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Opening;
use crate::relay::Lost;
use crate::session::view::{Opens, Reads};
use crate::session::{Session, Tracking};

/// How long one look-up waits at most. The timer adds up to a millisecond.
const SETTLING_MAX: Duration = Duration::from_millis(2);

impl Session {
    /// After a look-up has found an answer that cannot be given yet: opens the read view that it waits for, or waits a little until more
    /// is settled.
    ///
    /// # Errors
    /// The server is lost.
    pub(in crate::session) async fn make_way(&mut self) -> Result<(), Lost> {
        // It is looked for once more, and is one read.
        self.state.view.reads = self.state.view.reads.saturating_sub(1);
        match self.opening_comes_before() {
            Some(opening) => self.open_before(opening).await,
            None => {
                self.wait_until_settled().await;
                Ok(())
            }
        }
    }

    /// The read view, if it is to be opened before the first answer.
    fn opening_comes_before(&self) -> Option<Opening> {
        let begun = self.state.tx.begun()?;
        let is_ready = self.lease.is_open() && self.lease.tracking == Tracking::On;
        let is_due = self.state.view.opens == Opens::Before && self.state.view.is_unopened();
        (is_due && is_ready).then(|| Opening { due: Instant::now(), is_read_only: begun.is_read_only })
    }

    async fn open_before(&mut self, opening: Opening) -> Result<(), Lost> {
        let at_server = (&*self.handle, &mut self.lease, &mut self.state.view);
        let opened = opening.open(at_server, &self.shared).await?;
        if opened.note(&mut self.state) {
            self.state.view.binds(self.shared.freshness());
        }
        Ok(())
    }

    async fn wait_until_settled(&mut self) {
        let shared = &*self.shared;
        let left = self.state.view.reads_left();
        let view = &mut self.state.view;
        // Where it is the result that is not settled, nothing but that would be gained.
        if view.reads(shared.freshness()) != Reads::NotYet || !shared.settling.is_worth(left) {
            return;
        }
        let (since, deadline) = (std::time::Instant::now(), Instant::now() + SETTLING_MAX);
        loop {
            let mut told = pin!(shared.upstream.settling_told());
            told.as_mut().enable();
            if view.settles(&shared.upstream, shared.freshness()) {
                break;
            }
            shared.upstream.ask_end();
            if timeout_at(deadline, told).await.is_err() {
                break;
            }
        }
        shared.settling.has_settled(since.elapsed());
    }
}
