//! Global variables that can change results without a word in the binlog.

use crate::connection::{Connection, Rows};
use crate::error::Error;

/// Variables that can change what a statement answers, in a session that runs or in one that starts with their values, and
/// those that following itself rests on. Not all servers have all of them.
const NAMES: [&str; 71] = [
    "activate_all_roles_on_login",
    "autocommit",
    "binlog_checksum",
    "binlog_format",
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
    "completion_type",
    "cte_max_recursion_depth",
    "default_collation_for_utf8mb4",
    "default_regex_flags",
    "default_week_format",
    "div_precision_increment",
    "end_markers_in_json",
    "foreign_key_checks",
    "ft_boolean_syntax",
    "ft_max_word_len",
    "ft_min_word_len",
    "ft_query_expansion_limit",
    "group_concat_max_len",
    "gtid_mode",
    "hostname",
    "init_connect",
    "innodb_ft_enable_stopword",
    "innodb_ft_result_cache_limit",
    "innodb_native_foreign_keys",
    "innodb_snapshot_isolation",
    "lc_messages",
    "lc_time_names",
    "log_bin",
    "lower_case_table_names",
    "mandatory_roles",
    "max_allowed_packet",
    "max_error_count",
    "max_execution_time",
    "max_join_size",
    "max_points_in_geometry",
    "max_recursive_iterations",
    "max_sort_length",
    "max_statement_time",
    "old",
    "old_mode",
    "optimizer_switch",
    "partial_revokes",
    "regexp_stack_limit",
    "regexp_time_limit",
    "secure_file_priv",
    "server_id",
    "server_uuid",
    "show_old_temporals",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "sql_select_limit",
    "system_versioning_asof",
    "time_zone",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "windowing_use_high_precision",
];

/// The variables as they were last looked at.
#[derive(Debug)]
pub(crate) struct Globals {
    question: String,
    values: Vec<Vec<Option<Vec<u8>>>>,
}

impl Globals {
    /// Finds out which of the variables the server has, and reads them.
    pub(crate) async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let question = question(&connection.query("SHOW GLOBAL VARIABLES").await?);
        let values = connection.query(&question).await?.rows;
        Ok(Self { question, values })
    }

    /// Reads them again. True if any has changed.
    pub(crate) async fn look(&mut self, connection: &mut Connection) -> Result<bool, Error> {
        let values = connection.query(&self.question).await?.rows;
        let changed = values != self.values;
        self.values = values;
        Ok(changed)
    }

    /// Whether the other was read with another outcome.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.question != other.question || self.values != other.values
    }
}

/// Reading them one by one is some ten times cheaper for the server than SHOW GLOBAL VARIABLES, and this is asked every second.
fn question(all: &Rows) -> String {
    let has =
        |name: &str| all.texts().any(|row| row.first().is_some_and(|found| found.eq_ignore_ascii_case(name)));
    let names: Vec<String> =
        NAMES.iter().filter(|name| has(name)).map(|name| format!("@@GLOBAL.{name}")).collect();
    if names.is_empty() { "SELECT 1".to_owned() } else { format!("SELECT {}", names.join(", ")) }
}
