//! Statements that Freshet answers itself, or takes part in: Freshet's variables, status and cache.

// The variables, and their values.
mod values;
mod computed;
pub(crate) mod persist;

// Lists and tables of variables, status values and results.
pub(super) mod list;
mod described;
mod made;

// Freshet's own within a statement for the server, and among several statements.
pub(super) mod mention;
mod mixed;
mod several;

use std::sync::Arc;

use freshet_cache::Dep;
use freshet_protocol::ErrPacket;
use freshet_sql::{Assignment, Flavor, Keeps, LikeFilter, Lists, Ours, Scope, SelectedVariable, TableName};

use super::caches;
use super::filling::count_not_cached;
use super::refusals::unavailable;
use super::text::{TextQuery, forward};
use crate::local::{self, ShownCell};
use crate::persisted::Changes;
use crate::privileges::{self, Privilege};
use crate::relay::{Lost, flushes_status};
use crate::session::{Flow, Forward, Message, Session};
use crate::variables::{self, GlobalValues, Locals};
use crate::warnings::Warning;
use computed::computed;
pub(super) use list::session_status;
pub(crate) use made::prepared_text;
pub(super) use mixed::mixed;
pub(super) use several::{pieces, several};
pub(super) use values::{doubled, quoted};
use values::{selected, target, unknown};

pub(super) async fn handle(
    session: &mut Session,
    query: TextQuery<'_>,
    statement: Ours,
) -> Result<Flow, Lost> {
    session.state.last.warnings.begin(session.flavor());
    match statement {
        Ours::SetVariables(assignments) | Ours::SetMixed { ours: assignments, .. } => {
            let before = Snapshot::of(session);
            let kept = match assign(session, &assignments).await? {
                Ok(kept) => persist::write(session, kept).await,
                Err(error) => Err(error),
            };
            match kept {
                Ok(_) => session.put_ok(session.state.last.warnings.count()),
                Err(error) => {
                    before.restore(session);
                    session.put_error(&error);
                }
            }
        }
        Ours::ShowVariables { scope, like } => show(session, Lists::Variables, scope, &like),
        Ours::ShowStatus { scope, like } => show(session, Lists::Status, scope, &like),
        Ours::ShowAll { lists, scope, filter } => {
            return Box::pin(list::all(session, query, lists, scope, &filter)).await;
        }
        Ours::SelectVariables(selected) => select_variables(session, &selected),
        Ours::ShowColumns { full, like } => described::put(session, full, like.as_ref()),
        // SET STATEMENT is carried out where the statement in it is carried out.
        Ours::SetStatement { .. } => return refused(session),
        Ours::ResetPersist { name, if_exists } => {
            return reset_persist(session, query, name, if_exists).await;
        }
        Ours::FlushTables(names) => return Box::pin(flush_tables(session, query, &names)).await,
        Ours::FlushStatus => return Box::pin(flush_status(session, query)).await,
        Ours::FlushQueryCache => return flush(session, false).await,
        Ours::ResetQueryCache => return flush(session, true).await,
        Ours::AmongOthers { is_reset, rest } => {
            return Box::pin(flush_among_others(session, query, is_reset, rest.as_bytes())).await;
        }
        Ours::Caches(statement) => return Box::pin(caches::handle(session, &statement)).await,
    }
    Ok(Flow::Continue)
}

/// Freshet's variables before a SET, for a SET that fails halfway.
pub(super) struct Snapshot {
    locals: Locals,
    globals: GlobalValues,
    size: usize,
    limit: usize,
}

impl Snapshot {
    pub(super) fn of(session: &Session) -> Self {
        let shared = &session.shared;
        Self {
            locals: session.state.locals.clone(),
            globals: shared.globals.values(),
            size: shared.cache.size(),
            limit: shared.cache.limit(),
        }
    }

    pub(super) fn restore(self, session: &mut Session) {
        let shared = &session.shared;
        session.state.locals = self.locals;
        shared.globals.set(self.globals);
        if shared.cache.size() != self.size {
            shared.resize_cache(self.size);
        }
        shared.cache.set_limit(self.limit);
        shared.ask_for_semisync();
        session.refresh_key();
    }
}

/// Carries out assignments in order. The first failure ends this; the caller takes the earlier assignments back.
pub(super) async fn assign(
    session: &mut Session,
    assignments: &[Assignment],
) -> Result<Result<Changes, ErrPacket>, Lost> {
    let mut changes = Changes::new();
    session.state.last.warnings.begin(session.flavor());
    if assignments.iter().any(|it| it.scope == Scope::Global)
        && let Err(error) = privileges::require(session, Privilege::SetGlobal).await?
    {
        return Ok(Err(error));
    }
    for assignment in assignments {
        let value = match computed(session, &assignment.value).await {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        match set(session, &Assignment { value, ..assignment.clone() }, &mut changes) {
            Ok(warnings) => session.state.last.warnings.extend(warnings.into_iter().flatten()),
            Err(error) => return Ok(Err(error)),
        }
    }
    session.shared.ask_for_semisync();
    session.refresh_key();
    Ok(Ok(changes))
}

/// Carries out one assignment, and adds what is to be persisted of it to `changes`.
fn set(
    session: &mut Session,
    assignment: &Assignment,
    changes: &mut Changes,
) -> Result<[Option<Warning>; 2], ErrPacket> {
    if assignment.keeps == Keeps::Only {
        let (value, warning) = persist::only(session, assignment)?;
        changes.insert(assignment.name.clone(), Some(value));
        return Ok([warning, None]);
    }
    let Some(variable) = variables::find(&assignment.name) else {
        return Err(unknown(&assignment.name));
    };
    let warning = variable.set(&mut target(session), assignment.scope, &assignment.value)?;
    match persist::kept(session, assignment) {
        Ok(kept) => {
            changes.extend(kept.map(|value| (assignment.name.clone(), Some(value))));
            Ok([warning, None])
        }
        Err(other) => Ok([warning, Some(other)]),
    }
}

fn show(session: &mut Session, lists: Lists, scope: Scope, like: &LikeFilter) {
    let rows = list::rows(session, lists, scope, |name| like.matches(name)).into_iter();
    let rows: Vec<[ShownCell; 2]> =
        rows.map(|(name, value)| [ShownCell::text(name), ShownCell::text(value)]).collect();
    local::put_rows(session, &["Variable_name", "Value"], &rows);
}

fn select_variables(session: &mut Session, columns: &[SelectedVariable]) {
    let mut row = Vec::new();
    for item in columns {
        match selected(session, item.scope, &item.name) {
            Ok(cell) => row.push(cell),
            Err(error) => return session.put_error(&error),
        }
    }
    let titles: Vec<&str> = columns.iter().map(|item| item.title.as_str()).collect();
    local::put_rows(session, &titles, &[row]);
    // Counted like any other SELECT without a table.
    count_not_cached(session, None);
}

/// Flushes the server's status, if the account may do so, and then Freshet's.
async fn flush_status(session: &mut Session, query: TextQuery<'_>) -> Result<Flow, Lost> {
    if flushes_at_server(session, query).await? {
        session.shared.cache.flush_statistics();
    }
    Ok(Flow::Continue)
}

/// Flushes the server's tables. Like a native cache, drops the results that depend on the named tables; without names, drops all results.
async fn flush_tables(
    session: &mut Session,
    query: TextQuery<'_>,
    names: &[TableName],
) -> Result<Flow, Lost> {
    if flushes_at_server(session, query).await? {
        drop_of(session, names).await;
    }
    Ok(Flow::Continue)
}

/// Has the server carry out a FLUSH that loads no rights. Returns whether the server has done so.
async fn flushes_at_server(session: &mut Session, query: TextQuery<'_>) -> Result<bool, Lost> {
    let text = query.text();
    let effects = session.certain(text, freshet_sql::effects(text, session.modes()));
    let flushing = session.shared.upstream.flushes_harmlessly();
    let is_done = session.forward(Forward::new(query.message(), &effects)).await?.error.is_none();
    if is_done {
        flushing.succeeds();
    }
    Ok(is_done)
}

/// Returns the dependencies of the results of these tables; `None` if there are no names, or if it is not certain which tables they mean.
fn named_in_full(session: &Session, names: &[TableName]) -> Option<Vec<Dep>> {
    let folds = session.shared.upstream.server()?.folds_names();
    let in_form = |name: &str| if folds { name.to_lowercase() } else { name.to_owned() };
    let freshness = session.shared.freshness();
    let dep = |name: &TableName| {
        let schema = name.schema.as_deref().or(session.state.environment.schema())?;
        Some(freshness.table(&in_form(schema), &in_form(&name.name)).definition)
    };
    if names.is_empty() { None } else { names.iter().map(dep).collect() }
}

/// Carries out RESET PERSIST. RESET PERSIST without a name also concerns MySQL's own variables.
async fn reset_persist(
    session: &mut Session,
    query: TextQuery<'_>,
    name: Option<String>,
    if_exists: bool,
) -> Result<Flow, Lost> {
    let is_of_all = name.is_none();
    if let Err(error) = persist::reset(session, name, if_exists).await? {
        return session.refuse(&error);
    }
    if is_of_all && session.flavor() == Flavor::MySql {
        let text = query.text();
        let effects = session.certain(text, freshet_sql::effects(text, session.modes()));
        return forward(session, Forward::new(query.message(), &effects)).await;
    }
    session.put_ok(session.state.last.warnings.count());
    Ok(Flow::Continue)
}

pub(super) fn refused(session: &mut Session) -> Result<Flow, Lost> {
    let message = "This command is not supported in the prepared statement protocol yet";
    session.refuse(&ErrPacket::new(1295, "HY000", message))
}

/// Heeds a text of several statements that may have emptied the cache. The statements are the server's, and the server does not say how
/// many ran.
pub(super) async fn heed_several(session: &Session, text: &[u8]) {
    match freshet_sql::empties(text, session.modes()) {
        None => {}
        Some(names) => drop_of(session, &names).await,
    }
}

/// Drops the results that depend on these tables; drops all results if there are no names.
async fn drop_of(session: &Session, names: &[TableName]) {
    match named_in_full(session, names) {
        // A stamp, and no search: results of other tables stay, however many there are.
        Some(tables) => session.shared.upstream.changed_unlogged(&tables),
        None => empty(session).await,
    }
}

/// Does what COM_REFRESH has the native cache do: the flags are those of FLUSH.
pub(super) async fn refreshed(session: &Session, flags: u8) {
    const TABLES: u8 = 4;
    const STATUS: u8 = 16;
    if flags & TABLES != 0 {
        empty(session).await;
    }
    if flags & STATUS != 0 {
        session.shared.cache.flush_statistics();
    }
}

async fn empty(session: &Session) {
    let cache = Arc::clone(&session.shared.cache);
    // Giving gigabytes back takes the system a while. The join fails only when the program ends.
    let _ = tokio::task::spawn_blocking(move || cache.clear()).await;
}

/// Refuses a session that may not flush. Returns how the session goes on if it was refused.
async fn refuses_reload(session: &mut Session) -> Result<Option<Flow>, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error).map(Some);
    }
    match privileges::require(session, Privilege::Reload).await? {
        Ok(()) => Ok(None),
        Err(error) => session.refuse(&error).map(Some),
    }
}

/// Carries out a FLUSH or RESET of the cache together with parts for the server.
async fn flush_among_others(
    session: &mut Session,
    query: TextQuery<'_>,
    is_reset: bool,
    rest: &[u8],
) -> Result<Flow, Lost> {
    if let Some(refused) = refuses_reload(session).await? {
        return Ok(refused);
    }
    let effects = session.certain(rest, freshet_sql::effects(rest, session.modes()));
    let payload = query.with_text(rest);
    let forward = Forward::new(Message::query(&payload, rest), &effects);
    if session.forward(forward).await?.error.is_none() {
        if flushes_status(rest) {
            session.shared.cache.flush_statistics();
        }
        if is_reset {
            empty(session).await;
        }
    }
    Ok(Flow::Continue)
}

/// FLUSH QUERY CACHE has nothing to defragment here; RESET QUERY CACHE empties the cache.
async fn flush(session: &mut Session, empties: bool) -> Result<Flow, Lost> {
    if let Some(refused) = refuses_reload(session).await? {
        return Ok(refused);
    }
    if empties {
        empty(session).await;
    }
    session.put_ok(0);
    Ok(Flow::Continue)
}
