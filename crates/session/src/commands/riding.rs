//! A SELECT whose answer is not stored, carried on a connection with the SELECTs of other sessions (`session/lanes.rs`).
//!
//! To the session, a carried answer is an answer from memory that took some waiting. An answer that is not plain (an error, warnings that
//! the text does not announce, too many rows) is not passed on: the statement is sent once more, on the session's own connection.

mod ahead;
mod execution;
mod fitness;

use std::pin::pin;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Freshness, Key, Position, Validity};
use freshet_sql::contains_ignoring_case;
use freshet_upstream::lane::{Carried, NotCarried, SLOW};
use freshet_upstream::now_ms;

use super::admitting::{Hinted, is_worth_storing};
use super::asked::{hint_error, hint_of, key_for, strips, without_hint};
use super::fill_plan::{FillPlan, Fillable, plan_of_text_from, rights};
use super::filling::{Brought, Sought, count_not_cached, found_rows, keep};
use super::text::TextQuery;
use crate::counters::Count;
use crate::relay::{Lost, Relayed};
use crate::session::{Carriage, Expected, INTERRUPTED, Message, Missed, Ride, Session, SharedView, Unfound};
use crate::sought::COUNTS_ALL;
use crate::template::{BoundSelect, Template};
use crate::why::Why;

pub(super) use execution::{
    ride as ride_execution, waits as execution_waits, waits_for_lane as execution_waits_for_lane,
};
use fitness::{may_be_carried, may_be_carried_soon};

/// How a try to have a lane carry a read has ended.
#[derive(Clone, Copy)]
enum RideEnd {
    /// The read is answered: with rows, or with the error of an interruption.
    Answered,
    /// Another read has held the lane up. The read still needs an answer, which another session may be asking for.
    HeldUp,
    /// The read still needs an answer.
    NotCarried,
}

/// Answers the query over a lane, if that is allowed. A query that may be slow waits for the answer to the same query that another client
/// has asked. Returns false if the query still needs an answer.
pub(super) async fn ride(
    session: &mut Session,
    query: &TextQuery<'_>,
    known: &BoundSelect<'_>,
    carriage: Carriage,
) -> Result<bool, Lost> {
    if !may_be_shared(session, query, known) {
        return Ok(false);
    }
    let is_alone = carriage == Carriage::Alone;
    if is_alone && waits(session, query, known).await? {
        return Ok(true);
    }
    let end = pin!(once(session, query, known, carriage)).await?;
    match end {
        RideEnd::Answered => Ok(true),
        RideEnd::NotCarried => Ok(false),
        // Not on another lane at once: those that ask similar things would hold that one up too.
        RideEnd::HeldUp if is_alone => Box::pin(ahead::text(session, query, known)).await,
        RideEnd::HeldUp => Ok(false),
    }
}

/// Has a query that may be slow wait for the answer to the same query that another client has asked. Returns whether the query is answered by
/// then.
pub(super) async fn waits(
    session: &mut Session,
    query: &TextQuery<'_>,
    known: &BoundSelect<'_>,
) -> Result<bool, Lost> {
    if !session.takes_turns(known.template()) || !may_be_shared(session, query, known) {
        return Ok(false);
    }
    Box::pin(ahead::text(session, query, known)).await
}

/// Whether it is worth that the query waits for a lane: one may carry it soon.
pub(super) fn waits_for_lane(session: &Session, query: &TextQuery<'_>, known: &BoundSelect<'_>) -> bool {
    may_be_carried_soon(session, known.template()) && may_be_shared(session, query, known)
}

/// Whether the query may get an answer that its own connection has not given.
fn may_be_shared(session: &Session, query: &TextQuery<'_>, known: &BoundSelect<'_>) -> bool {
    let text = query.text();
    // FOUND_ROWS() must be asked on the connection that carried the statement.
    let counts_all = || !known.is_plain() && contains_ignoring_case(text, COUNTS_ALL);
    hint_error(session, known, text).is_none() && !counts_all()
}

/// Tries once to have a lane carry the query.
async fn once(
    session: &mut Session,
    query: &TextQuery<'_>,
    known: &BoundSelect<'_>,
    carriage: Carriage,
) -> Result<RideEnd, Lost> {
    let (template, text) = (known.template(), query.text());
    if !may_be_carried(session, template) {
        return Ok(RideEnd::NotCarried);
    }
    let rights = rights(session, template);
    let Some(ride) = ride_of(session, rights, carriage).await else { return Ok(RideEnd::NotCarried) };
    let Some(mut plan) = planned(session, query, known, &ride) else { return Ok(RideEnd::NotCarried) };
    let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    leads(session, &mut plan, &key_text, template);
    let stripped = if known.compiled.is_hinted { without_hint(session, *query) } else { None };
    let packet = stripped.as_deref().unwrap_or(query.packet);
    let sent = Message::query(packet, text).with_memo(known.digest_memo());
    let ridden = match carried(session, &ride, sent, template, &mut plan).await? {
        Ridden::Brought(ridden) => ridden,
        Ridden::Ended(end) => return Ok(end),
    };
    let hint = known.compiled.hint;
    let sought = Sought { key_text: &key_text, missed: query.missed };
    weigh(session, &ride, &mut plan, Hinted { template, hint }, sought);
    let found = stored(session, sought, plan, template, ridden).await;
    session.answered_by_lane(text, found);
    Ok(RideEnd::Answered)
}

/// Makes others wait for this answer, if the statement has taken the turn of its key. Drops the plan of an answer that nobody gets.
fn leads(session: &mut Session, plan: &mut Result<FillPlan, Why>, key_text: &[u8], template: &Template) {
    let Ok(known) = plan else { return session.ends_turn() };
    if session.had_its_turn()
        && let Some(leader) = session.takes_lead(Key { environment: known.environment, text: key_text })
    {
        known.is_led_by(Some(leader), template, session.shared.freshness());
    }
    if let Some(why) = known.is_of_no_use() {
        *plan = Err(why);
    }
}

/// Returns the ride of a read. If there is none, opens a lane for the next reads, where that is wanted. This read does not use that lane: it
/// is looked at anew, because what it rests on may have changed in the meantime.
async fn ride_of(session: &mut Session, rights: Dep, carriage: Carriage) -> Option<Ride> {
    let ride = session.finds_ride(rights, carriage);
    if ride.is_none() {
        Box::pin(session.opens_for_others(rights, carriage)).await;
    }
    ride
}

/// How a ride ends.
#[expect(clippy::large_enum_variant, reason = "nearly all are brought, and are passed on at once")]
enum Ridden {
    Brought(Brought),
    /// There is no answer; the client has an error if the read was interrupted.
    Ended(RideEnd),
}

/// Sends a statement over a lane, and puts its answer into the client's buffer. The answer counts under the statement's text.
async fn carried(
    session: &mut Session,
    Ride { lane, view }: &Ride,
    message: Message<'_>,
    template: &Template,
    plan: &mut Result<FillPlan, Why>,
) -> Result<Ridden, Lost> {
    let Some(outcome) = lane.carry(message.command, message.packet) else {
        return Ok(not_ridden(session, plan, RideEnd::NotCarried));
    };
    // Read before the answer comes: the age that a query rule allows counts from here.
    let (started, storing) = (Instant::now(), session.storing());
    session.shared.counters.add(Count::Carried);
    session.shared.counters.add(Count::Forwarded);
    session.shared.counters.add_many(Count::BytesSent, message.packet.len());
    let carried = match session.outcome(outcome).await? {
        Some(Ok(carried)) => carried,
        Some(Err(NotCarried::TooLarge)) => {
            template.profile.note_unfit(now_ms());
            return Ok(not_ridden(session, plan, RideEnd::NotCarried));
        }
        Some(Err(NotCarried::Elsewhere)) => {
            // Those that ask the same now wait for one of them.
            template.profile.note_held_up(now_ms());
            return Ok(not_ridden(session, plan, RideEnd::HeldUp));
        }
        None => {
            let (lasted, error) = (started.elapsed(), Some(INTERRUPTED));
            note_stall(template, lasted, session.patience());
            session.count_sent(message, message.text, &Relayed { error, lasted, ..Relayed::default() });
            return Ok(not_ridden(session, plan, RideEnd::NotCarried));
        }
    };
    note_execution(session, template, &carried);
    session.shared.counters.add_many(Count::BytesReceived, carried.frames.len());
    match view {
        None => session.note_read_now(),
        Some(view) if !takes_for_transaction(session, view, plan).await? => {
            return Ok(not_ridden(session, plan, RideEnd::NotCarried));
        }
        Some(_) => {}
    }
    let Some(mut relayed) = session.put_carried(lane, message.command, carried, expected(plan))? else {
        let ended = not_ridden(session, plan, RideEnd::NotCarried);
        if !matches!(ended, Ridden::Ended(RideEnd::Answered)) {
            template.profile.note_unfit(now_ms());
        }
        return Ok(ended);
    };
    let took = started.elapsed();
    relayed.lasted = took;
    session.note_sent(&relayed);
    relayed.tag = session.count_sent(message, message.text, &relayed);
    session.shared.settling.has_answered(took);
    session.note_template(relayed.tag, template);
    Ok(Ridden::Brought(Brought { relayed, took, storing }))
}

/// Returns how a ride without an answer ends: a statement that was interrupted is not carried out once more. Those that wait for the answer
/// go on waiting for it.
fn not_ridden(session: &mut Session, plan: &mut Result<FillPlan, Why>, end: RideEnd) -> Ridden {
    if !session.handle.is_interrupted() {
        if let Some(leader) = plan.as_mut().ok().and_then(|plan| plan.leader.take()) {
            session.has_had_its_turn(Some(leader));
        }
        return Ridden::Ended(end);
    }
    session.put_interrupted();
    session.state.served.carried += 1;
    Ridden::Ended(RideEnd::Answered)
}

/// Makes an answer that was read in a read view part of the session's transaction. Returns false if the transaction reads another moment.
async fn takes_for_transaction(
    session: &mut Session,
    view: &SharedView,
    plan: &mut Result<FillPlan, Why>,
) -> Result<bool, Lost> {
    let Ok(plan) = plan else { return Ok(false) };
    let Some(ends_asked) = session.waits_for(view.settled()).await? else { return Ok(false) };
    plan.is_settled = true;
    let absent = plan.depends.absent.map(|(dep, _)| dep);
    let deps: Vec<Dep> = plan.depends.deps.iter().copied().chain(absent).collect();
    Ok(session.takes_read(&deps, Validity { valid_from: plan.valid_from, ends_asked }))
}

/// Drops the plan if the answer is not worth storing. A read in a read view needs its plan until here, for the transaction's sake.
fn weigh(
    session: &Session,
    ride: &Ride,
    plan: &mut Result<FillPlan, Why>,
    hinted: Hinted<'_>,
    Sought { key_text, missed }: Sought<'_>,
) {
    if ride.view.is_none() {
        return;
    }
    let is_worth_it = |plan: &FillPlan| {
        is_worth_storing(session, hinted, Unfound { key: plan.environment, missed }, || key_text)
    };
    if plan.as_ref().is_ok_and(|plan| !is_worth_it(plan)) {
        *plan = Err(Why::SeldomRead);
    }
}

/// Stores a carried answer, if the plan says so. Returns how many rows the statement has found.
async fn stored(
    session: &mut Session,
    sought: Sought<'_>,
    plan: Result<FillPlan, Why>,
    template: &Template,
    mut ridden: Brought,
) -> Option<u32> {
    let found = found_rows(session, template.returns_what_it_finds, &ridden.relayed);
    match plan {
        // The answer is stored already.
        Ok(_) if !sought.missed.may_be_stored() => {}
        Ok(plan) => {
            Box::pin(keep(session, sought, plan, &mut ridden, found)).await;
        }
        Err(why) => {
            count_not_cached(session, ridden.relayed.error);
            match template.verdict.refusal() {
                Some(refusal) => session.count_refused(&ridden.relayed, refusal),
                None => session.count_refused(&ridden.relayed, &why.into()),
            }
        }
    }
    found
}

fn expected(plan: &Result<FillPlan, Why>) -> Expected {
    Expected { warnings: plan.as_ref().map_or(0, |plan| plan.warnings), is_stored: plan.is_ok() }
}

fn note_execution(session: &Session, template: &Template, carried: &Carried) {
    let patience = session.patience().max(carried.patience);
    template.profile.carried(carried.took, patience);
    note_stall(template, carried.took, patience);
}

/// Notes a statement that others have waited behind. `patience`: how many times [`SLOW`] it may take. When many begin at once, as after a
/// silence, no statement is to blame for the wait of those behind it.
fn note_stall(template: &Template, took: Duration, patience: u32) {
    if took / patience >= SLOW {
        template.profile.stalls(now_ms());
    }
}

/// Returns how the answer is stored, or why it is not; `None` if the query is not to be carried.
fn planned(
    session: &mut Session,
    query: &TextQuery<'_>,
    known: &BoundSelect<'_>,
    ride: &Ride,
) -> Option<Result<FillPlan, Why>> {
    let (text, missed) = (query.text(), query.missed);
    let hint = hint_of(session, text, known.compiled.hint);
    if hint.is_none() && freshet_sql::cache_hint(text, session.modes()).is_some() {
        // The comment may ask to create a cache.
        return None;
    }
    let hinted = Hinted { template: known.template(), hint };
    let unfound = match keyed(session, hinted, missed, ride)? {
        Ok(key) => Unfound { key, missed },
        Err(why) => return Some(Err(why)),
    };
    let session = &*session;
    let key_text = || freshet_sql::key_text(text, session.modes(), strips(session, text));
    if ride.view.is_none() && !is_worth_storing(session, hinted, unfound, key_text) {
        return Some(Err(Why::SeldomRead));
    }
    told(session.shared.freshness(), ride, |from| plan_of_text_from(session, text, known, unfound, from))
}

/// Returns the first part of the key that the answer is stored under, or why it is not stored; `None` if the query is not to be carried.
fn keyed(
    session: &mut Session,
    Hinted { template, hint }: Hinted<'_>,
    missed: Missed,
    ride: &Ride,
) -> Option<Result<u32, Why>> {
    let is_in_view = ride.view.is_some();
    match key_for(session, template, hint) {
        Ok(_) if !is_in_view && has_become_known(session) => None,
        Ok(key) => (is_in_view || missed.may_be_stored()).then_some(Ok(key)),
        // A transaction's read in a read view is only known by its dependencies.
        Err(_) if is_in_view => None,
        Err(why @ (Why::CacheOff | Why::NotDemanded | Why::NoCacheHint)) => Some(Err(why)),
        Err(why) => template.is_of_its_time.then_some(Err(why)),
    }
}

/// Whether the key of look-ups was unknown until now, though it can be known. In that case the statement has not been looked up: the
/// statement is looked up on its other way, and the statements after it are looked up at once.
fn has_become_known(session: &mut Session) -> bool {
    if session.state.environment.key().is_some() {
        return false;
    }
    session.refresh_key();
    session.state.environment.key().is_some()
}

/// Returns how an answer is stored that is valid from the ride's position. In a transaction, only a sure plan counts.
fn told(
    freshness: &Freshness,
    ride: &Ride,
    plan: impl FnOnce(Position) -> Fillable,
) -> Option<Result<FillPlan, Why>> {
    let valid_from =
        ride.view.as_ref().map_or_else(|| freshness.valid_from(), |view| view.contains(freshness));
    match plan(valid_from) {
        Fillable::Surely(plan) => Some(Ok(plan)),
        Fillable::Perhaps(plan) if ride.view.is_none() => Some(plan),
        Fillable::Perhaps(_) | Fillable::Never(_) => None,
    }
}
