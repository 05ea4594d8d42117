//! The tables of the schema `mysql`, which hold accounts, routines and time zones.

/// The schema in which the server keeps its own state.
const SYSTEM_SCHEMA: &str = "mysql";

/// Tables of the schema on which no result depends except their own, and that are written on a schedule: hosted servers write to their
/// heartbeat tables every few seconds, and statistics follow every large change. Without this list they would empty the cache each time.
/// Tables that are not listed are taken to matter.
const HARMLESS: [&str; 14] = [
    "rds_heartbeat2",
    "rds_history",
    "ha_health_check",
    "heartbeat",
    "gtid_slave_pos",
    "gtid_executed",
    "table_stats",
    "column_stats",
    "index_stats",
    "innodb_table_stats",
    "innodb_index_stats",
    "general_log",
    "slow_log",
    "transaction_registry",
];

/// Whether a change of this table may change accounts, privileges, or results that do not name it.
pub(super) fn concerns_everything(schema: &str, table: &str) -> bool {
    schema.eq_ignore_ascii_case(SYSTEM_SCHEMA)
        && !HARMLESS.iter().any(|name| table.eq_ignore_ascii_case(name))
}

/// Whether this table of the system schema keeps routines, so that its rows are their definitions.
pub(super) fn holds_code(table: &str) -> bool {
    ["func", "proc"].iter().any(|name| table.eq_ignore_ascii_case(name))
}
