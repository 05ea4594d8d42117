//! The `sql` crate's evaluator of statements, from its source, and what it expects around it.

use freshet_sql::{Condition, Datum, Flavor, Modes, Pin, TableDefinition, TableName, View, row_reads_of};
#[cfg(test)]
use freshet_sql::{Given, RowWrite, RowWrites, row_writes};

const MYSQL: Modes = Modes::new(Flavor::MySql);

/// Returns the tables there are.
fn columns_of(table: &TableName) -> Option<TableDefinition<'static>> {
    let columns: &[&str] = match table.name.as_str() {
        "t" => &["id", "a", "b", "c", "date", "end", "case", "order"],
        "u" => &["id", "tid", "x", "y"],
        "w" => &["id", "uid", "z"],
        _ => return None,
    };
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Some(TableDefinition::Table { columns, shows_all: true })
}

fn show_alternatives(pins: &[Vec<Pin>]) -> String {
    format!("{pins:?}")
}

#[allow(dead_code, clippy::all)]
#[path = "../../sql/src/rows/tests/evaluator.rs"]
pub mod evaluator;
