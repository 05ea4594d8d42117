//! The database `stats_history`: counts that are noted at intervals and kept over restarts, for a bounded time.
//!
//! Each series has a table of the notes, one of the hours and one of the days. A table of hours has the counters at the end of the hour,
//! and the means of values that go up and down.

use std::collections::HashMap;

use crate::error::Refusal;
use crate::runtime::SqliteValue;
use crate::store::Store;
use crate::times::{SERIES, Series};
use crate::variables::OwnVariables;

/// How long notes are kept, in seconds; then the same for hours, and for days.
const KEPT_S: i64 = 7 * DAY_S;
const HOURS_KEPT_S: i64 = 365 * DAY_S;
const DAYS_KEPT_S: i64 = 10 * 365 * DAY_S;
const HOUR_S: i64 = 3600;
const DAY_S: i64 = 24 * HOUR_S;
/// The most digests that are kept with their times: the oldest are removed.
const DIGESTS_MAX: u32 = 100_000;

/// The time of the last note of each kind, in seconds since 1970.
#[derive(Default)]
pub struct Keeping {
    noted_s: HashMap<&'static str, i64>,
}

impl Keeping {
    /// Whether an interval is over; then it begins anew. The first interval begins with the program.
    pub fn is_due(&mut self, name: &'static str, interval_s: i64, now_s: i64) -> bool {
        if interval_s == 0 {
            return false;
        }
        let noted_s = self.noted_s.entry(name).or_insert(now_s);
        // A clock that was set back also begins a new interval.
        let is_due = now_s - *noted_s >= interval_s || now_s < *noted_s;
        if is_due {
            *noted_s = now_s;
        }
        is_due
    }

    pub fn is_over(&mut self, own: &OwnVariables, name: &'static str, now_s: i64) -> bool {
        let interval_s = i64::try_from(own.get(name)).unwrap_or(i64::MAX);
        self.is_due(name, interval_s, now_s)
    }
}

/// Notes the values of one series; `named` are the present values by name.
pub fn note(
    store: &mut Store,
    series: &Series,
    named: &HashMap<String, SqliteValue>,
    now_s: i64,
) -> Result<(), Refusal> {
    let value = |name: &str| named.get(name).and_then(number).unwrap_or(0);
    let values: Vec<String> = series.columns.iter().map(|(_, name, _)| value(name).to_string()).collect();
    let name = series.name;
    let mut statements =
        vec![format!("INSERT OR REPLACE INTO stats_history.{name} VALUES ({now_s}, {})", values.join(", "))];
    // The rows of the present hour and day hold what has come so far.
    let columns: Vec<String> = series
        .columns
        .iter()
        .map(
            |(column, _, is_gauge)| {
                if *is_gauge { format!("CAST(AVG({column}) AS INT)") } else { format!("MAX({column})") }
            },
        )
        .collect();
    for (end, from, length) in [("_hour", "", HOUR_S), ("_day", "_hour", DAY_S)] {
        let begun = now_s / length * length;
        statements.push(format!(
            "INSERT OR REPLACE INTO stats_history.{name}{end} SELECT {begun}, {} FROM stats_history.{name}{from} \
             WHERE timestamp >= {begun} HAVING COUNT(*) > 0",
            columns.join(", ")
        ));
    }
    store.all_or_none(&statements)
}

/// Notes every value that is a number.
pub fn note_values(
    store: &mut Store,
    named: &HashMap<String, SqliteValue>,
    now_s: i64,
) -> Result<(), Refusal> {
    let mut statements = Vec::new();
    for (name, value) in named {
        let Some(value) = number(value) else { continue };
        let name = name.replace('\'', "''");
        let lookup = "stats_history.history_mysql_status_variables_lookup";
        statements.push(format!("INSERT OR IGNORE INTO {lookup} (variable_name) VALUES ('{name}')"));
        statements.push(format!(
            "INSERT OR REPLACE INTO stats_history.history_mysql_status_variables \
             SELECT variable_id, {now_s}, '{value}' FROM {lookup} WHERE variable_name = '{name}'"
        ));
    }
    store.all_or_none(&statements)
}

/// Notes rows of a table of statistics with the time.
pub fn note_rows(
    store: &mut Store,
    table: &str,
    rows: &[Vec<SqliteValue>],
    now_s: i64,
) -> Result<(), Refusal> {
    let timed: Vec<Vec<SqliteValue>> = rows
        .iter()
        .map(|row| std::iter::once(SqliteValue::Integer(now_s)).chain(row.iter().cloned()).collect())
        .collect();
    store.append(&format!("stats_history.{table}"), &timed)
}

/// Removes rows that are too old.
pub fn prune(store: &mut Store, now_s: i64) -> Result<(), Refusal> {
    let old = |table: &str, column: &str, kept_s: i64| {
        format!("DELETE FROM stats_history.{table} WHERE {column} < {}", now_s - kept_s)
    };
    let mut statements = vec![
        old("history_mysql_status_variables", "timestamp", KEPT_S),
        old("history_stats_mysql_connection_pool", "timestamp", KEPT_S),
        old("history_mysql_query_digest", "dump_time", KEPT_S),
        format!(
            "DELETE FROM stats_history.history_mysql_query_digest WHERE rowid <= \
             (SELECT MAX(rowid) FROM stats_history.history_mysql_query_digest) - {DIGESTS_MAX}"
        ),
    ];
    for series in &SERIES {
        let kept = [("", KEPT_S), ("_hour", HOURS_KEPT_S), ("_day", DAYS_KEPT_S)];
        statements
            .extend(kept.map(|(end, kept_s)| old(&format!("{}{end}", series.name), "timestamp", kept_s)));
    }
    store.all_or_none(&statements)
}

/// Returns a value that is a whole number.
fn number(value: &SqliteValue) -> Option<i64> {
    match value {
        SqliteValue::Integer(number) => Some(*number),
        SqliteValue::Text(text) => text.parse().ok(),
        SqliteValue::Null | SqliteValue::Real(_) => None,
    }
}
