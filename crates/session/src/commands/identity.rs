//! COM_CHANGE_USER and COM_RESET_CONNECTION: the session starts anew.

use freshet_protocol::{ChangeUser, Command};
use freshet_sql::Effects;
use tracing::debug;

use super::refusals::{malformed, unavailable};
use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, Session, schema_of};
use crate::variables::Locals;

/// Carries out a new login on the same connection. If the login fails, the connection ends, as with the server.
pub(super) async fn change_user(session: &mut Session, body: &[u8]) -> Result<Flow, Lost> {
    let Ok(change) = ChangeUser::parse(body, session.capabilities()) else {
        session.put_error(&malformed());
        // The packets after a malformed one cannot be trusted either.
        return flush_and_close(session).await;
    };
    match session.change_user(change).await {
        Ok(()) => {
            let schema = schema_of(session.admitted.database.as_deref());
            let locals = Locals::of(&session.shared.globals);
            session.state = session.state.begun_anew(session.admitted.ok.status, locals, schema);
            if session.admitted.chooses_ours {
                super::begin_in(session).await;
            }
            Ok(Flow::Continue)
        }
        Err(error) => {
            debug!(%error, "COM_CHANGE_USER failed");
            Ok(Flow::Close)
        }
    }
}

async fn flush_and_close(session: &mut Session) -> Result<Flow, Lost> {
    session.wire.flush().await?;
    Ok(Flow::Close)
}

/// Resets the connection: everything but the login is forgotten.
pub(super) async fn reset(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let effects = Effects::none();
    let message = Message::bare(Command::ResetConnection, packet);
    let relayed = session.forward(Forward::new(message, &effects)).await?;
    if relayed.error.is_none() {
        let before = &session.state;
        let (schema, reads_ours) = (before.environment.schema().map(str::to_owned), before.reads_ours);
        let locals = Locals::of(&session.shared.globals);
        session.state = before.begun_anew(before.status_for_answers(), locals, schema);
        session.state.reads_ours = reads_ours;
        session.lease.note_reset();
    }
    Ok(Flow::Continue)
}
