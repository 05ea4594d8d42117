//! Writes of which it is easily mistaken when they are committed, or what they change: after an error that has ended the
//! transaction, and after a definition that the stream has not brought yet. The stream is held up, so that it is the fences
//! alone that keep a reader from what was stored before.

use std::thread;

use freshet_tests::cached::{Answer, Counted, answer, await_lock_wait, connect, eventually, run};
use freshet_tests::stall::Stall;
use freshet_tests::{Flavor, Freshet};
use mysql::Conn;

use crate::freshness::levels::with_stall;

const READ: &str = "SELECT v FROM t WHERE id = 1";

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

/// The writer's next statement commits by itself: nobody is answered from before it, and neither is the writer.
fn writes_alone(freshet: &Freshet, schema: &str, stall: &Stall, writer: &mut Conn) {
    let mut reader = connect(freshet.target(), schema);
    Counted::of(freshet).prime(&mut reader, READ).expect("it is answered");
    stall.hold();
    run(writer, &["UPDATE t SET v = 7 WHERE id = 1"]);
    assert_eq!(answer(&mut reader, READ), one("7"));
    assert_eq!(answer(writer, READ), one("7"));
    stall.release();
}

#[test]
fn what_follows_an_implicit_commit_that_failed_is_fenced() {
    const SCHEMA: &str = "doubts_implicit";
    with_stall(SCHEMA, &[], |_, freshet, stall, _| {
        let mut writer = connect(freshet.target(), SCHEMA);
        run(&mut writer, &["BEGIN"]);
        assert_eq!(answer(&mut writer, "CREATE TABLE t (id INT)"), Err(1050));
        writes_alone(freshet, SCHEMA, stall, &mut writer);
    });
}

#[test]
fn what_follows_a_deadlock_is_fenced() {
    const SCHEMA: &str = "doubts_deadlock";
    with_stall(SCHEMA, &[], |server, freshet, stall, mut direct| {
        let mut writer = connect(freshet.target(), SCHEMA);
        // The server gives up the transaction that has changed less.
        run(
            &mut direct,
            &["INSERT INTO t VALUES (3,0),(4,0),(5,0)", "BEGIN", "UPDATE t SET v = v + 1 WHERE id > 1"],
        );
        run(&mut writer, &["BEGIN", "SELECT v FROM t WHERE id = 1 FOR UPDATE"]);
        let id = direct.connection_id();
        let other =
            thread::spawn(move || run(&mut direct, &["UPDATE t SET v = v + 1 WHERE id = 1", "ROLLBACK"]));
        await_lock_wait(&server.target, id);
        assert_eq!(answer(&mut writer, "SELECT v FROM t WHERE id = 2 FOR UPDATE"), Err(1213));
        other.join().expect("the other goes on");
        if server.flavor == Flavor::MariaDb && server.version() < (10, 6) {
            // It does not commit the next write by itself, although the transaction is over and autocommit is on.
            run(&mut writer, &["ROLLBACK"]);
        }
        writes_alone(freshet, SCHEMA, stall, &mut writer);
    });
}

#[test]
fn a_transaction_is_fenced_by_the_triggers_that_it_met() {
    const SCHEMA: &str = "doubts_trigger";
    const READ_LOG: &str = "SELECT n FROM log WHERE id = 1";
    with_stall(SCHEMA, &[], |_, freshet, stall, mut direct| {
        run(&mut direct, &["CREATE TABLE log (id INT PRIMARY KEY, n INT)", "INSERT INTO log VALUES (1,0)"]);
        let [mut definer, mut writer, mut reader] = [(); 3].map(|()| connect(freshet.target(), SCHEMA));
        let mut counted = Counted::of(freshet);
        counted.prime(&mut reader, READ_LOG).expect("it is answered");
        // So that the table is known as one without triggers.
        run(&mut writer, &["UPDATE t SET v = 1 WHERE id = 1"]);
        eventually("the end of its fence", || (counted.hits_of(&mut reader, READ_LOG, 1) > 0).then_some(()));
        stall.hold();
        let trigger = "CREATE TRIGGER counts AFTER UPDATE ON t FOR EACH ROW UPDATE log SET n = n + 1";
        run(&mut definer, &[trigger]);
        run(&mut writer, &["BEGIN", "UPDATE t SET v = 2 WHERE id = 1"]);
        stall.release();
        assert_eq!(counted.prime(&mut reader, READ_LOG), one("0"));
        stall.hold();
        run(&mut writer, &["COMMIT"]);
        assert_eq!(answer(&mut reader, READ_LOG), one("1"));
        stall.release();
    });
}

/// A number that was given before tells nothing of when its second commit is applied.
#[test]
fn a_commit_under_an_old_number_is_fenced() {
    const SCHEMA: &str = "doubts_number";
    with_stall(SCHEMA, &[], |server, freshet, stall, mut direct| {
        if server.flavor != Flavor::MariaDb {
            return;
        }
        let mut writer = connect(freshet.target(), SCHEMA);
        run(&mut direct, &["UPDATE t SET v = 1 WHERE id = 1"]);
        let last = answer(&mut direct, "SELECT SUBSTRING_INDEX(@@last_gtid, '-', -1)").expect("it has one");
        let mut reader = connect(freshet.target(), SCHEMA);
        eventually("its event", || (answer(&mut reader, READ) == one("1")).then_some(()));
        run(&mut writer, &["SELECT 1", &format!("SET gtid_seq_no = {}", last[0][0])]);
        writes_alone(freshet, SCHEMA, stall, &mut writer);
    });
}
