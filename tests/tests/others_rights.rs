//! Accounts, rights and routines of others come and go, and who has nothing to do with them keeps what is remembered: also a result
//! that nobody asks for in between. Nobody else changes rights on these servers while this runs.

use std::thread::sleep;
use std::time::{Duration, Instant};

use freshet_tests::cached::{Counted, answer, caught_up, eventually, fresh_schema, run, try_answer};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;

/// Longer than the time between two looks at rights, twice.
const LONG: Duration = Duration::from_millis(2_500);
/// Between two statements on accounts.
const PAUSE: Duration = Duration::from_millis(40);
/// How often it is tried.
const TRIES: usize = 3;

const SCHEMA: &str = "others_rights";
const OTHER: &str = "others_rights_2";
const READ: &str = "SELECT v FROM others_rights.t WHERE id = 1";

/// What others do, over and over, and undo. `{s}` is a schema and a user that the reader has nothing to do with.
const COME_AND_GO: [&[&str]; 4] = [
    &[
        "CREATE USER {s}_new IDENTIFIED BY 'pw'",
        "GRANT SELECT ON {s}.* TO {s}_new",
        "SET PASSWORD FOR {s}_new = {password}",
        "DROP USER {s}_new",
    ],
    &["GRANT INSERT ON {s}.* TO {s}", "REVOKE INSERT ON {s}.* FROM {s}"],
    &["CREATE FUNCTION {s}.f() RETURNS INT DETERMINISTIC NO SQL RETURN 1", "DROP FUNCTION {s}.f"],
    &["CREATE PROCEDURE {s}.p() SELECT 1", "DROP PROCEDURE {s}.p"],
];

fn as_user(target: &Target, user: &str) -> Target {
    Target { user: user.into(), password: "pw".into(), ..target.clone() }
}

/// Does this for a while, with a pause after each statement.
fn keep_on(admin: &mut Conn, statements: &[String]) {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        for statement in statements {
            run(admin, &[statement]);
            sleep(PAUSE);
        }
    }
}

/// The schemas, a table to read, and a user without rights beside the reader.
fn stage(server: &Server) -> Conn {
    let mut admin = fresh_schema(server, SCHEMA);
    drop(fresh_schema(server, OTHER));
    run(&mut admin, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
    for user in [SCHEMA, OTHER, &format!("{OTHER}_new")] {
        run(&mut admin, &[&format!("DROP USER IF EXISTS {user}")]);
    }
    for user in [SCHEMA, OTHER] {
        run(&mut admin, &[&format!("CREATE USER {user} IDENTIFIED BY 'pw'")]);
    }
    run(&mut admin, &[&format!("GRANT SELECT ON {SCHEMA}.* TO {SCHEMA}")]);
    admin
}

fn primed(freshet: &Freshet) -> (Counted, Conn) {
    let mut reader = as_user(freshet.target(), SCHEMA).connect();
    eventually("the right is there", || answer(&mut reader, READ).ok());
    let mut counted = Counted::of(freshet);
    assert_eq!(counted.prime(&mut reader, READ), Ok(vec![vec!["10".into()]]));
    (counted, reader)
}

#[test]
fn what_others_may_do_is_their_own_affair() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut admin = stage(server);
        caught_up(freshet);
        let password = if server.flavor == Flavor::MariaDb { "PASSWORD('other')" } else { "'other'" };
        // What was silent before is known by the second look.
        sleep(LONG);
        for statements in COME_AND_GO {
            let said: Vec<String> = statements
                .iter()
                .map(|statement| statement.replace("{s}", OTHER).replace("{password}", password))
                .collect();
            // On a machine that is busy with others, the stream may be late for once.
            let is_hit = (0..TRIES).any(|_| {
                let (mut counted, mut reader) = primed(freshet);
                keep_on(&mut admin, &said);
                let before = counted.hits();
                assert_eq!(answer(&mut reader, READ), Ok(vec![vec!["10".into()]]));
                counted.hits() == before + 1
            });
            assert!(is_hit, "{:?}: after {statements:?}", server.flavor);
        }
    });
}

/// What a program knows of the server when it begins to follow it is enough: nothing is dropped in its first seconds either.
#[test]
fn what_is_remembered_from_the_first_second_on_stays() {
    with_each(|server, _| {
        let mut admin = stage(server);
        let freshet = Freshet::before(server);
        let (mut counted, mut reader) = primed(&freshet);
        let said: Vec<String> =
            COME_AND_GO[2].iter().map(|statement| statement.replace("{s}", OTHER)).collect();
        keep_on(&mut admin, &said);
        let before = counted.hits();
        assert_eq!(answer(&mut reader, READ), Ok(vec![vec!["10".into()]]));
        assert_eq!(counted.hits(), before + 1, "{:?}", server.flavor);
    });
}

/// Ways to take a right away in silence that was there for a moment; `READ` is a reader who is answered from memory.
const SILENT: [&[&str]; 2] = [
    &["GRANT SELECT ON {s}.* TO {s}", "READ", "SET sql_log_bin = 0", "REVOKE SELECT ON {s}.* FROM {s}"],
    &[
        "SET sql_log_bin = 0",
        "GRANT SELECT ON {s}.* TO {s}",
        "SET sql_log_bin = 1",
        "READ",
        "SET sql_log_bin = 0",
        "REVOKE SELECT ON {s}.* FROM {s}",
    ],
];

/// The server counts statements on accounts, and the stream tells of those that are logged: one that is not logged is not to be made
/// up for by another one that is.
#[test]
fn a_right_that_is_taken_in_silence_is_gone_however_much_is_told_of_others() {
    with_each(|server, freshet| {
        let mut admin = stage(server);
        run(&mut admin, &[&format!("REVOKE SELECT ON {SCHEMA}.* FROM {SCHEMA}")]);
        sleep(LONG);
        let noise = COME_AND_GO[0].iter().filter(|statement| !statement.contains("{password}"));
        let noise: Vec<String> = noise.map(|statement| statement.replace("{s}", OTHER)).collect();
        let mut noisy = server.target.connect();
        std::thread::scope(|scope| {
            let noisy = scope.spawn(move || (0..3).for_each(|_| keep_on(&mut noisy, &noise)));
            SILENT.iter().cycle().take(6).for_each(|silent| given_and_taken(freshet, &mut admin, silent));
            noisy.join().expect("the noise is understood");
        });
    });
}

fn given_and_taken(freshet: &Freshet, admin: &mut Conn, silent: &[&str]) {
    for statement in silent {
        match *statement {
            "READ" => drop(primed(freshet)),
            statement => run(admin, &[&statement.replace("{s}", SCHEMA)]),
        }
    }
    run(admin, &["SET sql_log_bin = 1"]);
    let mut reader = as_user(freshet.target(), SCHEMA).connect();
    eventually("the reader is refused", || {
        matches!(try_answer(&mut reader, READ), Ok(Err(_)) | Err(_)).then_some(())
    });
}
