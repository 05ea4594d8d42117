//! Making the server report the session facts that Freshet needs.
//!
//! The reports that the client asked for use the same variables of the session, `session_track_…`. While the variables have Freshet's
//! values, the client gets only the reports that it asked for (`relay/filter.rs`). A statement that shows or sets the variables finds the
//! client's own values: Freshet puts them back in the same write, and reads them again before the next statement that may follow a question
//! of Freshet's own.

mod reporting;

/// How far the server has been asked for the reports that Freshet needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// The server has not been asked, and may refuse.
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
pub(crate) enum Naming {
    Shows,
    Sets,
}

impl Tracking {
    /// Returns the state when the next statement to be sent names the settings.
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

    /// Whether all reports are the ones that the client asked for.
    pub(crate) fn is_clients(self) -> bool {
        matches!(self, Self::Own(_) | Self::Returned(_) | Self::Lost)
    }

    /// Whether every change of the session is reported.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::Due | Self::Again | Self::On)
    }
}

#[cfg(test)]
mod tests;
