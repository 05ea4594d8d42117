//! Executions of prepared statements, and the other commands that name a prepared statement.

mod execution;
mod naming;
mod planning;
mod preparing;

use std::pin::pin;
use std::sync::Arc;

use bytes::BytesMut;
use freshet_catalog::Told;
use freshet_protocol::{Command, ErrPacket};
use freshet_sql::{Effects, Flavor, Reads};
use freshet_upstream::Error;

use super::filling::{Sought, count_not_cached, fill};
use super::refusals::{refuse_interrupted, unavailable};
use super::select::note_execution;
use super::{bargain, kill, ours_prepared, riding, rules, transaction};
use crate::fences::{Looking, ReadReach, reading};
use crate::relay::Lost;
use crate::session::{
    ControlStatement, Deeds, Executed, ExecutionFacts, Flow, Forward, LAST_PREPARED, LaneWait, LaneWaits,
    Logged, Message, Missed, Prepared, PreparedSelect, ServerStatement, Session, Touches, ZoneAt,
    unknown_statement,
};
use crate::why::Why;

use execution::take_bargain;
pub(super) use execution::{BoundExecution, By, SelectExecution, framed, note_answered, take_stored};
pub(super) use naming::{close, close_here, named, reset, send_long_data};
pub(super) use planning::is_dated;
use planning::{Planned, compiled, decided};
pub(super) use preparing::{from_memory as prepare_from_memory, prepare};

/// Returns the session's time zone now.
pub(super) fn zone_at(session: &Session) -> ZoneAt {
    let are_utf8 = session.environment().is_some_and(|environment| environment.modes.utf8_strings);
    ZoneAt { zone: session.zone(), version: session.state.environment.version(), are_utf8 }
}

/// Answers an execution from memory, if possible.
///
/// # Errors
/// The outcome of the look-up, if it is no answer.
pub(super) fn from_memory(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    let environment = session.current_key().ok_or_else(Missed::default)?;
    let prepared = known(session, packet).ok_or_else(Missed::default)?;
    if session.ruled.are_there() && prepared.is_rewritten() {
        return Err(Missed::default());
    }
    let execution = SelectExecution::by_command(session, &prepared, packet);
    take_stored(session, execution, environment)
}

/// Carries out COM_STMT_EXECUTE and MariaDB's COM_STMT_BULK_EXECUTE.
pub(super) async fn execute(
    session: &mut Session,
    packet: BytesMut,
    command: Command,
    missed: Missed,
) -> Result<Flow, Lost> {
    let named = known(session, &packet);
    let at = zone_at(session);
    session.note_asked(named.as_ref().map_or(b"", |prepared| prepared.text()));
    if let Some(prepared) = &named
        && let Some(lost) = prepared.take_lost_part()
    {
        return Box::pin(refuse_without_part(session, prepared, &lost)).await;
    }
    let ruled = named.clone().filter(|_| session.heeds_rules());
    let line = ruled.as_ref().and_then(|_| session.begins_line(Logged::execution));
    let is_answered = match &ruled {
        Some(prepared) => Box::pin(rules::execution(session, prepared, &packet, command, at)).await?,
        None => false,
    };
    let flow = match is_answered {
        true => Ok(Flow::Continue),
        false => pin!(carry_out(session, packet, command, missed, named)).await,
    };
    if let (Some(line), Some(prepared)) = (line, ruled) {
        session.ends_line(&line, prepared.asked());
    }
    flow
}

/// Carries out an execution on which the query rules have decided.
async fn carry_out(
    session: &mut Session,
    packet: BytesMut,
    command: Command,
    missed: Missed,
    named: Option<Arc<Prepared>>,
) -> Result<Flow, Lost> {
    let named = named.filter(|_| command == Command::StmtExecute);
    session.forget_policy();
    if let Some(prepared) = &named
        && is_by_policy(session, SelectExecution::by_command(session, prepared, &packet))
    {
        return Ok(Flow::Continue);
    }
    if let Some(prepared) = &named
        && let Some(done) = pin!(without_the_server(session, &packet, prepared, missed)).await
    {
        return done;
    }
    // Boxed, so that an execution that rides takes no room for all that is not done for it.
    Box::pin(carry_out_here(session, packet, command, missed)).await
}

/// Carries out an execution that no lane has carried: on the session's own connection, if a server is needed.
async fn carry_out_here(
    session: &mut Session,
    mut packet: BytesMut,
    command: Command,
    missed: Missed,
) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    let prepared = known(session, &packet);
    if let Some(ours) = prepared.as_ref().filter(|it| it.text_of_ours().is_some()) {
        let ours = Arc::clone(ours);
        return Box::pin(ours_prepared::execute(session, packet, command, ours)).await;
    }
    let had_long_data = prepared.as_ref().is_some_and(|prepared| prepared.has_long_data());
    let effects = effects_of(session, prepared.as_deref()).await;
    let Executed { write, killed, values } = match (&prepared, command) {
        (Some(prepared), Command::StmtExecute) => {
            prepared.executed(&packet, session.capabilities(), zone_at(session))
        }
        (Some(prepared), _) => {
            prepared.executed_in_bulk();
            Executed::default()
        }
        (None, _) => Executed::default(),
    };
    if effects.session {
        session.state.texts.forget(); // No server lets one prepare another by its text; if one did, it would be so.
    }
    if let Some((kill, id)) = killed
        && let Some(done) = kill::prepared(session, kill, id).await
    {
        return done;
    }
    if let (Some(prepared), Some(values)) = (&prepared, values) {
        let bound =
            BoundExecution { execution: SelectExecution::by_command(session, prepared, &packet), values };
        return Box::pin(select(session, &packet, bound, missed, effects)).await;
    }
    match number(session, &mut packet, command).await? {
        None => {}
        Some(refusal) => return not_made(session, &refusal),
    }
    // Parts of values wait at the server for this execution.
    let owes = prepared.as_ref().filter(|_| !had_long_data);
    owes.iter().for_each(|prepared| prepared.heeds_definitions(&session.shared.upstream));
    let owed = owes.map(|prepared| prepared.owed()).unwrap_or_default();
    let completed = prepared.as_ref().and_then(|prepared| sent(session, prepared, &packet));
    let text = control_text(prepared.as_deref());
    let message = Message { text, ..Message::bare(command, completed.as_deref().unwrap_or(&packet)) }
        .with_memo(prepared.as_ref().map(|prepared| prepared.digest_memo()));
    let execution = prepared.as_ref().map(|it| ExecutionFacts::of(it, &owed)).unwrap_or_default();
    let deeds = Deeds { write, ..Deeds::from(&effects) };
    let relayed = session.forward(Forward { execution, ..Forward::new(message, deeds) }).await?;
    if let Some(prepared) = prepared {
        if !relayed.is_unsent {
            prepared.is_met(&packet, session.capabilities());
        }
        prepared.ended(relayed.error, relayed.is_unsent);
        if relayed.is_unsent && had_long_data {
            session.drop_long_data(&prepared).await?;
        }
    }
    Ok(Flow::Continue)
}

/// Refuses an execution of which a part of a value was lost, and has the server drop the other parts.
async fn refuse_without_part(
    session: &mut Session,
    prepared: &Prepared,
    lost: &ErrPacket,
) -> Result<Flow, Lost> {
    prepared.set_long_data(false);
    if session.lease.is_open() {
        session.drop_long_data(prepared).await?;
    }
    not_made(session, lost)
}

/// Tries to carry out an execution without the session's own connection. Also carries out one that begins a transaction on that connection.
/// Returns `None` for any other execution.
async fn without_the_server(
    session: &mut Session,
    packet: &BytesMut,
    prepared: &Arc<Prepared>,
    missed: Missed,
) -> Option<Result<Flow, Lost>> {
    let (is_select, mut lane_waits) = (prepared.select.is_some(), LaneWaits::default());
    loop {
        let waits =
            async |session: &mut Session| riding::execution_waits(session, packet, prepared, missed).await;
        match pin!(session.waits_unconnected(waits)).await {
            Ok(false) => {}
            done => return Some(done.map(|_| Flow::Continue)),
        }
        let carriage = match session.may_ride_or_lend(|| is_select).await {
            Ok(carriage) => carriage,
            Err(error) => return Some(unavailable(session, &error)),
        };
        if let Some(carriage) = carriage {
            match pin!(riding::ride_execution(session, packet, prepared, carriage, missed)).await {
                Ok(false) => {}
                done => return Some(done.map(|_| Flow::Continue)),
            }
        }
        if !session.is_in_rush() || !riding::execution_waits_for_lane(session, prepared) {
            break;
        }
        match session.waits_for_lane(&mut lane_waits).await {
            Ok(LaneWait::Over) if from_memory(session, packet).is_ok() => return Some(Ok(Flow::Continue)),
            Ok(LaneWait::Over) => {}
            Ok(LaneWait::Useless) => break,
            Ok(LaneWait::Interrupted) => return Some(refuse_interrupted(session)),
            Err(lost) => return Some(Err(lost)),
        }
    }
    let statement = prepared.control.as_ref()?;
    Box::pin(control(session, packet, prepared, statement)).await
}

/// Carries out the execution of a statement that begins, marks or ends a transaction, as far as that needs no answer of the server.
async fn control(
    session: &mut Session,
    packet: &BytesMut,
    prepared: &Prepared,
    ControlStatement { control, text }: &ControlStatement,
) -> Option<Result<Flow, Lost>> {
    if let Some(flow) = transaction::answered(session, control, Command::StmtExecute) {
        return Some(Ok(flow));
    }
    if session.lease.is_lent()
        && let Err(error) = session.take_back().await
    {
        return Some(unavailable(session, &error));
    }
    if !session.lease.is_open() {
        return None;
    }
    let numbered = match numbered_packet(session, prepared, packet).await {
        Ok(Ok(numbered)) => numbered,
        Ok(Err(refusal)) => return Some(not_made(session, &refusal)),
        Err(lost) => return Some(Err(lost)),
    };
    let packet = numbered.as_deref().unwrap_or(packet);
    let message = Message { text, ..Message::bare(Command::StmtExecute, packet) };
    transaction::begin(session, message, control).await.transpose()
}

/// Returns the text of a statement that begins, marks or ends a transaction. The text tells what the statement does to the transaction.
fn control_text(prepared: Option<&Prepared>) -> &[u8] {
    prepared.and_then(|prepared| prepared.control.as_ref()).map_or(&[], |statement| &statement.text)
}

/// Notes an execution that goes to the server. Returns the packet to send, if it is not the client's own.
fn sent(session: &Session, prepared: &Prepared, packet: &[u8]) -> Option<Vec<u8>> {
    note_executed(session, prepared);
    prepared.completed(packet, session.capabilities())
}

/// Notes that the server executes the statement in the session's current environment.
pub(super) fn note_executed(session: &Session, prepared: &Prepared) {
    let (environment, version) = session.environment_now();
    prepared.prepared_in.note_executed(environment, version);
}

/// Executes a SELECT: answered from memory if possible, and stored in memory if allowed. `payload` is the client's packet.
pub(super) async fn select(
    session: &mut Session,
    payload: &[u8],
    BoundExecution { execution, values }: BoundExecution<'_>,
    mut missed: Missed,
    mut effects: Effects,
) -> Result<Flow, Lost> {
    let prepared = execution.prepared;
    let runs_code = !effects.reads.is_nothing() || !effects.calls.is_nothing();
    heed_policy(session, execution).await;
    let may_be_stale = session.ruled.is_bargain() && effects.calls.is_nothing();
    let asks_back = effects.reads_last_statement
        || may_be_stale && Box::pin(would_be_asked_between(session, execution, &effects)).await;
    let is_plain = (!runs_code || may_be_stale) && !asks_back;
    if is_plain && let Err(error) = learn(session, may_be_stale).await {
        return unavailable(session, &error);
    }
    let planned = if is_plain {
        decided(session, &mut missed, execution, &values, may_be_stale).await?
    } else {
        let why = if asks_back { Why::AsksBack } else { Why::UnknownFunction };
        Ok(Planned::Forwarded(Touches::Anything, why.into()))
    };
    let (plan, touches) = match planned {
        Err(error) => return unavailable(session, &error),
        Ok(Planned::Answered) => return Ok(Flow::Continue),
        Ok(Planned::Forwarded(touches, refusal)) => (Err(refusal), touches),
        Ok(Planned::Stored(plan)) => (Ok(plan), Touches::ReadView),
        Ok(Planned::Bargain(plan)) => {
            effects.reads = Reads::NOTHING;
            (Ok(plan), Touches::Anything)
        }
    };
    // After the plan, so that an answer by other types is not stored under this key.
    prepared.heeds_definitions(&session.shared.upstream);
    let mut key = Vec::new();
    let has_key = execution.key_of(&mut key).is_some();
    let (numbered, completed);
    let message = if execution.by == By::Command {
        numbered = match numbered_packet(session, prepared, payload).await? {
            Ok(numbered) => numbered,
            Err(refusal) => return not_made(session, &refusal),
        };
        let payload = numbered.as_deref().unwrap_or(payload);
        completed = sent(session, prepared, payload);
        Message::bare(Command::StmtExecute, completed.as_deref().unwrap_or(payload))
    } else {
        note_executed(session, prepared);
        Message::query(payload, execution.statement)
    };
    // The server's number of the statement is known by now.
    let owed = if has_key { Vec::new() } else { execution.owed() };
    let compiled = prepared.select.as_ref().and_then(PreparedSelect::compiled);
    let reads_tables_alone = compiled.as_ref().is_some_and(|it| it.template.reads_tables_alone());
    let deeds = Deeds { touches, reads_tables_alone, ..Deeds::from(&effects) };
    let message = message.with_memo(Some(prepared.digest_memo()));
    let forward = Forward { execution: ExecutionFacts::of(prepared, &owed), ..Forward::new(message, deeds) };
    let relayed = match plan {
        Ok(plan) if has_key => fill(session, forward, Sought { key_text: &key, missed }, plan).await?,
        plan => {
            let relayed = session.forward(forward).await?;
            count_not_cached(session, relayed.error);
            session.count_refused(&relayed, &plan.err().unwrap_or(Why::Parameters.into()));
            relayed
        }
    };
    if let Some(compiled) = compiled {
        session.note_template(relayed.tag, &compiled.template);
        if !relayed.is_unsent {
            note_execution(session, &compiled.template, &relayed);
        }
    }
    prepared.ended(relayed.error, relayed.is_unsent);
    if !relayed.is_unsent {
        prepared.is_met(execution.packet, session.capabilities());
    }
    Ok(Flow::Continue)
}

/// Answers an execution from memory by the policy of its query's cache, if possible.
fn is_by_policy(session: &mut Session, execution: SelectExecution<'_>) -> bool {
    if session.shared.created.policies() == 0 {
        return false;
    }
    let compiled = select_of_now(session, execution).and_then(PreparedSelect::compiled);
    let Some(compiled) = compiled else { return false };
    session.heed_policy(compiled.template.query.id);
    let key = session.key_of_bargain().filter(|_| !session.holds().hide_tables());
    key.is_some_and(|key| take_bargain(session, execution, key).is_ok())
}

/// Lets the answer to an execution be as old as the policy of its query's cache allows.
async fn heed_policy(session: &mut Session, execution: SelectExecution<'_>) {
    if session.shared.created.policies() == 0 {
        return;
    }
    if let Some(select) = select_of_now(session, execution) {
        let compiled = compiled(session, select).await;
        session.heed_policy(compiled.template.query.id);
    }
}

/// Returns the executed SELECT, if its meaning in the session is still the meaning that it had when it was prepared.
fn select_of_now<'a>(session: &Session, execution: SelectExecution<'a>) -> Option<&'a PreparedSelect> {
    let version = session.state.environment.version();
    let environment = session.environment()?;
    let is_of_now = execution.prepared.prepared_in.is_of(environment.id, version);
    execution.prepared.select.as_ref().filter(|_| is_of_now)
}

/// Whether learning the session's environment would change what code behind an execution may ask for.
async fn would_be_asked_between(
    session: &Session,
    execution: SelectExecution<'_>,
    effects: &Effects,
) -> bool {
    let text = execution.prepared.select.as_ref().map_or(&[][..], |select| &select.text);
    session.would_be_asked_between(effects).await && !bargain::reads_tables_alone(session, text).await
}

/// Learns the session's environment. With `may_be_stale`, the server is asked for facts that Freshet cannot tell.
async fn learn(session: &mut Session, may_be_stale: bool) -> Result<(), Error> {
    session.resolve_doubts().await;
    if may_be_stale {
        session.believe_doubts();
    }
    session.learn().await?;
    session.refresh_key();
    Ok(())
}

/// Whether a packet names a statement by a number that is not the server's number.
fn names_otherwise(prepared: &Prepared, packet: &[u8]) -> bool {
    prepared.server_id().is_none() || prepared.server_id() != statement_id(packet)
}

/// Puts the server's number of the named statement into a packet. Has the server prepare the statement first, if the server has not.
/// The inner value is the error that the client gets in the place of an answer, if there is one.
async fn number(
    session: &mut Session,
    packet: &mut BytesMut,
    command: Command,
) -> Result<Option<ErrPacket>, Lost> {
    let Some(prepared) = known(session, packet) else {
        // The server may take the number for another statement that was prepared on the connection.
        let taken = statement_id(packet).filter(|id| session.lease.prepared.is_given_here(*id));
        let taken = taken.filter(|id| *id != LAST_PREPARED || session.flavor() == Flavor::MariaDb);
        let Some(id) = taken else { return Ok(None) };
        if command != Command::StmtSendLongData {
            session.name_nothing(packet).await?;
        }
        return Ok(Some(unknown_statement(id, command, session.flavor())));
    };
    match session.make(&prepared).await? {
        ServerStatement::At(id) => {
            if let Some(place) = packet.get_mut(1..5) {
                place.copy_from_slice(&id.to_le_bytes());
            }
            Ok(None)
        }
        ServerStatement::Refused(refusal) => Ok(Some(refusal)),
    }
}

/// Returns the packet with the server's number of the statement in it, if the packet has another number. The inner error is what the client
/// gets in the place of an answer.
async fn numbered_packet(
    session: &mut Session,
    prepared: &Prepared,
    packet: &[u8],
) -> Result<Result<Option<BytesMut>, ErrPacket>, Lost> {
    if !names_otherwise(prepared, packet) {
        return Ok(Ok(None));
    }
    let mut numbered = BytesMut::from(packet);
    let refusal = Box::pin(number(session, &mut numbered, Command::StmtExecute)).await?;
    Ok(refusal.map_or(Ok(Some(numbered)), Err))
}

fn not_made(session: &mut Session, refusal: &ErrPacket) -> Result<Flow, Lost> {
    session.put_not_made(refusal);
    Ok(Flow::Continue)
}

fn statement_id(packet: &[u8]) -> Option<u32> {
    packet.get(1..5)?.try_into().ok().map(u32::from_le_bytes)
}

/// Returns the statement that a packet names.
fn known(session: &Session, packet: &[u8]) -> Option<Arc<Prepared>> {
    let id = statement_id(packet)?;
    // Only MariaDB knows a statement by another number than its own.
    let is_named = |prepared: &Arc<Prepared>| prepared.id == id || session.flavor() == Flavor::MariaDb;
    session.lease.prepared.get(id).filter(is_named)
}

/// Returns what executing a statement may do. An unknown statement may do anything.
pub(super) async fn effects_of(session: &Session, prepared: Option<&Prepared>) -> Effects {
    let Some(prepared) = prepared else { return Effects::worst() };
    if prepared.effects.reads.is_nothing() {
        return Effects::clone(&prepared.effects);
    }
    let upstream = &session.shared.upstream;
    // Read before the look: a change meanwhile makes the next execution look again.
    let version = upstream.catalog_version();
    let reads_plainly = prepared.reads_plainly_at(version) || {
        let looking = Looking { sources: session.shared.sources(), told: &mut Told::at(version) };
        reading(&prepared.effects.reads, looking).await == ReadReach::Plain
    };
    if !reads_plainly {
        return Effects::clone(&prepared.effects); // It is looked at again, and acted on, when it is sent.
    }
    prepared.set_reads_plainly_at(version);
    Effects { reads: Reads::NOTHING, ..Effects::clone(&prepared.effects) }
}
