//! The requests for the server's reports, and the reports that the client gets.

use std::sync::Arc;

use freshet_cache::Dep;
use freshet_protocol::Command;
use freshet_sql::{Effects, Flavor, TrackingEffect};
use freshet_upstream::Error;

use super::{Naming, Tracking};
use crate::relay::Lost;
use crate::session::{Reports, Session};

impl Session {
    /// Returns the statement that sets up the server's reports, or puts the client's own settings back, if that is due. It is sent with
    /// the next command.
    pub(in crate::session) fn due_tracking(&mut self) -> Option<String> {
        match self.lease.tracking {
            Tracking::Due => {
                let ours = self.reports_of_ours()?;
                self.lease.tracking = Tracking::Sent;
                Some(ours.statement(self.flavor()))
            }
            Tracking::Again => {
                let ours = self.reports_of_ours()?;
                self.lease.tracking = Tracking::Sent;
                Some(ours.statement_in_transaction())
            }
            Tracking::Returns(naming) => {
                self.lease.tracking = Tracking::Returned(naming);
                let flavor = self.flavor();
                let keeps_gtids = flavor == Flavor::MySql && self.state.tx.may_be_open_at_server();
                self.lease.keeps_gtids = keeps_gtids;
                Some(match self.state.told.as_ref() {
                    Some(told) if keeps_gtids => told.statement_in_transaction(),
                    Some(told) => told.statement(flavor),
                    None => defaults(flavor == Flavor::MySql && !keeps_gtids),
                })
            }
            _ => None,
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
        if self.lease.tracking == Tracking::Own(Naming::Sets) {
            self.state.environment_is_unknown();
        }
        self.learn().await
    }

    /// Notes the settings of the reports that the server has just shown.
    pub(in crate::session) fn reports_are(&mut self, reports: Option<Reports>) {
        let Some(reports) = reports else {
            self.lease.tracking = Tracking::Lost;
            return;
        };
        match self.lease.tracking {
            // What the server has shown of the GTIDs are Freshet's own settings still.
            Tracking::Own(_) if self.lease.keeps_gtids => {
                let gtids = self.state.told.as_ref().map_or(Reports::default().gtids, |told| told.gtids);
                self.state.told = Some(Arc::new(Reports { gtids, ..reports }));
                self.lease.tracking = Tracking::Again;
            }
            Tracking::Due | Tracking::Own(_) => {
                self.state.told = Some(Arc::new(reports));
                self.lease.tracking = Tracking::Due;
            }
            // Unknown code has changed the settings: changes since then are unknown, and so are the reports that the client wants.
            Tracking::On if !self.reports_of_ours().is_some_and(|ours| ours.are_like(&reports)) => {
                self.lease.tracking = Tracking::Blurred;
                // The code may have kept its writes out of the binlog, too.
                self.shared.upstream.changed_unlogged(&[Dep::EVERYTHING]);
            }
            _ => {}
        }
    }

    /// Before a statement that names the client's own report settings, puts these back; before a statement that may
    /// follow a question of Freshet's, sets Freshet's.
    pub(in crate::session) async fn hand_reports_over(
        &mut self,
        effects: &Effects,
        command: Command,
        asks_back: bool,
    ) -> Result<(), Lost> {
        let runs = matches!(command, Command::Query | Command::StmtExecute | Command::StmtBulkExecute);
        match effects.tracking {
            TrackingEffect::None if runs && !asks_back => {
                let asks_anew = std::mem::take(&mut self.lease.asks_anew);
                if asks_anew && self.lease.tracking == Tracking::On {
                    self.lease.tracking = Tracking::Again;
                }
                if let Tracking::Own(_) = self.lease.tracking {
                    let taken = Box::pin(self.take_reports_back()).await;
                    return taken.map_err(|error| Lost::Upstream(std::io::Error::other(error)));
                }
            }
            TrackingEffect::None => {}
            TrackingEffect::Shows => self.lease.tracking = self.lease.tracking.named(Naming::Shows),
            TrackingEffect::Sets | TrackingEffect::Obscured => {
                self.lease.tracking = self.lease.tracking.named(Naming::Sets);
            }
        }
        Ok(())
    }

    /// Reads the server's reply to the request for reports, if it was sent with the command under way.
    pub(in crate::session) async fn finish_tracking(&mut self) -> Result<(), Lost> {
        if self.lease.tracking == Tracking::Sent {
            let answer = Box::pin(self.lease.unseen_answer(Command::Query, &self.handle)).await?;
            self.characterized(&answer);
            // An account whose password has expired may only change the password; after that, this succeeds.
            self.lease.tracking = if answer.error.is_none() { Tracking::On } else { Tracking::Unmet };
        } else if let Tracking::Returned(naming) = self.lease.tracking {
            let answer = Box::pin(self.lease.unseen_answer(Command::Query, &self.handle)).await?;
            self.lease.tracking = if answer.error.is_none() { Tracking::Own(naming) } else { Tracking::Lost };
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
