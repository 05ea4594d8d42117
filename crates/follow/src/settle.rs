//! When fences are lifted.
//!
//! A fence stands from before a write is sent until the stream has applied its commit. The session that raised it hands it over here with
//! the write's [`WriteOutcome`]. There are three kinds of proof that a commit is applied, from the cheapest:
//!
//! 1. *Its GTID has come by.* MySQL never gives a GTID twice, so a set of all that were applied, from the executed set that
//!    the stream began with, decides at once. MariaDB's numbers are only unique while nobody sets `gtid_seq_no` or
//!    shares a server id in a domain, so there only recently applied ones are remembered, and no domain is
//!    believed any more in which a number was seen to go back.
//! 2. *The stream has passed a position that was read after the commit was acknowledged.* An acknowledged
//!    commit is in the binlog, so it lies below the end that the binlog has afterwards. One question
//!    serves all who wait when it is sent. Every wait for a GTID that takes long is turned into this one.
//! 3. *The connection's thread is gone from the server.* When a connection breaks after a commit was sent, the server
//!    may still execute it. The server takes a thread off its process list only after its transaction has
//!    ended, so once a list that was asked for after the break does not have it, its commit, if there is one, is in the
//!    binlog, and 2 applies. This needs the PROCESS privilege; without it other users' threads are never listed.
//!
//! Where a proof cannot be had in time, the stream is started anew: that stamps everything. What then
//! remains of 3 is bounded only by that time: a commit that takes effect later still, without anyone having been told of
//! it, is treated like the commit of a writer that goes around us.

mod executed;
mod owners;
mod registry;
mod unseen;

use freshet_protocol::binlog::Gtid;

pub(crate) use executed::AppliedGtids;
pub use executed::Shown;
pub(crate) use registry::Settling;

/// What became of the write that a fence was raised for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It changed nothing: it failed, or was rolled back. The fence is lifted at once.
    Nothing,
    /// It was committed under these GTIDs, as the OK packet said. Not to be used by a session that has set
    /// `gtid_seq_no` (MariaDB): a number that was given twice would be taken for the first.
    Committed(Vec<Gtid>),
    /// It was committed, and the server did not say under which GTID.
    CommittedSomewhere,
    /// The connection broke after it was sent: it may be committed, now or later, or not at all.
    Unknown {
        /// When the connection was opened, in milliseconds of [`freshet_upstream::now_ms`]: a server that was started later
        /// has no thread of it.
        opened_ms: u64,
        /// The server's number of the broken connection.
        thread_id: u32,
    },
}
