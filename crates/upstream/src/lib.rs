//! Everything that talks to the server behind us: connections, the catalog of its tables, the
//! binlog that says what changes, the probe that says what is visible, and the lifting of fences.
//!
//! This crate knows the wire protocol and what a server is made of. It refuses to know what a
//! client session is, what is cached and under which key, and what a statement means beyond the
//! effects that the SQL room reads out of it.
//!
//! It has this shape because two kinds of caller need it. A session needs a [`Connection`] that it
//! can log in with somebody else's credentials and then relay through, byte by byte; nothing of
//! that is shared. The follower needs one control connection, one stream and one memory of the
//! definitions, all on one thread of its own; what sessions see of those is only what atomics, a
//! short lock or a channel can hand out. So the modules come in two halves: from [`address`] to
//! [`connection`] there is no shared state at all, and from [`server`] on everything is read on
//! the control connection.

pub mod address;
pub mod config;
pub mod error;
pub mod secret;

pub mod channel;
pub mod net;
pub mod tls;

pub mod connection;
pub mod password;
pub mod responder;

pub mod catalog;
pub mod check;
pub mod control;
pub mod server;

pub mod applier;
pub mod follow;
pub mod probe;
pub mod rows;
pub mod semisync;
pub mod settle;
pub mod timeline;
pub mod upstream;

mod bounds;

pub use address::Address;
pub use catalog::{Catalog, CatalogError, ColumnInfo, TableInfo, TableKind};
pub use channel::{Channel, Preference};
pub use config::{Config, ConfigError, TlsMode};
pub use connection::{Connection, Dialled, Rows};
pub use error::Error;
pub use password::Password;
pub use responder::{Challenge, Responder};
pub use secret::{Credential, NativeHash, Secret};
pub use server::ServerInfo;
