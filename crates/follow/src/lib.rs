//! Following a server: one thread that reads the binlog, stamps what changes, probes what is visible and lifts fences.
//!
//! This crate knows connections, definitions, keys and stamps. It refuses to know what a client session is, what is cached
//! and under which key, and what a statement means beyond the effects that the SQL room reads out of it.
//!
//! It has this shape because all of its state changes on one thread. What decides is pure, and handed its time and its
//! events: [`applier`], `probe`, `settle`, `semisync` and [`timeline`]. What talks to the server is in `follow`, in one
//! event loop. Sessions hold an [`Upstream`], which reaches that thread only through atomics, short locks and a channel.

pub mod applier;
mod probe;
mod settle;
pub mod timeline;

pub mod check;
mod semisync;

mod follow;

mod bounds;
mod upstream;

pub use follow::{FollowState, FollowStatus, Semisync};
pub use settle::Outcome;
pub use upstream::Upstream;
