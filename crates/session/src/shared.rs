//! The state that all sessions share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ahash::HashMap;
use freshet_cache::{Cache, Dep, Fence, Freshness};
use freshet_follow::Upstream;
use freshet_protocol::{Greeting, StatusFlags};
use freshet_rules::{Defaults, Rule, RuleError};
use tokio::sync::Notify;

use crate::auth::Gate;
use crate::bounds::Bounds;
use crate::coalescing::Coalescing;
use crate::counters::{Count, Counters};
use crate::created::CreatedCaches;
use crate::environment::{Environments, VectorQuery, environment_of};
use crate::fences::Sources;
use crate::full::FullServer;
use crate::introspection::QueryEngine;
use crate::known_settings::KnownSettings;
use crate::level::{Level, SemisyncMode};
use crate::maintaining::{CopiedTables, Maintaining};
use crate::persisted::Persisted;
use crate::powerless::Powerless;
use crate::preparations::{Preparation, Preparations};
use crate::query_log::QueryLog;
use crate::reading::Readers;
use crate::registry::{Ending, Handle, Process, Registry};
use crate::rules::Rules;
use crate::settling::Settling;
use crate::shown_settings::KnownAnswers;
use crate::statistics::{CommandRow, DigestRow, DigestStatistics, ErrorRow};
use crate::template::Templates;
use crate::variables::Globals;

/// The settings of sessions.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// How many clients may be connected at once; a further one gets error 1040.
    pub clients_max: usize,
    /// How long a client may be silent outside of a transaction or within; then it is disconnected.
    pub idle_max: Duration,
    /// Whether the server's commits wait for Freshet.
    pub semisync: SemisyncMode,
    /// The directory of SET PERSIST; `None`: values are not persisted.
    pub state_dir: Option<PathBuf>,
    /// The directory of CREATE CACHE; `None`: caches are not kept over restarts.
    pub caches_dir: Option<PathBuf>,
    /// How many bytes copies of rows, and results that are kept up to date with them, may take.
    pub maintained_cache_size: usize,
    /// How often a maintained result is compared with the server's; 0: never.
    pub maintained_check_interval: Duration,
    /// How many caches Freshet creates by itself, at most; 0: none.
    pub automatic_caches: usize,
    /// How often Freshet checks which caches would pay.
    pub automatic_caches_interval: Duration,
    /// Which tables may be copied.
    pub copied_tables: CopiedTables,
    /// Whether statements are counted by their digests.
    pub counts_digests: bool,
    /// Whether reads of several sessions share one connection.
    pub multiplexing: Multiplexing,
    /// The query engine for the tables of the schema `freshet`; `None`: there is no such schema.
    pub engine: Option<QueryEngine>,
}

/// When reads of several sessions share one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiplexing {
    /// Never: each client's statements go over a connection of its own.
    Off,
    /// Quick reads share, while several are with the server.
    #[default]
    On,
    /// All reads that may share do so, even without a gain: so that tests of a few clients see it.
    Always,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            clients_max: 10_000,
            idle_max: Duration::from_secs(28_800),
            semisync: SemisyncMode::default(),
            state_dir: None,
            caches_dir: None,
            maintained_cache_size: 1 << 30,
            maintained_check_interval: Duration::from_secs(60),
            automatic_caches: 0,
            automatic_caches_interval: Duration::from_secs(10),
            copied_tables: CopiedTables::default(),
            counts_digests: false,
            multiplexing: Multiplexing::default(),
            engine: None,
        }
    }
}

/// The counts of connections to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerConnections {
    /// Clients that have a connection now.
    pub used: usize,
    /// The most clients that had one at once.
    pub most_used: usize,
    /// Connections that are kept for the next login of their users.
    pub free: usize,
    /// Connections that were opened since the start.
    pub opened: u64,
    /// Connections that could not be opened.
    pub failed: u64,
    /// Commands that were sent.
    pub commands: u64,
    /// The bytes of these commands.
    pub bytes_sent: u64,
    /// The bytes of the answers.
    pub bytes_received: u64,
}

/// A SELECT that was prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedRow {
    /// The default schema of the preparation.
    pub schema: String,
    /// The account.
    pub account: String,
    /// The statement.
    pub text: String,
    /// How many columns the answers have.
    pub columns: usize,
    /// How many parameters the statement has.
    pub parameters: usize,
    /// About how many statements of sessions use this preparation.
    pub sessions: usize,
}

/// The state that all sessions share.
pub struct Shared {
    /// Logins.
    pub gate: Gate,
    /// The upstream server.
    pub upstream: Upstream,
    /// The results.
    pub cache: Arc<Cache>,
    /// The variables' global values.
    pub globals: Globals,
    /// The settings.
    pub options: SessionOptions,
    pub(crate) persisted: Persisted,
    pub(crate) templates: Templates,
    pub(crate) preparations: Preparations,
    pub(crate) readers: Readers,
    pub(crate) environments: Environments,
    /// What SETs and USEs do.
    pub(crate) settings: KnownSettings,
    pub(crate) shown_settings: KnownAnswers,
    pub(crate) registry: Arc<Registry>,
    /// Whether the server has connections left.
    pub(crate) full: Arc<FullServer>,
    pub(crate) powerless: Powerless,
    pub(crate) counters: Counters,
    pub(crate) coalescing: Arc<Coalescing>,
    /// The created caches.
    pub(crate) created: Arc<CreatedCaches>,
    /// Notified when there is a first created cache.
    pub(crate) refreshes: Notify,
    /// The handle to the keeper.
    pub(crate) maintaining: Maintaining,
    pub(crate) settling: Settling,
    pub(crate) rules: Rules,
    /// The counts by digest, if they are wanted.
    pub(crate) statistics: Option<DigestStatistics>,
    /// Notified when the cache's size has changed.
    pub(crate) resized: Notify,
    clients: AtomicUsize,
    wlocks: AtomicUsize,
    draining: AtomicBool,
    writes_unlogged: AtomicBool,
    /// A client has asked for the GTID of its last write.
    pub(crate) asks_for_gtids: AtomicBool,
    /// How many given-up connections wait in the pools.
    pub(crate) pooled: Arc<AtomicUsize>,
    vectors: RwLock<HashMap<Vec<u8>, Arc<VectorQuery>>>,
}

impl Shared {
    /// Puts together the parts.
    pub fn new(gate: Gate, upstream: Upstream, cache: Arc<Cache>, options: SessionOptions) -> Self {
        let registry = Arc::new(Registry::default());
        let is_shared = options.multiplexing != Multiplexing::Off;
        let full = Arc::new(FullServer::new(Arc::clone(&registry), is_shared));
        gate.heeds(Arc::clone(&full));
        Self {
            gate,
            upstream,
            cache,
            globals: Globals::default(),
            persisted: Persisted::new(options.state_dir.clone()),
            created: Arc::new(CreatedCaches::new(options.caches_dir.clone())),
            refreshes: Notify::new(),
            maintaining: Maintaining::default(),
            statistics: options.counts_digests.then(DigestStatistics::default),
            options,
            templates: Templates::default(),
            preparations: Preparations::default(),
            readers: Readers::default(),
            environments: Environments::default(),
            settings: KnownSettings::default(),
            shown_settings: KnownAnswers::default(),
            registry,
            full,
            powerless: Powerless::default(),
            counters: Counters::default(),
            coalescing: Arc::default(),
            settling: Settling::default(),
            rules: Rules::default(),
            resized: Notify::new(),
            clients: AtomicUsize::new(0),
            wlocks: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            writes_unlogged: AtomicBool::new(false),
            asks_for_gtids: AtomicBool::new(false),
            pooled: Arc::default(),
            vectors: RwLock::default(),
        }
    }

    /// Returns the counts by digest, if they are wanted. `resets`: they start from 0 again.
    pub fn digests(&self, resets: bool) -> Vec<DigestRow> {
        self.statistics.as_ref().map(|statistics| statistics.rows(resets)).unwrap_or_default()
    }

    /// Returns the counts of connections to the server. `resets`: the most at once counts from now on.
    pub fn server_connections(&self, resets: bool) -> ServerConnections {
        let (used, most_used) = self.registry.connected().read(resets);
        let dials = self.gate.dials();
        ServerConnections {
            used,
            most_used,
            free: self.gate.spares() + self.pooled.load(Ordering::Relaxed),
            opened: dials.answered.load(Ordering::Relaxed),
            failed: dials.failed.load(Ordering::Relaxed),
            commands: self.counters.sum(Count::Forwarded),
            bytes_sent: self.counters.sum(Count::BytesSent),
            bytes_received: self.counters.sum(Count::BytesReceived),
        }
    }

    /// Returns the server's errors, if they are counted. `resets`: they are forgotten.
    pub fn errors(&self, resets: bool) -> Vec<ErrorRow> {
        self.statistics.as_ref().map(|statistics| statistics.errors(resets)).unwrap_or_default()
    }

    /// Returns the SELECTs whose preparations are stored.
    pub fn prepared_statements(&self) -> Vec<PreparedRow> {
        let known = self.environments.all();
        let row = |(environment, preparation): (u32, Arc<Preparation>)| {
            let environment = known.get(&environment_of(environment))?;
            Some(PreparedRow {
                schema: environment.schema.clone().unwrap_or_default(),
                account: String::from_utf8_lossy(&environment.account).into_owned(),
                text: String::from_utf8_lossy(&preparation.text).into_owned(),
                columns: preparation.columns(),
                parameters: preparation.parameters,
                // The stored preparation itself holds one.
                sessions: Arc::strong_count(&preparation.compiled).saturating_sub(1),
            })
        };
        self.preparations.all().into_iter().filter_map(row).collect()
    }

    /// Returns how many preparations are stored.
    pub(crate) fn prepared_count(&self) -> usize {
        self.preparations.count()
    }

    /// Returns how many bytes the buffers of packets from clients, of answers to them, and of copies for the cache hold now.
    pub fn buffers(&self) -> [u64; 3] {
        let bounds = self.bounds();
        [&bounds.receive, &bounds.send, &bounds.fill].map(|budget| budget.used() as u64)
    }

    /// Returns the connections to the server that nobody uses: the last user of each, and for how many milliseconds it has been unused.
    pub fn free_connections(&self) -> Vec<(String, u64)> {
        self.gate.spare_connections()
    }

    /// Returns the counts by command, if they are wanted.
    pub fn commands(&self) -> Vec<CommandRow> {
        self.statistics.as_ref().map(DigestStatistics::commands).unwrap_or_default()
    }

    /// Replaces the query rules by these, for commands that begin from now on.
    ///
    /// # Errors
    /// The first rule that cannot be carried out; the earlier rules stay.
    pub fn load_rules(&self, rules: Vec<Rule>, defaults: Defaults) -> Result<(), RuleError> {
        let digests = defaults.digests;
        if self.rules.load(rules, defaults)? {
            // Sessions check their keys again.
            self.globals.changed();
        }
        if let Some(statistics) = &self.statistics
            && statistics.normalise(digests)
        {
            // Stored answers are counted under their earlier digests.
            self.cache.clear();
        }
        Ok(())
    }

    /// Returns the log for statements whose rules ask for it.
    pub fn query_log(&self) -> &QueryLog {
        &self.rules.log
    }

    /// Returns the query rules, by their numbers, with how often each was met.
    pub fn rule_hits(&self) -> Vec<(i64, u64)> {
        let counted = self.statistics.as_ref().map(DigestStatistics::outcomes).unwrap_or_default();
        self.rules.set().map(|set| set.hits(&counted)).unwrap_or_default()
    }

    /// Returns the connected clients.
    pub fn processes(&self) -> Vec<Process> {
        self.registry.processes(freshet_upstream::now_ms())
    }

    /// How many clients are connected.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Asks every session to end as soon as it is between two transactions.
    pub fn drain(&self) {
        // Set before the walk over the registry: a session that is added later sees it.
        self.draining.store(true, Ordering::SeqCst);
        self.registry.drain();
    }

    /// Disconnects clients that have been silent for too long. Called about once a second.
    pub fn end_idle(&self) {
        let idle_max_ms = u64::try_from(self.options.idle_max.as_millis()).unwrap_or(u64::MAX);
        self.registry.end_idle(freshet_upstream::now_ms(), idle_max_ms);
    }

    /// Has sessions with silent clients give up what they do not use: buffers, and connections if many sessions have one. Called several
    /// times a second.
    pub fn rest_idle(&self) {
        let after_ms =
            if self.may_rest() && self.are_many_connected() { REST_OF_MANY_AFTER_MS } else { REST_AFTER_MS };
        self.registry.rest(freshet_upstream::now_ms(), after_ms, false);
    }

    /// Whether sessions give up connections only because they do not use them at the moment.
    pub(crate) fn may_rest(&self) -> bool {
        match self.options.multiplexing {
            Multiplexing::Off => false,
            Multiplexing::Always => true,
            Multiplexing::On => self.registry.connected().read(false).0 > CONNECTED_MAX || self.full.is_now(),
        }
    }

    /// Whether so many sessions have a connection that the next one should do without.
    pub(crate) fn are_many_connected(&self) -> bool {
        self.registry.connected().read(false).0 > MANY
    }

    /// Gives memory back when the cache's size has gone down, for ever: in small steps, so that hits go on meanwhile.
    pub async fn keep_to_size(&self) {
        loop {
            self.resized.notified().await;
            while self.cache.trim() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Changes the size of the cache: at once for what is to be stored, and for the little that one step evicts; soon for the
    /// rest of what is stored.
    pub fn resize_cache(&self, bytes: usize) {
        resize(&self.cache, &self.resized, bytes);
    }

    /// Takes over the server's greeting, once the follower has met the server, so that the first client is greeted
    /// without a connection of its own.
    pub fn greet_as_server(&self) {
        if let Some(server) = self.upstream.server() {
            self.gate.remember_greeting(&Greeting {
                server_version: server.version_text.clone(),
                connection_id: 0,
                scramble: [0; 20],
                capabilities: server.capabilities,
                collation: server.collation,
                status: StatusFlags::AUTOCOMMIT,
                auth_plugin: server.auth_plugin.clone(),
            });
        }
    }

    /// Tells the follower whether commits are to wait for Freshet, by the global level.
    pub(crate) fn ask_for_semisync(&self) {
        let global = Level::numbered(usize::from(self.globals.freshness.load(Ordering::Relaxed)));
        self.upstream.want_semisync(self.options.semisync.wants(global));
    }

    /// Bars all sessions from results with these dependencies, for `query_cache_wlock_invalidate`, until the value is dropped.
    pub(crate) fn wlock(self: &Arc<Self>, deps: Vec<Dep>) -> Wlock {
        let fence = self.freshness().fence(deps);
        self.wlocks.fetch_add(1, Ordering::SeqCst);
        Wlock { shared: Arc::clone(self), _fence: fence }
    }

    /// Whether any session holds a [`Wlock`], whose fence no level ignores.
    pub(crate) fn is_wlocked(&self) -> bool {
        self.wlocks.load(Ordering::Acquire) != 0
    }

    /// Notes that a session's writes may be in no binlog.
    pub(crate) fn expect_unlogged_writes(&self) {
        if !self.writes_unlogged.load(Ordering::Relaxed) {
            self.writes_unlogged.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a session's writes have ever been kept out of the binlog, as far as is known.
    pub(crate) fn writes_unlogged(&self) -> bool {
        self.writes_unlogged.load(Ordering::SeqCst)
    }

    pub(crate) fn freshness(&self) -> &Arc<Freshness> {
        self.cache.freshness()
    }

    /// Returns where definitions are looked up.
    pub(crate) fn sources(&self) -> Sources<'_> {
        Sources { freshness: self.freshness(), upstream: &self.upstream }
    }

    /// Registers a session under its id. If all sessions are being ended, ends it too.
    pub(crate) fn register(&self, id: u32, handle: &Arc<Handle>) {
        self.registry.add(id, handle);
        if self.draining.load(Ordering::SeqCst) {
            handle.end(Ending::Drain);
        }
    }

    /// Returns the bounds of clients in memory and time.
    pub(crate) fn bounds(&self) -> &Arc<Bounds> {
        self.gate.bounds()
    }

    /// Returns a place for one more client, unless all are taken.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<ClientPlace> {
        let taken = self.clients.fetch_add(1, Ordering::Relaxed);
        let place = ClientPlace(Arc::clone(self));
        (taken < self.options.clients_max).then_some(place)
    }

    /// Returns the query for environments of a server of this version.
    pub(crate) fn vector(&self, version: &[u8]) -> Option<Arc<VectorQuery>> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner).get(version).cloned()
    }

    pub(crate) fn remember_vector(&self, version: &[u8], query: VectorQuery) -> Arc<VectorQuery> {
        let query = Arc::new(query);
        let mut vectors = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        if vectors.len() >= VERSIONS_MAX {
            vectors.clear();
        }
        vectors.insert(version.to_vec(), Arc::clone(&query));
        query
    }
}

/// Does the work of [`Shared::resize_cache`] for callers that have only these two.
pub(crate) fn resize(cache: &Cache, resized: &Notify, bytes: usize) {
    cache.resize(bytes);
    if cache.trim() {
        resized.notify_one();
    }
}

/// How many server versions are remembered: one, and a few more across upgrades.
const VERSIONS_MAX: usize = 16;
/// If more sessions than this have a connection, each gives its own up as soon as it does not use it.
const CONNECTED_MAX: usize = 16;
/// A session also gives its connection up when its client has been silent for this long, in milliseconds.
const REST_AFTER_MS: u64 = 1_000;
/// The same time if more sessions than `MANY` have one. Then reads are carried by lanes too, although nobody else waits for the server.
const REST_OF_MANY_AFTER_MS: u64 = 200;
const MANY: usize = 64;

/// Bars all sessions from answers from memory while this value lives.
pub(crate) struct Wlock {
    shared: Arc<Shared>,
    _fence: Fence,
}

impl Drop for Wlock {
    fn drop(&mut self) {
        self.shared.wlocks.fetch_sub(1, Ordering::Release);
    }
}

impl std::fmt::Debug for Wlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wlock")
    }
}

/// A client's place, which is free again when the value is dropped.
pub(crate) struct ClientPlace(Arc<Shared>);

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
