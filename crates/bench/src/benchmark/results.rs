//! What the report is made from.

use std::time::Duration;

use super::column::Column;
use super::measured::Measured;
use super::options::Options;

/// What was wanted, and what came of it so far.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was wanted.
    pub options: &'a Options,
    /// Side by side.
    pub columns: &'a [Column],
    /// What was measured.
    pub tables: &'a [Measured],
    /// What could not be measured, and why.
    pub failed: &'a [String],
    /// How long that took.
    pub took: Duration,
}
