//! What is saved at the admin port is there whatever becomes of the process, and in whole.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use freshet_tests::administered::{Directory, with_each};
use freshet_tests::cached::eventually;
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
