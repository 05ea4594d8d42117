//! Attacks by many: connections, accounts, texts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use freshet_tests::cached::{answer, run, status};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Target};

use crate::found::Found;
use crate::ground::{ATTACKER, Ground, SCHEMA, attacker, clients_max, prime};

/// What an idle client may take, bytes.
const IDLE_BYTES_MAX: u64 = 56 << 10;
/// What a client may take that has asked the server something, and keeps small buffers for the next time, bytes.
const SERVED_BYTES_MAX: u64 = 88 << 10;
/// How much of a client's reads must still be hits beside invented texts, percent.
const SHARE_MIN: u64 = 90;
/// Who invents texts at the same time.
const INVENTORS: usize = 2;

/// Texts of ever new shapes, beside a client that reads the same thing again and again.
pub fn digests(ground: &Ground, freshet: &Freshet) -> Found {
    let shapes = ground.count(100_000, 4_000);
    let mut counter = freshet.target().connect();
    prime(freshet, &mut freshet.target().try_connect(SCHEMA).expect("it lets in"), READ);
    let hits = std::cell::Cell::new((0, 1));
    let counter = std::cell::RefCell::new(&mut counter);
    let (direct, mut through, memory) = ground.ways(freshet, |target| {
        let before = status(&mut counter.borrow_mut(), "Qcache_hits");
        let reads = beside_inventors(target, shapes);
        hits.set((status(&mut counter.borrow_mut(), "Qcache_hits") - before, reads.max(1)));
        format!("{shapes} shapes")
    });
    let share = hits.get().0 * 100 / hits.get().1;
    through.outcome += &format!(", {share} % of the neighbour's reads are hits");
    Found::new(direct, through, memory)
        .expect(share >= SHARE_MIN, format!("{share} % hits, {SHARE_MIN} % expected"))
}

/// What the neighbour reads.
const READ: &str = "SELECT v FROM t WHERE id = 1";
/// The neighbour waits so long between two reads, so as not to take the processor from the others.
const READS_PAUSE: Duration = Duration::from_millis(1);

/// Reads as long as texts are invented; gives the number of reads.
fn beside_inventors(target: &Target, shapes: usize) -> u64 {
    let mut reader = target.try_connect(SCHEMA).expect("it lets in");
    let _ = answer(&mut reader, READ);
    let left = AtomicUsize::new(INVENTORS);
    std::thread::scope(|scope| {
        for at in 0..INVENTORS {
            let left = &left;
            scope.spawn(move || {
                invent(target, at, shapes / INVENTORS);
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let mut reads = 0;
        while left.load(Ordering::Relaxed) > 0 {
            let _ = answer(&mut reader, READ);
            reads += 1;
            std::thread::sleep(READS_PAUSE);
        }
        reads
    })
}

fn invent(target: &Target, inventor: usize, shapes: usize) {
    // What is tried again is invented anew.
    static INVENTED: AtomicUsize = AtomicUsize::new(0);
    let first = INVENTED.fetch_add(shapes, Ordering::Relaxed);
    let mut raw = attacker(target);
    for shape in first..first + shapes {
        raw.query(&format!("SELECT id AS a{inventor}_{shape} FROM t WHERE id = 1")).expect("it is answered");
    }
}

/// Logins by invented names, where any name is let in.
pub fn users(ground: &Ground, freshet: &Freshet) -> Found {
    let mut admin = ground.admin();
    run(&mut admin, &["CREATE USER IF NOT EXISTS ''@'%' IDENTIFIED BY ''"]);
    let found = ground.both(freshet, |target| {
        let names = (0..ground.count(3000, 150)).filter(|number| {
            let raw = Raw::dial(&target.host, target.port);
            raw.and_then(|mut raw| raw.login(&format!("nobody{number}"), "", 0)).is_ok()
        });
        format!("{} let in", names.count())
    });
    run(&mut admin, &["DROP USER ''@'%'"]);
    found
}

/// Clients that log in and leave, four at a time.
pub fn storm(ground: &Ground, freshet: &Freshet) -> Found {
    const CROWD: usize = 4;
    let each = ground.count(20_000, 1_200) / CROWD;
    ground.both(freshet, |target| {
        std::thread::scope(|scope| {
            for _ in 0..CROWD {
                scope.spawn(|| (0..each).for_each(|_| drop(attacker(target).send(1, b""))));
            }
        });
        format!("{} logins", each * CROWD)
    })
}

/// Clients that log in and say nothing.
pub fn idle(ground: &Ground, freshet: &Freshet) -> Found {
    let clients = clients_max(ground.count(10_000, 300));
    let hold = |target: &Target| -> String {
        let all: Vec<Raw> = (0..clients)
            .map(|_| {
                let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
                raw.login(ATTACKER, "", 0).expect("it lets the attacker in");
                raw
            })
            .collect();
        format!("{} clients", all.len())
    };
    let found = ground.both(freshet, hold);
    let each = found.memory.1.saturating_sub(found.memory.0) / clients as u64;
    found
        .memory_max(clients as u64 * IDLE_BYTES_MAX + (16 << 20))
        .expect(each <= IDLE_BYTES_MAX + (16 << 20) / clients as u64, format!("{each} bytes each"))
}

/// Transactions that are left open after one write each, beside a client that reads other rows, of the same table too.
pub fn open_transactions(ground: &Ground, freshet: &Freshet) -> Found {
    const READS: [&str; 2] = [READ, "SELECT v FROM many WHERE id = 0"];
    const ROUNDS: u64 = 500;
    let clients = ground.count(2_000, 200);
    let mut admin = ground.admin();
    let rows: Vec<String> = (0..=clients).map(|row| format!("({row}, 0)")).collect();
    run(
        &mut admin,
        &[
            "CREATE TABLE attack.many (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
            &format!("INSERT INTO attack.many VALUES {}", rows.join(",")),
        ],
    );
    let mut reader = freshet.target().try_connect(SCHEMA).expect("it lets in");
    READS.iter().for_each(|read| prime(freshet, &mut reader, read));
    let hits = std::cell::Cell::new(0);
    let (direct, mut through, memory) = ground.ways(freshet, |target| {
        let held: Vec<Raw> = (1..=clients).map(|row| left_open(target, row)).collect();
        let mut counter = freshet.target().connect();
        let mut reader = target.try_connect(SCHEMA).expect("it lets in");
        let before = status(&mut counter, "Qcache_hits");
        for read in READS.iter().cycle().take(2 * ROUNDS as usize) {
            let _ = answer(&mut reader, read);
        }
        hits.set(status(&mut counter, "Qcache_hits") - before);
        format!("{} transactions", held.len())
    });
    let share = hits.get() * 100 / (2 * ROUNDS);
    through.outcome += &format!(", {share} % of the neighbour's reads are hits");
    Found::new(direct, through, memory)
        .memory_max(clients as u64 * SERVED_BYTES_MAX + (16 << 20))
        .expect(share >= SHARE_MIN, format!("{share} % hits, {SHARE_MIN} % expected"))
}

/// A client that changes a row and does not commit.
fn left_open(target: &Target, row: usize) -> Raw {
    let mut raw = attacker(target);
    for text in ["BEGIN".to_owned(), format!("UPDATE many SET v = v + 1 WHERE id = {row}")] {
        let answer = raw.query(&text).expect("an answer");
        assert_eq!(answer[0][0], 0, "{text}: {answer:?}");
    }
    raw
}
