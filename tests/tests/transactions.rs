//! Transactions: their reads are answered from memory where the server would say the same, and all of one show one moment.

use std::time::{Duration, Instant};

use freshet_tests::cached::{
    Counted, answer, await_asleep, caught_up, connect, eventually, fresh_schema, run, status,
};
use freshet_tests::raw::capability::{DEPRECATE_EOF, SESSION_TRACK};
use freshet_tests::raw::{Raw, error_code};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,10),(3,30)",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "INSERT INTO u VALUES (1,100),(2,200)",
];
const T1: &str = "SELECT v FROM t WHERE id = 1";
const T2: &str = "SELECT v FROM t WHERE id = 2";
const U1: &str = "SELECT v FROM u WHERE id = 1";

/// Repetitions of what hangs on who is first.
const ROUNDS: u32 = 20;

fn with_tables(schema: &str, test: impl Fn(&Server, &Freshet, &mut Conn)) {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, TABLES);
        caught_up(freshet);
        test(server, freshet, &mut direct);
        run(&mut direct, &[&format!("DROP DATABASE {schema}")]);
    });
}

fn number(conn: &mut Conn, statement: &str) -> Result<i64, Error> {
    conn.query_first(statement).map(|found| found.expect("a row"))
}

fn code(result: Result<i64, Error>) -> Result<i64, u16> {
    result.map_err(|error| match error {
        Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    })
}

/// Runs `begin`, the reads and `end` until all of it is answered from memory.
fn settle(freshet: &Freshet, conn: &mut Conn, (begin, reads, end): (&[&str], &[&str], &str)) {
    let mut counter = freshet.target().connect();
    eventually(&format!("a transaction from memory: {begin:?} … {end}"), || {
        let before = status(&mut counter, "Freshet_transactions");
        run(conn, begin);
        reads.iter().for_each(|read| drop(answer(conn, read)));
        run(conn, &[end]);
        (status(&mut counter, "Freshet_transactions") > before).then_some(())
    });
}

/// What is said once, what begins each transaction, and what ends it.
const FORMS: [(&str, &[&str], &str); 15] = [
    ("DO 0", &["BEGIN"], "COMMIT"),
    ("DO 0", &["START TRANSACTION"], "ROLLBACK"),
    ("DO 0", &["START TRANSACTION READ ONLY"], "COMMIT"),
    ("SET autocommit = 0", &[], "COMMIT"),
    ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", &["BEGIN"], "COMMIT"),
    ("DO 0", &["BEGIN", "SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "RELEASE SAVEPOINT a"], "COMMIT"),
    ("DO 0", &["BEGIN WORK"], "COMMIT AND NO CHAIN NO RELEASE"),
    ("DO 0", &["START TRANSACTION READ WRITE"], "ROLLBACK WORK"),
    ("DO 0", &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"], "COMMIT"),
    (
        "DO 0",
        &["SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN"],
        "COMMIT",
    ),
    ("SET autocommit = 0", &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"], "COMMIT"),
    ("SET SESSION TRANSACTION READ ONLY", &["START TRANSACTION READ WRITE"], "COMMIT"),
    ("BEGIN", &[], "COMMIT AND CHAIN"),
    ("START TRANSACTION READ ONLY", &[], "ROLLBACK AND CHAIN"),
    ("SET completion_type = 2", &["BEGIN"], "COMMIT NO RELEASE"),
];

#[test]
fn a_transaction_that_only_reads_is_not_seen_by_the_server() {
    with_tables("fresh_tx_unseen", |_, freshet, _| {
        if !freshet.is_there() {
            return;
        }
        let mut counter = freshet.target().connect();
        for (first, begin, end) in FORMS {
            let mut reader = connect(freshet.target(), "fresh_tx_unseen");
            run(&mut reader, &[first]);
            settle(freshet, &mut reader, (begin, &[T1, T2, U1], end));
            eventually(&format!("{first}, {begin:?}: nothing is forwarded"), || {
                let before = status(&mut counter, "Freshet_forwarded");
                let hits = status(&mut counter, "Qcache_hits");
                run(&mut reader, begin);
                let read = [T1, T2, U1].map(|read| number(&mut reader, read).expect("an answer"));
                run(&mut reader, &[end]);
                assert_eq!(read, [10, 10, 100]);
                let all = status(&mut counter, "Qcache_hits") - hits == 3;
                (all && status(&mut counter, "Freshet_forwarded") == before).then_some(())
            });
        }
    });
}

#[test]
fn prepared_executions_in_transactions_are_not_seen_either() {
    with_tables("fresh_tx_prepared", |_, freshet, _| {
        let mut counter = freshet.target().connect();
        let mut reader = connect(freshet.target(), "fresh_tx_prepared");
        let by_id = reader.prep("SELECT v FROM t WHERE id = ?").expect("it is prepared");
        eventually("executions from memory", || {
            let before = status(&mut counter, "Freshet_transactions");
            run(&mut reader, &["BEGIN"]);
            for (id, expected) in [(1, 10), (2, 10), (3, 30)] {
                let read: Option<i64> = reader.exec_first(&by_id, (id,)).expect("an answer");
                assert_eq!(read, Some(expected));
            }
            run(&mut reader, &["COMMIT"]);
            (!freshet.is_there() || status(&mut counter, "Freshet_transactions") > before).then_some(())
        });
    });
}

/// What begins a transaction at READ COMMITTED or at REPEATABLE READ in a session of the other level, what ends it so that another begins
/// that is alike, and whether that is at READ COMMITTED.
const LEVELS: [(&[&str], &[&str], bool); 6] = [
    (&["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"], &[], true),
    (&["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", T1], &["COMMIT AND CHAIN"], true),
    (
        &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", T1, "UPDATE u SET v = 1"],
        &["ROLLBACK AND CHAIN"],
        true,
    ),
    (&["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", T1, "COMMIT"], &["BEGIN"], false),
    (&["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", T1], &["COMMIT AND CHAIN"], true),
    (&["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "SELECT 1 FROM t", "BEGIN"], &[], false),
];

/// A level that is said of one transaction holds for that, for those that are chained to it, and for no other.
#[test]
fn a_level_of_isolation_holds_for_the_transaction_of_which_it_was_said() {
    // Then the server sees nothing of it either.
    let carries = std::env::var_os("FRESHET_TEST_MULTIPLEXING").is_some_and(|when| when == "always");
    with_tables("fresh_tx_said", |server, freshet, direct| {
        let mut counted = Counted::of(freshet);
        for (begins, chains, is_committed) in LEVELS {
            // All of it is from memory, or the server has to see all of it.
            for is_seen in [false, true] {
                let shape = format!("{:?} {begins:?} {chains:?} {is_seen}", server.flavor);
                run(direct, &["UPDATE t SET v = 10 WHERE id < 3"]);
                caught_up(freshet);
                let mut client = connect(freshet.target(), "fresh_tx_said");
                let mut other = connect(freshet.target(), "fresh_tx_said");
                settle(freshet, &mut client, (&["BEGIN"], &[T1, T2], "COMMIT"));
                run(&mut client, begins);
                run(&mut client, chains);
                let hits = counted.hits();
                assert_eq!(number(&mut client, T1).expect("a row"), 10, "{shape}");
                if freshet.is_there() && chains.is_empty() && is_committed {
                    assert_eq!(counted.hits(), hits + 1, "{shape}");
                }
                if is_seen {
                    // In a text that nobody had before.
                    let seen = format!("SELECT /* {begins:?} {chains:?} */ v FROM t WHERE id = 3 AND 1");
                    assert_eq!(number(&mut client, &seen).expect("a row"), 30, "{shape}");
                }
                run(&mut other, &["UPDATE t SET v = 11 WHERE id < 3"]);
                let read = code(number(&mut client, T2));
                let unseen = code(number(&mut client, "SELECT v FROM t WHERE id = 2 AND 1"));
                match (is_committed, is_seen && !carries) {
                    (true, _) => assert_eq!((read, unseen), (Ok(11), Ok(11)), "{shape}"),
                    (false, true) => assert_eq!((read, unseen), (Ok(10), Ok(10)), "{shape}"),
                    // What was read has changed before the server was told.
                    (false, false) => assert!(matches!(read, Ok(10) | Err(1213)), "{shape}: {read:?}"),
                }
                run(&mut client, &["ROLLBACK"]);
            }
        }
    });
}

/// Each has hits where the server has seen the transaction before, too: what it begins with, and what follows.
#[test]
fn transactions_at_the_server_have_hits_however_they_begin() {
    const BEGINS: [&[&str]; 8] = [
        &["START TRANSACTION WITH CONSISTENT SNAPSHOT"],
        &["START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"],
        &["START TRANSACTION READ WRITE", "SET @a = 1"],
        &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", "SET @a = 1"],
        &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", "UPDATE u SET v = v + 1 WHERE id = 2"],
        &["SET TRANSACTION READ WRITE", "BEGIN", T1, "UPDATE u SET v = v + 1 WHERE id = 2"],
        &["BEGIN", "UPDATE u SET v = v + 1 WHERE id = 2", "COMMIT AND CHAIN", "SET @a = 1"],
        &["BEGIN", "UPDATE u SET v = v + 1 WHERE id = 2", "ROLLBACK AND CHAIN"],
    ];
    with_tables("fresh_tx_forms", |server, freshet, _| {
        if !freshet.is_there() {
            return;
        }
        let mut counted = Counted::of(freshet);
        for begins in BEGINS {
            let mut client = connect(freshet.target(), "fresh_tx_forms");
            settle(freshet, &mut client, (&["BEGIN"], &[T1, T2], "COMMIT"));
            eventually(&format!("{:?} {begins:?}: hits", server.flavor), || {
                run(&mut client, begins);
                let hits = counted.hits();
                let read: Vec<_> = [T1, T2, T1, T2].map(|read| code(number(&mut client, read))).into();
                let all = counted.hits() - hits;
                run(&mut client, &["COMMIT"]);
                let is_right = read.iter().all(|read| matches!(read, Ok(10) | Err(1213)));
                assert!(is_right, "{begins:?}: {read:?}");
                (all >= 3).then_some(())
            });
        }
    });
}

/// A session that ends with its transaction is answered first.
#[test]
fn a_session_ends_with_its_transaction_if_that_says_so() {
    with_tables("fresh_tx_release", |server, freshet, _| {
        let scripts: [&[&str]; 4] = [
            &["BEGIN", T1, "COMMIT RELEASE"],
            &["BEGIN", "UPDATE u SET v = 7 WHERE id = 1", "COMMIT RELEASE"],
            &["ROLLBACK RELEASE"],
            &["SET completion_type = 2", "BEGIN", T1, "COMMIT"],
        ];
        for script in scripts {
            for target in [&server.target, freshet.target()] {
                let mut client = connect(target, "fresh_tx_release");
                if freshet.is_there() && target.port == freshet.target().port {
                    settle(freshet, &mut client, (&["BEGIN"], &[T1], "COMMIT"));
                }
                run(&mut client, script);
                // No statement is answered any more, even if it needs no server.
                let next = client.query_drop("BEGIN");
                assert!(!matches!(next, Ok(()) | Err(Error::MySqlError(_))), "{script:?}: {next:?}");
            }
        }
        let mut client = connect(freshet.target(), "fresh_tx_release");
        assert_eq!(number(&mut client, U1).expect("a row"), 7);
    });
}

/// Two rows that are always equal are read in one transaction, the first from memory, while a writer around Freshet and one through
/// it change both.
#[test]
fn what_one_transaction_reads_is_of_one_moment() {
    with_tables("fresh_tx_moment", |_, freshet, direct| {
        let mut through = connect(freshet.target(), "fresh_tx_moment");
        let mut counted = Counted::of(freshet);
        for snapshot in ["auto", "eager"] {
            for round in 0..ROUNDS {
                // A session that has met a conflict is careful for a while.
                let mut reader = connect(freshet.target(), "fresh_tx_moment");
                if freshet.is_there() {
                    run(&mut reader, &[&format!("SET SESSION transaction_snapshot = {snapshot}")]);
                }
                let writer = if round % 2 == 0 { &mut *direct } else { &mut through };
                let others = ["SELECT v FROM t WHERE id = 2 AND 1", T2];
                let other = others[round as usize / 2 % 2];
                let first = eventually("a transaction whose first read is from memory", || {
                    let before = counted.hits();
                    let _ = (number(&mut reader, T2), run(&mut reader, &["BEGIN"]));
                    let first = number(&mut reader, T1).expect("an answer");
                    let is_begun = counted.hits() > before || snapshot == "eager" || !freshet.is_there();
                    if !is_begun {
                        run(&mut reader, &["ROLLBACK"]);
                    }
                    is_begun.then_some(first)
                });
                run(writer, &["UPDATE t SET v = v + 1 WHERE id IN (1, 2)"]);
                for read in [other, T1] {
                    match code(number(&mut reader, read)) {
                        Ok(later) => assert_eq!(first, later, "{snapshot}, round {round}: {read}"),
                        Err(code) => {
                            assert_eq!((code, snapshot), (1213, "auto"), "round {round}: {read}");
                            break;
                        }
                    }
                }
                run(&mut reader, &["COMMIT"]);
                let now = number(direct, T1).expect("an answer");
                eventually("the write is seen", || (number(&mut reader, T1).ok()? == now).then_some(()));
            }
        }
    });
}

/// A transaction that takes its time has its read view, and nothing that others write makes it fail.
#[test]
fn a_transaction_that_takes_its_time_keeps_its_moment() {
    with_tables("fresh_tx_slow", |_, freshet, direct| {
        let mut reader = connect(freshet.target(), "fresh_tx_slow");
        settle_if(freshet, &mut reader, &[T1, T2]);
        eventually("no conflict", || {
            run(&mut reader, &["BEGIN"]);
            let first = number(&mut reader, T1).expect("an answer");
            std::thread::sleep(Duration::from_millis(60));
            run(direct, &["UPDATE t SET v = v + 1 WHERE id IN (1, 2)"]);
            let second = code(number(&mut reader, "SELECT v FROM t WHERE id = 2 AND 1"));
            run(&mut reader, &["COMMIT"]);
            match second {
                Ok(second) => assert_eq!(first, second),
                Err(code) => assert_eq!(code, 1213),
            }
            second.ok()
        });
    });
}

/// Whoever has needed the server in the last transaction has the read view opened before the first answer from memory. What others write
/// after that answer is neither seen nor in the way.
#[test]
fn who_has_needed_the_server_before_has_its_read_view_in_time() {
    with_tables("fresh_tx_before", |_, freshet, _| {
        let mut through = connect(freshet.target(), "fresh_tx_before");
        let mut other = connect(freshet.target(), "fresh_tx_before");
        let mut counted = Counted::of(freshet);
        for (first, begin) in [("DO 0", &["BEGIN"][..]), ("SET autocommit = 0", &[])] {
            let mut reader = connect(freshet.target(), "fresh_tx_before");
            run(&mut reader, &[first]);
            let mut kept = 0;
            eventually("read views that are opened in time", || {
                eventually("it is stored, and settled", || {
                    let before = counted.hits();
                    run(&mut other, &["BEGIN"]);
                    let _ = number(&mut other, T1);
                    run(&mut other, &["COMMIT"]);
                    (counted.hits() > before || !freshet.is_there()).then_some(())
                });
                run(&mut reader, begin);
                let before = counted.hits();
                let first = number(&mut reader, T1).expect("an answer");
                let is_hit = counted.hits() > before || !freshet.is_there();
                run(&mut through, &["UPDATE t SET v = v + 1 WHERE id IN (1, 2)"]);
                let second = code(number(&mut reader, "SELECT v FROM t WHERE id = 2 AND 1"));
                if let Ok(second) = second {
                    assert_eq!(first, second);
                }
                run(&mut reader, &["COMMIT"]);
                kept = if is_hit && second.is_ok() { kept + 1 } else { 0 };
                (kept == 5).then_some(())
            });
        }
    });
}

/// What another session stores while a transaction's read view is open serves the transaction too, as soon as it is settled: somebody asks
/// for that.
#[test]
fn what_others_store_serves_a_read_view_that_was_opened_in_time() {
    /// Freshet looks by itself where the binlog ends, every other second. An answer that nobody asks for is settled after that.
    const SOON: Duration = Duration::from_millis(300);
    const OF: u32 = 8;
    with_tables("fresh_tx_others", |_, freshet, _| {
        let mut reader = connect(freshet.target(), "fresh_tx_others");
        let mut other = connect(freshet.target(), "fresh_tx_others");
        let mut counted = Counted::of(freshet);
        let mut soon = 0;
        for round in 0..OF {
            // The next transaction opens its read view before its first answer.
            run(&mut reader, &["BEGIN", "UPDATE u SET v = v + 1 WHERE id = 1", "COMMIT"]);
            caught_up(freshet);
            let _ = counted.prime(&mut other, T1);
            run(&mut reader, &["BEGIN"]);
            let _ = counted.prime(&mut reader, T1);
            let new = format!("SELECT v FROM t WHERE id = 3 AND {round} >= 0");
            let _ = number(&mut other, &new);
            let until = Instant::now() + SOON;
            while Instant::now() < until {
                if counted.hits_of(&mut reader, &new, 1) == 1 {
                    soon += 1;
                    break;
                }
                std::thread::sleep(SOON / 20);
            }
            run(&mut reader, &["COMMIT"]);
        }
        assert!(!freshet.is_there() || soon > OF / 2, "{soon} of {OF} answers served the transaction soon");
    });
}

/// What a transaction reads after the server was asked in it comes from memory as well, and so does what it has stored itself.
#[test]
fn a_transaction_that_writes_has_its_reads_from_memory() {
    with_tables("fresh_tx_writes", |_, freshet, _| {
        let mut reader = connect(freshet.target(), "fresh_tx_writes");
        let mut counted = Counted::of(freshet);
        let mut asked = 0;
        eventually("all reads but one from memory", || {
            asked += 1;
            let unread = format!("SELECT v FROM t WHERE id = 3 AND {asked} > 0");
            run(&mut reader, &["BEGIN"]);
            let before = counted.hits();
            let reads = [T1, &unread, T2, &unread, T1, T2];
            let read = reads.map(|read| number(&mut reader, read).expect("an answer"));
            let hits = counted.hits() - before;
            run(&mut reader, &["UPDATE u SET v = v + 1 WHERE id = 1", "COMMIT"]);
            assert_eq!(read, [10, 30, 10, 30, 10, 10]);
            (hits == 5 || !freshet.is_there()).then_some(())
        });
    });
}

/// Once a row has shown that the server has opened a read view, so does what a transaction reads that began with a write or with locks.
#[test]
fn a_transaction_that_begins_with_a_write_has_its_further_reads_from_memory() {
    with_tables("fresh_tx_first", |_, freshet, _| {
        let firsts = [
            "UPDATE u SET v = v + 1 WHERE id = 2",
            "SELECT v FROM u WHERE id = 2 FOR UPDATE",
            "INSERT INTO u SELECT id + 10, v FROM u WHERE id = 99",
        ];
        for (once, begin, end) in [("DO 0", "BEGIN", "COMMIT"), ("SET autocommit = 0", "DO 0", "ROLLBACK")] {
            let mut client = connect(freshet.target(), "fresh_tx_first");
            let mut counted = Counted::of(freshet);
            run(&mut client, &[once]);
            for first in firsts {
                eventually(&format!("all reads but one from memory after {begin} and {first}"), || {
                    run(&mut client, &[begin, first]);
                    let before = counted.hits();
                    let read = [T1, T2, T1].map(|read| number(&mut client, read).expect("an answer"));
                    let hits = counted.hits() - before;
                    run(&mut client, &[end]);
                    assert_eq!(read, [10, 10, 10]);
                    (hits == 2 || !freshet.is_there()).then_some(())
                });
            }
        }
    });
}

/// The level of isolation says when a result is read, and not what it is. Where uncommitted rows are read, nothing is shared.
#[test]
fn levels_of_isolation_share_results() {
    with_tables("fresh_tx_levels", |_, freshet, _| {
        if !freshet.is_there() {
            return;
        }
        let mut counted = Counted::of(freshet);
        let [mut repeatable, mut committed, mut uncommitted, mut serializable] =
            ["REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED", "SERIALIZABLE"].map(|level| {
                let mut conn = connect(freshet.target(), "fresh_tx_levels");
                run(&mut conn, &[&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]);
                conn
            });
        let mut is_hit = |conn: &mut Conn, read: &str| {
            let before = counted.hits();
            number(conn, read).expect("an answer");
            counted.hits() > before
        };
        for read in [T1, U1] {
            eventually("it is stored", || is_hit(&mut repeatable, read).then_some(()));
            assert!(is_hit(&mut committed, read), "{read}");
            assert!(!is_hit(&mut uncommitted, read) && !is_hit(&mut serializable, read), "{read}");
        }
        eventually("it is stored", || is_hit(&mut committed, T2).then_some(()));
        assert!(is_hit(&mut repeatable, T2));
        for other in [&mut uncommitted, &mut serializable] {
            let read = "SELECT v FROM u WHERE id = 2";
            (0..3).for_each(|_| assert!(!is_hit(other, read)));
        }
        assert!(!is_hit(&mut repeatable, "SELECT v FROM u WHERE id = 2"), "nothing was stored by the others");
    });
}

fn settle_if(freshet: &Freshet, conn: &mut Conn, reads: &[&str]) {
    if freshet.is_there() {
        settle(freshet, conn, (&["BEGIN"], reads, "COMMIT"));
    }
}

#[test]
fn a_conflict_ends_the_transaction_and_is_counted() {
    with_tables("fresh_tx_conflict", |_, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        let mut counter = freshet.target().connect();
        let mut reader = connect(freshet.target(), "fresh_tx_conflict");
        eventually("a conflict", || {
            let before = status(&mut counter, "Freshet_snapshot_conflicts");
            settle(freshet, &mut reader, (&["BEGIN"], &[T1], "COMMIT"));
            run(&mut reader, &["BEGIN"]);
            let _ = number(&mut reader, T1).expect("an answer");
            run(direct, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
            let second = code(number(&mut reader, "SELECT v FROM t WHERE id = 3 AND 1"));
            if second != Err(1213) {
                run(&mut reader, &["ROLLBACK"]);
                return None;
            }
            assert_eq!(status(&mut counter, "Freshet_snapshot_conflicts"), before + 1);
            // The session is out of the transaction: what it writes now is committed at once.
            run(&mut reader, &["UPDATE u SET v = v + 1 WHERE id = 1"]);
            let expected = number(direct, U1).expect("an answer");
            run(&mut reader, &["ROLLBACK"]);
            assert_eq!(number(&mut reader, U1).expect("an answer"), expected);
            Some(())
        });
    });
}

/// Ways to set a savepoint.
const SETS_SAVEPOINT: [&str; 4] =
    ["SAVEPOINT a", "SAVEPOINT a; DO 1", "CALL marks()", "/* first */ SAVEPOINT a"];

/// The server says that no transaction is open after it, and would forget it with one that a statement begins.
#[test]
fn a_savepoint_may_come_first_where_autocommit_is_off() {
    with_tables("fresh_tx_savepoint", |_, freshet, direct| {
        run(direct, &["CREATE PROCEDURE marks() SAVEPOINT a"]);
        let mut client = connect(freshet.target(), "fresh_tx_savepoint");
        run(&mut client, &["SET autocommit = 0"]);
        // With what the session reads by, and without.
        for way in SETS_SAVEPOINT.iter().cycle().take(2 * SETS_SAVEPOINT.len()) {
            client.query_drop(way).unwrap_or_else(|error| panic!("{way}: {error}"));
            assert_eq!(number(&mut client, T1).expect("a row"), 10);
            run(&mut client, &["UPDATE t SET v = 11 WHERE id = 1"]);
            assert_eq!(number(&mut client, T1).expect("a row"), 11);
            client.query_drop("ROLLBACK TO a").unwrap_or_else(|error| panic!("{way}: {error}"));
            assert_eq!(number(&mut client, T1).expect("a row"), 10, "{way}");
            run(&mut client, &["COMMIT"]);
        }
        // Prepared, where the server prepares it.
        if let Ok(prepared) = client.prep("SAVEPOINT a") {
            client.exec_drop(&prepared, ()).expect("it is set");
            assert_eq!(number(&mut client, T1).expect("a row"), 10);
            run(&mut client, &["UPDATE t SET v = 11 WHERE id = 1", "ROLLBACK TO a", "COMMIT"]);
            assert_eq!(number(&mut client, T1).expect("a row"), 10);
        }
    });
}

#[test]
fn what_it_has_written_itself_is_seen_and_nobody_elses() {
    with_tables("fresh_tx_own", |_, freshet, _| {
        for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
            let mut writer = connect(freshet.target(), "fresh_tx_own");
            let mut other = connect(freshet.target(), "fresh_tx_own");
            let mut counted = Counted::of(freshet);
            run(&mut writer, &[&format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")]);
            settle_if(freshet, &mut writer, &[T1, T2, U1]);
            let before = number(&mut other, T1).expect("an answer");
            for (begin, undo) in [("BEGIN", true), ("SET autocommit = 0", false)] {
                run(&mut writer, &[begin]);
                assert_eq!(number(&mut writer, T1).expect("an answer"), before);
                run(&mut writer, &["SAVEPOINT s", "UPDATE t SET v = v + 5 WHERE id = 1"]);
                assert_eq!(number(&mut writer, T1).expect("an answer"), before + 5, "{isolation}");
                assert_eq!(number(&mut other, T1).expect("an answer"), before, "{isolation}");
                // What it has not written is answered from memory all the same.
                eventually("a hit beside a write", || {
                    let hits = counted.hits();
                    assert_eq!(number(&mut writer, U1).expect("an answer"), 100);
                    (!freshet.is_there() || counted.hits() > hits).then_some(())
                });
                run(&mut writer, &[if undo { "ROLLBACK TO s" } else { "ROLLBACK" }]);
                assert_eq!(number(&mut writer, T1).expect("an answer"), before, "{isolation}");
                run(&mut writer, &["COMMIT", "SET autocommit = 1"]);
                assert_eq!(number(&mut writer, T1).expect("an answer"), before, "{isolation}");
            }
        }
    });
}

/// Runs code that may ask what the statement before it has left.
const ASKS_BACK: &str = "SELECT left_behind()";

/// Statements and what each leaves, with everything from memory that can be.
const LEFT: &[&[&str]] = &[
    &["BEGIN", "SELECT ROW_COUNT()"],
    &["BEGIN", "SELECT ROW_COUNT(), v FROM t WHERE id = 1", "COMMIT"],
    &["BEGIN", T1, "COMMIT", "SELECT ROW_COUNT()"],
    &["BEGIN", T1, "COMMIT", "SELECT FOUND_ROWS()"],
    &["BEGIN", "SELECT v FROM t LIMIT 2", "SELECT FOUND_ROWS()", "COMMIT"],
    &["SELECT v FROM t LIMIT 2", "BEGIN", "SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "COMMIT"],
    &["SELECT v FROM t LIMIT 2", "BEGIN", "COMMIT", "SELECT FOUND_ROWS()"],
    &["BEGIN", T1, "SELECT ROW_COUNT()", "ROLLBACK", "SELECT ROW_COUNT()"],
    &["SELECT 1/0", "BEGIN", "SHOW WARNINGS", "COMMIT"],
    &["SELECT 1/0", "BEGIN", "COMMIT", "SHOW WARNINGS"],
    &["BEGIN", T1, "SHOW WARNINGS", "COMMIT"],
    &["BEGIN", T1, "SAVEPOINT a", "SELECT ROW_COUNT()", "COMMIT"],
    &["BEGIN", "SELECT v FROM t LIMIT 2", "SAVEPOINT a", "SELECT FOUND_ROWS()", "COMMIT"],
    &[
        "BEGIN",
        T1,
        "SAVEPOINT a",
        "ROLLBACK TO a",
        "RELEASE SAVEPOINT a",
        "SHOW WARNINGS",
        "SELECT ROW_COUNT()",
        "COMMIT",
    ],
    // What was said of the next transaction holds for the client's, and not for what is done again for a question.
    &[
        T1,
        "SET TRANSACTION READ ONLY",
        PING,
        "SELECT ROW_COUNT()",
        "DELETE FROM t WHERE id = 3",
        "DELETE FROM t WHERE id = 77",
    ],
    &[T1, "SET TRANSACTION READ ONLY", PING, "SHOW WARNINGS", "DELETE FROM t WHERE id = 77"],
    &[
        "SELECT nothing FROM t",
        "SET TRANSACTION READ ONLY",
        PING,
        "SET @a = 1",
        "DELETE FROM t WHERE id = 77",
    ],
    &[
        "SELECT v FROM t LIMIT 2",
        "SET TRANSACTION READ ONLY",
        "DO 1",
        "SELECT FOUND_ROWS()",
        "DELETE FROM t WHERE id = 77",
    ],
    &[
        "SET SESSION TRANSACTION READ ONLY",
        T1,
        "SET TRANSACTION READ WRITE",
        PING,
        "SELECT ROW_COUNT()",
        "DELETE FROM t WHERE id = 77",
        "SET SESSION TRANSACTION READ WRITE",
    ],
    &[
        "SET autocommit = 0",
        T1,
        "COMMIT",
        "SET TRANSACTION READ ONLY",
        PING,
        "SELECT ROW_COUNT()",
        "DELETE FROM t WHERE id = 77",
        "ROLLBACK",
        "SET autocommit = 1",
    ],
    // Nor does what brings that about take away one that stands at the server without a transaction.
    &[
        "SET autocommit = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        T1,
        "SAVEPOINT a",
        "SELECT ROW_COUNT()",
        "ROLLBACK TO a",
        "ROLLBACK",
        T1,
        "SAVEPOINT a",
        "SELECT v FROM t WHERE id = 2 FOR UPDATE",
        "ROLLBACK TO a",
        "ROLLBACK",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET autocommit = 1",
    ],
    &["SELECT v FROM nosuch", "BEGIN", "SAVEPOINT a", "SHOW WARNINGS", "COMMIT"],
    &[
        "SET autocommit = 0",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        T1,
        "SAVEPOINT a",
        T2,
        "SELECT ROW_COUNT()",
        "ROLLBACK TO a",
        "RELEASE SAVEPOINT a",
        "SELECT ROW_COUNT()",
        "UPDATE t SET v = v WHERE id = 3",
        "SELECT ROW_COUNT()",
        "COMMIT",
        "SET autocommit = 1",
    ],
    // A question for what was left sets no savepoint anew that stands before a write.
    &[
        "BEGIN",
        "SAVEPOINT a",
        "DELETE FROM t WHERE id = 3",
        "SELECT ROW_COUNT()",
        "ROLLBACK TO a",
        "SELECT v FROM t",
        "ROLLBACK",
    ],
    &[
        "BEGIN",
        T1,
        "SAVEPOINT a",
        "DELETE FROM t WHERE id = 3",
        ASKS_BACK,
        "ROLLBACK TO a",
        "SELECT v FROM t",
        "ROLLBACK",
    ],
    &[
        "BEGIN",
        "SAVEPOINT a",
        "DELETE FROM t WHERE id = 3",
        ASKS_BACK,
        "ROLLBACK TO a",
        "SELECT v FROM t",
        "ROLLBACK",
    ],
    &[
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT b",
        ASKS_BACK,
        "DELETE FROM t WHERE id = 3",
        ASKS_BACK,
        "ROLLBACK TO a",
        "ROLLBACK TO b",
        "SELECT v FROM t",
        "ROLLBACK",
    ],
    &[
        "SET autocommit = 0",
        "COMMIT",
        "SAVEPOINT a",
        "DELETE FROM t WHERE id = 3",
        ASKS_BACK,
        "ROLLBACK TO a",
        "SELECT v FROM t",
        "ROLLBACK",
        "SET autocommit = 1",
    ],
    &[
        "SET autocommit = 0",
        T1,
        "COMMIT",
        "DELETE FROM t WHERE id = 3",
        ASKS_BACK,
        "ROLLBACK",
        "SELECT v FROM t",
        "SET autocommit = 1",
    ],
    &["SET autocommit = 0", T1, "COMMIT", "SELECT ROW_COUNT()", "SET autocommit = 1"],
    &[
        "ROLLBACK TO a",
        "BEGIN",
        "ROLLBACK TO a",
        "SAVEPOINT a",
        "RELEASE SAVEPOINT a",
        "ROLLBACK TO A",
        "COMMIT",
    ],
    &[
        "BEGIN",
        "SAVEPOINT a",
        T1,
        "INSERT INTO t VALUES (7,7)",
        "ROLLBACK TO a",
        "SELECT v FROM t WHERE id = 7",
        "COMMIT",
    ],
    &[
        "BEGIN",
        T1,
        "SAVEPOINT a",
        "INSERT INTO t VALUES (8,8)",
        "ROLLBACK TO a",
        "RELEASE SAVEPOINT a",
        "COMMIT",
    ],
    &[
        "SET SESSION TRANSACTION READ ONLY",
        "BEGIN",
        T1,
        "DELETE FROM t",
        "COMMIT",
        "SET SESSION TRANSACTION READ WRITE",
    ],
    &["SET TRANSACTION READ ONLY", "BEGIN", T1, "DELETE FROM t", "COMMIT"],
    &["START TRANSACTION READ ONLY", T1, "DELETE FROM t", "COMMIT", "DELETE FROM u WHERE id = 77"],
    &[
        "BEGIN",
        T1,
        "COMMIT AND CHAIN",
        T1,
        "INSERT INTO t VALUES (9,9)",
        "ROLLBACK",
        "SELECT v FROM t WHERE id = 9",
    ],
    &[
        "SET completion_type = 1",
        "BEGIN",
        T1,
        "COMMIT",
        "INSERT INTO t VALUES (9,9)",
        "SET completion_type = 0",
        "ROLLBACK",
        "SELECT v FROM t WHERE id = 9",
    ],
    &["BEGIN", T1, "SET @a = 1", "SELECT @a", T2, "COMMIT"],
    &["BEGIN", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", T1, "COMMIT"],
    &["BEGIN", T1, "BEGIN", T2, "COMMIT"],
    &["BEGIN", T1, "SELECT nothing FROM t", T1, "COMMIT", T1],
    &["BEGIN", T1, "CREATE TEMPORARY TABLE x (id INT)", "DROP TEMPORARY TABLE x", "COMMIT"],
    &["BEGIN", T1, "SELECT v FROM t WHERE id = 1 FOR UPDATE", "COMMIT"],
    &[
        "SET autocommit = 0",
        T1,
        "SET autocommit = 1",
        "INSERT INTO u VALUES (50,1)",
        "ROLLBACK",
        "DELETE FROM u WHERE id = 50",
    ],
    &["BEGIN", T1, "SELECT CAST('abc' AS SIGNED)", "SHOW WARNINGS", "SELECT ROW_COUNT()", "COMMIT"],
    &["BEGIN", T1, "SET @a = 1", "SELECT 1", "SELECT ROW_COUNT()", "COMMIT"],
    &[
        "SET autocommit = 0",
        "LOCK TABLES t WRITE",
        T1,
        U1,
        "UPDATE t SET v = 30 WHERE id = 3",
        T1,
        "COMMIT",
        U1,
        "UNLOCK TABLES",
        "SET autocommit = 1",
    ],
    &["BEGIN", T1, "ROLLBACK TO nosuch", "SHOW ERRORS", "COMMIT"],
    &[
        "BEGIN",
        "SAVEPOINT `a``b`",
        T1,
        "UPDATE t SET v = 31 WHERE id = 3",
        "ROLLBACK TO `a``b`",
        "UPDATE t SET v = 30 WHERE id = 3",
        "COMMIT",
    ],
    &[
        "BEGIN",
        T1,
        "SET SESSION TRANSACTION READ ONLY",
        "UPDATE t SET v = 30 WHERE id = 3",
        "COMMIT",
        "SET SESSION TRANSACTION READ WRITE",
    ],
    &["BEGIN", T1, "LOCK TABLES t READ", T1, "UNLOCK TABLES"],
    &["BEGIN", T1, "START TRANSACTION WITH CONSISTENT SNAPSHOT", T1, T2, "COMMIT"],
    &["SET autocommit = 0", "SAVEPOINT a", "SELECT 1", T1, "ROLLBACK TO a", "COMMIT"],
    &["SET autocommit = 0", "SAVEPOINT a", "COMMIT", "ROLLBACK TO a", T1, "COMMIT"],
    &[
        "SET autocommit = 0",
        T1,
        "COMMIT",
        T1,
        "USE fresh_tx_told",
        "SELECT 1",
        "SAVEPOINT a",
        "SET @a = 1",
        "COMMIT",
    ],
    &["SET autocommit = 0", T1, "SET autocommit = 1", "DELETE FROM t WHERE id = 9", "ROLLBACK"],
    &[
        "BEGIN",
        T1,
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        T1,
        "SAVEPOINT a",
        T1,
        "SET sql_mode = ''",
        T1,
        "COMMIT",
    ],
    &[
        "BEGIN",
        T1,
        "SAVEPOINT select",
        "SAVEPOINT of",
        "SAVEPOINT `select`",
        "ROLLBACK TO `select`",
        T1,
        "COMMIT",
    ],
    &[
        "START TRANSACTION READ ONLY",
        "BEGIN",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
        "BEGIN",
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &[
        "START TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "SHOW WARNINGS", "BEGIN", T1, "COMMIT"],
    &[
        "SELECT 1/0",
        "SET TRANSACTION READ ONLY",
        "SHOW WARNINGS",
        "SELECT ROW_COUNT()",
        "BEGIN",
        T1,
        "DELETE FROM t",
        "COMMIT",
    ],
    &[
        "SET TRANSACTION READ ONLY",
        "SET @a = 1",
        "BEGIN",
        "DELETE FROM t",
        "COMMIT",
        "BEGIN",
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &["SET TRANSACTION READ ONLY", T1, "DELETE FROM t WHERE id = 9"],
    &["SET TRANSACTION READ ONLY", "DELETE FROM t WHERE id = 9", "DELETE FROM t WHERE id = 9"],
    &["SET TRANSACTION READ ONLY", "COMMIT", "DELETE FROM t WHERE id = 9"],
    &[
        "SET TRANSACTION READ ONLY",
        "START TRANSACTION READ WRITE",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &[
        "SET TRANSACTION READ ONLY",
        "START TRANSACTION",
        "START TRANSACTION",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &["BEGIN", T1, "SET TRANSACTION READ ONLY", "SHOW WARNINGS", "COMMIT"],
    &[
        "SET autocommit = 0",
        T1,
        "SET TRANSACTION READ ONLY",
        "COMMIT",
        "SET TRANSACTION READ ONLY",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
        "SET autocommit = 1",
    ],
    &[
        "SET autocommit = 0",
        "SET TRANSACTION READ ONLY",
        "SET autocommit = 1",
        T1,
        "DELETE FROM t WHERE id = 9",
    ],
    &[
        "START TRANSACTION READ ONLY",
        T1,
        "COMMIT AND CHAIN",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
        "DELETE FROM t WHERE id = 9",
    ],
    &[
        "COMMIT AND CHAIN",
        T1,
        "INSERT INTO t VALUES (9,9)",
        "ROLLBACK AND CHAIN",
        T1,
        "COMMIT",
        "SELECT v FROM t WHERE id = 9",
    ],
    &[
        "BEGIN",
        "INSERT INTO t VALUES (9,9)",
        "COMMIT AND CHAIN",
        T1,
        "SELECT v FROM t WHERE id = 9",
        "ROLLBACK",
        "SELECT v FROM t WHERE id = 9",
    ],
    &["BEGIN", "SAVEPOINT a", T1, "COMMIT AND CHAIN", "ROLLBACK TO a", T1, "COMMIT"],
    &["BEGIN", T1, "COMMIT AND CHAIN RELEASE", T1, "COMMIT"],
    &[
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION READ WRITE",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT AND CHAIN",
        T1,
        "DELETE FROM t WHERE id = 9",
        "COMMIT",
    ],
    &[
        "SET completion_type = 1",
        "COMMIT",
        T1,
        "ROLLBACK",
        T1,
        "SHOW WARNINGS",
        "COMMIT AND NO CHAIN",
        T1,
        "SET completion_type = 0",
    ],
    &[
        T1,
        "ROLLBACK TO b",
        "COMMIT",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "SELECT ROW_COUNT()",
        "SHOW WARNINGS",
        T1,
        "COMMIT",
    ],
    &["BEGIN; -- more", T1, "COMMIT; /* more */", "BEGIN;; ", T1, "COMMIT ;"],
];

/// What a client is told of one statement: its packets with their flags, without what hangs on the connection.
/// In the place of a statement: COM_PING.
const PING: &str = "ping";

fn told(client: &mut Raw, statement: &str) -> Vec<Vec<u8>> {
    const COM_PING: u8 = 0x0e;
    let answer = if statement == PING { client.ask(COM_PING, &[]) } else { client.query(statement) };
    answer.expect("an answer")
}

#[test]
fn a_client_is_told_what_it_is_told_directly() {
    with_tables("fresh_tx_told", |server, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        run(
            direct,
            &[
                "CREATE USER IF NOT EXISTS fresh_tx_told IDENTIFIED BY ''",
                "GRANT ALL ON fresh_tx_told.* TO fresh_tx_told",
                "CREATE FUNCTION left_behind() RETURNS INT NOT DETERMINISTIC NO SQL RETURN ROW_COUNT()",
            ],
        );
        // MariaDB 10.5 takes READ ONLY over into a transaction that begins before this one has ended. Freshet begins such a one by itself.
        let keeps_read_only = server.flavor == Flavor::MariaDb && server.version() < (10, 6);
        let mut wrong = Vec::new();
        for further in [0, DEPRECATE_EOF, DEPRECATE_EOF | SESSION_TRACK] {
            for snapshot in ["auto", "eager"] {
                let mut warm = connect(freshet.target(), "fresh_tx_told");
                settle_all(freshet, &mut warm, snapshot);
                let is_played = |script: &&&[&str]| {
                    (further & SESSION_TRACK == 0 || begins_once(script))
                        && !(keeps_read_only && begins_behind_read_only(script))
                };
                for script in LEFT.iter().filter(is_played) {
                    let mut told = |target, snapshot| {
                        run(direct, &["DELETE FROM t WHERE id > 3"]);
                        caught_up(freshet);
                        played((target, snapshot), script, further)
                    };
                    let expected = told(&server.target, None);
                    // What was set up just now may be applied in the middle of a transaction.
                    let got = eventually("no conflict", || {
                        Some(told(freshet.target(), Some(snapshot))).filter(|got| !has_conflict(got))
                    });
                    wrong.extend(differences(script, &expected, &got));
                }
            }
        }
        run(direct, &["DROP USER fresh_tx_told"]);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Whether a script begins a transaction within one that may not write.
fn begins_behind_read_only(script: &[&str]) -> bool {
    const SAYS_SO: [&str; 2] = ["START TRANSACTION READ ONLY", "SET TRANSACTION READ ONLY"];
    let begins = |word: &str| word == "BEGIN" || word.starts_with("START TRANSACTION");
    let said = script.iter().position(|word| SAYS_SO.contains(word));
    let behind = said.map_or(&[][..], |at| &script[at..]);
    behind.windows(2).any(|words| begins(words[0]) && begins(words[1]))
}

/// Whether a script has transactions that begin with BEGIN outside of any other. When MySQL tells of others differs.
fn begins_once(script: &[&str]) -> bool {
    let is_other =
        |word: &&&str| word.contains("CHAIN") || word.starts_with("SET ") || word.starts_with("START");
    let begins = script.iter().filter(|word| **word == "BEGIN").count();
    begins == 1 && !script.iter().any(|word| is_other(&word))
}

fn has_conflict(told: &[Vec<Vec<u8>>]) -> bool {
    told.iter().flatten().any(|packet| error_code(packet) == Some(1213))
}

fn differences(script: &[&str], expected: &[Vec<Vec<u8>>], got: &[Vec<Vec<u8>>]) -> Vec<String> {
    let pairs = script.iter().zip(expected.iter().zip(got));
    pairs
        .filter(|(_, (expected, got))| expected != got)
        .map(|(statement, (expected, got))| format!("{statement} of {script:?}\n  {expected:?}\n  {got:?}"))
        .collect()
}

fn settle_all(freshet: &Freshet, conn: &mut Conn, snapshot: &str) {
    if snapshot == "auto" {
        settle(freshet, conn, (&["BEGIN"], &[T1, T2, "SELECT v FROM t LIMIT 2"], "COMMIT"));
    }
}

fn played((target, snapshot): (&Target, Option<&str>), script: &[&str], further: u32) -> Vec<Vec<Vec<u8>>> {
    let mut client = Raw::dial(&target.host, target.port).expect("a greeting");
    client.login("fresh_tx_told", "fresh_tx_told", further).expect("a login");
    if let Some(snapshot) = snapshot {
        told(&mut client, &format!("SET SESSION transaction_snapshot = {snapshot}"));
    }
    script.iter().map(|statement| told(&mut client, statement)).collect()
}

/// What several clients do, each by its name; the answers of all reads are compared with those of the server alone.
type Play = &'static [(&'static str, &'static str)];

const PLAYS: &[Play] = &[
    // An open transaction goes on reading what is not committed, whatever its session reads next.
    &[
        ("t", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
        ("t", U1),
        ("t", "BEGIN"),
        ("t", U1),
        ("t", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"),
        ("w", "BEGIN"),
        ("w", "UPDATE t SET v = 99"),
        ("t", T1),
        ("w", "ROLLBACK"),
        ("r", T1),
        ("r", T1),
        ("t", "COMMIT"),
        ("t", T1),
    ],
    // Nor is its moment moved by what its session does next.
    &[
        ("t", "BEGIN"),
        ("t", U1),
        ("t", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        ("t", T1),
        ("w", "UPDATE t SET v = 5 WHERE id IN (1, 2)"),
        ("t", T2),
        ("t", "SELECT v FROM t WHERE id = 1 AND 1"),
        ("t", "COMMIT"),
        ("t", T1),
    ],
    // A write needs no proof of what was read, and moves no moment either.
    &[
        ("t", "BEGIN"),
        ("t", U1),
        ("t", "UPDATE u SET v = 201 WHERE id = 2"),
        ("w", "UPDATE t SET v = 7 WHERE id IN (1, 2)"),
        ("r", T1),
        ("r", T1),
        ("t", T1),
        ("t", T2),
        ("t", "SELECT v FROM t WHERE id = 1 AND 1"),
        ("t", "ROLLBACK"),
    ],
    // What was not found has opened no read view.
    &[
        ("t", "BEGIN"),
        ("t", "SELECT nothing FROM t"),
        ("w", "UPDATE t SET v = 8 WHERE id = 1"),
        ("t", T1),
        ("t", "COMMIT"),
    ],
    &[
        ("t", "SET autocommit = 0"),
        ("t", "SELECT nothing FROM t"),
        ("w", "UPDATE t SET v = 8 WHERE id = 1"),
        ("t", T1),
        ("t", "COMMIT"),
    ],
    // Who goes back to before the first read has neither a moment nor locks.
    &[
        ("t", "BEGIN"),
        ("t", "SAVEPOINT a"),
        ("t", T1),
        ("t", "ROLLBACK TO a"),
        ("w", "UPDATE t SET v = 9 WHERE id IN (1, 2)"),
        ("t", T1),
        ("t", "SELECT v FROM t WHERE id = 2 AND 1"),
        ("t", "COMMIT"),
    ],
    &[
        ("t", "BEGIN"),
        ("t", "SAVEPOINT a"),
        ("t", T1),
        ("t", "UPDATE u SET v = 1 WHERE id = 1"),
        ("t", "SAVEPOINT b"),
        ("t", "INSERT INTO u VALUES (2, 2)"),
        ("t", "ROLLBACK TO A"),
        ("w", "UPDATE u SET v = 2 WHERE id = 1"),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", T1),
        ("t", "ROLLBACK TO b"),
        ("t", "UPDATE u SET v = v + 1 WHERE id = 1"),
        ("t", "ROLLBACK TO a"),
        ("t", U1),
        ("t", "UPDATE u SET v = v + 5 WHERE id = 1"),
        ("t", "COMMIT"),
        ("t", U1),
        ("r", U1),
    ],
    // But not to one that was set anew since.
    &[
        ("t", "BEGIN"),
        ("t", "SAVEPOINT a"),
        ("t", T1),
        ("t", "UPDATE u SET v = 1 WHERE id = 1"),
        ("t", "SAVEPOINT a"),
        ("t", "UPDATE u SET v = 2 WHERE id = 1"),
        ("t", "ROLLBACK TO a"),
        ("w", "UPDATE t SET v = 9 WHERE id IN (1, 2)"),
        ("t", U1),
        ("t", "SELECT v FROM t WHERE id = 2 AND 1"),
        ("t", "COMMIT"),
        ("t", U1),
    ],
    // What stands before an end in one text is still done in the transaction.
    &[
        ("t", "BEGIN"),
        ("t", T1),
        ("t", "SET @a = 1"),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", "SELECT v FROM t WHERE id = 1; COMMIT"),
        ("t", T1),
    ],
    &[
        ("t", "BEGIN"),
        ("t", T1),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", "SELECT v FROM t WHERE id = 1; BEGIN"),
        ("t", T1),
        ("t", "COMMIT"),
    ],
    &[
        ("t", "BEGIN"),
        ("t", T1),
        ("w", "UPDATE t SET v = 9 WHERE id IN (1, 2)"),
        ("t", "SELECT SLEEP(0.1)"),
        ("t", "SELECT v FROM t WHERE id = 2; ROLLBACK"),
        ("t", T1),
    ],
    &[
        ("t", "START TRANSACTION READ ONLY"),
        ("t", T1),
        ("t", "UPDATE t SET v = 5 WHERE id = 1; BEGIN"),
        ("w", "UPDATE t SET v = v + 1 WHERE id = 1"),
        ("t", "COMMIT"),
        ("r", T1),
    ],
    &[
        ("t", "START TRANSACTION READ ONLY"),
        ("t", "UPDATE t SET v = 5 WHERE id = 1; BEGIN"),
        ("w", "UPDATE t SET v = v + 1 WHERE id = 1"),
        ("t", "COMMIT"),
        ("r", T1),
    ],
    &[
        ("t", "SET autocommit = 0"),
        ("t", T1),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", "SELECT v FROM t WHERE id = 1; COMMIT"),
        ("t", T1),
        ("t", "COMMIT"),
    ],
    // Where MariaDB refuses to write what has changed since its snapshot, it does so for who has read from memory.
    &[
        ("t", "SET SESSION innodb_snapshot_isolation = ON"),
        ("t", "BEGIN"),
        ("t", T1),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", "UPDATE t SET v = v + 1 WHERE id = 1"),
        ("t", "COMMIT"),
        ("r", T1),
    ],
    &[
        ("t", "SET SESSION innodb_snapshot_isolation = ON"),
        ("t", "BEGIN"),
        ("t", T1),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", "UPDATE t SET v = v + 1 WHERE id = 1; COMMIT"),
        ("r", T1),
    ],
    // The server opens the read view of who writes first with his first read.
    &[
        ("t", "BEGIN"),
        ("t", "UPDATE u SET v = 7 WHERE id = 2"),
        ("w", "UPDATE t SET v = 9 WHERE id IN (1, 2)"),
        ("t", T1),
        ("w", "UPDATE t SET v = 11 WHERE id IN (1, 2)"),
        ("t", T2),
        ("t", U1),
        ("t", "COMMIT"),
        ("t", T2),
    ],
    // A row that was made of nothing does not show that it is open.
    &[
        ("t", "BEGIN"),
        ("t", "SELECT v FROM u WHERE id = 2 FOR UPDATE"),
        ("t", "SELECT COUNT(*) FROM t WHERE 1 = 0"),
        ("t", "DO SLEEP(0.1)"),
        ("t", U1),
        ("w", "UPDATE t, u SET t.v = 9, u.v = 9 WHERE t.id = 1 AND u.id = 1"),
        ("t", T1),
        ("t", U1),
        ("t", "COMMIT"),
    ],
    // Who waits for a lock reads what was committed meanwhile.
    &[
        ("t", "BEGIN"),
        ("w", "UPDATE t SET v = 9 WHERE id = 2"),
        ("t", "SELECT v FROM t WHERE id = 2 FOR UPDATE"),
        ("w", "UPDATE t SET v = 9 WHERE id = 1"),
        ("t", T1),
        ("t", "COMMIT"),
    ],
];

fn staged(direct: &mut Conn, target: &Target, play: Play, snapshot: Option<&str>) -> Vec<String> {
    run(direct, &["DELETE FROM t", "INSERT INTO t VALUES (1,10),(2,10),(3,30)", "UPDATE u SET v = 100 * id"]);
    let mut clients: Vec<(&str, Conn)> = Vec::new();
    let mut told = Vec::new();
    for (name, _) in play {
        if !clients.iter().any(|(known, _)| known == name) {
            let mut conn = connect(target, "fresh_tx_plays");
            if let Some(snapshot) = snapshot {
                run(&mut conn, &[&format!("SET SESSION transaction_snapshot = {snapshot}")]);
            }
            for read in [T1, T2, U1, T1, T2, U1] {
                let _ = number(&mut conn, read);
            }
            clients.push((name, conn));
        }
    }
    // What was stored just now is settled when a transaction asks for it, or a little later.
    std::thread::sleep(Duration::from_millis(20));
    for (name, statement) in play {
        let conn = &mut clients.iter_mut().find(|(known, _)| known == name).expect("it is there").1;
        let answer = answer(conn, statement);
        let is_conflict = format!("{answer:?}").contains("1213");
        told.push(format!("{name}: {statement}: {answer:?}"));
        if is_conflict {
            break;
        }
    }
    told
}

/// What is not as directly may be a conflict, and nothing else.
#[test]
fn several_clients_see_what_they_see_directly() {
    with_tables("fresh_tx_plays", |server, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        for play in PLAYS {
            let expected = staged(direct, &server.target, play, None);
            for snapshot in ["eager", "auto", "auto", "auto"] {
                caught_up(freshet);
                let got = staged(direct, freshet.target(), play, Some(snapshot));
                let is_cut = got.len() < expected.len() && snapshot == "auto";
                let whole = if is_cut { got.len() - 1 } else { expected.len() };
                assert_eq!(got[..whole], expected[..whole], "{:?} {snapshot}", server.flavor);
            }
        }
    });
}

/// A table that was read from memory is locked by nobody. Who defines it anew ends the transactions that have read it.
#[test]
fn a_table_that_was_read_is_not_another_one_later() {
    with_tables("fresh_tx_renamed", |_, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        let mut reader = connect(freshet.target(), "fresh_tx_renamed");
        settle(freshet, &mut reader, (&["BEGIN"], &[T1, U1], "COMMIT"));
        for round in 0..ROUNDS {
            run(&mut reader, &["BEGIN"]);
            let first = number(&mut reader, T1).expect("an answer");
            if round % 2 == 0 {
                std::thread::sleep(Duration::from_millis(40));
            }
            run(direct, &["SET lock_wait_timeout = 1"]);
            if direct.query_drop("RENAME TABLE t TO x, u TO t, x TO u").is_ok() {
                caught_up(freshet);
                match code(number(&mut reader, "SELECT v FROM t WHERE id = 1 AND 1")) {
                    Ok(second) => assert_eq!(first, second, "round {round}"),
                    Err(code) => assert!([1213, 1412].contains(&code), "{code}"),
                }
            }
            run(&mut reader, &["ROLLBACK"]);
        }
    });
}

/// What others are just writing is no definition of what was read.
#[test]
fn a_write_that_is_under_way_ends_no_transaction() {
    with_tables("fresh_tx_beside", |server, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        run(direct, &["CREATE PROCEDURE slow() BEGIN UPDATE u SET v = 200 WHERE id = 2; DO SLEEP(0.3); END"]);
        caught_up(freshet);
        let mut reader = connect(freshet.target(), "fresh_tx_beside");
        run(&mut reader, &["SET SESSION transaction_snapshot = eager"]);
        let mut counted = Counted::of(freshet);
        for _ in 0..3 {
            eventually("a hit in a transaction", || {
                let _ = (
                    number(&mut reader, U1),
                    run(&mut reader, &["ROLLBACK", "BEGIN"]),
                    number(&mut reader, T1),
                );
                let hits = counted.hits();
                assert_eq!(number(&mut reader, U1).expect("an answer"), 100);
                (counted.hits() > hits).then_some(())
            });
            std::thread::scope(|scope| {
                let writes = || run(&mut connect(freshet.target(), "fresh_tx_beside"), &["CALL slow()"]);
                let writing = scope.spawn(writes);
                await_asleep(&server.target, "fresh_tx_beside");
                assert_eq!(code(number(&mut reader, "SELECT v FROM t WHERE id = 3 AND 1")), Ok(30));
                writing.join().expect("it is written");
            });
        }
    });
}

/// An empty transaction for which a GTID was given takes it.
#[test]
fn a_gtid_of_its_own_is_taken_by_a_transaction_that_does_nothing() {
    with_tables("fresh_tx_gtid", |server, freshet, direct| {
        let has_gtids: Option<String> = direct.query_first("SELECT @@global.gtid_mode").unwrap_or_default();
        if server.flavor != Flavor::MySql || has_gtids.as_deref() != Some("ON") {
            return;
        }
        let mut client = connect(freshet.target(), "fresh_tx_gtid");
        for read in [None, Some(T1)] {
            let given: String =
                direct.query_first("SELECT CONCAT(UUID(), ':1')").expect("a row").expect("a GTID");
            run(&mut client, &[&format!("SET gtid_next = '{given}'")]);
            run(&mut client, &["SELECT 1", T1, T1, "BEGIN"]);
            read.into_iter().for_each(|read| drop(number(&mut client, read)));
            run(&mut client, &["COMMIT", "SET gtid_next = 'AUTOMATIC'"]);
            let is_taken = format!("SELECT GTID_SUBSET('{given}', @@global.gtid_executed)");
            assert_eq!(number(direct, &is_taken).expect("a row"), 1, "{read:?}");
        }
    });
}

/// Where autocommit is off, a table without transactions is held until COMMIT, though no transaction is open.
#[test]
fn what_a_transaction_holds_is_let_go_by_its_end() {
    with_tables("fresh_tx_held", |_, freshet, direct| {
        run(
            direct,
            &["CREATE TABLE m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM", "SET lock_wait_timeout = 10"],
        );
        let mut client = connect(freshet.target(), "fresh_tx_held");
        run(&mut client, &["SET autocommit = 0"]);
        settle_if(freshet, &mut client, &[T1, T1]);
        for end in ["COMMIT", "ROLLBACK", "BEGIN"] {
            run(&mut client, &["EXPLAIN SELECT v FROM m WHERE id = 1"]);
            assert_eq!(number(&mut client, T1).expect("a row"), 10);
            run(&mut client, &[end]);
            direct
                .query_drop("ALTER TABLE m COMMENT 'another'")
                .unwrap_or_else(|error| panic!("{end}: {error}"));
            run(&mut client, &["COMMIT"]);
        }
    });
}

/// A ROLLBACK of Freshet's own leaves nothing at the server: whatever begins after it can begin and end without the server again.
#[test]
fn nothing_stands_at_the_server_after_a_rollback_that_no_client_asked_for() {
    const NAME: &str = "fresh_tx_rolled_back";
    // The savepoint is set before the read view opens.
    const GOES_BACK: [&str; 5] =
        ["BEGIN", "SAVEPOINT a", T1, "UPDATE u SET v = v + 1 WHERE id = 2", "ROLLBACK TO a"];
    with_tables(NAME, |_, freshet, direct| {
        if !freshet.is_there() {
            return;
        }
        run(direct, &["SET lock_wait_timeout = 1"]);
        let mut counter = freshet.target().connect();
        let mut other = connect(freshet.target(), NAME);
        let mut has_hits = |client: &mut Conn| {
            // What a transaction reads from memory is stored, and settled.
            settle(freshet, &mut other, (&["BEGIN"], &[T1], "COMMIT"));
            run(client, &["BEGIN"]);
            let hits = Counted::of(freshet).hits_of(client, T1, 3);
            run(client, &["COMMIT"]);
            (hits > 0).then_some(())
        };
        eventually("a hit in the transaction that is tried again after a conflict", || {
            // A session that has met a conflict is careful for a while.
            let mut client = connect(freshet.target(), NAME);
            settle(freshet, &mut client, (&["BEGIN"], &[T1], "COMMIT"));
            run(&mut client, &["BEGIN"]);
            let _ = number(&mut client, T1).expect("an answer");
            run(&mut client, &["UPDATE u SET v = v + 1 WHERE id = 2"]);
            let is_defined = direct.query_drop("ALTER TABLE t COMMENT 'another'").is_ok();
            let second = code(number(&mut client, "SELECT v FROM t WHERE id = 3 AND 1"));
            if !is_defined || second != Err(1213) {
                return None;
            }
            has_hits(&mut client)
        });
        for once in ["DO 0", "SET autocommit = 0"] {
            let mut client = connect(freshet.target(), NAME);
            run(&mut client, &[once]);
            eventually(&format!("{once}: COMMIT ends here what has gone back to its beginning"), || {
                run(&mut client, &GOES_BACK);
                let before = status(&mut counter, "Freshet_forwarded");
                run(&mut client, &["COMMIT"]);
                (status(&mut counter, "Freshet_forwarded") == before).then_some(())
            });
            eventually(&format!("{once}: a hit in the transaction that begins after that"), || {
                run(&mut client, &GOES_BACK);
                has_hits(&mut client)
            });
        }
    });
}
