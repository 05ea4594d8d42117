//! Storing answers while they are passed on, by a plan (`fill_plan.rs`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use freshet_cache::{Dep, Fill, Insert, Key};
use freshet_upstream::now_ms;

use super::fill_plan::{Creates, FillPlan};
use super::prepared::framed;
use crate::bounds::Permit;
use crate::coalescing::{AnswerCopy, AnswerPackets, QuestionState};
use crate::created::{CreatedCache, Frame, NotedFrame, StoredResult, Tries};
use crate::environment::{Environment, environment_of, is_of_executions};
use crate::prefixes::{body_prefix, text_prefix};
use crate::relay::{Capture, Captured, Lost, Relayed};
use crate::session::hit::READ_UNFENCED;
use crate::session::{Forward, Missed, Session, Storing};
use crate::variables::TYPE_OFF;
use crate::why::Why;

/// The most steps of making room that one result is worth.
const ROOM_STEPS_MAX: usize = 256;

/// The errors that a server reports before it has opened a statement's tables: it may not read them, or tables of these names do not exist.
/// The server's own query cache does not count such a statement.
const BEFORE_TABLES: [u16; 5] = [1044, 1046, 1049, 1142, 1146];

/// Counts a SELECT that is not stored. `error`: the code of the server's error, if the server answered with one.
pub(super) fn count_not_cached(session: &Session, error: Option<u16>) {
    if error.is_some_and(|code| BEFORE_TABLES.contains(&code)) {
        return;
    }
    if session.state.locals.effective_type(&session.shared.globals) != TYPE_OFF {
        session.shared.cache.count_not_cached();
    }
}

/// An answer that Freshet looked for in memory.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    /// The second part of the answer's key.
    pub(super) key_text: &'a [u8],
    /// The outcome of the look-up.
    pub(super) missed: Missed,
}

/// The server's answer to a statement.
pub(super) struct Brought {
    pub(super) relayed: Relayed,
    /// How long the answer took, from the moment at which the statement was sent, or began to wait for being sent.
    pub(super) took: Duration,
    /// Which answers query rules let Freshet store at that moment.
    pub(super) storing: Storing,
}

/// Asks the server, and stores a copy of its answer under the key of the look-up.
pub(super) async fn fill(
    session: &mut Session,
    mut forward: Forward<'_>,
    sought: Sought<'_>,
    mut plan: FillPlan,
) -> Result<Relayed, Lost> {
    let (environment, valid_from) = (plan.environment, plan.valid_from);
    let cache = &session.shared.cache;
    let bytes_max = cache.limit().min(cache.size());
    let budget = &session.shared.bounds().fill;
    let transacts = !session.state.tx.surely_autocommits();
    let capture = Capture::new(bytes_max, budget).in_transaction(transacts);
    forward.passing.capture = Some(capture.warned(plan.warnings).led_by(plan.leader.take()));
    let storing = session.storing();
    let relayed = pin!(session.forward(forward)).await?;
    if plan.tells_of_view && relayed.captured.as_ref().is_some_and(|captured| captured.rows > 0) {
        session.note_rows_read();
    }
    let found = found_rows(session, plan.returns_what_it_finds, &relayed);
    let mut brought = Brought { took: relayed.lasted, relayed, storing };
    let kept = keep(session, sought, plan, &mut brought, found);
    if pin!(kept).await == Insert::Stored && found.is_none() {
        session.has_filled(environment, sought.key_text, valid_from);
    }
    Ok(brought.relayed)
}

/// Returns how many rows a statement has found, if its answer shows that. `returns_all`: the statement returns all rows that it finds, if
/// the session does not limit them.
pub(super) fn found_rows(session: &Session, returns_all: bool, relayed: &Relayed) -> Option<u32> {
    let rows = relayed.captured.as_ref().and_then(|captured| u32::try_from(captured.rows).ok())?;
    let known = session.state.environment.current();
    let finds_all = returns_all && known.is_some_and(|it| it.selects_all);
    finds_all.then_some(rows)
}

/// Stores the copy of an answer, and counts the outcome. `found`: how many rows the statement has found.
pub(super) async fn keep(
    session: &mut Session,
    sought: Sought<'_>,
    mut plan: FillPlan,
    Brought { relayed, took, storing }: &mut Brought,
    found: Option<u32>,
) -> Insert {
    let (key, valid_from) = (Key { environment: plan.environment, text: sought.key_text }, plan.valid_from);
    let (took, storing) = (*took, *storing);
    let is_settled = plan.is_settled;
    let cost_us = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
    // Sessions that wait for this answer go on when it is stored, or when it turns out not to be stored.
    let of_capture = relayed.captured.as_mut().and_then(|captured| captured.leader.take());
    let mut leader = of_capture.or(plan.leader.take());
    let noted = note(session, key, &plan, took, relayed.tag);
    note_frame(session, key, &plan, relayed, cost_us);
    let copy = leader.as_ref().zip(relayed.captured.as_ref());
    let copy = copy.filter(|(leader, _)| leader.is_wanted());
    let copy = copy.and_then(|(_, captured)| copy_for_others(session, captured, &plan, (relayed.tag, found)));
    let may_be_copied = relayed.captured.is_some() && plan.rights.is_some();
    let stored = match relayed.captured.take() {
        Some(_) if plan.unstored.is_some() => {
            relayed.uncaptured = plan.unstored;
            Insert::TooLarge
        }
        Some(captured) if captured.rows == 0 && !storing.empty => {
            relayed.uncaptured = Some(Why::QueryRule);
            Insert::TooLarge
        }
        Some(captured) => {
            let complete = CompleteAnswer { captured, cost_us, tag: relayed.tag, storing };
            let filled = filled(session, key, sought.missed, plan, complete);
            Box::pin(store(session, key, filled, is_settled)).await
        }
        None => Insert::TooLarge,
    };
    if let Some(leader) = &mut leader {
        let is_for_others = may_be_copied || stored == Insert::Stored || stored.is_in_memory();
        leader.ends_with(if is_for_others { QuestionState::Answered(copy) } else { QuestionState::Private });
    }
    drop(leader);
    if let Some(noted) = noted.filter(|_| stored == Insert::Stored) {
        noted.0.note(noted.1);
    }
    match why_not(stored, relayed.uncaptured) {
        None => session.count_stored(relayed.tag),
        Some(why) => session.count_refused(relayed, &why.into()),
    }
    if let Some(rows) = found.filter(|_| stored == Insert::Stored) {
        session.shared.cache.note_found_rows(key, valid_from, rows);
    } else if stored != Insert::Stored && !stored.is_in_memory() {
        count_not_cached(session, relayed.error);
    }
    stored
}

/// Returns a copy of an answer for the sessions that wait for it, if there is room for one.
fn copy_for_others(
    session: &Session,
    captured: &Captured,
    plan: &FillPlan,
    (tag, found_rows): (u16, Option<u32>),
) -> Option<Arc<AnswerCopy>> {
    let rights = plan.rights?;
    let mut permit = Permit::default();
    permit.cover(&session.shared.bounds().fill, captured.body.len()).then(|| {
        let (body, status_at, status) = (captured.body.clone(), captured.status_at, captured.status);
        let valid_from = plan.valid_from;
        let packets = AnswerPackets { body, status_at, status, found_rows, tag };
        Arc::new(AnswerCopy { packets, rights, valid_from, _permit: permit })
    })
}

/// Notes how to ask for a stored answer again by its text, without the session, if the answer's query has a created cache.
fn note(
    session: &Session,
    key: Key<'_>,
    plan: &FillPlan,
    took: Duration,
    tag: u16,
) -> Option<Box<(Arc<CreatedCache>, StoredResult)>> {
    let Creates { cache, rights, .. } = plan.created.as_deref()?;
    let policy = cache.options.policy;
    let is_of_key = |environment: &&Arc<Environment>| environment.id == environment_of(key.environment);
    let environment = session.environment().filter(|it| policy.is_some() || is_of_key(it))?;
    if is_of_executions(key.environment) {
        return None;
    }
    let result = StoredResult {
        environment: Arc::clone(environment),
        key: key.environment,
        text: key.text.into(),
        deps: plan.depends.all(),
        valid_from: plan.valid_from,
        tag,
        rights: *rights,
        warnings: plan.warnings,
        tries: policy.map_or_else(Tries::default, |policy| Tries::by_policy(policy, took)),
    };
    Some(Box::new((Arc::clone(cache), result)))
}

/// Notes the packets around the rows of an answer, if the answer's query has a created cache.
fn note_frame(session: &Session, key: Key<'_>, plan: &FillPlan, relayed: &Relayed, cost_us: u32) {
    let (Some(creates), Some(captured)) = (plan.created.as_deref(), relayed.captured.as_ref()) else {
        return;
    };
    if session.environment().is_none_or(|it| it.id != environment_of(key.environment)) {
        return;
    }
    let frame = Frame::of(&captured.body, captured.status_at, captured.status, cost_us, relayed.tag);
    let text = if is_of_executions(key.environment) { framed(key.text) } else { Some(key.text.to_vec()) };
    let (Some(frame), Some(text)) = (frame, text) else { return };
    let (frame, rights, tables) = (Arc::new(frame), creates.rights, creates.tables.clone());
    let noted = NotedFrame { frame, rights, tables, noted_ms: now_ms(), proven: None };
    creates.cache.note_frame(Key { environment: key.environment, text: &text }, noted);
}

/// Returns why an answer was not stored; `uncaptured`: why there was no copy of it.
const fn why_not(stored: Insert, uncaptured: Option<Why>) -> Option<Why> {
    match (stored, uncaptured) {
        (Insert::Stored | Insert::Outdated, _) => None,
        (_, Some(why)) => Some(why),
        (Insert::TooLarge, None) => Some(Why::TooLarge),
        (Insert::NoRoom, None) => Some(Why::NoRoom),
        (Insert::Stale, None) => Some(Why::ChangedMeanwhile),
        (Insert::NotLive, None) => Some(Why::Stream),
        (Insert::Off, None) => Some(Why::NoSize),
    }
}

/// A copy of a complete answer.
struct CompleteAnswer {
    captured: Captured,
    /// How long the answer took, in microseconds.
    cost_us: u32,
    /// The digest under which the answer is counted.
    tag: u16,
    /// Which answers query rules let Freshet store.
    storing: Storing,
}

/// Returns what is to be stored of a complete answer.
fn filled(
    session: &Session,
    key: Key<'_>,
    missed: Missed,
    FillPlan { depends, valid_from, .. }: FillPlan,
    CompleteAnswer { captured, cost_us, tag, storing }: CompleteAnswer,
) -> Fill {
    let cache = &session.shared.cache;
    if let Some(before) = missed.stale_body {
        let is_same = cache.fingerprint(&captured.body) == before;
        cache.count_refilled(is_same);
        if let Some(statistics) = &session.shared.statistics {
            statistics.count_refilled(tag, is_same);
        }
    }
    // This runs after the answer is complete: a write that the answer shows still has its fence, or is applied.
    let absent = depends.absent.map(|(dep, _)| dep);
    let mut deps = depends.deps.iter().chain(&absent).chain(&[Dep::EVERYTHING]);
    let is_fenced = deps.any(|dep| cache.freshness().is_fenced(*dep));
    let mut status = captured.status;
    status.set(READ_UNFENCED, !is_fenced);
    Fill {
        valid_from,
        deps: depends.with_rows(captured.rows),
        text_prefix: text_prefix(key),
        body_prefix: body_prefix(&captured.body, captured.status_at),
        body: captured.body,
        status_at: captured.status_at,
        status: status.bits(),
        rows: captured.rows,
        cost_us,
        tag,
        expires_ms: storing.expires_ms,
        refresh_ms: storing.refresh_ms,
    }
}

async fn store(session: &mut Session, key: Key<'_>, fill: Fill, is_settled: bool) -> Insert {
    // Other sessions run between two steps.
    for _ in 0..ROOM_STEPS_MAX {
        if !session.shared.cache.make_room(key, &fill) {
            break;
        }
        tokio::task::yield_now().await;
    }
    // A read in a read view shows nothing newer than the read view.
    let view = session.state.view_mut();
    if is_settled || view.settles(&session.shared.upstream, session.shared.freshness()) {
        session.shared.cache.insert_settled(key, fill)
    } else {
        session.shared.cache.insert(key, fill)
    }
}
