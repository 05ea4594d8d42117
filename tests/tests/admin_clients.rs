//! The admin port, by the programs that dump it and by drivers.

use std::process::{Command, Stdio};

use freshet_tests::administered::{Directory, admin_port, with_each};
use freshet_tests::{leave_out, tool};

/// Rules with everything that a text can be misread by.
const RULES: &str = r#"INSERT INTO mysql_query_rules (rule_id,active,match_pattern,comment,cache_ttl,apply) VALUES
    (1,1,'^SELECT ''x\d+''','it''s; -- "no" comment',5000,1), (7,0,'[^\\]$','/* none */ #',1,0)"#;
const SHOWN: &str =
    "SELECT rule_id, active, HEX(match_pattern), comment, cache_ttl, digest IS NULL FROM mysql_query_rules";

/// What a program that dumps prints, and what it says on the way.
fn dumped(program: &[String], more: &[&str]) -> (String, String) {
    let mut command = Command::new(&program[0]);
    let output = command.args(&program[1..]).args(more).stdin(Stdio::null()).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{program:?} {more:?}: {said}");
    let said: Vec<&str> = said.lines().filter(|line| !line.contains("Using a password")).collect();
    (text(&output.stdout), said.join("\n"))
}

fn plays_back(directory: &Directory, program: &[String]) {
    let admin = |statements: &str| directory.client("admin", statements).expect("it is carried out");
    admin(&format!("DELETE FROM mysql_query_rules; {RULES}"));
    let before = admin(SHOWN);
    assert_eq!(before.len(), 2);
    let tables = ["main", "mysql_query_rules", "mysql_servers", "mysql_users"];
    for more in [&[][..], &["--single-transaction"], &["--complete-insert", "--skip-extended-insert"]] {
        let (dump, said) = dumped(program, &[more, &tables].concat());
        assert_eq!(said, "", "{program:?} {more:?}");
        admin(
            "DELETE FROM mysql_query_rules WHERE rule_id = 1; UPDATE mysql_query_rules SET comment = 'other'",
        );
        admin(&dump);
        assert_eq!(admin(SHOWN), before, "{program:?} {more:?}");
        assert_eq!(admin("SELECT hostgroup_id, status FROM mysql_servers"), ["0\tONLINE"]);
    }
    // All of a database, and statistics.
    let (dump, said) = dumped(program, &["--databases", "main", "stats"]);
    assert!(dump.contains("ProxySQL_Uptime") && dump.contains("mysql_replication_hostgroups"), "{dump}");
    assert_eq!(said, "");
    // MySQL's own wants a database `mysql` for that.
    if program[0] == "mariadb-dump" {
        everything_plays_back(directory, program);
    }
}

/// Everything: that is what can be played back.
fn everything_plays_back(directory: &Directory, program: &[String]) {
    let admin = |statements: &str| directory.client("admin", statements).expect("it is carried out");
    let before = admin(SHOWN);
    assert_eq!(before.len(), 2);
    let (dump, said) = dumped(program, &["--all-databases"]);
    assert_eq!(said, "");
    assert!(!dump.contains("runtime_") && !dump.contains("ProxySQL_Uptime"), "{dump}");
    admin("DELETE FROM mysql_query_rules; DELETE FROM mysql_servers");
    admin(&dump);
    assert_eq!(admin(SHOWN), before, "{program:?}");
    assert_eq!(admin("SELECT hostgroup_id, status FROM mysql_servers"), ["0\tONLINE"]);
}

#[test]
fn a_dump_brings_back_what_was_there() {
    with_each("dumps", |server, directory| {
        let freshet = directory.freshet(server);
        let port = admin_port(&freshet).to_string();
        let words =
            ["--no-defaults", "--host=127.0.0.1", "--port", &port, "--user=admin", "--password=admin"];
        let with = |program: &[&str]| -> Vec<String> {
            program.iter().chain(&words).map(|word| (*word).to_owned()).collect()
        };
        if tool::is_there("mariadb-dump") {
            plays_back(directory, &with(&["mariadb-dump"]));
        }
        match std::env::var("FRESHET_TEST_MYSQL_ROOT") {
            Ok(root) => plays_back(directory, &with(&["chroot", &root, "mysqldump"])),
            Err(_) => leave_out("FRESHET_TEST_MYSQL_ROOT is not set"),
        }
        freshet.stop();
    });
}

#[test]
fn pymysql_escapes_what_it_sends_and_reads_what_it_has_sent() {
    let python = tool::folder().join("python/bin/python").display().to_string();
    if !tool::is_there(&python) {
        return;
    }
    with_each("pymysql", |server, directory| {
        let freshet = directory.freshet(server);
        let script = tool::sources().join("python/admin.py").display().to_string();
        let port = admin_port(&freshet).to_string();
        let printed = tool::run(&python, &[script, "127.0.0.1".to_owned(), port]);
        assert_eq!(printed.trim(), "all is well");
        freshet.stop();
    });
}
