//! Clients at work: what they ask and write, through Freshet and around it.
//!
//! Readers draw from a pool of questions, some of them often, as readers do. Writers lock what they are about to change
//! *here* first, all of it at once, so that what a statement will do is known before it is sent, and so that no two touch
//! one row at a time. On the server, and in Freshet, they still run side by side.

//!
//! A client may lose its connection, when the server behind it is lost: it makes another one and goes on. What it had under
//! way then is found out before anybody else may touch it ([`settle`]). Who takes the server away, and cuts and holds up
//! the stream, is one of us too ([`Disturb`]).

mod client;
mod disturb;
mod equal;
mod link;
mod locks;
mod outages;
mod plan;
mod run;
mod settle;
mod transact;
mod watch;

pub use client::{Client, Role};
pub use disturb::{Disturb, Disturbances, STALL_MS_MAX};
pub use equal::Equality;
pub use link::Troubles;
pub use locks::{Held, Locks};
pub use plan::{Kind, Plan};
pub use run::{Outcome, Workload};
pub use settle::{Seen, Settled, settle};
