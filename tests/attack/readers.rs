//! Attacks by clients that do not read, or vanish.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use freshet_tests::cached::{run, status};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Target};
use mysql::prelude::Queryable;
use socket2::{Domain, Socket, Type};

use crate::found::{Found, Given};
use crate::ground::{ATTACKER, Ground, PATIENCE, SCHEMA, alive, attacker, within};

/// What answers that nobody reads may make Freshet hold, bytes.
const UNREAD_BYTES_MAX: u64 = 320 << 20;
const READ: &str = "SELECT b FROM large";
/// How long all clients may take to ask.
const ASKED_MAX: Duration = Duration::from_secs(8);
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
                // Who comes when the room for answers that are not read is taken gets none from memory.
                within(ASKED_MAX, &clients.to_string(), || hits().to_string());
            }
            let outcome = alive(target);
            drop(held);
            outcome
        })
        .memory_max(UNREAD_BYTES_MAX)
}

/// Clients whose answers are to be stored, and that read so slowly that all of them are under way at the same time.
pub fn slow_fills(ground: &Ground, freshet: &Freshet) -> Found {
    /// Of one answer: more than fits on the way to such a client, and more than is read on for it.
    const ROWS: usize = 400;
    const ROW_BYTES: usize = 4_000;
    /// Of an answer, at least so much is copied at once.
    const COPIED_BYTES_MIN: u64 = 16 << 10;
    /// What is read on for clients that do not read is bounded all together, in buffers that double.
    const AHEAD_BYTES_MAX: u64 = 2 * (64 << 20);
    /// What a client may make Freshet hold beside these and the copies of answers: 160 kB of its answer, in buffers that double, of
    /// which the allocator keeps the smaller ones for a second; and the connection itself.
    const CLIENT_BYTES_MAX: u64 = 288 << 10;
    const FILLS_BYTES_MAX: u64 = 64 << 20;
    let clients = ground.count(2_000, 200);
    let rows: Vec<String> = (0..ROWS).map(|row| format!("({row}, REPEAT('x', {ROW_BYTES}))")).collect();
    run(
        &mut ground.admin(),
        &[
            "CREATE TABLE attack.slow (id INT PRIMARY KEY, b VARCHAR(4000)) ENGINE=InnoDB",
            &format!("INSERT INTO attack.slow VALUES {}", rows.join(",")),
        ],
    );
    let most = std::cell::Cell::new(0);
    let found = ground.both_once(freshet, |target| {
        let held: Vec<Raw> = (1..=clients)
            .map(|number| {
                let mut raw = slow(target).expect("it is let in");
                let text = format!("SELECT b FROM slow WHERE id > -{number}");
                raw.send(3, text.as_bytes()).expect("it is sent");
                raw
            })
            .collect();
        let mut counter = freshet.target().connect();
        let mut under_way = || {
            let bytes = status(&mut counter, "Freshet_fill_bytes");
            most.set(bytes.max(most.get()));
            bytes >= clients as u64 * COPIED_BYTES_MIN || status(&mut counter, "Freshet_fill_refused") > 0
        };
        let is_through = target.port == freshet.target().port;
        let under_way = !is_through || within(PATIENCE, "true", || under_way().to_string()) == "true";
        let outcome = format!("under way: {under_way}, {}", alive(target));
        drop(held);
        outcome
    });
    found
        .memory_max(FILLS_BYTES_MAX + AHEAD_BYTES_MAX + clients as u64 * CLIENT_BYTES_MAX + (16 << 20))
        .expect(most.get() <= FILLS_BYTES_MAX, format!("copies of {} MB", most.get() >> 20))
}

/// An attacker to whom little fits on the way, so that what it does not read stays where it comes from.
fn slow(target: &Target) -> std::io::Result<Raw> {
    const SEGMENT_BYTES: u32 = 536;
    const RECEIVED_BYTES: usize = 4 << 10;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_tcp_mss(SEGMENT_BYTES)?;
    socket.set_recv_buffer_size(RECEIVED_BYTES)?;
    let host: IpAddr = target.host.parse().map_err(std::io::Error::other)?;
    socket.connect(&SocketAddr::new(host, target.port).into())?;
    let mut raw = Raw::over(socket.into())?;
    raw.login(ATTACKER, SCHEMA, 0)?;
    Ok(raw)
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
