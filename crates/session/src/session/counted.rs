//! The cost of a statement that went to the server, counted by its digest.

use freshet_protocol::Command;

use super::destination::Destination;
use super::{Message, Session};
use crate::relay::Relayed;
use crate::statistics::{Cost, Whose};
use crate::template::Template;
use crate::why::{Refusal, Why};

impl Session {
    /// Returns where the last statement was answered.
    pub(crate) fn last_destination(&self) -> Destination {
        self.destination.get()
    }

    /// Notes that the server is answering, and why the answer was not stored, if it was not.
    pub(super) fn note_answered_by_server(&self, why_not_stored: Option<Why>) {
        self.destination.set(Destination::Server(why_not_stored));
    }

    /// Returns the schema, user and rule under which the statement under way is counted.
    pub(crate) fn whose(&self) -> Whose<'_> {
        let schema = self.state.environment.schema().unwrap_or_default();
        Whose { schema, user: &self.admitted.user, outcome: self.ruled.outcome() }
    }

    /// Counts the statement of a message, whose text counts as `text`, and returns the tag of its digest for its stored answer; 0 if the
    /// statement is not counted.
    pub(crate) fn count_sent(
        &self,
        Message { command, memo, .. }: Message<'_>,
        text: &[u8],
        relayed: &Relayed,
    ) -> u16 {
        let time = relayed.lasted;
        // Rules name a statement as the client sent it.
        let asked = self.ruled.asked();
        let memo = memo.filter(|_| asked.is_none());
        let text = asked.as_deref().unwrap_or(text);
        let is_statement = matches!(command, Command::Query | Command::StmtExecute) && !text.is_empty();
        let Some(statistics) = self.shared.statistics.as_ref().filter(|_| is_statement && !relayed.is_unsent)
        else {
            return 0;
        };
        let whose = self.whose();
        if let Some(refusal) = &relayed.refusal {
            statistics.count_error(whose, refusal);
        }
        // When the command came, and the time since.
        let ended_ms = self.handle.active_ms() + u64::try_from(time.as_millis()).unwrap_or_default();
        let cost = Cost { ended_ms, time, affected: relayed.affected, rows: relayed.rows };
        statistics.count_sent(whose, text, memo, cost)
    }

    /// Counts an answer that was stored, by the tag of its digest.
    pub(crate) fn count_stored(&self, tag: u16) {
        self.note_answered_by_server(None);
        if let Some(statistics) = &self.shared.statistics {
            statistics.count_stored(tag);
        }
    }

    /// Notes the tables that the statements of a digest read, and the name of their query.
    pub(crate) fn note_template(&self, tag: u16, template: &Template) {
        template.note_tag(tag);
        if let Some(statistics) = &self.shared.statistics {
            statistics.note_template(tag, &template.tables, &template.query);
        }
    }

    /// Counts an answer that was not stored, and the reason. An answer with an error is never stored.
    pub(crate) fn count_refused(&self, relayed: &Relayed, refusal: &Refusal) {
        self.note_answered_by_server(Some(refusal.why));
        let Some(statistics) = &self.shared.statistics else { return };
        match relayed.error {
            Some(code) if !relayed.is_unsent => {
                statistics.count_refused(relayed.tag, &Refusal::about(Why::Error, format!("error {code}")));
            }
            _ => statistics.count_refused(relayed.tag, refusal),
        }
    }
}
