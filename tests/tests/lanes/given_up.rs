//! A session whose reads are carried gives its own connection up, and has another when it needs one. Nobody notices, but the server.

use std::time::Instant;

use super::*;

pub(super) const READ: &str = "SELECT v FROM t WHERE id = 1";
/// A session is in an environment of its own then, and its server has been told so.
pub(super) const ELSEWHERE: &str = "SET time_zone = '+05:30'";
/// By then a connection that nothing keeps is given up, and the most that it takes.
pub(super) const UNUSED: Duration = Duration::from_millis(1_300);

/// Whether a session has no connection to the server.
pub(super) fn has_none(freshet: &Freshet, conn: &Conn) -> bool {
    let look = format!("SELECT server_id IS NULL FROM freshet.sessions WHERE id = {}", conn.connection_id());
    answer(&mut freshet.target().connect(), &look).is_ok_and(|rows| rows.concat() == ["1"])
}

/// Reads on all of them for so long.
pub(super) fn read_for(time: Duration, conns: &mut [Conn]) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        for conn in &mut *conns {
            assert_eq!(one(conn, READ), "10");
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Freshet for a new user, whose first login shows the password: of later ones MySQL's clients show only what the server can judge.
pub(super) fn with_users(schema: &str, test: impl Fn(&Server, &mut Conn, &Freshet, &Target)) {
    with_users_of(schema, "*", test);
}

/// The same, where the user may do everything in `schemas` alone.
pub(super) fn with_users_of(
    schema: &str,
    schemas: &str,
    test: impl Fn(&Server, &mut Conn, &Freshet, &Target),
) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        run(
            &mut server.target.connect(),
            &[
                &format!("DROP USER IF EXISTS {schema}"),
                &format!("CREATE USER {schema} IDENTIFIED BY '{schema}'"),
                &format!("GRANT ALL PRIVILEGES ON {schemas}.* TO {schema}"),
            ],
        );
        let (mut direct, freshet) = stage(server, schema, &["--multiplexing", "always"]);
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = OFF"]);
        let (user, password) = (schema.to_owned(), schema.to_owned());
        let target = Target { user, password, ..freshet.target().clone() };
        drop(connect(&target, schema));
        test(server, &mut direct, &freshet, &target);
    });
}

/// A session that has given its connection up.
pub(super) fn without((freshet, target): (&Freshet, &Target), schema: &str, said: &[&str]) -> Conn {
    let mut conns: Vec<Conn> = (0..2).map(|_| connect(target, schema)).collect();
    conns.iter_mut().for_each(|conn| run(conn, said));
    // One of them lends its connection to the other, and is gone then.
    let at = eventually("its connection is given up", || {
        read_for(UNUSED, &mut conns);
        conns.iter().position(|conn| has_none(freshet, conn))
    });
    conns.swap_remove(at)
}

/// Settings that change what is read, and a question that shows them.
const SETTINGS: [&str; 5] = [
    "SET NAMES latin1",
    "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'",
    "SET time_zone = '+05:30'",
    "SET SESSION group_concat_max_len = 9, SESSION max_join_size = 100000",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];
const SHOWN: &str = "SELECT @@sql_mode, @@time_zone, @@character_set_client, @@collation_connection, @@group_concat_max_len, \
                     @@max_join_size, DATABASE(), USER(), 'a' || 'b', \"v\" FROM t WHERE id = 1";

#[test]
fn sessions_that_only_read_give_their_connections_up_and_go_on_as_they_were() {
    let schema = "lanes_given_up";
    with_users(schema, |server, direct, freshet, target| {
        let own = Target { user: schema.to_owned(), password: schema.to_owned(), ..server.target.clone() };
        let mut asked_directly = connect(&own, schema);
        run(&mut asked_directly, &SETTINGS);
        let shown = answer(&mut asked_directly, SHOWN);
        let mut conns: Vec<Conn> = (0..8).map(|_| connect(target, schema)).collect();
        conns.iter_mut().for_each(|conn| run(conn, &SETTINGS));
        let of_schema = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{schema}'");
        let mut count = || direct.query_first::<u64, _>(&of_schema).expect("the list").expect("a count");
        let before = status(&mut freshet.target().connect(), "Freshet_connections_given_up");
        eventually("all have given their connections up", || {
            read_for(UNUSED, &mut conns);
            (conns.iter().filter(|conn| has_none(freshet, conn)).count() == 8).then_some(())
        });
        assert!(status(&mut freshet.target().connect(), "Freshet_connections_given_up") >= before + 8);
        // This one, the one that asks directly, and the one that carries.
        eventually("the server has closed them", || (count() <= 3).then_some(()));
        for conn in &mut conns {
            assert_eq!(answer(conn, SHOWN), shown);
            assert_eq!(one(conn, READ), "10");
        }
    });
}

/// What a session does, and what is to be the same before and behind many reads.
const LEFT: [(&[&str], &str); 11] = [
    (&["SET @x = 7"], "SELECT @x"),
    (&["DO GET_LOCK('given_up', 5)"], "SELECT IS_USED_LOCK('given_up') = CONNECTION_ID()"),
    (&["CREATE TEMPORARY TABLE own (v INT)", "INSERT INTO own VALUES (5)"], "SELECT v FROM own"),
    (&[], "SELECT CONNECTION_ID()"),
    (&[], "SELECT @@pseudo_thread_id"),
    // MySQL has no sequences, and says so each time.
    (&["SELECT NEXTVAL(s)"], "SELECT LASTVAL(s)"),
    (&["SELECT NEXT VALUE FOR s"], "SELECT PREVIOUS VALUE FOR s"),
    (&["INSERT INTO t (v) VALUES (77)"], "SELECT LAST_INSERT_ID() > 3"),
    (&["PREPARE p FROM 'SELECT v + ? FROM t WHERE id = 2'", "SET @y = 1"], "EXECUTE p USING @y"),
    (&["SET SESSION TRANSACTION READ ONLY"], "INSERT INTO u VALUES (9, 9)"),
    (
        &["SET SESSION optimizer_switch = 'index_merge=off'"],
        "SELECT @@optimizer_switch LIKE '%index_merge=off%'",
    ),
];

#[test]
fn settings_that_change_no_answer_are_taken_along_too() {
    const ELSEWHERE: [&str; 4] = [
        "SET autocommit = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION wait_timeout = 1234",
        "SET foreign_key_checks = 0, @@session.unique_checks = 0",
    ];
    let schema = "lanes_given_up_settings";
    with_users(schema, |server, direct, freshet, target| {
        let name = if server.flavor == Flavor::MySql { "transaction_isolation" } else { "tx_isolation" };
        let shown =
            format!("SELECT @@autocommit, @@{name}, @@wait_timeout, @@foreign_key_checks, @@unique_checks");
        // Others are as they begin, and leave connections behind that are so.
        let mut others: Vec<Conn> = (0..3).map(|_| connect(target, schema)).collect();
        for settings in ELSEWHERE {
            let mut conns: Vec<Conn> = (0..3).map(|_| connect(target, schema)).collect();
            conns.iter_mut().for_each(|conn| run(conn, &[settings]));
            let before = one(&mut conns[0], &shown);
            for _ in 0..8 {
                for conn in others.iter_mut().chain(&mut conns) {
                    (0..2).for_each(|_| assert_eq!(one(conn, READ), "10"));
                    run(conn, &["UPDATE u SET v = v + 0 WHERE id = 1", "COMMIT"]);
                }
                conns
                    .iter_mut()
                    .for_each(|conn| assert_eq!(one(conn, &shown), before, "{:?}", server.flavor));
            }
            run(&mut conns[0], &["UPDATE u SET v = 7 WHERE id = 2"]);
            let is_seen = one(direct, &format!("SELECT v FROM {schema}.u WHERE id = 2")) == "7";
            assert_eq!(is_seen, !settings.contains("autocommit"), "{settings} on {:?}", server.flavor);
            run(&mut conns[0], &["ROLLBACK"]);
        }
        assert!(status(&mut freshet.target().connect(), "Freshet_connections_given_up") > 20);
    });
}

#[test]
fn what_a_session_has_left_is_there_behind_its_reads() {
    let schema = "lanes_kept";
    with_users(schema, |server, direct, _, target| {
        let _ = one(direct, "CREATE SEQUENCE s");
        // The first one lends its connection.
        let mut lender = [connect(target, schema)];
        read_for(UNUSED, &mut lender);
        let mut conns: Vec<Conn> = LEFT.iter().map(|_| connect(target, schema)).collect();
        let mut before = Vec::new();
        for ((said, shown), conn) in LEFT.iter().zip(&mut conns) {
            said.iter().for_each(|said| drop(one(conn, said)));
            before.push(one(conn, shown));
        }
        read_for(2 * UNUSED, &mut conns);
        for (((said, shown), conn), before) in LEFT.iter().zip(&mut conns).zip(before) {
            assert_eq!(one(conn, shown), before, "{said:?} {shown} on {:?}", server.flavor);
        }
        drop(conns);
        run(direct, &["DELETE FROM t WHERE v = 77"]);
    });
}

#[test]
fn what_is_asked_of_the_last_read_is_told_without_a_connection() {
    let schema = "lanes_given_up_asked";
    with_users(schema, |server, _, freshet, target| {
        let mut direct = connect(&server.target, schema);
        for asked in ["SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "SHOW WARNINGS", "SELECT LAST_INSERT_ID()"]
        {
            let mut conn = without((freshet, target), schema, &[ELSEWHERE]);
            let read = "SELECT id FROM t WHERE id < 3";
            assert_eq!(answer(&mut conn, read), answer(&mut direct, read));
            assert_eq!(
                answer(&mut conn, asked),
                answer(&mut direct, asked),
                "{asked} on {:?}",
                server.flavor
            );
        }
    });
}

#[test]
fn a_session_goes_on_with_its_own_settings_though_the_global_ones_have_changed() {
    const SHOWN: &str = "SELECT @@default_week_format, WEEK('2024-01-01'), v FROM t WHERE id = 1";
    let schema = "lanes_given_up_globals";
    with_users(schema, |_, direct, freshet, target| {
        let mut conn = without((freshet, target), schema, &[ELSEWHERE]);
        run(direct, &["SET GLOBAL default_week_format = 3"]);
        let shown = one(&mut conn, SHOWN);
        run(direct, &["SET GLOBAL default_week_format = 0"]);
        assert_eq!(shown, "0,0,10");
        assert_eq!(one(&mut conn, SHOWN), "0,0,10");
    });
}

#[test]
fn a_client_without_a_connection_is_ended_as_the_server_would() {
    let schema = "lanes_given_up_silent";
    with_users(schema, |_, _, freshet, target| {
        let mut conn = without((freshet, target), schema, &[ELSEWHERE, "SET SESSION wait_timeout = 3"]);
        assert_eq!(one(&mut conn, READ), "10");
        thread::sleep(Duration::from_secs(6));
        assert!(try_answer(&mut conn, READ).is_err(), "it was silent for twice as long as it may be");
    });
}

#[test]
fn who_may_not_log_in_any_more_is_told_so_and_reads_nothing() {
    let schema = "lanes_given_up_account";
    with_users(schema, |server, direct, freshet, target| {
        let mut conn = without((freshet, target), schema, &[ELSEWHERE]);
        run(direct, &[&format!("ALTER USER {schema} IDENTIFIED BY 'another'")]);
        // One that another session has given up may serve it for a while, as its own would.
        let told = eventually("it needs a new one", || {
            thread::sleep(Duration::from_millis(200));
            Some(one(&mut conn, READ)).filter(|told| told != "10")
        });
        assert!(told.contains("1045"), "{told} on {:?}", server.flavor);
    });
}

/// A client of MySQL in clear gives a proof that only the server can check, unless it is of the account that Freshet has itself.
#[test]
fn sessions_of_our_own_account_give_theirs_up_though_they_never_gave_their_password() {
    let schema = "lanes_given_up_ours";
    with_lanes(schema, |server, _, freshet| {
        // The server knows the password by now, and asks no client for it.
        drop(server.target.connect());
        let mut conns: Vec<Conn> = (0..2).map(|_| connect(freshet.target(), schema)).collect();
        eventually("both have given their connections up", || {
            read_for(Duration::from_millis(200), &mut conns);
            conns.iter().all(|conn| has_none(freshet, conn)).then_some(())
        });
        conns.iter_mut().for_each(|conn| run(conn, &["UPDATE u SET v = v + 0 WHERE id = 1"]));
    });
}
