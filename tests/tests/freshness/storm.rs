//! Many clients at once, in calm and while the server or its binlog stream is taken away: a judge reads the history.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, hits};
use freshet_tests::history::{History, Path, Rules, judge};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::prelude::Queryable;

use crate::freshness::workload::{Client, Dice, create, pairs, reads};

/// How long a write around Freshet may stay unseen: far above the stream's lag, so that only a hang fails.
const LAG: Duration = Duration::from_secs(4);
/// Operations of one client.
const OPERATIONS: u32 = 1200;
/// The clients: how they go, and of ten operations how many write.
const CLIENTS: [(Path, u32); 7] = [
    (Path::Through, 0),
    (Path::Through, 0),
    (Path::Through, 0),
    (Path::Through, 1),
    (Path::Through, 2),
    (Path::Through, 3),
    (Path::Around, 2),
];
const SEED: u64 = 20_260_102;

struct Run<'a> {
    server: &'a Target,
    freshet: &'a Target,
    schema: &'a str,
    rough: bool,
}

impl Run<'_> {
    /// Lets all clients work, and something happen meanwhile.
    fn record(&self, operations: u32, mut meanwhile: impl FnMut() -> bool) -> History {
        let stop = AtomicBool::new(false);
        let beginning = Instant::now();
        let seed = std::env::var("FRESHET_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
        println!("seed {seed}");
        std::thread::scope(|scope| {
            let clients: Vec<_> = (seed..)
                .zip(CLIENTS)
                .map(|(seed, (path, writes_of_ten))| {
                    let client = Client {
                        target: if path == Path::Through { self.freshet } else { self.server },
                        path,
                        schema: self.schema,
                        beginning,
                        dice: Dice::new(seed),
                        rough: self.rough,
                        stop: &stop,
                    };
                    scope.spawn(move || client.work(operations, writes_of_ten))
                })
                .collect();
            while !clients.iter().all(|client| client.is_finished()) && meanwhile() {}
            if self.rough {
                stop.store(true, Ordering::Relaxed);
            }
            let mut history = History::default();
            for client in clients {
                history.merge(client.join().expect("the client did its work"));
            }
            history
        })
    }

    /// Nothing stale, nothing torn, and at the end everything as the server has it.
    fn judge(&self, history: &History) {
        let violations = judge(history, &Rules { lag: LAG, together: pairs() });
        let first: Vec<String> = violations.iter().take(5).map(ToString::to_string).collect();
        let (writes, read) = (history.writes.len(), history.reads.len());
        println!("{writes} writes, {read} reads, {} violations", violations.len());
        assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), first.join("\n"));
        let mut through = connect(self.freshet, self.schema);
        let mut direct = connect(self.server, self.schema);
        for (text, _) in reads() {
            let wanted = answer(&mut direct, &text);
            crate::freshness::cases::seen_in_time(&mut through, &text, &wanted).expect("at rest all is seen");
        }
        // What was acknowledged is there, and each version once.
        for write in &history.writes {
            let now: Option<u64> =
                direct.query_first(format!("SELECT v FROM t WHERE id = {}", write.row)).expect("it is read");
            assert!(now.is_some_and(|now| now >= write.version), "{write:?} was lost: {now:?}");
        }
    }
}

#[test]
fn no_read_is_stale_under_load() {
    with_each(|server, freshet| {
        create(&mut fresh_schema(server, "fresh_storm"));
        let run =
            Run { server: &server.target, freshet: freshet.target(), schema: "fresh_storm", rough: false };
        let history = run.record(OPERATIONS, || {
            std::thread::sleep(Duration::from_millis(20));
            true
        });
        run.judge(&history);
        if freshet.is_there() {
            let hit = hits(&mut freshet.target().connect());
            assert!(hit * 10 > history.reads.len() as u64, "only {hit} hits: this proves little");
        }
    });
}

/// A server of our own, since nobody else's may be killed; it ends with us.
struct Private {
    dir: PathBuf,
    server: Server,
}

impl Private {
    fn start(flavor: Flavor, test: &str) -> Private {
        let name = if flavor == Flavor::MariaDb { "mariadb" } else { "mysql" };
        let dir = std::env::temp_dir().join(format!("freshet-{test}-{name}-{}", std::process::id()));
        let owner = std::process::id().to_string();
        let said = scripts(&["start", name, dir.to_str().expect("paths are UTF-8"), "--owner", &owner]);
        let url = said.lines().find_map(|line| line.strip_prefix("SERVER_URL=")).expect("the URL is said");
        let url = url.trim_matches('\'').to_owned();
        let options = mysql::Opts::from_url(&url).expect("it is a URL");
        let target = Target {
            host: options.get_ip_or_hostname().into_owned(),
            port: options.get_tcp_port(),
            user: options.get_user().unwrap_or_default().to_owned(),
            password: options.get_pass().unwrap_or_default().to_owned(),
        };
        let server = Server { flavor, url, target };
        Private { dir, server }
    }

    fn crash(&self) {
        scripts(&["crash", self.dir.to_str().expect("paths are UTF-8")]);
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        scripts(&["stop", self.dir.to_str().expect("paths are UTF-8")]);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn scripts(args: &[&str]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/servers");
    let output =
        Command::new(script).args(args).stdin(Stdio::null()).output().expect("scripts/servers can be run");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// One storm at a time: each wants the machine for itself.
static STORM: Mutex<()> = Mutex::new(());

fn with_own(name: &str, test: impl Fn(&Private, &Freshet)) {
    let _one_at_a_time = STORM.lock().unwrap_or_else(PoisonError::into_inner);
    for server in freshet_tests::server::all() {
        let private = Private::start(server.flavor, name);
        let freshet = Freshet::before(&private.server);
        test(&private, &freshet);
        freshet.stop();
    }
}

/// The cache works, or works again.
fn hits_come(freshet: &Freshet, schema: &str) {
    let mut counted = Counted::of(freshet);
    let _ = counted.prime(&mut connect(freshet.target(), schema), "SELECT id, v FROM t WHERE id = 1");
}

#[test]
fn no_read_is_stale_across_a_crash_of_the_server() {
    with_own("crash", |private, freshet| {
        let server = &private.server;
        create(&mut fresh_schema(server, "fresh_crash"));
        hits_come(freshet, "fresh_crash");
        let run =
            Run { server: &server.target, freshet: freshet.target(), schema: "fresh_crash", rough: true };
        let mut crashes = 0;
        let history = run.record(u32::MAX, || {
            // Longer than the second in which the server tells its uptime: of a connection that is younger, it is not known whether the next
            // server has its thread, and another one with its number may be there for long.
            std::thread::sleep(Duration::from_millis(1_500));
            if crashes == 2 {
                return false;
            }
            private.crash();
            crashes += 1;
            true
        });
        run.judge(&history);
        hits_come(freshet, "fresh_crash");
    });
}

#[test]
fn no_read_is_stale_while_the_stream_is_cut_again_and_again() {
    with_own("cut", |private, freshet| {
        let server = &private.server;
        create(&mut fresh_schema(server, "fresh_cut"));
        hits_come(freshet, "fresh_cut");
        let mut killer = server.target.connect();
        let run =
            Run { server: &server.target, freshet: freshet.target(), schema: "fresh_cut", rough: false };
        let mut cuts = 0;
        let until = Instant::now() + Duration::from_secs(6);
        let history = run.record(OPERATIONS * 2, || {
            std::thread::sleep(Duration::from_millis(150));
            cuts += kill_dump_threads(&mut killer);
            Instant::now() < until
        });
        assert!(cuts > 3 || !freshet.is_there(), "only {cuts} cuts");
        run.judge(&history);
        hits_come(freshet, "fresh_cut");
    });
}

#[test]
fn the_stream_comes_back_by_itself_after_it_was_reset() {
    with_own("again", |private, freshet| {
        let server = &private.server;
        let mut direct = fresh_schema(server, "fresh_again");
        create(&mut direct);
        hits_come(freshet, "fresh_again");
        let reset = match server.flavor {
            Flavor::MariaDb => ["FLUSH BINARY LOGS", "RESET MASTER"],
            Flavor::MySql => ["FLUSH BINARY LOGS", "RESET BINARY LOGS AND GTIDS"],
        };
        for statement in reset {
            // The server refuses while a dump thread reads what would go.
            eventually(statement, || {
                kill_dump_threads(&mut direct);
                answer(&mut direct, statement).ok()
            });
            let mut reader = connect(freshet.target(), "fresh_again");
            for version in 1..30 {
                let row = 1 + version % 5;
                direct.query_drop(format!("UPDATE t SET v = v + 1 WHERE id = {row}")).expect("written");
                let read = format!("SELECT id, v FROM t WHERE id = {row}");
                let wanted = answer(&mut direct, &read);
                crate::freshness::cases::seen_in_time(&mut reader, &read, &wanted).expect("in time");
            }
            hits_come(freshet, "fresh_again");
        }
    });
}

fn kill_dump_threads(killer: &mut mysql::Conn) -> usize {
    let threads: Vec<u64> = killer
        .query("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
        .expect("the processes are listed");
    threads.iter().filter(|id| killer.query_drop(format!("KILL {id}")).is_ok()).count()
}
