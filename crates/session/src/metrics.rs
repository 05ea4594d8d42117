//! The counters, under ProxySQL's names and Prometheus's: one table, from which `stats_mysql_global`, `SHOW PROMETHEUS METRICS` and the
//! endpoint for Prometheus are made. Freshet's own status values ([`crate::status`]) are shown beside them.

use std::fmt::Write;

use freshet_cache::Statistics;
use freshet_upstream::Address;

use crate::counters::Count;
use crate::shared::{ServerConnections, Shared};
use crate::status;

/// Whether a value only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    /// A counter of nanoseconds, which Prometheus has in seconds.
    Nanoseconds,
}
use MetricKind::{Counter, Gauge, Nanoseconds};

/// One value.
struct Metric {
    /// The name in `stats_mysql_global`; empty: the value is not there.
    name: &'static str,
    /// Prometheus's name, and the labels that distinguish it from others of this name; empty: the value is not there.
    family: &'static str,
    labels: &'static str,
    kind: MetricKind,
    doc: &'static str,
    read: fn(&MetricsSnapshot) -> u64,
}

/// Facts of the program itself.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// How long it has run, in seconds.
    pub uptime_s: u64,
    /// How many event loops it has.
    pub threads: usize,
}

/// The sources of the values, at one moment.
struct MetricsSnapshot {
    program: Program,
    cache: Statistics,
    server: ServerConnections,
    clients: u64,
    busy: u64,
    connections: u64,
    vanished: u64,
    forwarded: u64,
    served_bytes: u64,
    prepared: u64,
    backend_us: u64,
    rules: u64,
}

impl MetricsSnapshot {
    fn of(shared: &Shared, program: Program) -> Self {
        let counted = |count| shared.counters.sum(count);
        Self {
            program,
            cache: shared.cache.statistics(),
            server: shared.server_connections(false),
            clients: shared.clients() as u64,
            busy: shared.processes().iter().filter(|process| process.is_busy).count() as u64,
            connections: counted(Count::Connections),
            vanished: shared.bounds().vanished.load(std::sync::atomic::Ordering::Relaxed),
            forwarded: counted(Count::Forwarded),
            served_bytes: counted(Count::BytesServed),
            prepared: shared.prepared_count() as u64,
            backend_us: shared.commands().iter().map(|row| row.time_us).sum(),
            rules: shared.rule_hits().len() as u64,
        }
    }

    fn looked_up(&self) -> u64 {
        let it = &self.cache;
        it.hits + it.misses + it.stale + it.fenced + it.unsettled + it.moved
    }
}

const fn metric(
    name: &'static str,
    family: &'static str,
    kind: MetricKind,
    doc: &'static str,
    read: fn(&MetricsSnapshot) -> u64,
) -> Metric {
    Metric { name, family, labels: "", kind, doc, read }
}

impl Metric {
    const fn labelled(self, labels: &'static str) -> Self {
        Self { labels, ..self }
    }
}

/// All metrics. Those with the same family stand together.
#[rustfmt::skip]
static METRICS: [Metric; 26] = [
    metric("ProxySQL_Uptime", "proxysql_uptime_seconds_total", Counter,
        "Seconds since the start.", |it| it.program.uptime_s),
    metric("Client_Connections_aborted", "proxysql_client_connections_total", Counter,
        "Clients that were let in, and those that left while they were owed an answer.", |it| it.vanished)
        .labelled("status=\"aborted\""),
    metric("Client_Connections_created", "proxysql_client_connections_total", Counter,
        "Clients that were let in, and those that left while they were owed an answer.", |it| it.connections)
        .labelled("status=\"created\""),
    metric("Client_Connections_connected", "proxysql_client_connections_connected", Gauge,
        "Clients connected now.", |it| it.clients),
    metric("Client_Connections_non_idle", "proxysql_client_connections_non_idle", Gauge,
        "Clients for which the server works now.", |it| it.busy),
    metric("Server_Connections_aborted", "proxysql_server_connections_total", Counter,
        "Connections to the server that were had, and those that were not.", |it| it.server.failed)
        .labelled("status=\"aborted\""),
    metric("Server_Connections_created", "proxysql_server_connections_total", Counter,
        "Connections to the server that were had, and those that were not.", |it| it.server.opened)
        .labelled("status=\"created\""),
    metric("Server_Connections_connected", "proxysql_server_connections_connected", Gauge,
        "Connections to the server now.", |it| (it.server.used + it.server.free) as u64),
    metric("Questions", "proxysql_questions_total", Counter,
        "Statements of clients: from memory, and sent to the server.", |it| it.forwarded + it.cache.hits),
    metric("MySQL_Thread_Workers", "proxysql_mysql_thread_workers", Gauge,
        "Event loops.", |it| it.program.threads as u64),
    metric("Queries_backends_bytes_recv", "proxysql_queries_backends_bytes_total", Counter,
        "Bytes between Freshet and the server.", |it| it.server.bytes_received)
        .labelled("traffic_flow=\"recv\""),
    metric("Queries_backends_bytes_sent", "proxysql_queries_backends_bytes_total", Counter,
        "Bytes between Freshet and the server.", |it| it.server.bytes_sent)
        .labelled("traffic_flow=\"sent\""),
    metric("Backend_query_time_nsec", "proxysql_backend_query_time_seconds_total", Nanoseconds,
        "How long the server took for statements that were counted.", |it| it.backend_us * 1000),
    metric("Query_Cache_Memory_bytes", "proxysql_query_cache_memory_bytes", Gauge,
        "Memory of results, keys and overhead included.", |it| it.cache.used),
    metric("Query_Cache_count_GET", "", Counter, "Lookups.", MetricsSnapshot::looked_up),
    metric("", "proxysql_query_cache_count_get_total", Counter,
        "Lookups that found no answer, and those that found one.", |it| it.looked_up() - it.cache.hits)
        .labelled("status=\"err\""),
    metric("Query_Cache_count_GET_OK", "proxysql_query_cache_count_get_total", Counter,
        "Lookups that found no answer, and those that found one.", |it| it.cache.hits)
        .labelled("status=\"ok\""),
    metric("Query_Cache_count_SET", "proxysql_query_cache_count_set_total", Counter,
        "Results stored.", |it| it.cache.inserts),
    metric("Query_Cache_bytes_IN", "proxysql_query_cache_bytes_total", Counter,
        "Bytes of results that were stored, and of answers from memory.", |it| it.cache.bytes_stored)
        .labelled("op=\"written\""),
    metric("Query_Cache_bytes_OUT", "proxysql_query_cache_bytes_total", Counter,
        "Bytes of results that were stored, and of answers from memory.", |it| it.served_bytes)
        .labelled("op=\"read\""),
    metric("Query_Cache_Purged", "proxysql_query_cache_purged_total", Counter,
        "Results that were evicted, or removed because of a change.", |it| it.cache.lowmem_prunes + it.cache.invalidated),
    metric("Query_Cache_Entries", "proxysql_query_cache_entries_total", Gauge,
        "Results stored now, those included that changes have made stale.", |it| it.cache.queries_in_cache),
    metric("Stmt_Cached", "proxysql_stmt_cached", Gauge,
        "SELECTs of which it is known what preparing them gives.", |it| it.prepared),
    metric("Query_Rules_active", "proxysql_query_rules_active", Gauge,
        "Query rules that count.", |it| it.rules),
    metric("ConnPool_get_conn_success", "proxysql_connpool_get_conn_success_total", Counter,
        "Commands that had a connection to the server.", |it| it.server.commands),
    metric("ConnPool_get_conn_failure", "proxysql_connpool_get_conn_failure_total", Counter,
        "Connections to the server that were not had.", |it| it.server.failed),
];

/// Freshet's status values that go up and down. All other numbers only grow.
const GAUGES: [&str; 12] = [
    "Freshet_applied",
    "Freshet_clients",
    "Freshet_fill_bytes",
    "Freshet_lag_ms",
    "Freshet_live",
    "Freshet_receive_bytes",
    "Freshet_send_bytes",
    "Freshet_visible",
    "Qcache_free_blocks",
    "Qcache_free_memory",
    "Qcache_queries_in_cache",
    "Qcache_total_blocks",
];

/// Returns all values by name: ProxySQL's, and then Freshet's.
pub fn named(shared: &Shared, program: Program) -> Vec<(&'static str, String)> {
    let snapshot = MetricsSnapshot::of(shared, program);
    let shown = METRICS.iter().filter(|metric| !metric.name.is_empty());
    let theirs = shown.map(|metric| (metric.name, (metric.read)(&snapshot).to_string()));
    theirs.chain(status::all(shared)).collect()
}

/// Returns all numbers, in the text format of Prometheus.
pub fn prometheus(shared: &Shared, program: Program) -> String {
    let snapshot = MetricsSnapshot::of(shared, program);
    let mut text = String::new();
    let mut family = "";
    for metric in METRICS.iter().filter(|metric| !metric.family.is_empty()) {
        if metric.family != family {
            family = metric.family;
            describe(&mut text, family, metric.kind, metric.doc);
        }
        let labels = if metric.labels.is_empty() { String::new() } else { format!("{{{}}}", metric.labels) };
        let number = (metric.read)(&snapshot);
        let _ = match metric.kind {
            Nanoseconds => writeln!(text, "{family}{labels} {}", number as f64 / 1e9),
            Counter | Gauge => writeln!(text, "{family}{labels} {number}"),
        };
    }
    pool(&mut text, shared, &snapshot.server);
    for (value, (name, read)) in status::STATUS.iter().zip(status::all(shared)) {
        let number = match read.as_str() {
            // The value of one session alone.
            _ if name == "Freshet_session_hits" => continue,
            "ON" => "1",
            "OFF" => "0",
            number if number.parse::<f64>().is_ok() => number,
            _ => continue,
        };
        let kind = if GAUGES.contains(&name) { Gauge } else { Counter };
        // A counter's name has this ending.
        let end = if kind == Counter { "_total" } else { "" };
        let name = format!("{}{end}", name.to_ascii_lowercase());
        describe(&mut text, &name, kind, value.doc);
        let _ = writeln!(text, "{name} {number}");
    }
    text
}

/// Writes the counts of the server, like those of a server in a pool.
fn pool(text: &mut String, shared: &Shared, server: &ServerConnections) {
    let endpoint = match &shared.upstream.config().address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    };
    type Valued<'a> = &'a [(&'static str, u64)];
    let families: [(&str, MetricKind, &str, Valued<'_>); 4] = [
        (
            "proxysql_connpool_conns",
            Gauge,
            "Connections to the server that clients have, and that are kept for others.",
            &[("status=\"used\"", server.used as u64), ("status=\"free\"", server.free as u64)],
        ),
        (
            "proxysql_connpool_conns_total",
            Counter,
            "Connections to the server that were had, and those that were not.",
            &[("status=\"ok\"", server.opened), ("status=\"err\"", server.failed)],
        ),
        (
            "proxysql_connpool_conns_queries_total",
            Counter,
            "Commands that were sent to the server.",
            &[("", server.commands)],
        ),
        (
            "proxysql_connpool_data_bytes_total",
            Counter,
            "Bytes between Freshet and the server.",
            &[("traffic_flow=\"sent\"", server.bytes_sent), ("traffic_flow=\"recv\"", server.bytes_received)],
        ),
    ];
    let endpoint = endpoint.replace('\\', "\\\\").replace('"', "\\\"");
    for (family, kind, doc, values) in families {
        describe(text, family, kind, doc);
        for (label, value) in values {
            let more = if label.is_empty() { String::new() } else { format!(",{label}") };
            let _ = writeln!(text, "{family}{{endpoint=\"{endpoint}\",hostgroup=\"0\"{more}}} {value}");
        }
    }
}

fn describe(text: &mut String, family: &str, kind: MetricKind, doc: &str) {
    let kind = if kind == Gauge { "gauge" } else { "counter" };
    let _ = writeln!(text, "# HELP {family} {doc}\n# TYPE {family} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_together_and_each_value_has_a_name_of_its_own() {
        let told = || METRICS.iter().filter(|metric| !metric.family.is_empty());
        let mut families: Vec<&str> = told().map(|metric| metric.family).collect();
        families.dedup();
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count);
        let mut names: Vec<(&str, &str)> = told().map(|it| (it.family, it.labels)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), told().count());
        assert!(METRICS.iter().all(|metric| !metric.family.is_empty() || !metric.name.is_empty()));
        assert!(METRICS.iter().all(|metric| metric.doc.ends_with('.')));
    }

    #[test]
    fn gauges_are_status_values() {
        for gauge in GAUGES {
            assert!(status::STATUS.iter().any(|value| value.name == gauge), "{gauge}");
        }
    }
}
