//! A session that was answered without its own connection for a while gives it up, if nothing of it is left there: the next statement that
//! needs one has another opened, in the environment that the session is in.
//!
//! What keeps a connection is in `hold.rs`. Besides, it is kept where the session has written, since the server may have given an id out there;
//! where a statement was sent of which it is not known that it asks for nothing of the connection itself, such as its number; where no statements lead
//! from how such sessions begin to the environment that this one is in; and where the client's password is not known, or its account has bounds (MAX_CONNECTIONS_PER_HOUR and the like).
//!
//! Where no other connection can be had, or brought to where the session was, the session is over: somebody has changed the account's password or
//! rights to log in, or a global variable meanwhile that no session can set.

use std::sync::Arc;

use freshet_upstream::{Connection, Error};
use tracing::{debug, warn};

use super::{Hold, Lease, Session};
use crate::counters::Count;
use crate::environment::{Environment, Known, VectorQuery, path};
use crate::shared::Multiplexing;

/// How long a connection has to be without a statement of its own session before it is given up, in milliseconds. Twice as long each time that another
/// one had to be opened, up to the most.
const UNUSED_MS_MIN: u64 = 1_000;
const UNUSED_MS_MAX: u64 = 600_000;

impl Session {
    /// Gives the connection up if it was not used for a while, though the client was active. To be called between two commands.
    pub(super) fn may_do_without(&mut self) {
        if !self.lease.is_ready() {
            return;
        }
        let now_ms = self.handle.active_ms();
        let unused_ms = now_ms.saturating_sub(self.lease.used_ms.max(self.lease.looked_ms));
        if unused_ms >= self.state.keeps_unused_ms.max(UNUSED_MS_MIN) {
            self.lease.looked_ms = now_ms;
            // Where none of its reads would be carried, the next one would need another.
            if self.are_there_lanes() {
                self.gives_up();
            }
        }
    }

    fn gives_up(&mut self) {
        let Some(environment) = self.can_go_on_elsewhere() else { return };
        let Some(connection) = self.lease.take() else { return };
        // Whoever kills by its number from now on kills nobody here.
        self.handle.gives_up(environment.idle_s_max.saturating_mul(1000));
        let prepared = std::mem::take(&mut self.lease.prepared);
        self.lease = Lease::after(&self.lease, prepared);
        self.state.given_up = Some(environment);
        self.shared.counters.add(Count::GivenUp);
        tokio::task::spawn_local(Connection::quit(connection));
    }

    /// The environment that it goes on in, if it can.
    fn can_go_on_elsewhere(&mut self) -> Option<Arc<Environment>> {
        let is_none_of_its_own = |hold: Hold| match hold {
            Hold::CacheOff => true,
            Hold::PreparedStatements => self.lease.prepared.are_unmade(),
            _ => false,
        };
        let leaves_nothing = self.holds().list().all(is_none_of_its_own)
            && self.state.pending.is_empty()
            && !self.state.stops_time
            && !self.state.limits_time
            && !self.lease.has_diagnostics
            && self.lease.can_be_undone
            && self.lease.is_unknown_to_client
            && !self.lease.traces.writes
            && self.lease.heard().is_empty();
        debug!(
            leaves_nothing,
            holds = ?self.holds().list().collect::<Vec<_>>(),
            can_be_undone = self.lease.can_be_undone,
            is_unknown_to_client = self.lease.is_unknown_to_client,
            writes = self.lease.traces.writes,
            has_diagnostics = self.lease.has_diagnostics,
            could_open = self.shared.gate.could_open(&self.admitted),
            "a connection is not used"
        );
        if !leaves_nothing
            || !self.shared.gate.could_open(&self.admitted)
            || self.shared.options.multiplexing == Multiplexing::Off
        {
            return None;
        }
        let environment = self.environment()?;
        let query = self.shared.vector(self.lease.version()?)?;
        let age_ms_max = self.state.locals.max_staleness_ms(&self.shared.globals);
        // Where it is not known how such sessions begin, it is by what every one has that the server's global variables do not change meanwhile.
        let begun = self.shared.gate.beginning(&self.admitted, age_ms_max);
        let is_in_reach = begun.is_none_or(|begun| way(&query, &begun, environment).is_some());
        is_in_reach.then(|| Arc::clone(environment))
    }

    /// Brings a connection that was just opened to where the session was when it gave its own up.
    ///
    /// # Errors
    /// The connection is lost, or it cannot be brought there: the session is over then.
    pub(super) async fn goes_on(&mut self, environment: Arc<Environment>) -> Result<(), Error> {
        self.state.keeps_unused_ms = (2 * self.state.keeps_unused_ms).clamp(UNUSED_MS_MIN, UNUSED_MS_MAX);
        self.handle.goes_on();
        let gone_on = self.reaches(&environment).await;
        if !matches!(gone_on, Ok(true)) {
            // Nothing may be asked in another environment.
            self.lease.lose();
        }
        match gone_on {
            Ok(true) => Ok(()),
            Ok(false) => {
                warn!(user = %String::from_utf8_lossy(&self.admitted.user), "a session could not be continued on another connection");
                Err(Error::Closed)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the session is in this environment, by the statements that lead there.
    async fn reaches(&mut self, environment: &Environment) -> Result<bool, Error> {
        self.learn().await?;
        let Some(begun) = self.environment().cloned() else { return Ok(false) };
        if begun.id == environment.id {
            return Ok(true);
        }
        let query = self.lease.version().and_then(|version| self.shared.vector(version));
        let Some(statements) = query.and_then(|query| way(&query, &begun, environment)) else {
            return Ok(false);
        };
        // How it is from here on is not how such sessions begin.
        self.lease.untouched = false;
        for statement in &statements {
            if let Err(error) = self.lease.ask(statement).await {
                debug!(%error, statement, "a session could not be given a value that it had");
                return if error.leaves_connection_usable() { Ok(false) } else { Err(error) };
            }
        }
        self.state.environment = Known::Unknown;
        self.learn().await?;
        Ok(self.environment().is_some_and(|reached| reached.id == environment.id))
    }
}

fn way(query: &VectorQuery, begun: &Environment, environment: &Environment) -> Option<Vec<String>> {
    if begun.id == environment.id { Some(Vec::new()) } else { path(query, begun, environment) }
}
