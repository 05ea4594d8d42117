//! The native query cache's switches beyond SET and SHOW: SET STATEMENT, QUERY_CACHE_INFO, FLUSH and RESET, SET PERSIST, and all of it in
//! prepared statements.

use std::time::{Duration, Instant};

use freshet_tests::cached::{
    Answer, Counted, answer, caught_up, connect, eventually, hits, run, status, user_of, with_two_rows,
};
use freshet_tests::raw::{Raw, capability, command};
use freshet_tests::{Flavor, Freshet, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::Signal;

const READ: &str = "SELECT v FROM t WHERE id = 1";

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

fn value(conn: &mut Conn, name: &str) -> String {
    answer(conn, &format!("SHOW VARIABLES LIKE '{name}'")).expect("it is shown")[0][1].clone()
}

#[test]
fn a_variable_holds_for_one_statement() {
    with_two_rows("switches_for", |server, freshet, mut conn| {
        if server.flavor != Flavor::MariaDb {
            let refused = answer(&mut conn, "SET STATEMENT query_cache_type = OFF FOR SELECT 1");
            assert_eq!(refused, Err(1064), "MySQL knows no such statement");
            return;
        }
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        let before = hits(&mut conn);
        for off in ["query_cache_type=OFF", "query_cache_type = 0, max_statement_time = 9"] {
            assert_eq!(answer(&mut conn, &format!("SET STATEMENT {off} FOR {READ}")), one("10"));
            assert_eq!(hits(&mut conn), before, "{off}");
        }
        assert_eq!(value(&mut conn, "query_cache_type"), "ON");
        // A hit is due where nothing is in the way.
        run(&mut conn, &["SET query_cache_type = DEMAND"]);
        assert_eq!(answer(&mut conn, &format!("SET STATEMENT query_cache_type = ON FOR {READ}")), one("10"));
        assert_eq!(hits(&mut conn), before + 1, "what is on for one statement finds what there is");
        let shown = "SET STATEMENT query_cache_type = ON FOR SELECT @@query_cache_type";
        assert_eq!(answer(&mut conn, shown), one("ON"));
        assert_eq!(value(&mut conn, "query_cache_type"), "DEMAND");
        for (statement, code) in [
            ("SET STATEMENT query_cache_size = 1024 FOR SELECT 1", 1229),
            ("SET STATEMENT query_cache_nope = 1 FOR SELECT 1", 1193),
            ("SET STATEMENT query_cache_strip_comments = 7 FOR SELECT 1", 1231),
            ("SET STATEMENT have_query_cache = 1 FOR SELECT 1", 1238),
            ("SET STATEMENT SESSION query_cache_type = 0 FOR SELECT 1", 1064),
            ("SET STATEMENT query_cache_type = OFF, max_statement_time = 9 FOR SELECT nope FROM t", 1054),
        ] {
            assert_eq!(answer(&mut conn, statement), Err(code), "{statement}");
            assert_eq!(value(&mut conn, "query_cache_type"), "DEMAND", "{statement}");
        }
        run(&mut conn, &["SET STATEMENT query_cache_type = OFF FOR SET SESSION freshness = 'eventual'"]);
        assert_eq!(value(&mut conn, "freshness"), "eventual", "what the statement itself sets stays");
    });
}

#[test]
fn entries_are_listed_to_whom_may_see_them() {
    with_two_rows("switches_info", |server, freshet, mut conn| {
        run(&mut conn, &["RESET QUERY CACHE"]);
        let counts = "SELECT COUNT(*) FROM information_schema.QUERY_CACHE_INFO";
        assert_eq!(answer(&mut conn, counts), one("0"));
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        let other = "SELECT id, v, '\u{e4}\\'' AS x FROM t";
        let _ = counted.prime(&mut conn, other);
        let listed = "SELECT statement_schema, STATEMENT_TEXT FROM information_schema.query_cache_info \
                      WHERE STATEMENT_SCHEMA = 'switches_info' ORDER BY LENGTH(STATEMENT_TEXT) LIMIT 2";
        let rows = answer(&mut conn, listed).expect("listed");
        let texts: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(texts, [READ, other]);
        let sized = "SELECT i.RESULT_BLOCKS_COUNT > 0 AND i.RESULT_BLOCKS_SIZE >= i.RESULT_BLOCKS_SIZE_USED \
                     FROM information_schema.QUERY_CACHE_INFO AS i WHERE i.STATEMENT_TEXT LIKE '%id = 1'";
        assert_eq!(answer(&mut conn, sized), one("1"));
        let columns = answer(&mut conn, "SELECT * FROM information_schema.QUERY_CACHE_INFO").expect("listed");
        assert_eq!(columns[0].len(), 25);
        let prepared = conn.prep("SELECT v FROM t WHERE id = ?").expect("prepared");
        eventually("an execution is stored", || {
            let _: Option<i64> = conn.exec_first(&prepared, (2,)).expect("executed");
            let like = "SELECT PROTOCOL_TYPE FROM information_schema.query_cache_info \
                        WHERE STATEMENT_TEXT = 'SELECT v FROM t WHERE id = ?'";
            (answer(&mut conn, like) == one("1")).then_some(())
        });
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &[
                "DROP USER IF EXISTS switches_plain",
                "CREATE USER switches_plain IDENTIFIED BY 'pw'",
                "GRANT SELECT ON switches_info.* TO switches_plain",
            ],
        );
        let plain =
            Target { user: "switches_plain".into(), password: "pw".into(), ..freshet.target().clone() };
        let mut plain = connect(&plain, "switches_info");
        assert_eq!(answer(&mut plain, counts), one("0"), "without PROCESS there are no rows");
        run(&mut direct, &["GRANT PROCESS ON *.* TO switches_plain"]);
        eventually("PROCESS is enough", || {
            // Stored again, should a change of rights have had the rest go.
            let _ = answer(&mut conn, READ);
            (answer(&mut plain, counts) != one("0")).then_some(())
        });
        run(&mut direct, &["DROP USER switches_plain"]);
    });
}

#[test]
fn flush_and_reset_empty_what_the_native_cache_empties() {
    with_two_rows("switches_flush", |server, freshet, mut conn| {
        run(&mut conn, &["CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)"]);
        run(&mut conn, &["CREATE VIEW seen AS SELECT id, v FROM t"]);
        let (of_view, of_other) = ("SELECT v FROM seen WHERE id = 2", "SELECT id FROM u");
        let mut counted = Counted::of(freshet);
        for (statement, stays) in [
            ("FLUSH QUERY CACHE", [true, true, true]),
            ("FLUSH TABLES WITH READ LOCK", [true, true, true]),
            ("FLUSH TABLES u WITH READ LOCK", [true, true, true]),
            ("FLUSH TABLES t, t", [true, true, true]), // Refused: not a unique table.
            ("RESET QUERY CACHE", [false, false, false]),
            ("FLUSH TABLES", [false, false, false]),
            ("FLUSH NO_WRITE_TO_BINLOG TABLES", [false, false, false]),
            ("FLUSH LOCAL TABLES t", [false, false, true]),
            ("FLUSH TABLE switches_flush.u", [true, true, false]),
            ("FLUSH TABLES u, `switches_flush`.`t`", [false, false, false]),
        ] {
            let wanted = stays.map(u64::from);
            // The first FLUSH that is seen may be a reload of rights: what there is then is dropped once, a moment later.
            for is_last in [false, true] {
                for read in [READ, of_view, of_other] {
                    let _ = counted.prime(&mut conn, read);
                }
                let worked = answer(&mut conn, statement);
                run(&mut conn, &["UNLOCK TABLES"]);
                assert_eq!(worked.err(), statement.contains("t, t").then_some(1066), "{statement}");
                let hits = [READ, of_view, of_other].map(|read| counted.hits_of(&mut conn, read, 1));
                let is_too_many = hits.iter().zip(&wanted).any(|(hits, wanted)| hits > wanted);
                assert!(!is_too_many && (hits == wanted || !is_last), "{hits:?} after {statement}");
                if hits == wanted {
                    break;
                }
            }
        }
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &["DROP USER IF EXISTS switches_flusher", "CREATE USER switches_flusher IDENTIFIED BY 'pw'"],
        );
        let plain =
            Target { user: "switches_flusher".into(), password: "pw".into(), ..freshet.target().clone() };
        let mut plain = plain.connect();
        let _ = counted.prime(&mut conn, READ);
        for statement in ["FLUSH QUERY CACHE", "RESET QUERY CACHE", "FLUSH TABLES"] {
            let Err(mysql::Error::MySqlError(error)) = plain.query_drop(statement) else {
                panic!("{statement} is refused")
            };
            let text = "Access denied; you need (at least one of) the RELOAD";
            assert!(error.code == 1227 && error.message.starts_with(text), "{statement}: {error}");
        }
        assert!(status(&mut conn, "Qcache_queries_in_cache") > 0);
        run(&mut direct, &["DROP USER switches_flusher"]);
    });
}

#[test]
fn what_is_persisted_survives_a_kill() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let directory =
            std::env::temp_dir().join(format!("freshet-persist-{}-{:?}", std::process::id(), server.flavor));
        let _ = std::fs::remove_dir_all(&directory);
        let flags = [
            "--persist",
            "on",
            "--state-dir",
            directory.to_str().expect("a path"),
            "--query-cache-size",
            "8M",
        ];
        let first = Freshet::with(server, &flags);
        let mut conn = first.target().connect();
        run(
            &mut conn,
            &[
                "SET PERSIST query_cache_size = 2 * 1048576, PERSIST_ONLY query_cache_type = DEMAND",
                "SET @@persist.query_cache_limit = 4096, @@PERSIST_ONLY.freshness = 'session'",
            ],
        );
        assert_eq!(value(&mut conn, "query_cache_size"), "2097152");
        assert_eq!(
            answer(&mut conn, "SELECT @@global.query_cache_type, @@global.freshness"),
            Ok(vec![vec!["ON".into(), "strict".into()]])
        );
        assert_eq!(answer(&mut conn, "SET PERSIST_ONLY query_cache_type = 7"), Err(1231));
        // MariaDB, which is asked for its own, knows no PERSIST.
        let refused = if server.flavor == Flavor::MySql { 1193 } else { 1064 };
        assert_eq!(answer(&mut conn, "SET PERSIST query_cache_size = 4194304, nope = 1"), Err(refused));
        assert_eq!(value(&mut conn, "query_cache_size"), "2097152", "all of it or nothing");
        let listed = "SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = 'query_cache_limit'";
        assert_eq!(answer(&mut conn, listed), one("4096"));
        first.signal(Signal::KILL);
        let _ = first.wait();
        let second = Freshet::with(server, &flags);
        let mut conn = second.target().connect();
        for (name, kept) in [
            ("query_cache_size", "2097152"),
            ("query_cache_type", "DEMAND"),
            ("query_cache_limit", "4096"),
            ("freshness", "session"),
        ] {
            assert_eq!(value(&mut conn, name), kept, "{name}");
        }
        run(&mut conn, &["RESET PERSIST query_cache_size", "RESET PERSIST IF EXISTS query_cache_size"]);
        assert_eq!(answer(&mut conn, "RESET PERSIST query_cache_size"), Err(3615));
        drop(conn);
        second.stop();
        std::fs::write(directory.join("persisted.conf.new"), "query_cache_si").expect("half of a file");
        let third = Freshet::with(server, &flags);
        let mut conn = third.target().connect();
        assert_eq!(value(&mut conn, "query_cache_size"), "8388608", "the option's again");
        assert_eq!(value(&mut conn, "query_cache_type"), "DEMAND");
        let away = directory.with_extension("away");
        std::fs::rename(&directory, &away).expect("the directory is there");
        assert_eq!(answer(&mut conn, "SET PERSIST query_cache_limit = 8192"), Err(1026));
        assert_eq!(value(&mut conn, "query_cache_limit"), "4096", "what cannot be kept is not set");
        std::fs::rename(&away, &directory).expect("it is put back");
        run(&mut conn, &["RESET PERSIST"]);
        drop(conn);
        third.stop();
        let kept = std::fs::read_to_string(directory.join("persisted.conf")).expect("the file is there");
        assert_eq!(kept.lines().count(), 1, "{kept}");
        std::fs::remove_dir_all(directory).expect("the directory is there");
    });
}

/// The first two columns of each row, as texts.
fn pairs(conn: &mut Conn, statement: &mysql::Statement) -> Vec<(String, String)> {
    conn.exec(statement, ()).expect("executed")
}

#[test]
fn what_is_prepared_is_ours_too() {
    with_two_rows("switches_prepared", |_, freshet, mut conn| {
        let mut other = freshet.target().connect();
        let selects = conn.prep("SELECT @@query_cache_limit AS l, @@query_cache_type").expect("prepared");
        let computes =
            conn.prep("SELECT @@query_cache_limit / 1024 AS kb FROM t WHERE id = 1").expect("prepared");
        let shows = conn.prep("SHOW VARIABLES LIKE 'query_cache_l%'").expect("prepared");
        let all = conn.prep("SHOW VARIABLES").expect("prepared");
        let counts = conn.prep("SHOW STATUS LIKE 'Qcache_hits'").expect("prepared");
        for limit in ["1048576", "2048", "2048"] {
            run(&mut other, &[&format!("SET GLOBAL query_cache_limit = {limit}")]);
            let row: Option<(u64, String)> = conn.exec_first(&selects, ()).expect("executed");
            assert_eq!(row, Some((limit.parse().expect("a number"), "ON".to_owned())));
            let kb: Option<f64> = conn.exec_first(&computes, ()).expect("executed");
            assert_eq!(kb, Some(limit.parse::<f64>().expect("a number") / 1024.0));
            let expected = ("query_cache_limit".to_owned(), limit.to_owned());
            assert_eq!(pairs(&mut conn, &shows), std::slice::from_ref(&expected));
            let listed = pairs(&mut conn, &all);
            assert_eq!(
                listed.iter().filter(|row| row.0 == "query_cache_limit").collect::<Vec<_>>(),
                [&expected]
            );
            assert!(listed.len() > 200, "the server's are there too");
        }
        run(&mut other, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        assert_eq!(pairs(&mut conn, &counts)[0].0, "Qcache_hits");
        let sets = conn.prep("SET query_cache_type = ?").expect("prepared");
        assert_eq!(sets.num_params(), 1);
        for (given, shown) in [("OFF", "OFF"), ("DEMAND", "DEMAND")] {
            conn.exec_drop(&sets, (given,)).expect("executed");
            assert_eq!(value(&mut conn, "query_cache_type"), shown);
        }
        conn.exec_drop(&sets, (1,)).expect("executed");
        assert_eq!(value(&mut conn, "query_cache_type"), "ON");
        let Err(mysql::Error::MySqlError(error)) = conn.exec_drop(&sets, (7,)) else {
            panic!("7 is refused")
        };
        assert_eq!(error.code, 1231);
        let resizes = conn.prep("SET GLOBAL query_cache_min_res_unit = 8192").expect("prepared");
        conn.exec_drop(&resizes, ()).expect("executed");
        assert_eq!(value(&mut conn, "query_cache_min_res_unit"), "8192");
        conn.close(sets).expect("closed");
        conn.close(selects).expect("closed");
        // What the client has prepared beside them is as it was.
        let plain: Option<i64> = conn.exec_first("SELECT v FROM t WHERE id = ?", (2,)).expect("executed");
        assert_eq!(plain, Some(20));
    });
}

#[test]
fn what_is_prepared_by_its_text_is_ours_too() {
    with_two_rows("switches_texts", |server, _, mut conn| {
        run(
            &mut conn,
            &[
                "PREPARE shows FROM 'SHOW VARIABLES LIKE ''query_cache_ty%'''",
                "PREPARE selects FROM 'SELECT @@query_cache_type'",
                "PREPARE sets FROM 'SET query_cache_type = ?'",
                "SET @given = 'DEMAND'",
                "EXECUTE sets USING @given",
            ],
        );
        assert_eq!(answer(&mut conn, "EXECUTE selects"), one("DEMAND"));
        let row = vec![vec!["query_cache_type".to_owned(), "DEMAND".to_owned()]];
        assert_eq!(answer(&mut conn, "EXECUTE shows"), Ok(row));
        assert_eq!(answer(&mut conn, "EXECUTE sets"), Err(1210));
        run(&mut conn, &["DEALLOCATE PREPARE sets"]);
        for gone in ["EXECUTE sets USING @given", "DEALLOCATE PREPARE sets"] {
            assert_eq!(answer(&mut conn, gone), Err(1243), "{gone}");
        }
        // Another statement takes the name, or fails to.
        run(&mut conn, &["PREPARE selects FROM 'SELECT 7'"]);
        assert_eq!(answer(&mut conn, "EXECUTE selects"), one("7"));
        run(&mut conn, &["PREPARE selects FROM 'SELECT @@query_cache_type'"]);
        assert_eq!(answer(&mut conn, "PREPARE selects FROM 'nonsense'"), Err(1064));
        assert_eq!(answer(&mut conn, "EXECUTE selects"), Err(1243));
        if server.flavor == Flavor::MariaDb {
            run(&mut conn, &["EXECUTE IMMEDIATE 'SET query_cache_type = ?' USING @given"]);
            assert_eq!(answer(&mut conn, "EXECUTE IMMEDIATE 'SELECT @@query_cache_type'"), one("DEMAND"));
        }
    });
}

/// A procedure may prepare anything under a name of ours: then it is that which is executed. What only we have is refused, and never
/// silently left undone.
#[test]
fn unknown_code_may_take_a_name_of_ours() {
    with_two_rows("switches_unknown", |_, _, mut conn| {
        run(
            &mut conn,
            &[
                "CREATE PROCEDURE takes(q TEXT) BEGIN SET @q = q; PREPARE sets FROM @q; END",
                "PREPARE sets FROM 'SET query_cache_type = DEMAND'",
                "PREPARE selects FROM 'SELECT @@query_cache_type'",
                "PREPARE shows FROM 'SHOW VARIABLES LIKE \"max_connections\"'",
                "CALL takes('SELECT 42')",
            ],
        );
        assert_eq!(answer(&mut conn, "EXECUTE sets"), one("42"));
        assert_eq!(value(&mut conn, "query_cache_type"), "ON");
        assert_eq!(answer(&mut conn, "EXECUTE selects"), Err(1243));
        assert_eq!(answer(&mut conn, "EXECUTE shows").expect("the server's as well").len(), 1);
        run(&mut conn, &["PREPARE sets FROM 'SET query_cache_type = DEMAND'", "EXECUTE sets"]);
        assert_eq!(value(&mut conn, "query_cache_type"), "DEMAND");
    });
}

#[test]
fn statements_within_statements_end() {
    with_two_rows("switches_deep", |server, _, mut conn| {
        if server.flavor == Flavor::MariaDb {
            let (outer, inner) =
                ("SET STATEMENT max_statement_time = 9", "SET STATEMENT query_cache_strip_comments = 1");
            assert_eq!(answer(&mut conn, &format!("{outer} FOR {inner} FOR SELECT 1")), one("1"));
        }
        let deep = "SET STATEMENT query_cache_strip_comments = 1 FOR ".repeat(20_000) + "SELECT 1";
        let _ = answer(&mut conn, &deep);
        assert_eq!(answer(&mut conn, "SELECT 1"), one("1"));
    });
}

/// The server has a substitute for a statement of ours, which does nothing. Executed in bulk, it is refused and not silently left undone.
#[test]
fn executions_in_bulk_are_refused() {
    with_two_rows("switches_bulk", |server, freshet, mut conn| {
        if server.flavor != Flavor::MariaDb {
            return;
        }
        user_of(&mut server.target.connect(), "switches_bulk");
        let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("a greeting");
        raw.extended = capability::STMT_BULK_OPERATIONS;
        raw.login("switches_bulk", "switches_bulk", 0).expect("a login");
        let prepared =
            raw.ask(command::STMT_PREPARE, b"SET GLOBAL query_cache_limit = ?").expect("an answer");
        // SEND_TYPES_TO_SERVER, INT, and one row.
        let body = [&prepared[0][1..5], &[128, 0, 3, 0], &[0, 0, 8, 0, 0]].concat();
        let answer = raw.ask(command::STMT_BULK_EXECUTE, &body).expect("an answer");
        assert_eq!(answer[0][..3], [&[0xff][..], &1295u16.to_le_bytes()].concat());
        assert_eq!(value(&mut conn, "query_cache_limit"), "1048576");
        run(&mut server.target.connect(), &["DROP USER switches_bulk"]);
    });
}

/// The query cache may stand in the list of a FLUSH or a RESET. MySQL is given the list without it.
#[test]
fn a_list_may_name_the_cache() {
    with_two_rows("switches_list", |server, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let replica = if server.flavor == Flavor::MySql { "REPLICA" } else { "SLAVE" };
        for (statement, stays) in [
            ("FLUSH STATUS, QUERY CACHE".to_owned(), 1),
            ("FLUSH LOCAL QUERY CACHE, STATUS".to_owned(), 1),
            (format!("RESET {replica}, QUERY CACHE"), 0),
        ] {
            // The first FLUSH that is seen may be a reload of rights: what there is then is dropped once.
            for is_last in [false, true] {
                let _ = counted.prime(&mut conn, READ);
                run(&mut conn, &[&statement]);
                let hits = counted.hits_of(&mut conn, READ, 1);
                assert!(hits <= stays && (hits == stays || !is_last), "{statement}");
            }
        }
        let _ = counted.prime(&mut conn, READ);
        run(&mut conn, &["FLUSH STATUS, QUERY CACHE"]);
        assert_eq!(status(&mut conn, "Qcache_inserts"), 0);
        assert_eq!(answer(&mut conn, "FLUSH NONSENSE, QUERY CACHE"), Err(1064));
    });
}

/// As the server says it of its own variables, and a SELECT of one counts as what it is.
#[test]
fn refusals_and_counts_are_as_the_servers() {
    with_two_rows("switches_words", |server, freshet, mut conn| {
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &["DROP USER IF EXISTS switches_words", "CREATE USER switches_words IDENTIFIED BY 'pw'"],
        );
        let plain =
            Target { user: "switches_words".into(), password: "pw".into(), ..freshet.target().clone() };
        let refused = plain.connect().query_drop("SET GLOBAL query_cache_size = 0");
        let Err(mysql::Error::MySqlError(error)) = refused else { panic!("it is refused") };
        let needed = match server.flavor {
            Flavor::MariaDb => "SUPER privilege(s)",
            Flavor::MySql => "SUPER or SYSTEM_VARIABLES_ADMIN privilege(s)",
        };
        let text = format!("Access denied; you need (at least one of) the {needed} for this operation");
        assert_eq!((error.code, error.message), (1227, text));
        run(&mut direct, &["DROP USER switches_words"]);

        let before = status(&mut conn, "Qcache_not_cached");
        for (at, select) in
            (1..).zip(["SELECT @@query_cache_type", "SELECT @@query_cache_type, 1", "SELECT 1"])
        {
            let _ = answer(&mut conn, select);
            assert_eq!(status(&mut conn, "Qcache_not_cached") - before, at, "{select}");
        }
        // A query cache has not come to know of what fails before its tables are open.
        let before = status(&mut conn, "Qcache_not_cached");
        for (select, code, counted) in [
            ("SELECT v FROM nope", 1146, 0),
            ("SELECT NOW() FROM nope", 1146, 0),
            ("SELECT nope FROM t", 1054, 1),
            ("SELECT NOW(), nope FROM t", 1054, 2),
        ] {
            assert_eq!(answer(&mut conn, select), Err(code), "{select}");
            assert_eq!(status(&mut conn, "Qcache_not_cached") - before, counted, "{select}");
        }
    });
}

/// Rights were given since the last reload, and a FLUSH through Freshet that loads none does not have everything dropped for them.
#[test]
fn a_flush_that_loads_no_rights_costs_no_hit() {
    const LOOKS: Duration = Duration::from_millis(2500);
    with_two_rows("switches_harmless", |server, freshet, mut conn| {
        run(&mut conn, &["CREATE TABLE u (id INT PRIMARY KEY)"]);
        run(
            &mut server.target.connect(),
            &[
                "DROP USER IF EXISTS switches_harmless",
                "CREATE USER switches_harmless IDENTIFIED BY 'pw'",
                "GRANT SELECT ON switches_harmless.* TO switches_harmless",
            ],
        );
        caught_up(freshet);
        // What was not told of by the stream is looked for once a second.
        std::thread::sleep(LOOKS);
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        run(&mut conn, &["FLUSH STATUS", "FLUSH TABLES u"]);
        let until = Instant::now() + LOOKS;
        while Instant::now() < until {
            assert_eq!(counted.hits_of(&mut conn, READ, 1), 1);
            std::thread::sleep(Duration::from_millis(50));
        }
        run(&mut server.target.connect(), &["DROP USER switches_harmless"]);
    });
}
