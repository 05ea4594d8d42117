//! Who reads after a write was acknowledged reads what it wrote, though the binlog says so later: the write was fenced,
//! in whatever form it came and whatever went wrong beside it.
//!
//! The binlog stream is held up here, so that nothing but the fence can be the reason.

use freshet_tests::cached::{Counted, answer, caught_up, connect, fresh_schema, run};
use freshet_tests::lag::with_each_late;
use freshet_tests::{Flavor, Freshet, Server};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::freshness::steps::{ChangeUser, Execute, InitDb, Ping, Prepare, Run, Say, Step, walk};

const OWN: &str = "fresh_fenced";
const OTHER: &str = "fresh_fenced_other";
const READS: [&str; 4] = [
    "SELECT id, v FROM fresh_fenced.w ORDER BY id",
    "SELECT v FROM fresh_fenced.w WHERE id = 1",
    "SELECT v FROM fresh_fenced_other.w WHERE id = 1",
    "SELECT id, v FROM fresh_fenced.my ORDER BY id",
];

const SETUP: &[&str] = &[
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE my (id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
    "CREATE TABLE k (id INT PRIMARY KEY)",
    "INSERT INTO k VALUES (1)",
    "CREATE TABLE src (id INT)",
    "CREATE TRIGGER t1 AFTER INSERT ON src FOR EACH ROW UPDATE w SET v = v + 1 WHERE id = 1",
    "CREATE TABLE src_fails (id INT)",
    "CREATE TRIGGER t2 BEFORE INSERT ON src_fails FOR EACH ROW BEGIN UPDATE my SET v = v + 1; SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; END",
    "CREATE PROCEDURE pw() UPDATE w SET v = v + 1 WHERE id = 1",
    "CREATE PROCEDURE pw_1064() BEGIN UPDATE w SET v = v + 1; SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; END",
    "CREATE PROCEDURE pw_parse() BEGIN UPDATE w SET v = v + 1; PREPARE z FROM 'selec'; END",
    "CREATE PROCEDURE pw_45000() BEGIN UPDATE w SET v = v + 1; SIGNAL SQLSTATE '45000'; END",
    "CREATE PROCEDURE pw_commits() BEGIN START TRANSACTION; UPDATE w SET v = v + 1; COMMIT; SELECT 1; END",
    "CREATE FUNCTION fw() RETURNS INT BEGIN UPDATE w SET v = v + 1; RETURN 1; END",
    "CREATE FUNCTION fmy() RETURNS INT BEGIN UPDATE my SET v = v + 1; SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; RETURN 1; END",
    "CREATE VIEW vw AS SELECT id, v FROM w",
    "CREATE VIEW `пё` AS SELECT fw() AS f",
];

/// In a schema whose name in KOI8-R has the bytes of another name in UTF-8.
const IN_KOI8R: &[&str] = &[
    "CREATE TABLE src (id INT)",
    "CREATE TRIGGER t1 AFTER INSERT ON src FOR EACH ROW UPDATE fresh_fenced.w SET v = v + 1 WHERE id = 1",
];

const W: &str = "UPDATE w SET v = v + 1 WHERE id = 1";
const ERRORS: &[&[Step<'static>]] = &[
    &[Say("selec")],
    &[Say("SELECT nothing FROM w")],
    &[Say("SELECT * FROM nothing")],
    &[Say("INSERT INTO k VALUES (1)")],
    &[Say("INSERT INTO w VALUES (1, 0)")],
    &[Execute("INSERT INTO k VALUES (1)")],
    &[Say("CALL nothing()")],
    &[Say("CALL pw_45000()")],
    &[Say("CALL pw_1064()")],
    &[Say("SELECT nothing()")],
    &[Say("SET nothing = 1")],
    &[Say("SIGNAL SQLSTATE '45000'")],
    &[Say("EXECUTE nothing")],
    &[Say("PREPARE s FROM 'selec'")],
    &[Say("USE nothing")],
    &[InitDb("nothing")],
    &[Say("SELECT 1; selec")],
    &[Say("SAVEPOINT a"), Say("INSERT INTO k VALUES (1)"), Say("ROLLBACK TO a")],
    &[Say("ROLLBACK TO nothing")],
    &[Say("selec"), Ping, Say("SELECT 1"), Say("SHOW WARNINGS")],
    &[Say("START TRANSACTION READ nothing")],
];

const WRITES: &[&[Step<'static>]] = &[
    &[Say(W)],
    &[Execute(W)],
    &[Say("UPDATE { oj w LEFT JOIN (SELECT 1 AS one) k2 ON w.id = k2.one } SET w.v = w.v + 1")],
    &[Say("UPDATE vw SET v = v + 1")],
    &[Say("INSERT INTO src VALUES (1)")],
    &[Execute("INSERT INTO src VALUES (1)")],
    // The schema is that of the time when the text was read.
    &[Prepare(W), Say("USE fresh_fenced_other"), Run],
    &[Prepare(W), InitDb(OTHER), Run],
    &[Prepare(W), InitDb(OTHER), Run, InitDb(OWN), Run],
    &[InitDb(OTHER), Prepare(W), InitDb(OWN), Run],
    &[InitDb(OTHER), Say(W)],
    &[Say("USE fresh_fenced_other; UPDATE w SET v = v + 1; USE fresh_fenced")],
    &[Say("USE fresh_fenced_other; UPDATE w SET v = v + 1")],
    &[ChangeUser(OTHER), Say(W)],
    &[ChangeUser(OTHER), Execute(W), ChangeUser(OWN), Say(W)],
    &[Say("USE fresh_fenced_other"), Say("BEGIN"), Say(W), Say("USE fresh_fenced"), Say("COMMIT")],
    &[Prepare("USE fresh_fenced_other"), Say(W)],
    // A temporary table that is not there, or no more, takes no write away.
    &[Say("CREATE TEMPORARY TABLE w (id INT, nonsense nonsense)"), Say(W)],
    &[Say("CREATE TEMPORARY TABLE w (id INT PRIMARY KEY) SELECT 1 AS id UNION ALL SELECT 1"), Say(W)],
    &[Say("CREATE TEMPORARY TABLE w (id INT, v INT)"), Say("ALTER TABLE w RENAME TO els"), Say(W)],
    &[Say("CREATE TEMPORARY TABLE w (id INT, v INT)"), Say("DROP TEMPORARY TABLE w"), Say(W)],
    &[Say("CREATE TEMPORARY TABLE w (id INT, v INT)"), Say("DROP TEMPORARY TABLE w, nothing"), Say(W)],
    &[
        Say("CREATE TEMPORARY TABLE w (id INT, v INT)"),
        Prepare("DROP TEMPORARY TABLE w"),
        Say("USE fresh_fenced_other"),
        Run,
        Say("USE fresh_fenced"),
        Say(W),
    ],
    &[Prepare("CREATE TEMPORARY TABLE w (id INT, v INT)"), InitDb(OTHER), Run, Say(W)],
    // An error raised while something ran.
    &[Say("CALL pw()")],
    &[Execute("CALL pw()")],
    &[Say("CALL pw_1064()")],
    &[Execute("CALL pw_1064()")],
    &[Say("CALL pw_parse()")],
    &[Say("CALL pw_45000()")],
    &[Say("/* selec */ CALL pw_1064()")],
    &[Say("(SELECT 1); CALL pw_1064()")],
    &[Say("PREPARE s FROM 'CALL pw_1064()'"), Say("EXECUTE s")],
    &[Say("UPDATE w SET v = v + 1; selec")],
    &[Execute("SELECT fw()")],
    &[Say("SELECT fmy()")],
    &[Say("DO fmy()")],
    &[Say("SET @x = fmy()")],
    &[Say("INSERT INTO src_fails VALUES (1)")],
    &[Say("INSERT INTO my VALUES (100, 1), (1, 1)")],
    &[Say("BEGIN"), Say("INSERT INTO my VALUES (101, 1), (1, 1)")],
    &[Say("BEGIN"), Say("UPDATE my SET v = v + 1")],
    &[Say("BEGIN"), Say("UPDATE my SET v = v + 1"), Say("ROLLBACK")],
    // Commits in other words.
    &[Say("BEGIN"), Say(W), Say("CALL pw_commits()")],
    &[Say("CALL pw_commits()")],
    &[Say("BEGIN"), Say(W), Say("COMMIT AND CHAIN"), Say("ROLLBACK")],
    &[Say("BEGIN"), Say(W), Say("ROLLBACK AND CHAIN"), Say(W), Say("COMMIT AND CHAIN")],
    &[Say("BEGIN"), Say(W), Say("START TRANSACTION")],
    &[Say("BEGIN"), Say(W), Say("SET autocommit = 1"), Say("COMMIT")],
    &[Say("SET autocommit = 0"), Say(W), Say("SET @@session.autocommit = on")],
    &[Say("SET autocommit = 0"), Execute(W), Execute("COMMIT")],
    &[Say("BEGIN"), Say(W), Say("LOCK TABLES k READ")],
    &[Say("BEGIN"), Say(W), Say("CREATE TABLE IF NOT EXISTS k (id INT)")],
    &[Say("BEGIN"), Say(W), Say("ANALYZE TABLE k")],
    &[Say("BEGIN; UPDATE w SET v = v + 1; COMMIT")],
    &[Say("BEGIN; UPDATE w SET v = v + 1"), Say("COMMIT; selec")],
    &[Say("PREPARE c FROM 'COMMIT'"), Say("BEGIN"), Say(W), Say("EXECUTE c")],
    &[Say("XA START 'fenced1'"), Say(W), Say("XA END 'fenced1'"), Say("XA COMMIT 'fenced1' ONE PHASE")],
    &[
        Say("XA START 'fenced2'"),
        Say(W),
        Say("XA END 'fenced2'"),
        Say("XA PREPARE 'fenced2'"),
        Say("XA COMMIT 'fenced2'"),
    ],
    &[
        Say("XA START 'fenced3'"),
        Say(W),
        Say("selec"),
        Say("XA END 'fenced3'"),
        Say("XA PREPARE 'fenced3'"),
        Say("selec"),
        Say("XA COMMIT 'fenced3'"),
    ],
    // Texts that must be read as the session's settings say.
    &[Say("SET sql_mode = 'ANSI_QUOTES'"), Say("UPDATE \"w\" SET v = v + 1")],
    &[Say("SET sql_mode = 'NO_BACKSLASH_ESCAPES'"), Say("UPDATE w SET v = v + 1 WHERE '\\' <> ' OR 1 = 1'")],
    &[Say("SET NAMES latin1"), Say("UPDATE `w` SET v = v + 1 WHERE 'é' <> \"\\\"\"")],
    // What is `У` in UTF-8 is another name in KOI8-R, and what is a letter of UTF-8 opens a comment in MacRoman.
    &[Say("SET NAMES koi8r"), Say("USE `У`"), Say("INSERT INTO src VALUES (1)")],
    &[Say("SET NAMES koi8r"), Say("USE `У`"), Say("SELECT 1 FROM src"), Say("INSERT INTO src VALUES (1)")],
    &[Say("SET NAMES koi8r"), InitDb("У"), Say("INSERT INTO src VALUES (1)")],
    &[Say("SET NAMES koi8r"), Say("SELECT 1 FROM k"), Say("INSERT INTO `У`.src VALUES (1)")],
    &[Say("SET NAMES koi8r"), Say("SELECT 1 FROM k"), Say("INSERT IGNORE INTO k SELECT * FROM `У`")],
    &[
        Say("SET NAMES macroman"),
        Say("SELECT 1 FROM k"),
        Say("SELECT id FROM k WHERE id = 1 --ˀ '\n AND fw() -- '"),
    ],
];

const ON_MARIADB: &[&[Step<'static>]] = &[
    // MySQL renames no temporary table in this way.
    &[Say("CREATE TEMPORARY TABLE w (id INT, v INT)"), Say("RENAME TABLE w TO els"), Say(W)],
    &[Say("SET STATEMENT max_statement_time = 10 FOR UPDATE w SET v = v + 1")],
    &[Say("BEGIN NOT ATOMIC UPDATE w SET v = v + 1; SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; END")],
    &[Say("EXECUTE IMMEDIATE 'UPDATE w SET v = v + 1'")],
    &[Say("ANALYZE UPDATE w SET v = v + 1")],
    &[Say("DELETE FROM w WHERE id = 1 RETURNING v")],
];
const ON_MYSQL: &[&[Step<'static>]] = &[
    &[Say("WITH c AS (SELECT 1) UPDATE w SET v = v + 1")],
    &[Say("EXPLAIN ANALYZE SELECT fw()")],
    &[Say("UPDATE /*+ SET_VAR(sort_buffer_size = 16M) */ w SET v = v + 1")],
];

struct Stage<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    direct: Conn,
    reader: Conn,
    counted: Counted,
    wrong: Vec<String>,
    changed: usize,
}

impl<'a> Stage<'a> {
    fn before(server: &'a Server, freshet: &'a Freshet) -> Stage<'a> {
        let mut direct = fresh_schema(server, OTHER);
        for xid in ["fenced1", "fenced2", "fenced3"] {
            let _ = answer(&mut direct, &format!("XA ROLLBACK '{xid}'"));
        }
        run(
            &mut direct,
            &["CREATE TABLE w (id INT PRIMARY KEY, v INT)", "SET GLOBAL log_bin_trust_function_creators = 1"],
        );
        run(&mut fresh_schema(server, OWN), SETUP);
        run(&mut fresh_schema(server, "пё"), IN_KOI8R);
        let reader = connect(freshet.target(), OWN);
        let counted = Counted::of(freshet);
        Stage { server, freshet, direct, reader, counted, wrong: Vec::new(), changed: 0 }
    }

    fn try_case(&mut self, steps: &[Step<'_>]) {
        run(
            &mut self.direct,
            &[
                "REPLACE INTO fresh_fenced.w VALUES (1, 1000), (2, 2000)",
                "REPLACE INTO fresh_fenced_other.w VALUES (1, 3000)",
                "DELETE FROM fresh_fenced.my",
                "REPLACE INTO fresh_fenced.my VALUES (1, 4000)",
            ],
        );
        let truth = READS.map(|read| answer(&mut self.direct, read));
        // The writes around it have been seen, and all is answered from memory.
        for (read, truth) in READS.iter().zip(&truth) {
            crate::freshness::cases::seen_in_time(&mut self.reader, read, truth).expect("in time");
            let _ = self.counted.prime(&mut self.reader, read);
        }
        let mut writer = connect(self.freshet.target(), OWN);
        let answers = walk(&mut writer, steps);
        let seen = READS.map(|read| answer(&mut self.reader, read));
        let wanted = READS.map(|read| answer(&mut self.direct, read));
        if seen != wanted {
            self.wrong.push(format!("{steps:?}: {seen:?} instead of {wanted:?} (it was told {answers:?})"));
        }
        self.changed += usize::from(wanted != truth);
    }
}

#[test]
fn a_write_that_was_acknowledged_is_seen_though_its_event_is_late() {
    with_each_late(|server, freshet| {
        let mut stage = Stage::before(server, freshet);
        let mut cases: Vec<Vec<Step<'_>>> = WRITES.iter().map(|steps| steps.to_vec()).collect();
        for error in ERRORS {
            cases.push([&[Say("BEGIN"), Say(W)], *error, &[Say("COMMIT")]].concat());
            cases.push([&[Say("SET autocommit = 0"), Execute(W)], *error, &[Execute("COMMIT")]].concat());
        }
        let own = if stage.server.flavor == Flavor::MariaDb { ON_MARIADB } else { ON_MYSQL };
        cases.extend(own.iter().map(|steps| steps.to_vec()));
        for steps in &cases {
            stage.try_case(steps);
        }
        assert!(stage.wrong.is_empty(), "{:?}:\n{}", server.flavor, stage.wrong.join("\n"));
        assert!(stage.changed * 10 >= cases.len() * 9, "only {} of {} wrote", stage.changed, cases.len());
    });
}

/// With EMPTY_STRING_IS_NULL, an empty string is NULL where it is stored and where `<=>` compares it.
const EMPTY: &[&str] = &[
    "INSERT INTO e VALUES (3, '')",
    "UPDATE e SET a = '' WHERE a = 'x'",
    "UPDATE e SET a = 'z' WHERE a <=> ''",
    "DELETE FROM e WHERE a <=> ''",
];
const NULLS: [&str; 3] = [
    "SELECT id FROM e WHERE a IS NULL",
    "SELECT id FROM e WHERE a <=> NULL",
    "SELECT id FROM e WHERE a = 'x'",
];

#[test]
fn an_empty_string_that_is_null() {
    with_each_late(|server, freshet| {
        if server.flavor != Flavor::MariaDb {
            return;
        }
        let mut direct = fresh_schema(server, "fresh_empty");
        run(&mut direct, &["CREATE TABLE e (id INT PRIMARY KEY, a VARCHAR(5))"]);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_empty");
        for prepared in [false, true] {
            for write in EMPTY {
                run(
                    &mut direct,
                    &["REPLACE INTO e VALUES (1, 'x'), (2, NULL), (4, 'y')", "DELETE FROM e WHERE id = 3"],
                );
                NULLS.iter().for_each(|read| drop(counted.prime(&mut reader, read)));
                let mut writer = connect(freshet.target(), "fresh_empty");
                run(&mut writer, &["SET sql_mode = 'EMPTY_STRING_IS_NULL'"]);
                match prepared {
                    true => {
                        let text = write.replace("''", "?");
                        writer.exec_drop(text, ("",)).expect("it writes");
                    }
                    false => run(&mut writer, &[write]),
                }
                for read in NULLS {
                    let wanted = answer(&mut direct, read);
                    assert_eq!(answer(&mut reader, read), wanted, "{write}, prepared: {prepared}, {read}");
                }
            }
        }
        let read = "SELECT id FROM e WHERE a <=> ''";
        run(&mut reader, &["SET sql_mode = 'EMPTY_STRING_IS_NULL'"]);
        let before = counted.prime(&mut reader, read);
        run(&mut connect(freshet.target(), "fresh_empty"), &["UPDATE e SET a = NULL WHERE a = 'y'"]);
        assert_ne!(answer(&mut reader, read), before);
    });
}

/// None of these changes a row.
const NO_ROW: &[&str] = &[
    "UPDATE n SET v = v WHERE id = 2",
    "UPDATE n SET v = 7 WHERE id = 77",
    "DELETE FROM n WHERE id = 77",
    "INSERT IGNORE INTO n VALUES (2, 0, 0)",
    "INSERT INTO n SELECT * FROM n WHERE id = 77",
    "UPDATE n JOIN n AS m ON m.id = n.id + 50 SET n.v = 0",
];
/// The first two find a row, and leave it as it is; a trigger has written elsewhere.
const NO_ROW_BUT: &[&str] = &["UPDATE tn SET v = v WHERE id = 1", "UPDATE tmy SET v = v WHERE id = 1"];

#[test]
fn a_write_that_changed_no_row_bars_nobody_after_its_answer() {
    with_each_late(|server, freshet| {
        let schema = "fresh_no_row";
        let mut direct = fresh_schema(server, schema);
        let log = |engine: &str| {
            format!("CREATE TABLE log{engine} (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE={engine}")
        };
        let trigger = |table: &str, engine: &str| {
            format!(
                "CREATE TRIGGER on_{table} AFTER UPDATE ON {table} FOR EACH ROW INSERT INTO log{engine} () VALUES ()"
            )
        };
        run(
            &mut direct,
            &[
                "CREATE TABLE n (id INT PRIMARY KEY, v INT, w INT, KEY (w))",
                "INSERT INTO n VALUES (1, 1, 10), (2, 2, 20)",
                &log("InnoDB"),
                &log("MyISAM"),
                "CREATE TABLE tn (id INT PRIMARY KEY, v INT)",
                "CREATE TABLE tmy (id INT PRIMARY KEY, v INT)",
                "INSERT INTO tn VALUES (1, 1)",
                "INSERT INTO tmy VALUES (1, 1)",
                &trigger("tn", "InnoDB"),
                &trigger("tmy", "MyISAM"),
            ],
        );
        let (mut reader, mut writer) = (connect(freshet.target(), schema), connect(freshet.target(), schema));
        let mut counted = Counted::of(freshet);
        // Definitions that come later would end what is stored.
        caught_up(freshet);
        let read = "SELECT v FROM n WHERE w = 10";
        let _ = counted.prime(&mut reader, read);
        for write in NO_ROW {
            for prepared in [false, true] {
                match prepared {
                    true => writer.exec_drop(*write, ()).expect("it writes nothing"),
                    false => run(&mut writer, &[write]),
                }
                let hits = counted.hits_of(&mut reader, read, 1);
                assert_eq!(hits, 1, "{:?}: {write}, prepared: {prepared}", server.flavor);
            }
        }
        // Not before its end is a transaction over.
        run(
            &mut writer,
            &["BEGIN", "UPDATE n SET v = v + 1 WHERE id = 1", "UPDATE n SET v = v WHERE id = 2", "COMMIT"],
        );
        assert_eq!(answer(&mut reader, read), answer(&mut direct, read), "{:?}", server.flavor);
        for write in NO_ROW_BUT {
            let reads = ["SELECT COUNT(*) FROM logInnoDB", "SELECT COUNT(*) FROM logMyISAM"];
            reads.iter().for_each(|read| drop(counted.prime(&mut reader, read)));
            // MySQL with GTIDs refuses to write both kinds of tables in one statement.
            let is_refused = server.flavor == Flavor::MySql && write.starts_with("UPDATE tmy");
            assert_eq!(answer(&mut writer, write).err(), is_refused.then_some(1785), "{write}");
            for read in reads {
                assert_eq!(
                    answer(&mut reader, read),
                    answer(&mut direct, read),
                    "{:?}: {write}, {read}",
                    server.flavor
                );
            }
        }
    });
}
