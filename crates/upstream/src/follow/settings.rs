//! What the server has to be configured like, so that it can be followed.

use std::collections::HashMap;

use freshet_protocol::ErrPacket;
use freshet_sql::Flavor;

use crate::connection::{Connection, Rows};
use crate::error::Error;

/// Why there is no stream.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server is not configured for it.
    Off {
        /// What is missing.
        why: String,
        /// What mends it.
        remedy: String,
    },
    /// It failed, and may succeed the next time.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match &error {
            Error::Server(packet) if is_privilege_missing(packet) => Self::Off {
                why: format!("the account lacks a privilege: {}", String::from_utf8_lossy(&packet.message)),
                remedy: GRANTS.to_owned(),
            },
            Error::Server(packet) if packet.code == BINLOG_OFF => {
                Self::Off { why: "the binlog is off".to_owned(), remedy: LOG_BIN.to_owned() }
            }
            _ => Self::Failed(error),
        }
    }
}

const GRANTS: &str = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO the account";
const LOG_BIN: &str = "log_bin in the server's configuration, then restart it";
const FORMAT: &str = "SET GLOBAL binlog_format = 'ROW', and in the server's configuration";

/// ER_ACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR: a privilege is missing.
const ACCESS_DENIED: [u16; 2] = [1045, 1227];
/// ER_NO_BINARY_LOGGING.
const BINLOG_OFF: u16 = 1381;

fn is_privilege_missing(packet: &ErrPacket) -> bool {
    ACCESS_DENIED.contains(&packet.code)
}

/// The variables that following rests on.
const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', 'gtid_mode', \
     'server_id', 'server_uuid', 'hostname', 'port', 'datadir', 'lower_case_table_names', 'version')";

/// Those of one server, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) flavor: Flavor,
    variables: HashMap<String, String>,
}

impl Settings {
    /// Reads them.
    pub(crate) async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let rows = connection.query(VARIABLES).await?;
        Ok(Self::from_rows(&rows))
    }

    fn from_rows(rows: &Rows) -> Self {
        let variables: HashMap<String, String> = rows
            .texts()
            .filter_map(|row| Some((row.first()?.to_ascii_lowercase(), (*row.get(1)?).to_owned())))
            .collect();
        let is_mariadb =
            variables.get("version").is_some_and(|version| version.to_ascii_lowercase().contains("mariadb"));
        Self { flavor: if is_mariadb { Flavor::MariaDb } else { Flavor::MySql }, variables }
    }

    fn value(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// Whether the server can be followed at all.
    pub(crate) fn usable(&self) -> Result<(), Refusal> {
        let off = |why: String, remedy: &str| Err(Refusal::Off { why, remedy: remedy.to_owned() });
        if !matches!(self.value("log_bin"), "ON" | "1") {
            return off("the binlog is off".to_owned(), LOG_BIN);
        }
        // Servers that know no other format any more have no such variable.
        match self.value("binlog_format") {
            "ROW" | "" => Ok(()),
            other => off(format!("binlog_format is {other}"), FORMAT),
        }
    }

    /// MySQL, and every transaction has a GTID.
    pub(crate) fn has_gtids(&self) -> bool {
        self.flavor == Flavor::MySql && self.value("gtid_mode") == "ON"
    }

    /// Names are compared without case.
    pub(crate) fn folds_names(&self) -> bool {
        !matches!(self.value("lower_case_table_names"), "" | "0")
    }

    /// Asks for the end of the binlog, or for the position that is known not to be ahead of what is visible.
    pub(crate) fn end_question(&self, knows_new_words: bool) -> &'static str {
        match self.flavor {
            Flavor::MySql if knows_new_words => "SHOW BINARY LOG STATUS",
            _ => "SHOW MASTER STATUS",
        }
    }
}

/// The file and offset of `SHOW MASTER STATUS`.
pub(crate) fn end_coordinate(rows: &Rows) -> Result<(Vec<u8>, u64), Error> {
    let malformed = || Error::Unexpected { question: "the binlog's end" };
    let file = rows.first("File").ok_or_else(malformed)?;
    let offset = rows.first("Position").and_then(|text| text.parse().ok()).ok_or_else(malformed)?;
    Ok((file.as_bytes().to_vec(), offset))
}

/// Whether an account with these grants sees the threads of others: by PROCESS, as one of the privileges on everything.
pub(crate) fn sees_threads(grants: &Rows) -> bool {
    grants.texts().any(|row| {
        let grant = row.first().map(|grant| grant.to_ascii_uppercase()).unwrap_or_default();
        let Some((privileges, _)) = grant.split_once(" ON *.* ") else { return false };
        let privileges = privileges.trim_start_matches("GRANT ");
        privileges.split(',').any(|one| matches!(one.trim(), "PROCESS" | "ALL PRIVILEGES"))
    })
}

#[cfg(test)]
mod tests;
