//! Following a server: one thread that reads the binlog, stamps what changes, probes what is visible and lifts fences.
//!
//! This crate knows connections, definitions, keys and stamps. It refuses to know what a client session is, which results are cached
//! under which key, and what a statement means beyond the effects that the SQL room finds in it.
//!
//! A *generation* is one unbroken stretch of the stream. It has three connections to one server: the stream itself, the
//! prober's (short questions that sessions wait for), and the control connection (definitions, and whatever may take longer).
//! When one of them breaks, the generation ends: nothing is live, everything is stamped, and the next generation starts at
//! the server's present state. No generation resumes another, because a position that was reached before a break proves
//! nothing about the server that is reached after it.
//!
//! The crate has this shape because all of its state changes on one thread. The code that decides is pure, and is handed its time and its
//! events. The code that talks to the server runs in one event loop of that thread. So one thread alone sets stamps, and the parts share
//! without locks. Sessions hold an [`Upstream`], which reaches that thread through atomics, short locks and a channel only.

// Pure: events and answers in, positions and stamps out.
pub mod timeline;
pub mod applier;
pub mod stamps;
pub mod feed;
mod probe;
mod settle;
mod semisync;

// The state that the thread and the sessions share.
mod status;
mod proven;
mod looks;
mod written;
mod shared;

// The thread: the requirements on a server, its stream, the questions beside the stream, one generation after another.
mod usable;
mod open;
mod over;
mod replica;
mod generation;
mod globals;
mod rights;
mod rights_news;
mod control;
mod prober;
mod follower;

// The handle that sessions hold.
mod handle;
mod bounds;

// The report on a server's setup for an administrator.
pub mod check;

pub use feed::{RowNews, RowReader};
pub use handle::{ChangingRights, HarmlessFlush, Upstream};
pub use proven::Semisync;
pub use rights_news::RightsTaken;
pub use settle::{ShownGtids, WriteOutcome};
pub use status::{FollowState, FollowStatus};
