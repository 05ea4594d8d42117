//! The differential oracle: whatever is asked through Freshet is asked the server too, and the answers must be the same.
//!
//! One client writes, through Freshet or around it; then the stream is waited for, by a marker that is answered from memory
//! again; then every question is asked both ways. Nobody else is at work, so any difference is a wrong answer, of
//! whatever shape: this is for types, collations and statements that the model of the [`crate::judge`] does not have.
//!
//! It counts what precision costs besides: an answer that was in memory before a write, is not after it, and is the same
//! nevertheless, was invalidated for nothing.

mod questions;
mod report;
mod run;

pub use questions::Question;
pub use report::{Counts, Difference, Findings};
pub use run::Oracle;
