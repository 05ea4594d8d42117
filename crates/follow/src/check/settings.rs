//! The server's version and settings.

use freshet_sql::{Flavor, OLDEST_MARIADB, OLDEST_MYSQL};
use freshet_upstream::ServerInfo;
use freshet_upstream::server::Version;

use super::finding::Finding;
use super::privileges;
use crate::semisync::{Lack, lack};

/// One function for each setting, in the order in which they are shown.
const LOOKS: &[fn(&ServerInfo) -> Finding] = &[
    version,
    log_bin,
    binlog_format,
    binlog_row_image,
    binlog_row_metadata,
    filters,
    replicated,
    gtids,
    native_cache,
];

pub(super) fn all(server: &ServerInfo) -> Vec<Finding> {
    LOOKS.iter().map(|look| look(server)).collect()
}

/// Returns the statement that sets a global variable and keeps it over a restart, where the server can.
fn set(server: &ServerInfo, variable: &str, value: &str) -> String {
    if server.is_mariadb() || server.is_before_8() {
        let section = section(server);
        format!(
            "SET GLOBAL {variable} = {value}; and {variable} = {value} under {section} in the configuration file"
        )
    } else {
        format!("SET PERSIST {variable} = {value};")
    }
}

fn section(server: &ServerInfo) -> &'static str {
    if server.is_mariadb() { "[mariadbd]" } else { "[mysqld]" }
}

fn version(server: &ServerInfo) -> Finding {
    let (name, oldest) = match server.flavor {
        Flavor::MySql => ("MySQL", OLDEST_MYSQL),
        Flavor::MariaDb => ("MariaDB", OLDEST_MARIADB),
    };
    let oldest = Version::from(oldest);
    let found = format!("{name} {}", server.version);
    if server.is_before_8() && !server.modes().other_syntax {
        return Finding::degraded(
            "version",
            format!("{found}, with which Freshet is not tested: what its documentation says is assumed"),
            "docs/servers.md lists what is assumed",
        );
    }
    if !server.modes().other_syntax {
        return Finding::fine("version", found);
    }
    Finding::missing(
        "version",
        format!("{found}, whose statements are not understood for certain"),
        format!("{name} {oldest} or later"),
    )
}

fn log_bin(server: &ServerInfo) -> Finding {
    if server.has_binlog() {
        return Finding::fine("log_bin", "ON");
    }
    let remedy = format!(
        "log_bin = binlog and a server_id of its own under {} in the configuration file, and a restart",
        section(server)
    );
    Finding::missing("log_bin", "OFF: nothing tells what changes", remedy)
}

fn binlog_format(server: &ServerInfo) -> Finding {
    if server.logs_rows() {
        return Finding::fine("binlog_format", "ROW");
    }
    let format = server.variables.text("binlog_format");
    let remedy = format!(
        "{} (sessions that are open keep theirs: reconnect them)",
        set(server, "binlog_format", "ROW")
    );
    Finding::missing(
        "binlog_format",
        format!("{format}: statements are logged where rows are needed"),
        remedy,
    )
}

fn binlog_row_image(server: &ServerInfo) -> Finding {
    let image = server.row_image();
    match image.as_str() {
        "FULL" | "FULL_NODUP" | "" => Finding::fine("binlog_row_image", image),
        _ => Finding::degraded(
            "binlog_row_image",
            format!("{image}: a change of a row may be known only as a change of its table"),
            set(server, "binlog_row_image", "FULL"),
        ),
    }
}

fn binlog_row_metadata(server: &ServerInfo) -> Finding {
    let metadata = server.row_metadata();
    // Without FULL, rows come without the names of their columns. The catalog knows the names from the definition.
    Finding::fine("binlog_row_metadata", metadata)
}

fn filters(server: &ServerInfo) -> Finding {
    let subject = "binlog filters";
    let Some(filters) = &server.filters else {
        let remedy = privileges::grant(server, privileges::client(server));
        return Finding::missing(subject, "our account may not see whether there are any", remedy);
    };
    if filters.is_empty() {
        return Finding::fine(subject, "none");
    }
    let mut found = Vec::new();
    if !filters.only.is_empty() {
        found.push(format!("binlog-do-db={}", filters.only.join(",")));
    }
    if !filters.except.is_empty() {
        found.push(format!("binlog-ignore-db={}", filters.except.join(",")));
    }
    let found = format!(
        "{}: TRUNCATE and ALTER of any table go unlogged when they are sent with such a schema as the current one",
        found.join(" ")
    );
    let remedy = format!(
        "remove binlog-do-db and binlog-ignore-db from {} in the configuration file, and restart",
        section(server)
    );
    Finding::missing(subject, found, remedy)
}

fn replicated(server: &ServerInfo) -> Finding {
    let subject = if server.is_mariadb() { "log_slave_updates" } else { "log_replica_updates" };
    if server.logs_replicated() {
        return Finding::fine(subject, "ON");
    }
    let remedy = format!("{subject} = ON under {} in the configuration file, and a restart", section(server));
    if server.is_galera() {
        return Finding::missing(
            subject,
            "OFF on a node of a cluster: other nodes' writes are not logged",
            remedy,
        );
    }
    match server.is_replica {
        Some(false) => Finding::fine(subject, "OFF, and the server replicates from no other"),
        Some(true) => Finding::missing(subject, "OFF on a replica: what it replicates is not logged", remedy),
        None => Finding::missing(
            subject,
            "OFF, and our account may not see whether the server is a replica",
            privileges::grant(server, privileges::replica_status(server)),
        ),
    }
}

fn gtids(server: &ServerInfo) -> Finding {
    if server.has_gtids() {
        return Finding::fine(
            "gtid_mode",
            if server.is_mariadb() { "MariaDB always has GTIDs" } else { "ON" },
        );
    }
    Finding::degraded(
        "gtid_mode",
        format!(
            "{}: when a commit has become visible is not known but waited for, and a result is stored that much later",
            server.variables.text("gtid_mode")
        ),
        "SET PERSIST enforce_gtid_consistency = ON; SET PERSIST gtid_mode = OFF_PERMISSIVE; \
         SET PERSIST gtid_mode = ON_PERMISSIVE; and, when SHOW STATUS LIKE \
         'Ongoing_anonymous_transaction_count' is 0, SET PERSIST gtid_mode = ON;",
    )
}

fn native_cache(server: &ServerInfo) -> Finding {
    let subject = "query_cache_type";
    if !server.has_native_cache() {
        return Finding::fine(subject, "the server's own query cache is off");
    }
    Finding::degraded(
        subject,
        "the server's own query cache is on, which costs its locks and gains nothing behind this one",
        "SET GLOBAL query_cache_type = OFF; SET GLOBAL query_cache_size = 0;",
    )
}

/// Returns the finding on semi-synchronous replication. Something missing is a loss only if it is `wanted`.
pub(super) fn semisync(server: &ServerInfo, wanted: bool) -> Finding {
    let subject = "semi-synchronous";
    match lack(server.flavor, &server.variables) {
        None => Finding::fine(
            subject,
            "commits wait for semi-synchronous replicas: freshness = semisync is possible",
        ),
        Some(Lack { why, remedy }) if wanted => Finding::degraded(
            subject,
            format!("{why}: nothing is answered from memory at freshness = semisync"),
            remedy,
        ),
        Some(Lack { why, remedy }) => Finding {
            remedy: Some(remedy),
            ..Finding::fine(subject, format!("{why}; only freshness = semisync needs it"))
        },
    }
}
