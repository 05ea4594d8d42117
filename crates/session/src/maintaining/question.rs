//! The question to the keeper for a statement.

use std::borrow::Cow;
use std::sync::Arc;

use freshet_catalog::rows::Zone;
use freshet_catalog::{Name, TableInfo};
use freshet_sql::{Datum, Flavor, Input, Modes, QueryPlan, Unplanned};
use freshet_views::{Asker, Compiled, Computing, MaintainedQuery, Unmaintained};

use super::ResultQuestion;
use crate::created::StoredResult;
use crate::rows::{Named, StatementText, Tables};
use crate::shared::Shared;
use crate::sought::has_any;
use crate::template::{BoundSelect, Cacheability};

/// The plan form of a SELECT, with the facts that are needed to maintain its results.
pub(crate) struct Planning<'a> {
    pub(crate) plan: Result<Cow<'a, QueryPlan>, Unplanned>,
    /// The values of the markers.
    pub(crate) values: &'a [Datum],
    /// The tables that the SELECT reads.
    pub(crate) tables: &'a Tables,
    /// The default schema.
    pub(crate) schema: Option<&'a str>,
    pub(crate) computing: Computing,
}

/// Returns the result of `make` for the plan form of a SELECT.
pub(crate) fn planned<T>(
    Planning { plan, values, tables, schema, computing }: Planning<'_>,
    make: impl FnOnce(&QueryPlan, &Asker<'_>) -> Result<T, Unmaintained>,
) -> Result<T, String> {
    let plan = plan.map_err(|why| why.to_string())?;
    let name_of = |input: &Input| {
        let table = input.table.as_ref()?;
        let named = tables.known.iter().find(|named| named.is(table, schema))?;
        Some((named.schema.clone(), named.name.clone()))
    };
    make(&plan, &Asker { name_of: &name_of, computing, values }).map_err(|why| why.to_string())
}

pub(crate) fn infos(tables: &Tables) -> Vec<(Name, Arc<TableInfo>)> {
    let table = |named: &Named| ((named.schema.clone(), named.name.clone()), Arc::clone(&named.info));
    tables.known.iter().map(table).collect()
}

/// Returns the question for the rows of a statement that reads these tables.
pub(crate) fn asked(Compiled { query, key, limit }: Compiled, tables: &Tables) -> ResultQuestion {
    ResultQuestion { query, key: Some(key), limit, tables: infos(tables) }
}

/// Whether a text may have parts that the plan form does not know.
pub(crate) fn asks_for_more(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [b"sql_calc_found_rows", b"fetch", b"procedure"];
    has_any(text, &WORDS)
}

/// Returns what has to be loaded so that a query is maintained, by its text with markers, which has no values yet.
///
/// # Errors
/// Why the query is not maintained.
pub(crate) fn loadable(
    shared: &Shared,
    bound: &BoundSelect<'_>,
    statement: StatementText<'_>,
    computing: Computing,
) -> Result<ResultQuestion, String> {
    let (template, schema) = (bound.template(), statement.schema);
    let tables = &template.tables;
    if !matches!(template.verdict, Cacheability::Cache) || !tables.are_all_base() {
        return Err("it is not known what it reads".to_owned());
    }
    if asks_for_more(statement.text) {
        return Err("SQL_CALC_FOUND_ROWS, FETCH or PROCEDURE".to_owned());
    }
    let planning =
        Planning { plan: bound.plan_form(statement).map(Cow::Owned), values: &[], tables, schema, computing };
    let query = planned(planning, MaintainedQuery::check)?;
    for (name, _) in query.tables() {
        if let Some(setting) = shared.options.copied_tables.leaves_out(name) {
            return Err(format!("{}, which {setting} leaves out", name.1));
        }
    }
    Ok(ResultQuestion { query, key: None, limit: None, tables: infos(tables) })
}

/// Like [`loadable`], for a listed query.
pub(crate) async fn of_query(shared: &Shared, listed: &str, schema: &str) -> Result<ResultQuestion, Unasked> {
    // The listed text means the same in all modes, except for its texts, which stand for no value here.
    let modes = shared.upstream.server().map_or_else(|| Modes::new(Flavor::MySql), |server| server.modes());
    let text = freshet_sql::with_markers(listed.as_bytes(), modes);
    let behind = shared.sources();
    let schema = Some(schema).filter(|schema| !schema.is_empty());
    let bound = shared.templates.of(&text, modes, schema, behind).await;
    if matches!(bound.template().verdict, Cacheability::NotNow(_)) {
        return Err(Unasked::NotNow);
    }
    let statement = StatementText { text: &text, modes, schema, zone: Zone::Other, tokens: None };
    // A session's settings decide again when the session asks.
    loadable(shared, &bound, statement, Computing::default()).map_err(Unasked::Never)
}

/// Why there is no question for a query.
pub(crate) enum Unasked {
    /// Its tables are not known yet.
    NotNow,
    /// The query is not maintained, with the reason.
    Never(String),
}

/// Returns the question for the rows of a stored result, if its query is maintained.
pub(crate) async fn of_result(shared: &Shared, result: &StoredResult) -> Option<ResultQuestion> {
    let environment = &*result.environment;
    let (modes, schema) = (environment.modes, environment.schema.as_deref());
    let behind = shared.sources();
    let bound = shared.templates.of(&result.text, modes, schema, behind).await;
    let (tables, computing) = (&bound.template().tables, environment.computing());
    let statement = StatementText { text: &result.text, modes, schema, zone: environment.zone, tokens: None };
    let planning =
        Planning { plan: bound.plan_form(statement).map(Cow::Owned), values: &[], tables, schema, computing };
    let compiled = planned(planning, MaintainedQuery::compile).ok()?;
    Some(asked(compiled, tables))
}
