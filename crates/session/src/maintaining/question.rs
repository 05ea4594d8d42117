//! What the keeper is asked for a statement.

use std::sync::Arc;

use freshet_catalog::{Name, TableInfo};
use freshet_sql::{Datum, Input, Modes, QueryPlan, TableName, query_plan};
use freshet_views::{Asker, Compiled, Query, Unmaintained};

use super::Asked;
use crate::created::StoredResult;
use crate::rows::{Named, Tables};
use crate::shared::Shared;

/// What is made of the plan of a text, whose markers have these values, and which reads these tables.
pub(crate) fn planned<T>(
    (text, modes, values): (&[u8], Modes, &[Datum]),
    (tables, schema, (division_digits, offset_s)): (&Tables, Option<&str>, (u8, Option<i32>)),
    make: impl FnOnce(&QueryPlan, &Asker<'_>) -> Result<T, Unmaintained>,
) -> Result<T, String> {
    let definition_of = |table: &TableName| tables.definition(table, schema);
    let columns_of = |table: &TableName| tables.columns_of(table, schema);
    let plan = query_plan(text, modes, &definition_of, &columns_of).map_err(|why| why.to_string())?;
    let name_of = |input: &Input| {
        let table = input.table.as_ref()?;
        let named = tables.known.iter().find(|named| named.is(table, schema))?;
        Some((named.schema.clone(), named.name.clone()))
    };
    make(&plan, &Asker { name_of: &name_of, division_digits, offset_s, values })
        .map_err(|why| why.to_string())
}

pub(crate) fn infos(tables: &Tables) -> Vec<(Name, Arc<TableInfo>)> {
    let table = |named: &Named| ((named.schema.clone(), named.name.clone()), Arc::clone(&named.info));
    tables.known.iter().map(table).collect()
}

/// What gives the rows of a statement that reads these tables.
pub(crate) fn asked(Compiled { query, key, limit }: Compiled, tables: &Tables) -> Asked {
    Asked { query, key: Some(key), limit, tables: infos(tables) }
}

/// What gives the rows of a stored result, if its query is maintained.
pub(crate) async fn of_result(shared: &Shared, result: &StoredResult) -> Option<Asked> {
    let environment = &*result.environment;
    let (modes, schema) = (environment.modes, environment.schema.as_deref());
    let behind = (shared.freshness().as_ref(), &shared.upstream);
    let bound = shared.templates.of((&result.text, modes), schema, behind).await;
    let tables = &bound.template().tables;
    let compiled =
        planned((&result.text, modes, &[]), (tables, schema, environment.computes()), Query::compile).ok()?;
    Some(asked(compiled, tables))
}
