//! Writing a statement to the query log, if a rule says so (`query_log.rs`).

use std::time::{Instant, SystemTime};

use super::Session;
use super::ruled::RowCounts;
use crate::query_log::{self, Event};
use crate::relay::Relayed;

/// A statement under way that may get a line in the query log.
#[derive(Debug)]
pub(crate) struct Logged {
    began: SystemTime,
    at: Instant,
    command: &'static str,
}

impl Logged {
    /// Begins the line of a text.
    pub(crate) fn text() -> Self {
        Self::new("COM_QUERY")
    }

    /// Begins the line of an execution of a prepared statement.
    pub(crate) fn execution() -> Self {
        Self::new("COM_STMT_EXECUTE")
    }

    fn new(command: &'static str) -> Self {
        Self { began: SystemTime::now(), at: Instant::now(), command }
    }
}

impl Session {
    /// Begins a log line for a command that arrives, if there may be one: the rules decide later.
    pub(crate) fn begins_line(&self, begin: impl FnOnce() -> Logged) -> Option<Box<Logged>> {
        let may_be = self.ruled.are_there() && self.shared.rules.log.is_on();
        may_be.then(|| Box::new(begin()))
    }

    /// Notes what the server did for the statement under way.
    pub(crate) fn note_sent(&mut self, relayed: &Relayed) {
        let sent = self.ruled.ruling.sent.get_or_insert_default();
        sent.affected += relayed.affected;
        sent.rows += relayed.rows;
    }

    /// Writes the line of a statement that has ended, if the rules want one.
    pub(crate) fn ends_line(&self, line: &Logged, query: &[u8]) {
        if !self.ruled.is_logged() {
            return;
        }
        let Logged { began, at, command } = *line;
        let sent = self.ruled.ruling.sent.map(|RowCounts { affected, rows }| query_log::Sent {
            hostgroup: self.ruled.hostgroup(),
            server: self.shared.upstream.config().address.to_string(),
            rows_affected: affected,
            rows_sent: rows,
        });
        self.shared.rules.log.write(&Event {
            command,
            thread_id: self.admitted.connection_id,
            user: &self.admitted.user,
            schema: self.state.environment.schema().unwrap_or_default(),
            client: self.wire.ends().map(|(client, _)| client),
            query,
            digests: self.shared.rules.digests(),
            began,
            took: at.elapsed(),
            sent,
        });
    }
}
