//! Query rules with the attribute `{"freshness":"ttl"}`: answers that may be stale for as long as `cache_ttl`, and no others.

use std::time::{Duration, Instant};

use freshet_tests::cached::{answer, caught_up, connect, eventually, fresh_schema, run, status};
use freshet_tests::ruled::{Bench, with_each};
use freshet_tests::{Flavor, Freshet, Server, Target, server};
use mysql::Conn;
use mysql::prelude::Queryable;

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20),(3,30)",
    "CREATE VIEW w AS SELECT id, v FROM t",
];

/// A rule for statements with this comment in them, which digests do not have.
fn agreed(ttl_ms: u64) -> String {
    format!(
        "(rule_id,active,match_pattern,cache_ttl,attributes) \
         VALUES (1,1,'agreed',{ttl_ms},'{{\"freshness\":\"ttl\"}}')"
    )
}

const POINT: &str = "SELECT /* agreed */ v FROM t WHERE id = 1";
const PROVEN: &str = "SELECT v FROM t WHERE id = 1";

fn one(value: &str) -> Result<Vec<Vec<String>>, u16> {
    Ok(vec![vec![value.to_owned()]])
}

/// How many answers were agreed on to be stale, perhaps.
fn bargains(bench: &mut Bench) -> u64 {
    status(&mut bench.client(), "Freshet_ttl_hits")
}

/// Asks until an answer is a bargain; gives it.
fn primed(bench: &mut Bench, conn: &mut Conn, statement: &str) -> Result<Vec<Vec<String>>, u16> {
    eventually(&format!("a bargain for {statement}"), || {
        let before = bargains(bench);
        let got = answer(conn, statement);
        (bargains(bench) > before).then_some(got)
    })
}

/// Whether a statement is answered by a bargain now.
fn is_bargain(bench: &mut Bench, conn: &mut Conn, statement: &str) -> bool {
    let before = bargains(bench);
    let _ = answer(conn, statement);
    bargains(bench) > before
}

#[test]
fn an_answer_may_be_stale_for_its_time_and_others_are_not() {
    with_each("bargain", TABLES, |bench| {
        bench.load(&[&agreed(2_000)]);
        let (mut conn, mut other) = (bench.client(), bench.client());
        bench.hits.prime(&mut conn, PROVEN).expect("it is answered");
        let began = Instant::now();
        assert_eq!(answer(&mut conn, POINT), one("10"), "the first is the server's");
        assert!(is_bargain(bench, &mut conn, POINT) && is_bargain(bench, &mut other, POINT));
        let explained = answer(&mut conn, &format!("EXPLAIN FRESHET {POINT}")).expect("it is explained");
        for line in [["hit_now", "YES"], ["freshness", "ttl: may be stale for 2000 ms, by a query rule"]] {
            assert!(explained.iter().any(|told| *told == line), "{line:?} is not in {explained:?}");
        }
        run(&mut other, &["UPDATE t SET v = 11 WHERE id = 1"]);
        for conn in [&mut other, &mut conn] {
            assert_eq!(answer(conn, PROVEN), one("11"), "what is under no rule is as fresh as ever");
        }
        run(&mut bench.direct, &["UPDATE t SET v = 12 WHERE id = 1"]);
        for conn in [&mut conn, &mut other] {
            assert_eq!(answer(conn, POINT), one("10"), "it is stale, as agreed");
            run(conn, &["BEGIN"]);
            assert_eq!(answer(conn, POINT), one("12"), "a transaction has one truth");
            run(conn, &["COMMIT"]);
        }
        assert!(began.elapsed() < Duration::from_millis(1_900), "the machine is too slow for this test");
        let before = bargains(bench);
        let fresh = eventually("the event of the write around us", || {
            let got = answer(&mut conn, PROVEN);
            (got == one("12")).then_some(got)
        });
        assert_eq!(fresh, one("12"), "who has agreed to nothing is not told old news");
        assert_eq!(bargains(bench), before);
        std::thread::sleep(Duration::from_millis(2_100).saturating_sub(began.elapsed()));
        assert_eq!(answer(&mut conn, POINT), one("12"), "its time is over");
        assert_eq!(primed(bench, &mut conn, POINT), one("12"));
    });
}

#[test]
fn what_cannot_be_proven_can_be_agreed_on_and_what_the_session_decides_cannot() {
    with_each("bargain_what", TABLES, |bench| {
        run(
            &mut bench.direct,
            &[
                "CREATE FUNCTION f(a INT) RETURNS INT NO SQL RETURN a",
                "CREATE VIEW x AS SELECT f(v) AS v FROM t",
                "CREATE VIEW clock AS SELECT NOW(6) AS n, v FROM t",
                "CREATE TABLE m (id INT) ENGINE = MEMORY",
            ],
        );
        caught_up(&bench.freshet);
        bench.load(&[&agreed(60_000)]);
        let mut conn = bench.client();
        for statement in [
            "SELECT /* agreed */ NOW(6), RAND(), UUID()",
            "SELECT /* agreed */ 1",
            "SELECT /* agreed */ SYSDATE(6), v FROM t WHERE id = 1",
            "SELECT /* agreed */ RAND(), w.v FROM w JOIN t USING (id) ORDER BY id",
            "SELECT /* agreed */ n, v FROM clock",
            "SELECT /* agreed */ COUNT(*) FROM m",
        ] {
            let first = primed(bench, &mut conn, statement);
            assert!(first.is_ok(), "{statement}");
            assert_eq!(answer(&mut bench.client(), statement), first, "{statement}");
        }
        let mut prepared = bench.client();
        let statement =
            prepared.prep("SELECT /* agreed */ RAND(), v FROM t WHERE id = ?").expect("it is prepared");
        eventually("a bargain for an execution", || {
            let before = bargains(bench);
            let first: Option<(f64, i32)> = prepared.exec_first(&statement, (2,)).expect("it is executed");
            let again: Option<(f64, i32)> = prepared.exec_first(&statement, (2,)).expect("it is executed");
            (bargains(bench) > before).then(|| assert_eq!(first, again))
        });
        let mut other = bench.client();
        run(
            &mut conn,
            &["CREATE TEMPORARY TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 77)", "SET @a = 1"],
        );
        run(&mut other, &["SET timestamp = 1000000"]);
        for (has_table, statement) in [
            (true, POINT),
            (true, "SELECT /* agreed */ v FROM t WHERE id = 1 AND RAND() < 2"),
            (true, "SELECT /* agreed */ @a"),
            (false, "SELECT /* agreed */ UNIX_TIMESTAMP(NOW())"),
            (false, "SELECT /* agreed */ CONNECTION_ID()"),
            (false, "SELECT /* agreed */ LAST_INSERT_ID()"),
            (false, "SELECT /* agreed */ v FROM t WHERE id = 1 FOR UPDATE"),
            (false, "SELECT /* agreed */ f(v) FROM t WHERE id = 1"),
            (false, "SELECT /* agreed */ v FROM x"),
            (false, "SELECT /* agreed */ SLEEP(0)"),
            (false, "SELECT /* agreed */ COUNT(*) FROM information_schema.processlist"),
            (false, "SELECT /* agreed */ SQL_NO_CACHE v FROM t WHERE id = 2"),
        ] {
            let conn = if has_table { &mut conn } else { &mut other };
            for _ in 0..3 {
                assert!(!is_bargain(bench, conn, statement), "{statement}");
            }
        }
        assert_eq!(answer(&mut conn, POINT), one("77"));
        assert_eq!(answer(&mut other, "SELECT /* agreed */ UNIX_TIMESTAMP(NOW())"), one("1000000"));
        assert_ne!(answer(&mut bench.client(), "SELECT /* agreed */ UNIX_TIMESTAMP(NOW())"), one("1000000"));
        assert!(is_bargain(bench, &mut prepared, "SELECT /* agreed */ 1"));
    });
}

#[test]
fn what_may_be_stale_is_dropped_on_demand() {
    with_each("bargain_drop", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let mut conn = bench.client();
        let digest = explained(&mut conn, "digest", POINT);
        for which in [
            String::new(),
            " RULE 1".to_owned(),
            format!(" DIGEST '{digest}'"),
            format!(" SCHEMA {}", bench.schema),
        ] {
            run(&mut bench.direct, &["UPDATE t SET v = 10 WHERE id = 1"]);
            assert_eq!(primed(bench, &mut conn, POINT), one("10"), "{which}");
            run(&mut bench.direct, &["UPDATE t SET v = 11 WHERE id = 1"]);
            assert_eq!(answer(&mut conn, POINT), one("10"), "{which}");
            run(&mut bench.admin, &[&format!("PROXYSQL FLUSH QUERY CACHE{which}")]);
            assert_eq!(answer(&mut conn, POINT), one("11"), "{which}");
            run(&mut bench.admin, &["PROXYSQL FLUSH QUERY CACHE"]);
        }
    });
}

/// What EXPLAIN FRESHET says of one item.
fn explained(conn: &mut Conn, item: &str, statement: &str) -> String {
    let rows = answer(conn, &format!("EXPLAIN FRESHET {statement}")).expect("it is explained");
    rows.into_iter().find(|row| row[0] == item).map(|row| row[1].clone()).unwrap_or_default()
}

#[test]
fn it_is_told_which_answers_may_be_stale() {
    with_each("bargain_told", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let mut conn = bench.client();
        let now = "SELECT /* agreed */ NOW(6), v FROM t";
        assert_eq!(explained(&mut conn, "hit_now", now), "NO");
        assert_eq!(explained(&mut conn, "verdict", now), "cacheable");
        primed(bench, &mut conn, now).expect("it is answered");
        assert_eq!(explained(&mut conn, "hit_now", now), "YES");
        assert!(explained(&mut conn, "freshness", now).starts_with("ttl: may be stale for 60000 ms"));
        assert!(!explained(&mut conn, "freshness", PROVEN).contains("ttl"));
        assert_eq!(
            explained(&mut conn, "reason", "SELECT /* agreed */ CONNECTION_ID()"),
            "volatile_function"
        );
        bench.hits.prime(&mut conn, PROVEN).expect("it is answered");
        let told =
            "SELECT text, may_be_stale FROM freshet.entries WHERE schema_name LIKE 'rules%' ORDER BY text";
        let mut expected =
            vec![vec![now.to_owned(), "1".to_owned()], vec![PROVEN.to_owned(), "0".to_owned()]];
        expected.sort();
        assert_eq!(answer(&mut conn, told), Ok(expected));
    });
}

/// What each session is shown something else by: the tables and views that they are read from.
const PRIVATE: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10)",
    "CREATE VIEW connection AS SELECT v, CONNECTION_ID() AS c FROM t",
    "CREATE VIEW client AS SELECT v, USER() AS u FROM t",
    "CREATE VIEW number AS SELECT v, LAST_INSERT_ID() AS i FROM t",
    "CREATE VIEW above AS SELECT c FROM connection",
    "CREATE VIEW attributes AS SELECT ATTR_VALUE FROM performance_schema.session_account_connect_attrs",
];

#[test]
fn nobody_is_given_what_is_anothers() {
    with_each("bargain_own", PRIVATE, |bench| {
        if bench.flavor == Flavor::MariaDb {
            run(
                &mut bench.direct,
                &[
                    "CREATE TABLE computed (v INT, c BIGINT AS (CONNECTION_ID()) VIRTUAL)",
                    "INSERT INTO computed (v) VALUES (1)",
                ],
            );
        }
        caught_up(&bench.freshet);
        bench.load(&[&agreed(60_000)]);
        for is_lost in [false, true] {
            if is_lost {
                lose_stream(bench);
            }
            let (mut conn, mut other) = (bench.client(), bench.client());
            assert!(primed(bench, &mut conn, POINT).is_ok(), "stream lost: {is_lost}");
            for statement in [
                "SELECT /* agreed */ c FROM connection",
                "SELECT /* agreed */ u FROM client",
                "SELECT /* agreed */ i FROM number",
                "SELECT /* agreed */ c FROM above",
                "SELECT /* agreed */ ATTR_VALUE FROM attributes",
                "SELECT /* agreed */ c FROM computed",
                "SELECT /* agreed */ ATTR_VALUE FROM performance_schema.session_account_connect_attrs",
            ] {
                for conn in [&mut conn, &mut other] {
                    for _ in 0..3 {
                        assert!(!is_bargain(bench, conn, statement), "stream lost: {is_lost}: {statement}");
                    }
                }
            }
            for statement in ["SELECT /* agreed */ c FROM connection", "SELECT /* agreed */ c FROM above"] {
                assert_ne!(answer(&mut conn, statement), answer(&mut other, statement), "{statement}");
            }
            bench.way.release();
        }
    });
}

#[test]
fn a_session_whose_time_stands_still_neither_gives_nor_gets_the_time() {
    with_each("bargain_time", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let now = "SELECT /* agreed */ NOW(6)";
        let (mut still, mut conn) = (bench.client(), bench.client());
        run(&mut still, &["SET timestamp = UNIX_TIMESTAMP()"]);
        let stopped = answer(&mut still, now);
        for _ in 0..3 {
            assert!(!is_bargain(bench, &mut still, now));
        }
        let stored = primed(bench, &mut conn, now);
        assert_ne!(stored, stopped);
        assert_eq!(answer(&mut still, now), stopped);
        assert_eq!(answer(&mut bench.client(), now), stored);
    });
}

#[test]
fn who_asks_for_the_rows_found_is_told_of_the_answer_that_was_given() {
    with_each("bargain_found", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let all = "SELECT /* agreed */ v FROM t ORDER BY id";
        let mut conn = bench.client();
        assert_eq!(primed(bench, &mut conn, all).map(|rows| rows.len()), Ok(3));
        run(&mut bench.direct, &["DELETE FROM t WHERE id = 3"]);
        assert_eq!(answer(&mut conn, all).map(|rows| rows.len()), Ok(3));
        assert_eq!(answer(&mut conn, "SELECT FOUND_ROWS()"), one("3"));
    });
}

/// Has the stream be lost, and waits until it is noticed.
fn lose_stream(bench: &mut Bench) {
    bench.way.hold();
    bench.way.cut();
    eventually("the stream is lost", || {
        let row: Option<(String, String)> =
            bench.client().query_first("SHOW GLOBAL STATUS LIKE 'Freshet_live'").expect("a status");
        row.filter(|(_, live)| live == "OFF")
    });
}

#[test]
fn no_binlog_stream_is_needed() {
    with_each("bargain_cut", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let mut conn = bench.client();
        assert_eq!(primed(bench, &mut conn, POINT), one("10"));
        lose_stream(bench);
        // When Freshet has reached the server again, it cannot know what rights were changed meanwhile, and begins anew.
        let mut v = 10;
        eventually("what was stored before is served still", || {
            let before = answer(&mut conn, POINT);
            v += 1;
            run(&mut bench.client(), &[&format!("UPDATE t SET v = {v} WHERE id = 1")]);
            (answer(&mut conn, POINT) == before).then_some(())
        });
        run(&mut bench.client(), &["UPDATE t SET v = 11 WHERE id = 1"]);
        let hits = bench.hits.hits();
        let mut other = bench.client();
        assert_eq!(answer(&mut other, PROVEN), one("11"));
        assert_eq!(answer(&mut other, PROVEN), one("11"));
        assert_eq!(bench.hits.hits(), hits, "without the stream nothing is proven");
        for conn in [&mut conn, &mut bench.client()] {
            for statement in
                ["SELECT /* agreed */ v FROM t WHERE id = 2", "SELECT /* agreed */ NOW(6), id FROM t"]
            {
                eventually("two clients are told the same", || {
                    let first = primed(bench, conn, statement);
                    (first.is_ok() && answer(&mut bench.client(), statement) == first).then_some(())
                });
            }
            let _ = primed(bench, conn, POINT);
        }
        let statement = conn.prep("SELECT /* agreed */ v FROM t WHERE id = ?").expect("it is prepared");
        eventually("a bargain for an execution", || {
            let before = bargains(bench);
            assert_eq!(conn.exec_first(&statement, (3,)).expect("it is executed"), Some(30));
            (bargains(bench) > before).then_some(())
        });
        for _ in 0..3 {
            assert!(!is_bargain(bench, &mut conn, "SELECT /* agreed */ v FROM w"), "a view may run anything");
        }
        bench.way.release();
        assert_eq!(bench.hits.prime(&mut conn, PROVEN), one("11"), "what is proven is served again");
    });
}

#[test]
fn a_server_that_cannot_be_followed_is_cached_for_by_agreement() {
    for server in server::all() {
        let mut direct = fresh_schema(&server, "bargain_off");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10)"]);
        run(&mut direct, &["DROP USER IF EXISTS bargain_off", "CREATE USER bargain_off IDENTIFIED BY ''"]);
        run(&mut direct, &["GRANT SELECT, INSERT, UPDATE ON bargain_off.* TO bargain_off"]);
        let Target { host, port, .. } = &server.target;
        let url = format!("mysql://bargain_off@{host}:{port}/?ssl-mode=disabled");
        let before = Server { url, ..server.clone() };
        let directory = std::env::temp_dir().join(format!("bargain-off-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory is made");
        let socket = directory.join("admin.sock").display().to_string();
        let freshet = Freshet::with(
            &before,
            &["--admin-listen", &socket, "--state-dir", &directory.display().to_string()],
        );
        let opts = mysql::OptsBuilder::new().socket(Some(socket)).user(Some("admin")).pass(Some("admin"));
        let mut admin = Conn::new(opts).expect("the admin port lets a client in");
        let rule = format!("INSERT INTO mysql_query_rules {}", agreed(60_000));
        run(&mut admin, &[&rule, "LOAD MYSQL QUERY RULES TO RUNTIME"]);
        let mut conn = connect(freshet.target(), "bargain_off");
        let hits = |conn: &mut Conn| status(conn, "Freshet_ttl_hits");
        eventually("a bargain", || {
            let before = hits(&mut conn);
            assert_eq!(answer(&mut conn, POINT), one("10"));
            (hits(&mut conn) > before).then_some(())
        });
        run(&mut conn, &["UPDATE t SET v = 11 WHERE id = 1"]);
        for _ in 0..3 {
            assert_eq!(answer(&mut conn, POINT), one("10"), "for a session that does other things too");
            assert_eq!(answer(&mut conn, PROVEN), one("11"));
        }
        let _ = std::fs::remove_dir_all(&directory);
    }
}

/// A client of an account that may read the table.
fn reader(bench: &mut Bench) -> Conn {
    let schema = bench.schema.clone();
    let (drop, grant) =
        ("DROP USER IF EXISTS bargain_r".to_owned(), format!("GRANT SELECT ON {schema}.t TO bargain_r"));
    run(&mut bench.direct, &[&drop, "CREATE USER bargain_r IDENTIFIED BY 'r'", &grant]);
    caught_up(&bench.freshet);
    let target = Target { user: "bargain_r".into(), password: "r".into(), ..bench.freshet.target().clone() };
    connect(&target, &schema)
}

#[test]
fn who_may_not_read_rows_is_not_given_them() {
    with_each("bargain_rights", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let revoke = format!("REVOKE SELECT ON {}.t FROM bargain_r", bench.schema);
        let mut conn = bench.client();
        primed(bench, &mut conn, POINT).expect("it is answered");
        for (is_lost, is_through) in [(false, true), (false, false), (true, true)] {
            let mut reader = reader(bench);
            assert!(!is_bargain(bench, &mut reader, POINT), "another account's answer is another");
            primed(bench, &mut reader, POINT).expect("it is answered");
            if is_lost {
                lose_stream(bench);
                primed(bench, &mut reader, POINT).expect("it is answered");
            }
            if is_through {
                run(&mut conn, &[&revoke]);
                assert_eq!(answer(&mut reader, POINT), Err(1142), "stream lost: {is_lost}");
            } else {
                run(&mut bench.direct, &[&revoke]);
                eventually("the event of the REVOKE", || {
                    (answer(&mut reader, POINT) == Err(1142)).then_some(())
                });
            }
            assert_eq!(answer(&mut reader, POINT), Err(1142));
            bench.way.release();
        }
    });
}

#[test]
fn what_a_session_was_shown_by_a_bargain_it_does_not_unsee() {
    with_each("bargain_seen", TABLES, |bench| {
        bench.load(&[&agreed(60_000)]);
        let (mut writer, mut first, mut second) = (bench.client(), bench.client(), bench.client());
        run(&mut first, &["SET freshness = session"]);
        run(&mut second, &["SET freshness = session"]);
        assert_eq!(bench.hits.prime(&mut first, PROVEN), one("10"));
        assert_eq!(bench.hits.prime(&mut second, PROVEN), one("10"));
        bench.way.hold();
        run(&mut writer, &["UPDATE t SET v = 11 WHERE id = 1"]);
        assert_eq!(answer(&mut second, PROVEN), one("10"), "it has seen nothing newer");
        assert_eq!(answer(&mut first, POINT), one("11"), "the server's");
        assert_eq!(answer(&mut first, PROVEN), one("11"));
        let before = bargains(bench);
        assert_eq!(answer(&mut second, POINT), one("11"));
        assert!(bargains(bench) > before, "it is from memory");
        assert_eq!(answer(&mut second, PROVEN), one("11"), "and counts as seen");
        bench.way.release();
    });
}

#[test]
fn what_grows_old_is_made_anew_by_one_client_while_the_others_are_served() {
    with_each("bargain_soft", TABLES, |bench| {
        run(
            &mut bench.admin,
            &["SET mysql-query_cache_soft_ttl_pct = 50", "LOAD MYSQL VARIABLES TO RUNTIME"],
        );
        // What is sent to the server waits; what is answered from memory does not.
        bench.load(&[
            &agreed(4_000),
            "(rule_id,active,match_pattern,cache_ttl) VALUES (2,1,'bounded',4000)",
            "(rule_id,active,match_pattern,delay) VALUES (3,1,'agreed|bounded',700)",
        ]);
        for statement in [POINT, "SELECT /* bounded */ v FROM t WHERE id = 1"] {
            let is_agreed = statement == POINT;
            let (mut conn, mut other) = (bench.client(), bench.client());
            run(&mut bench.direct, &["UPDATE t SET v = 10 WHERE id = 1"]);
            caught_up(&bench.freshet);
            bench.hits.prime(&mut other, statement).expect("it is answered");
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(900) {
                assert!(bench.is_hit(&mut conn, statement), "it is young");
                std::thread::sleep(Duration::from_millis(50));
            }
            if is_agreed {
                run(&mut bench.direct, &["UPDATE t SET v = 11 WHERE id = 1"]);
            }
            std::thread::sleep(Duration::from_millis(2_100).saturating_sub(began.elapsed()));
            let forwarded = status(&mut bench.client(), "Freshet_forwarded");
            std::thread::scope(|scope| {
                let renewing = scope.spawn(|| (answer(&mut conn, statement), Instant::now()));
                std::thread::sleep(Duration::from_millis(150));
                for _ in 0..5 {
                    assert_eq!(answer(&mut other, statement), one("10"), "the others get what is there");
                }
                let others_had_theirs = Instant::now();
                let (renewed, at) = renewing.join().expect("it is answered");
                assert_eq!(renewed, one(if is_agreed { "11" } else { "10" }), "{statement}");
                assert!(others_had_theirs < at, "they did not wait: {statement}");
            });
            let forwarded = status(&mut bench.client(), "Freshet_forwarded") - forwarded;
            assert!(forwarded <= 2, "one has asked the server: {forwarded}");
            assert!(bench.is_hit(&mut other, statement));
            let expected = if is_agreed { "11" } else { "10" };
            assert_eq!(answer(&mut other, statement), one(expected), "what was made anew is served");
        }
    });
}
