//! Random queries over random tables, changed at random, against a naive evaluation of their plan forms.

mod evaluator;
mod refusals;
mod steps;

use freshet_sql::{DataType, Definition, Flavor, InputColumn, Modes, QueryPlan, TableName, query_plan};

/// How servers read texts that say nothing about it.
pub(crate) const MODES: Modes = Modes::new(Flavor::MySql);

pub(crate) fn data_type(name: &str) -> DataType {
    let collation = (name == "varchar").then(|| "utf8mb4_general_ci".into());
    DataType { name: name.into(), is_unsigned: false, length: None, scale: None, collation }
}

/// The tables of the tests: `id` is the primary key, all but it may be NULL.
pub(crate) const TABLES: [(&str, &[(&str, &str)]); 2] = [
    ("t", &[("id", "int"), ("a", "bigint"), ("b", "int"), ("d", "date"), ("s", "varchar")]),
    ("u", &[("id", "int"), ("tid", "int"), ("x", "smallint"), ("at", "datetime")]),
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
        Some(Definition::Table { columns: columns.into(), shows_all: true })
    };
    query_plan(text.as_bytes(), MODES, &definition_of, &columns_of)
        .unwrap_or_else(|why| panic!("{text}: {why}"))
}
