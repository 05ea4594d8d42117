//! The schema `freshet`: sessions make its tables, and the admin room's SQLite computes over them.

use std::sync::Arc;

use freshet_admin::MemoryTable;
use freshet_session::introspection::{Computes, Engine, Kind, Rowset, Table, Value};

/// The schema's name.
const SCHEMA: &str = "freshet";

/// Who computes.
pub fn engine() -> Engine {
    Engine::new(Arc::new(Sqlite))
}

struct Sqlite;

impl Computes for Sqlite {
    fn query(&self, tables: Vec<Table>, query: &str, parameters: &[Value]) -> Result<Rowset, String> {
        let parameters: Vec<_> = parameters.iter().cloned().map(theirs).collect();
        let found = freshet_admin::query((SCHEMA, in_memory(tables)), query, &parameters)?;
        let rows = found.rows.into_iter().map(|row| row.into_iter().map(ours).collect()).collect();
        Ok(Rowset { columns: found.columns, rows })
    }

    fn columns(&self, tables: Vec<Table>, query: &str) -> Result<Vec<String>, String> {
        freshet_admin::columns((SCHEMA, in_memory(tables)), query)
    }
}

fn in_memory(tables: Vec<Table>) -> Vec<MemoryTable<'static>> {
    let of = |table: Table| MemoryTable {
        name: table.name,
        columns: table.columns.into_iter().map(|(name, of)| (name, kind(of))).collect(),
        rows: table.rows.into_iter().map(|row| row.into_iter().map(theirs).collect()).collect(),
    };
    tables.into_iter().map(of).collect()
}

const fn kind(kind: Kind) -> freshet_admin::Kind {
    match kind {
        Kind::Integer => freshet_admin::Kind::Integer,
        Kind::Real => freshet_admin::Kind::Real,
        Kind::Text => freshet_admin::Kind::Text,
    }
}

fn theirs(value: Value) -> freshet_admin::Value {
    match value {
        Value::Null => freshet_admin::Value::Null,
        Value::Integer(number) => freshet_admin::Value::Integer(number),
        Value::Real(number) => freshet_admin::Value::Real(number),
        Value::Text(text) => freshet_admin::Value::Text(text),
    }
}

fn ours(value: freshet_admin::Value) -> Value {
    match value {
        freshet_admin::Value::Null => Value::Null,
        freshet_admin::Value::Integer(number) => Value::Integer(number),
        freshet_admin::Value::Real(number) => Value::Real(number),
        freshet_admin::Value::Text(text) => Value::Text(text),
    }
}
