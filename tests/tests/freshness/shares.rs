//! What share of their hits the others keep while one client does one thing without a pause, on a table of theirs that it does
//! not touch. What is asserted is a share and not a speed, so that it holds on a busy machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::raw::Raw;
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;

use crate::freshness::steps::{Execute, Say, Step, walk};

const READ: &str = "SELECT v FROM kept WHERE id = 1";
/// The least share of hits, in percent.
const SHARE_MIN: u64 = 95;
/// How long, and how often at least, a reader asks while the other is at it.
const ASKING: Duration = Duration::from_millis(250);
const ASKED_MIN: u64 = 200;

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// An account that may do everything.
    Admin,
    /// One that may read, and nothing else.
    Reads,
    /// One that may write the tables of a schema of its own.
    Writes,
}
use Who::{Admin, Reads, Writes};

/// One thing that a client does again and again.
struct Noise {
    on: Option<Flavor>,
    who: Who,
    first: &'static [Step<'static>],
    again: &'static [Step<'static>],
}

const fn noise(again: &'static [Step<'static>]) -> Noise {
    Noise { on: None, who: Admin, first: &[], again }
}

const fn by(who: Who, again: &'static [Step<'static>]) -> Noise {
    Noise { on: None, who, first: &[], again }
}

const fn on(flavor: Flavor, again: &'static [Step<'static>]) -> Noise {
    Noise { on: Some(flavor), who: Admin, first: &[], again }
}

const fn after(first: &'static [Step<'static>], again: &'static [Step<'static>]) -> Noise {
    Noise { on: None, who: Admin, first, again }
}

/// A write of a row that the reader does not ask for.
const OTHER_ROW: &str = "UPDATE kept SET v = v + 1 WHERE id = 2";
const MARIADB: Flavor = Flavor::MariaDb;
const MYSQL: Flavor = Flavor::MySql;

#[rustfmt::skip]
const NOISE: &[Noise] = &[
    // What the server does not understand.
    noise(&[Say("x")]),
    noise(&[Say("selec 'open")]),
    noise(&[Say("SELECT FROM WHERE")]),
    noise(&[Say("UPDATE SET x")]),
    noise(&[Say("INSERT INTO 5 VALUES")]),
    noise(&[Say("CREATE TABEL x (id INT)")]),
    noise(&[Say("DROP TABL log")]),
    noise(&[Say("ALTER TABLE")]),
    after(&[Say("SET NAMES gbk")], &[Say("x")]),
    after(&[Say("BEGIN")], &[Say("x")]),
    // What it refuses, and what concerns other tables.
    noise(&[Say("CREATE TABLE log (id INT)")]),
    noise(&[Say("DROP TABLE nothing")]),
    noise(&[Say("ALTER TABLE nothing ADD COLUMN a INT")]),
    noise(&[Say("ALTER TABLE log DROP COLUMN nothing")]),
    noise(&[Say("TRUNCATE nothing")]),
    noise(&[Say("INSERT INTO log (nothing) VALUES (1)")]),
    noise(&[Say("INSERT INTO nothing VALUES (1)")]),
    noise(&[Say("INSERT INTO uniq VALUES (1)")]),
    noise(&[Say("UPDATE uniq SET id = 2 WHERE id = 1"), Say("UPDATE uniq SET id = 1 WHERE id = 2")]),
    noise(&[Say("RENAME TABLE nothing TO nothing2")]),
    noise(&[Say("RENAME TABLE ren TO ren2"), Say("RENAME TABLE ren2 TO ren")]),
    noise(&[Say("CREATE TABLE shares_b.z (id INT)"), Say("DROP TABLE shares_b.z")]),
    noise(&[Say("CREATE TABLE shares_b.z (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES shares_b.par (id))"), Say("DROP TABLE shares_b.z")]),
    noise(&[Say("CREATE TEMPORARY TABLE tt (id INT)"), Say("INSERT INTO tt VALUES (1)"), Say("DROP TEMPORARY TABLE tt")]),
    noise(&[Say("CREATE OR REPLACE VIEW shares_b.vw AS SELECT 1")]),
    // On MySQL, the end of a trigger stamps more than its table.
    on(MARIADB, &[Say("CREATE TRIGGER shares_b.tr BEFORE INSERT ON shares_b.par FOR EACH ROW SET @a = 1"), Say("DROP TRIGGER shares_b.tr")]),
    noise(&[Say("CREATE PROCEDURE shares_b.pq() SELECT 1"), Say("DROP PROCEDURE shares_b.pq")]),
    // Definitions that do not concern what is written beside them.
    noise(&[Say("CREATE TABLE shares_b.z (id INT)"), Say(OTHER_ROW), Say("DROP TABLE shares_b.z"), Say(OTHER_ROW)]),
    noise(&[Say("CREATE OR REPLACE VIEW shares_b.vw AS SELECT 1"), Say(OTHER_ROW), Say("ALTER TABLE shares_b.par COMMENT 'x'"), Say(OTHER_ROW)]),
    noise(&[Say("CREATE PROCEDURE shares_b.pq() SELECT 1"), Say(OTHER_ROW), Say("DROP PROCEDURE shares_b.pq"), Say(OTHER_ROW)]),
    noise(&[Say("RENAME TABLE ren TO ren2"), Say(OTHER_ROW), Say("RENAME TABLE ren2 TO ren"), Say(OTHER_ROW)]),
    noise(&[Say("ANALYZE TABLE log")]),
    noise(&[Say("OPTIMIZE TABLE log")]),
    noise(&[Say("FLUSH TABLES log")]),
    noise(&[Say("LOCK TABLES log WRITE"), Say("UNLOCK TABLES")]),
    after(&[Say("SET query_cache_wlock_invalidate = ON")], &[Say("LOCK TABLES log WRITE, uniq READ"), Say("UNLOCK TABLES")]),
    after(&[Say("SET query_cache_wlock_invalidate = ON")], &[Say("LOCK TABLES kept READ"), Say("UNLOCK TABLES")]),
    // Other rows of the same table.
    noise(&[Say("REPLACE INTO kept VALUES (2, 1)")]),
    noise(&[Say("UPDATE kept SET v = v + 1 WHERE id = 2 AND id NOT IN (SELECT id FROM uniq)")]),
    noise(&[Say("DELETE FROM kept WHERE id = 2 AND EXISTS (SELECT 1 FROM uniq WHERE id = 9)")]),
    noise(&[Execute("REPLACE INTO kept VALUES (2, 2)")]),
    noise(&[Say("INSERT INTO kept VALUES (2, 1), (3, 1) ON DUPLICATE KEY UPDATE v = v + 1")]),
    // Code.
    noise(&[Say("CALL understood()")]),
    noise(&[Execute("CALL understood()")]),
    noise(&[Say("CALL nothing()")]),
    noise(&[Say("CALL nowhere.nothing()")]),
    noise(&[Say("SELECT nothing()")]),
    noise(&[Say("PREPARE s FROM 'SELECT SLEEP(0.001)'"), Say("EXECUTE s"), Say("DEALLOCATE PREPARE s")]),
    after(&[Say("PREPARE s FROM 'SELECT SLEEP(0.01)'")], &[Say("EXECUTE s")]),
    after(&[Say("PREPARE s FROM 'INSERT INTO log VALUES (?)'"), Say("SET @a = 1")], &[Say("EXECUTE s USING @a")]),
    noise(&[Say("PREPARE s FROM 'nonsense'"), Say("EXECUTE s")]),
    noise(&[Say("EXECUTE nothing")]),
    on(MARIADB, &[Say("EXECUTE IMMEDIATE 'SELECT SLEEP(0.01)'")]),
    on(MARIADB, &[Say("EXECUTE IMMEDIATE 'INSERT INTO log VALUES (1)'")]),
    on(MARIADB, &[Say("BEGIN NOT ATOMIC SELECT SLEEP(0.01); END")]),
    on(MARIADB, &[Say("BEGIN NOT ATOMIC DECLARE a INT DEFAULT 1; INSERT INTO log VALUES (a); INSERT INTO log VALUES (2); END")]),
    on(MARIADB, &[Say("IF 1 = 1 THEN INSERT INTO log VALUES (1); END IF")]),
    // Accounts.
    noise(&[Say("CREATE USER shares_other")]),
    noise(&[Say("ALTER USER shares_nobody IDENTIFIED BY 'x'")]),
    noise(&[Say("RENAME USER shares_nobody TO shares_nobody2")]),
    noise(&[Say("GRANT SELECT ON shares_b.* TO shares_other"), Say("REVOKE SELECT ON shares_b.* FROM shares_other")]),
    noise(&[Say("GRANT INSERT ON shares_b.par TO shares_other"), Say("REVOKE INSERT ON shares_b.par FROM shares_other")]),
    noise(&[Say("ALTER USER shares_other IDENTIFIED BY 'x'")]),
    noise(&[Say("SET PASSWORD FOR shares_other = ''")]),
    noise(&[Say("CREATE USER shares_new"), Say("DROP USER shares_new")]),
    on(MYSQL, &[Say("CLONE LOCAL DATA DIRECTORY '/nowhere/x'")]),
    by(Reads, &[Say("GRANT SELECT ON shares.* TO shares_other")]),
    by(Reads, &[Say("GRANT ALL ON *.* TO shares_reads")]),
    by(Reads, &[Say("ALTER USER root@localhost IDENTIFIED BY 'x'")]),
    by(Reads, &[Say("FLUSH PRIVILEGES")]),
    by(Reads, &[Say("RENAME TABLE kept TO kept2")]),
    by(Reads, &[Say("DROP DATABASE shares")]),
    by(Reads, &[Say("CLONE INSTANCE FROM a@b:3306 IDENTIFIED BY 'c'")]),
    by(Reads, &[Say("RESET MASTER")]),
    // MariaDB lets XA COMMIT be hidden so, which needs no right.
    Noise { on: Some(MYSQL), who: Reads, first: &[], again: &[Say("SET @t = 'SELECT SLEEP(0.01)'"), Say("PREPARE s FROM @t"), Say("EXECUTE s")] },
    by(Reads, &[Say("CREATE USER shares_new")]),
    by(Writes, &[Say("INSERT INTO shares_b.par VALUES (1)"), Say("DELETE FROM shares_b.par")]),
    // Settings.
    noise(&[Say("SET @a = 1")]),
    noise(&[Say("SET sql_mode = ''")]),
    noise(&[Say("SET NAMES latin1")]),
    noise(&[Say("SET autocommit = 0"), Say("SET autocommit = 1")]),
    noise(&[Say("SET nothing = 1")]),
    noise(&[Say("SET GLOBAL max_connections = 3000")]),
    noise(&[Say("SET GLOBAL long_query_time = 9"), Say("SET GLOBAL long_query_time = 10")]),
];

fn account(target: &Target, who: Who) -> Target {
    let user = match who {
        Admin => return target.clone(),
        Reads => "shares_reads",
        Writes => "shares_writes",
    };
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

const SETUP: &[&str] = &[
    "CREATE TABLE kept (id INT PRIMARY KEY, v INT)",
    "INSERT INTO kept VALUES (1, 10)",
    "CREATE TABLE log (id INT)",
];
const FOR_NOISE: &[&str] = &[
    "CREATE TABLE ren (id INT)",
    "CREATE TABLE uniq (id INT PRIMARY KEY)",
    "INSERT INTO uniq VALUES (1)",
    "CREATE PROCEDURE understood() INSERT INTO log VALUES (1)",
    "DROP DATABASE IF EXISTS shares_b",
    "CREATE DATABASE shares_b",
    "CREATE TABLE shares_b.par (id INT PRIMARY KEY)",
    "DROP USER IF EXISTS shares_reads, shares_writes, shares_other, shares_new",
    "CREATE USER shares_reads IDENTIFIED BY 'pw'",
    "CREATE USER shares_writes IDENTIFIED BY 'pw'",
    "CREATE USER shares_other IDENTIFIED BY 'pw'",
    "GRANT SELECT ON shares.* TO shares_reads",
    "GRANT SELECT ON shares.* TO shares_writes",
    "GRANT INSERT, UPDATE, DELETE, SELECT ON shares_b.* TO shares_writes",
];

/// A reader, whose hits are counted.
struct Stage {
    counted: Counted,
    reader: Conn,
}

impl Stage {
    fn new(server: &Server, freshet: &Freshet, schema: &str) -> Stage {
        run(&mut fresh_schema(server, schema), SETUP);
        caught_up(freshet);
        Stage { counted: Counted::of(freshet), reader: connect(freshet.target(), schema) }
    }

    /// The share of hits in percent while `again` is done without a pause.
    fn share_beside(&mut self, mut again: impl FnMut() + Send) -> u64 {
        let over = AtomicBool::new(false);
        let rounds = AtomicU64::new(0);
        let _ = self.counted.prime(&mut self.reader, READ);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    again();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
            eventually("the other is at it", || (rounds.load(Ordering::Relaxed) > 2).then_some(()));
            let (before, since) = (self.counted.hits(), Instant::now());
            let mut asked = 0;
            while asked < ASKED_MIN || since.elapsed() < ASKING {
                let _ = answer(&mut self.reader, READ);
                asked += 1;
            }
            over.store(true, Ordering::Relaxed);
            (self.counted.hits() - before) * 100 / asked
        })
    }
}

#[test]
fn one_clients_noise_leaves_the_others_their_hits() {
    let poor = std::sync::Mutex::new(Vec::new());
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "shares");
        run(&mut connect(&server.target, "shares"), FOR_NOISE);
        let only = std::env::var("FRESHET_TEST_ONLY").unwrap_or_default();
        for noise in NOISE.iter().filter(|noise| noise.on.is_none_or(|flavor| flavor == server.flavor)) {
            if !format!("{:?}", noise.again).contains(&only) {
                continue;
            }
            let schema = if noise.who == Writes { "shares_b" } else { "shares" };
            let mut client = connect(&account(freshet.target(), noise.who), schema);
            walk(&mut client, noise.first);
            let share = stage.share_beside(|| drop(walk(&mut client, noise.again)));
            if share < SHARE_MIN {
                let Noise { who, first, again, .. } = noise;
                poor.lock()
                    .unwrap()
                    .push(format!("{:?} {share:3} {who:?} {first:?} {again:?}", server.flavor));
            }
        }
        run(&mut server.target.connect(), &["DROP USER shares_reads, shares_writes, shares_other"]);
    });
    let poor = poor.into_inner().unwrap();
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}

/// Commands that no server knows any more, and one that none has known.
const UNKNOWN_COMMANDS: [u8; 4] = [5, 6, 0x7f, 0xe0];

#[test]
fn a_command_that_no_server_knows_costs_nobody_anything() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = server.target.connect();
        run(&mut direct, &["DROP USER IF EXISTS shares_raw", "CREATE USER shares_raw"]);
        let mut stage = Stage::new(server, freshet, "shares_commands");
        for command in UNKNOWN_COMMANDS {
            let dial = || {
                let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("it listens");
                raw.login("shares_raw", "", 0).expect("it is let in");
                raw
            };
            let mut raw = dial();
            let share = stage.share_beside(|| {
                // Some servers close the connection.
                if raw.ask(command, b"shares").is_err() {
                    raw = dial();
                }
            });
            println!("{:?} {share:3} command {command}", server.flavor);
            assert!(share >= SHARE_MIN, "{:?} command {command}: {share}", server.flavor);
        }
        run(&mut direct, &["DROP USER shares_raw"]);
    });
}

#[test]
fn logins_and_idle_writers_cost_the_others_nothing() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "shares_idle");
        let login = || drop(connect(freshet.target(), "shares_idle"));
        let share = stage.share_beside(login);
        assert!(share >= SHARE_MIN, "{:?} logins: {share}", server.flavor);
        let mut idle = connect(freshet.target(), "shares_idle");
        run(&mut idle, &["BEGIN", "INSERT INTO log VALUES (1)"]);
        let share = stage.share_beside(|| std::thread::sleep(Duration::from_millis(1)));
        assert!(share >= SHARE_MIN, "{:?} an open transaction: {share}", server.flavor);
        run(&mut idle, &["ROLLBACK"]);
    });
}
