//! The judge of Freshet's promises. A workload of many clients is recorded as a history, and an independent model of the database decides
//! for every single read whether the promised level held.
//!
//! The judge knows nothing of the product: no part of Freshet is linked here, the client library is not ours, and Freshet is only an
//! address and a handful of status values. So the judge and Freshet share no mistake.
//!
//! The design follows from one idea. A small database exists twice, on the server and as a plain value ([`model::Db`]). Each statement of
//! the workload has a text for the server and a meaning for the model. Then a promise needs no rule for each kind of statement: an answer
//! is right iff *some state of the database, at some moment that the level allows, gives exactly this answer* ([`judge`]). The workload
//! makes this decidable in two ways. No two writers touch one row at once ([`workload::Locks`]), so each row's versions are totally
//! ordered. And no version is written twice.
//!
//! The [`oracle`] is a second judge, for statements that the model does not have: it asks each question through Freshet and directly.

// What the judge stands on: the database as a value, and the statements with their meaning in it.
pub mod model;
pub mod query;
pub mod sql;
pub mod told;

// The clients, and the judge of their reads.
pub mod workload;
pub mod judge;

// The second judge, which asks the server.
pub mod oracle;

// Tools of both judges.
pub mod target;
pub mod relay;
pub mod dice;

/// An error that ends a run early, in words.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
