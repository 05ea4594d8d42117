//! What a statement cost that went to the server, counted by its digest.

use std::time::Duration;

use freshet_protocol::Command;

use super::Session;
use crate::relay::Relayed;
use crate::statistics::Cost;

impl Session {
    /// Counts a statement, and returns the tag of its digest for what is stored of it; 0 if it is not counted.
    pub(super) fn count_sent(
        &self,
        (command, text): (Command, &[u8]),
        time: Duration,
        relayed: &Relayed,
    ) -> u16 {
        let is_statement = matches!(command, Command::Query | Command::StmtExecute) && !text.is_empty();
        let Some(statistics) = self.shared.statistics.as_ref().filter(|_| is_statement && !relayed.is_unsent)
        else {
            return 0;
        };
        let whose = (self.state.schema.as_deref().unwrap_or_default(), &self.admitted.user[..]);
        let cost = Cost { time, affected: relayed.affected, rows: relayed.rows };
        statistics.count_sent(whose, text, (cost, self.ruled.outcome()))
    }
}
