//! What the check says of real servers, to accounts with all privileges and with none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../upstream/tests/common/mod.rs"]
mod common;

use common::{MARIADB, MYSQL, account, connect, run, with_server};
use freshet_follow::check::{Finding, Readiness, examine};
use freshet_upstream::server::Concerns;
use freshet_upstream::{ServerInfo, UpstreamConfig};

fn find<'a>(findings: &'a [Finding], subject: &str) -> &'a Finding {
    findings.iter().find(|finding| finding.subject == subject).unwrap_or_else(|| panic!("no {subject}"))
}

fn show(findings: &[Finding]) {
    for Finding { subject, state, found, remedy } in findings {
        println!("{subject:20} {state:?}: {found}\n{:22}{}", "", remedy.as_deref().unwrap_or_default());
    }
}

async fn check(config: UpstreamConfig, client: &str) {
    let mut admin = connect(&config).await;
    let findings = examine(&mut admin, false).await.unwrap();
    show(&findings);
    assert!(findings.iter().all(|finding| finding.state != Readiness::Missing));
    assert_eq!(find(&findings, "REPLICATION SLAVE").state, Readiness::Fine);

    run(&mut admin, &["DROP USER IF EXISTS up_check", "CREATE USER up_check IDENTIFIED BY 'pw'"]).await;
    let poor = account(&config, "up_check", "pw");
    let findings = examine(&mut connect(&poor).await, false).await.unwrap();
    show(&findings);
    for subject in ["REPLICATION SLAVE", client, "binlog filters"] {
        assert_eq!(find(&findings, subject).state, Readiness::Missing, "{subject}");
    }
    for subject in ["PROCESS", "SELECT", "TRIGGER", "SHOW VIEW"] {
        assert_eq!(find(&findings, subject).state, Readiness::Degraded, "{subject}");
    }
    // Each remedy for a privilege is a statement that the server takes, and that mends it.
    for finding in findings.iter().filter(|finding| finding.state != Readiness::Fine) {
        let remedy = finding.remedy.clone().unwrap_or_default();
        if remedy.starts_with("GRANT") {
            run(&mut admin, &[remedy.as_str()]).await;
        }
    }
    let findings = examine(&mut connect(&poor).await, false).await.unwrap();
    assert!(findings.iter().all(|finding| finding.state != Readiness::Missing), "{findings:#?}");
    assert_eq!(find(&findings, "PROCESS").state, Readiness::Fine);
    // No variable of a server that we know is one that nobody has thought about.
    let server = ServerInfo::read(&mut admin).await.unwrap();
    let watched = server.watched_globals();
    let unknown: Vec<_> = watched.iter().filter(|(_, concerns)| *concerns == Concerns::Unknown).collect();
    assert!(watched.len() > 20 && unknown.is_empty(), "{unknown:?}");
}

#[test]
fn mariadb_is_examined() {
    with_server(MARIADB, async |config| check(config, "BINLOG MONITOR").await);
}

#[test]
fn mysql_is_examined() {
    with_server(MYSQL, async |config| check(config, "REPLICATION CLIENT").await);
}

#[test]
fn roles_count_when_they_are_active() {
    for variable in [MARIADB, MYSQL] {
        with_server(variable, async |config| {
            let mut admin = connect(&config).await;
            run(
                &mut admin,
                &[
                    "DROP ROLE IF EXISTS up_role",
                    "CREATE ROLE up_role",
                    "GRANT REPLICATION SLAVE, PROCESS ON *.* TO up_role",
                    "DROP USER IF EXISTS up_member",
                    "CREATE USER up_member IDENTIFIED BY 'pw'",
                    "GRANT up_role TO up_member",
                ],
            )
            .await;
            let mut member = connect(&account(&config, "up_member", "pw")).await;
            let server = ServerInfo::read(&mut member).await.unwrap();
            assert!(!server.privileges.has("PROCESS"), "a role that is not active");
            run(&mut member, &["SET ROLE up_role"]).await;
            let server = ServerInfo::read(&mut member).await.unwrap();
            assert!(server.privileges.has("PROCESS") && server.privileges.has("REPLICATION SLAVE"));
        });
    }
}
