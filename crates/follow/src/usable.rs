//! The requirements on a server that is to be followed.

use freshet_protocol::ErrPacket;
use freshet_upstream::server::Version;
use freshet_upstream::{Error, ServerInfo};

/// Why there is no stream.
#[derive(Debug)]
pub(crate) enum NotFollowed {
    /// The server is not configured for it.
    Off {
        /// What is missing.
        why: String,
        /// The remedy.
        remedy: String,
    },
    /// The attempt failed, and the next one may succeed.
    Failed(Error),
}

const LOG_BIN: &str = "log_bin in the server's configuration, then a restart of it";
const ROW_FORMAT: &str = "SET GLOBAL binlog_format = 'ROW', and in the server's configuration";
const LOG_REPLICATED: &str =
    "log_replica_updates (log_slave_updates) in the server's configuration, then a restart of it";

const NOT_LOGGED: &str = "what the server replicates from others is not in its own binlog";

/// ER_ACCESS_DENIED_ERROR and ER_SPECIFIC_ACCESS_DENIED_ERROR, from a server that has let us log in.
const ACCESS_DENIED: [u16; 2] = [1045, 1227];

/// ER_NO_BINARY_LOGGING.
const NO_BINLOG: u16 = 1381;

/// Whether a server with this description can be followed.
pub(crate) fn usable(server: &ServerInfo) -> Result<(), NotFollowed> {
    let off =
        |why: &str, remedy: &str| Err(NotFollowed::Off { why: why.to_owned(), remedy: remedy.to_owned() });
    if !server.has_binlog() {
        return off("the binlog is off", LOG_BIN);
    }
    if !server.logs_rows() {
        return off("binlog_format is not ROW", ROW_FORMAT);
    }
    if server.logs_replicated() {
        return Ok(());
    }
    match server.is_replica {
        _ if server.is_galera() => off(NOT_LOGGED, LOG_REPLICATED),
        Some(false) => Ok(()),
        Some(true) => off(NOT_LOGGED, LOG_REPLICATED),
        None => off(
            "the account may not see whether the server is a replica, and it would not log what it replicates",
            &format!(
                "GRANT {} ON *.* TO {}, or {LOG_REPLICATED}",
                see_replica(server),
                server.privileges.account
            ),
        ),
    }
}

/// Returns the privilege that shows whether a server is a replica. MariaDB 10.5 made it a privilege of its own.
fn see_replica(server: &ServerInfo) -> &'static str {
    let is_split = server.is_mariadb() && server.version >= Version::from((10, 5, 0));
    if is_split { "SLAVE MONITOR" } else { "REPLICATION CLIENT" }
}

/// Returns what a server's refusal means, once we are logged in.
pub(crate) fn refusal(error: Error, server: &ServerInfo) -> NotFollowed {
    match &error {
        Error::Server(packet) if is_privilege_missing(packet) => NotFollowed::Off {
            why: format!(
                "the account may not follow the binlog: {}",
                String::from_utf8_lossy(&packet.message)
            ),
            remedy: format!(
                "GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO {}",
                server.privileges.account
            ),
        },
        Error::Server(packet) if packet.code == NO_BINLOG => {
            NotFollowed::Off { why: "the binlog is off".to_owned(), remedy: LOG_BIN.to_owned() }
        }
        _ => NotFollowed::Failed(error),
    }
}

fn is_privilege_missing(packet: &ErrPacket) -> bool {
    ACCESS_DENIED.contains(&packet.code)
}
