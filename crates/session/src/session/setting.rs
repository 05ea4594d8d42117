//! A SET of constants by a client that has no connection to the server, as drivers send at their start. If Freshet knows the resulting
//! environment, it does not ask the server. The session is then like one that has given up a connection in that environment
//! (`giving_up.rs`).

use std::sync::Arc;

use freshet_protocol::Capabilities;
use freshet_upstream::Error;

use super::Session;
use super::pool::{GivenUp, PoolFit};
use crate::environment::{Environment, Known, Transition, assigns_only, path};
use crate::shared::Multiplexing;

/// The variables that such a SET may name: they change how statements are read and answers written, and nothing else that Freshet notes.
/// SET NAMES is allowed by itself.
const VARIABLES: [&str; 11] = [
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "foreign_key_checks",
    "group_concat_max_len",
    "sql_mode",
    "sql_safe_updates",
    "time_zone",
    "unique_checks",
];

/// Whether a text sets these variables alone.
fn sets_these_alone(text: &[u8]) -> bool {
    // No value of theirs has a `=`.
    let is_one = |name: &str| VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name));
    assigns_only(text, |name, value| is_one(name) && !value.contains('='))
}

impl Session {
    /// Carries out a SET that [may be carried out here](Session::may_set_here), if the resulting environment is known. Returns false if the
    /// SET is for the server.
    pub(crate) fn sets_here(&mut self, text: &[u8]) -> bool {
        let before = self.state.environment.current().filter(|before| before.begins_alike).cloned();
        let Some(before) = before else { return false };
        let transition = Transition::by(&before, text);
        // How transactions behave is only learned from the server.
        let is_alike = |after: &Arc<Environment>| {
            after.transactions == before.transactions
                && after.unlogged == before.unlogged
                && after.tells_time == before.tells_time
        };
        let server = self.shared.upstream.server();
        let query = server.and_then(|server| self.shared.vector(&server.version_text));
        let leads_there =
            |after: &Arc<Environment>| query.is_some_and(|query| path(&query, &before, after).is_some());
        let after = self.shared.environments.after_quietly(&before.account, &transition);
        let Some(after) = after.filter(is_alike).filter(leads_there) else { return false };
        let is_read = matches!(self.state.environment, Known::Read(_));
        self.handle.may_be_silent_for(after.idle_s_max.saturating_mul(1000));
        let before = self.state.given_up.take();
        let insert_id = before.as_ref().map_or(0, |given_up| given_up.insert_id);
        // How a session begins that has had no connection yet shows when it gets one.
        let said = before.map_or_else(|| Some(Vec::new()), |given_up| given_up.said);
        let said = said.filter(|_| !is_read).map(|mut said| {
            said.push(String::from_utf8_lossy(text).into_owned());
            said
        });
        self.state.schema.clone_from(&after.schema);
        let fit = PoolFit::new(&self.shared, &after, &self.admitted);
        self.state.given_up = Some(GivenUp { fit, insert_id, said });
        self.state.environment_version += 1;
        self.state.environment = if is_read { Known::Read(after) } else { Known::Recalled(after) };
        self.state.served.texts += 1;
        self.leaves_nothing();
        self.state.ended_since = Some(0);
        self.refresh_key();
        self.put_ok(0);
        true
    }

    /// Reads the environment before such a SET, so that the effect of the SET is known the next time.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn_before_set(&mut self) -> Result<(), Error> {
        if !matches!(self.state.environment, Known::Read(_)) {
            self.connect().await?;
            self.learn_quietly().await?;
        }
        Ok(())
    }

    /// Whether the server need not know of this SET. Clients that track their session hear of the changes from the server.
    pub(crate) fn may_set_here(&self, text: &[u8]) -> bool {
        !self.lease.is_open()
            && !self.lease.is_lost()
            && self.lease.prepared.are_none()
            && !self.ruled.are_there()
            && !self.capabilities().contains(Capabilities::SESSION_TRACK)
            && self.shared.options.multiplexing != Multiplexing::Off
            && self.state.tx.surely_autocommits()
            && self.state.tx.begun().is_none()
            && sets_these_alone(text)
            && std::str::from_utf8(text).is_ok()
            && self.shared.gate.could_open(&self.admitted)
    }
}

#[cfg(test)]
mod tests {
    use super::sets_these_alone;

    #[test]
    fn only_what_changes_texts_and_answers_is_set_without_the_server() {
        for text in [
            "SET NAMES utf8mb4",
            "set names 'latin1' COLLATE latin1_bin, SESSION sql_mode = 'ANSI'",
            "SET sql_mode='', time_zone := '+00:00'",
            "SET LOCAL foreign_key_checks=0",
        ] {
            assert!(sets_these_alone(text.as_bytes()), "{text}");
        }
        for text in [
            "SET auto_increment_increment = 2",
            "SET wait_timeout=60, sql_mode=''",
            "SET SESSION TRANSACTION READ ONLY",
            "SET sql_mode='', timestamp=1",
            "SET sql_mode='a=b'",
            "SET",
        ] {
            assert!(!sets_these_alone(text.as_bytes()), "{text}");
        }
    }
}
