//! The follower's report on itself, for status variables and logs.

use freshet_cache::Position;

/// How the stream stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowState {
    /// Nothing is known yet, or a connection is being made again.
    Connecting {
        /// What ended the last attempt; empty before the first.
        why: String,
    },
    /// The server cannot be followed with its present configuration: everything is forwarded, and the server is asked again every few
    /// seconds.
    Off {
        /// What is missing.
        why: String,
        /// The statement or setting that mends it.
        remedy: String,
    },
    /// The stream is open; [`FollowStatus::live`] says whether it is live at this moment.
    Following {
        /// How `visible` is known on this server.
        visible_by: &'static str,
    },
}

/// A snapshot of the follower's state and counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowStatus {
    /// How the stream stands.
    pub state: FollowState,
    /// Whether hits are allowed at this moment.
    pub live: bool,
    /// Every transaction up to here has set its stamps.
    pub applied: Position,
    /// Every transaction up to here is contained in any snapshot that is opened from now on.
    pub visible: Position,
    /// The binlog file that the stream is in; empty when there is none.
    pub file: String,
    /// The offset in that file, bytes.
    pub offset: u64,
    /// Age of the newest event when it was applied, from the server's clock in seconds and ours. It is coarse, and off by the difference
    /// of the two clocks and by the duration of the statement. 0 when the server has nothing more to send.
    pub lag_ms: u64,
    /// Streams started since the process began.
    pub generations: u64,
    /// Binlog events applied since the process began.
    pub events: u64,
    /// Transactions applied since the process began.
    pub transactions: u64,
    /// Probes of what is visible since the process began.
    pub probes: u64,
    /// Fences that wait for their commits to be applied.
    pub unsettled: u64,
}
