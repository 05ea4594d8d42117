//! The query cache's variables, hints, counters and commands, as the native query cache has them, on every server.

use freshet_tests::cached::{Answer, Counted, answer, connect, eventually, hits, run, status, with_two_rows};
use freshet_tests::{Flavor, Freshet, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const READ: &str = "SELECT v FROM t WHERE id = 1";

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

fn value(conn: &mut Conn, name: &str) -> String {
    let shown = answer(conn, &format!("SHOW VARIABLES LIKE '{name}'")).expect("it is shown");
    shown[0][1].clone()
}

/// How many of four readings hit, after what came before has settled.
fn hits_of(conn: &mut Conn, statement: &str) -> u64 {
    let _ = answer(conn, statement);
    let before = hits(conn);
    for _ in 0..4 {
        let _ = answer(conn, statement);
    }
    hits(conn) - before
}

#[test]
fn the_type_says_what_is_cached() {
    with_two_rows("vars_type", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        for (set, shown) in [
            ("SET query_cache_type = 0", "OFF"),
            ("SET SESSION query_cache_type = ON", "ON"),
            ("SET @@query_cache_type = 2", "DEMAND"),
            ("SET LOCAL query_cache_type = OFF", "OFF"),
            ("SET @@session.query_cache_type = 'DEMAND'", "DEMAND"),
            ("SET @@local.query_cache_type := 1", "ON"),
            ("set Query_Cache_Type = default", "ON"),
        ] {
            run(&mut conn, &[set]);
            assert_eq!(value(&mut conn, "query_cache_type"), shown, "{set}");
            assert_eq!(answer(&mut conn, "SELECT @@query_cache_type"), one(shown), "{set}");
            let hit = hits_of(&mut conn, READ);
            assert_eq!(hit > 0, shown == "ON", "{set}: {hit} hits");
        }
        run(&mut conn, &["SET query_cache_type = DEMAND"]);
        let _ = counted.prime(&mut conn, "SELECT SQL_CACHE v FROM t WHERE id = 2");
        run(&mut conn, &["SET query_cache_type = ON"]);
        assert_eq!(hits_of(&mut conn, "SELECT SQL_NO_CACHE v FROM t WHERE id = 2"), 0);
    });
}

#[test]
fn a_global_type_reaches_new_sessions_and_off_all() {
    with_two_rows("vars_global", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, READ);
        let mut earlier = connect(freshet.target(), "vars_global");
        let _ = counted.prime(&mut earlier, READ);
        run(&mut conn, &["SET GLOBAL query_cache_type = OFF"]);
        assert_eq!(hits_of(&mut conn, READ), 0);
        assert_eq!(
            counted.hits_of(&mut earlier, READ, 3),
            0,
            "a session that was already reading from memory"
        );
        let mut other = connect(freshet.target(), "vars_global");
        assert_eq!(value(&mut other, "query_cache_type"), "OFF");
        let refused = answer(&mut other, "SET SESSION query_cache_type = ON");
        assert!(matches!(refused, Err(1651 | 1925)), "{refused:?}");
        run(&mut conn, &["SET GLOBAL query_cache_type = DEMAND"]);
        let mut third = connect(freshet.target(), "vars_global");
        assert_eq!(value(&mut third, "query_cache_type"), "DEMAND");
        assert_eq!(hits_of(&mut third, READ), 0);
        let _ = counted.prime(&mut third, "SELECT SQL_CACHE v FROM t WHERE id = 1");
    });
}

#[test]
fn hints_are_understood_before_every_server() {
    with_two_rows("vars_hints", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        assert_eq!(counted.prime(&mut conn, "SELECT SQL_CACHE v FROM t WHERE id = 1"), one("10"));
        assert_eq!(answer(&mut conn, "SELECT SQL_NO_CACHE v FROM t WHERE id = 2"), one("20"));
        assert_eq!(answer(&mut conn, "SELECT SQL_CACHE SQL_NO_CACHE v FROM t"), Err(1221));
        assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = (SELECT SQL_CACHE 1)"), Err(1234));
        assert_eq!(answer(&mut conn, "SELECT 'SQL_CACHE' FROM t WHERE id = 1"), one("SQL_CACHE"));
        let prepared = conn.prep("SELECT SQL_CACHE v FROM t WHERE id = ?").expect("it is prepared");
        let got: Option<i32> = conn.exec_first(&prepared, (2,)).expect("it is executed");
        assert_eq!(got, Some(20));
    });
}

/// Of statements that are no SELECTs too, and of texts that are prepared. (MySQL knows SQL_CACHE no more.)
#[test]
fn hints_are_understood_in_every_statement() {
    with_two_rows("vars_hints_elsewhere", |server, freshet, mut conn| {
        run(
            &mut conn,
            &[
                "CREATE TABLE u AS SELECT SQL_NO_CACHE * FROM t",
                "INSERT INTO u SELECT SQL_CACHE id + 10, v FROM t",
                "CREATE VIEW w AS SELECT SQL_CACHE v FROM t",
                "PREPARE s FROM 'SELECT SQL_CACHE v FROM t WHERE id = 1'",
                "PREPARE s2 FROM 'SELECT \\'SQL_CACHE\\' FROM t WHERE id = 1'",
            ],
        );
        assert_eq!(answer(&mut conn, "SELECT COUNT(*) FROM u"), one("4"));
        assert_eq!(answer(&mut conn, "EXECUTE s"), one("10"));
        assert_eq!(answer(&mut conn, "EXECUTE s2"), one("SQL_CACHE"));
        assert_eq!(answer(&mut conn, "INSERT INTO u SELECT SQL_CACHE SQL_NO_CACHE * FROM t"), Err(1221));
        assert_eq!(answer(&mut conn, "SELECT /*!40001 SQL_NO_CACHE */ v FROM t WHERE id = 2"), one("20"));
        assert_eq!(hits_of(&mut conn, "SELECT /*!40001 SQL_NO_CACHE */ v FROM t WHERE id = 2"), 0);
        let mut counted = Counted::of(freshet);
        assert_eq!(counted.prime(&mut conn, "SELECT /*!40001 SQL_CACHE */ v FROM t WHERE id = 2"), one("20"));
        // As MySQL's own dump has it.
        if server.flavor == Flavor::MySql {
            assert_eq!(answer(&mut conn, "SHOW WARNINGS"), Ok(vec![]));
        }
    });
}

/// What is read right after a write is stored at once where the reader waits, and counted for as long as it may be served.
#[test]
fn a_reader_that_waits_fills_the_cache_right_after_a_write() {
    with_two_rows("vars_fill_wait", |_, _, mut conn| {
        run(&mut conn, &["SET fill_wait = 20000", "RESET QUERY CACHE"]);
        assert_eq!(value(&mut conn, "fill_wait"), "20000");
        for v in 1..=10 {
            run(&mut conn, &[&format!("UPDATE t SET v = {v} WHERE id = 1")]);
            assert_eq!(status(&mut conn, "Qcache_queries_in_cache"), 0, "its result is gone with the write");
            let before = hits(&mut conn);
            for _ in 0..3 {
                assert_eq!(answer(&mut conn, READ), one(&v.to_string()));
            }
            assert_eq!(hits(&mut conn) - before, 2, "{v}");
            assert_eq!(status(&mut conn, "Qcache_queries_in_cache"), 1);
        }
        // A definition is waited for as well.
        run(&mut conn, &["ALTER TABLE t ADD w INT"]);
        let before = hits(&mut conn);
        for _ in 0..3 {
            assert_eq!(answer(&mut conn, READ), one("10"));
        }
        assert_eq!(hits(&mut conn) - before, 2);
    });
}

#[test]
fn default_is_what_the_program_was_started_with() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let off = Freshet::with(server, &["--query-cache-type", "off"]);
        let mut conn = off.target().connect();
        run(&mut conn, &["SET GLOBAL query_cache_type = DEMAND", "SET GLOBAL query_cache_type = DEFAULT"]);
        assert_eq!(answer(&mut conn, "SELECT @@global.query_cache_type"), one("OFF"));
        off.stop();
    });
}

#[test]
fn the_size_is_kept_in_steps_and_can_be_zero() {
    with_two_rows("vars_size", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        for (set, kept, warned) in [
            ("SET GLOBAL query_cache_size = 1048576", "1048576", false),
            ("SET GLOBAL query_cache_size = 1048577", "1048576", true),
            ("SET GLOBAL query_cache_size = 8*1024*1024", "8388608", false),
            ("SET @@global.query_cache_size = 99999999999999", "10485760000", true),
            ("SET GLOBAL query_cache_size = 0", "0", false),
            ("SET GLOBAL query_cache_size = -1", "0", true),
            ("SET GLOBAL query_cache_size = 16777216", "16777216", false),
        ] {
            let outcome = answer(&mut conn, set);
            assert_eq!(outcome, Ok(vec![]), "{set}");
            let warnings = answer(&mut conn, "SHOW WARNINGS").expect("they are shown");
            assert_eq!(warnings.first().map(|warning| warning[1] == "1292"), warned.then_some(true), "{set}");
            assert_eq!(value(&mut conn, "query_cache_size"), kept, "{set}");
            assert_eq!(answer(&mut conn, "SELECT @@query_cache_size"), one(kept), "{set}");
            assert_eq!(answer(&mut conn, "SELECT @@global.query_cache_size"), one(kept), "{set}");
        }
        let _ = counted.prime(&mut conn, READ);
        run(&mut conn, &["SET GLOBAL query_cache_size = 0"]);
        assert_eq!(status(&mut conn, "Qcache_queries_in_cache"), 0);
        assert_eq!(hits_of(&mut conn, READ), 0);
        run(&mut conn, &["SET GLOBAL query_cache_size = 16777216"]);
        let _ = counted.prime(&mut conn, READ);
    });
}

#[test]
fn a_limit_keeps_large_results_out() {
    with_two_rows("vars_limit", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let large = "SELECT REPEAT('x', 5000) FROM t WHERE id = 1";
        let _ = counted.prime(&mut conn, large);
        run(&mut conn, &["SET GLOBAL query_cache_limit = 4096", "RESET QUERY CACHE"]);
        assert_eq!(value(&mut conn, "query_cache_limit"), "4096");
        let _ = counted.prime(&mut conn, READ);
        assert_eq!(hits_of(&mut conn, large), 0);
        run(&mut conn, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        assert_eq!(value(&mut conn, "query_cache_limit"), "1048576");
        let _ = counted.prime(&mut conn, large);
    });
}

#[test]
fn bad_values_have_the_native_codes() {
    with_two_rows("vars_bad", |_, _, mut conn| {
        for (set, code) in [
            ("SET query_cache_type = 3", 1231),
            ("SET query_cache_type = 'maybe'", 1231),
            ("SET GLOBAL query_cache_type = -1", 1231),
            ("SET query_cache_type = NULL", 1231),
            ("SET SESSION query_cache_size = 1048576", 1229),
            ("SET query_cache_size = 1048576", 1229),
            ("SET GLOBAL query_cache_size = 'big'", 1232),
            ("SET GLOBAL query_cache_size = 1.5", 1232),
            ("SET SESSION query_cache_limit = 1", 1229),
            ("SET GLOBAL query_cache_limit = 'x'", 1232),
            ("SET query_cache_wlock_invalidate = 7", 1231),
            ("SET query_cache_strip_comments = 'x'", 1231),
            ("SET GLOBAL have_query_cache = 1", 1238),
            ("SET have_query_cache = 1", 1238),
            ("SET GLOBAL query_cache_min_res_unit = 'x'", 1232),
            ("SET query_cache_min_res_unit = 8", 1229),
            ("SET GLOBAL query_cache_limit = 1.5", 1232),
            ("SET GLOBAL query_cache_wlock_invalidate = 'x'", 1231),
            ("SET GLOBAL query_cache_strip_comments = 2", 1231),
            ("SET fill_wait = 'long'", 1232),
            ("SET query_cache_nonsense = 1", 1193),
            ("SELECT @@query_cache_nonsense", 1193),
            ("SELECT @@session.query_cache_size", 1238),
        ] {
            assert_eq!(answer(&mut conn, set), Err(code), "{set}");
        }
        // Nothing of a SET is done when a part of it is bad.
        let sort = answer(&mut conn, "SELECT @@sort_buffer_size");
        let _ = answer(&mut conn, "SET sort_buffer_size = 524288, query_cache_type = 'maybe'");
        assert_eq!(answer(&mut conn, "SELECT @@sort_buffer_size"), sort);
        let shown = value(&mut conn, "query_cache_type");
        assert!(answer(&mut conn, "SET query_cache_type = OFF, no_such_variable = 1").is_err());
        assert_eq!(value(&mut conn, "query_cache_type"), shown);
    });
}

#[test]
fn a_set_may_mix_our_variables_with_the_servers() {
    with_two_rows("vars_mixed", |_, _, mut conn| {
        run(
            &mut conn,
            &["SET sort_buffer_size = 524288, query_cache_type = DEMAND, @x = 'a, query_cache_type = 1'"],
        );
        assert_eq!(value(&mut conn, "query_cache_type"), "DEMAND");
        assert_eq!(
            answer(&mut conn, "SELECT @@sort_buffer_size, @x"),
            Ok(vec![vec!["524288".to_owned(), "a, query_cache_type = 1".to_owned(),]])
        );
        run(&mut conn, &["SET @@session.query_cache_type = 1, GLOBAL query_cache_limit = 2097152"]);
        assert_eq!(value(&mut conn, "query_cache_type"), "ON");
        assert_eq!(value(&mut conn, "query_cache_limit"), "2097152");
    });
}

#[test]
fn variables_and_status_are_shown_as_the_server_shows_its_own() {
    with_two_rows("vars_shown", |_, _, mut conn| {
        for show in [
            "SHOW VARIABLES LIKE 'query_cache%'",
            "SHOW GLOBAL VARIABLES LIKE 'query_cache%'",
            "SHOW SESSION VARIABLES LIKE 'QUERY_CACHE%'",
            "SHOW VARIABLES WHERE Variable_name LIKE 'query_cache%'",
        ] {
            let shown = answer(&mut conn, show).expect("they are shown");
            let names: Vec<&str> = shown.iter().map(|row| row[0].as_str()).collect();
            assert!(names.is_sorted(), "{names:?}");
            for name in ["limit", "min_res_unit", "size", "strip_comments", "type", "wlock_invalidate"] {
                assert!(names.contains(&format!("query_cache_{name}").as_str()), "{show}: {names:?}");
            }
        }
        assert_eq!(
            answer(&mut conn, "SHOW VARIABLES LIKE 'have_query_cache'"),
            Ok(vec![vec!["have_query_cache".to_owned(), "YES".to_owned(),]])
        );
        for show in ["SHOW STATUS LIKE 'Qcache%'", "SHOW GLOBAL STATUS LIKE 'qcache%'"] {
            let shown = answer(&mut conn, show).expect("they are shown");
            let names: Vec<&str> = shown.iter().map(|row| row[0].as_str()).collect();
            let native = [
                "Qcache_free_blocks",
                "Qcache_free_memory",
                "Qcache_hits",
                "Qcache_inserts",
                "Qcache_lowmem_prunes",
                "Qcache_not_cached",
                "Qcache_queries_in_cache",
                "Qcache_total_blocks",
            ];
            assert_eq!(names, native, "{show}");
        }
        // The server's own are still its own.
        let both = answer(&mut conn, "SHOW VARIABLES LIKE 'max_connections'").expect("it is shown");
        assert_eq!(both.len(), 1);
        let typed: Option<(u64, String)> =
            conn.query_first("SELECT @@query_cache_size, @@query_cache_type AS kind").expect("selected");
        assert_eq!(typed.map(|row| row.1).as_deref(), Some("ON"));
    });
}

#[test]
fn counters_count() {
    with_two_rows("vars_counters", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let inserts = status(&mut conn, "Qcache_inserts");
        let not_cached = status(&mut conn, "Qcache_not_cached");
        let _ = counted.prime(&mut conn, READ);
        assert!(status(&mut conn, "Qcache_inserts") > inserts);
        assert!(status(&mut conn, "Qcache_queries_in_cache") >= 1);
        let _ = answer(&mut conn, "SELECT RAND()");
        let _ = answer(&mut conn, "SELECT SQL_NO_CACHE v FROM t");
        assert!(status(&mut conn, "Qcache_not_cached") >= not_cached + 2);
        run(&mut conn, &["FLUSH QUERY CACHE"]);
        assert!(status(&mut conn, "Qcache_queries_in_cache") >= 1, "FLUSH only tidies up");
        assert!(status(&mut conn, "Qcache_hits") >= 1);
        run(&mut conn, &["FLUSH STATUS"]);
        for name in ["Qcache_hits", "Qcache_inserts", "Qcache_not_cached", "Qcache_lowmem_prunes"] {
            assert_eq!(status(&mut conn, name), 0, "{name}");
        }
        run(&mut conn, &["RESET QUERY CACHE"]);
        assert_eq!(status(&mut conn, "Qcache_queries_in_cache"), 0);
        let _ = counted.prime(&mut conn, READ);
        assert!(status(&mut conn, "Qcache_free_memory") > 0);
    });
}

#[test]
fn privileges_are_asked_for() {
    with_two_rows("vars_rights", |server, freshet, mut conn| {
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &[
                "DROP USER IF EXISTS vars_plain",
                "CREATE USER vars_plain IDENTIFIED BY 'pw'",
                "GRANT SELECT ON vars_rights.* TO vars_plain",
            ],
        );
        let plain = Target { user: "vars_plain".into(), password: "pw".into(), ..freshet.target().clone() };
        let mut plain = connect(&plain, "vars_rights");
        for statement in [
            "FLUSH QUERY CACHE",
            "RESET QUERY CACHE",
            "SET GLOBAL query_cache_size = 0",
            "SET GLOBAL query_cache_type = OFF",
            "SET @@global.query_cache_limit = 0",
        ] {
            assert_eq!(answer(&mut plain, statement), Err(1227), "{statement}");
        }
        run(&mut plain, &["SET SESSION query_cache_type = OFF", "SET query_cache_type = DEFAULT"]);
        assert_eq!(value(&mut conn, "query_cache_type"), "ON");
        run(&mut direct, &["GRANT RELOAD ON *.* TO vars_plain"]);
        eventually("RELOAD is enough", || answer(&mut plain, "FLUSH QUERY CACHE").ok());
        run(&mut direct, &["DROP USER vars_plain"]);
    });
}

#[test]
fn after_a_hit_the_session_is_as_after_the_query() {
    with_two_rows("vars_after", |server, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let mut direct = connect(&server.target, "vars_after");
        for read in [
            "SELECT v FROM t",
            "SELECT v FROM t WHERE id = 1",
            "SELECT v FROM t WHERE id = 3",
            "SELECT SQL_CALC_FOUND_ROWS v FROM t LIMIT 1",
            "SELECT v FROM t LIMIT 1",
        ] {
            for asked in
                ["SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "SHOW WARNINGS", "SHOW COUNT(*) WARNINGS"]
            {
                // MySQL warns of this form at each time, and what warns is not cached.
                if server.flavor == Flavor::MariaDb || !read.contains("SQL_CALC_FOUND_ROWS") {
                    let _ = counted.prime(&mut conn, read);
                }
                // Something else before, which must not shine through.
                let noise =
                    "UPDATE t SET v = v WHERE id < 0; SELECT 1 UNION SELECT 2 UNION SELECT 3; SELECT 1/0";
                let (_, _) = (answer(&mut conn, noise), answer(&mut direct, noise));
                let (got, wanted) = (answer(&mut conn, read), answer(&mut direct, read));
                assert_eq!(got, wanted, "{read}");
                assert_eq!(answer(&mut conn, asked), answer(&mut direct, asked), "{asked} after {read}");
            }
        }
        run(&mut conn, &["INSERT INTO t VALUES (5, LAST_INSERT_ID(77))"]);
        let _ = counted.prime(&mut conn, READ);
        assert_eq!(answer(&mut conn, "SELECT LAST_INSERT_ID()"), one("77"));
    });
}

#[test]
fn comments_can_be_left_out_of_the_key() {
    with_two_rows("vars_comments", |_, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let _ = counted.prime(&mut conn, "SELECT v FROM t /* one */ WHERE id = 1");
        run(&mut conn, &["SET query_cache_strip_comments = ON"]);
        assert_eq!(value(&mut conn, "query_cache_strip_comments"), "ON");
        let _ = counted.prime(&mut conn, "SELECT v FROM t /* two */ WHERE id = 1");
        let before = counted.hits();
        let _ = answer(&mut conn, "SELECT v FROM t /* three */ WHERE id = 1");
        assert!(counted.hits() > before);
    });
}

#[test]
fn a_comment_that_means_something_is_never_left_out_of_the_key() {
    const ALL: &str = "SELECT v FROM t";
    with_two_rows("vars_meaning", |server, freshet, mut conn| {
        let mut counted = Counted::of(freshet);
        let mut direct = connect(&server.target, "vars_meaning");
        run(&mut conn, &["SET query_cache_strip_comments = ON"]);
        let _ = counted.prime(&mut conn, ALL);
        for text in [
            "SELECT /*+ SET_VAR(sql_select_limit=1) */ v FROM t",
            "SELECT /*! 1, */ v FROM t",
            "SELECT /*!50000 1, */ v FROM t",
            "SELECT /*M! 1, */ v FROM t",
            "SELECT /*M!100000 1, */ v FROM t",
            "SELECT /*!99999 1, */ v FROM t",
            "SELECT v FROM t /*! LIMIT 1 */",
            "SELECT v FROM t -- LIMIT 1",
            "SELECT v FROM t --LIMIT 1",
            "SELECT v FROM t # LIMIT 1",
            "SELECT v FROM t WHERE '/* x */' <> '/* y */'",
            "SELECT v FROM t WHERE '/* x */' <> '/* x */'",
            "SELECT v FROM t WHERE \"-- \" = '# '",
            "SELECT '-- ', v FROM t",
            "SELECT '# ', v FROM t",
        ] {
            let wanted = answer(&mut direct, text);
            for time in 0..3 {
                assert_eq!(answer(&mut conn, text), wanted, "{text} (time {time})");
            }
        }
        assert_eq!(answer(&mut conn, ALL), answer(&mut direct, ALL));
    });
}

fn rows(conn: &mut Conn, statement: &str) -> Vec<Vec<String>> {
    answer(conn, statement).unwrap_or_else(|code| panic!("{statement}: {code}"))
}

#[test]
fn a_value_may_be_any_expression() {
    with_two_rows("vars_expressions", |_, _, mut conn| {
        run(&mut conn, &["SET @mb = 4, @kind = 'demand', @nothing = NULL"]);
        for (set, shown) in [
            ("SET GLOBAL query_cache_size = 2 * 1024 * 1024", "2097152"),
            ("SET GLOBAL query_cache_size = @mb * 1024 * 1024", "4194304"),
            ("SET GLOBAL query_cache_size = @@query_cache_size * 2", "8388608"),
            ("SET @@global.query_cache_size := @@global.query_cache_size + 1024", "8389632"),
        ] {
            run(&mut conn, &[set]);
            assert_eq!(value(&mut conn, "query_cache_size"), shown, "{set}");
        }
        for (set, shown) in [
            ("SET query_cache_type = @kind", "DEMAND"),
            ("SET query_cache_type = CONCAT('O', 'N')", "ON"),
            ("SET query_cache_type = 3 - 1", "DEMAND"),
            ("SET query_cache_type = @@global.query_cache_type", "ON"),
            ("SET @old = @@query_cache_type, query_cache_type = 0", "OFF"),
            ("SET query_cache_type = @old", "ON"),
        ] {
            run(&mut conn, &[set]);
            assert_eq!(value(&mut conn, "query_cache_type"), shown, "{set}");
        }
        for (set, code) in [
            ("SET query_cache_type = @nothing", 1231),
            ("SET query_cache_type = CONCAT('x', 'y')", 1231),
            ("SET GLOBAL query_cache_size = CONCAT('x', 'y')", 1232),
            ("SET GLOBAL query_cache_size = 1.5 * 2", 1232),
            ("SET query_cache_type = 1.1", 1232),
            ("SET query_cache_type = no_such_column", 1231),
            ("SET query_cache_type = 1 +", 1064),
        ] {
            assert_eq!(answer(&mut conn, set), Err(code), "{set}");
        }
    });
}

#[test]
fn an_expression_may_have_our_variables() {
    with_two_rows("vars_computed", |_, freshet, mut conn| {
        run(&mut conn, &["SET GLOBAL query_cache_size = 16777216"]);
        for (select, value) in [
            ("SELECT @@query_cache_size / 1024 DIV 1024 AS mb", "16"),
            ("SELECT @@global.query_cache_size DIV 1048576", "16"),
            ("SELECT IF(@@query_cache_type = 'ON', 'yes', 'no')", "yes"),
            ("SELECT CONCAT(@@freshness, '/', @@have_query_cache)", "strict/YES"),
            ("SELECT v FROM t WHERE id = @@query_cache_wlock_invalidate + 1", "10"),
            ("SELECT COUNT(*) FROM t WHERE v < @@query_cache_limit", "2"),
        ] {
            assert_eq!(answer(&mut conn, select), one(value), "{select}");
        }
        let named = |conn: &mut Conn, select: &str| {
            let result = conn.query_iter(select).expect("it is answered");
            let columns = result.columns();
            columns.as_ref().iter().map(|column| column.name_str().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            named(
                &mut conn,
                "SELECT @@query_cache_size / 2, @@query_cache_size div 4 AS q, 1 + @@query_cache_type"
            ),
            ["@@query_cache_size / 2", "q", "1 + @@query_cache_type"]
        );
        assert_eq!(answer(&mut conn, "SELECT @@query_cache_nonsense + 1"), Err(1193));
        assert_eq!(answer(&mut conn, "SELECT @@session.query_cache_size + 1"), Err(1238));
        // The server finds a column that there is not before it comes to the variable.
        assert_eq!(answer(&mut conn, "SELECT query_cache_size = @@session.query_cache_size"), Err(1054));
        // What it reads besides is as new as ever, and comes from memory.
        let mut counted = Counted::of(freshet);
        let read = "SELECT v FROM t WHERE id = 2 AND v < @@query_cache_limit";
        assert_eq!(counted.prime(&mut conn, read), one("20"));
        run(&mut conn, &["UPDATE t SET v = 21 WHERE id = 2"]);
        assert_eq!(answer(&mut conn, read), one("21"));
    });
}

/// Whether a variable or status value is Freshet's.
fn is_ours(name: &str) -> bool {
    const HEADS: [&str; 8] = [
        "query_cache",
        "have_query_cache",
        "qcache",
        "freshet",
        "fill_wait",
        "freshness",
        "max_staleness",
        "transaction_snapshot",
    ];
    HEADS.iter().any(|head| name.to_ascii_lowercase().starts_with(head))
}

#[test]
fn what_lists_variables_and_status_lists_ours() {
    with_two_rows("vars_listed", |server, _, mut conn| {
        let mut direct = connect(&server.target, "vars_listed");
        run(&mut conn, &["SET GLOBAL query_cache_size = 16777216", "SET query_cache_type = DEMAND"]);
        for show in [
            "SHOW VARIABLES",
            "SHOW GLOBAL VARIABLES",
            "SHOW SESSION STATUS",
            "SHOW /*!50002 GLOBAL */ STATUS",
            "SHOW VARIABLES LIKE '%cache%'",
            "SHOW STATUS LIKE 'Q%'",
            "SHOW VARIABLES LIKE 'max\\_connections'",
            "SHOW VARIABLES WHERE Variable_name LIKE 'q%' OR Value = '16777216'",
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Qcache_hits', 'Uptime', 'Freshet_live')",
            "SHOW VARIABLES WHERE Variable_name = 'sql_mode' OR Variable_name = 'freshness'",
        ] {
            let (got, theirs) = (rows(&mut conn, show), rows(&mut direct, show));
            let names = |rows: &[Vec<String>], wanted: bool| {
                rows.iter()
                    .map(|row| row[0].clone())
                    .filter(|name| is_ours(name) == wanted)
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(&got, false), names(&theirs, false), "{show}");
            let own = names(&got, true);
            assert!(own.is_sorted(), "{show}: {own:?}");
            for row in &got {
                match row[0].as_str() {
                    "query_cache_size" => assert_eq!(row[1], "16777216", "{show}"),
                    "query_cache_type" => {
                        assert_eq!(row[1], if show.contains("GLOBAL") { "ON" } else { "DEMAND" }, "{show}");
                    }
                    _ => {}
                }
            }
            let some = !show.contains("max");
            assert_eq!(!own.is_empty(), some, "{show}");
        }
        assert_eq!(
            answer(&mut conn, "SHOW VARIABLES WHERE no_such_column = 1"),
            answer(&mut direct, "SHOW VARIABLES WHERE no_such_column = 1")
        );
    });
}

#[test]
fn tables_of_variables_and_status_have_ours() {
    with_two_rows("vars_tables", |server, _, mut conn| {
        run(&mut conn, &["SET GLOBAL query_cache_size = 16777216", "SET query_cache_type = DEMAND"]);
        let schema = match server.flavor {
            Flavor::MariaDb => "information_schema",
            Flavor::MySql => "performance_schema",
        };
        for (select, expected) in [
            (
                "SELECT VARIABLE_VALUE FROM S.global_variables WHERE VARIABLE_NAME = 'query_cache_size'",
                vec!["16777216"],
            ),
            (
                "SELECT VARIABLE_VALUE FROM S.session_variables WHERE variable_name LIKE 'query_cache_type'",
                vec!["DEMAND"],
            ),
            (
                "SELECT v.VARIABLE_VALUE FROM S.global_variables AS v WHERE v.VARIABLE_NAME = 'freshness'",
                vec!["strict"],
            ),
            (
                "SELECT COUNT(*) FROM S.global_status WHERE VARIABLE_NAME IN ('Qcache_hits', 'Uptime', 'Freshet_live')",
                vec!["3"],
            ),
            (
                "SELECT COUNT(*) FROM S.global_status a JOIN S.session_status b USING (VARIABLE_NAME) WHERE VARIABLE_NAME = 'Qcache_hits'",
                vec!["1"],
            ),
        ] {
            let select = select.replace("S.", &format!("{schema}."));
            assert_eq!(rows(&mut conn, &select).concat(), expected, "{select}");
        }
        for table in ["global_variables", "session_variables", "global_status", "session_status"] {
            let listed = rows(&mut conn, &format!("SELECT * FROM {schema}.{table}"));
            let found = |name: &str| {
                listed.iter().filter(|row| row[0].eq_ignore_ascii_case(name)).collect::<Vec<_>>()
            };
            let ours = if table.ends_with("status") { "Freshet_live" } else { "query_cache_size" };
            assert_eq!(found(ours).len(), 1, "{table}");
            let free: Vec<_> = found("Qcache_free_memory").iter().map(|row| row[1] != "0").collect();
            assert_eq!(free, if table.ends_with("status") { vec![true] } else { vec![] }, "{table}");
        }
    });
}
