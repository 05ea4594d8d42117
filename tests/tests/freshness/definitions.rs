//! Definitions that come and go beside an application: they cost it few hits, and foreign keys are acted on as they are.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run, status};
use freshet_tests::lag::with_each_late;
use freshet_tests::{Freshet, Target, with_each};
use mysql::Conn;

const SCHEMA: &str = "fresh_defs";
const OTHERS: &str = "fresh_defs_others";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6),(7,7),(8,8)",
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    "INSERT INTO p VALUES (1,1),(2,2)",
    "INSERT INTO c VALUES (1,1),(2,2)",
    "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
    "CREATE TRIGGER noted AFTER UPDATE ON t FOR EACH ROW INSERT INTO log (n) VALUES (NEW.id)",
    "CREATE VIEW w AS SELECT id, v FROM t WHERE id > 2",
];
/// Positions of one binlog file, in what Freshet shows as applied.
const FILE: u64 = 1 << 36;
/// How long each phase lasts.
const PHASE: Duration = Duration::from_secs(3);
/// A definition comes and one goes so often: 1,000 a minute.
const PAIR_EVERY: Duration = Duration::from_millis(120);
/// Between two statements.
const PAUSE: Duration = Duration::from_millis(1);
/// Of so many statements one is a write.
const WRITE_EVERY: u32 = 25;
/// The share of the hits without definitions that there must be beside those of others, in percent. It is four fifths and
/// more on an idle machine; what is lost to them altogether is far below.
const KEPT_MIN: u64 = 50;

/// Reads and writes, and gives the share of hits among the reads, in percent.
fn share_of_hits(freshet: &Freshet) -> u64 {
    let mut counted = Counted::of(freshet);
    let mut client = connect(freshet.target(), SCHEMA);
    let (before, until, mut reads) = (counted.hits(), Instant::now() + PHASE, 0);
    for turn in 0.. {
        if Instant::now() > until {
            break;
        }
        // A share of the time, whatever the machine can do in it.
        std::thread::sleep(PAUSE);
        if turn % WRITE_EVERY == 0 {
            run(&mut client, &[&format!("UPDATE t SET v = v + 1 WHERE id = {}", 1 + turn / WRITE_EVERY % 2)]);
            continue;
        }
        let read = match turn % 4 {
            0 => format!("SELECT v FROM t WHERE id = {}", 1 + turn % 8),
            1 => format!("SELECT v FROM w WHERE id = {}", 3 + turn % 5),
            2 => "SELECT p.v, c.id FROM p JOIN c ON c.p = p.id ORDER BY c.id".to_owned(),
            _ => "SELECT COUNT(*) FROM c".to_owned(),
        };
        answer(&mut client, &read).expect("an answer");
        reads += 1;
    }
    (counted.hits() - before) * 100 / reads
}

/// Creates and drops a table until it is over; says how often.
fn define(target: &Target, name: &str, over: &AtomicBool) -> u32 {
    let mut conn = connect(target, OTHERS);
    let mut pairs = 0;
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let create = format!("CREATE TABLE {name} (id INT PRIMARY KEY, n INT, KEY (n))");
        run(&mut conn, &[&create, &format!("DROP TABLE {name}")]);
        pairs += 1;
        std::thread::sleep(PAIR_EVERY.saturating_sub(begun.elapsed()));
    }
    pairs
}

#[test]
fn definitions_of_others_leave_an_application_its_hits() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        run(&mut fresh_schema(server, SCHEMA), SETUP);
        drop(fresh_schema(server, OTHERS));
        // All is loaded and stored once.
        share_of_hits(freshet);
        let alone = share_of_hits(freshet);
        for (way, target) in [("around", &server.target), ("through", freshet.target())] {
            let (over, pairs) = (AtomicBool::new(false), AtomicU32::new(0));
            let beside = std::thread::scope(|scope| {
                scope.spawn(|| pairs.store(define(target, "x", &over), Ordering::Relaxed));
                let beside = share_of_hits(freshet);
                over.store(true, Ordering::Relaxed);
                beside
            });
            let flavor = server.flavor;
            println!(
                "{flavor:?}: {beside} % of reads are hits beside definitions {way} Freshet, {alone} % alone"
            );
            assert!(pairs.load(Ordering::Relaxed) > 0);
            assert!(
                beside * 100 >= alone * KEPT_MIN,
                "{way}: {beside} % of reads are hits, and {alone} % alone"
            );
        }
    });
}

/// Writes around Freshet, and returns when Freshet has applied that.
fn around(direct: &mut Conn, reader: &mut Conn, statements: &[&str]) {
    run(direct, statements);
    let end = answer(direct, "SHOW MASTER STATUS").or_else(|_| answer(direct, "SHOW BINARY LOG STATUS"));
    let end: u64 = end.expect("the binlog's end")[0][1].parse().expect("a number");
    eventually("it is applied", || (status(reader, "Freshet_applied") % FILE >= end).then_some(()));
}

/// The binlog stream is late, so that a fence stands long enough to be noticed.
#[test]
fn a_transaction_rests_on_the_definitions_that_it_has_used() {
    with_each_late(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, "fresh_defs_rest");
        run(&mut direct, SETUP);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_defs_rest");
        let mut writer = connect(freshet.target(), "fresh_defs_rest");
        let read = "SELECT COUNT(*) FROM c";
        // Definitions that are read before the stream tells of them are read again when it does.
        around(&mut direct, &mut reader, &[]);
        run(&mut writer, &["BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1"]);
        let other = ["CREATE TABLE x (id INT PRIMARY KEY)", "DROP TABLE x", "CREATE VIEW y AS SELECT 1"];
        around(&mut direct, &mut reader, &other);
        let _ = counted.prime(&mut reader, read);
        run(&mut writer, &["COMMIT"]);
        let hits = counted.hits_of(&mut reader, read, 5);
        assert_eq!(hits, 5, "the transaction has fenced what it has not written");
    });
}

#[test]
fn keys_that_came_since_are_acted_on() {
    with_each_late(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, "fresh_defs_keys");
        run(
            &mut direct,
            &[
                "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL, KEY (n))",
                "CREATE TABLE c (id INT PRIMARY KEY, p INT, KEY (p))",
                "CREATE TABLE g (id INT PRIMARY KEY, c INT, CONSTRAINT gc FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)",
                "INSERT INTO p VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6)",
                "INSERT INTO c VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6)",
                "INSERT INTO g VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6)",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_defs_keys");
        let mut writer = connect(freshet.target(), "fresh_defs_keys");
        run(&mut writer, &["DELETE FROM p WHERE id = 6"]);
        let changes: &[(&str, &str)] = &[
            (
                "ALTER TABLE c ADD CONSTRAINT cp FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE",
                "DELETE FROM p WHERE id = 1",
            ),
            ("RENAME TABLE p TO q", "DELETE FROM q WHERE id = 2"),
            ("RENAME TABLE c TO b", "DELETE FROM q WHERE id = 3"),
            ("CREATE TABLE x (id INT PRIMARY KEY)", "DELETE FROM q WHERE id = 4"),
            ("ALTER TABLE g DROP FOREIGN KEY gc", "DELETE FROM q WHERE id = 5"),
        ];
        for (change, write) in changes {
            if change.contains("ADD") {
                run(&mut direct, &["DELETE FROM c WHERE p = 6", "DELETE FROM g WHERE c = 6"]);
            }
            around(&mut direct, &mut reader, &[change]);
            let child = if answer(&mut direct, "SELECT 1 FROM b").is_ok() { "b" } else { "c" };
            let reads = [format!("SELECT COUNT(*) FROM {child}"), "SELECT COUNT(*) FROM g".to_owned()];
            let before = reads.each_ref().map(|read| counted.prime(&mut reader, read));
            run(&mut writer, &[write]);
            let after = reads.each_ref().map(|read| answer(&mut reader, read));
            let truth = reads.each_ref().map(|read| answer(&mut direct, read));
            assert_eq!(after, truth, "{write} after {change}");
            assert_ne!(after[0], before[0], "{write} after {change}");
        }
    });
}
