//! Why an answer was not stored, as EXPLAIN FRESHET and the schema `freshet` tell it through ordinary clients.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::{PoisonError, RwLock};

use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, hits, run};
use freshet_tests::freshet::command;
use freshet_tests::{Flavor, Freshet, Server, Target, tool, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

const TABLES: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20))",
    "INSERT INTO t VALUES (1,10,'x'),(2,20,'y')",
    "CREATE TABLE m (id INT) ENGINE = MEMORY",
    "CREATE VIEW vw AS SELECT id, v FROM t",
];

/// Changes of rights, and routines, may end results of all who follow the server: those that rest on roles or on views do, and all of them
/// do if such changes follow each other without a pause. So who makes them is alone, and has ended before the Freshets of the others begin.
static RIGHTS: RwLock<()> = RwLock::new(());

/// How often a test is tried. Tests elsewhere change rights too, on the same servers, and what is counted to the last hit is another number
/// after that: a session then has a key of its own.
const TRIALS: u32 = 4;

fn with_freshet(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    let _nobody_changes_them = RIGHTS.read().unwrap_or_else(PoisonError::into_inner);
    tested(schema, test);
}

/// The same for what is counted to the last hit.
fn with_freshet_counting(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    let is_well = || catch_unwind(AssertUnwindSafe(|| with_freshet(schema, &test))).is_ok();
    if !(1..TRIALS).any(|_| is_well()) {
        with_freshet(schema, test);
    }
}

fn with_freshet_alone(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    let _alone = RIGHTS.write().unwrap_or_else(PoisonError::into_inner);
    tested(schema, test);
}

fn tested(schema: &str, test: impl Fn(&Server, &Freshet, Conn)) {
    with_each(|server, freshet| {
        if freshet.is_there() {
            let mut direct = fresh_schema(server, schema);
            run(&mut direct, &TABLES);
            caught_up(freshet);
            test(server, freshet, connect(freshet.target(), schema));
        }
    });
}

/// What EXPLAIN FRESHET says of a statement, the last line of each item.
fn explained(conn: &mut Conn, statement: &str) -> HashMap<String, String> {
    let lines = answer(conn, &format!("EXPLAIN FRESHET {statement}"));
    let lines = lines.unwrap_or_else(|code| panic!("{statement}: error {code}"));
    lines.into_iter().map(|mut line| (line.remove(0), line.remove(0))).collect()
}

/// The row of a digest in `freshet.queries`.
fn query(conn: &mut Conn, schema: &str, digest: &str) -> (Option<String>, String, u64) {
    let found = conn.query_first(format!(
        "SELECT reason, COALESCE(refusals, ''), executions FROM freshet.queries WHERE digest = '{digest}' AND schema_name = '{schema}'"
    ));
    found.expect("it is computed").unwrap_or_default()
}

/// A statement that is refused: what goes before it, itself, its reason, and what goes after it.
struct Case {
    before: &'static [&'static str],
    statement: &'static str,
    reason: &'static str,
    after: &'static [&'static str],
}

const fn case(statement: &'static str, reason: &'static str) -> Case {
    Case { before: &[], statement, reason, after: &[] }
}

const CASES: [Case; 21] = [
    case("SELECT id, NOW() FROM t", "volatile_function"),
    case("SELECT id FROM t ORDER BY RAND()", "volatile_function"),
    case("SELECT id, @a FROM t", "variable"),
    case("SELECT id FROM t WHERE v = 10 FOR UPDATE", "locks_rows"),
    case("SELECT id FROM t WHERE v = 10 LOCK IN SHARE MODE", "locks_rows"),
    case("SELECT id INTO @b FROM t WHERE v = 10", "into"),
    case("SELECT 1 + 1", "no_table"),
    case("SELECT COUNT(*) FROM information_schema.TABLES", "system_schema"),
    case("SELECT f(id) FROM t", "stored_function"),
    case("SELECT LAST_INSERT_ID() FROM t", "last_statement"),
    case("SELECT id FROM m", "table"),
    case("SELECT SQL_NO_CACHE id FROM t", "sql_no_cache"),
    case("UPDATE t SET w = 'z' WHERE id = 2", "not_select"),
    Case {
        before: &["SET query_cache_type = OFF"],
        statement: "SELECT id FROM t WHERE id = 11",
        reason: "query_cache_type_off",
        after: &["SET query_cache_type = ON"],
    },
    Case {
        before: &["SET query_cache_type = DEMAND"],
        statement: "SELECT id, v FROM t WHERE id = 12",
        reason: "no_sql_cache",
        after: &["SET query_cache_type = ON"],
    },
    Case {
        before: &["CREATE TEMPORARY TABLE vw (id INT)"],
        statement: "SELECT id FROM vw",
        reason: "temporary_table",
        after: &["DROP TEMPORARY TABLE vw"],
    },
    Case {
        before: &["LOCK TABLES t READ"],
        statement: "SELECT w FROM t WHERE id = 13",
        reason: "lock_tables",
        after: &["UNLOCK TABLES"],
    },
    Case {
        before: &["BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1"],
        statement: "SELECT v, w FROM t WHERE id = 1",
        reason: "transaction",
        after: &["ROLLBACK"],
    },
    Case {
        before: &[
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SELECT v FROM t WHERE id = 1",
            "BEGIN",
            "UPDATE t SET v = v + 1 WHERE id = 1",
        ],
        statement: "SELECT w, v FROM t WHERE id = 1",
        reason: "own_write",
        after: &["ROLLBACK", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"],
    },
    Case {
        before: &["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
        statement: "SELECT id, w FROM t WHERE id = 14",
        reason: "session_settings",
        after: &["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"],
    },
    Case {
        before: &["SET GLOBAL query_cache_size = 0"],
        statement: "SELECT v, v FROM t WHERE id = 15",
        reason: "query_cache_size_0",
        after: &["SET GLOBAL query_cache_size = 67108864"],
    },
];

#[test]
fn each_reason_is_told_and_counted() {
    let schema = "registry_reasons";
    with_freshet_alone(schema, |_, freshet, mut conn| {
        let mut look = connect(freshet.target(), schema);
        run(&mut conn, &["CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a + 1"]);
        for Case { before, statement, reason, after } in &CASES {
            run(&mut conn, before);
            let told = explained(&mut conn, statement);
            assert_eq!(told.get("reason").map(String::as_str), Some(*reason), "{statement}: {told:?}");
            assert_eq!(told["hit_now"], "NO", "{statement}");
            assert!(told["why"].ends_with('.') && told["change"].ends_with('.'), "{statement}: {told:?}");
            run(&mut conn, &[statement]);
            let (last, refusals, executions) = query(&mut look, schema, &told["digest"]);
            assert_eq!(last.as_deref(), Some(*reason), "{statement}");
            assert_eq!(executions, 1, "{statement}");
            let counted = *reason == "not_select" || refusals.contains(reason);
            assert!(counted, "{statement}: {refusals}");
            run(&mut conn, after);
        }
        // Every reason has its sentence.
        let reasons: Vec<String> = look.query("SELECT reason FROM freshet.reasons").expect("it is computed");
        assert!(CASES.iter().all(|case| reasons.contains(&case.reason.to_owned())));
    });
}

#[test]
fn what_the_answer_shows_is_told_afterwards() {
    let schema = "registry_answers";
    with_freshet(schema, |_, _, mut conn| {
        run(&mut conn, &["SET GLOBAL query_cache_limit = 1024"]);
        for (statement, reason) in [
            ("SELECT REPEAT('x', 2000) FROM t", "query_cache_limit"),
            ("SELECT CAST(w AS SIGNED) FROM t", "not_shareable"),
        ] {
            let told = explained(&mut conn, statement);
            assert_eq!((told["verdict"].as_str(), told["hit_now"].as_str()), ("cacheable", "NO"), "{told:?}");
            run(&mut conn, &[statement]);
            let told = explained(&mut conn, statement);
            assert!(told["last_not_stored"].starts_with(reason), "{statement}: {told:?}");
            assert_eq!(query(&mut conn, schema, &told["digest"]).0.as_deref(), Some(reason), "{statement}");
        }
        run(&mut conn, &["SET GLOBAL query_cache_limit = DEFAULT"]);
        // An error is the statement's own.
        assert_eq!(answer(&mut conn, "EXPLAIN FRESHET SELECT nope FROM t"), Err(1054));
        assert_eq!(answer(&mut conn, "SELECT nope FROM t"), Err(1054));
        let refusals: Vec<String> = conn
            .query("SELECT refusals FROM freshet.queries WHERE digest_text = 'SELECT nope FROM t'")
            .expect("it is computed");
        assert_eq!(refusals, ["error: 1"]);
    });
}

#[test]
fn a_statement_is_explained_from_its_first_execution_to_its_hit() {
    let schema = "registry_life";
    with_freshet_counting(schema, |_, freshet, mut conn| {
        let read = "SELECT v FROM t WHERE id = 1";
        let told = explained(&mut conn, read);
        assert_eq!((told["verdict"].as_str(), told["hit_now"].as_str()), ("cacheable", "NO"), "{told:?}");
        assert_eq!(told["depends_on"], format!("{schema}.t: rows with id = 1, columns id, v"));
        let before = hits(&mut conn);
        let _ = Counted::of(freshet).prime(&mut conn, read);
        eventually("it would be answered from memory", || {
            let _ = answer(&mut conn, read);
            (explained(&mut conn, read)["hit_now"] == "YES").then_some(())
        });
        // Another row's write does not concern it, and its own does.
        run(&mut conn, &["UPDATE t SET v = 21 WHERE id = 2"]);
        let told = explained(&mut conn, read);
        assert_eq!(told["hit_now"], "YES", "{told:?}");
        run(&mut conn, &["UPDATE t SET v = 11 WHERE id = 1"]);
        let told = explained(&mut conn, read);
        assert_eq!(told["hit_now"], "NO", "{told:?}");
        run(&mut conn, &["BEGIN"]);
        assert_eq!(explained(&mut conn, "SELECT v FROM t WHERE id = 2")["verdict"], "cacheable");
        run(&mut conn, &["ROLLBACK"]);
        // In a transaction it depends on the transaction's moment.
        let other = "SELECT w FROM t WHERE id = 2";
        Counted::of(freshet).prime(&mut conn, other).expect("it is answered");
        assert_eq!(explained(&mut conn, other)["hit_now"], "YES");
        run(&mut conn, &["BEGIN"]);
        assert_eq!(explained(&mut conn, other)["hit_now"], "MAYBE");
        run(&mut conn, &["ROLLBACK"]);
        assert_eq!(explained(&mut conn, "SELECT v FROM t WHERE id = ?")["hit_now"], "MAYBE");
        // It was explained, and not executed.
        let (_, _, executions) = query(&mut conn, schema, &told["digest"]);
        let counted: (u64, u64) = conn
            .query_first(format!(
                "SELECT hits, stored FROM freshet.queries WHERE digest = '{}' AND schema_name = '{schema}'",
                told["digest"]
            ))
            .expect("it is computed")
            .expect("there is a row");
        assert!(
            counted.0 >= 1 && counted.1 >= 1 && counted.0 + counted.1 <= executions,
            "{counted:?} of {executions}"
        );
        assert!(hits(&mut conn) > before);
        let tables: (u64, u64) = conn
            .query_first(format!("SELECT hits, reads FROM freshet.tables WHERE table_schema = '{schema}'"))
            .expect("it is computed")
            .expect("there is a row");
        assert!(tables.0 >= counted.0 && tables.1 >= executions, "{tables:?}");
    });
}

#[test]
fn the_tables_are_read_with_sql_and_prepared() {
    let schema = "registry_sql";
    with_freshet_counting(schema, |server, freshet, mut conn| {
        let _ = Counted::of(freshet).prime(&mut conn, "SELECT v FROM t WHERE id = 1");
        run(&mut conn, &["SELECT id, NOW() FROM t", "SELECT id, NOW() FROM t"]);
        let all = "SELECT q.digest_text, r.reason, r.count, s.what_to_change FROM freshet.queries AS q \
                   JOIN freshet.refusals AS r USING (schema_name, user, digest) JOIN freshet.reasons AS s USING (reason) \
                   WHERE q.schema_name = 'registry_sql' AND r.reason LIKE 'volatile%' ORDER BY r.count DESC LIMIT 1";
        let row: (String, String, u64, String) =
            conn.query_first(all).expect("it is computed").expect("a row");
        assert_eq!(
            (row.0.as_str(), row.1.as_str(), row.2),
            ("SELECT id,NOW() FROM t", "volatile_function", 2)
        );
        let sums = "SELECT SUM(executions), AVG(hit_ratio), MAX(digest), NULL FROM freshet.queries";
        let sums: mysql::Row = conn.query_first(sums).expect("it is computed").expect("a row");
        let kinds: Vec<u8> = sums.columns_ref().iter().map(|column| column.column_type() as u8).collect();
        assert_eq!(kinds, [0x08, 0x05, 0xfd, 0xfd]);

        let prepared = "SELECT digest_text, hits, hit_ratio, about FROM freshet.queries WHERE schema_name = ? AND hits >= ? LIMIT 1";
        let prepared = conn.prep(prepared).expect("it is prepared");
        for _ in 0..2 {
            let row: (String, u64, f64, Option<String>) =
                conn.exec_first(&prepared, (schema, 1)).expect("it is executed").expect("a row");
            assert_eq!(row.0, "SELECT v FROM t WHERE id = ?");
            assert!(row.1 >= 1 && row.2 > 0.0 && row.3.is_none(), "{row:?}");
        }
        let none: Vec<Value> = conn.exec(&prepared, (schema, 1_000_000)).expect("it is executed");
        assert!(none.is_empty());
        let lines: Vec<(String, String)> =
            conn.exec("EXPLAIN FRESHET SELECT id, NOW() FROM t WHERE id = ?", ()).unwrap_or_default();
        let lines = if lines.is_empty() {
            conn.exec("EXPLAIN FRESHET SELECT id, NOW() FROM t WHERE id = ?", (1,)).expect("it is executed")
        } else {
            lines
        };
        assert!(lines.contains(&("reason".to_owned(), "volatile_function".to_owned())), "{lines:?}");

        for (statement, code) in [
            ("SELECT * FROM freshet.queries JOIN t USING (id)", 1235),
            ("SELECT * FROM freshet.nope", 1146),
            ("SELECT * FROM freshet.queries WHERE", 1064),
            ("SELECT nope FROM freshet.queries", 1105),
            (
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n, freshet.queries",
                1105,
            ),
        ] {
            assert_eq!(answer(&mut conn, statement), Err(code), "{statement}");
        }
        // The session goes on, and so does its cache.
        let before = explained(&mut conn, "SELECT v FROM t WHERE id = 1");
        let hits = Counted::of(freshet).hits_of(&mut conn, "SELECT v FROM t WHERE id = 1", 3);
        assert_eq!(
            hits,
            3,
            "{before:?}, and then {:?}",
            explained(&mut conn, "SELECT v FROM t WHERE id = 1")
        );
        assert!(answer(&mut conn, "DELETE FROM freshet.queries").is_err());
        assert!(answer(&mut conn, "INSERT INTO freshet.queries VALUES (1)").is_err());
        by_other_clients(server.flavor, freshet.target(), schema);
    });
}

/// The command-line client, `freshet why`, and PyMySQL where it is there.
fn by_other_clients(flavor: Flavor, target: &Target, schema: &str) {
    let (port, text) = (target.port.to_string(), "SELECT reason FROM freshet.reasons WHERE reason = 'into'");
    let program = if tool::is_there("mariadb") { "mariadb" } else { "mysql" };
    let printed = tool::run(
        program,
        &[
            "--no-defaults".into(),
            "--batch".into(),
            "--skip-column-names".into(),
            format!("--host={}", target.host),
            format!("--port={port}"),
            format!("--user={}", target.user),
            format!("--password={}", target.password),
            format!("--execute={text}"),
        ],
    );
    assert_eq!(printed.trim(), "into", "{flavor:?}");

    let url = format!("mysql://{}:{}@127.0.0.1:1/{schema}", target.user, target.password);
    let why = |statement: &str| {
        let mut why = command();
        why.env("UPSTREAM_DB_URL", &url).env("LISTEN_ADDRESS", format!("{}:{port}", target.host));
        let output = why.args(["why", statement]).output().expect("it runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    };
    let (printed, code) = why("SELECT NOW() FROM t");
    assert!(printed.contains("volatile_function") && code == Some(0), "{code:?}: {printed}");
    assert_eq!(why("SELECT * FROM nope").1, Some(3));

    let python = tool::folder().join("python/bin/python3");
    if python.exists() {
        let script = format!(
            "import pymysql\nc = pymysql.connect(host='{}', port={port}, user='{}', password='{}').cursor()\n\
             c.execute('SELECT COUNT(*), MAX(hits) FROM freshet.queries WHERE executions >= %s', (1,))\n\
             row = c.fetchone()\nassert type(row[0]) is int and row[0] > 0, row\nprint('good')",
            target.host, target.user, target.password
        );
        let output = Command::new(python).args(["-c", &script]).output().expect("it runs");
        assert!(String::from_utf8_lossy(&output.stdout).contains("good"), "{output:?}");
    }
}

#[test]
fn without_process_a_client_sees_its_own() {
    let schema = "registry_rights";
    with_freshet_alone(schema, |server, freshet, mut conn| {
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &[
                "DROP USER IF EXISTS registry_reader",
                "CREATE USER registry_reader IDENTIFIED BY 'secret'",
                &format!("GRANT SELECT ON {schema}.t TO registry_reader"),
            ],
        );
        let _ = Counted::of(freshet).prime(&mut conn, "SELECT w FROM t WHERE id = 2");
        run(&mut conn, &["SELECT id FROM m"]);
        let target =
            Target { user: "registry_reader".into(), password: "secret".into(), ..freshet.target().clone() };
        let mut reader = connect(&target, schema);
        run(&mut reader, &["SELECT id, v FROM t WHERE id = 2"]);
        for (table, whose) in
            [("queries", "user"), ("sessions", "user"), ("refusals", "user"), ("query_tables", "user")]
        {
            let users: Vec<String> = reader
                .query(format!("SELECT DISTINCT {whose} FROM freshet.{table}"))
                .expect("it is computed");
            assert!(users.iter().all(|user| user == "registry_reader"), "{table}: {users:?}");
        }
        let seen: Option<u64> =
            reader.query_first("SELECT COUNT(*) FROM freshet.queries").expect("it is computed");
        assert!(seen >= Some(1));
        let entries: Vec<String> =
            reader.query("SELECT account FROM freshet.entries").expect("it is computed");
        assert!(entries.iter().all(|account| account.starts_with("registry_reader@")), "{entries:?}");
        let all: Vec<String> =
            conn.query("SELECT DISTINCT user FROM freshet.queries").expect("it is computed");
        assert!(all.len() >= 2, "{all:?}");
        let all: Vec<String> = conn.query("SELECT user FROM freshet.sessions").expect("it is computed");
        assert!(all.len() >= 2, "{all:?}");
        // What it may not read it is not told of.
        assert_eq!(answer(&mut reader, "EXPLAIN FRESHET SELECT id FROM m"), Err(1142));
        assert_eq!(explained(&mut reader, "SELECT id FROM t WHERE id = 9")["verdict"], "cacheable");
        run(&mut direct, &["DROP USER registry_reader"]);
    });
}

#[test]
fn a_schema_of_that_name_on_the_server_is_the_servers() {
    with_freshet_alone("registry_real", |server, freshet, mut conn| {
        let mut direct = server.target.connect();
        run(
            &mut direct,
            &[
                "CREATE DATABASE freshet",
                "CREATE TABLE freshet.queries (id INT)",
                "INSERT INTO freshet.queries VALUES (7)",
            ],
        );
        let ids: Vec<u64> = conn.query("SELECT id FROM freshet.queries").expect("it is the server's");
        assert_eq!(ids, [7]);
        let mut within = connect(freshet.target(), "freshet");
        assert_eq!(answer(&mut within, "SELECT id FROM queries"), Ok(vec![vec!["7".to_owned()]]));
        assert_eq!(answer(&mut within, "SELECT DATABASE()"), Ok(vec![vec!["freshet".to_owned()]]));
        run(&mut within, &["INSERT INTO queries VALUES (8)"]);
        run(&mut direct, &["DROP DATABASE freshet"]);
        eventually("it is Freshet's again", || {
            answer(&mut conn, "SELECT digest FROM freshet.queries LIMIT 1").is_ok().then_some(())
        });
    });
}

#[test]
fn sessions_are_shown_with_what_holds_them() {
    let schema = "registry_sessions";
    with_freshet(schema, |_, freshet, mut conn| {
        let mut look = connect(freshet.target(), schema);
        run(&mut conn, &["BEGIN", "SELECT v FROM t WHERE id = 1 FOR UPDATE"]);
        let held: Vec<String> =
            look.query("SELECT holds FROM freshet.sessions WHERE holds <> ''").expect("it is computed");
        assert!(held.iter().any(|holds| holds.contains("a transaction is open")), "{held:?}");
        run(&mut conn, &["ROLLBACK"]);
        let id = look.connection_id();
        let (user, client): (String, String) = look
            .query_first(format!("SELECT user, client FROM freshet.sessions WHERE id = {id}"))
            .expect("it is computed")
            .expect("a row");
        assert_eq!(user, freshet.target().user);
        assert!(client.starts_with("127.0.0.1:"), "{client}");
        let (stream, live): (String, u64) = look
            .query_first("SELECT stream, is_live FROM freshet.freshness")
            .expect("it is computed")
            .expect("a row");
        assert!(stream.starts_with("following") && live == 1, "{stream}");
    });
}

#[test]
fn the_schema_is_shown_to_who_looks_around() {
    with_freshet("registry_shown", |_, _, mut conn| {
        let names = answer(&mut conn, "SHOW TABLES FROM freshet").expect("it is there");
        assert!(names.contains(&vec!["queries".to_owned()]), "{names:?}");
        let full = answer(&mut conn, "SHOW FULL TABLES IN `freshet`").expect("it is there");
        assert_eq!(full.len(), names.len());
        for name in names.iter().flatten() {
            let columns = answer(&mut conn, &format!("DESCRIBE freshet.{name}")).expect("it is there");
            let rows = conn.query_iter(format!("SELECT * FROM freshet.{name}")).expect("it is there");
            let read: Vec<String> =
                rows.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
            let described: Vec<String> = columns.into_iter().map(|mut column| column.remove(0)).collect();
            assert_eq!(described, read, "{name}");
        }
        assert_eq!(answer(&mut conn, "SHOW COLUMNS FROM freshet.nosuch"), Err(1146));
        let full = answer(&mut conn, "SHOW FULL COLUMNS FROM queries FROM freshet").expect("it is there");
        assert!(full.iter().all(|column| column.len() == 7));
    });
}

#[test]
fn advice_is_given_by_what_was_counted_to_who_may_see_everything() {
    let schema = "registry_advice";
    with_freshet_alone(schema, |server, _, mut direct| {
        run(
            &mut direct,
            &[&format!("DROP USER IF EXISTS {schema}"), &format!("CREATE USER {schema} IDENTIFIED BY ''")],
        );
        let freshet = Freshet::with(server, &[]);
        caught_up(&freshet);
        let mut admin = connect(freshet.target(), schema);
        run(&mut admin, &["SET GLOBAL query_cache_size = 0"]);
        let advice = |conn: &mut Conn| {
            let found =
                answer(conn, "SELECT topic, verdict, found, statement FROM freshet.advice ORDER BY topic");
            found.expect("it is answered")
        };
        let given = advice(&mut admin);
        let of =
            |topic: &str| given.iter().find(|row| row[0] == topic).unwrap_or_else(|| panic!("{given:?}"));
        assert!(of("buffer pool")[2].contains("pages") || of("buffer pool")[2].contains('%'), "{given:?}");
        assert!(of("size")[3].starts_with("SET GLOBAL query_cache_size = "), "{given:?}");
        assert!(of("reads and writes")[2].contains("reads"), "{given:?}");
        // What it says can be done.
        run(&mut admin, &[&of("size")[3]]);
        assert_ne!(advice(&mut admin).iter().find(|row| row[0] == "size").unwrap()[2], of("size")[2]);
        let Target { host, port, .. } = freshet.target();
        let theirs =
            Target { host: host.clone(), port: *port, user: schema.to_owned(), password: String::new() };
        assert!(advice(&mut theirs.connect()).is_empty(), "{:?}", server.flavor);
    });
}

#[test]
fn what_a_table_is_read_and_written_is_counted() {
    let schema = "registry_tables";
    with_freshet_counting(schema, |server, freshet, mut conn| {
        let mut direct = connect(&server.target, schema);
        let mut watch = Counted::of(freshet);
        let statement = "SELECT v FROM t WHERE id = 1";
        let counted = |conn: &mut Conn| -> (i64, i64, i64, i64, i64) {
            let row = conn.query_first(format!(
                "SELECT reads, hits, writes, invalidations, needless FROM freshet.tables \
                 WHERE table_schema = '{schema}' AND table_name = 't'"
            ));
            row.expect("it is computed").expect("there is a row")
        };
        let since = |before: (i64, i64, i64, i64, i64), conn: &mut Conn| {
            let now = counted(conn);
            (now.0 - before.0, now.1 - before.1, now.2 - before.2, now.3 - before.3, now.4 - before.4)
        };
        watch.prime(&mut conn, statement).expect("it is answered");
        let before = counted(&mut conn);
        assert_eq!(watch.hits_of(&mut conn, statement, 5), 5);
        assert_eq!(since(before, &mut conn), (5, 5, 0, 0, 0));
        // A change of what it shows.
        let before = counted(&mut conn);
        run(&mut direct, &["UPDATE t SET v = 11 WHERE id = 1"]);
        caught_up(freshet);
        watch.prime(&mut conn, statement).expect("it is answered");
        let changed = since(before, &mut conn);
        assert_eq!((changed.2, changed.3, changed.4), (1, 1, 0), "{changed:?}");
        // A change that is taken back: what is stored anew is the same.
        let before = counted(&mut conn);
        run(&mut direct, &["UPDATE t SET v = 12 WHERE id = 1", "UPDATE t SET v = 11 WHERE id = 1"]);
        caught_up(freshet);
        watch.prime(&mut conn, statement).expect("it is answered");
        let changed = since(before, &mut conn);
        assert_eq!((changed.2, changed.3, changed.4), (2, 1, 1), "{changed:?}");
        // A change of another row concerns nothing that is stored.
        let before = counted(&mut conn);
        run(&mut direct, &["UPDATE t SET v = 21 WHERE id = 2"]);
        caught_up(freshet);
        assert_eq!(watch.hits_of(&mut conn, statement, 2), 2);
        assert_eq!(since(before, &mut conn), (2, 2, 1, 0, 0));
        let (ratio, expected, entries, bytes): (f64, f64, u64, u64) = conn
            .query_first(format!(
                "SELECT hit_ratio, 1.0 * hits / reads, entries, bytes FROM freshet.tables \
                 WHERE table_schema = '{schema}' AND table_name = 't'"
            ))
            .expect("it is computed")
            .expect("there is a row");
        assert!((ratio - expected).abs() < 1e-9 && ratio > 0.0 && ratio < 1.0, "{ratio}");
        assert!(entries == 1 && bytes > 0, "{entries} {bytes}");
        let sums: (f64, u64, u64) = conn
            .query_first(format!(
                "SELECT hit_ratio, invalidations, needless FROM freshet.queries \
                 WHERE schema_name = '{schema}' AND digest_text = 'SELECT v FROM t WHERE id = ?'"
            ))
            .expect("it is computed")
            .expect("there is a row");
        assert!((sums.0 - ratio).abs() < 1e-9 && (sums.1, sums.2) == (2, 1), "{sums:?}");
    });
}

#[test]
fn the_tables_are_read_by_statements_that_are_prepared_by_their_text() {
    let schema = "registry_by_text";
    with_freshet(schema, |_, freshet, mut conn| {
        let _ = Counted::of(freshet).prime(&mut conn, "SELECT v FROM t WHERE id = 1");
        let all = "SELECT digest_text FROM freshet.queries WHERE schema_name = ? AND hits >= ? LIMIT ?";
        run(
            &mut conn,
            &[
                &format!("PREPARE s FROM '{all}'"),
                &format!("SET @schema = '{schema}', @hits = 1, @limit = 1"),
            ],
        );
        for _ in 0..2 {
            let found = answer(&mut conn, "EXECUTE s USING @schema, @hits, @limit");
            assert_eq!(found, Ok(vec![vec!["SELECT v FROM t WHERE id = ?".to_owned()]]));
        }
        run(&mut conn, &["SET @hits = 1000000"]);
        assert_eq!(answer(&mut conn, "EXECUTE s USING @schema, @hits, @limit"), Ok(Vec::new()));
        assert_eq!(answer(&mut conn, "EXECUTE s USING @schema"), Err(1210));
        assert_eq!(answer(&mut conn, "EXECUTE s"), Err(1210));
        assert_eq!(answer(&mut conn, "PREPARE n FROM 'SELECT nope FROM freshet.queries'"), Err(1105));
        assert_eq!(answer(&mut conn, "EXECUTE n"), Err(1243));
        run(&mut conn, &["DEALLOCATE PREPARE s"]);
        assert_eq!(answer(&mut conn, "EXECUTE s USING @schema, @hits, @limit"), Err(1243));
        // What is prepared of the server's is the server's, and the session's answers are found as before.
        run(&mut conn, &["PREPARE s FROM 'SELECT v FROM t WHERE id = 2'"]);
        assert_eq!(answer(&mut conn, "EXECUTE s"), Ok(vec![vec!["20".to_owned()]]));
    });
}

#[test]
fn a_login_can_begin_in_the_schema() {
    let schema = "registry_login";
    with_freshet(schema, |_, freshet, mut other| {
        let one = |text: &str| Ok(vec![vec![text.to_owned()]]);
        // The second one is let in by what is remembered of the first.
        for _ in 0..3 {
            let mut conn = connect(freshet.target(), "freshet");
            assert_eq!(answer(&mut conn, "SELECT DATABASE()"), one("freshet"));
            assert_eq!(answer(&mut conn, "SELECT COUNT(*) > 5 FROM reasons"), one("1"));
            assert_eq!(answer(&mut conn, "SELECT COUNT(*) FROM registry_login.t"), one("2"));
            let status = answer(&mut conn, "select DATABASE(), USER() limit 1").expect("it is shown");
            assert!(status[0][0] == "freshet" && status[0][1].contains('@'), "{status:?}");
            assert_eq!(answer(&mut conn, "SELECT * FROM t"), Err(1235));
            run(&mut conn, &["USE registry_login"]);
            assert_eq!(answer(&mut conn, "SELECT v FROM t WHERE id = 1"), one("10"));
            // A login without a schema has none.
            let mut none = freshet.target().connect();
            assert_eq!(answer(&mut none, "SELECT DATABASE() IS NULL"), one("1"));
            assert_eq!(answer(&mut none, "SELECT v FROM t"), Err(1046));
        }
        let change = mysql::ChangeUserOpts::new().with_db_name(Some("freshet".to_owned()));
        other.change_user(change).expect("it is let in");
        assert_eq!(answer(&mut other, "SELECT COUNT(*) > 5 FROM reasons"), one("1"));
        other.reset().expect("it is reset");
        assert_eq!(answer(&mut other, "SELECT COUNT(*) > 5 FROM reasons"), one("1"));
        let target = freshet.target();
        if tool::is_there("mariadb") {
            let client = ["--no-defaults", "--batch", "--skip-column-names", "--database=freshet"];
            let connect = [
                format!("-h{}", target.host),
                format!("-P{}", target.port),
                format!("-u{}", target.user),
                format!("-p{}", target.password),
            ];
            let statement = "-eSELECT COUNT(*) > 5 FROM reasons".to_owned();
            let arguments: Vec<String> =
                client.map(str::to_owned).into_iter().chain(connect).chain([statement]).collect();
            assert_eq!(tool::run("mariadb", &arguments).trim(), "1");
        }
    });
}

#[test]
fn the_schema_can_be_used_and_left() {
    let schema = "registry_used";
    with_freshet(schema, |_, freshet, mut conn| {
        // Of the server's, with a name of ours: it is never read in the place of ours, and not from memory.
        run(&mut conn, &["CREATE TABLE lanes (id INT)", "INSERT INTO lanes VALUES (7)"]);
        caught_up(freshet);
        let mut watch = Counted::of(freshet);
        let (ours, read) = ("SELECT COUNT(*) > 5 FROM reasons", "SELECT id FROM lanes");
        watch.prime(&mut conn, read).expect("it is answered");
        watch.prime(&mut conn, "SELECT v FROM t WHERE id = 1").expect("it is answered");
        let seven = Ok(vec![vec!["7".to_owned()]]);
        let one = |text: &str| Ok(vec![vec![text.to_owned()]]);
        let prepared = conn.prep("SELECT v FROM t WHERE id = ?").expect("it is prepared");
        for by_command in [false, true] {
            if by_command {
                conn.select_db("freshet").expect("it is there");
            } else {
                run(&mut conn, &["USE freshet"]);
            }
            assert_eq!(answer(&mut conn, "SELECT DATABASE()"), one("freshet"));
            assert_eq!(answer(&mut conn, ours), one("1"));
            assert_ne!(answer(&mut conn, read), seven);
            let joined = "SELECT q.digest_text FROM queries AS q JOIN query_tables USING (schema_name, user, digest) \
                          WHERE table_name = 't' AND q.schema_name = 'registry_used' AND q.hits > 0";
            assert_eq!(answer(&mut conn, joined), one("SELECT v FROM t WHERE id = ?"));
            let names = answer(&mut conn, "SHOW TABLES").expect("they are shown").concat();
            assert!(names.contains(&"queries".to_owned()) && !names.contains(&"t".to_owned()), "{names:?}");
            let columns = answer(&mut conn, "DESC reasons").expect("they are shown");
            assert_eq!(columns[0][0], "reason");
            // What names its schema, or none, is the server's.
            assert_eq!(answer(&mut conn, "SELECT id FROM registry_used.lanes"), seven);
            assert_eq!(answer(&mut conn, "SELECT 1 + 1"), one("2"));
            run(&mut conn, &["SET @a = 5", "BEGIN", "COMMIT"]);
            let row: Option<u64> = conn.exec_first(&prepared, (1,)).expect("it is of another schema");
            assert_eq!(row, Some(10));
            for refused in [
                "SELECT * FROM t",
                "INSERT INTO t VALUES (9, 9, 'z')",
                "DROP TABLE lanes",
                "CREATE TABLE x (id INT)",
                "SET @a = (SELECT id FROM lanes)",
                "SELECT f(1)",
                "SELECT CONCAT(DATABASE(), 'x')",
                "PREPARE s FROM 'SELECT id FROM lanes'",
                "SHOW CREATE TABLE lanes",
                "CALL p()",
            ] {
                assert_eq!(answer(&mut conn, refused), Err(1235), "{refused}");
            }
            assert!(conn.prep("SELECT id FROM lanes").is_err());
            assert_eq!(answer(&mut conn, "USE nowhere_at_all"), Err(1049));
            assert_eq!(answer(&mut conn, ours), one("1"), "it was not left");
            if by_command {
                conn.select_db(schema).expect("it is there");
            } else {
                run(&mut conn, &["USE registry_used"]);
            }
            assert_eq!(answer(&mut conn, "SELECT DATABASE()"), one(schema));
            assert_eq!(answer(&mut conn, read), seven);
            assert_eq!(watch.hits_of(&mut conn, read, 2), 2);
            assert_eq!(answer(&mut conn, ours), Err(1146));
        }
    });
}
