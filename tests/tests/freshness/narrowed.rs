//! Fences that stand on less than everything: what would be stale if one of them were narrowed too far. The stream is held up,
//! so that it is the fences alone that keep a reader from what was stored before.

use freshet_tests::cached::{Answer, Counted, answer, connect, eventually, run};
use freshet_tests::{Flavor, Freshet, Target};
use mysql::Conn;

use crate::freshness::levels::with_stall;
use crate::freshness::steps::{Execute, Say, Step, walk};

const READ: &str = "SELECT v FROM t WHERE id = 1";
const SCHEMA: &str = "narrowed";

/// What is said before the stream is held up, and what after that: it sets `v` of row 1.
struct Case {
    on: Option<Flavor>,
    before: &'static [Step<'static>],
    held: &'static [Step<'static>],
}

const fn case(before: &'static [Step<'static>], held: &'static [Step<'static>]) -> Case {
    Case { on: None, before, held }
}

const fn mysql(before: &'static [Step<'static>], held: &'static [Step<'static>]) -> Case {
    Case { on: Some(Flavor::MySql), before, held }
}

const fn mariadb(held: &'static [Step<'static>]) -> Case {
    Case { on: Some(Flavor::MariaDb), before: &[], held }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case(&[Say("PREPARE s FROM 'UPDATE t SET v = 7 WHERE id = 1'")], &[Say("EXECUTE s")]),
    case(&[Say("PREPARE s FROM 'SELECT 1'"), Say("EXECUTE s")], &[Say("PREPARE S FROM 'UPDATE t SET v = 7'"), Say("EXECUTE s")]),
    case(&[Say("PREPARE s FROM 'SELECT 1'"), Say("SET @u = 'UPDATE t SET v = 7'")], &[Say("PREPARE s FROM @u"), Say("EXECUTE s")]),
    case(&[Say("PREPARE s FROM 'SELECT 1'")], &[Say("SELECT 1; PREPARE s FROM 'UPDATE t SET v = 7'"), Say("EXECUTE s")]),
    case(&[Say("PREPARE s FROM 'SELECT 1'"), Say("CALL prepares()")], &[Say("EXECUTE s")]),
    case(&[Say("PREPARE s FROM 'CALL writes()'")], &[Say("EXECUTE s")]),
    case(&[Say("CREATE TABLE IF NOT EXISTS other (id INT)")], &[Say("x; UPDATE t SET v = 7"), Say("UPDATE t SET v = 7; x")]),
    case(&[], &[Say("BEGIN"), Say("UPDATE t SET v = 7"), Say("x"), Say("COMMIT")]),
    case(&[], &[Say("BEGIN"), Say("UPDATE t SET v = 7"), Say("CREATE TABLE t (id INT)")]),
    case(&[], &[Say("BEGIN"), Say("UPDATE t SET v = 7"), Say("DROP TABLE nothing")]),
    case(&[], &[Say("SET autocommit = 0"), Say("UPDATE t SET v = 7"), Say("DROP TABLE nothing"), Say("SET autocommit = 1")]),
    case(&[], &[Execute("UPDATE t SET v = 7"), Say("INSERT INTO t VALUES (1, 1)")]),
    case(&[Say("DROP PROCEDURE IF EXISTS later"), Say("CALL later()")], &[Say("CREATE PROCEDURE later() UPDATE t SET v = 7"), Say("CALL later()")]),
    case(&[], &[Say("RENAME TABLE t TO t0, spare TO t"), Say("RENAME TABLE t TO spare, t0 TO t"), Say("UPDATE t SET v = 7")]),
    case(&[], &[Say("CREATE TRIGGER tr BEFORE INSERT ON src FOR EACH ROW UPDATE t SET v = 7"), Say("INSERT INTO src VALUES (1)")]),
    case(&[], &[Say("CREATE TRIGGER tr BEFORE INSERT ON src FOR EACH ROW UPDATE t SET v = 7; INSERT INTO src VALUES (1)")]),
    case(&[], &[Say("ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES par (id) ON UPDATE CASCADE"), Say("UPDATE par SET id = 7")]),
    case(&[], &[Say("REPLACE INTO t VALUES (1, 7)")]),
    case(&[], &[Execute("REPLACE t SET v = 7, id = 1")]),
    case(&[], &[Say("INSERT INTO t VALUES (2, 5), (1, 5) ON DUPLICATE KEY UPDATE v = 7")]),
    case(&[], &[Say("INSERT INTO t VALUES (2 - 1, 5) ON DUPLICATE KEY UPDATE v = 7")]),
    case(&[], &[Say("BEGIN"), Say("REPLACE INTO t VALUES (1, 7)"), Say("COMMIT")]),
    case(&[], &[Say("UPDATE t SET v = 7 WHERE id = 1 AND id IN (SELECT id FROM spare)")]),
    case(&[], &[Say("UPDATE t SET v = (SELECT v + 2 FROM spare WHERE id = 1) WHERE id = 1")]),
    case(&[], &[Say("UPDATE t SET v = 7 WHERE id = (SELECT id FROM spare) AND v < (SELECT 5)")]),
    case(&[Say("DELETE FROM t WHERE id = 2")], &[Say("UPDATE t SET v = 7 WHERE id = 2 OR EXISTS (SELECT 1 FROM spare WHERE id = 1)")]),
    // Another key than the primary one makes row 1 stand in the way.
    case(&[Say("ALTER TABLE t ADD COLUMN u INT AS (id + 10) STORED UNIQUE")], &[Say("INSERT INTO t (id, v) VALUES (1, 3) ON DUPLICATE KEY UPDATE v = 7")]),
    case(&[Say("ALTER TABLE t ADD COLUMN u INT UNIQUE"), Say("UPDATE t SET u = id + 10")], &[Say("INSERT INTO t VALUES (9, 3, 11) ON DUPLICATE KEY UPDATE v = 7")]),
    case(&[Say("ALTER TABLE t ADD COLUMN u INT, ADD UNIQUE (u, v)"), Say("UPDATE t SET u = id + 10")], &[Say("INSERT INTO t VALUES (9, 0, 11) ON DUPLICATE KEY UPDATE v = 7")]),
    mysql(&[Say("ALTER TABLE t ADD UNIQUE ((id + v))")], &[Say("INSERT INTO t VALUES (0, 1) ON DUPLICATE KEY UPDATE v = 7")]),
    mariadb(&[Say("EXECUTE IMMEDIATE 'UPDATE t SET v = 7'")]),
    mariadb(&[Say("BEGIN NOT ATOMIC UPDATE t SET v = 6; UPDATE t SET v = 7; END")]),
    mariadb(&[Say("BEGIN NOT ATOMIC UPDATE t SET v = 7; INSERT INTO t VALUES (1, 1); END")]),
    mariadb(&[Say("BEGIN NOT ATOMIC START TRANSACTION; UPDATE t SET v = 7; COMMIT; START TRANSACTION; END"), Say("ROLLBACK")]),
    mariadb(&[Say("IF 1 = 1 THEN CALL writes(); END IF")]),
    mariadb(&[Say("WHILE 1 = 0 DO DELETE FROM t; END WHILE"), Say("REPEAT UPDATE t SET v = 7; UNTIL 1 END REPEAT")]),
];

const SETUP: &[&str] = &[
    "DROP TRIGGER IF EXISTS tr",
    "DROP TABLE IF EXISTS t, t0, spare, src, par",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 0), (2, 0)",
    "CREATE TABLE spare (id INT PRIMARY KEY, v INT)",
    "INSERT INTO spare VALUES (1, 5)",
    "CREATE TABLE src (id INT)",
    "CREATE TABLE par (id INT PRIMARY KEY)",
    "INSERT INTO par VALUES (0)",
    "DROP PROCEDURE IF EXISTS writes",
    "DROP PROCEDURE IF EXISTS prepares",
    "CREATE PROCEDURE writes() UPDATE t SET v = 7",
    "CREATE PROCEDURE prepares() BEGIN PREPARE s FROM 'UPDATE t SET v = 7'; END",
];

fn one(text: &str) -> Answer {
    Ok(vec![vec![text.to_owned()]])
}

#[test]
fn what_is_fenced_by_less_than_everything_is_not_stale() {
    with_stall(SCHEMA, &[], |server, freshet, stall, mut direct| {
        let mut counted = Counted::of(freshet);
        let mut wrong = Vec::new();
        for case in CASES.iter().filter(|case| case.on.is_none_or(|flavor| flavor == server.flavor)) {
            run(&mut direct, SETUP);
            let mut writer = connect(freshet.target(), SCHEMA);
            let mut reader = connect(freshet.target(), SCHEMA);
            walk(&mut writer, case.before);
            eventually("what was stored before is gone", || {
                (counted.prime(&mut reader, READ) == one("0")).then_some(())
            });
            // The first reading makes the way to tell its rows apart, by which a later one is stored.
            run(&mut reader, &["RESET QUERY CACHE"]);
            assert_eq!(counted.prime(&mut reader, READ), one("0"));
            stall.hold();
            let answers = walk(&mut writer, case.held);
            let wanted = answer(&mut direct, READ);
            let got = [answer(&mut reader, READ), answer(&mut writer, READ)];
            stall.release();
            if wanted != one("7") || got != [one("7"), one("7")] {
                wrong.push(format!("{:?} {answers:?}: {got:?} instead of {wanted:?}", case.held));
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}

fn as_user(target: &Target, user: &str) -> Target {
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

fn reader_of(freshet: &Freshet, user: &str, first: &[&str]) -> Conn {
    let mut reader = connect(&as_user(freshet.target(), user), SCHEMA_RIGHTS);
    run(&mut reader, first);
    reader
}

const SCHEMA_RIGHTS: &str = "narrowed_rights";

/// Rights are fenced by account. Who reads by a role's rights, or by those of a view's definer, is not forgotten.
#[test]
fn a_right_that_is_taken_away_is_gone_at_once() {
    with_stall(SCHEMA_RIGHTS, &[], |_, freshet, stall, mut direct| {
        let _ = answer(&mut direct, "DROP ROLE narrowed_role");
        run(
            &mut direct,
            &[
                "DROP USER IF EXISTS narrowed_a, narrowed_b, narrowed_definer",
                "CREATE USER narrowed_a IDENTIFIED BY 'pw'",
                "CREATE USER narrowed_b IDENTIFIED BY 'pw'",
                "CREATE USER narrowed_definer IDENTIFIED BY 'pw'",
                "CREATE ROLE narrowed_role",
                "GRANT SELECT ON narrowed_rights.t TO narrowed_a, narrowed_role, narrowed_definer",
                "GRANT narrowed_role TO narrowed_b",
                "CREATE DEFINER = narrowed_definer VIEW w AS SELECT id, v FROM t",
                "GRANT SELECT ON narrowed_rights.w TO narrowed_a, narrowed_b",
            ],
        );
        let mut counted = Counted::of(freshet);
        let cases: [(&str, &[&str], &str, &str); 3] = [
            ("narrowed_a", &[], READ, "REVOKE SELECT ON narrowed_rights.t FROM 'narrowed_a'@'%'"),
            (
                "narrowed_b",
                &["SET ROLE narrowed_role"],
                READ,
                "REVOKE SELECT ON narrowed_rights.t FROM narrowed_role",
            ),
            (
                "narrowed_b",
                &[],
                "SELECT v FROM w WHERE id = 2",
                "REVOKE SELECT ON narrowed_rights.t FROM narrowed_definer",
            ),
        ];
        for (user, first, read, revoke) in cases {
            let mut admin = connect(freshet.target(), SCHEMA_RIGHTS);
            let mut reader = reader_of(freshet, user, first);
            assert_eq!(counted.prime(&mut reader, read), one("0"), "{revoke}");
            stall.hold();
            run(&mut admin, &[revoke]);
            let refused = [answer(&mut reader, read), answer(&mut reader, read)];
            stall.release();
            assert!(refused.iter().all(Result::is_err), "{revoke}: {refused:?}");
        }
        run(
            &mut direct,
            &["DROP VIEW w", "DROP ROLE narrowed_role", "DROP USER narrowed_a, narrowed_b, narrowed_definer"],
        );
    });
}

/// What an account may write at most is believed only while no right is being changed.
#[test]
fn an_account_that_could_write_nothing_is_fenced_as_soon_as_it_may() {
    const SCHEMA: &str = "narrowed_bounds";
    with_stall(SCHEMA, &[], |_, freshet, stall, mut direct| {
        run(
            &mut direct,
            &[
                "DROP USER IF EXISTS narrowed_reads",
                "CREATE USER narrowed_reads IDENTIFIED BY 'pw'",
                "GRANT SELECT ON narrowed_bounds.* TO narrowed_reads",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut admin = connect(freshet.target(), SCHEMA);
        let mut reader = connect(freshet.target(), SCHEMA);
        let mut client = connect(&as_user(freshet.target(), "narrowed_reads"), SCHEMA);
        // It is known by now as one that may not.
        let hidden = ["SET @u = 'UPDATE t SET v = 7 WHERE id = 1'", "PREPARE s FROM @u", "EXECUTE s"];
        assert_eq!(hidden.map(|text| answer(&mut client, text)).map(|it| it.is_err()), [false, true, true]);
        assert!(answer(&mut client, "DROP TABLE t").is_err());
        assert_eq!(counted.prime(&mut reader, READ), one("0"));
        stall.hold();
        run(&mut admin, &["GRANT UPDATE ON narrowed_bounds.* TO narrowed_reads"]);
        // What is granted for a schema is looked at when it is chosen.
        client.select_db(SCHEMA).expect("it may");
        let said = hidden.map(|text| answer(&mut client, text));
        let got = answer(&mut reader, READ);
        stall.release();
        assert_eq!((got, said.iter().all(Result::is_ok)), (one("7"), true), "{said:?}");
        run(&mut direct, &["DROP USER narrowed_reads"]);
    });
}
