//! Tables that Freshet makes: `information_schema.query_cache_info` and `performance_schema.persisted_variables`. Freshet puts their rows
//! into the statement for the server, and the server computes over them.

use std::fmt::Write as _;
use std::sync::Arc;

use ahash::HashMap;
use freshet_cache::Summary;
use freshet_sql::{Flavor, Made};
use freshet_upstream::server::Version;

use crate::environment::{Environment, VectorQuery, environment_of, is_of_executions};
use crate::session::{Session, is_question};

/// How many results are listed, and how many bytes their texts have together: all of it is sent to the server.
const LISTED_MAX: usize = 4096;
const LISTED_BYTES_MAX: usize = 512 << 10;
/// How many results are listed if each row is a SELECT of its own.
const SELECTED_MAX: usize = 256;
/// The first MySQL that has `VALUES ROW(…)`.
const ROWS_SINCE: Version = Version { major: 8, minor: 0, patch: 19 };

/// A session's settings among the columns, in their order from LIMIT on.
const SETTINGS: [&str; 11] = [
    "sql_select_limit",
    "max_sort_length",
    "group_concat_max_len",
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "time_zone",
    "default_week_format",
    "div_precision_increment",
    "sql_mode",
    "lc_time_names",
];

/// A column of MariaDB's plugin.
pub(super) struct PluginColumn {
    pub(super) name: &'static str,
    /// The column's type, as the plugin declares it.
    pub(super) kind: &'static str,
    /// Whether Freshet knows no value of this column: the column is NULL.
    pub(super) is_untold: bool,
}

const fn column(name: &'static str, kind: &'static str) -> PluginColumn {
    PluginColumn { name, kind, is_untold: false }
}

const fn untold(name: &'static str, kind: &'static str) -> PluginColumn {
    PluginColumn { name, kind, is_untold: true }
}

impl PluginColumn {
    pub(super) fn is_text(&self) -> bool {
        self.kind.contains("char") || self.kind.contains("text")
    }

    /// Returns a value of the column's type.
    fn sample(&self) -> &'static str {
        match self.name {
            // These texts may have any characters.
            "STATEMENT_SCHEMA" | "STATEMENT_TEXT" => "CONVERT('' USING utf8mb4)",
            _ if self.is_text() => "''",
            _ => "0",
        }
    }
}

/// The columns of `information_schema.query_cache_info`.
pub(super) const COLUMNS: [PluginColumn; 25] = [
    column("STATEMENT_SCHEMA", "varchar(192)"),
    column("STATEMENT_TEXT", "longtext"),
    column("RESULT_BLOCKS_COUNT", "int(11)"),
    column("RESULT_BLOCKS_SIZE", "bigint(11)"),
    column("RESULT_BLOCKS_SIZE_USED", "bigint(11)"),
    column("LIMIT", "bigint(11)"),
    column("MAX_SORT_LENGTH", "bigint(11)"),
    column("GROUP_CONCAT_MAX_LENGTH", "bigint(11)"),
    column("CHARACTER_SET_CLIENT", "varchar(32)"),
    column("CHARACTER_SET_RESULT", "varchar(32)"),
    column("COLLATION", "varchar(64)"),
    column("TIMEZONE", "varchar(50)"),
    column("DEFAULT_WEEK_FORMAT", "int(11)"),
    column("DIV_PRECISION_INCREMENT", "int(11)"),
    column("SQL_MODE", "varchar(250)"),
    column("LC_TIME_NAMES", "varchar(100)"),
    column("CLIENT_LONG_FLAG", "tinyint(11)"),
    column("CLIENT_PROTOCOL_41", "tinyint(11)"),
    untold("CLIENT_EXTENDED_METADATA", "tinyint(11)"),
    column("PROTOCOL_TYPE", "tinyint(11)"),
    column("MORE_RESULTS_EXISTS", "tinyint(11)"),
    untold("IN_TRANS", "tinyint(11)"),
    untold("AUTOCOMMIT", "tinyint(11)"),
    untold("PACKET_NUMBER", "tinyint(11)"),
    column("HITS", "bigint(11)"),
];

/// Returns the table's rows as a derived table. Without the privilege, there are none.
pub(super) fn derived(session: &Session, table: Made, name: &[u8], may_process: bool) -> Vec<u8> {
    match table {
        Made::QueryCacheInfo => {
            let rows = if may_process { entries(session) } else { Vec::new() };
            let columns = COLUMNS.map(|column| (column.name, column.sample()));
            with_head(session, &columns, &rows).into_bytes()
        }
        Made::PersistedVariables => persisted(session, name),
    }
}

/// Whether the server supports rows of values.
fn has_values(session: &Session) -> bool {
    session.flavor() == Flavor::MariaDb
        || session.shared.upstream.server().is_some_and(|server| server.version >= ROWS_SINCE)
}

/// Returns `(SELECT … AS name, … FROM DUAL WHERE FALSE UNION ALL VALUES …)`.
fn with_head(session: &Session, columns: &[(&str, &str)], rows: &[String]) -> String {
    let head: Vec<String> = columns.iter().map(|(name, value)| format!("{value} AS `{name}`")).collect();
    let mut query = format!("(SELECT {} FROM DUAL WHERE 1 = 0", head.join(", "));
    if !has_values(session) {
        rows.iter().take(SELECTED_MAX).for_each(|values| {
            let _ = write!(query, " UNION ALL SELECT {values}");
        });
        return query + ")";
    }
    let row = if session.flavor() == Flavor::MySql { "ROW" } else { "" };
    for (at, values) in rows.iter().enumerate() {
        let before = if at == 0 { " UNION ALL VALUES " } else { ", " };
        let _ = write!(query, "{before}{row}({values})");
    }
    query.push(')');
    query
}

/// Returns the results that may be served now, each as the values of a row.
fn entries(session: &Session) -> Vec<String> {
    let shared = &session.shared;
    let found = shared.cache.summaries(LISTED_MAX, LISTED_BYTES_MAX, freshet_upstream::now_ms());
    let known = shared.environments.all();
    let query = session.lease.version().and_then(|version| shared.vector(version));
    let results = found.iter().filter(|summary| !is_question(&summary.text));
    results.map(|summary| entry(summary, &known, query.as_deref())).collect()
}

fn entry(summary: &Summary, known: &HashMap<u32, Arc<Environment>>, query: Option<&VectorQuery>) -> String {
    let environment = known.get(&environment_of(summary.environment));
    let schema = environment.and_then(|it| it.schema.as_deref()).unwrap_or_default();
    let is_execution = is_of_executions(summary.environment);
    let text = if is_execution { prepared_text(&summary.text) } else { &summary.text };
    let Summary { body_bytes, blocks, bytes, hits, .. } = summary;
    let setting = |name| environment?.value(query?, name);
    let settings = SETTINGS.map(|name| setting(name).map_or("NULL".to_owned(), |value| shown(&value)));
    format!(
        "{}, {}, {blocks}, {bytes}, {body_bytes}, {}, 1, 1, NULL, {}, 0, NULL, NULL, NULL, {hits}",
        hex(schema.as_bytes()),
        hex(String::from_utf8_lossy(text).as_bytes()),
        settings.join(", "),
        u8::from(is_execution),
    )
}

/// Returns a setting as the plugin shows it. No limit is -1.
fn shown(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(u64::MAX) => "-1".to_owned(),
        Ok(number) => number.to_string(),
        Err(_) => hex(value.as_bytes()),
    }
}

/// Returns a string that every character set and mode of a session reads alike.
fn hex(text: &[u8]) -> String {
    let mut hex = String::with_capacity(text.len() * 2 + 32);
    hex.push_str("CONVERT(X'");
    text.iter().for_each(|byte| {
        let _ = write!(hex, "{byte:02X}");
    });
    hex.push_str("' USING utf8mb4)");
    hex
}

/// Returns the statement in the key of an execution. The key ends with the text's length, or with the length and a mark.
pub(crate) fn prepared_text(key: &[u8]) -> &[u8] {
    let ending = |key: &[u8]| key.last_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let key = match ending(key) {
        Some(mark) if mark as usize > key.len() => key.get(..key.len() - 4).unwrap_or_default(),
        _ => key,
    };
    ending(key).and_then(|len| key.get(..len as usize)).unwrap_or_default()
}

/// Returns Freshet's persisted values, beside the server's own if the server has such a table.
fn persisted(session: &Session, name: &[u8]) -> Vec<u8> {
    let values = session.shared.persisted.values();
    let rows: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{}, {}", hex(name.as_bytes()), hex(value.as_bytes())))
        .collect();
    let columns =
        [("VARIABLE_NAME", "CONVERT('' USING utf8mb4)"), ("VARIABLE_VALUE", "CONVERT('' USING utf8mb4)")];
    let mut query = with_head(session, &columns, &rows).into_bytes();
    if session.flavor() == Flavor::MySql {
        query.pop();
        query.extend([b" UNION ALL SELECT VARIABLE_NAME, VARIABLE_VALUE FROM ", name, b")"].concat());
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_execution_is_told_from_its_key() {
        let key = [&b"SELECT ?"[..], &[1, 0, 0, 0, 8, 0, 0, 1, 0], &8u32.to_le_bytes()].concat();
        assert_eq!(prepared_text(&key), b"SELECT ?");
        let by_name = [&key[..], &[0xfe, 0xff, 0xff, 0xff]].concat();
        assert_eq!(prepared_text(&by_name), b"SELECT ?");
        assert_eq!(prepared_text(b""), b"");
    }
}
