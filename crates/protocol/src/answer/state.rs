//! The packets that can come next.

use crate::Command;

/// The next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The first packet of a result: OK, ERR, a request for a file, or columns.
    Result,
    /// Columns of a result set, and the packets behind them.
    Columns(Due),
    /// Rows, or their end.
    Rows,
    /// Nothing (but an error) until the client has sent its file.
    Infile,
    /// The head of the answer to a preparation.
    Prepare,
    /// The definitions of a prepared statement.
    Prepared {
        /// Those of the parameters, which come first.
        parameters: Due,
        /// Those of the columns.
        columns: Due,
    },
    /// Columns without a count, or their end.
    FieldList,
    /// A line of text.
    Text,
    /// Nothing: the answer is over.
    Done,
}

/// How much of a run of definitions is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Definitions.
    pub(super) left: u64,
    /// The EOF packet behind them.
    pub(super) end: bool,
}

impl Due {
    /// Whether nothing is to come.
    pub(super) const fn is_nothing(self) -> bool {
        self.left == 0 && !self.end
    }

    /// Returns the definitions that are due after the next packet.
    pub(super) const fn without_one(self) -> Self {
        match self.left {
            0 => Self { left: 0, end: false },
            left => Self { left: left - 1, end: self.end },
        }
    }
}

impl State {
    /// Returns the first state of the answer to `command`.
    pub(super) const fn at_first(command: Command) -> Self {
        match command {
            Command::Quit | Command::StmtSendLongData | Command::StmtClose => Self::Done,
            Command::StmtPrepare => Self::Prepare,
            Command::StmtFetch | Command::BinlogDump | Command::BinlogDumpGtid => Self::Rows,
            Command::FieldList => Self::FieldList,
            Command::Statistics => Self::Text,
            _ => Self::Result,
        }
    }
}
