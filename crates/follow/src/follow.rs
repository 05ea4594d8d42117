//! Following the upstream: one thread that reads the binlog, probes what is visible and lifts fences.
//!
//! A *generation* is one unbroken stretch of the stream. It has three connections to one and the same server: the
//! stream itself, the prober's (short questions that sessions wait for), and the control connection (catalog and
//! whatever may take longer). When any of them breaks, the generation is over: nothing is live any more, everything
//! is stamped, and the next one starts at the server's present state. There is no resuming, because a position that
//! was reached before a break proves nothing about the server that is reached after it.
//!
//! All of it runs on one thread with one event loop, so that stamps are set by one thread only and what the parts share
//! needs no lock; sessions reach it through atomics, short locks and a channel, all of them in [`shared`].

mod status;

pub(crate) mod shared;

mod asks;
mod globals;
mod looks;
mod open;
mod prober;
pub(crate) mod proven;
mod rights;
mod semisync;
mod stream;
pub(crate) mod thread;
mod usable;

pub use proven::Semisync;
pub use status::{FollowState, FollowStatus};
