//! Query rules, loaded by the admin port, on statements of clients.

use std::thread;
use std::time::{Duration, Instant};

use freshet_tests::administered;
use freshet_tests::cached::{answer, caught_up, connect, eventually, fresh_schema, run, status};
use freshet_tests::ruled::{Bench, RULES, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

const TABLE: &[&str] =
    &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,10),(2,20),(3,30)"];

fn one(value: &str) -> Result<Vec<Vec<String>>, u16> {
    Ok(vec![vec![value.to_owned()]])
}

fn message(result: Result<(), Error>) -> (u16, String) {
    match result {
        Err(Error::MySqlError(error)) => (error.code, error.message),
        other => panic!("an error is expected: {other:?}"),
    }
}

#[test]
fn a_digest_gets_a_rule_with_a_time_to_live_and_its_hits_are_counted() {
    with_each("article", TABLE, |bench| {
        let mut conn = bench.client();
        let point = "SELECT v FROM t WHERE id=1";
        bench.hits.prime(&mut conn, point).expect("it is answered");
        let rows = "SELECT digest, hostgroup FROM stats_mysql_query_digest WHERE digest_text = 'SELECT v FROM t WHERE id=?'";
        let digest = bench.rows(rows)[0][0].clone();
        bench.load(&[
            &format!("(rule_id,active,digest,destination_hostgroup,cache_ttl,apply) VALUES (1,1,'{digest}',2,60000,1)"),
            "(rule_id,active,match_digest,cache_ttl) VALUES (2,0,'.',1)",
        ]);
        assert_eq!(bench.rows("SELECT rule_id, cache_ttl FROM runtime_mysql_query_rules"), [["1", "60000"]]);
        run(&mut bench.admin, &["SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1"]);
        assert_eq!(bench.met(1), 0);
        assert!(!bench.is_hit(&mut conn, point), "what other rules have decided is not taken");
        eventually("a hit by the rule", || bench.is_hit(&mut conn, point).then_some(()));
        let prepared = conn.prep("SELECT v FROM t WHERE id=?").expect("it is prepared");
        eventually("a hit of an execution", || {
            let before = bench.hits.hits();
            assert_eq!(conn.exec_first(&prepared, (1,)).expect("it is executed"), Some(10));
            (bench.hits.hits() > before).then_some(())
        });
        for _ in 0..5 {
            assert!(bench.is_hit(&mut conn, point));
        }
        let query = "SELECT hostgroup, count_star FROM stats_mysql_query_digest \
                     WHERE digest_text = 'SELECT v FROM t WHERE id=?' ORDER BY hostgroup";
        let counted = bench.rows(query);
        assert_eq!(counted.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["-1", "2"], "{counted:?}");
        let counts: Vec<u64> = counted.iter().map(|row| row[1].parse().unwrap()).collect();
        assert!(counts[0] >= 7, "{counts:?}");
        assert_eq!(bench.met(1), counts[0] + counts[1], "each was met by the rule");
        // Counting by digest from 0 again takes nothing from the rule.
        run(&mut bench.admin, &["SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1"]);
        assert_eq!(bench.met(1), counts[0] + counts[1]);
    });
}

#[test]
fn hits_by_rules_are_everywhere_where_hits_are() {
    with_each("hits", TABLE, |bench| {
        // Many rules, of which each hit would have to look at most.
        let values: Vec<String> = (1..=10_000).map(|id| format!("({id},1,'^never {id}$',1,1)")).collect();
        run(
            &mut bench.admin,
            &[
                &format!("{RULES} (rule_id,active,match_digest,cache_ttl,apply) VALUES {}", values.join(",")),
                &format!(
                    "{RULES} (rule_id,active,match_digest,cache_ttl,apply) VALUES (20000,1,'^SELECT',60000,1)"
                ),
                "LOAD MYSQL QUERY RULES TO RUNTIME",
            ],
        );
        let point = "SELECT v FROM t WHERE id = 1";
        let mut conn = bench.client();
        assert_eq!(bench.hits.prime(&mut conn, point), one("10"));
        // The first statement of a new client.
        let mut other = bench.client();
        assert!(bench.is_hit(&mut other, point));
        // In transactions.
        for statement in ["BEGIN", "START TRANSACTION READ ONLY"] {
            // Once it is known that what is stored is settled.
            eventually(statement, || {
                run(&mut other, &[statement]);
                let is_hit = bench.is_hit(&mut other, point);
                run(&mut other, &["COMMIT"]);
                is_hit.then_some(())
            });
        }
        // Executions by name.
        run(&mut other, &["PREPARE s FROM 'SELECT v FROM t WHERE id = ?'", "SET @id = 1"]);
        bench.hits.prime(&mut other, "EXECUTE s USING @id").expect("it is answered");
        // What the client is told of the rows found.
        assert!(bench.is_hit(&mut other, point));
        assert_eq!(answer(&mut other, "SELECT FOUND_ROWS()"), one("1"));
        // After a new login, and after the session was reset.
        let target = bench.freshet.target();
        let options = mysql::ChangeUserOpts::new()
            .with_user(Some(target.user.clone()))
            .with_pass(Some(target.password.clone()))
            .with_db_name(Some(bench.schema.clone()));
        other.change_user(options).expect("the user is changed");
        assert_eq!(bench.hits.prime(&mut other, point), one("10"));
        other.reset().expect("the session is reset");
        run(&mut other, &[&format!("USE {}", bench.schema)]);
        assert_eq!(bench.hits.prime(&mut other, point), one("10"));
        assert!(bench.met(20_000) > 5);
    });
}

#[test]
fn an_answer_is_never_older_than_its_rule_says() {
    with_each("expiry", TABLE, |bench| {
        bench.load(&["(rule_id,active,match_digest,cache_ttl,apply) VALUES (1,1,'^SELECT v',600,1)"]);
        let mut conn = bench.client();
        let point = "SELECT v FROM t WHERE id = 2";
        for _ in 0..3 {
            let mut stored = eventually("a miss", || {
                let before = Instant::now();
                (!bench.is_hit(&mut conn, point)).then_some(before)
            });
            // Not every miss is stored: the one that was is the last before the hit.
            eventually("a hit", || {
                let before = Instant::now();
                let is_hit = bench.is_hit(&mut conn, point);
                if !is_hit {
                    stored = before;
                }
                is_hit.then_some(())
            });
            // From here on it may be a hit for what is left of its time, and not after.
            while stored.elapsed() < Duration::from_millis(700) {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(!bench.is_hit(&mut conn, point), "it has expired");
        }
        // What no rule names does not expire.
        bench.hits.prime(&mut conn, "SELECT id FROM t WHERE id = 2").expect("it is answered");
        std::thread::sleep(Duration::from_millis(700));
        assert!(bench.is_hit(&mut conn, "SELECT id FROM t WHERE id = 2"));
    });
}

#[test]
fn an_answer_by_a_rule_is_never_stale() {
    with_each("fresh", TABLE, |bench| {
        bench.load(&["(rule_id,active,match_digest,cache_ttl,apply) VALUES (1,1,'^SELECT',3600000,1)"]);
        let (mut reader, mut writer) = (bench.client(), bench.client());
        let point = "SELECT v FROM t WHERE id = 1";
        let prepared = reader.prep("SELECT v FROM t WHERE id = ?").expect("it is prepared");
        let execute =
            |reader: &mut Conn| reader.exec_first::<u32, _, _>(&prepared, (1,)).expect("it is executed");
        for v in 1..=20_u32 {
            run(&mut writer, &[&format!("UPDATE t SET v = {v} WHERE id = 1")]);
            assert_eq!(answer(&mut reader, point), one(&v.to_string()));
            assert_eq!(execute(&mut reader), Some(v));
        }
        bench.hits.prime(&mut reader, point).expect("it is answered");
        let direct = &mut bench.direct;
        run(direct, &["UPDATE t SET v = 99 WHERE id = 1"]);
        eventually("a write around us is seen", || (answer(&mut reader, point) == one("99")).then_some(()));
        assert_eq!(execute(&mut reader), Some(99));
    });
}

#[test]
fn statements_are_rewritten_and_are_then_what_they_have_become() {
    let tables = [
        "CREATE TABLE t_new (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t_new VALUES (1,10),(2,20)",
        "CREATE TABLE t_old (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t_old VALUES (1,-1)",
    ];
    with_each("rewrite", &tables, |bench| {
        let rule = "(rule_id,active,match_pattern,replace_pattern,re_modifiers,apply) \
                    VALUES (1,1,'\\bt_old\\b','t_new','CASELESS,GLOBAL',1)";
        bench.load(&[rule]);
        let (mut reader, mut writer) = (bench.client(), bench.client());
        let old = "SELECT v FROM t_old WHERE t_old.id = 1";
        let new = "SELECT v FROM t_new WHERE id = 1";
        assert_eq!(answer(&mut reader, old), one("10"));
        assert_eq!(bench.hits.prime(&mut reader, old), one("10"));
        assert_eq!(bench.hits.prime(&mut reader, new), one("10"));
        // A write of what it was rewritten to, and one that is rewritten, are seen at once by both.
        for (v, write) in
            [(11, "UPDATE t_new SET v = 11 WHERE id = 1"), (12, "UPDATE t_old SET v = 12 WHERE id = 1")]
        {
            run(&mut writer, &[write]);
            for read in [old, new] {
                assert_eq!(answer(&mut reader, read), one(&v.to_string()), "{write}, {read}");
                assert_eq!(bench.hits.prime(&mut reader, read), one(&v.to_string()));
            }
        }
        // Prepared, too.
        let read = reader.prep("SELECT v FROM t_old WHERE id = ?").expect("it is prepared");
        let write = writer.prep("UPDATE t_old SET v = ? WHERE id = ?").expect("it is prepared");
        for v in 13..=30_u32 {
            writer.exec_drop(&write, (v, 1)).expect("it is executed");
            assert_eq!(reader.exec_first(&read, (1,)).expect("it is executed"), Some(v));
            assert_eq!(answer(&mut reader, old), one(&v.to_string()));
        }
        eventually("a hit of what was prepared as another", || {
            let before = bench.hits.hits();
            assert_eq!(reader.exec_first(&read, (1,)).expect("it is executed"), Some(30));
            (bench.hits.hits() > before).then_some(())
        });
        run(&mut writer, &["UPDATE t_new SET v = 31 WHERE id = 1"]);
        assert_eq!(reader.exec_first(&read, (1,)).expect("it is executed"), Some(31));
        // What asks about the statement before it is told of the one that was executed.
        let all = "SELECT SQL_CALC_FOUND_ROWS v FROM t_old ORDER BY id LIMIT 1";
        bench.hits.prime(&mut reader, all).expect("it is answered");
        assert_eq!(
            answer(&mut reader, "SELECT FOUND_ROWS(), 1"),
            Ok(vec![vec!["2".to_owned(), "1".to_owned()]])
        );
        assert_eq!(answer(&mut bench.direct, "SELECT v FROM t_old"), one("-1"));
        // Counted as it came.
        let text = "SELECT count_star FROM stats_mysql_query_digest WHERE digest_text = 'SELECT v FROM t_old WHERE t_old.id = ?'";
        assert!(!bench.rows(text).is_empty());
        bench.load(&[]);
        assert_eq!(answer(&mut reader, old), one("-1"));
    });
}

#[test]
fn statements_are_answered_by_rules() {
    with_each("answered", TABLE, |bench| {
        let mut conn = bench.client();
        let cached = "SELECT v FROM t WHERE id = 3";
        bench.hits.prime(&mut conn, cached).expect("it is answered");
        let before = conn.prep("UPDATE t SET v = 0 WHERE id = ?").expect("it is prepared");
        bench.load(&[
            "(rule_id,active,match_digest,error_msg,apply) VALUES (1,1,'^UPDATE t','no writes here',1)",
            "(rule_id,active,match_pattern,OK_msg,apply) VALUES (2,1,'id = 2','as you like',1)",
            "(rule_id,active,match_digest,error_msg,apply) VALUES (3,1,'^BEGIN|FOUND_ROWS|^SELECT id FROM t$','nor this',1)",
        ]);
        let refused = |result| assert_eq!(message(result), (1148, "no writes here".to_owned()));
        refused(conn.query_drop("UPDATE t SET v = 0"));
        refused(conn.prep("UPDATE t SET v = ?").map(drop));
        refused(conn.exec_drop(&before, (1,)));
        conn.query_drop("DELETE FROM t WHERE id = 2").expect("it is answered with OK");
        assert_eq!(conn.info_str(), "as you like");
        let select = conn.prep("SELECT v FROM t WHERE id = 2 AND v > ?").expect("it is prepared");
        conn.exec_drop(&select, (1,)).expect("it is answered with OK");
        assert_eq!(conn.info_str(), "as you like");
        assert_eq!(
            answer(&mut bench.direct, "SELECT COUNT(*), SUM(v) FROM t"),
            Ok(vec![vec!["3".to_owned(), "60".to_owned()]])
        );
        for other in ["BEGIN", "SELECT FOUND_ROWS()", "SELECT id FROM t"] {
            assert_eq!(message(conn.query_drop(other)).1, "nor this", "{other}");
        }
        assert_eq!((bench.met(1), bench.met(2), bench.met(3)), (3, 2, 3));
        // What was stored before is not given against a rule.
        bench.load(&["(rule_id,active,match_pattern,error_msg) VALUES (1,1,'id = 3$','nor that')"]);
        assert_eq!(message(conn.query_drop(cached)).1, "nor that");
        bench.load(&[]);
        assert_eq!(answer(&mut conn, cached), one("30"));
        conn.exec_drop(&before, (1,)).expect("it is executed");
        assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 1"), one("0"));
    });
}

#[test]
fn the_chain_follows_flags_and_a_rule_may_set_that_of_the_next_statement() {
    with_each("chain", TABLE, |bench| {
        bench.load(&[
            "(rule_id,active,match_digest,flagOUT) VALUES (1,1,'^SELECT',7)",
            "(rule_id,active,flagIN,match_digest,error_msg,apply) VALUES (2,1,7,'secret','not for you',1)",
            "(rule_id,active,flagIN,error_msg) VALUES (3,1,9,'only after')",
            "(rule_id,active,flagIN,match_pattern,next_query_flagIN) VALUES (4,1,7,'id = 2$',9)",
        ]);
        let mut conn = bench.client();
        assert_eq!(message(conn.query_drop("SELECT 'x' AS secret")).1, "not for you");
        assert_eq!(answer(&mut conn, "SET @secret = 1").map(|_| ()), Ok(()));
        let point = "SELECT v FROM t WHERE id = 1";
        assert_eq!(bench.hits.prime(&mut conn, point), one("10"));
        for _ in 0..3 {
            assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 2"), one("20"));
            assert_eq!(message(conn.query_drop(point)).1, "only after", "also what is in memory");
            assert!(bench.is_hit(&mut conn, point), "the one after it is as before");
        }
    });
}

#[test]
fn rules_are_for_users_schemas_and_addresses() {
    with_each("whom", TABLE, |bench| {
        let user = bench.freshet.target().user.clone();
        let port = bench.freshet.target().port;
        let refuses = |bench: &mut Bench, columns: &str, values: &str| {
            bench.load(&[&format!(
                "(rule_id,active,match_digest,error_msg,{columns}) VALUES (1,1,'^SELECT v','refused',{values})"
            )]);
            let mut conn = bench.client();
            (0..2).map(|_| answer(&mut conn, "SELECT v FROM t WHERE id = 1").is_err()).collect::<Vec<_>>()
        };
        let schema = bench.schema.clone();
        for (columns, values, refused) in [
            ("username", format!("'{user}'"), true),
            ("username", "'somebody'".to_owned(), false),
            ("schemaname", format!("'{schema}'"), true),
            ("schemaname", "'mysql'".to_owned(), false),
            ("client_addr", "'127.0.0.1'".to_owned(), true),
            ("client_addr", "'127.%'".to_owned(), true),
            ("client_addr", "'10.%'".to_owned(), false),
            ("proxy_addr,proxy_port", format!("'127.0.0.1',{port}"), true),
            ("proxy_port", "1".to_owned(), false),
        ] {
            assert_eq!(refuses(bench, columns, &values), [refused; 2], "{columns} = {values}");
        }
    });
}

#[test]
fn a_schema_that_is_changed_brings_its_rules() {
    with_each("moved", TABLE, |bench| {
        let schema = bench.schema.clone();
        bench.load(&[&format!(
            "(rule_id,active,match_digest,schemaname,error_msg) VALUES (1,1,'^SELECT v','{schema}','not here')"
        )]);
        let mut conn = bench.client();
        let point = format!("SELECT v FROM {schema}.t WHERE id = 1");
        let prepared = conn.prep("SELECT id FROM t WHERE id = 1").expect("it is prepared");
        for _ in 0..3 {
            assert_eq!(message(conn.query_drop(&point)).1, "not here");
            run(&mut conn, &["USE mysql"]);
            assert_eq!(bench.hits.prime(&mut conn, &point), one("10"));
            assert_eq!(conn.exec_first(&prepared, ()).expect("it is executed"), Some(1));
            run(&mut conn, &[&format!("USE {schema}")]);
        }
    });
}

#[test]
fn rules_change_while_clients_are_there_and_wrong_ones_leave_those_that_run() {
    with_each("change", TABLE, |bench| {
        let mut conn = bench.client();
        let point = "SELECT v FROM t WHERE id = 1";
        bench.hits.prime(&mut conn, point).expect("it is answered");
        bench.load(&["(rule_id,active,match_digest,error_msg,apply) VALUES (5,1,'^DELETE','no',1)"]);
        for (wrong, says) in [
            ("(rule_id,active,match_digest) VALUES (6,1,'(')", "rule 6: match_digest"),
            (
                "(rule_id,active,match_pattern,replace_pattern) VALUES (6,1,'a','\\9')",
                "rule 6: replace_pattern",
            ),
            ("(rule_id,active,mirror_hostgroup) VALUES (6,1,1)", "rule 6: Freshet does not carry out mirror"),
        ] {
            run(&mut bench.admin, &["DELETE FROM mysql_query_rules", &format!("{RULES} {wrong}")]);
            let said = message(bench.admin.query_drop("LOAD MYSQL QUERY RULES TO RUNTIME")).1;
            assert!(said.contains(says), "{said}");
            assert_eq!(bench.rows("SELECT rule_id FROM runtime_mysql_query_rules"), [["5"]]);
            assert_eq!(message(conn.query_drop("DELETE FROM t")).1, "no");
        }
        bench.load(&[]);
        assert!(bench.is_hit(&mut conn, point), "without rules it is there again");
        assert!(bench.rows("SELECT * FROM stats_mysql_query_rules").is_empty());
    });
}

#[test]
fn what_is_stored_may_be_what_rules_name_alone() {
    with_each("only", TABLE, |bench| {
        let mut conn = bench.client();
        let (named, other) = ("SELECT v FROM t WHERE id = 1", "SELECT id FROM t WHERE id = 1");
        let none = "SELECT v FROM t WHERE id = 77";
        bench.hits.prime(&mut conn, other).expect("it is answered");
        bench.load(&[
            "(rule_id,active,match_digest,cache_ttl) VALUES (1,1,'^SELECT v',60000)",
            "(rule_id,active,match_pattern,cache_empty_result) VALUES (2,1,'77',0)",
        ]);
        let set = |bench: &mut Bench, name: &str, value: &str| {
            run(
                &mut bench.admin,
                &[&format!("SET mysql-{name} = '{value}'"), "LOAD MYSQL VARIABLES TO RUNTIME"],
            );
        };
        bench.hits.prime(&mut conn, other).expect("it is answered");
        set(bench, "query_cache_rules_only", "true");
        bench.hits.prime(&mut conn, named).expect("it is answered");
        for _ in 0..5 {
            assert!(!bench.is_hit(&mut conn, other));
            assert!(!bench.is_hit(&mut conn, none), "it has no rows");
            assert!(bench.is_hit(&mut conn, named));
        }
        // A comment asks for as much.
        bench.hits.prime(&mut conn, &format!("/* cache_ttl=60000 */ {other}")).expect("it is answered");
        set(bench, "query_cache_rules_only", "false");
        bench.hits.prime(&mut conn, other).expect("it is answered");
        let not_cached = format!("/* cache_ttl=0 */ {named}");
        for _ in 0..5 {
            assert!(!bench.is_hit(&mut conn, &not_cached));
        }
        // Also where comments are no part of the key, but for those that say nothing to the rules.
        run(&mut conn, &["SET query_cache_strip_comments = 'ON'"]);
        bench.hits.prime(&mut conn, named).expect("it is answered");
        for _ in 0..5 {
            assert!(!bench.is_hit(&mut conn, &not_cached));
            assert!(bench.is_hit(&mut conn, &format!("/* trace */ {named}")));
        }
        run(&mut conn, &["SET query_cache_strip_comments = 'OFF'"]);
        set(bench, "query_cache_stores_empty_result", "false");
        for _ in 0..5 {
            assert!(!bench.is_hit(&mut conn, "SELECT id FROM t WHERE id = 78"));
        }
    });
}

#[test]
fn statements_wait_as_long_as_a_rule_says() {
    with_each("delay", TABLE, |bench| {
        bench.load(&["(rule_id,active,match_digest,delay) VALUES (1,1,'^(SELECT v|UPDATE)',300)"]);
        let mut conn = bench.client();
        let takes = |conn: &mut Conn, statement: &str| {
            let before = Instant::now();
            let _ = answer(conn, statement);
            before.elapsed()
        };
        let long = Duration::from_millis(300);
        assert!(takes(&mut conn, "UPDATE t SET v = 11 WHERE id = 1") >= long);
        assert!(takes(&mut conn, "SELECT v FROM t WHERE id = 1") >= long);
        assert!(takes(&mut conn, "SELECT 1") < long);
        // An answer from memory has nothing to wait for.
        bench.hits.prime(&mut conn, "SELECT v FROM t WHERE id = 1").expect("it is answered");
        assert!(takes(&mut conn, "SELECT v FROM t WHERE id = 1") < long);
    });
}

#[test]
fn statements_that_take_too_long_are_killed() {
    with_each("timeout", TABLE, |bench| {
        bench.load(&["(rule_id,active,match_digest,timeout) VALUES (1,1,'SLEEP|^UPDATE',300)"]);
        let mut conn = bench.client();
        let before = Instant::now();
        // Each of the three rows waits.
        let slept = answer(&mut conn, "SELECT id, SLEEP(5) FROM t");
        assert!(before.elapsed() < Duration::from_secs(4), "{slept:?}");
        assert_eq!(
            answer(&mut conn, "SELECT v, SLEEP(0) FROM t WHERE id = 1"),
            Ok(vec![vec!["10".to_owned(), "0".to_owned()]])
        );
        let prepared = conn.prep("SELECT id, SLEEP(?) FROM t").expect("it is prepared");
        let before = Instant::now();
        let _ = conn.exec_drop(&prepared, (5,));
        assert!(before.elapsed() < Duration::from_secs(4));
        // A write that waits for a lock.
        run(&mut bench.direct, &["BEGIN", "UPDATE t SET v = 5 WHERE id = 1"]);
        assert_eq!(message(conn.query_drop("UPDATE t SET v = 6 WHERE id = 1")).0, 1317);
        run(&mut bench.direct, &["COMMIT"]);
        assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 1"), one("5"));
        for _ in 0..20 {
            run(&mut conn, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
        }
        assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 1"), one("25"));
    });
}

#[test]
fn parts_of_the_cache_are_flushed() {
    let tables = [
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO b VALUES (1)",
    ];
    with_each("purge", &tables, |bench| {
        bench.load(&["(rule_id,active,match_digest,cache_ttl) VALUES (4,1,'FROM a',60000)"]);
        let mut conn = bench.client();
        let (a, b) = ("SELECT id FROM a WHERE id=1", "SELECT id FROM b WHERE id=1");
        let user = bench.freshet.target().user.clone();
        let digest = |bench: &mut Bench| {
            let query = "SELECT digest FROM stats_mysql_query_digest WHERE digest_text LIKE 'SELECT id FROM a %' LIMIT 1";
            bench.rows(query)[0][0].clone()
        };
        let schema = bench.schema.clone();
        bench.hits.prime(&mut conn, a).expect("it is answered");
        let digest = digest(bench);
        for (what, drops_b) in [
            (format!("DIGEST '{digest}'"), false),
            ("RULE 4".to_owned(), false),
            (format!("TABLE {schema}.a"), false),
            (format!("SCHEMA {schema}"), true),
            (format!("USER '{user}'"), true),
        ] {
            bench.hits.prime(&mut conn, a).expect("it is answered");
            bench.hits.prime(&mut conn, b).expect("it is answered");
            run(&mut bench.admin, &[&format!("PROXYSQL FLUSH QUERY CACHE {what}")]);
            assert!(!bench.is_hit(&mut conn, a), "{what}");
            assert_eq!(bench.is_hit(&mut conn, b), !drops_b, "{what}");
        }
        assert!(bench.admin.query_drop("PROXYSQL FLUSH QUERY CACHE RULE 5").is_err());
    });
}

#[test]
fn who_has_waited_long_enough_for_anothers_answer_asks_for_itself() {
    const READ: &str = "SELECT SUM(v) FROM t WHERE id > 0";
    with_each("patience", TABLE, |bench| {
        let mut holder = connect(&bench.server.target, &bench.schema);
        // Where a test fails, the server ends this for want of a command.
        run(&mut holder, &["SET SESSION wait_timeout = 30"]);
        let waiting = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}' AND STATE LIKE 'Waiting for table%' \
             AND INFO LIKE '%SUM%'",
            bench.schema
        );
        let mut look = bench.server.target.connect();
        let mut await_waiting = |count: u64| {
            eventually("so many wait for the table", || {
                let found: Option<u64> = look.query_first(&waiting).expect("the list of clients");
                (found == Some(count)).then_some(())
            });
        };
        // It is known to be slow at times.
        let mut reader = bench.client();
        run(&mut holder, &["LOCK TABLES t WRITE"]);
        thread::scope(|scope| {
            let reading = scope.spawn(|| answer(&mut reader, READ));
            await_waiting(1);
            thread::sleep(Duration::from_millis(60));
            run(&mut holder, &["UNLOCK TABLES"]);
            reading.join().expect("it is answered").expect("it has rows");
        });
        for (patience, asks) in [("60000", 1), ("100", 2)] {
            bench.load(&[&format!(
                "(rule_id,active,match_digest,cache_timeout) VALUES (1,1,'SUM',{patience})"
            )]);
            run(&mut bench.direct, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
            caught_up(&bench.freshet);
            run(&mut holder, &["LOCK TABLES t WRITE"]);
            let (mut first, mut second) = (bench.client(), bench.client());
            thread::scope(|scope| {
                let one = scope.spawn(|| answer(&mut first, READ));
                await_waiting(1);
                let other = scope.spawn(|| answer(&mut second, READ));
                thread::sleep(Duration::from_millis(400));
                await_waiting(asks);
                run(&mut holder, &["UNLOCK TABLES"]);
                assert_eq!(one.join().expect("it is answered"), other.join().expect("it is answered"));
            });
        }
    });
}

#[test]
fn a_rule_keeps_a_session_to_its_own_connection() {
    administered::with_each("multiplex", |server, directory| {
        let schema = "rules_multiplex";
        let mut direct = fresh_schema(server, schema);
        for table in ["t", "u", "w"] {
            run(&mut direct, &[&format!("CREATE TABLE {table} (id INT PRIMARY KEY)")]);
        }
        let freshet = directory.freshet_with(server, &["--multiplexing", "always"]);
        caught_up(&freshet);
        let mut watch = freshet.target().connect();
        run(&mut watch, &["SET GLOBAL query_cache_type = OFF"]);
        let mut conn = connect(freshet.target(), schema);
        let mut is_carried = |conn: &mut Conn, table: &str| {
            let before = status(&mut watch, "Freshet_carried");
            answer(conn, &format!("SELECT id FROM {table} WHERE id = 1")).expect("it is answered");
            status(&mut watch, "Freshet_carried") > before
        };
        for table in ["t", "u", "w"] {
            eventually("its reads are carried", || is_carried(&mut conn, table).then_some(()));
        }
        let mut admin = directory.connect("admin");
        run(
            &mut admin,
            &[
                &format!(
                    "{RULES} (rule_id,active,match_digest,multiplex) VALUES (1,1,'FROM u',0),(2,1,'FROM w',1)"
                ),
                "LOAD MYSQL QUERY RULES TO RUNTIME",
            ],
        );
        let mut others = connect(freshet.target(), schema);
        for _ in 0..3 {
            eventually("its reads are carried", || is_carried(&mut conn, "t").then_some(()));
            assert!(!is_carried(&mut conn, "u"), "the rule keeps it to itself");
            assert!(!is_carried(&mut conn, "t"), "from then on");
            eventually("those of others are carried", || is_carried(&mut others, "t").then_some(()));
            eventually("another rule takes that back", || is_carried(&mut conn, "w").then_some(()));
        }
        freshet.stop();
    });
}

#[test]
fn digests_are_made_as_variables_say() {
    with_each("digests", TABLE, |bench| {
        let set = |bench: &mut Bench, name: &str, value: &str| {
            run(
                &mut bench.admin,
                &[&format!("SET mysql-query_digests_{name} = '{value}'"), "LOAD MYSQL VARIABLES TO RUNTIME"],
            );
        };
        let mut conn = bench.client();
        let statement = "SELECT V FROM t AS t12 WHERE id IN (1, 2, 3, 4, 5, 6) /* why */ AND V IS NOT NULL";
        for (name, value, default, expected) in [
            (
                "lowercase",
                "true",
                "false",
                "select v from t as t12 where id in (?,?,?,...) and v is not null",
            ),
            ("no_digits", "true", "false", "SELECT V FROM t AS t? WHERE id IN (?,?,?,...) AND V IS NOT NULL"),
            (
                "replace_null",
                "true",
                "false",
                "SELECT V FROM t AS t12 WHERE id IN (?,?,?,...) AND V IS NOT ?",
            ),
            ("grouping_limit", "1", "3", "SELECT V FROM t AS t12 WHERE id IN (?,...) AND V IS NOT NULL"),
            ("max_digest_length", "20", "2048", "SELECT V FROM t AS t"),
            ("max_query_length", "18", "65000", "SELECT V FROM t AS"),
        ] {
            set(bench, name, value);
            bench.rows("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1");
            let _ = answer(&mut conn, statement);
            let digests =
                "SELECT digest_text, digest FROM stats_mysql_query_digest WHERE digest_text LIKE 'select v%'";
            let found = bench.rows(digests);
            assert_eq!((found.len(), found[0][0].as_str()), (1, expected), "{name}");
            // Rules and EXPLAIN FRESHET have the same.
            bench.load(&[&format!("(rule_id,active,digest,cache_ttl) VALUES (1,1,'{}',60000)", found[0][1])]);
            let _ = answer(&mut conn, statement);
            assert!(bench.met(1) > 0, "{name}");
            let explained =
                answer(&mut conn, &format!("EXPLAIN FRESHET {statement}")).expect("it is explained");
            assert!(
                explained.contains(&vec!["digest_text".to_owned(), expected.to_owned()]),
                "{explained:?}"
            );
            bench.load(&[]);
            set(bench, name, default);
        }
        let refused = bench.admin.query_drop("SET mysql-query_digests_lowercase = 'perhaps'");
        assert!(refused.is_ok(), "it is in memory");
        assert!(bench.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").is_err());
    });
}

#[test]
fn what_of_rules_does_nothing_is_told_and_what_cannot_be_done_is_refused() {
    with_each("idle", TABLE, |bench| {
        bench.load(&["(rule_id,active,match_digest,sticky_conn,reconnect) VALUES (7,1,'x',1,1)"]);
        eventually("it is logged", || {
            bench.freshet.log().contains("rule 7: reconnect, sticky_conn").then_some(())
        });
        for column in ["mirror_flagOUT", "mirror_hostgroup", "gtid_from_hostgroup"] {
            run(&mut bench.admin, &[&format!("{RULES} (rule_id,active,{column}) VALUES (8,1,1)")]);
            let (code, why) = message(bench.admin.query_drop("LOAD MYSQL QUERY RULES TO RUNTIME"));
            assert!(code == 1045 && why.contains("rule 8") && why.contains(column), "{code} {why}");
            run(&mut bench.admin, &["DELETE FROM mysql_query_rules WHERE rule_id = 8"]);
        }
    });
}

#[test]
fn hits_of_rules_are_the_same_wherever_they_are_shown() {
    with_each("shown", TABLE, |bench| {
        bench.load(&[
            "(rule_id,active,match_digest,cache_ttl) VALUES (5,1,'FROM t',60000)",
            "(rule_id,active,match_digest,destination_hostgroup) VALUES (6,1,'WHERE id = \\?$',3)",
            "(rule_id,active,match_digest,cache_ttl) VALUES (7,1,'no such',1)",
        ]);
        let mut conn = bench.client();
        let (both, first) = ("SELECT v FROM t WHERE id = 1", "SELECT COUNT(*) FROM t");
        bench.hits.prime(&mut conn, both).expect("it is answered");
        bench.hits.prime(&mut conn, first).expect("it is answered");
        assert_eq!(bench.hits.hits_of(&mut conn, both, 4), 4);
        let mut fresh = |query: &str| answer(&mut conn, query).expect("it is computed");
        let decided = fresh(&format!(
            "SELECT digest_text, rules, cache_ttl, destination_hostgroup, executions, hits FROM freshet.decisions \
             WHERE schema_name = '{}' ORDER BY digest_text DESC",
            bench.schema
        ));
        assert_eq!(decided.len(), 2, "{decided:?}");
        assert_eq!(decided[0][..4], ["SELECT v FROM t WHERE id = ?", "5, 6", "60000", "3"]);
        assert_eq!(decided[1][..3], ["SELECT COUNT(*) FROM t", "5", "60000"]);
        let number = |text: &String| text.parse::<u64>().expect("it is a number");
        let (of_both, of_first) = (number(&decided[0][4]), number(&decided[1][4]));
        assert!(number(&decided[0][5]) >= 4 && of_both > number(&decided[0][5]), "{decided:?}");
        let rules = fresh(
            "SELECT rule_id, hits, cache_ttl, destination_hostgroup FROM freshet.rules ORDER BY rule_id",
        );
        let expected = [
            ["5".to_owned(), (of_both + of_first).to_string(), "60000".to_owned(), "NULL".to_owned()],
            ["6".to_owned(), of_both.to_string(), "NULL".to_owned(), "3".to_owned()],
            ["7".to_owned(), "0".to_owned(), "1".to_owned(), "NULL".to_owned()],
        ];
        assert_eq!(rules, expected.clone().map(Vec::from));
        assert_eq!(
            bench.rows("SELECT rule_id, hits FROM stats_mysql_query_rules ORDER BY rule_id"),
            expected.map(|row| row[..2].to_vec())
        );
    });
}
