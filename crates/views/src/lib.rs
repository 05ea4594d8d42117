//! Results that are kept up to date row by row: rows and their changes in, results out.
//!
//! A *maintained query* is compiled from the plan form of a SELECT ([`Query::compile`]). The base rows of its tables are held in memory, the
//! needed columns only. For each mention of a table there is a plan that joins one changed row with the rows of the other mentions. Each change
//! of a row adds to the results, or takes away, what these plans find.
//!
//! This crate does no I/O. It knows neither packets nor the binlog nor positions: who calls [`Engine::change`] decides at which moment of the
//! database the results are. It reproduces what the servers compute, or refuses by name ([`Unmaintained`]): no value is converted from one type
//! to another.
//!
//! # Values
//!
//! Every value is NULL or one number ([`Cell`]): an integer itself, a DECIMAL as a whole number of its last digit, a date or a moment in a form that
//! keeps the order, a text as the number under which its table knows it, and, where texts are compared, as a number that those have in common which are equal. The type of a column ([`Kind`]) tells which. A table holds each column
//! in as few bits as its type needs. So rows are small, and comparisons are those of numbers.
//!
//! # One changed row
//!
//! Let a table be mentioned as `s1` and `s2`. The change of a row `r` changes the join by `r ⋈ old(s2)`, and by `new(s1) ⋈ r`. The rows of the
//! table itself are still the old ones while this is computed; for mentions before the one that `r` stands for, `r` is thought to be there, or
//! thought to be gone.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// Values, and rows.
mod decimal;
mod utc;
mod kind;
mod texts;
mod table;

// What a query is, and what is made of its plan form.
mod condition;
mod amount;
mod query;
mod join;
mod compile;

// Results, and what changes them.
mod groups;
mod results;
mod union;
mod engine;

pub use compile::{Asker, Compiled, Computing, Unmaintained};
pub use engine::{Engine, Inconsistent, QueryNumber, TableRows};
pub use kind::{Cell, ColumnSpec, Given, Kind, Number, TableName, Width, date_number, moment_number};
pub use query::Query;
pub use results::{Limit, Shown};
pub use utc::Date;

#[cfg(test)]
mod tests;
