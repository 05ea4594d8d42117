//! What the server's tables are made of.

use freshet_catalog::{ForeignKeys, table_refusal};
use freshet_upstream::{Connection, Error, ServerInfo};

use super::Finding;

/// Names that are shown as examples; of the others only the number.
const EXAMPLES_MAX: usize = 5;
const ENGINES: &str = "SELECT TABLE_TYPE, ENGINE, COUNT(*), MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) \
     FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
     AND TABLE_TYPE <> 'VIEW' GROUP BY TABLE_TYPE, ENGINE";

/// Which engines are in use, and which of them are never cached.
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

/// Which foreign keys make a change of one table change another.
pub(super) fn cascades(server: &ServerInfo, keys: &ForeignKeys) -> Finding {
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
    if server.logs_cascades() {
        return Finding::fine(subject, format!("{found}, whose rows are logged"));
    }
    let found = format!(
        "{found}, whose rows are not logged: where they act, all that is cached of the children is dropped"
    );
    if server.variables.is_on("innodb_native_foreign_keys") {
        let remedy =
            "innodb_native_foreign_keys = OFF under [mysqld] in the configuration file, and a restart";
        return Finding::degraded(subject, found, remedy);
    }
    Finding::degraded(subject, found, "").without_remedy()
}

/// What the server would not tell. A broken connection stays an error.
pub(super) fn unread(subject: &'static str, error: Error) -> Result<Finding, Error> {
    match error {
        Error::Server(_) | Error::Unsettled => {
            Ok(Finding::degraded(subject, format!("could not be read: {error}"), "").without_remedy())
        }
        broken => Err(broken),
    }
}
