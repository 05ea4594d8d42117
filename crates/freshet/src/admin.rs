//! The admin port: its sockets, and its view of the rest of the program.

mod digests;
mod eventslog;
mod monitor;
mod shown;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use freshet_admin::{Admin, Purge, Runtime, SqliteValue, StartError, Statistic};
use freshet_rules::{Defaults as RuleDefaults, Rule};
use freshet_session::purge::Purged;
use freshet_session::{Multiplexing, ServerConnections, Shared};
use freshet_upstream::Address;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use self::digests::truth;
use crate::config::Config;
use crate::listen::{Incoming, Listener};

/// The most clients of the admin port at once; a further one is disconnected.
const CLIENTS_MAX: usize = 100;
/// The version of ProxySQL whose tables these are, and ours.
const VERSION: &str = concat!("2.7.0-freshet-", env!("CARGO_PKG_VERSION"));

/// The admin port, as the rest of the program sees it.
pub struct Port {
    listeners: Vec<Listener>,
    sender: mpsc::Sender<Incoming>,
    ended: Arc<Notify>,
}

impl Port {
    /// Opens the tables, listens, and starts the thread. `None`: no admin port is wanted. `paused`: whether new clients are kept out.
    ///
    /// # Errors
    /// The first obstacle.
    pub async fn start(
        config: &Arc<Config>,
        shared: Arc<Shared>,
        paused: watch::Sender<bool>,
    ) -> Result<Option<Port>, PortError> {
        let Some(settings) = &config.admin else { return Ok(None) };
        let ended = Arc::new(Notify::new());
        let ping_us = Arc::new(AtomicU64::new(0));
        let upstream = Arc::clone(shared.upstream.config());
        let behind = Behind {
            shared,
            config: Arc::clone(config),
            started: Instant::now(),
            ended: Arc::clone(&ended),
            paused,
            connections_before: Mutex::default(),
            rules: Mutex::new((Vec::new(), RuleDefaults::default())),
            ping_us: Arc::clone(&ping_us),
            log_name: Mutex::default(),
        };
        let admin =
            Admin::start(&settings.directory, &settings.file, settings.accounts.clone(), Box::new(behind))?;
        let mut listeners = Vec::new();
        for listen in &settings.listen {
            listeners.extend(Listener::bind(listen).await?);
        }
        let (sender, receiver) = mpsc::channel(1);
        std::thread::Builder::new().name("freshet-admin".to_owned()).spawn(move || {
            let admin = Arc::new(Mutex::new(admin));
            let watching = monitor::watch(Arc::clone(&admin), upstream, ping_us);
            run(receiver, watching, admin);
        })?;
        for listener in &listeners {
            tracing::info!(address = %listener.address(), "ready for administration");
        }
        Ok(Some(Port { listeners, sender, ended }))
    }

    /// Lets clients in until one of them ends the program.
    pub async fn accept(self) {
        let mut tasks = tokio::task::JoinSet::new();
        for listener in self.listeners {
            tasks.spawn(crate::listen::accept_into(listener, self.sender.clone()));
        }
        self.ended.notified().await;
    }
}

/// Why the admin port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Its tables.
    #[error(transparent)]
    Tables(#[from] StartError),
    /// Its socket or its thread.
    #[error("the admin port: {0}")]
    System(#[from] io::Error),
}

/// Serves the admin port's clients, on a thread that may wait for disks.
fn run(
    mut receiver: mpsc::Receiver<Incoming>,
    watching: impl Future<Output = ()> + 'static,
    admin: Arc<Mutex<Admin>>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "the admin port has no event loop"),
    };
    runtime.block_on(async move {
        tokio::task::spawn_local(watching);
        let places = Arc::new(Semaphore::new(CLIENTS_MAX));
        let version: Arc<str> = VERSION.into();
        while let Some(incoming) = receiver.recv().await {
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
            let (admin, version) = (Arc::clone(&admin), Arc::clone(&version));
            tokio::task::spawn_local(async move {
                serve(incoming, admin, version).await;
                drop(place);
            });
        }
    });
}

/// Serves one client; one that has left already is not served.
async fn serve(incoming: Incoming, admin: Arc<Mutex<Admin>>, version: Arc<str>) {
    match incoming {
        Incoming::Tcp(stream) => {
            let _ = stream.set_nodelay(true);
            if let Ok(stream) = TcpStream::from_std(stream) {
                let from = stream.peer_addr().map(|from| from.ip().to_string()).unwrap_or_default();
                freshet_admin::serve(stream, admin, version, from).await;
            }
        }
        Incoming::Unix(stream) => {
            if let Ok(stream) = UnixStream::from_std(stream) {
                freshet_admin::serve(stream, admin, version, "localhost".to_owned()).await;
            }
        }
    }
}

/// The running part behind the admin port.
struct Behind {
    shared: Arc<Shared>,
    config: Arc<Config>,
    started: Instant,
    ended: Arc<Notify>,
    paused: watch::Sender<bool>,
    /// The counts of connections to the server at the last reset.
    connections_before: Mutex<ServerConnections>,
    rules: Mutex<(Vec<Rule>, RuleDefaults)>,
    /// How long the last ping took, in microseconds.
    ping_us: Arc<AtomicU64>,
    /// The name of the query log, as it was given.
    log_name: Mutex<String>,
}

impl Runtime for Behind {
    fn rows(&self, of: Statistic) -> Vec<Vec<SqliteValue>> {
        match of {
            Statistic::Global => self.global(),
            Statistic::Memory => self.memory(),
            Statistic::Process => self.process(),
            Statistic::Errors => self.errors(false),
            Statistic::ErrorsReset => self.errors(true),
            Statistic::Prepared => self.prepared(),
            Statistic::FreeConnections => self.free_connections(),
            Statistic::Processes => self.processes(),
            Statistic::Connections => vec![self.connections(false)],
            Statistic::ConnectionsReset => vec![self.connections(true)],
            Statistic::Commands => self.commands(),
            Statistic::Users => self.users(),
            Statistic::Rules => {
                self.shared.rule_hits().into_iter().map(|(id, hits)| vec![id.into(), hits.into()]).collect()
            }
            Statistic::Digests => self.digests(false),
            Statistic::DigestsReset => self.digests(true),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        let cache = &self.shared.cache;
        Some(match name {
            "admin-version" => VERSION.to_owned(),
            // No connection waits before it may carry others' reads, and no share of the connections is kept.
            "mysql-connection_delay_multiplex_ms" | "mysql-free_connections_pct" => "0".to_owned(),
            "mysql-default_schema" => self.config.upstream.database.clone().unwrap_or_default(),
            "mysql-interfaces" => {
                let all: Vec<String> = self.config.listen.iter().map(ToString::to_string).collect();
                all.join(";")
            }
            "mysql-max_connections" => self.config.max_clients.to_string(),
            "mysql-multiplexing" => (self.config.multiplexing != Multiplexing::Off).to_string(),
            // Answers with warnings are not stored if the client could ask for the warnings.
            "mysql-query_cache_handle_warnings" => "0".to_owned(),
            // With an admin port, they are always counted.
            "mysql-query_digests" => "true".to_owned(),
            "mysql-query_cache_rules_only" => self.rules().1.rules_only.to_string(),
            "mysql-query_cache_size_MB" => (cache.size() >> 20).to_string(),
            "mysql-query_cache_soft_ttl_pct" => self.rules().1.soft_ttl_pct.to_string(),
            "mysql-query_cache_stores_empty_result" => self.rules().1.stores_empty.to_string(),
            "mysql-query_retries_on_failure" => self.rules().1.retries.to_string(),
            "mysql-server_version" => {
                let server = self.shared.upstream.server();
                server.map(|it| String::from_utf8_lossy(&it.version_text).into_owned()).unwrap_or_default()
            }
            "mysql-threads" => self.config.threads.to_string(),
            "mysql-threshold_resultset_size" => cache.limit().to_string(),
            "mysql-wait_timeout" => self.config.idle_timeout.as_millis().to_string(),
            _ => return self.events_log(name).or_else(|| digests::read(self.rules().1.digests, name)),
        })
    }

    fn set_variable(&self, name: &str, value: &str) -> Result<(), String> {
        let number = |max: u64| match value.parse::<u64>() {
            Ok(number) if number <= max => usize::try_from(number).map_err(|error| error.to_string()),
            _ => Err(format!("'{value}' is no whole number from 0 to {max}")),
        };
        match name {
            // A size that was set in bytes stays unchanged if it rounds to so many MB.
            "mysql-query_cache_size_MB" => {
                let megabytes = number(10_000)?;
                if megabytes != self.shared.cache.size() >> 20 {
                    self.shared.resize_cache(megabytes << 20);
                }
            }
            "mysql-query_cache_rules_only" => {
                let rules_only = truth(value)?;
                self.load(|rules| rules.1.rules_only = rules_only)?;
            }
            "mysql-query_cache_soft_ttl_pct" => {
                let percent = u8::try_from(number(100)?).map_err(|error| error.to_string())?;
                self.load(|rules| rules.1.soft_ttl_pct = percent)?;
            }
            "mysql-query_cache_stores_empty_result" => {
                let stores_empty = truth(value)?;
                self.load(|rules| rules.1.stores_empty = stores_empty)?;
            }
            "mysql-query_retries_on_failure" => {
                let retries = number(1000)? as u64;
                self.load(|rules| rules.1.retries = retries)?;
            }
            "mysql-threshold_resultset_size" => self.shared.cache.set_limit(number(u64::from(u32::MAX))?),
            _ if let Some(set) = self.set_events_log(name, value) => set?,
            _ => {
                let mut options = self.rules().1.digests;
                let Some(written) = digests::write(&mut options, name, value) else {
                    return Err("it cannot be set".to_owned());
                };
                written?;
                self.load(|rules| rules.1.digests = options)?;
            }
        }
        Ok(())
    }

    fn rule_columns(&self) -> &'static [&'static str] {
        &Rule::COLUMNS
    }

    fn load_rules(&self, rows: Vec<Vec<Option<String>>>) -> Result<(), String> {
        let read: Result<Vec<Rule>, _> = rows.iter().map(|row| Rule::read(row)).collect();
        let read = read.map_err(|error| error.to_string())?;
        let idle: Vec<String> = read.iter().filter_map(Rule::without_effect).collect();
        self.load(|rules| rules.0 = read)?;
        if !idle.is_empty() {
            tracing::warn!("query rules are loaded of which a part has no effect: {}", idle.join("; "));
        }
        Ok(())
    }

    fn purge(&self, what: &Purge) -> Result<u64, String> {
        self.shared.purge(&match what {
            Purge::Digest(digest) => {
                let digest = digest.parse().map_err(|_| format!("'{digest}' is no digest"))?;
                Purged::Digest(digest)
            }
            Purge::Rule(rule) => Purged::Rule(*rule),
            Purge::Schema(schema) => Purged::Schema(schema.clone()),
            Purge::User(user) => Purged::User(user.clone()),
            Purge::Table(schema, table) => Purged::Table(schema.clone(), table.clone()),
        })
    }

    fn server(&self) -> (String, u16) {
        match &self.config.upstream.address {
            Address::Tcp { host, port } => (host.clone(), *port),
            Address::Unix(path) => (path.display().to_string(), 0),
        }
    }

    fn flush_cache(&self) -> u64 {
        let entries = self.shared.cache.entries();
        self.shared.cache.clear();
        entries as u64
    }

    fn flush_logs(&self) -> Result<(), String> {
        self.shared.query_log().begin_anew().map_err(|error| error.to_string())
    }

    fn pause(&self, is_paused: bool) -> bool {
        self.paused.send_replace(is_paused) != is_paused
    }

    fn prometheus(&self) -> String {
        freshet_session::metrics::prometheus(&self.shared, self.program())
    }

    fn shut_down(&self) {
        self.ended.notify_one();
    }
}

impl Behind {
    /// Returns the query rules in use, and the defaults where they say nothing.
    fn rules(&self) -> MutexGuard<'_, (Vec<Rule>, RuleDefaults)> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes changed rules count, if they can be carried out.
    fn load(&self, change: impl FnOnce(&mut (Vec<Rule>, RuleDefaults))) -> Result<(), String> {
        let mut rules = self.rules();
        let mut changed = rules.clone();
        change(&mut changed);
        self.shared.load_rules(changed.0.clone(), changed.1).map_err(|error| error.to_string())?;
        *rules = changed;
        Ok(())
    }
}
