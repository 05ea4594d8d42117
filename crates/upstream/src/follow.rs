//! Following the upstream: one thread that reads the binlog, probes what is visible and lifts fences.
//!
//! A *generation* is one unbroken stretch of the stream. It has three connections to one and the same server: the
//! stream itself, the prober's (short questions that sessions wait for), and the control connection (catalog and
//! whatever may take longer). When any of them breaks, the generation is over: nothing is live any more, everything
//! is stamped, and the next one starts at the server's present state. There is no resuming, because a position that
//! was reached before a break proves nothing about the server that is reached after it.

pub mod clock;
pub mod status;

pub use clock::now_ms;
pub use status::{FollowState, FollowStatus};
