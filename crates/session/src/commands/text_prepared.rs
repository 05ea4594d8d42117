//! PREPARE, EXECUTE and EXECUTE IMMEDIATE: what executing does is what the text does that was prepared.

use std::sync::Arc;

use freshet_protocol::Command;
use freshet_sql::{Effects, TextPrepared, prepared_kill, text_prepared};

use super::kill;
use super::text::Query;
use crate::relay::Lost;
use crate::rows::Write;
use crate::session::{Flow, Forward, Session, Text};

/// Forwards a text that is no SELECT and none of ours. `effects` are those of the text itself, `write` the rows that it writes.
pub(super) async fn forward(
    session: &mut Session,
    query: Query<'_>,
    effects: Effects,
    write: Option<Write<'_>>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let found = text_prepared(text, session.modes());
    if found.is_none() {
        session.state.texts.forget_those_in(text);
    }
    if let Some(done) = kill_by(session, found.as_ref()).await {
        return done;
    }
    let (effects, prepares) = match found {
        Some(TextPrepared::Immediate { text: inner, .. }) => (effects_of(session, text, &inner), None),
        Some(TextPrepared::Execute { name, .. }) => (session.state.texts.get(&name).unwrap_or(effects), None),
        Some(TextPrepared::Prepare { name, text: inner }) => {
            let kill = inner.as_ref().and_then(|inner| prepared_kill(inner, session.modes()));
            // The schema of now is the one that its names are found in, whenever it is executed.
            let inner = inner.map(|inner| effects_of(session, text, &inner));
            (effects, Some((name, Text { effects: inner, kill: kill.map(Arc::new) })))
        }
        None => (effects, None),
    };
    let payload = query.packet;
    let relayed =
        session.forward(Forward { text, write, ..Forward::new(payload, Command::Query, &effects) }).await?;
    if let Some((name, inner)) = prepares {
        match relayed.error {
            None => session.state.texts.set(name, inner),
            // It has taken away what had the name.
            Some(_) => session.state.texts.remove(&name),
        }
    }
    Ok(Flow::Continue)
}

/// Carries out a KILL that was prepared; `None` if it is none, or concerns no client of ours.
async fn kill_by(session: &mut Session, found: Option<&TextPrepared>) -> Option<Result<Flow, Lost>> {
    match found? {
        TextPrepared::Prepare { .. } => None,
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

/// What the statement `inner` does, which stands as a literal in `text`.
fn effects_of(session: &Session, text: &[u8], inner: &[u8]) -> Effects {
    if text_prepared(inner, session.modes()).is_some() {
        return Effects::worst(); // No server lets one prepare another.
    }
    let effects = session.certain(inner, freshet_sql::effects(inner, session.modes()));
    // How the literal itself was read hangs on the same modes.
    session.certain(text, effects)
}
