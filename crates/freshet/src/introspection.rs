//! The schema `freshet`: sessions make its tables, and the admin room's SQLite computes over them.

use std::sync::Arc;

use freshet_admin::{MemorySchema, MemoryTable, SqliteType, SqliteValue};
use freshet_session::introspection::{
    Computes, IntrospectionType, IntrospectionValue, QueryEngine, Rowset, Table,
};

/// The schema's name.
const SCHEMA: &str = "freshet";

/// Returns the engine that computes queries.
pub fn engine() -> QueryEngine {
    QueryEngine::new(Arc::new(Sqlite))
}

struct Sqlite;

impl Computes for Sqlite {
    fn query(
        &self,
        tables: Vec<Table>,
        query: &str,
        parameters: &[IntrospectionValue],
    ) -> Result<Rowset, String> {
        let parameters: Vec<_> = parameters.iter().cloned().map(theirs).collect();
        let found = in_memory(tables).query(query, &parameters)?;
        let rows = found.rows.into_iter().map(|row| row.into_iter().map(ours).collect()).collect();
        Ok(Rowset { columns: found.columns, rows })
    }

    fn columns(&self, tables: Vec<Table>, query: &str) -> Result<Vec<String>, String> {
        in_memory(tables).columns(query)
    }
}

fn in_memory(tables: Vec<Table>) -> MemorySchema<'static> {
    let of = |table: Table| MemoryTable {
        name: table.name,
        columns: table.columns.into_iter().map(|(name, of)| (name, kind(of))).collect(),
        rows: table.rows.into_iter().map(|row| row.into_iter().map(theirs).collect()).collect(),
    };
    MemorySchema { name: SCHEMA, tables: tables.into_iter().map(of).collect() }
}

const fn kind(kind: IntrospectionType) -> SqliteType {
    match kind {
        IntrospectionType::Integer => SqliteType::Integer,
        IntrospectionType::Real => SqliteType::Real,
        IntrospectionType::Text => SqliteType::Text,
    }
}

fn theirs(value: IntrospectionValue) -> SqliteValue {
    match value {
        IntrospectionValue::Null => SqliteValue::Null,
        IntrospectionValue::Integer(number) => SqliteValue::Integer(number),
        IntrospectionValue::Real(number) => SqliteValue::Real(number),
        IntrospectionValue::Text(text) => SqliteValue::Text(text),
    }
}

fn ours(value: SqliteValue) -> IntrospectionValue {
    match value {
        SqliteValue::Null => IntrospectionValue::Null,
        SqliteValue::Integer(number) => IntrospectionValue::Integer(number),
        SqliteValue::Real(number) => IntrospectionValue::Real(number),
        SqliteValue::Text(text) => IntrospectionValue::Text(text),
    }
}
