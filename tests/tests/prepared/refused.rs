//! Statements that were prepared from memory, and that the server refuses when it has to carry them out, or that are gone by then: the
//! limit of prepared statements, definitions that others change, executions in bulk, a change of the user.

use freshet_tests::cached::{Counted, caught_up, eventually, run, status};
use freshet_tests::raw::{Raw, capability, command};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};

use super::preparing::{HERE_MIN, code, pair, preparation, unmade};
use super::{Client, Types, Value, forget_flags, int, stage, text};

const TEXT: &str = "SELECT v FROM t WHERE id = ?";

/// `max_prepared_stmt_count` of a server, which is the default again in the end.
struct Limit<'a>(&'a Server);

impl Limit<'_> {
    fn set(&self, limit: u64) {
        run(&mut self.0.target.connect(), &[&format!("SET GLOBAL max_prepared_stmt_count = {limit}")]);
    }
}

impl Drop for Limit<'_> {
    fn drop(&mut self) {
        self.set(16_382);
    }
}

fn asks(client: &mut Client, statement: &str) -> Vec<Vec<u8>> {
    client.0.query(statement).expect("an answer")
}

/// The limit is one of statements at the server: it is met by the first execution that the server has to carry out.
#[test]
fn the_servers_limit_of_statements_is_met_by_an_execution() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "refused_limit"));
        if !freshet.is_there() {
            return;
        }
        let limit = Limit(server);
        let mut counted = Counted::of(freshet);
        let (mut direct, mut reader) = pair(server, freshet, "refused_limit");
        let there = direct.prepare(TEXT);
        let first = unmade(freshet, &mut reader, TEXT);
        let expected = direct.execute(there, &[int(1)]);
        assert_eq!(reader.prime(&mut counted, first, &[int(1)]), expected);
        reader.close(first);
        let held = [(); 3].map(|()| unmade(freshet, &mut reader, TEXT));

        limit.set(0);
        let refused = preparation(&mut direct, TEXT).1;
        assert_eq!(code(&refused), Some(1461));
        let warned = asks(&mut direct, "SHOW WARNINGS");
        let warm = reader.prepare(TEXT);
        assert!(warm >= HERE_MIN, "{warm}");
        let before = counted.hits();
        assert_eq!(reader.execute(warm, &[int(1)]), expected);
        assert!(counted.hits() > before, "what is known needs no statement at the server");
        for id in held.into_iter().chain([warm]) {
            // MySQL's refusal does not take the errors away of what was before.
            asks(&mut reader, "DO 0");
            assert_eq!(reader.execute(id, &[int(2)]), refused);
            assert_eq!(asks(&mut reader, "SHOW WARNINGS"), warned);
            assert_eq!(code(&reader.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap()), None);
        }
        // Other statements meet it when they are prepared, as they do at the server.
        assert_eq!(preparation(&mut reader, "DO ?").1, refused);
        // A transaction goes on.
        for statement in ["BEGIN", "INSERT INTO o VALUES (9, 9, 9)"] {
            assert_eq!(code(&asks(&mut reader, statement)), None);
        }
        assert_eq!(reader.execute(held[0], &[int(2)]), refused);
        assert_eq!(code(&asks(&mut reader, "COMMIT")), None);
        assert_eq!(direct.one("SELECT x FROM o WHERE id = 9"), "9");

        // Room for one: whoever closes it makes room for the next.
        let mut admin = server.target.connect();
        eventually("the server has one statement", || {
            asks(&mut reader, "DO 0");
            (status(&mut admin, "Prepared_stmt_count") == 1).then_some(())
        });
        limit.set(2);
        for (id, next, value) in [(held[0], held[1], 2), (held[1], held[2], 3)] {
            assert_eq!(reader.execute(id, &[int(value)]), direct.execute(there, &[int(value)]));
            // The server says its limit.
            assert_eq!(reader.execute(next, &[int(77)]), preparation(&mut direct, TEXT).1);
            reader.close(id);
        }
        assert_eq!(reader.execute(held[2], &[int(77)]), direct.execute(there, &[int(77)]));
    });
}

/// Parts of values that were sent to a statement that the server refuses are gone with the refusal.
#[test]
fn parts_of_values_for_a_refused_statement_are_in_no_later_execution() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "refused_parts"));
        if !freshet.is_there() {
            return;
        }
        const BY_TEXT: &str = "SELECT id FROM t WHERE w = ?";
        let limit = Limit(server);
        let (mut direct, mut reader) = pair(server, freshet, "refused_parts");
        let there = direct.prepare(BY_TEXT);
        let here = unmade(freshet, &mut reader, BY_TEXT);
        let send = |client: &mut Client, id: u32| {
            let part = [id.to_le_bytes().as_slice(), &[0, 0], b"b"].concat();
            client.0.send(command::STMT_SEND_LONG_DATA, &part).unwrap();
        };
        let in_parts = |client: &mut Client, id: u32| {
            send(client, id);
            client.execute(id, &[Value(253, Some(Vec::new()))])
        };
        limit.set(0);
        for _ in 0..2 {
            assert_eq!(code(&in_parts(&mut reader, here)), Some(1461));
        }
        limit.set(100);
        let expected = direct.execute(there, &[text("a")]);
        assert_eq!(reader.execute(here, &[text("a")]), expected, "without the earlier parts");
        assert_eq!(in_parts(&mut reader, here), in_parts(&mut direct, there));
        assert_eq!(reader.execute(here, &[text("a")]), expected);
        // A part is lost, and the next one is not: half a value is none.
        let half = unmade(freshet, &mut reader, BY_TEXT);
        for forgets in [false, true] {
            limit.set(0);
            send(&mut reader, half);
            reader.0.ask(command::PING, b"").expect("an answer");
            limit.set(100);
            send(&mut reader, half);
            if forgets {
                reader.0.ask(command::STMT_RESET, &half.to_le_bytes()).expect("an answer");
            } else {
                assert_eq!(code(&in_parts(&mut reader, half)), Some(1461));
            }
            assert_eq!(in_parts(&mut reader, half), in_parts(&mut direct, there), "a whole one, {forgets}");
            assert_eq!(reader.execute(half, &[text("a")]), expected);
        }
    });
}

/// The session is changed while the server cannot prepare: the statement never means anything else.
#[test]
fn a_statement_that_was_refused_when_the_session_changed_means_nothing_else() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "refused_means"));
        drop(stage((server, freshet), "refused_other"));
        if !freshet.is_there() {
            return;
        }
        let limit = Limit(server);
        for change in ["USE refused_other", "SET sql_mode = 'ANSI_QUOTES'"] {
            let (mut direct, mut reader) = pair(server, freshet, "refused_means");
            asks(&mut reader, "SELECT 1 FROM t");
            let there = direct.prepare(TEXT);
            let here = unmade(freshet, &mut reader, TEXT);
            limit.set(0);
            assert_eq!(code(&asks(&mut reader, change)), None, "{change}");
            let got = reader.execute(here, &[int(3)]);
            assert_eq!(code(&got), Some(1243), "{change}: {got:?}");
            limit.set(100);
            let got = reader.execute(here, &[int(3)]);
            assert!(code(&got) == Some(1243) || got == direct.execute(there, &[int(3)]), "{change}: {got:?}");
            // Back where it was prepared.
            for back in ["USE refused_means", "SET sql_mode = DEFAULT"] {
                assert_eq!(code(&asks(&mut reader, back)), None, "{back}");
            }
            let again = reader.prepare(TEXT);
            assert_eq!(reader.execute(again, &[int(3)]), direct.execute(there, &[int(3)]), "{change}");
        }
    });
}

/// How the first execution after a change comes.
#[derive(Clone, Copy, Debug)]
enum First {
    Plain,
    /// After one that was answered from memory.
    AfterAHit,
    /// After COM_STMT_RESET.
    Reset,
    /// In a transaction that has read before the change.
    InTransaction,
}

/// SERVER_STATUS_METADATA_CHANGED, which the server's own statement alone has.
fn forget_changed(mut answer: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    for packet in &mut answer {
        if let [0xfe, _, _, _, high] = packet.as_mut_slice() {
            *high &= !(1 << 2);
        }
    }
    answer
}

#[test]
fn what_others_define_meanwhile_is_met_as_at_the_server() {
    const FIRSTS: [First; 4] = [First::Plain, First::AfterAHit, First::Reset, First::InTransaction];
    const SCHEMA: &str = "refused_defined";
    with_each(|server, freshet| {
        let mut by = stage((server, freshet), SCHEMA);
        for (text, changes) in [
            ("SELECT v FROM d WHERE id = ?", ["ALTER TABLE d DROP COLUMN v", "DO 0"]),
            ("SELECT * FROM d WHERE id = ?", ["ALTER TABLE d ADD COLUMN w INT DEFAULT 5 FIRST", "DO 0"]),
            ("SELECT v FROM d WHERE id = ?", ["DROP TABLE d", "CREATE VIEW d AS SELECT id, w AS v FROM t"]),
            ("SELECT v FROM d WHERE id = ?", ["FLUSH TABLES", "FLUSH TABLES d"]),
        ] {
            for first in FIRSTS {
                for drop in ["DROP VIEW IF EXISTS d", "DROP TABLE IF EXISTS d"] {
                    // MySQL refuses to drop the one as the other.
                    let _ = mysql::prelude::Queryable::query_drop(&mut by, drop);
                }
                run(
                    &mut by,
                    &["CREATE TABLE d (id INT PRIMARY KEY, v INT)", "INSERT INTO d VALUES (1, 10), (2, 20)"],
                );
                caught_up(freshet);
                meets((server, freshet, SCHEMA), text, first, &mut |_| run(&mut by, &changes));
            }
        }
    });
}

fn meets(
    (server, freshet, schema): (&Server, &Freshet, &str),
    text: &str,
    first: First,
    change: &mut dyn FnMut(()),
) {
    let (mut direct, mut reader) = pair(server, freshet, schema);
    asks(&mut reader, "SELECT 1 FROM d");
    let there = direct.prepare(text);
    let here = unmade(freshet, &mut reader, text);
    if matches!(first, First::AfterAHit) && freshet.is_there() {
        reader.prime(&mut Counted::of(freshet), here, &[int(1)]);
        reader.close(here);
    }
    let here = unmade(freshet, &mut reader, text);
    match first {
        First::AfterAHit => {
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
        }
        First::InTransaction => {
            for client in [&mut direct, &mut reader] {
                asks(client, "BEGIN");
                // The server's, so that both have a snapshot.
                asks(client, "SELECT SLEEP(0), x FROM o");
            }
        }
        _ => {}
    }
    change(());
    caught_up(freshet);
    let tried = |client: &mut Client, id: u32| {
        let mut said = Vec::new();
        if matches!(first, First::Reset) {
            said.extend(client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap());
        }
        for value in [1, 2] {
            said.extend(client.execute(id, &[int(value)]));
        }
        said.extend(asks(client, "SHOW WARNINGS"));
        said.extend(asks(client, "COMMIT"));
        said.extend(client.execute(id, &[int(1)]));
        said.iter_mut().for_each(|packet| forget_flags(packet));
        forget_changed(said)
    };
    let expected = tried(&mut direct, there);
    assert_eq!(tried(&mut reader, here), expected, "{text} {first:?}");
}

/// A MariaDB client that executes for many rows at once.
fn bulk_client(target: &Target, schema: &str) -> Client {
    let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
    raw.extended = capability::STMT_BULK_OPERATIONS;
    raw.login(schema, schema, 0).expect("a login");
    Client(raw)
}

/// COM_STMT_BULK_EXECUTE with one INT for each row.
fn in_bulk(client: &mut Client, id: u32, rows: &[i32]) -> Vec<Vec<u8>> {
    let mut body = id.to_le_bytes().to_vec();
    // SEND_TYPES_TO_SERVER, and INT.
    body.extend([128, 0, 3, 0]);
    rows.iter().for_each(|row| body.extend([&[0], row.to_le_bytes().as_slice()].concat()));
    let mut answer = client.0.ask(command::STMT_BULK_EXECUTE, &body).expect("an answer");
    answer.iter_mut().for_each(|packet| forget_flags(packet));
    answer
}

/// MariaDB executes no SELECT in bulk, and what writes is prepared by the server: either says its own words.
#[test]
fn executions_in_bulk_are_the_servers() {
    const LAST: u32 = u32::MAX;
    with_each(|server, freshet| {
        if server.flavor == Flavor::MySql {
            return;
        }
        drop(stage((server, freshet), "refused_bulk"));
        let mut direct = bulk_client(&server.target, "refused_bulk");
        let mut reader = bulk_client(freshet.target(), "refused_bulk");
        asks(&mut reader, "SELECT 1 FROM t");
        let there = direct.prepare(TEXT);
        for rows in [[1, 2].as_slice(), &[1], &[]] {
            for names_last in [false, true] {
                let here = unmade(freshet, &mut reader, TEXT);
                let there_now = direct.prepare(TEXT);
                let of = |id: u32| if names_last { LAST } else { id };
                let expected = in_bulk(&mut direct, of(there_now), rows);
                assert_eq!(in_bulk(&mut reader, of(here), rows), expected, "{rows:?} {names_last}");
                assert_eq!(asks(&mut reader, "SHOW WARNINGS"), asks(&mut direct, "SHOW WARNINGS"));
                for value in [1, 2] {
                    let expected = direct.execute(there, &[int(value)]);
                    assert_eq!(reader.execute(here, &[int(value)]), expected, "{rows:?} {names_last}");
                }
                let left_out = |client: &mut Client, id| client.execute_with(id, &[int(3)], Types::LeftOut);
                assert_eq!(left_out(&mut reader, here), left_out(&mut direct, there));
            }
        }
        // What was written in bulk is in the next execution.
        const COUNTS: &str = "SELECT COUNT(*), SUM(x) FROM o WHERE t >= ?";
        let counts = direct.prepare(COUNTS);
        let mut counted = Counted::of(freshet);
        let id = reader.prepare("INSERT INTO o (id, t, x) SELECT ?, 50, 1");
        let values = reader.prepare("INSERT INTO o (id, t, x) VALUES (?, 50, 1)");
        for at in 0..5 {
            let here = unmade(freshet, &mut reader, COUNTS);
            if freshet.is_there() {
                reader.prime(&mut counted, here, &[int(0)]);
            }
            let got = in_bulk(&mut reader, values, &[100 + 2 * at, 101 + 2 * at]);
            assert_eq!(code(&got), None, "{got:?}");
            assert_eq!(reader.execute(here, &[int(0)]), direct.execute(counts, &[int(0)]), "{at}");
            let _ = in_bulk(&mut reader, id, &[200 + at]);
            assert_eq!(reader.execute(here, &[int(0)]), direct.execute(counts, &[int(0)]), "{at}");
        }
    });
}

/// Begins the session anew, as another user or as the same.
fn begins_anew(client: &mut Client, user: Option<&str>, schema: &str) {
    match user {
        None => assert_eq!(code(&client.0.ask(command::RESET_CONNECTION, &[]).unwrap()), None),
        Some(user) => {
            let body =
                [user.as_bytes(), b"\0\0", schema.as_bytes(), b"\0\x2d\0mysql_native_password\0"].concat();
            client.0.send(command::CHANGE_USER, &body).expect("it is sent");
            client.0.authenticated().expect("it is let in");
        }
    }
}

#[test]
fn a_session_that_begins_anew_has_no_statements() {
    const SCHEMA: &str = "refused_changed";
    const OTHER: &str = "refused_poor";
    const WORDS: &str = "SELECT w FROM t WHERE id = ?";
    with_each(|server, freshet| {
        drop(stage((server, freshet), OTHER));
        let mut admin = stage((server, freshet), SCHEMA);
        run(
            &mut admin,
            &[
                &format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {OTHER}"),
                &format!("GRANT SELECT (id, v) ON {SCHEMA}.t TO {OTHER}"),
            ],
        );
        caught_up(freshet);
        for user in [None, Some(SCHEMA), Some(OTHER)] {
            let (mut direct, mut reader) = pair(server, freshet, SCHEMA);
            let told = format!("{user:?}");
            // Prepared, prepared and executed from memory, executed at the server, and prepared by it.
            for (at, statement) in [TEXT, TEXT, TEXT, "DO ?"].into_iter().enumerate() {
                begins_anew(&mut direct, Some(SCHEMA), SCHEMA);
                begins_anew(&mut reader, Some(SCHEMA), SCHEMA);
                unmade(freshet, &mut reader, TEXT);
                let there = direct.prepare(statement);
                let here =
                    if at < 3 { unmade(freshet, &mut reader, statement) } else { reader.prepare(statement) };
                match at {
                    1 if freshet.is_there() => {
                        let _ = reader.prime(&mut Counted::of(freshet), here, &[int(1)]);
                    }
                    2 => {
                        reader.execute(here, &[int(70)]);
                    }
                    _ => {}
                }
                begins_anew(&mut direct, user, SCHEMA);
                begins_anew(&mut reader, user, SCHEMA);
                gone((&mut direct, &mut reader), (there, here), &told);
                for _ in 0..if user == Some(SCHEMA) { 4 } else { 0 } {
                    unmade(freshet, &mut reader, TEXT);
                    direct.prepare(TEXT);
                    gone((&mut direct, &mut reader), (there, here), &told);
                }
                // What is prepared from now on has another number: whoever uses the old one executes nothing.
                for text in [TEXT, WORDS, "DO ?", TEXT] {
                    let ((new_there, expected), (new_here, got)) =
                        (preparation(&mut direct, text), preparation(&mut reader, text));
                    assert_eq!(got, expected, "{told} {at} {text}");
                    if code(&expected).is_none() {
                        let expected = direct.execute(new_there, &[int(1)]);
                        assert_eq!(reader.execute(new_here, &[int(1)]), expected, "{told} {at} {text}");
                    }
                    gone((&mut direct, &mut reader), (there, here), &format!("{told} {at} {text}"));
                }
            }
        }
    });
}

/// Both say of their statements that they are gone.
fn gone((direct, reader): (&mut Client, &mut Client), (there, here): (u32, u32), told: &str) {
    assert_eq!(code(&direct.execute(there, &[int(1)])), Some(1243), "{told}");
    assert_eq!(code(&reader.execute(here, &[int(1)])), Some(1243), "{told}");
    // The same words for the same number, which the server has given to nobody.
    if here >= HERE_MIN {
        assert_eq!(reader.execute(here, &[int(1)]), direct.execute(here, &[int(1)]), "{told}");
        for command in [command::STMT_RESET, command::STMT_FETCH] {
            let body = [here.to_le_bytes(), 1u32.to_le_bytes()].concat();
            let body = if command == command::STMT_RESET { &body[..4] } else { &body };
            let expected = direct.0.ask(command, body).unwrap();
            assert_eq!(reader.0.ask(command, body).unwrap(), expected, "{told}");
        }
    }
}
