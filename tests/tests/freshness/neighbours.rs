//! What one client does, be it wrong, endless or odd, does not take the cache away from the others, nor let them see
//! what is not theirs.

use freshet_tests::cached::{Answer, Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::{Freshet, Server, Target, with_each};
use mysql::Conn;

use crate::freshness::steps::{Execute, Say, Step, walk};

const READ: &str = "SELECT v FROM w WHERE id = 1";
const SETUP: &[&str] = &[
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "INSERT INTO w VALUES (1, 10)",
    "CREATE TABLE log (id INT)",
    "CREATE TABLE src (id INT)",
    "CREATE TRIGGER tr BEFORE INSERT ON src FOR EACH ROW SET @a = 1",
    "CREATE PROCEDURE pr() SELECT 1",
    "CREATE FUNCTION fd() RETURNS INT DETERMINISTIC NO SQL RETURN 1",
];

struct Stage {
    counted: Counted,
    reader: Conn,
}

impl Stage {
    fn new(server: &Server, freshet: &Freshet, schema: &str) -> Stage {
        run(&mut fresh_schema(server, schema), SETUP);
        caught_up(freshet);
        Stage { counted: Counted::of(freshet), reader: connect(freshet.target(), schema) }
    }

    /// A reader that was there before is answered from memory again, though nobody writes anything.
    fn hits(&mut self) -> Answer {
        self.counted.prime(&mut self.reader, READ)
    }
}

/// What leaves nothing behind that another client could notice.
const NOISE: &[&[Step<'static>]] = &[
    &[Say("selec")],
    &[Say("CALL pr()")],
    &[Execute("CALL pr()")],
    &[Say("SELECT fd()")],
    &[Say("SELECT nothing()")],
    &[Say("INSERT INTO src VALUES (1)")],
    &[Say("PREPARE s FROM 'SELECT 1'"), Say("EXECUTE s")],
    &[Say("SET sql_log_bin = 0"), Say("INSERT INTO log VALUES (1)")],
    &[Say("SET autocommit = 0"), Say("INSERT INTO log VALUES (1)"), Say("SET autocommit = 1")],
    &[Say("SET sql_select_limit = 0"), Say("SELECT * FROM w")],
    &[Say("SET sql_mode = 'HIGH_NOT_PRECEDENCE'"), Say("SELECT * FROM w")],
    &[Say("SET NAMES gbk"), Say("SELECT * FROM w")],
    &[Say("SHOW DATABASES")],
    &[Say("CHECKSUM TABLE w")],
    &[Say("EXPLAIN SELECT * FROM w")],
    &[Say("ANALYZE TABLE log")],
    &[Say("CREATE TEMPORARY TABLE zz (a INT)")],
    &[Say("/*!99999 SELECT 1 */ SELECT 1")],
    &[Say("SELECT /*!100100 1, */ v FROM w")],
    &[Say("SELECT /*!80013 1, */ v FROM w")],
    &[
        Say("XA START 'neighbours'"),
        Say("INSERT INTO log VALUES (1)"),
        Say("XA END 'neighbours'"),
        Say("XA PREPARE 'neighbours'"),
        Say("XA COMMIT 'neighbours'"),
    ],
];

#[test]
fn one_clients_noise_costs_the_others_nothing_lasting() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let _ = answer(&mut server.target.connect(), "XA ROLLBACK 'neighbours'");
        let mut stage = Stage::new(server, freshet, "fresh_noise");
        let mut noisy = Vec::new();
        for steps in NOISE {
            let before = stage.hits();
            let mut client = connect(freshet.target(), "fresh_noise");
            walk(&mut client, steps);
            assert_eq!(stage.hits(), before, "{steps:?}");
            // It goes on being there.
            noisy.push(client);
        }
        assert_eq!(stage.hits(), Ok(vec![vec!["10".into()]]));
    });
}

#[test]
fn a_typo_does_not_empty_the_cache() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "fresh_typo");
        let mut client = connect(freshet.target(), "fresh_typo");
        let remembered: Vec<String> = (0..20).map(|number| format!("{READ} AND id <> -{number}")).collect();
        for typo in ["selec", "SELEC v FROM w", "updat w SET v = 1", "nonsense"] {
            for read in &remembered {
                let _ = stage.counted.prime(&mut stage.reader, read);
            }
            assert_eq!(answer(&mut client, typo), Err(1064));
            // For a moment it might have been anything; when that is over, all of it is still there.
            let _ = stage.hits();
            for read in &remembered {
                assert_eq!(stage.counted.hits_of(&mut stage.reader, read, 1), 1, "{typo}");
            }
        }
    });
}

#[test]
fn an_idle_transaction_keeps_nobody_from_the_cache() {
    const IDLE: &[&[Step<'static>]] = &[
        &[Say("BEGIN"), Say("CALL pr()")],
        &[Say("BEGIN"), Say("INSERT INTO src VALUES (1)")],
        &[Say("BEGIN"), Say("INSERT INTO log VALUES (1)")],
        &[Say("BEGIN"), Say("UPDATE w SET v = 11")],
        &[Say("BEGIN"), Say("selec")],
        &[Say("BEGIN"), Say("SELECT fd()")],
        &[Say("SET autocommit = 0"), Say("CALL pr()")],
        &[Say("SET autocommit = 0"), Execute("UPDATE w SET v = 11")],
        &[Say("START TRANSACTION WITH CONSISTENT SNAPSHOT"), Say(READ)],
    ];
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "fresh_idle");
        for steps in IDLE {
            let _ = stage.hits();
            let mut client = connect(freshet.target(), "fresh_idle");
            walk(&mut client, steps);
            assert_eq!(stage.hits(), Ok(vec![vec!["10".into()]]), "{steps:?}");
            run(&mut client, &["ROLLBACK"]);
        }
    });
}

fn as_user(target: &Target, user: &str) -> Target {
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

/// Somewhat above what is kept of one user.
const ENVIRONMENTS: u32 = 2300;

#[test]
fn a_user_with_endless_settings_harms_nobody_and_is_nobody_else() {
    const SECRET: &str = "SELECT v FROM fresh_secret.w WHERE id = 1";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "fresh_settings");
        let mut direct = fresh_schema(server, "fresh_secret");
        run(
            &mut direct,
            &[
                "CREATE TABLE w (id INT PRIMARY KEY, v VARCHAR(20))",
                "INSERT INTO w VALUES (1, 'secret')",
                "DROP USER IF EXISTS fresh_noisy, fresh_quiet",
                "CREATE USER fresh_noisy IDENTIFIED BY 'pw'",
                "CREATE USER fresh_quiet IDENTIFIED BY 'pw'",
                "GRANT SELECT ON fresh_settings.* TO fresh_noisy, fresh_quiet",
                "GRANT SELECT ON fresh_secret.* TO fresh_noisy",
            ],
        );
        let mut noisy = connect(&as_user(freshet.target(), "fresh_noisy"), "fresh_settings");
        for number in 0..ENVIRONMENTS {
            run(&mut noisy, &[&format!("SET group_concat_max_len = {}", 100_000 + number), READ]);
        }
        run(&mut noisy, &["SET group_concat_max_len = 7777777", SECRET, "SET group_concat_max_len = 1024"]);
        let secret = Ok(vec![vec!["secret".into()]]);
        for _ in 0..3 {
            assert_eq!(answer(&mut noisy, SECRET), secret);
        }
        // The same statements by another user, who may not.
        let mut quiet = connect(&as_user(freshet.target(), "fresh_quiet"), "fresh_settings");
        let _ = stage.counted.prime(&mut quiet, READ);
        run(&mut quiet, &["SET group_concat_max_len = 8888888", READ, "SET group_concat_max_len = 1024"]);
        for _ in 0..3 {
            assert_eq!(answer(&mut quiet, SECRET), Err(1142));
        }
        // Nor have the others lost anything.
        let _ = stage.counted.prime(&mut quiet, READ);
        run(&mut quiet, &["SET lc_time_names = 'de_DE'"]);
        let _ = stage.counted.prime(&mut quiet, READ);
        let _ = stage.hits();
        run(&mut direct, &["DROP USER fresh_noisy, fresh_quiet"]);
    });
}

#[test]
fn a_table_locked_for_writing_is_not_read_from_memory_by_who_asks_for_that() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut stage = Stage::new(server, freshet, "fresh_wlock");
        let mut holder = connect(freshet.target(), "fresh_wlock");
        // Who holds the lock says whether it counts; the other has no way round it.
        run(&mut holder, &["SET query_cache_wlock_invalidate = ON"]);
        let _ = stage.hits();
        run(&mut holder, &["LOCK TABLES w WRITE"]);
        let mut waiting = connect(freshet.target(), "fresh_wlock");
        let blocked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| answer(&mut waiting, READ));
            let mut direct = connect(&server.target, "fresh_wlock");
            let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'fresh_wlock' AND state LIKE '%metadata lock%'";
            eventually("the reader waits for the lock", || {
                (answer(&mut direct, waits) == Ok(vec![vec!["1".into()]])).then_some(())
            });
            run(&mut holder, &["UPDATE w SET v = 12", "UNLOCK TABLES"]);
            asking.join().expect("it is answered")
        });
        assert_eq!(blocked, Ok(vec![vec!["12".into()]]));
        assert_eq!(stage.hits(), Ok(vec![vec!["12".into()]]));
    });
}
