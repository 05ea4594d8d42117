//! A session that is answered without its own connection gives the connection up, if nothing of the session is left there. The next session
//! of the same login and in the same environment that needs a connection takes it over (`session/pool.rs`). If no connection waits in the
//! pool, the session opens another one and brings it to the environment.
//!
//! | | gives its connection up |
//! |---|---|
//! | more than 16 sessions have a connection, and lanes may carry the session's reads | with the first statement that is answered without it |
//! | more than 16 sessions have one, and the client is silent | after a second, or after 0.2 s if more than 64 sessions have one (`resting.rs`) |
//! | few sessions have one, and lanes may carry the session's reads | when it was unused for a second; for twice as long after each time that another connection had to be opened |
//!
//! `hold.rs` lists what keeps a connection. A session also keeps its connection in these cases: a statement was sent that may ask for facts
//! of the connection itself, such as its number; no statements lead from the environment in which such sessions begin to the session's
//! environment; the client's password is unknown; or the account has limits (MAX_CONNECTIONS_PER_HOUR and the like). The value of
//! `LAST_INSERT_ID()` moves with the session. Prepared statements are prepared again (`session/making.rs`).
//!
//! If no other connection can be opened, or brought to the session's environment, the session ends: meanwhile somebody has changed the
//! account's password or its right to log in, or a global variable that no session can set, or has dropped the session's schema or revoked
//! the right to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use freshet_upstream::{Error, now_ms};
use tracing::{debug, warn};

use super::exchange::unless_killed;
use super::pool::{GivenUp, PoolFit, ReleasedConnection};
use super::{Hold, Session};
use crate::counters::Count;
use crate::environment::{Environment, path};
use crate::shared::Multiplexing;

/// What the next statement may ask about the statement before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Anything.
    Back,
    /// Nothing: it reads tables.
    Nothing,
}

impl Session {
    /// Whether the connection may be useless, by the time of its last use. Called between two commands.
    pub(super) fn may_be_unused(&self) -> bool {
        if !self.state.last.is_from_memory()
            || !self.lease.is_ready()
            || self.state.tx.may_be_open_at_server()
        {
            return false;
        }
        let (used_ms, looked_ms) = (self.lease.used_ms(), self.lease.looked_ms());
        let unused_ms = self.handle.active_ms().saturating_sub(used_ms.max(looked_ms));
        // Once for each use, unless the session had to open other connections again and again.
        let is_now = looked_ms <= used_ms
            && unused_ms >= self.state.unconnected.unused_ms_max_at_once()
            && self.gives_up_at_once();
        is_now || unused_ms >= self.state.unconnected.unused_ms_max()
    }

    fn gives_up_at_once(&self) -> bool {
        match self.shared.options.multiplexing {
            Multiplexing::Off => false,
            Multiplexing::Always => true,
            // A question on a connection before it is given up costs more than a connection that waits.
            Multiplexing::On => self.lease.insert_id().is_some() && self.shared.may_rest(),
        }
    }

    /// Gives the connection up, if the session can go on without it.
    pub(super) async fn gives_up(&mut self) {
        self.lease.note_looked();
        // If no lane would carry the session's reads, its next read would need another connection.
        if !self.are_there_lanes() {
            return;
        }
        let may_be_given =
            self.admitted.credential.is_some() && self.leaves_nothing_elsewhere(Asks::Back, false);
        if !may_be_given || !self.meets_account().await {
            return;
        }
        let Some(environment) = self.can_go_on_elsewhere(Asks::Back) else { return };
        if self.learns_insert_id().await.is_none() {
            return;
        }
        if let Some(left) = self.parts_with_lease(environment) {
            left.put(&self.shared);
        }
    }

    /// Learns whether other connections may be opened for the session's login, if that may have changed. Called while nothing on the
    /// connection may be asked about. Returns false if the connection is lost.
    pub(super) async fn meets_account(&mut self) -> bool {
        let Self { shared, lease, admitted, handle, .. } = self;
        let met = match lease.connection() {
            Ok(connection) => unless_killed(handle, shared.gate.meets_again(admitted, connection)).await,
            Err(_) => None,
        };
        let is_met = matches!(met, Some(Ok(())));
        if !is_met {
            lease.lose();
        }
        is_met
    }

    /// Gives the connection up before a read that a lane may carry, if the session can go on without it. Returns the connection.
    pub(super) fn gives_to_all(&mut self) -> Option<ReleasedConnection> {
        self.lease.insert_id()?;
        let environment = self.can_go_on_elsewhere(Asks::Nothing)?;
        self.parts_with_lease(environment)
    }

    /// Goes on without the connection, in this environment. `None` if the value of `LAST_INSERT_ID()` or the state of the accounts is
    /// unknown, or if somebody is about to kill the session by the connection's number.
    pub(super) fn parts_with_lease(&mut self, environment: Arc<Environment>) -> Option<ReleasedConnection> {
        let (insert_id, epoch) = (self.lease.insert_id()?, self.shared.gate.epoch()?);
        self.handle.gives_up(environment.idle_s_max.saturating_mul(1000)).then_some(())?;
        let lease = self.lease.note_given_up(environment.id);
        self.shared.counters.add(Count::GivenUp);
        let fit = PoolFit::new(&self.shared, &environment, &self.admitted);
        self.state.unconnected.note_given_up(GivenUp { fit: fit.clone(), insert_id, said: None });
        Some(ReleasedConnection { fit, lease, epoch })
    }

    /// Returns the value of `LAST_INSERT_ID()` on the connection. Asks the server if the value is unknown. `None` if the server does not say.
    pub(super) async fn learns_insert_id(&mut self) -> Option<u64> {
        if self.lease.insert_id().is_none() {
            let rows = self.ask("SELECT LAST_INSERT_ID()").await.ok()?;
            self.lease.note_insert_id(rows.text(0, 0).and_then(|id| id.parse().ok()));
        }
        self.lease.insert_id()
    }

    /// Takes over a connection that another session has given up in this session's environment. Returns whether there was one.
    pub(super) async fn takes_over(&mut self) -> bool {
        let Some(given_up) = self.state.unconnected.take() else { return false };
        let environment = Arc::clone(&given_up.fit.environment);
        let left = given_up.take_over(&mut self.lease, &self.handle, &self.shared, true).await;
        let has_one = left.is_none();
        self.state.unconnected.note_sought(left);
        if has_one {
            if self.state.environment.recalled().is_some() {
                // It was read on this connection, before the connection was given up.
                self.state.environment_is(environment);
            }
            self.state.unconnected.note_taken_over();
            self.refresh_key();
        }
        has_one
    }

    /// Returns the environment in which the session goes on without the connection, if it can.
    pub(super) fn can_go_on_elsewhere(&mut self, asks: Asks) -> Option<Arc<Environment>> {
        if !self.leaves_nothing_elsewhere(asks, false)
            || !self.shared.gate.could_open(&self.admitted)
            || self.shared.options.multiplexing == Multiplexing::Off
        {
            return None;
        }
        // The effects of `init_connect` on one connection are unknown on another.
        let environment = self.environment().filter(|environment| environment.begins_alike)?;
        if !self.lease.prepared.could_be_made_elsewhere(environment.id, self.state.environment.version()) {
            return None;
        }
        let (environment, now_ms) = (Arc::clone(environment), now_ms());
        if !self.state.unconnected.is_in_reach(&environment, now_ms) {
            let query = self.shared.vector(self.lease.version()?)?;
            let age_ms_max = self.state.locals.max_staleness_ms(&self.shared.globals);
            // If it is unknown how such sessions begin, the path starts from the values that all sessions have and that no global variable
            // changes meanwhile.
            let begun = self.shared.gate.beginning(&self.admitted, age_ms_max);
            begun.is_none_or(|begun| path(&query, &begun, &environment).is_some()).then_some(())?;
            self.state.unconnected.note_in_reach(&environment, now_ms);
        }
        Some(environment)
    }

    /// Whether the connection has nothing of the session that another connection would not have. `is_read_first`: the environment is read
    /// before.
    pub(super) fn leaves_nothing_elsewhere(&mut self, asks: Asks, is_read_first: bool) -> bool {
        let (tx, standing) = (&self.state.tx, self.state.tx.standing());
        let is_none_of_its_own = |hold: Hold| match hold {
            Hold::CacheOff => true,
            Hold::LastStatement => asks == Asks::Nothing,
            Hold::PreparedStatements => true,
            Hold::EnvironmentUnknown => is_read_first,
            // No connection knows of a transaction that has begun only here.
            Hold::Transaction => !tx.may_be_open_at_server() && !standing.savepoint && !standing.open_tables,
            _ => false,
        };
        // The last answer may be repeated, by the server's number of the statement.
        let last = self.state.last.hit_of();
        let has_last = last.is_none_or(|last| self.lease.prepared.is_one(last));
        let leaves_nothing = self.holds().list().all(is_none_of_its_own)
            && has_last
            && !(self.state.unconnected.is_gtid_there() && self.shared.asks_for_gtids.load(Ordering::Relaxed))
            && self.state.pending.is_empty()
            && self.has_time_of_all()
            // The session may have rights that another login does not get.
            && self.has_rights_of_now()
            && !self.lease.has_diagnostics()
            && self.lease.can_be_undone()
            && self.lease.is_unknown_to_client()
            && self.lease.heard().is_empty();
        debug!(
            leaves_nothing,
            holds = ?self.holds().list().collect::<Vec<_>>(),
            can_be_undone = self.lease.can_be_undone(),
            is_unknown_to_client = self.lease.is_unknown_to_client(),
            insert_id = ?self.lease.insert_id(),
            has_diagnostics = self.lease.has_diagnostics(),
            could_open = self.shared.gate.could_open(&self.admitted),
            "a connection is not used"
        );
        leaves_nothing
    }

    /// Brings a connection that was just opened to the state of the session when the session gave its own up.
    ///
    /// # Errors
    /// The connection is lost, or cannot be brought there: the session is over then.
    pub(super) async fn goes_on(&mut self, given_up: GivenUp) -> Result<(), Error> {
        self.state.unconnected.note_opened();
        self.handle.goes_on();
        let gone_on = match &given_up.said {
            Some(said) => self.says_again(said).await,
            None => self.reaches(&given_up.fit.environment).await,
        };
        if !matches!(gone_on, Ok(true)) {
            // Nothing may be asked in another environment, nor looked up there.
            self.lease.lose();
            self.state.environment.note_unknown();
        }
        match gone_on {
            Ok(true) => given_up.restores_insert_id(&mut self.lease).await,
            Ok(false) => {
                warn!(user = %String::from_utf8_lossy(&self.admitted.user), "a session could not be continued on another connection");
                Err(Error::Closed)
            }
            Err(error) => Err(error),
        }
    }

    /// Learns how the next connection of a session has begun, and undoes what `init_connect` has done there: none has run when the session
    /// began, since a session in whose beginning one has run keeps its connection.
    async fn begins_anew(&mut self) -> Result<(), Error> {
        self.learn().await?;
        if self.environment().is_some_and(|begun| begun.begins_alike) {
            return Ok(());
        }
        self.lease.is_reset(&self.handle).await?;
        self.state.environment.note_unknown();
        self.lease.prepared.begin_at(self.state.environment.version());
        self.meets_server().await?;
        self.learn().await
    }

    /// Has the server carry out the statements that Freshet carried out here. The resulting environment is read when it is needed.
    async fn says_again(&mut self, said: &[String]) -> Result<bool, Error> {
        self.learn().await?;
        self.lease.note_no_longer_new();
        if !self.carries_out(said).await? {
            return Ok(false);
        }
        self.state.environment.note_unknown();
        self.learn().await?;
        Ok(true)
    }

    /// Has the server carry out these statements. Returns false if the server has refused one.
    async fn carries_out(&mut self, statements: &[String]) -> Result<bool, Error> {
        for statement in statements {
            if let Err(error) = self.ask(statement).await {
                debug!(%error, statement, "a session could not be given a value that it had");
                return if error.leaves_connection_usable() { Ok(false) } else { Err(error) };
            }
        }
        Ok(true)
    }

    /// Brings the session to this environment by the statements that lead there. Returns whether it is there.
    async fn reaches(&mut self, environment: &Environment) -> Result<bool, Error> {
        self.begins_anew().await?;
        let Some(begun) = self.environment().cloned() else { return Ok(false) };
        let query = self.lease.version().and_then(|version| self.shared.vector(version));
        let Some(query) = query else { return Ok(false) };
        let Some(statements) = path(&query, &begun, environment) else { return Ok(false) };
        if statements.is_empty() {
            return Ok(true);
        }
        // From here on, the session is not like one that has just begun.
        self.lease.note_no_longer_new();
        if !self.carries_out(&statements).await? {
            return Ok(false);
        }
        self.state.environment.note_unread();
        self.learn().await?;
        Ok(self.is_in(environment))
    }

    /// Whether the session is in this environment, apart from facts that are not the session's own.
    pub(super) fn is_in(&self, environment: &Environment) -> bool {
        self.environment().is_some_and(|own| own.is(environment))
    }
}
