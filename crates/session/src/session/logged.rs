//! A statement that is written to the query log, if a rule says so (`query_log.rs`).

use std::time::{Instant, SystemTime};

use super::Session;
use super::ruled::Sent;
use crate::query_log::{self, Event};
use crate::relay::Relayed;

/// One that is under way.
#[derive(Debug)]
pub(crate) struct Logged {
    began: SystemTime,
    at: Instant,
    command: &'static str,
}

impl Logged {
    /// A text.
    pub(crate) fn text() -> Self {
        Self::new("COM_QUERY")
    }

    /// An execution of a prepared statement.
    pub(crate) fn execution() -> Self {
        Self::new("COM_STMT_EXECUTE")
    }

    fn new(command: &'static str) -> Self {
        Self { began: SystemTime::now(), at: Instant::now(), command }
    }
}

impl Session {
    /// Begins a line for a command that comes, if there may be one for it: it is decided later.
    pub(crate) fn begins_line(&self, begin: impl FnOnce() -> Logged) -> Option<Logged> {
        (self.ruled.are_there() && self.shared.rules.log.is_on()).then(begin)
    }

    /// Notes what the server did for the statement under way.
    pub(crate) fn note_sent(&mut self, relayed: &Relayed) {
        let sent = self.ruled.ruling.sent.get_or_insert_default();
        sent.affected += relayed.affected;
        sent.rows += relayed.rows;
    }

    /// Writes the line of a statement that has ended, if it is to have one.
    pub(crate) fn ends_line(&self, logged: Option<Logged>, query: &[u8]) {
        let Some(Logged { began, at, command }) = logged.filter(|_| self.ruled.is_logged()) else { return };
        let sent = self.ruled.ruling.sent.map(|Sent { affected, rows }| query_log::Sent {
            hostgroup: self.ruled.hostgroup(),
            server: self.shared.upstream.config().address.to_string(),
            rows_affected: affected,
            rows_sent: rows,
        });
        self.shared.rules.log.write(&Event {
            command,
            thread_id: self.admitted.connection_id,
            user: &self.admitted.user,
            schema: self.state.schema.as_deref().unwrap_or_default(),
            client: self.wire.ends().map(|(client, _)| client),
            query,
            digests: self.shared.rules.digests(),
            began,
            took: at.elapsed(),
            sent,
        });
    }
}
