//! Having the server report what must be known of a session.
//!
//! What the client asked to be told goes through the same variables of the session, `session_track_…`. While those hold what we
//! need, the client is told what it asked for and no more (`relay/filter.rs`). A statement that shows or sets them finds the
//! client's own values: they are put back in the same breath, and read again before the next statement that may follow a question
//! of ours.

use std::sync::Arc;

use freshet_cache::Dep;
use freshet_protocol::Command;
use freshet_sql::{Effects, Flavor, TrackingEffect};
use freshet_upstream::Error;

use super::{Reports, Session};
use crate::relay::Lost;

/// How far the server has been asked to report what must be known of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// It has not been asked, and may refuse.
    Unmet,
    /// It is asked together with the next command: until then nothing happens that it would report.
    Due,
    /// It does, and is asked once more together with the next command, so that its answer tells what it reports only then.
    Again,
    /// It was asked, and its answer comes before that to the command.
    Sent,
    /// It does.
    On,
    /// The client's own settings are put back together with the next command.
    Returns(Naming),
    /// They were, and the answer comes before that to the command.
    Returned(Naming),
    /// The server reports what the client asked for, and nothing else.
    Own(Naming),
    /// Unknown code has changed the settings while they were the client's own: the client is told what the server reports.
    Lost,
    /// Unknown code has changed the settings while they were ours: what is not reported any more is not known here.
    Blurred,
}

/// What a statement does that names the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Naming {
    Shows,
    Sets,
}

impl Tracking {
    /// A statement that names the settings is the next to be sent.
    pub(crate) fn named(self, naming: Naming) -> Self {
        match self {
            Self::Unmet | Self::Lost | Self::Blurred => self,
            Self::Due => Self::Own(naming),
            Self::On | Self::Again | Self::Sent => Self::Returns(naming),
            Self::Own(before) | Self::Returns(before) | Self::Returned(before) => {
                Self::Own(before.max(naming))
            }
        }
    }

    /// Whether all reports are what the client asked for.
    pub(crate) fn is_clients(self) -> bool {
        matches!(self, Self::Own(_) | Self::Returned(_) | Self::Lost)
    }

    /// Whether nothing of the session changes unheard.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::Due | Self::Again | Self::On)
    }
}

impl Session {
    /// The statement that sets the server's reports up, or puts the client's own settings back, if that is due: it goes with
    /// the next command.
    pub(super) fn due_tracking(&mut self) -> Option<String> {
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
                let told = self.state.told.as_ref();
                Some(told.map_or_else(|| defaults(self.flavor()), |told| told.statement(self.flavor())))
            }
            _ => None,
        }
    }

    /// What the server is to report, for the client and for us.
    fn reports_of_ours(&self) -> Option<Reports> {
        let query = self.shared.vector(self.lease.version()?)?;
        Some(self.state.told.as_deref().unwrap_or(&Reports::default()).with_ours(self.flavor(), &query))
    }

    /// Takes the reports back that a statement of the client's has had to itself.
    ///
    /// # Errors
    /// The connection is lost.
    async fn take_reports_back(&mut self) -> Result<(), Error> {
        if self.lease.tracking == Tracking::Own(Naming::Sets) {
            self.state.environment_is_unknown();
        }
        if matches!(self.lease.tracking, Tracking::Own(_)) { self.learn().await } else { Ok(()) }
    }

    /// Notes what the server reports, as it has just said.
    pub(super) fn reports_are(&mut self, reports: Option<Reports>) {
        let Some(reports) = reports else {
            self.lease.tracking = Tracking::Lost;
            return;
        };
        match self.lease.tracking {
            Tracking::Due | Tracking::Own(_) => {
                self.state.told = Some(Arc::new(reports));
                self.lease.tracking = Tracking::Due;
            }
            // Unknown code has changed them: what happened since is not known, nor what the client is to be told.
            Tracking::On if !self.reports_of_ours().is_some_and(|ours| ours.are_like(&reports)) => {
                self.lease.tracking = Tracking::Blurred;
                // It may have kept its writes out of the binlog, too.
                self.shared.upstream.changed_unlogged(&[Dep::EVERYTHING]);
            }
            _ => {}
        }
    }

    /// Before a statement that names the client's own settings of what it is told, they are put back; before one that may
    /// follow a question of ours, ours are.
    pub(super) async fn hand_reports_over(
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
                let taken = Box::pin(self.take_reports_back()).await;
                return taken.map_err(|error| Lost::Upstream(std::io::Error::other(error)));
            }
            TrackingEffect::None => {}
            TrackingEffect::Shows => self.lease.tracking = self.lease.tracking.named(Naming::Shows),
            TrackingEffect::Sets | TrackingEffect::Obscured => {
                self.lease.tracking = self.lease.tracking.named(Naming::Sets);
            }
        }
        Ok(())
    }

    /// Reads what the server says to being asked for reports, if it was asked with the command under way.
    pub(super) async fn finish_tracking(&mut self) -> Result<(), Lost> {
        if self.lease.tracking == Tracking::Sent {
            let answer = Box::pin(self.unseen_answer(Command::Query)).await?;
            self.characterized(&answer);
            // An account whose password has expired may do nothing but change it; once it has, this succeeds.
            self.lease.tracking = if answer.error.is_none() { Tracking::On } else { Tracking::Unmet };
        } else if let Tracking::Returned(naming) = self.lease.tracking {
            let answer = Box::pin(self.unseen_answer(Command::Query)).await?;
            self.lease.tracking = if answer.error.is_none() { Tracking::Own(naming) } else { Tracking::Lost };
        }
        Ok(())
    }
}

/// The statement that sets a session's reports as they are after a login.
fn defaults(flavor: Flavor) -> String {
    let gtids = if flavor == Flavor::MySql { "SESSION session_track_gtids=DEFAULT, " } else { "" };
    format!(
        "SET {gtids}SESSION session_track_transaction_info=DEFAULT, SESSION session_track_schema=DEFAULT, \
         SESSION session_track_state_change=DEFAULT, SESSION session_track_system_variables=DEFAULT"
    )
}

#[cfg(test)]
mod tests;
