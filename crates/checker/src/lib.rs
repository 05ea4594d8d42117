//! The judge of Freshet's promises: a workload of many clients, recorded as a history, and an independent model of the
//! database that decides for every single read whether the promised level held.
//!
//! It refuses to know the product: nothing of it is linked here, the client library is not ours, and Freshet is an address
//! and a handful of status values. So no mistake is shared between the judge and the judged.
//!
//! The shape follows from one idea. A small database is held twice, on the server and as a plain value ([`model::Db`]); each
//! statement of the workload has a text for the server and a meaning for the model. Then a promise needs no rule for each
//! kind of statement: an answer is right iff *some state of the database, at some moment that the level allows, gives
//! exactly this answer* ([`judge`]). The workload makes that decidable by letting no two writers touch one row at once
//! ([`workload::Locks`]), so that each row's versions are totally ordered, and by never writing a version twice.
//!
//! The [`oracle`] is the second judge, for shapes beyond the model: whatever it asks through Freshet it asks the server too.

pub mod model;
pub mod query;
pub mod sql;

pub mod judge;
pub mod workload;

pub mod oracle;

pub mod dice;
pub mod relay;
pub mod target;
pub mod told;

/// Whatever ends a run early, in words.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
