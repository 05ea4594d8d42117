//! The tables of the database `stats`, with their columns.

use crate::runtime::Statistic;

/// A table of statistics, in the database `stats`.
pub struct StatisticTable {
    pub name: &'static str,
    pub columns: &'static str,
    pub of: Statistic,
}

/// The columns of digests, which the history has too.
pub const DIGESTS: &str = "
    hostgroup INT,
    schemaname VARCHAR NOT NULL,
    username VARCHAR NOT NULL,
    client_address VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    digest_text VARCHAR NOT NULL,
    count_star INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    sum_time INTEGER NOT NULL,
    min_time INTEGER NOT NULL,
    max_time INTEGER NOT NULL,
    sum_rows_affected INTEGER NOT NULL,
    sum_rows_sent INTEGER NOT NULL,
    PRIMARY KEY (hostgroup, schemaname, username, client_address, digest)";

const NAMED_VALUES: &str = "
    Variable_Name VARCHAR NOT NULL PRIMARY KEY,
    Variable_Value VARCHAR NOT NULL";

const RULE_HITS: &str = "
    rule_id INTEGER PRIMARY KEY,
    hits INT NOT NULL";

const COMMANDS: &str = "
    Command VARCHAR NOT NULL PRIMARY KEY,
    Total_Time_us INT NOT NULL,
    Total_cnt INT NOT NULL,
    cnt_100us INT NOT NULL,
    cnt_500us INT NOT NULL,
    cnt_1ms INT NOT NULL,
    cnt_5ms INT NOT NULL,
    cnt_10ms INT NOT NULL,
    cnt_50ms INT NOT NULL,
    cnt_100ms INT NOT NULL,
    cnt_500ms INT NOT NULL,
    cnt_1s INT NOT NULL,
    cnt_5s INT NOT NULL,
    cnt_10s INT NOT NULL,
    cnt_INFs INT NOT NULL";

/// The columns of the pool, which the history has too.
pub const POOL: &str = "
    hostgroup INT,
    srv_host VARCHAR,
    srv_port INT,
    status VARCHAR,
    ConnUsed INT,
    ConnFree INT,
    ConnOK INT,
    ConnERR INT,
    MaxConnUsed INT,
    Queries INT,
    Queries_GTID_sync INT,
    Bytes_data_sent INT,
    Bytes_data_recv INT,
    Latency_us INT";

const USERS_CONNECTED: &str = "
    username VARCHAR PRIMARY KEY,
    frontend_connections INT NOT NULL,
    frontend_max_connections INT NOT NULL";

const PROCESSES: &str = "
    ThreadID INT NOT NULL,
    SessionID INTEGER PRIMARY KEY,
    user VARCHAR,
    db VARCHAR,
    cli_host VARCHAR,
    cli_port INT,
    hostgroup INT,
    l_srv_host VARCHAR,
    l_srv_port INT,
    srv_host VARCHAR,
    srv_port INT,
    command VARCHAR,
    time_ms INT NOT NULL,
    info VARCHAR,
    status_flags INT,
    extended_info VARCHAR";

const ERRORS: &str = "
    hostgroup INT NOT NULL,
    hostname VARCHAR NOT NULL,
    port INT NOT NULL,
    username VARCHAR NOT NULL,
    client_address VARCHAR NOT NULL,
    schemaname VARCHAR NOT NULL,
    errno INT NOT NULL,
    count_star INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    last_error VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (hostgroup, hostname, port, username, schemaname, errno)";

const PREPARED: &str = "
    global_stmt_id INT NOT NULL,
    hostgroup INT NOT NULL,
    schemaname VARCHAR NOT NULL,
    username VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    ref_count_client INT NOT NULL,
    ref_count_server INT NOT NULL,
    num_columns INT NOT NULL,
    num_params INT NOT NULL,
    query VARCHAR NOT NULL";

const FREE_CONNECTIONS: &str = "
    fd INT NOT NULL,
    hostgroup INT NOT NULL,
    srv_host VARCHAR NOT NULL,
    srv_port INT NOT NULL,
    user VARCHAR NOT NULL,
    schema VARCHAR,
    init_connect VARCHAR,
    time_zone VARCHAR,
    sql_mode VARCHAR,
    autocommit VARCHAR,
    idle_ms INT,
    statistics VARCHAR,
    mysql_info VARCHAR";

/// Tables of statistics.
pub static STATISTICS: [StatisticTable; 14] = [
    StatisticTable { name: "stats_mysql_global", columns: NAMED_VALUES, of: Statistic::Global },
    StatisticTable { name: "stats_memory_metrics", columns: NAMED_VALUES, of: Statistic::Memory },
    StatisticTable { name: "stats_mysql_processlist", columns: PROCESSES, of: Statistic::Processes },
    StatisticTable { name: "stats_mysql_query_rules", columns: RULE_HITS, of: Statistic::Rules },
    StatisticTable { name: "stats_mysql_connection_pool", columns: POOL, of: Statistic::Connections },
    StatisticTable {
        name: "stats_mysql_connection_pool_reset",
        columns: POOL,
        of: Statistic::ConnectionsReset,
    },
    StatisticTable { name: "stats_mysql_commands_counters", columns: COMMANDS, of: Statistic::Commands },
    StatisticTable { name: "stats_mysql_users", columns: USERS_CONNECTED, of: Statistic::Users },
    StatisticTable { name: "stats_mysql_errors", columns: ERRORS, of: Statistic::Errors },
    StatisticTable { name: "stats_mysql_errors_reset", columns: ERRORS, of: Statistic::ErrorsReset },
    StatisticTable {
        name: "stats_mysql_prepared_statements_info",
        columns: PREPARED,
        of: Statistic::Prepared,
    },
    StatisticTable {
        name: "stats_mysql_free_connections",
        columns: FREE_CONNECTIONS,
        of: Statistic::FreeConnections,
    },
    StatisticTable { name: "stats_mysql_query_digest", columns: DIGESTS, of: Statistic::Digests },
    StatisticTable { name: "stats_mysql_query_digest_reset", columns: DIGESTS, of: Statistic::DigestsReset },
];
