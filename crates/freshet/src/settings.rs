//! All settings of the program, in one table.
//!
//! Help, environment, file keys, validation messages and the reference in the docs are made from it; every setting is here. MySQL's own
//! names are used wherever MySQL has one.

/// One setting: its names, its meaning, and its allowed values.
#[derive(Debug)]
pub struct Setting {
    /// The key in the configuration file; with dashes for underscores, the flag.
    pub name: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The value if none is given; `None` means that a value must be given.
    pub default: Option<&'static str>,
    /// The values that are accepted, in words, for help and for refusals.
    pub allowed: &'static str,
    /// What it does, for help and docs.
    pub doc: &'static str,
    /// Whether its value may carry a password, and must not be printed.
    pub secret: bool,
}

impl Setting {
    /// Returns the long flag, without its two dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

const fn setting(
    name: &'static str,
    env: &'static str,
    default: &'static str,
    allowed: &'static str,
    doc: &'static str,
) -> Setting {
    Setting { name, env, default: Some(default), allowed, doc, secret: false }
}

/// The server behind Freshet.
pub static UPSTREAM: Setting = Setting {
    name: "upstream",
    env: "UPSTREAM_DB_URL",
    default: None,
    allowed: "mysql://user:password@host:port/ or mysql://user:password@/?socket=/path, with a schema behind the / where one is wanted",
    doc: "The server behind Freshet, with the account that Freshet follows its binlog and reads its catalog with. \
          Clients log in with their own accounts; those that name no schema get the one that is named here, if they may use it. Prefer the environment or the file: other users of this machine \
          can see the arguments of a process",
    secret: true,
};
/// Where the binlog is read, in Readyset's words.
pub static CDC: Setting = Setting {
    name: "cdc",
    env: "CDC_DB_URL",
    default: Some(""),
    allowed: "a URL of the address that upstream has, or empty",
    doc: "Accepted for deployments that set it for Readyset, without any effect. It has to name the server that upstream names: with another host, \
          Freshet does not start, because a replica's binlog tells nothing of the upstream's commits that have not arrived there",
    secret: true,
};
/// Where clients connect.
pub static LISTEN: Setting = setting(
    "listen",
    "LISTEN_ADDRESS",
    "127.0.0.1:3307",
    "one or more of host:port or /path/of/a/unix.socket, separated by commas",
    "Where clients connect",
);
/// TLS towards the server.
pub static UPSTREAM_TLS: Setting = setting(
    "upstream_tls",
    "FRESHET_UPSTREAM_TLS",
    "",
    "disabled, preferred, required, verify-ca or verify-identity, or empty",
    "TLS towards the server, with the meanings of MySQL's --ssl-mode; empty: as ssl-mode in the URL says, and \
     preferred if that says nothing",
);
/// Who signs the server's certificate.
pub static UPSTREAM_TLS_CA: Setting = setting(
    "upstream_tls_ca",
    "FRESHET_UPSTREAM_TLS_CA",
    "",
    "the path of a PEM file, or empty",
    "The certificate authority that verify-ca and verify-identity check the server's certificate against",
);
/// The certificate shown to clients.
pub static TLS_CERT: Setting = setting(
    "tls_cert",
    "FRESHET_TLS_CERT",
    "",
    "the path of a PEM file, or empty",
    "The certificate chain shown to clients; empty: one is made at start, as the servers do",
);
/// The key of that certificate.
pub static TLS_KEY: Setting = setting(
    "tls_key",
    "FRESHET_TLS_KEY",
    "",
    "the path of a PEM file, or empty",
    "The private key of tls_cert",
);
/// Whether clients must be on a secure channel.
pub static REQUIRE_SECURE_TRANSPORT: Setting = setting(
    "require_secure_transport",
    "FRESHET_REQUIRE_SECURE_TRANSPORT",
    "off",
    "on or off",
    "Whether clients must use TLS or a unix socket",
);
/// The query cache's mode.
pub static QUERY_CACHE_TYPE: Setting = setting(
    "query_cache_type",
    "FRESHET_QUERY_CACHE_TYPE",
    "1",
    "0, 1, 2, off, on or demand",
    "0: nothing is cached; 1: everything that can be, but for SQL_NO_CACHE; 2: only SQL_CACHE",
);
/// The query cache's size.
pub static QUERY_CACHE_SIZE: Setting = setting(
    "query_cache_size",
    "FRESHET_QUERY_CACHE_SIZE",
    "256M",
    "a multiple of 1024 from 0 to 10485760000 bytes; K, M and G are understood",
    "What the cache may hold in all, keys and overhead included; memory is taken as needed and given back",
);
/// The largest result that is stored.
pub static QUERY_CACHE_LIMIT: Setting = setting(
    "query_cache_limit",
    "FRESHET_QUERY_CACHE_LIMIT",
    "1M",
    "0 to 4294967295 bytes; K, M and G are understood",
    "Results larger than this are not stored",
);
/// Whether comments count in a query's key.
pub static QUERY_CACHE_STRIP_COMMENTS: Setting = setting(
    "query_cache_strip_comments",
    "FRESHET_QUERY_CACHE_STRIP_COMMENTS",
    "off",
    "on or off",
    "Whether queries that differ only in their comments share a result",
);
/// Whether LOCK TABLES ... WRITE bars cached results.
pub static QUERY_CACHE_WLOCK_INVALIDATE: Setting = setting(
    "query_cache_wlock_invalidate",
    "FRESHET_QUERY_CACHE_WLOCK_INVALIDATE",
    "off",
    "on or off",
    "Whether LOCK TABLES for writing drops the results of its tables, and others read them from the server while the lock holds",
);
/// Whether SET PERSIST keeps values.
pub static PERSIST: Setting = setting(
    "persist",
    "FRESHET_PERSIST",
    "off",
    "on or off",
    "Whether SET PERSIST keeps the variables of Freshet over restarts, in state_dir. What it keeps counts before flags, environment \
     and file",
);
/// The memory of what is kept up to date row by row.
pub static MAINTAINED_CACHE_SIZE: Setting = setting(
    "maintained_cache_size",
    "FRESHET_MAINTAINED_CACHE_SIZE",
    "1G",
    "0 to 1099511627776 bytes; K, M and G are understood",
    "What copies of rows may take, and the results that are kept up to date with them; a query of CREATE CACHE whose tables do not fit is \
     refreshed instead. 0: none is kept so",
);
/// How often what is maintained is compared with the server.
pub static MAINTAINED_CHECK_INTERVAL: Setting = setting(
    "maintained_check_interval",
    "FRESHET_MAINTAINED_CHECK_INTERVAL",
    "60s",
    "0ms to 24h as 86400s; ms and s are understood, s is meant when nothing is said",
    "How often one result that is kept up to date row by row is compared with the server's answer of the same moment. Where they differ, the query \
     is refreshed from then on, and the log has the row. 0: never",
);
/// How many caches are created by themselves.
pub static AUTOMATIC_CACHES: Setting = setting(
    "automatic_caches",
    "FRESHET_AUTOMATIC_CACHES",
    "0",
    "0 to 4096",
    "How many caches Freshet creates by itself, at most: of queries on which the server spends a hundredth of its time or more because changes drop \
     their results, and that can be maintained within maintained_cache_size. One that does not pay is dropped again. 0: none",
);
/// How often it is looked which would pay.
pub static AUTOMATIC_CACHES_INTERVAL: Setting = setting(
    "automatic_caches_interval",
    "FRESHET_AUTOMATIC_CACHES_INTERVAL",
    "10s",
    "50ms to 1h; ms, s, m and h are understood, s is meant when nothing is said",
    "How often it is looked which queries are to have a cache by automatic_caches, and which caches have not paid",
);
/// Which tables are copied.
pub static REPLICATION_TABLES: Setting = setting(
    "replication_tables",
    "REPLICATION_TABLES",
    "",
    "schema.table or schema.*, or several with commas between them; empty: all",
    "The tables whose rows may be copied for queries of CREATE CACHE. Queries that read others are refreshed",
);
/// Which are not.
pub static REPLICATION_TABLES_IGNORE: Setting = setting(
    "replication_tables_ignore",
    "REPLICATION_TABLES_IGNORE",
    "",
    "schema.table or schema.*, or several with commas between them; empty: none",
    "Tables whose rows are never copied, also where replication_tables names them",
);
/// Where something is kept from one run to the next.
pub static STATE_DIR: Setting = setting(
    "state_dir",
    "FRESHET_STATE_DIR",
    "",
    "the path of a directory, or empty",
    "Where CREATE CACHE keeps caches (the file caches.tsv), SET PERSIST values (persisted.conf), and the admin port its tables (freshet.db, \
     freshet_stats.db); must be set where persist is on or admin_listen is given, and of one process alone",
);
/// The promise made to readers.
pub static FRESHNESS: Setting = setting(
    "freshness",
    "FRESHET_FRESHNESS",
    "strict",
    "strict, session, eventual or semisync",
    "What readers are promised, unless their session says otherwise. strict: no read is older than an acknowledged write \
     through Freshet, nor than what an earlier read has shown anyone of these writes; session: each session reads its own writes and never \
     goes back in time; eventual: no read is older than max_staleness; semisync: strict for writers that go around Freshet \
     too, whose commits wait for it. See docs/freshness.md",
);
/// How long what was committed may be lacking in an answer, where the level lets it be.
pub static MAX_STALENESS: Setting = setting(
    "max_staleness",
    "FRESHET_MAX_STALENESS",
    "10s",
    "10ms to 1d; ms, s, m, h and d are understood, s is meant when nothing is said",
    "How long what was committed may be lacking in an answer, where the level lets it be: any write at eventual, writes \
     around Freshet at strict, and at session others' writes too. The variable of this name counts milliseconds",
);
/// How long a SELECT waits until its answer can be stored.
pub static FILL_WAIT: Setting = setting(
    "fill_wait",
    "FRESHET_FILL_WAIT",
    "0ms",
    "0ms to 60s; ms and s are understood, s is meant when nothing is said",
    "How long a SELECT that follows a write to what it reads waits until its answer can be stored. 0: it does not wait, and its \
     answer may not be stored, so that the next SELECT asks the server again. For tests that count hits, and for reads that are \
     worth waiting for once. The variable of this name counts milliseconds",
);
/// Whether the server's commits wait for us.
pub static SEMISYNC: Setting = setting(
    "semisync",
    "FRESHET_SEMISYNC",
    "auto",
    "on, off or auto",
    "Whether Freshet joins as a semi-synchronous replica, for whose acknowledgement every commit of the server then waits: \
     on, so that any session may ask for freshness = semisync; off; auto: while that is the global freshness",
);
/// How many clients at once.
pub static MAX_CLIENTS: Setting = setting(
    "max_clients",
    "FRESHET_MAX_CLIENTS",
    "10000",
    "1 to 1000000",
    "Clients connected at once; one more is told \"Too many connections\"",
);
/// The largest packet taken from a client.
pub static MAX_ALLOWED_PACKET: Setting = setting(
    "max_allowed_packet",
    "FRESHET_MAX_ALLOWED_PACKET",
    "64M",
    "1024 to 1073741824 bytes; K, M and G are understood",
    "The largest packet taken from a client; the server's own limit counts too",
);
/// What packets under way from clients may hold.
pub static RECEIVE_BUFFERS_SIZE: Setting = setting(
    "receive_buffers_size",
    "FRESHET_RECEIVE_BUFFERS_SIZE",
    "128M",
    "1M to 256G bytes; K, M and G are understood",
    "What all packets under way from clients may hold in memory, of each the part above 16K; one packet may go beyond. A \
     client waits for room, and is refused with error 1041 after 10 seconds without",
);
/// What large answers under way to clients may hold.
pub static SEND_BUFFERS_SIZE: Setting = setting(
    "send_buffers_size",
    "FRESHET_SEND_BUFFERS_SIZE",
    "64M",
    "1M to 256G bytes; K, M and G are understood",
    "What all answers of more than 64K may hold until their clients have read them: the whole answer from memory, and up \
     to 1M of one from the server; without room, answers come from the server, piece by piece",
);
/// What copies under way to the cache may hold.
pub static FILL_BUFFERS_SIZE: Setting = setting(
    "fill_buffers_size",
    "FRESHET_FILL_BUFFERS_SIZE",
    "64M",
    "1M to 256G bytes; K, M and G are understood",
    "What the copies of all answers under way of more than 16K may hold before they are stored; without room, an \
     answer is not stored",
);
/// How long a client may leave a packet unfinished.
pub static NET_READ_TIMEOUT: Setting = setting(
    "net_read_timeout",
    "FRESHET_NET_READ_TIMEOUT",
    "30s",
    "1s to 365d; ms, s, m, h and d are understood, s is meant when nothing is said",
    "A client that has begun a packet and sent nothing more of it for this long is disconnected",
);
/// How long a client may leave an answer unread.
pub static NET_WRITE_TIMEOUT: Setting = setting(
    "net_write_timeout",
    "FRESHET_NET_WRITE_TIMEOUT",
    "60s",
    "1s to 365d; ms, s, m, h and d are understood, s is meant when nothing is said",
    "A client that is owed an answer and has read nothing of it for this long is disconnected",
);
/// How long a client may say nothing.
pub static IDLE_TIMEOUT: Setting = setting(
    "idle_timeout",
    "FRESHET_IDLE_TIMEOUT",
    "8h",
    "1s to 365d; ms, s, m, h and d are understood, s is meant when nothing is said",
    "A client that has said nothing for this long is disconnected; the server's wait_timeout counts \
     too, from the client's first statement on",
);
/// How long a login may take.
pub static LOGIN_TIMEOUT: Setting = setting(
    "login_timeout",
    "FRESHET_LOGIN_TIMEOUT",
    "10s",
    "100ms to 1h; ms, s, m and h are understood, s is meant when nothing is said",
    "A client that has not logged in for this long is disconnected",
);
/// How long a shutdown waits.
pub static DRAIN_TIMEOUT: Setting = setting(
    "drain_timeout",
    "FRESHET_DRAIN_TIMEOUT",
    "10s",
    "0s to 1h; ms, s, m and h are understood, s is meant when nothing is said",
    "How long a shutdown waits for statements and transactions under way",
);
/// How many event loops.
pub static THREADS: Setting = setting(
    "threads",
    "FRESHET_THREADS",
    "0",
    "0 to 1024",
    "Event loops that serve clients, each on a thread of its own; 0: one for each core, or for each two where the server is on the same machine (a unix socket, a loopback address)",
);
/// Our name among the server's replicas.
pub static SERVER_ID: Setting = setting(
    "server_id",
    "FRESHET_SERVER_ID",
    "0",
    "0 to 4294967295",
    "The server_id that Freshet follows the binlog with, which no replica may share; 0: a random high one",
);
/// How often the stream shows that it lives.
pub static HEARTBEAT: Setting = setting(
    "heartbeat",
    "FRESHET_HEARTBEAT",
    "200ms",
    "50ms to 10s; ms and s are understood, s is meant when nothing is said",
    "How often the server shows on a silent binlog stream that it is there; after five missed ones nothing is \
     answered from memory",
);
/// Whether statements are counted by their digests.
pub static QUERY_STATISTICS: Setting = setting(
    "query_statistics",
    "FRESHET_QUERY_STATISTICS",
    "on",
    "on or off",
    "Whether statements are counted by their digests, with the reasons for which answers are not stored: freshet.queries and EXPLAIN FRESHET show \
     them. They are also counted where there is an admin port",
);
/// Whether sessions share connections.
pub static MULTIPLEXING: Setting = setting(
    "multiplexing",
    "FRESHET_MULTIPLEXING",
    "on",
    "on, off or always",
    "Whether one connection carries the quick reads of many clients with the same account and settings, which halves the server's cost of such \
     a read, and whether others take over a connection that its session does not need. on: while several clients wait for the server; \
     off: each client's statements go over a connection of its own; always: also where nothing is gained, for tests",
);
/// How long an event loop with one busy client looks before it sleeps.
pub static BUSY_POLL_US: Setting = setting(
    "busy_poll_us",
    "FRESHET_BUSY_POLL_US",
    "50",
    "0 to 1000",
    "How many microseconds an event loop that has one busy client looks for that client's next packet, or for the server's answer, before it \
     sleeps: being woken takes longer than a hit. It looks only as long as these come in time on most occasions, and not while it has several \
     busy clients. 0: never",
);
/// Where administrators connect.
pub static ADMIN_LISTEN: Setting = setting(
    "admin_listen",
    "FRESHET_ADMIN_LISTEN",
    "",
    "one or more of host:port or /path/of/a/unix.socket, separated by commas, or empty",
    "Where ProxySQL's admin interface is to be had, which has port 6032 there; empty: nowhere. See docs/proxysql.md",
);
/// Who may administrate.
pub static ADMIN_CREDENTIALS: Setting = Setting {
    name: "admin_credentials",
    env: "FRESHET_ADMIN_CREDENTIALS",
    default: Some("admin:admin"),
    allowed: "user:password, or several of them with ; between them",
    doc: "Who may read and change everything at the admin port, unless admin-admin_credentials is saved there. It must be given where that can be reached from other machines",
    secret: true,
};
/// Who may look at statistics.
pub static STATS_CREDENTIALS: Setting = Setting {
    name: "stats_credentials",
    env: "FRESHET_STATS_CREDENTIALS",
    default: Some("stats:stats"),
    allowed: "user:password, or several of them with ; between them",
    doc: "Who may read statistics at the admin port, unless admin-stats_credentials is saved there. It must be given where that can be reached from other machines",
    secret: true,
};
/// Where ProxySQL's configuration file is.
pub static ADMIN_CONFIG_FILE: Setting = setting(
    "admin_config_file",
    "FRESHET_ADMIN_CONFIG_FILE",
    "",
    "the path of a file in ProxySQL's syntax, or empty",
    "What LOAD … FROM CONFIG reads at the admin port; empty: proxysql.cnf in state_dir",
);
/// Where Prometheus asks.
pub static METRICS_ADDRESS: Setting = setting(
    "metrics_address",
    "FRESHET_METRICS_ADDRESS",
    "",
    "host:port or /path/of/a/unix.socket, or several, separated by commas, or empty",
    "Where GET /metrics gives everything that is counted in the text format of Prometheus, to whoever asks; empty: nowhere",
);
/// What is logged.
pub static LOG_LEVEL: Setting = setting(
    "log_level",
    "FRESHET_LOG_LEVEL",
    "info",
    "error, warn, info, debug or trace, or a list such as warn,freshet_follow=debug",
    "What is logged, to standard error",
);
/// How it is written.
pub static LOG_FORMAT: Setting =
    setting("log_format", "FRESHET_LOG_FORMAT", "text", "text or json", "How log lines are written");

/// All of them, in the order of the reference.
pub static ALL: [&Setting; 49] = [
    &UPSTREAM,
    &CDC,
    &LISTEN,
    &FRESHNESS,
    &MAX_STALENESS,
    &FILL_WAIT,
    &SEMISYNC,
    &QUERY_CACHE_TYPE,
    &QUERY_CACHE_SIZE,
    &QUERY_CACHE_LIMIT,
    &QUERY_CACHE_STRIP_COMMENTS,
    &QUERY_CACHE_WLOCK_INVALIDATE,
    &MAINTAINED_CACHE_SIZE,
    &MAINTAINED_CHECK_INTERVAL,
    &AUTOMATIC_CACHES,
    &AUTOMATIC_CACHES_INTERVAL,
    &REPLICATION_TABLES,
    &REPLICATION_TABLES_IGNORE,
    &PERSIST,
    &STATE_DIR,
    &UPSTREAM_TLS,
    &UPSTREAM_TLS_CA,
    &TLS_CERT,
    &TLS_KEY,
    &REQUIRE_SECURE_TRANSPORT,
    &MAX_CLIENTS,
    &MAX_ALLOWED_PACKET,
    &RECEIVE_BUFFERS_SIZE,
    &SEND_BUFFERS_SIZE,
    &FILL_BUFFERS_SIZE,
    &NET_READ_TIMEOUT,
    &NET_WRITE_TIMEOUT,
    &IDLE_TIMEOUT,
    &LOGIN_TIMEOUT,
    &DRAIN_TIMEOUT,
    &THREADS,
    &SERVER_ID,
    &HEARTBEAT,
    &QUERY_STATISTICS,
    &MULTIPLEXING,
    &BUSY_POLL_US,
    &ADMIN_LISTEN,
    &ADMIN_CREDENTIALS,
    &STATS_CREDENTIALS,
    &ADMIN_CONFIG_FILE,
    &METRICS_ADDRESS,
    &LOG_LEVEL,
    &LOG_FORMAT,
    &CONFIG,
];

/// The file with the rest.
pub static CONFIG: Setting = setting(
    "config",
    "FRESHET_CONFIG",
    "",
    "the path of a TOML file, or empty",
    "A file with any of these settings; flags count before the environment, the environment before the file",
);

/// Returns the setting of that name, if there is one.
pub fn find(name: &str) -> Option<&'static Setting> {
    ALL.iter().copied().find(|setting| setting.name == name)
}
