//! One client: its handshake, its session, and the decision what happens to each of its statements.
//!
//! This room puts the others together: it reads packets (`protocol`), understands statements (`sql`), looks answers up
//! and stores them (`cache`), and hands everything else to the server (`upstream`). It refuses to know how freshness is
//! proven, how the binlog is read or how results are kept. It never guesses from a statement's text a fact that the server
//! reports.
//!
//! It has this shape because a reader finds a query's life in one place: [`session`] is the loop, [`commands`] has a
//! file for each kind of command, and `commands/select.rs` has the way of a SELECT (memory, or server and memory) from top to
//! bottom. The modules below those are what each step needs.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// The bounds of a client, and its wire.
pub mod bounds;
mod counters;
mod registry;
mod full;
pub mod wire;

// The settings.
pub mod level;
pub mod persisted;
pub mod variables;

// What Freshet knows of a statement, and keeps for the next statement of the same form.
mod qualify;
mod reading;
mod rows;
mod fences;
mod powerless;
mod kept;
mod newcomers;
mod sought;
mod template;
mod preparations;
mod why;
pub mod explain;

// What Freshet knows of sessions: how they log in, and what can change their results.
pub mod auth;
mod environment;
mod known_settings;
mod shown_settings;

// The answer on its way to the client.
mod relay;
mod prefixes;
mod local;
mod warnings;

// One client: its session, and its commands.
mod busy_poll;
pub mod session;
mod coalescing;
mod created;
mod automatic;
mod refreshing;
mod maintaining;
mod commands;
mod privileges;

// What all sessions share, and the statistics, logs and variables that show it.
mod settling;
mod query_log;
mod rules;
pub mod statistics;
pub mod purge;
pub mod shared;
pub mod status;
pub mod metrics;
pub mod introspection;
mod reference;
mod restoring;

pub use automatic::create_automatically;
pub use busy_poll::busy_poll;
pub use created::FileError;
pub use maintaining::{CopiedTables, TableList, maintain};
pub use query_log::QueryLog;
pub use reference::reference;
pub use refreshing::refresh_created;
pub use registry::Process;
pub use restoring::{load_created, load_persisted};
pub use session::{at_server, serve};
pub use shared::{Multiplexing, PreparedRow, ServerConnections, SessionOptions, Shared};
