//! The commands of the protocol, each in a file of its own, and which one a packet is.

mod attributes;
mod identity;
mod kill;
mod ours;
mod prepared;
mod query;
mod replication;
mod select;
mod text_prepared;
mod transaction;
mod write;

use bytes::BytesMut;
use freshet_protocol::{Answer, Command, ErrPacket};
use freshet_sql::{Around, Effects, TransactionEffect, Writes};
use freshet_upstream::now_ms;

use crate::relay::Lost;
use crate::session::{Flow, Forward, Missed, Session, split};

/// Carries a command out for which nobody has to be waited for: most of all a query that is answered from memory.
///
/// # Errors
/// It is for [`handle`], whose state is so large that only to make room for it costs as much as such an answer.
pub(crate) fn at_once(session: &mut Session, packet: &[u8]) -> Result<Flow, Missed> {
    match split(packet).0 {
        Command::Quit => Ok(Flow::Close),
        Command::Query => query::from_memory(session, packet).map(|()| Flow::Continue),
        Command::StmtExecute => prepared::from_memory(session, packet).map(|()| Flow::Continue),
        Command::Ping if !session.lease.is_open() => {
            session.active(now_ms());
            session.put_ok(0);
            Ok(Flow::Continue)
        }
        _ => Err(Missed::default()),
    }
}

/// Carries one command out that [`at_once`] did not, and for which it has found `missed`. Where a branch is rare and its state large, it is boxed: the state of
/// the whole is made and moved for each command, and is as large as its largest branch.
///
/// # Errors
/// [`Lost`]: one of the two connections is gone, and so is the session.
pub(crate) async fn handle(session: &mut Session, packet: BytesMut, missed: Missed) -> Result<Flow, Lost> {
    let (command, body) = split(&packet);
    match command {
        Command::Query => query::handle(session, packet, missed).await,
        Command::StmtPrepare => prepared::prepare(session, packet).await,
        Command::StmtExecute | Command::StmtBulkExecute => {
            prepared::execute(session, packet, (command, missed)).await
        }
        Command::StmtSendLongData => prepared::send_long_data(session, &packet).await,
        Command::StmtReset => prepared::reset(session, &packet).await,
        Command::StmtClose => prepared::close(session, &packet).await,
        Command::ChangeUser => Box::pin(identity::change_user(session, body)).await,
        Command::ResetConnection => Box::pin(identity::reset(session, &packet)).await,
        Command::ProcessKill => Box::pin(kill::process_kill(session, &packet)).await,
        Command::BinlogDump | Command::BinlogDumpGtid | Command::Clone => {
            Box::pin(replication::handle(session, &packet)).await
        }
        command => plain(session, &packet, command).await,
    }
}

/// The flag of COM_REFRESH that has rights loaded anew.
const REFRESH_GRANT: u8 = 1;

/// A command that is passed on as it is.
async fn plain(session: &mut Session, packet: &[u8], command: Command) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    if !Answer::has_answer(command) {
        return session.forward_silently(packet).await;
    }
    let effects = match command {
        // The default schema changes, and with it the environment.
        Command::InitDb => Effects { session: true, ..Effects::none() },
        // FLUSH by flags.
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
    session.forward(Forward::new(packet, command, &effects)).await?;
    Ok(Flow::Continue)
}

/// The server cannot be asked: its own error, or the one that a client library would have shown. A connection that was
/// open and broke takes the session with it, as without us.
fn unavailable(session: &mut Session, error: &freshet_upstream::Error) -> Result<Flow, Lost> {
    session.put_error(&error.to_err_packet());
    let over = session.lease.is_open() && !error.leaves_connection_usable();
    Ok(if over { Flow::Close } else { Flow::Continue })
}

/// A packet that cannot be read.
fn malformed() -> ErrPacket {
    ErrPacket::new(1835, "HY000", "Malformed communication packet")
}
