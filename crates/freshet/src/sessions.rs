//! Connects the rooms, and hands clients to the session room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use freshet_cache::{Cache, Freshness};
use freshet_follow::Upstream;
use freshet_session::auth::{Gate, LoginOptions};
use freshet_session::persisted::PersistError;
use freshet_session::{FileError, SessionOptions, Shared, serve};
use freshet_upstream::net::Stream;
use rustls::ServerConfig;
use tokio::net::{TcpStream, UnixStream};

use crate::config::Config;
use crate::listen::Incoming;

/// The time between two looks for idle clients, and for results that can never be served again.
const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(1);
/// The time between two looks for sessions whose clients are silent.
const REST_PERIOD: Duration = Duration::from_millis(200);

/// The most entries that one round of housekeeping looks at: a bounded share of a busy core.
const SWEEP_ENTRIES_MAX: usize = 20_000;

/// What the sessions of all event loops share.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
    busy_poll: Duration,
}

impl Sessions {
    /// Starts following the server, and makes an empty cache.
    ///
    /// # Errors
    /// When the follower's thread cannot be started.
    pub fn new(config: &Config, tls: Arc<ServerConfig>) -> Result<Sessions, freshet_upstream::Error> {
        let freshness = Arc::new(Freshness::new());
        let upstream = Upstream::start(config.upstream.clone(), Arc::clone(&freshness))?;
        let size = usize::try_from(config.query_cache_size).unwrap_or(usize::MAX);
        let limit = usize::try_from(config.query_cache_limit).unwrap_or(usize::MAX);
        let cache = Arc::new(Cache::new(freshness, size, limit));
        let logins = LoginOptions {
            login_timeout: config.login_timeout,
            require_tls: config.require_secure_transport,
            max_allowed_packet: config.max_allowed_packet,
            bounds: config.bounds.clone(),
            ..LoginOptions::default()
        };
        let gate = Gate::new(Arc::clone(upstream.config()), Arc::new(upstream.clone()), Some(tls), logins);
        let options = SessionOptions {
            clients_max: config.max_clients,
            idle_max: config.idle_timeout,
            semisync: config.semisync,
            state_dir: config.state_dir.clone(),
            caches_dir: config.caches_dir.clone(),
            maintained_cache_size: config.maintained_cache_size,
            maintained_check_interval: config.maintained_check_interval,
            automatic_caches: config.automatic_caches,
            automatic_caches_interval: config.automatic_caches_interval,
            copied_tables: config.copied_tables.clone(),
            counts_digests: config.query_statistics || config.admin.is_some(),
            multiplexing: config.multiplexing,
            engine: Some(crate::introspection::engine()),
        };
        let shared = Shared::new(gate, upstream, cache, options);
        let globals = &shared.globals;
        globals.query_cache_type.store(config.query_cache_type, Ordering::Relaxed);
        globals.started_with_size.store(config.query_cache_size, Ordering::Relaxed);
        globals.started_with_type.store(config.query_cache_type, Ordering::Relaxed);
        globals.strip_comments.store(config.query_cache_strip_comments, Ordering::Relaxed);
        globals.wlock_invalidate.store(config.query_cache_wlock_invalidate, Ordering::Relaxed);
        globals.freshness.store(config.freshness.number(), Ordering::Relaxed);
        let max_staleness_ms = u64::try_from(config.max_staleness.as_millis()).unwrap_or(u64::MAX);
        globals.max_staleness_ms.store(max_staleness_ms, Ordering::Relaxed);
        let fill_wait_ms = u64::try_from(config.fill_wait.as_millis()).unwrap_or(u64::MAX);
        globals.fill_wait_ms.store(fill_wait_ms, Ordering::Relaxed);
        Ok(Sessions { shared: Arc::new(shared), busy_poll: config.busy_poll })
    }

    /// Loads the values that SET PERSIST has kept.
    ///
    /// # Errors
    /// When there is a file that cannot be used.
    pub fn load_persisted(&self) -> Result<(), PersistError> {
        freshet_session::load_persisted(&self.shared)
    }

    /// Loads the caches of single queries that were made before a restart.
    ///
    /// # Errors
    /// When there is a file that cannot be used.
    pub fn load_created(&self) -> Result<(), FileError> {
        freshet_session::load_created(&self.shared)
    }

    /// Asks again, forever, for results that changes have dropped, of queries with caches of their own.
    pub async fn refresh_created(&self) {
        freshet_session::refresh_created(&self.shared).await;
    }

    /// Creates caches for queries for which that pays, forever.
    pub async fn create_automatically(&self) {
        freshet_session::create_automatically(&self.shared).await;
    }

    /// Starts the thread that keeps results of created caches up to date row by row.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn maintain(&self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let keeper = std::thread::Builder::new().name("freshet-views".to_owned());
        keeper.spawn(move || freshet_session::maintain(&shared)).map(drop)
    }

    /// Returns the state that the sessions share.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Looks on this thread for what one busy client sends next, as long as the settings allow; to be run beside the clients. Never returns if
    /// that is allowed.
    pub async fn busy_poll(&self) {
        freshet_session::busy_poll(self.busy_poll).await;
    }

    /// Serves one client until it leaves.
    pub async fn serve(&self, incoming: Incoming) {
        match stream(incoming) {
            Ok(stream) => serve(stream, Arc::clone(&self.shared)).await,
            Err(error) => tracing::debug!(%error, "a client was gone at once"),
        }
    }

    /// Lets every client finish its statement, and then ends it.
    pub fn drain(&self) {
        self.shared.drain();
    }

    /// Begins to make in advance what the first login would wait for.
    pub fn prepare(&self) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move { shared.gate.prepare().await });
    }

    /// Keeps the cache to its size when the size goes down, forever.
    pub async fn keep_to_size(&self) {
        self.shared.keep_to_size().await;
    }

    /// Makes sessions give up what they do not use, forever.
    pub async fn rest_idle(&self) {
        let mut period = tokio::time::interval(REST_PERIOD);
        loop {
            period.tick().await;
            self.shared.rest_idle();
        }
    }

    /// Ends idle clients, closes connections to the server that nobody took over, and reclaims dead results, forever.
    pub async fn keep_house(&self) {
        let mut period = tokio::time::interval(HOUSEKEEPING_PERIOD);
        loop {
            period.tick().await;
            self.shared.greet_as_server();
            self.shared.end_idle();
            self.shared.gate.look_after_spares().await;
            self.shared.cache.sweep(SWEEP_ENTRIES_MAX, freshet_upstream::now_ms());
            freshet_session::bounds::return_idle_memory();
        }
    }
}

fn stream(incoming: Incoming) -> io::Result<Stream> {
    Ok(match incoming {
        Incoming::Tcp(stream) => Stream::tcp(TcpStream::from_std(stream)?)?,
        Incoming::Unix(stream) => Stream::Unix(UnixStream::from_std(stream)?),
    })
}
