//! A client that asks in parts, each when it is told to.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use freshet_cache::Cache;
use mysql::prelude::Queryable as _;
use mysql::{Conn, Opts, OptsBuilder};
use tokio::sync::mpsc::UnboundedSender;

/// How many questions with answers from memory are in a part.
pub const HITS: u64 = 500;
/// How many questions for the server are in a part.
pub const MISSES: u64 = 200;
/// How often a part is tried.
pub const ATTEMPTS_MAX: u64 = 500;
/// A statement that takes longer may be one that others wait for, which is more to do for the statements of its form that follow.
const QUICK_MAX: Duration = Duration::from_millis(9);
/// How long a result may take to be stored for the first time.
const WARM_MAX: Duration = Duration::from_secs(30);

/// The schema of the tests.
pub const SCHEMA: &str = "session_allocations";
/// The statements that make its tables.
const TABLES: [&str; 6] = [
    "CREATE DATABASE IF NOT EXISTS session_allocations",
    "DROP TABLE IF EXISTS session_allocations.t",
    "CREATE TABLE session_allocations.t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO session_allocations.t VALUES (1, 10), (2, 20), (3, 30)",
    "DROP TABLE IF EXISTS session_allocations.w",
    "CREATE TABLE session_allocations.w (id INT PRIMARY KEY, v INT)",
];

/// Questions, and what they may cost.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub what: &'static str,
    /// How many questions there are.
    pub asks: u64,
    /// How many of them are answered from memory, and how many answers of the server's are stored.
    pub wanted: (u64, u64),
    /// How often all of them together may allocate.
    pub allocations_max: u64,
}

impl Part {
    /// Returns a part of hits.
    pub const fn hits(what: &'static str, allocations_max: u64) -> Self {
        Self { what, asks: HITS, wanted: (HITS, 0), allocations_max }
    }

    /// Returns a part of statements that change rows.
    pub const fn writes(what: &'static str, each_max: u64) -> Self {
        Self { what, asks: MISSES, wanted: (0, 0), allocations_max: at_most(MISSES, each_max) }
    }

    /// Returns a part of misses whose answers are stored.
    pub const fn misses(what: &'static str, each_max: u64) -> Self {
        Self { what, asks: MISSES, wanted: (0, MISSES), allocations_max: at_most(MISSES, each_max) }
    }
}

/// What became of a part.
pub enum Attempt {
    /// Not all went as it should, or this was no attempt.
    Void,
    /// All went as it should.
    Whole(Part),
}

/// Asks in parts, each when it is told to.
pub struct Client {
    pub cache: Arc<Cache>,
    /// The server's address.
    pub url: String,
    /// Where Freshet listens.
    pub port: u16,
    pub begins: mpsc::Receiver<()>,
    pub end: UnboundedSender<Attempt>,
    /// Tells of each part whether the attempt counts. Otherwise the part is tried again.
    pub accepted: mpsc::Receiver<bool>,
}

impl Client {
    /// Makes the tables.
    pub fn make_tables(&self) {
        let mut server = Conn::new(self.server()).expect("a connection");
        for statement in TABLES {
            server.query_drop(statement).expect(statement);
        }
    }

    fn server(&self) -> Opts {
        Opts::from_url(&self.url).expect("a server's URL")
    }

    /// Returns a connection through Freshet.
    pub fn connect(&self) -> Conn {
        let through = OptsBuilder::from_opts(self.server()).ip_or_hostname(Some("127.0.0.1"));
        let through = through.tcp_port(self.port).prefer_socket(false).db_name(Some(SCHEMA));
        Conn::new(through.stmt_cache_size(0)).expect("a connection through us")
    }

    /// Does something that is not counted.
    pub fn uncounted<T>(&self, what: impl FnOnce() -> T) -> T {
        self.begins.recv().expect("the beginning");
        let done = what();
        self.end.send(Attempt::Void).expect("the end");
        done
    }

    /// Asks until the results are stored; returns what was made before. Not counted.
    pub fn warm<T>(&self, make: impl FnOnce() -> T, ask: impl Fn(&T)) -> T {
        self.uncounted(|| {
            let made = make();
            let (until, before) = (Instant::now() + WARM_MAX, self.cache.statistics().hits);
            while self.cache.statistics().hits - before < HITS {
                assert!(Instant::now() < until, "nothing is stored: {:?}", self.cache.statistics());
                ask(&made);
            }
            made
        })
    }

    /// Asks whenever it is told to, until all went as it should. `before`: what comes before each attempt, and does not count.
    pub fn part(&self, part: Part, before: Option<&dyn Fn()>, ask: impl Fn() -> bool) {
        for _ in 1..ATTEMPTS_MAX {
            if let Some(before) = before {
                self.uncounted(before);
            }
            self.begins.recv().expect("the beginning");
            let before = self.cache.statistics();
            let went_well = ask();
            let after = self.cache.statistics();
            let outcome = (after.hits - before.hits, after.inserts - before.inserts);
            let is_whole = went_well && outcome == part.wanted;
            self.end.send(if is_whole { Attempt::Whole(part) } else { Attempt::Void }).expect("the end");
            if is_whole && self.accepted.recv().expect("a decision") {
                return;
            }
        }
        panic!("never as it should be: {}", part.what);
    }
}

/// Returns how often so many questions may allocate, if each may do so often and a few more often.
pub const fn at_most(asks: u64, each: u64) -> u64 {
    asks * each + asks / 10
}

/// Does something so many times.
pub fn each(times: u64, what: impl Fn(u64)) -> bool {
    (0..times).for_each(what);
    true
}

/// Does something so many times; false if it was slow once.
pub fn each_quickly(times: u64, what: impl Fn()) -> bool {
    let is_quick = || {
        let begun = Instant::now();
        what();
        begun.elapsed() < QUICK_MAX
    };
    (0..times).fold(true, |are_quick, _| is_quick() & are_quick)
}
