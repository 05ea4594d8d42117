//! Random queries over random tables, changed at random, against a naive evaluation of their plan forms.

mod evaluator;
mod refusals;
mod steps;

use crate::compile::Computing;
use freshet_sql::{
    DataType, Flavor, InputColumn, Modes, ParsedSelect, QueryPlan, TableDefinition, TableName,
};

/// What sessions compute with: their clock is an hour ahead.
pub(crate) const COMPUTING: Computing =
    Computing { division_digits: 4, offset_s: Some(3600), sorts_texts: true };
/// How servers read texts that say nothing about it.
pub(crate) const MODES: Modes = Modes::new(Flavor::MySql);

/// `decimal(6,2)`, `bigint unsigned` or the like.
pub(crate) fn data_type(declared: &str) -> DataType {
    let (name, rest) = declared.split_once(['(', ' ']).unwrap_or((declared, ""));
    let mut digits = rest.trim_end_matches(')').split(',').map(|digits| digits.parse().ok());
    DataType {
        name: name.into(),
        is_unsigned: declared.ends_with("unsigned"),
        length: digits.next().flatten(),
        scale: digits.next().flatten(),
        collation: (name == "varchar").then(|| "utf8mb4_general_ci".into()),
        names: matches!(name, "enum" | "set")
            .then(|| ["new", "paid", "sent"].map(|name| name.as_bytes().to_vec()).into()),
    }
}

/// The columns of a table, each with its type.
type Columns = &'static [(&'static str, &'static str)];

/// The tables of the tests: `id` is the primary key, all but it may be NULL.
pub(crate) const TABLES: [(&str, Columns); 2] = [
    (
        "t",
        &[
            ("id", "int"),
            ("a", "bigint"),
            ("b", "int"),
            ("d", "date"),
            ("m", "decimal(6,2)"),
            ("s", "varchar(20)"),
            ("w", "decimal(25,3)"),
            ("e", "enum"),
            ("big", "bigint unsigned"),
            ("y", "year"),
            ("st", "set"),
            ("bt", "bit(7)"),
        ],
    ),
    (
        "u",
        &[
            ("id", "int"),
            ("tid", "int"),
            ("x", "smallint"),
            ("at", "datetime"),
            ("m", "decimal(10,2)"),
            ("z", "decimal(9,0)"),
            ("ts", "timestamp"),
        ],
    ),
];

fn columns_of(table: &TableName) -> Vec<InputColumn> {
    let found = TABLES.iter().find(|(name, _)| *name == table.name);
    let column = |(name, kind): &(&str, &str)| InputColumn {
        name: (*name).to_owned(),
        data_type: Some(data_type(kind)),
        is_nullable: *name != "id",
        is_hidden: false,
    };
    found.map(|(_, columns)| columns.iter().map(column).collect()).unwrap_or_default()
}

pub(crate) fn plan(text: &str) -> QueryPlan {
    let definition_of = |table: &TableName| {
        let columns = columns_of(table).into_iter().map(|column| column.name).collect::<Vec<_>>();
        Some(TableDefinition::Table { columns: columns.into(), shows_all: true })
    };
    ParsedSelect::read(text.as_bytes(), MODES, &definition_of)
        .and_then(|select| select.plan(&columns_of))
        .unwrap_or_else(|why| panic!("{text}: {why}"))
}
