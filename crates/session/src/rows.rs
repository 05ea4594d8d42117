//! Rows instead of tables: the dependencies of an answer, and what a write may touch, as exactly as the statement's form allows.
//!
//! Three other crates each know a part: `sql` finds the conditions that a statement puts on the rows of its tables,
//! `upstream` knows the meaning of those conditions for the columns and keeps the watches, `cache` has the cells. This module
//! joins them for one statement of one session. If one of them does not know its part, or not yet, the result is less exact:
//! the whole table is named.

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
