//! Many clients that ask for the same answer while it is being made cost the server one statement.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use freshet_tests::cached::{
    Answer, Counted, answer, caught_up, connect, eventually, eventually_of, fresh_schema, run, status,
    user_of,
};
use freshet_tests::raw::Raw;
use freshet_tests::{Flavor, Freshet, Server, Target, ruled, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

const CLIENTS: u64 = 24;
/// Where connections are shared, so many may ask at once.
const AT_ONCE_MAX: u64 = 8;
const READ: &str = "SELECT SUM(v) FROM t WHERE id > 0";
/// As long as this a statement takes that is known to be slow.
const SLOW: Duration = Duration::from_millis(60);

/// What takes longer than this takes too long for the server.
const TOO_LONG: Duration = Duration::from_secs(6);

struct Stage<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    schema: &'a str,
    /// Straight to the server: it holds the table, so that whoever reads it waits.
    holder: Conn,
    /// So many of the reads may be with the server: some are carried, where connections are shared, before it is known that they wait.
    at_once_max: u64,
}

impl Stage<'_> {
    fn connect(&self) -> Conn {
        connect(self.freshet.target(), self.schema)
    }

    fn count(&self, name: &str) -> u64 {
        status(&mut self.freshet.target().connect(), name)
    }

    /// Holds the table. Tells how many have waited for others by then.
    fn hold(&mut self) -> u64 {
        // Where a test fails, the server ends this for want of a command, and nobody waits for ever.
        run(&mut self.holder, &["SET SESSION wait_timeout = 30", "LOCK TABLES t WRITE"]);
        self.count("Freshet_coalesced")
    }

    fn release(&mut self) {
        run(&mut self.holder, &["UNLOCK TABLES"]);
    }

    /// How many statements wait for the table in the server.
    fn waiting(&self) -> u64 {
        let mut look = self.server.target.connect();
        let waiting = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST
             WHERE DB = '{}' AND STATE LIKE 'Waiting for table%' AND INFO LIKE '%SUM%'",
            self.schema
        );
        look.query_first(waiting).expect("the list of clients").expect("a count")
    }

    /// What the sessions do, how long they have done it (in whole seconds) and how many are alike, with what the server does and what waits
    /// on lanes.
    fn sessions(&self) -> String {
        let mut freshet = self.freshet.target().connect();
        type Shown = (Option<u64>, u64, u64, Option<String>, Option<String>);
        let shown: Vec<Shown> = freshet
            .query("SELECT server_id, is_busy, silent_ms, statement, holds FROM freshet.sessions")
            .expect("the list of sessions");
        let mut alike = BTreeMap::<_, u64>::new();
        for (server_id, is_busy, silent_ms, statement, holds) in shown {
            *alike.entry((server_id.is_some(), is_busy, silent_ms / 1000, statement, holds)).or_default() +=
                1;
        }
        let lanes: Vec<(u64, u64, u64)> = freshet
            .query("SELECT server_id, carried, waiting FROM freshet.lanes")
            .expect("the list of lanes");
        let processes = format!(
            "SELECT COMMAND, STATE, INFO, COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}' GROUP BY 1, 2, 3",
            self.schema
        );
        let processes: Vec<(String, Option<String>, Option<String>, u64)> =
            self.server.target.connect().query(processes).expect("the server's list");
        format!("{alike:#?}; lanes: {lanes:?}; the server: {processes:#?}")
    }

    fn await_waiting(&self) {
        eventually("one waits for the table", || (self.waiting() == 1).then_some(()));
    }

    /// Waits until one statement is with the server, or as many as may be, and so many others wait for its answer since `before`.
    fn await_followers(&self, before: u64, followers: u64) {
        let wait = |stage: &mut &Self| (stage.count("Freshet_coalesced") - before, stage.waiting());
        let are_all = |(coalesced, waiting): (u64, u64)| {
            coalesced + self.at_once_max > followers
                && (1..=self.at_once_max).contains(&waiting)
                && coalesced + waiting > followers
        };
        eventually_of(
            "the others wait",
            &mut &*self,
            |stage| are_all(wait(stage)).then_some(()),
            |stage| format!("{:?} instead of ({followers}, 1)", wait(stage)),
        );
    }

    /// Has the read take so long that it is known to be slow at times, and nothing in memory.
    fn makes_slow(&mut self, direct: &mut Conn) {
        let mut reader = self.connect();
        assert!(answer(&mut reader, READ).is_ok());
        run(direct, &["UPDATE t SET v = v + 1"]);
        caught_up(self.freshet);
        self.hold();
        thread::scope(|scope| {
            let reading = scope.spawn(|| answer(&mut reader, READ));
            self.await_waiting();
            thread::sleep(SLOW);
            self.holder.query_drop("UNLOCK TABLES").expect("it is released");
            assert_eq!(reading.join().expect("it is answered"), sum());
        });
        run(direct, &["UPDATE t SET v = v + 1", "UPDATE t SET v = v - 1"]);
        user_of(direct, self.schema);
        caught_up(self.freshet);
        // Whoever asked before these changes are known to be visible would be outrun by them, and the next one would ask anew.
        let target = self.freshet.target();
        let account = Target { user: self.schema.to_owned(), password: String::new(), ..target.clone() };
        for target in [target, &account] {
            let mut conn = connect(target, self.schema);
            let _ = Counted::of(self.freshet).prime(&mut conn, "SELECT MAX(v) FROM t");
        }
    }

    /// How many connections the account of the clients has at the server.
    fn connections(&self) -> u64 {
        let counts =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{}'", self.schema);
        self.server.target.connect().query_first(counts).expect("the list of clients").expect("a count")
    }

    /// How many reads of the table the server carries out.
    fn running(&self) -> u64 {
        let running = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}' AND INFO LIKE 'SELECT SUM%'",
            self.schema
        );
        self.server.target.connect().query_first(running).expect("the list of clients").expect("a count")
    }

    /// How often the server has carried such a read out.
    fn carried_out(&self) -> u64 {
        let counts = format!(
            "SELECT executions, hits FROM freshet.queries WHERE schema_name = '{}' AND digest_text LIKE 'SELECT SUM%'",
            self.schema
        );
        let counts: Vec<(u64, u64)> =
            self.freshet.target().connect().query(counts).expect("the list of queries");
        counts.into_iter().map(|(executions, hits)| executions - hits).sum()
    }

    /// Has clients ask before and after each of three writes, each of which outruns a question: that of one client, that of another one, and the
    /// one that all others wait for. `ask` tells how many writes a client sees.
    fn ask_while_written(&self, writer: &mut Conn, writes: [&str; 3], ask: impl Fn(&mut Conn) -> u64 + Sync) {
        let mut clients: Vec<Conn> = (0..CLIENTS + 2).map(|_| self.connect()).collect();
        let (carried_out, coalesced) = (self.carried_out(), self.count("Freshet_coalesced"));
        let ask = &ask;
        let waited = || self.count("Freshet_coalesced") - coalesced;
        thread::scope(|scope| {
            let asks = |mut conn: Conn| scope.spawn(move || ask(&mut conn));
            let first = clients.pop().map(asks).expect("a client");
            eventually("the first asks", || (self.running() == 1).then_some(()));
            run(writer, &writes[..1]);
            caught_up(self.freshet);
            let second = clients.pop().map(asks).expect("a client");
            eventually("the second asks", || (self.running() == 2).then_some(()));
            run(writer, &writes[1..2]);
            caught_up(self.freshet);
            let others: Vec<_> = clients.into_iter().map(asks).collect();
            eventually("the others wait", || (waited() == CLIENTS).then_some(()));
            assert_eq!(
                self.running(),
                2,
                "the two still ask, or else this machine is too fast for so few rows"
            );
            eventually("one of the others asks", || (waited() == 2 * CLIENTS - 1).then_some(()));
            eventually("its question is with the server", || (self.running() > 0).then_some(()));
            run(writer, &writes[2..]);
            assert!((1..=2).contains(&self.running()), "it still asks, and at most one more");
            assert!(first.join().expect("it is answered") <= 1);
            assert!((1..=2).contains(&second.join().expect("it is answered")));
            for client in others {
                assert!((2..=3).contains(&client.join().expect("it is answered")));
            }
        });
        assert_eq!(self.carried_out() - carried_out, 3);
    }

    /// Has many clients ask while the table is held, does something when all wait, and tells their answers.
    fn ask_together(
        &mut self,
        target: &Target,
        ask: impl Fn(&mut Conn) -> Answer + Sync,
        then: impl FnOnce(&mut Self),
    ) -> Vec<Answer> {
        let before = self.hold();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let mut conn = connect(target, self.schema);
                    let ask = &ask;
                    scope.spawn(move || ask(&mut conn))
                })
                .collect();
            self.await_followers(before, CLIENTS - 1);
            then(self);
            clients.into_iter().map(|client| client.join().expect("it is answered")).collect()
        })
    }
}

/// Before each server, a table whose reads are known to be slow at times.
fn with_stages(schema: &str, test: impl Fn(&mut Stage<'_>)) {
    // What is carried with the reads of others waits behind these, and only then for its like.
    with_stages_of(schema, &["--multiplexing", "off"], test);
}

/// The same before a Freshet with these flags.
fn with_stages_of(schema: &str, flags: &[&str], test: impl Fn(&mut Stage<'_>)) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let freshet = &Freshet::with(server, flags);
        let mut direct = fresh_schema(server, schema);
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10), (2, 20)"],
        );
        caught_up(freshet);
        let at_once_max = if flags.is_empty() { AT_ONCE_MAX } else { 1 };
        let holder = connect(&server.target, schema);
        let mut stage = Stage { server, freshet, schema, holder, at_once_max };
        stage.makes_slow(&mut direct);
        test(&mut stage);
    });
}

fn sum() -> Answer {
    Ok(vec![vec!["32".into()]])
}

#[test]
fn one_asks_and_all_are_answered() {
    with_stages("coalescing_one", |stage| {
        for prepares in [false, true] {
            let (hits, stored) = (stage.count("Qcache_hits"), stage.count("Qcache_inserts"));
            let ask = |conn: &mut Conn| match prepares {
                false => answer(conn, READ),
                true => {
                    let rows: Vec<(String,)> = conn.exec(READ, ()).expect("it is answered");
                    Ok(rows.into_iter().map(|(sum,)| vec![sum]).collect())
                }
            };
            let answers = stage.ask_together(stage.freshet.target(), ask, Stage::release);
            assert!(answers.iter().all(|answer| *answer == sum()), "{answers:?}");
            assert_eq!(stage.count("Qcache_hits") - hits, CLIENTS - 1, "prepared: {prepares}");
            assert_eq!(stage.count("Qcache_inserts") - stored, 1, "prepared: {prepares}");
        }
    });
}

/// As it is without settings.
#[test]
fn one_asks_and_all_are_answered_where_connections_are_shared() {
    with_stages_of("coalescing_shared", &[], |stage| {
        let (hits, stored) = (stage.count("Qcache_hits"), stage.count("Qcache_inserts"));
        let ask = |conn: &mut Conn| answer(conn, READ);
        let answers = stage.ask_together(stage.freshet.target(), ask, Stage::release);
        assert!(answers.iter().all(|answer| *answer == sum()), "{answers:?}");
        let (hits, stored) = (stage.count("Qcache_hits") - hits, stage.count("Qcache_inserts") - stored);
        assert!(hits >= CLIENTS - AT_ONCE_MAX && stored >= 1, "{hits} hits, {stored} stored");
    });
}

#[test]
fn five_hundred_cost_the_server_one_statement() {
    const CROWD: u64 = 500;
    const FEW: u64 = 50;
    for (schema, flags) in
        [("coalescing_crowd", &["--multiplexing", "off"][..]), ("coalescing_crowd_shared", &[])]
    {
        with_stages_of(schema, flags, |stage| {
            let target = stage.freshet.target();
            let client = || {
                let mut raw = Raw::dial(&target.host, target.port).expect("it listens");
                raw.login(schema, schema, 0).expect("it is let in");
                raw
            };
            // By then it is known how such clients begin. It is trusted for ten seconds, and five hundred logins may take longer.
            let begin = || {
                let mut first = client();
                for _ in 0..2 {
                    first.send(3, b"SELECT MAX(v) FROM t").expect("it is sent");
                    first.answer().expect("it is answered");
                }
                first
            };
            let _first = begin();
            let mut clients: Vec<Raw> = (0..CROWD).map(|_| client()).collect();
            let _again = begin();
            let (carried_out, before, connected) = (stage.carried_out(), stage.hold(), stage.connections());
            for client in &mut clients {
                client.send(3, READ.as_bytes()).expect("it is sent");
            }
            // A machine that is busy lets some of them ask late, or twice where the first answer was outrun.
            let (mut now, mut at_server) = (0, 0);
            eventually_of(
                "nearly all wait for one of them",
                stage,
                |stage| {
                    (now, at_server) = (stage.count("Freshet_coalesced") - before, stage.waiting());
                    (now >= CROWD - FEW && (1..=AT_ONCE_MAX).contains(&at_server)).then_some(())
                },
                |stage| {
                    let (coalesced, waiting) = (stage.count("Freshet_coalesced") - before, stage.waiting());
                    let sessions = stage.sessions();
                    format!("{coalesced} wait, {waiting} are at the server; all sessions: {sessions}")
                },
            );
            // Those whose login was made at the server may have one since then.
            let opened = stage.connections().saturating_sub(connected);
            assert!(
                opened <= FEW + AT_ONCE_MAX,
                "{opened} connections with {flags:?}, after {connected}: who waits needs none: {}",
                stage.sessions()
            );
            stage.release();
            for client in &mut clients {
                let packets = client.answer().expect("it is answered");
                assert!(packets.iter().any(|packet| packet.ends_with(b"32")), "{packets:?}");
            }
            // From memory, or with a copy of what another one was answered.
            let carried_out = stage.carried_out() - carried_out;
            assert!(
                carried_out <= FEW + AT_ONCE_MAX,
                "{carried_out} were carried out with {flags:?}: {now} waited for {at_server}"
            );
        });
    }
}

#[test]
fn what_takes_too_long_fails_for_all_and_is_told_of_as_the_server_does() {
    with_stages("coalescing_refused", |stage| {
        let schema = stage.schema;
        let (limit, read, code) = match stage.server.flavor {
            Flavor::MySql => {
                ("ACCOUNT UNLOCK", "SELECT /*+ MAX_EXECUTION_TIME(6000) */ SUM(v) FROM t WHERE id > 0", 3024)
            }
            Flavor::MariaDb => ("WITH MAX_STATEMENT_TIME 6", READ, 1969),
        };
        run(&mut stage.server.target.connect(), &[&format!("ALTER USER {schema} {limit}")]);
        caught_up(stage.freshet);
        let began = Instant::now();
        let ask = |conn: &mut Conn| {
            let refused = answer(conn, read);
            assert!(began.elapsed() < 2 * TOO_LONG, "it has waited for another one, and nothing more");
            assert_eq!(answer(conn, "SHOW COUNT(*) ERRORS"), Ok(vec![vec!["1".into()]]));
            refused
        };
        let target =
            Target { user: schema.into(), password: String::new(), ..stage.freshet.target().clone() };
        let answers = stage.ask_together(&target, ask, |_| {});
        assert!(answers.iter().all(|answer| *answer == Err(code)), "{answers:?}");
        stage.release();
    });
}

#[test]
fn what_is_refused_otherwise_is_refused_to_each() {
    with_stages("coalescing_dropped", |stage| {
        let drop_it = |stage: &mut Stage<'_>| run(&mut stage.holder, &["DROP TABLE t", "UNLOCK TABLES"]);
        let answers = stage.ask_together(stage.freshet.target(), |conn| answer(conn, READ), drop_it);
        assert!(answers.iter().all(|answer| *answer == Err(1146)), "{answers:?}");
    });
}

#[test]
fn whoever_is_killed_fails_alone() {
    with_stages("coalescing_killed", |stage| {
        let before = stage.hold();
        let mut clients: Vec<Conn> = (0..4).map(|_| stage.connect()).collect();
        let ids: Vec<u32> = clients.iter().map(Conn::connection_id).collect();
        let (told, tells) = mpsc::channel();
        thread::scope(|scope| {
            for (at, mut conn) in clients.drain(..).enumerate() {
                let told = told.clone();
                scope.spawn(move || told.send((at, answer(&mut conn, READ))).expect("it is heard"));
                // The first one asks.
                stage.await_followers(before, at as u64);
            }
            let mut killer = stage.freshet.target().connect();
            for at in [2, 0] {
                run(&mut killer, &[&format!("KILL QUERY {}", ids[at])]);
                assert_eq!(tells.recv(), Ok((at, Err(1317))));
                // Whoever asks now is one of the others.
                stage.await_waiting();
            }
            stage.release();
            for _ in 0..2 {
                assert_eq!(tells.recv().map(|(_, answer)| answer), Ok(sum()));
            }
        });
    });
}

#[test]
fn whoever_leaves_leaves_the_others_their_answer() {
    let schema = "coalescing_left";
    with_stages(schema, |stage| {
        let before = stage.hold();
        let target = stage.freshet.target();
        let mut clients: Vec<Raw> = (0..4)
            .map(|at| {
                let mut raw = Raw::dial(&target.host, target.port).expect("it listens");
                raw.login(schema, schema, 0).expect("it is let in");
                raw.send(3, READ.as_bytes()).expect("it is sent");
                stage.await_followers(before, at);
                raw
            })
            .collect();
        for at in [2, 0] {
            clients.remove(at).stream().shutdown(Shutdown::Both).expect("it leaves");
            stage.await_waiting();
        }
        stage.release();
        for mut client in clients {
            let packets = client.answer().expect("it is answered");
            assert!(packets.iter().any(|packet| packet.ends_with(b"32")), "{packets:?}");
        }
    });
}

#[test]
fn a_transaction_asks_for_itself() {
    with_stages("coalescing_transaction", |stage| {
        let before = stage.hold();
        let mut clients: Vec<Conn> = (0..2).map(|_| stage.connect()).collect();
        run(&mut clients[0], &["BEGIN"]);
        thread::scope(|scope| {
            let asking: Vec<_> =
                clients.iter_mut().map(|conn| scope.spawn(move || answer(conn, READ))).collect();
            eventually("both are with the server", || (stage.waiting() == 2).then_some(()));
            stage.release();
            assert!(asking.into_iter().all(|client| client.join().expect("it is answered") == sum()));
        });
        assert_eq!(stage.count("Freshet_coalesced"), before);
    });
}

/// An answer that a change has outrun is waited for by nobody who asks after the change.
#[test]
fn who_asks_after_a_change_asks_anew_and_the_next_one_waits_for_that() {
    with_stages("coalescing_outrun", |stage| {
        let before = stage.hold();
        let changed = Ok(vec![vec!["33".into()]]);
        thread::scope(|scope| {
            let ask = |stage: &Stage<'_>| {
                let mut conn = stage.connect();
                scope.spawn(move || answer(&mut conn, READ))
            };
            let first = ask(stage);
            stage.await_waiting();
            run(&mut stage.holder, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
            caught_up(stage.freshet);
            let second = ask(stage);
            eventually("the second is with the server too", || (stage.waiting() == 2).then_some(()));
            let third = ask(stage);
            eventually("the third waits", || (stage.count("Freshet_coalesced") - before == 1).then_some(()));
            assert_eq!(stage.waiting(), 2);
            stage.release();
            for client in [first, second, third] {
                assert_eq!(client.join().expect("it is answered"), changed);
            }
        });
    });
}

fn sum_by(mut conn: Conn, prepares: bool) -> Option<u64> {
    let sum = if prepares { conn.exec_first(READ, ()) } else { conn.query_first(READ) };
    sum.expect("it is answered")
}

#[test]
fn who_asked_before_a_change_need_not_ask_after_it() {
    const OTHERS: u64 = 6;
    with_stages("coalescing_before", |stage| {
        for (round, changed) in [33, 34].into_iter().enumerate() {
            let prepares = round == 1;
            let (before, carried_out) = (stage.hold(), stage.carried_out());
            thread::scope(|scope| {
                let ask = |stage: &Stage<'_>| {
                    let conn = stage.connect();
                    scope.spawn(move || sum_by(conn, prepares))
                };
                let mut clients = vec![ask(stage)];
                stage.await_waiting();
                clients.extend((0..OTHERS).map(|_| ask(stage)));
                let coalesced = |stage: &Stage<'_>| stage.count("Freshet_coalesced") - before;
                eventually("the others wait", || (coalesced(stage) == OTHERS).then_some(()));
                run(&mut stage.holder, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
                caught_up(stage.freshet);
                stage.release();
                for client in clients {
                    assert_eq!(client.join().expect("it is answered"), Some(changed));
                }
                assert_eq!(coalesced(stage), OTHERS, "nobody waits twice");
            });
            assert_eq!(stage.carried_out() - carried_out, 1, "prepared: {prepares}");
        }
    });
}

/// An answer that came too late for its query rule serves nobody but who asked: the others ask anew.
#[test]
fn an_answer_that_expires_while_it_is_made_serves_nobody_who_waits_for_it() {
    // What is asked anew is over soon, too.
    const TTL: Duration = Duration::from_millis(1);
    let tables = ["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10), (2, 20)"];
    ruled::with_each("coalescing", &tables, |bench| {
        let rule = "(rule_id,active,match_digest,cache_ttl,apply) VALUES (1,1,'SUM',";
        bench.load(&[&format!("{rule}{},1)", TTL.as_millis())]);
        let holder = connect(&bench.server.target, &bench.schema);
        let (server, schema) = (bench.server.clone(), bench.schema.clone());
        let at_once_max = AT_ONCE_MAX;
        let mut stage =
            Stage { server: &server, freshet: &bench.freshet, schema: &schema, holder, at_once_max };
        stage.makes_slow(&mut bench.direct);
        let hits = stage.count("Qcache_hits");
        let target = stage.freshet.target();
        let late = |stage: &mut Stage<'_>| {
            thread::sleep(100 * TTL);
            run(&mut stage.holder, &["UPDATE t SET v = v + 1 WHERE id = 1", "UNLOCK TABLES"]);
        };
        let answers = stage.ask_together(target, |conn| answer(conn, READ), late);
        let changed = Ok(vec![vec!["33".into()]]);
        assert!(answers.iter().all(|answer| *answer == changed), "{answers:?}");
        // Somebody has asked anew, and few may have had that answer.
        let hits = stage.count("Qcache_hits") - hits;
        assert!(hits < CLIENTS / 2, "{hits} of {CLIENTS} were given what had expired");
        // The rule is all that was in the way.
        bench.load(&[&format!("{rule}600000,1)")]);
        bench.hits.prime(&mut bench.client(), READ).expect("it is answered");
    });
}

/// A read of a table that is written all the time: no answer may be stored, and the answer to a question that was begun before a write was
/// acknowledged is nobody's who asks after that.
#[test]
fn what_is_never_stored_is_asked_for_all_who_came_before_the_question() {
    const READ: &str = "SELECT SUM(a.v) FROM t a, t b, t c WHERE a.id + b.id + c.id > 0";
    /// The read takes one or two seconds by so many rows, and shows the square of that for each row that is 1.
    const ROWS: u64 = 240;
    const WRITE: [&str; 3] = [
        "UPDATE t SET v = 1 WHERE id = 1",
        "UPDATE t SET v = 1 WHERE id = 2",
        "UPDATE t SET v = 1 WHERE id = 3",
    ];
    let ask = |conn: &mut Conn, prepares| -> u64 {
        let sum: Option<u64> = if prepares { conn.exec_first(READ, ()) } else { conn.query_first(READ) }
            .expect("it is answered");
        sum.expect("a sum") / (ROWS * ROWS)
    };
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let freshet = &Freshet::with(server, &[]);
        let mut direct = fresh_schema(server, "coalescing_written");
        let rows: Vec<_> = (1..=ROWS).map(|id| format!("({id}, 0)")).collect();
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)"]);
        run(&mut direct, &[&format!("INSERT INTO t VALUES {}", rows.join(", "))]);
        let holder = connect(&server.target, "coalescing_written");
        let stage = Stage { server, freshet, schema: "coalescing_written", holder, at_once_max: AT_ONCE_MAX };
        let mut writer = stage.connect();
        for prepares in [false, true] {
            run(&mut direct, &["UPDATE t SET v = 0"]);
            caught_up(freshet);
            stage.ask_while_written(&mut writer, WRITE, |conn| ask(conn, prepares));
        }
    });
}
