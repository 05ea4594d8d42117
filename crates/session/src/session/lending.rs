//! Opening a connection only to lend it: if many sessions have one, the next ones do without, as long as somebody's carries their reads.

use freshet_cache::Dep;
use freshet_upstream::Error;

use super::lanes::{Carriage, Ride};
use super::{Session, Tracking};
use crate::environment::Known;

impl Session {
    /// Like [`Session::may_ride`]. If many sessions have a connection and no lane is there for the next ones, a session that has just begun opens
    /// its connection for that: otherwise each session that comes and reads once would keep one. `is_of_its_own`: whether the statement is a
    /// SELECT that mentions nothing of the statement before it.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub(crate) async fn may_ride_or_lend(
        &mut self,
        is_of_its_own: impl FnOnce() -> bool,
    ) -> Result<Option<Carriage>, Error> {
        let carriage = self.may_ride();
        let begins = matches!(self.state.environment, Known::Recalled(_)) && self.lease.is_new();
        let is_wanted = || self.is_lane_worth_making() && self.shared.are_many_connected() && is_of_its_own();
        if carriage.is_some() || self.lease.is_open() || !begins || !is_wanted() {
            return Ok(carriage);
        }
        Box::pin(self.opens_ready()).await?;
        Ok(self.may_ride())
    }

    /// Opens a lane on behalf of a session that has given its connection up, if many sessions have one: the others need none then.
    pub(crate) async fn opens_for_others(&mut self, rights: Dep, carriage: Carriage) {
        let is_wanted = self.state.given_up.is_some() && self.shared.are_many_connected();
        if is_wanted && !self.lease.is_open() && self.opens_ready().await.is_ok() {
            let _: Option<Ride> = self.finds_ride(rights, carriage);
        }
    }

    /// Opens the session's connection, or takes one over, so that it can be lent.
    async fn opens_ready(&mut self) -> Result<(), Error> {
        self.connect().await?;
        self.learn().await?;
        if self.lease.tracking == Tracking::Due {
            // The server is told what to report with the next command.
            self.keep_alive().await.map_err(|_| Error::Closed)?;
        }
        Ok(())
    }
}
