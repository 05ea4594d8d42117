//! PREPARE, EXECUTE and EXECUTE IMMEDIATE: executing does what the prepared text does.
//!
//! An EXECUTE of a SELECT that was prepared from a literal is answered from memory like a COM_STMT_EXECUTE, if the values
//! of its user variables are known for certain. The answer has the form of a text's answer, and is stored apart from both.

use std::sync::Arc;

use freshet_protocol::{Capabilities, Command};
use freshet_sql::{Datum, Effects, TextPrepared, Using, prepared_kill, text_prepared};
use freshet_upstream::Error;

use super::kill;
use super::ours_prepared;
use super::prepared::{self, BoundExecution, By, SelectExecution};
use super::refusals::unavailable;
use super::text::TextQuery;
use crate::reading::{self, OneSelect};
use crate::relay::Lost;
use crate::rows::Write;
use crate::session::{
    Deeds, ExecutionFacts, Flow, Forward, Missed, Prepared, PreparedSelect, SELECT_BYTES_MAX, Session, Text,
    UserValue, begins_with_execute,
};

/// A SELECT that is executed by a text, with its values.
struct Executing {
    prepared: Arc<Prepared>,
    /// The packet that COM_STMT_EXECUTE would have.
    packet: Vec<u8>,
    by: By,
    name: String,
}

/// Answers an EXECUTE from memory, if possible. `None` if the text is no EXECUTE that memory may answer.
pub(super) fn from_memory(session: &mut Session, text: &[u8]) -> Option<Result<(), Missed>> {
    if !begins_with_execute(text) || text.len() > SELECT_BYTES_MAX {
        return None;
    }
    let environment = session.current_key()?;
    let found = text_prepared(text, session.modes())?;
    let executing = executing(session, &found)?;
    Some(prepared::take_stored(session, executing.with(text), environment))
}

impl Executing {
    fn with<'a>(&'a self, text: &'a [u8]) -> SelectExecution<'a> {
        let Self { prepared, packet, by, name } = self;
        SelectExecution {
            prepared,
            packet,
            capabilities: Capabilities::empty(),
            by: *by,
            name,
            statement: text,
        }
    }
}

/// Returns what a text does with a statement that is prepared by text. A text in a user variable is known only where the variable's value
/// is certain.
pub(super) fn read(session: &Session, text: &[u8]) -> Option<TextPrepared> {
    let mut found = text_prepared(text, session.modes())?;
    if let TextPrepared::Prepare { text: inner @ None, variable: Some(variable), .. } = &mut found
        && let Some(environment) = session.environment()
        && let Some(UserValue::Text(value, _)) = session.state.user_variables.get(variable, environment.id)
    {
        *inner = Some(value.clone());
    }
    Some(found)
}

/// Forwards a text that is no SELECT and no statement of Freshet's own. `effects` are those of the text itself, `write` the rows that it
/// writes.
pub(super) async fn forward(
    session: &mut Session,
    query: TextQuery<'_>,
    effects: Effects,
    write: Option<Write<'_>>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let found = read(session, text);
    if found.is_none() {
        session.state.texts.forget_those_in(text);
    }
    if let Some(found) = &found
        && let Some(done) = ours_prepared::by_text(session, query, found).await
    {
        return done;
    }
    if let Some(done) = kill_by(session, found.as_ref()).await {
        return done;
    }
    if let Some(found) = &found
        && let Err(error) = Box::pin(learn_for(session, found)).await
    {
        return unavailable(session, &error);
    }
    if let Some(executing) = found.as_ref().and_then(|found| executing(session, found)) {
        return select(session, query, executing).await;
    }
    let executed = match &found {
        Some(TextPrepared::Execute { name, .. }) => session.state.texts.select(name).map(|it| (it, name)),
        _ => None,
    };
    // The statement was executed with values that Freshet does not know.
    executed.iter().for_each(|(prepared, _)| prepared.heeds_definitions(&session.shared.upstream));
    let owed = executed.as_ref().map(|(prepared, name)| prepared.owed_by_name(name)).unwrap_or_default();
    if let Some((prepared, name)) = executed {
        prepared::note_executed(session, &prepared);
        session.state.texts.took_unknown(name);
    }
    let (effects, prepares) = match found {
        Some(TextPrepared::Immediate { text: inner, .. }) => (effects_of(session, text, &inner), None),
        Some(TextPrepared::Execute { name, .. }) => (session.state.texts.get(&name).unwrap_or(effects), None),
        Some(TextPrepared::Prepare { name, text: inner, .. }) => {
            let prepared = inner.map_or_else(Text::default, |inner| prepare(session, text, &inner));
            (effects, Some((name, Some(prepared))))
        }
        Some(TextPrepared::Deallocate { name }) => (effects, Some((name, None))),
        None => (effects, None),
    };
    let execution = ExecutionFacts { owed: &owed, ..ExecutionFacts::default() };
    let deeds = Deeds { write, ..Deeds::from(&effects) };
    let forward = Forward { execution, ..Forward::new(query.message(), deeds) };
    let relayed = session.forward(forward).await?;
    match prepares {
        Some((name, Some(inner))) if relayed.error.is_none() => session.state.texts.set(name, inner),
        // A PREPARE that fails removes the statement that had the name.
        Some((name, _)) => session.state.texts.remove(&name),
        None => {}
    }
    Ok(Flow::Continue)
}

/// Learns the environment, if that loses nothing that the client can ask about.
async fn learn_for(session: &mut Session, found: &TextPrepared) -> Result<(), Error> {
    let prepared = match found {
        TextPrepared::Execute { name, .. } => session.state.texts.select(name),
        TextPrepared::Prepare { .. } | TextPrepared::Immediate { .. } => {
            return session.learn_quietly().await;
        }
        TextPrepared::Deallocate { .. } => None,
    };
    let Some(prepared) = prepared.filter(|_| session.environment().is_none()) else { return Ok(()) };
    let effects = prepared::effects_of(session, Some(&prepared)).await;
    if effects.reads_nothing() {
        session.resolve_doubts().await;
        session.learn().await?;
    }
    Ok(())
}

/// Returns what is known of a statement that `text` prepares from the literal `inner`.
fn prepare(session: &Session, text: &[u8], inner: &[u8]) -> Text {
    let kill = prepared_kill(inner, session.modes()).map(Arc::new);
    // The names of the statement are resolved here, in the current default schema. A later USE does not change what they mean.
    let effects = effects_of(session, text, inner);
    let select = selected(session, inner, &effects).map(Arc::new);
    Text::new(Some(effects), kill, select)
}

/// Returns a SELECT whose answers may come from memory, prepared from this text in the current environment.
fn selected(session: &Session, inner: &[u8], effects: &Effects) -> Option<Prepared> {
    let environment = session.environment();
    let is_readable = inner.is_ascii() || environment.is_some_and(|it| it.modes.utf8_strings);
    if inner.len() > SELECT_BYTES_MAX || !is_readable || effects.session || effects.reads_last_statement {
        return None;
    }
    let OneSelect { hint } = reading::prepared(inner, session.parse_settings()).select?;
    let markers = freshet_sql::markers(inner, session.modes())?;
    let select = PreparedSelect::new(inner, session.flavor(), hint);
    // The server knows this statement by its name, and has no number for it.
    let prepared = Prepared::new(0, markers, effects.clone()).with_select(Some(select));
    let (environment, version) = session.environment_now();
    Some(prepared.prepared_in(environment, version).by_name())
}

/// Returns a SELECT that is executed with values that are all known.
fn executing(session: &Session, found: &TextPrepared) -> Option<Executing> {
    let (prepared, by, name, using) = match found {
        TextPrepared::Execute { name, using } => {
            (session.state.texts.select(name)?, By::Name, name.as_str(), using)
        }
        TextPrepared::Immediate { text, using: Using::Nothing } => {
            let effects = effects_of(session, text, text);
            (Arc::new(selected(session, text, &effects)?), By::Immediate, "", &Using::Nothing)
        }
        _ => return None,
    };
    let environment = session.state.environment.current()?.id;
    let names = using.variables().filter(|names| names.len() == prepared.parameters())?;
    let known = |name: &String| session.state.user_variables.get(name, environment);
    let values = names.iter().map(known).collect::<Option<Vec<_>>>()?;
    Some(Executing { prepared, packet: packet(&values)?, by, name: name.to_owned() })
}

/// Returns the packet with which a client without capabilities would execute a statement with these values.
fn packet(values: &[&UserValue]) -> Option<Vec<u8>> {
    const LONGLONG: [u8; 2] = [8, 0];
    const VAR_STRING: [u8; 2] = [253, 0];
    let mut packet = vec![Command::StmtExecute.byte(), 0, 0, 0, 0, 0, 1, 0, 0, 0];
    if values.is_empty() {
        return Some(packet);
    }
    packet.extend(vec![0; values.len().div_ceil(8)]);
    packet.push(1);
    for value in values {
        packet.extend(if let UserValue::Int(_) = value { LONGLONG } else { VAR_STRING });
    }
    for value in values {
        match value {
            UserValue::Int(number) => packet.extend(number.to_le_bytes()),
            UserValue::Text(text, _) => {
                // A length of two bytes.
                packet.push(0xfc);
                packet.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
                packet.extend_from_slice(text);
            }
        }
    }
    Some(packet)
}

/// Executes a SELECT by EXECUTE: answered from memory if possible, and stored in memory if allowed.
async fn select(session: &mut Session, query: TextQuery<'_>, executing: Executing) -> Result<Flow, Lost> {
    if !session.ruled.is_plain() {
        // The key is the key of the prepared text, on which the rules have decided nothing.
        session.ruled.bar();
    }
    let execution = executing.with(query.text());
    let effects = prepared::effects_of(session, Some(&executing.prepared)).await;
    let at = prepared::zone_at(session);
    let values = executing.prepared.executed(&executing.packet, Capabilities::empty(), at).values;
    // The collation in which a string is compared depends on its variable, so a string does not tell rows.
    let told = |value| if let Datum::Text(_) = value { Datum::Other } else { value };
    let values = values.into_iter().flatten().map(told).collect();
    let bound = BoundExecution { execution, values };
    Box::pin(prepared::select(session, query.packet, bound, query.missed, effects)).await
}

/// Carries out a KILL that was prepared; `None` if the text executes no KILL, or the KILL concerns no client of Freshet.
async fn kill_by(session: &mut Session, found: Option<&TextPrepared>) -> Option<Result<Flow, Lost>> {
    match found? {
        TextPrepared::Prepare { .. } | TextPrepared::Deallocate { .. } => None,
        TextPrepared::Execute { name, using } => {
            let kill = session.state.texts.kill(name)?;
            Box::pin(kill::executed(session, &kill, using)).await
        }
        TextPrepared::Immediate { text, using } => {
            let kill = prepared_kill(text, session.modes())?;
            Box::pin(kill::executed(session, &kill, using)).await
        }
    }
}

/// Returns what the statement `inner` does, which stands as a literal in `text`.
fn effects_of(session: &Session, text: &[u8], inner: &[u8]) -> Effects {
    if text_prepared(inner, session.modes()).is_some() {
        return Effects::worst(); // No server lets one prepare another.
    }
    let effects = session.certain(inner, freshet_sql::effects(inner, session.modes()));
    // The same modes decide how the literal itself was read.
    session.certain(text, effects)
}
