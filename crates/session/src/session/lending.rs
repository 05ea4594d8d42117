//! Opening a connection only to lend it: if many sessions have one, the next ones do without, as long as somebody's carries their reads. And
//! taking a lent connection back.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::Dep;
use freshet_upstream::lane::SLOW;
use freshet_upstream::{Connection, Error, now_ms};
use tracing::debug;

use super::Session;
use super::lanes::{Carriage, Ride};
use super::openings::{self, LaneWaits};
use super::paced::Kills;
use crate::registry::Ending;
use crate::relay::Lost;

/// How far apart statements are killed, and how far at most after a kill that failed.
const KILLS_APART: Duration = Duration::from_millis(10);
const KILLS_APART_MAX: Duration = Duration::from_secs(1);
/// For how long statements are killed until a connection comes back.
const KILLED_WAIT_MAX: Duration = Duration::from_secs(30);

/// How the wait of a read for a lane has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneWait {
    /// There was none: the read does not wait, or no longer.
    Useless,
    /// A lane may be there.
    Over,
    /// The read was interrupted by a KILL QUERY.
    Interrupted,
}

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
        let begins = self.state.environment.recalled().is_some() && self.lease.is_new();
        let is_wanted = || self.is_opened_for_others() && is_of_its_own();
        if carriage.is_some() || self.lease.is_open() || !begins || !is_wanted() {
            return Ok(carriage);
        }
        Box::pin(self.opens_ready()).await?;
        Ok(self.may_ride())
    }

    /// Has a session without a connection wait for another client's answer, by `waits`. While it waits, it is supposed to be in the environment
    /// in which others like it have begun, as for its look-ups: it needs no more. Returns what `waits` does: whether the statement is answered
    /// by then. False if the session has a connection, or nothing is known of its environment.
    ///
    /// # Errors
    /// Those of `waits`.
    pub(crate) async fn waits_unconnected(
        &mut self,
        waits: impl AsyncFnOnce(&mut Session) -> Result<bool, Lost>,
    ) -> Result<bool, Lost> {
        if self.lease.is_open() {
            return Ok(false);
        }
        if self.environment().is_some() {
            return waits(self).await;
        }
        if !self.state.environment.suppose() {
            return Ok(false);
        }
        let waited = waits(self).await;
        self.state.environment.note_wait_over();
        waited
    }

    /// Whether the session has no connection, and many are being opened.
    pub(crate) fn is_in_rush(&self) -> bool {
        !self.lease.is_open() && openings::are_many()
    }

    /// Has a read of a session that [is in a rush](Session::is_in_rush) wait for a lane. `waits`: those of this read.
    ///
    /// # Errors
    /// The client has left, or the session is ended.
    pub(crate) async fn waits_for_lane(&mut self, waits: &mut LaneWaits) -> Result<LaneWait, Lost> {
        let may_wait = !waits.are_over()
            && !self.lease.is_lost()
            && !self.had_its_turn()
            && self.may_be_carried()
            && (self.state.tx.surely_autocommits() || self.carriage().is_some());
        if !may_wait {
            return Ok(LaneWait::Useless);
        }
        if Box::pin(self.waits_unless_interrupted(waits.another())).await?.is_none() {
            return Ok(LaneWait::Interrupted);
        }
        // The time at which the client was active last is also the time at which lanes are looked for.
        self.active(now_ms());
        // Another session may have learned meanwhile how such sessions begin.
        self.recall();
        Ok(LaneWait::Over)
    }

    /// Whether a connection is worth opening only to be lent: many sessions have one. Where many are being opened, reads wait for one of these.
    fn is_opened_for_others(&self) -> bool {
        self.is_lane_worth_making() && self.shared.are_many_connected() && !openings::are_many()
    }

    /// Opens a lane on behalf of a session that has given its connection up, if many sessions have one: the others need none then.
    pub(crate) async fn opens_for_others(&mut self, rights: Dep, carriage: Carriage) {
        let is_wanted = self.state.unconnected.is_given_up() && self.is_opened_for_others();
        if is_wanted && !self.lease.is_open() && self.opens_ready().await.is_ok() {
            let _: Option<Ride> = self.finds_ride(rights, carriage);
        }
    }

    /// Opens the session's connection, or takes one over, so that it can be lent.
    async fn opens_ready(&mut self) -> Result<(), Error> {
        self.connect().await?;
        self.learn().await?;
        if self.lease.tracking.is_due() {
            // The server is told what to report with the next command.
            self.keep_alive().await.map_err(|_| Error::Closed)?;
        }
        Ok(())
    }

    /// Takes the session's connection back, if it is lent.
    ///
    /// # Errors
    /// The connection was lost meanwhile, or does not come back.
    pub(crate) async fn take_back(&mut self) -> Result<(), Error> {
        let Some(lent) = self.lease.lent() else { return Ok(()) };
        lent.lane().close();
        let lane = Rc::clone(lent.lane());
        let mut connection = tokio::time::timeout(2 * SLOW, &mut *lent).await.ok();
        // As long as the reads there go on, their sessions wait for them.
        while connection.is_none() && !lane.is_held_up() && lane.depth() > 1 {
            let Some(lent) = self.lease.lent() else { break };
            connection = tokio::time::timeout(SLOW, lent).await.ok();
        }
        let is_killed = connection.is_none();
        if is_killed {
            connection = Box::pin(self.kills_what_is_carried()).await;
        }
        self.lease.give_back(connection.flatten());
        if self.lease.is_lost() {
            return Err(Error::Closed);
        }
        if is_killed {
            // A KILL QUERY that came after the last read is met by this command, and not by the client's next one.
            let _unheard = self.keep_alive().await;
        }
        Ok(())
    }

    /// Kills the reads that hold up the session's own connection, one after the other, until the connection comes back. The session of the
    /// first read carries it out itself after that, and nobody waits for the reads behind it. `None` if the connection does not come back.
    async fn kills_what_is_carried(&mut self) -> Option<Option<Connection>> {
        let (thread, shared) = (self.handle.thread_id(), Arc::clone(&self.shared));
        let mut kills = Kills::of(&shared, self.admitted.hand_over(), thread).await;
        let (until, mut came, mut apart) = (Instant::now() + KILLED_WAIT_MAX, None, KILLS_APART);
        while came.is_none() && Instant::now() < until && self.handle.ending() != Ending::Cut {
            if let Err(error) = kills.once().await {
                debug!(%error, thread, "a read that holds its session up could not be killed");
                apart = (2 * apart).min(KILLS_APART_MAX);
            }
            let Some(lent) = self.lease.lent() else { break };
            came = tokio::time::timeout(apart, lent).await.ok();
        }
        kills.end().await;
        came
    }
}
