//! A session that has done something unusual is answered from memory again as soon as truth allows, and what it is
//! answered then is right, also where the unusual thing did happen.

use freshet_tests::cached::{Counted, answer, connect, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, Server, with_each};

use crate::freshness::steps::{ChangeUser, Execute, InitDb, Ping, Prepare, Reset, Run, Say, Step, walk};

const SCHEMA: &str = "fresh_returns";

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 10)",
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE j (id INT PRIMARY KEY, doc JSON)",
    "INSERT INTO j VALUES (1, '[1, 2]')",
    "CREATE TABLE fired (id INT)",
    "CREATE TRIGGER makes BEFORE INSERT ON fired FOR EACH ROW CREATE TEMPORARY TABLE IF NOT EXISTS made (id INT)",
    "CREATE PROCEDURE makes_other() CREATE TEMPORARY TABLE IF NOT EXISTS other (id INT)",
    "CREATE PROCEDURE hides() BEGIN CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v; END",
    "CREATE PROCEDURE shows() DROP TEMPORARY TABLE t",
    "CREATE PROCEDURE sets() SET SESSION sql_mode = 'ANSI_QUOTES', SESSION time_zone = '+03:00'",
    "CREATE PROCEDURE selects() BEGIN PREPARE x FROM 'SELECT COUNT(*) FROM w'; EXECUTE x; DEALLOCATE PREPARE x; END",
    "CREATE PROCEDURE isolates() SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "CREATE FUNCTION writes() RETURNS INT BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS made (id INT); RETURN 1; END",
];

const READ: &str = "SELECT v FROM t WHERE id = 1";

/// What a session does, after which it reads from memory again.
const RETURNS: &[&[Step<'static>]] = &[
    // Unknown code.
    &[Say("CALL makes_other()")],
    &[Execute("CALL makes_other()")],
    &[Say("CALL sets()")],
    &[Say("CALL selects()")],
    &[Say("INSERT INTO fired VALUES (1)")],
    &[Execute("INSERT INTO fired VALUES (1)")],
    &[Say("SELECT writes()")],
    &[Say("DO writes()")],
    &[Say("SET @x = writes()")],
    &[Say("CALL hides()"), Say("CALL shows()")],
    &[Say("CALL hides()"), Say("DROP TEMPORARY TABLE t")],
    &[Say("SELECT 1; CALL makes_other()")],
    &[Say("nonsense")],
    &[Say("SELECT 1; nonsense")],
    &[Say("CALL missing()")],
    // Texts of the session's own.
    &[Say("PREPARE p FROM 'SELECT v FROM t WHERE id = ?'"), Say("SET @i = 1"), Say("EXECUTE p USING @i")],
    &[Say("PREPARE p FROM 'UPDATE w SET v = 1'"), Say("EXECUTE p"), Say("DEALLOCATE PREPARE p")],
    &[Say("PREPARE p FROM 'nonsense'")],
    &[Say("SET @q = 'SELECT 1'"), Say("PREPARE p FROM @q"), Say("EXECUTE p")],
    &[Say("PREPARE p FROM 'SET @z = 5'"), Say("EXECUTE p")],
    &[Say("EXECUTE missing")],
    &[Say("PREPARE p FROM 'CREATE TEMPORARY TABLE made (id INT)'"), Say("EXECUTE p")],
    &[Prepare("CALL makes_other()"), Run, Run],
    // Tables that only this session sees.
    &[Say("CREATE TEMPORARY TABLE made (id INT)")],
    &[Say("CREATE TEMPORARY TABLE made (id INT)"), Say("ALTER TABLE made RENAME TO made2")],
    &[Say("CREATE TEMPORARY TABLE t (id INT)"), Say("DROP TEMPORARY TABLE t")],
    &[Say("CREATE TEMPORARY TABLE t (id INT)"), Say("ALTER TABLE t RENAME TO made")],
    &[Say("CREATE TEMPORARY TABLE t (nonsense nonsense)")],
    // JSON as a table.
    &[Say("SELECT x.a FROM j, JSON_TABLE(j.doc, '$[*]' COLUMNS (a INT PATH '$')) AS x")],
    // Variables of the session.
    &[Say("SET @x = 1")],
    &[Say("SELECT @x := 5")],
    &[Say("SELECT 1 INTO @x")],
    &[Say("SET sql_mode = 'nonsense'")],
    &[Say("SET nonsense = 1")],
    &[Say("SET SESSION sql_log_bin = 0"), Say("SET SESSION sql_log_bin = 1")],
    &[Say("SET SESSION sql_log_bin = 0")],
    &[Say("SET NAMES utf8mb4"), Say("SET time_zone = '+01:00'")],
    &[Say("SET autocommit = 0"), Say("SELECT 1"), Say("SET autocommit = 1")],
    // Locks.
    &[Say("SELECT GET_LOCK('fresh_returns', 0)")],
    &[Say("SELECT GET_LOCK('fresh_returns', 0)"), Say("SELECT RELEASE_LOCK('fresh_returns')")],
    &[Say("LOCK TABLES t READ"), Say("UNLOCK TABLES")],
    &[Say("LOCK TABLES t WRITE"), Say("UPDATE t SET v = v + 1"), Say("UNLOCK TABLES")],
    &[Say("LOCK TABLES missing READ"), Say("UNLOCK TABLES")],
    &[Say("FLUSH TABLES t WITH READ LOCK"), Say("UNLOCK TABLES")],
    // Transactions.
    &[Say("SAVEPOINT s")],
    &[Say("SAVEPOINT s"), Say("ROLLBACK TO SAVEPOINT s")],
    &[Say("RELEASE SAVEPOINT missing")],
    &[Say("BEGIN"), Say("SAVEPOINT s"), Say("UPDATE w SET v = 1"), Say("ROLLBACK TO s"), Say("COMMIT")],
    &[Say("BEGIN"), Say("nonsense"), Say("ROLLBACK")],
    &[Say("BEGIN"), Say("CALL makes_other()"), Say("COMMIT")],
    &[Say("START TRANSACTION WITH CONSISTENT SNAPSHOT"), Say("COMMIT")],
    &[Say("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"), Say("SELECT COUNT(*) FROM w")],
    &[Say("SET TRANSACTION READ ONLY"), Say("BEGIN"), Say("SELECT COUNT(*) FROM w"), Say("COMMIT")],
    &[Say("CALL isolates()"), Say("SELECT COUNT(*) FROM w")],
    &[Say("XA START 'x'"), Say("XA END 'x'"), Say("XA ROLLBACK 'x'")],
    // Tables without SQL.
    &[Say("HANDLER t OPEN"), Say("HANDLER t READ FIRST"), Say("HANDLER t CLOSE")],
    &[Say("HANDLER t OPEN")],
    &[Say("HANDLER missing READ FIRST")],
    // Commands of the protocol.
    &[Say("CALL makes_other()"), Reset, InitDb(SCHEMA)],
    &[Say("LOCK TABLES w READ"), Reset, InitDb(SCHEMA)],
    &[Say("CALL makes_other()"), ChangeUser(SCHEMA)],
    &[InitDb("mysql"), InitDb(SCHEMA)],
    &[InitDb("missing")],
    &[Ping],
    // What fails.
    &[Say("SELECT * FROM missing")],
    &[Say("SELECT missing FROM t")],
    &[Say("INSERT INTO t VALUES (1, 1)")],
    &[Say("INSERT INTO missing VALUES (1)")],
    &[Say("UPDATE t SET missing = 1")],
    &[Say("DROP TABLE missing")],
    &[Say("CREATE TABLE t (id INT)")],
    &[Say("KILL QUERY 0")],
    &[Execute("SELECT missing FROM t")],
    &[Execute("nonsense")],
    // What the session is told of, set for itself.
    &[Say("SET SESSION session_track_schema = 0")],
    &[Say("SET SESSION session_track_state_change = 1, SESSION session_track_transaction_info = 'STATE'")],
    &[Say("SET SESSION session_track_system_variables = '*'")],
    &[Say("SET session_track_system_variables = ''"), Say("SET @x = 1"), Say("SHOW WARNINGS")],
    &[Say("SELECT @@session_track_system_variables")],
    &[Say("SELECT v FROM t WHERE id = 1"), Say("SHOW VARIABLES")],
    &[Execute("SET SESSION session_track_state_change = 1"), Execute("SELECT @@session_track_state_change")],
    &[Say("PREPARE p FROM 'SET SESSION session_track_state_change = 1'"), Say("EXECUTE p")],
];

const RETURNS_ON_MARIADB: &[&[Step<'static>]] = &[
    &[Say("SELECT NEXTVAL(s)")],
    &[Say("SELECT NEXT VALUE FOR s")],
    &[Say("SELECT NEXTVAL(s)"), Say("SELECT LASTVAL(s), PREVIOUS VALUE FOR s")],
    &[Say("SELECT SETVAL(s, 70)")],
    &[Say("INSERT INTO w VALUES (NEXTVAL(s), 1)")],
    &[Say("SELECT NEXTVAL(missing)")],
    &[Say("EXECUTE IMMEDIATE 'SELECT COUNT(*) FROM w'")],
    &[Say("EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE made (id INT)'")],
    &[Say("EXECUTE IMMEDIATE CONCAT('SELECT ', '1')")],
    &[Say("EXECUTE IMMEDIATE 'LOCK TABLES t READ'"), Say("UNLOCK TABLES")],
    &[Say("BEGIN NOT ATOMIC DECLARE a INT DEFAULT 1; SELECT COUNT(*) INTO a FROM w; END")],
    &[Say("BEGIN NOT ATOMIC CREATE TEMPORARY TABLE made (id INT); END")],
    &[Say("SET STATEMENT max_statement_time = 10 FOR SELECT COUNT(*) FROM w")],
    &[Say("EXECUTE IMMEDIATE 'SET SESSION session_track_state_change = 1'")],
];

const RETURNS_ON_MYSQL: &[&[Step<'static>]] = &[
    &[Say("SET SESSION session_track_gtids = 'OWN_GTID'")],
    &[Say("SET SESSION session_track_gtids = 'ALL_GTIDS'"), Say("UPDATE w SET v = v + 1")],
    &[Say(
        "SELECT VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'session_track_gtids'",
    )],
];

fn set_up(server: &Server, schema: &str) {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, &["SET GLOBAL log_bin_trust_function_creators = 1"]);
    run(&mut direct, SETUP);
    if server.flavor == Flavor::MariaDb {
        run(&mut direct, &["CREATE SEQUENCE s"]);
    }
}

/// What `steps` answer on either way, and what stops the session from being answered from memory and right after them.
fn complaint(server: &Server, freshet: &Freshet, steps: &[Step<'_>]) -> Option<String> {
    let mut counted = Counted::of(freshet);
    let (mut writer, mut direct) = (connect(freshet.target(), SCHEMA), connect(&server.target, SCHEMA));
    let _ = walk(&mut direct, steps);
    drop(direct);
    let mut own = connect(freshet.target(), SCHEMA);
    let _ = counted.prime(&mut own, READ);
    let _ = walk(&mut own, steps);
    let Some(got) = counted.try_prime(&mut own, READ) else { return Some("no hit".to_owned()) };
    let expected = answer(&mut connect(&server.target, SCHEMA), READ);
    if got != expected {
        return Some(format!("{got:?} instead of {expected:?}"));
    }
    run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
    let (got, expected) = (answer(&mut own, READ), answer(&mut writer, READ));
    (got != expected).then(|| format!("{got:?} instead of {expected:?} after a write"))
}

#[test]
fn a_session_returns_to_the_memory() {
    with_each(|server, freshet| {
        set_up(server, SCHEMA);
        let own = if server.flavor == Flavor::MariaDb { RETURNS_ON_MARIADB } else { RETURNS_ON_MYSQL };
        let wrong: Vec<String> = RETURNS
            .iter()
            .chain(own)
            .filter_map(|steps| complaint(server, freshet, steps).map(|why| format!("{steps:?}: {why}")))
            .collect();
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}

/// What a session does, and how often the next reads of it must not come from memory: the thing did happen.
const HAPPENED: &[&[Step<'static>]] = &[
    &[Say("CALL hides()")],
    &[Execute("CALL hides()")],
    &[Say("CALL makes_other()"), Say("CALL hides()")],
    &[Say("CALL makes_other()"), Say(READ), Say(READ), Say(READ), Say("CALL hides()")],
    &[
        Say("CALL makes_other()"),
        Say(READ),
        Say(READ),
        Say("CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v"),
    ],
    &[Say("PREPARE p FROM 'CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v'"), Say(READ), Say("EXECUTE p")],
    &[Say("PREPARE p FROM 'CALL hides()'"), Say("EXECUTE p")],
    &[
        Say("PREPARE p FROM 'SELECT 1'"),
        Say("PREPARE P FROM 'CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v'"),
        Say("EXECUTE p"),
    ],
    &[Say("CALL makes_other()"), Say(READ), Say(READ), Say("ALTER TABLE other ADD v INT, RENAME TO t")],
    &[Say("LOCK TABLES w READ")],
    &[Say("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")],
    &[Say("PREPARE p FROM 'SET SESSION sql_select_limit = 0'"), Say("EXECUTE p")],
    &[Say("CALL sets()")],
];

const HAPPENED_ON_MARIADB: &[&[Step<'static>]] = &[
    &[Say("EXECUTE IMMEDIATE 'LOCK TABLES w READ'")],
    &[Say("EXECUTE IMMEDIATE CONCAT('LOCK TABLES ', 'w READ')")],
    &[Say("SET @q = 'LOCK TABLES w READ'"), Say("PREPARE p FROM @q"), Say("EXECUTE p")],
    &[Say("EXECUTE IMMEDIATE CONCAT('LOCK TABLES ', 't AS a READ')")],
    &[Say("BEGIN NOT ATOMIC CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v; END")],
    &[Say("EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE t SELECT 1 AS id, -1 AS v'")],
];

#[test]
fn what_did_happen_is_seen() {
    with_each(|server, freshet| {
        set_up(server, "fresh_happened");
        let own = if server.flavor == Flavor::MariaDb { HAPPENED_ON_MARIADB } else { &[][..] };
        let mut counted = Counted::of(freshet);
        let mut wrong = Vec::new();
        for steps in HAPPENED.iter().chain(own) {
            // Somebody else keeps it in memory.
            let _ = counted.prime(&mut connect(freshet.target(), "fresh_happened"), READ);
            let session = |target: &freshet_tests::Target| {
                let mut client = connect(target, "fresh_happened");
                let mut seen = walk(&mut client, steps);
                for read in [READ, READ, "SELECT \"v\" FROM t AS b WHERE id = 1", READ, "SELECT @@sql_mode"] {
                    seen.push(answer(&mut client, read));
                }
                seen
            };
            let (got, expected) = (session(freshet.target()), session(&server.target));
            if got != expected {
                wrong.push(format!("{steps:?}: {got:?} instead of {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}

/// Writes that unusual sessions make; each adds one to the row that is read.
const WRITES: &[&[Step<'static>]] = &[
    &[Say("PREPARE p FROM 'UPDATE t SET v = v + 1 WHERE id = 1'"), Say("EXECUTE p")],
    &[
        Say("SET @i = 1"),
        Say("PREPARE p FROM 'UPDATE t SET v = v + 1 WHERE id = ?'"),
        Say("EXECUTE p USING @i"),
    ],
    &[Say("PREPARE p FROM 'CALL adds()'"), Say("EXECUTE p")],
    &[Say("CALL adds_and_makes()"), Say("UPDATE t SET v = v + 1 WHERE id = 1")],
    &[Say("CALL adds_unlogged()")],
    &[Say("SET session_track_system_variables = ''"), Say("UPDATE t SET v = v + 1 WHERE id = 1")],
    &[
        Say("SET session_track_system_variables = '', session_track_state_change = 0"),
        Say("CALL adds_unlogged()"),
    ],
    &[Say("SET session_track_system_variables = ''"), Say(READ), Say(READ), Say("CALL adds_unlogged()")],
    &[Say("SELECT @@session_track_system_variables"), Execute("CALL adds_unlogged()")],
    &[Say("CALL untracks()"), Say(READ), Say(READ), Say("UPDATE t SET v = v + 1 WHERE id = 1")],
];

const WRITES_ON_MARIADB: &[&[Step<'static>]] = &[
    &[Say("EXECUTE IMMEDIATE 'UPDATE t SET v = v + 1 WHERE id = 1'")],
    &[Say("UPDATE t SET v = v + 1 + 0 * NEXTVAL(s) WHERE id = 1")],
    &[Say("INSERT INTO t VALUES (NEXT VALUE FOR one, 1) ON DUPLICATE KEY UPDATE v = v + 1")],
];

const ROUTINES_THAT_WRITE: &[&str] = &[
    "CREATE PROCEDURE adds() UPDATE t SET v = v + 1 WHERE id = 1",
    "CREATE PROCEDURE adds_and_makes() BEGIN UPDATE t SET v = v + 0 WHERE id = 1; CREATE TEMPORARY TABLE IF NOT EXISTS made (id INT); END",
    "CREATE PROCEDURE adds_unlogged() BEGIN SET SESSION sql_log_bin = 0; UPDATE t SET v = v + 1 WHERE id = 1; SET SESSION sql_log_bin = 1; END",
    "CREATE PROCEDURE untracks() SET SESSION session_track_state_change = 0, SESSION session_track_system_variables = ''",
];

/// How often each write is made: what is not fenced is stale for a millisecond only.
const WRITES_EACH: usize = 10;

#[test]
fn what_unusual_sessions_write_is_read_at_once() {
    with_each(|server, freshet| {
        set_up(server, "fresh_writes");
        let mut direct = connect(&server.target, "fresh_writes");
        run(&mut direct, ROUTINES_THAT_WRITE);
        let own = if server.flavor == Flavor::MariaDb {
            run(
                &mut direct,
                &["CREATE SEQUENCE one START WITH 1 MINVALUE 1 MAXVALUE 2 INCREMENT BY 2 NOCACHE CYCLE"],
            );
            WRITES_ON_MARIADB
        } else {
            &[][..]
        };
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "fresh_writes");
        for steps in WRITES.iter().chain(own) {
            for time in 0..WRITES_EACH {
                let mut client = connect(freshet.target(), "fresh_writes");
                let before = counted.prime(&mut reader, READ).expect("there is a row");
                let added = walk(&mut client, steps);
                let after = answer(&mut reader, READ).expect("there is a row");
                let of = |rows: &[Vec<String>]| rows[0][0].parse::<u64>().expect("a number");
                assert_eq!(
                    of(&after),
                    of(&before) + 1,
                    "{:?} {steps:?}, time {time}: {added:?}",
                    server.flavor
                );
            }
        }
    });
}

#[test]
fn who_may_not_ask_is_not_answered_from_memory() {
    with_each(|server, freshet| {
        set_up(server, "fresh_may_not");
        let user = "fresh_may_not";
        let mut direct = connect(&server.target, "fresh_may_not");
        run(
            &mut direct,
            &[
                &format!("DROP USER IF EXISTS {user}"),
                &format!("CREATE USER {user} IDENTIFIED BY 'x'"),
                &format!("GRANT SELECT (id, v) ON fresh_may_not.t TO {user}"),
                &format!("GRANT EXECUTE ON fresh_may_not.* TO {user}"),
            ],
        );
        let of = |target: &freshet_tests::Target| freshet_tests::Target {
            user: user.to_owned(),
            password: "x".to_owned(),
            ..target.clone()
        };
        for hides in ["CALL makes_other()", "CALL hides()"] {
            let session = |target: &freshet_tests::Target| {
                let mut client = connect(&of(target), "fresh_may_not");
                let mut seen = vec![answer(&mut client, READ), answer(&mut client, READ)];
                seen.extend(walk(&mut client, &[Say(hides)]));
                seen.extend((0..4).map(|_| answer(&mut client, READ)));
                seen
            };
            assert_eq!(session(freshet.target()), session(&server.target), "{hides}");
        }
        run(&mut direct, &[&format!("DROP USER {user}")]);
    });
}
