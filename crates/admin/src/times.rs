//! The tables of the history: those of `stats_history`, and those of `monitor`.

use crate::statistics::{DIGESTS, POOL};

/// The values that are noted at one interval in one table.
pub struct Series {
    /// The table, in `stats_history`.
    pub name: &'static str,
    /// The variable with the interval, in seconds.
    pub interval: &'static str,
    /// Columns, the names of the noted values, and whether these go up and down.
    pub columns: &'static [(&'static str, &'static str, bool)],
}

/// All series.
#[rustfmt::skip]
pub static SERIES: [Series; 4] = [
    Series { name: "mysql_connections", interval: "admin-stats_mysql_connections", columns: &[
        ("Client_Connections_aborted", "Client_Connections_aborted", false),
        ("Client_Connections_connected", "Client_Connections_connected", true),
        ("Client_Connections_created", "Client_Connections_created", false),
        ("Server_Connections_aborted", "Server_Connections_aborted", false),
        ("Server_Connections_connected", "Server_Connections_connected", true),
        ("Server_Connections_created", "Server_Connections_created", false),
        ("ConnPool_get_conn_failure", "ConnPool_get_conn_failure", false),
        ("ConnPool_get_conn_immediate", "ConnPool_get_conn_immediate", false),
        ("ConnPool_get_conn_success", "ConnPool_get_conn_success", false),
        ("Questions", "Questions", false),
        ("Slow_queries", "Slow_queries", false),
        ("GTID_consistent_queries", "GTID_consistent_queries", false),
    ] },
    Series { name: "mysql_query_cache", interval: "admin-stats_mysql_query_cache", columns: &[
        ("count_GET", "Query_Cache_count_GET", false),
        ("count_GET_OK", "Query_Cache_count_GET_OK", false),
        ("count_SET", "Query_Cache_count_SET", false),
        ("bytes_IN", "Query_Cache_bytes_IN", false),
        ("bytes_OUT", "Query_Cache_bytes_OUT", false),
        ("Entries_Purged", "Query_Cache_Purged", false),
        ("Entries_In_Cache", "Query_Cache_Entries", true),
        ("Memory_bytes", "Query_Cache_Memory_bytes", true),
    ] },
    Series { name: "system_cpu", interval: "admin-stats_system_cpu", columns: &[
        ("tms_utime", "cpu_user_ticks", false),
        ("tms_stime", "cpu_system_ticks", false),
    ] },
    Series { name: "system_memory", interval: "admin-stats_system_memory", columns: &[
        ("allocated", "memory_allocated", true),
        ("resident", "memory_resident", true),
        ("active", "memory_active", true),
        ("mapped", "memory_mapped", true),
        ("metadata", "memory_metadata", true),
        ("retained", "memory_retained", true),
    ] },
];

/// The columns of all values, by a name and an id.
const VALUES: &str = "
    variable_id INTEGER NOT NULL,
    timestamp INT NOT NULL,
    variable_value VARCHAR NOT NULL,
    PRIMARY KEY (timestamp, variable_id)";
const NAMES: &str = "
    variable_id INTEGER PRIMARY KEY AUTOINCREMENT,
    variable_name VARCHAR NOT NULL UNIQUE";

/// Returns every table of `stats_history`, with its columns.
pub fn history() -> Vec<(String, String)> {
    let mut tables = vec![
        ("history_mysql_status_variables".to_owned(), VALUES.to_owned()),
        ("history_mysql_status_variables_lookup".to_owned(), NAMES.to_owned()),
        ("history_stats_mysql_connection_pool".to_owned(), format!("timestamp INT NOT NULL,{POOL}")),
        ("history_mysql_query_digest".to_owned(), format!("dump_time INT,{}", without_key(DIGESTS))),
    ];
    for series in &SERIES {
        let columns: Vec<String> =
            series.columns.iter().map(|(name, ..)| format!("{name} INT NOT NULL")).collect();
        let columns = format!("timestamp INT NOT NULL PRIMARY KEY, {}", columns.join(", "));
        tables.extend(["", "_hour", "_day"].map(|end| (format!("{}{end}", series.name), columns.clone())));
    }
    tables
}

fn without_key(columns: &str) -> &str {
    columns.find("PRIMARY KEY").map_or(columns, |at| columns[..at].trim_end().trim_end_matches(','))
}

const CONNECTS: &str = "
    hostname VARCHAR NOT NULL,
    port INT NOT NULL DEFAULT 3306,
    time_start_us INT NOT NULL DEFAULT 0,
    connect_success_time_us INT DEFAULT 0,
    connect_error VARCHAR,
    PRIMARY KEY (hostname, port, time_start_us)";

const PINGS: &str = "
    hostname VARCHAR NOT NULL,
    port INT NOT NULL DEFAULT 3306,
    time_start_us INT NOT NULL DEFAULT 0,
    ping_success_time_us INT DEFAULT 0,
    ping_error VARCHAR,
    PRIMARY KEY (hostname, port, time_start_us)";

const READ_ONLY: &str = "
    hostname VARCHAR NOT NULL,
    port INT NOT NULL DEFAULT 3306,
    time_start_us INT NOT NULL DEFAULT 0,
    success_time_us INT DEFAULT 0,
    read_only INT DEFAULT 1,
    error VARCHAR,
    PRIMARY KEY (hostname, port, time_start_us)";

/// Every table of `monitor`, with its columns.
pub const MONITOR: [(&str, &str); 3] = [
    ("mysql_server_connect_log", CONNECTS),
    ("mysql_server_ping_log", PINGS),
    ("mysql_server_read_only_log", READ_ONLY),
];
