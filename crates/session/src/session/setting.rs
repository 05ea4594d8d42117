//! A SET of constants by a client that has no connection to the server, as drivers greet with: where it is known what it leads to, nobody is asked. The
//! session is then like one that has given its connection up there (`giving_up.rs`).

use std::sync::Arc;

use freshet_protocol::Capabilities;
use freshet_sql::contains_ignoring_case;
use freshet_upstream::Error;

use super::Session;
use super::pool::{GivenUp, PoolFit};
use crate::environment::{Environment, Known, Transition, sets_only_what_is_read};
use crate::shared::Multiplexing;

/// What is in the names of variables that a session is known to have set by more than what is read of it.
const LEAVES_MORE: [&[u8]; 3] = [b"timestamp", b"max_", b"gtid"];

impl Session {
    /// Carries such a SET out, if it can be. False if it is the server's.
    pub(crate) fn sets_here(&mut self, text: &[u8]) -> bool {
        if !self.may_set_here(text) {
            return false;
        }
        let before = self.state.environment.current().filter(|before| before.begins_alike).cloned();
        let Some(before) = before else { return false };
        let transition = Transition::by(&before, text);
        // What transactions are like is noted of what the server says.
        let is_alike = |after: &Arc<Environment>| {
            after.transactions == before.transactions
                && after.unlogged == before.unlogged
                && after.tells_time == before.tells_time
        };
        let after = self.shared.environments.after_quietly(&before.account, &transition);
        let Some(after) = after.filter(is_alike) else { return false };
        let is_read = matches!(self.state.environment, Known::Read(_));
        let insert_id = self.state.given_up.take().map_or(0, |given_up| given_up.insert_id);
        self.state.schema.clone_from(&after.schema);
        let fit = PoolFit::new(&self.shared, &after, &self.admitted);
        self.state.given_up = Some(GivenUp { fit, insert_id });
        self.state.environment_version += 1;
        self.state.environment = if is_read { Known::Read(after) } else { Known::Recalled(after) };
        self.state.served.texts += 1;
        self.leaves_nothing();
        self.state.ended_since = Some(0);
        self.refresh_key();
        self.put_ok(0);
        true
    }

    /// Sees to it that what such a SET leads to is known the next time: how the session was before it is read first.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn_before_set(&mut self, text: &[u8]) -> Result<(), Error> {
        if self.may_set_here(text) && !matches!(self.state.environment, Known::Read(_)) {
            self.connect().await?;
            self.learn_quietly().await?;
        }
        Ok(())
    }

    /// Whether a text is such a SET of which the server need not know. To clients that track their session the server tells what has changed.
    fn may_set_here(&self, text: &[u8]) -> bool {
        !self.lease.is_open()
            && !self.lease.is_lost()
            && self.lease.prepared.are_none()
            && !self.ruled.are_there()
            && !self.capabilities().contains(Capabilities::SESSION_TRACK)
            && self.shared.options.multiplexing != Multiplexing::Off
            && self.state.tx.surely_autocommits()
            && self.state.tx.begun().is_none()
            && sets_only_what_is_read(text)
            && !LEAVES_MORE.iter().any(|word| contains_ignoring_case(text, word))
            && self.shared.gate.could_open(&self.admitted)
    }
}
