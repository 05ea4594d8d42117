//! SET PERSIST, SET PERSIST_ONLY and RESET PERSIST.

use std::sync::Arc;

use freshet_cache::Cache;
use freshet_protocol::ErrPacket;
use freshet_sql::{Assignment, Keeps, Scope};
use tokio::sync::Notify;

use super::values::{target, unknown};
use crate::persisted::Changes;
use crate::privileges::{self, Privilege};
use crate::relay::Lost;
use crate::session::Session;
use crate::variables::{self, Globals, Locals, VariableTarget};
use crate::warnings::Warning;

/// ER_OPTION_PREVENTS_STATEMENT.
const NOT_KEPT: u16 = 1290;
/// ER_VAR_DOES_NOT_EXIST of MySQL.
const NOT_THERE: u16 = 3615;

fn is_off() -> ErrPacket {
    let message = "The server is running with the persist=off option so it cannot execute this statement";
    ErrPacket::new(NOT_KEPT, "HY000", message)
}

/// Checks an assignment that is only to be persisted, and does not carry it out. Returns its value as it will be.
///
/// # Errors
/// The errors of setting the variable, and 1290 if persisting is off.
pub(super) fn only(
    session: &mut Session,
    assignment: &Assignment,
) -> Result<(String, Option<Warning>), ErrPacket> {
    let shared = Arc::clone(&session.shared);
    if !shared.persisted.is_on() {
        return Err(is_off());
    }
    let variable = variables::find(&assignment.name).ok_or_else(|| unknown(&assignment.name))?;
    // Set on a copy, from which only the value is used.
    let globals = Globals::default();
    globals.set(shared.globals.values());
    let started = shared.globals.started_with_type.load(std::sync::atomic::Ordering::Relaxed);
    globals.started_with_type.store(started, std::sync::atomic::Ordering::Relaxed);
    let cache = Cache::new(Arc::clone(shared.freshness()), 0, 0);
    let (mut locals, resized) = (Locals::default(), Notify::new());
    let before = target(session);
    let mut target =
        VariableTarget { globals: &globals, cache: &cache, locals: &mut locals, resized: &resized, ..before };
    let warning = variable.set(&mut target, Scope::Global, &assignment.value)?;
    Ok((variable.shown(&target, Scope::Global), warning))
}

/// Returns what an assignment that was carried out adds to the persisted values.
pub(super) fn kept(session: &mut Session, assignment: &Assignment) -> Result<Option<String>, Warning> {
    if assignment.keeps == Keeps::Not {
        return Ok(None);
    }
    if !session.shared.persisted.is_on() {
        let message = format!("The value of {} is not kept over a restart: persist is off", assignment.name);
        return Err(Warning { code: NOT_KEPT, message });
    }
    let target = target(session);
    Ok(variables::find(&assignment.name).map(|variable| variable.shown(&target, Scope::Global)))
}

/// Writes changes to the persisted values. Returns the changes that take them back.
pub(in crate::commands) async fn write(session: &Session, changes: Changes) -> Result<Changes, ErrPacket> {
    if changes.is_empty() {
        return Ok(changes);
    }
    let shared = Arc::clone(&session.shared);
    let written = tokio::task::spawn_blocking(move || shared.persisted.change(changes)).await;
    written.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(|error| {
        ErrPacket::new(1026, "HY000", format!("Error writing the file of persisted variables ({error})"))
    })
}

/// Carries out RESET PERSIST of one variable of Freshet's, or of all.
pub(super) async fn reset(
    session: &mut Session,
    name: Option<String>,
    if_exists: bool,
) -> Result<Result<(), ErrPacket>, Lost> {
    if let Err(error) = privileges::require(session, Privilege::SetGlobal).await? {
        return Ok(Err(error));
    }
    let values = session.shared.persisted.values();
    if let Some(name) = &name
        && !values.contains_key(name)
    {
        let message = format!("Variable {name} does not exist in persisted config file");
        if if_exists {
            session.state.last.warnings.extend([Warning { code: NOT_THERE, message }]);
            return Ok(Ok(()));
        }
        return Ok(Err(ErrPacket::new(NOT_THERE, "HY000", message)));
    }
    let is_named = |kept: &String| name.as_ref().is_none_or(|name| name == kept);
    let changes: Changes = values.into_keys().filter(is_named).map(|name| (name, None)).collect();
    Ok(write(session, changes).await.map(|_| ()))
}
