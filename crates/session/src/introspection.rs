//! The schema `freshet`: the facts of queries, tables, results, sessions and the stream, as tables that any client reads with SQL.
//!
//! The tables are made for one statement, from what its client may see, and only the ones that it names. The query engine is behind
//! a trait ([`QueryEngine`]): this module needs no database.

mod advice;
mod tables;

use std::fmt;
use std::sync::Arc;

use tokio::sync::Semaphore;

pub(crate) use advice::ServerFigures;
pub(crate) use tables::{IntrospectionTable, TABLES, View, Viewer};

/// The schema's name.
pub(crate) const SCHEMA: &str = "freshet";
/// How many statements over these tables are computed at once. Others wait: they may take no more processor time from answers.
const AT_ONCE_MAX: usize = 1;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum IntrospectionValue {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
}

impl From<u64> for IntrospectionValue {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for IntrospectionValue {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl From<String> for IntrospectionValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for IntrospectionValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for IntrospectionValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntrospectionType {
    /// Whole numbers.
    Integer,
    /// Other numbers.
    Real,
    /// Texts, which are compared without regard to ASCII case.
    Text,
}

/// A table with its rows.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<(&'static str, IntrospectionType)>,
    /// Its rows.
    pub rows: Vec<Vec<IntrospectionValue>>,
}

/// The result of a query.
#[derive(Debug)]
pub struct Rowset {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<IntrospectionValue>>,
}

/// A query engine for the tables.
pub trait Computes: Send + Sync {
    /// Returns the rows of a query over these tables, which are in the schema `freshet`. A query that takes too long or returns too much is
    /// an error.
    ///
    /// # Errors
    /// The error of the query, for its client.
    fn query(
        &self,
        tables: Vec<Table>,
        query: &str,
        parameters: &[IntrospectionValue],
    ) -> Result<Rowset, String>;

    /// Returns the names of the columns of a query's result.
    ///
    /// # Errors
    /// As for [`Computes::query`].
    fn columns(&self, tables: Vec<Table>, query: &str) -> Result<Vec<String>, String>;
}

/// The query engine, and how many statements may use it at once.
#[derive(Clone)]
pub struct QueryEngine {
    pub(crate) computes: Arc<dyn Computes>,
    pub(crate) places: Arc<Semaphore>,
}

impl QueryEngine {
    /// Makes an engine with this implementation.
    pub fn new(computes: Arc<dyn Computes>) -> Self {
        Self { computes, places: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }
}

impl fmt::Debug for QueryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryEngine")
    }
}
