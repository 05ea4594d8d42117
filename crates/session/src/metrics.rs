//! What is counted, under ProxySQL's names and Prometheus's: one table, from which `stats_mysql_global`, `SHOW PROMETHEUS METRICS` and the
//! endpoint for Prometheus are made. Freshet's own status values ([`crate::status`]) stand beside them.

use std::fmt::Write;

use freshet_cache::Statistics as Cached;

use crate::counters::Count;
use crate::shared::{ServerConnections, Shared};
use crate::status;

/// Whether a value only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}
use Kind::{Counter, Gauge};

/// One value.
struct Metric {
    /// In `stats_mysql_global`.
    name: &'static str,
    /// Prometheus's name, and the labels that tell it from others of this name.
    family: &'static str,
    labels: &'static str,
    kind: Kind,
    doc: &'static str,
    read: fn(&Facts) -> u64,
}

/// What the program knows of itself.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// How long it has run, in seconds.
    pub uptime_s: u64,
    /// How many event loops it has.
    pub threads: usize,
}

/// What the values are read of, at one moment.
struct Facts {
    program: Program,
    cache: Cached,
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

impl Facts {
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
    (name, family, labels): (&'static str, &'static str, &'static str),
    kind: Kind,
    doc: &'static str,
    read: fn(&Facts) -> u64,
) -> Metric {
    Metric { name, family, labels, kind, doc, read }
}

/// All of them. Those with the same family stand together.
#[rustfmt::skip]
static METRICS: [Metric; 25] = [
    metric(("ProxySQL_Uptime", "proxysql_uptime_seconds_total", ""), Counter,
        "Seconds since the start.", |it| it.program.uptime_s),
    metric(("Client_Connections_aborted", "proxysql_client_connections_total", "status=\"aborted\""), Counter,
        "Clients that were let in, and those that left while they were owed an answer.", |it| it.vanished),
    metric(("Client_Connections_created", "proxysql_client_connections_total", "status=\"created\""), Counter,
        "Clients that were let in, and those that left while they were owed an answer.", |it| it.connections),
    metric(("Client_Connections_connected", "proxysql_client_connections_connected", ""), Gauge,
        "Clients connected now.", |it| it.clients),
    metric(("Client_Connections_non_idle", "proxysql_client_connections_non_idle", ""), Gauge,
        "Clients for which the server works now.", |it| it.busy),
    metric(("Server_Connections_aborted", "proxysql_server_connections_total", "status=\"aborted\""), Counter,
        "Connections to the server that were had, and those that were not.", |it| it.server.failed),
    metric(("Server_Connections_created", "proxysql_server_connections_total", "status=\"created\""), Counter,
        "Connections to the server that were had, and those that were not.", |it| it.server.opened),
    metric(("Server_Connections_connected", "proxysql_server_connections_connected", ""), Gauge,
        "Connections to the server now.", |it| (it.server.used + it.server.free) as u64),
    metric(("Questions", "proxysql_questions_total", ""), Counter,
        "Statements of clients: from memory, and sent to the server.", |it| it.forwarded + it.cache.hits),
    metric(("MySQL_Thread_Workers", "proxysql_mysql_thread_workers", ""), Gauge,
        "Event loops.", |it| it.program.threads as u64),
    metric(("Queries_backends_bytes_recv", "proxysql_queries_backends_bytes_total", "traffic_flow=\"recv\""), Counter,
        "Bytes between Freshet and the server.", |it| it.server.bytes_received),
    metric(("Queries_backends_bytes_sent", "proxysql_queries_backends_bytes_total", "traffic_flow=\"sent\""), Counter,
        "Bytes between Freshet and the server.", |it| it.server.bytes_sent),
    metric(("Backend_query_time_nsec", "proxysql_backend_query_time_nsec_total", ""), Counter,
        "How long the server took for statements that were counted, in nanoseconds.", |it| it.backend_us * 1000),
    metric(("Query_Cache_Memory_bytes", "proxysql_query_cache_memory_bytes", ""), Gauge,
        "Memory of results, keys and overhead included.", |it| it.cache.used),
    metric(("Query_Cache_count_GET", "proxysql_query_cache_count_get_total", "status=\"any\""), Counter,
        "Lookups, and those that found an answer.", Facts::looked_up),
    metric(("Query_Cache_count_GET_OK", "proxysql_query_cache_count_get_total", "status=\"ok\""), Counter,
        "Lookups, and those that found an answer.", |it| it.cache.hits),
    metric(("Query_Cache_count_SET", "proxysql_query_cache_count_set_total", ""), Counter,
        "Results stored.", |it| it.cache.inserts),
    metric(("Query_Cache_bytes_IN", "proxysql_query_cache_bytes_total", "op=\"written\""), Counter,
        "Bytes of results that were stored, and of answers from memory.", |it| it.cache.bytes_stored),
    metric(("Query_Cache_bytes_OUT", "proxysql_query_cache_bytes_total", "op=\"read\""), Counter,
        "Bytes of results that were stored, and of answers from memory.", |it| it.served_bytes),
    metric(("Query_Cache_Purged", "proxysql_query_cache_purged_total", ""), Counter,
        "Results that were evicted, or removed because of a change.", |it| it.cache.lowmem_prunes + it.cache.invalidated),
    metric(("Query_Cache_Entries", "proxysql_query_cache_entries", ""), Gauge,
        "Results stored now, those included that changes have made stale.", |it| it.cache.queries_in_cache),
    metric(("Stmt_Cached", "proxysql_stmt_cached", ""), Gauge,
        "SELECTs of which it is known what preparing them gives.", |it| it.prepared),
    metric(("Query_Rules_active", "proxysql_query_rules_active", ""), Gauge,
        "Query rules that count.", |it| it.rules),
    metric(("ConnPool_get_conn_success", "proxysql_connpool_get_conn_success_total", ""), Counter,
        "Commands that had a connection to the server.", |it| it.server.commands),
    metric(("ConnPool_get_conn_failure", "proxysql_connpool_get_conn_failure_total", ""), Counter,
        "Connections to the server that were not had.", |it| it.server.failed),
];

/// Status values of ours that go up and down. The others that are numbers only grow.
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

/// Everything by its name: ProxySQL's, and then ours.
pub fn named(shared: &Shared, program: Program) -> Vec<(&'static str, String)> {
    let facts = Facts::of(shared, program);
    let theirs = METRICS.iter().map(|metric| (metric.name, (metric.read)(&facts).to_string()));
    theirs.chain(status::all(shared)).collect()
}

/// Everything that is a number, in the text format of Prometheus.
pub fn prometheus(shared: &Shared, program: Program) -> String {
    let facts = Facts::of(shared, program);
    let mut text = String::new();
    let mut family = "";
    for metric in &METRICS {
        if metric.family != family {
            family = metric.family;
            describe(&mut text, family, metric.kind, metric.doc);
        }
        let labels = if metric.labels.is_empty() { String::new() } else { format!("{{{}}}", metric.labels) };
        let _ = writeln!(text, "{family}{labels} {}", (metric.read)(&facts));
    }
    for (value, (name, read)) in status::STATUS.iter().zip(status::all(shared)) {
        let number = match read.as_str() {
            // Of one session alone.
            _ if name == "Freshet_session_hits" => continue,
            "ON" => "1",
            "OFF" => "0",
            number if number.parse::<f64>().is_ok() => number,
            _ => continue,
        };
        let kind = if GAUGES.contains(&name) { Gauge } else { Counter };
        // A counter's name ends so.
        let end = if kind == Counter { "_total" } else { "" };
        let name = format!("{}{end}", name.to_ascii_lowercase());
        describe(&mut text, &name, kind, value.doc);
        let _ = writeln!(text, "{name} {number}");
    }
    text
}

fn describe(text: &mut String, family: &str, kind: Kind, doc: &str) {
    let kind = if kind == Counter { "counter" } else { "gauge" };
    let _ = writeln!(text, "# HELP {family} {doc}\n# TYPE {family} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_together_and_each_value_has_a_name_of_its_own() {
        let mut families: Vec<&str> = METRICS.iter().map(|metric| metric.family).collect();
        families.dedup();
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count);
        let mut names: Vec<(&str, &str)> = METRICS.iter().map(|it| (it.family, it.labels)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        assert!(METRICS.iter().all(|metric| metric.doc.ends_with('.')));
    }

    #[test]
    fn gauges_are_status_values() {
        for gauge in GAUGES {
            assert!(status::STATUS.iter().any(|value| value.name == gauge), "{gauge}");
        }
    }
}
