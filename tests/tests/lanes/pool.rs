//! The connections that sessions give up serve other sessions, which find there what is theirs and nothing else.

use std::time::Instant;

use mysql::{Params, Statement, Value};

use super::given_up::{ELSEWHERE, READ, has_none, read_for, with_users};
use super::*;

/// The rows of an execution, or the error's number.
fn executed(conn: &mut Conn, statement: &Statement, values: impl Into<Params>) -> String {
    match conn.exec::<mysql::Row, _, _>(statement, values.into()) {
        Ok(rows) => format!("{:?}", rows.into_iter().map(mysql::Row::unwrap).collect::<Vec<_>>()),
        Err(error) => format!("{error:?}"),
    }
}

fn prepare(conn: &mut Conn, text: &str) -> Statement {
    conn.prep(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Reads until the first session has no connection, which the last one lends its own to.
fn gives_up(freshet: &Freshet, conns: &mut [Conn]) {
    // Nobody's connection is lent then.
    conns.iter_mut().for_each(|conn| run(conn, &["UPDATE u SET v = v + 0 WHERE id = 1"]));
    eventually("its connection is given up", || {
        conns.iter_mut().rev().for_each(|conn| {
            (0..2).for_each(|_| assert_eq!(one(conn, READ), "10"));
        });
        has_none(freshet, &conns[0]).then_some(())
    });
}

/// Executes a statement on the session's own connection: in a transaction that has written.
fn executed_there(conn: &mut Conn, statement: &Statement, values: impl Into<Params>) -> String {
    run(conn, &["BEGIN", "UPDATE u SET v = v + 0 WHERE id = 1"]);
    let executed = executed(conn, statement, values);
    run(conn, &["COMMIT"]);
    executed
}

#[test]
fn what_is_prepared_goes_on_under_its_numbers_and_none_is_given_twice() {
    let schema = "lanes_pool_prepared";
    with_users(schema, |server, direct, freshet, target| {
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
        conns.iter_mut().for_each(|conn| run(conn, &[ELSEWHERE]));
        run(&mut conns[0], &["BEGIN", "UPDATE t SET v = v + 0 WHERE id = 3"]);
        let conn = &mut conns[0];
        let texts = [
            "SELECT v FROM t WHERE id = ?",
            "SELECT v + 1 FROM t WHERE id = ?",
            "SELECT id FROM u WHERE v = ?",
        ];
        let mut statements: Vec<Statement> = texts.iter().map(|text| prepare(conn, text)).collect();
        let shown = ["[[Int(20)]]", "[[Int(21)]]", "[]"];
        for (statement, shown) in statements.iter().zip(shown) {
            assert_eq!(executed(conn, statement, (2,)), shown);
        }
        run(conn, &["COMMIT"]);
        gives_up(freshet, &mut conns);
        let conn = &mut conns[0];
        // The server counts from 1 on its other connection.
        for text in ["UPDATE t SET v = ? WHERE id = 2", "SELECT v - 1 FROM t WHERE id = ?"] {
            statements.push(prepare(conn, text));
        }
        let mut ids: Vec<u32> = statements.iter().map(Statement::id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), statements.len(), "on {:?}", server.flavor);
        assert_eq!(executed(conn, &statements[3], (50,)), "[]");
        let shown = ["[[Int(50)]]", "[[Int(51)]]", "[]", "[]", "[[Int(49)]]"];
        for at in [0, 1, 2, 4] {
            assert_eq!(executed_there(conn, &statements[at], (2,)), shown[at], "{at} on {:?}", server.flavor);
            assert_eq!(executed(conn, &statements[at], (2,)), shown[at], "{at} on {:?}", server.flavor);
        }
        let closed = statements.remove(0);
        conn.close(closed.clone()).expect("it is closed");
        assert!(executed(conn, &closed, (2,)).contains("1243"));
        assert_eq!(executed_there(conn, &statements[0], (1,)), "[[Int(11)]]");
        run(direct, &["UPDATE t SET v = 20 WHERE id = 2"]);
    });
}

#[test]
fn a_statement_resolves_its_values_as_on_a_connection_of_its_own() {
    let schema = "lanes_pool_values";
    let texts = [
        "SELECT v * ? FROM t WHERE id = 1",
        "SELECT ABS(?), v FROM t WHERE id = 1",
        "SELECT id FROM t WHERE CONCAT(v) = ?",
    ];
    let values = [Value::from("1.5"), Value::from("2"), Value::from(10), Value::from(2.5), Value::from("a")];
    with_users(schema, |server, _, freshet, target| {
        let mut given_up = 0;
        for text in texts {
            for (first, second) in values.iter().flat_map(|first| values.iter().map(move |it| (first, it))) {
                let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
                let mut direct = connect(&server.target, schema);
                let (mine, own) = (prepare(&mut conns[0], text), prepare(&mut direct, text));
                executed_there(&mut conns[0], &mine, (first,));
                executed(&mut direct, &own, (first,));
                // Where it has to be kept, it is.
                conns
                    .iter_mut()
                    .rev()
                    .for_each(|conn| (0..3).for_each(|_| assert_eq!(one(conn, READ), "10")));
                given_up += u32::from(has_none(freshet, &conns[0]));
                let told = executed_there(&mut conns[0], &mine, (second,));
                let shown = executed(&mut direct, &own, (second,));
                assert_eq!(told, shown, "{text} with {first:?}, then {second:?} on {:?}", server.flavor);
            }
        }
        assert!(given_up > 20, "{given_up} on {:?}", server.flavor);
    });
}

#[test]
fn each_session_is_told_its_own_last_id() {
    let schema = "lanes_pool_ids";
    with_users(schema, |server, direct, freshet, target| {
        let mut conns: Vec<Conn> = (0..4).map(|_| connect(target, schema)).collect();
        let mut ids = vec![String::from("0"); conns.len()];
        for round in 0..12 {
            let at = round % 3;
            run(&mut conns[at], &["INSERT INTO t (v) VALUES (77)"]);
            ids[at] = conns[at].last_insert_id().to_string();
            read_for(Duration::from_millis(60), &mut conns);
            for (conn, id) in conns.iter_mut().zip(&ids) {
                assert_eq!(&one(conn, "SELECT LAST_INSERT_ID()"), id, "round {round} on {:?}", server.flavor);
            }
            // An id that was said is none that was given out.
            run(
                &mut conns[at],
                &["INSERT INTO t (id, v) VALUES (1000000, 77)", "DELETE FROM t WHERE id = 1000000"],
            );
        }
        assert!(status(&mut freshet.target().connect(), "Freshet_connections_given_up") > 12);
        drop(conns);
        run(direct, &["DELETE FROM t WHERE v = 77"]);
    });
}

#[test]
fn many_sessions_that_write_now_and_then_share_few_connections() {
    let schema = "lanes_pool_few";
    with_users(schema, |server, direct, _, target| {
        let of_schema = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{schema}'");
        let mut conns: Vec<Conn> = (0..24).map(|_| connect(target, schema)).collect();
        let writes: Vec<Statement> =
            conns.iter_mut().map(|conn| prepare(conn, "UPDATE u SET v = v + ? WHERE id = 2")).collect();
        let mut written = 0;
        eventually("few connections are left", || {
            for (conn, write) in conns.iter_mut().zip(&writes) {
                executed(conn, write, (1,));
                written += 1;
                assert_eq!(one(conn, "SELECT v FROM u WHERE id = 2"), (200 + written).to_string());
                assert_eq!(one(conn, READ), "10");
            }
            let count: u64 = direct.query_first(&of_schema).expect("the list").expect("a count");
            // The one that asks is among them; MySQL's are kept with such a statement that has values.
            (count <= 6 || server.flavor == freshet_tests::Flavor::MySql).then_some(())
        });
        run(direct, &["UPDATE u SET v = 200 WHERE id = 2"]);
    });
}

#[test]
fn the_lane_of_one_who_needs_no_connection_is_nobodys_and_goes_when_nobody_uses_it() {
    let schema = "lanes_pool_nobodys";
    with_users(schema, |server, _, freshet, target| {
        let mut look = freshet.target().connect();
        let mut lanes = |id: u32| -> Vec<u64> {
            look.query(format!("SELECT carried FROM freshet.lanes WHERE id = {id}")).expect("it is computed")
        };
        let mut giver = connect(target, schema);
        let id = giver.connection_id();
        (0..3).for_each(|_| assert_eq!(one(&mut giver, READ), "10"));
        // Its lane is not closed for that.
        run(&mut giver, &["UPDATE u SET v = v + 0 WHERE id = 1"]);
        let mut other = connect(target, schema);
        let before = lanes(id);
        assert_eq!(before.len(), 1, "{:?}", server.flavor);
        assert_eq!(one(&mut other, READ), "10");
        assert_eq!(lanes(id)[0], before[0] + 1);
        eventually("it is closed", || lanes(id).is_empty().then_some(()));
        for conn in [&mut other, &mut giver] {
            assert_eq!(one(conn, READ), "10");
        }
    });
}

#[test]
fn what_locks_rows_is_not_executed_again() {
    let schema = "lanes_pool_locks";
    with_users(schema, |server, direct, _, target| {
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
        let locking = prepare(&mut conns[0], "SELECT v FROM t WHERE id = ? FOR UPDATE");
        run(&mut conns[0], &["BEGIN"]);
        assert_eq!(executed(&mut conns[0], &locking, (1,)), "[[Int(10)]]");
        run(&mut conns[0], &["COMMIT"]);
        conns.iter_mut().rev().for_each(|conn| (0..3).for_each(|_| assert_eq!(one(conn, READ), "10")));
        run(&mut conns[0], &["BEGIN", "UPDATE u SET v = v + 0 WHERE id = 1"]);
        assert_eq!(executed(&mut conns[0], &locking, ("2",)), "[[Int(20)]]");
        let free = format!("SELECT v FROM {schema}.t WHERE id = 1 FOR UPDATE NOWAIT");
        assert_eq!(one(direct, &free), "10", "{:?}", server.flavor);
        run(&mut conns[0], &["COMMIT"]);
    });
}

/// The server knows it on the connection of the write alone, and nothing puts it back there.
#[test]
fn the_gtid_of_a_write_on_another_connection_is_not_told_wrong() {
    let schema = "lanes_pool_gtids";
    with_users(schema, |server, direct, freshet, target| {
        if server.flavor == freshet_tests::Flavor::MySql {
            return;
        }
        let write = "INSERT INTO u VALUES (50, 1)";
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
        run(&mut conns[0], &[write]);
        gives_up(freshet, &mut conns);
        assert!(one(&mut conns[0], "SELECT @@last_gtid").contains("1105"));
        // From now on it is kept for who may ask.
        run(&mut conns[0], &["DELETE FROM u WHERE id = 50"]);
        let told = one(&mut conns[0], "SELECT @@last_gtid");
        (0..3).for_each(|_| conns.iter_mut().for_each(|conn| assert_eq!(one(conn, READ), "10")));
        assert_eq!(one(&mut conns[0], "SELECT @@last_gtid"), told);
        run(direct, &[write, "DELETE FROM u WHERE id = 50"]);
        assert_ne!(one(direct, "SELECT @@last_gtid"), told);
    });
}

#[test]
fn who_is_killed_is_nobody_else() {
    let schema = "lanes_pool_killed";
    with_users(schema, |server, _, freshet, target| {
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = ON"]);
        let mut victim = connect(target, schema);
        let kill = format!("KILL QUERY {}", victim.connection_id());
        let until = Instant::now() + Duration::from_secs(3);
        // They wait for each other, so that a statement is nearly always under way on each connection.
        let work = |conn: &mut Conn| {
            [READ, READ, "UPDATE u SET v = v + 0 WHERE id = 1"].map(|text| answer(conn, text).err())
        };
        let (harmed, killed) = thread::scope(|scope| {
            let others: Vec<_> = (0..6)
                .map(|_| {
                    let mut conn = connect(target, schema);
                    scope.spawn(move || {
                        let mut harmed = Vec::new();
                        while Instant::now() < until {
                            harmed.extend(work(&mut conn).into_iter().flatten());
                        }
                        harmed
                    })
                })
                .collect();
            let killed = scope.spawn(|| {
                let mut killed = 0;
                while Instant::now() < until {
                    killed += work(&mut victim).into_iter().flatten().count();
                }
                killed
            });
            // One that has given its connection up sends it a while after it has looked whom it is about.
            let mut killer = connect(target, schema);
            while Instant::now() < until {
                run(&mut killer, &[READ, READ, &kill]);
            }
            let harmed: Vec<_> = others.into_iter().flat_map(|other| other.join().unwrap()).collect();
            (harmed, killed.join().unwrap())
        });
        assert!(harmed.is_empty(), "{:?}: {harmed:?}", server.flavor);
        assert!(killed > 0, "the victim's statements are killed on {:?}", server.flavor);
    });
}
