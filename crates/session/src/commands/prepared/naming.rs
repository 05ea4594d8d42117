//! Commands that name a prepared statement and do not execute it.

use bytes::BytesMut;
use freshet_protocol::Command;

use super::{known, not_made, number, statement_id, unavailable};
use crate::commands::plain::plain;
use crate::relay::Lost;
use crate::session::{Flow, Missed, Session};

/// COM_STMT_SEND_LONG_DATA, which has no answer: sends a part of a parameter's value. The execution does not repeat that part. If the part
/// cannot be sent, the execution is refused, as the server refuses one after a part that it could not keep.
pub(in crate::commands) async fn send_long_data(
    session: &mut Session,
    mut packet: BytesMut,
) -> Result<Flow, Lost> {
    let prepared = known(session, &packet);
    // In any case, the execution after it is not answered from memory.
    let had_long_data = prepared.as_ref().is_some_and(|prepared| prepared.set_long_data(true));
    if let Some(prepared) = &prepared
        && let Err(error) = session.connect().await
    {
        prepared.loses_part(error.to_err_packet());
        return Ok(Flow::Continue);
    }
    if !session.lease.is_open() {
        return Ok(Flow::Continue);
    }
    if let Some(refusal) = number(session, &mut packet, Command::StmtSendLongData).await? {
        prepared.iter().for_each(|prepared| prepared.loses_part(refusal.clone()));
        return Ok(Flow::Continue);
    }
    if let Some(prepared) = prepared {
        // To ask about the last answer, the statement must be executed again, and that execution would take this value.
        Box::pin(session.settle_last_hit(&prepared)).await?;
        prepared.heeds_definitions(&session.shared.upstream);
        let owed = if had_long_data { Vec::new() } else { prepared.owed() };
        for (command, packet) in owed {
            session.execute_unseen(command, &packet).await?;
            prepared.is_met(&packet, session.capabilities());
        }
    }
    session.forward_silently(&packet).await
}

/// COM_STMT_RESET: drops a cursor and the parts of parameters that were sent. A statement that the server has not prepared has neither.
pub(in crate::commands) async fn reset(session: &mut Session, packet: BytesMut) -> Result<Flow, Lost> {
    let Some(prepared) = known(session, &packet) else {
        return named(session, packet, Command::StmtReset).await;
    };
    let _forgotten = prepared.take_lost_part();
    prepared.set_long_data(false);
    prepared.set_cursor(false);
    if prepared.server_id().is_some() {
        return named(session, packet, Command::StmtReset).await;
    }
    if session.lease.is_open() {
        // The command has the same effects as a ping.
        session.state.last.note_ping();
        session.keep_alive().await?;
    }
    session.state.served.resets += 1;
    session.put_ok(0);
    Ok(Flow::Continue)
}

/// Passes on a command that names a statement.
pub(in crate::commands) async fn named(
    session: &mut Session,
    mut packet: BytesMut,
    command: Command,
) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    match number(session, &mut packet, command).await? {
        None => plain(session, &packet, command).await,
        Some(refusal) => not_made(session, &refusal),
    }
}

/// Closes a statement that the server does not know; COM_STMT_CLOSE has no answer.
///
/// # Errors
/// The server has to get the command.
pub(in crate::commands) fn close_here(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    let id = known(session, packet).map(|prepared| prepared.id);
    if id.is_some_and(|id| session.close_here(id)) { Ok(()) } else { Err(Missed::default()) }
}

/// COM_STMT_CLOSE, which has no answer.
pub(in crate::commands) async fn close(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    let Some(id) = statement_id(packet) else { return Ok(Flow::Continue) };
    let prepared = known(session, packet);
    if prepared.is_none() && session.lease.prepared.is_given_here(id) {
        return Ok(Flow::Continue);
    }
    session.lease.prepared.remove(prepared.as_ref().map_or(id, |prepared| prepared.id));
    if session.lease.is_open() {
        session.close_statement(prepared.and_then(|prepared| prepared.server_id()).unwrap_or(id)).await?;
    }
    Ok(Flow::Continue)
}
