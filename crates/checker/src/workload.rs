//! Clients at work: what they ask and write, through Freshet and around it.
//!
//! Readers draw from a pool of questions, some of them often, as readers do. Writers lock what they are about to change
//! *here* first, all of it at once, so that what a statement will do is known before it is sent, and so that no two touch
//! one row at a time. On the server, and in Freshet, they still run side by side.

mod client;
mod locks;
mod plan;
mod run;

pub use client::{Client, Role};
pub use locks::{Held, Locks};
pub use plan::{Kind, Plan};
pub use run::{Outcome, Workload};
