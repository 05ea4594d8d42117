//! Connections to the server behind us: the way there, the login, one question and its answer, and what a server is made of.
//!
//! This crate knows the wire protocol, and the flavors and versions of servers. It refuses to know what a client session is,
//! what a table is, what the binlog says and what is cached: the holder of a connection decides what is asked on it.
//!
//! It has this shape because two kinds of caller need it. A session needs a [`Connection`] that it can log in with somebody
//! else's credentials and then relay through, byte by byte. The rooms above need connections of our own account
//! ([`control`]), and the facts that decide what may be believed of this server ([`server`]). No state is shared between
//! connections.

// Where the server is, as whom we come, and what can go wrong.
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

// Connections of our own account, and what the server says of itself on them.
pub mod control;
pub mod server;

pub use address::Address;
pub use channel::{Channel, Preference};
pub use clock::now_ms;
pub use config::{Config, ConfigError, TlsMode};
pub use connection::{Connection, Dialled, Rows};
pub use error::Error;
pub use lane::Lane;
pub use password::Password;
pub use responder::{Challenge, Responder};
pub use secret::{Credential, NativeHash, Secret};
pub use server::ServerInfo;
