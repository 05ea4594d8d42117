//! What else users of a native query cache find where it was: SHOW WARNINGS after our own errors, our variables and tables by any of their
//! names, prepared statements with parameters, all that empties the cache, and what is told of each entry.

use freshet_tests::Flavor;
use freshet_tests::cached::{Answer, Counted, answer, caught_up, hits, run, with_two_rows};
use freshet_tests::raw::{Raw, command};
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

/// As COM_STMT_EXECUTE has it, of one BIGINT: with its type, or by the type of before.
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
