//! Caches whose results are kept up to date row by row: every answer comes from memory, and is the server's.

// The queries: their shapes, their values, and the statements that ask them.
mod shapes;
mod subqueries;
mod unions;
mod types;
mod texts;
mod arithmetic;
mod executions;

// The caches: how they are created, and how they outlive definitions.
mod automatic;
mod hints;
mod definitions;

use std::time::Duration;

use freshet_tests::cached::{
    Answer, answer, caught_up, connect, eventually, fresh_schema, run, staged, status,
};
use freshet_tests::{Freshet, Server, with_each};
use mysql::prelude::Queryable as _;
use mysql::{Column, Conn, Row};

/// The query of an article on slow queries, in small.
const SLOW: &str = "SELECT e.id, e.name, a.pay AS first_pay, b.pay AS last_pay FROM e JOIN s AS a ON e.id = a.id \
                    JOIN s AS b ON e.id = b.id WHERE a.until <= b.since AND a.pay > b.pay AND b.until = '9999-01-01'";

fn with_stages(schema: &str, tables: &[&str], test: impl Fn(&Server, &mut Conn, &Freshet)) {
    with_options(schema, tables, &["--maintained-cache-size", "64M"], test);
}

/// The same where what is maintained is compared with the server all the time.
fn with_checks(schema: &str, tables: &[&str], test: impl Fn(&Server, &mut Conn, &Freshet)) {
    with_options(schema, tables, &["--maintained-check-interval", "50ms"], test);
}

fn with_options(
    schema: &str,
    tables: &[&str],
    options: &[&str],
    test: impl Fn(&Server, &mut Conn, &Freshet),
) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let (mut direct, freshet) = staged(server, schema, tables, options);
        test(server, &mut direct, &freshet);
    });
}

const EMPLOYEES: [&str; 4] = [
    "CREATE TABLE e (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    "CREATE TABLE s (id INT, since DATE, pay INT, until DATE, PRIMARY KEY (id, since), \
     FOREIGN KEY (id) REFERENCES e (id) ON DELETE CASCADE)",
    "INSERT INTO e VALUES (1, 'anna'), (2, 'bob'), (3, 'cé')",
    "INSERT INTO s VALUES (1, '2020-01-01', 100, '2021-01-01'), (1, '2021-01-01', 90, '9999-01-01'), \
     (2, '2020-01-01', 10, '9999-01-01'), (3, '2019-01-01', 50, '2020-01-01'), (3, '2020-01-01', 40, '9999-01-01')",
];

fn is_from_memory(reader: &mut Conn) -> bool {
    answer(reader, "EXPLAIN LAST STATEMENT").is_ok_and(|rows| rows[0][0] == "readyset")
}

fn sorted(answer: Answer) -> Answer {
    answer.map(|mut rows| {
        rows.sort();
        rows
    })
}

/// What is said of the columns; nothing if there are no rows.
fn columns(conn: &mut Conn, query: &str) -> Option<Vec<String>> {
    let rows: Vec<Row> = conn.query(query).expect("it is answered");
    let said = |column: &Column| {
        let (name, kind, flags) = (column.name_str(), column.column_type(), column.flags());
        format!("{name} {kind:?} {flags:?} {} {}", column.column_length(), column.decimals())
    };
    Some(rows.first()?.columns_ref().iter().map(said).collect())
}

/// What is answered from memory while nothing is stored; `None` if it is not. A machine that is busy with others may be too slow for the time that
/// clients wait without `fill_wait`.
fn from_memory_at_once<T>(reader: &mut Conn, ask: impl FnOnce(&mut Conn) -> T) -> Option<T> {
    run(reader, &["SET fill_wait = 20000"]);
    let found = ask(reader);
    let is_there = is_from_memory(reader);
    run(reader, &["SET fill_wait = DEFAULT"]);
    is_there.then_some(found)
}

/// The same, where the server may have to be asked once, for what it says of the columns.
fn from_memory<T>(reader: &mut Conn, mut ask: impl FnMut(&mut Conn) -> T) -> Option<T> {
    from_memory_at_once(reader, &mut ask).or_else(|| {
        run(reader, &["RESET QUERY CACHE"]);
        from_memory_at_once(reader, ask)
    })
}

/// The answer is the server's, and comes from memory.
fn is_kept(reader: &mut Conn, direct: &mut Conn, query: &str, when: &str) {
    let found = from_memory(reader, |reader| sorted(answer(reader, query)));
    is_the_servers(found, (reader, direct), query, when);
}

/// What was found in memory is the server's answer.
fn is_the_servers(found: Option<Answer>, (reader, direct): (&mut Conn, &mut Conn), query: &str, when: &str) {
    assert!(found.is_some(), "{query}: {when}: {:?}", answer(reader, "SHOW CACHES"));
    assert_eq!(found, Some(sorted(answer(direct, query))), "{when}: {query}");
    assert_eq!(columns(reader, query), columns(direct, query), "{when}: {query}");
}

/// Every query is kept after every write.
fn all_are_kept(
    (reader, direct, freshet): (&mut Conn, &mut Conn, &Freshet),
    when: &str,
    (queries, writes): (&[&str], &[&str]),
) {
    for query in queries {
        run(reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
        assert_eq!(sorted(answer(reader, query)), sorted(answer(direct, query)), "{when}: {query}");
    }
    for write in writes {
        run(direct, &[write]);
        caught_up(freshet);
        for query in queries {
            is_kept(reader, direct, query, &format!("{when} after {write}"));
            if query.contains("ORDER BY") {
                assert_eq!(
                    answer(reader, query),
                    answer(direct, query),
                    "{when} after {write}, in this order: {query}"
                );
            }
        }
    }
}

/// Until it is kept again, the answer is the server's all the same.
fn is_kept_again(reader: &mut Conn, direct: &mut Conn, query: &str, when: &str) {
    eventually(when, || {
        let found = sorted(answer(reader, query));
        assert_eq!(found, sorted(answer(direct, query)), "{when}: {query}");
        assert_eq!(columns(reader, query), columns(direct, query), "{when}: {query}");
        // A cache that is refreshed would be there by now as well: it has to be one that is made from copies.
        let caches = answer(reader, "SHOW CACHES").unwrap_or_default();
        (is_from_memory(reader) || caches.iter().all(|cache| cache[3].starts_with("deep"))).then_some(())
    });
}

#[test]
fn a_slow_join_is_answered_from_memory_after_every_change_of_its_rows() {
    let schema = "maintained_join";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {SLOW}")]);
        // The first is the server's: it says whether the client may ask, and what the columns are.
        assert_eq!(answer(&mut reader, SLOW), answer(direct, SLOW));
        let writes = [
            "UPDATE s SET pay = 95 WHERE id = 1 AND until = '9999-01-01'",
            "INSERT INTO s VALUES (2, '2018-01-01', 77, '2019-01-01')",
            "UPDATE e SET name = 'äö' WHERE id = 2",
            "UPDATE s SET since = '2017-01-01', pay = pay + 1 WHERE id = 2 AND since = '2018-01-01'",
            "DELETE FROM s WHERE id = 3 AND since = '2019-01-01'",
            "REPLACE INTO s VALUES (3, '2019-01-01', 500, '2019-06-01')",
            "UPDATE s SET until = '2025-01-01' WHERE id = 1 AND until = '9999-01-01'",
            "INSERT INTO s SELECT id, since + INTERVAL 1 DAY, pay - 1, '9999-01-01' FROM s WHERE id = 1",
            "UPDATE s JOIN e ON e.id = s.id SET s.pay = s.pay * 2, e.name = 'x' WHERE s.id > 1",
            "DELETE FROM s WHERE pay > 150",
        ];
        for write in writes {
            run(&mut reader, &[write]);
            is_kept(&mut reader, direct, SLOW, &format!("{:?} after {write}", server.flavor));
        }
        // Around us, and in transactions that come to an end or do not.
        run(direct, &["INSERT INTO s VALUES (1, '1999-01-01', 999, '1999-02-01')"]);
        caught_up(freshet);
        is_kept(&mut reader, direct, SLOW, "after a write around");
        run(&mut reader, &["BEGIN", "DELETE FROM s WHERE id = 1", "ROLLBACK"]);
        is_kept(&mut reader, direct, SLOW, "after a rollback");
        run(&mut reader, &["BEGIN", "UPDATE s SET pay = 7 WHERE id = 1", "SAVEPOINT a", "DELETE FROM s"]);
        run(
            &mut reader,
            &["ROLLBACK TO a", "INSERT INTO s VALUES (3, '1990-01-01', 9999, '1991-01-01')", "COMMIT"],
        );
        is_kept(&mut reader, direct, SLOW, "after a transaction");
    });
}

#[test]
fn columns_are_called_as_the_text_says() {
    let schema = "maintained_names";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(
            &mut reader,
            &["CREATE DEEP CACHE FROM SELECT id, COUNT(*), SUM(pay) FROM s WHERE id > 0 GROUP BY id"],
        );
        let texts = [
            "SELECT id, COUNT(*), SUM(pay) FROM s WHERE id > 0 GROUP BY id",
            "SELECT id, count( * ), sum(pay) FROM s WHERE id > 0 GROUP BY id",
            "SELECT id, COUNT(*), SUM(  pay) FROM s WHERE id > 1 GROUP BY id",
        ];
        for _ in 0..2 {
            for text in texts {
                run(&mut reader, &["UPDATE s SET pay = pay + 1 WHERE id = 2"]);
                assert_eq!(columns(&mut reader, text), columns(direct, text), "{:?}", server.flavor);
            }
        }
    });
}

#[test]
fn transactions_are_given_what_is_theirs() {
    let schema = "maintained_transactions";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {SLOW}")]);
        assert_eq!(answer(&mut reader, SLOW), answer(direct, SLOW));
        for (round, begins) in
            ["SET autocommit = 0", "BEGIN", "START TRANSACTION READ ONLY"].into_iter().enumerate()
        {
            run(direct, &[&format!("UPDATE s SET pay = pay + {} WHERE since < '2020-06-01'", round + 1)]);
            caught_up(freshet);
            // If other tests change accounts at that moment, the server is asked, and has the transaction from then on.
            let found = (0..3).find_map(|_| {
                run(&mut reader, &["COMMIT", "RESET QUERY CACHE", begins]);
                from_memory_at_once(&mut reader, |reader| sorted(answer(reader, SLOW)))
            });
            let when = format!("{:?} within {begins}", server.flavor);
            is_the_servers(found, (&mut reader, direct), SLOW, &when);
            run(&mut reader, &["COMMIT", "SET autocommit = 1"]);
            is_kept(&mut reader, direct, SLOW, &format!("{:?} after {begins}", server.flavor));
        }
        // Its own writes are the server's to show.
        run(
            &mut reader,
            &["BEGIN", "UPDATE s SET pay = pay + 1000 WHERE id = 2", "DELETE FROM s WHERE id = 1"],
        );
        let found = sorted(answer(&mut reader, SLOW));
        assert!(!is_from_memory(&mut reader), "{found:?}");
        assert_ne!(found, sorted(answer(direct, SLOW)));
        run(&mut reader, &["ROLLBACK"]);
        is_kept(&mut reader, direct, SLOW, "after a rollback");
    });
}

#[test]
fn other_values_of_a_query_are_made_from_copies_and_not_by_the_server() {
    let schema = "maintained_values";
    with_stages(schema, &EMPLOYEES, |_, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let of = |day: &str| {
            format!("SELECT id, pay FROM s WHERE until = '{day}' AND pay > 20 ORDER BY pay DESC, id")
        };
        run(&mut reader, &[&format!("CREATE CACHE FROM {}", of("2020-01-01"))]);
        assert_eq!(answer(&mut reader, &of("2020-01-01")), answer(direct, &of("2020-01-01")));
        for day in ["9999-01-01", "2021-01-01", "1970-01-01"] {
            let found = from_memory(&mut reader, |reader| answer(reader, &of(day)));
            assert_eq!(found, Some(answer(direct, &of(day))), "{day}, in this order");
        }
        // What is no date is the server's to judge.
        let odd = of("2020-13-45");
        assert_eq!(answer(&mut reader, &odd), answer(direct, &odd));
    });
}

#[test]
fn the_first_rows_in_an_order_are_kept_where_the_order_tells_which_they_are() {
    let schema = "maintained_limit";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let most = "SELECT id, COUNT(*) n, SUM(pay) FROM s GROUP BY id ORDER BY n DESC, id LIMIT 2";
        let page = "SELECT pay, since FROM s WHERE id > 0 ORDER BY pay DESC, since LIMIT 1, 2";
        let tie = "SELECT id, COUNT(*) n FROM s GROUP BY id ORDER BY n DESC LIMIT 1";
        for query in [most, page, tie] {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            let _ = answer(&mut reader, query);
        }
        let writes = [
            "INSERT INTO s VALUES (2, '2018-01-01', 77, '2019-01-01'), (2, '2017-01-01', 77, '2018-01-01')",
            "UPDATE s SET pay = 200 WHERE id = 3",
            "DELETE FROM s WHERE id = 1",
            "DELETE FROM s",
            "INSERT INTO s VALUES (3, '2018-01-01', 77, '2019-01-01')",
        ];
        for write in writes {
            run(&mut reader, &[write]);
            for query in [most, page] {
                let when = format!("{:?} after {write}", server.flavor);
                is_kept(&mut reader, direct, query, &when);
                assert_eq!(answer(&mut reader, query), answer(direct, query), "in this order");
            }
        }
        // Another page, and more than there is.
        let all = page.replace("1, 2", "0, 100");
        is_kept(&mut reader, direct, &all, "another page");
        // Two with as many rows: the server says which is the first.
        run(&mut reader, &["INSERT INTO s VALUES (1, '2018-01-01', 1, '2019-01-01')"]);
        let found = answer(&mut reader, tie);
        assert!(!is_from_memory(&mut reader), "{found:?}");
        let notes = answer(&mut reader, "SHOW CACHES").expect("it is listed");
        assert!(notes.iter().any(|cache| cache[7].contains("rows tie")), "{notes:?}");
    });
}

#[test]
fn every_type_that_is_kept_is_shown_as_the_server_shows_it() {
    let schema = "maintained_types";
    let table = "CREATE TABLE t (id BIGINT, at DATETIME(3), i1 TINYINT, i2 SMALLINT, i3 MEDIUMINT, i4 INT, i8 BIGINT, u1 TINYINT UNSIGNED, \
                 u2 SMALLINT UNSIGNED, u3 MEDIUMINT UNSIGNED, u4 INT UNSIGNED, d DATE, t0 DATETIME, t6 DATETIME(6), v VARCHAR(10000), c CHAR(9), \
                 PRIMARY KEY (at, id)) CHARACTER SET utf8mb4";
    let low = "(-9223372036854775808, '0001-01-01 00:00:00.001', -128, -32768, -8388608, -2147483648, -9223372036854775808, 0, 0, 0, 0, \
               '0001-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.000001', '', '')";
    let high = "(9223372036854775807, '9999-12-31 23:59:59.999', 127, 32767, 8388607, 2147483647, 9223372036854775807, 255, 65535, 16777215, \
                4294967295, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', REPEAT('🦀é', 900), 'ab  ')";
    let odd = "(0, '2024-02-29 12:00:00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";
    let other = "(1, '2024-02-29 12:00:00', -1, -1, -1, -1, -1, 128, 32768, 8388608, 2147483648, '2024-01-31', '2024-02-29 00:00:01', \
                 '2024-02-29 00:00:00.1', ' x ', ' y ')";
    with_stages(schema, &[table], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let all = "SELECT * FROM t WHERE id <> 5";
        let groups = "SELECT d, COUNT(*), COUNT(v), SUM(i8), SUM(u4), MIN(t6), MAX(at), MIN(i1), MAX(u4), AVG(i1), AVG(i8), AVG(u4) FROM t GROUP BY d ORDER BY d DESC";
        let distinct = "SELECT DISTINCT i1, d FROM t ORDER BY d, i1";
        let of_all =
            "SELECT COUNT(*) n, SUM(i4), AVG(i4), AVG(i2) a, MAX(d) FROM t WHERE u4 > 5 OR d IS NULL";
        let queries = [all, groups, distinct, of_all];
        run(direct, &["SET sql_mode = ''"]);
        run(direct, &[&format!("INSERT INTO t VALUES {low}, {high}")]);
        caught_up(freshet);
        for query in queries {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            let found = answer(&mut reader, query);
            assert_eq!(sorted(found), sorted(answer(direct, query)), "{query}");
        }
        let writes = [
            format!("INSERT INTO t VALUES {odd}, {other}"),
            "UPDATE t SET v = CONCAT(v, 'ß'), c = 'z' WHERE id > 0".to_owned(),
            "UPDATE t SET i8 = NULL, u4 = 4294967294, d = '2024-02-29' WHERE id = 1".to_owned(),
            "UPDATE t SET v = REPEAT('a', 9000) WHERE id = 0".to_owned(),
            "DELETE FROM t WHERE id < 0".to_owned(),
            "DELETE FROM t".to_owned(),
            format!("INSERT INTO t VALUES {low}, {high}, {odd}"),
        ];
        for write in &writes {
            run(direct, &[write]);
            caught_up(freshet);
            for query in queries {
                is_kept(&mut reader, direct, query, &format!("{:?} after {write}", server.flavor));
            }
        }
        // In order where there is one.
        for query in [groups, distinct] {
            assert_eq!(answer(&mut reader, query), answer(direct, query));
        }
        // Texts that are converted for the client are the server's.
        run(&mut reader, &["SET NAMES latin1"]);
        let mut latin = server.target.try_connect(schema).expect("a session on the server itself");
        run(&mut latin, &["SET NAMES latin1"]);
        for _ in 0..3 {
            assert_eq!(sorted(answer(&mut reader, all)), sorted(answer(&mut latin, all)));
            run(direct, &["UPDATE t SET i1 = i1 + 1 WHERE id = 0"]);
            caught_up(freshet);
        }
    });
}

#[test]
fn money_is_kept_to_the_last_digit() {
    let schema = "maintained_decimal";
    let tables = [
        "CREATE TABLE t (id INT, k DECIMAL(12, 3), g INT, m DECIMAL(10, 2), n DECIMAL(19, 4) UNSIGNED, o DECIMAL(9, 0), \
         p DECIMAL(38, 10), q DECIMAL(20, 18), r DECIMAL(27, 27), PRIMARY KEY (k, id), KEY (m))",
        "CREATE TABLE u (id INT PRIMARY KEY, m DECIMAL(15, 2), o INT)",
        "INSERT INTO t VALUES (1, 0.001, 1, 1.10, 1.0001, 5, 0.0000000001, 0.000000000000000001, 0.5), \
         (2, -0.001, 1, 1.10, 922337203685477.5808, -5, 9999999999999999999999999999.9999999999, -1.5, -0.25), \
         (3, 99.5, 1, -2.25, 0, -4, -9999999999999999999999999999.9999999999, 99, 0.000000000000000000000000001), \
         (4, 100, 2, -0.01, 999999999999999.9999, 0, NULL, NULL, NULL), (5, 7, 2, 0, NULL, 1, 0, 0, 0), \
         (6, 8, NULL, NULL, 3, NULL, 1, 1, 0)",
        "INSERT INTO u VALUES (1, 1.1, 5), (2, -2.25, -4), (3, 0, NULL), (4, 99999999.99, 0)",
    ];
    let queries = [
        "SELECT * FROM t WHERE id <> 50",
        "SELECT g, SUM(m), AVG(m), MIN(m), MAX(m), COUNT(m), SUM(n), AVG(n), SUM(o), AVG(o), MIN(p), MAX(p), SUM(q), AVG(q), \
         SUM(r) FROM t GROUP BY g ORDER BY g",
        "SELECT SUM(m), AVG(m), SUM(r), AVG(q) a FROM t WHERE m < 1.1000001",
        "SELECT m, COUNT(*), AVG(n) FROM t GROUP BY m ORDER BY m DESC",
        "SELECT g, SUM(m) s FROM t GROUP BY g ORDER BY s DESC, g",
        "SELECT DISTINCT m FROM t ORDER BY m",
        "SELECT id FROM t WHERE m = 1.1",
        "SELECT id FROM t WHERE m <> 1.105",
        "SELECT id, m FROM t WHERE m > -2.2500001",
        "SELECT id FROM t WHERE 1.0999 >= m",
        "SELECT id FROM t WHERE m BETWEEN -0.011 AND 1.1",
        "SELECT id FROM t WHERE m IN (1.100, 0, 7.770)",
        "SELECT id FROM t WHERE m NOT IN (1.100, 7.77)",
        "SELECT id FROM t WHERE NOT m <=> 1.1000",
        "SELECT id FROM t WHERE p >= 0.00000000010",
        "SELECT id FROM t WHERE p < -9999999999999999999999999999.9999999998",
        "SELECT id FROM t WHERE o < 0.5",
        "SELECT id FROM t WHERE g = 1.0 OR g > 1.5",
        "SELECT id FROM t WHERE m < 99999999999999999999999999999999999999",
        "SELECT t.id, u.id, u.m FROM t JOIN u ON u.m = t.m",
        "SELECT u.id, SUM(t.m), AVG(t.n) FROM t JOIN u ON u.o = t.o WHERE t.m <= u.m GROUP BY u.id ORDER BY u.id",
    ];
    let writes = [
        "UPDATE t SET m = m + 0.01 WHERE id < 3",
        "UPDATE t SET k = k * -1, m = -m, q = -q, r = -r",
        "INSERT INTO t VALUES (7, 0.5, 1, 99999999.99, 0.0001, 999999999, 1, 0, 0), (8, 0.5, 1, -99999999.99, 1, -999999999, 2, 1.1, 0)",
        "UPDATE t SET m = NULL WHERE id = 3",
        "UPDATE u SET m = -0.00, o = 1 WHERE id = 3",
        "UPDATE t SET g = 2, o = 0, n = 0.00009 WHERE id > 4",
        "DELETE FROM t WHERE m < 0",
        "INSERT INTO t SELECT id + 10, k + 1, g, m / 3, n / 7, o, p / 3, q / 3, r / 3 FROM t",
        "UPDATE t SET m = 1.1, p = 0.0000000001",
        "DELETE FROM t WHERE g = 2",
        "DELETE FROM t",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        run(direct, &["SET sql_mode = ''"]);
        let mut reader = connect(freshet.target(), schema);
        // MariaDB looks for 1.11 in the index.
        let rounded = "SELECT id, m FROM t WHERE m = 1.105";
        for query in queries {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            assert_eq!(sorted(answer(&mut reader, query)), sorted(answer(direct, query)), "{query}");
        }
        for write in writes {
            run(direct, &[write]);
            caught_up(freshet);
            let when = format!("{:?} after {write}", server.flavor);
            assert_eq!(sorted(answer(&mut reader, rounded)), sorted(answer(direct, rounded)), "{when}");
            for query in queries {
                is_kept(&mut reader, direct, query, &when);
                if query.contains("ORDER BY") {
                    assert_eq!(answer(&mut reader, query), answer(direct, query), "in this order: {query}");
                }
            }
        }
    });
}

#[test]
fn averages_have_the_digits_of_the_session() {
    let schema = "maintained_average";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, g INT, i INT, m DECIMAL(10, 2))",
        "CREATE TABLE f (id INT PRIMARY KEY, g INT, five DECIMAL(12, 5))",
        "INSERT INTO t VALUES (1, 1, 1, 0.01), (2, 1, 1, 0.01), (3, 1, 0, 0), (4, 2, -2, -0.02), (5, 2, 0, 0), (6, 2, 0, 0)",
        "INSERT INTO f VALUES (1, 1, 0.66666), (2, 1, 0.66666), (3, 1, 0.66668), (4, 2, -0.00002), (5, 2, 0), (6, 2, 0)",
    ];
    let query = "SELECT g, AVG(i), AVG(m) FROM t GROUP BY g ORDER BY g";
    let five = "SELECT g, AVG(five) FROM f GROUP BY g ORDER BY g";
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        for query in [query, five] {
            run(&mut reader, &[&format!("CREATE CACHE FROM {query}")]);
        }
        // Where the digits fill words of nine, the servers cut a quotient off, and we leave it to them.
        for (digits, is_cut) in
            [(4, false), (0, true), (1, false), (7, true), (8, false), (9, true), (30, true)]
        {
            let setting = format!("SET div_precision_increment = {digits}");
            run(&mut reader, &[&setting]);
            run(direct, &[&setting]);
            let _ = answer(&mut reader, query);
            for value in [5, -7] {
                let of_t = format!("UPDATE t SET i = {value}, m = m + 0.01 WHERE id IN (2, 5)");
                run(direct, &[&of_t, "UPDATE f SET five = five + 0.00001 WHERE id IN (2, 5)"]);
                caught_up(freshet);
                let when = format!("{:?} with {digits} digits", server.flavor);
                if !is_cut {
                    is_kept(&mut reader, direct, query, &when);
                }
                assert_eq!(answer(&mut reader, query), answer(direct, query), "{when}");
                assert_eq!(answer(&mut reader, five), answer(direct, five), "{when}");
            }
        }
    });
}

#[test]
fn what_changes_a_table_as_a_whole_is_never_shown_wrong_and_it_is_kept_again() {
    let schema = "maintained_whole";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &[&format!("CREATE CACHE FROM {SLOW}")]);
        assert_eq!(answer(&mut reader, SLOW), answer(direct, SLOW));
        // A session of another kind, which has its own columns from the server.
        let mut other = connect(freshet.target(), schema);
        run(&mut other, &["SET time_zone = '+05:00'"]);
        assert_eq!(answer(&mut other, SLOW), answer(direct, SLOW));
        let changes: [&[&str]; 9] = [
            &["DELETE FROM e WHERE id = 1"],
            &["ALTER TABLE s ADD INDEX (pay)"],
            &[
                "ALTER TABLE e ADD COLUMN other INT FIRST",
                "UPDATE e SET name = 'other', other = 5 WHERE id = 2",
            ],
            &["ALTER TABLE s MODIFY pay BIGINT", "UPDATE s SET pay = pay * 100000000 WHERE id = 3"],
            &[
                "TRUNCATE TABLE s",
                "INSERT INTO s VALUES (2, '2020-01-01', 9, '2021-01-01'), (2, '2021-01-01', 8, '9999-01-01')",
            ],
            &["RENAME TABLE e TO f, f TO e"],
            &["ALTER TABLE e DROP COLUMN other", "INSERT INTO e VALUES (9, 'new')"],
            &[
                "SET sql_log_bin = 0",
                "INSERT INTO s VALUES (9, '2021-01-01', 80, '2022-01-01')",
                "SET sql_log_bin = 1",
            ],
            &[
                "XA START 'm'",
                "INSERT INTO s VALUES (9, '2022-01-01', 8, '9999-01-01')",
                "XA END 'm'",
                "XA PREPARE 'm'",
                "XA COMMIT 'm'",
            ],
        ];
        for change in changes {
            let mut writer = connect(freshet.target(), schema);
            // RENAME swaps with a table that is not there: both servers refuse that, and nothing changes.
            let refused = change.iter().any(|statement| answer(&mut writer, statement).is_err());
            assert_eq!(
                refused,
                change[0].starts_with("RENAME TABLE e TO f, f TO e")
                    && answer(direct, "SELECT 1 FROM e").is_err(),
                "{change:?}"
            );
            is_kept_again(&mut reader, direct, SLOW, &format!("{:?} after {change:?}", server.flavor));
            // By now the copies are there.
            for round in 0..3 {
                run(&mut reader, &[&format!("UPDATE e SET name = 'n{round}' WHERE id > 1")]);
                let _ = answer(&mut reader, SLOW);
                std::thread::sleep(Duration::from_millis(60));
            }
            run(&mut reader, &["UPDATE e SET name = 'last' WHERE id > 1"]);
            assert_eq!(sorted(answer(&mut other, SLOW)), sorted(answer(direct, SLOW)), "{change:?}");
            assert_eq!(columns(&mut other, SLOW), columns(direct, SLOW), "{change:?}");
        }
        let notes = answer(&mut reader, "SHOW CACHES").expect("it is listed");
        assert_eq!(notes.len(), 1);
    });
}

#[test]
fn what_cannot_be_kept_so_is_refreshed_and_says_why() {
    let schema = "maintained_refused";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR(20), n DECIMAL(5, 2), f FLOAT, wide DECIMAL(39, 2), five DECIMAL(9, 5), \
         kind ENUM('a', 'b'), bits BIT(3), flags SET('a', 'b'), odd SET('', 'a'))",
        "CREATE TABLE nokey (id INT, v INT)",
        "INSERT INTO t (id, v, name, n) VALUES (1, 1, 'a', 1.5)",
    ];
    with_stages(schema, &tables, |_, _, freshet| {
        let mut admin = connect(freshet.target(), schema);
        let refused = [
            (
                "SELECT t.id FROM t LEFT JOIN nokey ON nokey.id > t.id",
                "tables that no equality of columns joins",
            ),
            ("SELECT e.id FROM t JOIN t e ON e.kind = t.kind", "a comparison of two types, or of texts"),
            ("SELECT DISTINCT bits FROM t", "DISTINCT of a BIT"),
            ("SELECT MAX(flags) FROM t", "MIN() and MAX() of a SET"),
            ("SELECT odd FROM t WHERE id = 1", "t.odd, which is a SET whose names are not told apart here"),
            ("SELECT v, COUNT(*) FROM t GROUP BY v HAVING AVG(v) > 1", "AVG() in HAVING"),
            ("SELECT MAX(kind) FROM t", "MIN() and MAX() of an ENUM"),
            ("SELECT v FROM t GROUP BY v HAVING MAX(name) = 'a'", "a value that is of another type"),
            ("SELECT id FROM t WHERE name > 'a'", "an order of texts in a condition"),
            ("SELECT SUM(f) FROM t", "t.f, which is of the type float"),
            ("SELECT id FROM t WHERE wide > 1", "t.wide, which is a DECIMAL of more than 38 digits"),
            ("SELECT AVG(five) FROM t", "AVG() with so many digits"),
            ("SELECT id FROM nokey WHERE v = 1", "nokey: it has no primary key"),
        ];
        for (query, why) in refused {
            let explained =
                answer(&mut admin, &format!("EXPLAIN CREATE CACHE FROM {query}")).expect("it is explained");
            let deep = answer(&mut admin, &format!("CREATE DEEP CACHE FROM {query}"));
            assert_eq!(deep, Err(1105), "{query}: {explained:?}");
            run(&mut admin, &[&format!("CREATE CACHE FROM {query}")]);
            let caches = answer(&mut admin, "SHOW CACHES").expect("it is listed");
            assert!(caches[0][3].starts_with("shallow") && caches[0][7].contains(why), "{query}: {caches:?}");
            run(&mut admin, &["DROP ALL CACHES"]);
        }
    });
}

#[test]
fn dates_that_are_no_days_are_left_to_the_server() {
    let schema = "maintained_zero";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, d DATE)",
        "INSERT INTO t VALUES (1, '2024-01-01'), (2, '2024-01-01')",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let query = "SELECT d, COUNT(*) FROM t GROUP BY d";
        run(&mut reader, &[&format!("CREATE CACHE FROM {query}")]);
        let _ = answer(&mut reader, query);
        run(&mut reader, &["UPDATE t SET d = '2024-01-02' WHERE id = 1"]);
        is_kept(&mut reader, direct, query, "while all are days");
        run(direct, &["SET sql_mode = ''", "INSERT INTO t VALUES (3, '2024-00-00'), (4, '0000-00-00')"]);
        caught_up(freshet);
        // MySQL takes both for one group where the mode forbids zeros.
        let mut alike = server.target.try_connect(schema).expect("a session on the server itself");
        for _ in 0..3 {
            assert_eq!(
                sorted(answer(&mut reader, query)),
                sorted(answer(&mut alike, query)),
                "{:?}",
                server.flavor
            );
            run(&mut reader, &["UPDATE t SET d = d + INTERVAL 1 DAY WHERE id = 1"]);
        }
        eventually("it says so", || {
            run(&mut reader, &["UPDATE t SET d = d + INTERVAL 1 DAY WHERE id = 1"]);
            let _ = answer(&mut reader, query);
            let copies = answer(&mut reader, "SHOW FRESHET TABLES").unwrap_or_default();
            copies.iter().any(|copy| copy[2].contains("no day of the calendar")).then_some(())
        });
    });
}

#[test]
fn what_is_maintained_is_compared_with_the_server_and_not_trusted_where_it_differs() {
    let schema = "maintained_checked";
    with_checks(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &[&format!("CREATE CACHE FROM {SLOW}")]);
        assert_eq!(answer(&mut reader, SLOW), answer(direct, SLOW));
        let checks = status(&mut reader, "Freshet_maintained_checks");
        for round in 0..4 {
            run(&mut reader, &[&format!("UPDATE s SET pay = {} WHERE id = 3", 60 + round)]);
            is_kept(&mut reader, direct, SLOW, "while it is compared");
            let before = status(&mut reader, "Freshet_maintained_checks");
            eventually("it is compared", || {
                (status(&mut reader, "Freshet_maintained_checks") > before).then_some(())
            });
        }
        assert!(status(&mut reader, "Freshet_maintained_checks") >= checks + 4);
        assert_eq!(status(&mut reader, "Freshet_maintained_differences"), 0, "{:?}", server.flavor);
        // What neither the binlog nor Freshet is told of.
        run(direct, &["SET sql_log_bin = 0", "UPDATE s SET pay = 1000 WHERE id = 2"]);
        run(direct, &["INSERT INTO s VALUES (2, '2000-01-01', 2000, '2001-01-01')", "SET sql_log_bin = 1"]);
        eventually("the difference is found", || {
            (status(&mut reader, "Freshet_maintained_differences") == 1).then_some(())
        });
        eventually("it is the server's answer again", || {
            (sorted(answer(&mut reader, SLOW)) == sorted(answer(direct, SLOW))).then_some(())
        });
        let caches = answer(&mut reader, "SHOW CACHES").expect("it is listed");
        assert!(
            caches[0][3].starts_with("shallow") && caches[0][7].contains("not the server's"),
            "{caches:?}"
        );
    });
}

#[test]
fn what_does_not_fit_says_about_how_much_it_needs() {
    let schema = "maintained_too_large";
    let tables = [
        "CREATE TABLE digits (n INT PRIMARY KEY)",
        "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE TABLE t (id INT PRIMARY KEY, v BIGINT)",
        "INSERT INTO t SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n, a.n FROM digits a, digits b, digits c, digits d",
    ];
    with_options(schema, &tables, &["--maintained-cache-size", "64K"], |_, direct, freshet| {
        // The server's statistics tell how many rows there are.
        answer(direct, "ANALYZE TABLE t").expect("it is analysed");
        let mut admin = connect(freshet.target(), schema);
        let query = "SELECT id FROM t WHERE v = 3";
        let refused =
            admin.query_drop(format!("CREATE DEEP CACHE FROM {query}")).expect_err(query).to_string();
        let needed = refused.split("and about ").nth(1).and_then(|rest| rest.split(' ').next());
        let needed: usize =
            needed.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{refused}"));
        // Two columns, the primary key and an index, of ten thousand rows.
        assert!((120_000..600_000).contains(&needed), "{refused}");
        run(&mut admin, &[&format!("CREATE CACHE FROM {query}")]);
        let caches = answer(&mut admin, "SHOW CACHES").expect("it is listed");
        assert!(caches[0][3].starts_with("shallow") && caches[0][7].contains("are needed"), "{caches:?}");
    });
}
