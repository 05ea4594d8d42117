//! A SELECT whose results are kept up to date row by row: Freshet makes the answer from copies of rows, stores it, and gives it from memory.

mod way;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use freshet_cache::{Fill, Insert, Key};
use freshet_catalog::TableInfo;
use freshet_sql::returns_what_it_finds;
use freshet_views::MaintainedQuery;

use super::fill_plan::{FillPlan, Fillable};
use super::patience::Patience;
use crate::counters::Count;
use crate::created::{CreatedCache, Frame, StoredResult, Tries, Upkeep};
use crate::maintaining::question::{Planning, asked, asks_for_more, loadable, planned};
use crate::maintaining::{KeeperAnswer, ResultQuestion, is_current};
use crate::prefixes::{body_prefix, text_prefix};
use crate::relay::Lost;
use crate::rows::StatementText;
use crate::session::Session;
use crate::session::hit::READ_UNFENCED;
use crate::template::{BoundSelect, Cacheability};

pub(super) use way::{Asked, Way};

/// How long an answer waits for writes that are under way, at least and at most. In between, an answer waits as long as the server took for
/// it, and never less than `fill_wait`. The least is shorter if recent waits were in vain.
const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MIN_IN_VAIN: Duration = Duration::from_millis(2);
const IN_VAIN_MS: u64 = 1000;
const WAIT_MAX: Duration = Duration::from_secs(10);
const LOOKED_AT_EVERY: Duration = Duration::from_millis(1);
/// How long an answer waits for a definition that is under way.
const DEFINED_WITHIN: Duration = Duration::from_secs(2);
/// The most steps of making room that one result is worth.
const ROOM_STEPS_MAX: usize = 256;

/// A query that may be answered from copies.
struct Maintained {
    cache: Arc<CreatedCache>,
    frame: Arc<Frame>,
    /// When the server gave the frame.
    noted_ms: u64,
    /// The frame is known to be of the definitions by which the query is asked.
    is_proven: bool,
    /// The epoch of rights.
    rights: u64,
    asked: ResultQuestion,
}

/// What happened to a query that may be answered from copies.
pub(super) enum FromCopies {
    /// The query is answered.
    Answered,
    /// The query's tables have new definitions: the query must be compiled once more.
    Redefined,
    /// The server answers the query.
    ByServer,
}

/// Answers a query from copies, if it has a created cache whose results are maintained. Waits for a definition for as long as
/// `patience` allows.
///
/// # Errors
/// The session has ended, or its client has left.
pub(super) async fn answer(
    session: &mut Session,
    way: Way<'_>,
    patience: &Patience,
) -> Result<FromCopies, Lost> {
    match as_compiled(session, way, patience).await? {
        FromCopies::Redefined if !patience.waits_for_definition(session, way.template()).await => {
            Ok(FromCopies::ByServer)
        }
        outcome => Ok(outcome),
    }
}

/// Answers a query by its compiled form, which may be out of date.
async fn as_compiled(session: &mut Session, way: Way<'_>, patience: &Patience) -> Result<FromCopies, Lost> {
    let Some(maintained) = maintained(session, way) else { return Ok(FromCopies::ByServer) };
    let wait_min = if maintained.cache.waits_in_vain() { WAIT_MIN_IN_VAIN } else { WAIT_MIN };
    let wait = Duration::from_micros(maintained.frame.cost_us.into()).clamp(wait_min, WAIT_MAX);
    let least = Instant::now() + wait;
    let until = patience.until().map_or(least, |until| least.max(until));
    let mut is_stored = false;
    loop {
        // The frame's columns are those of the known definitions, if these definitions still hold when everything is applied that was
        // committed before the frame was noted.
        let is_proven =
            maintained.is_proven || session.shared.upstream.current_to_ms() >= maintained.noted_ms;
        let plan = match way.plan(session) {
            Fillable::Never(_) if is_redefined(session, way) => return Ok(FromCopies::Redefined),
            Fillable::Never(_) => return Ok(FromCopies::ByServer),
            _ if !is_proven => {
                session.shared.upstream.ask_current();
                None
            }
            Fillable::Surely(plan) => Some(plan),
            // A write is under way that may concern the answer. Some levels give the answer nevertheless.
            Fillable::Perhaps(Ok(plan)) if !is_stored && plan.unstored.is_none() => Some(plan),
            Fillable::Perhaps(_) => None,
        };
        if let Some(plan) = plan {
            let stored = match ask(session, &maintained).await? {
                // The answer was made by other definitions than those by which the query was asked.
                Some(_) if is_redefined(session, way) => return Ok(FromCopies::Redefined),
                Some(_) if !are_current(session, way) => return Ok(FromCopies::ByServer),
                Some(answer) => {
                    if !maintained.is_proven {
                        prove(session, way, &maintained);
                    }
                    store(session, way, plan, &maintained, answer).await
                }
                None => return Ok(FromCopies::ByServer),
            };
            match stored {
                Insert::TooLarge | Insert::NoRoom | Insert::Off => return Ok(FromCopies::ByServer),
                _ => is_stored = true,
            }
            if way.answers_from_memory(session) {
                maintained.cache.maintained.fetch_add(1, Ordering::Relaxed);
                session.shared.counters.add(Count::Maintained);
                return Ok(FromCopies::Answered);
            }
        }
        // A transaction that has read keeps reading as of its moment, whatever ends meanwhile.
        let (tx, view) = (&session.state.tx, session.state.view());
        if !tx.surely_autocommits() && !view.course.is_new() {
            return Ok(FromCopies::ByServer);
        }
        if is_redefined(session, way) {
            return Ok(FromCopies::Redefined);
        }
        if Instant::now() >= until {
            maintained.cache.note_in_vain(IN_VAIN_MS);
            return Ok(FromCopies::ByServer);
        }
        session.shared.upstream.ask_probe();
        session.waits_for(tokio::time::sleep(LOOKED_AT_EVERY)).await?;
    }
}

/// Returns what is needed to answer the query from copies; `None` if the query is not answered from copies.
fn maintained(session: &Session, way: Way<'_>) -> Option<Maintained> {
    let (shared, template) = (&session.shared, way.template());
    let cache = shared.created.of(template.query.id)?;
    if !cache.may_be_maintained() {
        return None;
    }
    let rights = shared.upstream.rights_epoch()?;
    let key_text = way.key_text(session)?;
    let infos: Vec<Arc<TableInfo>> = infos_of(way);
    let frame_text = way.frame_text(&key_text);
    let frame_key = Key { environment: way.first_key(), text: &frame_text };
    let mut noted = cache.frame(frame_key)?;
    let is_of = noted.is_of(rights, infos.iter());
    if !is_of && noted.proven.is_none() {
        return None;
    }
    let asked = match compiled(session, way, noted.frame.columns) {
        Ok(asked) => asked,
        Err(why) if is_of => {
            cache.note_upkeep(Upkeep::Refreshed(why));
            return None;
        }
        // The server's next answer may have other columns.
        Err(_) => return None,
    };
    if !is_of {
        noted.is_alike(rights, &infos, &asked.query).then_some(())?;
        noted.tables = infos;
        cache.note_frame(frame_key, noted.clone());
    }
    let is_proven = noted.proven.is_some();
    Some(Maintained { frame: noted.frame, noted_ms: noted.noted_ms, is_proven, cache, rights, asked })
}

/// Returns the definitions of the tables that the query reads.
fn infos_of(way: Way<'_>) -> Vec<Arc<TableInfo>> {
    way.template().tables.known.iter().map(|named| Arc::clone(&named.info)).collect()
}

/// Whether the tables still have these definitions, by all that the stream has told.
fn are_current(session: &Session, way: Way<'_>) -> bool {
    let mut known = way.template().tables.known.iter();
    known.all(|named| is_current(&session.shared, &named.info.name, &named.info))
}

/// Whether the query is compiled by old definitions, so that it will be compiled anew.
fn is_redefined(session: &Session, way: Way<'_>) -> bool {
    !session.shared.upstream.is_current(&way.template().told)
}

/// Notes that the frame has the columns of these definitions. They are proven: everything is applied that was committed before the frame
/// was noted, and the definitions still hold.
fn prove(session: &Session, way: Way<'_>, maintained: &Maintained) {
    if let Some(key_text) = way.key_text(session) {
        let frame_text = way.frame_text(&key_text);
        let frame_key = Key { environment: way.first_key(), text: &frame_text };
        maintained.cache.prove_frame(frame_key, &infos_of(way), &maintained.asked.query);
    }
}

fn compiled(session: &Session, way: Way<'_>, columns: usize) -> Result<ResultQuestion, String> {
    let text = way.text();
    let environment = session.environment().ok_or("its session's settings are not known")?;
    if !environment.selects_all {
        return Err("sql_select_limit".to_owned());
    }
    if asks_for_more(text) {
        return Err("SQL_CALC_FOUND_ROWS, FETCH or PROCEDURE".to_owned());
    }
    let schema = session.state.environment.schema();
    let tables = &way.template().tables;
    let (plan, values, computing) = (way.plan_form(session), way.values(), environment.computing());
    let compiled = planned(Planning { plan, values, tables, schema, computing }, MaintainedQuery::compile)?;
    if compiled.query.columns_shown() != columns {
        return Err("it has other columns".to_owned());
    }
    Ok(asked(compiled, tables))
}

/// Returns what is compiled of a text's form. While a definition of one of its tables is under way, waits for that definition, up to a bound.
pub(super) async fn bound_for_certain<'t>(
    session: &Session,
    text: &'t [u8],
    schema: &str,
) -> BoundSelect<'t> {
    let shared = &session.shared;
    let schema = Some(schema).filter(|schema| !schema.is_empty());
    let until = Instant::now() + DEFINED_WITHIN;
    loop {
        let behind = shared.sources();
        let bound = shared.templates.of(text, session.modes(), schema, behind).await;
        let is_open = matches!(bound.template().verdict, Cacheability::NotNow(_));
        if !is_open || Instant::now() >= until {
            return bound;
        }
        shared.upstream.ask_probe();
        tokio::time::sleep(LOOKED_AT_EVERY).await;
    }
}

/// Returns what has to be loaded so that a query is maintained, by its text with markers.
///
/// # Errors
/// Why the query is not maintained.
pub(super) async fn maintainable(
    session: &Session,
    text: &[u8],
    schema: &str,
) -> Result<ResultQuestion, String> {
    let modes = session.modes();
    let bound = bound_for_certain(session, text, schema).await;
    let computing = session.environment().map(|environment| environment.computing()).unwrap_or_default();
    let schema = Some(schema).filter(|schema| !schema.is_empty());
    let statement = StatementText { text, modes, schema, zone: session.zone(), tokens: None };
    loadable(&session.shared, &bound, statement, computing)
}

/// Returns the rows, and their position.
async fn ask(session: &mut Session, maintained: &Maintained) -> Result<Option<KeeperAnswer>, Lost> {
    let shared = Arc::clone(&session.shared);
    let answer = session.waits_for(shared.maintaining.ask(maintained.asked.clone())).await?;
    let width_max = session.environment().map_or(0, |environment| environment.shows_texts_of_width);
    let answer = match answer {
        KeeperAnswer::Rows(_, shown) if shown.width > width_max => {
            KeeperAnswer::Never("its texts are converted or padded for the client".to_owned())
        }
        other => other,
    };
    maintained.cache.note_upkeep(Upkeep::from(&answer));
    Ok(matches!(answer, KeeperAnswer::Rows(..)).then_some(answer))
}

/// Stores the rows as an answer.
async fn store(
    session: &Session,
    way: Way<'_>,
    plan: FillPlan,
    maintained: &Maintained,
    answer: KeeperAnswer,
) -> Insert {
    let (KeeperAnswer::Rows(valid_from, shown), Some(environment)) = (answer, session.environment()) else {
        return Insert::Off;
    };
    let cache = &session.shared.cache;
    let rows = shown.ends.len() as u64;
    let around = way.around(&maintained.frame, shown.rows()).zip(way.key_text(session));
    let Some(((body, status_at), text)) = around else { return Insert::Off };
    // The answer shows nothing that is not applied.
    let status = maintained.frame.status | READ_UNFENCED;
    let key = Key { environment: way.first_key(), text: &text };
    let fill = Fill {
        valid_from,
        deps: plan.depends.with_rows(rows),
        text_prefix: text_prefix(key),
        body_prefix: body_prefix(&body, status_at),
        body,
        status_at,
        status: status.bits(),
        rows,
        cost_us: maintained.frame.cost_us,
        tag: maintained.frame.tag,
        expires_ms: 0,
        refresh_ms: 0,
    };
    let of_texts = way.of_texts;
    for _ in 0..ROOM_STEPS_MAX {
        if !cache.make_room(key, &fill) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let result = |text: &[u8]| StoredResult {
        environment: Arc::clone(environment),
        key: of_texts,
        text: text.into(),
        deps: fill.deps.clone(),
        valid_from,
        tag: fill.tag,
        rights: maintained.rights,
        warnings: plan.warnings,
        tries: Tries::default(),
    };
    // The answer to an execution is compared with the server by the text that asks the same.
    if let Some(text) = way.written(session) {
        maintained.cache.note_if_new(Key { environment: of_texts, text: &text }, || result(&text));
    }
    let stored = cache.insert_settled(key, fill);
    if stored == Insert::Stored && returns_what_it_finds(key.text) {
        cache.note_found_rows(key, valid_from, u32::try_from(rows).unwrap_or(u32::MAX));
    }
    stored
}
