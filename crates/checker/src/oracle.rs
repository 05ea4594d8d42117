//! The differential oracle: each question is asked both through Freshet and directly, and the answers must be the same.
//!
//! One client writes, through Freshet or around it. Then the oracle waits for the stream, until a marker is answered from memory again.
//! Then it asks every question both ways. No other client is at work, so any difference is a wrong answer, whatever its shape. This
//! serves types, collations and statements that the model of the [`crate::judge`] does not have.
//!
//! The oracle also counts the cost of imprecise invalidation. An answer was invalidated needlessly if it was in memory before a write, is
//! not in memory after the write, and is still the same.

mod questions;
mod report;
mod run;

pub use questions::Question;
pub use report::{Counts, Difference, Findings};
pub use run::Oracle;
