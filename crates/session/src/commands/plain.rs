//! Commands that are passed on as they are.

use freshet_protocol::{Answer, Command};
use freshet_sql::{Around, Effects, TransactionEffect, Writes};

use super::ours;
use super::refusals::unavailable;
use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, Session, Setting};

/// The flag of COM_REFRESH that reloads rights.
const REFRESH_GRANT: u8 = 1;

/// Carries out a setting without the server. If that is impossible, prepares the session so that the next time it can be, and returns `None`.
pub(super) async fn sets(session: &mut Session, setting: Setting) -> Option<Result<Flow, Lost>> {
    if session.sets_here(&setting) {
        return Some(Ok(Flow::Continue));
    }
    let error = session.learn_before_setting(setting).await.err()?;
    Some(unavailable(session, &error))
}

/// Carries out COM_INIT_DB. Also returns whether the server has refused it.
pub(super) async fn init_db(session: &mut Session, packet: &[u8]) -> Result<(Flow, bool), Lost> {
    let setting = session.setting(Command::InitDb, packet.get(1..).unwrap_or_default());
    if let Some(setting) = setting
        && let Some(done) = Box::pin(sets(session, setting)).await
    {
        return Ok((done?, false));
    }
    if let Err(error) = session.connect().await {
        return Ok((unavailable(session, &error)?, true));
    }
    // The default schema changes, and with it the environment.
    let effects = Effects { session: true, ..Effects::none() };
    let relayed = session.forward(Forward::new(Message::bare(Command::InitDb, packet), &effects)).await?;
    Ok((Flow::Continue, relayed.error.is_some()))
}

/// Passes a command on as it is.
pub(super) async fn plain(session: &mut Session, packet: &[u8], command: Command) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    if !Answer::has_answer(command) {
        return session.forward_silently(packet).await;
    }
    let effects = match command {
        // FLUSH as flags.
        Command::Refresh if packet.get(1).is_some_and(|flags| flags & REFRESH_GRANT != 0) => Effects {
            writes: Writes::Everything,
            transaction: TransactionEffect::MayCommit,
            around: Around::Rights,
            ..Effects::none()
        },
        // Retired commands that name a schema; today's servers refuse them.
        Command::CreateDb | Command::DropDb | Command::Other(_) => Effects::refused(),
        _ => Effects::none(),
    };
    let relayed = session.forward(Forward::new(Message::bare(command, packet), &effects)).await?;
    if command == Command::Refresh && relayed.error.is_none() {
        Box::pin(ours::refreshed(session, packet.get(1).copied().unwrap_or(0))).await;
    }
    Ok(Flow::Continue)
}
