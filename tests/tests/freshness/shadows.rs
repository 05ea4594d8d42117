//! A session's temporary table hides the permanent one from that session alone, however it came about, and for exactly
//! as long as it is there.

use freshet_tests::cached::{Counted, answer, caught_up, connect, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;

use crate::freshness::steps::{ChangeUser, Execute, InitDb, Prepare, Reset, Run, Say, Step, walk};

const SETUP: &[&str] = &[
    "CREATE TABLE w (id INT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO w VALUES (1, 'base')",
    "CREATE TABLE calm (id INT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO calm VALUES (1, 'calm')",
    "CREATE TABLE un (id INT)",
    "CREATE VIEW vw AS SELECT id, v FROM w",
    // Tables whose triggers make the temporary table, in each of the ways, and some of which then fail.
    "CREATE TABLE by_select (id INT PRIMARY KEY)",
    "CREATE TRIGGER t1 BEFORE INSERT ON by_select FOR EACH ROW CREATE TEMPORARY TABLE IF NOT EXISTS w SELECT 1 AS id, 'temporary' AS v",
    "CREATE TABLE by_rows (id INT PRIMARY KEY)",
    "CREATE TRIGGER t2 AFTER INSERT ON by_rows FOR EACH ROW BEGIN CREATE TEMPORARY TABLE w (id INT, v VARCHAR(20)); INSERT INTO w VALUES (1, 'temporary'); END",
    "CREATE TABLE by_failure (id INT PRIMARY KEY)",
    "CREATE TRIGGER t3 BEFORE INSERT ON by_failure FOR EACH ROW BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SIGNAL SQLSTATE '45000'; END",
    "CREATE TABLE by_update (id INT PRIMARY KEY)",
    "INSERT INTO by_update VALUES (1)",
    "CREATE TRIGGER t4 BEFORE UPDATE ON by_update FOR EACH ROW CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v",
    "CREATE FUNCTION mk() RETURNS INT BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS w SELECT 1 AS id, 'temporary' AS v; RETURN 1; END",
    "CREATE FUNCTION rm() RETURNS INT BEGIN DROP TEMPORARY TABLE w; RETURN 1; END",
    "CREATE FUNCTION mk_fails() RETURNS INT BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SIGNAL SQLSTATE '45000'; RETURN 1; END",
    "CREATE PROCEDURE pmk() BEGIN CREATE TEMPORARY TABLE w (id INT, v VARCHAR(20)); INSERT INTO w VALUES (1, 'temporary'); END",
    "CREATE PROCEDURE pmk_rows() BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SELECT 1; END",
    "CREATE PROCEDURE pmk_nested() CALL pmk()",
    "CREATE PROCEDURE pmk_prepared() BEGIN PREPARE x FROM 'CREATE TEMPORARY TABLE w SELECT 1 AS id, ''temporary'' AS v'; EXECUTE x; END",
    "CREATE PROCEDURE pmk_1064() BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; END",
    "CREATE PROCEDURE pmk_45000() BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SIGNAL SQLSTATE '45000'; END",
    "CREATE PROCEDURE pmk_parse() BEGIN CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; PREPARE z FROM 'selec'; END",
    "CREATE PROCEDURE prm() DROP TEMPORARY TABLE w",
    "CREATE PROCEDURE untold() SET SESSION session_track_state_change = 0",
];

const MAKE: &str = "CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v";
const MAKE_EMPTY: &str = "CREATE TEMPORARY TABLE w (id INT, v VARCHAR(20))";
const FILL: &str = "INSERT INTO w VALUES (1, 'temporary')";
const MAKE_ELSE: &str = "CREATE TEMPORARY TABLE els SELECT 1 AS id, 'temporary' AS v";
const OTHER: &str = "fresh_shadows_other";
const OWN: &str = "fresh_shadows";

const MADE: &[&[Step<'static>]] = &[
    &[Say(MAKE)],
    &[Say(MAKE_EMPTY), Say(FILL)],
    &[Say("CREATE TEMPORARY TABLE w LIKE calm"), Say(FILL)],
    &[Say("CREATE TEMPORARY TABLE w (LIKE calm)"), Say(FILL)],
    &[Say("CREATE TEMPORARY TABLE IF NOT EXISTS w (id INT, v VARCHAR(20))"), Say(FILL)],
    &[Say(
        "CREATE TEMPORARY TABLE IF NOT EXISTS `fresh_shadows` . `w` AS (SELECT 1 AS id, 'temporary' AS v)",
    )],
    &[Say("/* x */ create\ttemporary/**/table -- y\n w SELECT 1 AS id, 'temporary' AS v")],
    &[Say("/*!50000 CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v */")],
    &[Say("CREATE /*!50000 TEMPORARY */ TABLE w SELECT 1 AS id, 'temporary' AS v")],
    &[Say("SELECT 1; CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SELECT 2")],
    &[Say("CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; selec")],
    &[Say("CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; SELECT nothing")],
    &[Execute(MAKE)],
    &[Prepare(MAKE), Say("SELECT 1"), Run],
    &[
        Say("PREPARE s FROM 'CREATE TEMPORARY TABLE w SELECT 1 AS id, ''temporary'' AS v'"),
        Say("EXECUTE s"),
        Say("DEALLOCATE PREPARE s"),
    ],
    &[Say("BEGIN"), Say(MAKE), Say("ROLLBACK")],
    &[Say("BEGIN"), Say(MAKE_EMPTY), Say(FILL), Say("ROLLBACK")],
    &[Say("SET autocommit = 0"), Say(MAKE), Say("COMMIT"), Say("SET autocommit = 1")],
    &[Say("SET NAMES utf8mb4"), Say(MAKE)],
    &[
        Say("SET sql_mode = 'ANSI_QUOTES'"),
        Say("CREATE TEMPORARY TABLE \"w\" SELECT 1 AS id, 'temporary' AS v"),
    ],
    &[
        Say("USE fresh_shadows_other"),
        Say("CREATE TEMPORARY TABLE fresh_shadows.w SELECT 1 AS id, 'temporary' AS v"),
    ],
    &[Prepare("SELECT v FROM w WHERE id = 1"), Say(MAKE), Run],
    // Which of the two it is called by does not show in the statement that makes it.
    &[Say(MAKE_ELSE), Say("ALTER TABLE els RENAME TO w")],
    &[Say(MAKE_ELSE), Say("ALTER TABLE els RENAME w")],
    &[Say(MAKE_ELSE), Say("ALTER TABLE els RENAME AS w, ADD COLUMN x INT")],
    &[Say(MAKE_ELSE), Say("ALTER TABLE els RENAME fresh_shadows.w")],
    &[Say(MAKE_ELSE), Execute("ALTER TABLE els RENAME TO w")],
    &[Say(MAKE_ELSE), Say("ALTER TABLE els RENAME TO more"), Say("ALTER TABLE more RENAME TO w")],
    &[
        Say("CREATE TEMPORARY TABLE fresh_shadows_other.w SELECT 1 AS id, 'temporary' AS v"),
        Say("ALTER TABLE fresh_shadows_other.w RENAME TO fresh_shadows.w"),
    ],
    &[
        Say("CREATE TEMPORARY TABLE fresh_shadows_other.w SELECT 1 AS id, 'temporary' AS v"),
        Say("ALTER TABLE fresh_shadows_other.w RENAME TO w"),
    ],
    // Which schema an unqualified name is in is decided when the text is read.
    &[Say("USE fresh_shadows_other; CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v")],
    &[Say(
        "USE fresh_shadows_other; CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; USE fresh_shadows",
    )],
    &[Prepare(MAKE), Say("USE fresh_shadows_other"), Run],
    &[Prepare(MAKE), InitDb(OTHER), Run],
    &[Prepare(MAKE), InitDb(OTHER), Run, InitDb(OWN)],
    &[InitDb(OTHER), Say(MAKE), InitDb(OWN)],
    &[InitDb(OTHER), Say(MAKE)],
    &[Say("USE fresh_shadows_other"), Say(MAKE)],
    &[Say("USE fresh_shadows_other"), Prepare(MAKE), Say("USE fresh_shadows"), Run],
    &[Prepare(MAKE), ChangeUser(OTHER), Run],
    &[ChangeUser(OTHER), Say(MAKE)],
    &[ChangeUser(OTHER), Say(MAKE), Say("USE fresh_shadows")],
    &[ChangeUser(OTHER), ChangeUser(OWN), Say(MAKE)],
    &[Prepare("USE fresh_shadows_other"), Say(MAKE)],
];

const MADE_BY_ROUTINES: &[&[Step<'static>]] = &[
    &[Say("INSERT INTO by_select VALUES (1)")],
    &[Execute("INSERT INTO by_select VALUES (2)")],
    &[Say("INSERT INTO by_select VALUES (3), (3)")],
    &[Say("INSERT IGNORE INTO by_select VALUES (4), (4)")],
    &[Say("REPLACE INTO by_select VALUES (5)")],
    &[Say("BEGIN"), Say("INSERT INTO by_select VALUES (6)"), Say("ROLLBACK")],
    &[Say("INSERT INTO by_rows VALUES (1)")],
    &[Say("INSERT INTO by_failure VALUES (1)")],
    &[Execute("INSERT INTO by_failure VALUES (1)")],
    &[Say("UPDATE by_update SET id = id")],
    &[Say("UPDATE un, by_update SET by_update.id = by_update.id")],
    &[Say("SELECT mk()")],
    &[Say("SELECT fresh_shadows . mk()")],
    &[Execute("SELECT mk()")],
    &[Say("SELECT mk_fails()")],
    &[Say("DO mk()")],
    &[Say("SET @x = mk()")],
    &[Say("SELECT * FROM un WHERE mk() = 1")],
    &[Say("INSERT INTO un VALUES (mk())")],
    &[Say("UPDATE calm SET v = 'calm' WHERE id = mk()")],
    &[Say("DELETE FROM un WHERE id > mk() + 100")],
    &[Say("SELECT mk() FROM calm FOR UPDATE")],
    &[Say("SELECT mk() INTO @y")],
    &[Say("SELECT RAND() > 2 FROM calm WHERE mk() = 1")],
    &[Say("SHOW TABLES WHERE mk() = 1")],
    &[Say("EXPLAIN SELECT * FROM (SELECT mk()) x")],
    &[Say("CALL pmk()")],
    &[Execute("CALL pmk()")],
    &[Say("CALL fresh_shadows.pmk()")],
    &[Say("CALL pmk_rows()")],
    &[Say("CALL pmk_nested()")],
    &[Say("CALL pmk_prepared()")],
    &[Say("CALL pmk_1064()")],
    &[Execute("CALL pmk_1064()")],
    &[Say("CALL pmk_45000()")],
    &[Say("CALL pmk_parse()")],
    &[Say("SELECT 1; CALL pmk_1064()")],
    &[Say("/* selec */ CALL pmk_1064()")],
    &[Say("PREPARE s FROM 'CALL pmk()'"), Say("EXECUTE s")],
    &[Say("CALL untold()"), Say("CALL pmk()")],
    &[Say("CALL untold()"), Say("INSERT INTO by_select VALUES (7)")],
    &[Say("SET SESSION session_track_state_change = 0"), Say("SELECT mk()")],
];

/// It was there, and is gone, or never came to be.
const GONE: &[&[Step<'static>]] = &[
    &[Say(MAKE), Say("DROP TEMPORARY TABLE w")],
    &[Say(MAKE), Say("DROP TABLE fresh_shadows.w")],
    &[Say(MAKE), Say("DROP TABLE IF EXISTS w")],
    &[Say(MAKE), Execute("DROP TEMPORARY TABLE w")],
    &[Say(MAKE), Say("DROP TEMPORARY TABLE w, nothing")],
    &[Say(MAKE), Say("DROP TEMPORARY TABLE IF EXISTS nothing, w")],
    &[Say(MAKE), Say("DROP TEMPORARY TABLE nothing")],
    &[Say(MAKE), Say("ALTER TABLE w RENAME TO els")],
    &[Say(MAKE), Say("ALTER TABLE w RENAME TO els"), Say("DROP TEMPORARY TABLE els")],
    &[Say(MAKE), Say("ALTER TABLE w RENAME TO fresh_shadows_other.w")],
    &[Say(MAKE), Say("ALTER TABLE w RENAME TO els, nonsense")],
    &[Say(MAKE), Say("ALTER TABLE w ADD COLUMN x INT")],
    &[Say(MAKE), Say("TRUNCATE TABLE w")],
    &[Say(MAKE), Say("CALL prm()")],
    &[Say(MAKE), Say("DO rm()")],
    &[Say(MAKE), Reset],
    &[Say(MAKE), ChangeUser(OWN)],
    &[Say(MAKE), Say("CREATE TEMPORARY TABLE w SELECT 2 AS id, 'again' AS v")],
    &[Say("CREATE TEMPORARY TABLE w (id INT, nonsense nonsense)")],
    &[Say(
        "CREATE TEMPORARY TABLE w (id INT PRIMARY KEY, v VARCHAR(20)) SELECT 1 AS id, 'temporary' AS v UNION ALL SELECT 1, 'twice'",
    )],
    &[Say("CREATE TEMPORARY TABLE w SELECT nothing FROM calm")],
    &[Say("CREATE TEMPORARY TABLE w LIKE nothing")],
    &[Say("CREATE TEMPORARY TABLE fresh_shadows_nowhere.w (id INT)")],
    // The name is completed with the schema of the time when the statement was prepared.
    &[
        Say(MAKE),
        Prepare("DROP TEMPORARY TABLE w"),
        Say("USE fresh_shadows_other"),
        Run,
        Say("USE fresh_shadows"),
    ],
    &[
        Say(MAKE),
        Say("CREATE TEMPORARY TABLE fresh_shadows_other.w SELECT 1 AS id, 'temporary' AS v"),
        Prepare("DROP TEMPORARY TABLE w"),
        InitDb(OTHER),
        Run,
    ],
    &[
        Say(MAKE),
        Say("CREATE TEMPORARY TABLE fresh_shadows_other.w SELECT 1 AS id, 'temporary' AS v"),
        Say("USE fresh_shadows_other; DROP TEMPORARY TABLE w; USE fresh_shadows"),
    ],
];

const ON_MARIADB: &[&[Step<'static>]] = &[
    // MySQL renames no temporary table in this way.
    &[Say(MAKE), Say("RENAME TABLE w TO els")],
    &[Say(MAKE_ELSE), Say("RENAME TABLE els TO w")],
    &[Say("CREATE OR REPLACE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v")],
    &[Say(MAKE), Say("CREATE OR REPLACE TEMPORARY TABLE w SELECT 2 AS id, 'again' AS v")],
    &[Say("EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE w SELECT 1 AS id, ''temporary'' AS v'")],
    &[Say("BEGIN NOT ATOMIC CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v; END")],
    &[Say(
        "SET STATEMENT max_statement_time = 10 FOR CREATE TEMPORARY TABLE w SELECT 1 AS id, 'temporary' AS v",
    )],
    &[Say("ANALYZE SELECT mk()")],
    &[Say(MAKE_ELSE), Say("RENAME TABLE IF EXISTS els TO w")],
    &[Say(MAKE_ELSE), Say("ALTER TABLE IF EXISTS els RENAME TO w")],
];

const ON_MYSQL: &[&[Step<'static>]] = &[
    &[Say("CREATE TEMPORARY TABLE w TABLE calm")],
    &[Say("CREATE TEMPORARY TABLE w VALUES ROW(1, 'temporary')")],
    &[Say("WITH c AS (SELECT mk() AS x) SELECT x FROM c")],
];

/// Reads that a temporary table may change, each in a text that nobody has asked for before.
fn reads(case: &str) -> Vec<String> {
    [
        "SELECT id, v FROM w WHERE id = 1",
        "SELECT v FROM fresh_shadows.w WHERE id = 1",
        "SELECT v FROM fresh_shadows_other.w WHERE id = 1",
        "SELECT v FROM fresh_shadows.vw WHERE id = 1",
        "SELECT a.v FROM fresh_shadows.calm c JOIN fresh_shadows.w a ON a.id = c.id",
        "SELECT v FROM fresh_shadows.calm WHERE EXISTS (SELECT 1 FROM fresh_shadows.w WHERE v = 'base')",
    ]
    .map(|read| format!("{read} /* {case} */"))
    .to_vec()
}

fn set_up(server: &Server) {
    let mut direct = fresh_schema(server, OTHER);
    run(
        &mut direct,
        &["CREATE TABLE w (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO w VALUES (1, 'other')"],
    );
    run(&mut direct, &["SET GLOBAL log_bin_trust_function_creators = 1"]);
    run(&mut fresh_schema(server, OWN), SETUP);
}

/// A session's steps and what it then reads, each read three times.
fn session(target: &Target, steps: &[Step<'_>], reads: &[String]) -> Vec<String> {
    let mut client = connect(target, OWN);
    let mut seen: Vec<String> = walk(&mut client, steps).iter().map(|answer| format!("{answer:?}")).collect();
    for read in reads {
        seen.extend((0..3).map(|_| format!("{read}: {:?}", answer(&mut client, read))));
    }
    seen
}

struct Stage<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    wrong: Vec<String>,
    /// Cases in which the session saw a temporary table.
    shadowed: usize,
}

impl Stage<'_> {
    fn try_case(&mut self, case: &str, steps: &[Step<'_>], remembered: bool) {
        let (target, direct) = (self.freshet.target(), &self.server.target);
        let reads = reads(case);
        let mut counted = Counted::of(self.freshet);
        let mut other = connect(target, OWN);
        // Nothing that came before hinders the cache.
        let _ = counted.prime(&mut other, "SELECT id FROM w WHERE id = 1");
        if remembered {
            for read in &reads {
                let _ = counted.prime(&mut other, read);
            }
        }
        // The routines' own tables must look the same to both.
        let wanted = session(direct, steps, &reads);
        self.clear();
        let got = session(target, steps, &reads);
        self.clear();
        self.shadowed += usize::from(wanted.iter().any(|seen| seen.contains("temporary")));
        for (got, wanted) in got.iter().zip(&wanted).filter(|(got, wanted)| got != wanted) {
            self.wrong.push(format!("{case} {steps:?}: {got} instead of {wanted}"));
        }
        let mut plain = connect(direct, OWN);
        for read in &reads {
            let (got, wanted) = (answer(&mut other, read), answer(&mut plain, read));
            if got != wanted {
                self.wrong.push(format!("{case} {steps:?}: another is told {got:?} for {read}"));
            }
        }
    }

    /// What the steps put into the permanent tables goes.
    fn clear(&self) {
        let mut direct = connect(&self.server.target, OWN);
        run(
            &mut direct,
            &["DELETE FROM un", "DELETE FROM by_select", "DELETE FROM by_rows", "DELETE FROM by_failure"],
        );
    }
}

impl<'a> Stage<'a> {
    fn before(server: &'a Server, freshet: &'a Freshet) -> Stage<'a> {
        set_up(server);
        Stage { server, freshet, wrong: Vec::new(), shadowed: 0 }
    }

    /// Every case, once with what it reads new to Freshet and once with all of it remembered. Gives the number of cases
    /// in which the session saw a temporary table.
    fn run(&mut self, name: &str, cases: &[&[Step<'_>]]) -> usize {
        self.shadowed = 0;
        for (number, steps) in cases.iter().enumerate() {
            self.try_case(&format!("{name} {number} new"), steps, false);
            self.try_case(&format!("{name} {number} remembered"), steps, true);
        }
        self.shadowed / 2
    }
}

/// One test, since all of it goes on in the same two schemas.
#[test]
fn a_temporary_table_is_seen_by_its_own_session_alone_and_while_it_is_there() {
    with_each(|server, freshet| {
        let mut stage = Stage::before(server, freshet);
        let made = stage.run("made", MADE);
        let by_routines = stage.run("made by routines", MADE_BY_ROUTINES);
        stage.run("gone", GONE);
        let of_flavor = match server.flavor {
            Flavor::MariaDb => ON_MARIADB,
            Flavor::MySql => ON_MYSQL,
        };
        stage.run("of one flavour", of_flavor);
        assert!(stage.wrong.is_empty(), "{:?}:\n{}", server.flavor, stage.wrong.join("\n"));
        // The others are what one of the servers cannot do.
        assert!(made * 10 >= MADE.len() * 8, "only {made} of {} made one", MADE.len());
        assert!(by_routines * 10 >= MADE_BY_ROUTINES.len() * 8, "only {by_routines} made one");
    });
}

/// Temporary tables that every session begins with are no one else's.
#[test]
fn what_init_connect_makes_is_each_sessions_own() {
    let schema = "temporary_begun";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, schema);
        // `init_connect` is not run for those who may do everything.
        run(
            &mut direct,
            &[
                &format!("DROP USER IF EXISTS {schema}"),
                &format!("CREATE USER {schema} IDENTIFIED BY ''"),
                &format!("GRANT ALL PRIVILEGES ON {schema}.* TO {schema}"),
            ],
        );
        run(&mut direct, &["CREATE TABLE cfg (v BIGINT)", "INSERT INTO cfg VALUES (0)"]);
        run(
            &mut direct,
            &[&format!(
                "SET GLOBAL init_connect = 'CREATE TEMPORARY TABLE {schema}.cfg AS SELECT CONNECTION_ID() AS v'"
            )],
        );
        caught_up(freshet);
        let target = Target { user: schema.to_owned(), password: String::new(), ..freshet.target().clone() };
        let mut clients: Vec<Conn> = (0..3).map(|_| connect(&target, schema)).collect();
        let read = "SELECT v FROM cfg";
        let seen: Vec<_> = clients.iter_mut().map(|conn| (answer(conn, read), answer(conn, read))).collect();
        run(&mut direct, &["SET GLOBAL init_connect = ''"]);
        for (at, (first, second)) in seen.iter().enumerate() {
            assert!(first.is_ok() && first == second, "{:?}: {seen:?}", server.flavor);
            assert!(seen[..at].iter().all(|(other, _)| other != first), "{:?}: {seen:?}", server.flavor);
        }
        run(&mut clients[0], &["UPDATE cfg SET v = 4711"]);
        assert_eq!(answer(&mut clients[0], read), Ok(vec![vec!["4711".into()]]), "{:?}", server.flavor);
    });
}
