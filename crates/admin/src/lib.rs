//! The admin port: ProxySQL's tables and commands, in the MySQL protocol, over SQLite.
//!
//! Configuration has three layers: *memory* (tables that are edited with SQL), *runtime* (their `runtime_` twins: what counts now) and
//! *disk* (a file with which the next start begins). `LOAD` and `SAVE` copy from one layer to the next. Statistics are tables too, which
//! are filled when a statement names them.
//!
//! This room knows the protocol, and nothing of sessions, caches or servers: everything that it shows or starts is behind one trait,
//! [`Runtime`]. It has a thread of its own, since SQLite waits for disks and a statement may take long; clients of the cache never wait
//! for it.
//!
//! In reading order: the questions (`statements`, `command`); the tables and variables (`tables`, `statistics`, `variables`, `runtime`);
//! their storage (`lock`, `store`, `dictionary`; for history `times`, `history`, `monitor`; `hostgroups` for shown rows; as a file
//! `libconfig`, `config_file`); carrying out commands (`admin`, `import`, `shows`); and the client's way in (`accounts`, `login`,
//! `prepared`, `server`).

// The questions.
mod statements;
mod command;
mod error;
mod bounded;

// The tables and the variables.
mod tables;
mod statistics;
mod variables;
mod runtime;

// Where they are kept.
mod lock;
mod store;
mod dictionary;
mod times;
mod history;
mod monitor;
mod hostgroups;
mod libconfig;
mod config_file;
mod computed;

// Carrying statements out.
mod admin;
mod import;
mod shows;

// A client's way in.
mod accounts;
mod login;
mod prepared;
mod server;
mod wire;

pub use accounts::{Account, Accounts};
pub use admin::{Admin, StartError};
pub use computed::{Computed, MemorySchema, MemoryTable, SqliteType};
pub use config_file::Imported;
pub use import::import;
pub use monitor::{PROBES, Probe, Probed};
pub use runtime::{Purge, Runtime, SqliteValue, Statistic};
pub use server::serve;
