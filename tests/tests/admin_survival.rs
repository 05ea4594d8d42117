//! What is saved at the admin port is there whatever becomes of the process, and in whole.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use freshet_tests::administered::{Directory, with_each};
use freshet_tests::cached::eventually;
use freshet_tests::freshet::command;
use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::Signal;

const RULES: u32 = 300;
const USERS: u32 = 100;
const ROUNDS: u64 = 12;

/// Has the tables of memory be those of a version.
fn edit(admin: &mut Conn, version: u32) -> mysql::Result<()> {
    let rules: Vec<String> = (1..=RULES).map(|id| format!("({id}, 0, 'v{version}')")).collect();
    let users: Vec<String> = (1..=USERS).map(|id| format!("('u{id}', 'v{version}')")).collect();
    admin.query_drop("DELETE FROM mysql_query_rules")?;
    admin.query_drop("DELETE FROM mysql_users")?;
    admin.query_drop(format!(
        "INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES {}",
        rules.join(",")
    ))?;
    admin.query_drop(format!("INSERT INTO mysql_users (username, comment) VALUES {}", users.join(",")))
}

/// The version that is on disk, which is in whole there.
fn version(admin: &mut Conn, table: &str, rows: u32) -> u32 {
    let query = format!("SELECT COUNT(*), MIN(comment), MAX(comment) FROM disk.{table}");
    let (count, first, last): (u32, Option<String>, Option<String>) =
        admin.query_first(query).expect("it can be read").expect("there is a row");
    let Some(first) = first else { return 0 };
    assert_eq!((count, Some(&first)), (rows, last.as_ref()), "{table} is half-saved");
    first.trim_start_matches('v').parse().expect("a version")
}

/// Saves one version after the other, from this one on, until the process is gone. Notes what was acknowledged of rules and users.
fn saves(admin: &mut Conn, from: u32, (rules, users): (&AtomicU32, &AtomicU32)) {
    let mut save = |version| -> mysql::Result<()> {
        edit(admin, version)?;
        admin.query_drop("SAVE MYSQL QUERY RULES TO DISK")?;
        rules.store(version, Ordering::SeqCst);
        admin.query_drop("SAVE MYSQL USERS TO DISK")?;
        users.store(version, Ordering::SeqCst);
        Ok(())
    };
    for version in from.. {
        if save(version).is_err() {
            return;
        }
    }
}

#[test]
fn what_is_kept_can_be_read_by_its_owner_alone() {
    with_each("owner", |server, directory: &Directory| {
        let freshet = directory.freshet(server);
        directory
            .client("admin", "SAVE MYSQL USERS TO DISK; SAVE MYSQL DIGEST TO DISK")
            .expect("it is saved");
        for name in ["freshet.db", "freshet_stats.db"] {
            let file = std::fs::metadata(directory.path(&format!("state/{name}"))).expect("it is there");
            assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
        }
        freshet.stop();
    });
}

/// What the setup of a ProxySQL begins with, as its documentation has it.
#[test]
fn a_setup_goes_through_and_who_may_connect_is_changed_by_it() {
    with_each("setup", |server, directory: &Directory| {
        let freshet = directory.freshet(server);
        directory
            .client(
                "admin",
                "SET admin-admin_credentials='admin:other;radmin:radmin'; LOAD ADMIN VARIABLES TO RUNTIME;
                SAVE ADMIN VARIABLES TO DISK;
                UPDATE global_variables SET variable_value='monitor' WHERE variable_name='mysql-monitor_username';
                SET mysql-monitor_password='monitor'; SET mysql-monitor_connect_interval=2000;
                SET mysql-max_connections=2048; SET mysql-default_query_timeout=36000000;
                LOAD MYSQL VARIABLES TO RUNTIME; SAVE MYSQL VARIABLES TO DISK",
            )
            .expect("it goes through");
        let refused = directory.client("admin", "SELECT 1").expect_err("the password is another");
        assert!(refused.contains("Access denied for user 'admin'"), "{refused}");
        let shown =
            "SELECT variable_value FROM global_variables WHERE variable_name='mysql-monitor_password'";
        assert_eq!(directory.client("radmin", shown).expect("it is let in"), ["monitor"]);
        freshet.stop();
        let freshet = directory.freshet(server);
        assert_eq!(directory.client("radmin", shown).expect("it is let in after a restart"), ["monitor"]);
        freshet.stop();
    });
}

#[test]
fn what_an_imported_file_cannot_have_is_told() {
    with_each("import", |server, directory: &Directory| {
        let file = directory.path("proxysql.cnf");
        std::fs::write(
            &file,
            "datadir=\"/var/lib/proxysql\"
            mysql_variables={ query_cache_size_MB=64 }
            mysql_query_rules=(
                { rule_id=1 active=1 match_digest=\"^SELECT\" cache_ttl=5000 apply=1 },
                { rule_id=2 active=1 match_pattern=\"^SELECT (?!x)\" destination_hostgroup=1 },
                { rule_id=3 active=0 match_pattern=\"(\" },
                { rule_id=4 active=1 mirror_hostgroup=1 }
            )",
        )
        .expect("it is written");
        let state = directory.path("state");
        let import = |file: &str| {
            let output = command().args(["import", file, "--state-dir", &state]).output().expect("it runs");
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let (code, said) = import(&file);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("mysql_query_rules: 4 rows"), "{said}");
        let told: Vec<&str> = said.lines().filter(|line| line.starts_with("  rule ")).collect();
        assert_eq!(told.len(), 2, "{said}");
        assert!(
            told[0].starts_with("  rule 2: match_pattern: ") && told[0].contains("look-around"),
            "{said}"
        );
        assert_eq!(told[1], "  rule 4: Freshet does not carry out mirror_hostgroup");
        assert!(said.contains("datadir: it has no meaning in Freshet"), "{said}");
        // It starts all the same, so that they can be changed.
        let freshet = directory.freshet(server);
        let admin = |statements: &str| directory.client("admin", statements);
        let rules = |layer: &str| admin(&format!("SELECT rule_id FROM {layer}mysql_query_rules")).unwrap();
        assert_eq!((rules("runtime_").len(), rules("").len()), (0, 4));
        assert!(admin("LOAD MYSQL QUERY RULES TO RUNTIME").unwrap_err().contains("rule 2: match_pattern"));
        admin("DELETE FROM mysql_query_rules WHERE rule_id IN (2,4); LOAD MYSQL QUERY RULES TO RUNTIME")
            .unwrap();
        assert_eq!(rules("runtime_"), ["1"]);
        // Its directory takes nothing in meanwhile.
        assert_eq!(import(&file).0, Some(1));
        freshet.stop();
    });
}

#[test]
fn a_kill_in_the_middle_of_save_loses_nothing() {
    with_each("survival", |server, directory: &Directory| {
        let mut next = 1;
        let (mut rules_saved, mut users_saved) = (0, 0);
        for round in 0..ROUNDS {
            let freshet = directory.freshet(server);
            let mut admin = directory.connect("admin");
            let (rules, users) =
                (version(&mut admin, "mysql_query_rules", RULES), version(&mut admin, "mysql_users", USERS));
            assert!(rules >= rules_saved && users >= users_saved, "an acknowledged SAVE is lost");
            let loaded: u32 = admin.query_first("SELECT COUNT(*) FROM mysql_query_rules").unwrap().unwrap();
            assert_eq!(loaded, if rules == 0 { 0 } else { RULES });
            let (rules_acknowledged, users_acknowledged) = (AtomicU32::new(rules), AtomicU32::new(users));
            std::thread::scope(|scope| {
                scope.spawn(|| saves(&mut admin, next, (&rules_acknowledged, &users_acknowledged)));
                eventually("something is saved in this round", || {
                    (rules_acknowledged.load(Ordering::SeqCst) >= next).then_some(())
                });
                // Another moment in each round.
                std::thread::sleep(Duration::from_micros(round * 7_919));
                freshet.signal(Signal::KILL);
            });
            (rules_saved, users_saved) = (rules_acknowledged.into_inner(), users_acknowledged.into_inner());
            next = rules_saved + 2;
            drop(freshet);
        }
    });
}
