//! KILL through Freshet: whoever is killed gets no answer any more, from wherever it would come.

use freshet_tests::cached::{fresh_schema, run};
use freshet_tests::raw::{Raw, command, error_code};
use freshet_tests::{Flavor, Server, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable as _;

/// Who is killed, and who kills: accounts without a password.
const VICTIM: &str = "kill_victim";
/// May kill everybody.
const KILLER: &str = "kill_killer";
/// May kill itself.
const BYSTANDER: &str = "kill_bystander";
/// How often each is tried: some of what went wrong did so now and then.
const ROUNDS: usize = 30;
/// A statement that is answered from memory.
const STORED: &str = "SELECT id FROM t";

fn stage(server: &Server, schema: &str) {
    let mut admin = fresh_schema(server, schema);
    run(&mut admin, &["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
    for user in [VICTIM, KILLER, BYSTANDER] {
        let user = format!("{user}@'%'");
        // Tests that run at the same time share them.
        run(
            &mut admin,
            &[&format!("CREATE USER IF NOT EXISTS {user}"), &format!("GRANT SELECT ON *.* TO {user}")],
        );
    }
    let privilege = if server.flavor == Flavor::MySql { "CONNECTION_ADMIN" } else { "CONNECTION ADMIN" };
    run(&mut admin, &[&format!("GRANT {privilege} ON *.* TO {KILLER}@'%'")]);
}

fn client(target: &Target, user: &str, schema: &str) -> Raw {
    let mut client = Raw::dial(&target.host, target.port).expect("it greets");
    client.login(user, schema, 0).expect("it is let in");
    client
}

/// A client with a driver, in no schema.
fn driver(target: &Target, user: &str) -> Conn {
    Target { user: user.into(), password: String::new(), ..target.clone() }.connect()
}

/// The error of the whole answer, if there is one.
fn error_of(answer: &[Vec<u8>]) -> Option<u16> {
    answer.iter().find_map(|packet| error_code(packet))
}

/// Fails if the statement is answered: the client is to be cut off, with or without a word.
fn assert_cut_off(client: &mut Raw, what: &str) {
    for statement in [STORED, "SELECT 1"] {
        match client.query(statement) {
            Err(_) => {}
            Ok(answer) => assert!(error_of(&answer).is_some(), "{what}: {statement} is answered: {answer:?}"),
        }
    }
    client.query(STORED).expect_err("the connection is over");
}

/// What the victim does between its login and its end.
const LIVES: [(&str, &[&str]); 4] = [
    ("one that has asked nothing", &[]),
    ("one that was answered by the server", &["SELECT 1"]),
    ("one that is answered from memory", &[STORED, STORED, STORED]),
    ("one that has reset its connection", &["SELECT 1", "RESET"]),
];

fn live(client: &mut Raw, life: &[&str]) {
    for statement in life {
        let answer = match *statement {
            "RESET" => client.ask(command::RESET_CONNECTION, b""),
            statement => client.query(statement),
        };
        assert_eq!(error_of(&answer.expect("an answer")), None, "{statement}");
    }
}

#[test]
fn whoever_is_killed_gets_no_answer_any_more() {
    with_each(|server, freshet| {
        stage(server, "kill_plain");
        let mut killer = client(freshet.target(), KILLER, "kill_plain");
        for (what, life) in LIVES {
            for round in 0..ROUNDS {
                let mut victim = client(freshet.target(), VICTIM, "kill_plain");
                live(&mut victim, life);
                let answer = killer.query(&format!("KILL {}", victim.id)).expect("an answer");
                assert_eq!(error_of(&answer), None, "{what}");
                assert_cut_off(&mut victim, &format!("{what}, round {round}"));
            }
        }
    });
}

#[test]
fn a_kill_among_other_statements_finds_our_clients() {
    with_each(|server, freshet| {
        stage(server, "kill_text");
        let mut killer = client(freshet.target(), KILLER, "kill_text");
        for (what, life) in &LIVES[1..] {
            for round in 0..ROUNDS / 3 {
                let mut victims = [(); 2].map(|()| client(freshet.target(), VICTIM, "kill_text"));
                victims.iter_mut().for_each(|victim| live(victim, life));
                let [a, b] = [victims[0].id, victims[1].id];
                let text = format!("SELECT 1; KILL {a}; /* and */ kill connection {b} ; SELECT 'KILL {a}'");
                let answer = killer.query(&text).expect("an answer");
                assert_eq!(error_of(&answer), None, "{what}: {text}");
                assert!(
                    answer.iter().any(|packet| packet.ends_with(format!("KILL {a}").as_bytes())),
                    "what is no KILL is left alone"
                );
                for victim in &mut victims {
                    assert_cut_off(victim, &format!("{what}, round {round}"));
                }
            }
        }
        // A client that has asked nothing has no connection to the server, perhaps: then the server does not know it.
        let unknown = killer.query("SELECT 1; KILL 3000000000").expect("an answer");
        assert_eq!(error_of(&unknown), Some(1094));
    });
}

#[test]
fn killing_a_query_leaves_the_client_alone() {
    with_each(|server, freshet| {
        stage(server, "kill_query");
        let mut killer = client(freshet.target(), KILLER, "kill_query");
        for (what, life) in LIVES {
            let mut victim = client(freshet.target(), VICTIM, "kill_query");
            live(&mut victim, life);
            for text in [format!("KILL QUERY {}", victim.id), format!("DO 1; KILL QUERY {}", victim.id)] {
                let answer = killer.query(&text).expect("an answer");
                if life.is_empty() && error_of(&answer) == Some(1094) {
                    continue;
                }
                assert_eq!(error_of(&answer), None, "{what}: {text}");
                live(&mut victim, &["SELECT 1", STORED]);
            }
        }
    });
}

#[test]
fn only_who_may_kill_does() {
    with_each(|server, freshet| {
        stage(server, "kill_rights");
        let mut bystander = client(freshet.target(), BYSTANDER, "kill_rights");
        for (what, life) in LIVES {
            let mut victim = client(freshet.target(), VICTIM, "kill_rights");
            live(&mut victim, life);
            for text in [format!("KILL {}", victim.id), format!("DO 1; KILL {}", victim.id)] {
                let answer = bystander.query(&text).expect("an answer");
                // MySQL does not tell those who may not kill it from those who are not there.
                assert!(matches!(error_of(&answer), Some(1094 | 1095)), "{what}: {text}: {answer:?}");
                live(&mut victim, &["SELECT 1", STORED]);
            }
            // Its own it may.
            let mut own = client(freshet.target(), BYSTANDER, "kill_rights");
            live(&mut own, life);
            assert_eq!(error_of(&bystander.query(&format!("KILL {}", own.id)).expect("an answer")), None);
            assert_cut_off(&mut own, what);
        }
    });
}

/// Kills by a statement that is prepared.
type PreparedKill = fn(&mut Conn, u32) -> mysql::Result<()>;

/// In either protocol.
const PREPARED_KILLS: [(&str, PreparedKill); 2] = [
    ("binary, in the text", |killer, id| killer.exec_drop(format!("KILL {id}"), ())),
    ("text, in the text", |killer, id| {
        killer.query_drop(format!("PREPARE `k` FROM 'kill {id}'"))?;
        killer.query_drop("EXECUTE K")
    }),
];
/// What MariaDB has besides: MySQL takes no markers in a KILL.
const PREPARED_KILLS_OF_MARIADB: [(&str, PreparedKill); 6] = [
    ("binary, an integer", |killer, id| killer.exec_drop("KILL ?", (id,))),
    ("binary, a float", |killer, id| killer.exec_drop("KILL CONNECTION ?", (f64::from(id),))),
    ("binary, a string", |killer, id| killer.exec_drop("KILL ?", (id.to_string(),))),
    ("text, a variable", |killer, id| {
        killer.query_drop("PREPARE k FROM 'KILL ?'")?;
        killer.query_drop(format!("SET @an_id = {id}"))?;
        killer.query_drop("EXECUTE K USING @an_id")
    }),
    ("text, a number", |killer, id| {
        killer.query_drop("PREPARE k FROM 'KILL ?'")?;
        killer.query_drop(format!("EXECUTE k USING {id}"))
    }),
    ("immediately", |killer, id| killer.query_drop(format!("EXECUTE IMMEDIATE 'KILL {id}'"))),
];

fn prepared_kills(server: &Server) -> impl Iterator<Item = (&'static str, PreparedKill)> {
    let own = PREPARED_KILLS_OF_MARIADB.into_iter().filter(|_| server.flavor == Flavor::MariaDb);
    PREPARED_KILLS.into_iter().chain(own)
}

#[test]
fn a_prepared_kill_finds_our_clients() {
    with_each(|server, freshet| {
        stage(server, "kill_prepared");
        for (how, kill) in prepared_kills(server) {
            let mut killer = freshet.target().connect();
            for (what, life) in LIVES {
                for round in 0..ROUNDS / 10 {
                    let mut victim = client(freshet.target(), VICTIM, "kill_prepared");
                    live(&mut victim, life);
                    kill(&mut killer, victim.id).unwrap_or_else(|error| panic!("{how}, {what}: {error}"));
                    assert_cut_off(&mut victim, &format!("{how}, {what}, round {round}"));
                }
            }
            // By the id that the server gave it.
            let mut victim = client(freshet.target(), VICTIM, "kill_prepared");
            let answer = victim.query("SELECT @@pseudo_thread_id").expect("an answer");
            let row = answer.iter().rev().nth(1).expect("a row");
            let id = String::from_utf8_lossy(&row[1..]).parse().expect("a number");
            live(&mut victim, &[STORED, STORED]);
            kill(&mut killer, id).expect("it is killed");
            assert_cut_off(&mut victim, &format!("{how}, by the server's id"));
        }
    });
}

#[test]
fn a_prepared_kill_does_no_more_than_it_says() {
    with_each(|server, freshet| {
        stage(server, "kill_prepared_less");
        let mut killer = freshet.target().connect();
        let mut bystander = driver(freshet.target(), BYSTANDER);
        for (what, life) in LIVES {
            let mut victim = client(freshet.target(), VICTIM, "kill_prepared_less");
            live(&mut victim, life);
            killer
                .exec_drop(format!("KILL QUERY {}", victim.id), ())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            live(&mut victim, &["SELECT 1", STORED]);
            for (how, kill) in prepared_kills(server) {
                let error = kill(&mut bystander, victim.id).expect_err("it may not");
                assert!(
                    matches!(&error, mysql::Error::MySqlError(error) if [1094, 1095].contains(&error.code)),
                    "{how}, {what}: {error}"
                );
                live(&mut victim, &["SELECT 1", STORED]);
            }
        }
    });
}

/// The server keeps something else under the name by now, which no text on its own said.
#[test]
fn a_name_that_stood_for_a_kill_stands_for_something_else() {
    const AGAIN: [&[&str]; 5] = [
        &["PREPARE k FROM 'SELECT 77'"],
        &["DO 1; PREPARE k FROM 'SELECT 77'"],
        &["CALL keeps_another()"],
        &["PREPARE other FROM 'CALL keeps_another()'", "EXECUTE other"],
        &["DEALLOCATE PREPARE k", "SET @text = 'SELECT 77'", "PREPARE k FROM @text"],
    ];
    with_each(|server, freshet| {
        stage(server, "kill_again");
        let mut killer = freshet.target().connect();
        killer.query_drop("USE kill_again").expect("it is there");
        killer.query_drop("CREATE PROCEDURE keeps_another() PREPARE k FROM 'SELECT 77'").expect("it is made");
        for texts in AGAIN {
            let mut victim = client(freshet.target(), VICTIM, "kill_again");
            live(&mut victim, &[STORED, STORED]);
            run(&mut killer, &[&format!("PREPARE k FROM 'KILL {}'", victim.id)]);
            run(&mut killer, texts);
            let row: Option<u32> = killer.query_first("EXECUTE k").expect("it is a SELECT");
            assert_eq!(row, Some(77), "{texts:?}");
            live(&mut victim, &["SELECT 1", STORED]);
        }
    });
}
