//! The facts about the server, read once per control connection.

mod binlog_end;
mod deprecated;
mod globals;
mod privileges;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod variables;
mod version;

use freshet_protocol::Capabilities;
use freshet_sql::{Deprecated, Flavor, Modes};

use crate::connection::{Connection, Rows};
use crate::error::Error;

pub use binlog_end::ask_end;
pub use globals::{Concerns, concerns};
pub use privileges::Privileges;
pub use variables::Variables;
pub use version::Version;

/// The facts about the server.
///
/// All of them are read over one connection, and hold as long as that connection does, except the variables that can be set at run time.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The version string exactly as the greeting has it.
    pub version_text: Vec<u8>,
    /// Its numbers.
    pub version: Version,
    /// Which family of servers it is of.
    pub flavor: Flavor,
    /// What it offers in its greeting.
    pub capabilities: Capabilities,
    /// The collation of its greeting.
    pub collation: u8,
    /// The authentication plugin of its greeting.
    pub auth_plugin: String,
    /// All global variables, at the time of reading.
    pub variables: Variables,
    /// The schemas that the binlog leaves out; `None` if our account may not see that.
    pub filters: Option<Filters>,
    /// Whether the server replicates from another one; `None` if our account may not see that.
    pub is_replica: Option<bool>,
    /// The privileges of our account.
    pub privileges: Privileges,
    /// The syntax in SELECTs of which the server warns each time it reads it.
    pub warns_of: Vec<Deprecated>,
}

/// The schemas that `binlog-do-db` and `binlog-ignore-db` name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// If any are named here, only they are logged.
    pub only: Vec<String>,
    /// These are not logged.
    pub except: Vec<String>,
}

impl Filters {
    /// Whether everything is logged.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.except.is_empty()
    }
}

impl ServerInfo {
    /// Reads all facts. Those that our account may not see stay unknown.
    ///
    /// # Errors
    /// If the connection breaks, or the server refuses a question that everybody may ask.
    pub async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let greeting = connection.greeting().clone();
        let variables = Variables::from(&connection.query("SHOW GLOBAL VARIABLES").await?);
        // The greeting's version can be disguised for old clients; the variable is the true one.
        let version_text = variables.text("version").to_owned();
        let flavor = version::flavor(&version_text);
        let version = Version::parse(&version_text);
        let (status, is_replica) = replication(connection, flavor).await?;
        Ok(Self {
            version_text: greeting.server_version,
            version,
            flavor,
            capabilities: greeting.capabilities,
            collation: greeting.collation,
            auth_plugin: greeting.auth_plugin,
            variables,
            filters: status.map(|rows| filters(&rows)),
            is_replica,
            privileges: Privileges::read(connection, flavor).await?,
            warns_of: deprecated::ask_about(connection).await?,
        })
    }

    /// Returns the modes in which the server shows definitions to our own sessions.
    pub fn modes(&self) -> Modes {
        let Version { major, minor, patch } = self.version;
        Modes { utf8_names: true, ..Modes::of_version(self.flavor, (major, minor, patch)) }
    }

    /// Whether it is a MySQL before 8.0, without roles and with other tables of its own.
    pub fn is_before_8(&self) -> bool {
        self.modes().before_8
    }

    /// Whether the tests run on servers of this series. For other series their documentation is believed.
    pub fn is_of_a_tested_series(&self) -> bool {
        const MARIADB: [(u16, u16); 3] = [(10, 5), (10, 11), (11, 8)];
        const MYSQL: [(u16, u16); 1] = [(9, 7)];
        let series = (self.version.major, self.version.minor);
        match self.flavor {
            Flavor::MariaDb => MARIADB.contains(&series),
            Flavor::MySql => MYSQL.contains(&series),
        }
    }

    /// Whether it is a MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.flavor == Flavor::MariaDb
    }

    /// Returns a text that no other server has: if the text differs after a reconnect, another server answers.
    pub fn identity(&self) -> String {
        let unique = match self.flavor {
            Flavor::MySql => self.variables.text("server_uuid"),
            Flavor::MariaDb => self.variables.text("server_uid"),
        };
        format!("{}/{unique}", self.variables.text("server_id"))
    }

    /// Whether names are compared without regard to case: `lower_case_table_names` is not 0.
    pub fn folds_names(&self) -> bool {
        self.variables.text("lower_case_table_names") != "0"
    }

    /// Whether the server writes a binlog.
    pub fn has_binlog(&self) -> bool {
        self.variables.is_on("log_bin")
    }

    /// Whether rows are logged rather than statements, unless a session decides otherwise.
    pub fn logs_rows(&self) -> bool {
        match self.variables.get("binlog_format") {
            Some(format) => format.eq_ignore_ascii_case("ROW"),
            // A server without the variable knows no other format.
            None => true,
        }
    }

    /// Returns `binlog_row_image`, in upper case: FULL, MINIMAL, NOBLOB or FULL_NODUP.
    pub fn row_image(&self) -> String {
        self.variables.text("binlog_row_image").to_ascii_uppercase()
    }

    /// Returns `binlog_row_metadata`, in upper case: FULL, MINIMAL or NO_LOG; empty if not known.
    pub fn row_metadata(&self) -> String {
        self.variables.text("binlog_row_metadata").to_ascii_uppercase()
    }

    /// Whether every transaction of a MySQL has a GTID. Those of MariaDB always have one.
    pub fn has_gtids(&self) -> bool {
        self.is_mariadb() || self.variables.text("gtid_mode").eq_ignore_ascii_case("ON")
    }

    /// Whether changes that the server replicates from another one are in its own binlog.
    pub fn logs_replicated(&self) -> bool {
        self.variables.is_on("log_replica_updates") || self.variables.is_on("log_slave_updates")
    }

    /// Whether the server is a node of a Galera cluster, where other nodes' writes arrive by replication.
    pub fn is_galera(&self) -> bool {
        self.variables.is_on("wsrep_on")
    }

    /// Whether MariaDB's own query cache is in use.
    pub fn has_native_cache(&self) -> bool {
        let kind = self.variables.get("query_cache_type").unwrap_or("OFF");
        let size = self.variables.get("query_cache_size").unwrap_or("0");
        !kind.eq_ignore_ascii_case("OFF") && kind != "0" && size != "0"
    }

    /// Returns the global variables that are looked at now and then, in the order of their names, and what a change of each concerns.
    pub fn watched_globals(&self) -> Vec<(String, Concerns)> {
        globals::watched(&self.variables)
    }
}

/// Returns the question for the status of the binlog, and its form in older servers.
fn binlog_status_question(flavor: Flavor) -> (&'static str, Option<&'static str>) {
    match flavor {
        Flavor::MySql => ("SHOW BINARY LOG STATUS", Some("SHOW MASTER STATUS")),
        Flavor::MariaDb => ("SHOW MASTER STATUS", None),
    }
}

/// Returns the question for the servers from which the server replicates, and its form in older servers.
fn sources_question(flavor: Flavor) -> (&'static str, Option<&'static str>) {
    match flavor {
        Flavor::MySql => ("SHOW REPLICA STATUS", Some("SHOW SLAVE STATUS")),
        Flavor::MariaDb => ("SHOW ALL SLAVES STATUS", None),
    }
}

/// Returns the status of the binlog, and whether the server replicates; of both what our account may see.
async fn replication(
    connection: &mut Connection,
    flavor: Flavor,
) -> Result<(Option<Rows>, Option<bool>), Error> {
    let ((status, older_status), (sources, older_sources)) =
        (binlog_status_question(flavor), sources_question(flavor));
    let mut answers = connection.query_each(&[status, sources]).await?.into_iter();
    let mut allowed = async |older| match (answers.next().and_then(Result::ok), older) {
        (None, Some(older)) => ask(connection, older).await,
        (answer, _) => Ok(answer),
    };
    let status = allowed(older_status).await?;
    let is_replica = match allowed(older_sources).await? {
        Some(sources) => Some(!sources.rows.is_empty()),
        // MariaDB counts the sources from which it replicates at this moment, and shows that to everybody.
        None => ask(connection, "SHOW GLOBAL STATUS LIKE 'Slaves_running'")
            .await?
            .and_then(|rows| rows.text(0, 1)?.parse::<u64>().ok())
            .map(|sources| sources > 0),
    };
    Ok((status, is_replica))
}

/// Returns the answer, or `None` if the server refuses it.
async fn ask(connection: &mut Connection, sql: &str) -> Result<Option<Rows>, Error> {
    match connection.query(sql).await {
        Ok(rows) => Ok(Some(rows)),
        Err(Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn filters(status: &Rows) -> Filters {
    Filters { only: list(status.first("Binlog_Do_DB")), except: list(status.first("Binlog_Ignore_DB")) }
}

fn list(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(Into::into)
        .collect()
}

#[cfg(test)]
mod tests;
