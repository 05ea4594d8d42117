//! Procedures and stored functions: those that are understood hold up what they write and nothing else; all others hold up
//! everything, and nobody is answered what they hid or changed.
//!
//! A program of its own: the many definitions made here would disturb tests that count what stays in memory.

use std::thread;
use std::time::Duration;

use freshet_tests::cached::{Counted, answer, await_asleep, connect, fresh_schema, run, with_follower};
use freshet_tests::{Freshet, Server, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

const ONE: &str = "SELECT v FROM t WHERE id = 1";
/// How long a definition around us may take to be told of.
const TOLD: Duration = Duration::from_millis(1_000);

/// A function that writes must be declared so, or trusted, where the binlog is on.
fn with_trust() {
    for server in freshet_tests::server::all() {
        run(&mut server.target.connect(), &["SET GLOBAL log_bin_trust_function_creators = 1"]);
    }
}

const OTHER: &str = "SELECT a FROM other";

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20)",
    "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE)",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what INT)",
    "CREATE TABLE total (n INT)",
    "INSERT INTO total VALUES (0)",
    "CREATE TABLE other (a INT)",
    "INSERT INTO other VALUES (7)",
    "CREATE TABLE src (a INT)",
    "INSERT INTO src VALUES (1),(2)",
    "CREATE TRIGGER la AFTER INSERT ON log FOR EACH ROW UPDATE total SET n = n + 1",
];

/// A routine that changes the first row of `t` and then sleeps, and the statement that runs it.
const UNDERSTOOD: &[(&str, &str, &str)] = &[
    (
        "an update",
        "CREATE PROCEDURE p() BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); END",
        "CALL p()",
    ),
    (
        "a schema and another case",
        "CREATE PROCEDURE p() BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); END",
        "CALL stored_routine.P",
    ),
    (
        "parameters, variables, loops, branches",
        "CREATE PROCEDURE p(IN by_how INT, x VARCHAR(20)) BEGIN DECLARE i INT DEFAULT 0; \
         WHILE i < by_how DO SET i = i + 1; \
         IF i > 0 THEN UPDATE t SET v = v + 1 WHERE id = 1; ELSE DELETE FROM t; END IF; END WHILE; \
         CASE x WHEN 'it''s' THEN DO SLEEP(0.25); ELSE BEGIN END; END CASE; END",
        "CALL p(1 + 1, 'it''s')",
    ),
    (
        "a cursor and handlers",
        "CREATE PROCEDURE p() BEGIN DECLARE done, x INT DEFAULT 0; DECLARE c CURSOR FOR SELECT a FROM src; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; DECLARE EXIT HANDLER FOR SQLEXCEPTION RESIGNAL; OPEN c; \
         l: LOOP FETCH c INTO x; IF done THEN LEAVE l; END IF; UPDATE t SET v = v + x WHERE id = 1; END LOOP; \
         CLOSE c; DO SLEEP(0.25); END",
        "CALL p()",
    ),
    (
        "results",
        "CREATE PROCEDURE p() BEGIN SELECT v FROM t; UPDATE t SET v = v + 1 WHERE id = 1; SELECT 'x', v FROM t; \
         DO SLEEP(0.25); END",
        "CALL p()",
    ),
    (
        "a transaction",
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; \
         START TRANSACTION; UPDATE t SET v = v + 1 WHERE id = 1; COMMIT; DO SLEEP(0.25); END",
        "CALL p()",
    ),
    (
        "a user variable",
        "CREATE PROCEDURE p() BEGIN SET @x = 1; UPDATE t SET v = v + @x WHERE id = 1; DO SLEEP(0.25); END",
        "CALL p()",
    ),
    (
        "an argument that is given back",
        "CREATE PROCEDURE p(OUT x INT) BEGIN UPDATE t SET v = v + 1 WHERE id = 1; SET x = 2; DO SLEEP(0.25); END",
        "CALL p(@x)",
    ),
    ("another procedure", "CREATE PROCEDURE p() BEGIN CALL touch(1); DO SLEEP(0.25); END", "CALL p()"),
    (
        "itself",
        "CREATE PROCEDURE p(n INT) BEGIN UPDATE t SET v = v + 1 WHERE id = 1; \
         IF n > 0 THEN CALL p(n - 1); ELSE DO SLEEP(0.25); END IF; END",
        "CALL p(3)",
    ),
    (
        "a function in a SELECT",
        "CREATE FUNCTION p() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); \
         RETURN 1; END",
        "SELECT p()",
    ),
    (
        "a function in a WHERE",
        "CREATE FUNCTION p() RETURNS INT MODIFIES SQL DATA BEGIN CALL touch(1); DO SLEEP(0.25); RETURN 3; END",
        "DELETE FROM src WHERE a = p() LIMIT 1",
    ),
    (
        "a function in an argument",
        "CREATE FUNCTION p() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); RETURN 1; END",
        "CALL touch(p())",
    ),
    (
        "a function in a SET",
        "CREATE FUNCTION p() RETURNS INT MODIFIES SQL DATA BEGIN CALL touch(1); DO SLEEP(0.25); RETURN 1; END",
        "SET @x = (SELECT p())",
    ),
    (
        "a function behind a view",
        "CREATE FUNCTION p() RETURNS INT MODIFIES SQL DATA BEGIN CALL touch(1); DO SLEEP(0.25); RETURN 1; END",
        "SELECT x FROM seen",
    ),
    (
        "a trigger that calls",
        "CREATE PROCEDURE p() BEGIN CALL touch(1); DO SLEEP(0.25); END",
        "INSERT INTO fires VALUES (1)",
    ),
];

/// What those call, and what leads to them.
const AROUND: &[&str] = &[
    "CREATE PROCEDURE touch(which INT) UPDATE t SET v = v + 1 WHERE id = which",
    "CREATE TABLE fires (a INT)",
];

fn set_up(server: &Server, schema: &str, routine: &str, run_by: &str) -> Conn {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, TABLES);
    run(&mut direct, AROUND);
    run(&mut direct, &[routine]);
    if run_by.contains("seen") {
        run(
            &mut direct,
            &["CREATE VIEW inner_seen AS SELECT p() AS x", "CREATE VIEW seen AS SELECT x FROM inner_seen"],
        );
    }
    if run_by.contains("fires") {
        run(&mut direct, &["CREATE TRIGGER fi AFTER INSERT ON fires FOR EACH ROW CALL p()"]);
    }
    direct
}

/// How often a trial is repeated that others' definitions disturb: while foreign keys are read anew, all tables are held up.
const TRIALS: usize = 6;

/// Whether the statement holds up more than `t` while it sleeps in the server. `t` it does, and changes it.
fn holds_up_more(
    (name, run_by): (&str, &str),
    freshet: &Freshet,
    counted: &mut Counted,
    (reader, writer): (&mut Conn, &mut Conn),
) -> bool {
    let _ = counted.prime(writer, OTHER);
    let before = counted.prime(reader, ONE);
    let _ = counted.prime(reader, OTHER);
    let mut hits = 0;
    thread::scope(|scope| {
        let writing = scope.spawn(|| run(writer, &[run_by]));
        await_asleep(freshet.target(), "stored_routine");
        assert!(!writing.is_finished(), "{name}: still asleep");
        assert_eq!(counted.hits_of(reader, ONE, 1), 0, "{name}: its table is fenced");
        hits = counted.hits_of(reader, OTHER, 3);
        writing.join().unwrap();
    });
    assert_ne!(answer(reader, ONE), before, "{name}");
    hits < 3
}

/// What is understood holds up its tables alone, and its session is answered from memory afterwards.
#[test]
fn routines_that_are_understood() {
    with_trust();
    with_each(|server, freshet| {
        for (name, routine, run_by) in UNDERSTOOD {
            set_up(server, "stored_routine", routine, run_by);
            let mut counted = Counted::of(freshet);
            let mut reader = connect(freshet.target(), "stored_routine");
            let mut writer = connect(freshet.target(), "stored_routine");
            run(&mut writer, &["SET @@max_sp_recursion_depth = 9"]);
            // A definition that was just made is settled before the trial begins.
            run(&mut writer, &[run_by]);
            let held_up = (0..TRIALS)
                .all(|_| holds_up_more((name, run_by), freshet, &mut counted, (&mut reader, &mut writer)));
            assert!(!held_up || !freshet.is_there(), "{name}: no other table is fenced");
            let after = answer(&mut reader, ONE);
            assert_eq!(answer(&mut writer, ONE), after, "{name}");
            // The session keeps its hits.
            let _ = counted.prime(&mut writer, OTHER);
            assert_eq!(counted.prime(&mut writer, ONE), after, "{name}");
        }
    });
}

/// What a procedure's writes lead to: foreign keys and triggers.
#[test]
fn a_procedure_and_what_hangs_on_its_tables() {
    with_each(|server, freshet| {
        let routine = "CREATE PROCEDURE p() BEGIN INSERT INTO log (what) VALUES (1); DELETE FROM t WHERE id = 2; \
                       DO SLEEP(0.25); END";
        let mut direct = set_up(server, "stored_hangs", routine, "");
        run(&mut direct, &["INSERT INTO child VALUES (1, 2)"]);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "stored_hangs");
        let mut writer = connect(freshet.target(), "stored_hangs");
        let two = "SELECT v FROM t WHERE id = 2";
        let reached = ["SELECT COUNT(*) FROM log", "SELECT n FROM total", "SELECT COUNT(*) FROM child", two];
        let _ = counted.prime(&mut reader, ONE);
        let before = reached.map(|read| counted.prime(&mut reader, read));
        thread::scope(|scope| {
            let writing = scope.spawn(|| run(&mut writer, &["CALL p()"]));
            await_asleep(freshet.target(), "stored_hangs");
            if freshet.is_there() {
                for read in reached {
                    assert_eq!(counted.hits_of(&mut reader, read, 1), 0, "{read}");
                }
                assert_eq!(counted.hits_of(&mut reader, ONE, 1), 1, "another row");
            }
            writing.join().unwrap();
        });
        let after = reached.map(|read| answer(&mut reader, read));
        assert!(before.iter().zip(&after).all(|(before, after)| before != after));
    });
}

/// In a transaction the commit is what is fenced; the procedure may make it itself.
#[test]
fn a_procedure_in_a_transaction() {
    with_each(|server, freshet| {
        for (routine, end) in [
            ("CREATE PROCEDURE p() UPDATE t SET v = v + 1 WHERE id = 1", "COMMIT"),
            ("CREATE PROCEDURE p() BEGIN UPDATE t SET v = v + 1 WHERE id = 1; COMMIT; END", "ROLLBACK"),
            (
                "CREATE PROCEDURE p() BEGIN START TRANSACTION; UPDATE t SET v = v + 1 WHERE id = 1; END",
                "COMMIT",
            ),
            (
                "CREATE PROCEDURE p() BEGIN COMMIT; START TRANSACTION; UPDATE t SET v = v + 1 WHERE id = 1; END",
                "COMMIT",
            ),
        ] {
            set_up(server, "stored_commits", routine, "");
            let mut counted = Counted::of(freshet);
            let mut reader = connect(freshet.target(), "stored_commits");
            let mut writer = connect(freshet.target(), "stored_commits");
            for _ in 0..5 {
                let before = counted.prime(&mut reader, ONE);
                let two = counted.prime(&mut reader, "SELECT v FROM t WHERE id = 2");
                run(&mut writer, &["BEGIN", "UPDATE t SET v = v + 1 WHERE id = 2", "CALL p()"]);
                run(&mut writer, &[end]);
                assert_ne!(answer(&mut reader, ONE), before, "{routine}");
                assert_ne!(answer(&mut reader, "SELECT v FROM t WHERE id = 2"), two, "{routine}");
            }
        }
    });
}

/// Bodies that hide `t` from their session, however far away that is done.
const HIDES: &[(&str, &[&str], &str)] = &[
    (
        "a temporary table",
        &["CREATE PROCEDURE p() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v"],
        "CALL p()",
    ),
    (
        "a prepared text",
        &["CREATE PROCEDURE p() BEGIN SET @s = 'CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v'; \
           PREPARE s FROM @s; EXECUTE s; DEALLOCATE PREPARE s; END"],
        "CALL p()",
    ),
    (
        "a procedure that calls such a one",
        &[
            "CREATE PROCEDURE q() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v",
            "CREATE PROCEDURE p() BEGIN IF 1 THEN CALL q(); END IF; END",
        ],
        "CALL p()",
    ),
    (
        "a function",
        &[
            "CREATE FUNCTION p() RETURNS INT BEGIN CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; RETURN 1; END",
        ],
        "SELECT p()",
    ),
    (
        "a function behind a procedure's condition",
        &[
            "CREATE FUNCTION q() RETURNS INT BEGIN CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; RETURN 1; END",
            "CREATE PROCEDURE p() IF q() THEN DO 1; END IF",
        ],
        "CALL p()",
    ),
    (
        "strings that look like none",
        &[
            "CREATE PROCEDURE p() BEGIN SELECT 'a''b'; CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; SELECT 'c''d'; END",
        ],
        "CALL p()",
    ),
    (
        "a trigger that calls",
        &[
            "CREATE PROCEDURE p() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v",
            "CREATE TRIGGER fi AFTER INSERT ON fires FOR EACH ROW CALL p()",
        ],
        "INSERT INTO fires VALUES (1)",
    ),
    (
        "a trigger with strings that look like none",
        &["CREATE TRIGGER fi AFTER INSERT ON fires FOR EACH ROW BEGIN SET @a = 'a''b'; \
           CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; SET @b = 'c''d'; END"],
        "INSERT INTO fires VALUES (1)",
    ),
    (
        "a view that calls",
        &[
            "CREATE FUNCTION p() RETURNS INT BEGIN CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v; RETURN 1; END",
            "CREATE VIEW seen AS SELECT RAND() AS r, p() AS x",
            "CREATE VIEW far AS SELECT RAND() AS r, x FROM seen",
        ],
        "SELECT UUID(), x FROM far",
    ),
];

#[test]
fn routines_that_hide_a_table() {
    with_trust();
    with_each(|server, freshet| {
        for (name, made, run_by) in HIDES {
            let mut direct = fresh_schema(server, "stored_hidden");
            run(&mut direct, TABLES);
            run(&mut direct, AROUND);
            run(&mut direct, made);
            let mut counted = Counted::of(freshet);
            let mut session = connect(freshet.target(), "stored_hidden");
            let _ = counted.prime(&mut session, ONE);
            run(&mut session, &[run_by]);
            for _ in 0..2 {
                assert_eq!(answer(&mut session, ONE), Ok(vec![vec!["99".to_owned()]]), "{name}");
            }
        }
    });
}

fn sleeps_after(table: &str) -> String {
    format!("CREATE PROCEDURE p() BEGIN UPDATE {table}; DO SLEEP(0.25); END")
}

/// While `CALL p()` sleeps in the server, `read` is not answered from memory, and it has another answer afterwards.
fn is_fenced(freshet: &Freshet, schema: &str, (reader, writer): (&mut Conn, &mut Conn), read: &str) {
    let mut counted = Counted::of(freshet);
    let before = answer(reader, read);
    thread::scope(|scope| {
        let writing = scope.spawn(|| run(writer, &["CALL p()"]));
        await_asleep(freshet.target(), schema);
        if freshet.is_there() {
            assert_eq!(counted.hits_of(reader, read, 1), 0, "what the new procedure writes is fenced");
        }
        writing.join().unwrap();
    });
    assert_ne!(answer(reader, read), before);
}

/// A procedure that becomes another one, through us and around us.
#[test]
fn a_procedure_that_changes() {
    with_each(|server, freshet| {
        let mut direct = set_up(server, "stored_changes", &sleeps_after("src SET a = 1"), "");
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "stored_changes");
        let mut writer = connect(freshet.target(), "stored_changes");
        let mut definer = connect(freshet.target(), "stored_changes");
        for _ in 0..3 {
            run(&mut writer, &["CALL p()"]);
            let _ = counted.prime(&mut reader, OTHER);
            run(&mut definer, &["DROP PROCEDURE p", &sleeps_after("other SET a = a + 1")]);
            is_fenced(freshet, "stored_changes", (&mut reader, &mut writer), OTHER);
            let _ = counted.prime(&mut reader, ONE);
            run(&mut direct, &["DROP PROCEDURE p", &sleeps_after("t SET v = v + 1")]);
            // Around us it is seen when the stream tells of it.
            thread::sleep(TOLD);
            is_fenced(freshet, "stored_changes", (&mut reader, &mut writer), ONE);
        }
        // And one that hides a table, from one moment to the next.
        let hides = "CREATE PROCEDURE p() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v";
        let _ = counted.prime(&mut writer, ONE);
        run(&mut definer, &["DROP PROCEDURE p", hides]);
        run(&mut writer, &["CALL p()"]);
        assert_eq!(answer(&mut writer, ONE), Ok(vec![vec!["99".to_owned()]]));
        assert_eq!(answer(&mut writer, ONE), Ok(vec![vec!["99".to_owned()]]));
    });
}

/// A schema that goes and comes again with another procedure, and a procedure that is in two schemas.
#[test]
fn a_procedure_in_another_schema() {
    with_each(|server, freshet| {
        set_up(server, "stored_home", &sleeps_after("src SET a = 1"), "");
        let mut elsewhere = fresh_schema(server, "stored_elsewhere");
        run(&mut elsewhere, &[&sleeps_after("stored_home.other SET a = a + 1")]);
        let mut counted = Counted::of(freshet);
        let mut reader = connect(freshet.target(), "stored_home");
        let mut writer = connect(freshet.target(), "stored_home");
        run(&mut writer, &["CALL p()", "USE stored_elsewhere"]);
        let _ = counted.prime(&mut reader, OTHER);
        is_fenced(freshet, "stored_elsewhere", (&mut reader, &mut writer), OTHER);
        run(&mut writer, &["USE stored_home", "CALL stored_elsewhere.p()"]);
        // The session is where it was.
        assert_eq!(answer(&mut writer, "SELECT DATABASE()"), Ok(vec![vec!["stored_home".to_owned()]]));
        let _ = answer(&mut writer, ONE);
        let _ = answer(&mut writer, OTHER);
        if freshet.is_there() {
            let _ = counted.prime(&mut writer, OTHER);
        }
        let mut again = fresh_schema(server, "stored_elsewhere");
        run(&mut again, &[&sleeps_after("stored_home.t SET v = v + 1")]);
        thread::sleep(TOLD);
        run(&mut writer, &["USE stored_elsewhere"]);
        let _ = counted.prime(&mut reader, ONE);
        is_fenced(freshet, "stored_elsewhere", (&mut reader, &mut writer), ONE);
    });
}

/// Prepared once, executed under one definition and the next.
#[test]
fn a_prepared_call() {
    with_each(|server, freshet| {
        set_up(server, "stored_again", "CREATE PROCEDURE p() UPDATE src SET a = a + 1", "");
        let mut counted = Counted::of(freshet);
        let mut writer = connect(freshet.target(), "stored_again");
        let mut definer = connect(freshet.target(), "stored_again");
        let call = writer.prep("CALL p()").unwrap();
        for _ in 0..3 {
            writer.exec_drop(&call, ()).unwrap();
            let _ = counted.prime(&mut writer, ONE);
        }
        let hides = "CREATE PROCEDURE p() CREATE TEMPORARY TABLE t SELECT 1 AS id, 99 AS v";
        run(&mut definer, &["DROP PROCEDURE p", hides]);
        writer.exec_drop(&call, ()).unwrap();
        assert_eq!(answer(&mut writer, ONE), Ok(vec![vec!["99".to_owned()]]));
    });
}

/// What Freshet's own account cannot see may do anything.
#[test]
fn a_procedure_that_cannot_be_seen() {
    for server in freshet_tests::server::all() {
        let routine = "CREATE PROCEDURE p() BEGIN UPDATE t SET v = v + 1 WHERE id = 1; DO SLEEP(0.25); END";
        let mut direct = set_up(&server, "stored_unseen", routine, "");
        let blind = with_follower(&server, "freshet_blind");
        run(&mut direct, &["GRANT SELECT, SHOW VIEW, TRIGGER, EXECUTE ON stored_unseen.* TO freshet_blind"]);
        let freshet = Freshet::before(&blind);
        let mut counted = Counted::of(&freshet);
        let mut reader = connect(freshet.target(), "stored_unseen");
        let mut writer = connect(freshet.target(), "stored_unseen");
        let _ = counted.prime(&mut reader, OTHER);
        let before = counted.prime(&mut reader, ONE);
        thread::scope(|scope| {
            let writing = scope.spawn(|| run(&mut writer, &["CALL p()"]));
            await_asleep(freshet.target(), "stored_unseen");
            for read in [ONE, OTHER] {
                assert_eq!(counted.hits_of(&mut reader, read, 1), 0, "{read}: anything may be written");
            }
            writing.join().unwrap();
        });
        assert_ne!(answer(&mut reader, ONE), before);
        freshet.stop();
        run(&mut direct, &["DROP USER freshet_blind"]);
    }
}
