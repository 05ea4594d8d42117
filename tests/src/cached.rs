//! Answers as values that can be compared, and the counters that say where an answer came from.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Value};

use crate::{Flavor, Freshet, Server, Target, with_each};

/// How long anything that should happen by itself may take.
pub const SECONDS_MAX: u64 = 20;
/// Between the first two looks at something that is waited for. Most of it is there by the second look.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Between two looks at what takes longer: pauses grow from the one to the other.
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// How long a statement is repeated of which many are tried for a first answer from memory.
const TRY_MAX: Duration = Duration::from_secs(5);

/// How often something is asked again for the reason why it is not answered from memory.
const REPEATED: u32 = 10;

/// Rows as text, or the error's code.
pub type Answer = Result<Vec<Vec<String>>, u16>;

/// What a statement is answered.
///
/// # Panics
/// If the connection is lost.
pub fn answer(conn: &mut Conn, statement: &str) -> Answer {
    try_answer(conn, statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// The same, with a lost connection as an error.
///
/// # Errors
/// Everything that is not an error packet.
pub fn try_answer(conn: &mut Conn, statement: &str) -> Result<Answer, Error> {
    match conn.query::<mysql::Row, _>(statement) {
        Ok(rows) => Ok(Ok(rows.into_iter().map(|row| row.unwrap().iter().map(text).collect()).collect())),
        Err(Error::MySqlError(error)) => Ok(Err(error.code)),
        Err(other) => Err(other),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    }
}

/// Runs statements, each of which must succeed.
///
/// # Panics
/// With the statement that fails.
pub fn run(conn: &mut Conn, statements: &[&str]) {
    for statement in statements {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// A status value that is a number; 0 where there is none of that name.
///
/// # Panics
/// If the status cannot be read.
pub fn status(conn: &mut Conn, name: &str) -> u64 {
    let row: Option<(String, String)> =
        conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("status is shown");
    row.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// The number of answers from memory.
pub fn hits(conn: &mut Conn) -> u64 {
    status(conn, "Qcache_hits")
}

/// Repeats until something is there.
///
/// # Panics
/// With `what` if it does not come within [`SECONDS_MAX`].
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let found = looked_for(Duration::from_secs(SECONDS_MAX), look);
    found.unwrap_or_else(|| panic!("not within {SECONDS_MAX} s: {what}"))
}

/// The same of something, of which more is told if it is not there.
pub fn eventually_of<S, T>(
    what: &str,
    of: &mut S,
    mut look: impl FnMut(&mut S) -> Option<T>,
    tell: impl FnOnce(&mut S) -> String,
) -> T {
    let found = looked_for(Duration::from_secs(SECONDS_MAX), || look(of));
    found.unwrap_or_else(|| panic!("not within {SECONDS_MAX} s: {what}: {}", tell(of)))
}

/// The same for a given time; `None` if it is not there by then.
fn looked_for<T>(time_max: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + time_max;
    let mut pause = PAUSE_MIN;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(pause);
        pause = PAUSE_MAX.min(pause * 2);
    }
}

/// A table of which it is known when its last write was applied.
const MARK: &[&str] = &[
    "CREATE DATABASE IF NOT EXISTS fresh_mark",
    "CREATE TABLE IF NOT EXISTS fresh_mark.mark (id INT PRIMARY KEY, n INT)",
    "INSERT IGNORE INTO fresh_mark.mark VALUES (1, 1)",
];
const SET_MARK: &str = "UPDATE fresh_mark.mark SET n = n + 1 WHERE id = 1";

/// Waits until a Freshet has applied all that was written on its server before: what a test has set up beside it takes
/// no answer from memory any more. A write through Freshet is answered from memory only once its event is applied, and
/// the events before it are applied first.
///
/// # Panics
/// If that does not happen within [`SECONDS_MAX`].
pub fn caught_up(freshet: &Freshet) {
    let mut conn = freshet.target().connect();
    if freshet.is_there() {
        if conn.query_drop(SET_MARK).is_err() {
            run(&mut conn, MARK);
            run(&mut conn, &[SET_MARK]);
        }
        let _ = Counted::of(freshet).prime(&mut conn, "SELECT n FROM fresh_mark.mark WHERE id = 1");
    }
}

/// Waits until a client of this schema is asleep in the server, in a SLEEP().
///
/// # Panics
/// If that does not happen within [`SECONDS_MAX`].
pub fn await_asleep(target: &Target, schema: &str) {
    let mut look = target.connect();
    let asleep = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep' AND DB = '{schema}'"
    );
    eventually("a client is asleep", || {
        let found: Option<u32> = look.query_first(&asleep).expect("the list of clients");
        found.filter(|&found| found > 0)
    });
}

/// InnoDB makes its list of transactions anew only where nobody has read it for a tenth of a second.
const TRANSACTIONS_PAUSE: Duration = Duration::from_millis(150);

/// Waits until the client that the server knows by this number waits for a lock.
///
/// # Panics
/// If that does not happen within [`SECONDS_MAX`].
pub fn await_lock_wait(target: &Target, thread_id: u32) {
    let mut look = target.connect();
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX
         WHERE trx_mysql_thread_id = {thread_id} AND trx_state = 'LOCK WAIT'"
    );
    eventually("a client waits for a lock", || {
        std::thread::sleep(TRANSACTIONS_PAUSE);
        let found: Option<u32> = look.query_first(&waits).expect("the list of transactions");
        found.filter(|&found| found > 0)
    });
}

/// A Freshet or a server with somebody who asks it for its counters.
#[derive(Debug)]
pub struct Counted {
    counter: Conn,
    is_freshet: bool,
}

impl Counted {
    /// Counts the hits of a Freshet; without one, nothing is counted and everything is believed.
    pub fn of(freshet: &Freshet) -> Counted {
        Counted { counter: freshet.target().connect(), is_freshet: freshet.is_there() }
    }

    /// The number of answers from memory.
    pub fn hits(&mut self) -> u64 {
        hits(&mut self.counter)
    }

    /// Asks until an answer has come from memory, and gives it.
    ///
    /// # Panics
    /// If that does not happen within [`SECONDS_MAX`].
    pub fn prime(&mut self, reader: &mut Conn, statement: &str) -> Answer {
        self.prime_by(statement, || answer(reader, statement))
    }

    /// Asks for something until it has come from memory, and gives it.
    ///
    /// # Panics
    /// If that does not happen within [`SECONDS_MAX`].
    pub fn prime_by<T>(&mut self, what: &str, mut ask: impl FnMut() -> T) -> T {
        if !self.is_freshet {
            return ask();
        }
        let found = looked_for(Duration::from_secs(SECONDS_MAX), || {
            let before = self.hits();
            let got = ask();
            (self.hits() > before).then_some(got)
        });
        found.unwrap_or_else(|| {
            self.panic_without_hit(what, &mut || {
                let _ = ask();
            })
        })
    }

    /// Tells what Freshet counts while something is asked that should be answered from memory and is not, and what holds its sessions.
    fn panic_without_hit(&mut self, what: &str, ask: &mut dyn FnMut()) -> ! {
        let before = self.counters();
        (0..REPEATED).for_each(|_| ask());
        let after = self.counters();
        let changed: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        let sessions = answer(&mut self.counter, "SELECT * FROM freshet.sessions");
        let refusals = answer(&mut self.counter, "SELECT * FROM freshet.refusals");
        panic!(
            "not within {SECONDS_MAX} s: a hit for {what}\nafter {REPEATED} more: {changed:?}\n\
             sessions: {sessions:?}\nrefusals: {refusals:?}"
        );
    }

    fn counters(&mut self) -> Vec<Vec<String>> {
        let mut counters = answer(&mut self.counter, "SHOW GLOBAL STATUS").expect("status is shown");
        counters.retain(|line| line[0].starts_with("Freshet_") || line[0].starts_with("Qcache_"));
        counters
    }

    /// Asks until an answer has come from memory, and gives it; `None` where none comes within [`TRY_MAX`].
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn try_prime(&mut self, reader: &mut Conn, statement: &str) -> Option<Answer> {
        if !self.is_freshet {
            return Some(answer(reader, statement));
        }
        looked_for(TRY_MAX, || {
            let before = self.hits();
            let got = answer(reader, statement);
            (self.hits() > before).then_some(got)
        })
    }

    /// How many of some repetitions of a statement were answered from memory.
    pub fn hits_of(&mut self, reader: &mut Conn, statement: &str, repetitions: u32) -> u64 {
        let before = self.hits();
        for _ in 0..repetitions {
            let _ = answer(reader, statement);
        }
        self.hits() - before
    }
}

/// Makes a user of a schema's name, without a password, who may do anything.
///
/// # Panics
/// If the server does not do so.
pub fn user_of(direct: &mut Conn, schema: &str) {
    run(
        direct,
        &[
            &format!("CREATE USER IF NOT EXISTS {schema} IDENTIFIED BY ''"),
            &format!("GRANT ALL PRIVILEGES ON *.* TO {schema}"),
        ],
    );
}

/// Makes a user anew who may follow the binlog and nothing else, and gives the server with this one as Freshet's account.
///
/// # Panics
/// If the server does not do so.
pub fn with_follower(server: &Server, user: &str) -> Server {
    let monitor = if server.flavor == Flavor::MariaDb { "BINLOG MONITOR" } else { "REPLICATION CLIENT" };
    run(
        &mut server.target.connect(),
        &[
            &format!("DROP USER IF EXISTS {user}"),
            &format!("CREATE USER {user} IDENTIFIED BY 'pw'"),
            &format!("GRANT REPLICATION SLAVE, {monitor}, PROCESS ON *.* TO {user}"),
        ],
    );
    let url = format!("mysql://{user}:pw@{}:{}/", server.target.host, server.target.port);
    Server { url, ..server.clone() }
}

/// Makes a schema anew, directly on the server, and gives a connection to it.
///
/// # Panics
/// If the server does not do so.
pub fn fresh_schema(server: &Server, schema: &str) -> Conn {
    let mut conn = server.target.connect();
    run(
        &mut conn,
        &[
            // A table of another schema may refer to one of this.
            "SET foreign_key_checks = 0",
            &format!("DROP DATABASE IF EXISTS {schema}"),
            "SET foreign_key_checks = 1",
            &format!("CREATE DATABASE {schema}"),
            &format!("USE {schema}"),
        ],
    );
    conn
}

/// A connection to a schema.
///
/// # Panics
/// If there is none to be had.
pub fn connect(target: &Target, schema: &str) -> Conn {
    target.try_connect(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// A schema made anew with these statements, and behind it a Freshet of its own with these flags, which has caught up: the client is the server's.
///
/// # Panics
/// If the server refuses a statement, or Freshet does not start.
pub fn staged(server: &Server, schema: &str, statements: &[&str], flags: &[&str]) -> (Conn, Freshet) {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, statements);
    let freshet = Freshet::with(server, flags);
    caught_up(&freshet);
    (direct, freshet)
}

/// Runs a test with each server and a Freshet before it, and with a client of a schema of its own there, in which a table `t` has two rows. The server
/// itself has another query cache or none: this is for tests of Freshet alone.
pub fn with_two_rows(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    with_each(|server, freshet| {
        if freshet.is_there() {
            let mut direct = fresh_schema(server, schema);
            run(
                &mut direct,
                &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10),(2,20)"],
            );
            caught_up(freshet);
            test(server, freshet, connect(freshet.target(), schema));
        }
    });
}
