//! One client: its handshake, its session, and the decision what becomes of each of its statements.
//!
//! This room puts the others together: it reads packets (`protocol`), understands statements (`sql`), looks answers up
//! and stores them (`cache`), and hands everything else to the server (`upstream`). It refuses to know how freshness is
//! proven, how the binlog is read or how results are kept; and it decides nothing from a statement's text that it could
//! learn from the server.
//!
//! It has this shape because a query's life should be read in one place: [`session`] is the loop, [`commands`] has a
//! file for each kind of command, and a SELECT's way (memory, or server and memory) is `commands/select.rs` from top to
//! bottom. The modules below those are what each step needs.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bounds;
pub mod wire;

pub mod auth;

pub mod session;

mod commands;

mod environment;
mod template;

pub mod explain;

mod fences;
mod powerless;
mod qualify;
mod reading;
mod relay;
mod rows;

mod kept;
pub mod level;
mod local;
mod newcomers;
mod privileges;
pub mod status;
pub mod variables;

mod reference;
mod registry;
pub mod shared;

pub use reference::reference;
pub use session::serve;
pub use shared::{Options, Shared};
