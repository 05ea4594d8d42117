//! Follows the server's answer to one command, frame by frame.

use crate::{Capabilities, Command, Malformed, StatusFlags};

/// What a frame of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The command, or one of its statements, is done.
    Ok,
    /// The command failed; or MariaDB reports progress, which is no end.
    Err,
    /// A result set begins.
    ColumnCount,
    /// A column's definition.
    Column,
    /// The EOF packet behind the columns.
    ColumnsEnd,
    /// A row, or its first 16 MiB.
    Row,
    /// The EOF or OK packet behind the rows.
    RowsEnd,
    /// The server asks for a file; see [`Answer::infile_done`].
    LocalInfile,
    /// A statement was prepared.
    PrepareOk,
    /// A parameter's definition.
    Parameter,
    /// The EOF packet behind the parameters.
    ParametersEnd,
    /// A line of text (`COM_STATISTICS`).
    Text,
    /// More of the packet before.
    Continuation,
}

/// What [`Answer::see`] has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the frame is.
    pub part: Part,
    /// The whole answer ends with this frame.
    pub last: bool,
    /// The session's status, where the packet carries it.
    pub status: Option<StatusFlags>,
    /// Where the two bytes of the status stand in this payload.
    pub status_at: Option<usize>,
    /// The number of warnings, where the packet carries it.
    pub warnings: Option<u16>,
}

/// Follows one answer.
#[derive(Clone, Debug)]
pub struct Answer {
    _caps: Capabilities,
}

#[allow(clippy::unimplemented, missing_docs)]
impl Answer {
    #[must_use]
    pub fn to(_command: Command, caps: Capabilities) -> Self {
        Self { _caps: caps }
    }

    #[must_use]
    pub fn wants_whole(&self, _frame_len: usize, _first: u8) -> bool {
        unimplemented!()
    }

    pub fn see(&mut self, _frame_len: usize, _head: &[u8]) -> Result<Seen, Malformed> {
        unimplemented!()
    }

    pub fn infile_done(&mut self) {}

    #[must_use]
    pub const fn has_answer(command: Command) -> bool {
        !matches!(command, Command::Quit | Command::StmtSendLongData | Command::StmtClose)
    }
}
