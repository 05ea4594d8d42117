//! Storing answers: whether an answer may be stored, what it depends on, and how it is stored while it is passed on.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Fences, Fill, Freshness, Insert, Key, Position, Verdict};
use freshet_catalog::TableInfo;
use freshet_sql::returns_what_it_finds;
use freshet_upstream::now_ms;

use super::asked::statement;
use super::prepared::framed;
use crate::coalescing::{Leader, QuestionBasis, QuestionState};
use crate::counters::Count;
use crate::created::{CreatedCache, Frame, NotedFrame, StoredResult, Tries};
use crate::environment::{Environment, environment_of, is_of_executions};
use crate::prefixes::{body_prefix, text_prefix};
use crate::relay::{Capture, Captured, Lost, Relayed};
use crate::rows::{Behind, Depends, StatementText, deps_of_reading};
use crate::session::hit::READ_UNFENCED;
use crate::session::{Forward, Missed, Session, Storing, Unfound};
use crate::template::{BoundSelect, Cacheability, Template};
use crate::variables::TYPE_OFF;
use crate::why::Why;

/// How often Freshet checks whether an answer can be stored by now.
const FILL_LOOKED_AT_EVERY: Duration = Duration::from_millis(1);

/// How long a statement waits for a definition that is under way, if its results are kept up to date row by row. After a wait in vain (the
/// server may need long for an ALTER TABLE), no statement waits for [`IN_VAIN_MS`].
const DEFINED_WITHIN: Duration = Duration::from_millis(500);
const IN_VAIN_MS: u64 = 2000;

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

/// What is needed to store an answer.
pub(super) struct FillPlan {
    /// The first part of the answer's key.
    pub(super) environment: u32,
    pub(super) depends: Depends,
    pub(super) valid_from: Position,
    /// How many warnings the statement's text causes.
    pub(super) warnings: u16,
    /// The turn by which other sessions wait for this answer.
    pub(super) leader: Option<Box<Leader>>,
    /// What is noted for the created cache of the answer's query, if there is one.
    pub(super) created: Option<Box<Creates>>,
    /// The answer shows nothing that is not applied.
    pub(super) is_settled: bool,
    /// A row in the answer shows that the transaction's read view is open.
    pub(super) tells_of_view: bool,
}

/// What is noted for the created cache of a query.
pub(super) struct Creates {
    cache: Arc<CreatedCache>,
    /// The epoch of rights.
    rights: u64,
    /// The definitions of the query's tables.
    tables: Vec<Arc<TableInfo>>,
}

impl FillPlan {
    /// Makes other sessions wait for this answer, if there is a leader.
    pub(super) fn is_led_by(
        &mut self,
        leader: Option<Box<Leader>>,
        template: &Template,
        freshness: &Freshness,
    ) {
        self.leader = leader;
        if let Some(leader) = self.leader.as_ref().filter(|_| self.valid_from != Position::MAX) {
            let (read, tables) = (self.depends.deps.clone(), template.tables.whole(freshness));
            leader.rests_on(QuestionBasis { read, tables, valid_from: self.valid_from });
        }
    }

    /// Makes the plan of an answer that is served until it expires, whatever changes; `environment`: the first part of the answer's key.
    pub(super) fn bargain(environment: u32, warnings: u16, created: Option<Box<Creates>>) -> Self {
        let depends = Depends { deps: Vec::new(), absent: None };
        Self {
            environment,
            depends,
            valid_from: Position::MAX,
            warnings,
            leader: None,
            created,
            is_settled: false,
            tells_of_view: false,
        }
    }
}

/// Returns what is noted for the cache whose policy lets an answer be stale, if the policy has the answer refreshed in the background.
pub(super) fn creates_by_policy(session: &Session, template: &Template) -> Option<Box<Creates>> {
    let agreed = session.ruled.agreed()?;
    agreed.policy.refresh_s?;
    let created = &session.shared.created;
    let cache = created.of(template.query.id).filter(|_| created.policies() == agreed.policies)?;
    Some(Box::new(Creates { cache, rights: agreed.rights, tables: Vec::new() }))
}

/// How long a statement waits until its answer can be stored: up to `fill_wait`, and not at all in a transaction, because a transaction
/// reads what was committed earlier.
pub(super) struct Patience {
    until: Option<Instant>,
    /// The statement waits only for a definition of what is kept up to date row by row: the server needs longer for such a query.
    for_kept: bool,
}

impl Patience {
    pub(super) fn of(session: &Session) -> Self {
        let wait = session.state.locals.fill_wait(&session.shared.globals);
        let for_kept = wait.is_zero() && session.shared.created.are_there();
        let wait = if for_kept { DEFINED_WITHIN } else { wait };
        let waits = !wait.is_zero() && session.state.tx.surely_autocommits();
        Self { until: waits.then(|| Instant::now() + wait), for_kept }
    }

    /// Returns until when the statement waits for more than a definition.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.filter(|_| !self.for_kept)
    }

    /// Whether the statement waits at all.
    pub(super) fn is_some(&self) -> bool {
        self.until().is_some()
    }

    /// Resolves the session's doubts. Waits while a definition is under way that a doubt is about.
    pub(super) async fn resolve_doubts(&self, session: &mut Session) {
        session.resolve_doubts().await;
        while !session.state.unproven.is_empty() && self.waits(session).await {
            session.resolve_doubts().await;
        }
    }

    /// Waits a moment if a definition decides about a statement, or will soon. Returns false if none does, or if the wait was long enough.
    pub(super) async fn waits_for_verdict(&self, session: &Session, template: &Template) -> bool {
        let is_open = match template.verdict {
            Cacheability::Cache => false,
            Cacheability::Never(_) => session.shared.upstream.is_changing(&template.told),
            Cacheability::NotNow(_) => true,
        };
        is_open && self.waits_for_definition(session, template).await
    }

    /// Waits a moment for the definitions of the tables that a statement reads. Returns false if the wait was long enough.
    pub(super) async fn waits_for_definition(&self, session: &Session, template: &Template) -> bool {
        if !self.for_kept {
            return self.waits(session).await;
        }
        let cache = session.shared.created.of(template.query.id);
        let cache = cache.filter(|cache| cache.may_be_maintained() && !cache.waits_in_vain());
        let Some(cache) = cache.filter(|_| self.until.is_some()) else { return false };
        let goes_on = self.waits_until(session).await;
        if !goes_on {
            cache.note_in_vain(IN_VAIN_MS);
        }
        goes_on
    }

    /// Waits a moment. Returns false if the wait was long enough.
    pub(super) async fn waits(&self, session: &Session) -> bool {
        !self.for_kept && self.waits_until(session).await
    }

    async fn waits_until(&self, session: &Session) -> bool {
        let goes_on = self.until.is_some_and(|until| Instant::now() < until);
        if goes_on {
            session.shared.upstream.ask_probe();
            tokio::time::sleep(FILL_LOOKED_AT_EVERY).await;
        }
        goes_on
    }
}

/// Whether an answer may be stored.
pub(super) enum Fillable {
    /// The answer may be stored.
    Surely(FillPlan),
    /// The answer may be stored once a write is known to be visible or a definition is known. Storing is useless if that write concerns it.
    Perhaps(Result<FillPlan, Why>),
    /// The answer may not be stored.
    Never(Why),
}

/// Whether the answer that is now asked for may be stored. `valid_from` is read before anything else: the definitions that
/// the verdict rests on must be known to be the current ones *after* it. `depends` returns the answer's dependencies.
pub(super) fn plan(
    session: &Session,
    template: &Template,
    unfound: Unfound,
    depends: impl FnOnce(Behind<'_>) -> Depends,
) -> Fillable {
    let Some(valid_from) = session.valid_from() else { return Fillable::Never(Why::Transaction) };
    plan_from(session, template, unfound, valid_from, depends)
}

/// Like [`plan`], for an answer that is valid from `valid_from`.
pub(super) fn plan_from(
    session: &Session,
    template: &Template,
    unfound: Unfound,
    valid_from: Position,
    depends: impl FnOnce(Behind<'_>) -> Depends,
) -> Fillable {
    let shared = &session.shared;
    let freshness = shared.freshness();
    if !session.has_keys_of_its_rights() {
        return Fillable::Never(Why::ChangedMeanwhile);
    }
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
    let created = || {
        let cache = shared.created.of(template.query.id).filter(|cache| cache.options.policy.is_none());
        let (cache, rights) = cache.zip(shared.upstream.rights_epoch())?;
        let tables = template.tables.known.iter().map(|named| Arc::clone(&named.info)).collect();
        Some(Box::new(Creates { cache, rights, tables }))
    };
    let plan = |depends| FillPlan {
        environment: unfound.key,
        depends,
        valid_from,
        warnings: 0,
        leader: None,
        created: created(),
        is_settled: false,
        tells_of_view: template.shows_rows_read && session.reads_show_view(),
    };
    match freshness.check(&depends.deps, valid_from, Fences::Refuse) {
        Verdict::Servable => Fillable::Surely(plan(depends)),
        // A write is under way that may concern this answer. If the write does concern it, the write's stamp is above `valid_from`,
        // whether the answer shows the write or not. An answer that is stored already has the same fate.
        Verdict::Fenced if unfound.missed.fenced => Fillable::Perhaps(Err(Why::WriteUnderWay)),
        Verdict::Fenced => Fillable::Perhaps(Ok(plan(depends))),
        Verdict::Stale => {
            // The last change is not yet known to be visible: this answer could not be kept, the next one can.
            shared.upstream.ask_probe();
            shared.counters.add(Count::Unsettled);
            Fillable::Perhaps(Err(Why::Unsettled))
        }
    }
}

/// Like [`plan`], for a SELECT as text, with the warnings of the text in the plan.
pub(super) fn plan_of_text(
    session: &Session,
    text: &[u8],
    bound: &BoundSelect<'_>,
    unfound: Unfound,
) -> Fillable {
    let Some(valid_from) = session.valid_from() else { return Fillable::Never(Why::Transaction) };
    plan_of_text_from(session, text, bound, unfound, valid_from)
}

/// Like [`plan_of_text`], for an answer that is valid from `valid_from`.
pub(super) fn plan_of_text_from(
    session: &Session,
    text: &[u8],
    bound: &BoundSelect<'_>,
    unfound: Unfound,
    valid_from: Position,
) -> Fillable {
    let template = bound.template();
    let depends = |behind: Behind<'_>| {
        let statement = StatementText { tokens: bound.tokens(), ..statement(session, text) };
        deps_of_reading(statement, &template.tables, bound.plan(statement), behind)
    };
    let warned = |plan| FillPlan { warnings: session.warnings_of(bound.compiled.deprecations), ..plan };
    match plan_from(session, template, unfound, valid_from, depends) {
        Fillable::Surely(plan) => Fillable::Surely(warned(plan)),
        Fillable::Perhaps(plan) => Fillable::Perhaps(plan.map(warned)),
        Fillable::Never(why) => Fillable::Never(why),
    }
}

/// Returns the dependency on the rights by which the tables are read. A view also uses the rights of its definer.
pub(super) fn rights(session: &Session, template: &Template) -> Dep {
    let user = session.environment().and_then(|environment| environment.sole_user.as_deref());
    match user {
        Some(user) if template.tables.below.is_empty() && template.tables.are_all_base() => {
            session.shared.freshness().account(user)
        }
        _ => Dep::ACCOUNTS,
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
    let started = Instant::now();
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
    let found = found_rows(session, returns_what_it_finds(sought.key_text), &relayed);
    let mut brought = Brought { relayed, took: started.elapsed(), storing };
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
    let stored = match relayed.captured.take() {
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
        leader.ends_with(if stored == Insert::Stale { QuestionState::Outrun } else { QuestionState::Over });
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
