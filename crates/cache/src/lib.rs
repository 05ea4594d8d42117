//! Stamps, fences and stored results: what Freshet knows of freshness, and nothing else.
//!
//! Keys and bodies are opaque bytes, dependencies are indexes of cells, and the caller hands in the time. The crate does no input or
//! output, starts no thread, and knows neither SQL nor MySQL.
//!
//! It has two halves that meet in one call, [`Freshness::check`]:
//!
//! * [`freshness`]: the one rule that says whether a result is still true, with its proof. A change costs O(1), however many results are
//!   stored, because it touches a *cell* and never an entry. [`snapshot`] has the rule for a reader of several results as of one moment.
//! * [`cache`]: a store with a strict bound in bytes. It may forget anything at any time. It never returns a result that the rule
//!   refuses, nor the result of another key.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// The rule: positions, dependencies, stamps and fences.
// Positions, and what a result depends on.
mod position;
mod dep;

// Stamps.
mod cells;
mod slots;

// Fences.
mod raised;
mod fence;

// Whose the applied transactions are, and which results show only such transactions.
mod owners;
mod ends;

// The rule, for one result and for several as of one moment, and the rule broken on purpose.
pub mod freshness;
pub mod snapshot;
pub mod sabotage;

// Memory within one budget.
mod budget;
mod memory;
mod chunk;
mod fills;
mod arena;
mod large;

// An entry: as a caller sees it, and as it lies in memory.
mod entry;
mod stored;
mod prefixes;

// Counters and samples.
mod striped;
mod chance;
mod statistics;
mod curve;

// Which entries are found, inserted and evicted.
mod found;
mod insert;
mod index;
mod slab;
mod yields;
mod shard;

// The store.
pub mod cache;

pub use cache::{Cache, MomentReader};
pub use chance::once_in;
pub use curve::CurvePoint;
pub use dep::{Dep, TableDeps};
pub use entry::{Body, Entry, Fill, Key, Summary, TimedKey};
pub use fence::Fence;
pub use found::Lookup;
pub use freshness::{Fences, Freshness, Verdict};
pub use insert::Insert;
pub use position::Position;
pub use snapshot::{Holds, Moment, Ruling, Untouched, Validity};
pub use statistics::Statistics;
pub use striped::{STRIPES, Striped, stripe};
