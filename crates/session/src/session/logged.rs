//! Writing a statement to the query log, if a rule says so (`query_log.rs`).

use super::Session;
use super::ruled::{Logged, RowCounts};
use crate::query_log::{self, Event};
use crate::relay::Relayed;

impl Session {
    /// Begins a log line for a command that arrives, if there may be one: the rules decide later.
    pub(crate) fn begins_line(&mut self, begin: impl FnOnce() -> Logged) {
        let may_be = self.ruled.are_there() && self.shared.rules.log.is_on();
        self.ruled.logged = may_be.then(begin);
    }

    /// Whether the command under way may have a log line.
    pub(crate) fn has_line(&self) -> bool {
        self.ruled.logged.is_some()
    }

    /// Notes what the server did for the statement under way.
    pub(crate) fn note_sent(&mut self, relayed: &Relayed) {
        let sent = self.ruled.ruling.sent.get_or_insert_default();
        sent.affected += relayed.affected;
        sent.rows += relayed.rows;
    }

    /// Writes the line of a statement that has ended, if the rules want one.
    pub(crate) fn ends_line(&mut self, query: &[u8]) {
        let logged = self.ruled.logged.take().filter(|_| self.ruled.is_logged());
        let Some(Logged { began, at, command }) = logged else { return };
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
