//! Executions of prepared statements: answered from memory where the server would say the same, byte for byte, and by
//! the server where it would not.

mod integers;
mod preparing;
mod proxied;
mod redefined;
mod refused;

use std::time::Duration;

use freshet_tests::cached::{Counted, caught_up, connect, eventually, fresh_schema, run, status, user_of};
use freshet_tests::raw::{Raw, capability, command, error_code};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20) CHARACTER SET utf8mb4, d DATETIME, n DECIMAL(9,2), \
     u BIGINT UNSIGNED, f DOUBLE, b VARBINARY(9), KEY (v))",
    "INSERT INTO t VALUES (1,10,'a','2024-02-29 01:02:03',1.50,18446744073709551615,0.5,x'00ff'), \
     (2,20,'b',NULL,2.25,7,2,'x'), (3,20,NULL,'2025-01-01 00:00:00',NULL,9,-1.5,NULL)",
    "CREATE TABLE o (id INT PRIMARY KEY, t INT, x INT)",
    "INSERT INTO o VALUES (1,1,5),(2,2,6),(3,1,7)",
    "CREATE VIEW shown AS SELECT id, v FROM t",
    "CREATE TABLE m (id INT PRIMARY KEY, day DATE, ts TIMESTAMP(3) NULL)",
    "INSERT INTO m VALUES (1,'2024-02-29','2024-02-29 01:02:03.5'), (2,'2025-01-01',NULL)",
];

/// A value as a client sends it: its type, and its bytes where it is not NULL.
#[derive(Clone, Debug)]
struct Value(u16, Option<Vec<u8>>);

fn int(value: i32) -> Value {
    Value(3, Some(value.to_le_bytes().to_vec()))
}

fn big(value: i64) -> Value {
    Value(8, Some(value.to_le_bytes().to_vec()))
}

fn unsigned(value: u64) -> Value {
    Value(8 | 1 << 15, Some(value.to_le_bytes().to_vec()))
}

fn double(value: f64) -> Value {
    Value(5, Some(value.to_le_bytes().to_vec()))
}

fn text(value: &str) -> Value {
    Value(253, Some([&[value.len() as u8], value.as_bytes()].concat()))
}

/// Bytes that are no text, as drivers send them: as a string of characters, or as a BLOB.
fn bytes(kind: u16, value: &[u8]) -> Value {
    Value(kind, Some([&[value.len() as u8], value].concat()))
}

fn decimal(value: &str) -> Value {
    Value(246, Some([&[value.len() as u8], value.as_bytes()].concat()))
}

fn moment(year: u16, parts: [u8; 5]) -> Value {
    Value(12, Some([&[7], year.to_le_bytes().as_slice(), &parts].concat()))
}

fn null() -> Value {
    Value(6, None)
}

/// A client that prepares and executes.
struct Client(Raw);

/// What an execution is sent with.
#[derive(Clone, Copy, PartialEq)]
enum Types {
    Brought,
    LeftOut,
}

impl Client {
    fn of(target: &Target, schema: &str, further: u32) -> Client {
        let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
        raw.login(schema, schema, further).expect("a login");
        Client(raw)
    }

    fn prepare(&mut self, text: &str) -> u32 {
        let answer = self.0.ask(command::STMT_PREPARE, text.as_bytes()).expect("an answer");
        assert_eq!(error_code(&answer[0]), None, "{text}: {answer:?}");
        u32::from_le_bytes(answer[0][1..5].try_into().unwrap())
    }

    fn execute_with(&mut self, id: u32, values: &[Value], types: Types) -> Vec<Vec<u8>> {
        let mut answer =
            self.0.ask(command::STMT_EXECUTE, &execution(id, values, types, 0)).expect("an answer");
        answer.iter_mut().for_each(|packet| forget_flags(packet));
        answer
    }

    fn execute(&mut self, id: u32, values: &[Value]) -> Vec<Vec<u8>> {
        self.execute_with(id, values, Types::Brought)
    }

    /// Executes until an answer has come from memory, and gives it.
    fn prime(&mut self, counted: &mut Counted, id: u32, values: &[Value]) -> Vec<Vec<u8>> {
        counted.prime_by(&format!("{values:?}"), || self.execute(id, values))
    }

    fn close(&mut self, id: u32) {
        self.0.send(command::STMT_CLOSE, &id.to_le_bytes()).expect("it is sent");
    }

    /// The one value of a text answer.
    fn one(&mut self, statement: &str) -> String {
        let answer = self.0.query(statement).expect("an answer");
        let row = answer.iter().rev().nth(1).expect("a row");
        String::from_utf8_lossy(&row[1..]).into_owned()
    }
}

/// SERVER_QUERY_NO_GOOD_INDEX_USED, SERVER_QUERY_NO_INDEX_USED, SERVER_SESSION_STATE_CHANGED.
const PASSING: u16 = 1 << 4 | 1 << 5 | 1 << 14;

/// Takes the flags away that tell how a statement was executed, and not what it found.
fn forget_flags(packet: &mut [u8]) {
    let at = match packet {
        [0xfe, _, _, _, _] => 3,
        // An OK packet at the end of the rows, without counts.
        [0xfe, 0, 0, ..] => 3,
        _ => return,
    };
    let status = u16::from_le_bytes([packet[at], packet[at + 1]]) & !PASSING;
    packet[at..at + 2].copy_from_slice(&status.to_le_bytes());
}

fn execution(id: u32, values: &[Value], types: Types, flags: u8) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.push(flags);
    body.extend(1u32.to_le_bytes());
    if values.is_empty() {
        return body;
    }
    let mut nulls = vec![0u8; values.len().div_ceil(8)];
    for (at, Value(_, bytes)) in values.iter().enumerate() {
        nulls[at / 8] |= u8::from(bytes.is_none()) << (at % 8);
    }
    body.extend(nulls);
    body.push(u8::from(types == Types::Brought));
    if types == Types::Brought {
        values.iter().for_each(|Value(kind, _)| body.extend(kind.to_le_bytes()));
    }
    values.iter().for_each(|Value(_, bytes)| body.extend(bytes.as_deref().unwrap_or_default()));
    body
}

/// The tables in `schema`, and a user of its name without a password.
fn stage((server, freshet): (&Server, &Freshet), schema: &str) -> mysql::Conn {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, TABLES);
    user_of(&mut direct, schema);
    caught_up(freshet);
    direct
}

/// Statements and the values of their executions.
fn statements() -> Vec<(&'static str, Vec<Vec<Value>>)> {
    let numbers = || {
        vec![vec![int(1)], vec![big(2)], vec![unsigned(3)], vec![int(77)], vec![null()], vec![Value(3, None)]]
    };
    vec![
        ("SELECT * FROM t ORDER BY id", vec![vec![]]),
        ("SELECT COUNT(*), SUM(n), AVG(f), MIN(w) FROM t", vec![vec![]]),
        (
            "SELECT * FROM t WHERE id = ?",
            [numbers(), vec![vec![double(2.0)], vec![text("1")], vec![decimal("1.5")]]].concat(),
        ),
        (
            "SELECT v, w FROM t WHERE id IN (?, ?)",
            vec![vec![int(1), int(2)], vec![int(2), int(2)], vec![null(), int(1)]],
        ),
        (
            "SELECT id FROM t WHERE v > ? ORDER BY id LIMIT ?",
            vec![vec![int(5), big(2)], vec![int(15), big(1)]],
        ),
        (
            "SELECT id FROM t WHERE w = ?",
            vec![vec![text("a")], vec![text("A")], vec![text("")], vec![text("é")]],
        ),
        (
            "SELECT id FROM t WHERE d = ?",
            vec![vec![moment(2024, [2, 29, 1, 2, 3])], vec![text("2025-01-01 00:00:00")]],
        ),
        ("SELECT id FROM t WHERE u = ?", vec![vec![unsigned(u64::MAX)], vec![big(-1)], vec![big(7)]]),
        ("SELECT id FROM t WHERE b = ?", vec![vec![Value(252, Some(vec![2, 0, 0xff]))]]),
        ("SELECT ?, id FROM t WHERE id = 1", vec![vec![int(5)]]),
        ("SELECT v FROM shown WHERE id = ?", vec![vec![int(2)]]),
        (
            "SELECT t.w, o.x FROM t JOIN o ON o.t = t.id WHERE t.id = ? AND o.x > ?",
            vec![vec![int(1), int(5)]],
        ),
        ("SELECT id FROM o WHERE t = ? UNION SELECT id FROM t WHERE v = ?", vec![vec![int(1), int(20)]]),
        ("SELECT (SELECT COUNT(*) FROM o WHERE o.t = t.id) FROM t WHERE id = ?", vec![vec![int(1)]]),
        ("SELECT id FROM t WHERE w LIKE ?", vec![vec![text("a%")]]),
        ("SELECT id FROM t WHERE v <=> ?", vec![vec![int(10)], vec![null()]]),
        ("SELECT v FROM t WHERE (id, v) = (?, ?)", vec![vec![int(1), int(10)]]),
    ]
}

const FORMS: [u32; 3] = [0, capability::DEPRECATE_EOF, capability::DEPRECATE_EOF | capability::SESSION_TRACK];

#[test]
fn answers_are_the_servers_and_come_from_memory() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_bytes"));
        let mut counted = Counted::of(freshet);
        for form in FORMS {
            let mut direct = Client::of(&server.target, "prep_bytes", form);
            let mut reader = Client::of(freshet.target(), "prep_bytes", form);
            for (statement, executions) in statements() {
                for values in executions {
                    // Of one that has met other types the server may take a value for one of those.
                    let (there, here) = (direct.prepare(statement), reader.prepare(statement));
                    let expected = direct.execute(there, &values);
                    assert_eq!(error_code(&expected[0]), None, "{statement} {values:?}");
                    if freshet.is_there() {
                        let got = reader.prime(&mut counted, here, &values);
                        assert_eq!(got, expected, "{statement} {values:?}");
                        assert_eq!(reader.execute_with(here, &values, Types::LeftOut), expected);
                    }
                    direct.close(there);
                    reader.close(here);
                }
            }
        }
    });
}

#[test]
fn a_write_drops_what_it_concerns_and_nothing_else() {
    with_each(|server, freshet| {
        let mut writer = stage((server, freshet), "prep_rows");
        let mut counted = Counted::of(freshet);
        let mut reader = Client::of(freshet.target(), "prep_rows", 0);
        let id = reader.prepare("SELECT v FROM t WHERE id = ?");
        let (one, two) = ([int(1)], [int(2)]);
        if !freshet.is_there() {
            return;
        }
        // The first answers may depend on the whole table: what tells rows apart has just come into use.
        eventually("what was stored of one row outlives a write of another", || {
            let before = reader.prime(&mut counted, id, &one);
            reader.prime(&mut counted, id, &two);
            run(&mut writer, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
            eventually("the answer is new", || (reader.execute(id, &one) != before).then_some(()));
            let hits = counted.hits();
            reader.execute(id, &two);
            (counted.hits() > hits).then_some(())
        });
        // Through ourselves, at once.
        let mut own = connect(freshet.target(), "prep_rows");
        reader.prime(&mut counted, id, &one);
        for v in 100..120 {
            run(&mut own, &[&format!("UPDATE t SET v = {v} WHERE id = 1")]);
            let got = reader.execute(id, &one);
            let row = &got[got.len() - 2];
            assert_eq!(row[row.len() - 4..], i32::to_le_bytes(v), "{v}: {got:?}");
        }
    });
}

/// Clients in JavaScript send every number as a DOUBLE.
#[test]
fn numbers_as_doubles_texts_beyond_ascii_patterns_and_bytes_tell_rows() {
    with_each(|server, freshet| {
        let mut writer = stage((server, freshet), "prep_told");
        run(
            &mut writer,
            &[
                "CREATE TABLE told (id BIGINT PRIMARY KEY, \
                 s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, v INT, u BINARY(4), KEY (s))",
                "INSERT INTO told VALUES (1, 'café', 0, X'00ff270d'), (2, 'naïve', 0, X'00ff5c80'), (3, 'e', 0, X'00')",
            ],
        );
        caught_up(freshet);
        if !freshet.is_there() {
            return;
        }
        let mut counted = Counted::of(freshet);
        for (text, [one, two]) in [
            ("SELECT v FROM told WHERE id = ?", [[double(1.0)], [double(2.0)]]),
            ("SELECT v FROM told WHERE s = ?", [[text("café")], [text("naïve")]]),
            ("SELECT v FROM told WHERE s LIKE ?", [[text("caf%")], [text("na%e")]]),
            ("SELECT v FROM told WHERE u = ?", [[bytes(253, b"\0\xff'\r")], [bytes(253, b"\0\xff\\\x80")]]),
            ("SELECT v FROM told WHERE u = ?", [[bytes(252, b"\0\xff'\r")], [bytes(252, b"\0\xff\\\x80")]]),
        ] {
            let mut reader = Client::of(freshet.target(), "prep_told", 0);
            let mut direct = Client::of(&server.target, "prep_told", 0);
            let (id, there) = (reader.prepare(text), direct.prepare(text));
            eventually("what was stored of one row outlives a write of another", || {
                let before = reader.prime(&mut counted, id, &one);
                reader.prime(&mut counted, id, &two);
                run(&mut writer, &["UPDATE told SET v = v + 1 WHERE id = 1"]);
                eventually("the answer is new", || (reader.execute(id, &one) != before).then_some(()));
                assert_eq!(reader.execute(id, &one), direct.execute(there, &one), "{text}");
                let hits = counted.hits();
                reader.execute(id, &two);
                (counted.hits() > hits).then_some(())
            });
            // And a write of that one drops it.
            let before = reader.prime(&mut counted, id, &two);
            run(&mut writer, &["UPDATE told SET v = v + 1 WHERE id = 2"]);
            eventually("the answer is new", || (reader.execute(id, &two) != before).then_some(()));
        }
    });
}

#[test]
fn the_server_is_told_of_types_that_it_has_missed() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_types"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_types", 0);
        let mut reader = Client::of(freshet.target(), "prep_types", 0);
        const TEXT: &str = "SELECT id, w FROM t WHERE id = ?";
        let there = direct.prepare(TEXT);
        let first = reader.prepare(TEXT);
        if freshet.is_there() {
            reader.prime(&mut counted, first, &[int(1)]);
        }
        // The server meets no execution of this one before one without types.
        let here = reader.prepare(TEXT);
        direct.execute(there, &[int(1)]);
        reader.execute(here, &[int(1)]);
        for value in [2, 3, 2, 77, 1] {
            let expected = direct.execute_with(there, &[int(value)], Types::LeftOut);
            assert_eq!(reader.execute_with(here, &[int(value)], Types::LeftOut), expected, "{value}");
        }
        // Types change on a hit, and the next execution is none.
        reader.execute(here, &[text("1")]);
        direct.execute(there, &[text("1")]);
        let other = reader.prepare(TEXT);
        if freshet.is_there() {
            reader.prime(&mut counted, other, &[text("3")]);
        }
        direct.execute(there, &[text("3")]);
        reader.execute(here, &[text("3")]);
        let expected = direct.execute_with(there, &[text("2")], Types::LeftOut);
        assert_eq!(reader.execute_with(here, &[text("2")], Types::LeftOut), expected);
    });
}

#[test]
fn a_value_of_another_type_is_another_question() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_kinds"));
        let mut counted = Counted::of(freshet);
        const TEXT: &str = "SELECT ? FROM t WHERE id = 1";
        let mut direct = Client::of(&server.target, "prep_kinds", 0);
        let mut reader = Client::of(freshet.target(), "prep_kinds", 0);
        let values = [
            int(1),
            big(1),
            unsigned(1),
            text("1"),
            double(1.0),
            decimal("1"),
            null(),
            Value(3, None),
            Value(253, None),
        ];
        for value in &values {
            let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
            let expected = direct.execute(there, std::slice::from_ref(value));
            if freshet.is_there() {
                assert_eq!(
                    reader.prime(&mut counted, here, std::slice::from_ref(value)),
                    expected,
                    "{value:?}"
                );
            }
        }
    });
}

#[test]
fn what_an_answer_leaves_is_there_after_a_hit() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_left"));
        let mut counted = Counted::of(freshet);
        let mut reader = Client::of(freshet.target(), "prep_left", 0);
        let two = reader.prepare("SELECT id FROM t WHERE v = ?");
        let found = reader.prepare("SELECT FOUND_ROWS()");
        for closes in [false, true] {
            let id = if closes { reader.prepare("SELECT id FROM t WHERE v = ?") } else { two };
            if freshet.is_there() {
                reader.prime(&mut counted, id, &[int(20)]);
            }
            reader.0.query("SELECT id FROM t WHERE id = 1").unwrap();
            reader.execute(id, &[int(20)]);
            if closes {
                reader.close(id);
            }
            assert_eq!(reader.one("SELECT FOUND_ROWS()"), "2", "closed: {closes}");
            reader.0.query("SELECT id FROM t WHERE id = 1").unwrap();
            reader.execute(two, &[int(20)]);
            // One is prepared in between, and the row count is asked for by an execution.
            let three = reader.prepare("SELECT 1");
            let answer = reader.execute(found, &[]);
            let row = &answer[answer.len() - 2];
            assert_eq!(row[2], 2, "{answer:?}");
            reader.close(three);
        }
    });
}

#[test]
fn a_session_that_only_prepares_is_found_out_about() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_only"));
        let mut counted = Counted::of(freshet);
        for before in
            ["SET @x = 1", "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')", "SET time_zone = @@time_zone"]
        {
            let mut reader = Client::of(freshet.target(), "prep_only", 0);
            reader.0.query(before).unwrap();
            let id = reader.prepare("SELECT v FROM t WHERE id = ?");
            if freshet.is_there() {
                reader.prime(&mut counted, id, &[int(1)]);
            }
        }
    });
}

#[test]
fn the_statement_prepared_last_is_the_clients() {
    const LAST: u32 = u32::MAX;
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_last"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_last", 0);
        let mut reader = Client::of(freshet.target(), "prep_last", 0);
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[int(1)]);
        }
        let code = |answer: Vec<Vec<u8>>| error_code(&answer[0]).ok_or(answer);
        assert_eq!(code(reader.execute(LAST, &[int(1)])), code(direct.execute(LAST, &[int(1)])));
        for statement in ["SELECT w FROM t WHERE id = ?", "SELECT nothing FROM t"] {
            for client in [&mut direct, &mut reader] {
                client.0.ask(command::STMT_PREPARE, statement.as_bytes()).unwrap();
            }
            // The one before is executed by its own number, and is not the last for that.
            assert_eq!(reader.execute(here, &[int(2)]), direct.execute(there, &[int(2)]));
            let (got, expected) = (reader.execute(LAST, &[int(2)]), direct.execute(LAST, &[int(2)]));
            assert_eq!(code(got), code(expected), "{statement}");
        }
        for (client, id) in [(&mut direct, there), (&mut reader, here)] {
            client.prepare(TEXT);
            client.close(LAST);
            assert!(error_code(&client.execute(id, &[int(1)])[0]).is_none(), "another was closed");
        }
        assert_eq!(code(reader.execute(LAST, &[int(1)])), code(direct.execute(LAST, &[int(1)])));
    });
}

/// Another client's answers to a statement that is prepared anew are what the server says to it.
fn assert_fresh(server: &Server, freshet: &Freshet, schema: &str, text: &str, values: &[Value]) {
    let mut direct = Client::of(&server.target, schema, 0);
    let mut reader = Client::of(freshet.target(), schema, 0);
    for _ in 0..2 {
        let (there, here) = (direct.prepare(text), reader.prepare(text));
        let expected = direct.execute(there, values);
        assert_eq!(reader.execute(here, values), expected, "{text} {values:?}");
    }
}

#[test]
fn what_the_server_resolves_by_earlier_values_is_nobody_elses() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "prep_before");
        run(&mut direct, &["INSERT INTO t (id, v, w) VALUES (4, 1, '1'), (5, 1, '1.0'), (6, 1, ' 1')"]);
        for (statement, first, then) in [
            ("SELECT v * ? FROM t WHERE id = 1", text("1.5"), text("2")),
            ("SELECT v + ? FROM t WHERE id = 1", text("x"), text("2")),
            ("SELECT IFNULL(NULL, ?) FROM t WHERE id = 1", text("1.5"), text("a")),
            ("SELECT id FROM t WHERE v = ?", text("1.5"), text("1.2.3.4")),
            ("SELECT id FROM t WHERE w = ?", int(1), text("1")),
            ("SELECT id FROM t WHERE w IN (?, 'b')", double(1.0), text("1")),
            ("SELECT ? FROM t WHERE id = 1", int(5), null()),
            ("SELECT ABS(?) FROM t WHERE id = 1", text("5"), int(5)),
            ("SELECT v + ? FROM t WHERE id = 1", text("-1"), text("2")),
            ("SELECT MOD(?, 3) FROM t WHERE id = 1", text("-0"), text("-5")),
            ("SELECT d - ? FROM t WHERE id = 1", int(0), int(5)),
            ("SELECT d - ? FROM t WHERE id = 1", double(0.0), double(-0.5)),
            ("SELECT id FROM t WHERE d > ?", text("20240101000000"), text("132")),
            ("SELECT id FROM t WHERE d > ?", moment(2024, [2, 29, 1, 2, 3]), text("w")),
            ("SELECT id FROM t WHERE d > ?", text("2024-02-29"), text("")),
            ("SELECT id FROM t WHERE n = ?", decimal("1.5"), decimal("1.505")),
        ] {
            let mut there = Client::of(&server.target, "prep_before", 0);
            let mut here = Client::of(freshet.target(), "prep_before", 0);
            // Somebody has stored what it is without a history.
            assert_fresh(server, freshet, "prep_before", statement, std::slice::from_ref(&then));
            let (one, other) = (there.prepare(statement), here.prepare(statement));
            for value in [&first, &then, &then, &first, &then] {
                let expected = there.execute(one, std::slice::from_ref(value));
                assert_eq!(
                    here.execute(other, std::slice::from_ref(value)),
                    expected,
                    "{statement}: {value:?}"
                );
            }
            assert_fresh(server, freshet, "prep_before", statement, std::slice::from_ref(&then));
        }
    });
}

/// A session's executions from memory count as if the server had carried them out.
#[test]
fn what_was_answered_from_memory_counts_for_later_values() {
    with_each(|server, freshet| {
        stage((server, freshet), "prep_shown");
        let mut counted = Counted::of(freshet);
        for (statement, first, then) in [
            ("SELECT v * ? FROM t WHERE id = 1", text("1.5"), text("2")),
            ("SELECT v * ? FROM t WHERE id = 1", int(2), text("1.5")),
            ("SELECT COALESCE(w, ?) FROM t WHERE id < 3", int(2), text("a")),
            ("SELECT id, ? AS given FROM t WHERE id = 1", int(5), null()),
            ("SELECT IFNULL(NULL, ?) FROM t WHERE id = 1", text("1.5"), text("a")),
        ] {
            let [mut primer, mut here] = [0; 2].map(|form| Client::of(freshet.target(), "prep_shown", form));
            let mut there = Client::of(&server.target, "prep_shown", 0);
            let (first, then) = ([first], [then]);
            eventually("the first execution is answered from memory", || {
                let id = primer.prepare(statement);
                if freshet.is_there() {
                    primer.prime(&mut counted, id, &first);
                }
                let (one, other) = (there.prepare(statement), here.prepare(statement));
                let before = counted.hits();
                here.execute(other, &first);
                let is_hit = counted.hits() > before;
                there.execute(one, &first);
                let (expected, got) = (
                    there.execute_with(one, &first, Types::LeftOut),
                    here.execute_with(other, &first, Types::LeftOut),
                );
                assert_eq!(got, expected, "{:?}: {statement}: without types", server.flavor);
                for values in [&then, &then, &first, &then] {
                    let (expected, got) = (there.execute(one, values), here.execute(other, values));
                    assert_eq!(got, expected, "{:?}: {statement}: {values:?}", server.flavor);
                }
                (is_hit || !freshet.is_there()).then_some(())
            });
        }
    });
}

/// What shows moments, or is compared with them, is executed with any values, by one statement.
#[test]
fn a_statement_that_compares_columns_with_its_values_goes_on_hitting() {
    with_each(|server, freshet| {
        let mut definer = stage((server, freshet), "prep_many");
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_many", 0);
        let mut reader = Client::of(freshet.target(), "prep_many", 0);
        for (statement, executions) in [
            ("SELECT id, d, f FROM t WHERE id = ?", vec![vec![int(1)], vec![int(2)], vec![int(3)]]),
            (
                "SELECT d, DATE(d) FROM t WHERE w = ? LIMIT ?",
                vec![vec![text("a"), int(1)], vec![text("b"), int(2)]],
            ),
            (
                "SELECT t.d FROM t JOIN o ON o.t = t.id WHERE o.x IN (?, ?)",
                vec![vec![int(5), int(6)], vec![int(7), int(5)]],
            ),
            (
                "SELECT id, d FROM t WHERE id < ? AND d > ?",
                vec![
                    vec![int(3), moment(2024, [2, 29, 1, 2, 3])],
                    vec![int(9), moment(2024, [1, 1, 0, 0, 0])],
                    vec![int(9), moment(2023, [12, 31, 23, 59, 59])],
                ],
            ),
            (
                "SELECT id FROM t WHERE w = ? OR b = ?",
                vec![
                    vec![text("3f2a-11"), Value(252, Some(vec![4, 0, 0xff, 49, 46]))],
                    vec![text("-1.5"), Value(252, Some(vec![1, b'x']))],
                    vec![text("a"), Value(252, Some(vec![2, 0, 0xff]))],
                ],
            ),
            (
                "SELECT id FROM m WHERE day > ? OR ts <= ?",
                vec![
                    vec![text("2024-02-29"), moment(2024, [2, 29, 1, 2, 3])],
                    vec![text("2020-01-01"), moment(2024, [2, 29, 1, 2, 4])],
                ],
            ),
            (
                "SELECT id FROM t WHERE d BETWEEN ? AND ?",
                vec![
                    vec![text("2024-01-01"), text("2024-12-31 00:00:00")],
                    vec![text("2020-01-01"), text("2024-02-29 01:02:03.5")],
                ],
            ),
        ] {
            let (there, here) = (direct.prepare(statement), reader.prepare(statement));
            for round in 0..3 {
                if round == 2 {
                    // Both servers prepare it anew.
                    run(
                        &mut definer,
                        &["ALTER TABLE t COMMENT = 'another'", "ALTER TABLE m COMMENT = 'another'"],
                    );
                    caught_up(freshet);
                }
                for values in &executions {
                    let expected = direct.execute(there, values);
                    if freshet.is_there() {
                        assert_eq!(
                            reader.prime(&mut counted, here, values),
                            expected,
                            "{statement} {values:?}"
                        );
                    }
                }
            }
        }
    });
}

/// The same where values are in subqueries and elsewhere, and no moment is in sight.
#[test]
fn a_statement_with_subqueries_goes_on_hitting() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_nested"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_nested", 0);
        let mut reader = Client::of(freshet.target(), "prep_nested", 0);
        for statement in [
            "SELECT id FROM t WHERE v > ? AND id IN (SELECT t FROM o WHERE x >= ?)",
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.t = t.id AND o.x < ?) AND v + ? > 1",
            "SELECT q.id, q.c FROM (SELECT t id, COUNT(*) c FROM o WHERE x > ? GROUP BY t) q WHERE q.c >= ?",
            "SELECT v, COUNT(*) c FROM t WHERE id < ? GROUP BY v HAVING c >= ?",
        ] {
            let (there, here) = (direct.prepare(statement), reader.prepare(statement));
            for values in [[int(5), int(1)], [int(6), int(2)], [int(5), int(1)], [int(0), int(0)]] {
                let expected = direct.execute(there, &values);
                if freshet.is_there() {
                    let got = reader.prime(&mut counted, here, &values);
                    assert_eq!(got, expected, "{:?}: {statement} {values:?}", server.flavor);
                }
            }
        }
    });
}

/// Executions that are not plain ones count as well.
#[test]
fn executions_of_other_kinds_are_remembered() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_kept"));
        const TEXT: &str = "SELECT v * ? FROM t WHERE id = 1";
        let long = |tail: &str| {
            let value = format!("1.5{}", tail.repeat(300_000));
            let mut bytes = vec![0xfd];
            bytes.extend(&u32::try_from(value.len()).unwrap().to_le_bytes()[..3]);
            bytes.extend(value.as_bytes());
            Value(253, Some(bytes))
        };
        for (value, flags) in [(text("1.5"), 2), (text("1.5"), 4), (long("0"), 0), (long(" "), 0)] {
            for target in [&server.target, freshet.target()] {
                let mut client = Client::of(target, "prep_kept", 0);
                let id = client.prepare(TEXT);
                let body = execution(id, std::slice::from_ref(&value), Types::Brought, flags);
                client.0.ask(command::STMT_EXECUTE, &body).unwrap();
                client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap();
                client.execute(id, &[text("2")]);
                client.execute(id, &[text("2")]);
            }
            assert_fresh(server, freshet, "prep_kept", TEXT, &[text("2")]);
        }
    });
}

#[test]
fn what_is_asked_about_an_answer_takes_no_value_that_was_sent_in_pieces() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_pieces"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_pieces", 0);
        let mut reader = Client::of(freshet.target(), "prep_pieces", 0);
        const TEXT: &str = "SELECT id FROM t WHERE w <> ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[text("z")]);
        }
        let asked = |client: &mut Client, id: u32| {
            client.execute(id, &[text("z")]);
            let piece = [id.to_le_bytes().as_slice(), &[0, 0], b"a"].concat();
            client.0.send(command::STMT_SEND_LONG_DATA, &piece).unwrap();
            let found = client.one("SELECT FOUND_ROWS()");
            let body = execution(id, &[Value(253, Some(Vec::new()))], Types::Brought, 0);
            (found, client.0.ask(command::STMT_EXECUTE, &body).unwrap())
        };
        assert_eq!(asked(&mut reader, here), asked(&mut direct, there));
    });
}

#[test]
fn a_statement_that_is_read_again_elsewhere_is_nobody_elses() {
    with_each(|server, freshet| {
        let mut writer = stage((server, freshet), "prep_again");
        run(&mut writer, &["INSERT INTO t (id, w) VALUES (9, 'é')"]);
        for (text, change, back) in [
            ("SELECT \"w\", ? FROM t WHERE id = 1", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = DEFAULT"),
            ("SELECT id FROM t WHERE w = 'é' AND id > ?", "SET NAMES latin1", "SET NAMES utf8mb4"),
            (
                "SELECT 'a' = 'A', ? FROM t WHERE id = 1",
                "SET collation_connection = utf8mb4_bin",
                "SET NAMES utf8mb4",
            ),
        ] {
            let mut direct = Client::of(&server.target, "prep_again", 0);
            let mut reader = Client::of(freshet.target(), "prep_again", 0);
            for client in [&mut direct, &mut reader] {
                client.0.query("SET NAMES utf8mb4").unwrap();
            }
            let (there, here) = (direct.prepare(text), reader.prepare(text));
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
            for client in [&mut direct, &mut reader] {
                client.0.query(change).unwrap();
            }
            // The tables are opened anew, so that the server reads the text again, as it is read there.
            run(&mut writer, &["FLUSH TABLES", "ALTER TABLE t COMMENT = 'again'"]);
            let both = |value: i32, reader: &mut Client, direct: &mut Client| {
                let expected = direct.execute(there, &[int(value)]);
                assert_eq!(reader.execute(here, &[int(value)]), expected, "{text}, {change}");
            };
            both(2, &mut reader, &mut direct);
            for client in [&mut direct, &mut reader] {
                client.0.query(back).unwrap();
            }
            for value in [3, 3, 2] {
                both(value, &mut reader, &mut direct);
            }
            let mut others =
                [&server.target, freshet.target()].map(|target| Client::of(target, "prep_again", 0));
            let answers = others.each_mut().map(|client| {
                client.0.query("SET NAMES utf8mb4").unwrap();
                let id = client.prepare(text);
                client.execute(id, &[int(3)])
            });
            assert_eq!(answers[1], answers[0], "{text}");
        }
    });
}

#[test]
fn attributes_are_no_parameters() {
    const QUERY_ATTRIBUTES: u32 = 1 << 27;
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "prep_attributes");
        let mut reader = Client::of(freshet.target(), "prep_attributes", QUERY_ATTRIBUTES);
        if reader.0.capabilities() & QUERY_ATTRIBUTES == 0 {
            return;
        }
        let id = reader.prepare("INSERT INTO o (id, x) VALUES (?, ?)");
        // Two parameters and an attribute `a`; then the two alone, without types.
        let mut first = [&id.to_le_bytes()[..], &[8, 1, 0, 0, 0, 3, 0, 1]].concat();
        first.extend([3, 0, 0, 3, 0, 0, 3, 0, 1, b'a', 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0]);
        let then = [&id.to_le_bytes()[..], &[8, 1, 0, 0, 0, 2, 0, 0, 21, 0, 0, 0, 31, 0, 0, 0]].concat();
        for body in [first, then] {
            let answer = reader.0.ask(command::STMT_EXECUTE, &body).unwrap();
            assert_eq!(error_code(&answer[0]), None, "{answer:?}");
        }
        let rows: Vec<(i32, i32)> =
            mysql::prelude::Queryable::query(&mut direct, "SELECT id, x FROM o WHERE id >= 20 ORDER BY id")
                .unwrap();
        assert_eq!(rows, [(20, 30), (21, 31)]);
    });
}

#[test]
fn what_is_prepared_in_vain_leaves_its_error_and_no_more() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_vain"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_vain", 0);
        let mut reader = Client::of(freshet.target(), "prep_vain", 0);
        const TEXT: &str = "SELECT id FROM t WHERE v = ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[int(20)]);
        }
        for prepared in ["SELECT nothing FROM t", "SELECT SQL_CALC_FOUND_ROWS id FROM t", "SELECT 1"] {
            for question in ["SELECT FOUND_ROWS(), ROW_COUNT()", "SHOW WARNINGS", "SHOW COUNT(*) ERRORS"] {
                let asked = |client: &mut Client, id: u32| {
                    client.0.query("SELECT id FROM t WHERE id = 1").unwrap();
                    client.execute(id, &[int(20)]);
                    client.0.ask(command::STMT_PREPARE, prepared.as_bytes()).unwrap();
                    let mut answer = client.0.query(question).unwrap();
                    answer.iter_mut().for_each(|packet| forget_flags(packet));
                    answer
                };
                assert_eq!(asked(&mut reader, here), asked(&mut direct, there), "{prepared}: {question}");
            }
        }
        // One that is closed is not known any more, whatever is still asked about it.
        for is_reset in [true, false] {
            for question in
                ["SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "SHOW COUNT(*) ERRORS", "SHOW ERRORS"]
            {
                let asked = |client: &mut Client| {
                    let id = client.prepare(TEXT);
                    client.execute(id, &[int(20)]);
                    client.close(id);
                    let mut codes = vec![error_code(&client.execute(id, &[int(20)])[0])];
                    if is_reset {
                        let answer = client.0.ask(command::STMT_RESET, &id.to_le_bytes()).unwrap();
                        codes.push(error_code(&answer[0]));
                    }
                    let told = client.one(question).replace(&format!("({id})"), "");
                    // Before the message stands its length, which the number is a part of.
                    (
                        codes,
                        told.split_once("Unknown").map_or(told.clone(), |(_, message)| message.to_owned()),
                    )
                };
                let (here, there) = (asked(&mut reader), asked(&mut direct));
                assert_eq!(here, there, "{question}, reset: {is_reset}");
            }
        }
    });
}

#[test]
fn closed_statements_do_not_stay_at_the_server() {
    with_each(|server, freshet| {
        let mut direct = stage((server, freshet), "prep_closed");
        let mut counted = Counted::of(freshet);
        let mut reader = Client::of(freshet.target(), "prep_closed", 0);
        let id = reader.prepare("SELECT w FROM t WHERE id = ?");
        if freshet.is_there() {
            reader.prime(&mut counted, id, &[int(1)]);
        }
        let before = status(&mut direct, "Prepared_stmt_count");
        for _ in 0..100 {
            let id = reader.prepare("SELECT w FROM t WHERE id = ?");
            reader.execute(id, &[int(1)]);
            reader.close(id);
        }
        reader.0.query("DO 1").unwrap();
        assert!(status(&mut direct, "Prepared_stmt_count") <= before + 1);
    });
}

#[test]
fn names_are_those_of_when_it_was_prepared() {
    with_each(|server, freshet| {
        let mut writer = stage((server, freshet), "prep_names");
        let mut elsewhere = fresh_schema(server, "prep_names_too");
        run(&mut elsewhere, TABLES);
        run(&mut elsewhere, &["UPDATE t SET v = v + 1000"]);
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_names", 0);
        let mut reader = Client::of(freshet.target(), "prep_names", 0);
        const TEXT: &str = "SELECT v FROM t WHERE id = ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[int(1)]);
        }
        for client in [&mut direct, &mut reader] {
            client.0.query("USE prep_names_too").unwrap();
        }
        for _ in 0..3 {
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
        }
        let (also_there, also_here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        for _ in 0..3 {
            assert_eq!(reader.execute(also_here, &[int(1)]), direct.execute(also_there, &[int(1)]));
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
        }
        // A definition that changes under it.
        run(&mut writer, &["USE prep_names", "ALTER TABLE t MODIFY v BIGINT, ADD COLUMN z INT FIRST"]);
        eventually("both have the same columns", || {
            (reader.execute(here, &[int(1)]) == direct.execute(there, &[int(1)])).then_some(())
        });
        run(&mut writer, &["ALTER TABLE t DROP COLUMN v"]);
        eventually("both refuse", || {
            let (got, expected) = (reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
            (error_code(&got[0]) == error_code(&expected[0]) && error_code(&got[0]).is_some()).then_some(())
        });
    });
}

#[test]
fn long_data_and_cursors_are_the_servers() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_long"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_long", 0);
        let mut reader = Client::of(freshet.target(), "prep_long", 0);
        const TEXT: &str = "SELECT id FROM t WHERE w = ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[text("a")]);
        }
        // The value comes in pieces; what the execution has for it does not count.
        let piece = |id: u32| [id.to_le_bytes().as_slice(), &[0, 0], b"b"].concat();
        let sent = |id: u32| {
            let mut body = execution(id, &[Value(253, Some(Vec::new()))], Types::Brought, 0);
            body.truncate(body.len());
            body
        };
        direct.0.send(command::STMT_SEND_LONG_DATA, &piece(there)).unwrap();
        reader.0.send(command::STMT_SEND_LONG_DATA, &piece(here)).unwrap();
        let expected = direct.0.ask(command::STMT_EXECUTE, &sent(there)).unwrap();
        assert_eq!(reader.0.ask(command::STMT_EXECUTE, &sent(here)).unwrap(), expected);
        // A cursor is left at the server, and fetched from there.
        let open = |id: u32| execution(id, &[text("a")], Types::Brought, 1);
        let fetch = |id: u32| [id.to_le_bytes(), 5u32.to_le_bytes()].concat();
        let there = (
            direct.0.ask(command::STMT_EXECUTE, &open(there)).unwrap(),
            direct.0.ask(command::STMT_FETCH, &fetch(there)).unwrap(),
        );
        let here = (
            reader.0.ask(command::STMT_EXECUTE, &open(here)).unwrap(),
            reader.0.ask(command::STMT_FETCH, &fetch(here)).unwrap(),
        );
        assert_eq!(here, there);
        // Executing it again closes the cursor, whoever could answer that. MySQL's answer to that has an end that no client expects.
        if server.flavor == Flavor::MySql {
            return;
        }
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        let tried = |client: &mut Client, id: u32| {
            client.0.ask(command::STMT_EXECUTE, &open(id)).unwrap();
            let rows = client.execute(id, &[text("a")]);
            let fetched = client.0.ask(command::STMT_FETCH, &fetch(id)).unwrap();
            (rows, error_code(&fetched[0]))
        };
        assert_eq!(tried(&mut reader, here), tried(&mut direct, there));
    });
}

#[test]
fn a_temporary_table_hides_what_was_prepared() {
    with_each(|server, freshet| {
        drop(stage((server, freshet), "prep_hidden"));
        let mut counted = Counted::of(freshet);
        let mut direct = Client::of(&server.target, "prep_hidden", 0);
        let mut reader = Client::of(freshet.target(), "prep_hidden", 0);
        const TEXT: &str = "SELECT x FROM o WHERE id = ?";
        let (there, here) = (direct.prepare(TEXT), reader.prepare(TEXT));
        if freshet.is_there() {
            reader.prime(&mut counted, here, &[int(1)]);
        }
        for statement in
            ["CREATE TEMPORARY TABLE o (id INT PRIMARY KEY, x INT)", "INSERT INTO o VALUES (1, 99)"]
        {
            direct.0.query(statement).unwrap();
            reader.0.query(statement).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
        }
        for client in [&mut direct, &mut reader] {
            client.0.query("DROP TEMPORARY TABLE o").unwrap();
        }
        for _ in 0..3 {
            assert_eq!(reader.execute(here, &[int(1)]), direct.execute(there, &[int(1)]));
        }
    });
}

#[test]
fn a_right_that_is_gone_takes_the_answer_away() {
    with_each(|server, freshet: &Freshet| {
        let mut direct = stage((server, freshet), "prep_rights");
        run(
            &mut direct,
            &[
                "REVOKE ALL PRIVILEGES ON *.* FROM prep_rights",
                "GRANT SELECT ON prep_rights.t TO prep_rights",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut reader = Client::of(freshet.target(), "prep_rights", 0);
        let id = reader.prepare("SELECT v FROM t WHERE id = ?");
        if freshet.is_there() {
            reader.prime(&mut counted, id, &[int(1)]);
        }
        run(&mut direct, &["REVOKE SELECT ON prep_rights.t FROM prep_rights"]);
        eventually("it is refused", || error_code(&reader.execute(id, &[int(1)])[0]));
    });
}

/// The first execution brings the types. Where it is answered with a deadlock in the server's place, the server knows none.
#[test]
fn an_execution_that_was_not_sent_leaves_the_server_without_its_types() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = stage((server, freshet), "prep_unsent");
        for text in
            ["SELECT v FROM t WHERE id = ? AND 1", "DELETE FROM o WHERE id = ? AND x IN (SELECT v FROM t)"]
        {
            let mut reader = Client::of(freshet.target(), "prep_unsent", 0);
            let query = |reader: &mut Client, text: &str| {
                let answer = reader.0.query(text).expect("an answer");
                error_code(&answer[0])
            };
            let id = reader.prepare(text);
            eventually("a deadlock", || {
                for _ in 0..4 {
                    // What was read is settled a moment later.
                    for text in ["BEGIN", "SELECT v FROM t WHERE id = 1", "ROLLBACK"] {
                        query(&mut reader, text);
                    }
                    std::thread::sleep(Duration::from_millis(3));
                }
                query(&mut reader, "BEGIN");
                query(&mut reader, "SELECT v FROM t WHERE id = 1");
                run(&mut direct, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
                let answer = reader.execute(id, &[int(77)]);
                query(&mut reader, "ROLLBACK");
                (error_code(&answer[0]) == Some(1213)).then_some(())
            });
            let answer = reader.execute_with(id, &[int(77)], Types::LeftOut);
            assert_eq!(error_code(&answer[0]), None, "{text}: {answer:?}");
        }
    });
}

/// Where an execution is answered with a deadlock in the server's place, the server drops what it was sent of the parameters before, as it
/// does with an execution of its own.
#[test]
fn an_execution_that_was_not_sent_takes_the_parts_of_its_values_with_it() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = stage((server, freshet), "prep_parts");
        let mut counted = Counted::of(freshet);
        let mut client = Client::of(freshet.target(), "prep_parts", 0);
        let reads = client.prepare("SELECT v FROM t WHERE id = ?");
        let writes = client.prepare("UPDATE t JOIN o ON o.t = t.id SET t.b = ? WHERE t.id = ?");
        let write = |client: &mut Client| {
            let piece = [&writes.to_le_bytes()[..], &[0, 0], b"xy"].concat();
            client.0.send(command::STMT_SEND_LONG_DATA, &piece).expect("it is sent");
            let mut body = execution(writes, &[null(), int(2)], Types::Brought, 0);
            // The first parameter is a BLOB that is not NULL and has no value here.
            let nulls_at = 9;
            body[nulls_at] = 0;
            body[nulls_at + 2] = 252;
            error_code(&client.0.ask(command::STMT_EXECUTE, &body).expect("an answer")[0])
        };
        eventually("a deadlock", || {
            // The read view of a transaction is opened late if several before it did not need the server.
            let mut hits = 0;
            eventually("hits in transactions", || {
                client.0.query("ROLLBACK").expect("an answer");
                client.0.query("BEGIN").expect("an answer");
                let before = counted.hits();
                client.execute(reads, &[int(1)]);
                hits = if counted.hits() > before { hits + 1 } else { 0 };
                (hits > 5).then_some(())
            });
            run(&mut direct, &["UPDATE t SET v = v + 1 WHERE id = 1"]);
            let error = write(&mut client);
            client.0.query("ROLLBACK").expect("an answer");
            (error == Some(1213)).then_some(())
        });
        assert_eq!(write(&mut client), None);
        assert_eq!(client.one("SELECT b FROM t WHERE id = 2"), "xy");
    });
}
