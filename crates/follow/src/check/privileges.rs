//! The privileges of our account, and what it costs if one is missing.

use freshet_upstream::ServerInfo;
use freshet_upstream::server::Version;

use super::finding::{Finding, Readiness};

/// A privilege that we use.
struct Wanted {
    privilege: fn(&ServerInfo) -> &'static str,
    without: Readiness,
    loss: &'static str,
}

static WANTED: &[Wanted] = &[
    Wanted {
        privilege: |_| "REPLICATION SLAVE",
        without: Readiness::Missing,
        loss: "the binlog cannot be read",
    },
    Wanted {
        privilege: client,
        without: Readiness::Missing,
        loss: "the binlog's position and filters cannot be seen",
    },
    Wanted {
        privilege: |_| "SELECT",
        without: Readiness::Degraded,
        loss: "only tables on which something is granted to this account are cached, and what procedures and functions \
               write is not known, so that nobody is answered from memory while they run; and each FLUSH, GRANT and REVOKE, \
               even one that fails, drops everything stored; and which accounts require TLS \
               is not known, so that a client without it reaches a server on another machine without it too, or with \
               ssl-mode=required not at all",
    },
    Wanted {
        privilege: |_| "SHOW VIEW",
        without: Readiness::Degraded,
        loss: "views whose text cannot be read are not cached",
    },
    Wanted {
        privilege: |_| "TRIGGER",
        without: Readiness::Degraded,
        loss: "every table is taken to have triggers, so that its writes hold up more hits than they need",
    },
    Wanted {
        privilege: |_| "PROCESS",
        without: Readiness::Degraded,
        loss: "foreign keys of tables that cannot be seen, and broken clients' threads, are not seen; and each change of any \
               account's rights drops everything stored",
    },
];

pub(super) fn all(server: &ServerInfo) -> Vec<Finding> {
    WANTED.iter().map(|wanted| look(server, wanted)).collect()
}

fn look(server: &ServerInfo, wanted: &Wanted) -> Finding {
    let subject = (wanted.privilege)(server);
    if server.privileges.has(subject) {
        return Finding::fine(subject, "granted");
    }
    Finding {
        subject,
        state: wanted.without,
        found: format!("not granted on *.*: {}", wanted.loss),
        remedy: Some(grant(server, subject)),
    }
}

/// Returns the privilege that SHOW MASTER STATUS needs; MariaDB 10.5 gave it a name of its own.
pub(super) fn client(server: &ServerInfo) -> &'static str {
    if splits_monitoring(server) { "BINLOG MONITOR" } else { "REPLICATION CLIENT" }
}

/// Returns the privilege that SHOW REPLICA STATUS needs.
pub(super) fn replica_status(server: &ServerInfo) -> &'static str {
    if splits_monitoring(server) { "REPLICA MONITOR" } else { "REPLICATION CLIENT" }
}

fn splits_monitoring(server: &ServerInfo) -> bool {
    server.is_mariadb() && server.version >= Version::from((10, 5, 9))
}

/// Returns the statement that grants a privilege to our account.
pub(super) fn grant(server: &ServerInfo, privilege: &str) -> String {
    format!("GRANT {privilege} ON *.* TO {};", server.privileges.account)
}
