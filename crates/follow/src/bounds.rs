//! The most that a user may write: this bounds what unknown code of its sessions may do.
//!
//! The only question is whether a user may write nothing at all. The answer is yes if every privilege of every account with this user
//! name only reads, and nothing can lend it others: no role, no account that it may act as, no nameless account, no routine that it may
//! execute, and no view that it may read and that may run a function that writes, with its definer's rights.
//!
//! Temporary tables are not counted, because nobody else sees them. One thing needs no privilege and writes: XA COMMIT of a branch that
//! another session has prepared. The caller has to know that the code has none.

use freshet_sql::{Flavor, Modes};
use freshet_upstream::Error;
use freshet_upstream::control::quote;

use crate::handle::Upstream;

/// The privileges that change nothing that other sessions see.
const READING: &[&str] = &[
    "BINLOG MONITOR",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "PROCESS",
    "REPLICATION CLIENT",
    "REPLICATION SLAVE",
    "SELECT",
    "SHOW CREATE ROUTINE",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SLAVE MONITOR",
    "USAGE",
];

/// Words of functions that write. A function without these words in its body changes no rows. It may run other functions, which are
/// looked at as well.
const WRITING: &str = "insert|update|delete|replace|call|load|next|setval|password|import";

/// The server's own schemas, whose functions change nothing on which results depend.
const OWN_SCHEMAS: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

/// The most schemas in which views are looked for; a user who may read more schemas counts as one who may write.
const SCHEMAS_MAX: usize = 16;

impl Upstream {
    /// Whether no account of this user name may write anything, now.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn may_write_nothing(&self, user: &str) -> Result<bool, Error> {
        let Some(server) = self.server() else { return Ok(false) };
        // An account that may not read the grants of others is shown none.
        if !server.privileges.has("SELECT") || server.privileges.is_partly_revoked() {
            return Ok(false);
        }
        let rows = self.ask(&question(user, server.modes())).await?;
        let [accounts, ways, functions] =
            [0, 1, 2].map(|column| rows.text(0, column).and_then(|number| number.parse::<u64>().ok()));
        match (accounts, ways, functions) {
            (Some(1..), Some(0), Some(0)) => Ok(true),
            (Some(1..), Some(0), Some(_)) => self.reads_no_view(user).await,
            _ => Ok(false),
        }
    }

    /// Whether there is no view in any schema of which this user may read a part.
    async fn reads_no_view(&self, user: &str) -> Result<bool, Error> {
        let is_meant = is_meant(user);
        let everywhere = format!(
            "SELECT '%' FROM information_schema.USER_PRIVILEGES WHERE {is_meant} AND PRIVILEGE_TYPE = 'SELECT'"
        );
        let below = ["SCHEMA", "TABLE", "COLUMN"].map(|kind| {
            format!("SELECT TABLE_SCHEMA FROM information_schema.{kind}_PRIVILEGES WHERE {is_meant}")
        });
        let rows = self.ask(&format!("{everywhere} UNION {}", below.join(" UNION "))).await?;
        let patterns: Vec<&str> = rows.texts().filter_map(|row| row.first().copied()).collect();
        let is_any = |pattern: &&str| pattern.replace("\\%", "").contains('%');
        if patterns.len() != rows.rows.len() || patterns.len() > SCHEMAS_MAX || patterns.iter().any(is_any) {
            return Ok(false);
        }
        for pattern in patterns {
            let is_plain = !pattern.contains(['_', '%', '\\']);
            let compare = if is_plain { "=" } else { "LIKE" };
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA {compare} {} \
                 AND TABLE_TYPE = 'VIEW' AND TABLE_SCHEMA NOT IN {OWN_SCHEMAS}",
                quote(pattern)
            );
            let rows = self.ask(&sql).await?;
            if rows.text(0, 0) != Some("0") {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a grant is to an account of this user name, or to everybody.
fn is_meant(user: &str) -> String {
    let grantee = quote(&format!("'{user}'@'"));
    format!(
        "(LEFT(GRANTEE, CHAR_LENGTH({grantee})) = {grantee} OR GRANTEE LIKE '\\'\\'@%' OR GRANTEE LIKE '%PUBLIC%')"
    )
}

/// Returns the question for three numbers: the user's accounts, the rights that may let it write, and the functions that may write.
fn question(user: &str, modes: Modes) -> String {
    let (name, is_meant) = (quote(user), is_meant(user));
    let reading: Vec<String> = READING.iter().map(|privilege| quote(privilege)).collect();
    let reading = reading.join(", ");
    let mut ways: Vec<String> = ["USER", "SCHEMA", "TABLE", "COLUMN"]
        .iter()
        .map(|kind| {
            format!(
                "SELECT 1 FROM information_schema.{kind}_PRIVILEGES WHERE {is_meant} \
                 AND (PRIVILEGE_TYPE NOT IN ({reading}) OR IS_GRANTABLE <> 'NO')"
            )
        })
        .collect();
    ways.push(format!("SELECT 1 FROM mysql.procs_priv WHERE User IN ({name}, '', 'PUBLIC')"));
    ways.push(format!("SELECT 1 FROM mysql.proxies_priv WHERE User IN ({name}, '')"));
    match modes.flavor {
        // This server has no roles.
        Flavor::MySql if modes.before_8 => {}
        Flavor::MariaDb => {
            ways.push(format!("SELECT 1 FROM mysql.roles_mapping WHERE User IN ({name}, '', 'PUBLIC')"));
        }
        Flavor::MySql => {
            ways.push(format!("SELECT 1 FROM mysql.role_edges WHERE TO_USER IN ({name}, '')"));
            ways.push("SELECT 1 FROM DUAL WHERE @@global.mandatory_roles <> ''".to_owned());
        }
    }
    ways.push("SELECT 1 FROM mysql.user WHERE User = ''".to_owned());
    format!(
        "SELECT (SELECT COUNT(*) FROM mysql.user WHERE User = {name}), \
         (SELECT COUNT(*) FROM ({}) AS ways), \
         (SELECT COUNT(*) FROM information_schema.ROUTINES \
         WHERE ROUTINE_TYPE <> 'PROCEDURE' AND ROUTINE_SCHEMA NOT IN {OWN_SCHEMAS} \
         AND (ROUTINE_DEFINITION IS NULL OR LOWER(ROUTINE_DEFINITION) REGEXP '{WRITING}'))",
        ways.join(" UNION ALL ")
    )
}
