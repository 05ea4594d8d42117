//! The results that the report is made from.

use std::time::Duration;

use super::column::Column;
use super::measured::Measured;
use super::options::Options;

/// The options, and the results so far.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// The options.
    pub options: &'a Options,
    /// The columns, measured side by side.
    pub columns: &'a [Column],
    /// The measured tables.
    pub tables: &'a [Measured],
    /// The tables that could not be measured, with the reasons.
    pub failed: &'a [String],
    /// The time that the measurement took.
    pub took: Duration,
}
