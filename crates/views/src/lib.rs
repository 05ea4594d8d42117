//! Results that are kept up to date row by row: rows and their changes go in, results come out.
//!
//! A *maintained query* is compiled from the plan form of a SELECT ([`MaintainedQuery::compile`]). The base rows of its tables are held
//! in memory, the needed columns only. Each mention of a table has a plan that joins one changed row with the rows of the other
//! mentions. Each change of a row adds the combinations that these plans find to the results, or removes them.
//!
//! This crate does no I/O. It knows neither packets nor the binlog nor positions: the caller of [`Engine::change`] decides at which
//! moment of the database the results are. It computes what the servers compute, or refuses by name ([`Unmaintained`]): no value is
//! converted from one type to another.
//!
//! # Values
//!
//! Every value is NULL or one number ([`Cell`]). An integer is itself; a DECIMAL is a whole number of its last digit; a date or a moment
//! has a form that keeps the order; a text is the number under which its table knows it and, where texts are compared, a number that
//! equal texts share. The type of a column ([`Kind`]) tells which. A table holds each column in as few bits as its type needs. So rows
//! are small, and comparisons are those of numbers.
//!
//! # One changed row
//!
//! Let a table be mentioned as `s1` and `s2`. The change of a row `r` changes the join by `r ⋈ old(s2)`, and by `new(s1) ⋈ r`. The table
//! itself still has the old rows while this is computed. For mentions before the one for which `r` stands, `r` counts as added, or as
//! removed.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// Values, and rows.
mod decimal;
mod utc;
mod kind;
mod texts;
mod table;

// A query, and its compilation from the plan form.
mod predicate;
mod amount;
mod query;
mod join;
mod compile;

// Results, and their changes.
mod groups;
mod results;
mod union;
mod engine;

pub use compile::{Asker, Compiled, Computing, Unmaintained};
pub use engine::{Engine, Inconsistent, QueryNumber, TableRows};
pub use kind::{Cell, ColumnSpec, Given, Kind, Number, TableName, Width, date_number, moment_number};
pub use query::MaintainedQuery;
pub use results::{Limit, Shown};
pub use utc::Date;

#[cfg(test)]
mod tests;
