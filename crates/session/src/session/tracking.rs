//! Making the server report the session facts that Freshet needs.
//!
//! The reports that the client asked for use the same variables of the session, `session_track_…`. While the variables have Freshet's
//! values, the client gets only the reports that it asked for (`relay/filter.rs`). A statement that shows or sets the variables finds the
//! client's own values: Freshet puts them back in the same write, and reads them again before the next statement that may follow a question
//! of Freshet's own.
//!
//! Only the methods of [`Tracking`] change what is known of the reports on one connection: each is named for what has happened.
//! `session/reporting.rs` calls most of them. Each row of this table is one transition; from any other stage, nothing changes.
//!
//! | what has happened | method | from | the new stage |
//! |---|---|---|---|
//! | the server can be asked for its reports | [`Tracking::note_met`] | [`TrackingStage::Unmet`] | [`TrackingStage::Due`] |
//! | the request for Freshet's reports is sent with the next command | [`Tracking::note_requested`] | `Due`, `Again` | [`TrackingStage::Sent`] |
//! | the server has granted the request | [`Tracking::note_reply`] | `Sent` | [`TrackingStage::On`] |
//! | the server has refused it | [`Tracking::note_reply`] | `Sent` | `Unmet` |
//! | the next statement names the settings | [`Tracking::note_named`] | `Due` | [`TrackingStage::Own`] |
//! | the same | [`Tracking::note_named`] | `On`, `Again`, `Sent` | [`TrackingStage::Returns`] |
//! | the same | [`Tracking::note_named`] | `Own`, `Returns`, `Returned` | `Own`; it may have been set if either statement sets |
//! | the client's own settings are put back with the next command | [`Tracking::note_put_back`] | `Returns` | [`TrackingStage::Returned`] |
//! | the server has carried that out | [`Tracking::note_reply`] | `Returned` | `Own` |
//! | the server has refused that | [`Tracking::note_reply`] | `Returned` | [`TrackingStage::Lost`] |
//! | the environment is read after a statement that only shows the settings | [`Tracking::note_environment_is_read`] | `Own`, shown | `Due` |
//! | the server has shown the client's own settings | [`Tracking::note_clients_shown`] | `Due`, `Own` | `Due` |
//! | the same, but for the GTIDs | [`Tracking::note_clients_shown`] | `Own`, while Freshet's GTIDs are kept | [`TrackingStage::Again`] |
//! | unknown code has changed Freshet's settings | [`Tracking::note_ours_changed`] | `On` | [`TrackingStage::Blurred`] |
//! | nobody knows the client's own settings any more | [`Tracking::note_lost`] | any | `Lost` |
//! | a transaction has ended with an answer without room for the reports that are due then | [`Tracking::note_end_unreported`] | any | the same; see the next row |
//! | a statement is sent that may follow a question of Freshet's own | [`Tracking::note_next_statement`] | `On`, after such an end | `Again` |
//! | an answer without a report of a schema | [`Tracking::note_schema_unreported`] | any | the same; the report may come later if the answer announced it |
//! | a question of Freshet's own has opened a view | [`Tracking::note_view_opened`] | any | the same; a report of a schema may come later |
//! | the server has reported a schema | [`Tracking::note_schema_reported`] | any | the same; no such report is to come any more |

/// What is known of the server's reports on one connection.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    stage: TrackingStage,
    /// The client's own settings were put back in an open transaction, without the GTIDs, which MySQL lets nobody set there.
    keeps_gtids: bool,
    /// The server must be asked for its reports anew before the next statement that may follow a question of Freshet's own.
    asks_anew: bool,
    /// An answer without room for a report announced a change of the session's state that an opened view explains.
    announced: bool,
}

/// How far the server has been asked for the reports that Freshet needs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TrackingStage {
    /// The server has not been asked, and may refuse.
    #[default]
    Unmet,
    /// The server is asked together with the next command: until then nothing happens that it would report.
    Due,
    /// The server reports, and is asked once more together with the next command. Its answer then includes what it reports only at that
    /// point.
    Again,
    /// The server was asked, and its reply comes before the answer to the command.
    Sent,
    /// The server reports.
    On,
    /// The client's own settings are put back together with the next command.
    Returns(Naming),
    /// The client's own settings were put back, and the reply comes before the answer to the command.
    Returned(Naming),
    /// The server reports only what the client asked for.
    Own(Naming),
    /// Unknown code has changed the settings while they were the client's own: the client gets all of the server's reports.
    Lost,
    /// Unknown code has changed the settings while they were Freshet's: facts that are not reported any more are unknown here.
    Blurred,
}

/// What a statement does with the settings that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    Shows,
    Sets,
}

/// What goes to the server together with the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportRequest {
    /// Freshet's settings of the reports.
    Ours,
    /// The same once more, in an open transaction.
    OursAgain,
    /// The client's own settings.
    Clients,
}

/// Which of the settings that the server has shown are the client's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    All,
    /// What the server has shown of the GTIDs are Freshet's own settings still.
    AllButGtids,
}

/// The transitions.
impl Tracking {
    /// Notes that the server is known, and will not refuse the request for its reports.
    pub(super) fn note_met(&mut self) {
        if self.stage == TrackingStage::Unmet {
            self.stage = TrackingStage::Due;
        }
    }

    /// Notes that Freshet's settings, which are due, are sent with the next command.
    pub(super) fn note_requested(&mut self) {
        if matches!(self.stage, TrackingStage::Due | TrackingStage::Again) {
            self.stage = TrackingStage::Sent;
        }
    }

    /// Notes that the client's own settings, which are due, are sent with the next command; `keeps_gtids`: except for the GTIDs.
    pub(super) fn note_put_back(&mut self, keeps_gtids: bool) {
        if let TrackingStage::Returns(naming) = self.stage {
            (self.stage, self.keeps_gtids) = (TrackingStage::Returned(naming), keeps_gtids);
        }
    }

    /// Notes the server's reply to the settings that were sent with a command.
    pub(super) fn note_reply(&mut self, is_granted: bool) {
        self.stage = match self.stage {
            // An account whose password has expired may only change the password; after that, the request succeeds.
            TrackingStage::Sent if is_granted => TrackingStage::On,
            TrackingStage::Sent => TrackingStage::Unmet,
            TrackingStage::Returned(naming) if is_granted => TrackingStage::Own(naming),
            TrackingStage::Returned(_) => TrackingStage::Lost,
            other => other,
        };
    }

    /// Notes that the next statement to be sent names the settings.
    pub(super) fn note_named(&mut self, naming: Naming) {
        self.stage = match self.stage {
            TrackingStage::Unmet | TrackingStage::Lost | TrackingStage::Blurred => self.stage,
            TrackingStage::Due => TrackingStage::Own(naming),
            TrackingStage::On | TrackingStage::Again | TrackingStage::Sent => TrackingStage::Returns(naming),
            TrackingStage::Own(before) | TrackingStage::Returns(before) | TrackingStage::Returned(before) => {
                TrackingStage::Own(before.max(naming))
            }
        };
    }

    /// Notes that the environment is up to date, or is read next: statements that only show the settings have left them as Freshet knows
    /// them.
    pub(super) fn note_environment_is_read(&mut self) {
        if self.stage == TrackingStage::Own(Naming::Shows) {
            self.stage = TrackingStage::Due;
        }
    }

    /// Notes that the server has shown its settings. Returns which of them are the client's own; `None` if Freshet's are in force.
    pub(super) fn note_clients_shown(&mut self) -> Option<Shown> {
        let (stage, shown) = match self.stage {
            TrackingStage::Own(_) if self.keeps_gtids => (TrackingStage::Again, Shown::AllButGtids),
            TrackingStage::Due | TrackingStage::Own(_) => (TrackingStage::Due, Shown::All),
            _ => return None,
        };
        self.stage = stage;
        Some(shown)
    }

    /// Notes that unknown code has changed Freshet's settings: changes since then are unknown, and so are the reports that the client wants.
    pub(super) fn note_ours_changed(&mut self) {
        if self.stage == TrackingStage::On {
            self.stage = TrackingStage::Blurred;
        }
    }

    /// Notes that nobody knows the client's own settings any more: code may have changed them without a report, or the server has not shown
    /// them in a way that Freshet reads.
    pub(super) fn note_lost(&mut self) {
        self.stage = TrackingStage::Lost;
    }

    /// Notes that a transaction has ended with an answer without room for the reports that are due at its end.
    pub(super) fn note_end_unreported(&mut self) {
        self.asks_anew = true;
    }

    /// Notes that a statement is sent next that may follow a question of Freshet's own.
    pub(super) fn note_next_statement(&mut self) {
        let asks_anew = std::mem::take(&mut self.asks_anew);
        if asks_anew && self.stage == TrackingStage::On {
            self.stage = TrackingStage::Again;
        }
    }

    /// Notes an answer without the report of a schema. `announces`: the answer announced a change of the session's state that an opened view
    /// explains, and had no room for the report; `has_changed`: the answer has told of a change.
    pub(super) fn note_schema_unreported(&mut self, announces: bool, has_changed: bool) {
        self.announced = announces || self.announced && !has_changed;
    }

    /// Notes that a question of Freshet's own may have opened a view. Its answer has no room for a report.
    pub(super) fn note_view_opened(&mut self) {
        self.announced = true;
    }

    /// Notes that the server has reported a schema. Returns whether an earlier answer announced the report.
    pub(super) fn note_schema_reported(&mut self) -> bool {
        std::mem::take(&mut self.announced)
    }
}

/// The questions.
impl Tracking {
    /// Returns what is to be sent to the server with the next command.
    pub(super) fn due(&self) -> Option<ReportRequest> {
        match self.stage {
            TrackingStage::Due => Some(ReportRequest::Ours),
            TrackingStage::Again => Some(ReportRequest::OursAgain),
            TrackingStage::Returns(_) => Some(ReportRequest::Clients),
            _ => None,
        }
    }

    /// Whether the server has not been asked for its reports, or has refused.
    pub(super) fn is_unmet(&self) -> bool {
        self.stage == TrackingStage::Unmet
    }

    /// Whether the server is asked for its reports for the first time, or anew, with the next command.
    pub(super) fn is_due(&self) -> bool {
        self.stage == TrackingStage::Due
    }

    /// Whether the reply to the request for Freshet's reports comes before the next answer.
    pub(super) fn is_requested(&self) -> bool {
        self.stage == TrackingStage::Sent
    }

    /// Whether the reply to the client's own settings comes before the next answer.
    pub(super) fn is_returned(&self) -> bool {
        matches!(self.stage, TrackingStage::Returned(_))
    }

    /// Whether the server reports the session facts that Freshet needs.
    pub(super) fn is_on(&self) -> bool {
        self.stage == TrackingStage::On
    }

    /// Whether the client's own settings are in force, and known.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.stage, TrackingStage::Own(_))
    }

    /// Whether the client's own settings are in force, and a statement may have set them.
    pub(super) fn may_be_set(&self) -> bool {
        self.stage == TrackingStage::Own(Naming::Sets)
    }

    /// Whether all reports are the ones that the client asked for.
    pub(super) fn is_clients(&self) -> bool {
        matches!(self.stage, TrackingStage::Own(_) | TrackingStage::Returned(_) | TrackingStage::Lost)
    }

    /// Whether every change of the session is reported.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.stage, TrackingStage::Due | TrackingStage::Again | TrackingStage::On)
    }
}

#[cfg(test)]
mod tests;
