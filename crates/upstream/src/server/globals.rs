//! The global variables that can change a result.

use super::Variables;

/// Global variables that can change a result: those that a new session starts with, so that what
/// was learned of a fresh session's environment no longer holds, and those that every session reads
/// as they are. A name that the server does not have is left out; a variable that can only be set
/// at the server's start needs no place here, because a restart ends the stream.
static RESULT_AFFECTING: &[&str] = &[
    "autocommit",
    "big_tables",
    "block_encryption_mode",
    "character_set_client",
    "character_set_collations",
    "character_set_connection",
    "character_set_database",
    "character_set_filesystem",
    "character_set_results",
    "character_set_server",
    "collation_connection",
    "collation_database",
    "collation_server",
    "cte_max_recursion_depth",
    "default_collation_for_utf8mb4",
    "default_regex_flags",
    "default_week_format",
    "div_precision_increment",
    "end_markers_in_json",
    "explicit_defaults_for_timestamp",
    "ft_boolean_syntax",
    "group_concat_max_len",
    "init_connect",
    "innodb_ft_aux_table",
    "innodb_ft_enable_stopword",
    "innodb_ft_result_cache_limit",
    "innodb_ft_server_stopword_table",
    "innodb_ft_user_stopword_table",
    "join_cache_level",
    "lc_messages",
    "lc_time_names",
    "mandatory_roles",
    "activate_all_roles_on_login",
    "max_allowed_packet",
    "max_execution_time",
    "max_join_size",
    "max_recursive_iterations",
    "max_sort_length",
    "max_statement_time",
    "old",
    "old_mode",
    "optimizer_switch",
    "partial_revokes",
    "regexp_stack_limit",
    "regexp_time_limit",
    "session_track_gtids",
    "session_track_schema",
    "session_track_state_change",
    "session_track_system_variables",
    "session_track_transaction_info",
    "show_gipk_in_create_table_and_information_schema",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
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
    "updatable_views_with_limit",
    "windowing_use_high_precision",
    // What decides whether the stream can be believed.
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "gtid_mode",
    "query_cache_size",
    "query_cache_type",
    "read_only",
    // Which logins are let in.
    "require_secure_transport",
    "super_read_only",
    "wsrep_on",
];

/// One row with the values of those that this server has as global ones.
pub(super) fn question(variables: &Variables) -> String {
    let present: Vec<String> = RESULT_AFFECTING
        .iter()
        .filter(|name| variables.knows(name))
        .map(|name| format!("@@global.{name}"))
        .collect();
    format!("SELECT {}", present.join(", "))
}
