//! The report on each frame.

use crate::StatusFlags;

/// The meaning of a frame in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The command, or one of its statements, is done.
    Ok,
    /// The command failed.
    Err,
    /// A report of progress (MariaDB), which has the form of an error.
    Progress,
    /// A result set begins.
    ColumnCount,
    /// A column's definition.
    Column,
    /// The packet behind the columns.
    ColumnsEnd,
    /// A row, or its first 16 MiB; an event of the binlog.
    Row,
    /// The packet behind the rows.
    RowsEnd,
    /// The server asks for a file; see [`Answer::infile_done`](crate::Answer::infile_done).
    LocalInfile,
    /// A statement was prepared; see [`PrepareOk`](crate::PrepareOk).
    PrepareOk,
    /// A parameter's definition.
    Parameter,
    /// The packet behind the parameters.
    ParametersEnd,
    /// A line of text (`COM_STATISTICS`).
    Text,
    /// More of the packet before.
    Continuation,
}

/// The findings of [`Answer::see`](crate::Answer::see).
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

impl Seen {
    /// Returns a frame that carries no status and ends nothing.
    pub(super) const fn plain(part: Part) -> Self {
        Self { part, last: false, status: None, status_at: None, warnings: None }
    }
}
