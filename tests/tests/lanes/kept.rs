//! What else a session has left at its connection: locked tables, and what a global `init_connect` did there.

use super::given_up::{UNUSED, has_none, read_for, with_users};
use super::*;

#[test]
fn a_session_that_has_locked_tables_keeps_its_connection_and_its_locks() {
    let schema = "lanes_kept_locks";
    with_users(schema, |server, direct, freshet, target| {
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
        read_for(UNUSED, &mut conns[..1]);
        run(&mut conns[1], &["LOCK TABLES t READ"]);
        read_for(2 * UNUSED, &mut conns);
        assert!(!has_none(freshet, &conns[1]), "{:?}", server.flavor);
        run(direct, &["SET SESSION lock_wait_timeout = 1"]);
        assert_eq!(answer(direct, "UPDATE t SET v = v + 1"), Err(1205), "{:?}", server.flavor);
        assert_eq!(answer(&mut conns[1], "UPDATE t SET v = v + 1"), Err(1099), "{:?}", server.flavor);
        assert_eq!(answer(&mut conns[1], "SELECT v FROM u WHERE id = 1"), Err(1100));
        run(&mut conns[1], &["UNLOCK TABLES"]);
        run(direct, &["UPDATE t SET v = v + 0"]);
    });
}

/// What `init_connect` does to each connection of those who may not do everything.
const INIT_CONNECT: &str = "SET @own = 7, time_zone = '+05:30'; CREATE TEMPORARY TABLE own AS SELECT 5 AS v";
const SHOWN: [(&str, &str); 3] =
    [("SELECT @own", "7"), ("SELECT @@time_zone", "+05:30"), ("SELECT v FROM own", "5")];

#[test]
fn what_init_connect_has_done_is_there_behind_many_reads() {
    let (schema, user) = ("lanes_kept_init", "lanes_kept_plain");
    with_users(schema, |server, direct, _, target| {
        run(
            direct,
            &[
                &format!("DROP USER IF EXISTS {user}"),
                &format!("CREATE USER {user} IDENTIFIED BY '{user}'"),
                &format!("GRANT ALL PRIVILEGES ON {schema}.* TO {user}"),
            ],
        );
        let plain = Target { user: user.into(), password: user.into(), ..target.clone() };
        let own = Target { user: user.into(), password: user.into(), ..server.target.clone() };
        run(direct, &[&format!("SET GLOBAL init_connect = \"{INIT_CONNECT}\"")]);
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut asked_directly = connect(&own, schema);
            let mut conns: Vec<Conn> = (0..3).map(|_| connect(&plain, schema)).collect();
            for round in 0..2 {
                read_for(2 * UNUSED, &mut conns);
                conns.iter_mut().for_each(|conn| run(conn, &["UPDATE u SET v = v + 0 WHERE id = 1"]));
                for (question, shown) in SHOWN {
                    assert_eq!(one(&mut asked_directly, question), shown, "{:?}", server.flavor);
                    for conn in &mut conns {
                        assert_eq!(one(conn, question), shown, "round {round} on {:?}", server.flavor);
                    }
                }
            }
        }));
        run(direct, &["SET GLOBAL init_connect = ''", &format!("DROP USER {user}")]);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
