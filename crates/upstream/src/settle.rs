//! When fences are lifted.

use freshet_protocol::binlog::Gtid;

/// What became of the write that a fence was raised for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It changed nothing: it failed, or was rolled back. The fence is lifted at once.
    Nothing,
    /// It was committed under these GTIDs, as the OK packet said. Not to be used by a session that has set
    /// `gtid_seq_no` (MariaDB): a number that was given twice would be taken for the first.
    Committed(Vec<Gtid>),
    /// It was committed, and the server did not say under which GTID.
    CommittedSomewhere,
    /// The connection broke after it was sent: it may be committed, now or later, or not at all.
    Unknown {
        /// The server's number of the broken connection.
        thread_id: u32,
    },
}
