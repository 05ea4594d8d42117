//! A SELECT of literals and settings by a client that has no connection to the server: drivers send some at their start, and to look
//! whether the server is there. It is answered with what the server has told another session in the same environment.
//!
//! A client that has a connection asks the server: it may want to know whether the connection is alive.

use std::sync::Arc;

use freshet_sql::shows_settings_alone;

use super::Session;
use crate::auth::Epoch;
use crate::coalescing::AnswerPackets;
use crate::environment::{Environment, is_of_sessions};
use crate::relay::{Capture, Captured, Relayed};

/// The most bytes of an answer that is kept.
const ANSWER_BYTES_MAX: usize = 4096;

/// The variables that have the same value in all sessions as long as the server runs, and that drivers ask for.
const OF_SERVER: [&str; 17] = [
    "basedir",
    "character_set_system",
    "datadir",
    "hostname",
    "innodb_page_size",
    "innodb_version",
    "license",
    "lower_case_file_system",
    "lower_case_table_names",
    "performance_schema",
    "port",
    "protocol_version",
    "socket",
    "system_time_zone",
    "version",
    "version_comment",
    "version_compile_os",
];

/// A SELECT whose answer is to be remembered.
pub(crate) struct ShownBySelect {
    environment: Arc<Environment>,
    since: Epoch,
}

impl Session {
    /// Answers a SELECT of literals and settings, if the session has no connection and the answer is known.
    pub(crate) fn shows_settings(&mut self, text: &[u8]) -> bool {
        if self.lease.is_open() || !self.may_be_answered_here() || !self.is_of_settings(text) {
            return false;
        }
        self.recall();
        let known = self.state.environment.current().filter(|known| known.begins_alike);
        let answer = known
            .zip(self.shared.gate.epoch())
            .and_then(|(known, now)| self.shared.shown_settings.of(text, known, now));
        answer.is_some_and(|answer| self.answer_with_packets(&answer, text))
    }

    /// Has the server's answer to a SELECT copied on its way, if it is one of literals and settings and its answer is not known yet.
    pub(crate) fn learns_settings(&self, text: &[u8]) -> Option<(ShownBySelect, Capture)> {
        let environment = self.environment()?;
        let since = self.shared.gate.epoch()?;
        let is_new = environment.begins_alike
            && self.state.tx.is_clear()
            && !self.ruled.are_there()
            && self.is_of_settings(text)
            && self.shared.shown_settings.of(text, environment, since).is_none();
        let budget = &self.shared.bounds().fill;
        is_new.then(|| {
            let shown = ShownBySelect { environment: Arc::clone(environment), since };
            (shown, Capture::new(ANSWER_BYTES_MAX, budget).of_no_table())
        })
    }

    /// Remembers the answer to such a SELECT, if nothing has changed meanwhile.
    pub(crate) fn has_learned_settings(&self, shown: &ShownBySelect, text: &[u8], relayed: &mut Relayed) {
        let ShownBySelect { environment, since } = shown;
        let is_unchanged = self.shared.gate.epoch() == Some(*since)
            && self.environment().is_some_and(|now| Arc::ptr_eq(now, environment));
        // A `sql_select_limit` or a LIMIT of 0 takes the row away.
        let is_whole = |captured: &Captured| is_unchanged && captured.rows == 1;
        let Some(captured) = relayed.captured.take().filter(is_whole) else { return };
        let (status_at, status, tag) = (captured.status_at, captured.status, relayed.tag);
        let answer = AnswerPackets { body: captured.body, status_at, status, found_rows: Some(1), tag };
        self.shared.shown_settings.note(text, environment, *since, answer);
    }

    fn is_of_settings(&self, text: &[u8]) -> bool {
        let is_known = |name: &str| OF_SERVER.contains(&name) || is_of_sessions(name);
        shows_settings_alone(text, self.modes(), &is_known)
    }
}
