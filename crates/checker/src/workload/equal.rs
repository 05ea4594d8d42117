//! The oldest test of snapshots: some rows that every writer keeps equal are read one by one in a transaction, and are never seen
//! unequal.
//!
//! It needs no model, and so it shares no mistake with the judge. Some rows are asked for in the text in which everybody asks for
//! them, some in a text that is new. One client reads them outside of transactions, so that what a write has made stale is soon
//! in memory again.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;

use super::client::UNDONE;
use super::link::{Link, Surroundings, Trouble};
use crate::Failure;
use crate::dice::Dice;
use crate::judge::{Level, Path};
use crate::target::Target;

/// The rows: ids 1 to this.
const ROWS: usize = 4;
/// Writers, half of them around Freshet, those who read outside of transactions, and those who read in them.
const WRITERS: usize = 2;
const REFRESHERS: usize = 1;
const READERS: usize = 4;
/// Who lets another session write between two reads of a transaction.
const STRADDLERS: usize = 1;
/// How many reads follow the write, and at what distance.
const ASKED_AFTER: usize = 4;
const ASK_AFTER: Duration = Duration::from_millis(2);
/// Who asks during a write what nobody has asked before.
const OVERTAKERS: usize = 1;
/// The columns of a wide table that may be asked for or not.
const WIDE: usize = 12;
/// What a write takes there, seconds, and how often and at what distance it is asked for them meanwhile, so that they are in memory.
const WRITE_S: f64 = 0.03;
const ASKED_BEFORE: usize = 3;
const ASK_EVERY: Duration = Duration::from_millis(7);
/// The longest pause of a writer, and between two reads, milliseconds.
const WRITER_PAUSE_MS_MAX: usize = 80;
const READER_PAUSE_MS_MAX: usize = 4;
/// And of who writes in between: a stream that is slow has to bear it.
const RARE_PAUSE_MS_MAX: usize = 300;
/// Between two rounds of who reads outside of transactions.
const REFRESH_EVERY: Duration = Duration::from_micros(500);
/// How a reader's transaction begins and ends.
const FORMS: [(&str, &str); 4] = [
    ("BEGIN", "COMMIT"),
    ("START TRANSACTION READ ONLY", "COMMIT"),
    ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "ROLLBACK"),
    ("SET autocommit = 0", "SET autocommit = 1"),
];
/// Of a hundred transactions of one reader in two that may write, so many begin with a write of a row of the reader's own: the server opens
/// the read view with the first read after it, and what others have written by then is in it. The other readers have read views that
/// they share.
const BEGIN_WITH_WRITE: usize = 60;
/// Unequal rows that are kept for the report.
const KEPT_MAX: usize = 20;

/// The rows, and who writes and reads them.
#[derive(Debug)]
pub struct EqualRows<'a> {
    around: &'a Surroundings<'a>,
    freshet: &'a Target,
    stop: &'a AtomicBool,
    /// End with the first rows that are unequal.
    stops_early: bool,
    /// A write that is acknowledged is seen by everybody.
    is_strict: bool,
    last: AtomicI64,
    seen: Mutex<Equality>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Equality {
    /// Transactions that have read all rows.
    pub transactions: u64,
    /// Of these, those that saw different values.
    pub unequal: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

/// What a client does here.
#[derive(Clone, Copy, Debug)]
enum Task {
    Write(Path),
    Refresh,
    Read,
    Straddle,
    Overtake,
}

/// A client here.
struct EqualRowsClient<'a> {
    link: Link<'a>,
    /// A second session: of the reads during a write of the first, or of the write between its reads.
    other: Option<Link<'a>>,
    dice: Dice,
    task: Task,
    number: usize,
    texts: u64,
}

impl<'a> EqualRows<'a> {
    /// Rows that are equal in the beginning.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn new(
        around: &'a Surroundings<'a>,
        freshet: &'a Target,
        stop: &'a AtomicBool,
        stops_early: bool,
        level: Level,
    ) -> Result<Self, Failure> {
        let mut direct = around.connect(around.server)?;
        direct.query_drop("CREATE TABLE equal (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)")?;
        let rows: Vec<String> = (1..=ROWS).map(|id| format!("({id}, 0)")).collect();
        direct.query_drop(format!("INSERT INTO equal VALUES {}", rows.join(", ")))?;
        direct.query_drop("CREATE TABLE equal_own (reader INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)")?;
        let own: Vec<String> = (0..Self::clients()).map(|number| format!("({number}, 0)")).collect();
        direct.query_drop(format!("INSERT INTO equal_own VALUES {}", own.join(", ")))?;
        let columns: String = (0..WIDE).map(|at| format!(", c{at} INT")).collect();
        direct.query_drop(format!(
            "CREATE TABLE wide (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL{columns})"
        ))?;
        direct.query_drop("INSERT INTO wide (id, v) SELECT id, v FROM equal")?;
        let (last, seen) = (AtomicI64::new(0), Mutex::default());
        Ok(Self { around, freshet, stop, stops_early, is_strict: level == Level::Strict, last, seen })
    }

    /// Returns how many clients there are.
    #[must_use]
    pub const fn clients() -> usize {
        WRITERS + REFRESHERS + READERS + STRADDLERS + OVERTAKERS
    }

    /// Returns what was seen so far.
    #[must_use]
    pub fn seen(&self) -> Equality {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets one of the clients work until it is told to stop.
    ///
    /// # Errors
    /// With what the server should not have said.
    pub fn work(&self, number: usize, seed: u64) -> Result<(), Failure> {
        let task = match number {
            0 => Task::Write(Path::Around),
            at if at < WRITERS => Task::Write(Path::Through),
            at if at < WRITERS + REFRESHERS => Task::Refresh,
            at if at < WRITERS + REFRESHERS + READERS => Task::Read,
            at if at < WRITERS + REFRESHERS + READERS + STRADDLERS => Task::Straddle,
            _ if self.is_strict => Task::Overtake,
            _ => Task::Read,
        };
        let is_around = matches!(task, Task::Write(Path::Around));
        let target = if is_around { self.around.server } else { self.freshet };
        let dice = Dice::new(seed.wrapping_mul(1_000_033).wrapping_add(number as u64));
        let other = match task {
            Task::Write(_) | Task::Refresh | Task::Read => None,
            Task::Straddle => Some(Link::new(self.around.server, self.around)?),
            Task::Overtake => Some(Link::new(target, self.around)?),
        };
        let link = Link::new(target, self.around)?;
        let mut client = EqualRowsClient { link, other, dice, task, number, texts: 0 };
        while !self.stop.load(Ordering::Relaxed) {
            let began = self.around.recorder.now();
            match client.step(self) {
                Ok(()) => {}
                Err(Trouble::Lost(loss)) => client.recover(began, &loss)?,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    fn saw(&self, values: &[i64], how: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.transactions += 1;
        if values.iter().all(|value| Some(value) == values.first()) {
            return;
        }
        seen.unequal += 1;
        if seen.examples.len() < KEPT_MAX {
            seen.examples.push(format!("{values:?} {how}"));
        }
        if self.stops_early {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl EqualRowsClient<'_> {
    fn step(&mut self, rows: &EqualRows<'_>) -> Result<(), Trouble> {
        match self.task {
            Task::Write(_) => self.write(rows),
            Task::Refresh => self.refresh(),
            Task::Read => self.read(rows),
            Task::Straddle => self.straddle(rows),
            Task::Overtake => self.overtake(rows),
        }
    }

    fn recover(&mut self, used: u64, loss: &super::link::Loss) -> Result<(), Failure> {
        self.link.recover(used, loss)?;
        if let Some(other) = &mut self.other {
            other.renew()?;
        }
        match self.say("SET autocommit = 1") {
            Ok(_) => Ok(()),
            Err(Trouble::Lost(loss)) => self.recover(used, &loss),
            Err(Trouble::Failed(failure)) => Err(failure),
        }
    }

    fn pause(&mut self, ms_max: usize) -> Result<(), Trouble> {
        thread::sleep(Duration::from_millis(u64::try_from(self.dice.below(ms_max))?));
        Ok(())
    }

    /// False: the server has undone it.
    fn say(&mut self, statement: &str) -> Result<bool, Trouble> {
        match self.link.conn.query_drop(statement) {
            Ok(()) => Ok(true),
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => Ok(false),
            Err(error) => Err(Trouble::of(statement, &error)),
        }
    }

    /// All rows get the same new value, in one statement or in one transaction.
    fn write(&mut self, rows: &EqualRows<'_>) -> Result<(), Trouble> {
        self.pause(WRITER_PAUSE_MS_MAX)?;
        let value = rows.last.fetch_add(1, Ordering::Relaxed) + 1;
        if self.dice.percent(40) {
            return self.say(&format!("UPDATE equal SET v = {value}")).map(drop);
        }
        self.say("BEGIN")?;
        for id in 1..=ROWS {
            if !self.say(&format!("UPDATE equal SET v = {value} WHERE id = {id}"))? {
                return self.say("ROLLBACK").map(drop);
            }
        }
        self.say("COMMIT").map(drop)
    }

    fn refresh(&mut self) -> Result<(), Trouble> {
        for id in 1..=ROWS {
            self.value(id, false)?;
        }
        thread::sleep(REFRESH_EVERY);
        Ok(())
    }

    fn read(&mut self, rows: &EqualRows<'_>) -> Result<(), Trouble> {
        let (begin, end) = self.dice.one_of(&FORMS);
        let new = self.dice.one_of(&[0, 0, 20, 50]);
        // The server reads the first of them, and the others may be from memory a moment later.
        let is_first_new = self.dice.percent(30);
        let pause = self.dice.one_of(&[1, READER_PAUSE_MS_MAX, READER_PAUSE_MS_MAX]);
        self.say(begin)?;
        let (mut values, mut how) = (Vec::new(), format!("client {}, {begin}:", self.number));
        let may_write = self.number.is_multiple_of(2) && !begin.starts_with("START");
        if may_write && self.dice.percent(BEGIN_WITH_WRITE) {
            let write = format!("UPDATE equal_own SET n = n + 1 WHERE reader = {}", self.number);
            if !self.say(&write)? {
                return Ok(self.link.renew()?);
            }
            how.push_str(" write");
            self.pause(pause)?;
        }
        let first = self.dice.below(ROWS);
        for at in 0..ROWS {
            let id = 1 + (first + at) % ROWS;
            let is_new = if is_first_new { at == 0 } else { self.dice.percent(new) };
            let Some(value) = self.value(id, is_new)? else {
                // A session that has met a conflict may be more careful afterwards: another one is not.
                return Ok(self.link.renew()?);
            };
            values.push(value);
            how.push_str(&format!(" {id}{}", if is_new { " new" } else { "" }));
            self.pause(pause)?;
        }
        rows.saw(&values, &how);
        self.say(end).map(drop)
    }

    /// Between the first read of a transaction, which is likely to be from memory, and the second, which is not, all rows are written around
    /// Freshet.
    fn straddle(&mut self, rows: &EqualRows<'_>) -> Result<(), Trouble> {
        self.pause(RARE_PAUSE_MS_MAX)?;
        let first = self.dice.below(ROWS);
        // A session whose transactions are known to need the server has a read view of its own in time; a new one shares those of others.
        if self.dice.percent(50) {
            self.link.renew()?;
        }
        self.say("BEGIN")?;
        let Some(one) = self.value(1 + first, false)? else { return Ok(self.link.renew()?) };
        let write = format!("UPDATE equal SET v = {}", rows.last.fetch_add(1, Ordering::Relaxed) + 1);
        let other = self.other.as_mut().ok_or_else(|| Trouble::Failed("there is one session".into()))?;
        match other.conn.query_drop(&write) {
            Ok(()) => {}
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => {}
            Err(error) => return Err(Trouble::of(&write, &error)),
        }
        // Several: Freshet shares read views for a while, and only a new one shows the write.
        let mut values = vec![one];
        for at in 1..=ASKED_AFTER {
            thread::sleep(ASK_AFTER);
            let Some(value) = self.value(1 + (first + at) % ROWS, true)? else {
                return Ok(self.link.renew()?);
            };
            values.push(value);
        }
        rows.saw(
            &values,
            &format!("client {}: {} from memory, a write, and others anew", self.number, 1 + first),
        );
        self.say("COMMIT").map(drop)
    }

    /// While a row is being written, it is read with columns that nobody has asked for before: what tells the rows of such reads apart comes
    /// into use after the write has begun. Once the write is acknowledged it is seen.
    fn overtake(&mut self, rows: &EqualRows<'_>) -> Result<(), Trouble> {
        let value = rows.last.fetch_add(1, Ordering::Relaxed) + 1;
        let id = 1 + self.dice.below(ROWS);
        self.texts += 1;
        let asked = (0..WIDE).filter(|at| self.texts >> at & 1 == 1);
        let columns: String = asked.map(|at| format!(", c{at}")).collect();
        let text = format!("SELECT v{columns} FROM wide WHERE id = {id}");
        let write = format!("UPDATE wide SET v = {value} WHERE id = {id} AND SLEEP({WRITE_S}) = 0");
        let (writer, other) = (&mut self.link.conn, self.other.as_mut());
        let reader = &mut other.ok_or_else(|| Trouble::Failed("there is one session".into()))?.conn;
        let written = thread::scope(|scope| {
            let writing = scope.spawn(|| writer.query_drop(&write));
            for _ in 0..ASKED_BEFORE {
                thread::sleep(ASK_EVERY);
                newest(reader, &text)?;
            }
            writing.join().map_err(|_| Trouble::Failed("the writer was lost".into()))
        })?;
        match written {
            Ok(()) => {
                let seen = newest(reader, &text)?;
                rows.saw(&[value, seen], &format!("written, and read after that: {text}"));
            }
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => {}
            Err(error) => return Err(Trouble::of(&write, &error)),
        }
        self.pause(RARE_PAUSE_MS_MAX)
    }

    /// Returns the value of a row; `None`: the server has undone the transaction.
    fn value(&mut self, id: usize, is_new: bool) -> Result<Option<i64>, Trouble> {
        self.texts += 1;
        let mark = if is_new { format!("/* {} {} */ ", self.number, self.texts) } else { String::new() };
        let text = format!("SELECT {mark}v FROM equal WHERE id = {id}");
        let found = if !is_new && self.dice.percent(30) {
            self.link.conn.exec_first("SELECT v FROM equal WHERE id = ?", (id,))
        } else {
            self.link.conn.query_first(text.as_str())
        };
        match found {
            Ok(Some(value)) => Ok(Some(value)),
            Ok(None) => Err(Trouble::Failed(format!("{text}: there is no row").into())),
            Err(mysql::Error::MySqlError(error)) if UNDONE.contains(&error.code) => Ok(None),
            Err(error) => Err(Trouble::of(&text, &error)),
        }
    }
}

/// Returns the value that a session sees.
fn newest(conn: &mut mysql::Conn, text: &str) -> Result<i64, Trouble> {
    let found: Option<mysql::Row> = conn.query_first(text).map_err(|error| Trouble::of(text, &error))?;
    let value = found.and_then(|row| row.get(0));
    value.ok_or_else(|| Trouble::Failed(format!("{text}: there is no row").into()))
}
