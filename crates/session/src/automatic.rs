//! Caches that Freshet creates by itself, for queries whose saved time pays: `automatic_caches`.
//!
//! Freshet measures the time that the server spends on a query because changes have dropped its results. From time to time it looks for the
//! queries that took most of this time. A query that takes a certain share of the time, and that can be maintained, gets a cache. The cache
//! saves the time that the server would have taken for the results that were made from copies. A cache that saves too little for too long
//! is dropped again. A query that did not pay, or cannot be maintained, is left alone for a while, and for longer each time.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ahash::HashMap;
use tracing::{info, warn};

use crate::created::{CacheOptions, CreatedCache, NamedQuery, QueryId, Upkeep};
use crate::maintaining::{KeeperAnswer, question};
use crate::shared::Shared;
use crate::why::Lasts;

/// A query pays if the server has spent at least this many thousandths of the time on it.
const PAYS_PER_MILLE: u64 = 10;
/// A cache has to save at least this many thousandths of the time.
const SAVES_PER_MILLE: u64 = 5;
/// One execution takes the server at least this long: below that, asking costs no more than making the result.
const COST_US_MIN: u64 = 1000;
/// How often the query was asked since the last look, at least.
const SENT_MIN: u64 = 3;
/// How many looks in a row a cache may save too little.
const IDLE_LOOKS_MAX: u32 = 10;
/// For how many looks a query is left alone at first, and how often that number doubles at most.
const PAUSE_LOOKS: u32 = 20;
const DOUBLINGS_MAX: u32 = 10;

/// The facts of a query that are kept from one look to the next.
#[derive(Debug, Default)]
struct QueryHistory {
    sent: u64,
    server_us: u64,
    /// The cache that was created here for the query.
    own: Option<AutomaticCache>,
    /// For how many more looks the query is left alone.
    pause: u32,
    pauses: u32,
}

/// A cache that was created here.
#[derive(Debug)]
struct AutomaticCache {
    /// The server's time for one result, in microseconds.
    cost_us: u64,
    /// How many results had been made from copies at the last look.
    made: u64,
    idle_looks: u32,
    is_loaded: bool,
}

/// The cost of a query since the last look.
struct Measured {
    query: NamedQuery,
    schema: String,
    sent: u64,
    server_us: u64,
    is_stored: bool,
}

#[derive(Default)]
struct Automatic {
    histories: HashMap<QueryId, QueryHistory>,
}

/// Creates and drops such caches, for ever.
pub async fn create_automatically(shared: &Shared) {
    let every = shared.options.automatic_caches_interval;
    if shared.options.automatic_caches == 0 || every.is_zero() {
        return std::future::pending().await;
    }
    let mut automatic = Automatic::default();
    let mut last = Instant::now();
    loop {
        tokio::time::sleep(every).await;
        let passed = last.elapsed();
        last = Instant::now();
        automatic.look(shared, passed).await;
    }
}

impl Automatic {
    async fn look(&mut self, shared: &Shared, passed: Duration) {
        let passed_us = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let measured = self.measured(shared);
        let owned: Vec<QueryId> =
            self.histories.iter().filter(|(_, history)| history.own.is_some()).map(|(id, _)| *id).collect();
        for id in owned {
            self.judge(shared, id, passed_us * SAVES_PER_MILLE / 1000).await;
        }
        self.histories.values_mut().for_each(|history| history.pause = history.pause.saturating_sub(1));
        let pays = |one: &Measured| {
            one.is_stored
                && one.sent >= SENT_MIN
                && one.server_us / one.sent >= COST_US_MIN
                && one.server_us >= passed_us * PAYS_PER_MILLE / 1000
        };
        let mut paying: Vec<Measured> = measured.into_iter().filter(pays).collect();
        paying.sort_by_key(|one| std::cmp::Reverse(one.server_us));
        for one in paying {
            let count = self.histories.values().filter(|history| history.own.is_some()).count();
            let is_left_alone = self.histories.get(&one.query.id).is_some_and(|history| history.pause > 0);
            if count < shared.options.automatic_caches
                && !is_left_alone
                && shared.created.of(one.query.id).is_none()
            {
                self.create(shared, one).await;
            }
        }
    }

    /// Returns the cost of queries since the last look.
    fn measured(&mut self, shared: &Shared) -> Vec<Measured> {
        let rows = shared.statistics.as_ref().map(|statistics| statistics.queries(|_| true));
        let mut all: HashMap<QueryId, Measured> = HashMap::default();
        for row in rows.unwrap_or_default() {
            let Some(query) = row.query else { continue };
            let is_never = row.last.as_ref().is_some_and(|why| why.why.said().lasts == Lasts::Always);
            let measured = all.entry(query.id).or_insert_with(|| Measured {
                query,
                schema: row.schema,
                sent: 0,
                server_us: 0,
                is_stored: true,
            });
            measured.sent += row.sent;
            measured.server_us += row.server_us;
            measured.is_stored &= !is_never;
        }
        // Queries that are not counted any more are forgotten, unless they have a cache.
        self.histories.retain(|id, history| history.own.is_some() || all.contains_key(id));
        let since = |mut measured: Measured| {
            let is_new = !self.histories.contains_key(&measured.query.id);
            let history = self.histories.entry(measured.query.id).or_default();
            let (sent, server_us) = (measured.sent, measured.server_us);
            // The counts from before the first look cover an unknown time.
            measured.sent = if is_new { 0 } else { sent.saturating_sub(history.sent) };
            measured.server_us = if is_new { 0 } else { server_us.saturating_sub(history.server_us) };
            (history.sent, history.server_us) = (sent, server_us);
            measured
        };
        all.into_values().map(since).collect()
    }

    async fn create(&mut self, shared: &Shared, of: Measured) {
        let id = of.query.id;
        if question::of_query(shared, &of.query.text, &of.schema).await.is_err() {
            return self.leave_alone(id);
        }
        let options = CacheOptions { is_automatic: true, ..CacheOptions::default() };
        let cache = CreatedCache::new(of.query.clone(), id.to_string(), &of.schema, options);
        cache.note_upkeep(Upkeep::NotYet("a table is being loaded"));
        if let Err(why) = shared.created.create(cache) {
            warn!(query = &*of.query.text, ?why, "no cache is created");
            return self.leave_alone(id);
        }
        shared.refreshes.notify_one();
        let cost_us = of.server_us / of.sent;
        info!(query = &*of.query.text, cost_us, executions = of.sent, "a cache is created, since it pays");
        self.histories.entry(id).or_default().own =
            Some(AutomaticCache { cost_us, made: 0, idle_looks: 0, is_loaded: false });
        self.load(shared, id).await;
    }

    /// Has the tables of a cache loaded, if they are not; returns false if the cache cannot be maintained.
    async fn load(&mut self, shared: &Shared, id: QueryId) -> bool {
        let Some(cache) = shared.created.of(id) else { return false };
        let Some(own) = self.histories.get_mut(&id).and_then(|history| history.own.as_mut()) else {
            return false;
        };
        if own.is_loaded {
            return !matches!(cache.upkeep(), Upkeep::Refreshed(_));
        }
        let asked = question::of_query(shared, &cache.query.text, &cache.schema);
        let Ok(asked) = asked.await else { return false };
        match shared.maintaining.ask(asked).await {
            KeeperAnswer::Rows(..) | KeeperAnswer::Loaded => {
                own.is_loaded = true;
                cache.note_upkeep(Upkeep::Maintained);
                true
            }
            KeeperAnswer::NotYet(_) => true,
            KeeperAnswer::Never(_) => false,
        }
    }

    /// Checks what a cache has saved, and drops it if that is too little for too long.
    async fn judge(&mut self, shared: &Shared, id: QueryId, saves_us: u64) {
        let cache = shared.created.of(id).filter(|cache| cache.options.is_automatic);
        let Some(cache) = cache else {
            // Somebody has dropped the cache, or has created one for the same query: that is not undone.
            if let Some(history) = self.histories.get_mut(&id) {
                (history.own, history.pause) = (None, u32::MAX);
            }
            return;
        };
        let can_be = self.load(shared, id).await;
        let Some(own) = self.histories.get_mut(&id).and_then(|history| history.own.as_mut()) else { return };
        let made = cache.maintained.load(Ordering::Relaxed);
        let saved_us = made.saturating_sub(own.made).saturating_mul(own.cost_us);
        own.made = made;
        own.idle_looks = if saved_us >= saves_us { 0 } else { own.idle_looks + 1 };
        if can_be && own.idle_looks <= IDLE_LOOKS_MAX {
            return;
        }
        let dropped = shared.created.drop_where(|other| other.query.id == id && other.options.is_automatic);
        info!(query = &*cache.query.text, can_be, ?dropped, "a cache is dropped that does not pay");
        self.leave_alone(id);
    }

    fn leave_alone(&mut self, id: QueryId) {
        let history = self.histories.entry(id).or_default();
        history.own = None;
        history.pause = PAUSE_LOOKS << history.pauses.min(DOUBLINGS_MAX);
        history.pauses += 1;
    }
}
