//! The commands of the protocol, each in a file of its own, and the choice of the command for a packet.

// A statement on its way, and the errors of those that do not reach the server.
mod text;
mod attributes;
mod refusals;

// What query rules decide before anything else.
mod decided;
mod rules;

// Texts, and what they turn out to be.
mod query;
mod transaction;
mod write;
mod text_prepared;
mod kill;
mod processes;

// A SELECT: what it asks for, from memory, from a lane, from the server, and into memory.
mod asked;
mod select;
mod bargain;
mod riding;
mod admitting;
mod fill_plan;
mod patience;
mod filling;
mod maintained;

// Prepared statements.
mod prepared;
mod ours_prepared;

// Statements that Freshet answers itself.
mod ours;
mod caches;
mod explain;
mod introspect;

// The other commands.
mod plain;
mod identity;
mod replication;

pub(crate) use introspect::begin_in;
pub(crate) use ours::prepared_text;

use std::pin::pin;

use bytes::BytesMut;
use freshet_protocol::Command;
use freshet_upstream::now_ms;

use crate::relay::Lost;
use crate::session::{Flow, Missed, Session, split};

/// Carries out a command that waits for nobody: most of all a query that is answered from memory.
///
/// # Errors
/// The command is for [`handle`]. The future of `handle` is so large that making room for it costs as much as an answer from memory.
pub(crate) fn at_once(session: &mut Session, packet: &[u8]) -> Result<Flow, Missed> {
    match split(packet).0 {
        Command::Quit => Ok(Flow::Close),
        Command::Query | Command::StmtPrepare if session.state.reads_ours => Err(Missed::default()),
        Command::Query => query::from_memory(session, packet).map(|()| Flow::Continue),
        Command::StmtExecute => prepared::from_memory(session, packet).map(|()| Flow::Continue),
        Command::StmtPrepare => prepared::prepare_from_memory(session, packet).map(|()| Flow::Continue),
        Command::StmtClose => prepared::close_here(session, packet).map(|()| Flow::Continue),
        Command::Ping if !session.lease.is_open() => {
            session.active(now_ms());
            // The client may ask next about the ping's effects.
            session.state.last.note_ping();
            session.state.served.pings += 1;
            session.put_ok(0);
            Ok(Flow::Continue)
        }
        _ => Err(Missed::default()),
    }
}

/// Takes the session's own connection back before a command that may need it. Queries and executions decide this for themselves.
///
/// # Errors
/// The connection is lost. The caller returns the value of the error and does nothing else.
pub(crate) async fn take_back(session: &mut Session, packet: &[u8]) -> Result<(), Result<Flow, Lost>> {
    if matches!(split(packet).0, Command::Query | Command::StmtExecute) {
        return Ok(());
    }
    session.take_back().await.map_err(|error| refusals::unavailable(session, &error))
}

/// Carries out one command that [`at_once`] did not carry out; `missed` is what [`at_once`] found in memory. Rare branches with a large state
/// are boxed, because the state of the whole future is made and moved for each command, and is as large as its largest branch.
///
/// # Errors
/// [`Lost`]: the client's or the server's connection is gone, and so is the session.
pub(crate) async fn handle(session: &mut Session, packet: BytesMut, missed: Missed) -> Result<Flow, Lost> {
    let (command, body) = split(&packet);
    // Code that needs to know only about when the command came takes this time (`active_ms`). Code that measures reads the clock itself.
    session.active(now_ms());
    session.handle.can_be_interrupted();
    session.begin_undecided();
    session.comes_after_setting();
    session.destination.begin();
    match command {
        // Pinned here, as along the whole way of a miss: a future that is awaited by value is moved first.
        Command::Query => pin!(query::handle(session, packet, missed)).await,
        Command::StmtPrepare | Command::FieldList
            if session.state.reads_ours && !introspect::names_schemas(session, body) =>
        {
            introspect::refuse(session)
        }
        Command::StmtPrepare => Box::pin(prepared::prepare(session, packet)).await,
        Command::StmtExecute | Command::StmtBulkExecute => {
            pin!(prepared::execute(session, packet, command, missed)).await
        }
        Command::StmtSendLongData => Box::pin(prepared::send_long_data(session, packet)).await,
        Command::StmtReset => Box::pin(prepared::reset(session, packet)).await,
        Command::StmtFetch => Box::pin(prepared::named(session, packet, command)).await,
        Command::StmtClose => Box::pin(prepared::close(session, &packet)).await,
        Command::InitDb => Box::pin(introspect::init_db(session, &packet)).await,
        Command::ChangeUser => Box::pin(identity::change_user(session, body)).await,
        Command::ResetConnection => Box::pin(identity::reset(session, &packet)).await,
        Command::ProcessKill => Box::pin(kill::process_kill(session, &packet)).await,
        Command::ProcessInfo => Box::pin(processes::info(session, &packet)).await,
        Command::BinlogDump | Command::BinlogDumpGtid | Command::Clone => {
            Box::pin(replication::handle(session, &packet)).await
        }
        command => Box::pin(plain::plain(session, &packet, command)).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes that the state of a command may have that is not answered at once: the state is moved for each command.
    const STATE_BYTES_MAX: usize = 2304;

    fn size_of_future<A, B, C, F: Future>(_: impl FnOnce(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_state_of_a_command_is_small() {
        let of_all =
            size_of_future(|session: &'static mut Session, packet, missed| handle(session, packet, missed));
        let of_query = size_of_future(|session: &'static mut Session, packet, missed| {
            query::handle(session, packet, missed)
        });
        assert!(of_all <= STATE_BYTES_MAX, "{of_all} bytes, of a query {of_query}");
    }
}
