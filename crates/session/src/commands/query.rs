//! COM_QUERY: a statement as text.

use bytes::BytesMut;
use freshet_protocol::{Capabilities, Command, ErrPacket};
use freshet_sql::{Assignment, Effects, Ours, Request};
use freshet_upstream::now_ms;

use super::refusals::{malformed, unavailable};
use super::text::Query;
use super::{attributes, kill, ours, select, text_prepared, transaction, write};
use crate::reading::{self, LONG_BYTES_MIN, ReadText};
use crate::relay::Lost;
use crate::rows::Write;
use crate::session::{Flow, Forward, Missed, Session};
use crate::template::Bound;

/// Answers a query from memory, if it can be.
pub(super) fn from_memory(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    session.recall();
    let text = text_offset(session, packet).and_then(|text_at| packet.get(text_at..));
    if text.is_some_and(|text| session.answer_found_rows(text)) {
        return Ok(());
    }
    if let Some(done) = text.and_then(|text| text_prepared::from_memory(session, text)) {
        return done;
    }
    let Some(key) = session.current_key() else { return Err(Missed::default()) };
    text.map_or(Err(Missed::default()), |text| select::from_memory(session, text, key))
}

/// Where the statement starts; `None` if the packet cannot be read.
fn text_offset(session: &Session, packet: &[u8]) -> Option<usize> {
    let attributes = session.capabilities().contains(Capabilities::QUERY_ATTRIBUTES);
    if attributes { attributes::text_offset(packet).ok() } else { Some(1) }
}

/// Whatever was not answered from memory at once.
pub(super) async fn handle(session: &mut Session, packet: BytesMut, missed: Missed) -> Result<Flow, Lost> {
    let frozen;
    let (packet, long) = if packet.len() < LONG_BYTES_MIN {
        (&packet[..], None)
    } else {
        frozen = packet.freeze();
        (&frozen[..], Some(&frozen))
    };
    let Some(text_at) = text_offset(session, packet) else { return session.refuse(&malformed()) };
    let query = Query { packet, long, text_at, missed };
    session.active(now_ms());
    let control = transaction::read(session, query.text());
    let controlled = |control| transaction::answered(session, control, Command::Query);
    if let Some(flow) = control.as_ref().and_then(controlled) {
        return Ok(flow);
    }
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    if let Some(control) = control {
        let begun =
            Box::pin(transaction::begin(session, (packet, query.text(), Command::Query), &control)).await?;
        if let Some(flow) = begun {
            return Ok(flow);
        }
    }
    let filled = match put_in(session, &query) {
        Ok(filled) => filled,
        Err(error) => return session.refuse(&error),
    };
    let query = match &filled {
        Some(packet) => {
            let Err(missed) = from_memory(session, packet) else { return Ok(Flow::Continue) };
            Query { packet, long: None, text_at, missed }
        }
        None => query,
    };
    match known(session, query.text()) {
        Some(Bound::Select(known)) => return select::handle(session, query, Some(known)).await,
        Some(Bound::Write(known)) => return Box::pin(write::handle(session, query, known)).await,
        None => {}
    }
    let ReadText { request, write: rows, select: long } = read(session, query).await;
    if let Some(long) = long {
        return Box::pin(select::handle_long(session, query, long)).await;
    }
    match request {
        Request::Select { .. } => Box::pin(select::handle(session, query, None)).await,
        Request::Ours(Ours::SetMixed { ours: assignments, rest }) => {
            Box::pin(mixed(session, query, &assignments, rest.as_bytes())).await
        }
        Request::Ours(statement) => Box::pin(ours::handle(session, query, statement)).await,
        Request::Kill(kill) => Box::pin(kill::statement(session, query, kill)).await,
        Request::Other(effects) => {
            if ours::shows_our_warnings(session, query.text()) {
                return Ok(Flow::Continue);
            }
            let effects = session.certain(query.text(), effects);
            write::learn(session, query.text(), &effects);
            if let Some(done) = kill::among_others(session, query, &effects).await {
                return done;
            }
            let rows = rows.filter(|_| reading::writes_one_table(&effects));
            let rows = rows.map(|what| Write { what: Some(what), ..Write::default() });
            text_prepared::forward(session, query, effects, rows).await
        }
    }
}

/// The packet with values of ours in it, if its statement mentions any and is the server's all the same.
fn put_in(session: &mut Session, query: &Query<'_>) -> Result<Option<Vec<u8>>, ErrPacket> {
    if query.long.is_some() {
        return Ok(None);
    }
    let (text, modes) = (query.text(), session.modes());
    let mentions = freshet_sql::mentions(text, modes);
    let is_ours = || matches!(freshet_sql::read(text, modes), Request::Ours(Ours::SelectVariables(_)));
    if mentions.is_empty() || is_ours() {
        return Ok(None);
    }
    Ok(Some(query.with_text(&ours::mention::filled(session, text, &mentions)?)))
}

/// What was compiled of the form of `text`, if it was, and if it is certain how the session reads texts.
fn known(session: &Session, text: &[u8]) -> Option<Bound> {
    session.environment()?;
    session.shared.templates.known(select::statement(session, text), &session.shared.upstream)
}

/// What the text is: of a long one, everything that is to be known of it.
async fn read(session: &Session, query: Query<'_>) -> ReadText {
    let manner = session.manner();
    let Some(packet) = query.long else {
        let request = freshet_sql::read(query.text(), manner.modes);
        return ReadText { request, write: None, select: None };
    };
    let text = packet.slice(query.text_at..);
    let read = session.shared.readers.read(text, move |text| reading::query(text, manner)).await;
    read.unwrap_or_else(|| ReadText { request: Request::Other(Effects::worst()), write: None, select: None })
}

/// A SET of our variables and of the server's: all of it is done, or nothing.
async fn mixed(
    session: &mut Session,
    query: Query<'_>,
    assignments: &[Assignment],
    rest: &[u8],
) -> Result<Flow, Lost> {
    let before = ours::Snapshot::of(session);
    if let Err(error) = ours::assign(session, assignments).await? {
        before.restore(session);
        return session.refuse(&error);
    }
    let effects = session.certain(rest, freshet_sql::effects(rest, session.modes()));
    let payload = query.with_text(rest);
    let forward = Forward { text: rest, ..Forward::new(&payload, Command::Query, &effects) };
    if session.forward(forward).await?.error.is_some() {
        before.restore(session);
    }
    Ok(Flow::Continue)
}
