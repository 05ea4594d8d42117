//! COM_STMT_PREPARE: answered from memory if possible, and stored in memory if allowed. `session/making.rs` has what the server hears of
//! such a statement later, and `preparations.rs` has what makes a stored preparation wrong.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use freshet_cache::{Dep, Position};
use freshet_protocol::{Command, ErrPacket};
use freshet_rules::Decision;
use freshet_sql::{Effects, Hint, HintError, Writes};
use freshet_upstream::now_ms;

use super::planning::compiled;
use super::zone_at;
use crate::commands::asked::key_for;
use crate::commands::fill_plan::rights;
use crate::commands::refusals::unavailable;
use crate::commands::transaction;
use crate::commands::{introspect, ours_prepared};
use crate::preparations::{ANSWER_BYTES_MAX, CompiledExecution, Preparation, Preparations};
use crate::reading::{self, LONG_BYTES_MIN, OneSelect, ReadPrepared};
use crate::relay::{Capture, Captured, Lost};
use crate::rows::deps_of_definitions;
use crate::session::{
    AGAIN_BYTES_MAX, Again, Came, ControlStatement, Flow, Forward, Message, Missed, Prepared, PreparedSelect,
    SELECT_BYTES_MAX, Session,
};
use crate::template::{Cacheability, Template};

/// Answers a preparation from memory, if possible.
///
/// # Errors
/// The preparation is for the server, or has to wait for somebody.
pub(crate) fn from_memory(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    let text = packet.get(1..).filter(|text| may_select(text)).ok_or_else(Missed::default)?;
    session.recall();
    let environment = session.current_key().ok_or_else(Missed::default)?;
    let is_other =
        |decision: &Decision| decision.settings.error_msg.is_some() || decision.rewritten.is_some();
    if session.ruled.are_there() && session.decide(text, Came::ToBePrepared).is_some_and(is_other) {
        return Err(Missed::default());
    }
    if session.prepare_from_memory(text, environment) { Ok(()) } else { Err(Missed::default()) }
}

/// Replaces the packet by what rules have made of it, if the rules rewrite it. Returns the packet as the client sent it.
fn rewrite(session: &mut Session, packet: &mut BytesMut) -> Option<BytesMut> {
    let text = session.ruled.take_rewritten()?;
    let rewritten = [&[Command::StmtPrepare.byte()], text.as_slice()].concat();
    Some(std::mem::replace(packet, BytesMut::from(&rewritten[..])))
}

/// Prepares a statement of Freshet's own. If another statement asks for the client's number, the number is put into the packet.
async fn ours(session: &mut Session, packet: &mut BytesMut) -> Option<Result<Flow, Lost>> {
    if packet.len() <= SELECT_BYTES_MAX
        && let Some(done) = Box::pin(introspect::prepare(session, packet)).await
    {
        return Some(done);
    }
    if let Some(kind) = ours_prepared::kind(session, &packet[1..]) {
        return Some(Box::pin(ours_prepared::prepare(session, packet, kind)).await);
    }
    if let Some(numbered) = ours_prepared::numbered(session, &packet[1..]) {
        packet.truncate(1);
        packet.extend_from_slice(&numbered);
    }
    None
}

/// Carries out a COM_STMT_PREPARE that was not answered at once.
pub(crate) async fn prepare(session: &mut Session, mut packet: BytesMut) -> Result<Flow, Lost> {
    session.decide(&packet[1..], Came::ToBePrepared);
    if session.answer_by_rules() {
        return Ok(Flow::Continue);
    }
    let asked = rewrite(session, &mut packet);
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    if session.lease.prepared.may_collide() {
        return session.refuse(&too_many());
    }
    if let Some(done) = ours(session, &mut packet).await {
        return done;
    }
    let packet = packet.freeze();
    if may_select(&packet[1..])
        && let Err(error) = Box::pin(session.learn_quietly()).await
    {
        return unavailable(session, &error);
    }
    let ReadPrepared { effects, write, kill, select, stripped } = read(session, &packet).await;
    if stripped.is_some()
        && let Some(HintError { code, sqlstate, message }) =
            freshet_sql::hint_error(&packet[1..], session.modes())
    {
        session.lease.prepared.failed();
        return session.refuse(&ErrPacket::new(code, sqlstate, &message));
    }
    let effects = Arc::new(session.certain(&packet[1..], effects));
    let write = write.filter(|_| reading::writes_one_table(&effects));
    let select = select.and_then(|OneSelect { hint }| selected(session, &packet[1..], hint));
    let (environment, version) = session.environment_now();
    let pending = match &select {
        // A statement that is rewritten now may not be rewritten when it is prepared again.
        Some(select) if asked.is_none() => Box::pin(pending_preparation(session, select)).await,
        _ => None,
    };
    // The first look-up came before the environment was known, or a temporary table was in the way.
    if pending.as_ref().is_some_and(|it| session.prepare_from_memory(&packet[1..], it.environment)) {
        return Ok(Flow::Continue);
    }
    // A statement that asks about the statement before it gives a warning about that already here.
    let asks_back =
        effects.reads_last_statement || !effects.calls.is_nothing() || packet.len() > SELECT_BYTES_MAX;
    let nothing = Effects { reads_last_statement: asks_back, ..Effects::none() };
    let stripped = stripped.map(|text| [&[Command::StmtPrepare.byte()], text.as_slice()].concat());
    let payload = stripped.as_deref().unwrap_or(&packet);
    let mut forward = Forward::new(Message::bare(Command::StmtPrepare, payload), &nothing);
    forward.passing.capture = pending.as_ref().and_then(|it| capture(session, it));
    // Before the server prepares: what changes meanwhile may have changed afterwards.
    let catalog_version = session.shared.upstream.catalog_version();
    let mut relayed = session.forward(forward).await?;
    session.lease.prepared.failed();
    if let Some(ok) = relayed.prepared {
        let again = again(session, &packet[1..], &effects);
        let control = transaction::read(session, &packet[1..]);
        let control = control.map(|control| ControlStatement { control, text: packet[1..].into() });
        let is_short = packet.len() < LONG_BYTES_MIN;
        let keeps = is_short && freshet_sql::keeps_found_rows(&packet[1..], session.modes());
        let prepared =
            Prepared::new(ok.statement_id, ok.parameters.into(), effects).keeping_found_rows(keeps);
        let prepared = prepared.with_write(write, again).with_kill(kill).with_control(control);
        let prepared = prepared.with_select(select).prepared_in(environment, version);
        if let (Some(pending), Some(captured)) = (pending, relayed.captured.take()) {
            pending.keep(session, &prepared, &captured);
        }
        let prepared = prepared.numbered(relayed.numbered);
        prepared.is_prepared_at(catalog_version);
        let came = asked.as_deref().unwrap_or(&packet).get(1..).unwrap_or_default();
        session.lease.prepared.add(prepared.asked_as(came, asked.is_some()));
    }
    Ok(Flow::Continue)
}

/// Returns the error for a connection on which the server has given nearly all numbers below Freshet's, while statements with Freshet's
/// numbers exist.
fn too_many() -> ErrPacket {
    ErrPacket::new(
        1461,
        "42000",
        "Can't create more statements on this connection; close those that are there",
    )
}

/// Whether a text may be a SELECT, by its first word.
fn may_select(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    let is = |word: &[u8]| start.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word));
    text.len() <= SELECT_BYTES_MAX
        && (is(b"select") || is(b"with") || is(b"(") || is(b"/*") || is(b"-- ") || is(b"#"))
}

/// Returns a SELECT whose answers may come from memory.
fn selected(session: &Session, text: &[u8], hint: Option<Hint>) -> Option<PreparedSelect> {
    (text.len() <= SELECT_BYTES_MAX).then(|| PreparedSelect::new(text, session.flavor(), hint))
}

/// Returns the text of a write or of a CALL, if the text is short enough to be kept.
fn again(session: &Session, text: &[u8], effects: &Effects) -> Option<Again> {
    let modes = session.parse_settings().modes_of_write;
    let calls = || !effects.calls.is_nothing() && freshet_sql::call_arguments(text, modes).is_some();
    let is_kept = text.len() <= AGAIN_BYTES_MAX && (matches!(effects.writes, Writes::Tables(_)) || calls());
    is_kept.then(|| Again {
        text: text.into(),
        modes,
        prepared_in: zone_at(session),
        schema: session.state.environment.schema().map(str::to_owned),
    })
}

/// Reads the text of a COM_STMT_PREPARE. A long text is read beside the event loop.
async fn read(session: &Session, packet: &Bytes) -> ReadPrepared {
    let (text, settings) = (packet.slice(1..), session.parse_settings());
    if text.len() < LONG_BYTES_MIN {
        return reading::prepared(&text, settings);
    }
    let read = session.shared.readers.read(text, move |text| reading::prepared(text, settings)).await;
    read.unwrap_or_else(|| ReadPrepared {
        effects: Effects::worst(),
        write: None,
        kill: None,
        select: None,
        stripped: None,
    })
}

/// The dependencies of a preparation, and the position from which it is valid.
struct RestsOn {
    deps: Vec<Dep>,
    valid_from: Position,
}

/// What Freshet needs to store the preparation that it asks the server for.
struct PendingPreparation {
    compiled: Arc<CompiledExecution>,
    /// The first part of the keys of answers.
    environment: u32,
    /// `None` if the preparation cannot be stored now.
    kept: Option<RestsOn>,
}

/// Returns what is known of a SELECT before the server prepares it; `None` if its answers are not cached, or not in this session as it is.
/// Asks nothing on the session's own connection, where the client can still ask for the counts of the statement before.
async fn pending_preparation(session: &mut Session, select: &PreparedSelect) -> Option<PendingPreparation> {
    session.environment()?;
    session.resolve_doubts().await;
    let compiled = compiled(session, select).await;
    let template = &compiled.template;
    if template.effects.reads_last_statement || !matches!(template.verdict, Cacheability::Cache) {
        return None;
    }
    let environment = key_for(session, template, select.hint).ok()?;
    let kept = depends(session, template);
    Some(PendingPreparation { environment, kept, compiled })
}

/// Returns the dependencies of a preparation that the server is now asked for, and the position from which it is valid; `None` if it cannot
/// be stored. The server prepares by the current definitions, whatever the session's transaction reads.
fn depends(session: &Session, template: &Template) -> Option<RestsOn> {
    let (shared, freshness) = (&session.shared, session.shared.freshness());
    // Read before anything else, as for a result.
    let valid_from = freshness.valid_from();
    let is_of_now = shared.upstream.is_current(&template.told) && session.has_keys_of_its_rights();
    if !is_of_now || !freshness.is_live(now_ms()) {
        return None;
    }
    let mut deps = deps_of_definitions(&template.tables, freshness);
    deps.push(rights(session, template));
    let is_stale = freshness.is_dead(&deps, valid_from);
    if is_stale {
        // The last change is not yet known to be visible.
        shared.upstream.ask_probe();
    }
    (!is_stale).then_some(RestsOn { deps, valid_from })
}

/// Returns a capture of the server's answer, if the answer may be stored. The warnings that MySQL gives each time belong to the answer.
fn capture(session: &Session, pending: &PendingPreparation) -> Option<Capture> {
    pending.kept.as_ref()?;
    let capture = Capture::new(ANSWER_BYTES_MAX, &session.shared.bounds().fill);
    let warnings = session.warnings_of(pending.compiled.deprecations);
    Some(capture.warned(warnings).of_preparation())
}

impl PendingPreparation {
    /// Stores the server's preparation, with its answer, for other sessions.
    fn keep(self, session: &Session, prepared: &Prepared, captured: &Captured) {
        let (Some(RestsOn { deps, valid_from }), Some(select)) = (self.kept, &prepared.select) else {
            return;
        };
        let mut key = Vec::new();
        Preparations::put_key(self.environment, &select.text, &mut key);
        let preparation = Preparation {
            text: Arc::clone(&select.text),
            hint: select.hint,
            effects: Arc::clone(&prepared.effects),
            keeps_found_rows: prepared.keeps_found_rows,
            remembers: select.remembers(),
            compiled: self.compiled,
            parameters: prepared.parameters(),
            status_at: captured.status_at,
            answer: captured.body.clone(),
            valid_from,
            deps,
        };
        session.shared.preparations.keep(&key, preparation);
    }
}
