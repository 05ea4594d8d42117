//! A client that greets with a SET, as drivers do, and asks for what is in memory needs no connection to the server.

use freshet_tests::cached::{fresh_schema, user_of};
use freshet_tests::raw::{Raw, capability, command, error_code};

use super::*;

/// Settings that drivers greet with.
const GREETINGS: [&str; 8] = [
    "SET NAMES latin1",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET sql_mode = 'ANSI'",
    "SET autocommit = 1",
    "SET autocommit = 0",
    "SET @@session.autocommit = OFF",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION wait_timeout = 600, innodb_lock_wait_timeout = 20, sql_auto_is_null = 0",
];
const STORED: &str = "SELECT v FROM t WHERE id = 1";
const SETTINGS: &str =
    "SELECT @@character_set_client, @@collation_connection, @@sql_mode, @@autocommit, @@wait_timeout";
/// What drivers ask at their start.
const QUESTIONS: [&str; 7] = [
    "SELECT 1",
    SETTINGS,
    "select @@version_comment limit 1",
    "SELECT VERSION(), DATABASE(), CURRENT_USER() AS me",
    "SELECT @@session.sql_mode AS a, @@max_allowed_packet, @@lower_case_table_names, 'x'",
    "SELECT @@transaction_isolation, @@time_zone",
    "SELECT @@tx_isolation",
];

fn with_rows(schema: &str, test: impl Fn(&Server, &Freshet, &mut Conn)) {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, schema);
        user_of(&mut direct, schema);
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "INSERT INTO t (v) VALUES (10)"],
        );
        test(server, freshet, &mut direct);
    });
}

fn client(target: &Target, schema: &str) -> Raw {
    let mut client = Raw::dial(&target.host, target.port).expect("it greets");
    client.login(schema, schema, 0).expect("it is let in");
    client
}

/// The rows of an answer, or its error's number.
fn told(client: &mut Raw, text: &str) -> Result<Vec<Vec<u8>>, u16> {
    let answer = client.query(text).expect("an answer");
    answer.iter().find_map(|packet| error_code(packet)).map_or(Ok(()), Err)?;
    let is_row = |packet: &&Vec<u8>| packet.first().is_some_and(|first| *first != 0xfe);
    let behind_columns =
        answer.iter().position(|packet| packet.first() == Some(&0xfe)).unwrap_or(answer.len());
    Ok(answer.iter().skip(behind_columns).filter(is_row).cloned().collect())
}

#[test]
fn who_greets_with_a_setting_and_asks_for_what_is_stored_needs_no_connection() {
    let schema = "lanes_setting";
    with_rows(schema, |server, freshet, _direct| {
        let mut looker = freshet.target().connect();
        for greeting in GREETINGS {
            let context = format!("{:?}: {greeting}", server.flavor);
            eventually(&format!("{context}: nobody is asked"), || {
                let mut shot = client(freshet.target(), schema);
                assert_eq!(told(&mut shot, greeting), Ok(vec![]));
                assert_eq!(told(&mut shot, STORED), Ok(vec![b"\x0210".to_vec()]));
                has_none(&mut looker, &shot).then_some(())
            });
            // What it asks the server then is asked where it has set itself to be.
            let questions = [
                SETTINGS,
                "SELECT ROW_COUNT(), LAST_INSERT_ID()",
                "SHOW WARNINGS",
                "SELECT CONNECTION_ID() > 0",
            ];
            for question in questions {
                let [expected, found] = [&server.target, freshet.target()].map(|target| {
                    let mut client = client(target, schema);
                    assert_eq!(told(&mut client, greeting), Ok(vec![]));
                    told(&mut client, STORED).expect("an answer");
                    let is_count = question.contains("ROW_COUNT");
                    if is_count {
                        told(&mut client, greeting).expect("it is set");
                    }
                    told(&mut client, question)
                });
                assert_eq!(found, expected, "{context}; {question}");
            }
            let [expected, found] = [&server.target, freshet.target()].map(|target| {
                let mut client = client(target, schema);
                told(&mut client, greeting).expect("it is set");
                client.ask(command::RESET_CONNECTION, b"").expect("an answer");
                (told(&mut client, SETTINGS), told(&mut client, "INSERT INTO t (v) VALUES (1)"))
            });
            assert_eq!(found, expected, "{context}, and then a reset");
        }
    });
}

#[test]
fn who_asks_for_settings_needs_no_connection_and_is_told_those_of_now() {
    let schema = "lanes_asking";
    with_rows(schema, |server, freshet, direct| {
        let mut looker = freshet.target().connect();
        let through = &mut freshet.target().connect();
        let told_by = |target: &Target, greeting: Option<&str>, question| {
            let mut client = client(target, schema);
            if let Some(greeting) = greeting {
                told(&mut client, greeting).expect("it is set");
            }
            let answer = client.query(question).expect("an answer");
            (client, answer)
        };
        for greeting in std::iter::once(None).chain(GREETINGS.map(Some)) {
            for question in QUESTIONS {
                let context = format!("{:?}: {greeting:?}, {question}", server.flavor);
                let (_, expected) = told_by(&server.target, greeting, question);
                // What is refused is asked of the server.
                let is_refused = expected.iter().any(|packet| error_code(packet).is_some());
                eventually(&format!("{context}: nobody is asked"), || {
                    let (mut shot, found) = told_by(freshet.target(), greeting, question);
                    assert_eq!(found, expected, "{context}");
                    if is_refused {
                        return Some(());
                    }
                    // A pool's ROLLBACK ends nothing.
                    assert_eq!(told(&mut shot, "ROLLBACK"), Ok(vec![]), "{context}");
                    assert_eq!(shot.query(question).expect("an answer"), expected, "{context}");
                    let needs_nobody = has_none(&mut looker, &shot);
                    // What it asks about that answer is told all the same.
                    let rows = "SELECT FOUND_ROWS()";
                    let (mut direct, _) = told_by(&server.target, greeting, question);
                    assert_eq!(told(&mut shot, rows), told(&mut direct, rows), "{context}");
                    needs_nobody.then_some(())
                });
            }
        }
        // A client that has a connection asks over it.
        let mut client = client(freshet.target(), schema);
        told(&mut client, "INSERT INTO t (v) VALUES (11)").expect("it is written");
        told(&mut client, "SELECT 1").expect("an answer");
        let id =
            one(&mut looker, &format!("SELECT server_id FROM freshet.sessions WHERE id = {}", client.id));
        run(direct, &[&format!("KILL {id}")]);
        eventually("it learns that its connection is gone", || {
            client.query("SELECT 1").is_err().then_some(())
        });
        // A global variable that is changed through Freshet shows at once.
        let was: u64 = one(direct, "SELECT @@global.wait_timeout").parse().expect("a number");
        for seconds in [was + 100, was] {
            run(through, &[&format!("SET GLOBAL wait_timeout = {seconds}")]);
            let (_, found) = told_by(freshet.target(), None, "SELECT @@wait_timeout");
            let text = seconds.to_string();
            assert!(found.iter().any(|packet| packet.ends_with(text.as_bytes())), "{found:?}");
        }
        run(direct, &["DELETE FROM t WHERE v = 11"]);
    });
}

#[test]
fn what_a_setting_does_besides_is_left_to_the_server() {
    let schema = "lanes_setting_more";
    with_rows(schema, |server, freshet, direct| {
        // What ends more than what is read of a session is the server's to do.
        for set in [
            "SET autocommit = 0",
            "SET timestamp = 1000",
            "SET SESSION TRANSACTION READ ONLY",
            "SET auto_increment_increment = 2",
            "SET wait_timeout = 600",
        ] {
            for _ in 0..3 {
                let [expected, found] = [&server.target, freshet.target()].map(|target| {
                    let mut client = client(target, schema);
                    told(&mut client, set).expect("it is set");
                    told(&mut client, STORED).expect("an answer");
                    let made = told(&mut client, "INSERT INTO t (v) VALUES (2)").map(|_| ());
                    told(&mut client, "ROLLBACK").expect("an answer");
                    let rows = told(&mut client, "SELECT COUNT(*) FROM t WHERE v = 2");
                    told(&mut client, "DELETE FROM t WHERE v = 2").ok();
                    told(&mut client, "COMMIT").expect("an answer");
                    (made, rows, told(&mut client, "SELECT UNIX_TIMESTAMP() = 1000"))
                });
                assert_eq!(found.0, expected.0, "{:?}: {set}", server.flavor);
                assert_eq!(found.2, expected.2, "{:?}: {set}", server.flavor);
                run(direct, &["DELETE FROM t WHERE v = 2"]);
                assert_eq!(found.1, expected.1, "{:?}: {set}", server.flavor);
            }
        }
        // What a SET warns of is the server's to say, each time.
        let warned = "SET NAMES utf8";
        for _ in 0..3 {
            let [expected, found] = [&server.target, freshet.target()].map(|target| {
                let mut client = client(target, schema);
                told(&mut client, warned).expect("it is set");
                told(&mut client, "SHOW WARNINGS").map(|rows| rows.len())
            });
            assert_eq!(found, expected, "{:?}: {warned}", server.flavor);
            let mut client = client(freshet.target(), schema);
            told(&mut client, warned).expect("it is set");
            // The server does not know of the warning any more when the effect is read.
            told(&mut client, "DELETE FROM t WHERE id = 0").expect("an answer");
            told(&mut client, STORED).expect("an answer");
        }
        assert_eq!(told(&mut client(freshet.target(), schema), "SET NAMES nonsense"), Err(1115));
    });
}

/// Carries a setting out as a new client that names no schema, and returns the client with the server's answer.
fn said(target: &Target, user: &str, further: u32, (command, body): (u8, &str)) -> (Raw, Vec<Vec<u8>>) {
    let mut client = Raw::dial(&target.host, target.port).expect("it greets");
    client.login(user, "", further).expect("it is let in");
    let answer = client.ask(command, body.as_bytes()).expect("an answer");
    (client, answer)
}

/// The bytes of an answer, in any order: the server reports variables so.
fn in_any_order(mut answer: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    answer.iter_mut().for_each(|packet| packet.sort_unstable());
    answer
}

fn has_none(looker: &mut Conn, client: &Raw) -> bool {
    one(looker, &format!("SELECT server_id IS NULL FROM freshet.sessions WHERE id = {}", client.id)) == "1"
}

/// Whether a client has had no connection so far. It asks something afterwards, as clients do.
fn needs_nobody(client: &mut Raw, looker: &mut Conn) -> bool {
    let needs_nobody = has_none(looker, client);
    told(client, "SELECT 1").expect("an answer");
    needs_nobody
}

#[test]
fn who_moves_to_a_schema_first_needs_no_connection_whatever_it_wants_to_be_told() {
    let schema = "lanes_moving";
    with_rows(schema, |server, freshet, _direct| {
        let mut looker = freshet.target().connect();
        let used = format!("use {schema}");
        let modes = "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'";
        let settings = [
            (command::QUERY, used.as_str()),
            (command::INIT_DB, schema),
            (command::QUERY, "SET NAMES latin1"),
            // Which the flags of the answer tell.
            (command::QUERY, modes),
        ];
        for further in [0, capability::SESSION_TRACK] {
            for setting in settings {
                let context = format!("{:?}, {further}: {setting:?}", server.flavor);
                let (_, expected) = said(&server.target, schema, further, setting);
                eventually(&format!("{context}: nobody is asked"), || {
                    let (mut shot, found) = said(freshet.target(), schema, further, setting);
                    assert_eq!(in_any_order(found), in_any_order(expected.clone()), "{context}");
                    needs_nobody(&mut shot, &mut looker).then_some(())
                });
            }
        }
        // Drivers send several.
        let both = |target: &Target| {
            let (mut client, mut answers) = said(target, schema, capability::SESSION_TRACK, settings[2]);
            for (command, body) in [(command::QUERY, "SET sql_mode = ''"), settings[0], settings[1]] {
                answers.extend(client.ask(command, body.as_bytes()).expect("an answer"));
            }
            (client, in_any_order(answers))
        };
        let (_, expected) = both(&server.target);
        eventually(&format!("{:?}: nobody is asked after several", server.flavor), || {
            let (mut shot, found) = both(freshet.target());
            assert_eq!(found, expected, "{:?}, several", server.flavor);
            needs_nobody(&mut shot, &mut looker).then_some(())
        });
        // Where it is then is asked of the server, which was told of it.
        for setting in &settings[..2] {
            eventually("the schema's rows are in memory", || {
                let (mut shot, _) = said(freshet.target(), schema, 0, *setting);
                assert_eq!(told(&mut shot, STORED), Ok(vec![b"\x0210".to_vec()]));
                let needs_none = has_none(&mut looker, &shot);
                let questions = [
                    "SELECT DATABASE(), @@collation_database",
                    "SHOW TABLES",
                    "INSERT INTO t (v) VALUES (3)",
                ];
                for question in questions {
                    let (mut direct, _) = said(&server.target, schema, 0, *setting);
                    assert_eq!(told(&mut shot, question), told(&mut direct, question), "{question}");
                }
                needs_none.then_some(())
            });
        }
    });
}

#[test]
fn a_schema_that_is_gone_or_forbidden_is_entered_by_nobody() {
    let schema = "lanes_moving_on";
    with_rows(schema, |server, freshet, direct| {
        let mut looker = freshet.target().connect();
        let through = &mut freshet.target().connect();
        let others = "lanes_others";
        run(
            direct,
            &[
                "DROP USER IF EXISTS lanes_mover",
                "CREATE USER lanes_mover IDENTIFIED BY ''",
                &format!("DROP DATABASE IF EXISTS {others}"),
            ],
        );
        let setting = (command::QUERY, &*format!("USE {others}"));
        let enters = |looker: &mut Conn| {
            eventually("it is entered without the server", || {
                let (mut client, answer) = said(freshet.target(), "lanes_mover", 0, setting);
                let is_in = answer.iter().all(|packet| error_code(packet).is_none());
                (is_in && needs_nobody(&mut client, looker)).then_some(())
            });
        };
        let refused =
            || said(freshet.target(), "lanes_mover", 0, setting).1.iter().find_map(|it| error_code(it));
        for round in 0..3 {
            let context = format!("{:?}, round {round}", server.flavor);
            run(
                direct,
                &[
                    &format!("CREATE DATABASE {others}"),
                    &format!("GRANT SELECT ON {others}.* TO lanes_mover"),
                ],
            );
            enters(&mut looker);
            // Through Freshet, at once: whoever has the answer may count on it.
            run(through, &[&format!("REVOKE SELECT ON {others}.* FROM lanes_mover")]);
            assert_eq!(refused(), Some(1044), "{context}: the right is revoked");
            run(through, &[&format!("GRANT SELECT ON {others}.* TO lanes_mover")]);
            enters(&mut looker);
            run(through, &[&format!("DROP DATABASE {others}")]);
            // The right to use a schema outlives it.
            assert_eq!(refused(), Some(1049), "{context}: the schema is dropped");
            run(direct, &["REVOKE ALL PRIVILEGES, GRANT OPTION FROM lanes_mover"]);
        }
        run(direct, &["DROP USER lanes_mover"]);
    });
}
