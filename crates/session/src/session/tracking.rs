//! Having the server report what must be known of a session.
//!
//! What the client asked to be told goes through the same variables of the session, `session_track_…`. While those hold what we
//! need, the client is told what it asked for and no more (`relay/filter.rs`). A statement that shows or sets them finds the
//! client's own values: they are put back in the same breath, and read again before the next statement that may follow a question
//! of ours.

mod reporting;

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

#[cfg(test)]
mod tests;
