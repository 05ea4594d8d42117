//! Random scripts of a few clients are played directly and through Freshet, one statement after the other, and all that the
//! clients are told is compared, packet by packet.
//!
//! FRESHET_LOCKSTEP_SECONDS says how long, for each server and each way to open read views; FRESHET_LOCKSTEP_SEED with which seed it
//! begins. A script that fails is made as short as it can be before it is shown.

mod script;
mod world;

use std::time::{Duration, Instant};

use freshet_tests::cached::{connect, fresh_schema, run, status, try_answer};
use freshet_tests::raw::capability::DEPRECATE_EOF;
use freshet_tests::raw::error_code;
use freshet_tests::{Flavor, Freshet, Server, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

use script::{CONTENT, READS, STATE, Script, Step, TABLES, TABLES_OF_MARIADB, VIEWS, script};
use world::{DIRECT, THROUGH, Told, USER, World, flags};

/// SERVER_STATUS_IN_TRANS.
const IN_TRANS: u16 = 1;

/// How long a short run takes, for each server and each way.
const SECONDS: u64 = 4;

/// How often a script that failed is tried again, to see whether a shorter one fails too.
const TRIES: usize = 2;

/// How often all reads are repeated at most, until all of them are answered from memory.
const WARMED_MAX: usize = 50;

struct Stage<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    direct: [Conn; 2],
    warm: Conn,
    way: Way,
    /// The server takes READ ONLY over into the next transaction.
    keeps_read_only: bool,
}

/// How sessions read through Freshet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// What they set `freshness` to.
    level: &'static str,
    /// The read view is opened by the first read.
    is_eager: bool,
    /// One client alone plays, and so sees all that was written before.
    is_alone: bool,
}

/// At `session` a client sees what it has written itself, so that one client alone is told the same. At `eventual` rows may be older: all
/// but rows is compared.
const WAYS: [Way; 4] = [
    Way { level: "strict", is_eager: true, is_alone: false },
    Way { level: "strict", is_eager: false, is_alone: false },
    Way { level: "session", is_eager: false, is_alone: true },
    Way { level: "eventual", is_eager: false, is_alone: true },
];

#[test]
fn what_clients_are_told_in_transactions_is_what_they_are_told_directly() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let direct = [DIRECT, THROUGH].map(|schema| staged(server, schema));
        // MariaDB 10.5 takes READ ONLY over into a transaction that begins before this one has ended. Freshet begins such a one by itself.
        let keeps_read_only = server.flavor == Flavor::MariaDb && server.version() < (10, 6);
        let warm = connect(freshet.target(), THROUGH);
        let mut stage = Stage { server, freshet, direct, warm, way: WAYS[0], keeps_read_only };
        for way in WAYS {
            stage.way = way;
            plays(&mut stage);
        }
        let [mut direct, _] = stage.direct;
        run(
            &mut direct,
            &[
                &format!("DROP DATABASE {DIRECT}"),
                &format!("DROP DATABASE {THROUGH}"),
                &format!("DROP USER {USER}"),
            ],
        );
    });
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn plays(stage: &mut Stage<'_>) {
    let until = Instant::now() + Duration::from_secs(number("FRESHET_LOCKSTEP_SECONDS", SECONDS));
    let is_short = std::env::var_os("FRESHET_LOCKSTEP_SECONDS").is_none();
    let mut seed = number("FRESHET_LOCKSTEP_SEED", 1);
    let mut played = 0;
    let mut failed = Vec::new();
    let failures_max = number("FRESHET_LOCKSTEP_FAILURES", 1);
    while Instant::now() < until {
        let mut script = script(seed, stage.server.flavor);
        script.retain(|(client, step)| {
            (*client == 0 || !stage.way.is_alone) && !(stage.keeps_read_only && says_read_only(step))
        });
        // On a machine that is too busy, a proof may come too late: once is no failure of a short run.
        let tries = if is_short { TRIES } else { 1 };
        let wrong = (0..tries).map_while(|_| stage.played(&script, seed)).collect::<Vec<String>>();
        if let Some(wrong) = wrong.get(tries - 1).cloned() {
            let (script, wrong) = shortened(stage, script, wrong, seed);
            let text: Vec<String> =
                script.iter().map(|(client, step)| format!("  {client}: {step}")).collect();
            let text = format!(
                "{:?}, seed {seed}, {:?}\n{}\n{wrong}",
                stage.server.flavor,
                stage.way,
                text.join("\n")
            );
            println!("{text}");
            failed.push(text);
            if failed.len() as u64 >= failures_max {
                break;
            }
        }
        seed += 1;
        played += 1;
    }
    let [hits, unseen] = ["Qcache_hits", "Freshet_transactions"].map(|name| status(&mut stage.warm, name));
    println!(
        "{:?}, {:?}: {played} scripts, {hits} hits, {unseen} transactions from memory",
        stage.server.flavor, stage.way
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Whether it begins a transaction that may not write, or says so of the next one.
fn says_read_only(step: &Step) -> bool {
    let text = step.to_string();
    text.contains("READ ONLY") && !text.contains("SESSION")
}

/// Leaves out what it can without the failure going away.
fn shortened(stage: &mut Stage<'_>, mut script: Script, mut wrong: String, seed: u64) -> (Script, String) {
    let mut at = script.len();
    while at > 0 {
        at -= 1;
        let mut shorter = script.clone();
        shorter.remove(at);
        if let Some(still) = (0..TRIES).find_map(|_| stage.played(&shorter, seed)) {
            (script, wrong) = (shorter, still);
        }
    }
    (script, wrong)
}

fn staged(server: &Server, schema: &str) -> Conn {
    let mut direct = fresh_schema(server, schema);
    let user = [
        format!("CREATE USER IF NOT EXISTS {USER} IDENTIFIED BY ''"),
        format!("GRANT ALL ON {schema}.* TO {USER}"),
    ];
    run(&mut direct, &user.each_ref().map(String::as_str));
    run(&mut direct, &["SET SESSION innodb_lock_wait_timeout = 20, lock_wait_timeout = 20"]);
    run(&mut direct, TABLES);
    run(&mut direct, VIEWS);
    if server.flavor == Flavor::MariaDb {
        run(&mut direct, TABLES_OF_MARIADB);
    }
    direct
}

impl Stage<'_> {
    /// Plays a script on both ways. What is wrong, if anything is.
    fn played(&mut self, script: &Script, seed: u64) -> Option<String> {
        self.set();
        let further = if seed.is_multiple_of(2) { 0 } else { DEPRECATE_EOF };
        let Way { level, is_eager, .. } = self.way;
        let snapshot = if is_eager { "eager" } else { "auto" };
        let first = format!("SET SESSION transaction_snapshot = {snapshot}, SESSION freshness = '{level}'");
        let (server, freshet) = (self.server, self.freshet);
        let (expected, got) = std::thread::scope(|scope| {
            let direct =
                scope.spawn(|| World::new(&server.target, DIRECT, further, &[]).play(script, |_| false));
            let got = World::new(freshet.target(), THROUGH, further, &[&first]).play(script, |_| false);
            (direct.join().expect("no panic"), got)
        });
        let mut is_cut = false;
        for (at, ((client, step), (expected, got))) in
            script.iter().zip(expected.iter().zip(&got)).enumerate()
        {
            if !is_eager && is_conflict(got) && !is_conflict(expected) {
                is_cut = true;
                break;
            }
            if !self.is_alike(expected, got) {
                return Some(format!(
                    "step {at}, {client}: {step}\n  direct  {}\n  freshet {}",
                    shown(expected),
                    shown(got)
                ));
            }
        }
        if is_cut { None } else { self.states() }
    }

    /// What the tables hold and what is in memory.
    fn set(&mut self) {
        for conn in &mut self.direct {
            end_prepared(conn);
            run(conn, CONTENT);
        }
        if self.server.flavor == Flavor::MariaDb {
            for conn in &mut self.direct {
                run(conn, &["ALTER SEQUENCE s RESTART"]);
            }
        }
        for _ in 0..WARMED_MAX {
            let before = status(&mut self.warm, "Qcache_hits");
            run(&mut self.warm, &["BEGIN"]);
            for read in READS.iter().chain(&["COMMIT"]).chain(READS) {
                let _ = try_answer(&mut self.warm, read);
            }
            if status(&mut self.warm, "Qcache_hits") - before >= 2 * READS.len() as u64 {
                break;
            }
        }
    }

    /// Where the read view is opened by the first read, all is alike. Otherwise what a transaction reads may be as of a later moment.
    fn is_alike(&self, expected: &Told, got: &Told) -> bool {
        let (Some(expected), Some(got)) = (expected, got) else { return expected.is_none() == got.is_none() };
        let is_rows = |told: &[Vec<u8>]| told.len() > 2;
        let Way { level, is_eager, is_alone } = self.way;
        // One client alone has nobody who could write between its reads.
        let is_of_moment = !is_eager && !is_alone && flags(expected) & IN_TRANS != 0;
        let is_loose = (is_of_moment || level == "eventual") && is_rows(expected) && is_rows(got);
        if is_loose { flags(expected) == flags(got) } else { expected == got }
    }

    fn states(&mut self) -> Option<String> {
        let states = self.direct.each_mut().map(states);
        let [direct, through] = states;
        (direct != through).then(|| format!("at the end\n  direct  {direct}\n  freshet {through}"))
    }
}

fn states(conn: &mut Conn) -> String {
    let rows: Vec<String> =
        STATE.iter().map(|read| format!("{:?}", try_answer(conn, read).expect("an answer"))).collect();
    rows.join(" ")
}

/// Ends the transactions that were prepared and left.
fn end_prepared(conn: &mut Conn) {
    let left: Vec<(u64, u64, u64, String)> = conn.query("XA RECOVER").expect("a list");
    for (_, _, _, name) in left.iter().filter(|left| left.3.starts_with("fresh_step_")) {
        let _ = conn.query_drop(format!("XA ROLLBACK '{name}'"));
    }
}

fn is_conflict(told: &Told) -> bool {
    told.iter().flatten().any(|packet| error_code(packet) == Some(1213))
}

fn shown(told: &Told) -> String {
    let Some(told) = told else { return "gone".to_owned() };
    let packets: Vec<String> = told.iter().map(|packet| packet.escape_ascii().to_string()).collect();
    packets.join(" | ")
}
