//! Preparing from memory: the client is told what the server would say, and the server hears of the statement when it has to carry it
//! out, as if it had been prepared when the client prepared it.

use freshet_tests::cached::{Counted, caught_up, connect, eventually, run, status};
use freshet_tests::raw::{command, error_code};
use freshet_tests::{Freshet, Server, with_each};
use mysql::prelude::Queryable as _;

use super::{Client, FORMS, Types, Value, big, execution, forget_flags, int, stage, statements, text};

/// Numbers of statements that are prepared from memory.
pub(super) const HERE_MIN: u32 = 1 << 30;

/// A statement that was prepared from memory, and that the server has not prepared.
pub(super) fn unmade(freshet: &Freshet, client: &mut Client, text: &str) -> u32 {
    eventually(&format!("prepared from memory: {text}"), || {
        let id = client.prepare(text);
        let is_here = id >= HERE_MIN || !freshet.is_there();
        if !is_here {
            client.close(id);
            // A statement that may have changed the session may be behind it, which is found out for a SELECT from the same tables.
            let table = if text.contains("FROM d") || text.contains("FROM e") { "d" } else { "t" };
            client.0.query(&format!("SELECT 1 FROM {table} LIMIT 1")).expect("an answer");
        }
        is_here.then_some(id)
    })
}

/// The answer to a preparation without the statement's number, and that.
pub(super) fn preparation(client: &mut Client, text: &str) -> (u32, Vec<Vec<u8>>) {
    let mut answer = client.0.ask(command::STMT_PREPARE, text.as_bytes()).expect("an answer");
    if error_code(&answer[0]).is_some() {
        return (0, answer);
    }
    let id = u32::from_le_bytes(answer[0][1..5].try_into().expect("four bytes"));
    answer[0][1..5].fill(0);
    (id, answer)
}

/// The same client twice: one at the server, one at Freshet.
pub(super) fn pair(server: &Server, freshet: &Freshet, schema: &str) -> (Client, Client) {
    (Client::of(&server.target, schema, 0), Client::of(freshet.target(), schema, 0))
}

pub(super) fn code(answer: &[Vec<u8>]) -> Option<u16> {
    error_code(&answer[0])
}

#[test]
fn a_known_text_is_prepared_from_memory_with_the_servers_own_words() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_known"));
        let mut counted = Counted::of(freshet);
        for form in FORMS {
            let mut direct = Client::of(&server.target, "making_known", form);
            let mut reader = Client::of(freshet.target(), "making_known", form);
            for (text, executions) in statements() {
                let (there, expected) = preparation(&mut direct, text);
                let warm = unmade(freshet, &mut reader, text);
                let (here, got) = preparation(&mut reader, text);
                assert_eq!(got, expected, "{text}");
                for values in executions {
                    let expected = direct.execute(there, &values);
                    assert_eq!(reader.execute(here, &values), expected, "{text} {values:?}");
                    if freshet.is_there() {
                        let again = unmade(freshet, &mut reader, text);
                        assert_eq!(reader.prime(&mut counted, again, &values), expected, "{text} {values:?}");
                        reader.close(again);
                    }
                }
                reader.close(warm);
                reader.close(here);
                direct.close(there);
            }
        }
    });
}

#[test]
fn preparing_executing_and_closing_touch_no_server() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "making_still");
        if !freshet.is_there() {
            return;
        }
        let mut counted = Counted::of(freshet);
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let mut reader = Client::of(freshet.target(), "making_still", 0);
        let warm = unmade(freshet, &mut reader, TEXT);
        reader.prime(&mut counted, warm, &[int(1)]);
        let mut watch = freshet.target().connect();
        let figures = |direct: &mut mysql::Conn| {
            ["Com_stmt_prepare", "Com_stmt_close", "Com_stmt_execute"].map(|name| status(direct, name))
        };
        // Others may use the server meanwhile. A client that has asked nothing before needs no server either.
        eventually("the server hears nothing", || {
            let mut fresh = Client::of(freshet.target(), "making_still", 0);
            let before = (figures(&mut direct), status(&mut watch, "Freshet_forwarded"), counted.hits());
            for client in [&mut reader, &mut fresh] {
                for _ in 0..100 {
                    let id = client.prepare(TEXT);
                    let answer = client.execute(id, &[int(1)]);
                    assert_eq!(code(&answer), None);
                    client.close(id);
                }
            }
            let after = (figures(&mut direct), status(&mut watch, "Freshet_forwarded"), counted.hits());
            let look = format!("SELECT server_id IS NULL FROM freshet.sessions WHERE id = {}", fresh.0.id);
            let is_without: Option<bool> = watch.query_first(look).expect("the list of sessions");
            // Each of our own looks is a command, too.
            let hears_nothing = after.0 == before.0 && after.1 <= before.1 + 4 && after.2 == before.2 + 200;
            (hears_nothing && is_without == Some(true)).then_some(())
        });
    });
}

/// Whatever the session is changed to, a statement means what it meant when it was prepared.
#[test]
fn a_statement_means_what_it_meant() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_means"));
        drop(stage((server, freshet), "making_other"));
        run(&mut connect(&server.target, "making_other"), &["UPDATE t SET v = v + 1000"]);
        const TEXT: &str = "SELECT v, \"w\", w FROM t WHERE id = ?";
        for change in [
            "USE making_other",
            "SET sql_mode = 'ANSI_QUOTES'",
            "SET NAMES latin1",
            "SET time_zone = '+05:00'",
            "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, w INT)",
            "SET @warned = @@warning_count",
            "INSERT INTO o VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE x = 2",
            "BEGIN",
            "SET autocommit = 0",
            "LOCK TABLES t READ",
            "CALL changes_schema()",
        ] {
            let (mut direct, mut reader) = pair(server, freshet, "making_means");
            if change.starts_with("CALL") {
                let text = "CREATE OR REPLACE PROCEDURE changes_schema() SET sql_mode = 'ANSI_QUOTES'";
                let text = text.replace("OR REPLACE ", "");
                let _ = direct.0.query("DROP PROCEDURE IF EXISTS changes_schema").unwrap();
                assert_eq!(code(&direct.0.query(&text).unwrap()), None);
            }
            reader.0.query("SELECT 1 FROM t").unwrap();
            let there = direct.prepare(TEXT);
            let here = unmade(freshet, &mut reader, TEXT);
            for client in [&mut direct, &mut reader] {
                assert_eq!(code(&client.0.query(change).unwrap()), None, "{change}");
            }
            for id in [1, 2, 1] {
                let expected = direct.execute(there, &[int(id)]);
                assert_eq!(reader.execute(here, &[int(id)]), expected, "{change}");
            }
            // One that is prepared now means what it means now.
            let (there, expected) = preparation(&mut direct, TEXT);
            let (here, got) = preparation(&mut reader, TEXT);
            assert_eq!(got, expected, "{change}");
            if code(&expected).is_none() {
                assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]), "{change}");
            }
        }
    });
}

/// A definition that changes: what is prepared then is described by it, and what was prepared before says what the server says.
#[test]
fn a_definition_that_changes_is_heeded() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_defined"));
        // Each on tables of its own, through Freshet and around it.
        for (at, (text, change)) in [
            ("SELECT v FROM d WHERE id = ?", "DROP TABLE d"),
            ("SELECT v FROM d WHERE id = ?", "ALTER TABLE d DROP COLUMN v"),
            ("SELECT v FROM d WHERE id = ?", "ALTER TABLE d MODIFY v BIGINT UNSIGNED NOT NULL"),
            ("SELECT * FROM d WHERE id = ?", "ALTER TABLE d ADD COLUMN w INT"),
            ("SELECT v FROM d WHERE id = ?", "RENAME TABLE d TO other"),
            ("SELECT v FROM d WHERE id = ?", "TRUNCATE TABLE d"),
            ("SELECT v FROM e WHERE id = ?", "ALTER TABLE d DROP COLUMN v"),
            ("SELECT v FROM e WHERE id = ?", "DROP VIEW e"),
            ("SELECT * FROM e WHERE id = ?", "ALTER VIEW e AS SELECT id, v, 7 AS w FROM d"),
        ]
        .into_iter()
        .enumerate()
        {
            for around in [true, false] {
                let mut by = if around { server.target.connect() } else { freshet.target().connect() };
                let schema = "making_defined";
                run(
                    &mut by,
                    &[&format!("USE {schema}"), "DROP TABLE IF EXISTS d, other", "DROP VIEW IF EXISTS e"],
                );
                run(
                    &mut by,
                    &[
                        "CREATE TABLE d (id INT PRIMARY KEY, v INT)",
                        "CREATE VIEW e AS SELECT id, v FROM d",
                        "INSERT INTO d VALUES (1, 10), (2, 20)",
                    ],
                );
                caught_up(freshet);
                let (mut direct, mut reader) = pair(server, freshet, schema);
                reader.0.query("SELECT 1 FROM d").unwrap();
                let there = direct.prepare(text);
                let here = unmade(freshet, &mut reader, text);
                run(&mut by, &[change]);
                // Through Freshet, at once.
                if around {
                    caught_up(freshet);
                }
                let told = format!("{at}: {text}; {change}; {around}");
                let expected = preparation(&mut direct, text).1;
                assert_eq!(preparation(&mut reader, text).1, expected, "{told}");
                // SERVER_STATUS_METADATA_CHANGED in the first answer is the server's alone.
                let _ = direct.execute(there, &[int(1)]);
                let expected = direct.execute(there, &[int(1)]);
                assert_eq!(reader.execute(here, &[int(1)]), expected, "{told}");
            }
        }
    });
}

const SELECTS: &str = "SELECT v FROM t WHERE id = ?";
const SELECTS_DEFINED: &str = "SELECT v FROM defined WHERE id = ?";

/// How rights are given that a statement needs, and taken away.
const RIGHTS: &[(&str, &[&str], &str)] = &[
    (
        SELECTS,
        &["GRANT SELECT ON making_rights.t TO making_rights"],
        "REVOKE SELECT ON making_rights.t FROM making_rights",
    ),
    (
        SELECTS,
        &["GRANT SELECT (id, v) ON making_rights.t TO making_rights"],
        "REVOKE SELECT (v) ON making_rights.t FROM making_rights",
    ),
    (
        SELECTS,
        &["GRANT SELECT ON making_rights.t TO making_role", GRANT_ROLE],
        "REVOKE SELECT ON making_rights.t FROM making_role",
    ),
    (
        SELECTS_DEFINED,
        &[
            "GRANT SELECT ON making_rights.* TO making_definer",
            "GRANT SELECT ON making_rights.defined TO making_rights",
        ],
        "REVOKE SELECT ON making_rights.* FROM making_definer",
    ),
];
const GRANT_ROLE: &str = "GRANT making_role TO making_rights";

#[test]
fn rights_that_are_gone_are_refused_at_once() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "making_rights");
        run(
            &mut direct,
            &[
                "REVOKE ALL PRIVILEGES ON *.* FROM making_rights",
                "DROP ROLE IF EXISTS making_role",
                "CREATE ROLE making_role",
                "DROP USER IF EXISTS making_definer",
                "CREATE USER making_definer IDENTIFIED BY ''",
                "GRANT SELECT ON making_rights.* TO making_definer",
                "CREATE DEFINER = making_definer SQL SECURITY DEFINER VIEW defined AS SELECT id, v FROM t",
            ],
        );
        for (text, grants, revoke) in RIGHTS {
            for begins in [false, true] {
                run(&mut direct, grants);
                run(&mut direct, &["GRANT SELECT (id) ON making_rights.o TO making_rights"]);
                caught_up(freshet);
                let (mut plain, mut reader) = pair(server, freshet, "making_rights");
                for client in [&mut plain, &mut reader] {
                    if grants.contains(&GRANT_ROLE) {
                        assert_eq!(code(&client.0.query("SET ROLE making_role").unwrap()), None);
                    }
                }
                is_refused(freshet, (&mut plain, &mut reader), (text, revoke), begins);
                run(&mut direct, &["REVOKE ALL PRIVILEGES, GRANT OPTION FROM making_rights"]);
            }
        }
    });
}

fn is_refused(
    freshet: &Freshet,
    (plain, reader): (&mut Client, &mut Client),
    (text, revoke): (&str, &str),
    begins: bool,
) {
    let mut counted = Counted::of(freshet);
    let there = plain.prepare(text);
    plain.execute(there, &[int(1)]);
    let here = unmade(freshet, reader, text);
    if freshet.is_there() {
        reader.prime(&mut counted, here, &[int(1)]);
    }
    let fresh = unmade(freshet, reader, text);
    if begins {
        reader.0.query("BEGIN").unwrap();
        plain.0.query("BEGIN").unwrap();
    }
    // Through Freshet: nobody is given anything from then on.
    run(&mut freshet.target().connect(), &[revoke]);
    let (refused, expected) = (preparation(plain, text).1, plain.execute(there, &[int(1)]));
    assert!(code(&refused).is_some() && code(&expected).is_some(), "{revoke}: {refused:?} {expected:?}");
    // MariaDB says in two ways that a view's definer may not read its table: 1142 and 1356.
    let is_told = |got: &[Vec<u8>], expected: &[Vec<u8>]| {
        got == expected || text == SELECTS_DEFINED && matches!(code(got), Some(1142 | 1356))
    };
    for id in [here, fresh] {
        let got = reader.execute(id, &[int(1)]);
        assert!(is_told(&got, &expected), "{revoke} {begins}: {got:?}, not {expected:?}");
    }
    let got = preparation(reader, text).1;
    assert!(is_told(&got, &refused), "{revoke} {begins}: {got:?}, not {refused:?}");
}

#[test]
fn commands_reach_a_statement_that_was_prepared_from_memory() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_reach"));
        const TEXT: &str = "SELECT id FROM t WHERE w = ?";
        let (mut direct, mut reader) = pair(server, freshet, "making_reach");
        reader.0.query("SELECT 1 FROM t").unwrap();
        let piece = |id: u32| [id.to_le_bytes().as_slice(), &[0, 0], b"b"].concat();
        let sent = |id: u32| execution(id, &[Value(253, Some(Vec::new()))], Types::Brought, 0);
        let fetch = |id: u32| [id.to_le_bytes(), 5u32.to_le_bytes()].concat();
        let cursor = |id: u32| execution(id, &[text("a")], Types::Brought, 1);
        // The first command that the server hears of, and those after it.
        for steps in [[0, 1, 3, 2], [1, 0, 3, 2], [3, 1, 0, 2], [2, 1, 1, 1]] {
            let tried = |client: &mut Client, id: u32| {
                let mut said = Vec::new();
                for step in steps {
                    match step {
                        0 => {
                            client.0.send(command::STMT_SEND_LONG_DATA, &piece(id)).unwrap();
                            said.extend(client.0.ask(command::STMT_EXECUTE, &sent(id)).unwrap());
                        }
                        1 => said.extend(client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap()),
                        2 => {
                            said.extend(client.0.ask(command::STMT_EXECUTE, &cursor(id)).unwrap());
                            said.extend(client.0.ask(command::STMT_FETCH, &fetch(id)).unwrap());
                        }
                        _ => said.extend(client.execute(id, &[text("a")])),
                    }
                }
                said.iter_mut().for_each(|packet| forget_flags(packet));
                said
            };
            let there = direct.prepare(TEXT);
            let here = unmade(freshet, &mut reader, TEXT);
            assert_eq!(tried(&mut reader, here), tried(&mut direct, there), "{steps:?}");
            for (client, id) in [(&mut direct, there), (&mut reader, here)] {
                client.close(id);
                // It is gone, whatever is asked of it.
                assert_eq!(code(&client.execute(id, &[text("a")])), Some(1243));
                assert_eq!(code(&client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap()), Some(1243));
            }
        }
        // One of which the server never heard is gone as well.
        let here = unmade(freshet, &mut reader, TEXT);
        reader.close(here);
        assert_eq!(code(&reader.execute(here, &[text("a")])), Some(1243));
        // A reset takes all of them away.
        for client in [&mut direct, &mut reader] {
            let id = client.prepare(TEXT);
            client.0.ask(command::RESET_CONNECTION, &[]).unwrap();
            assert_eq!(code(&client.execute(id, &[text("a")])), Some(1243));
        }
    });
}

/// The numbers by which the server knows what was prepared here are no numbers of the client's.
#[test]
fn nobody_is_given_a_number_that_the_server_gave_us() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_numbers"));
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        if !freshet.is_there() {
            return;
        }
        let mut direct = Client::of(&server.target, "making_numbers", 0);
        unmade(freshet, &mut Client::of(freshet.target(), "making_numbers", 0), TEXT);
        let mut reader = Client::of(freshet.target(), "making_numbers", 0);
        let here = unmade(freshet, &mut reader, TEXT);
        reader.execute(here, &[big(77)]);
        for id in 1..9 {
            assert_eq!(reader.execute(id, &[int(1)]), direct.execute(id, &[int(1)]), "{id}");
            let reset = |client: &mut Client| client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap();
            assert_eq!(reset(&mut reader), reset(&mut direct), "{id}");
            let fetch = [id.to_le_bytes(), 5u32.to_le_bytes()].concat();
            let fetch = |client: &mut Client| client.0.ask(command::STMT_FETCH, &fetch).unwrap();
            assert_eq!(fetch(&mut reader), fetch(&mut direct), "{id}");
            reader.close(id);
        }
        assert_eq!(code(&reader.execute(here, &[int(1)])), None, "it was closed");
    });
}

#[test]
fn the_statement_prepared_last_is_the_clients() {
    const LAST: u32 = u32::MAX;
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_last"));
        let (mut direct, mut reader) = pair(server, freshet, "making_last");
        reader.0.query("SELECT 1 FROM t").unwrap();
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let there = direct.prepare(TEXT);
        let here = unmade(freshet, &mut reader, TEXT);
        assert_eq!(reader.execute(LAST, &[int(1)]), direct.execute(LAST, &[int(1)]));
        for statement in ["SELECT w FROM t WHERE id = ?", "SELECT nothing FROM t", "DO ?"] {
            let here_too = unmade(freshet, &mut reader, TEXT);
            for client in [&mut direct, &mut reader] {
                client.0.ask(command::STMT_PREPARE, statement.as_bytes()).unwrap();
            }
            // Those before are executed by their own numbers, for the first time at the server, and are not the last for that.
            for id in [here, here_too] {
                assert_eq!(reader.execute(id, &[int(2)]), direct.execute(there, &[int(2)]));
            }
            let (got, expected) = (reader.execute(LAST, &[int(2)]), direct.execute(LAST, &[int(2)]));
            assert_eq!(got, expected, "{statement}");
        }
    });
}

/// What it leaves for those who ask, and what the session's counters say.
#[test]
fn what_a_preparation_leaves_is_there() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_leaves"));
        const TEXT: &str = "SELECT v FROM t WHERE id > ? LIMIT 1";
        const WARNS: &str = "SELECT SQL_CALC_FOUND_ROWS v FROM t WHERE id > ? LIMIT 1";
        let mut counted = Counted::of(freshet);
        let (mut direct, mut reader) = pair(server, freshet, "making_leaves");
        let mut ids = Vec::new();
        for text in [TEXT, WARNS] {
            let here = unmade(freshet, &mut reader, text);
            if freshet.is_there() {
                reader.prime(&mut counted, here, &[int(0)]);
            }
            ids.push((direct.prepare(text), here));
        }
        for (text, (there, here)) in [TEXT, WARNS].into_iter().zip(ids) {
            for asked in ASKED {
                for (executes, closes) in [(false, false), (false, true), (true, false), (true, true)] {
                    let tried =
                        |client: &mut Client, id: u32| left(client, (text, id), asked, (executes, closes));
                    assert_eq!(
                        tried(&mut reader, here),
                        tried(&mut direct, there),
                        "{asked} {executes} {closes}: {text}"
                    );
                }
            }
        }
    });
}

const ASKED: [&str; 5] = [
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT FOUND_ROWS()",
    "SELECT ROW_COUNT()",
    "SELECT @@warning_count",
];

/// What is left by a statement with a warning, an execution of `id` if there is one, and a preparation of `text`.
fn left(
    client: &mut Client,
    (text, id): (&str, u32),
    asked: &str,
    (executes, closes): (bool, bool),
) -> Vec<Vec<u8>> {
    client.0.query("SELECT CAST('x' AS SIGNED)").unwrap();
    if executes {
        client.execute(id, &[int(0)]);
    }
    let new = client.prepare(text);
    if closes {
        client.close(new);
    }
    let mut said = client.0.query(asked).unwrap();
    if !closes {
        client.execute(new, &[int(0)]);
        said.extend(client.0.query(asked).unwrap());
        client.close(new);
    }
    said
}

#[test]
fn the_sessions_counters_count_what_was_answered_here() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_counts"));
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let mut counted = Counted::of(freshet);
        let mut warm = Client::of(freshet.target(), "making_counts", 0);
        let here = unmade(freshet, &mut warm, TEXT);
        if freshet.is_there() {
            warm.prime(&mut counted, here, &[int(1)]);
        }
        let tried = |client: &mut Client| {
            client.0.query("SELECT 1 FROM t").unwrap();
            for values in [int(1), int(1), int(2), int(3)] {
                let id = client.prepare(TEXT);
                client.execute(id, &[values]);
                client.close(id);
            }
            let kept = client.prepare(TEXT);
            client.prepare(TEXT);
            client.execute(kept, &[int(77)]);
            ["Com_stmt_prepare", "Com_stmt_execute", "Com_stmt_close", "Com_stmt_reset"].map(|name| {
                let said = client.0.query(&format!("SHOW SESSION STATUS LIKE '{name}'")).unwrap();
                String::from_utf8_lossy(&said[said.len() - 2]).into_owned()
            })
        };
        let (mut direct, mut reader) = pair(server, freshet, "making_counts");
        assert_eq!(tried(&mut reader), tried(&mut direct));
        // After an answer from memory was repeated for a statement that is closed.
        let told = |client: &mut Client| {
            let id = client.prepare(TEXT);
            client.execute(id, &[int(1)]);
            client.close(id);
            client.0.query("SELECT FOUND_ROWS(), ROW_COUNT()").unwrap();
            tried(client)
        };
        assert_eq!(told(&mut reader), told(&mut direct));
    });
}

#[test]
fn a_preparation_in_a_transaction_tells_of_it_and_begins_none() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_begun"));
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        for begin in [
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "SET autocommit = 0",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        ] {
            eventually(&format!("prepared from memory behind {begin}"), || {
                let (mut direct, mut reader) = pair(server, freshet, "making_begun");
                unmade(freshet, &mut reader, TEXT);
                for client in [&mut direct, &mut reader] {
                    client.0.query("SELECT 1 FROM t").unwrap();
                    assert_eq!(code(&client.0.query(begin).unwrap()), None);
                }
                let (there, expected) = preparation(&mut direct, TEXT);
                let (here, got) = preparation(&mut reader, TEXT);
                assert_eq!(got, expected, "{begin}");
                assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]), "{begin}");
                let (_, expected) = preparation(&mut direct, TEXT);
                let (again, got) = preparation(&mut reader, TEXT);
                assert_eq!(got, expected, "{begin}, after a read");
                assert_eq!(reader.execute(again, &[int(2)]), direct.execute(there, &[int(2)]), "{begin}");
                for client in [&mut direct, &mut reader] {
                    assert_eq!(code(&client.0.query("COMMIT").unwrap()), None);
                }
                assert_eq!(preparation(&mut reader, TEXT).1, preparation(&mut direct, TEXT).1, "{begin}");
                let is_here = [here, again].iter().all(|id| *id >= HERE_MIN);
                (is_here || !freshet.is_there()).then_some(())
            });
        }
    });
}

/// Of a client that may have many statements open, some are the server's.
#[test]
fn a_client_may_have_more_statements_than_are_kept_here() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "making_many"));
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let (mut direct, mut reader) = pair(server, freshet, "making_many");
        let there = direct.prepare(TEXT);
        unmade(freshet, &mut reader, TEXT);
        let ids: Vec<u32> = (0..300).map(|_| reader.prepare(TEXT)).collect();
        let mut counted: Vec<u32> = ids.clone();
        counted.sort_unstable();
        counted.dedup();
        assert_eq!(counted.len(), ids.len(), "two have one number");
        assert!(!freshet.is_there() || ids.iter().any(|id| *id < HERE_MIN), "all are kept here");
        let expected = direct.execute(there, &[int(2)]);
        for id in &ids {
            assert_eq!(reader.execute(*id, &[int(2)]), expected, "{id}");
        }
        // And after something that has the server prepare the rest.
        let more: Vec<u32> = (0..20).map(|_| reader.prepare(TEXT)).collect();
        reader.0.query("SET time_zone = '+01:00'").unwrap();
        for id in more {
            assert_eq!(reader.execute(id, &[int(2)]), expected, "{id}");
        }
    });
}
