//! The requests for the server's reports, and the reports that the client gets.

use std::sync::Arc;

use freshet_cache::Dep;
use freshet_protocol::Command;
use freshet_sql::{Effects, Flavor, TrackingEffect};
use freshet_upstream::Error;

use super::tracking::{Naming, ReportRequest, Shown};
use super::{Reports, Session};
use crate::relay::Lost;

impl Session {
    /// Returns the statement that sets up the server's reports, or puts the client's own settings back, if that is due. It is sent with
    /// the next command.
    pub(super) fn due_tracking(&mut self) -> Option<String> {
        let due = self.lease.tracking.due()?;
        let flavor = self.flavor();
        match due {
            request @ (ReportRequest::Ours | ReportRequest::OursAgain) => {
                let ours = self.reports_of_ours()?;
                self.lease.tracking.note_requested();
                let is_again = request == ReportRequest::OursAgain;
                Some(if is_again { ours.statement_in_transaction() } else { ours.statement(flavor) })
            }
            ReportRequest::Clients => {
                let keeps_gtids = flavor == Flavor::MySql && self.state.tx.may_be_open_at_server();
                self.lease.tracking.note_put_back(keeps_gtids);
                Some(match self.state.told.as_ref() {
                    Some(told) if keeps_gtids => told.statement_in_transaction(),
                    Some(told) => told.statement(flavor),
                    None => defaults(flavor == Flavor::MySql && !keeps_gtids),
                })
            }
        }
    }

    /// Returns the reports that the server is to send, for the client and for Freshet.
    fn reports_of_ours(&self) -> Option<Reports> {
        let query = self.shared.vector(self.lease.version()?)?;
        Some(self.state.told.as_deref().unwrap_or(&Reports::default()).with_ours(self.flavor(), &query))
    }

    /// Takes back the reports after a statement that used the client's own settings.
    ///
    /// # Errors
    /// The connection is lost.
    async fn take_reports_back(&mut self) -> Result<(), Error> {
        if self.lease.tracking.may_be_set() {
            self.state.environment.note_unknown();
        }
        self.learn().await
    }

    /// Notes the settings of the reports that the server has just shown.
    pub(super) fn reports_are(&mut self, reports: Option<Reports>) {
        let Some(reports) = reports else {
            self.lease.tracking.note_lost();
            return;
        };
        if self.lease.tracking.is_on() {
            if !self.reports_of_ours().is_some_and(|ours| ours.are_like(&reports)) {
                self.lease.tracking.note_ours_changed();
                // The code may have kept its writes out of the binlog, too.
                self.shared.upstream.changed_unlogged(&[Dep::EVERYTHING]);
            }
            return;
        }
        let told = match self.lease.tracking.note_clients_shown() {
            Some(Shown::All) => reports,
            Some(Shown::AllButGtids) => {
                let gtids = self.state.told.as_ref().map_or(Reports::default().gtids, |told| told.gtids);
                Reports { gtids, ..reports }
            }
            None => return,
        };
        self.state.told = Some(Arc::new(told));
    }

    /// Before a statement that names the client's own report settings, puts these back; before a statement that may
    /// follow a question of Freshet's, sets Freshet's.
    pub(super) async fn hand_reports_over(
        &mut self,
        effects: &Effects,
        command: Command,
        asks_back: bool,
    ) -> Result<(), Lost> {
        let runs = matches!(command, Command::Query | Command::StmtExecute | Command::StmtBulkExecute);
        match effects.tracking {
            TrackingEffect::None if runs && !asks_back => {
                self.lease.tracking.note_next_statement();
                if self.lease.tracking.is_own() {
                    let taken = Box::pin(self.take_reports_back()).await;
                    return taken.map_err(|error| Lost::Upstream(std::io::Error::other(error)));
                }
            }
            TrackingEffect::None => {}
            TrackingEffect::Shows => self.lease.tracking.note_named(Naming::Shows),
            TrackingEffect::Sets | TrackingEffect::Obscured => {
                self.lease.tracking.note_named(Naming::Sets);
            }
        }
        Ok(())
    }

    /// Reads the server's reply to the request for reports, or to the client's own settings, if it was sent with the command under way.
    pub(super) async fn finish_tracking(&mut self) -> Result<(), Lost> {
        let (is_requested, is_returned) =
            (self.lease.tracking.is_requested(), self.lease.tracking.is_returned());
        if is_requested || is_returned {
            let answer = Box::pin(self.lease.unseen_answer(Command::Query, &self.handle)).await?;
            if is_requested {
                self.characterized(&answer);
            }
            self.lease.tracking.note_reply(answer.error.is_none());
        }
        Ok(())
    }
}

/// Returns the statement that sets a session's reports as they are after a login; `has_gtids`: the GTIDs too.
fn defaults(has_gtids: bool) -> String {
    let gtids = if has_gtids { "SESSION session_track_gtids=DEFAULT, " } else { "" };
    format!(
        "SET {gtids}SESSION session_track_transaction_info=DEFAULT, SESSION session_track_schema=DEFAULT, \
         SESSION session_track_state_change=DEFAULT, SESSION session_track_system_variables=DEFAULT"
    )
}
