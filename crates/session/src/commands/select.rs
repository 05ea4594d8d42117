//! A SELECT: from memory if it can be, and into memory if it may be.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Fences, Fill, Insert, Key, Position, Verdict};
use freshet_protocol::{Command, ErrPacket};
use freshet_sql::{Effects, Hint, contains_ignoring_case};
use freshet_upstream::now_ms;

use super::refusals::unavailable;
use super::text::Query;
use crate::counters::Count;
use crate::reading::{self, CACHED_BYTES_MAX, LONG_BYTES_MIN, LongSelect};
use crate::relay::{Capture, Captured, Lost, Relayed};
use crate::rows::{Behind, Depends, Statement, deps_of_reading};
use crate::session::hit::READ_UNFENCED;
use crate::session::{Flow, Forward, Missed, Session, Touches};
use crate::template::{self, BoundSelect, New, Template};
use crate::variables::{TYPE_DEMAND, TYPE_OFF};
use crate::why::Why;

/// Answers `text` from memory if something is stored for it.
pub(super) fn from_memory(session: &mut Session, text: &[u8], key: u32) -> Result<(), Missed> {
    if text.len() > CACHED_BYTES_MAX {
        return Err(Missed::default());
    }
    let text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    session.answer_from_memory(Key { environment: key, text: &text }, &text)
}

/// Whether comments are left out of the key. Not one that asks query rules for something.
fn strips(session: &Session, text: &[u8]) -> bool {
    let asks = || session.ruled.are_there() && freshet_rules::has_hint(text);
    session.state.locals.strips_comments(&session.shared.globals) && !asks()
}

pub(super) async fn handle(
    session: &mut Session,
    mut query: Query<'_>,
    found: Found<'_>,
) -> Result<Flow, Lost> {
    let text = query.text();
    // Where something may be stored for it, it was looked for with this key.
    let looked_under = session.state.key;
    // Where the environment is known, the template is found without asking the server anything.
    let known = match found {
        Found::Known(known) => Some(known),
        Found::New(new) => Some(compiled(session, new).await),
        Found::Unread if session.environment().is_some() => Some(bound(session, text).await),
        Found::Unread => None,
    };
    let is_asking = match &known {
        Some(known) => known.template().effects.reads_last_statement,
        None => {
            let effects = freshet_sql::effects(text, session.modes());
            effects.reads_last_statement || session.would_be_asked_between(&effects).await
        }
    };
    if is_asking {
        return ask(session, query).await;
    }
    give_way(text).await;
    let patience = Patience::of(session);
    patience.resolve_doubts(session).await;
    if let Err(error) = session.learn().await {
        return unavailable(session, &error);
    }
    session.refresh_key();
    let (bound, plan) =
        match fate(session, (text, looked_under), (known, patience), &mut query.missed).await? {
            Fate::Answered(flow) => return Ok(flow),
            Fate::ToServer(bound, plan) => (bound, plan),
        };
    let template = bound.template();
    let stripped = if bound.compiled.is_hinted { without_hint(session, query) } else { None };
    let payload = stripped.as_deref().unwrap_or(query.packet);
    match plan {
        Ok(plan) => {
            let plan = FillPlan { warnings: session.warnings_of(bound.compiled.deprecations), ..plan };
            let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
            let touches = Touches::ReadView;
            let forward =
                Forward { text, touches, ..Forward::new(payload, Command::Query, &template.effects) };
            let relayed = pin!(fill(session, forward, (&key_text, query.missed), plan)).await?;
            session.note_tables(relayed.tag, &template.tables);
            Ok(Flow::Continue)
        }
        Err(why) => pin!(forward_uncached(session, template, (payload, text), why)).await,
    }
}

/// What becomes of a SELECT.
enum Fate<'a> {
    /// It is answered: from memory, or refused.
    Answered(Flow),
    /// The server answers it, and the answer is stored by this plan, or not.
    ToServer(BoundSelect<'a>, Result<FillPlan, Why>),
}

/// What becomes of it; `looked_under` is the first part of the key under which it was looked for.
async fn fate<'a>(
    session: &mut Session,
    (text, looked_under): (&'a [u8], Option<u32>),
    (mut known, patience): (Option<BoundSelect<'a>>, Patience),
    missed: &mut Missed,
) -> Result<Fate<'a>, Lost> {
    // Once, but for a statement that waits until its answer can be stored.
    loop {
        let bound = match known.take() {
            Some(known) => known,
            None => bound(session, text).await,
        };
        if let Some((code, sqlstate, message)) = hint_error(session, &bound, text) {
            return session.refuse(&ErrPacket::new(code, sqlstate, &message)).map(Fate::Answered);
        }
        let template = bound.template();
        give_way(text).await;
        match template.verdict {
            template::Verdict::Cache => {
                if let Err(error) = session.find_hidden(&template.tables.known, patience.is_some()).await {
                    return unavailable(session, &error).map(Fate::Answered);
                }
            }
            _ if patience.waits_for_verdict(session, template).await => continue,
            _ => {}
        }
        let key = key_for(session, template, bound.compiled.hint);
        // The first look was before the environment was known, or with a temporary table in the way.
        if let Some(key) = key.ok().filter(|key| looked_under != Some(*key)) {
            match from_memory(session, text, key) {
                Ok(()) => return Ok(Fate::Answered(Flow::Continue)),
                Err(later) => *missed = missed.and(later),
            }
        }
        // What is stored and not given for want of room is streamed from the server, and not stored again.
        let key = match key {
            Ok(key) if missed.may_be_stored() => key,
            Ok(_) => return Ok(Fate::ToServer(bound, Err(Why::AnsweredBefore))),
            Err(why) => return Ok(Fate::ToServer(bound, Err(why))),
        };
        let depends = |behind: Behind<'_>| {
            let statement = Statement { tokens: bound.tokens(), ..statement(session, text) };
            deps_of_reading(statement, &template.tables, bound.plan(statement), behind)
        };
        match plan(session, template, (key, *missed), depends) {
            Fillable::Surely(plan) => return Ok(Fate::ToServer(bound, Ok(plan))),
            Fillable::Perhaps(plan) if !patience.waits(session).await => {
                return Ok(Fate::ToServer(bound, plan));
            }
            Fillable::Perhaps(_) => {}
            Fillable::Never(why) => return Ok(Fate::ToServer(bound, Err(why))),
        }
    }
}

/// A SELECT that is the server's to answer, and whose answer is not stored.
async fn forward_uncached(
    session: &mut Session,
    template: &Template,
    (payload, text): (&[u8], &[u8]),
    why: Why,
) -> Result<Flow, Lost> {
    count_not_cached(session);
    let effects = session.certain(text, template.effects.clone());
    let touches = touches(session, template, text);
    let forward = Forward { text, touches, ..Forward::new(payload, Command::Query, &effects) };
    let relayed = session.forward(forward).await?;
    match template.verdict.refusal() {
        Some(refusal) => session.count_refused(&relayed, refusal),
        None => session.count_refused(&relayed, &why.into()),
    }
    Ok(Flow::Continue)
}

/// What the server does with tables for a SELECT, as far as a transaction is concerned.
pub(super) fn touches(session: &Session, template: &Template, text: &[u8]) -> Touches {
    if let template::Verdict::Cache = template.verdict {
        return Touches::ReadView;
    }
    if reads_nothing(session, text) { Touches::NoTables } else { Touches::Anything }
}

/// Whether a statement of a transaction reads no table and calls no function that may. Of others it is not asked.
fn reads_nothing(session: &Session, text: &[u8]) -> bool {
    let effects = || freshet_sql::effects(text, session.modes());
    let is_alone = session.state.tx.surely_autocommits();
    let is_nothing = |effects: Effects| effects.reads.is_nothing() && effects.calls.is_nothing();
    !is_alone && is_nothing(effects())
}

/// FOUND_ROWS() and its kin, or code that may ask so: nothing may come between it and the statement it asks about.
async fn ask(session: &mut Session, query: Query<'_>) -> Result<Flow, Lost> {
    let text = query.text();
    count_not_cached(session);
    let effects = session.certain(text, freshet_sql::effects(text, session.modes()));
    let touches = if reads_nothing(session, text) { Touches::NoTables } else { Touches::Anything };
    let asked = |payload| Forward { text, touches, ..Forward::new(payload, Command::Query, &effects) };
    let relayed = if freshet_sql::asks_found_rows(text, session.modes()) {
        session.ask_found_rows(asked(query.packet)).await?
    } else {
        let stripped = without_hint(session, query);
        session.forward(asked(stripped.as_deref().unwrap_or(query.packet))).await?
    };
    session.count_refused(&relayed, &Why::AsksBack.into());
    Ok(Flow::Continue)
}

/// The statement as the session reads texts now.
pub(super) fn statement<'a>(session: &'a Session, text: &'a [u8]) -> Statement<'a> {
    let (modes, zone) = (session.modes(), session.zone());
    Statement { text, modes, schema: session.state.schema.as_deref(), zone, tokens: None }
}

/// What a SELECT is by its form, as far as that has been looked for.
pub(super) enum Found<'a> {
    /// One of a known form.
    Known(BoundSelect<'static>),
    /// One of a new form.
    New(New<'a>),
    /// It is not known yet how the session reads texts, or the text is long.
    Unread,
}

/// What is compiled of its form.
pub(super) async fn bound<'a>(session: &Session, text: &'a [u8]) -> BoundSelect<'a> {
    let shared = &session.shared;
    let behind = (shared.freshness().as_ref(), &shared.upstream);
    shared.templates.of((text, session.modes()), session.state.schema.as_deref(), behind).await
}

/// The same of a new form.
async fn compiled<'a>(session: &Session, new: New<'a>) -> BoundSelect<'a> {
    let shared = &session.shared;
    let behind = (shared.freshness().as_ref(), &shared.upstream);
    shared.templates.compile(new, session.state.schema.as_deref(), behind).await
}

/// A SELECT that is too long to be cached.
pub(super) async fn handle_long(
    session: &mut Session,
    query: Query<'_>,
    select: LongSelect,
) -> Result<Flow, Lost> {
    let LongSelect { effects, hint_error, stripped } = select;
    if let Some((code, sqlstate, message)) = hint_error {
        return session.refuse(&ErrPacket::new(code, sqlstate, &message));
    }
    count_not_cached(session);
    let effects = session.certain(query.text(), effects);
    let stripped = stripped.map(|text| query.with_text(&text));
    let payload = stripped.as_deref().unwrap_or(query.packet);
    let text = query.text();
    let relayed =
        session.forward(Forward { text, ..Forward::new(payload, Command::Query, &effects) }).await?;
    session.count_refused(&relayed, &Why::TooLong.into());
    Ok(Flow::Continue)
}

/// Between two passes over a long text, others have their turn.
async fn give_way(text: &[u8]) {
    if text.len() >= LONG_BYTES_MIN {
        tokio::task::yield_now().await;
    }
}

/// The error of contradictory hints.
fn hint_error(
    session: &Session,
    bound: &BoundSelect<'_>,
    text: &[u8],
) -> Option<(u16, &'static str, String)> {
    if bound.compiled.is_hinted { freshet_sql::hint_error(text, session.modes()) } else { None }
}

/// The packet without SQL_CACHE and SQL_NO_CACHE, which are an error or a warning since MySQL 8.
fn without_hint(session: &Session, query: Query<'_>) -> Option<Vec<u8>> {
    reading::without_hint(query.text(), session.modes()).map(|text| query.with_text(&text))
}

pub(super) fn count_not_cached(session: &Session) {
    if session.state.locals.effective_type(&session.shared.globals) != TYPE_OFF {
        session.shared.cache.count_not_cached();
    }
}

/// The environment part of the key, or why the session's state or the statement's form allows no answer from memory.
pub(super) fn key_for(session: &Session, template: &Template, hint: Option<Hint>) -> Result<u32, Why> {
    if let Some(refusal) = template.verdict.refusal() {
        return Err(refusal.why);
    }
    match session.state.locals.effective_type(&session.shared.globals) {
        TYPE_OFF => return Err(Why::CacheOff),
        TYPE_DEMAND if demands_cache(template, hint) => {}
        TYPE_DEMAND => return Err(Why::NotDemanded),
        _ if hint == Some(Hint::NoCache) => return Err(Why::NoCacheHint),
        _ => {}
    }
    let temporary = &session.state.temporary;
    if template.tables.known.iter().any(|table| temporary.shadow(&table.schema, &table.name)) {
        return Err(Why::TemporaryTable);
    }
    if !session.state.unproven.is_empty() {
        return Err(Why::UnknownCode);
    }
    session.key_but_for_temporary_tables().ok_or_else(|| session.bars())
}

/// Whether a statement asks for its answer to be cached. A view may ask for it in the statement's place.
fn demands_cache(template: &Template, hint: Option<Hint>) -> bool {
    match hint {
        Some(hint) => hint == Hint::Cache,
        None => template.tables.known.iter().any(|table| table.info.asks_for_cache),
    }
}

/// What is needed to store an answer.
pub(super) struct FillPlan {
    /// The first part of its key.
    environment: u32,
    depends: Depends,
    valid_from: Position,
    /// How many warnings the statement's text brings about.
    pub(super) warnings: u16,
}

/// How long a statement waits until its answer can be stored: for up to `fill_wait`, and not at all in a transaction, which
/// reads what was committed before.
pub(super) struct Patience {
    until: Option<Instant>,
}

impl Patience {
    pub(super) fn of(session: &Session) -> Self {
        let wait = session.state.locals.fill_wait(&session.shared.globals);
        let waits = !wait.is_zero() && session.state.tx.surely_autocommits();
        Self { until: waits.then(|| Instant::now() + wait) }
    }

    /// Whether the statement waits at all.
    pub(super) fn is_some(&self) -> bool {
        self.until.is_some()
    }

    /// Looks at the session's doubts. While a definition is under way that one is about, it is too early.
    async fn resolve_doubts(&self, session: &mut Session) {
        session.resolve_doubts().await;
        while !session.state.unproven.is_empty() && self.waits(session).await {
            session.resolve_doubts().await;
        }
    }

    /// Waits a moment if a definition decides about a statement, or is about to; false if none does, or it has waited long enough.
    pub(super) async fn waits_for_verdict(&self, session: &Session, template: &Template) -> bool {
        let is_open = match template.verdict {
            template::Verdict::Cache => false,
            template::Verdict::Never(_) => session.shared.upstream.is_changing(&template.told),
            template::Verdict::NotNow(_) => true,
        };
        is_open && self.waits(session).await
    }

    /// Waits a moment; false if it has waited long enough.
    pub(super) async fn waits(&self, session: &Session) -> bool {
        let goes_on = self.until.is_some_and(|until| Instant::now() < until);
        if goes_on {
            session.shared.upstream.ask_probe();
            tokio::time::sleep(FILL_LOOKED_AT_EVERY).await;
        }
        goes_on
    }
}

/// How often it is looked whether an answer can be stored by now.
const FILL_LOOKED_AT_EVERY: Duration = Duration::from_millis(1);

/// Whether an answer may be stored.
pub(super) enum Fillable {
    /// It may.
    Surely(FillPlan),
    /// Not before a write is known to be visible or a definition is known, or with no use if that write concerns it.
    Perhaps(Result<FillPlan, Why>),
    /// It may not.
    Never(Why),
}

/// Whether the answer that is now asked for may be stored. `valid_from` is read before anything else: the definitions that
/// the verdict rests on must be known to be the current ones *after* it. `depends` says what it depends on.
pub(super) fn plan(
    session: &Session,
    template: &Template,
    (environment, missed): (u32, Missed),
    depends: impl FnOnce(Behind<'_>) -> Depends,
) -> Fillable {
    let shared = &session.shared;
    let freshness = shared.freshness();
    let Some(valid_from) = session.valid_from(freshness.valid_from()) else {
        return Fillable::Never(Why::Transaction);
    };
    if !shared.upstream.is_current(&template.told) {
        return Fillable::Perhaps(Err(Why::Definition));
    }
    if !freshness.is_live(now_ms()) {
        return Fillable::Never(Why::Stream);
    }
    let mut depends = depends(Behind { valid_from, freshness, watches: shared.upstream.watches() });
    depends.deps.push(rights(session, template));
    if session.has_written(&depends.deps) {
        return Fillable::Never(Why::Wrote);
    }
    let plan = |depends| FillPlan { environment, depends, valid_from, warnings: 0 };
    match freshness.check(&depends.deps, valid_from, Fences::Refuse) {
        Verdict::Servable => Fillable::Surely(plan(depends)),
        // A write is under way that may concern this answer. If it does, its stamp is above `valid_from`, whether the answer shows
        // it or not. What is stored already fares the same.
        Verdict::Fenced if missed.fenced => Fillable::Perhaps(Err(Why::WriteUnderWay)),
        Verdict::Fenced => Fillable::Perhaps(Ok(plan(depends))),
        Verdict::Stale => {
            // What changed last is not yet known to be visible: this answer could not be kept, the next one can.
            shared.upstream.ask_probe();
            shared.counters.add(Count::Unsettled);
            Fillable::Perhaps(Err(Why::Unsettled))
        }
    }
}

/// The dependency on the rights by which the tables are read: a view has those of its definer besides.
pub(super) fn rights(session: &Session, template: &Template) -> Dep {
    let user = session.environment().and_then(|environment| environment.sole_user.as_deref());
    match user {
        Some(user) if template.tables.below.is_empty() && template.tables.are_all_base() => {
            session.shared.freshness().account(user)
        }
        _ => Dep::ACCOUNTS,
    }
}

/// Asks the server and keeps a copy of its answer, under this as the second part of its key.
pub(super) async fn fill(
    session: &mut Session,
    forward: Forward<'_>,
    (key_text, missed): (&[u8], Missed),
    plan: FillPlan,
) -> Result<Relayed, Lost> {
    let started = Instant::now();
    let (environment, valid_from) = (plan.environment, plan.valid_from);
    let cache = &session.shared.cache;
    let bytes_max = cache.limit().min(cache.size());
    let budget = &session.shared.bounds().fill;
    let transacts = !session.state.tx.surely_autocommits();
    let capture = Capture::new(bytes_max, budget).in_transaction(transacts);
    let capture = Some(capture.warned(plan.warnings));
    let storing = session.storing();
    let mut relayed = pin!(session.forward(Forward { capture, ..forward })).await?;
    let cost_us = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
    let rows = relayed.captured.as_ref().and_then(|captured| u32::try_from(captured.rows).ok());
    let stored = match relayed.captured.take() {
        Some(captured) if captured.rows == 0 && !storing.empty => {
            relayed.uncaptured = Some(Why::QueryRule);
            Insert::TooLarge
        }
        Some(captured) => {
            let told = (captured, (cost_us, relayed.tag, storing.expires_ms));
            pin!(store(session, (key_text, missed), plan, told)).await
        }
        None => Insert::TooLarge,
    };
    match why_not(stored, relayed.uncaptured) {
        None => session.count_stored(relayed.tag),
        Some(why) => session.count_refused(&relayed, &why.into()),
    }
    if stored == Insert::Stored {
        let finds_all =
            session.environment().is_some_and(|it| it.selects_all) && returns_what_it_finds(key_text);
        match rows.filter(|_| finds_all) {
            Some(rows) => {
                let key = Key { environment, text: key_text };
                session.shared.cache.note_found_rows(key, valid_from, rows);
            }
            None => session.has_filled((environment, key_text), valid_from),
        }
    } else if !stored.is_in_memory() {
        count_not_cached(session);
    }
    Ok(relayed)
}

/// Why an answer was not stored; `uncaptured`: why there was no copy of it.
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

/// Whether a SELECT surely returns all rows that it finds, since no LIMIT and its like stand in it.
fn returns_what_it_finds(text: &[u8]) -> bool {
    const CUTTING: [&[u8]; 4] = [b"limit", b"fetch", b"procedure", b"sql_calc_found_rows"];
    !CUTTING.iter().any(|word| contains_ignoring_case(text, word))
}

async fn store(
    session: &mut Session,
    (text, missed): (&[u8], Missed),
    plan: FillPlan,
    (captured, (cost_us, tag, expires_ms)): (Captured, (u32, u16, u64)),
) -> Insert {
    let FillPlan { environment, depends, valid_from, .. } = plan;
    let cache = Arc::clone(&session.shared.cache);
    if let Some(before) = missed.stale_body {
        cache.count_refilled(cache.fingerprint(&captured.body) == before);
    }
    // After the answer is complete: a write that it shows is under its fence still, or applied.
    let absent = depends.absent.map(|(dep, _)| dep);
    let is_fenced = depends
        .deps
        .iter()
        .chain(&absent)
        .chain(&[Dep::EVERYTHING])
        .any(|dep| cache.freshness().is_fenced(*dep));
    let mut status = captured.status;
    status.set(READ_UNFENCED, !is_fenced);
    let fill = Fill {
        valid_from,
        deps: depends.with_rows(captured.rows),
        body: captured.body,
        status_at: captured.status_at,
        status: status.bits(),
        rows: captured.rows,
        cost_us,
        tag,
        expires_ms,
    };
    let key = Key { environment, text };
    // Others have their turn between two steps.
    for _ in 0..ROOM_STEPS_MAX {
        if !cache.make_room(key, &fill) {
            break;
        }
        tokio::task::yield_now().await;
    }
    // What is read in a read view shows no more than that.
    let is_settled = session.state.view.settles(&session.shared.upstream, session.shared.freshness());
    if is_settled {
        session.shared.cache.insert_settled(key, fill)
    } else {
        session.shared.cache.insert(key, fill)
    }
}

/// How many steps of making room are worth one result.
const ROOM_STEPS_MAX: usize = 256;
