//! From the typed settings to a usable configuration.
//!
//! There are two steps: [`typed`] gathers texts and remembers where each came from; this module makes each one usable or refuses to
//! start. Nothing else in the program reads a flag, the environment or a file.

pub mod refusal;
pub mod typed;
pub mod units;

use std::path::PathBuf;
use std::time::Duration;

use freshet_admin::{Account, Accounts};
use freshet_session::bounds;
use freshet_session::level::{Level, SemisyncMode};
use freshet_session::variables::{FILL_WAIT_MS_MAX, MAX_STALENESS_MS_MAX, MAX_STALENESS_MS_MIN};
use freshet_session::{CopiedTables, Multiplexing, TableList};

pub use refusal::Refusal;
pub use typed::Typed;

use crate::settings::{self, Setting};

/// The largest query cache, Alibaba's limit.
const QUERY_CACHE_SIZE_MAX: u64 = 10_485_760_000;
/// The granule of the query cache's size.
const QUERY_CACHE_SIZE_STEP: u64 = 1024;
/// The largest packet that the protocol's documentation allows.
const PACKET_BYTES_MAX: u64 = 1 << 30;

/// The least and the greatest memory for one kind of buffer of all clients together.
const BUFFERS_SIZE_MIN: u64 = 1 << 20;
const BUFFERS_SIZE_MAX: u64 = 1 << 38;

/// A validated configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server behind us, and how it is reached.
    pub upstream: freshet_upstream::UpstreamConfig,
    /// Where clients connect, at least one.
    pub listen: Vec<Listen>,
    /// The certificate and key shown to clients, both or none.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether clients must use TLS or a unix socket.
    pub require_secure_transport: bool,
    /// The default promise to readers.
    pub freshness: Level,
    /// The greatest staleness.
    pub max_staleness: Duration,
    /// Where SET PERSIST keeps values, if anywhere.
    pub state_dir: Option<PathBuf>,
    /// Where created caches are kept, if anywhere.
    pub caches_dir: Option<PathBuf>,
    /// The memory for maintained results, in bytes.
    pub maintained_cache_size: usize,
    /// How often a maintained result is compared; 0: never.
    pub maintained_check_interval: Duration,
    /// The most caches that are created automatically.
    pub automatic_caches: usize,
    /// The time between two looks which caches would pay.
    pub automatic_caches_interval: Duration,
    /// The tables that may be copied.
    pub copied_tables: CopiedTables,
    /// How long a SELECT waits until its answer can be stored.
    pub fill_wait: Duration,
    /// Whether commits wait for us.
    pub semisync: SemisyncMode,
    /// 0 off, 1 on, 2 demand.
    pub query_cache_type: u8,
    /// Bytes, a multiple of 1024.
    pub query_cache_size: u64,
    /// Bytes.
    pub query_cache_limit: u64,
    /// Whether comments are left out of the key.
    pub query_cache_strip_comments: bool,
    /// Whether a write lock bars cached results.
    pub query_cache_wlock_invalidate: bool,
    /// Clients at once.
    pub max_clients: usize,
    /// Bytes.
    pub max_allowed_packet: usize,
    /// What bounds clients in memory and time.
    pub bounds: bounds::Limits,
    /// A silent client's time.
    pub idle_timeout: Duration,
    /// A login's time.
    pub login_timeout: Duration,
    /// A shutdown's time.
    pub drain_timeout: Duration,
    /// Event loops, at least one.
    pub threads: usize,
    /// Directives for the log filter, known to be well formed.
    pub log_level: String,
    /// Whether log lines are JSON.
    pub log_json: bool,
    /// Whether statements are counted by their digests.
    pub query_statistics: bool,
    /// Whether reads of several clients are carried on one connection.
    pub multiplexing: Multiplexing,
    /// How long an event loop with one busy client looks before it sleeps.
    pub busy_poll: Duration,
    /// The admin port, if it is wanted.
    pub admin: Option<AdminConfig>,
    /// Where Prometheus can ask.
    pub metrics: Vec<Listen>,
}

/// The admin port.
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Where it listens.
    pub listen: Vec<Listen>,
    /// Who may connect.
    pub accounts: Accounts,
    /// Where its tables are kept.
    pub directory: PathBuf,
    /// A file in ProxySQL's syntax, from which its tables can be loaded.
    pub file: PathBuf,
}

/// Where clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `host:port`; port 0 lets the system choose.
    Tcp(String),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl Listen {
    /// Whether nobody on another machine can connect.
    fn is_local(&self) -> bool {
        let Self::Tcp(address) = self else { return true };
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Config {
    /// Makes the typed settings usable.
    ///
    /// # Errors
    /// The first setting that is missing or not allowed.
    pub fn new(typed: &Typed) -> Result<Config, Refusal> {
        use settings as s;
        let (freshness, semisync) = promise(typed)?;
        let upstream = upstream(typed, semisync.wants(freshness))?;
        Ok(Config {
            freshness,
            semisync,
            max_staleness: typed
                .read(&s::MAX_STALENESS, |t| time(t, MAX_STALENESS_MS_MIN, MAX_STALENESS_MS_MAX))?,
            fill_wait: typed.read(&s::FILL_WAIT, |t| time(t, 0, FILL_WAIT_MS_MAX))?,
            listen: typed.read(&s::LISTEN, listen)?,
            tls: certificate(typed)?,
            require_secure_transport: typed.read(&s::REQUIRE_SECURE_TRANSPORT, switch)?,
            query_cache_type: typed.read(&s::QUERY_CACHE_TYPE, cache_type)?,
            query_cache_size: typed.read(&s::QUERY_CACHE_SIZE, cache_size)?,
            query_cache_limit: typed.read(&s::QUERY_CACHE_LIMIT, |t| bytes(t, 0, u64::from(u32::MAX)))?,
            query_cache_strip_comments: typed.read(&s::QUERY_CACHE_STRIP_COMMENTS, switch)?,
            query_cache_wlock_invalidate: typed.read(&s::QUERY_CACHE_WLOCK_INVALIDATE, switch)?,
            state_dir: persists_in(typed)?,
            caches_dir: typed.read_unless_empty(&settings::STATE_DIR, directory)?,
            maintained_cache_size: typed.read(&s::MAINTAINED_CACHE_SIZE, |t| bytes(t, 0, 1 << 40))? as usize,
            maintained_check_interval: typed
                .read(&s::MAINTAINED_CHECK_INTERVAL, |t| time(t, 0, 86_400_000))?,
            automatic_caches: typed.read(&s::AUTOMATIC_CACHES, |t| number(t, 0, 4096))? as usize,
            automatic_caches_interval: typed
                .read(&s::AUTOMATIC_CACHES_INTERVAL, |t| time(t, 50, 3_600_000))?,
            copied_tables: CopiedTables {
                only: typed.read(&s::REPLICATION_TABLES, TableList::parse)?,
                ignored: typed.read(&s::REPLICATION_TABLES_IGNORE, TableList::parse)?,
            },
            max_clients: typed.read(&s::MAX_CLIENTS, |t| number(t, 1, 1_000_000))? as usize,
            max_allowed_packet: typed.read(&s::MAX_ALLOWED_PACKET, |t| bytes(t, 1024, PACKET_BYTES_MAX))?
                as usize,
            bounds: bounds(typed)?,
            idle_timeout: typed.read(&s::IDLE_TIMEOUT, |t| time(t, 1000, 365 * 86_400_000))?,
            login_timeout: typed.read(&s::LOGIN_TIMEOUT, |t| time(t, 100, 3_600_000))?,
            drain_timeout: typed.read(&s::DRAIN_TIMEOUT, |t| time(t, 0, 3_600_000))?,
            threads: match typed.read(&s::THREADS, |t| number(t, 0, 1024))? {
                0 => threads(upstream.address.is_local()),
                given => given as usize,
            },
            upstream,
            log_level: typed.read(&s::LOG_LEVEL, log_level)?,
            log_json: typed.read(&s::LOG_FORMAT, log_format)?,
            query_statistics: typed.read(&s::QUERY_STATISTICS, switch)?,
            multiplexing: typed.read(&s::MULTIPLEXING, multiplexing)?,
            busy_poll: Duration::from_micros(typed.read(&s::BUSY_POLL_US, |t| number(t, 0, 1000))?),
            admin: admin(typed)?,
            metrics: typed.read(&s::METRICS_ADDRESS, listens)?,
        })
    }
}

/// Returns where variables are kept over restarts, if anywhere.
fn persists_in(typed: &Typed) -> Result<Option<PathBuf>, Refusal> {
    let directory = typed.read_unless_empty(&settings::STATE_DIR, directory)?;
    let persists = typed.read(&settings::PERSIST, switch)?;
    persists.then(|| needed(directory, "persist is on")).transpose()
}

/// Returns the directory for files that are kept from one run to the next.
///
/// # Errors
/// If it is not set.
pub fn state_dir(typed: &Typed) -> Result<PathBuf, Refusal> {
    needed(typed.read_unless_empty(&settings::STATE_DIR, directory)?, "tables are kept there")
}

fn needed(directory: Option<PathBuf>, because: &str) -> Result<PathBuf, Refusal> {
    let why = || format!("must be set, because {because}");
    directory.ok_or_else(|| Refusal::Beside { setting: &settings::STATE_DIR, why: why() })
}

// Each reader below gets a setting's text and returns its meaning, or `None` if the text is not allowed.

/// Returns the URL, with the settings that may complete it.
fn upstream(typed: &Typed, semisync: bool) -> Result<freshet_upstream::UpstreamConfig, Refusal> {
    let wrong = |error: freshet_upstream::ConfigError| typed.refuse(&settings::UPSTREAM, &error.to_string());
    let url = typed.read(&settings::UPSTREAM, |text| Some(text.to_owned()))?;
    let mut config = freshet_upstream::UpstreamConfig::from_url(&url).map_err(wrong)?;
    // With an empty mode the URL decides.
    if let Some(mode) = typed.read_unless_empty(&settings::UPSTREAM_TLS, |text| text.parse().ok())? {
        config.tls = mode;
    }
    if let Some(ca) = typed.read_unless_empty(&settings::UPSTREAM_TLS_CA, file)? {
        config.tls_ca = Some(ca);
    }
    config.server_id = typed.read(&settings::SERVER_ID, |t| number(t, 0, u64::from(u32::MAX)))? as u32;
    config.heartbeat = typed.read(&settings::HEARTBEAT, |t| time(t, 50, 10_000))?;
    config.semisync = semisync;
    config.validate().map_err(wrong)?;
    follows(typed, &config)?;
    Ok(config)
}

/// Checks that the binlog is the upstream's own: a replica may lag behind it, and the order of its binlog is another one.
fn follows(typed: &Typed, upstream: &freshet_upstream::UpstreamConfig) -> Result<(), Refusal> {
    let url = typed.read(&settings::CDC, |text| Some(text.to_owned()))?;
    if url.is_empty() {
        return Ok(());
    }
    let wrong = |error: freshet_upstream::ConfigError| typed.refuse(&settings::CDC, &error.to_string());
    let named = freshet_upstream::UpstreamConfig::from_url(&url).map_err(wrong)?;
    if named.address == upstream.address {
        return Ok(());
    }
    let why =
        format!("(CDC_DB_URL) names {}, and only the binlog of upstream itself is followed", named.address);
    Err(Refusal::Beside { setting: &settings::CDC, why })
}

/// Reads the settings of the admin port. Passwords that everybody knows are only allowed on this machine.
fn admin(typed: &Typed) -> Result<Option<AdminConfig>, Refusal> {
    use settings as s;
    let listen = typed.read(&s::ADMIN_LISTEN, listens)?;
    let admin = typed.read(&s::ADMIN_CREDENTIALS, Account::read_all)?;
    let stats = typed.read(&s::STATS_CREDENTIALS, Account::read_all)?;
    let file = typed.read_unless_empty(&s::ADMIN_CONFIG_FILE, directory)?;
    let is_far = listen.iter().any(|listen| !listen.is_local());
    for (setting, accounts) in [(&s::ADMIN_CREDENTIALS, &admin), (&s::STATS_CREDENTIALS, &stats)] {
        if is_far && accounts.iter().any(Account::is_guessed) {
            let why = "must be given, with passwords that are not the names, because admin_listen can be reached from other machines";
            return Err(Refusal::Beside { setting, why: why.to_owned() });
        }
    }
    if listen.is_empty() {
        return Ok(None);
    }
    let directory = needed(typed.read_unless_empty(&s::STATE_DIR, directory)?, "admin_listen is")?;
    let file = file.unwrap_or_else(|| directory.join("proxysql.cnf"));
    let accounts = Accounts { admin, stats, is_far };
    Ok(Some(AdminConfig { listen, accounts, directory, file }))
}

/// Reads a path that need not exist.
fn directory(text: &str) -> Option<PathBuf> {
    let is_name = !text.chars().any(char::is_control);
    is_name.then(|| PathBuf::from(text))
}

/// As [`listen`], or nowhere.
fn listens(text: &str) -> Option<Vec<Listen>> {
    if text.is_empty() { Some(Vec::new()) } else { listen(text) }
}

fn listen(text: &str) -> Option<Vec<Listen>> {
    text.split(',').map(|one| listen_one(one.trim())).collect()
}

fn listen_one(text: &str) -> Option<Listen> {
    let path = text.strip_prefix("unix:").unwrap_or(text);
    if path.starts_with('/') {
        return Some(Listen::Unix(path.into()));
    }
    let (host, port) = text.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    (!host.is_empty()).then(|| Listen::Tcp(text.to_owned()))
}

/// Reads a path, which must lead to a readable file.
fn file(text: &str) -> Option<PathBuf> {
    std::fs::File::open(text).ok().map(|_| text.into())
}

fn certificate(typed: &Typed) -> Result<Option<(PathBuf, PathBuf)>, Refusal> {
    let cert = typed.read_unless_empty(&settings::TLS_CERT, file)?;
    let key = typed.read_unless_empty(&settings::TLS_KEY, file)?;
    let alone = |given: &'static Setting, missing: &'static Setting| Refusal::Beside {
        setting: missing,
        why: format!("must be given too, because {} is", given.name),
    };
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some((cert, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(alone(&settings::TLS_CERT, &settings::TLS_KEY)),
        (None, Some(_)) => Err(alone(&settings::TLS_KEY, &settings::TLS_CERT)),
    }
}

fn bounds(typed: &Typed) -> Result<bounds::Limits, Refusal> {
    let size = |text: &str| bytes(text, BUFFERS_SIZE_MIN, BUFFERS_SIZE_MAX).map(|bytes| bytes as usize);
    let patience = |text: &str| time(text, 1000, 365 * 86_400_000);
    Ok(bounds::Limits {
        receive_bytes_max: typed.read(&settings::RECEIVE_BUFFERS_SIZE, size)?,
        send_bytes_max: typed.read(&settings::SEND_BUFFERS_SIZE, size)?,
        fill_bytes_max: typed.read(&settings::FILL_BUFFERS_SIZE, size)?,
        net_read_timeout: typed.read(&settings::NET_READ_TIMEOUT, patience)?,
        net_write_timeout: typed.read(&settings::NET_WRITE_TIMEOUT, patience)?,
    })
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn cache_type(text: &str) -> Option<u8> {
    match text.to_ascii_lowercase().as_str() {
        "0" | "off" => Some(0),
        "1" | "on" => Some(1),
        "2" | "demand" => Some(2),
        _ => None,
    }
}

fn cache_size(text: &str) -> Option<u64> {
    bytes(text, 0, QUERY_CACHE_SIZE_MAX).filter(|size| size % QUERY_CACHE_SIZE_STEP == 0)
}

/// Returns the level, and whether commits wait for us. Refuses to start with a promise that could never be kept.
fn promise(typed: &Typed) -> Result<(Level, SemisyncMode), Refusal> {
    let level = typed.read(&settings::FRESHNESS, Level::named)?;
    let mode = typed.read(&settings::SEMISYNC, semisync)?;
    if level == Level::Semisync && !mode.wants(level) {
        return Err(Refusal::Beside {
            setting: &settings::SEMISYNC,
            why: "must not be off, because freshness is semisync".to_owned(),
        });
    }
    Ok((level, mode))
}

fn multiplexing(text: &str) -> Option<Multiplexing> {
    if text.eq_ignore_ascii_case("always") {
        return Some(Multiplexing::Always);
    }
    switch(text).map(|on| if on { Multiplexing::On } else { Multiplexing::Off })
}

fn semisync(text: &str) -> Option<SemisyncMode> {
    if text.eq_ignore_ascii_case("auto") {
        return Some(SemisyncMode::Auto);
    }
    switch(text).map(|on| if on { SemisyncMode::On } else { SemisyncMode::Off })
}

/// Returns the number of event loops: as many as there are cores, or half of them if the server works on the same cores. More of them
/// would only be put to sleep and woken again: on two cores, one event loop answers 1.5 times as many statements as two.
fn threads(is_beside_server: bool) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if is_beside_server { cores.div_ceil(2) } else { cores }
}

fn log_level(text: &str) -> Option<String> {
    let well_formed = tracing_subscriber::EnvFilter::builder().parse(text).is_ok();
    (well_formed && !text.trim().is_empty()).then(|| text.to_owned())
}

fn log_format(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "text" => Some(false),
        "json" => Some(true),
        _ => None,
    }
}

fn number(text: &str, min: u64, max: u64) -> Option<u64> {
    text.parse().ok().filter(|n| (min..=max).contains(n))
}

fn bytes(text: &str, min: u64, max: u64) -> Option<u64> {
    units::bytes(text).filter(|n| (min..=max).contains(n))
}

fn time(text: &str, min_ms: u64, max_ms: u64) -> Option<Duration> {
    units::milliseconds(text).filter(|ms| (min_ms..=max_ms).contains(ms)).map(Duration::from_millis)
}

#[cfg(test)]
mod tests;
