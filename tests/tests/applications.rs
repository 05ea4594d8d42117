//! Applications that know nothing of Freshet, each a small shop as the manual of its framework has it, are answered from memory when
//! their pages are repeated, and always see their own writes.

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, tool, with_each};

/// Of 100 reads of pages that are repeated, how many have to come from memory.
const PERCENT_MIN: u64 = 90;

/// What a shop says of a phase: `NAME: reads R hits H`.
fn phase(line: &str) -> Option<(&str, u64, u64)> {
    let (name, counts) = line.split_once(": reads ")?;
    let (reads, hits) = counts.split_once(" hits ")?;
    Some((name, reads.parse().ok()?, hits.parse().ok()?))
}

/// Runs a shop through Freshet on each server, and holds what it says against what is promised.
fn hits_through(name: &str, program: &str, before: &[String]) {
    if !tool::is_there(program) {
        return;
    }
    with_each(|_, freshet| {
        let arguments = tool::arguments(freshet.target(), &format!("shop_{name}"), &[]);
        let said = tool::run(program, &[before, &arguments].concat());
        println!("{name}:\n{said}");
        assert!(!said.contains("STALE") && said.ends_with("done\n"), "{said}");
        let phases: Vec<_> = said.lines().filter_map(phase).collect();
        assert!(!phases.is_empty(), "{said}");
        for (phase, reads, hits) in phases {
            let is_enough = reads > 0 && hits * 100 >= reads * PERCENT_MIN;
            assert!(is_enough || !freshet.is_there(), "{name}, {phase}: {hits} of {reads} reads");
        }
    });
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().expect("paths are UTF-8").to_owned()
}

fn python(name: &str) {
    let python = text(tool::folder().join("python/bin/python"));
    let program = text(tool::sources().join(format!("python/{name}_shop.py")));
    hits_through(name, &python, &[program]);
}

#[test]
fn sqlalchemy() {
    python("sqlalchemy");
}

#[test]
fn django() {
    python("django");
}

#[test]
fn go_database_sql() {
    hits_through("go", &text(tool::folder().join("go/bin/shop")), &[]);
}

#[test]
fn node_mysql2_execute() {
    // Node looks for modules beside the script, so it is run from where they are installed.
    let installed = tool::folder().join("node");
    if std::fs::copy(tool::sources().join("node/shop.js"), installed.join("shop.js")).is_ok() {
        hits_through("node", "node", &[text(installed.join("shop.js"))]);
    } else {
        freshet_tests::leave_out("the modules of node are not installed; scripts/tools installs them");
    }
}

#[test]
fn java_hikari_connector_j() {
    let class_path = text(tool::folder().join("java/*"));
    let program = text(tool::sources().join("java/Shop.java"));
    hits_through("java", "java", &["-cp".into(), class_path, program]);
}

#[test]
fn php_pdo_native() {
    hits_through("php", "php", &[text(tool::sources().join("php/shop.php"))]);
}

/// Runs stock sysbench with no option changed but the connection and what bounds it, and gives how many reads it has made.
fn sysbench(freshet: &Freshet, command: &str) -> u64 {
    let target = freshet.target();
    let (port, user) = (target.port, &target.user);
    let words = format!(
        "oltp_point_select --db-driver=mysql --mysql-db=shop_sysbench --mysql-host={} --mysql-port={port} --mysql-user={user} \
         --mysql-password={} --tables=2 --table-size=50 --threads=2 --time=0 --events=4000 {command}",
        target.host, target.password
    );
    let report = tool::run("sysbench", &words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let reads = report.lines().find_map(|line| line.trim().strip_prefix("read:"));
    reads.and_then(|reads| reads.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn sysbench_point_select() {
    if !tool::is_there("sysbench") {
        return;
    }
    with_each(|server, freshet| {
        let mut direct = server.target.connect();
        run(&mut direct, &["DROP DATABASE IF EXISTS shop_sysbench", "CREATE DATABASE shop_sysbench"]);
        sysbench(freshet, "prepare");
        let mut counted = Counted::of(freshet);
        eventually("all of sysbench's reads are answered from memory", || {
            let before = counted.hits();
            let reads = sysbench(freshet, "run");
            let is_all = reads > 0 && counted.hits() - before == reads;
            (is_all || !freshet.is_there()).then_some(())
        });
        run(&mut direct, &["DROP DATABASE shop_sysbench"]);
    });
}

/// What pools and frameworks set when they hand a connection out or take it back, in the words of some.
const CHECKOUTS: &[&[&str]] = &[
    &["SET AUTOCOMMIT = 0", "SET AUTOCOMMIT = 1"],
    &["SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"],
    &["SET NAMES utf8mb4", "SET sql_mode='STRICT_TRANS_TABLES'", "SET time_zone='+00:00'"],
    &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"],
];
const VISITS: u64 = 20;

#[test]
fn settings_at_each_checkout_are_read_once() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "shop_checkout");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
        let mut counted = Counted::of(freshet);
        for checkout in CHECKOUTS {
            let mut reader = connect(freshet.target(), "shop_checkout");
            // As the server counts: a value in an expression is not put right.
            let of = match server.flavor {
                Flavor::MariaDb => "information_schema.SESSION_STATUS",
                Flavor::MySql => "performance_schema.session_status",
            };
            let asked = format!("SELECT VARIABLE_VALUE + 0 FROM {of} WHERE VARIABLE_NAME = 'Questions'");
            let questions = |reader: &mut mysql::Conn| {
                let value = answer(reader, &asked).expect("status is shown")[0][0].clone();
                value.parse::<u64>().expect("a number")
            };
            run(&mut reader, checkout);
            let _ = counted.prime(&mut reader, "SELECT id FROM t");
            // What several settings in a row lead to is known once that was read.
            run(&mut reader, checkout);
            answer(&mut reader, "SELECT id FROM t").expect("the table is there");
            let before = (counted.hits(), questions(&mut reader));
            for _ in 0..VISITS {
                run(&mut reader, checkout);
                answer(&mut reader, "SELECT id FROM t").expect("the table is there");
            }
            let seen = (counted.hits(), questions(&mut reader));
            assert!(
                seen == (before.0 + VISITS, before.1 + VISITS * checkout.len() as u64 + 1)
                    || !freshet.is_there(),
                "{checkout:?}: {seen:?} after {before:?}"
            );
        }
        run(&mut direct, &["DROP DATABASE shop_checkout"]);
    });
}
