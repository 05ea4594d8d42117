//! How sessions begin: two logins of the same kind, with nothing changed between them, begin in the same environment.
//!
//! What makes a new session's environment is the account, what the login says ([`super::secrets::LoginKind`]) and the global variables. The
//! first two, and most of the third, have an epoch. What an epoch may miss is a global variable that is changed and changed
//! back between two looks at it, so a beginning is known for no longer than `max_staleness` as well. It serves to find stored
//! answers; an answer is only stored under an environment that its own session has told.

use super::knowledge::Epoch;

/// When the login of a session was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoginBegun {
    pub(super) epoch: Epoch,
    /// Before anything was sent, in monotonic milliseconds.
    pub(super) at_ms: u64,
}

impl LoginBegun {
    pub(super) fn new(epoch: Option<Epoch>, at_ms: u64) -> Option<Self> {
        epoch.map(|epoch| Self { epoch, at_ms })
    }
}
