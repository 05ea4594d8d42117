//! The clients: what they ask and write, through Freshet and around it.
//!
//! Readers draw from a pool of questions; some questions are drawn often, as in real use. Before a writer sends a statement, it locks all
//! rows that the statement will change, *here* and all at once. So the effect of a statement is known before it is sent, and no two
//! writers touch one row at a time. On the server, and in Freshet, the statements still run side by side.
//!
//! A client loses its connection when the server behind it is lost; then it connects again and goes on. The outcome of its open statement
//! is found out before another client may touch the rows ([`settle`]). The thread that kills the server, and cuts and holds up the
//! stream, belongs to the workload too ([`Disturb`]).

// Writes, and the rows that they lock.
mod plan;
mod locks;

// A client: its connection, its reads and its transactions.
mod link;
mod watch;
mod equal;
mod transact;
mod client;

// Lost servers and streams, and the outcome of what was lost with them.
mod disturb;
mod outages;
mod settle;

// The whole run.
mod run;

pub use client::{Client, Role};
pub use disturb::{Disturb, Disturbances, STALL_MS_MAX};
pub use equal::Equality;
pub use link::Troubles;
pub use locks::{Held, Locks};
pub use plan::{Kind, Plan};
pub use run::{Outcome, Workload};
pub use settle::{Seen, Settled, settle};
