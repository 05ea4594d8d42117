//! KILL and COM_PROCESS_KILL: a client knows itself by the id that Freshet gave it, and the server knows the client by the server's own id.
//!
//! The server kills, and judges who may kill. Freshet ends the clients that the server does not know: clients without a connection to it. A
//! client that the server has killed must get no answer from memory: Freshet ends its session before the killer gets an
//! answer.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use freshet_protocol::{Command, ErrPacket};
use freshet_sql::{Effects, Kill, PreparedKill, Using, contains_ignoring_case};

use super::refusals::{malformed, unavailable};
use super::text::{TextQuery, forward};
use crate::auth::CONNECTION_ID_MIN;
use crate::privileges::{self, Privilege};
use crate::registry::{Aimed, Handle};
use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, Session, query_prefix};

/// What the id of a KILL stands for.
enum KillTarget {
    /// The id is of no client of Freshet.
    Stranger,
    /// A client of Freshet that has a connection to the server and keeps it until it is killed.
    Client(Aimed),
    /// A client of Freshet that has no connection to the server, so that only Freshet can end it.
    Idle(Aimed),
}

/// How often, and how long apart, an id of Freshet's is looked for: a client knows its own id a moment before it is registered.
const LOOKS: u32 = 5;
const LOOKS_APART: Duration = Duration::from_millis(10);

async fn target(session: &mut Session, id: u64) -> KillTarget {
    let Ok(id) = u32::try_from(id) else { return KillTarget::Stranger };
    let is_of_ours = id >= CONNECTION_ID_MIN;
    for _ in 0..LOOKS {
        let found =
            if is_of_ours { find(session, id).await } else { session.shared.registry.find_thread(id) };
        let Some(handle) = found else { break };
        // A client keeps its connection for the killer only if the killer may kill it: otherwise the server refuses.
        let may = Box::pin(may_end(session, &handle)).await;
        let aimed = Aimed::at(handle, may);
        if is_of_ours && aimed.thread_id == 0 {
            return KillTarget::Idle(aimed);
        }
        // The client may have given its connection up at this moment, and another client may have the connection now.
        if is_of_ours || aimed.thread_id == id {
            return KillTarget::Client(aimed);
        }
    }
    KillTarget::Stranger
}

async fn find(session: &Session, id: u32) -> Option<Arc<Handle>> {
    for _ in 1..LOOKS {
        if let Some(handle) = session.shared.registry.find(id) {
            return Some(handle);
        }
        tokio::time::sleep(LOOKS_APART).await;
    }
    session.shared.registry.find(id)
}

/// Carries out KILL [CONNECTION | QUERY] id, alone in its text.
pub(super) async fn statement(session: &mut Session, query: TextQuery<'_>, kill: Kill) -> Result<Flow, Lost> {
    match target(session, kill.id).await {
        KillTarget::Idle(aimed) => end_idle(session, kill.id, &aimed, kill.query_only),
        KillTarget::Stranger => forward(session, Forward::new(query.message(), &Effects::none())).await,
        KillTarget::Client(aimed) => {
            let text = with_pieces(query.text(), vec![(kill.id_at, aimed.thread_id.to_string())]);
            let ended = vec![(aimed, kill.query_only)];
            through_server(session, &query.with_text(&text), &text, &Effects::none(), ended).await
        }
    }
}

/// Carries out KILL @id, alone in its text. Returns `None` if the text is no such KILL, or if the value is no id of a client of Freshet.
pub(super) async fn by_variable(session: &mut Session, query: TextQuery<'_>) -> Option<Result<Flow, Lost>> {
    if !contains_ignoring_case(query.text(), b"kill") {
        return None;
    }
    let at = freshet_sql::kill_by_variable(query.text(), session.modes())?;
    let name = std::str::from_utf8(query.text().get(at.clone())?).ok()?;
    let id = Box::pin(value_of(session, name)).await?;
    let text = with_pieces(query.text(), vec![(at, id.to_string())]);
    let kill = freshet_sql::kills(&text, session.modes()).pop()?;
    let packet = query.with_text(&text);
    Some(Box::pin(statement(session, query.in_packet(Some(&packet)), kill)).await)
}

/// Carries out a prepared KILL; `None` if it concerns no client of Freshet. The server is sent the KILL as text with the
/// id that the server knows: the answer to a text is the same as to an execution.
pub(super) async fn prepared(
    session: &mut Session,
    kill: &PreparedKill,
    id: u64,
) -> Option<Result<Flow, Lost>> {
    Some(match target(session, id).await {
        KillTarget::Stranger => return None,
        KillTarget::Idle(aimed) => end_idle(session, id, &aimed, kill.query_only),
        KillTarget::Client(aimed) => {
            let text = kill.with_id(aimed.thread_id);
            let packet = [query_prefix(session.lease.has_attributes()), text.clone()].concat();
            let ended = vec![(aimed, kill.query_only)];
            through_server(session, &packet, &text, &Effects::none(), ended).await
        }
    })
}

/// Carries out an EXECUTE of a KILL that was prepared as text.
pub(super) async fn executed(
    session: &mut Session,
    kill: &PreparedKill,
    using: &Using,
) -> Option<Result<Flow, Lost>> {
    let id = match (kill.id, using) {
        (Some(id), Using::Nothing) => id,
        (None, Using::Number(id)) => *id,
        (None, Using::Variable(name)) => value_of(session, name).await?,
        // The server reports the error.
        _ => return None,
    };
    prepared(session, kill, id).await
}

/// Returns the value of a user variable, if it is a number.
async fn value_of(session: &mut Session, name: &str) -> Option<u64> {
    let rows = session.ask(&format!("SELECT {name}")).await.ok()?;
    let value = rows.rows.first()?.first()?.as_deref()?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Carries out a text of several statements with KILLs among them; `None` if no KILL concerns a client of Freshet.
pub(super) async fn among_others(
    session: &mut Session,
    query: TextQuery<'_>,
    effects: &Effects,
) -> Option<Result<Flow, Lost>> {
    let text = query.text();
    if !may_kill(text) {
        return None;
    }
    let kills = freshet_sql::kills(text, session.modes());
    let (mut pieces, mut ended) = (Vec::new(), Vec::new());
    for kill in &kills {
        let (piece, aimed) = match Box::pin(target(session, kill.id)).await {
            KillTarget::Stranger => continue,
            KillTarget::Client(aimed) => ((kill.id_at.clone(), aimed.thread_id.to_string()), aimed),
            // The server does not know this id, and tells that to a client that may not end the session.
            KillTarget::Idle(aimed) if !aimed.may => continue,
            KillTarget::Idle(aimed) => ((kill.starts_at..kill.id_at.end, NOTHING.to_owned()), aimed),
        };
        pieces.push(piece);
        ended.push((aimed, kill.query_only));
    }
    if pieces.is_empty() {
        return None;
    }
    let text = with_pieces(text, pieces);
    let packet = query.with_text(&text);
    Some(Box::pin(through_server(session, &packet, &text, effects, ended)).await)
}

/// The statement that is sent in the place of a KILL that Freshet carries out: the server answers it with OK too.
const NOTHING: &str = "DO 0";

/// Whether a KILL can be one of several statements, at first glance.
fn may_kill(text: &[u8]) -> bool {
    let mut pieces = text.split(|&byte| byte == b';').map(<[u8]>::trim_ascii_start);
    let starts_so = |piece: &[u8]| {
        let is_word = piece.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"KILL"));
        // The word may stand behind a comment.
        is_word || matches!(piece.first(), Some(b'/' | b'-' | b'#'))
    };
    pieces.next().is_some_and(|first| starts_so(first) && pieces.clone().next().is_some())
        || pieces.any(starts_so)
}

/// Returns the text with other pieces in these places; the places are in order.
fn with_pieces(text: &[u8], pieces: Vec<(Range<usize>, String)>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for (at, piece) in pieces {
        out.extend_from_slice(&text[from..at.start]);
        out.extend_from_slice(piece.as_bytes());
        from = at.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// Has the server kill, and ends the sessions of the killed clients before the killer gets an answer. With `true`, only a client's
/// statement ends.
async fn through_server(
    session: &mut Session,
    packet: &[u8],
    text: &[u8],
    effects: &Effects,
    killed: Vec<(Aimed, bool)>,
) -> Result<Flow, Lost> {
    // A read that waits on a lane learns of it before the server answers that read with its error.
    let may = killed.iter().filter(|(aimed, query_only)| *query_only && aimed.may && !effects.several);
    may.for_each(|(aimed, _)| aimed.handle.interrupt());
    let relayed = session.forward(Forward::new(Message::query(packet, text), effects)).await?;
    if relayed.error.is_none() {
        killed.iter().for_each(|(aimed, query_only)| end(&aimed.handle, *query_only));
    }
    Ok(Flow::Continue)
}

/// Carries out COM_PROCESS_KILL.
pub(super) async fn process_kill(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    let Some(id) = packet.get(1..5).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes) else {
        return session.refuse(&malformed());
    };
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let (id, killed) = match target(session, u64::from(id)).await {
        KillTarget::Stranger => (id, None),
        KillTarget::Client(aimed) => (aimed.thread_id, Some(aimed)),
        KillTarget::Idle(aimed) => return end_idle(session, u64::from(id), &aimed, false),
    };
    let mut payload = vec![Command::ProcessKill.byte()];
    payload.extend_from_slice(&id.to_le_bytes());
    let effects = Effects::none();
    let relayed =
        session.forward(Forward::new(Message::bare(Command::ProcessKill, &payload), &effects)).await?;
    if let Some(aimed) = killed.filter(|_| relayed.error.is_none()) {
        aimed.handle.killed();
    }
    Ok(Flow::Continue)
}

/// Ends a client that the server does not know, if the server would let the killer end it: both are of the same user, or
/// the killer has the privilege.
fn end_idle(session: &mut Session, id: u64, aimed: &Aimed, query_only: bool) -> Result<Flow, Lost> {
    if !aimed.may {
        let text = format!("You are not owner of thread {id}");
        return session.refuse(&ErrPacket::new(1095, "HY000", text));
    }
    end(&aimed.handle, query_only);
    session.put_ok(0);
    Ok(Flow::Continue)
}

/// Ends a client, or its statement alone.
fn end(handle: &Handle, query_only: bool) {
    if query_only {
        handle.interrupt();
    } else {
        handle.killed();
    }
}

/// Whether the server would let this session's client kill the client of `handle`.
async fn may_end(session: &mut Session, handle: &Handle) -> bool {
    let own = handle.user == session.admitted.user;
    own || privileges::require(session, Privilege::Kill).await.is_ok_and(|granted| granted.is_ok())
}

#[cfg(test)]
mod tests {
    use super::may_kill;

    #[test]
    fn only_texts_with_a_kill_among_others_are_looked_at() {
        for text in ["SELECT 1; KILL 7", "kill 7; SELECT 1", "DO 1;\n/* now */ KILL 7", "/**/KILL 1;SELECT 2"]
        {
            assert!(may_kill(text.as_bytes()), "{text}");
        }
        for text in
            ["", "SELECT 1", "KILL 7", "INSERT INTO t VALUES ('a;b'); SELECT 2", "SELECT 'KILL'; DO 1"]
        {
            assert!(!may_kill(text.as_bytes()), "{text}");
        }
    }
}
