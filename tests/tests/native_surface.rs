//! What else users of a native query cache find where it was: SHOW WARNINGS after our own errors, our variables and tables by any of their
//! names, prepared statements with parameters, all that empties the cache, and what is told of each entry.

use freshet_tests::cached::{Answer, Counted, answer, caught_up, connect, hits, run, with_two_rows};
use freshet_tests::raw::{Raw, command};
use freshet_tests::{Flavor, Freshet};
use mysql::Conn;
use mysql::prelude::Queryable;

const READ: &str = "SELECT v FROM t WHERE id = 1";

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

#[test]
fn an_error_of_ours_can_be_asked_for() {
    with_two_rows("surface_errors", |server, freshet, mut conn| {
        for (statement, code, text) in [
            (
                "SET query_cache_type = 7",
                "1231",
                "Variable 'query_cache_type' can't be set to the value of '7'",
            ),
            (
                "SET GLOBAL query_cache_size = 1048577, query_cache_type = 7",
                "1231",
                "Variable 'query_cache_type' can't be set to the value of '7'",
            ),
            (
                "SELECT v FROM t WHERE id = (SELECT SQL_CACHE 1)",
                "1234",
                "Incorrect usage/placement of 'SQL_CACHE'",
            ),
        ] {
            assert!(answer(&mut conn, statement).is_err(), "{statement}");
            let row = Ok(vec![vec!["Error".to_owned(), code.to_owned(), text.to_owned()]]);
            for asked in ["SHOW WARNINGS", "show errors;", "SHOW WARNINGS LIMIT 5", "SHOW ERRORS LIMIT 0, 1"]
            {
                assert_eq!(answer(&mut conn, asked), row, "{asked} after {statement}");
            }
            for asked in ["SHOW COUNT(*) ERRORS", "SELECT @@error_count", "SELECT @@session.warning_count"] {
                assert_eq!(answer(&mut conn, asked), one("1"), "{asked} after {statement}");
            }
            assert_eq!(answer(&mut conn, "SHOW ERRORS LIMIT 1, 1"), Ok(vec![]));
        }
        run(&mut conn, &["SET GLOBAL query_cache_limit = -1"]);
        assert_eq!(answer(&mut conn, "SHOW COUNT(*) WARNINGS"), one("1"));
        assert_eq!(answer(&mut conn, "SHOW COUNT(*) ERRORS"), one("0"));
        assert_eq!(answer(&mut conn, "SHOW ERRORS"), Ok(vec![]));
        run(&mut conn, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        // What comes after it is asked about then, whoever answers it.
        let _ = answer(&mut conn, "SET query_cache_type = 7");
        let _ = Counted::of(freshet).prime(&mut conn, READ);
        assert_eq!(answer(&mut conn, "SHOW WARNINGS"), Ok(vec![]), "after a hit");
        let _ = answer(&mut conn, "SET query_cache_type = 7");
        assert_eq!(answer(&mut conn, "SELECT nope FROM t"), Err(1054));
        assert_eq!(answer(&mut conn, "SHOW ERRORS").expect("shown")[0][1], "1054");
        if server.flavor == Flavor::MySql {
            run(&mut conn, &["SET query_cache_type = ON"]);
            assert_eq!(answer(&mut conn, "SHOW WARNINGS"), Ok(vec![]), "MySQL forgets what was before");
        }
    });
}

#[test]
fn our_variables_and_tables_have_all_their_names() {
    with_two_rows("surface_names", |server, _, mut conn| {
        for set in [
            "SET `query_cache_type` = DEMAND",
            "SET SESSION `Query_Cache_Type` = 'demand'",
            "SET @@`query_cache_type` = 2",
            "SET @@session.`query_cache_type` = CONCAT('DEM', 'AND')",
        ] {
            run(&mut conn, &["SET query_cache_type = ON", set]);
            assert_eq!(answer(&mut conn, "SELECT @@`query_cache_type`"), one("DEMAND"), "{set}");
        }
        run(&mut conn, &["SET query_cache_type = ON"]);
        for (value, shown) in [("DATE'2020-01-02'", "2020-01-02"), ("TIME'01:02:03'", "01:02:03")] {
            let set = format!("SET query_cache_type = {value}");
            let Err(mysql::Error::MySqlError(error)) = conn.query_drop(&set) else { panic!("{set}") };
            let text = format!("Variable 'query_cache_type' can't be set to the value of '{shown}'");
            assert_eq!((error.code, error.message), (1231, text), "{set}");
        }
        assert_eq!(answer(&mut conn, "SET query_cache_type = 18446744073709551616"), Err(1232));
        assert!(answer(&mut conn, "SET TRANSACTION READ ONLY, query_cache_type = OFF").is_err());
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one("ON"));

        run(
            &mut conn,
            &[
                "CREATE TEMPORARY TABLE kept AS SELECT HITS FROM information_schema.QUERY_CACHE_INFO",
                "INSERT INTO kept SELECT HITS FROM information_schema.query_cache_info",
                "EXPLAIN SELECT * FROM information_schema.QUERY_CACHE_INFO",
                "USE information_schema",
            ],
        );
        assert_eq!(answer(&mut conn, "SELECT COUNT(*) >= 0 FROM QUERY_CACHE_INFO"), one("1"));
        let size = "SELECT VARIABLE_VALUE FROM global_variables WHERE VARIABLE_NAME = 'QUERY_CACHE_SIZE'";
        let expected = answer(&mut conn, "SELECT @@query_cache_size");
        if server.flavor == Flavor::MySql {
            run(&mut conn, &["USE performance_schema"]);
        } else {
            run(&mut conn, &["SET GLOBAL query_cache_limit = 4096", "SET query_cache_type = DEMAND"]);
            let values = "SELECT GLOBAL_VALUE, SESSION_VALUE FROM SYSTEM_VARIABLES WHERE VARIABLE_NAME = ";
            let row = |one: &str, other: &str| Ok(vec![vec![one.to_owned(), other.to_owned()]]);
            assert_eq!(answer(&mut conn, &format!("{values} 'QUERY_CACHE_LIMIT'")), row("4096", "NULL"));
            assert_eq!(answer(&mut conn, &format!("{values} 'QUERY_CACHE_TYPE'")), row("ON", "DEMAND"));
        }
        assert_eq!(answer(&mut conn, size), expected);
    });
}

/// As COM_STMT_EXECUTE has it, of one BIGINT: with its type, or by the earlier type.
fn execution(id: &[u8], value: i64, says_type: bool) -> Vec<u8> {
    let types: &[u8] = if says_type { &[1, 8, 0] } else { &[0] };
    [id, &[0, 1, 0, 0, 0, 0], types, &value.to_le_bytes()].concat()
}

#[test]
fn what_is_prepared_may_have_parameters() {
    with_two_rows("surface_prepared", |server, freshet, mut conn| {
        let computes = conn.prep("SELECT @@query_cache_limit + ?, @@query_cache_type").expect("prepared");
        assert_eq!(computes.num_params(), 1);
        let shows = conn.prep("SHOW VARIABLES WHERE Variable_name = ?").expect("prepared");
        let limits =
            conn.prep("SELECT COUNT(*) FROM t WHERE v < ? AND v < @@query_cache_limit").expect("prepared");
        let mut other = freshet.target().connect();
        for limit in [1_048_576_u64, 2048, 15] {
            run(&mut other, &[&format!("SET GLOBAL query_cache_limit = {limit}")]);
            let row: Option<(u64, String)> = conn.exec_first(&computes, (1,)).expect("executed");
            assert_eq!(row, Some((limit + 1, "ON".to_owned())));
            let count: Option<u64> = conn.exec_first(&limits, (100,)).expect("executed");
            assert_eq!(count, Some(if limit > 20 { 2 } else { 1 }));
            let row: Vec<(String, String)> = conn.exec(&shows, ("query_cache_limit",)).expect("executed");
            assert_eq!(row, [("query_cache_limit".to_owned(), limit.to_string())]);
        }
        run(&mut other, &["SET GLOBAL query_cache_limit = DEFAULT"]);

        // A client says the types once; what is prepared anew behind its back is told of them.
        freshet_tests::cached::user_of(&mut server.target.connect(), "surface_prepared");
        let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("a greeting");
        raw.login("surface_prepared", "surface_prepared", 0).expect("a login");
        let prepared = raw.ask(command::STMT_PREPARE, b"SELECT @@query_cache_limit + ?").expect("an answer");
        let id = prepared[0][1..5].to_vec();
        for (limit, value, says_type) in [(1_048_576_i64, 5, true), (4096, 6, false), (4096, 7, false)] {
            run(&mut other, &[&format!("SET GLOBAL query_cache_limit = {limit}")]);
            let answer =
                raw.ask(command::STMT_EXECUTE, &execution(&id, value, says_type)).expect("an answer");
            let row = answer.iter().rev().nth(1).expect("a row");
            assert_eq!(row[2..10], (limit + value).to_le_bytes(), "{limit} {value}: {answer:?}");
        }
        run(&mut other, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        run(&mut server.target.connect(), &["DROP USER surface_prepared"]);

        run(
            &mut conn,
            &[
                "SET NAMES utf8mb4", // As MySQL compares names.
                "SET @p = 1",
                "PREPARE c FROM 'SELECT @@query_cache_limit + ?'",
                // The value of a string is known from here on.
                "SELECT v, 'settings' FROM t WHERE id = 7",
                "SET @q = 'SELECT @@query_cache_type'",
                "PREPARE v FROM @q",
                "PREPARE s FROM 'SHOW STATUS WHERE Variable_name = ?'",
                "SET @n = 'Qcache_free_blocks'",
                "PREPARE h FROM 'SELECT SQL_CACHE v FROM t WHERE id = 1'",
                "SET @h = 'SELECT SQL_NO_CACHE v FROM t WHERE id = 2'",
                "PREPARE n FROM @h",
            ],
        );
        assert_eq!(answer(&mut conn, "EXECUTE c USING @p"), one("1048577"));
        assert_eq!(answer(&mut conn, "EXECUTE v"), one("ON"));
        let row = vec!["Qcache_free_blocks".to_owned(), "1".to_owned()];
        assert_eq!(answer(&mut conn, "EXECUTE s USING @n"), Ok(vec![row]));
        assert_eq!((answer(&mut conn, "EXECUTE h"), answer(&mut conn, "EXECUTE n")), (one("10"), one("20")));
    });
}

#[test]
fn whatever_flushes_tables_empties_the_cache() {
    with_two_rows("surface_flush", |server, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let flush = conn.prep("FLUSH TABLES").expect("prepared");
        let of_one = conn.prep("FLUSH TABLES t").expect("prepared");
        run(&mut conn, &["PREPARE f FROM 'FLUSH TABLES t'", "PREPARE o FROM 'FLUSH TABLES fresh_mark.mark'"]);
        for (statement, stays) in [
            ("SELECT 1; FLUSH TABLES", 0),
            ("FLUSH TABLES t; SELECT 1", 0),
            ("SELECT 1; FLUSH STATUS", 1),
            ("SELECT 1; FLUSH TABLES t WITH READ LOCK; UNLOCK TABLES", 1),
            ("EXECUTE f", 0),
            ("EXECUTE o", 1),
            ("COM_STMT_EXECUTE", 0),
            ("COM_STMT_EXECUTE t", 0),
            ("COM_REFRESH", 0),
        ] {
            let _ = counted.prime(&mut conn, READ);
            match statement {
                "COM_STMT_EXECUTE" => conn.exec_drop(&flush, ()).expect("executed"),
                "COM_STMT_EXECUTE t" => conn.exec_drop(&of_one, ()).expect("executed"),
                // MySQL has it no more.
                "COM_REFRESH" if server.flavor == Flavor::MySql => continue,
                "COM_REFRESH" => {
                    const TABLES: u8 = 4;
                    let mut raw =
                        Raw::dial(&freshet.target().host, freshet.target().port).expect("a greeting");
                    freshet_tests::cached::user_of(&mut server.target.connect(), "surface_flush");
                    run(&mut server.target.connect(), &["GRANT RELOAD ON *.* TO surface_flush"]);
                    raw.login("surface_flush", "surface_flush", 0).expect("a login");
                    assert_eq!(raw.ask(7, &[TABLES]).expect("an answer")[0][0], 0);
                    run(&mut server.target.connect(), &["DROP USER surface_flush"]);
                }
                statement => {
                    let _ = conn.query_iter(statement).expect("done").count();
                }
            }
            assert_eq!(counted.hits_of(&mut conn, READ, 1), stays, "after {statement}");
        }
        // Hints of each of several statements count, and are misused, by themselves.
        let several = "SELECT SQL_CACHE v FROM t WHERE id = 1; SELECT SQL_NO_CACHE v FROM t WHERE id = 2";
        assert_eq!(conn.query_iter(several).expect("answered").count(), 1, "the first result");
        // MariaDB carries out what stands before.
        if server.flavor == Flavor::MySql {
            assert_eq!(answer(&mut conn, "SELECT 1; SELECT SQL_CACHE SQL_NO_CACHE v FROM t"), Err(1221));
        }
    });
}

#[test]
fn entries_tell_how_often_they_were_hit_and_by_which_settings() {
    with_two_rows("surface_info", |_, freshet, mut conn| {
        run(&mut conn, &["RESET QUERY CACHE", "SET time_zone = '+03:00', group_concat_max_len = 513"]);
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        let told = "SELECT HITS, TIMEZONE, GROUP_CONCAT_MAX_LENGTH, `LIMIT`, CHARACTER_SET_CLIENT \
                    FROM information_schema.QUERY_CACHE_INFO WHERE STATEMENT_TEXT = 'SELECT v FROM t WHERE id = 1'";
        let before: u64 = answer(&mut conn, told).expect("listed")[0][0].parse().expect("a number");
        assert!(before >= 1);
        let of_all = hits(&mut conn);
        for _ in 0..20 {
            assert_eq!(answer(&mut conn, READ), one("10"));
        }
        // What is known of the rows found is no entry.
        run(&mut conn, &["SELECT SQL_CALC_FOUND_ROWS v FROM t LIMIT 1", "SELECT FOUND_ROWS()"]);
        let nameless = "SELECT COUNT(*) FROM information_schema.QUERY_CACHE_INFO WHERE STATEMENT_TEXT = ''";
        assert_eq!(answer(&mut conn, nameless), one("0"));
        let row = &answer(&mut conn, told).expect("listed")[0];
        assert_eq!(row[0], (before + hits(&mut conn) - of_all).to_string());
        assert_eq!(row[1..], ["+03:00", "513", "-1", "utf8mb4"]);
    });
}

/// Names that are not in ASCII are what they are in UTF-8, along foreign keys too.
#[test]
fn tables_with_names_beyond_ascii_are_cached_for() {
    with_two_rows("surface_ascii", |server, freshet, mut conn| {
        let mut direct = server.target.connect();
        run(&mut direct, &["DROP DATABASE IF EXISTS `surface_ї$`", "CREATE DATABASE `surface_ї$`"]);
        run(
            &mut direct,
            &[
                "CREATE TABLE `surface_ї$`.`прежде` (id INT PRIMARY KEY)",
                "CREATE TABLE `surface_ї$`.`t$ї` (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) \
                 REFERENCES `surface_ї$`.`прежде` (id) ON DELETE CASCADE)",
                "INSERT INTO `surface_ї$`.`прежде` VALUES (1), (2), (3)",
                "INSERT INTO `surface_ї$`.`t$ї` VALUES (1, 1), (2, 2), (3, 3)",
            ],
        );
        caught_up(freshet);
        let mut counted = Counted::of(freshet);
        let read = "SELECT COUNT(*) FROM `surface_ї$`.`t$ї`";
        for names in ["utf8mb4", "utf8mb3"] {
            run(&mut conn, &[&format!("SET NAMES {names}"), "USE `surface_ї$`"]);
            let rows = answer(&mut direct, read);
            assert_eq!(counted.prime(&mut conn, read), rows, "{names}");
            assert_eq!(counted.prime(&mut conn, "SELECT COUNT(*) FROM t$ї AS `є`"), rows, "{names}");
        }
        // Through us and around us, by the parent and by the table itself.
        run(&mut conn, &["DELETE FROM `прежде` WHERE id = 1"]);
        assert_eq!(answer(&mut conn, read), one("2"));
        // Which table it writes is not read, and so everything is in doubt until the stream has come past it.
        caught_up(freshet);
        assert_eq!(counted.prime(&mut conn, read), one("2"));
        run(&mut direct, &["DELETE FROM `surface_ї$`.`прежде` WHERE id = 2"]);
        freshet_tests::cached::eventually("the cascade is seen", || {
            (answer(&mut conn, read) == one("1")).then_some(())
        });
        assert_eq!(counted.prime(&mut conn, read), one("1"));
        run(&mut direct, &["INSERT INTO `surface_ї$`.`t$ї` VALUES (7, 3)"]);
        freshet_tests::cached::eventually("the row is seen", || {
            (answer(&mut conn, read) == one("2")).then_some(())
        });
        // In another character set the same bytes are another name.
        run(&mut conn, &["SET NAMES latin1"]);
        assert!(matches!(answer(&mut conn, read), Err(1049 | 1146)));
        run(&mut direct, &["DROP DATABASE `surface_ї$`"]);
    });
}

/// The first column of each result of a text of several statements, as far as they came, and the error that they ended with.
fn results(conn: &mut Conn, text: &str) -> (Vec<Vec<String>>, Option<(u16, String)>) {
    let told = |failed: mysql::Error| match failed {
        mysql::Error::MySqlError(failed) => (failed.code, failed.message),
        other => panic!("{text}: {other}"),
    };
    let mut found = Vec::new();
    let mut sets = match conn.query_iter(text) {
        Ok(sets) => sets,
        Err(first) => return (found, Some(told(first))),
    };
    while let Some(set) = sets.iter() {
        match set.map(|row| row.map(|row| row.get(0).expect("a text"))).collect() {
            Ok(rows) => found.push(rows),
            Err(next) => return (found, Some(told(next))),
        }
    }
    (found, None)
}

#[test]
fn ours_are_carried_out_among_several_statements() {
    with_two_rows("surface_several", |server, freshet, mut conn| {
        let of = |values: &[&str]| -> Vec<Vec<String>> {
            values
                .iter()
                .map(|value| if value.is_empty() { Vec::new() } else { vec![(*value).to_owned()] })
                .collect()
        };
        let text = "SET query_cache_type = OFF; SELECT @@query_cache_type; SET @@query_cache_type = DEMAND, @x = 'a;b'; \
                    SELECT @@query_cache_type; SELECT @x; SHOW VARIABLES LIKE 'query_cache_ty%'; /* ; */ SELECT 7;";
        let expected = of(&["", "OFF", "", "DEMAND", "a;b", "query_cache_type", "7"]);
        assert_eq!(results(&mut conn, text), (expected, None));
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one("DEMAND"));

        // It ends where one of ours fails, with its error, and what was before is done.
        let text =
            "SET query_cache_type = ON; SELECT 1; SET query_cache_type = 7; SET query_cache_type = OFF";
        let error = (1231, "Variable 'query_cache_type' can't be set to the value of '7'".to_owned());
        assert_eq!(results(&mut conn, text), (of(&["", "1"]), Some(error)));
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one("ON"));

        // What stands behind an error of the server's is not done.
        let text = "SET query_cache_type = DEMAND; SELECT nope FROM t; SET query_cache_type = OFF, GLOBAL query_cache_limit = 4096";
        let (came, error) = results(&mut conn, text);
        assert_eq!((came, error.map(|error| error.0)), (of(&[""]), Some(1054)));
        let both = "SELECT CONCAT(@@query_cache_type, @@query_cache_limit)";
        assert_eq!(answer(&mut conn, both), one("DEMAND1048576"));
        run(&mut conn, &["SET query_cache_type = ON"]);

        // Emptied, if it comes to that; and the server's own cache is never touched.
        let kept = "SELECT COUNT(*) FROM information_schema.QUERY_CACHE_INFO WHERE STATEMENT_TEXT = 'SELECT v FROM t WHERE id = 1'";
        for (text, stays) in [
            ("SELECT nope FROM t; RESET QUERY CACHE", true),
            ("SELECT 1; FLUSH QUERY CACHE", true),
            ("SELECT 1; RESET QUERY CACHE", false),
        ] {
            let _ = Counted::of(freshet).prime(&mut conn, READ);
            let _ = results(&mut conn, text);
            assert_eq!(answer(&mut conn, kept), one(if stays { "1" } else { "0" }), "{text}");
        }
        let _ = results(&mut conn, "SELECT 1; SET GLOBAL query_cache_type = ON");
        if server.flavor == Flavor::MariaDb {
            let own = answer(&mut server.target.connect(), "SELECT @@global.query_cache_type");
            assert_eq!(own, one("OFF"));
        }
        // A semicolon within a body ends nothing.
        let body = "CREATE PROCEDURE p() BEGIN SET @y = 'query_cache_type'; SELECT @y; END";
        run(&mut conn, &[body]);
        assert_eq!(answer(&mut conn, "CALL p()"), one("query_cache_type"));
    });
}

#[test]
fn a_value_may_be_read_from_a_table() {
    with_two_rows("surface_values", |_, _, mut conn| {
        for (set, shown) in [
            ("SET query_cache_type = (SELECT COUNT(*) FROM t)", "DEMAND"),
            ("SET query_cache_type = (SELECT IF(v = 10, 'OFF', 'ON') FROM t WHERE id = 1)", "OFF"),
            ("SET query_cache_type = (SELECT id FROM t WHERE id = 1)", "ON"),
        ] {
            run(&mut conn, &[set]);
            assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one(shown), "{set}");
        }
        run(&mut conn, &["SET GLOBAL query_cache_limit = (SELECT v * 1024 FROM t WHERE id = 2)"]);
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_limit"), one("20480"));
        run(&mut conn, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        for (value, code) in [
            ("(SELECT v FROM t WHERE id = 1)", 1231),
            ("(SELECT id FROM t)", 1242),
            ("(SELECT id, v FROM t WHERE id = 1)", 1241),
            ("(SELECT id FROM nope)", 1146),
            ("(SELECT nope FROM t)", 1054),
            ("(SELECT v / 3 FROM t WHERE id = 1)", 1232),
        ] {
            let set = format!("SET query_cache_type = {value}");
            assert_eq!(answer(&mut conn, &set), Err(code), "{set}");
        }
        // A snapshot is not opened behind the session's back.
        run(&mut conn, &["START TRANSACTION"]);
        assert_eq!(answer(&mut conn, "SET query_cache_type = (SELECT id FROM t WHERE id = 2)"), Err(1235));
        run(&mut conn, &["SET query_cache_type = 1 + 1", "COMMIT"]);
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one("DEMAND"));
    });
}

#[test]
fn the_table_of_entries_is_described() {
    with_two_rows("surface_described", |_, _, mut conn| {
        let all = answer(&mut conn, "DESCRIBE information_schema.QUERY_CACHE_INFO").expect("described");
        let selected = "SELECT * FROM information_schema.QUERY_CACHE_INFO LIMIT 0";
        let columns = conn.query_iter(selected).expect("selected").columns().as_ref().to_vec();
        let names: Vec<String> = columns.iter().map(|column| column.name_str().into_owned()).collect();
        assert_eq!(all.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), names);
        assert_eq!(all[0], ["STATEMENT_SCHEMA", "varchar(192)", "NO", "", "NULL", ""]);
        let row = |values: &[&str]| Ok(vec![values.iter().map(|value| (*value).to_owned()).collect()]);
        for (asked, expected) in [
            (
                "desc information_schema.query_cache_info hits",
                row(&["HITS", "bigint(11)", "NO", "", "NULL", ""]),
            ),
            (
                "SHOW COLUMNS IN `QUERY_CACHE_INFO` IN INFORMATION_SCHEMA LIKE 'stat%schema'",
                row(&["STATEMENT_SCHEMA", "varchar(192)", "NO", "", "NULL", ""]),
            ),
            (
                "SHOW FULL FIELDS FROM information_schema.query_cache_info LIKE 'sql%'",
                row(&["SQL_MODE", "varchar(250)", "utf8mb3_general_ci", "NO", "", "NULL", "", "select", ""]),
            ),
            ("EXPLAIN information_schema.query_cache_info nope", Ok(vec![])),
        ] {
            assert_eq!(answer(&mut conn, asked), expected, "{asked}");
        }
    });
}

/// As with the native query cache: whether or not something was written, and whatever `query_cache_wlock_invalidate` says.
#[test]
fn the_end_of_a_write_lock_drops_the_results_of_a_table_without_transactions() {
    with_two_rows("surface_unlock", |_, freshet, mut conn| {
        run(&mut conn, &["CREATE TABLE m (id INT) ENGINE=MyISAM", "INSERT INTO m VALUES (1)"]);
        let mut counted = Counted::of(freshet);
        let mut other = connect(freshet.target(), "surface_unlock");
        let of_other = "SELECT id FROM m WHERE id = 1";
        for (lock, stays) in
            [("LOCK TABLES m READ", 1), ("LOCK TABLES t WRITE", 1), ("LOCK TABLES m WRITE", 0)]
        {
            let _ = counted.prime(&mut other, of_other);
            run(&mut conn, &[lock]);
            assert_eq!(counted.hits_of(&mut other, of_other, 1), 1, "{lock}: others still read it");
            run(&mut conn, &["UNLOCK TABLES"]);
            assert_eq!(counted.hits_of(&mut other, of_other, 1), stays, "{lock}");
        }
    });
}

/// A client that logs in right after the stream has begun has current rights, so its results are shared with all clients.
#[test]
fn who_connects_at_the_very_start_shares_results() {
    with_two_rows("surface_start", |server, _, _| {
        for _ in 0..3 {
            let freshet = Freshet::with(server, &["--fill-wait", "20s"]);
            let mut first = connect(freshet.target(), "surface_start");
            let mut counted = Counted::of(&freshet);
            let _ = counted.prime(&mut first, READ);
            run(&mut first, &["USE fresh_mark", "USE surface_start"]);
            assert_eq!(counted.hits_of(&mut first, READ, 1), 1, "after a move and back");
            let mut second = connect(freshet.target(), "surface_start");
            assert_eq!(counted.hits_of(&mut second, READ, 1), 1, "from another session");
            freshet.stop();
        }
    });
}
