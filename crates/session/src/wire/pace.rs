//! The pace at which a packet arrives.

use tokio::time::Instant;

/// How much a client that holds memory for its packet has sent in the present period.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) since: Instant,
    pub(super) bytes: usize,
}
