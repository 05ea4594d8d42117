//! What each level of `freshness` promises, also while the binlog stream is held up, and what it does not.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use freshet_tests::cached::{Answer, Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::stall::Stall;
use freshet_tests::{Flavor, Freshet, Server, server, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const READ: &str = "SELECT v FROM t WHERE id = 1";
const TABLE: [&str; 2] = ["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,0),(2,0)"];

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

/// Every server, with a table and a Freshet that is reached through a stream that can be held up. A held stream counts as
/// live here for long, so that it is the levels that decide and not the heartbeats.
pub fn with_stall(schema: &str, flags: &[&str], test: impl Fn(&Server, &Freshet, &Stall, Conn)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in server::all() {
        let mut direct = fresh_schema(&server, schema);
        run(&mut direct, &TABLE);
        let stall = Stall::before(&server);
        let way = Server { url: stall.url.clone(), ..server.clone() };
        let freshet = Freshet::with(&way, &[&["--heartbeat", "10s"], flags].concat());
        test(&server, &freshet, &stall, direct);
        stall.release();
        freshet.stop();
    }
}

fn session(freshet: &Freshet, schema: &str, level: &str) -> Conn {
    let mut conn = connect(freshet.target(), schema);
    run(&mut conn, &[&format!("SET SESSION freshness = '{level}'")]);
    conn
}

fn shown(conn: &mut Conn, name: &str) -> String {
    let rows = answer(conn, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("it is shown");
    rows[0][1].clone()
}

#[test]
fn the_level_and_its_bound_are_variables() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let _ = fresh_schema(server, "levels_vars");
        let mut conn = connect(freshet.target(), "levels_vars");
        let mut other = connect(freshet.target(), "levels_vars");
        assert_eq!(
            answer(&mut conn, "SELECT @@freshness, @@max_staleness"),
            Ok(vec![vec!["strict".into(), "10000".into()]])
        );
        for (set, level) in [
            ("SET freshness = session", "session"),
            ("SET SESSION freshness = 'EVENTUAL'", "eventual"),
            ("SET @@local.freshness := 0", "strict"),
            ("SET @@session.freshness = 2, max_staleness = 500", "eventual"),
        ] {
            run(&mut conn, &[set]);
            assert_eq!(answer(&mut conn, "SELECT @@session.freshness"), one(level), "{set}");
        }
        assert_eq!(answer(&mut conn, "SELECT @@max_staleness"), one("500"));
        assert_eq!(answer(&mut other, "SELECT @@freshness"), one("strict"));
        for (set, code) in [
            ("SET freshness = 'linear'", 1231),
            ("SET freshness = 4", 1231),
            ("SET freshness = NULL", 1231),
            ("SET max_staleness = 'long'", 1232),
        ] {
            assert_eq!(answer(&mut conn, set), Err(code), "{set}");
        }
        assert_eq!(answer(&mut conn, "SELECT @@freshness"), one("eventual"));
        for (given, taken) in [("3", "10"), ("-1", "10"), ("86400001", "86400000"), ("20", "20")] {
            run(&mut conn, &[&format!("SET max_staleness = {given}")]);
            let warned = given != taken;
            let warnings = answer(&mut conn, "SHOW WARNINGS").unwrap();
            assert_eq!(warnings.first().map(|row| row[1].as_str()), warned.then_some("1292"), "{given}");
            assert_eq!(answer(&mut conn, "SELECT @@max_staleness"), one(taken));
        }
        run(&mut conn, &["SET GLOBAL freshness = session, GLOBAL max_staleness = 700"]);
        assert_eq!(
            answer(&mut other, "SELECT @@freshness, @@max_staleness"),
            Ok(vec![vec!["session".into(), "700".into()]])
        );
        run(&mut conn, &["SET freshness = DEFAULT, max_staleness = DEFAULT"]);
        assert_eq!(
            answer(&mut conn, "SELECT @@freshness, @@max_staleness"),
            Ok(vec![vec!["session".into(), "700".into()]])
        );
        run(&mut conn, &["SET GLOBAL freshness = DEFAULT, GLOBAL max_staleness = DEFAULT"]);
        assert_eq!(answer(&mut conn, "SELECT @@global.freshness"), one("strict"));
        let listed = answer(&mut conn, "SHOW VARIABLES LIKE 'max_staleness'");
        assert_eq!(listed, Ok(vec![vec!["max_staleness".into(), "10000".into()]]));
    });
}

/// Hits of five readings each, while a write through Freshet has been sent and not answered, which holds its fence up: of
/// a strict session, one of level `session`, an `eventual` one, and of the second again after it has asked the server.
fn hits_under_a_fence(freshet: &Freshet, direct: &mut Conn, value: u32) -> [u64; 4] {
    let [mut strict, mut own, mut eventual] =
        ["strict", "session", "eventual"].map(|level| session(freshet, "levels_fence", level));
    let mut counted = Counted::of(freshet);
    for reader in [&mut strict, &mut own, &mut eventual] {
        counted.prime(reader, READ).expect("it is answered");
    }
    run(direct, &["START TRANSACTION", "SELECT v FROM t WHERE id = 1 FOR UPDATE"]);
    let mut writer = connect(freshet.target(), "levels_fence");
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        run(&mut writer, &[&format!("UPDATE t SET v = {value} WHERE id = 1")]);
        let _ = done.send(());
    });
    eventually("the fence", || (counted.hits_of(&mut strict, READ, 1) == 0).then_some(()));
    let [of_strict, of_own, of_eventual] =
        [&mut strict, &mut own, &mut eventual].map(|reader| counted.hits_of(reader, READ, 5));
    // What the server shows it now could be the write under way, for all that anyone knows.
    let _ = answer(&mut own, "SELECT RAND()");
    let of_own_later = counted.hits_of(&mut own, READ, 5);
    run(direct, &["ROLLBACK"]);
    is_done.recv_timeout(Duration::from_secs(20)).expect("the write goes on");
    let new = one(&value.to_string());
    assert_eq!(answer(&mut strict, READ), new);
    assert_eq!(answer(&mut own, READ), new, "it has read it under the fence, or may have");
    eventually("the new value", || (answer(&mut eventual, READ) == new).then_some(()));
    [of_strict, of_own, of_eventual, of_own_later]
}

#[test]
fn a_write_under_way_bars_strict_readers_alone() {
    with_stall("levels_fence", &[], |_, freshet, _, mut direct| {
        caught_up(freshet);
        let hits = hits_under_a_fence(freshet, &mut direct, 1);
        assert_eq!(
            hits,
            [0, 5, 5, 0],
            "hits past a fence, but for who is strict or has asked the server since"
        );
    });
}

/// The stream is held up: what is written is not applied, through us or around.
#[test]
fn each_level_keeps_its_promise_while_the_stream_lags() {
    const STALENESS: Duration = Duration::from_millis(400);
    with_stall("levels_lag", &[], |server, freshet, stall, mut direct| {
        let flavor = server.flavor;
        let [mut strict, mut own, mut other, mut eventual] =
            ["strict", "session", "session", "eventual"].map(|level| session(freshet, "levels_lag", level));
        run(&mut eventual, &["SET SESSION max_staleness = 400"]);
        let mut counted = Counted::of(freshet);
        for reader in [&mut strict, &mut own, &mut other, &mut eventual] {
            assert_eq!(counted.prime(reader, READ), one("0"));
        }
        stall.hold();
        run(&mut own, &["UPDATE t SET v = 1 WHERE id = 1"]);
        // What was proven before the write may have been proven after the stream was held up.
        let written = Instant::now();
        // The fence stands until the write is applied.
        assert_eq!(answer(&mut strict, READ), one("1"), "{flavor:?}");
        assert_eq!(answer(&mut own, READ), one("1"), "{flavor:?}: its own write");
        assert_eq!(answer(&mut other, READ), one("0"), "{flavor:?}: it has seen nothing yet");
        assert_eq!(answer(&mut other, &format!("{READ} AND RAND() >= 0")), one("1"));
        assert_eq!(answer(&mut other, READ), one("1"), "{flavor:?}: it would go back in time");
        while written.elapsed() < STALENESS {
            let _ = answer(&mut eventual, READ);
        }
        assert_eq!(answer(&mut eventual, READ), one("1"), "{flavor:?}: older than max_staleness");
        let refused: u64 = shown(&mut eventual, "Freshet_not_proven").parse().unwrap();
        assert!(refused > 0, "{flavor:?}");
        run(&mut direct, &["UPDATE t SET v = 2 WHERE id = 1"]);
        assert_eq!(answer(&mut eventual, READ), one("2"), "{flavor:?}");
        stall.release();
        for reader in [&mut strict, &mut own, &mut other, &mut eventual] {
            assert_eq!(counted.prime(reader, READ), one("2"), "{flavor:?}");
        }
    });
}

/// Whatever the level: what went around Freshet is not lacking for longer than `max_staleness`, although the stream looks
/// live.
#[test]
fn a_stream_that_lags_for_longer_than_max_staleness_answers_nothing() {
    with_stall("levels_bound", &[], |server, freshet, stall, mut direct| {
        let flavor = server.flavor;
        let mut sessions =
            ["strict", "session", "eventual"].map(|level| session(freshet, "levels_bound", level));
        let mut counted = Counted::of(freshet);
        for reader in &mut sessions {
            run(reader, &["SET SESSION max_staleness = 300"]);
            assert_eq!(counted.prime(reader, READ), one("0"));
        }
        stall.hold();
        run(&mut direct, &["UPDATE t SET v = 1 WHERE id = 1"]);
        thread::sleep(Duration::from_millis(310));
        for reader in &mut sessions {
            assert_eq!(answer(reader, READ), one("1"), "{flavor:?}");
        }
        stall.release();
        for reader in &mut sessions {
            eventually("hits again", || {
                (answer(reader, READ) == one("1") && counted.hits_of(reader, READ, 1) == 1).then_some(())
            });
        }
    });
}

/// A row goes around Freshet and comes back through it, with another value, while nobody has heard of the first. Who asks
/// for the old value lacks only what went around; whatever the insert concerns shows it.
#[test]
fn a_write_through_shows_wherever_it_concerns_an_answer_though_one_around_is_late() {
    with_stall("levels_hidden", &[], |server, freshet, stall, mut direct| {
        let flavor = server.flavor;
        run(&mut direct, &["ALTER TABLE t ADD KEY (v)", "INSERT INTO t VALUES (7,3)"]);
        let mut reader = session(freshet, "levels_hidden", "strict");
        let mut counted = Counted::of(freshet);
        let [by_old, by_new, by_id, all] = ["v = 3", "v = 5", "id = 7", "id < 9"]
            .map(|condition| format!("SELECT id, v FROM t WHERE {condition} ORDER BY id"));
        for read in [&by_old, &by_new, &by_id, &all] {
            counted.prime(&mut reader, read).expect("it is answered");
        }
        // The second is made by the statement, so that it is not known which row it is.
        for (id, value) in [("7", "5"), ("6 + 1", "4")] {
            stall.hold();
            run(&mut direct, &["DELETE FROM t WHERE id = 7"]);
            run(&mut reader, &[&format!("INSERT INTO t VALUES ({id},{value})")]);
            let row = |value: &str| vec!["7".to_owned(), value.to_owned()];
            assert_eq!(answer(&mut reader, &by_id), Ok(vec![row(value)]), "{flavor:?}: {id}");
            let found = answer(&mut reader, &by_new).expect("it is answered");
            assert_eq!(found.contains(&row("5")), value == "5", "{flavor:?}: {id}");
            assert_eq!(answer(&mut reader, &all).unwrap().last(), Some(&row(value)), "{flavor:?}");
            let late = answer(&mut reader, &by_old).expect("it is answered");
            assert!(late.is_empty() || late == [row("3")], "{flavor:?}: {late:?}");
            println!("{flavor:?}: the row that went around, asked for by its old value: {late:?}");
            stall.release();
            eventually("what went around", || (answer(&mut reader, &by_old) == Ok(vec![])).then_some(()));
            eventually("it is answered from memory", || {
                (counted.hits_of(&mut reader, &by_id, 1) == 1).then_some(())
            });
        }
    });
}

/// The number of a new row is not known before the server gives it. Who has asked for it in vain asks the server again; what
/// shows other rows goes on being answered from memory. Unless the session says which number it is.
#[test]
fn a_row_that_the_server_numbers_shows_at_once() {
    const TABLE: &str = "CREATE TABLE ai (id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=InnoDB";
    with_stall("levels_numbered", &[], |server, freshet, stall, mut direct| {
        let flavor = server.flavor;
        run(&mut direct, &[TABLE, "INSERT INTO ai VALUES (1, 10)"]);
        let mut reader = session(freshet, "levels_numbered", "strict");
        let mut writer = session(freshet, "levels_numbered", "strict");
        let mut counted = Counted::of(freshet);
        let read = |id: u32| format!("SELECT v FROM ai WHERE id = {id}");
        // A first reading may be kept by the whole table, before the table's rows can be told apart.
        let mut other = 0;
        eventually("all of them rest on their rows alone", || {
            other -= 1;
            let all = [1, 2, 3].map(read);
            all.iter().for_each(|read| drop(counted.prime(&mut reader, read)));
            run(&mut direct, &[&format!("INSERT INTO ai VALUES ({other}, 0)")]);
            let inserted = format!("SELECT v FROM ai WHERE id = {other}");
            eventually("another row", || (answer(&mut reader, &inserted) != Ok(vec![])).then_some(()));
            all.iter().all(|read| counted.hits_of(&mut reader, read, 1) == 1).then_some(())
        });
        // MariaDB makes one row of none for it, and MySQL refuses it.
        const GROUPED: &str = "SELECT v FROM ai WHERE id = 2 ORDER BY COUNT(*)";
        if answer(&mut reader, GROUPED).is_ok() {
            let _ = counted.prime(&mut reader, GROUPED);
        }
        stall.hold();
        run(&mut writer, &["INSERT INTO ai (v) VALUES (20)"]);
        assert_eq!(answer(&mut reader, GROUPED), answer(&mut direct, GROUPED), "{flavor:?}");
        assert_eq!(answer(&mut reader, &read(2)), Ok(vec![vec!["20".to_owned()]]), "{flavor:?}");
        assert_eq!(counted.hits_of(&mut reader, &read(1), 1), 1, "{flavor:?}: it is not the row that is new");
        stall.release();
        eventually("it is applied", || (counted.hits_of(&mut reader, &read(2), 1) == 1).then_some(()));
        stall.hold();
        run(&mut direct, &["DELETE FROM ai WHERE id = 1"]);
        run(&mut writer, &["SET insert_id = 1", "INSERT INTO ai (v) VALUES (30)"]);
        assert_eq!(answer(&mut reader, &read(1)), Ok(vec![vec!["30".to_owned()]]), "{flavor:?}");
        stall.release();
    });
}

/// The server's own switches, put back when this is dropped.
struct Switches(Conn, Flavor);

impl Switches {
    const TIMEOUT: Duration = Duration::from_millis(2_000);

    fn set(&mut self, mariadb: &str, mysql: &str) {
        let statement = if self.1 == Flavor::MariaDb { mariadb } else { mysql };
        let _ = answer(&mut self.0, statement);
    }

    fn on(&mut self) {
        self.set("DO 0", "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
        self.set(
            "SET GLOBAL rpl_semi_sync_master_timeout = 2000, GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC', \
             GLOBAL rpl_semi_sync_master_enabled = ON",
            "SET GLOBAL rpl_semi_sync_source_timeout = 2000, GLOBAL rpl_semi_sync_source_enabled = ON",
        );
    }

    fn off(&mut self) {
        self.set(
            "SET GLOBAL rpl_semi_sync_master_enabled = OFF",
            "SET GLOBAL rpl_semi_sync_source_enabled = OFF",
        );
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        self.off();
        self.set(
            "SET GLOBAL rpl_semi_sync_master_timeout = DEFAULT",
            "UNINSTALL PLUGIN rpl_semi_sync_source",
        );
        self.set("SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_COMMIT'", "DO 0");
    }
}

/// Commits until they wait for us: a server that had fallen back comes back with one that is acknowledged.
fn until_it_waits(direct: &mut Conn, asks: &mut Conn) {
    eventually("commits that wait", || {
        run(direct, &["UPDATE t SET v = v + 1 WHERE id = 2"]);
        (shown(asks, "Freshet_semisync") == "on").then_some(())
    });
}

const ROUNDS: usize = 1_000;

/// A writer around Freshet, and a reader with the entry in memory right after the writer's OK: how often it was old, and
/// what a commit took, in microseconds, at the median and at the 99th percentile.
fn race(direct: &mut Conn, reader: &mut Conn, counted: &mut Counted) -> (usize, u128, u128) {
    let mut took = Vec::new();
    let mut old = 0;
    for round in 1..=ROUNDS {
        counted.prime(reader, READ).expect("it is answered");
        let started = Instant::now();
        direct.query_drop(format!("UPDATE t SET v = {round} WHERE id = 1")).expect("it is written");
        took.push(started.elapsed().as_micros());
        old += usize::from(answer(reader, READ) != one(&round.to_string()));
    }
    took.sort_unstable();
    (old, took[ROUNDS / 2], took[ROUNDS * 99 / 100])
}

#[test]
fn with_semisync_nobody_reads_what_a_writer_around_has_changed() {
    with_stall("levels_semi", &["--semisync", "on"], |server, freshet, stall, mut direct| {
        let flavor = server.flavor;
        let mut switches = Switches(server.target.connect(), flavor);
        switches.off();
        let mut strict = session(freshet, "levels_semi", "strict");
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "levels_semi");

        // Not set up: the level is taken with a warning that says what is missing, and answers nothing from memory.
        eventually("what is missing", || {
            let missing = shown(&mut strict, "Freshet_semisync");
            (missing.contains("INSTALL PLUGIN") || missing.contains("_enabled = ON")).then_some(())
        });
        run(&mut reader, &["SET SESSION freshness = 'semisync'"]);
        let warning = answer(&mut reader, "SHOW WARNINGS").unwrap();
        assert!(warning[0][2].contains("Nothing is answered from memory"), "{warning:?}");
        counted.prime(&mut strict, READ).unwrap();
        assert_eq!(counted.hits_of(&mut reader, READ, 5), 0, "{flavor:?}");

        // Strict promises nothing of writers around.
        let (old, median, p99) = race(&mut direct, &mut strict, &mut counted);
        println!("{flavor:?}: strict: {old} of {ROUNDS} old; a commit took {median} us, p99 {p99} us");

        switches.on();
        until_it_waits(&mut direct, &mut strict);
        let (old, median, p99) = race(&mut direct, &mut reader, &mut counted);
        println!("{flavor:?}: semisync: {old} of {ROUNDS} old; a commit took {median} us, p99 {p99} us");
        assert_eq!(old, 0, "{flavor:?}");

        // The stream stalls: the server waits for us until its patience ends, and by then nothing is served.
        counted.prime(&mut reader, READ).unwrap();
        stall.hold();
        let started = Instant::now();
        run(&mut direct, &["UPDATE t SET v = -1 WHERE id = 1"]);
        assert!(started.elapsed() > Switches::TIMEOUT / 2, "{flavor:?}: the commit has not waited");
        assert_eq!(answer(&mut reader, READ), one("-1"), "{flavor:?}");
        assert_eq!(counted.hits_of(&mut reader, READ, 5), 0, "{flavor:?}");
        eventually("the fallback", || {
            shown(&mut strict, "Freshet_semisync").contains("fallen back").then_some(())
        });
        stall.release();
        until_it_waits(&mut direct, &mut strict);
        assert_eq!(counted.prime(&mut reader, READ), one("-1"));
        // Before Freshet goes, so that nobody waits for one that is not there.
        switches.off();
        eventually("that it is off", || {
            shown(&mut strict, "Freshet_semisync").contains("is off at the server").then_some(())
        });
        assert_eq!(counted.hits_of(&mut reader, READ, 5), 0, "{flavor:?}");
    });
}
