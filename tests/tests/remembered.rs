//! Logins that are answered from memory, and sessions that begin as earlier ones did: the server is not asked, and nothing is
//! answered that the server would not answer.

mod spares;

use std::process::{Command, Stdio};

use freshet_tests::cached::{Answer, answer, eventually, fresh_schema, run, status, try_answer};
use freshet_tests::raw::Raw;
use freshet_tests::stall::Stall;
use freshet_tests::{Flavor, Freshet, Server, Target, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

const PASSWORD: &str = "open sesame";
const SCHEMA: &str = "remembered";
const QUESTION: &str = "SELECT v FROM t WHERE id = 1";
/// So many logins in a row are to be without the server.
const LOGINS: usize = 10;

fn with_each(test: impl Fn(&Server, &Freshet)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in freshet_tests::server::all() {
        let mut admin = fresh_schema(&server, SCHEMA);
        run(&mut admin, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
        let freshet = Freshet::before(&server);
        test(&server, &freshet);
        freshet.stop();
    }
}

/// A client in clear that asks nothing by itself.
fn login(target: &Target, user: &str, password: &str) -> mysql::Result<Conn> {
    login_into(target, user, password, SCHEMA)
}

fn login_into(target: &Target, user: &str, password: &str, schema: &str) -> mysql::Result<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(&target.host))
        .tcp_port(target.port)
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some(schema))
        .max_allowed_packet(Some(1 << 24))
        .prefer_socket(false);
    Conn::new(options)
}

/// What becomes of a client that logs in and asks: the answer, or the error's number.
fn ask(target: &Target, user: &str, password: &str, question: &str) -> Answer {
    let refused = |error| match error {
        mysql::Error::MySqlError(error) => Err(error.code),
        // For an account that is not there MySQL asks by a plugin that this client does not have, and refuses what answers.
        mysql::Error::DriverError(_) => Err(1045),
        other => panic!("{user}: {other}"),
    };
    match login(target, user, password) {
        Ok(mut conn) => try_answer(&mut conn, question).unwrap_or_else(refused),
        Err(error) => refused(error),
    }
}

fn make(admin: &mut Conn, user: &str) {
    run(
        admin,
        &[
            &format!("DROP USER IF EXISTS {user}@'%'"),
            &format!("CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"),
            &format!("GRANT SELECT, CREATE TEMPORARY TABLES, INSERT ON {SCHEMA}.* TO {user}@'%'"),
        ],
    );
}

/// Logs in until that takes the server no connection.
fn remember(server: &Server, freshet: &Freshet, user: &str) {
    let mut admin = server.target.connect();
    eventually(&format!("{user} is remembered by the Freshet before {:?}", server.flavor), || {
        let before = status(&mut admin, "Connections");
        for _ in 0..LOGINS {
            login(freshet.target(), user, PASSWORD).expect("it is let in");
        }
        (status(&mut admin, "Connections") == before).then_some(())
    });
}

/// Logs in and asks until that takes the server no connection, and gives the answer.
fn remember_answer(server: &Server, freshet: &Freshet, user: &str, question: &str) -> Answer {
    let mut admin = server.target.connect();
    eventually(&format!("{user} is remembered and {question} stored, {:?}", server.flavor), || {
        let before = status(&mut admin, "Connections");
        let answers = [(); LOGINS].map(|()| ask(freshet.target(), user, PASSWORD, question));
        assert!(answers.iter().all(|it| *it == answers[0]), "{answers:?}");
        (status(&mut admin, "Connections") == before).then(|| answers[0].clone())
    })
}

fn row(v: &str) -> Answer {
    Ok(vec![vec![v.to_owned()]])
}

#[test]
fn a_repeated_login_and_a_repeated_query_touch_no_server() {
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        make(&mut admin, "rem_ann");
        remember(server, freshet, "rem_ann");
        assert_eq!(remember_answer(server, freshet, "rem_ann", QUESTION), row("10"));
        run(&mut freshet.target().connect(), &[&format!("UPDATE {SCHEMA}.t SET v = 11 WHERE id = 1")]);
        assert_eq!(ask(freshet.target(), "rem_ann", PASSWORD, QUESTION), row("11"), "a write is seen");
        assert_eq!(remember_answer(server, freshet, "rem_ann", QUESTION), row("11"));
        // Accounts that change elsewhere are no reason to forget for good, also where the server knows the password by now.
        make(&mut admin, "rem_eve");
        assert_eq!(remember_answer(server, freshet, "rem_ann", QUESTION), row("11"));
        assert_eq!(ask(freshet.target(), "rem_ann", "wrong", QUESTION), Err(1045));
        assert_eq!(ask(freshet.target(), "rem_ann", "", QUESTION), Err(1045));
        assert_eq!(ask(freshet.target(), "rem_ann", PASSWORD, QUESTION), row("11"));
    });
}

/// The stream is held up, so that nothing tells of it but the statement itself.
#[test]
fn nobody_is_let_into_a_schema_that_was_dropped_through_freshet() {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in freshet_tests::server::all() {
        let mut admin = fresh_schema(&server, SCHEMA);
        let stall = Stall::before(&server);
        let way = Server { url: stall.url.clone(), ..server.clone() };
        let freshet = Freshet::with(&way, &["--heartbeat", "10s"]);
        make(&mut admin, "rem_dot");
        remember(&server, &freshet, "rem_dot");
        let mut client = freshet.target().connect();
        stall.hold();
        run(&mut client, &[&format!("DROP DATABASE {SCHEMA}")]);
        let said = [&server.target, freshet.target()].map(|target| login(target, "rem_dot", PASSWORD));
        stall.release();
        for said in said {
            let is_unknown =
                |error: &_| matches!(error, mysql::Error::MySqlError(error) if error.code == 1049);
            assert!(said.as_ref().is_err_and(is_unknown), "{:?}: {said:?}", server.flavor);
        }
        run(&mut admin, &["DROP USER rem_dot"]);
        freshet.stop();
    }
}

/// A session that has had answers from memory goes on at the server as if it had been there from the start.
#[test]
fn a_session_that_began_without_the_server_goes_on_there() {
    with_each(|server, freshet| {
        make(&mut server.target.connect(), "rem_bob");
        let begin = || {
            let _ = remember_answer(server, freshet, "rem_bob", QUESTION);
            let mut conn = login(freshet.target(), "rem_bob", PASSWORD).expect("it is let in");
            assert_eq!(answer(&mut conn, QUESTION), row("10"));
            conn
        };
        assert_eq!(answer(&mut begin(), "SELECT FOUND_ROWS()"), row("1"));
        assert_eq!(
            answer(&mut begin(), "SELECT DATABASE(), CURRENT_USER(), CONNECTION_ID() > 0")
                .map(|it| it[0].clone()),
            Ok(vec![SCHEMA.to_owned(), "rem_bob@%".to_owned(), "1".to_owned()])
        );
        let mut conn = begin();
        run(
            &mut conn,
            &["CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 77)"],
        );
        assert_eq!(answer(&mut conn, QUESTION), row("77"), "its own table hides the other");
        let mut conn = begin();
        run(&mut conn, &["BEGIN"]);
        run(&mut server.target.connect(), &[&format!("UPDATE {SCHEMA}.t SET v = 20 WHERE id = 1")]);
        assert_eq!(answer(&mut conn, QUESTION), row("20"), "the snapshot is taken by the first read");
        run(&mut server.target.connect(), &[&format!("UPDATE {SCHEMA}.t SET v = 10 WHERE id = 1")]);
        assert_eq!(answer(&mut conn, QUESTION), row("20"));
        run(&mut conn, &["COMMIT"]);
        let mut conn = begin();
        run(&mut conn, &["USE information_schema"]);
        assert!(answer(&mut conn, QUESTION).is_err(), "another schema");
    });
}

/// What is done to an account, and how it is undone where dropping it is not enough.
const CHANGES: [(&str, &str); 8] = [
    ("ALTER USER ?@'%' IDENTIFIED BY 'another'", ""),
    ("ALTER USER ?@'%' ACCOUNT LOCK", ""),
    ("ALTER USER ?@'%' PASSWORD EXPIRE", ""),
    ("ALTER USER ?@'%' REQUIRE SSL", ""),
    ("DROP USER ?@'%'", ""),
    ("RENAME USER ?@'%' TO rem_other@'%'", "DROP USER rem_other@'%'"),
    ("REVOKE SELECT ON remembered.* FROM ?@'%'", ""),
    // The server chooses the account whose host says more.
    ("CREATE USER ?@'127.0.0.1' IDENTIFIED BY 'another'", "DROP USER ?@'127.0.0.1'"),
];

#[test]
fn what_is_changed_of_an_account_holds_for_the_next_login() {
    const USER: &str = "rem_cat";
    with_each(|server, freshet| {
        changes_hold(server, freshet, USER, || make(&mut server.target.connect(), USER));
    });
}

/// Changes the account of a user whom `make` makes anew each time.
fn changes_hold(server: &Server, freshet: &Freshet, user: &str, make: impl Fn()) {
    let (mut admin, mut through) = (server.target.connect(), freshet.target().connect());
    for (change, undo) in CHANGES {
        let change = change.replace('?', user);
        // Through Freshet it holds at once, around it as soon as its event is there.
        for around in [false, true] {
            make();
            assert_eq!(remember_answer(server, freshet, user, QUESTION), row("10"));
            run(if around { &mut admin } else { &mut through }, &[&change]);
            let seen = |target: &Target| [PASSWORD, "another"].map(|word| ask(target, user, word, QUESTION));
            let expected = seen(&server.target);
            if around {
                eventually(&format!("{change} is heeded, {:?}", server.flavor), || {
                    (seen(freshet.target()) == expected).then_some(())
                });
            }
            assert_eq!(seen(freshet.target()), expected, "{change}, {:?}", server.flavor);
            if !undo.is_empty() {
                run(&mut admin, &[&undo.replace('?', user)]);
            }
        }
    }
}

/// What the server counts, it has to see.
#[test]
fn bounds_of_an_account_hold() {
    const USER: &str = "rem_dan";
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        make(&mut admin, USER);
        run(&mut admin, &[&format!("ALTER USER {USER}@'%' WITH MAX_USER_CONNECTIONS 2")]);
        for _ in 0..5 {
            // A connection that is closed counts until the server has seen it.
            eventually("the first two are let in", || {
                let first = login(freshet.target(), USER, PASSWORD).ok()?;
                let second = login(freshet.target(), USER, PASSWORD).ok()?;
                let third = ask(freshet.target(), USER, PASSWORD, QUESTION);
                drop((first, second));
                assert!(matches!(third, Err(1226 | 1203)), "{third:?}, {:?}", server.flavor);
                Some(())
            });
        }
    });
}

#[test]
fn failures_in_a_row_lock_an_account_and_others_do_not() {
    const USER: &str = "rem_eli";
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        let wrong = || assert!(ask(freshet.target(), USER, "wrong", QUESTION).is_err());
        make(&mut admin, USER);
        let is_mysql = server.flavor == Flavor::MySql;
        let (lock, undo) = if is_mysql {
            (format!("ALTER USER {USER}@'%' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 1"), String::new())
        } else {
            (
                "SET GLOBAL max_password_errors = 3".to_owned(),
                "SET GLOBAL max_password_errors = DEFAULT".to_owned(),
            )
        };
        run(&mut admin, &[&lock]);
        let outcome = std::panic::catch_unwind(|| {
            remember(server, freshet, USER);
            for _ in 0..6 {
                wrong();
                assert_eq!(ask(freshet.target(), USER, PASSWORD, QUESTION), row("10"), "{:?}", server.flavor);
            }
            (0..3).for_each(|_| wrong());
            let told = ask(freshet.target(), USER, PASSWORD, QUESTION);
            assert_eq!(told, ask(&server.target, USER, PASSWORD, QUESTION), "{:?}", server.flavor);
            assert!(matches!(told, Err(3955 | 4150)), "{told:?}");
        });
        if !undo.is_empty() {
            run(&mut admin, &[&undo, "FLUSH PRIVILEGES"]);
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// What the command line client prints, which says its character set and what it can do in its login.
fn client(target: &Target, user: &str, question: &str, flags: &[&str]) -> String {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-N", "-s", "--skip-ssl", "-h127.0.0.1", SCHEMA]).args(flags);
    client.arg(format!("-P{}", target.port)).arg(format!("-u{user}")).env("MYSQL_PWD", PASSWORD);
    let output = client.args(["-e", question]).stdin(Stdio::null()).output().expect("the client runs");
    let said = if output.status.success() { output.stdout } else { output.stderr };
    said.escape_ascii().to_string()
}

#[test]
fn sessions_of_another_kind_of_login_begin_differently() {
    const USER: &str = "rem_fay";
    const NAME: &str = "SELECT name FROM names WHERE id = 1";
    const SPACED: &str = "SELECT COUNT (*) FROM names WHERE id = 1";
    if !tool::is_there("mariadb") {
        return;
    }
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        make(&mut admin, USER);
        run(
            &mut admin,
            &[
                &format!(
                    "CREATE TABLE {SCHEMA}.names (id INT PRIMARY KEY, name VARCHAR(20)) CHARSET utf8mb4"
                ),
                &format!("INSERT INTO {SCHEMA}.names VALUES (1, _utf8mb4 X'C3A9')"),
            ],
        );
        remember(server, freshet, USER);
        let kinds = [
            (NAME, "--default-character-set=utf8mb4"),
            (NAME, "--default-character-set=latin1"),
            (SPACED, "--ignore-spaces"),
            (SPACED, "--no-beep"),
        ];
        let seen = |target: &Target| kinds.map(|(question, flag)| client(target, USER, question, &[flag]));
        let expected = seen(&server.target);
        assert_ne!(expected[0], expected[1]);
        assert_ne!(expected[2], expected[3]);
        for _ in 0..4 {
            assert_eq!(seen(freshet.target()), expected, "{:?}", server.flavor);
        }
    });
}

#[test]
fn global_variables_make_sessions_begin_differently() {
    const USER: &str = "rem_gus";
    const WHEN: &str = "SELECT at FROM moments WHERE id = 1";
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        make(&mut admin, USER);
        run(
            &mut admin,
            &[
                &format!("CREATE TABLE {SCHEMA}.moments (id INT PRIMARY KEY, at TIMESTAMP)"),
                &format!("INSERT INTO {SCHEMA}.moments VALUES (1, '2026-01-01 12:00:00')"),
            ],
        );
        let before: (String, String) = admin
            .query_first("SELECT @@GLOBAL.time_zone, @@GLOBAL.init_connect")
            .expect("it answers")
            .expect("a row");
        let at = |target: &Target| ask(target, USER, PASSWORD, WHEN);
        let outcome = std::panic::catch_unwind(|| {
            let mut admin = server.target.connect();
            let mut through = freshet.target().connect();
            for (number, set) in [
                "time_zone = '+03:00'",
                "time_zone = '+07:00'",
                "init_connect = 'SET time_zone = \"+09:00\"'",
            ]
            .into_iter()
            .enumerate()
            {
                let first = remember_answer(server, freshet, USER, WHEN);
                let set = format!("SET GLOBAL {set}");
                // Through Freshet it holds at once, around it within the second in which variables are looked at.
                run(if number == 0 { &mut through } else { &mut admin }, &[&set]);
                let expected = ask(&server.target, USER, PASSWORD, WHEN);
                assert_ne!(first, expected);
                if number > 0 {
                    eventually(&format!("{set} is heeded"), || {
                        (at(freshet.target()) == expected).then_some(())
                    });
                }
                for _ in 0..4 {
                    assert_eq!(at(freshet.target()), expected, "{set}, {:?}", server.flavor);
                }
            }
            // What runs at each login makes each session another one.
            run(
                &mut admin,
                &[
                    "SET GLOBAL init_connect = 'SET time_zone = IF(CONNECTION_ID() % 2, \"+05:00\", \"+09:00\")'",
                ],
            );
            for time in ["17:00:00", "21:00:00", "17:00:00", "21:00:00"] {
                let expected = row(&format!("2026-01-01 {time}"));
                eventually("sessions of either kind begin", || {
                    (at(freshet.target()) == expected).then_some(())
                });
            }
        });
        let (zone, connect) = before;
        run(
            &mut admin,
            &[&format!("SET GLOBAL time_zone = '{zone}'"), &format!("SET GLOBAL init_connect = '{connect}'")],
        );
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Names that an anonymous account lets in; more of them than users are remembered.
const NAMES: usize = 4_400;
const INVENTORS: usize = 8;

#[test]
fn made_up_names_push_nobody_out() {
    const USER: &str = "rem_hal";
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        make(&mut admin, USER);
        run(&mut admin, &["DROP USER IF EXISTS ''@'%'", "CREATE USER ''@'%' IDENTIFIED BY ''"]);
        let outcome = std::panic::catch_unwind(|| {
            let port = freshet.target().port;
            let invent = |inventor: usize| {
                for number in 0..NAMES / INVENTORS {
                    let mut client = Raw::dial("127.0.0.1", port).expect("it greets");
                    client.login(&format!("made-up-{inventor}-{number}"), "", 0).expect("any name is let in");
                }
            };
            let mut admin = server.target.connect();
            // The accounts that were just made are noticed twice, and all is forgotten then.
            eventually(&format!("a user outlives what others make up, {:?}", server.flavor), || {
                remember(server, freshet, USER);
                std::thread::scope(|scope| {
                    (0..INVENTORS).for_each(|inventor| drop(scope.spawn(move || invent(inventor))));
                });
                let before = status(&mut admin, "Connections");
                login(freshet.target(), USER, PASSWORD).expect("it is let in");
                (status(&mut admin, "Connections") == before).then_some(())
            });
        });
        run(&mut admin, &["DROP USER ''@'%'"]);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// What is remembered may not serve the account's plugin of today: then the client is asked after all.
#[test]
fn an_account_that_changes_its_plugin_and_keeps_its_password_is_let_in() {
    const USER: &str = "rem_ida";
    if !tool::is_there("mariadb") {
        return;
    }
    with_each(|server, freshet| {
        let mut admin = server.target.connect();
        let is_there = "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'ed25519'";
        let had: Option<u32> = admin.query_first(is_there).expect("it answers");
        if server.flavor == Flavor::MySql
            || had == Some(0) && admin.query_drop("INSTALL SONAME 'auth_ed25519'").is_err()
        {
            return;
        }
        make(&mut admin, USER);
        let outcome = std::panic::catch_unwind(|| {
            remember(server, freshet, USER);
            let mut through = freshet.target().connect();
            run(
                &mut through,
                &[&format!("ALTER USER {USER}@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')")],
            );
            for _ in 0..3 {
                assert_eq!(client(freshet.target(), USER, QUESTION, &[]), "10\\n");
            }
            run(&mut through, &[&format!("ALTER USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'")]);
            remember(server, freshet, USER);
        });
        run(&mut admin, &[&format!("DROP USER {USER}@'%'")]);
        if had == Some(0) {
            run(&mut admin, &["UNINSTALL SONAME 'auth_ed25519'"]);
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
