//! A client that greets with a SET, as drivers do, and asks for what is in memory needs no connection to the server.

use freshet_tests::cached::{fresh_schema, user_of};
use freshet_tests::raw::{Raw, command, error_code};

use super::*;

/// Settings that drivers greet with.
const GREETINGS: [&str; 4] = [
    "SET NAMES latin1",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET sql_mode = 'ANSI'",
    "SET autocommit = 1",
];
const STORED: &str = "SELECT v FROM t WHERE id = 1";
const SETTINGS: &str = "SELECT @@character_set_client, @@collation_connection, @@sql_mode, @@autocommit";

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
                let look = format!("SELECT server_id IS NULL FROM freshet.sessions WHERE id = {}", shot.id);
                (one(&mut looker, &look) == "1").then_some(())
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
            told(&mut client, STORED).expect("an answer");
        }
        assert_eq!(told(&mut client(freshet.target(), schema), "SET NAMES nonsense"), Err(1115));
    });
}
