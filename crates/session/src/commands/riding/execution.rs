//! An execution of a prepared SELECT, carried on a lane. The statement is prepared once on the lane for all sessions that execute the same.

use std::pin::pin;
use std::sync::Arc;

use freshet_protocol::Command;
use freshet_upstream::Lane;
use freshet_upstream::lane::{StatementKey, StatementState};

use super::ahead::{self, KeyedExecution};
use super::fitness::{may_be_carried, may_be_carried_soon};
use super::{Ridden, RideEnd, carried, keyed, leads, ride_of, stored, told, weigh};
use crate::commands::admitting::{Hinted, is_worth_storing};
use crate::commands::fill_plan::{ExecutedSelect, FillPlan, plan_of_execution_from, rights};
use crate::commands::filling::Sought;
use crate::commands::prepared::{SelectExecution, is_dated, note_answered, zone_at};
use crate::environment::key_of_executions;
use crate::preparations::CompiledExecution;
use crate::relay::Lost;
use crate::session::{
    Carriable, Carriage, Message, Missed, Prepared, PreparedSelect, Ride, Session, Unfound,
};
use crate::why::Why;

/// Answers the execution over a lane, if that is allowed. An execution that may be slow waits for the answer to the same one that another
/// client has asked for. Returns false if the execution still needs an answer.
pub(in crate::commands) async fn ride(
    session: &mut Session,
    packet: &[u8],
    prepared: &Arc<Prepared>,
    carriage: Carriage,
    missed: Missed,
) -> Result<bool, Lost> {
    let Some((select, compiled)) = known(session, prepared) else { return Ok(false) };
    let takes_turns = carriage == Carriage::Alone && session.takes_turns(&compiled.template);
    if !takes_turns && !may_be_carried(session, &compiled.template) {
        return Ok(false);
    }
    let Some(keyed) = &keyed_by(session, packet, prepared, (select, compiled)) else { return Ok(false) };
    if takes_turns && Box::pin(ahead::execution(session, keyed, missed)).await? {
        return Ok(true);
    }
    let end = pin!(once(session, keyed, carriage, missed)).await?;
    match end {
        RideEnd::Answered => Ok(true),
        RideEnd::NotCarried => Ok(false),
        // Not on another lane at once: those that ask similar things would hold that one up too.
        RideEnd::HeldUp if carriage == Carriage::Alone => {
            Box::pin(ahead::execution(session, keyed, missed)).await
        }
        RideEnd::HeldUp => Ok(false),
    }
}

/// Has an execution that may be slow wait for the answer to the same one that another client has asked for. Returns whether the execution is
/// answered by then.
pub(in crate::commands) async fn waits(
    session: &mut Session,
    packet: &[u8],
    prepared: &Arc<Prepared>,
    missed: Missed,
) -> Result<bool, Lost> {
    let known = known(session, prepared).filter(|(_, compiled)| session.takes_turns(&compiled.template));
    let Some(keyed) = known.and_then(|known| keyed_by(session, packet, prepared, known)) else {
        return Ok(false);
    };
    Box::pin(ahead::execution(session, &keyed, missed)).await
}

/// Whether it is worth that the execution waits for a lane: one may carry it soon.
pub(in crate::commands) fn waits_for_lane(session: &Session, prepared: &Prepared) -> bool {
    let Some(select) = prepared.select.as_ref().filter(|select| select.hint.is_none()) else { return false };
    let compiled = select.compiled();
    !prepared.is_rewritten()
        && compiled.is_none_or(|compiled| may_be_carried_soon(session, &compiled.template))
}

/// Returns an execution with its values and its key; `None` if they cannot be told.
fn keyed_by<'a>(
    session: &Session,
    packet: &'a [u8],
    prepared: &'a Arc<Prepared>,
    (select, compiled): (&'a PreparedSelect, Arc<CompiledExecution>),
) -> Option<KeyedExecution<'a>> {
    let execution = SelectExecution::by_command(session, prepared, packet);
    let mut key_text = Vec::new();
    execution.key_of(&mut key_text)?;
    let values = prepared.executed(packet, session.capabilities(), zone_at(session)).values?;
    Some(KeyedExecution { execution, select, compiled, values, key_text })
}

/// Tries once to have a lane carry the execution.
async fn once(
    session: &mut Session,
    keyed: &KeyedExecution<'_>,
    carriage: Carriage,
    missed: Missed,
) -> Result<RideEnd, Lost> {
    const NOT: RideEnd = RideEnd::NotCarried;
    let prepared = keyed.execution.prepared;
    if !may_be_carried(session, &keyed.compiled.template) {
        return Ok(NOT);
    }
    let carriable = prepared.carriable(keyed.execution.packet, session.capabilities());
    let Some(carriable) = carriable else { return Ok(NOT) };
    let rights = rights(session, &keyed.compiled.template);
    let Some(ride) = ride_of(session, rights, carriage).await else { return Ok(NOT) };
    let Carriable { kinds, packet: mut sent } = carriable;
    let ride = match ride.lane.statement(&keyed.select.text, kinds) {
        StatementState::Unknown => {
            if !prepare(session, &ride.lane, keyed.select, kinds).await? {
                session.put_interrupted();
                return Ok(RideEnd::Answered);
            }
            // Meanwhile the lane may have another read view, or have ended.
            session.finds_ride_again(rights, carriage, ride)
        }
        _ => Some(ride),
    };
    let Some(ride) = ride else { return Ok(NOT) };
    let StatementState::At(id) = ride.lane.statement(&keyed.select.text, kinds) else { return Ok(NOT) };
    sent[1..5].copy_from_slice(&id.to_le_bytes());
    let Some(mut plan) = planned(session, keyed, missed, &ride) else { return Ok(NOT) };
    leads(session, &mut plan, &keyed.key_text, &keyed.compiled.template);
    let message = Message { text: prepared.asked(), ..Message::bare(Command::StmtExecute, &sent) }
        .with_memo(Some(prepared.digest_memo()));
    let ridden = match carried(session, &ride, message, &keyed.compiled.template, &mut plan).await? {
        Ridden::Brought(ridden) => ridden,
        Ridden::Ended(end) => return Ok(end),
    };
    let (template, sought) = (&*keyed.compiled.template, Sought { key_text: &keyed.key_text, missed });
    weigh(session, &ride, &mut plan, Hinted { template, hint: None }, sought);
    let found = stored(session, sought, plan, template, ridden).await;
    session.answered_by_lane(keyed.execution.packet, found);
    prepared.heeds_definitions(&session.shared.upstream);
    note_answered(session, keyed.execution);
    Ok(RideEnd::Answered)
}

/// Returns what is known of a SELECT in the session's environment, if the SELECT's text allows a lane to carry it.
fn known<'a>(
    session: &Session,
    prepared: &'a Prepared,
) -> Option<(&'a PreparedSelect, Arc<CompiledExecution>)> {
    let select = prepared.select.as_ref()?;
    let compiled = select.compiled()?;
    let is_of_environment = session.environment().is_some_and(|environment| {
        prepared.prepared_in.is_of(environment.id, session.state.environment.version())
    });
    let is_plain = select.hint.is_none() && !prepared.is_rewritten();
    (is_of_environment && is_plain).then_some((select, compiled))
}

/// Returns how the answer is stored, or why it is not; `None` if the execution is not to be carried.
fn planned(
    session: &mut Session,
    KeyedExecution { select, compiled, values, key_text, .. }: &KeyedExecution<'_>,
    missed: Missed,
    ride: &Ride,
) -> Option<Result<FillPlan, Why>> {
    let template = &compiled.template;
    if is_dated(template, values) {
        return None;
    }
    let hinted = Hinted { template, hint: None };
    let environment = match keyed(session, hinted, missed, ride)? {
        Ok(environment) => environment,
        Err(why) => return Some(Err(why)),
    };
    let unfound = Unfound { key: key_of_executions(environment), missed };
    let session = &*session;
    if ride.view.is_none() && !is_worth_storing(session, hinted, unfound, || key_text) {
        return Some(Err(Why::SeldomRead));
    }
    let executed = ExecutedSelect { text: &select.text, compiled, values };
    told(session.shared.freshness(), ride, |from| plan_of_execution_from(session, executed, unfound, from))
}

/// Has a statement prepared on the lane, and waits for the server's reply, which the lane then knows. Returns false if a KILL QUERY
/// interrupts the wait.
async fn prepare(
    session: &mut Session,
    lane: &Lane,
    select: &PreparedSelect,
    kinds: u64,
) -> Result<bool, Lost> {
    let payload = session.packet_of_preparing(&select.text);
    let key = StatementKey { text: Arc::clone(&select.text), kinds };
    Ok(match lane.prepare(key, &payload) {
        Some(asked) => session.outcome(asked).await?.is_some(),
        None => true,
    })
}
