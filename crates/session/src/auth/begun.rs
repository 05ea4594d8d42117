//! How sessions begin: two logins of the same kind, with nothing changed between them, begin in the same environment.
//!
//! A new session's environment depends on the account, the facts of the login ([`super::secrets::LoginKind`]) and the global variables. The
//! first two, and most of the third, have an epoch. An epoch may miss a global variable that is changed and changed
//! back between two looks, so a beginning is trusted for no longer than `max_staleness` as well. A beginning is used to find stored
//! answers; an answer is only stored under an environment that was read from its own session.

use super::knowledge::Epoch;

/// When the login of a session was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoginBegun {
    pub(super) epoch: Epoch,
    /// The time before anything was sent, in monotonic milliseconds.
    pub(super) at_ms: u64,
}

impl LoginBegun {
    pub(super) fn new(epoch: Option<Epoch>, at_ms: u64) -> Option<Self> {
        epoch.map(|epoch| Self { epoch, at_ms })
    }
}
