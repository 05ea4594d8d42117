//! Attacks by clients that do not read, or vanish.

use std::time::Duration;

use freshet_tests::cached::{run, status};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Target};
use mysql::prelude::Queryable;

use crate::found::{Found, Given};
use crate::ground::{Ground, PATIENCE, alive, attacker, within};

/// What answers that nobody reads may make Freshet hold, bytes.
const UNREAD_BYTES_MAX: u64 = 320 << 20;
const READ: &str = "SELECT b FROM large";
/// What the server itself may need to notice that a client has gone.
const GONE_MAX: Duration = Duration::from_secs(15);

/// A row of 8 MB, stored.
fn large(ground: &Ground, freshet: &Freshet) {
    run(
        &mut ground.admin(),
        &[
            "CREATE TABLE attack.large (id INT PRIMARY KEY, b LONGBLOB)",
            "INSERT INTO attack.large VALUES (1, REPEAT('x', 8388608))",
        ],
    );
    // The same kind of client as those that will not read: others have other results.
    let mut counter = freshet.target().connect();
    let mut reader = attacker(freshet.target());
    let mut hit = || {
        let before = status(&mut counter, "Qcache_hits");
        reader.query(READ).expect("it is answered");
        (status(&mut counter, "Qcache_hits") > before).to_string()
    };
    let found = within(PATIENCE, "true", &mut hit);
    assert_eq!(found, "true", "the large result is stored");
}

/// Clients that ask for a large hit and read nothing of it.
pub fn silent(ground: &Ground, freshet: &Freshet) -> Found {
    large(ground, freshet);
    let clients = ground.count(200, 60);
    let mut counter = freshet.target().connect();
    let before = status(&mut counter, "Qcache_hits");
    let counter = std::cell::RefCell::new(counter);
    ground
        .both_once(freshet, |target| {
            let held: Vec<Raw> = (0..clients)
                .map(|_| {
                    let mut raw = attacker(target);
                    raw.send(3, READ.as_bytes()).expect("it is sent");
                    raw
                })
                .collect();
            if target.port == freshet.target().port {
                let hits = || status(&mut counter.borrow_mut(), "Qcache_hits").saturating_sub(before);
                within(PATIENCE, &clients.to_string(), || hits().to_string());
            }
            let outcome = alive(target);
            drop(held);
            outcome
        })
        .memory_max(UNREAD_BYTES_MAX)
}

/// KILL ends one that does not read.
pub fn killed(ground: &Ground, freshet: &Freshet) -> Found {
    large(ground, freshet);
    ground
        .both_once(freshet, |target| {
            let mut admin = target.connect();
            let mut raw = attacker(target);
            raw.send(3, READ.as_bytes()).expect("it is sent");
            let id = raw.id;
            let is_through = target.port == freshet.target().port;
            let there = move |admin: &mut mysql::Conn| -> u64 {
                if is_through {
                    return status(admin, "Freshet_clients");
                }
                let text = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
                admin.query_first::<u64, _>(text).expect("it is listed").unwrap_or(0)
            };
            let before = there(&mut admin);
            let said = admin.query_drop(format!("KILL {id}")).is_ok();
            let gone = (before - 1).to_string();
            let left = within(PATIENCE, &gone, || there(&mut admin).to_string());
            format!("KILL {said}, gone: {}", left == gone)
        })
        .memory_max(UNREAD_BYTES_MAX)
}

/// A client leaves in the middle of a sleep: the server stops sleeping.
pub fn vanish_in_sleep(ground: &Ground, freshet: &Freshet) -> Found {
    vanish(ground, freshet, "SELECT SLEEP(61), 'vanished'")
}

/// A client leaves while it waits for a lock of another.
pub fn vanish_in_lock(ground: &Ground, freshet: &Freshet) -> Found {
    let mut holder = ground.admin();
    run(&mut holder, &["DO GET_LOCK('attack_vanish', 1)"]);
    vanish(ground, freshet, "SELECT GET_LOCK('attack_vanish', 61), 'vanished'")
}

fn vanish(ground: &Ground, freshet: &Freshet, statement: &str) -> Found {
    let look = |target: &Target| -> String {
        let mut admin = ground.admin();
        let text = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%vanished%' AND INFO NOT LIKE '%PROCESSLIST%'";
        let mut running =
            || admin.query_first::<u64, _>(text).expect("it is listed").unwrap_or(0).to_string();
        let mut raw = attacker(target);
        raw.send(3, statement.as_bytes()).expect("it is sent");
        let begun = within(PATIENCE, "1", &mut running);
        drop(raw);
        let left = within(GONE_MAX, "0", &mut running);
        let _ = ground.admin().query_drop("SELECT 1");
        format!("begun {begun}, left {left}")
    };
    let (direct, through, memory): (Given, Given, _) = ground.once(freshet, look);
    // The server may keep it too.
    let worse = direct.outcome.ends_with("left 0") && !through.outcome.ends_with("left 0");
    Found::new(direct, through, memory).at_any_time().expect(!worse, "the server works on for nobody")
}
