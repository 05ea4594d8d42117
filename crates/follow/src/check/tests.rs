use freshet_catalog::{Acts, ForeignKey};
use freshet_upstream::server::samples::imagined;
use freshet_upstream::server::{Filters, Privileges};

use super::*;

const MARIADB: &str = "10.11.19-MariaDB";
const MYSQL: &str = "9.7.4";

fn find(server: &ServerInfo, subject: &str) -> Finding {
    let mut all = settings(server);
    all.extend(privileges(server));
    all.into_iter().find(|finding| finding.subject == subject).unwrap_or_else(|| panic!("no {subject}"))
}

/// Returns the first finding that keeps the server from being followed, if there is one.
fn obstacle(server: &ServerInfo) -> Option<Finding> {
    settings(server).into_iter().chain(privileges(server)).find(|finding| finding.state == Readiness::Missing)
}

#[test]
fn a_server_in_order_has_no_obstacle() {
    for version in [MARIADB, MYSQL, "8.0.36", "11.8.2-MariaDB"] {
        let server = imagined(version, &[]);
        assert_eq!(obstacle(&server), None, "{version}");
        assert!(
            settings(&server)
                .iter()
                .chain(&privileges(&server))
                .all(|finding| finding.state == Readiness::Fine)
        );
    }
}

#[test]
fn each_setting_has_its_state_and_its_remedy() {
    type Case = (&'static str, (&'static str, &'static str), &'static str, Readiness, &'static str);
    let cases: &[Case] = &[
        (MYSQL, ("log_bin", "OFF"), "log_bin", Readiness::Missing, "[mysqld]"),
        (MARIADB, ("log_bin", "OFF"), "log_bin", Readiness::Missing, "[mariadbd]"),
        (
            MYSQL,
            ("binlog_format", "MIXED"),
            "binlog_format",
            Readiness::Missing,
            "SET PERSIST binlog_format = ROW;",
        ),
        (
            MARIADB,
            ("binlog_format", "MIXED"),
            "binlog_format",
            Readiness::Missing,
            "SET GLOBAL binlog_format = ROW;",
        ),
        (MYSQL, ("binlog_row_image", "MINIMAL"), "binlog_row_image", Readiness::Degraded, "FULL"),
        (MARIADB, ("binlog_row_metadata", "NO_LOG"), "binlog_row_metadata", Readiness::Fine, ""),
        (MYSQL, ("gtid_mode", "OFF"), "gtid_mode", Readiness::Degraded, "ON_PERMISSIVE"),
        (MARIADB, ("gtid_mode", "OFF"), "gtid_mode", Readiness::Fine, ""),
    ];
    for (version, variable, subject, state, remedy) in cases {
        let finding = find(&imagined(version, &[*variable]), subject);
        assert_eq!(finding.state, *state, "{finding:?}");
        assert!(finding.remedy.clone().unwrap_or_default().contains(remedy), "{finding:?}");
    }
}

#[test]
fn the_native_cache_is_told_of() {
    let server = imagined(MARIADB, &[("query_cache_type", "ON"), ("query_cache_size", "1048576")]);
    assert_eq!(find(&server, "query_cache_type").state, Readiness::Degraded);
    let server = imagined(MARIADB, &[("query_cache_type", "ON"), ("query_cache_size", "0")]);
    assert_eq!(find(&server, "query_cache_type").state, Readiness::Fine);
}

#[test]
fn filters_and_unlogged_replication_are_obstacles() {
    let mut server = imagined(MARIADB, &[]);
    server.filters = Some(Filters { only: vec![], except: vec!["a".into(), "b".into()] });
    assert!(find(&server, "binlog filters").found.contains("binlog-ignore-db=a,b"));
    assert_eq!(obstacle(&server).unwrap().subject, "binlog filters");

    for (replica, galera, state) in [
        (Some(false), "OFF", Readiness::Fine),
        (Some(true), "OFF", Readiness::Missing),
        (None, "OFF", Readiness::Missing),
        (Some(false), "ON", Readiness::Missing),
    ] {
        let mut server = imagined(MARIADB, &[("log_replica_updates", "OFF"), ("wsrep_on", galera)]);
        server.is_replica = replica;
        assert_eq!(find(&server, "log_slave_updates").state, state, "{replica:?} {galera}");
    }
}

#[test]
fn missing_privileges_are_granted_to_our_own_account_by_the_servers_own_name() {
    for (version, client) in
        [(MARIADB, "BINLOG MONITOR"), ("10.4.1-MariaDB", "REPLICATION CLIENT"), (MYSQL, "REPLICATION CLIENT")]
    {
        let mut server = imagined(version, &[]);
        server.privileges = Privileges::none("`app`@`10.%`");
        let finding = find(&server, client);
        assert_eq!(finding.state, Readiness::Missing);
        assert_eq!(finding.remedy.unwrap(), format!("GRANT {client} ON *.* TO `app`@`10.%`;"));
        assert_eq!(find(&server, "PROCESS").state, Readiness::Degraded);
    }
}

#[test]
fn foreign_keys_that_act_are_followed_on_every_server() {
    let name = |name: &str| ("s".to_owned(), name.to_owned());
    let keys = ForeignKeys::from_keys([ForeignKey {
        parent: name("p"),
        child: name("c"),
        acts: Acts::ALWAYS,
        columns: Vec::new(),
    }]);
    let finding = inventory::cascades(&keys);
    assert_eq!(finding.state, Readiness::Fine);
    assert!(finding.found.contains("s.c") && finding.found.contains("followed"), "{finding:?}");
    assert!(!finding.found.contains("are logged"), "no server always logs them: {finding:?}");
    assert_eq!(inventory::cascades(&ForeignKeys::default()).state, Readiness::Fine);
}
