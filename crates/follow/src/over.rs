//! Why a generation ends.

use freshet_upstream::Error;

use crate::applier::Broken;

/// Why a generation has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Over {
    /// One of its connections failed.
    #[error("{0}")]
    Connection(#[from] Error),
    /// The stream cannot go on.
    #[error("{0}")]
    Broken(#[from] Broken),
    /// Something on which following rests has changed.
    #[error("{0}")]
    Changed(&'static str),
    /// There was no stream, and it is time to look again, on new connections: an account has the privileges that it had when it
    /// connected.
    #[error("it is time to look again")]
    Again,
    /// Nobody holds a handle any more.
    #[error("it is not needed any more")]
    Stopped,
}
