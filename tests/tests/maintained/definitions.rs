//! Definitions that keep rows: copies and caches are kept too, and every answer is the server's.

use super::*;

const PAY: &str = "SELECT id, SUM(pay) FROM s WHERE until > '2000-01-01' GROUP BY id";

/// How often copies were begun, by what is logged of them.
fn loads(reader: &mut Conn) -> u64 {
    status(reader, "Freshet_maintained_loads")
}

/// Prepares both queries, and waits until both are answered from copies.
fn begin(freshet: &Freshet, direct: &mut Conn, schema: &str) -> Conn {
    let mut reader = connect(freshet.target(), schema);
    for query in [SLOW, PAY] {
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)));
        run(&mut reader, &["UPDATE s SET pay = pay + 1 WHERE id = 2"]);
        is_kept(&mut reader, direct, query, "at the beginning");
    }
    reader
}

/// Definitions that change nothing of what is read, and a write after each whose images have other columns than before.
const KEEPING: [(&str, &str); 21] = [
    ("ALTER TABLE s ADD INDEX other_days (since, until)", ""),
    ("CREATE INDEX names ON e (name(5))", ""),
    ("ALTER TABLE s ADD COLUMN last_one INT", "UPDATE s SET last_one = 7, pay = pay + 1 WHERE id = 3"),
    (
        "ALTER TABLE s ADD COLUMN a_first VARCHAR(9) DEFAULT 'x' FIRST",
        "UPDATE s SET pay = pay + 1 WHERE id = 1",
    ),
    (
        "ALTER TABLE s ADD COLUMN mid DATE NULL AFTER since",
        "INSERT INTO s (id, since, pay, until, mid) VALUES (3, '1980-01-01', 555, '1981-01-01', '1979-05-05')",
    ),
    (
        "ALTER TABLE e ADD COLUMN (p INT, q INT NOT NULL DEFAULT 4), ALGORITHM = COPY",
        "UPDATE e SET name = 'by', p = 3 WHERE id = 2",
    ),
    (
        "ALTER TABLE e ADD COLUMN r INT FIRST, ADD COLUMN t INT AFTER id",
        "UPDATE e SET name = 'again', r = 9, t = 10 WHERE id = 2",
    ),
    ("ALTER TABLE s DROP COLUMN mid", "UPDATE s SET pay = pay + 3 WHERE id = 3"),
    // As many columns as before, and all of them elsewhere.
    (
        "ALTER TABLE s DROP COLUMN a_first, ADD COLUMN newest INT DEFAULT 12",
        "UPDATE s SET pay = pay + 3, newest = 1 WHERE id > 1",
    ),
    ("ALTER TABLE s MODIFY COLUMN newest BIGINT FIRST", "UPDATE s SET pay = pay - 1 WHERE id > 1"),
    (
        "ALTER TABLE s CHANGE last_one the_last INT NULL COMMENT 'renamed' AFTER id",
        "DELETE FROM s WHERE since < '1985-01-01'",
    ),
    ("ALTER TABLE s ALTER COLUMN the_last SET DEFAULT 5", "UPDATE s SET pay = pay - 1 WHERE id > 1"),
    (
        "ALTER TABLE s RENAME COLUMN the_last TO the_end",
        "INSERT INTO s (id, since, pay, until) VALUES (3, '1981-01-01', 555, '1982-01-01')",
    ),
    ("ALTER TABLE s COMMENT = 'after AFTER, first'", "UPDATE s SET pay = pay - 1 WHERE id > 1"),
    ("ALTER TABLE e AUTO_INCREMENT = 1000, ALGORITHM = INPLACE", ""),
    (
        "ALTER TABLE s DROP INDEX other_days, ADD INDEX more_days (until)",
        "UPDATE s SET pay = pay + 1 WHERE id = 2",
    ),
    ("DROP INDEX names ON e", "UPDATE e SET name = 'no index' WHERE id = 1"),
    ("ANALYZE TABLE s, e", "UPDATE e SET name = 'analysed' WHERE id = 1"),
    ("OPTIMIZE TABLE s", "UPDATE s SET pay = pay + 1 WHERE id = 2"),
    ("ALTER TABLE s ENGINE = InnoDB", "UPDATE s SET pay = pay + 1 WHERE id = 2"),
    ("ALTER TABLE s FORCE", "UPDATE s SET pay = pay + 1 WHERE id = 2"),
];

#[test]
fn definitions_that_change_nothing_of_what_is_read_load_nothing_anew() {
    let schema = "maintained_definitions";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = begin(freshet, direct, schema);
        let before = loads(&mut reader);
        assert_eq!(before, 2, "one for each table");
        for (round, (definition, write)) in KEEPING.into_iter().enumerate() {
            // Through Freshet and around it.
            let mut writer = connect(if round % 2 == 0 { freshet.target() } else { &server.target }, schema);
            let _: Vec<Row> =
                writer.query(definition).unwrap_or_else(|error| panic!("{definition}: {error}"));
            if !write.is_empty() {
                run(&mut writer, &[write]);
            }
            caught_up(freshet);
            let when = format!("{:?} after {definition}", server.flavor);
            is_kept(&mut reader, direct, SLOW, &when);
            is_kept(&mut reader, direct, PAY, &when);
            assert_eq!(loads(&mut reader), before, "{when}");
        }
        let caches = answer(&mut reader, "SHOW CACHES").expect("they are listed");
        assert!(caches.iter().all(|cache| cache[3].starts_with("deep")), "{caches:?}");
    });
}

#[test]
fn the_first_read_after_such_a_definition_comes_from_memory() {
    let schema = "maintained_definitions_hits";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = begin(freshet, direct, schema);
        for definition in [
            "ALTER TABLE s ADD INDEX other_days (until)",
            "ALTER TABLE s ADD COLUMN a INT FIRST, ADD COLUMN b INT",
            "ALTER TABLE s MODIFY COLUMN a INT DEFAULT 1 AFTER since",
            "ALTER TABLE e COMMENT = 'x'",
        ] {
            run(&mut reader, &[definition]);
            let made = status(&mut reader, "Freshet_maintained");
            // No answer of the server's is needed for the columns that are shown.
            let found = from_memory_at_once(&mut reader, |reader| sorted(answer(reader, SLOW)));
            let caches = answer(&mut reader, "SHOW CACHES");
            assert!(found.is_some(), "{:?} after {definition}: {caches:?}", server.flavor);
            assert_eq!(status(&mut reader, "Freshet_maintained"), made + 1, "{definition}");
            assert_eq!(found, Some(sorted(answer(direct, SLOW))), "{:?} after {definition}", server.flavor);
            assert_eq!(columns(&mut reader, SLOW), columns(direct, SLOW), "{definition}");
        }
        // An index of a column that is shown changes what is told of it to clients: that is the server's to say.
        run(&mut reader, &["ALTER TABLE s ADD INDEX pays (pay)"]);
        for _ in 0..3 {
            assert_eq!(columns(&mut reader, SLOW), columns(direct, SLOW), "{:?}", server.flavor);
            assert_eq!(sorted(answer(&mut reader, SLOW)), sorted(answer(direct, SLOW)));
        }
        is_kept(&mut reader, direct, SLOW, "with the server's columns");
        assert_eq!(loads(&mut reader), 2);
    });
}

#[test]
fn definitions_that_change_what_is_read_are_never_shown_wrong() {
    let schema = "maintained_definitions_changed";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = begin(freshet, direct, schema);
        let changes: [&[&str]; 7] = [
            &["ALTER TABLE s MODIFY pay BIGINT", "UPDATE s SET pay = pay * 100000000 WHERE id = 3"],
            &["ALTER TABLE s ADD COLUMN paid BIGINT AFTER id, DROP COLUMN pay, RENAME COLUMN paid TO pay"],
            &[
                "ALTER TABLE s DROP COLUMN pay, ADD COLUMN pay BIGINT FIRST",
                "UPDATE s SET pay = id * 5 + DAY(since)",
            ],
            &["ALTER TABLE s MODIFY since DATE FIRST", "UPDATE s SET pay = pay + 1 WHERE id = 2"],
            &[
                "ALTER TABLE s DROP FOREIGN KEY s_ibfk_1, DROP PRIMARY KEY, ADD COLUMN n INT AUTO_INCREMENT PRIMARY KEY FIRST",
                "UPDATE s SET pay = pay + 1 WHERE id = 2",
            ],
            &["RENAME TABLE e TO f", "CREATE TABLE e LIKE f", "INSERT INTO e SELECT * FROM f WHERE id > 1"],
            &["DROP TABLE e", "ALTER TABLE f RENAME e", "UPDATE e SET name = 'back'"],
        ];
        run(direct, &["SET foreign_key_checks = 0"]);
        for change in changes {
            let mut writer = connect(freshet.target(), schema);
            run(&mut writer, &["SET foreign_key_checks = 0"]);
            let refused = change.iter().any(|statement| answer(&mut writer, statement).is_err());
            let when = format!("{:?} after {change:?}, refused: {refused}", server.flavor);
            is_kept_again(&mut reader, direct, SLOW, &when);
            is_kept_again(&mut reader, direct, PAY, &when);
            run(&mut writer, &["UPDATE s SET pay = pay + 2 WHERE id > 1"]);
            assert_eq!(sorted(answer(&mut reader, SLOW)), sorted(answer(direct, SLOW)), "{when}");
            assert_eq!(sorted(answer(&mut reader, PAY)), sorted(answer(direct, PAY)), "{when}");
        }
    });
}

#[test]
fn rows_that_change_while_definitions_come_and_go_are_read_by_the_right_one() {
    let schema = "maintained_definitions_storm";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = begin(freshet, direct, schema);
        let target = server.target.clone();
        let writer = std::thread::spawn(move || {
            let mut writer = target.try_connect(schema).expect("a session on the server itself");
            for round in 0..400 {
                let (id, pay) = (round % 3 + 1, 40 + round % 90);
                run(
                    &mut writer,
                    &[&format!("UPDATE s SET pay = {pay} WHERE id = {id} AND since < '2020-06-01'")],
                );
            }
        });
        let other = ["x1 INT FIRST", "x2 INT AFTER id", "x3 INT"];
        let mut round = 0;
        while !writer.is_finished() {
            for column in other {
                run(direct, &[&format!("ALTER TABLE s ADD COLUMN {column}")]);
            }
            run(direct, &["ALTER TABLE s DROP COLUMN x1, DROP COLUMN x3, ADD COLUMN x4 INT AFTER since"]);
            run(direct, &["ALTER TABLE s DROP COLUMN x2, DROP COLUMN x4"]);
            for query in [SLOW, PAY] {
                let _ = answer(&mut reader, query).expect("it is answered");
            }
            round += 1;
        }
        writer.join().expect("the writer has written");
        caught_up(freshet);
        for query in [SLOW, PAY] {
            is_kept(&mut reader, direct, query, &format!("{:?} after {round} rounds", server.flavor));
        }
        assert_eq!(loads(&mut reader), 2, "{round} rounds");
    });
}

#[test]
fn a_cache_is_maintained_after_a_restart_before_anybody_asks() {
    let schema = "maintained_restart";
    let directory = std::env::temp_dir().join(format!("freshet-maintained-restart-{}", std::process::id()));
    let flags = ["--state-dir", directory.to_str().unwrap()];
    let query = "SELECT g, COUNT(*) FROM t GROUP BY g";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let _ = std::fs::remove_dir_all(&directory);
        let mut direct = fresh_schema(server, schema);
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, g INT)", "INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)"],
        );
        let first = Freshet::with(server, &flags);
        caught_up(&first);
        let mut admin = connect(first.target(), schema);
        let refreshed = "SELECT g FROM t WHERE g + 1 = 3";
        run(&mut admin, &[&format!("CREATE CACHE FROM {query}"), &format!("CREATE CACHE FROM {refreshed}")]);
        drop(admin);
        first.stop();
        let second = Freshet::with(server, &flags);
        caught_up(&second);
        let mut reader = connect(second.target(), schema);
        let properties = eventually("it is known how they are kept", || {
            let mut caches: Vec<String> =
                answer(&mut reader, "SHOW CACHES").ok()?.into_iter().map(|row| row[3].clone()).collect();
            caches.sort();
            caches.iter().any(|cache| cache.starts_with("deep")).then_some(caches)
        });
        assert_eq!(properties, ["deep, maintained", "shallow, refreshed"], "{:?}", server.flavor);
        // Whether the client may read, and what the columns are, the server says once.
        eventually("it is answered once", || {
            answer(&mut reader, query).expect("it is answered");
            is_from_memory(&mut reader).then_some(())
        });
        // Until its table is loaded, that is as of any stored answer.
        eventually("its table is loaded", || {
            run(&mut direct, &["UPDATE t SET g = 3 - g WHERE id = 3"]);
            caught_up(&second);
            from_memory(&mut reader, |reader| answer(reader, query))
        })
        .expect("it is answered");
        for write in ["UPDATE t SET g = 2 WHERE id = 1", "DELETE FROM t WHERE id = 2"] {
            run(&mut direct, &[write]);
            caught_up(&second);
            is_kept(&mut reader, &mut direct, query, &format!("{:?} after {write}", server.flavor));
        }
    });
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn a_column_that_is_not_copied_costs_the_queries_that_name_it_and_no_others() {
    const FINE: &str = "SELECT id, SUM(v) FROM g WHERE v >= 0 GROUP BY id";
    const UNFIT: [(&str, &str); 2] = [
        ("SELECT id, v FROM g WHERE twice = 4", "twice is a generated column"),
        ("SELECT id, at FROM g", "at has"),
    ];
    let schema = "maintained_unfit";
    let tables = [
        "SET SESSION sql_mode = ''",
        "CREATE TABLE g (id INT PRIMARY KEY, v INT, at DATE, twice INT GENERATED ALWAYS AS (2 * v) VIRTUAL)",
        "INSERT INTO g (id, v, at) VALUES (1, 1, '2020-01-01'), (2, 2, '0000-00-00')",
    ];
    with_stages(schema, &tables, |_, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for query in [FINE, UNFIT[0].0, UNFIT[1].0] {
            run(&mut reader, &[&format!("CREATE CACHE FROM {query}")]);
        }
        for (query, why) in UNFIT {
            eventually(why, || {
                assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)));
                run(&mut reader, &["RESET QUERY CACHE"]);
                let caches = answer(&mut reader, "SHOW CACHES").expect("they are listed");
                caches.iter().any(|cache| cache.iter().any(|told| told.contains(why))).then_some(())
            });
        }
        eventually("it is kept", || {
            run(&mut reader, &["RESET QUERY CACHE"]);
            from_memory_at_once(&mut reader, |reader| answer(reader, FINE)).map(drop)
        });
        let before = loads(&mut reader);
        for round in 0..3 {
            run(&mut reader, &[&format!("UPDATE g SET v = {round} WHERE id = 1")]);
            for (query, _) in UNFIT {
                assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)));
            }
            is_kept(&mut reader, direct, FINE, "beside those that are not");
        }
        assert_eq!(loads(&mut reader), before, "nothing is loaded anew for those that are not");
    });
}
