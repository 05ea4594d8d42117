//! Writes that never reach the binlog, made through Freshet with `sql_log_bin = 0`: others see them, and they do not get
//! in the way of those that do.

use freshet_tests::cached::{Counted, answer, connect, fresh_schema, run};
use freshet_tests::{Flavor, with_each};

use crate::freshness::cases::seen_in_time;
use crate::freshness::steps::{Execute, Prepare, Run, Say, Step, walk};

/// More than the bytes of any transaction below, so that a position moved on by each would be beyond it.
const UNLOGGED: u32 = 1500;

#[test]
fn a_logged_write_after_many_unlogged_ones_is_seen() {
    const READ: &str = "SELECT v FROM w WHERE id = 1";
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_unlogged_many");
        run(
            &mut direct,
            &[
                "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
                "INSERT INTO w VALUES (1, 0)",
                "CREATE TABLE un (id INT)",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_unlogged_many");
        let mut script = connect(freshet.target(), "fresh_unlogged_many");
        run(&mut script, &["SET sql_log_bin = 0"]);
        for version in 1..=3 {
            for _ in 0..UNLOGGED {
                run(&mut script, &["INSERT INTO un VALUES (1)"]);
            }
            // All of them cost nobody the cache.
            let _ = counted.prime(&mut reader, READ);
            let rows = format!("{}", UNLOGGED * version);
            assert_eq!(answer(&mut reader, "SELECT COUNT(*) FROM un"), Ok(vec![vec![rows]]));
            run(&mut direct, &[&format!("UPDATE w SET v = {version}")]);
            let wanted = Ok(vec![vec![version.to_string()]]);
            seen_in_time(&mut reader, READ, &wanted).expect("in time");
            let _ = counted.prime(&mut reader, READ);
            assert_eq!(answer(&mut reader, READ), wanted);
            // One through Freshet, logged.
            let mut writer = connect(freshet.target(), "fresh_unlogged_many");
            run(&mut writer, &["UPDATE w SET v = v + 100"]);
            let wanted = Ok(vec![vec![(version + 100).to_string()]]);
            for _ in 0..3 {
                assert_eq!(answer(&mut reader, READ), wanted);
            }
            run(&mut writer, &[&format!("UPDATE w SET v = {version}")]);
        }
    });
}

const OFF: Step<'static> = Say("SET sql_log_bin = 0");
const CASES: &[&[Step<'static>]] = &[
    &[OFF, Say("INSERT INTO w VALUES (2)")],
    &[OFF, Execute("INSERT INTO w VALUES (2)")],
    &[Prepare("INSERT INTO w VALUES (2)"), OFF, Run],
    &[Execute("SET sql_log_bin = 0"), Say("INSERT INTO w VALUES (2)")],
    &[Say("/* x */ SET SESSION sql_log_bin = OFF"), Say("INSERT INTO w VALUES (2)")],
    &[Say("SET @@session.sql_log_bin = 0, @a = 1"), Say("INSERT INTO w VALUES (2)")],
    &[Say("SET sql_log_bin = 0; INSERT INTO w VALUES (2); SET sql_log_bin = 1")],
    &[Say("PREPARE s FROM 'SET sql_log_bin = 0'"), Say("EXECUTE s"), Say("INSERT INTO w VALUES (2)")],
    &[Say("SET query_cache_type = 1, sql_log_bin = 0"), Say("INSERT INTO w VALUES (2)")],
    &[OFF, Say("BEGIN"), Say("INSERT INTO w VALUES (2)"), Say("COMMIT")],
    &[OFF, Say("BEGIN"), Say("INSERT INTO w VALUES (2)"), Say("selec"), Say("COMMIT")],
    &[OFF, Say("BEGIN"), Say("INSERT INTO w VALUES (2)"), Say("ROLLBACK")],
    &[OFF, Say("SET autocommit = 0"), Say("INSERT INTO w VALUES (2)"), Say("SET autocommit = 1")],
    &[OFF, Say("INSERT INTO w VALUES (2), (1)")],
    &[OFF, Say("INSERT INTO w VALUES (2)"), Say("SET sql_log_bin = 1"), Say("INSERT INTO w VALUES (3)")],
    &[OFF, Say("CALL pw()")],
    &[OFF, Say("CALL pw_fails()")],
    &[OFF, Say("DO fw()")],
    &[OFF, Say("SELECT fw()")],
    &[OFF, Say("INSERT INTO src VALUES (1)")],
    &[OFF, Say("INSERT INTO vw VALUES (2)")],
    &[OFF, Say("TRUNCATE TABLE w")],
    &[OFF, Say("ALTER TABLE w ADD COLUMN x INT DEFAULT 5")],
    &[OFF, Say("RENAME TABLE w TO w2, spare TO w")],
    &[OFF, Say("DROP TABLE w")],
    &[OFF, Say("DELETE FROM p WHERE id = 1")],
    &[Say("SET NAMES utf8mb4"), OFF, Say("SET NAMES utf8mb4"), Say("INSERT INTO w VALUES (2)")],
];
const ON_MARIADB: &[&[Step<'static>]] = &[
    &[Say("SET STATEMENT sql_log_bin = 0 FOR INSERT INTO w VALUES (2)")],
    &[Say("BEGIN NOT ATOMIC SET sql_log_bin = 0; INSERT INTO w VALUES (2); END")],
    &[OFF, Say("BEGIN NOT ATOMIC INSERT INTO w VALUES (2); END")],
    &[Say("CALL poff()"), Say("INSERT INTO w VALUES (2)")],
];

const READS: [&str; 2] = ["SELECT * FROM w ORDER BY id", "SELECT id, p FROM c ORDER BY id"];

fn set_up(engine: &str) -> Vec<String> {
    [
        "DROP TABLE IF EXISTS c, p, w, w2, spare, src",
        &format!("CREATE TABLE w (id INT PRIMARY KEY) ENGINE={engine}"),
        "INSERT INTO w VALUES (1)",
        "CREATE TABLE spare (id INT PRIMARY KEY)",
        "INSERT INTO spare VALUES (77)",
        "CREATE TABLE src (id INT)",
        "CREATE TRIGGER tr AFTER INSERT ON src FOR EACH ROW INSERT INTO w VALUES (9)",
        "CREATE OR REPLACE VIEW vw AS SELECT id FROM w",
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO c VALUES (11, 1)",
    ]
    .map(ToOwned::to_owned)
    .to_vec()
}

const ROUTINES: &[&str] = &[
    "SET GLOBAL log_bin_trust_function_creators = 1",
    "CREATE PROCEDURE pw() INSERT INTO w VALUES (2)",
    "CREATE PROCEDURE pw_fails() BEGIN INSERT INTO w VALUES (2); SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; END",
    "CREATE PROCEDURE poff() SET sql_log_bin = 0",
    "CREATE FUNCTION fw() RETURNS INT BEGIN INSERT INTO w VALUES (2); RETURN 1; END",
];

#[test]
fn an_unlogged_write_is_seen_by_all() {
    with_each(|server, freshet| {
        const SCHEMA: &str = "fresh_unlogged";
        let mut direct = fresh_schema(server, SCHEMA);
        let own: &[&[Step<'_>]] = if server.flavor == Flavor::MariaDb { ON_MARIADB } else { &[] };
        if server.flavor == Flavor::MySql {
            // It does not let a routine do so.
            run(&mut direct, &[ROUTINES[0], ROUTINES[1], ROUTINES[2], ROUTINES[4]]);
        } else {
            run(&mut direct, ROUTINES);
        }
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), SCHEMA);
        let mut wrong = Vec::new();
        for (engine, steps) in ["InnoDB", "MyISAM"]
            .iter()
            .flat_map(|engine| CASES.iter().chain(own).map(move |steps| (engine, steps)))
        {
            let set_up = set_up(engine);
            run(&mut direct, &set_up.iter().map(String::as_str).collect::<Vec<_>>());
            for read in READS {
                seen_in_time(&mut reader, read, &answer(&mut direct, read)).expect("in time");
                let _ = counted.prime(&mut reader, read);
            }
            let answers = walk(&mut connect(freshet.target(), SCHEMA), steps);
            for read in READS {
                let wanted = answer(&mut direct, read);
                for time in 0..3 {
                    let got = answer(&mut reader, read);
                    if got != wanted {
                        wrong.push(format!(
                            "{engine} {steps:?} {answers:?}: {got:?} instead of {wanted:?} (time {time})"
                        ));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}
