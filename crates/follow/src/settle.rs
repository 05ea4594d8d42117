//! When fences are lifted.
//!
//! A fence stands from before a write is sent until the stream has applied its commit. The session that raised the fence hands it over
//! here with the write's [`WriteOutcome`]. There are three kinds of proof that a commit is applied, the cheapest first:
//!
//! 1. *Its GTID has come.* MySQL never gives a GTID twice, so a set of all applied GTIDs, which starts from the executed set at the begin
//!    of the stream, decides at once. MariaDB's numbers are unique only while nobody sets `gtid_seq_no` or shares a server id in a domain.
//!    So there only recently applied GTIDs are remembered, and a domain is not trusted any more once a number in it was seen to go back.
//! 2. *The stream has passed a position that was read after the commit was acknowledged.* An acknowledged commit is in the binlog, so it
//!    lies below the end that the binlog has afterwards. One question serves all fences that wait when it is sent. Every long wait for a
//!    GTID is turned into this one.
//! 3. *The connection's thread is gone from the server.* When a connection breaks after a commit was sent, the server may still execute
//!    the commit. The server removes a thread from its process list only after the thread's transaction has ended. So once a list that was
//!    asked for after the break does not have the thread, its commit, if there is one, is in the binlog, and 2 applies. This needs the
//!    PROCESS privilege; without it other users' threads are never listed.
//!
//! Where no proof comes in time, the stream is started anew, which stamps everything. For 3 one gap remains after that time: a commit
//! that takes effect still later, and of which nobody has been told, is treated like the commit of a writer that goes around us.

mod executed;
mod owners;
mod registry;
mod unseen;

use freshet_protocol::binlog::Gtid;

pub(crate) use executed::AppliedGtids;
pub use executed::ShownGtids;
pub(crate) use registry::Settling;

/// The outcome of the write for which a fence was raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It changed nothing: it failed, or was rolled back. The fence is lifted at once.
    Nothing,
    /// It was committed under these GTIDs, as the OK packet said. Not for a session that has set `gtid_seq_no` (MariaDB): a number that
    /// is given twice would be taken for the first.
    Committed(Vec<Gtid>),
    /// It was committed, and the server did not say under which GTID.
    CommittedSomewhere,
    /// The connection broke after the write was sent: it may be committed now, later, or never.
    Unknown {
        /// When the connection was opened, in milliseconds of [`freshet_upstream::now_ms`]: a server that was started later does not have
        /// its thread.
        opened_ms: u64,
        /// The server's number of the broken connection.
        thread_id: u32,
    },
}
