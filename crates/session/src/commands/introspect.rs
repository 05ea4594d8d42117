//! A SELECT from tables of the schema `freshet`, which Freshet computes itself, and SHOW of these tables.
//!
//! If the client can see a schema of that name on the server, the schema is the server's: statements on it go to the server.

mod answer;
mod chosen;
mod prepared;
mod show;

use std::sync::Arc;

use freshet_protocol::ErrPacket;
use freshet_sql::{Reads, TableName, contains_ignoring_case};

use super::text::TextQuery;
use crate::introspection::{
    IntrospectionTable, IntrospectionValue, Rowset, SCHEMA, ServerFigures, TABLES, Table, View, Viewer,
};
use crate::privileges::{self, Privilege};
use crate::relay::Lost;
use crate::session::{Flow, Session};
use crate::shared::Shared;

pub(super) use answer::{RowFormat, put};
pub(crate) use chosen::begin_in;
pub(super) use chosen::{init_db, inside, names_schemas, refuse};
pub(super) use prepared::{execute, execute_text, prepare, substitute};
pub(super) use show::{may_be_shown, show};

/// ER_NOT_SUPPORTED_YET.
const NOT_SUPPORTED: u16 = 1235;
/// ER_UNKNOWN_ERROR.
const UNKNOWN_ERROR: u16 = 1105;

/// Whether a SELECT names tables of the schema `freshet`, and does not mean a schema of the server.
pub(super) async fn is_ours(session: &mut Session, text: &[u8]) -> bool {
    if session.shared.options.engine.is_none() || !names_schema(session, text) {
        return false;
    }
    is_absent(session).await
}

/// Whether the client sees no schema of that name on the server.
async fn is_absent(session: &mut Session) -> bool {
    let found = session.ask("SHOW DATABASES LIKE 'freshet'").await;
    found.is_ok_and(|found| found.rows.is_empty())
}

/// Whether a statement names tables of a schema of that name.
pub(super) fn names_schema(session: &Session, text: &[u8]) -> bool {
    let is_in = |table: &TableName| table.schema.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(SCHEMA));
    contains_ignoring_case(text, SCHEMA.as_bytes())
        && matches!(freshet_sql::effects(text, session.modes()).reads, Reads::Tables(tables) if tables.iter().any(is_in))
}

/// Answers a SELECT from tables of the schema.
pub(super) async fn handle(session: &mut Session, query: TextQuery<'_>) -> Result<Flow, Lost> {
    match Box::pin(found(session, query.text(), Vec::new())).await? {
        Ok(found) => answer::put(session, &found, RowFormat::Text),
        Err(error) => session.refuse(&error),
    }
}

/// Returns the rows of a query with these parameters.
async fn found(
    session: &mut Session,
    text: &[u8],
    parameters: Vec<IntrospectionValue>,
) -> Result<Result<Rowset, ErrPacket>, Lost> {
    if let Err(error) = session.learn().await {
        return Ok(Err(error.to_err_packet()));
    }
    let mut view = match view(session).await? {
        Ok(view) => view,
        Err(error) => return Ok(Err(error)),
    };
    if view.only.is_none() && contains_ignoring_case(text, b"advice") {
        view.server = server_figures(&view.shared).await;
    }
    let Some(engine) = session.shared.options.engine.clone() else { return Ok(Err(error("it is off"))) };
    let text = String::from_utf8_lossy(text).into_owned();
    // Acquiring only fails when the semaphore is closed, which never happens.
    let _place = engine.places.acquire().await;
    let computes = Arc::clone(&engine.computes);
    let computed = tokio::task::spawn_blocking(move || {
        let tables = named(&text, |table| table.made(&view));
        computes.query(tables, &text, &parameters)
    });
    Ok(match computed.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(why)) => Err(error(&why)),
        Err(_) => Err(error("it was broken off")),
    })
}

/// The tables that a text names.
fn named(text: &str, made: impl Fn(&IntrospectionTable) -> Table) -> Vec<Table> {
    let text = text.to_ascii_lowercase();
    TABLES.iter().filter(|table| text.contains(table.name)).map(made).collect()
}

/// Returns what the client may see: everything with PROCESS, otherwise the client's own data.
async fn view(session: &mut Session) -> Result<Result<View, ErrPacket>, Lost> {
    let may_see_all = privileges::require(session, Privilege::Process).await?.is_ok();
    let Some(environment) = session.environment().filter(|_| !may_see_all) else {
        let shared = Arc::clone(&session.shared);
        return Ok(if may_see_all {
            Ok(View { shared, only: None, server: ServerFigures::default() })
        } else {
            Err(error("the session's settings could not be read"))
        });
    };
    let viewer = Viewer {
        user: String::from_utf8_lossy(&session.admitted.user).into_owned(),
        account: environment.account.clone(),
    };
    let (shared, server) = (Arc::clone(&session.shared), ServerFigures::default());
    Ok(Ok(View { shared, only: Some(viewer), server }))
}

/// Returns the server's counts; zeros if the server cannot be asked.
async fn server_figures(shared: &Shared) -> ServerFigures {
    const COUNTED: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_reads', \
         'Com_select', 'Com_insert', 'Com_insert_select', 'Com_update', 'Com_update_multi', 'Com_delete', 'Com_delete_multi', 'Com_replace', \
         'Com_replace_select', 'Com_load')";
    const SET: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_buffer_pool_size', \
         'innodb_buffer_pool_chunk_size', 'innodb_buffer_pool_instances')";
    let mut figures = ServerFigures::default();
    for sql in [COUNTED, SET] {
        let Ok(found) = shared.upstream.ask(sql).await else { continue };
        for row in found.texts() {
            let [name, value] = row[..] else { continue };
            let value: u64 = value.parse().unwrap_or(0);
            match name.to_ascii_lowercase().as_str() {
                "innodb_buffer_pool_read_requests" => figures.pool_requests = value,
                "innodb_buffer_pool_reads" => figures.pool_reads = value,
                "innodb_buffer_pool_size" => figures.pool_size = value,
                "innodb_buffer_pool_chunk_size" => figures.pool_chunk = value,
                "innodb_buffer_pool_instances" => figures.pool_instances = value,
                "com_select" => figures.selects = value,
                _ => figures.writes = figures.writes.saturating_add(value),
            }
        }
    }
    figures
}

/// Returns the error for a query that cannot be answered.
fn error(why: &str) -> ErrPacket {
    match why.strip_prefix("no such table: ") {
        Some(table) if !table.to_ascii_lowercase().starts_with("freshet.") => ErrPacket::new(
            NOT_SUPPORTED,
            "42000",
            format!(
                "Freshet answers statements over the schema freshet by itself: they cannot read '{table}', which is the server's"
            ),
        ),
        Some(table) => ErrPacket::new(1146, "42S02", format!("Table '{table}' doesn't exist")),
        None if why.contains("syntax error") || why == "incomplete input" => ErrPacket::new(
            1064,
            "42000",
            format!("Freshet computes over the schema freshet in SQLite's SQL, which says: {why}"),
        ),
        None => ErrPacket::new(UNKNOWN_ERROR, "HY000", format!("Freshet, over the schema freshet: {why}")),
    }
}
