//! Every table, with its columns, constraints and defaults.

/// The databases beside `main`.
pub const ATTACHED: [&str; 4] = ["disk", "stats", "monitor", "stats_history"];

/// A table of configuration: it exists in memory, on disk, and as `runtime_` in memory.
pub struct Table {
    pub name: &'static str,
    /// The text between the parentheses of its CREATE TABLE.
    pub columns: &'static str,
    /// The condition for the rows that count.
    pub counts: &'static str,
}

const RULES: &str = "
    rule_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 0,
    username VARCHAR,
    schemaname VARCHAR,
    flagIN INT CHECK (flagIN >= 0) NOT NULL DEFAULT 0,
    client_addr VARCHAR,
    proxy_addr VARCHAR,
    proxy_port INT CHECK (proxy_port >= 0 AND proxy_port <= 65535),
    digest VARCHAR,
    match_digest VARCHAR,
    match_pattern VARCHAR,
    negate_match_pattern INT CHECK (negate_match_pattern IN (0,1)) NOT NULL DEFAULT 0,
    re_modifiers VARCHAR DEFAULT 'CASELESS',
    flagOUT INT CHECK (flagOUT >= 0),
    replace_pattern VARCHAR CHECK (replace_pattern IS NULL OR match_pattern IS NOT NULL),
    destination_hostgroup INT DEFAULT NULL,
    cache_ttl INT CHECK (cache_ttl > 0),
    cache_empty_result INT CHECK (cache_empty_result IN (0,1)) DEFAULT NULL,
    cache_timeout INT CHECK (cache_timeout >= 0),
    reconnect INT CHECK (reconnect IN (0,1)) DEFAULT NULL,
    timeout INT CHECK (timeout >= 0),
    retries INT CHECK (retries >= 0 AND retries <= 1000),
    delay INT CHECK (delay >= 0),
    next_query_flagIN INT CHECK (next_query_flagIN >= 0),
    mirror_flagOUT INT CHECK (mirror_flagOUT >= 0),
    mirror_hostgroup INT CHECK (mirror_hostgroup >= 0),
    error_msg VARCHAR,
    OK_msg VARCHAR,
    sticky_conn INT CHECK (sticky_conn IN (0,1)),
    multiplex INT CHECK (multiplex IN (0,1,2)),
    gtid_from_hostgroup INT CHECK (gtid_from_hostgroup >= 0),
    log INT CHECK (log IN (0,1)),
    apply INT CHECK (apply IN (0,1)) NOT NULL DEFAULT 0,
    attributes VARCHAR CHECK (attributes = '' OR json_valid(attributes)) NOT NULL DEFAULT '',
    comment VARCHAR";

const SERVERS: &str = "
    hostgroup_id INT CHECK (hostgroup_id >= 0) NOT NULL DEFAULT 0,
    hostname VARCHAR NOT NULL,
    port INT CHECK (port >= 0 AND port <= 65535) NOT NULL DEFAULT 3306,
    gtid_port INT CHECK (gtid_port >= 0 AND gtid_port <= 65535) NOT NULL DEFAULT 0,
    status VARCHAR CHECK (UPPER(status) IN ('ONLINE','SHUNNED','OFFLINE_SOFT','OFFLINE_HARD')) NOT NULL DEFAULT 'ONLINE',
    weight INT CHECK (weight >= 0 AND weight <= 10000000) NOT NULL DEFAULT 1,
    compression INT CHECK (compression IN (0,1)) NOT NULL DEFAULT 0,
    max_connections INT CHECK (max_connections >= 0) NOT NULL DEFAULT 1000,
    max_replication_lag INT CHECK (max_replication_lag >= 0 AND max_replication_lag <= 126144000) NOT NULL DEFAULT 0,
    use_ssl INT CHECK (use_ssl IN (0,1)) NOT NULL DEFAULT 0,
    max_latency_ms INT CHECK (max_latency_ms >= 0) NOT NULL DEFAULT 0,
    comment VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (hostgroup_id, hostname, port)";

const USERS: &str = "
    username VARCHAR NOT NULL,
    password VARCHAR,
    active INT CHECK (active IN (0,1)) NOT NULL DEFAULT 1,
    use_ssl INT CHECK (use_ssl IN (0,1)) NOT NULL DEFAULT 0,
    default_hostgroup INT NOT NULL DEFAULT 0,
    default_schema VARCHAR,
    schema_locked INT CHECK (schema_locked IN (0,1)) NOT NULL DEFAULT 0,
    transaction_persistent INT CHECK (transaction_persistent IN (0,1)) NOT NULL DEFAULT 1,
    fast_forward INT CHECK (fast_forward IN (0,1)) NOT NULL DEFAULT 0,
    backend INT CHECK (backend IN (0,1)) NOT NULL DEFAULT 1,
    frontend INT CHECK (frontend IN (0,1)) NOT NULL DEFAULT 1,
    max_connections INT CHECK (max_connections >= 0) NOT NULL DEFAULT 10000,
    attributes VARCHAR CHECK (attributes = '' OR json_valid(attributes)) NOT NULL DEFAULT '',
    comment VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (username, backend),
    UNIQUE (username, frontend)";

const REPLICATION: &str = "
    writer_hostgroup INT CHECK (writer_hostgroup >= 0) NOT NULL PRIMARY KEY,
    reader_hostgroup INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup AND reader_hostgroup >= 0),
    check_type VARCHAR CHECK (LOWER(check_type) IN ('read_only','innodb_read_only','super_read_only')) NOT NULL
        DEFAULT 'read_only',
    comment VARCHAR NOT NULL DEFAULT ''";

const VARIABLES: &str = "
    variable_name VARCHAR NOT NULL PRIMARY KEY,
    variable_value VARCHAR NOT NULL";

/// Tables of configuration.
pub static CONFIGURATION: [Table; 5] = [
    Table { name: "mysql_servers", columns: SERVERS, counts: "1" },
    Table { name: "mysql_replication_hostgroups", columns: REPLICATION, counts: "1" },
    Table { name: "mysql_users", columns: USERS, counts: "active = 1" },
    Table { name: "mysql_query_rules", columns: RULES, counts: "active = 1" },
    Table { name: "global_variables", columns: VARIABLES, counts: "1" },
];

/// Returns the statement that makes a table.
pub fn create(schema: &str, name: &str, columns: &str) -> String {
    format!("CREATE TABLE IF NOT EXISTS {schema}.{name} ({columns})")
}
