//! Writes beside definitions that are under way: what would be stale if a write were fenced by what it was told, where a definition
//! makes it change something else.
//!
//! The write is kept waiting by a lock until the definition is applied, and with that the definition's own fence lifted. Then the
//! stream is held up, so that nothing but the write's fence can be what keeps a reader from what was stored before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use freshet_tests::cached::{Answer, answer, connect, eventually, run, status};
use freshet_tests::stall::Stall;
use freshet_tests::{Freshet, Server};
use mysql::Conn;

use crate::freshness::levels::with_stall;
use crate::freshness::steps::{Execute, Say, Step, walk};

const READ: &str = "SELECT v FROM t WHERE id = 1";
const SCHEMA: &str = "under_way";
/// Positions of one binlog file, in what Freshet shows as applied.
const FILE: u64 = 1 << 36;

/// What keeps a write of row 1 waiting.
const LOCK: &[&str] = &["BEGIN", "SELECT v FROM t WHERE id = 1 FOR UPDATE"];
/// A definition that overtakes a write has done so within this.
const OVERTAKES_WITHIN: Duration = Duration::from_secs(5);

/// What is defined, and the write that sets `v` of row 1 because of it.
struct Case {
    defined: &'static [Step<'static>],
    write: &'static [Step<'static>],
}

const fn case(defined: &'static [Step<'static>], write: &'static [Step<'static>]) -> Case {
    Case { defined, write }
}

const TRIGGER: &str = "CREATE TRIGGER tr BEFORE INSERT ON src FOR EACH ROW UPDATE t SET v = 7 WHERE id = 1";
const VIEW: &str = "CREATE OR REPLACE VIEW vv AS SELECT id, v FROM t";
const THROUGH_VIEW: &str = "UPDATE vv SET v = 7 WHERE id = 1";
const FUNCTION: &str =
    "CREATE FUNCTION fw() RETURNS INT DETERMINISTIC BEGIN UPDATE t SET v = 7 WHERE id = 1; RETURN 1; END";

#[rustfmt::skip]
const CASES: &[Case] = &[
    case(&[Say(TRIGGER)], &[Say("INSERT INTO src VALUES (1)")]),
    case(&[Say(TRIGGER)], &[Say("BEGIN"), Say("INSERT INTO src VALUES (1)"), Say("COMMIT")]),
    case(&[Say(TRIGGER)], &[Say("CREATE TABLE IF NOT EXISTS other (id INT); INSERT INTO src VALUES (1)")]),
    case(&[Say(TRIGGER)], &[Say("INSERT INTO above VALUES (1)")]),
    case(&[Say(TRIGGER)], &[Say("CALL writes_src()")]),
    // What is under way besides, or fails.
    case(&[Say("CREATE TABLE other (id INT)"), Say(TRIGGER), Say("DROP TABLE other")], &[Say("INSERT INTO src VALUES (1)")]),
    case(&[Say("CREATE TABLE t (id INT)"), Say(TRIGGER), Say("DROP TABLE nothing")], &[Say("INSERT INTO src VALUES (1)")]),
    case(&[Say("DROP TRIGGER keeps"), Say(TRIGGER)], &[Say("INSERT INTO src VALUES (1)")]),
    // Foreign keys.
    case(&[Say("ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES par (id) ON UPDATE CASCADE")], &[Say("UPDATE par SET id = 7")]),
    case(&[Say("ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES mid (id) ON UPDATE CASCADE")], &[Say("UPDATE par SET id = 7")]),
    case(&[Say("ALTER TABLE mid2 ADD FOREIGN KEY (id) REFERENCES par (id) ON UPDATE CASCADE"), Say("ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES mid2 (id) ON UPDATE CASCADE")], &[Say("UPDATE par SET id = 7")]),
    case(&[Say("DROP TABLE t"), Say("CREATE TABLE t (id INT PRIMARY KEY, v INT, FOREIGN KEY (v) REFERENCES par (id) ON UPDATE CASCADE)"), Say("INSERT INTO t VALUES (1, 0)")], &[Say("UPDATE par SET id = 7")]),
    // Names.
    case(&[Say("RENAME TABLE src TO src0, src2 TO src")], &[Say("INSERT INTO src VALUES (1)")]),
    case(&[Say("ALTER TABLE src2 RENAME TO new")], &[Say("INSERT INTO new VALUES (1)")]),
    case(&[Say("CREATE VIEW new AS SELECT id, v FROM t")], &[Say("UPDATE new SET v = 7 WHERE id = 1")]),
    case(&[Say("DROP DATABASE under_way_b"), Say("CREATE DATABASE under_way_b"), Say("CREATE VIEW under_way_b.a AS SELECT id, v FROM under_way.t")], &[Say("UPDATE under_way_b.a SET v = 7 WHERE id = 1")]),
    // Views and routines.
    case(&[Say(VIEW)], &[Say(THROUGH_VIEW)]),
    case(&[Say("ALTER VIEW vv AS SELECT id, v FROM t")], &[Say("DELETE FROM vv WHERE id = 9"), Say(THROUGH_VIEW)]),
    case(&[Say("DROP VIEW vv"), Say("CREATE VIEW vv AS SELECT id, v FROM t")], &[Execute(THROUGH_VIEW)]),
    case(&[Say("CREATE TABLE other (id INT); CREATE OR REPLACE VIEW vv AS SELECT id, v FROM t")], &[Say(THROUGH_VIEW)]),
    case(&[Say("CALL redefines()")], &[Say(THROUGH_VIEW)]),
    case(&[Say("DROP FUNCTION fw"), Say(FUNCTION)], &[Say("INSERT INTO src VALUES (fw())")]),
    case(&[Say("DROP FUNCTION fw"), Say(FUNCTION)], &[Say("DO fw()")]),
    case(&[Say("DROP FUNCTION fw"), Say(FUNCTION)], &[Say("INSERT INTO calls VALUES (1)")]),
    case(&[Say("DROP PROCEDURE pw"), Say("CREATE PROCEDURE pw() UPDATE t SET v = 7 WHERE id = 1")], &[Say("CALL pw()")]),
];

const SETUP: &[&str] = &[
    "DROP VIEW IF EXISTS vv, new",
    "DROP TABLE IF EXISTS t, src, src0, src2, new, above, calls, mid, mid2, other, spare",
    "DROP TABLE IF EXISTS par",
    "DROP FUNCTION IF EXISTS fw",
    "DROP PROCEDURE IF EXISTS pw",
    "DROP PROCEDURE IF EXISTS writes_src",
    "DROP PROCEDURE IF EXISTS redefines",
    "DROP DATABASE IF EXISTS under_way_b",
    "CREATE DATABASE under_way_b",
    "CREATE TABLE under_way_b.a (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 0), (2, 0)",
    "CREATE TABLE spare (id INT PRIMARY KEY, v INT)",
    "INSERT INTO spare VALUES (1, 5)",
    "CREATE TABLE src (id INT)",
    "CREATE TRIGGER keeps BEFORE INSERT ON src FOR EACH ROW SET NEW.id = 2",
    "CREATE TABLE src2 (id INT)",
    "CREATE TRIGGER tr2 BEFORE INSERT ON src2 FOR EACH ROW UPDATE t SET v = 7 WHERE id = 1",
    "CREATE TABLE above (id INT)",
    "CREATE TRIGGER tr_over BEFORE INSERT ON above FOR EACH ROW INSERT INTO src VALUES (1)",
    "CREATE TABLE par (id INT PRIMARY KEY)",
    "INSERT INTO par VALUES (0)",
    "CREATE TABLE mid (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES par (id) ON UPDATE CASCADE)",
    "INSERT INTO mid VALUES (0)",
    "CREATE TABLE mid2 (id INT PRIMARY KEY)",
    "INSERT INTO mid2 VALUES (0)",
    "CREATE VIEW vv AS SELECT id, v FROM spare",
    "CREATE FUNCTION fw() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE TABLE calls (id INT)",
    "CREATE TRIGGER tr_calls BEFORE INSERT ON calls FOR EACH ROW SET NEW.id = fw()",
    "CREATE PROCEDURE pw() DO 1",
    "CREATE PROCEDURE writes_src() INSERT INTO src VALUES (1)",
    "CREATE PROCEDURE redefines() CREATE OR REPLACE VIEW vv AS SELECT id, v FROM t",
];

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

/// Returns when Freshet has applied all that is in the binlog.
fn until_applied(direct: &mut Conn, reader: &mut Conn) {
    let end = answer(direct, "SHOW MASTER STATUS").or_else(|_| answer(direct, "SHOW BINARY LOG STATUS"));
    let end: u64 = end.expect("the binlog's end")[0][1].parse().expect("a number");
    eventually("it is applied", || (status(reader, "Freshet_applied") % FILE >= end).then_some(()));
}

/// How many statements run in the schema at this moment, beside that of who asks.
fn running(direct: &mut Conn) -> usize {
    let list = answer(direct, "SHOW PROCESSLIST").expect("it is shown");
    let runs = |row: &&Vec<String>| {
        row[3] == SCHEMA && ["Query", "Execute"].contains(&row[4].as_str()) && !row[7].starts_with("SHOW")
    };
    list.iter().filter(runs).count()
}

/// How a case ended; for messages.
#[derive(Debug)]
#[expect(dead_code, reason = "what was said is shown")]
struct Ended {
    /// What the writer was answered.
    said: Vec<Answer>,
    got: Answer,
    wanted: Answer,
}

/// One stage: a server, Freshet before it, and who plays.
struct Stage<'a> {
    freshet: &'a Freshet,
    stall: &'a Stall,
    direct: &'a mut Conn,
    locker: Conn,
    reader: Conn,
}

impl Stage<'_> {
    fn client(&self) -> Conn {
        connect(self.freshet.target(), SCHEMA)
    }

    fn set_up(&mut self) {
        run(self.direct, SETUP);
        until_applied(self.direct, &mut self.reader);
    }

    /// Lets the write go on, with the stream held up, and gives what was read then, and what should have been.
    fn finish(&mut self, write: std::thread::ScopedJoinHandle<'_, Vec<Answer>>) -> Ended {
        until_applied(self.direct, &mut self.reader);
        for _ in 0..3 {
            let _ = answer(&mut self.reader, READ);
        }
        self.stall.hold();
        run(&mut self.locker, &["ROLLBACK"]);
        let said = write.join().expect("it is said");
        let got = answer(&mut self.reader, READ);
        let wanted = answer(self.direct, READ);
        self.stall.release();
        Ended { said, got, wanted }
    }
}

/// A definition, what keeps it and the write waiting, and the write, which was sent before it.
const OVERTAKING: &[(&str, &str, &str)] = &[
    (TRIGGER, "LOCK TABLES src WRITE", "INSERT INTO src VALUES (1)"),
    (
        "ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES par (id) ON UPDATE CASCADE",
        "LOCK TABLES par WRITE",
        "UPDATE par SET id = 7",
    ),
    (
        "RENAME TABLE src TO src0, src2 TO src",
        "LOCK TABLES src WRITE, src2 WRITE",
        "INSERT INTO src VALUES (1)",
    ),
    ("ALTER VIEW vv AS SELECT id, v FROM t", "LOCK TABLES vv WRITE", THROUGH_VIEW),
];

fn with_stage(test: impl Fn(&Server, Stage<'_>)) {
    with_stall(SCHEMA, &[], |server, freshet, stall, mut direct| {
        let (locker, reader) = (connect(&server.target, SCHEMA), connect(freshet.target(), SCHEMA));
        test(server, Stage { freshet, stall, direct: &mut direct, locker, reader });
    });
}

#[test]
fn a_write_is_fenced_by_what_a_definition_under_way_makes_it_change() {
    with_stage(|server, mut stage| {
        let mut wrong = later_writes(&mut stage);
        wrong.extend(earlier_writes(server, &mut stage));
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
        run(stage.direct, &["DROP DATABASE under_way_b"]);
    });
}

/// Writes that are sent when the definition has been.
fn later_writes(stage: &mut Stage<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in CASES {
        stage.set_up();
        let (mut definer, mut writer) = (stage.client(), stage.client());
        // What it would write is known by the earlier definitions.
        walk(&mut writer, case.write);
        run(stage.direct, &["UPDATE t SET v = 0", "UPDATE par SET id = 0"]);
        until_applied(stage.direct, &mut stage.reader);
        stage.stall.hold();
        let defined = walk(&mut definer, case.defined);
        run(&mut stage.locker, LOCK);
        let over = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let write = scope.spawn(|| {
                let said = walk(&mut writer, case.write);
                over.store(true, Ordering::Relaxed);
                said
            });
            eventually("the write waits", || {
                (running(stage.direct) > 0 || over.load(Ordering::Relaxed)).then_some(())
            });
            stage.stall.release();
            stage.finish(write)
        });
        if ended.wanted != one("7") || ended.got != ended.wanted {
            wrong.push(format!("{:?} {defined:?} {:?}: {ended:?}", case.defined, case.write));
        }
    }
    wrong
}

/// Writes that were sent before the definition: the server lets that go first where both wait for the same table.
fn earlier_writes(server: &Server, stage: &mut Stage<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut holder = connect(&server.target, SCHEMA);
    for (definition, lock, write) in OVERTAKING {
        stage.set_up();
        let (mut definer, mut writer) = (stage.client(), stage.client());
        walk(&mut writer, &[Say(write)]);
        run(stage.direct, &["UPDATE t SET v = 0", "UPDATE par SET id = 0"]);
        until_applied(stage.direct, &mut stage.reader);
        run(&mut holder, &[lock]);
        let over = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let write = scope.spawn(|| walk(&mut writer, &[Say(write)]));
            eventually("the write waits", || (running(stage.direct) == 1).then_some(()));
            let define = scope.spawn(|| {
                let said = walk(&mut definer, &[Say(definition)]);
                over.store(true, Ordering::Relaxed);
                said
            });
            eventually("the definition waits", || (running(stage.direct) == 2).then_some(()));
            // Some definitions wait for whoever has used `t`.
            let locks_early = definition.contains("TRIGGER") || definition.contains("VIEW");
            if locks_early {
                run(&mut stage.locker, LOCK);
            }
            run(&mut holder, &["UNLOCK TABLES"]);
            let until = Instant::now() + OVERTAKES_WITHIN;
            while !over.load(Ordering::Relaxed) && Instant::now() < until {
                std::thread::yield_now();
            }
            if !over.load(Ordering::Relaxed) {
                // The write went first, and the definition waits for it: nothing can go wrong.
                run(&mut stage.locker, &["ROLLBACK"]);
            }
            let _ = define.join().expect("it is said");
            if !locks_early {
                run(&mut stage.locker, LOCK);
            }
            stage.finish(write)
        });
        if ended.got != ended.wanted {
            wrong.push(format!("{definition:?} {write:?}: {ended:?}"));
        }
    }
    wrong
}
