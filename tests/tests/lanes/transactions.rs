//! The reads of transactions that only read are carried too, in read views that many share. Each transaction reads the state of one moment all the same.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use freshet_tests::cached::{answer, connect, eventually, run};
use freshet_tests::{Flavor, Freshet, Target};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};

use super::{carried, one, with_stages};

/// A statement that nothing is stored of yet.
fn read(id: u32) -> String {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    format!("SELECT v, {} FROM t WHERE id = {id}", ASKED.fetch_add(1, Ordering::Relaxed))
}

/// The first value of an answer to it.
fn value(conn: &mut Conn, id: u32) -> Result<i64, u16> {
    answer(conn, &read(id)).map(|rows| rows[0][0].parse().expect("it is a number"))
}

/// Before each server, a Freshet that carries whatever it may, and has carried the reads of a transaction.
fn with_carried(schema: &str, test: impl Fn(&mut Conn, &Freshet, Flavor)) {
    with_stages(schema, &["--multiplexing", "always"], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        eventually("the reads of a transaction are carried", || {
            run(&mut reader, &["BEGIN"]);
            let before = carried(freshet);
            let read = [value(&mut reader, 1), value(&mut reader, 2)];
            let is_carried = carried(freshet) >= before + 2;
            run(&mut reader, &["COMMIT"]);
            (is_carried && read.iter().all(Result::is_ok)).then_some(())
        });
        test(direct, freshet, server.flavor);
    });
}

/// Moves one from row 1 to row 2 and back, straight at the server, until it is told to stop.
fn moves(direct: &Target, schema: &str, stop: &AtomicBool) {
    let mut writer = connect(direct, schema);
    for round in 0_i32.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let sign = if round % 2 == 0 { '+' } else { '-' };
        let opposite = if round % 2 == 0 { '-' } else { '+' };
        run(
            &mut writer,
            &[
                "BEGIN",
                &format!("UPDATE t SET v = v {sign} 1 WHERE id = 1"),
                &format!("UPDATE t SET v = v {opposite} 1 WHERE id = 2"),
                "COMMIT",
            ],
        );
        // What has just been written is not to be had from a read view that was opened before.
        thread::sleep(Duration::from_millis(u64::from(round.unsigned_abs() % 8 * 5)));
    }
}

/// Reads rows whose sum is always the same, for four seconds, and counts the sums.
fn sum_again_and_again(mut reader: Conn, (set, begin): (&[&str], &[&str]), sums: &AtomicU32) {
    let until = Instant::now() + Duration::from_secs(4);
    run(&mut reader, set);
    while Instant::now() < until {
        run(&mut reader, begin);
        let read = (value(&mut reader, 1), value(&mut reader, 2), value(&mut reader, 1));
        run(&mut reader, &["COMMIT"]);
        match read {
            (Ok(one), Ok(two), Ok(again)) => assert_eq!((one + two, one), (30, again)),
            // There is no moment at which all was so: the transaction is over.
            (Err(1213), ..) | (_, Err(1213), _) | (.., Err(1213)) => continue,
            other => panic!("{other:?}"),
        }
        sums.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sums that are always the same, read by many transactions while rows are moved straight at the server. `set` is said by each session, `begin` by each
/// transaction.
fn sums_are_right(schema: &str, (set, begin): (&[&str], &[&str]), carries: bool) {
    with_stages(schema, &["--multiplexing", "always"], |server, _direct, freshet| {
        let (before, stop, sums) = (carried(freshet), AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| moves(&server.target, schema, &stop));
            let reads = || sum_again_and_again(connect(freshet.target(), schema), (set, begin), &sums);
            let readers: Vec<_> = (0..6).map(|_| scope.spawn(reads)).collect();
            let read: Vec<_> = readers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            stop.store(true, Ordering::Relaxed);
            assert!(read.iter().all(Result::is_ok), "{:?}: all is read at one moment", server.flavor);
        });
        assert!(sums.load(Ordering::Relaxed) > 50, "{:?}", server.flavor);
        assert_eq!(carried(freshet) > before, carries, "{:?}", server.flavor);
    });
}

#[test]
fn transactions_read_the_state_of_one_moment() {
    sums_are_right("lanes_moments", (&[], &["BEGIN"]), true);
}

#[test]
fn so_do_those_that_begin_by_themselves() {
    sums_are_right("lanes_by_themselves", (&["SET autocommit = 0"], &[]), true);
}

#[test]
fn a_read_view_of_ones_own_is_nobody_elses() {
    sums_are_right("lanes_snapshots", (&[], &["START TRANSACTION WITH CONSISTENT SNAPSHOT"]), false);
}

/// What is written is seen by the transactions that begin after that, whoever has written it through Freshet.
#[test]
fn what_was_written_before_is_read() {
    let schema = "lanes_written";
    with_carried(schema, |_direct, freshet, flavor| {
        let [mut writer, mut reader] = [(), ()].map(|()| connect(freshet.target(), schema));
        for round in 100_i64..300 {
            run(&mut writer, &[&format!("UPDATE t SET v = {round} WHERE id = 3")]);
            // Until it is applied, a fence stands for it. After that, a stamp.
            thread::sleep(Duration::from_millis(round.unsigned_abs() % 4 * 2));
            for conn in [&mut reader, &mut writer] {
                run(conn, &["BEGIN"]);
                let got = [value(conn, 1), value(conn, 3)];
                run(conn, &["COMMIT"]);
                assert_eq!(got, [Ok(10), Ok(round)], "{flavor:?}");
            }
            // A transaction sees its own.
            run(&mut writer, &["BEGIN"]);
            value(&mut writer, 1).expect("it is read");
            run(&mut writer, &["UPDATE t SET v = v + 1000 WHERE id = 3"]);
            let own = value(&mut writer, 3);
            run(&mut writer, &["ROLLBACK"]);
            assert!(own == Ok(round + 1000) || own == Err(1213), "{flavor:?}: {own:?}");
        }
    });
}

/// At READ COMMITTED each statement reads what is committed then.
#[test]
fn each_statement_may_read_by_itself() {
    let schema = "lanes_committed";
    with_stages(schema, &["--multiplexing", "always"], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"]);
        let before = carried(freshet);
        for round in 50..100 {
            run(&mut reader, &["BEGIN"]);
            value(&mut reader, 1).expect("it is read");
            run(direct, &[&format!("UPDATE {schema}.t SET v = {round} WHERE id = 2")]);
            assert_eq!(value(&mut reader, 2), Ok(round), "{:?}", server.flavor);
            run(&mut reader, &["COMMIT"]);
        }
        assert!(carried(freshet) > before + 50, "{:?}", server.flavor);
    });
}

/// Executions of prepared statements too.
#[test]
fn executions_in_transactions_are_carried() {
    let schema = "lanes_executed_in";
    with_carried(schema, |direct, freshet, flavor| {
        let mut reader = connect(freshet.target(), schema);
        let statement = reader.prep("SELECT v FROM t WHERE v <> ? AND id = ?").expect("it is prepared");
        let execute = |reader: &mut Conn, other: i64, id: i64| -> Value {
            reader.exec_first(&statement, (other, id)).expect("it is executed").expect("there is a row")
        };
        let mut most = 0;
        for round in 0..60 {
            run(direct, &[&format!("UPDATE {schema}.u SET v = {round}")]);
            run(&mut reader, &["BEGIN"]);
            let before = carried(freshet);
            for id in 1..=3 {
                let got = execute(&mut reader, 1000 * round + id, id);
                assert_eq!(got, Value::Int(10 * id), "{flavor:?}");
            }
            most = most.max(carried(freshet) - before);
            run(&mut reader, &["COMMIT"]);
        }
        assert_eq!(most, 3, "{flavor:?}");
    });
}

/// Nothing is left open at the server: neither a definition nor the purge waits for a read view that nobody reads.
#[test]
fn nobody_waits_for_a_shared_read_view() {
    let schema = "lanes_left_open";
    with_carried(schema, |direct, freshet, flavor| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["BEGIN"]);
        value(&mut reader, 1).expect("it is read");
        let since = Instant::now();
        run(direct, &[&format!("ALTER TABLE {schema}.t ADD COLUMN added INT DEFAULT 7")]);
        assert!(since.elapsed() < Duration::from_secs(5), "{flavor:?}: {:?}", since.elapsed());
        run(&mut reader, &["COMMIT"]);
        eventually("no transaction is open", || {
            (one(direct, "SELECT COUNT(*) FROM information_schema.INNODB_TRX") == "0").then_some(())
        });
        // Whose connection it was finds it as it was.
        run(&mut reader, &["BEGIN", "UPDATE t SET v = 1 WHERE id = 1", "ROLLBACK"]);
        assert_eq!(one(&mut reader, "SELECT added FROM t WHERE id = 1"), "7", "{flavor:?}");
    });
}
