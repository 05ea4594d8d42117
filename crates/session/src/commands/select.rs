//! A SELECT: answered from memory if possible, and stored in memory if allowed.

use std::pin::pin;

use freshet_cache::Key;
use freshet_protocol::ErrPacket;
use freshet_sql::HintError;
use freshet_upstream::lane::ANSWER_BYTES_MAX;

use super::admitting::{Hinted, is_worth_storing};
use super::asked::{
    bound, compiled, from_memory, hint_error, hint_of, key_for, strips, touched, touches, without_hint,
};
use super::bargain;
use super::caches::create_if_hinted;
use super::fill_plan::{FillPlan, Fillable, plan_of_text};
use super::filling::{Sought, count_not_cached, fill};
use super::maintained::{self, Asked, FromCopies, Way};
use super::patience::Patience;
use super::refusals::unavailable;
use super::text::TextQuery;
use crate::reading::{LONG_BYTES_MIN, LongSelect};
use crate::relay::{Lost, Relayed};
use crate::session::{Deeds, Flow, Forward, Message, Missed, Session, Touches, Turn, Unfound, Waited};
use crate::template::{BoundSelect, Cacheability, New, Template};
use crate::why::Why;

/// Returns how a SELECT ended. A SELECT whose connection was lost is carried out again, as often as the query rules say.
pub(super) async fn done(
    session: &mut Session,
    query: TextQuery<'_>,
    done: Result<Flow, Lost>,
) -> Result<Flow, Lost> {
    match done {
        Err(lost) if session.repeats_after(&lost) => Box::pin(repeated(session, query, lost)).await,
        done => done,
    }
}

async fn repeated(session: &mut Session, query: TextQuery<'_>, mut lost: Lost) -> Result<Flow, Lost> {
    while session.repeats_after(&lost) && session.begins_elsewhere().await? {
        match Box::pin(handle(session, query, SelectForm::Unread)).await {
            Err(again) => lost = again,
            done => return done,
        }
    }
    Err(lost)
}

pub(super) async fn handle(
    session: &mut Session,
    mut query: TextQuery<'_>,
    found: SelectForm<'_>,
) -> Result<Flow, Lost> {
    let text = query.text();
    // If an answer may be stored for this SELECT, this is the key of the look-up.
    let looked_under = session.state.environment.key();
    // If the environment is known, the template is found without a question to the server.
    let mut known = match found {
        SelectForm::Known(known) => Some(known),
        SelectForm::New(new) => Some(compiled(session, new).await),
        SelectForm::Unread if session.environment().is_some() => Some(bound(session, text).await),
        SelectForm::Unread => None,
    };
    let is_asking = match &known {
        Some(known) => known.template().effects.reads_last_statement,
        None => {
            let effects = freshet_sql::effects(text, session.modes());
            let is_bargain = session.ruled.is_bargain();
            effects.reads_last_statement
                || session.would_be_asked_between(&effects).await
                    && !(is_bargain && Box::pin(bargain::reads_tables_alone(session, text)).await)
        }
    };
    if is_asking {
        return ask(session, query).await;
    }
    give_way(text).await;
    let patience = Patience::of(session);
    patience.resolve_doubts(session).await;
    if session.ruled.is_bargain() {
        session.believe_doubts();
    }
    if let Err(error) = session.learn().await {
        return unavailable(session, &error);
    }
    session.refresh_key();
    if session.shared.created.policies() != 0 {
        if known.is_none() {
            known = Some(Box::pin(bound(session, text)).await);
        }
        if let Some(known) = &known {
            session.heed_policy(known.template().query.id);
        }
    }
    if session.ruled.is_bargain() {
        return Box::pin(bargain::handle(session, query, known)).await;
    }
    let (bound, plan) = match fate(session, &mut query, looked_under, known, patience).await? {
        Fate::Answered(flow) => return Ok(flow),
        Fate::ToServer(bound, plan) => (bound, plan),
    };
    let template = bound.template();
    let stripped = if bound.compiled.is_hinted { without_hint(session, query) } else { None };
    let payload = stripped.as_deref().unwrap_or(query.packet);
    let message = Message::query(payload, text).with_memo(bound.digest_memo()).known_as(bound.is_plain());
    session.note_repeatable(template);
    match plan {
        Ok(plan) => {
            let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
            let reads_tables_alone = template.reads_tables_alone();
            let touches = Touches::ReadView;
            let deeds = Deeds { touches, reads_tables_alone, ..Deeds::from(&template.effects) };
            let forward = Forward::new(message, deeds);
            let sought = Sought { key_text: &key_text, missed: query.missed };
            let relayed = pin!(fill(session, forward, sought, plan)).await?;
            note_execution(session, template, &relayed);
            session.note_template(relayed.tag, template);
            Ok(Flow::Continue)
        }
        Err(why) => pin!(forward_uncached(session, template, message, why)).await,
    }
}

/// What happens to a SELECT.
enum Fate<'a> {
    /// The SELECT is answered: from memory, or with an error.
    Answered(Flow),
    /// The server answers the SELECT. The answer is stored by this plan, or is not stored for this reason.
    ToServer(BoundSelect<'a>, Result<FillPlan, Why>),
}

/// Decides the fate of a SELECT; `looked_under` is the first part of the key of the first look-up.
async fn fate<'a>(
    session: &mut Session,
    query: &mut TextQuery<'a>,
    mut looked_under: Option<u32>,
    mut known: Option<BoundSelect<'a>>,
    patience: Patience,
) -> Result<Fate<'a>, Lost> {
    let (text, missed) = (query.text(), &mut query.missed);
    let mut waited = Waited::default();
    // The loop runs once, unless the statement waits until its answer can be stored, or waits for the answer to another statement.
    loop {
        let bound = match known.take() {
            Some(known) => known,
            None => bound(session, text).await,
        };
        if let Some(HintError { code, sqlstate, message }) = hint_error(session, &bound, text) {
            return session.refuse(&ErrPacket::new(code, sqlstate, &message)).map(Fate::Answered);
        }
        let template = bound.template();
        give_way(text).await;
        match template.verdict {
            Cacheability::Cache => {
                if let Err(error) = session.find_hidden(&template.tables.known, patience.is_some()).await {
                    return unavailable(session, &error).map(Fate::Answered);
                }
            }
            _ if patience.waits_for_verdict(session, template).await => continue,
            _ => {}
        }
        if let Some(hint) = freshet_sql::cache_hint(text, session.modes()) {
            Box::pin(create_if_hinted(session, text, hint, template)).await?;
        }
        let hint = hint_of(session, text, bound.compiled.hint);
        let key = key_for(session, template, hint);
        // The first look-up came before the environment was known, or a temporary table was in the way.
        let key_now = key.ok().filter(|key| looked_under != Some(*key) && !missed.refreshes);
        if key_now.is_some_and(|key| is_there_now(session, text, key, missed)) {
            return Ok(Fate::Answered(Flow::Continue));
        }
        // An answer that is stored, and not given for want of room, is streamed from the server and not stored again.
        let may_be_stored = |key| if missed.may_be_stored() { Ok(key) } else { Err(Why::AnsweredBefore) };
        let unfound = match key.and_then(may_be_stored) {
            Ok(key) => Unfound { key, missed: *missed },
            Err(why) => return Ok(Fate::ToServer(bound, Err(why))),
        };
        // A result that is kept up to date row by row needs no server.
        if session.shared.created.are_there() {
            let way = Way { asked: Asked::Text(text, &bound), of_texts: unfound.key };
            match Box::pin(maintained::answer(session, way, &patience)).await? {
                FromCopies::Answered => return Ok(Fate::Answered(Flow::Continue)),
                FromCopies::Redefined => continue,
                FromCopies::ByServer => {}
            }
        }
        let key_text = || freshet_sql::key_text(text, session.modes(), strips(session, text));
        if !is_worth_storing(session, Hinted { template, hint }, unfound, key_text) {
            return Ok(Fate::ToServer(bound, Err(Why::SeldomRead)));
        }
        let fillable = plan_of_text(session, text, &bound, unfound);
        if matches!(fillable, Fillable::Perhaps(_)) && patience.waits(session).await {
            continue;
        }
        let mut plan = match fillable.plan() {
            Ok(plan) if session.takes_turns(template) => plan,
            plan => return Ok(Fate::ToServer(bound, plan.and_then(FillPlan::if_of_use))),
        };
        match Box::pin(turn(session, text, plan.environment, &mut waited)).await? {
            Turn::Asks(leader) => {
                plan.is_led_by(leader, template, session.shared.freshness());
                return Ok(Fate::ToServer(bound, plan.if_of_use()));
            }
            Turn::Answered { .. } => return Ok(Fate::Answered(Flow::Continue)),
            Turn::LooksAgain => looked_under = None,
        }
    }
}

/// Waits for the statement's turn, under the key whose first part is `environment`.
async fn turn(
    session: &mut Session,
    text: &[u8],
    environment: u32,
    waited: &mut Waited,
) -> Result<Turn, Lost> {
    let asked = freshet_sql::key_text(text, session.modes(), strips(session, text));
    session.turn(Key { environment, text: &asked }, text, waited).await
}

/// Whether a second look-up answers the statement from memory. Adds the outcome of a miss to `missed`.
fn is_there_now(session: &mut Session, text: &[u8], key: u32, missed: &mut Missed) -> bool {
    let found = from_memory(session, text, key);
    if let Err(later) = &found {
        *missed = missed.and(*later);
    }
    found.is_ok()
}

/// Has the server answer a SELECT whose answer is not stored.
async fn forward_uncached(
    session: &mut Session,
    template: &Template,
    message: Message<'_>,
    why: Why,
) -> Result<Flow, Lost> {
    let text = message.text;
    let effects = session.certain(text, template.effects.clone());
    let touches = touches(session, template);
    let reads_tables_alone = template.reads_tables_alone();
    let deeds = Deeds { touches, reads_tables_alone, ..Deeds::from(&effects) };
    let mut forward = Forward::new(message, deeds);
    let mut shown = None;
    if template.tables.known.is_empty()
        && let Some((shows, capture)) = session.learns_settings(text)
    {
        (shown, forward.passing.capture) = (Some(shows), Some(capture));
    }
    let mut relayed = session.forward(forward).await?;
    if let Some(shown) = shown {
        session.has_learned_settings(&shown, text, &mut relayed);
    }
    count_not_cached(session, relayed.error);
    note_execution(session, template, &relayed);
    session.note_template(relayed.tag, template);
    match template.verdict.refusal() {
        Some(refusal) => session.count_refused(&relayed, refusal),
        None => session.count_refused(&relayed, &why.into()),
    }
    Ok(Flow::Continue)
}

/// Notes how long the server took for a statement that a lane may carry.
pub(super) fn note_execution(session: &Session, template: &Template, relayed: &Relayed) {
    if relayed.uncaptured == Some(Why::TooLarge) {
        template.profile.note_large(freshet_upstream::now_ms());
    }
    if relayed.error.is_none() && relayed.bytes <= ANSWER_BYTES_MAX {
        template.profile.took_us(relayed.took_us / session.crowd());
    }
}

/// Carries out FOUND_ROWS() and similar functions, or code that may call them: no other statement may come before it on the connection.
async fn ask(session: &mut Session, query: TextQuery<'_>) -> Result<Flow, Lost> {
    let text = query.text();
    let effects = freshet_sql::effects(text, session.modes());
    let touches = touched(session, effects.reads_nothing());
    let effects = session.certain(text, effects);
    let deeds = Deeds { touches, ..Deeds::from(&effects) };
    let relayed = if freshet_sql::asks_found_rows(text, session.modes()) {
        session.ask_found_rows(Forward::new(query.message(), deeds)).await?
    } else {
        let stripped = without_hint(session, query);
        let packet = stripped.as_deref().unwrap_or(query.packet);
        session.forward(Forward::new(Message { packet, ..query.message() }, deeds)).await?
    };
    count_not_cached(session, relayed.error);
    session.count_refused(&relayed, &Why::AsksBack.into());
    Ok(Flow::Continue)
}

/// The form of a SELECT, as far as Freshet has looked for it.
pub(super) enum SelectForm<'a> {
    /// A known form.
    Known(BoundSelect<'a>),
    /// A new form.
    New(New<'a>),
    /// Freshet does not know yet how the session reads texts, or the text is long.
    Unread,
}

/// Carries out a SELECT that is too long to be cached.
pub(super) async fn handle_long(
    session: &mut Session,
    query: TextQuery<'_>,
    select: LongSelect,
) -> Result<Flow, Lost> {
    let LongSelect { effects, hint_error, stripped } = select;
    if let Some(HintError { code, sqlstate, message }) = hint_error {
        return session.refuse(&ErrPacket::new(code, sqlstate, &message));
    }
    let effects = session.certain(query.text(), effects);
    let stripped = stripped.map(|text| query.with_text(&text));
    let packet = stripped.as_deref().unwrap_or(query.packet);
    let relayed = session.forward(Forward::new(Message { packet, ..query.message() }, &effects)).await?;
    count_not_cached(session, relayed.error);
    session.count_refused(&relayed, &Why::TooLong.into());
    Ok(Flow::Continue)
}

/// Lets other sessions run between two passes over a long text.
async fn give_way(text: &[u8]) {
    if text.len() >= LONG_BYTES_MIN {
        tokio::task::yield_now().await;
    }
}
