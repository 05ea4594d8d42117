//! Prepared statements of Freshet's own, prepared by COM_STMT_PREPARE or by PREPARE.
//!
//! The answers to such statements change, so the server's prepared statement cannot contain them. The server prepares a substitute that has
//! the same parameters and columns. At each execution:
//!
//! * a SELECT with Freshet's values is prepared anew if the values have changed since, so that the server writes the rows in the
//!   binary form and types them;
//! * a SHOW is executed at the server, and Freshet's rows are put among the server's rows on their way;
//! * a statement that only answers OK (SET, FLUSH, RESET) is carried out as text with its values.
//!
//! A statement that is prepared as text is executed as that text. The server keeps nothing of it, except for a SHOW, which is also the
//! server's: if unknown code runs, the name may belong to that code, and the server either knows the name or reports that it does not exist.

use std::sync::Arc;

use bytes::BytesMut;
use freshet_protocol::{Capabilities, Command, ErrPacket, Parameter};
use freshet_sql::{ConnectionNumber, Effects, Mention, Mentioned, Ours, Request, TextPrepared, Using};

use super::text::{self, TextQuery, forward};
use super::{introspect, ours};
use crate::relay::Lost;
use crate::session::{
    Flow, Forward, Message, Missed, Prepared, SELECT_BYTES_MAX, ServerStatement, Session, Text, is_plain,
    query_prefix,
};

/// How a prepared statement of Freshet's own is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExecutionKind {
    /// A SELECT with Freshet's values in it.
    Filled,
    /// A SHOW with Freshet's rows among the server's.
    Shown,
    /// A statement that answers OK.
    Done,
    /// A SELECT from tables of the schema `freshet`, executed as text.
    Computed,
}

/// Returns how a text is executed, if it is Freshet's own and may be prepared.
pub(super) fn kind(session: &Session, text: &[u8]) -> Option<ExecutionKind> {
    let modes = session.modes();
    if text.len() > SELECT_BYTES_MAX {
        return None;
    }
    match freshet_sql::read(text, modes) {
        Request::Ours(Ours::SelectVariables(_)) => Some(ExecutionKind::Filled),
        Request::Ours(Ours::ShowVariables { .. } | Ours::ShowStatus { .. } | Ours::ShowAll { .. }) => {
            Some(ExecutionKind::Shown)
        }
        Request::Ours(Ours::SetStatement { .. } | Ours::ShowColumns { .. }) => None,
        Request::Ours(Ours::Caches(statement)) if !super::caches::titles(&statement).is_empty() => None,
        Request::Ours(_) => Some(ExecutionKind::Done),
        Request::Select { .. } => {
            (!ours::mention::lasting(session, text).is_empty()).then_some(ExecutionKind::Filled)
        }
        _ => None,
    }
}

/// Returns a statement other than a SELECT with the client's number in the place of `CONNECTION_ID()`, if the statement mentions that and
/// nothing else of Freshet's.
pub(super) fn numbered(session: &mut Session, text: &[u8]) -> Option<Vec<u8>> {
    let mentions = (text.len() <= SELECT_BYTES_MAX).then(|| ours::mention::lasting(session, text))?;
    let is_number = |mention: &Mention| mention.what == Mentioned::Connection(ConnectionNumber::Own);
    if mentions.is_empty() || !mentions.iter().all(is_number) {
        return None;
    }
    ours::mention::filled(session, text, &mentions, false).ok()
}

/// Returns the statement that the server prepares as the substitute.
async fn substitute(
    session: &mut Session,
    text: &[u8],
    kind: ExecutionKind,
) -> Result<Result<Vec<u8>, ErrPacket>, Lost> {
    match kind {
        ExecutionKind::Shown => Ok(Ok(text.to_vec())),
        ExecutionKind::Done => {
            let count = freshet_sql::markers(text, session.modes()).unwrap_or(0);
            let values = if count == 0 { "0".to_owned() } else { vec!["?"; count].join(", ") };
            Ok(Ok(format!("DO {values}").into_bytes()))
        }
        ExecutionKind::Filled => {
            let mentions = ours::mention::lasting(session, text);
            let may_process = ours::mention::may_process(session, &mentions).await?;
            Ok(ours::mention::filled(session, text, &mentions, may_process))
        }
        ExecutionKind::Computed => Ok(introspect::substitute(session, text).await),
    }
}

/// Carries out COM_STMT_PREPARE.
pub(super) async fn prepare(session: &mut Session, packet: &[u8], kind: ExecutionKind) -> Result<Flow, Lost> {
    let text = packet.get(1..).unwrap_or_default();
    let made = match substitute(session, text, kind).await? {
        Ok(made) => made,
        Err(error) => return session.refuse(&error),
    };
    session.prepare_substitute(text, made).await?;
    Ok(Flow::Continue)
}

/// Carries out COM_STMT_EXECUTE of a statement of Freshet's own.
pub(super) async fn execute(
    session: &mut Session,
    packet: BytesMut,
    command: Command,
    prepared: Arc<Prepared>,
) -> Result<Flow, Lost> {
    if let Some(done) = introspect::execute(session, &packet, command, &prepared).await {
        return done;
    }
    if command != Command::StmtExecute {
        return ours::refused(session); // In bulk: the server would carry out the substitute.
    }
    let Some(text) = prepared.text_of_ours() else { return session.refuse(&wrong_arguments()) };
    let text = text.to_vec();
    // In another schema, the names in the statement may mean tables of the server.
    let is_select = || matches!(freshet_sql::read(&text, session.modes()), Request::Select { .. });
    match kind(session, &text).or_else(|| is_select().then_some(ExecutionKind::Filled)) {
        Some(ExecutionKind::Filled) => Box::pin(filled(session, packet, &prepared, &text)).await,
        Some(ExecutionKind::Shown) => Box::pin(shown(session, packet, &prepared, &text)).await,
        Some(ExecutionKind::Done) => {
            let values = prepared.values(&packet, session.capabilities());
            let values: Option<Vec<Vec<u8>>> =
                values.and_then(|values| values.iter().map(|value| literal(session, value)).collect());
            Box::pin(with_values(session, &text, values)).await
        }
        Some(ExecutionKind::Computed) | None => session.refuse(&wrong_arguments()),
    }
}

/// Executes a SELECT with Freshet's values in it.
async fn filled(
    session: &mut Session,
    packet: BytesMut,
    prepared: &Arc<Prepared>,
    text: &[u8],
) -> Result<Flow, Lost> {
    let filled = match substitute(session, text, ExecutionKind::Filled).await? {
        Ok(filled) => filled,
        Err(error) => return session.refuse(&error),
    };
    // The server keeps the parts of long values only for the statement that it has prepared.
    let is_lost = prepared.has_long_data() && !prepared.is_made_as(&filled);
    // The types of the parameters are noted for the statement that is prepared in its place.
    let has_values = prepared.values(&packet, session.capabilities()).is_some();
    if is_lost || !has_values {
        return session.refuse(&wrong_arguments());
    }
    if let ServerStatement::Refused(error) = session.make_otherwise(prepared, &filled).await? {
        return session.refuse(&error);
    }
    let packet = named(packet, prepared, session.capabilities());
    let effects = session.certain(&filled, freshet_sql::effects(&filled, session.modes()));
    forward(session, Forward::new(Message::bare(Command::StmtExecute, &packet), &effects)).await
}

/// Executes a SHOW whose rows are partly the server's and partly Freshet's.
async fn shown(
    session: &mut Session,
    packet: BytesMut,
    prepared: &Arc<Prepared>,
    text: &[u8],
) -> Result<Flow, Lost> {
    let values = prepared.values(&packet, session.capabilities());
    let values: Option<Vec<Vec<u8>>> =
        values.and_then(|values| values.iter().map(|value| literal(session, value)).collect());
    let with_values = values.and_then(|values| freshet_sql::with_values(text, &values, session.modes()));
    let Some(with_values) = with_values else { return session.refuse(&wrong_arguments()) };
    let listed = match freshet_sql::read(&with_values, session.modes()) {
        Request::Ours(shown) => ours::list::listed(session, shown).await,
        _ => None,
    };
    let packet = named(packet, prepared, session.capabilities());
    let effects = session.certain(text, freshet_sql::effects(text, session.modes()));
    let mut forward = Forward::new(Message::bare(Command::StmtExecute, &packet), &effects);
    forward.passing.listed = listed.map(crate::relay::Listed::in_binary);
    text::forward(session, forward).await
}

/// Returns the packet with the server's number of the statement in it, and with the types of its parameters, if the server does not know them
/// yet. The packet asks for all rows at once, because Freshet's rows are put among them.
fn named(mut packet: BytesMut, prepared: &Prepared, capabilities: Capabilities) -> Vec<u8> {
    name(&mut packet, prepared);
    prepared.completed(&packet, capabilities).unwrap_or_else(|| packet.to_vec())
}

/// Puts the server's number into a packet, and removes the wish for a cursor.
fn name(packet: &mut BytesMut, prepared: &Prepared) {
    const HAS_PARAMETER_COUNT: u8 = 8;
    if let Some(flags) = packet.get_mut(5) {
        *flags &= HAS_PARAMETER_COUNT;
    }
    if let (Some(place), Some(id)) = (packet.get_mut(1..5), prepared.server_id()) {
        place.copy_from_slice(&id.to_le_bytes());
    }
}

/// ER_WRONG_ARGUMENTS.
fn wrong_arguments() -> ErrPacket {
    ErrPacket::new(1210, "HY000", "Incorrect arguments to EXECUTE")
}

fn literal(session: &Session, value: &Parameter<'_>) -> Option<Vec<u8>> {
    match value {
        Parameter::Null => Some(b"NULL".to_vec()),
        Parameter::Int(number) => Some(number.to_string().into_bytes()),
        Parameter::UInt(number) => Some(number.to_string().into_bytes()),
        Parameter::Float(number) => Some(format!("{number:e}").into_bytes()),
        Parameter::Text(text) => Some(ours::quoted(session, text)),
        Parameter::Decimal(digits) => Some(digits.to_vec()),
        Parameter::DateTime { .. } | Parameter::Bytes(_) | Parameter::Other => None,
    }
}

/// Carries out a statement as text, with these values.
async fn with_values(session: &mut Session, text: &[u8], values: Option<Vec<Vec<u8>>>) -> Result<Flow, Lost> {
    let modes = session.modes();
    let filled = values.and_then(|values| freshet_sql::with_values(text, &values, modes));
    let Some(mut text) = filled else { return session.refuse(&wrong_arguments()) };
    let is_selected =
        |text: &[u8]| matches!(freshet_sql::read(text, modes), Request::Ours(Ours::SelectVariables(_)));
    let mentions = ours::mention::mentions(session, &text);
    if !mentions.is_empty() && !is_selected(&text) {
        let may_process = ours::mention::may_process(session, &mentions).await?;
        text = match ours::mention::filled(session, &text, &mentions, may_process) {
            Ok(filled) => filled,
            Err(error) => return session.refuse(&error),
        };
    }
    let prefix = query_prefix(session.capabilities().contains(Capabilities::QUERY_ATTRIBUTES));
    let packet = [&*prefix, &*text].concat();
    let query = TextQuery { packet: &packet, long: None, text_at: prefix.len(), missed: Missed::default() };
    match freshet_sql::read(&text, modes) {
        Request::Ours(Ours::SetMixed { ours, rest }) => {
            ours::mixed(session, query, &ours, rest.as_bytes()).await
        }
        Request::Ours(statement) => ours::handle(session, query, statement).await,
        _ => {
            let effects = session.certain(&text, freshet_sql::effects(&text, modes));
            forward(session, Forward::new(query.message(), &effects)).await
        }
    }
}

/// Like [`kind`], for a statement that is prepared as text.
async fn kind_by_text(session: &mut Session, text: &[u8]) -> Option<ExecutionKind> {
    let is_computed = text.len() <= SELECT_BYTES_MAX && Box::pin(introspect::is_ours(session, text)).await;
    if is_computed { Some(ExecutionKind::Computed) } else { kind(session, text) }
}

/// Carries out PREPARE, EXECUTE and EXECUTE IMMEDIATE of statements of Freshet's own; `None` if the statement is none of these.
pub(super) async fn by_text(
    session: &mut Session,
    query: TextQuery<'_>,
    found: &TextPrepared,
) -> Option<Result<Flow, Lost>> {
    match found {
        TextPrepared::Prepare { name, text: Some(text), .. } => {
            let kind = kind_by_text(session, text).await.filter(|_| is_plain(name))?;
            Some(Box::pin(prepare_text(session, query, name, text, kind)).await)
        }
        TextPrepared::Execute { name, using } => {
            let text = session.state.texts.of_ours(name)?.text;
            if introspect::names_schema(session, &text) {
                return Some(Box::pin(introspect::execute_text(session, &text, given(using))).await);
            }
            Some(Box::pin(with_values(session, &text, given(using))).await)
        }
        TextPrepared::Immediate { text, using } => {
            if kind_by_text(session, text).await? == ExecutionKind::Computed {
                return Some(Box::pin(introspect::execute_text(session, text, given(using))).await);
            }
            Some(Box::pin(with_values(session, text, given(using))).await)
        }
        TextPrepared::Deallocate { name } => {
            session.state.texts.of_ours(name).filter(|ours| !ours.is_there)?;
            session.state.texts.remove(name);
            session.put_ok(0);
            Some(Ok(Flow::Continue))
        }
        TextPrepared::Prepare { .. } => None,
    }
}

/// Returns the values of an EXECUTE as they stand in a text.
fn given(using: &Using) -> Option<Vec<Vec<u8>>> {
    match using {
        Using::Number(number) => Some(vec![number.to_string().into_bytes()]),
        using => {
            let named = |name: &String| [b"@`", &*ours::doubled(name.as_bytes(), b'`'), b"`"].concat();
            Some(using.variables()?.iter().map(named).collect())
        }
    }
}

async fn prepare_text(
    session: &mut Session,
    query: TextQuery<'_>,
    name: &str,
    text: &[u8],
    kind: ExecutionKind,
) -> Result<Flow, Lost> {
    let made = match substitute(session, text, kind).await? {
        Ok(made) => made,
        Err(error) => return session.refuse(&error),
    };
    let made = ours::quoted(session, &made);
    let statement = [b"PREPARE `", &*ours::doubled(name.as_bytes(), b'`'), b"` FROM ", &*made].concat();
    // The server reports the preparation as a change of the session.
    let (payload, effects) = (query.with_text(&statement), Effects { session: true, ..Effects::none() });
    let relayed = session.forward(Forward::new(Message::query(&payload, &statement), &effects)).await?;
    if relayed.error.is_some() {
        session.state.texts.remove(name);
        return Ok(Flow::Continue);
    }
    let is_there = kind == ExecutionKind::Shown;
    if !is_there {
        let away = format!("DEALLOCATE PREPARE `{name}`");
        session.execute_unseen(Command::Query, away.as_bytes()).await?;
    }
    session.state.texts.set(name.to_owned(), Text::of_ours(text, is_there));
    Ok(Flow::Continue)
}
