//! Rights and settings that change through Freshet without a word in the binlog: whoever is told that the change was made
//! finds it in effect, and so does everybody else from then on.

use std::process::{Command, Stdio};

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run, try_answer};
use freshet_tests::raw::{Raw, error_code};
use freshet_tests::{Flavor, Freshet, Target, tool, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

use super::unlogged_rights::{as_user, stage};

/// Once a second it is looked for changes in any case, so that one time out of many would prove nothing.
const ROUNDS: usize = 4;

/// A way to set a global variable to a string.
type Setting = fn(&mut Conn, &str, &str);

const SETTINGS: [Setting; 4] = [
    |conn, name, value| run(conn, &[&format!("SET GLOBAL {name} = '{value}'")]),
    |conn, name, value| run(conn, &[&format!("DO 1; SET @@GLOBAL.{name} = '{value}'")]),
    |conn, name, value| conn.exec_drop(format!("SET GLOBAL {name} = ?"), (value,)).expect("it is set"),
    |conn, name, value| run(conn, &[&format!("SET SESSION sql_mode = \"\", GLOBAL {name} = '{value}'")]),
];

#[test]
fn a_global_variable_is_in_effect_when_it_is_set() {
    const SEARCH: &str =
        "SELECT COUNT(*) FROM texts WHERE MATCH (b) AGAINST ('+alpha ~beta' IN BOOLEAN MODE)";
    with_each(|server, freshet| {
        let mut admin = fresh_schema(server, "fresh_global_through");
        run(
            &mut admin,
            &[
                "CREATE TABLE texts (id INT PRIMARY KEY, b TEXT, FULLTEXT (b)) ENGINE = MyISAM",
                "INSERT INTO texts VALUES (1, 'alpha words'), (2, 'beta words'), (3, 'gamma words'), (4, 'delta words')",
            ],
        );
        let default = answer(&mut admin, "SELECT @@GLOBAL.ft_boolean_syntax").unwrap().remove(0).remove(0);
        // What must be there and what may not change places.
        let other = default.replace('+', "!").replace('-', "+").replace('!', "-");
        let mut reader = connect(freshet.target(), "fresh_global_through");
        for (set, round) in SETTINGS.iter().flat_map(|set| (0..ROUNDS).map(move |round| (set, round))) {
            let mut writer = connect(freshet.target(), "fresh_global_through");
            let _ = Counted::of(freshet).prime(&mut reader, SEARCH);
            set(&mut writer, "ft_boolean_syntax", if round % 2 == 0 { &other } else { &default });
            let got = answer(&mut reader, SEARCH);
            assert_eq!(got, answer(&mut admin, SEARCH), "round {round}");
        }
        run(&mut admin, &[&format!("SET GLOBAL ft_boolean_syntax = '{default}'")]);
    });
}

/// A reader who is answered from memory by rights that are in no table any more, though still in effect.
fn on_borrowed_time(freshet: &Freshet, admin: &mut Conn, schema: &str) -> (Conn, String) {
    run(admin, &[&format!("GRANT SELECT ON {schema}.* TO {schema}")]);
    let read = format!("SELECT v FROM {schema}.t WHERE id = 1");
    let mut reader = as_user(freshet.target(), schema).connect();
    eventually("the right is there", || answer(&mut reader, &read).ok());
    run(admin, &[&format!("DELETE FROM mysql.db WHERE Db = '{schema}'")]);
    assert_eq!(Counted::of(freshet).prime(&mut reader, &read), Ok(vec![vec!["10".into()]]));
    (reader, read)
}

#[test]
fn a_right_that_is_unloaded_is_gone_when_the_client_is_told() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "reload_through");
        let reloader = format!("{schema}_2");
        run(
            &mut admin,
            &[
                &format!("DROP USER IF EXISTS {reloader}"),
                &format!("CREATE USER {reloader}"),
                &format!("GRANT RELOAD ON *.* TO {reloader}"),
            ],
        );
        let by_text = |text: &'static str| {
            move || run(&mut freshet.target().connect(), &[text]) // A client of its own each time.
        };
        let by_command = || {
            const REFRESH: u8 = 7;
            const GRANT: u8 = 1;
            let mut client = log_in(freshet.target(), &reloader).expect("it is let in");
            let answer = client.ask(REFRESH, &[GRANT]).expect("an answer");
            if let Some(1047) = error_code(&answer[0]) {
                by_text("FLUSH LOCAL PRIVILEGES")(); // This server has no such command any more.
            }
        };
        let ways: [&dyn Fn(); 4] = [
            &by_text("FLUSH LOCAL PRIVILEGES"),
            &by_text("FLUSH PRIVILEGES"),
            &by_text("DO 1; FLUSH NO_WRITE_TO_BINLOG PRIVILEGES"),
            &by_command,
        ];
        for (way, round) in ways.iter().enumerate().flat_map(|way| (0..ROUNDS).map(move |round| (way, round)))
        {
            let (mut reader, read) = on_borrowed_time(freshet, &mut admin, &schema);
            way.1();
            let got = try_answer(&mut reader, &read);
            assert!(!matches!(got, Ok(Ok(_))), "way {}, round {round}: {got:?}", way.0);
        }
        run(&mut admin, &[&format!("DROP USER {schema}, {reloader}")]);
    });
}

/// A client that does nothing but log in, without a password.
fn log_in(target: &Target, user: &str) -> std::io::Result<Raw> {
    let mut client = Raw::dial(&target.host, target.port)?;
    client.login(user, "", 0)?;
    Ok(client)
}

/// Whether the command line client is let in with TLS, over which it hands its password over where the server wants it.
fn is_let_in(target: &Target, user: &str, password: &str) -> bool {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "--ssl", "--skip-ssl-verify-server-cert", "-e", "SELECT 1"]);
    client.args([format!("-h{}", target.host), format!("-P{}", target.port), format!("-u{user}")]);
    client.env("MYSQL_PWD", password).stdin(Stdio::null());
    client.output().expect("the client runs").status.success()
}

#[test]
fn a_password_that_is_set_without_the_binlog_counts_at_once() {
    if !tool::is_there("mariadb") {
        return;
    }
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "password_through");
        let target = freshet.target();
        for round in 0..ROUNDS {
            run(&mut admin, &[&format!("ALTER USER {schema} IDENTIFIED BY 'old'")]);
            eventually("the password counts", || is_let_in(target, &schema, "old").then_some(()));
            // The more often it is asked for, the surer it is remembered.
            for _ in 0..3 {
                assert!(is_let_in(target, &schema, "old"));
            }
            let password = match server.flavor {
                Flavor::MariaDb => "PASSWORD('new')",
                Flavor::MySql => "'new'",
            };
            run(
                &mut target.connect(),
                &["SET sql_log_bin = 0", &format!("SET PASSWORD FOR {schema} = {password}")],
            );
            assert!(!is_let_in(target, &schema, "old"), "the old password is taken, round {round}");
            assert!(is_let_in(target, &schema, "new"), "round {round}");
        }
        run(&mut admin, &[&format!("DROP USER {schema}")]);
    });
}

/// The tools that come with the servers, around Freshet.
#[test]
fn a_reload_by_the_servers_tools_is_noticed() {
    with_each(|server, freshet| {
        let (mut admin, schema) = stage(server, "reload_tool");
        for word in ["reload", "flush-privileges"] {
            if !tool::is_there("mariadb-admin") {
                return;
            }
            let (mut reader, read) = on_borrowed_time(freshet, &mut admin, &schema);
            let Target { host, port, user, password } = &server.target;
            let status = Command::new("mariadb-admin")
                .args(["--no-defaults", "--skip-ssl", &format!("-h{host}"), &format!("-P{port}")])
                .args([&format!("-u{user}"), word])
                .env("MYSQL_PWD", password)
                .stdin(Stdio::null())
                .status()
                .expect("the tool runs");
            assert!(status.success(), "{word}");
            // A lost right is as good as a lost connection.
            eventually("the reader is refused", || {
                (!matches!(try_answer(&mut reader, &read), Ok(Ok(_)))).then_some(())
            });
        }
        run(&mut admin, &[&format!("DROP USER {schema}")]);
    });
}
