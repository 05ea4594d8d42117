//! How fast a packet comes.

use tokio::time::Instant;

/// What a client that holds memory for its packet has brought in the present period.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) since: Instant,
    pub(super) bytes: usize,
}
