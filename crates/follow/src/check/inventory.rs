//! The server's tables: their engines and foreign keys.

use freshet_catalog::{ForeignKeys, table_refusal};
use freshet_upstream::{Connection, Error};

use super::finding::Finding;

/// The most names that are shown as examples; of the others only the number is shown.
const EXAMPLES_MAX: usize = 5;
const ENGINES: &str = "SELECT TABLE_TYPE, ENGINE, COUNT(*), MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) \
     FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
     AND TABLE_TYPE <> 'VIEW' GROUP BY TABLE_TYPE, ENGINE";

/// Returns which engines are in use, and which of them are never cached.
pub(super) async fn engines(connection: &mut Connection) -> Result<Finding, Error> {
    let subject = "engines";
    let rows = match connection.query(ENGINES).await {
        Ok(rows) => rows,
        Err(error) => return unread(subject, error),
    };
    let mut all = Vec::new();
    let mut refused = Vec::new();
    for row in rows.texts() {
        let [kind, engine, count, example] = row[..] else { continue };
        all.push(format!("{count} {}", if engine.is_empty() { "unknown" } else { engine }));
        if let Some(why) = table_refusal(kind, engine, "") {
            refused.push(format!("{count} (such as {example}) because {why}"));
        }
    }
    if refused.is_empty() {
        let found = if all.is_empty() { "our account sees no tables".to_owned() } else { all.join(", ") };
        return Ok(Finding::fine(subject, found));
    }
    let found = format!("never cached: {}", refused.join("; "));
    Ok(Finding::degraded(subject, found, "").without_remedy())
}

/// Returns which foreign keys make a change of one table change another. No server always logs these changes, and none has to: they are
/// followed from the parents' rows.
pub(super) fn cascades(keys: &ForeignKeys) -> Finding {
    let subject = "foreign keys";
    let count = keys.len();
    if count == 0 {
        return Finding::fine(subject, "none that change other tables");
    }
    let mut children: Vec<String> =
        keys.iter().map(|(_, (schema, name))| format!("{schema}.{name}")).collect();
    children.sort();
    children.dedup();
    children.truncate(EXAMPLES_MAX);
    let found = format!("{count} that change other tables (such as {})", children.join(", "));
    let followed = "followed, whether or not the server logs what they do; an update of a column that they refer to drops all \
                    that is cached of the children";
    Finding::fine(subject, format!("{found}: {followed}"))
}

/// Returns the finding that the server does not answer. A broken connection stays an error.
pub(super) fn unread(subject: &'static str, error: Error) -> Result<Finding, Error> {
    match error {
        Error::Server(_) | Error::Unsettled => {
            Ok(Finding::degraded(subject, format!("could not be read: {error}"), "").without_remedy())
        }
        broken => Err(broken),
    }
}
