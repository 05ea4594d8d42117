//! Refreshing: asking again, in the background, for results of queries with created caches that changes have dropped.
//!
//! The questions go over connections of Freshet's own account. Their sessions are set up like that of the client who asked last. The
//! session state that can change a result is known ([`Environment`]), and is compared before anything is asked. Two facts differ and do not
//! matter. The account and its roles only decide *whether* a statement is answered, and the server has answered it to the client in this
//! epoch of rights. And no statement of a query whose cache is refreshed asks who the user is.
//!
//! The one rule applies to a refreshed result like to any other answer: it has the dependencies of its statement and a `valid_from` that
//! was read before the statement was sent. If changes outrun a result again and again, Freshet asks for it ever more rarely. If nobody
//! reads a result meanwhile, it is left alone until a client asks for it.

mod own;
mod asking;
mod beginning;
mod checking;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Fences, Fill, Insert, Key, Position, Verdict};
use freshet_sql::returns_what_it_finds;
use freshet_upstream::{Error, now_ms};
use tracing::debug;

use self::asking::{Answered, OfCache, RefreshOutcome, answered};
use self::beginning::Beginning;
use self::checking::Checking;
use self::own::OwnSessions;
use crate::created::{CreatedCache, Policy, StoredResult, Tries, Upkeep};
use crate::prefixes::{body_prefix, text_prefix};
use crate::relay::Relayed;
use crate::rows::Depends;
use crate::session::hit::READ_UNFENCED;
use crate::shared::Shared;
use crate::variables::TYPE_OFF;

/// How often Freshet looks for dropped results.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(10);
/// The look takes at most one part in this many of one core.
const LOOKING_SHARE: u32 = 50;
/// The pause after an answer, as a multiple of the server's time for the answer: at most a quarter of one of its cores is used.
const PAUSES_BY_ANSWER: u32 = 3;
/// The longest pause, and the pause before another try if the server cannot be asked.
const PAUSE_MAX: Duration = Duration::from_secs(30);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// How often a result is refreshed that nobody has read meanwhile.
const UNREAD_MAX: u32 = 16;
/// How often the wait of a result doubles at most. It doubles each time that a change has outrun the result.
const DOUBLINGS_MAX: u32 = 8;
/// How long the server may take for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// The most steps of making room that one result is worth.
const ROOM_STEPS_MAX: usize = 256;

/// Refreshes results, for ever.
pub async fn refresh_created(shared: &Shared) {
    let (mut sessions, mut checking) = (OwnSessions::default(), Checking::default());
    let mut beginning = Beginning::default();
    loop {
        if !shared.created.are_there() {
            sessions.clear();
            shared.refreshes.notified().await;
        }
        beginning.go_on(shared).await;
        let began = Instant::now();
        let dropped = dropped(shared);
        let looked = began.elapsed();
        for (cache, result) in dropped {
            let of = OfCache { cache: &cache, result: &result };
            let pause = match refresh(shared, &mut sessions, of).await {
                Ok(took) => (took * PAUSES_BY_ANSWER).min(PAUSE_MAX),
                Err(error) => {
                    debug!(%error, cache = cache.name, "cannot be refreshed now");
                    sessions.clear();
                    PAUSE_AFTER_ERROR
                }
            };
            tokio::time::sleep(pause).await;
        }
        if let Err(error) = checking.go_on(shared, &mut sessions).await {
            debug!(%error, "cannot be checked now");
            sessions.clear();
        }
        tokio::time::sleep(LOOKED_AT_EVERY.max(looked * LOOKING_SHARE)).await;
    }
}

/// Returns the dropped results that may be asked for now.
fn dropped(shared: &Shared) -> Vec<(Arc<CreatedCache>, Arc<StoredResult>)> {
    let (freshness, now) = (shared.freshness(), now_ms());
    let is_off = shared.globals.query_cache_type.load(Ordering::Relaxed) == TYPE_OFF;
    if is_off || !freshness.is_live(now) {
        return Vec::new();
    }
    let is_dropped = |result: &StoredResult| {
        now >= result.tries.not_before_ms
            && freshness.check(&result.deps, result.valid_from, Fences::Refuse) == Verdict::Stale
    };
    // By a policy a result is refreshed at its age, whatever has changed.
    let is_due = |cache: &CreatedCache, result: &StoredResult| match cache.options.policy {
        Some(_) => now >= result.tries.not_before_ms,
        None => is_dropped(result),
    };
    let of_one = |cache: Arc<CreatedCache>| {
        let results = cache.all_results().into_iter().filter(|result| is_due(&cache, result));
        results.map(|result| (Arc::clone(&cache), result)).collect::<Vec<_>>()
    };
    // Results that are made from copies of rows are made when a client asks for them.
    let is_asked_for =
        |cache: &Arc<CreatedCache>| !matches!(cache.upkeep(), Upkeep::Maintained | Upkeep::NotYet(_));
    shared.created.all().into_iter().filter(is_asked_for).flat_map(of_one).collect()
}

/// Refreshes one result. Returns how long the server took.
async fn refresh(shared: &Shared, sessions: &mut OwnSessions, of: OfCache<'_>) -> Result<Duration, Error> {
    let OfCache { cache, result } = of;
    let began = Instant::now();
    let hits = shared.statistics.as_ref().map_or(0, |statistics| statistics.hits_of_tag(result.tag));
    let is_counted = shared.statistics.is_some();
    let unread = if is_counted && hits == result.tries.hits { result.tries.unread + 1 } else { 0 };
    if unread > UNREAD_MAX {
        cache.give_up(result, None);
        return Ok(Duration::ZERO);
    }
    let outcome = tokio::time::timeout(ANSWER_TIMEOUT, ask(shared, sessions, of)).await;
    let took = began.elapsed();
    let tries = Tries { hits, unread, ..result.tries };
    match outcome.map_err(|_| Error::Closed)?? {
        RefreshOutcome::Refreshed(valid_from, deps) => {
            let next = cache.options.policy.map(|policy| Tries::by_policy(policy, took).not_before_ms);
            let tries = Tries { outrun: 0, not_before_ms: next.unwrap_or(0), ..tries };
            cache.renew(StoredResult { valid_from, deps, tries, ..result.clone() });
            cache.note_refreshed();
        }
        RefreshOutcome::Outrun => {
            let waits = took * (1 << result.tries.outrun.min(DOUBLINGS_MAX));
            let waits_ms = u64::try_from(waits.as_millis()).unwrap_or(u64::MAX);
            let tries = Tries {
                outrun: result.tries.outrun + 1,
                not_before_ms: now_ms().saturating_add(waits_ms),
                ..tries
            };
            cache.renew(StoredResult { tries, ..result.clone() });
        }
        RefreshOutcome::NotNow => return Ok(Duration::ZERO),
        RefreshOutcome::GivenUp(why) => cache.give_up(result, Some(why)),
    }
    Ok(took)
}

async fn ask(shared: &Shared, sessions: &mut OwnSessions, of: OfCache<'_>) -> Result<RefreshOutcome, Error> {
    let asked_ms = now_ms();
    Ok(match answered(shared, sessions, of).await? {
        Ok(Answered { valid_from, depends, relayed }) => {
            let rests = match of.cache.options.policy {
                None => Rests::on(shared, valid_from, depends, &relayed),
                Some(policy) => Rests::by(policy, asked_ms),
            };
            store(shared, of.result, rests, relayed).await
        }
        Err(outcome) => outcome,
    })
}

/// The dependencies of an answer, and until when it is given.
struct Rests {
    valid_from: Position,
    deps: Vec<Dep>,
    is_fenced: bool,
    expires_ms: u64,
    refresh_ms: u64,
}

impl Rests {
    /// Returns those of an answer that is given as long as it is fresh.
    fn on(shared: &Shared, valid_from: Position, depends: Depends, relayed: &Relayed) -> Self {
        let absent = depends.absent.map(|(dep, _)| dep);
        let mut all = depends.deps.iter().chain(&absent).chain(&[Dep::EVERYTHING]);
        let is_fenced = all.any(|dep| shared.freshness().is_fenced(*dep));
        let rows = relayed.captured.as_ref().map_or(0, |captured| captured.rows);
        Self { valid_from, deps: depends.with_rows(rows), is_fenced, expires_ms: 0, refresh_ms: 0 }
    }

    /// Returns those of an answer that was asked for at this time, and is given by a policy whatever changes.
    fn by(policy: Policy, asked_ms: u64) -> Self {
        let (expires_ms, refresh_ms) = policy.times(asked_ms);
        Self { valid_from: Position::MAX, deps: Vec::new(), is_fenced: true, expires_ms, refresh_ms }
    }
}

/// Stores an answer.
async fn store(
    shared: &Shared,
    result: &StoredResult,
    Rests { valid_from, deps, is_fenced, expires_ms, refresh_ms }: Rests,
    mut relayed: Relayed,
) -> RefreshOutcome {
    let Some(captured) = relayed.captured.take() else {
        let why = match (relayed.error, relayed.uncaptured) {
            (Some(code), _) => format!("the server answers Freshet's own account with error {code}"),
            (None, Some(why)) => why.said().sentence.to_owned(),
            (None, None) => "there is no answer".to_owned(),
        };
        return RefreshOutcome::GivenUp(why);
    };
    let (cache, key) = (&shared.cache, Key { environment: result.key, text: &result.text });
    let rows = captured.rows;
    let mut status = captured.status;
    status.set(READ_UNFENCED, !is_fenced);
    let fill = Fill {
        valid_from,
        deps: deps.clone(),
        text_prefix: text_prefix(key),
        body_prefix: body_prefix(&captured.body, captured.status_at),
        body: captured.body,
        status_at: captured.status_at,
        status: status.bits(),
        rows,
        cost_us: relayed.took_us,
        tag: result.tag,
        expires_ms,
        refresh_ms,
    };
    for _ in 0..ROOM_STEPS_MAX {
        if !cache.make_room(key, &fill) {
            break;
        }
        tokio::task::yield_now().await;
    }
    match cache.insert(key, fill) {
        Insert::Stored => {
            if result.environment.selects_all && returns_what_it_finds(&result.text) {
                cache.note_found_rows(key, valid_from, u32::try_from(rows).unwrap_or(u32::MAX));
            }
            RefreshOutcome::Refreshed(valid_from, deps)
        }
        Insert::Outdated => RefreshOutcome::Refreshed(valid_from, deps),
        Insert::Stale => RefreshOutcome::Outrun,
        Insert::NotLive => RefreshOutcome::NotNow,
        Insert::TooLarge | Insert::NoRoom | Insert::Off => {
            RefreshOutcome::GivenUp("there is no room for it".to_owned())
        }
    }
}
