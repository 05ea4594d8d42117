//! What attacks stand on: one server of their own, a Freshet for each attack, and its memory.

use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use freshet_tests::cached::{answer, eventually, fresh_schema, run, status};
use freshet_tests::raw::Raw;
use freshet_tests::{Flavor, Freshet, Server, Target, server};
use mysql::Conn;
use rustix::process::{Resource, getrlimit};

use crate::found::{Found, Given, is_slow};

/// The schema of all attacks, and the account without a password that may read and write it.
pub const SCHEMA: &str = "attack";
pub const ATTACKER: &str = "attacker";
/// How long what has to happen by itself may take, on a machine that does other things too.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(20);

/// One server, and how thorough the attacks are.
pub struct Ground {
    pub server: Server,
    pub short: bool,
    /// The server's folder, for `scripts/servers crash`.
    pub folder: PathBuf,
}

impl Ground {
    /// ATTACK_URL and ATTACK_FLAVOR are the server's, ATTACK_FOLDER is its folder.
    pub fn from_environment(short: bool) -> Ground {
        let get = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name}: see scripts/attack"));
        let flavor = if get("ATTACK_FLAVOR") == "mysql" { Flavor::MySql } else { Flavor::MariaDb };
        let server = server::at(flavor, &get("ATTACK_URL"));
        Ground { server, short, folder: get("ATTACK_FOLDER").into() }
    }

    /// The flavor in words.
    pub fn name(&self) -> &'static str {
        if self.is_mysql() { "mysql" } else { "mariadb" }
    }

    pub fn is_mysql(&self) -> bool {
        self.server.flavor == Flavor::MySql
    }

    /// A number for the long form and one for the short.
    pub fn count(&self, long: usize, short: usize) -> usize {
        if self.short { short } else { long }
    }

    /// An administrator at the server itself.
    pub fn admin(&self) -> Conn {
        self.server.target.connect()
    }

    /// Carries one attack out; one that falls over is a failure like any other.
    pub fn carry_out(&self, flags: &[&str], attack: fn(&Ground, &Freshet) -> Found) -> Found {
        let attempt = || {
            self.prepare();
            let freshet = Freshet::with(&self.server, flags);
            let found = attack(self, &freshet);
            let lives = freshet.target().try_connect("").is_ok();
            found.expect(lives, "Freshet does not answer afterwards")
        };
        catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
            let none = Given { outcome: "-".to_owned(), took: Duration::ZERO };
            Found::new(none.clone(), none, (0, 0)).expect(false, format!("the attack fell over: {said:?}"))
        })
    }

    /// A schema as all attacks expect it.
    fn prepare(&self) {
        let mut admin = eventually("the server answers", || self.server.target.try_connect("").ok());
        drop(fresh_schema(&self.server, SCHEMA));
        let created = format!("CREATE USER IF NOT EXISTS {ATTACKER} IDENTIFIED BY ''");
        let granted = format!("GRANT ALL PRIVILEGES ON {SCHEMA}.* TO {ATTACKER}");
        run(
            &mut admin,
            &[
                "SET GLOBAL max_connections = 12000",
                "SET GLOBAL max_allowed_packet = 67108864",
                &created,
                &granted,
                "CREATE TABLE attack.t (id INT PRIMARY KEY, v INT, w VARCHAR(100)) ENGINE=InnoDB",
                "INSERT INTO attack.t VALUES (1, 1, 'x'), (2, 2, 'y')",
            ],
        );
    }

    /// The same, once: it cannot be repeated, or its time says nothing.
    pub fn both_once(&self, freshet: &Freshet, attack: impl Fn(&Target) -> String) -> Found {
        let (direct, through, memory) = self.once(freshet, attack);
        Found::same(direct, through, memory).at_any_time()
    }

    /// Carries the same out on both ways and expects the same outcome.
    pub fn both(&self, freshet: &Freshet, attack: impl Fn(&Target) -> String) -> Found {
        let (direct, through, memory) = self.ways(freshet, attack);
        Found::same(direct, through, memory)
    }

    /// Carries the same out on both ways. Where Freshet seems slow, both are tried again: others use this
    /// machine too.
    pub fn ways(&self, freshet: &Freshet, attack: impl Fn(&Target) -> String) -> (Given, Given, (u64, u64)) {
        let (mut direct, mut through, mut memory) = self.once(freshet, &attack);
        for _ in 1..TRIES_MAX {
            if direct.outcome != through.outcome || !is_slow(&direct, &through) {
                break;
            }
            let (again, ours, held) = self.once(freshet, &attack);
            through.took = through.took.min(ours.took);
            // The slower time of the server counts, since whatever slowed it down slows Freshet down as well.
            direct.took = direct.took.max(again.took);
            memory.1 = memory.1.max(held.1);
        }
        (direct, through, memory)
    }

    /// The same, once.
    pub fn once(&self, freshet: &Freshet, attack: impl Fn(&Target) -> String) -> (Given, Given, (u64, u64)) {
        let direct = timed(|| attack(&self.server.target));
        let before = memory_of(freshet);
        forget_peak(freshet);
        let through = timed(|| attack(freshet.target()));
        (direct, through, (before, peak_of(freshet).max(memory_of(freshet))))
    }
}

/// How often an attack is tried that seems slow through Freshet.
const TRIES_MAX: usize = 3;

/// What something gives, and how long it takes.
pub fn timed(attack: impl FnOnce() -> String) -> Given {
    let begun = Instant::now();
    let outcome = attack();
    Given { outcome, took: begun.elapsed() }
}

fn status_line(freshet: &Freshet, name: &str) -> u64 {
    let pid = freshet.pid().expect("there is a process");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// What Freshet holds now, bytes.
pub fn memory_of(freshet: &Freshet) -> u64 {
    status_line(freshet, "VmRSS:")
}

/// The most that it has held since [`forget_peak`].
fn peak_of(freshet: &Freshet) -> u64 {
    status_line(freshet, "VmHWM:")
}

fn forget_peak(freshet: &Freshet) {
    let pid = freshet.pid().expect("there is a process");
    let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// How many clients there can be: each takes two files of Freshet.
pub fn clients_max(wanted: usize) -> usize {
    /// Files for everything else.
    const BESIDE: u64 = 600;
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files.saturating_sub(BESIDE) / 2).unwrap_or(usize::MAX).min(wanted)
}

/// A client of the attacker's account, logged in.
pub fn attacker(target: &Target) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(ATTACKER, SCHEMA, 0).expect("it lets the attacker in");
    raw
}

/// A plain connection that says nothing yet.
pub fn stranger(target: &Target) -> TcpStream {
    let stream = TcpStream::connect((target.host.as_str(), target.port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    stream.set_write_timeout(Some(PATIENCE)).expect("it can be set");
    stream
}

/// Whether somebody else is still served.
pub fn alive(target: &Target) -> String {
    match target.try_connect(SCHEMA).map(|mut conn| answer(&mut conn, "SELECT v FROM t WHERE id = 1")) {
        Ok(Ok(_)) => "others are served".to_owned(),
        other => format!("others are not served: {other:?}"),
    }
}

/// Asks until a statement was answered from memory.
pub fn prime(freshet: &Freshet, reader: &mut Conn, statement: &str) {
    let mut counter = freshet.target().connect();
    eventually("a hit", || {
        let before = status(&mut counter, "Qcache_hits");
        let _ = answer(reader, statement);
        (status(&mut counter, "Qcache_hits") > before).then_some(())
    });
}

/// Looks until something is as wanted or patience ends; gives what it looks like then.
pub fn within(patience: Duration, wanted: &str, mut look: impl FnMut() -> String) -> String {
    let until = Instant::now() + patience;
    loop {
        let seen = look();
        if seen == wanted || Instant::now() > until {
            return seen;
        }
        std::thread::sleep(PAUSE);
    }
}
