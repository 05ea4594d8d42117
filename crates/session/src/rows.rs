//! Rows instead of tables: what an answer depends on, and what a write may touch, as exactly as the statement's form allows.
//!
//! The three rooms below each know a part: `sql` reads which conditions a statement puts on the rows of its tables,
//! `upstream` knows what those conditions mean for the columns and keeps the watches, `cache` has the cells. Here they are
//! brought together for one statement of one session. Whatever one of them does not know, or not yet, costs precision:
//! then the whole table is named.

mod bind;
mod tables;
mod plans;
mod reading;
mod writing;

pub(crate) use bind::bind;
pub(crate) use plans::ReadPlan;
pub(crate) use reading::{
    Behind, BoundPlan, Depends, deps_of_definitions, deps_of_execution, deps_of_reading,
};
pub(crate) use tables::{Named, StatementText, Tables};
pub(crate) use writing::{CalledWith, Described, SentWith, Write, WriteText, touched};
