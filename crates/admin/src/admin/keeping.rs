//! The history: notes that are taken by themselves, at intervals that variables set.

use std::collections::HashMap;

use super::Admin;
use crate::error::Refusal;
use crate::history;
use crate::monitor::{self, Probed};
use crate::runtime::{SqliteValue, Statistic};
use crate::times::SERIES;

/// The time between two removals of old rows, in seconds.
const PRUNED_EVERY_S: i64 = 3600;
const POOL_INTERVAL: &str = "admin-stats_mysql_connection_pool";
const DIGEST_INTERVAL: &str = "admin-stats_mysql_query_digest_to_disk";
const MONITOR_HISTORY: &str = "mysql-monitor_history";

impl Admin {
    /// Takes the notes that are due. To be called about once a second, with the time in seconds since 1970.
    pub fn keep(&mut self, now_s: i64) {
        if let Err(refusal) = self.keep_all(now_s) {
            tracing::warn!(%refusal, "what was counted could not be kept");
        }
    }

    fn keep_all(&mut self, now_s: i64) -> Result<(), Refusal> {
        let due: Vec<_> =
            SERIES.iter().filter(|series| self.kept.is_over(&self.own, series.interval, now_s)).collect();
        if !due.is_empty() {
            let named = self.named();
            for series in &due {
                history::note(&mut self.store, series, &named, now_s)?;
            }
            if due.iter().any(|series| series.name == "mysql_connections") {
                let named = pairs(self.runtime.rows(Statistic::Global)).collect();
                history::note_values(&mut self.store, &named, now_s)?;
            }
        }
        if self.kept.is_over(&self.own, POOL_INTERVAL, now_s) {
            let rows = self.counted(Statistic::Connections)?;
            history::note_rows(&mut self.store, "history_stats_mysql_connection_pool", &rows, now_s)?;
        }
        if self.kept.is_over(&self.own, DIGEST_INTERVAL, now_s) {
            self.keep_digests(now_s)?;
        }
        if self.kept.is_due("prune", PRUNED_EVERY_S, now_s) {
            history::prune(&mut self.store, now_s)?;
        }
        Ok(())
    }

    /// Notes the counts by digest, which begin at 0 again. Returns the number of rows.
    pub(super) fn keep_digests(&mut self, now_s: i64) -> Result<u64, Refusal> {
        let rows = self.counted(Statistic::DigestsReset)?;
        history::note_rows(&mut self.store, "history_mysql_query_digest", &rows, now_s)?;
        Ok(rows.len() as u64)
    }

    /// Returns the counts by name.
    fn named(&self) -> HashMap<String, SqliteValue> {
        let counted = self.runtime.rows(Statistic::Global);
        pairs(counted).chain(pairs(self.runtime.rows(Statistic::Process))).collect()
    }

    /// Notes an answer of the server.
    pub fn probed(&mut self, probed: &Probed) {
        let kept_ms = self.own.get(MONITOR_HISTORY);
        let (host, port) = self.runtime.server();
        if let Err(refusal) = monitor::note(&mut self.store, host, port, probed, kept_ms) {
            tracing::warn!(%refusal, "how the server has answered could not be noted");
        }
    }

    /// Returns the value of one of the admin port's own variables.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.own.get(name)
    }
}

fn pairs(rows: Vec<Vec<SqliteValue>>) -> impl Iterator<Item = (String, SqliteValue)> {
    rows.into_iter().filter_map(|row| match <[SqliteValue; 2]>::try_from(row) {
        Ok([SqliteValue::Text(name), value]) => Some((name, value)),
        _ => None,
    })
}
