//! Connections to the server behind us: dialling, the login, one question and its answer, and the facts about a server.
//!
//! This crate knows the wire protocol, and the flavors and versions of servers. It refuses to know what a client session is, what a table
//! is, what the binlog holds and what is cached: the holder of a connection decides what is asked on it.
//!
//! It has this shape because two kinds of caller need it. A session needs a [`Connection`] on which it can log in with somebody else's
//! credentials, and then relay byte by byte. The rooms above need connections of our own account ([`control`]), and the facts that decide
//! how far this server can be believed ([`server`]). Connections share no state.

// The server's address, our account, and failures.
mod address;
mod secret;
mod config;
mod error;
mod clock;

// The way there: a stream, perhaps under TLS.
mod channel;
mod tls;
pub mod net;

// One connection: dialling, the login, packets, one question and its answer.
mod responder;
mod password;
pub mod connection;
pub mod lane;

// Connections of our own account, and the server's description of itself on them.
pub mod control;
pub mod server;

pub use address::Address;
pub use channel::{Channel, Preference};
pub use clock::now_ms;
pub use config::{ConfigError, TlsMode, UpstreamConfig};
pub use connection::{Connection, Dialled, Rows};
pub use error::Error;
pub use lane::Lane;
pub use password::Password;
pub use responder::{Challenge, Responder};
pub use secret::{Credential, NativeHash, Secret};
pub use server::ServerInfo;
