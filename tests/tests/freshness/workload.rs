//! A seeded workload of several clients on versioned rows, which records what it did for the judge.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use freshet_tests::Target;
use freshet_tests::cached::run;
use freshet_tests::history::{History, Path, Read, Seen, Write};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

/// Rows that are written one by one: 1..=SINGLES.
pub const SINGLES: u32 = 12;
/// Of these, those that are written through Freshet alone, so that nothing of them is ever late: 1..=STRICT.
pub const STRICT: u32 = 8;
/// Rows that are written in pairs by transactions: (101, 102), (103, 104)…
pub const PAIRS: u32 = 4;
/// Of these pairs, the first that are written through Freshet alone.
const STRICT_PAIRS: u32 = 2;
const FIRST_PAIRED: u32 = 101;
/// The longest pause before a write, in milliseconds.
const PAUSE_MS_MAX: u32 = 40;
/// How long a client may try to come back after it lost its connection.
const RETURN_SECONDS_MAX: u64 = 90;

/// The pairs of rows that are written together.
pub fn pairs() -> Vec<(u32, u32)> {
    (0..PAIRS).map(|pair| (FIRST_PAIRED + 2 * pair, FIRST_PAIRED + 2 * pair + 1)).collect()
}

/// Makes the table.
pub fn create(conn: &mut Conn) {
    run(conn, &["CREATE TABLE t (id INT PRIMARY KEY, v BIGINT NOT NULL, g INT NOT NULL, KEY (g))"]);
    let paired = pairs().into_iter().flat_map(|(left, right)| [left, right]);
    for row in (1..=SINGLES).chain(paired) {
        run(conn, &[&format!("INSERT INTO t VALUES ({row}, 0, {})", row % 3)]);
    }
}

/// Every SELECT that the readers repeat, and how many rows it has: none is ever seen missing.
pub fn reads() -> Vec<(String, usize)> {
    let paired = pairs().into_iter().flat_map(|(left, right)| [left, right]);
    let rows: Vec<u32> = (1..=SINGLES).chain(paired).collect();
    let grouped = rows.iter().filter(|row| *row % 3 == 1).count();
    let mut reads: Vec<(String, usize)> =
        (1..=SINGLES).map(|row| (format!("SELECT id, v FROM t WHERE id = {row}"), 1)).collect();
    reads.extend([
        ("SELECT id, v FROM t WHERE id BETWEEN 3 AND 6 ORDER BY id".to_owned(), 4),
        ("SELECT id, v FROM t WHERE id > 100".to_owned(), rows.len() - SINGLES as usize),
        ("SELECT id, v FROM t".to_owned(), rows.len()),
        ("SELECT a.id, b.v FROM t a JOIN t b ON a.id = b.id WHERE a.g = 1".to_owned(), grouped),
        (format!("SELECT {STRICT}, SUM(v) FROM t WHERE id <= {STRICT}"), 1),
        (format!("SELECT {SINGLES}, SUM(v) FROM t WHERE id <= {SINGLES}"), 1),
    ]);
    reads.extend(
        pairs().iter().map(|(left, right)| (format!("SELECT id, v FROM t WHERE id IN ({left}, {right})"), 2)),
    );
    reads
}

/// A small generator of numbers, the same for the same seed (splitmix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(bound)).expect("it is below a u32")
    }
}

/// One client of the workload.
pub struct Client<'a> {
    /// Where it goes.
    pub target: &'a Target,
    /// Whether that is Freshet.
    pub path: Path,
    /// The schema of the table.
    pub schema: &'a str,
    /// When the history began.
    pub beginning: Instant,
    /// Its dice.
    pub dice: Dice,
    /// Whether the server is taken away in between, so that errors are to be expected.
    pub rough: bool,
    /// Ends the run early.
    pub stop: &'a AtomicBool,
}

impl Client<'_> {
    /// Reads and writes: of ten operations, so many are writes.
    pub fn work(mut self, operations: u32, writes_of_ten: u32) -> History {
        let reads = reads();
        let mut history = History::default();
        let mut conn = self.connect();
        for _ in 0..operations {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let done = if self.dice.below(10) < writes_of_ten {
                // Readers need a while without a write, or nothing would ever be answered from memory.
                std::thread::sleep(Duration::from_millis(u64::from(self.dice.below(PAUSE_MS_MAX))));
                self.write(&mut conn, &mut history)
            } else {
                self.read(&mut conn, &reads, &mut history)
            };
            match done {
                Ok(()) => {}
                // A deadlock or a lock that was not had: nothing was written.
                Err(Error::MySqlError(error)) if matches!(error.code, 1205 | 1213) => {
                    let _ = conn.query_drop("ROLLBACK");
                }
                Err(error) => {
                    assert!(self.rough, "{:?}: {error}", self.path);
                    conn = self.connect();
                }
            }
        }
        history
    }

    fn connect(&self) -> Conn {
        let until = Instant::now() + Duration::from_secs(RETURN_SECONDS_MAX);
        loop {
            match self.target.try_connect(self.schema) {
                Ok(conn) => return conn,
                Err(error) => {
                    assert!(self.rough && Instant::now() < until, "{:?}: {error}", self.path);
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.beginning.elapsed()
    }

    fn read(
        &mut self,
        conn: &mut Conn,
        reads: &[(String, usize)],
        history: &mut History,
    ) -> Result<(), Error> {
        let count = u32::try_from(reads.len()).expect("there are few");
        let (text, rows_due) = &reads[self.dice.below(count) as usize];
        let asked = self.now();
        let rows: Vec<(u32, u64)> = conn.query(text)?;
        let answered = self.now();
        assert_eq!(rows.len(), *rows_due, "{text}: {rows:?}");
        let seen = rows.into_iter().map(|(row, version)| match text.contains("SUM") {
            true => Seen { rows: (1..=row).collect(), total: version },
            false => Seen::one(row, version),
        });
        history.reads.push(Read { text: text.clone(), asked, answered, seen: seen.collect() });
        Ok(())
    }

    fn write(&mut self, conn: &mut Conn, history: &mut History) -> Result<(), Error> {
        match self.dice.below(6) {
            0 | 1 => self.write_pair(conn, history),
            2 => self.replace(conn, history),
            3 => {
                let row = self.single();
                run_drop(conn, "BEGIN")?;
                run_drop(conn, &format!("UPDATE t SET v = v + 1 WHERE id = {row}"))?;
                run_drop(conn, "ROLLBACK")
            }
            _ => {
                let row = self.single();
                run_drop(conn, &format!("UPDATE t SET v = LAST_INSERT_ID(v + 1) WHERE id = {row}"))?;
                self.acknowledged(history, row, conn.last_insert_id());
                Ok(())
            }
        }
    }

    /// A row to be written.
    fn single(&mut self) -> u32 {
        match self.path {
            Path::Through => 1 + self.dice.below(SINGLES),
            Path::Around => 1 + STRICT + self.dice.below(SINGLES - STRICT),
        }
    }

    /// A pair to be written.
    fn pair(&mut self) -> (u32, u32) {
        let pair = match self.path {
            Path::Through => self.dice.below(PAIRS),
            Path::Around => STRICT_PAIRS + self.dice.below(PAIRS - STRICT_PAIRS),
        };
        pairs()[pair as usize]
    }

    /// Both rows of a pair in one transaction, the left one first so that pairs do not deadlock.
    fn write_pair(&mut self, conn: &mut Conn, history: &mut History) -> Result<(), Error> {
        let (left, right) = self.pair();
        run_drop(conn, "START TRANSACTION")?;
        run_drop(conn, &format!("UPDATE t SET v = LAST_INSERT_ID(v + 1) WHERE id = {left}"))?;
        let version = conn.last_insert_id();
        run_drop(conn, &format!("UPDATE t SET v = v + 1 WHERE id = {right}"))?;
        run_drop(conn, "COMMIT")?;
        self.acknowledged(history, left, version);
        self.acknowledged(history, right, version);
        Ok(())
    }

    /// A row is deleted and inserted with the next version; nobody sees it missing.
    fn replace(&mut self, conn: &mut Conn, history: &mut History) -> Result<(), Error> {
        let row = self.single();
        run_drop(conn, "BEGIN")?;
        let version: Option<u64> =
            conn.query_first(format!("SELECT v FROM t WHERE id = {row} FOR UPDATE"))?;
        let version = version.expect("no row is ever missing") + 1;
        run_drop(conn, &format!("DELETE FROM t WHERE id = {row}"))?;
        run_drop(conn, &format!("INSERT INTO t VALUES ({row}, {version}, {})", row % 3))?;
        run_drop(conn, "COMMIT")?;
        self.acknowledged(history, row, version);
        Ok(())
    }

    fn acknowledged(&self, history: &mut History, row: u32, version: u64) {
        history.writes.push(Write { row, version, acknowledged: self.now(), path: self.path });
    }
}

fn run_drop(conn: &mut Conn, statement: &str) -> Result<(), Error> {
    conn.query_drop(statement)
}
