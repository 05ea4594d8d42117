//! The program itself: what it refuses, how it starts, how it ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::time::{Duration, Instant};

use freshet_tests::cached::{await_asleep, connect, eventually, fresh_schema};
use freshet_tests::{Freshet, freshet, with_each};
use mysql::prelude::Queryable;
use rustix::process::Signal;

fn run(flags: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = freshet::command();
    command.args(flags).envs(environment.iter().copied());
    command.output().expect("freshet runs")
}

fn refused(flags: &[&str], environment: &[(&str, &str)]) -> String {
    let output = run(flags, environment);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

const URL: (&str, &str) = ("UPSTREAM_DB_URL", "mysql://u:sesame@127.0.0.1:1/");

#[test]
fn a_bad_setting_is_refused_wherever_it_stands() {
    let said = refused(&[], &[]);
    assert!(said.starts_with("freshet: upstream is not set"), "{said}");
    let said = refused(&["--query-cache-size", "1000"], &[URL]);
    assert!(
        said.contains("query_cache_size from flag --query-cache-size: \"1000\" is not allowed"),
        "{said}"
    );
    let said = refused(&[], &[URL, ("FRESHET_MAX_CLIENTS", "none")]);
    assert!(said.contains("max_clients from environment variable FRESHET_MAX_CLIENTS: \"none\""), "{said}");
    let said = refused(&[], &[("UPSTREAM_DB_URL", "mysql://u:sesame@127.0.0.1:port/")]);
    assert!(said.contains("upstream") && !said.contains("sesame"), "{said}");
    let file = std::env::temp_dir().join(format!("freshet-test-{}.toml", std::process::id()));
    std::fs::write(&file, "query_cache_sise = 1\n").expect("a file can be written");
    let path = file.to_str().expect("paths are UTF-8");
    let said = refused(&["--config", path], &[URL]);
    assert!(said.contains("\"query_cache_sise\"") && said.contains(path), "{said}");
    std::fs::remove_file(&file).expect("the file is there");
    let said = refused(&["--config", path], &[URL]);
    assert!(said.contains("config") && said.contains(path), "{said}");
}

#[test]
fn help_and_reference_name_every_setting() {
    for flags in [&["--help"][..], &["settings"]] {
        let output = run(flags, &[]);
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        for flag in ["--upstream", "--listen", "--query-cache-size", "--drain-timeout", "--log-format"] {
            assert!(said.contains(flag), "{flag} is missing in:\n{said}");
        }
    }
    let reference = String::from_utf8_lossy(&run(&["settings"], &[]).stdout).into_owned();
    let page = include_str!("../../docs/settings.md");
    assert!(page.ends_with(&reference), "docs/settings.md is not what `freshet settings` says");
    assert_eq!(run(&["--no-such-flag"], &[]).status.code(), Some(2));
}

#[test]
fn it_starts_and_ends_without_a_server() {
    let mut command = freshet::command();
    command.env("UPSTREAM_DB_URL", "mysql://u:p@127.0.0.1:1/").env("LISTEN_ADDRESS", "127.0.0.1:0");
    let freshet = Freshet::start(command);
    let mut client = TcpStream::connect(("127.0.0.1", freshet.target().port)).expect("it listens");
    client.set_read_timeout(Some(Duration::from_secs(15))).expect("a timeout can be set");
    // An error packet or the end, but never a silence.
    let mut said = Vec::new();
    client.read_to_end(&mut said).expect("it ends what it cannot serve");
    assert!(said.is_empty() || said[4] == 0xff, "{said:?}");
    freshet.stop();
}

#[test]
fn one_client_too_many_is_told_so() {
    with_each(|server, direct| {
        if !direct.is_there() {
            return;
        }
        let freshet = Freshet::with(server, &["--max-clients", "2"]);
        let first = freshet.target().connect();
        let _second = freshet.target().connect();
        match freshet.target().try_connect("") {
            Err(mysql::Error::MySqlError(error)) => {
                assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"))
            }
            other => panic!("a third client was not refused: {:?}", other.err()),
        }
        drop(first);
        let until = Instant::now() + Duration::from_secs(10);
        while freshet.target().try_connect("").is_err() {
            assert!(Instant::now() < until, "a place that was given up is not given away");
        }
    });
}

#[test]
fn a_shutdown_lets_a_statement_finish_and_sends_idle_clients_away() {
    with_each(|server, direct| {
        if !direct.is_there() {
            return;
        }
        let freshet = Freshet::with(server, &["--drain-timeout", "20s"]);
        let mut idle = freshet.target().connect();
        drop(fresh_schema(server, "program_drain"));
        let mut busy = connect(freshet.target(), "program_drain");
        let statement = std::thread::spawn(move || {
            busy.query_first::<u8, _>("SELECT SLEEP(3)").map_err(|e| e.to_string())
        });
        await_asleep(freshet.target(), "program_drain");
        freshet.signal(Signal::TERM);
        assert!(freshet.wait().success());
        assert_eq!(statement.join().expect("no panic"), Ok(Some(0)));
        assert!(idle.query_drop("DO 1").is_err());
    });
}

#[test]
fn a_second_signal_ends_it_at_once() {
    with_each(|server, direct| {
        if !direct.is_there() {
            return;
        }
        let freshet = Freshet::with(server, &["--drain-timeout", "1h"]);
        drop(fresh_schema(server, "program_twice"));
        let mut busy = connect(freshet.target(), "program_twice");
        let statement = std::thread::spawn(move || busy.query_drop("SELECT SLEEP(20)").is_err());
        await_asleep(freshet.target(), "program_twice");
        let started = Instant::now();
        freshet.signal(Signal::INT);
        // Two of the same signal at once are one.
        eventually("the first is heard", || freshet.log().contains("shutting down").then_some(()));
        freshet.signal(Signal::INT);
        assert!(freshet.wait().success());
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(statement.join().expect("no panic"), "the statement cannot have come to its end");
    });
}

#[test]
fn noise_instead_of_a_login_harms_nobody() {
    with_each(|_, freshet| {
        if !freshet.is_there() {
            return;
        }
        let address = ("127.0.0.1", freshet.target().port);
        for noise in [&b""[..], b"\x00", b"\xff\xff\xff\x01", b"GET / HTTP/1.1\r\n\r\n", &[0; 70_000]] {
            let mut client = TcpStream::connect(address).expect("it listens");
            let _ = client.write_all(noise);
        }
        let one: Option<u8> = freshet.target().connect().query_first("SELECT 1").expect("it still serves");
        assert_eq!(one, Some(1));
    });
}

/// As ProxySQL prints it, without any setting.
#[test]
fn a_digest_is_printed() {
    let output = run(&["digest", "SELECT c FROM sbtest1  WHERE id=4711"], &[]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "0xBF001A0C13781C1D SELECT c FROM sbtest1 WHERE id=?\n");
}

/// What `explain-plan` says of a view is the same on both servers but for their collations.
const EXPLAINED: &str = "\
verdict
  cacheable
digest text
  SELECT c.name,SUM(b.total) FROM customers c JOIN big b ON b.customer = c.id WHERE c.id IN (?,?) GROUP BY c.name
tables
  program_explain.customers: id integer(32), name text(30) ascii_general_ci
  program_explain.big: a view
  program_explain.orders: id integer(32) unsigned, customer integer(32), total decimal(10,2)
depends on
  program_explain.customers: rows with id IN (1, 2), all columns
  program_explain.big: what its text reads
  program_explain.orders: rows with customer IN (1, 2) AND total > 100, all columns
plan
  project c#0.name, sum[b#1.total]
    aggregate by [c#0.name]
      filter =(b#1.customer, c#0.id), in(c#0.id, 1, 2)
        product
          scan customers c#0 (id int not null, name varchar(30) ascii_general_ci)
          derived big b#1 (customer int, total decimal(10,2))
            project orders#2.customer, orders#2.total
              filter >(orders#2.total, 100)
                scan orders#2 (customer int, total decimal(10,2))
";

#[test]
fn a_statement_is_explained() {
    with_each(|server, _| {
        let mut direct = fresh_schema(server, "program_explain");
        for statement in [
            "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(30) CHARACTER SET ascii)",
            "CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, customer INT, total DECIMAL(10,2), KEY (customer))",
            "CREATE VIEW big AS SELECT customer, total FROM orders WHERE total > 100",
        ] {
            direct.query_drop(statement).expect(statement);
        }
        let url = format!("{}program_explain", server.url);
        let explain = |statement: &str| {
            let output = run(&["explain-plan", statement], &[("UPSTREAM_DB_URL", &url)]);
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let statement = "SELECT c.name, SUM(b.total) FROM customers c JOIN big b ON b.customer = c.id \
                         WHERE c.id IN (1, 2) GROUP BY c.name";
        assert_eq!(explain(statement), (Some(0), EXPLAINED.to_owned()));
        let (code, said) = explain("SELECT * FROM orders WHERE id = 7 LIMIT 3");
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("project orders#0.id, orders#0.customer, orders#0.total\n"), "{said}");
        assert!(
            said.contains("scan orders#0 (id int unsigned not null, customer int, total decimal(10,2))\n"),
            "{said}"
        );
        let (code, said) = explain("SELECT NOW(), id FROM orders");
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("never cached: NOW") && said.contains("no plan: "), "{said}");
        let (code, said) = explain("SELECT id FROM no_such_table");
        assert!(code == Some(3) && said.contains("does not exist"), "{said}");
    });
    let output = run(&["explain-plan", "SELECT 1"], &[URL]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("sesame"));
    assert_eq!(run(&["explain-plan"], &[URL]).status.code(), Some(2));
}

#[test]
fn advice_is_printed_as_the_table_has_it() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut admin = freshet.target().connect();
        // A size that it advises to change.
        admin.query_drop("SET GLOBAL query_cache_size = 0").expect("it is set");
        let listen = format!("127.0.0.1:{}", freshet.target().port);
        // What was counted goes on between the two.
        let said = eventually("it prints what the table has", || {
            let output = run(&["advise"], &[("UPSTREAM_DB_URL", &server.url), ("LISTEN_ADDRESS", &listen)]);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(0), "{said}");
            let rows = "SELECT topic, verdict, found, advice, statement FROM freshet.advice";
            let rows: Vec<(String, String, String, String, Option<String>)> =
                admin.query(rows).expect("it is given");
            let shown = rows.into_iter().map(|(topic, verdict, found, advice, statement)| {
                let statement = statement.map(|statement| format!("    {statement};\n")).unwrap_or_default();
                format!("{topic}: {verdict}\n    {found}\n    {advice}\n{statement}")
            });
            (shown.collect::<String>() == said).then_some(said)
        });
        assert!(said.contains("    SET GLOBAL query_cache_size = "), "{said}");
        for topic in ["buffer pool: ", "reads and writes: ", "size: change\n"] {
            assert!(said.lines().any(|line| format!("{line}\n").starts_with(topic)), "{topic} of {said}");
        }
    });
    let output = run(&["advise"], &[URL, ("LISTEN_ADDRESS", "127.0.0.1:1")]);
    assert_eq!(output.status.code(), Some(1));
}

/// It reads no definition before a statement needs it.
#[test]
fn it_is_ready_at_once_before_a_server_with_a_thousand_tables() {
    const TABLES: usize = 1_000;
    const STARTS: usize = 5;
    /// It takes less than 100 ms; others use this machine too.
    const READY_MAX: Duration = Duration::from_millis(300);
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, "program_tables");
        for table in 0..TABLES {
            let columns = "id INT PRIMARY KEY, a INT, b VARCHAR(100), c DATETIME, KEY (a)";
            direct.query_drop(format!("CREATE TABLE t{table} ({columns})")).expect("it is made");
        }
        let starts = (0..STARTS).map(|_| {
            let begun = Instant::now();
            let freshet = Freshet::with(server, &[]);
            let ready = begun.elapsed();
            let mut conn = connect(freshet.target(), "program_tables");
            let none: Option<u32> = conn.query_first("SELECT a FROM t999 WHERE id = 1").expect("an answer");
            let answered = begun.elapsed();
            assert_eq!(none, None);
            freshet.stop();
            (ready, answered)
        });
        let (ready, answered) = starts.min().expect("there are some");
        println!("{:?}: ready after {ready:?}, the first answer after {answered:?}", server.flavor);
        direct.query_drop("DROP DATABASE program_tables").expect("it is dropped");
        assert!(ready < READY_MAX, "{:?}: {ready:?}", server.flavor);
    });
}
