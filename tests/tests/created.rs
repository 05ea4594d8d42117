//! Caches that are made for one query each, in Readyset's words: SHOW PROXIED QUERIES, CREATE CACHE FROM q_…, SHOW CACHES, DROP CACHE.

use freshet_tests::cached::{
    Counted, answer, caught_up, connect, eventually, fresh_schema, run, staged, status,
};
use freshet_tests::{Freshet, Server, Target, with_each};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

const READ: &str = "SELECT t.id, v FROM t WHERE v > 5 AND name = 'x'";
const REWRITTEN: &str = "SELECT `t`.`id`, `v` FROM `t` WHERE `v` > $1 AND `name` = $2";

fn with_stages(schema: &str, flags: &[&str], test: impl Fn(&Server, &mut Conn, &Freshet)) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let tables = [
            "CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR(20))",
            "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'x'), (3, 3, 'x'), (4, 40, 'y')",
        ];
        let (mut direct, freshet) = staged(server, schema, &tables, flags);
        test(server, &mut direct, &freshet);
    });
}

fn text(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn rows(conn: &mut Conn, statement: &str) -> Vec<Vec<String>> {
    let rows: Vec<Row> = conn.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    rows.into_iter().map(|row| row.unwrap().iter().map(text).collect()).collect()
}

/// The row of a list that is about a query.
fn line(conn: &mut Conn, list: &str, query: &str) -> Option<Vec<String>> {
    rows(conn, list).into_iter().find(|row| row.iter().any(|cell| cell == query))
}

fn error(conn: &mut Conn, statement: &str) -> (u16, String) {
    match conn.query_drop(statement) {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        other => panic!("{statement}: {other:?}"),
    }
}

#[test]
fn what_is_asked_is_listed_and_cached_by_its_id() {
    let schema = "created_listed";
    with_stages(schema, &[], |server, _, freshet| {
        let mut reader = connect(freshet.target(), schema);
        answer(&mut reader, READ).unwrap();
        answer(&mut reader, "select  `t`.id, v from t where v > 7 and name='y'").unwrap();
        answer(&mut reader, "SELECT id, RAND() FROM t").unwrap();
        let mut admin = connect(freshet.target(), schema);
        let query = line(&mut admin, "SHOW PROXIED QUERIES", REWRITTEN).expect("it is listed");
        let [id, _, supported, count] = &query[..] else { panic!("{query:?}") };
        assert!(id.len() == 18 && id.starts_with("q_"), "{id}");
        assert_eq!((&**supported, &**count), ("yes", "2"), "two spellings of one query: {:?}", server.flavor);
        let never = line(&mut admin, "SHOW PROXIED QUERIES", "SELECT `id`, rand() FROM `t`").unwrap();
        assert!(never[2].starts_with("unsupported: RAND"), "{never:?}");
        assert_eq!(line(&mut admin, "SHOW PROXIED SUPPORTED QUERIES", &never[1]), None);
        let one = format!("SHOW PROXIED QUERIES WHERE query_id = '{id}' LIMIT 1");
        assert_eq!(rows(&mut admin, &one), std::slice::from_ref(&query));
        let methods = ["DEEP", "SHALLOW"].map(|method| {
            rows(&mut admin, &format!("SHOW PROXIED {method} QUERIES")).iter().any(|row| row[1] == REWRITTEN)
        });
        assert_eq!(methods, [true, false], "it can be maintained");
        // Prepared, in the binary form.
        let prepared: Vec<Row> = admin.exec(&one, ()).expect("it can be prepared");
        assert_eq!(prepared.len(), 1);
        assert_eq!(prepared[0].columns_ref()[2].name_str(), "Readyset supported");

        run(&mut admin, &[&format!("CREATE CACHE mine FROM {id}")]);
        assert_eq!(line(&mut admin, "SHOW PROXIED QUERIES", REWRITTEN), None, "it has a cache");
        let cache = line(&mut admin, "SHOW CACHES", REWRITTEN).expect("it is listed");
        assert_eq!(cache[..2], [id.clone(), "mine".to_owned()]);
        assert!(error(&mut admin, &format!("CREATE CACHE other FROM {id}")).1.contains("'mine'"));
        run(&mut admin, &[&format!("CREATE CACHE IF NOT EXISTS other FROM {id}")]);
        assert!(error(&mut admin, "CREATE CACHE FROM q_0123456789abcdef").1.contains("no query"));
        assert!(error(&mut admin, &format!("CREATE CACHE FROM {}", never[0])).1.contains("never stored"));
        assert_eq!(
            error(&mut admin, "CREATE CACHE FROM nonsense, more").0,
            1064,
            "the server says what is wrong"
        );
        // What is listed, and what is exported, makes the same cache.
        let exported = rows(&mut admin, "EXPLAIN CACHES");
        let exported = exported.iter().flatten().find(|it| it.contains("`mine`")).unwrap().clone();
        run(&mut admin, &["DROP CACHE mine"]);
        assert_eq!(line(&mut admin, "SHOW CACHES", REWRITTEN), None);
        run(&mut admin, &[&exported]);
        assert_eq!(line(&mut admin, "SHOW CACHES", REWRITTEN).unwrap()[0], *id);
        run(&mut admin, &[&format!("DROP CACHE {id}"), "DROP CACHE IF EXISTS mine"]);
        assert!(error(&mut admin, "DROP CACHE mine").1.contains("no cache"));
    });
}

#[test]
fn results_that_a_change_drops_are_asked_for_again_before_anybody_asks() {
    let schema = "created_refreshed";
    with_stages(schema, &[], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let mut counted = Counted::of(freshet);
        counted.prime(&mut reader, READ).expect("it is answered");
        let mut admin = connect(freshet.target(), schema);
        let id = line(&mut admin, "SHOW PROXIED QUERIES", REWRITTEN).unwrap()[0].clone();
        run(&mut admin, &[&format!("CREATE SHALLOW CACHE FROM {id}")]);
        let refreshed = |admin: &mut Conn| -> u64 {
            line(admin, "SHOW CACHES", REWRITTEN).unwrap()[6].parse().expect("a number")
        };
        // What is stored already is the cache's from now on.
        eventually("it is asked for", || (refreshed(&mut admin) > 0).then_some(()));
        for round in 0..5 {
            let before = refreshed(&mut admin);
            let write = format!("UPDATE t SET v = {} WHERE id = 2", 100 + round);
            // Through us and around us.
            run(if round % 2 == 0 { direct } else { &mut admin }, &[&write]);
            eventually("it is asked for again", || (refreshed(&mut admin) > before).then_some(()));
            let expected = answer(direct, READ);
            assert_eq!(counted.hits_of(&mut reader, READ, 1), 1, "{:?}, round {round}", server.flavor);
            assert_eq!(answer(&mut reader, READ), expected);
        }
        // Without the cache nobody asks.
        run(&mut admin, &["DROP ALL CACHES", "UPDATE t SET v = 50 WHERE id = 2"]);
        caught_up(freshet);
        assert_eq!(counted.hits_of(&mut reader, READ, 1), 0);
    });
}

#[test]
fn what_is_refreshed_is_as_the_clients_session_would_have_it() {
    let schema = "created_sessions";
    with_stages(schema, &[], |server, direct, freshet| {
        let of_zone = "SELECT id, at FROM moments WHERE id = 1";
        run(direct, &["CREATE TABLE moments (id INT PRIMARY KEY, at TIMESTAMP NULL, s VARCHAR(9))"]);
        run(direct, &["INSERT INTO moments VALUES (1, '2026-01-01 00:00:00', 'ä')"]);
        caught_up(freshet);
        let mut admin = connect(freshet.target(), schema);
        let settings: [&[&str]; 3] = [
            &["SET time_zone = '+05:00'"],
            &["SET time_zone = '-03:00', sql_mode = 'ANSI_QUOTES'"],
            &["SET NAMES latin1", "SET div_precision_increment = 9"],
        ];
        let mut readers: Vec<Conn> = settings
            .iter()
            .map(|settings| {
                let mut reader = connect(freshet.target(), schema);
                run(&mut reader, settings);
                reader
            })
            .collect();
        run(&mut admin, &[&format!("CREATE SHALLOW CACHE zoned FROM {of_zone}")]);
        let mut counted = Counted::of(freshet);
        for reader in &mut readers {
            counted.prime(reader, of_zone).expect("it is answered");
        }
        let results = |admin: &mut Conn| -> (String, u64) {
            let cache = rows(admin, "SHOW CACHES").into_iter().find(|row| row[1] == "zoned").unwrap();
            (cache[5].clone(), cache[6].parse().unwrap())
        };
        assert_eq!(results(&mut admin).0, "3", "{:?}", server.flavor);
        let before = results(&mut admin).1;
        run(direct, &["UPDATE moments SET at = at + INTERVAL 1 HOUR WHERE id = 1"]);
        eventually("all are asked for again", || (results(&mut admin).1 >= before + 3).then_some(()));
        for (reader, settings) in readers.iter_mut().zip(settings) {
            assert_eq!(counted.hits_of(reader, of_zone, 1), 1, "{:?}: {settings:?}", server.flavor);
            let mut other = server.target.try_connect(schema).expect("a session on the server itself");
            run(&mut other, settings);
            assert_eq!(answer(reader, of_zone), answer(&mut other, of_zone), "{settings:?}");
        }
    });
}

#[test]
fn rights_that_are_taken_end_it_and_only_who_may_sees_and_changes_caches() {
    let schema = "created_rights";
    with_stages(schema, &[], |server, direct, freshet| {
        run(
            direct,
            &[
                &format!("DROP USER IF EXISTS {schema}"),
                &format!("CREATE USER {schema} IDENTIFIED BY ''"),
                &format!("GRANT SELECT ON {schema}.* TO {schema}"),
            ],
        );
        let Target { host, port, .. } = freshet.target();
        let reader =
            Target { host: host.clone(), port: *port, user: schema.to_owned(), password: String::new() };
        let mut theirs = connect(&reader, schema);
        for denied in ["SHOW PROXIED QUERIES", "SHOW CACHES", "DROP ALL CACHES", "EXPLAIN CACHES"] {
            assert_eq!(error(&mut theirs, denied).0, 1227, "{denied}, {:?}", server.flavor);
        }
        assert_eq!(error(&mut theirs, &format!("CREATE CACHE FROM {READ}")).0, 1227);
        let mut admin = connect(freshet.target(), schema);
        run(&mut admin, &[&format!("CREATE SHALLOW CACHE c FROM {READ}")]);
        let mut counted = Counted::of(freshet);
        counted.prime(&mut theirs, READ).expect("it is answered");
        assert_eq!(rows(&mut theirs, "EXPLAIN LAST STATEMENT"), [["readyset", "ok"]]);
        run(direct, &[&format!("REVOKE SELECT ON {schema}.* FROM {schema}")]);
        run(direct, &["UPDATE t SET v = 99 WHERE id = 1"]);
        caught_up(freshet);
        eventually("it is given up", || {
            let cache = rows(&mut admin, "SHOW CACHES").into_iter().find(|row| row[1] == "c").unwrap();
            (cache[5] == "0").then_some(())
        });
    });
}

#[test]
fn caches_are_there_after_a_restart() {
    let schema = "created_restart";
    let directory = std::env::temp_dir().join(format!("freshet-created-restart-{}", std::process::id()));
    let flags = ["--state-dir", directory.to_str().unwrap()];
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let _ = std::fs::remove_dir_all(&directory);
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR(20))"]);
        let first = Freshet::with(server, &flags);
        let mut admin = connect(first.target(), schema);
        let policy = "POLICY TTL 60 SECONDS REFRESH EVERY 20 SECONDS";
        run(&mut admin, &[&format!("CREATE CACHE {policy} ALWAYS kept FROM {READ}")]);
        let before = line(&mut admin, "SHOW CACHES", REWRITTEN).unwrap();
        drop(admin);
        first.stop();
        let second = Freshet::with(server, &flags);
        let mut admin = connect(second.target(), schema);
        let after = line(&mut admin, "SHOW CACHES", REWRITTEN).expect("it is there");
        assert_eq!(after[..4], before[..4]);
        assert_eq!(after[3], "shallow, ttl 60 s, refresh 20 s, always");
        assert_eq!(status(&mut admin, "Qcache_hits"), 0);
    });
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn clients_that_name_no_schema_get_that_of_the_servers_url() {
    let schema = "created_default";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
        run(
            &mut direct,
            &[&format!("DROP USER IF EXISTS {schema}"), &format!("CREATE USER {schema} IDENTIFIED BY ''")],
        );
        let freshet = Freshet::with(server, &["--upstream", &format!("{}{schema}", server.url)]);
        caught_up(&freshet);
        let mut counted = Counted::of(&freshet);
        for _ in 0..2 {
            let mut reader = freshet.target().connect();
            assert_eq!(rows(&mut reader, "SELECT DATABASE()"), [[schema]], "{:?}", server.flavor);
            counted.prime(&mut reader, "SELECT v FROM t WHERE id = 1").expect("it is answered");
        }
        let mut reader = freshet.target().connect();
        assert_eq!(counted.hits_of(&mut reader, "SELECT v FROM t WHERE id = 1", 1), 1);
        // Who names one has that, and who may not use it has none.
        let mut other = connect(freshet.target(), "mysql");
        assert_eq!(rows(&mut other, "SELECT DATABASE()"), [["mysql"]]);
        let Target { host, port, .. } = freshet.target();
        let without =
            Target { host: host.clone(), port: *port, user: schema.to_owned(), password: String::new() };
        assert_eq!(rows(&mut without.connect(), "SELECT DATABASE()"), [["NULL"]]);
    });
}

#[test]
fn tables_that_are_left_out_are_not_copied() {
    let schema = "created_tables";
    let kept = |freshet: &Freshet| {
        caught_up(freshet);
        let mut admin = connect(freshet.target(), schema);
        ["t", "u"].map(|table| {
            let explained =
                rows(&mut admin, &format!("EXPLAIN CREATE CACHE FROM SELECT v FROM {table} WHERE id = 1"));
            explained[0][3].clone()
        })
    };
    let left_out = |table: &str, setting: &str| format!("refreshed: {table}, which {setting} leaves out");
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, schema);
        for table in ["t", "u"] {
            run(&mut direct, &[&format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT)")]);
        }
        let only = Freshet::with(server, &["--replication-tables", &format!("other.*, {schema}.t")]);
        assert_eq!(kept(&only), ["maintained".to_owned(), left_out("u", "replication_tables")]);
        drop(only);
        let ignored = Freshet::with(server, &["--replication-tables-ignore", &format!("{schema}.t")]);
        assert_eq!(kept(&ignored), [left_out("t", "replication_tables_ignore"), "maintained".to_owned()]);
    });
}

/// A way to ask.
type Way = fn(&mut Conn) -> Vec<Row>;

/// How long an answer may be stale in the test of policies, in seconds.
const TTL: u64 = 3;

#[test]
fn by_a_policy_an_answer_is_given_until_its_time_is_over_and_no_other_is_stale() {
    let schema = "created_policy";
    with_stages(schema, &[], |server, direct, freshet| {
        let mut admin = connect(freshet.target(), schema);
        for (wrong, why) in [
            ("CREATE DEEP CACHE POLICY TTL 5 SECONDS", "of SHALLOW caches"),
            ("CREATE CACHE POLICY TTL 0 SECONDS", "TTL is from 1"),
            ("CREATE CACHE POLICY TTL 5 SECONDS REFRESH EVERY 6 SECONDS", "REFRESH from 1 to TTL"),
        ] {
            let said = error(&mut admin, &format!("{wrong} FROM {READ}")).1;
            assert!(said.contains(why), "{said}");
        }
        run(&mut admin, &[&format!("CREATE CACHE POLICY TTL {TTL} SECONDS aged FROM {READ}")]);
        let cache = line(&mut admin, "SHOW CACHES", REWRITTEN).unwrap();
        assert_eq!(cache[3], format!("shallow, ttl {TTL} s"));
        let exported = line(
            &mut admin,
            "EXPLAIN CACHES",
            &format!("CREATE SHALLOW CACHE POLICY TTL {TTL} SECONDS `aged` FROM {REWRITTEN}"),
        );
        assert!(exported.is_some(), "{:?}", rows(&mut admin, "EXPLAIN CACHES"));
        let bargains = |admin: &mut Conn| status(admin, "Freshet_ttl_hits");
        let by_name = format!("PREPARE s FROM '{}'", READ.replace('\'', "''"));
        let ways: [(&str, Way); 3] = [
            ("text", |conn| conn.query(READ).unwrap()),
            ("command", |conn| conn.exec(READ, ()).unwrap()),
            ("name", |conn| conn.query("EXECUTE s").unwrap()),
        ];
        for (number, (way, ask)) in ways.into_iter().enumerate() {
            let of = format!("{:?}, by {way}", server.flavor);
            let mut reader = connect(freshet.target(), schema);
            run(&mut reader, &[&by_name]);
            run(direct, &[&format!("UPDATE t SET v = {} WHERE id = 2", 20 + number)]);
            caught_up(freshet);
            let (first, began) = eventually("a bargain", || {
                let (before, began) = (bargains(&mut admin), std::time::Instant::now());
                let first = ask(&mut reader);
                let again = ask(&mut reader);
                assert_eq!(again, first, "{of}");
                (bargains(&mut admin) > before).then_some((first, began))
            });
            run(&mut reader, &["UPDATE t SET v = 1000 WHERE id = 2"]);
            let stale = (ask(&mut reader), began.elapsed());
            assert!(stale.1.as_secs() < TTL, "the machine is too slow for this test");
            assert_eq!(stale.0, first, "{of}: as it may be");
            let other = "SELECT v FROM t WHERE id = 2";
            assert_eq!(answer(&mut reader, other).unwrap(), [["1000"]], "{of}: another query's");
            run(&mut reader, &["BEGIN"]);
            assert_ne!(ask(&mut reader), first, "{of}: a transaction has one truth");
            run(&mut reader, &["COMMIT"]);
            std::thread::sleep(std::time::Duration::from_secs(TTL).saturating_sub(began.elapsed()));
            let fresh = ask(&mut reader);
            assert_ne!(fresh, first, "{of}: its time is over");
        }
        // Another policy, or none, begins anew.
        run(&mut admin, &["DROP CACHE aged", "UPDATE t SET v = 2000 WHERE id = 2"]);
        let mut reader = connect(freshet.target(), schema);
        let before = bargains(&mut admin);
        for _ in 0..3 {
            assert!(answer(&mut reader, READ).unwrap().iter().any(|row| row[1] == "2000"));
        }
        assert_eq!(bargains(&mut admin), before);
    });
}

#[test]
fn by_a_policy_answers_are_asked_for_again_in_the_background() {
    let schema = "created_policy_refresh";
    with_stages(schema, &[], |server, direct, freshet| {
        let mut admin = connect(freshet.target(), schema);
        // What has the time in it is stored as well; it is made anew by clients.
        let policy = "POLICY TTL 3600 SECONDS REFRESH EVERY 1 SECONDS";
        run(&mut admin, &[&format!("CREATE SHALLOW CACHE {policy} aged FROM {READ}")]);
        run(&mut admin, &[&format!("CREATE CACHE {policy} timed FROM SELECT id, NOW(6) FROM t")]);
        let cache = line(&mut admin, "SHOW CACHES", REWRITTEN).unwrap();
        assert_eq!(cache[3], "shallow, ttl 3600 s, refresh 1 s");
        let mut reader = connect(freshet.target(), schema);
        let timed = "SELECT id, NOW(6) FROM t";
        eventually("it is stored", || {
            (answer(&mut reader, timed) == answer(&mut reader, timed)).then_some(())
        });
        let before = answer(&mut reader, timed);
        eventually("a client makes it anew", || (answer(&mut reader, timed) != before).then_some(()));
        let mut counted = Counted::of(freshet);
        let is_by_policy = |admin: &mut Conn, reader: &mut Conn| {
            let before = status(admin, "Freshet_ttl_hits");
            let _ = answer(reader, READ);
            status(admin, "Freshet_ttl_hits") > before
        };
        eventually("it is stored", || is_by_policy(&mut admin, &mut reader).then_some(()));
        for round in 0..2 {
            run(direct, &[&format!("UPDATE t SET v = {} WHERE id = 2", 100 + round)]);
            let expected = answer(direct, READ);
            let refreshed = eventually("it is asked for again", || {
                assert_eq!(counted.hits_of(&mut reader, READ, 1), 1, "{:?}: nobody waits", server.flavor);
                let got = answer(&mut reader, READ);
                (got == expected).then_some(got)
            });
            assert_eq!(refreshed, expected);
        }
        assert!(line(&mut admin, "SHOW CACHES", REWRITTEN).unwrap()[6].parse::<u64>().unwrap() > 0);
    });
}
