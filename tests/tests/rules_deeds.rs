//! What query rules do beside caching: they have statements logged, and sent again.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use freshet_tests::cached::{answer, connect, eventually, run};
use freshet_tests::ruled::{Bench, with_each};
use freshet_tests::tool;
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

const TABLE: &[&str] =
    &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10),(2,20),(3,30)"];

fn one(value: &str) -> Result<Vec<Vec<String>>, u16> {
    Ok(vec![vec![value.to_owned()]])
}

/// What a refused statement of the admin port says.
fn refusal(bench: &mut Bench, statements: &[&str]) -> String {
    let (last, first) = statements.split_last().expect("there is one");
    run(&mut bench.admin, first);
    match bench.admin.query_drop(last) {
        Err(Error::MySqlError(error)) => error.message,
        other => panic!("{last}: an error is expected: {other:?}"),
    }
}

/// The member of a line of the query log, as it stands there.
fn member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = &line[line.find(&format!("\"{name}\":"))? + name.len() + 3..];
    match rest.strip_prefix('"') {
        Some(text) => Some(&text[..text.find('"')?]),
        None => Some(&rest[..rest.find([',', '}'])?]),
    }
}

/// Waits until the query log of this number has so many lines.
fn logged(bench: &Bench, number: u32, count: usize) -> Vec<String> {
    let path = bench.directory.join(format!("events.log.{number:08}"));
    eventually("the log has so many lines", || {
        let text = fs::read_to_string(&path).ok()?;
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert!(lines.len() <= count, "{lines:?}");
        (lines.len() == count).then_some(lines)
    })
}

/// The log goes on in another file, is kept of what no rule names, and is not kept where or as it cannot be.
fn files_of_the_log(bench: &mut Bench, conn: &mut Conn) {
    let point = "SELECT v FROM t WHERE id = 1";
    run(&mut bench.admin, &["PROXYSQL FLUSH LOGS"]);
    assert_eq!(answer(conn, point), one("10"));
    logged(bench, 2, 1);

    // Without a word of any rule, where that is the default.
    bench.load(&[]);
    let another = ["SET mysql-eventslog_default_log=1", "LOAD MYSQL VARIABLES TO RUNTIME"];
    run(&mut bench.admin, &another);
    let mut other = bench.client();
    assert_eq!(answer(&mut other, "SELECT 'it''s', 8"), Ok(vec![vec!["it's".to_owned(), "8".to_owned()]]));
    eventually("it is logged", || {
        let text = fs::read_to_string(bench.directory.join("events.log.00000002")).expect("it is there");
        text.contains("\"query\":\"SELECT 'it''s', 8\"").then_some(())
    });

    let why = refusal(bench, &["SET mysql-eventslog_format=1", "LOAD MYSQL VARIABLES TO RUNTIME"]);
    assert!(why.contains("mysql-eventslog_format") && why.contains("JSON"), "{why}");
    run(&mut bench.admin, &["SET mysql-eventslog_format=2"]);
    let nowhere = ["SET mysql-eventslog_filename='/nowhere/log'", "LOAD MYSQL VARIABLES TO RUNTIME"];
    assert!(refusal(bench, &nowhere).contains("mysql-eventslog_filename"));
    run(&mut bench.admin, &["SET mysql-eventslog_filename=''", "LOAD MYSQL VARIABLES TO RUNTIME"]);
    assert!(!bench.directory.join("events.log.00000003").exists());
}

#[test]
fn statements_that_a_rule_names_are_logged() {
    with_each("logged", TABLE, |bench| {
        let name_it = [
            "SET mysql-eventslog_filename='events.log'",
            "SET mysql-eventslog_filesize=2097152",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ];
        run(&mut bench.admin, &name_it);
        bench.load(&[
            "(rule_id,active,match_digest,log,destination_hostgroup) VALUES (1,1,'t WHERE id|UPDATE',1,3)",
            "(rule_id,active,match_digest,log) VALUES (2,1,'v > ?',0)",
            "(rule_id,active,match_digest,log,error_msg) VALUES (3,1,'^DELETE',1,'no')",
        ]);
        let mut conn = bench.client();
        let point = "SELECT v FROM t WHERE id = 1";
        assert_eq!(answer(&mut conn, point), one("10"));
        let lines = logged(bench, 1, 1);
        let of = |name: &str| member(&lines[0], name);
        assert_eq!((of("query"), of("event")), (Some(point), Some("COM_QUERY")), "{lines:?}");
        assert_eq!(
            (of("hostgroup_id"), of("rows_sent"), of("schemaname")),
            (Some("3"), Some("1"), Some("rules_logged"))
        );
        assert!(
            of("server").is_some() && of("client").is_some_and(|client| client.starts_with("127.0.0.1:"))
        );
        assert_eq!(of("username"), Some(bench.server.target.user.as_str()));
        let us = |name: &str| of(name).and_then(|it| it.parse::<u64>().ok()).expect("a number");
        assert_eq!(us("starttime_timestamp_us") + us("duration_us"), us("endtime_timestamp_us"));
        let digest = bench.rows(
            "SELECT digest FROM stats_mysql_query_digest WHERE digest_text = 'SELECT v FROM t WHERE id = ?'",
        );
        assert_eq!(of("digest"), Some(digest[0][0].as_str()));

        // Each answer from memory has a line as well.
        let mut count = 1;
        let hit = eventually("it is answered from memory", || {
            assert_eq!(answer(&mut conn, point), one("10"));
            count += 1;
            let line = logged(bench, 1, count).pop().expect("it has lines");
            (member(&line, "hostgroup_id") == Some("-1")).then_some(line)
        });
        assert_eq!((member(&hit, "rows_sent"), member(&hit, "server")), (Some("0"), None), "{hit}");
        // So have executions, writes, and what rules answer. A later rule may take it back.
        let prepared = conn.prep("SELECT v FROM t WHERE id = ?").expect("it is prepared");
        for _ in 0..3 {
            assert_eq!(conn.exec_first(&prepared, (2,)).expect("it is executed"), Some(20));
        }
        run(&mut conn, &["UPDATE t SET v = 21 WHERE id > 1"]);
        assert_eq!(answer(&mut conn, "DELETE FROM t"), Err(1148));
        assert_eq!(answer(&mut conn, "SELECT COUNT(*) FROM t WHERE id < 9 AND v > 1"), one("3"));
        assert_eq!(answer(&mut conn, "SELECT 1"), one("1"));
        assert_eq!(answer(&mut conn, point), one("10"), "it is never older than the write");
        let lines = logged(bench, 1, count + 6).split_off(count);
        let queries: Vec<_> = lines.iter().filter_map(|line| member(line, "query")).collect();
        let execution = "SELECT v FROM t WHERE id = ?";
        let expected =
            [execution, execution, execution, "UPDATE t SET v = 21 WHERE id > 1", "DELETE FROM t", point];
        assert_eq!(queries, expected);
        assert_eq!(member(&lines[0], "event"), Some("COM_STMT_EXECUTE"), "{lines:?}");
        assert_eq!(
            (member(&lines[3], "rows_affected"), member(&lines[4], "hostgroup_id")),
            (Some("2"), Some("-1"))
        );

        files_of_the_log(bench, &mut conn);
    });
}

/// Clients of the server that wait for the table, by the statement that they wait with.
fn waiting(look: &mut Conn, schema: &str, like: &str) -> Vec<u64> {
    let waiting = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{schema}' AND STATE LIKE 'Waiting for table%' \
         AND INFO LIKE '{like}'"
    );
    look.query(waiting).expect("the list of clients")
}

/// Has a statement wait for the table, ends its connection so many times, and lets it go on. What its client is told.
fn lost(
    bench: &mut Bench,
    (conn, statement, like): (&mut Conn, &str, &str),
    times: usize,
) -> Result<Vec<Vec<String>>, u16> {
    let mut holder = connect(&bench.server.target, &bench.schema);
    run(&mut holder, &["SET SESSION wait_timeout = 30", "LOCK TABLES t WRITE"]);
    let mut look = bench.server.target.connect();
    let mut killed = Vec::new();
    thread::scope(|scope| {
        let asking = scope.spawn(|| freshet_tests::cached::try_answer(conn, statement));
        for _ in 0..times {
            let id = eventually("it waits for the table", || {
                let ids = waiting(&mut look, &bench.schema, like);
                ids.into_iter().find(|id| !killed.contains(id)).or_else(|| asking.is_finished().then_some(0))
            });
            if id == 0 {
                break;
            }
            // One that is ended already is no error.
            let _ = look.query_drop(format!("KILL {id}"));
            killed.push(id);
        }
        // Whoever waits anew waits now.
        thread::sleep(Duration::from_millis(300));
        run(&mut holder, &["UNLOCK TABLES"]);
        match asking.join().expect("it ends") {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(code)) => Err(code),
            Err(_) => Err(0),
        }
    })
}

/// Another connection is opened with the password, which a client hands over on a channel that nobody can listen to.
fn hand_password_over(bench: &Bench) {
    let target = bench.freshet.target();
    let connect = [format!("-h{}", target.host), format!("-P{}", target.port), format!("-u{}", target.user)];
    let rest = [format!("-p{}", target.password), "-eSELECT 1".to_owned()];
    let all = ["--no-defaults".to_owned(), "--ssl".to_owned()].into_iter().chain(connect).chain(rest);
    tool::run("mariadb", &all.collect::<Vec<_>>());
}

#[test]
fn a_select_whose_connection_is_lost_is_sent_again() {
    const READ: &str = "SELECT SUM(v) FROM t WHERE id > 0";
    if !tool::is_there("mariadb") {
        return;
    }
    with_each("retries", TABLE, |bench| {
        hand_password_over(bench);
        let read = |bench: &mut Bench, before: &[&str], times: usize| {
            let mut conn = bench.client();
            run(&mut conn, before);
            // What it reads is not in memory.
            run(&mut bench.direct, &["UPDATE t SET v = v + 1 WHERE id = 3"]);
            freshet_tests::cached::caught_up(&bench.freshet);
            let told = lost(bench, (&mut conn, READ, "%SUM%"), times);
            let now = answer(&mut bench.direct, READ);
            if told.is_ok() {
                assert_eq!(told, now);
                assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 1"), one("10"), "it goes on");
            }
            told.is_ok()
        };
        assert!(!read(bench, &[], 1), "without a rule it is lost");
        bench.load(&["(rule_id,active,match_digest,retries) VALUES (1,1,'.',2)"]);
        for _ in 0..2 {
            assert!(read(bench, &[], 1));
        }
        assert!(read(bench, &["SET autocommit = 1", "SELECT v FROM t WHERE id = 2"], 2));
        assert!(!read(bench, &[], 3), "it is sent three times at most");
        // What the session has left there would be missed.
        assert!(!read(bench, &["SET @a = 1"], 1));
        assert!(!read(bench, &["CREATE TEMPORARY TABLE h (id INT)"], 1));
        assert!(!read(bench, &["UPDATE t SET v = v + 1 WHERE id = 3"], 1));
        assert!(!read(bench, &["BEGIN", "SELECT v FROM t WHERE id = 1"], 1));
        assert!(!read(bench, &["SET sort_buffer_size = 70000", "SET NAMES latin1"], 1));

        // No write is ever sent twice.
        let before = answer(&mut bench.direct, "SELECT v FROM t WHERE id = 1");
        for write in ["UPDATE t SET v = v + 100 WHERE id = 1", "INSERT INTO t SELECT 100 + id, v FROM t"] {
            let mut conn = bench.client();
            assert!(lost(bench, (&mut conn, write, &format!("{}%", &write[..6])), 1).is_err());
        }
        thread::sleep(Duration::from_millis(300));
        assert_eq!(answer(&mut bench.direct, "SELECT v FROM t WHERE id = 1"), before);
        assert_eq!(answer(&mut bench.direct, "SELECT COUNT(*) FROM t"), one("3"));

        bench.load(&["(rule_id,active,match_digest,destination_hostgroup) VALUES (1,1,'.',0)"]);
        let asks = "/* query_retries=1 */ SELECT SUM(v) FROM t WHERE id > 0 AND v > 0";
        let mut conn = bench.client();
        assert!(lost(bench, (&mut conn, asks, "%SUM%"), 1).is_ok(), "a comment asks for it");
        bench.load(&[]);
        let by_default = ["SET mysql-query_retries_on_failure=1", "LOAD MYSQL VARIABLES TO RUNTIME"];
        run(&mut bench.admin, &by_default);
        assert!(read(bench, &[], 1));
    });
}

#[test]
fn comments_ask_as_in_proxysql() {
    let table = ["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"];
    with_each("comments", &table, |bench| {
        bench.load(&["(rule_id,active,match_digest,destination_hostgroup) VALUES (1,1,'FROM t',3)"]);
        let mut conn = bench.client();
        for statement in [
            "SELECT id FROM t",
            "/* hostgroup=7 */ SELECT id FROM t",
            "/* hostgroup=7;cache_ttl=0 */ UPDATE t SET id = 1",
            "/* hostgroup=8 */ SELECT 5",
        ] {
            assert!(answer(&mut conn, statement).is_ok(), "{statement}");
        }
        let query = format!(
            "SELECT hostgroup, digest_text, SUM(count_star) FROM stats_mysql_query_digest WHERE schemaname = '{}' \
             AND hostgroup > 0 GROUP BY 1, 2 ORDER BY 1, 2",
            bench.schema
        );
        let counted: Vec<String> = bench.rows(&query).iter().map(|row| row.join("\t")).collect();
        let expected = ["3\tSELECT id FROM t\t1", "7\tSELECT id FROM t\t1", "8\tSELECT ?\t1"];
        assert!(expected.iter().all(|line| counted.contains(&(*line).to_owned())), "{counted:?}");
        assert_eq!(bench.met(1), 2);
        // Their own names for what columns of rules say.
        let begun = Instant::now();
        let _ = answer(&mut conn, "/* query_timeout=300 */ SELECT SLEEP(20), id FROM t");
        assert!(begun.elapsed() < Duration::from_secs(10), "it was killed");
        let begun = Instant::now();
        assert_eq!(answer(&mut conn, "/* query_delay=400 */ SELECT 6"), one("6"));
        assert!(begun.elapsed() >= Duration::from_millis(400), "it has waited");
    });
}
