//! The global variables that are looked at, and the reasons.
//!
//! No binlog tells that a global variable was set. Each variable of the servers is in one of five classes:
//!
//! | class | the change concerns | so |
//! |---|---|---|
//! | [`RESULTS`] | every session at once: its results, or what it may read | all results are stamped, and logins are forgotten |
//! | [`LOGINS`] | who gets in, and what a new session starts with | remembered logins are forgotten |
//! | [`STREAM`] | how the binlog is to be believed | the server is looked at again, and logins are forgotten |
//! | [`irrelevant`] | neither: sizes, plans, logs, replication | it is not looked at |
//! | in none of these | unknown: a newer server's, or a plugin's | as `RESULTS` |
//!
//! A session reads its own copy of a variable itself, as a part of its environment; the global value is the start value of new sessions.
//! So `RESULTS` has the variables without a session's copy, and those whose global value counts beside the copy. A variable that can only
//! be set at the server's start needs no place here, because a restart ends the stream.

mod irrelevant;
#[cfg(test)]
mod tests;

use super::Variables;

/// What the change of a global variable concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerns {
    /// The answers of sessions, from this moment on.
    Results,
    /// The start values of new sessions, and whether they are let in.
    Logins,
    /// Not known, so it may be everything.
    Unknown,
}

/// Variables whose global value every statement reads. Roles and revokes come first: after a right is taken away, nothing may be answered
/// from memory by it.
static RESULTS: &[&str] = &[
    "activate_mandatory_roles",
    "ft_boolean_syntax",
    "innodb_ft_aux_table",
    "innodb_ft_result_cache_limit",
    "innodb_ft_server_stopword_table",
    "mandatory_roles",
    "offline_mode",
    "partial_revokes",
    "regexp_stack_limit",
    "regexp_time_limit",
    "wsrep_reject_queries",
];

/// The start values of new sessions, and the variables on which a login's outcome depends.
static LOGINS: &[&str] = &[
    "activate_all_roles_on_login",
    "authentication_policy",
    "auto_increment_increment",
    "auto_increment_offset",
    "autocommit",
    "big_tables",
    "block_encryption_mode",
    "caching_sha2_password_proxy_users",
    "character_set_client",
    "character_set_collations",
    "character_set_connection",
    "character_set_database",
    "character_set_filesystem",
    "character_set_results",
    "character_set_server",
    "check_proxy_users",
    "collation_connection",
    "collation_database",
    "collation_server",
    "completion_type",
    "cte_max_recursion_depth",
    "default_collation_for_utf8mb4",
    "default_password_lifetime",
    "default_regex_flags",
    "default_week_format",
    "disconnect_on_expired_password",
    "div_precision_increment",
    "end_markers_in_json",
    "explicit_defaults_for_timestamp",
    "foreign_key_checks",
    "group_concat_max_len",
    "idle_readonly_transaction_timeout",
    "idle_transaction_timeout",
    "idle_write_transaction_timeout",
    "init_connect",
    "innodb_ft_enable_stopword",
    "innodb_ft_user_stopword_table",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "join_cache_level",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "max_allowed_packet",
    "max_error_count",
    "max_execution_time",
    "max_join_size",
    "max_password_errors",
    "max_recursive_iterations",
    "max_sort_length",
    "max_statement_time",
    "max_user_connections",
    "note_verbosity",
    "old",
    "old_mode",
    "old_passwords",
    "optimizer_switch",
    "proxy_protocol_networks",
    "require_secure_transport",
    "secure_auth",
    "session_track_gtids",
    "session_track_schema",
    "session_track_state_change",
    "session_track_system_variables",
    "session_track_transaction_info",
    "sha256_password_proxy_users",
    "show_gipk_in_create_table_and_information_schema",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_select_limit",
    "standard_compliant_cte",
    "system_versioning_asof",
    "time_zone",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "unique_checks",
    "updatable_views_with_limit",
    "wait_timeout",
    "windowing_use_high_precision",
];

/// The variables that decide whether the stream can be believed.
static STREAM: &[&str] = &[
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "gtid_mode",
    "query_cache_size",
    "query_cache_type",
    "read_only",
    // They decide which logins are let in.
    "super_read_only",
    "wsrep_on",
];

/// Returns what the change of this variable, named in lower case, concerns; `None` if it need not be looked at.
pub fn concerns(name: &str) -> Option<Concerns> {
    let is_in = |list: &[&str]| list.contains(&name);
    if is_in(LOGINS) || is_in(STREAM) {
        Some(Concerns::Logins)
    } else if is_in(RESULTS) {
        Some(Concerns::Results)
    } else {
        (!irrelevant::is_irrelevant(name) && is_plain(name)).then_some(Concerns::Unknown)
    }
}

/// Whether a name can be written into a statement without quotes.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
}

/// Returns the variables of this server that are looked at, in the order of their names, and what each concerns.
pub(super) fn watched(variables: &Variables) -> Vec<(String, Concerns)> {
    let watched = |(name, _): (&str, &str)| Some((name.to_owned(), concerns(name)?));
    variables.iter().filter_map(watched).collect()
}
