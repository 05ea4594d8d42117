//! Queries over tables that are made for one statement, and that nothing can change.

use std::time::Duration;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use crate::bounded::Deadline;
use crate::runtime::SqliteValue;
use crate::tables::create;

/// How long a query may take.
const QUERY_TIME_MAX: Duration = Duration::from_secs(2);
/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// The most bytes of a text or a row.
const TEXT_BYTES_MAX: i32 = 4 << 20;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqliteType {
    /// Whole numbers.
    Integer,
    /// Other numbers.
    Real,
    /// Texts, which are compared without regard to ASCII case.
    Text,
}

/// A table that is made for one statement.
pub struct MemoryTable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its columns.
    pub columns: Vec<(&'a str, SqliteType)>,
    /// Its rows.
    pub rows: Vec<Vec<SqliteValue>>,
}

/// A schema that is made for one statement.
pub struct MemorySchema<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its tables.
    pub tables: Vec<MemoryTable<'a>>,
}

/// The result of a query.
#[derive(Debug)]
pub struct Computed {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<SqliteValue>>,
}

impl MemorySchema<'_> {
    /// Returns the rows of a query over its tables.
    ///
    /// # Errors
    /// SQLite's own words.
    pub fn query(self, query: &str, parameters: &[SqliteValue]) -> Result<Computed, String> {
        run(self, query, parameters).map_err(|error| in_words(&error))
    }

    /// Returns the names of the columns that a query over its tables would give.
    ///
    /// # Errors
    /// SQLite's own words.
    pub fn columns(self, query: &str) -> Result<Vec<String>, String> {
        let (connection, _) = open(self).map_err(|error| in_words(&error))?;
        let prepared = connection.prepare(query).map_err(|error| in_words(&error))?;
        Ok(prepared.column_names().map(str::to_owned).collect())
    }
}

fn run(schema: MemorySchema<'_>, query: &str, parameters: &[SqliteValue]) -> rusqlite::Result<Computed> {
    let (connection, deadline) = open(schema)?;
    deadline.set(Some(QUERY_TIME_MAX));
    let mut prepared = connection.prepare(query)?;
    let columns: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let mut found = prepared.query(params_from_iter(parameters))?;
    while let Some(row) = found.next()? {
        let values: Vec<SqliteValue> =
            (0..columns.len()).map(|at| row.get_ref(at).map(value)).collect::<Result<_, _>>()?;
        bytes += values.iter().map(size).sum::<usize>();
        if bytes > ANSWER_BYTES_MAX {
            let why = format!("the answer has more than {} MiB", ANSWER_BYTES_MAX >> 20);
            return Err(rusqlite::Error::ToSqlConversionFailure(why.into()));
        }
        rows.push(values);
    }
    Ok(Computed { columns, rows })
}

/// Returns a connection with the tables of a schema, which can only be read.
fn open(schema: MemorySchema<'_>) -> rusqlite::Result<(Connection, Deadline)> {
    let MemorySchema { name: schema, tables } = schema;
    let mut connection = Connection::open_in_memory()?;
    let deadline = Deadline::on(&mut connection, TEXT_BYTES_MAX)?;
    connection.execute(&format!("ATTACH DATABASE ':memory:' AS {schema}"), [])?;
    connection.execute_batch("BEGIN")?;
    for MemoryTable { name, columns, rows } in tables {
        connection.execute(&create(schema, name, &declared(&columns)), [])?;
        let places = vec!["?"; columns.len()].join(",");
        let mut insert = connection.prepare(&format!("INSERT INTO {schema}.{name} VALUES ({places})"))?;
        for row in rows {
            insert.execute(params_from_iter(&row))?;
        }
    }
    connection.execute_batch("COMMIT")?;
    connection.authorizer(Some(|context: AuthContext<'_>| reads(&context)))?;
    Ok((connection, deadline))
}

fn declared(columns: &[(&str, SqliteType)]) -> String {
    let declared = |(name, kind): &(&str, SqliteType)| match kind {
        SqliteType::Integer => format!("\"{name}\" INTEGER"),
        SqliteType::Real => format!("\"{name}\" REAL"),
        SqliteType::Text => format!("\"{name}\" TEXT COLLATE NOCASE"),
    };
    columns.iter().map(declared).collect::<Vec<_>>().join(", ")
}

/// Whether an action only reads. It is decided while SQLite compiles a statement, so no spelling gets around it.
fn reads(context: &AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

fn value(value: ValueRef<'_>) -> SqliteValue {
    match value {
        ValueRef::Null => SqliteValue::Null,
        ValueRef::Integer(number) => SqliteValue::Integer(number),
        ValueRef::Real(number) => SqliteValue::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            SqliteValue::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn size(value: &SqliteValue) -> usize {
    std::mem::size_of::<SqliteValue>() + if let SqliteValue::Text(text) = value { text.len() } else { 0 }
}

fn in_words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.code == rusqlite::ErrorCode::OperationInterrupted =>
        {
            format!("the query took longer than {} seconds", QUERY_TIME_MAX.as_secs())
        }
        rusqlite::Error::SqliteFailure(_, Some(why)) => why.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
