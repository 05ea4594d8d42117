//! Which watch a reading needs.

use std::sync::Arc;

use freshet_sql::{Condition, RowReads};

use crate::catalog::TableInfo;

/// What makes a watch: two readings with the same of it share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// The columns that are equal to something, by their ordinals, ascending.
    pub equal: Vec<u16>,
    /// The column that lies in a range or starts with something.
    pub range: Option<u16>,
    /// The columns read beside those, ascending; `None`: all of them.
    pub read: Option<Vec<u16>>,
}

/// What one occurrence of a table in a statement reads of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The watch for it.
    pub spec: WatchSpec,
    /// The condition on each of the watch's key columns: those that are equal to something, in their order, then that of
    /// the range.
    pub conditions: Vec<Condition>,
}

/// What each occurrence reads. `tables` are the definitions of the occurrences' tables, in their order. `None` for one
/// that nothing narrower than the whole table can be said of.
#[must_use]
pub fn plan(reads: &RowReads, tables: &[Arc<TableInfo>]) -> Vec<Option<Reading>> {
    let _ = tables;
    reads.occurrences.iter().map(|_| None).collect()
}
