//! KILL and COM_PROCESS_KILL: clients know themselves by the ids that we gave them, the server by its own.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use freshet_protocol::{Command, ErrPacket};
use freshet_sql::Effects;
use tracing::debug;

use super::query::{Query, forward};
use super::{malformed, unavailable};
use crate::auth::CONNECTION_ID_MIN;
use crate::registry::{Ending, Handle};
use crate::relay::Lost;
use crate::session::{Flow, Forward, Session};

/// A KILL as it was written.
pub(super) struct Kill {
    pub(super) query_only: bool,
    pub(super) id: u64,
    pub(super) id_at: Range<usize>,
}

/// What an id stands for.
enum Target {
    /// It is the server's own.
    Server,
    /// One of our clients; this is its connection there.
    Client { handle: Arc<Handle>, thread_id: u32 },
    /// One of our clients that has no connection to the server, so that nobody but we can end it. Whose it is.
    Idle { own: bool },
}

/// How often, and how long apart, an id of ours is looked for: a client knows its own a moment before it is registered.
const LOOKS: u32 = 5;
const LOOKS_APART: Duration = Duration::from_millis(10);

async fn target(session: &Session, id: u64) -> Target {
    match find(session, id).await {
        None => Target::Server,
        Some(handle) => match handle.thread_id() {
            0 => Target::Idle { own: handle.user == session.admitted.user },
            thread_id => Target::Client { handle, thread_id },
        },
    }
}

async fn find(session: &Session, id: u64) -> Option<Arc<Handle>> {
    let id = u32::try_from(id).ok().filter(|id| *id >= CONNECTION_ID_MIN)?;
    for _ in 1..LOOKS {
        if let Some(handle) = session.shared.registry.find(id) {
            return Some(handle);
        }
        tokio::time::sleep(LOOKS_APART).await;
    }
    session.shared.registry.find(id)
}

/// KILL [CONNECTION | QUERY] id.
pub(super) async fn statement(session: &mut Session, query: Query<'_>, kill: Kill) -> Result<Flow, Lost> {
    match target(session, kill.id).await {
        Target::Server => forward(session, query.packet, query.text(), &Effects::none()).await,
        Target::Client { handle, thread_id } => {
            let text = query.text();
            let replaced =
                [&text[..kill.id_at.start], thread_id.to_string().as_bytes(), &text[kill.id_at.end..]]
                    .concat();
            let (packet, effects) = (query.with_text(&replaced), Effects::none());
            let what = Forward { text: &replaced, ..Forward::new(&packet, Command::Query, &effects) };
            let relayed = session.forward(what).await?;
            if relayed.error.is_none() && !kill.query_only {
                handle.end(Ending::Cut);
            }
            Ok(Flow::Continue)
        }
        Target::Idle { own } => Ok(end_idle(session, kill.id, own, kill.query_only)),
    }
}

/// COM_PROCESS_KILL.
pub(super) async fn process_kill(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    let Some(id) = packet.get(1..5).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes) else {
        return session.refuse(&malformed());
    };
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let (id, handle) = match target(session, u64::from(id)).await {
        Target::Server => (id, None),
        Target::Client { handle, thread_id } => (thread_id, Some(handle)),
        Target::Idle { own } => return Ok(end_idle(session, u64::from(id), own, false)),
    };
    let mut payload = vec![Command::ProcessKill.byte()];
    payload.extend_from_slice(&id.to_le_bytes());
    let effects = Effects::none();
    let command = Command::ProcessKill;
    let relayed = session.forward(Forward::new(&payload, command, &effects)).await?;
    if let Some(handle) = handle.filter(|_| relayed.error.is_none()) {
        // The server's connection has ended. A client that does not read would not notice, nor we.
        handle.end(Ending::Cut);
    }
    Ok(Flow::Continue)
}

/// Ends a client that the server does not know. Without asking the server for privileges, only the same user may.
fn end_idle(session: &mut Session, id: u64, own: bool, query_only: bool) -> Flow {
    if !own {
        session.put_error(&ErrPacket::new(1095, "HY000", format!("You are not owner of thread {id}")));
        return Flow::Continue;
    }
    if !query_only
        && let Some(handle) = u32::try_from(id).ok().and_then(|id| session.shared.registry.find(id))
    {
        debug!(id, "killed");
        handle.end(Ending::Now);
    }
    session.put_ok(0);
    Flow::Continue
}
