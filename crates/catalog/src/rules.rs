//! Which tables a result may rest on.

use freshet_cache::{Dep, Freshness};
use freshet_upstream::ServerInfo;

/// Engines whose every change is a row in the binlog, or a statement in it for changes that an operator makes to their files. All others
/// are refused: they hold rows of other servers (FEDERATED, SPIDER, CONNECT, NDB, S3), hold no rows (BLACKHOLE, SEQUENCE,
/// PERFORMANCE_SCHEMA), or lose rows without logging it (MEMORY). A MERGE table is made of tables, and these count in its place where
/// they are known.
const ENGINES: &[&str] = &["InnoDB", "MyISAM", "Aria", "ROCKSDB", "MyRocks", "TokuDB", "ARCHIVE"];

/// Further engines that do not change the rows of any other table of this server: they lose rows, or keep none.
const OWN_ROWS: &[&str] = &["MEMORY", "CSV", "BLACKHOLE"];

/// Schemas whose tables are views of the server's state, or change without being logged.
const SYSTEM_SCHEMAS: &[&str] =
    &["mysql", "information_schema", "performance_schema", "sys", "mysql_innodb_cluster_metadata", "ndbinfo"];

/// Whether a schema is the server's own.
#[must_use]
pub fn is_system_schema(schema: &str) -> bool {
    SYSTEM_SCHEMAS.iter().any(|system| system.eq_ignore_ascii_case(schema))
}

/// Returns why nothing in this schema may be cached, if that is so.
pub(crate) fn schema_refusal(server: &ServerInfo, schema: &str) -> Option<String> {
    if is_system_schema(schema) {
        return Some(format!("{schema} is a schema of the server's own"));
    }
    if misses_replicated(server) {
        return Some("what the server replicates from others is, or may be, missing in its binlog".into());
    }
    let Some(filters) = &server.filters else {
        return Some(
            "our account may not see whether the binlog leaves schemas out (it needs REPLICATION CLIENT)"
                .into(),
        );
    };
    if filters.is_empty() {
        return None;
    }
    // A filter goes by a statement's current schema, not by its table's: with any filter, a TRUNCATE or ALTER of any table may go
    // unlogged.
    Some(
        "the binlog is filtered (binlog-do-db or binlog-ignore-db), so changes of any table may be missing"
            .into(),
    )
}

/// Whether writes may reach the server by replication without being in its binlog.
fn misses_replicated(server: &ServerInfo) -> bool {
    !server.logs_replicated() && (server.is_galera() || server.is_replica != Some(false))
}

/// Whether a write to a table of this engine may change other tables: MERGE writes to its tables, and FEDERATED, SPIDER and CONNECT may
/// be set up to write to this very server.
pub(crate) fn may_write_elsewhere(engine: &str) -> bool {
    !ENGINES.iter().chain(OWN_ROWS).any(|known| known.eq_ignore_ascii_case(engine))
}

/// Whether tables of this engine are made of others: MERGE.
pub(crate) fn is_merge(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("MRG_MyISAM")
}

/// Whether a table of this engine may be part of a MERGE table. It may then be emptied under the MERGE table's name alone.
pub(crate) fn may_be_merged(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("MyISAM")
}

/// Returns the dependency of every result that reads such a table. It is stamped whenever a table is emptied, because that may have been
/// a MERGE table, whose event does not name its parts.
#[must_use]
pub fn of_merged_tables(freshness: &Freshness) -> Dep {
    freshness.table("", "MERGE").definition
}

/// Returns why a table of this type and engine may not be cached, if that is so.
pub fn table_refusal(kind: &str, engine: &str, options: &str) -> Option<String> {
    match kind {
        "BASE TABLE" => {}
        // Its current rows are logged like any others. But a query with one and the same text can ask for rows as of some time, and
        // partitions of history can be dropped by the clock.
        "SYSTEM VERSIONED" => return Some("it is system-versioned".into()),
        "SEQUENCE" => return Some("it is a sequence".into()),
        other => return Some(format!("it is a {}", other.to_ascii_lowercase())),
    }
    if !ENGINES.iter().any(|known| known.eq_ignore_ascii_case(engine)) {
        return Some(match engine {
            "" => "its engine cannot be told".into(),
            _ => format!("tables of engine {engine} change without the binlog saying so"),
        });
    }
    // Its rows are copied to another engine some time after their change, and the server may answer a query from that copy.
    if options.to_ascii_lowercase().contains("secondary_engine") {
        return Some("it has a secondary engine".into());
    }
    None
}

#[cfg(test)]
mod tests;
