//! Short waits for answers that are in memory and cannot be given yet.
//!
//! A result or a read view settles within a fraction of a millisecond if nobody is busy. The server would answer sooner, but after the wait
//! all further reads of the transaction may come from memory. So Freshet waits if that is likely to save more time than it takes.

use std::time::Duration;

use tokio::time::Instant;

use super::{Opening, ServerSide};
use crate::relay::Lost;
use crate::session::Session;
use crate::session::view::{Manner, ReadMoment};
use crate::settling::found_within;

/// How long one look-up waits at most. The timer adds up to a millisecond.
const SETTLING_MAX: Duration = Duration::from_millis(2);

impl Session {
    /// Opens the read view that an answer waits for, or waits a little until more is settled. Called after a look-up has found an answer
    /// that cannot be given yet.
    ///
    /// # Errors
    /// The server is lost.
    pub(in crate::session) async fn make_way(&mut self) -> Result<(), Lost> {
        // The next look-up is for the same read.
        self.state.view_mut().course.note_repeated_look();
        match self.opening_comes_before() {
            Some(opening) => self.open_before(opening).await,
            None => {
                self.wait_until_settled().await;
                Ok(())
            }
        }
    }

    /// Begins a transaction whose reads show the present state. The server opens its read view at once, and reports what it shows. Returns
    /// false if the client's own statement has to begin the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub(crate) async fn begins_as_of_now(&mut self, read_only: Option<bool>) -> Result<bool, Lost> {
        let before = self.state.tx.before_begin();
        // At READ COMMITTED, MySQL gives a warning that there is no read view.
        let is_shared = self.manner_of_transactions() == Some(Manner::Shared);
        if !self.lease.is_ready()
            || !is_shared
            || self.state.tx.begun().is_some()
            || !self.begins_unanswered(read_only)
        {
            return Ok(false);
        }
        let Some(begun) = self.state.tx.begun() else { return Ok(false) };
        let server = ServerSide { handle: &self.handle, lease: &mut self.lease, view: self.state.view_mut() };
        let opened = Opening { due: Instant::now(), begun }.open(server, &self.shared).await?;
        if !opened.note(&mut self.state) {
            self.state.tx.taken_back(before);
            self.refresh_key();
            return Ok(false);
        }
        // The transaction is not begun anew: its moment is now.
        self.state.view_mut().course.note_read();
        // The questions after the begin have left counts of their own there.
        self.state.last.note_nothing_left();
        self.refresh_key();
        self.told_in_its_place(true);
        Ok(true)
    }

    /// Returns the opening of the read view, if it is due before the first answer.
    fn opening_comes_before(&self) -> Option<Opening> {
        let begun = self.state.tx.begun()?;
        let is_due = self.state.view().opens_before() && self.state.view().is_unopened();
        (is_due && self.lease.is_ready()).then(|| Opening { due: Instant::now(), begun })
    }

    async fn open_before(&mut self, opening: Opening) -> Result<(), Lost> {
        // Read before the opening: a later moment may show commits that the read view lacks.
        let as_of = self.shared.freshness().applied();
        let server = ServerSide { handle: &self.handle, lease: &mut self.lease, view: self.state.view_mut() };
        let opened = opening.open(server, &self.shared).await?;
        if opened.note(&mut self.state) {
            self.state.view_mut().binds(as_of, self.shared.freshness());
        }
        Ok(())
    }

    async fn wait_until_settled(&mut self) {
        let shared = &*self.shared;
        let left = self.state.view().reads_left();
        let view = self.state.view_mut();
        // If only the result is not settled, the wait would gain nothing else.
        if view.reads(shared.freshness()) != ReadMoment::NotYet || !shared.settling.is_worth(left) {
            return;
        }
        let since = std::time::Instant::now();
        let look = || {
            let is_settled = view.settles(&shared.upstream, shared.freshness());
            if !is_settled {
                shared.upstream.ask_end();
            }
            is_settled.then_some(())
        };
        let _ = found_within(&shared.upstream, SETTLING_MAX, look).await;
        shared.settling.has_settled(since.elapsed());
    }
}
