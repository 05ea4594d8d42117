//! The state that the follower's thread and the sessions share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Fence, Freshness, Position};
use freshet_catalog::rows::Watches;
use freshet_catalog::{
    Catalog, CatalogError, Changed, ColumnInfo, Defined, Descendants, Name, Routine, TableInfo,
};
use freshet_sql::RoutineKind;
use freshet_upstream::server::Concerns;
use freshet_upstream::{Error, Rows, ServerInfo, UpstreamConfig, now_ms};
use tokio::sync::{Notify, oneshot};
use tracing::debug;

use crate::applier::{ChangeSink, DefinitionSource, StreamChange, TransactionEnd};
use crate::feed::Feed;
use crate::looks::Looks;
use crate::proven::Proofs;
use crate::rights::{Harmless, Regranted};
use crate::rights_news::{RightsNews, RightsTaken};
use crate::settle::{Settling, WriteOutcome};
use crate::status::{FollowState, FollowStatus};
use crate::written::ChangeCounts;

/// A question of a session to the control connection, and the receiver of the answer.
pub(crate) enum Ask {
    /// The definition of a table.
    Table(Name, oneshot::Sender<Result<Arc<TableInfo>, CatalogError>>),
    /// What a routine does.
    Routine((RoutineKind, Name), oneshot::Sender<Result<Arc<Routine>, CatalogError>>),
    /// A statement.
    Sql(String, oneshot::Sender<Result<Rows, Error>>),
}

/// The most questions that wait for the control connection at once; at this bound the askers wait for room.
pub(crate) const ASKS_MAX: usize = 1_024;

/// The shared state: one for each followed server, in an `Arc`.
pub(crate) struct Following {
    pub(crate) config: Arc<UpstreamConfig>,
    pub(crate) freshness: Arc<Freshness>,
    pub(crate) catalog: Catalog,
    pub(crate) watches: Arc<Watches>,
    pub(crate) settling: Settling<Fence>,
    pub(crate) counters: StreamCounters,
    pub(crate) proven: Proofs,
    pub(crate) looks: Looks,
    pub(crate) feed: Feed,
    pub(crate) written: ChangeCounts,
    /// How many changes were made that no binlog tells of.
    unlogged: AtomicU64,
    server: RwLock<Option<Arc<ServerInfo>>>,
    accounts_epoch: AtomicU64,
    /// The statements on accounts of which the stream has told, as far as the server counts them too.
    accounts_told: AtomicU64,
    pub(crate) rights: RightsNews,
    pub(crate) harmless: Harmless,
    globals_epoch: AtomicU64,
    /// A session needs `visible` to be newer than it is.
    probe_asked: AtomicBool,
    /// Wakes the prober.
    pub(crate) prober: Notify,
    /// Wakes the control loop: changes that no binlog tells of have to be looked for.
    pub(crate) around: Notify,
    /// Wakes the control loop: the foreign keys have to be read again.
    pub(crate) definitions: Notify,
    state: Mutex<StreamStanding>,
    /// Wakes those that wait for another state.
    pub(crate) stands: Notify,
}

/// Counters for the status; only the follower's thread writes them.
#[derive(Default)]
pub(crate) struct StreamCounters {
    pub(crate) generations: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) probes: AtomicU64,
    pub(crate) lag_ms: AtomicU64,
    pub(crate) offset: AtomicU64,
}

impl StreamCounters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

struct StreamStanding {
    state: FollowState,
    file: String,
}

impl Following {
    pub(crate) fn new(config: UpstreamConfig, freshness: Arc<Freshness>) -> Self {
        let catalog = Catalog::new(Arc::clone(&freshness));
        let (fencing, define) = (Arc::clone(&freshness), catalog.definer());
        let (publishing, judging) = (Arc::clone(&freshness), Arc::clone(&freshness));
        let proven = Proofs::new(config.semisync);
        let judged = Arc::clone(proven.passed());
        // The fences that are exchanged for it may be those of definitions.
        let on_everything = move || {
            let definition = define(Defined::Everything);
            fencing.fence(vec![Dep::EVERYTHING, Dep::DEFINITIONS]).holding(definition)
        };
        Self {
            proven,
            looks: Looks::default(),
            feed: Feed::default(),
            written: ChangeCounts::default(),
            unlogged: AtomicU64::new(0),
            config: Arc::new(config),
            catalog,
            watches: Arc::new(Watches::new(Arc::clone(&freshness))),
            settling: Settling::new(
                on_everything,
                move |at| publishing.publish_visible(at),
                move |owners| {
                    judging.publish_owners(owners.judged, owners.foreign);
                    judged.notify_waiters();
                },
            ),
            freshness,
            counters: StreamCounters::default(),
            server: RwLock::new(None),
            accounts_epoch: AtomicU64::new(0),
            accounts_told: AtomicU64::new(0),
            rights: RightsNews::default(),
            harmless: Harmless::default(),
            globals_epoch: AtomicU64::new(0),
            probe_asked: AtomicBool::new(false),
            prober: Notify::new(),
            around: Notify::new(),
            definitions: Notify::new(),
            state: Mutex::new(StreamStanding {
                state: FollowState::Connecting { why: String::new() },
                file: String::new(),
            }),
            stands: Notify::new(),
        }
    }

    pub(crate) fn server(&self) -> Option<Arc<ServerInfo>> {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_server(&self, server: Arc<ServerInfo>) {
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    pub(crate) fn accounts_epoch(&self) -> u64 {
        self.accounts_epoch.load(Ordering::Acquire)
    }

    pub(crate) fn accounts_changed(&self) {
        self.accounts_epoch.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn accounts_told(&self) -> u64 {
        self.accounts_told.load(Ordering::Acquire)
    }

    pub(crate) fn globals_epoch(&self) -> u64 {
        self.globals_epoch.load(Ordering::Acquire)
    }

    /// Takes in what the global variables concern that were seen to have changed.
    pub(crate) fn globals_changed(&self, concerns: Option<Concerns>) {
        match concerns {
            None => return,
            Some(Concerns::Logins) => {}
            Some(Concerns::Results | Concerns::Unknown) => {
                self.rights.changed();
                self.changed_unlogged(&[Dep::EVERYTHING]);
            }
        }
        self.globals_epoch.fetch_add(1, Ordering::Release);
    }

    /// Takes in whose rights were seen to have changed. The stream may have told of it.
    pub(crate) fn regranted(&self, regranted: Regranted) {
        let users = match &regranted {
            Regranted::Nobody => return,
            Regranted::Users(users) | Regranted::Told(users) => Some(users.as_slice()),
            Regranted::Anybody => None,
        };
        debug!(users = users.map(<[String]>::len), "rights have changed");
        if !matches!(regranted, Regranted::Told(_)) {
            // Before the stamps: results that are read by the old rights and stored until then are below the stamps. A login from here on
            // does not have these rights.
            let taken = RightsTaken::from_users(users.map(<[String]>::to_vec));
            self.rights_were_taken(&taken, self.freshness.next());
        }
        self.rights.changed();
        let own = users.unwrap_or_default().iter().map(|user| self.freshness.account(user));
        let wide = if users.is_some() { Dep::ACCOUNTS } else { Dep::EVERYTHING };
        self.changed_unlogged(&own.chain([wide]).collect::<Vec<_>>());
        self.accounts_changed();
    }

    /// Notes that rights may have been taken at this position.
    pub(crate) fn rights_were_taken(&self, taken: &RightsTaken, at: Position) {
        match taken {
            RightsTaken::FromNobody => {}
            RightsTaken::FromAnybody => self.rights.taken_from_anybody(at),
            RightsTaken::FromUsers(users) => {
                self.rights.taken(at);
                users.iter().for_each(|user| self.freshness.stamp(self.freshness.taken_from(user), at));
            }
        }
    }

    /// Notes that everything may have changed of which no binlog tells.
    pub(crate) fn anything_changed(&self) {
        self.accounts_changed();
        self.rights_were_taken(&RightsTaken::FromAnybody, self.freshness.next());
        self.globals_changed(Some(Concerns::Unknown));
    }

    /// Asks for a probe. The exchange comes before the wake-up, so that of many askers only one wakes the prober.
    pub(crate) fn ask_probe(&self) {
        if !self.probe_asked.swap(true, Ordering::AcqRel) {
            self.prober.notify_one();
        }
    }

    /// Whether a probe was asked for since the last call. The next call reports a later question.
    pub(crate) fn take_probe_asked(&self) -> bool {
        self.probe_asked.swap(false, Ordering::AcqRel)
    }

    /// As [`Self::ask_probe`], for the proof that the applied state is recent.
    pub(crate) fn ask_current(&self) {
        if self.proven.ask() {
            self.prober.notify_one();
            self.around.notify_one();
        }
    }

    /// As [`Self::ask_probe`], for a question for the end of the binlog that is asked after this call.
    pub(crate) fn ask_end(&self) {
        if self.proven.ask_end() {
            self.prober.notify_one();
        }
    }

    pub(crate) fn want_semisync(&self, wanted: bool) {
        if self.proven.wants_semisync() != wanted {
            self.proven.want_semisync(wanted);
            self.prober.notify_one();
        }
    }

    /// See [`Freshness::stamp_unlogged`]. The stream makes its step in the prober's turn.
    pub(crate) fn changed_unlogged(&self, deps: &[Dep]) {
        // Before the stamps: a session that finds no new change here after it has read a position is below the stamps.
        self.unlogged.fetch_add(1, Ordering::SeqCst);
        self.freshness.stamp_unlogged(deps);
        self.prober.notify_one();
    }

    /// Returns the number of such changes.
    pub(crate) fn unlogged_count(&self) -> u64 {
        self.unlogged.load(Ordering::SeqCst)
    }

    /// Publishes the server's word that every snapshot from now on contains everything up to `at`.
    pub(crate) fn publish_visible(&self, at: Position) {
        self.freshness.publish_visible(at);
        self.settling.seen(at);
    }

    pub(crate) fn settle(&self, fence: Fence, outcome: WriteOutcome) {
        if sabotage::is(Sabotage::EarlyLift) {
            return drop(fence);
        }
        let is_unknown = matches!(outcome, WriteOutcome::Unknown { .. });
        if self.settling.settle(fence, outcome, now_ms()) || is_unknown {
            self.prober.notify_one();
        }
    }

    pub(crate) fn set_state(&self, state: FollowState) {
        self.state().state = state;
        self.stands.notify_waiters();
    }

    pub(crate) fn set_file(&self, file: &[u8]) {
        self.state().file = String::from_utf8_lossy(file).into_owned();
    }

    pub(crate) fn live_generation(&self) -> Option<u64> {
        let is_live = self.freshness.is_live(now_ms());
        is_live.then(|| self.counters.generations.load(Ordering::Relaxed))
    }

    fn state(&self) -> MutexGuard<'_, StreamStanding> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> FollowStatus {
        let (state, file) = {
            let state = self.state();
            (state.state.clone(), state.file.clone())
        };
        let counters = &self.counters;
        FollowStatus {
            state,
            live: self.freshness.is_live(now_ms()),
            applied: self.freshness.applied(),
            visible: self.freshness.visible(),
            file,
            offset: counters.offset.load(Ordering::Relaxed),
            lag_ms: counters.lag_ms.load(Ordering::Relaxed),
            generations: counters.generations.load(Ordering::Relaxed),
            events: counters.events.load(Ordering::Relaxed),
            transactions: counters.transactions.load(Ordering::Relaxed),
            probes: counters.probes.load(Ordering::Relaxed),
            unsettled: u64::try_from(self.settling.len()).unwrap_or(u64::MAX),
        }
    }
}

impl DefinitionSource for Arc<Following> {
    fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>> {
        if sabotage::is(Sabotage::NoCascades) {
            return Some(Arc::default());
        }
        self.catalog.descendants(schema, table)
    }

    fn layout(&self, schema: &str, table: &str, at: Position) -> Option<Arc<[ColumnInfo]>> {
        self.catalog.layout(schema, table, at)
    }
}

/// Brings the news of definitions and accounts to those who keep what they have read of them.
impl ChangeSink for Arc<Following> {
    fn reach(&mut self, _at: Position) {}

    fn change(&mut self, change: &StreamChange<'_>, at: Position) {
        match *change {
            StreamChange::Rows(rows) => self.written.count(rows.table),
            StreamChange::AnyRows(table) | StreamChange::Altered(table, _) => self.written.count(table),
            _ => {}
        }
        if let Some(what) = change.of_definitions() {
            self.catalog.changed(what);
            self.definitions.notify_one();
        }
        if change.concerns_accounts() {
            self.accounts_changed();
            self.rights_were_taken(&self.rights.told(change), at);
            // After it: a session that reads by the rights of the new epoch knows what was taken.
            self.rights.changed();
        }
        if matches!(change, StreamChange::Accounts { is_counted: true, .. }) {
            self.accounts_told.fetch_add(1, Ordering::Release);
        }
    }

    fn ended(&mut self, _ending: TransactionEnd, _at: Position) {}

    fn forget(&mut self, _above: Position) {
        self.catalog.changed(Changed::Everything);
        self.accounts_changed();
    }
}
