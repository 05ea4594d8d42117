//! Reads of many clients are carried on one connection to the server. Nobody notices, but the server.

mod clock;
mod crowd;
mod given_up;
mod kept;
mod many;
mod newcomers;
mod numbers;
mod pool;
mod prepared;
mod resting;
mod setting;
mod transactions;
mod whole;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use freshet_tests::cached::{
    answer, connect, eventually, eventually_of, run, staged, status, try_answer, with_follower,
};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

/// A schema with two tables, and a Freshet before it that has met the reads.
fn stage(server: &Server, schema: &str, flags: &[&str]) -> (Conn, Freshet) {
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
        "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
        "INSERT INTO u VALUES (1, 100), (2, 200)",
    ];
    staged(server, schema, &tables, flags)
}

/// Before each server, a Freshet of its own with these flags, and a connection straight to the server.
fn with_stages(schema: &str, flags: &[&str], test: impl Fn(&Server, &mut Conn, &Freshet)) {
    with_each(|server, freshet| {
        if freshet.is_there() {
            let (mut direct, freshet) = stage(server, schema, flags);
            test(server, &mut direct, &freshet);
        }
    });
}

/// The same, where every read that may be carried is, and nothing is answered from memory.
fn with_lanes(schema: &str, test: impl Fn(&Server, &mut Conn, &Freshet)) {
    with_stages(schema, &["--multiplexing", "always"], |server, direct, freshet| {
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = OFF"]);
        test(server, direct, freshet);
    });
}

fn one(conn: &mut Conn, statement: &str) -> String {
    match answer(conn, statement) {
        Ok(rows) => rows.concat().join(","),
        Err(error) => format!("{error:?}"),
    }
}

fn carried(freshet: &Freshet) -> u64 {
    status(&mut freshet.target().connect(), "Freshet_carried")
}

/// A session that keeps its connection, which carries the reads of others.
fn lender(freshet: &Freshet, schema: &str) -> Conn {
    lender_of(freshet, freshet.target(), schema)
}

/// The same of another account.
fn lender_of(freshet: &Freshet, target: &Target, schema: &str) -> Conn {
    let mut lender = connect(target, schema);
    run(&mut lender, &["SET @own = 1"]);
    eventually("a read is carried", || {
        let before = carried(freshet);
        one(&mut lender, "SELECT v FROM t WHERE id = 1");
        (carried(freshet) > before).then_some(())
    });
    lender
}

#[test]
fn the_reads_of_many_are_carried() {
    let schema = "lanes_many";
    with_stages(schema, &["--multiplexing", "on"], |server, direct, freshet| {
        let read = |of: u32| {
            let mut conn = connect(freshet.target(), schema);
            for round in 0..400 {
                // Each is asked once, and none is in memory.
                let key = 1 + (of + round) % 3;
                let got = one(&mut conn, &format!("SELECT v, {of}, {round} FROM t WHERE id = {key}"));
                assert_eq!(got, format!("{},{of},{round}", 10 * key), "{:?}", server.flavor);
            }
        };
        eventually("reads are carried", || {
            thread::scope(|scope| {
                for of in 0..12 {
                    scope.spawn(move || read(of));
                }
            });
            (carried(freshet) > 100).then_some(())
        });
        // What was carried is in memory, and a write ends it.
        let mut reader = connect(freshet.target(), schema);
        let hits = |reader: &mut Conn| status(reader, "Qcache_hits");
        eventually("a hit", || {
            let before = hits(&mut reader);
            one(&mut reader, "SELECT v, 0, 399 FROM t WHERE id = 1");
            (hits(&mut reader) > before).then_some(())
        });
        run(direct, &["UPDATE t SET v = 11 WHERE id = 1"]);
        eventually("the write is seen", || {
            (one(&mut reader, "SELECT v, 0, 399 FROM t WHERE id = 1") == "11,0,399").then_some(())
        });
    });
}

/// Where so many read that one connection has always some waiting, a second one carries reads too, and no third.
#[test]
fn what_is_much_for_one_connection_is_carried_on_two() {
    let schema = "lanes_two";
    with_stages(schema, &["--threads", "1"], |_server, _direct, freshet| {
        let mut look = freshet.target().connect();
        let mut lanes =
            || -> Vec<u64> { look.query("SELECT carried FROM freshet.lanes").expect("it is computed") };
        let is_over = AtomicBool::new(false);
        let read = |of: usize| {
            let mut conn = connect(freshet.target(), schema);
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                assert_eq!(
                    one(&mut conn, &format!("SELECT v, {of}, {round} FROM t WHERE id = 1")),
                    format!("10,{of},{round}")
                );
            }
        };
        thread::scope(|scope| {
            for of in 0..40 {
                scope.spawn(move || read(of));
            }
            let seen = std::panic::catch_unwind(AssertUnwindSafe(|| {
                eventually("two lanes carry reads", || {
                    let carried = lanes();
                    assert!(carried.len() <= 2, "{carried:?}");
                    (carried.len() == 2 && carried.iter().all(|reads| *reads > 100)).then_some(())
                });
            }));
            is_over.store(true, Ordering::Relaxed);
            seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    });
}

/// An answer with the time in it is never stored, but it is nobody's own. What is a connection's own is asked for there.
#[test]
fn what_is_of_its_time_is_carried() {
    let schema = "lanes_of_their_time";
    with_lanes(schema, |server, direct, freshet| {
        run(direct, &[&format!("CREATE VIEW {schema}.w AS SELECT id, CONNECTION_ID() AS c FROM {schema}.t")]);
        let _lender = lender(freshet, schema);
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET GLOBAL query_cache_type = ON"]);
        let mut counted = |statement: &str| {
            one(&mut reader, statement);
            let before = carried(freshet);
            let got = one(&mut reader, statement);
            (got, carried(freshet) - before)
        };
        let of_their_time = [
            ("SELECT NOW() > '2020-01-01', CHAR_LENGTH(UUID()) FROM t WHERE id = 1", "1,36"),
            (
                "SELECT DATABASE() = 'lanes_of_their_time', CURRENT_DATE > '2020-01-01' FROM t WHERE id = 1",
                "1,1",
            ),
            ("SELECT SQL_NO_CACHE v FROM t WHERE id = 1", "10"),
            ("SELECT UTC_TIMESTAMP() > '2020-01-01'", "1"),
        ];
        for (statement, expected) in of_their_time {
            assert_eq!(counted(statement), (expected.to_owned(), 1), "{:?} {statement}", server.flavor);
        }
        for statement in [
            "SELECT RAND() >= 0 FROM t WHERE id = 1",
            "SELECT CONNECTION_ID() > 0 FROM t WHERE id = 1",
            "SELECT c > 0 AND NOW() > 0 FROM w WHERE id = 1",
            "SELECT v > 0 AND NOW() > 0 FROM t WHERE id = 1 FOR UPDATE",
        ] {
            assert_eq!(counted(statement), ("1".to_owned(), 0), "{:?} {statement}", server.flavor);
        }
        // Whose time stands still, or is another zone's, sees their own.
        run(&mut reader, &["SET timestamp = 1000000000"]);
        assert_eq!(one(&mut reader, "SELECT UNIX_TIMESTAMP() FROM t WHERE id = 1"), "1000000000");
        let mut other = connect(freshet.target(), schema);
        run(&mut other, &["SET time_zone = '+13:00'"]);
        for _ in 0..3 {
            let ahead =
                one(&mut other, "SELECT TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(), NOW()) FROM t WHERE id = 1");
            assert_eq!(ahead, "13", "{:?}", server.flavor);
        }
        // The rows are the current ones.
        let mut third = connect(freshet.target(), schema);
        let read = "SELECT v, NOW() > 0 FROM t WHERE id = 2";
        one(&mut third, read);
        for v in 21..30 {
            run(&mut reader, &[&format!("UPDATE t SET v = {v} WHERE id = 2")]);
            assert_eq!(one(&mut third, read), format!("{v},1"), "{:?}", server.flavor);
        }
    });
}

#[test]
fn with_multiplexing_off_nothing_is_carried() {
    with_stages("lanes_off", &["--multiplexing", "off"], |_server, _direct, freshet| {
        let mut reader = connect(freshet.target(), "lanes_off");
        for round in 0..50 {
            assert_eq!(
                one(&mut reader, &format!("SELECT v, {round} FROM t WHERE id = 1")),
                format!("10,{round}")
            );
        }
        assert_eq!(carried(freshet), 0);
    });
}

/// What is left on a connection by the reads of others is not what its session has left there.
#[test]
fn a_session_that_lends_its_connection_finds_it_as_it_was() {
    let schema = "lanes_lender";
    with_lanes(schema, |server, _direct, freshet| {
        let mut lender = lender(freshet, schema);
        let mut other = connect(freshet.target(), schema);
        let id = one(&mut lender, "SELECT CONNECTION_ID()");
        let others = |other: &mut Conn| {
            for key in [1, 2, 7] {
                one(other, &format!("SELECT v FROM t WHERE id = {key}"));
                one(other, "SELECT v FROM t WHERE id > 0");
                // An answer with a warning, and one with an error: neither is passed on from there.
                one(other, "SELECT v / 0 FROM t WHERE id = 1");
                one(other, "SELECT (SELECT v FROM t WHERE id > 0) FROM u");
            }
        };
        let asked = [
            (vec!["INSERT INTO t (v) VALUES (40)"], "SELECT LAST_INSERT_ID()", "4"),
            (vec!["SET @a = 5"], "SELECT @a", "5"),
            (vec!["SELECT v FROM t WHERE id IN (1, 2)"], "SELECT FOUND_ROWS()", "2"),
            (vec!["UPDATE u SET v = 201 WHERE id = 2"], "SELECT ROW_COUNT()", "1"),
            (vec!["SELECT v / 0 FROM t WHERE id = 2"], "SHOW COUNT(*) WARNINGS", "1"),
            (vec!["DO GET_LOCK('lanes', 0)"], "SELECT IS_USED_LOCK('lanes') = CONNECTION_ID()", "1"),
            (
                vec!["SET SESSION sql_select_limit = 2", "SET sql_select_limit = DEFAULT"],
                "SELECT LAST_INSERT_ID()",
                "4",
            ),
        ];
        for (before, question, expected) in asked {
            before.iter().for_each(|statement| drop(answer(&mut lender, statement)));
            let is_read = before[0].starts_with("SELECT");
            // A read before the question would be what is asked about.
            if !is_read && !question.contains("ROW_COUNT") {
                one(&mut lender, "SELECT v FROM t WHERE id = 1");
            }
            others(&mut other);
            assert_eq!(one(&mut lender, question), expected, "{:?} {before:?}", server.flavor);
        }
        assert_eq!(one(&mut lender, "SELECT CONNECTION_ID()"), id);
        // A table of its own is seen by nobody else.
        run(&mut lender, &["CREATE TEMPORARY TABLE u (id INT, v INT)", "INSERT INTO u VALUES (1, -1)"]);
        one(&mut lender, "SELECT v FROM t WHERE id = 1");
        for _ in 0..3 {
            assert_eq!(one(&mut other, "SELECT v FROM u WHERE id = 1"), "100", "{:?}", server.flavor);
            assert_eq!(one(&mut lender, "SELECT v FROM u WHERE id = 1"), "-1");
        }
        // So is what it has not committed.
        run(&mut lender, &["BEGIN", "UPDATE t SET v = 77 WHERE id = 1"]);
        assert_eq!(one(&mut lender, "SELECT v FROM t WHERE id = 1"), "77");
        assert_eq!(one(&mut other, "SELECT v FROM t WHERE id = 1"), "10", "{:?}", server.flavor);
        run(&mut lender, &["COMMIT"]);
        assert_eq!(one(&mut other, "SELECT v FROM t WHERE id = 1"), "77");
        assert!(carried(freshet) > 20);
    });
}

/// One that waits for a lock holds up neither those behind it nor the session whose connection it is carried on.
#[test]
fn a_slow_read_holds_nobody_up() {
    let schema = "lanes_slow";
    with_lanes(schema, |server, direct, freshet| {
        let mut lender = lender(freshet, schema);
        let (mut slow, mut quick) = (connect(freshet.target(), schema), connect(freshet.target(), schema));
        for conn in [&mut slow, &mut quick] {
            one(conn, "SELECT v FROM t WHERE id = 2");
            one(conn, "SELECT v FROM u WHERE id = 1");
        }
        run(direct, &["LOCK TABLES t WRITE"]);
        one(&mut lender, "SELECT v FROM u WHERE id = 2");
        let waits = thread::spawn(move || one(&mut slow, "SELECT v FROM t WHERE id = 2"));
        thread::sleep(Duration::from_millis(5));
        let (sender, done) = mpsc::channel();
        let others = thread::spawn(move || {
            for _ in 0..20 {
                assert_eq!(one(&mut quick, "SELECT v FROM u WHERE id = 1"), "100");
            }
            run(&mut lender, &["UPDATE u SET v = 101 WHERE id = 1"]);
            sender.send(()).expect("it is waited for");
        });
        done.recv_timeout(Duration::from_secs(15))
            .expect("nobody waits for the lock but who needs the table");
        assert!(!waits.is_finished(), "{:?}: the table is locked still", server.flavor);
        run(direct, &["UNLOCK TABLES"]);
        assert_eq!(waits.join().expect("it goes on"), "20");
        others.join().expect("they were answered");
    });
}

/// The server knows the read as another client's, whose statement nobody wants to kill.
#[test]
fn a_read_that_waits_on_a_lane_ends_with_kill_query() {
    const INTERRUPTED: u16 = 1317;
    let schema = "lanes_interrupted";
    with_lanes(schema, |server, direct, freshet| {
        let mut lender = lender(freshet, schema);
        let (mut slow, mut killer) = (connect(freshet.target(), schema), connect(freshet.target(), schema));
        let read = "SELECT v FROM t WHERE id = 2";
        let id = one(&mut slow, "SELECT CONNECTION_ID()");
        eventually("the client's reads are carried", || {
            let before = carried(freshet);
            one(&mut lender, "SELECT v FROM u WHERE id = 2");
            let lent = carried(freshet);
            assert_eq!(one(&mut slow, read), "20");
            (lent > before && carried(freshet) > lent).then_some(())
        });
        run(direct, &["LOCK TABLES t WRITE"]);
        let before = carried(freshet);
        let waits = thread::spawn(move || (try_answer(&mut slow, read), slow));
        eventually("the read is on a lane", || (carried(freshet) > before).then_some(()));
        eventually("the read is interrupted", || {
            run(&mut killer, &[&format!("KILL QUERY {id}")]);
            waits.is_finished().then_some(())
        });
        let (ended, mut slow) = waits.join().expect("it is answered");
        assert_eq!(ended.expect("the client is there"), Err(INTERRUPTED), "{:?}", server.flavor);
        run(direct, &["UNLOCK TABLES"]);
        assert_eq!(one(&mut slow, read), "20", "the session goes on");
        assert_eq!(one(&mut lender, "SELECT v FROM u WHERE id = 2"), "200");
    });
}

/// A session lends nothing where nobody may kill what would hold its connection up: neither its own account, whose limit of connections only the
/// server counts, nor Freshet's.
#[test]
fn a_connection_that_could_not_be_freed_is_not_lent() {
    let (schema, few, weak) = ("lanes_held", "lanes_few", "lanes_weak");
    for server in freshet_tests::server::all() {
        let before = with_follower(&server, weak);
        run(
            &mut server.target.connect(),
            &[
                &format!("GRANT SELECT, SHOW VIEW, TRIGGER, EXECUTE ON *.* TO {weak}"),
                &format!("DROP USER IF EXISTS {few}"),
                &format!("CREATE USER {few} IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 2"),
                &format!("GRANT ALL ON {schema}.* TO {few}"),
            ],
        );
        let (mut direct, freshet) = stage(&before, schema, &["--multiplexing", "always", "--threads", "1"]);
        if !freshet.is_there() {
            return;
        }
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = OFF"]);
        let client = Target { user: few.into(), password: "pw".into(), ..freshet.target().clone() };
        let (mut slow, mut lender) = (connect(&client, schema), connect(&client, schema));
        run(&mut slow, &["UPDATE u SET v = 201 WHERE id = 2"]);
        run(&mut lender, &["UPDATE u SET v = 102 WHERE id = 1"]);
        let read = "SELECT v FROM t WHERE id = 2";
        let id = lender.connection_id();
        let mut look = freshet.target().connect();
        let mut carries = || -> Option<u64> {
            look.query_first(format!("SELECT waiting FROM freshet.lanes WHERE id = {id}"))
                .expect("it is computed")
        };
        for _ in 0..10 {
            one(&mut lender, read);
            one(&mut slow, read);
            assert_eq!(carries(), None, "{:?}", server.flavor);
        }
        run(&mut direct, &["SET SESSION wait_timeout = 30", "LOCK TABLES t WRITE"]);
        let waits = thread::spawn(move || one(&mut slow, read));
        let writes = thread::spawn(move || {
            run(&mut lender, &["UPDATE u SET v = 103 WHERE id = 1"]);
            one(&mut lender, "SELECT v FROM u WHERE id = 1")
        });
        eventually("its connection is its own", || writes.is_finished().then_some(()));
        assert_eq!(writes.join().expect("it is carried out"), "103", "{:?}", server.flavor);
        run(&mut direct, &["UNLOCK TABLES"]);
        assert_eq!(waits.join().expect("it goes on"), "20");
        freshet.stop();
        run(&mut server.target.connect(), &[&format!("DROP USER {few}, {weak}")]);
    }
}

/// How long a session waits is its own to say.
#[test]
fn a_session_with_a_time_limit_of_its_own_is_not_carried() {
    let schema = "lanes_limits";
    with_lanes(schema, |server, direct, freshet| {
        let mut lender = lender(freshet, schema);
        let mut hasty = connect(freshet.target(), schema);
        let read = "SELECT v FROM t WHERE id = 2";
        one(&mut hasty, read);
        run(&mut hasty, &["SET SESSION lock_wait_timeout = 1"]);
        run(direct, &["LOCK TABLES t WRITE"]);
        one(&mut lender, "SELECT v FROM u WHERE id = 2");
        assert_eq!(answer(&mut hasty, read), Err(1205), "{:?}", server.flavor);
        run(direct, &["UNLOCK TABLES"]);
        assert_eq!(one(&mut hasty, read), "20");
    });
}

#[test]
fn a_connection_that_is_killed_takes_no_read_with_it() {
    let schema = "lanes_killed";
    with_lanes(schema, |server, direct, freshet| {
        for _ in 0..5 {
            let mut lender = lender(freshet, schema);
            let id = one(&mut lender, "SELECT @@pseudo_thread_id");
            one(&mut lender, "SELECT v FROM t WHERE id = 1");
            let target = freshet.target().clone();
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let target = target.clone();
                    thread::spawn(move || {
                        let mut conn = connect(&target, schema);
                        (0..300).all(|_| one(&mut conn, "SELECT v FROM t WHERE id = 2") == "20")
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(10));
            run(direct, &[&format!("KILL {id}")]);
            for other in others {
                assert!(other.join().expect("it is answered"), "{:?}", server.flavor);
            }
            eventually("the killed session is over", || {
                try_answer(&mut lender, "SELECT 1 FROM t WHERE id = 9").is_err().then_some(())
            });
            assert!(
                try_answer(&mut lender, "SELECT 1").is_err(),
                "it does not go on with another connection"
            );
        }
    });
}

/// Both servers let a session keep rights on its schema that were taken away since. Its connection carries nothing of those who have
/// logged in later.
#[test]
fn rights_that_were_taken_away_are_lent_to_nobody() {
    let schema = "lanes_rights";
    with_lanes(schema, |server, direct, freshet| {
        run(
            direct,
            &[
                &format!("DROP USER IF EXISTS {schema}"),
                &format!("CREATE USER {schema} IDENTIFIED BY 'pw'"),
                &format!("GRANT SELECT ON {schema}.* TO {schema}"),
                &format!("GRANT SELECT ON {schema}.u TO {schema}"),
            ],
        );
        let user = Target { user: schema.into(), password: "pw".into(), ..freshet.target().clone() };
        let read = "SELECT v FROM t WHERE id = 1";
        let mut older: Vec<Conn> = (0..3).map(|_| connect(&user, schema)).collect();
        // Each keeps the connection that it has.
        older.iter_mut().for_each(|conn| run(conn, &["SET @own = 1"]));
        older.iter_mut().for_each(|conn| assert_eq!(one(conn, read), "10"));
        run(direct, &[&format!("REVOKE SELECT ON {schema}.* FROM {schema}")]);
        eventually("a new session is refused", || {
            answer(&mut connect(&user, schema), read).is_err().then_some(())
        });
        for _ in 0..5 {
            older.iter_mut().for_each(|conn| assert_eq!(one(conn, read), "10", "as both servers have it"));
            let mut newer = connect(&user, schema);
            for _ in 0..3 {
                one(&mut newer, "SELECT v FROM u WHERE id = 1");
                assert!(answer(&mut newer, read).is_err(), "{:?}", server.flavor);
            }
        }
        run(direct, &[&format!("DROP USER {schema}")]);
    });
}

#[test]
fn lanes_are_listed_while_they_carry() {
    let schema = "lanes_listed";
    with_lanes(schema, |_server, _direct, freshet| {
        let mut look = freshet.target().connect();
        let mut lanes = |id: u32| -> Vec<(u64, u64)> {
            look.query(format!("SELECT carried, waiting FROM freshet.lanes WHERE id = {id}"))
                .expect("it is computed")
        };
        let mut lender = lender(freshet, schema);
        let id = lender.connection_id();
        let before = lanes(id);
        assert!(matches!(before[..], [(1.., 0)]), "{before:?}");
        one(&mut lender, "SELECT v FROM t WHERE id = 2");
        assert_eq!(lanes(id), [(before[0].0 + 1, 0)]);
        // It needs its connection itself.
        run(&mut lender, &["INSERT INTO u VALUES (9, 9)"]);
        assert_eq!(lanes(id), []);
    });
}
