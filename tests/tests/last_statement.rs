//! What a session can ask about the statement before it, where that one was answered from memory with more to tell than its rows: the
//! warnings of its text, and the rows that its LIMIT left out. Packets are compared byte for byte with the server's own.

use std::cell::Cell;
use std::time::Duration;

use freshet_tests::cached::{Counted, caught_up, eventually, fresh_schema, run, user_of};
use freshet_tests::raw::{Raw, capability, command};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;

thread_local! {
    /// The schema of this test, and its user.
    static SCHEMA: Cell<&'static str> = const { Cell::new("") };
}

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(10))",
    "INSERT INTO t VALUES (1,10,'a'),(2,20,'b'),(3,30,'c'),(4,40,'1x')",
    "CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
];
/// WordPress's page of posts.
const PAGE: &str = "SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE v > 5 ORDER BY id LIMIT 0, 2";
const FOUND: &str = "SELECT FOUND_ROWS()";

/// Statements with warnings of their text alone.
const WARNED: &[&str] = &[
    PAGE,
    "SELECT id FROM t WHERE id > 1 && v < 40",
    "SELECT id FROM t WHERE id = 1 || v = 20 || v = 30",
    "SELECT id FROM t WHERE !(id = 1)",
    "SELECT id FROM t WHERE BINARY s = 'a' && id < 5",
];

/// Statements of whose warnings some come from rows, and some hang on how they are executed.
const OF_ROWS: &[&str] = &[
    "SELECT id, v DIV (id - 1) AS q FROM t",
    "SELECT id FROM t WHERE s = 1 && id > 0",
    "SELECT id, CAST(s AS SIGNED) FROM t WHERE id = 1",
    "SELECT CAST(s AS BINARY) FROM t WHERE s = 1",
];

struct Ground<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    direct: Conn,
    counted: Counted,
}

impl Ground<'_> {
    fn set_up<'a>(server: &'a Server, freshet: &'a Freshet, schema: &'static str) -> Ground<'a> {
        SCHEMA.set(schema);
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, SETUP);
        user_of(&mut direct, schema);
        caught_up(freshet);
        Ground { server, freshet, direct, counted: Counted::of(freshet) }
    }

    /// Asks until an answer comes from memory.
    fn prime(&mut self, raw: &mut Raw, text: &str) {
        if self.freshet.is_there() {
            eventually(&format!("a hit for {text}"), || {
                let before = self.counted.hits();
                ask(raw, text);
                (self.counted.hits() > before).then_some(())
            });
        }
    }

    /// Whether the rows found by the page are known in memory. If not, stores both anew: the number is learnt right after the page is stored,
    /// and somebody else may have stored the page.
    fn knows_rows_found(&mut self, raw: &mut Raw) -> bool {
        ask(raw, PAGE);
        let is_known = self.is_hit(raw, FOUND).0 || !self.freshet.is_there();
        if !is_known {
            ["RESET QUERY CACHE", PAGE, FOUND].iter().for_each(|text| drop(ask(raw, text)));
        }
        is_known
    }

    /// Whether an answer comes from memory, and the answer.
    fn is_hit(&mut self, raw: &mut Raw, text: &str) -> (bool, Vec<Vec<u8>>) {
        let before = self.counted.hits();
        let answer = ask(raw, text);
        (self.counted.hits() > before, answer)
    }
}

fn client(target: &Target, further: u32) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
    raw.login(SCHEMA.get(), SCHEMA.get(), further).expect("a login");
    raw
}

/// An answer without the flags that tell how it was found.
fn ask(raw: &mut Raw, text: &str) -> Vec<Vec<u8>> {
    let mut answer = raw.query(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    for packet in &mut answer {
        if let [0xfe, _, _, flags, ..] = &mut packet[..] {
            *flags &= !(1 << 4 | 1 << 5);
        }
    }
    answer
}

/// The one value of an answer.
fn one(answer: &[Vec<u8>]) -> String {
    let row = answer.iter().rev().nth(1).expect("a row");
    String::from_utf8_lossy(&row[1..]).into_owned()
}

/// Clients with EOF packets and without.
const FORMS: [u32; 2] = [0, capability::DEPRECATE_EOF];

/// What is asked about the warnings of the statement before.
const WARNINGS: &[&str] =
    &["SHOW WARNINGS", "SHOW COUNT(*) WARNINGS", "SELECT @@warning_count, @@error_count"];

#[test]
fn warnings_of_the_text_are_part_of_an_answer_from_memory() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_1");
        for (text, form) in WARNED.iter().flat_map(|text| FORMS.map(|form| (*text, form))) {
            let mut direct = client(&server.target, form);
            let mut through = client(freshet.target(), form);
            let wanted = ask(&mut direct, text);
            ground.prime(&mut through, text);
            for asked in WARNINGS {
                // What other tests define and grant meanwhile is no longer in memory.
                eventually(&format!("a hit for {text}"), || {
                    let (hit, got) = ground.is_hit(&mut through, text);
                    assert_eq!(got, wanted, "{:?}: {text}", server.flavor);
                    ask(&mut direct, text);
                    let (wanted, got) = (ask(&mut direct, asked), ask(&mut through, asked));
                    assert_eq!(got, wanted, "{:?}: {text}; {asked}", server.flavor);
                    (hit || !freshet.is_there()).then_some(())
                });
            }
        }
    });
}

#[test]
fn how_many_warnings_are_counted_is_the_sessions_own() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_2");
        let text = WARNED[2];
        let mut plain = client(freshet.target(), 0);
        ground.prime(&mut plain, text);
        for max in [0, 1] {
            let set = format!("SET max_error_count = {max}");
            let (mut direct, mut through) = (client(&server.target, 0), client(freshet.target(), 0));
            ask(&mut direct, &set);
            ask(&mut through, &set);
            for _ in 0..3 {
                assert_eq!(ask(&mut through, text), ask(&mut direct, text), "{:?}: {max}", server.flavor);
            }
        }
    });
}

#[test]
fn an_answer_with_a_warning_of_its_rows_is_the_servers() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_3");
        for text in OF_ROWS {
            let (mut direct, mut through) = (client(&server.target, 0), client(freshet.target(), 0));
            let wanted = ask(&mut direct, text);
            let has_warnings = wanted.last().is_some_and(|end| end[1] != 0);
            for _ in 0..4 {
                let (hit, got) = ground.is_hit(&mut through, text);
                assert_eq!(got, wanted, "{:?}: {text}", server.flavor);
                assert!(!(hit && has_warnings), "{:?}: {text}", server.flavor);
            }
        }
    });
}

/// A client of WordPress's asks for a page, and for how many there are.
#[test]
fn rows_found_are_told_from_memory_after_an_answer_from_memory() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_4");
        for form in FORMS {
            let (mut direct, mut through) = (client(&server.target, form), client(freshet.target(), form));
            let wanted = [ask(&mut direct, PAGE), ask(&mut direct, FOUND), ask(&mut direct, FOUND)];
            let before = ground.counted.hits();
            // Both are asked of the server once, and then of nobody.
            eventually("a page and the rows found from memory", || {
                let before = ground.counted.hits();
                let got = [ask(&mut through, PAGE), ask(&mut through, FOUND), ask(&mut through, FOUND)];
                assert_eq!(got, wanted, "{:?}", server.flavor);
                (ground.counted.hits() >= before + 3 || !freshet.is_there()).then_some(())
            });
            assert!(ground.counted.hits() > before || !freshet.is_there());
            // What the question itself leaves.
            ask(&mut direct, PAGE);
            for asked in ["SHOW WARNINGS", FOUND, "SELECT ROW_COUNT()", "SELECT @@warning_count"] {
                for client in [&mut direct, &mut through] {
                    ask(client, PAGE);
                    ask(client, FOUND);
                }
                assert_eq!(ask(&mut through, asked), ask(&mut direct, asked), "{:?}: {asked}", server.flavor);
            }
            // A new client, which has no connection to the server yet.
            let mut other = client(freshet.target(), form);
            assert_eq!([ask(&mut other, PAGE), ask(&mut other, FOUND)], wanted[..2]);
        }
    });
}

/// The rows found are those of the answer that was given, also where more have come since.
#[test]
fn rows_found_are_those_of_the_answer_that_was_given() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_5");
        let mut through = client(freshet.target(), 0);
        eventually("the rows found from memory", || {
            ask(&mut through, PAGE);
            (ground.is_hit(&mut through, FOUND).0 || !freshet.is_there()).then_some(())
        });
        for (id, found) in [(5, 4), (6, 5)] {
            ground.prime(&mut through, PAGE);
            eventually("the rows found are known", || {
                ask(&mut through, PAGE);
                (ground.is_hit(&mut through, FOUND).0 || !freshet.is_there()).then_some(())
            });
            ask(&mut through, PAGE);
            run(&mut ground.direct, &[&format!("INSERT INTO t VALUES ({id}, 50, 'z')")]);
            assert_eq!(one(&ask(&mut through, FOUND)), found.to_string(), "{:?}", ground.server.flavor);
            caught_up(freshet);
            ask(&mut through, PAGE);
            assert_eq!(one(&ask(&mut through, FOUND)), (found + 1).to_string());
        }
    });
}

/// What may come between an answer from memory and the question, and leaves FOUND_ROWS() alone.
const BETWEEN: &[&[&str]] = &[
    &["SET @a = 1"],
    &["SET @a = 1", "SET @b = 2"],
    &["SELECT nothing FROM t"],
    &["selec"],
    &["INSERT INTO w (a) VALUES (1)"],
    &["UPDATE w SET a = 2 WHERE id = 1"],
    &["DELETE FROM w WHERE id < 0"],
    &["SHOW WARNINGS"],
    &["SET @a = 1", "SHOW WARNINGS"],
    &["PREPARE s FROM 'SELECT 1'"],
    &["EXECUTE nothing"],
];

/// The same where only a number that is known is right.
const BETWEEN_KNOWN: &[&[&str]] = &[
    &["BEGIN"],
    &["BEGIN", "ROLLBACK"],
    &["START TRANSACTION READ ONLY", "SAVEPOINT a", "ROLLBACK TO a"],
    &["BEGIN", "INSERT INTO w (a) VALUES (1)", "COMMIT"],
    &["SET NAMES utf8mb4"],
    &["USE mysql"],
    &["SET sql_select_limit = 1"],
    &["SET autocommit = 0"],
];

/// What sets FOUND_ROWS() itself.
const SETTING: &[&[&str]] = &[
    &["SELECT id FROM t WHERE id < 0"],
    &["INSERT INTO w (a) SELECT id FROM t WHERE id < 3"],
    &["SHOW TABLES"],
    &["SET @a = 1", "SELECT id FROM t LIMIT 3"],
    &["DO 1"],
];

#[test]
fn what_comes_between_leaves_the_rows_found() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_6");
        // One with a number that is known, and one without.
        let unknown = "SELECT id FROM t WHERE v > 6 LIMIT 3";
        // Nobody has asked how many rows this has, and no LIMIT cuts it.
        let all = "SELECT id FROM t WHERE v > 15";
        let both: Vec<_> = [PAGE, unknown, all]
            .into_iter()
            .flat_map(|hit| {
                let only_known = if hit == unknown { &[] } else { BETWEEN_KNOWN };
                BETWEEN.iter().chain(SETTING).chain(only_known).map(move |between| (hit, *between))
            })
            .collect();
        let mut first = client(freshet.target(), 0);
        for (hit, between) in both {
            let mut answers = Vec::new();
            for target in [&server.target, freshet.target()] {
                let mut client = client(target, 0);
                ask(&mut client, "SELECT 1 FROM t LIMIT 0");
                if target.port == freshet.target().port {
                    // Each time: what is stored anew is not known to have as many.
                    eventually("the rows found from memory", || {
                        ground.prime(&mut client, hit);
                        ground.knows_rows_found(&mut first).then_some(())
                    });
                }
                ask(&mut client, hit);
                between.iter().for_each(|text| drop(ask(&mut client, text)));
                let found = ask(&mut client, FOUND);
                answers.push((one(&found), one(&ask(&mut client, "SELECT ROW_COUNT()"))));
            }
            assert_eq!(answers[1], answers[0], "{:?}: {hit}; {between:?}", server.flavor);
        }
    });
}

/// A question in the mode in which `||` joins strings, and in its own character set: nothing of another session's form.
#[test]
fn the_form_of_the_question_is_the_sessions_own() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_7");
        for set in
            ["SET NAMES latin1", "SET character_set_results = NULL", "SET sql_mode = 'ANSI,PIPES_AS_CONCAT'"]
        {
            for asked in [FOUND, "select found_rows() AS `all`", "SELECT FOUND_ROWS() 'n';"] {
                let (mut direct, mut through) = (client(&server.target, 0), client(freshet.target(), 0));
                ask(&mut direct, set);
                ask(&mut through, set);
                ask(&mut direct, PAGE);
                let wanted = ask(&mut direct, asked);
                eventually(&format!("the rows found from memory: {set}; {asked}"), || {
                    ask(&mut through, PAGE);
                    let (hit, got) = ground.is_hit(&mut through, asked);
                    assert_eq!(got, wanted, "{:?}: {set}; {asked}", server.flavor);
                    (hit || !freshet.is_there()).then_some(())
                });
            }
        }
        assert_eq!(
            server.flavor == Flavor::MySql,
            ask(&mut client(&server.target, 0), WARNED[1]).last().is_some_and(|end| end[1] != 0)
        );
    });
}

/// What leaves warnings, and what uses no table. With the latter, MariaDB keeps the warnings of the last statement that used one.
const WARNING: &[&str] = &["SELECT v DIV (id - 1) FROM t", "selec", "INSERT INTO w (a) VALUES ('x')"];
const WITHOUT_TABLES: &[&str] =
    &["SET @a = 1", "SELECT @a", "SAVEPOINT s", "PREPARE s FROM 'SELECT 1'", "BEGIN", FOUND, "DO 1"];

#[test]
fn an_answer_from_memory_takes_away_the_warnings_before_it() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_10");
        for (warning, between) in
            WARNING.iter().flat_map(|warning| WITHOUT_TABLES.iter().map(move |between| (warning, between)))
        {
            let (mut direct, mut through) = (client(&server.target, 0), client(freshet.target(), 0));
            let relaxed = "SET sql_mode = ''";
            ask(&mut direct, relaxed);
            ask(&mut through, relaxed);
            eventually("a hit after a warning", || {
                for text in [warning, HIT, between] {
                    ask(&mut direct, text);
                }
                ask(&mut through, warning);
                let (hit, _) = ground.is_hit(&mut through, HIT);
                ask(&mut through, between);
                for asked in ["SHOW WARNINGS", "SHOW COUNT(*) WARNINGS"] {
                    let (wanted, got) = (ask(&mut direct, asked), ask(&mut through, asked));
                    assert_eq!(got, wanted, "{:?}: {warning}; {between}; {asked}", server.flavor);
                }
                (hit || !freshet.is_there()).then_some(())
            });
        }
    });
}

/// What a client does before it asks.
const DONE: &[(&str, &[&str])] = &[
    ("a miss", &["SELECT v + 0 FROM t WHERE id = 2 AND RAND() < 2"]),
    ("a hit", &[HIT]),
    ("hits", &[HIT, HIT, HIT]),
    ("hits among others", &["SET @a = 7", HIT, "SELECT CONNECTION_ID() > 0", HIT, "SET NAMES utf8mb4", HIT]),
    ("an insert and a hit", &["INSERT INTO w (a) VALUES (5), (6)", HIT]),
    ("a hit by its name", &["PREPARE s FROM 'SELECT v FROM t WHERE id = 1'", "EXECUTE s", "EXECUTE s"]),
    ("hits by no name", &["EXECUTE IMMEDIATE 'SELECT v FROM t WHERE id = 1'", HIT]),
    ("a transaction of hits", &["BEGIN", HIT, HIT, "COMMIT"]),
    (
        "hits in a transaction",
        &[HIT, "START TRANSACTION READ ONLY", HIT, "SAVEPOINT a", HIT, "ROLLBACK TO a"],
    ),
    (
        "a hit before a write",
        &["BEGIN", "SAVEPOINT a", HIT, "RELEASE SAVEPOINT a", "UPDATE w SET a = 3", "ROLLBACK", HIT],
    ),
    ("hits without autocommit", &["SET autocommit = 0", HIT, HIT, "COMMIT"]),
    ("hits beside locked tables", &[HIT, "LOCK TABLES w READ", "SELECT v FROM w", "UNLOCK TABLES", HIT]),
    ("hits before the counters begin anew", &[HIT, HIT, "FLUSH STATUS", HIT]),
];
const HIT: &str = "SELECT v FROM t WHERE id = 1";

/// What it asks: each in a session of its own.
const ASKED: &[&str] = &[
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SELECT @@warning_count, @@error_count, @a, @@sql_select_limit",
    "SHOW SESSION STATUS LIKE 'Last_query_cost'",
    "LOCK TABLES w READ",
    "SHOW SESSION STATUS LIKE 'Questions'",
    "SHOW SESSION STATUS LIKE 'Com_select'",
    "SHOW STATUS LIKE 'Com_stmt_execute'",
    "SHOW STATUS WHERE Variable_name IN ('Com_execute_sql', 'Com_execute_immediate', 'Com_stmt_prepare')",
    "SHOW STATUS LIKE 'Com_set_option'",
    "SHOW STATUS WHERE Variable_name IN ('Com_begin','Com_commit','Com_rollback')",
    "SHOW STATUS LIKE 'Com_%savepoint'",
    "SHOW SESSION STATUS LIKE 'Com_insert'",
    "SHOW SESSION STATUS WHERE Variable_name IN ('Com_stmt_reset', 'Com_admin_commands')",
];

/// Does what a client does, and gives how often it was answered from memory.
fn act(ground: &mut Ground<'_>, target: &Target, done: &[&str], executes: bool) -> (Raw, u64) {
    // An id that is given out is the same on both ways.
    run(&mut ground.direct, &["TRUNCATE w"]);
    let mut raw = client(target, 0);
    let mut before = ground.counted.hits();
    let mut hits = 0;
    for text in done {
        if *text == "FLUSH STATUS" {
            hits += ground.counted.hits() - before;
        }
        drop(ask(&mut raw, text));
        if *text == "FLUSH STATUS" {
            before = ground.counted.hits();
        }
    }
    if executes {
        let prepared = raw.ask(command::STMT_PREPARE, HIT.as_bytes()).expect("an answer");
        for _ in 0..3 {
            let execution = [&prepared[0][1..5], &[0, 1, 0, 0, 0]].concat();
            raw.ask(command::STMT_EXECUTE, &execution).expect("an answer");
        }
        raw.ask(command::STMT_RESET, &prepared[0][1..5]).expect("an answer");
        raw.ask(command::PING, &[]).expect("an answer");
    }
    hits += ground.counted.hits() - before;
    (raw, hits)
}

/// As the server tells who has asked it all of that itself. What MySQL counts as SELECTs are, as with its native cache, those that it carried out.
#[test]
fn a_session_is_told_the_truth_after_answers_from_memory() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_8");
        let mut first = client(freshet.target(), 0);
        ground.prime(&mut first, HIT);
        ask(&mut first, "PREPARE s FROM 'SELECT v FROM t WHERE id = 1'");
        ground.prime(&mut first, "EXECUTE s");
        act(&mut ground, freshet.target(), &[], true);
        let all =
            DONE.iter().map(|(what, done)| (*what, *done, false)).chain([("executions", &[][..], true)]);
        for (what, done, executes) in all {
            for asked in ASKED {
                eventually("it is answered from memory", || {
                    let hits = is_told(&mut ground, (done, executes), asked)?;
                    (hits > 0 || what == "a miss" || !freshet.is_there()).then_some(())
                });
            }
        }
    });
}

/// Compares what a session is told that has done this, and gives how often it was answered from memory. One after the other: on MySQL, FLUSH
/// STATUS begins the counters of all sessions anew.
///
/// `None` where its counters have more than that: Freshet may have asked about the account on its connection while it logged in.
fn is_told(ground: &mut Ground<'_>, (done, executes): (&[&str], bool), asked: &str) -> Option<u64> {
    let (server, freshet) = (ground.server, ground.freshet);
    let (mut direct, _) = act(ground, &server.target, done, executes);
    let mut wanted = ask(&mut direct, asked);
    drop(direct);
    let (mut through, hits) = act(ground, freshet.target(), done, executes);
    let got = ask(&mut through, asked);
    drop(through);
    let flushes = done.contains(&"FLUSH STATUS");
    if flushes && freshet.is_there() && hits < 3 {
        return Some(0); // Which of them were answered from memory is not known.
    }
    if asked.contains("Com_select") && server.flavor == Flavor::MySql && freshet.is_there() {
        let since = if flushes { 1 } else { hits };
        let row = wanted.iter_mut().rev().nth(1).expect("a row");
        let counted: u64 = shown(row).parse().expect("a number");
        *row = [b"\x0aCom_select", lenenc(&(counted - since).to_string()).as_slice()].concat();
    }
    if asked.contains("STATUS") && got != wanted {
        return None;
    }
    assert_eq!(got, wanted, "{:?}: {done:?}, {executes}: {asked}", server.flavor);
    Some(hits)
}

/// The value of a row of SHOW STATUS.
fn shown(row: &[u8]) -> String {
    String::from_utf8_lossy(&row[usize::from(row[0]) + 2..]).into_owned()
}

fn lenenc(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).expect("it is short")], text.as_bytes()].concat()
}

/// Who is answered from memory is told from who does nothing.
#[test]
fn a_session_that_is_answered_from_memory_is_not_asleep_for_long() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_9");
        if !freshet.is_there() {
            return;
        }
        let (mut idle, mut busy) = (client(freshet.target(), 0), client(freshet.target(), 0));
        let mut looker = client(freshet.target(), 0);
        let ids = [&mut idle, &mut busy].map(|raw| one(&ask(raw, "SELECT CONNECTION_ID()")));
        ground.prime(&mut busy, HIT);
        for list in [
            "SHOW PROCESSLIST",
            "SHOW FULL PROCESSLIST",
            "SELECT id, command, time FROM information_schema.PROCESSLIST ORDER BY id",
            "SELECT * FROM information_schema.processlist",
        ] {
            let time_at = if list.contains("id, command") { 2 } else { 5 };
            eventually("who is idle is asleep, and who is answered from memory is not", || {
                let (hit, _) = ground.is_hit(&mut busy, HIT);
                let rows = ask(&mut looker, list);
                let time = |id: &String| {
                    let row = rows.iter().find(|row| columns(row).first() == Some(id));
                    let columns = columns(row.expect("it is listed"));
                    // MySQL shows -1 where the second has just begun: it takes the two times from clocks that differ by a tick.
                    let seconds = columns[time_at].parse::<i64>().expect("a number").max(0).unsigned_abs();
                    if let Some(ms) =
                        columns.get(8).filter(|_| server.flavor == Flavor::MariaDb && list.contains('*'))
                    {
                        let ms =
                            ms.split('.').next().and_then(|ms| ms.parse::<u64>().ok()).expect("a number");
                        assert!(ms <= (seconds + 1) * 1000, "{list}: {ms} ms in {seconds} s");
                    }
                    seconds
                };
                let [asleep, awake] = [time(&ids[0]), time(&ids[1])];
                assert!(awake <= 2 || !hit, "{:?}: {list}: {awake}", server.flavor);
                (asleep >= 4).then_some(())
            });
        }
    });
}

/// The values of a row of the text protocol.
fn columns(row: &[u8]) -> Vec<String> {
    let (mut rest, mut columns) = (row, Vec::new());
    while let Some((len, behind)) = rest.split_first() {
        let len = if *len == 0xfb { 0 } else { usize::from(*len) };
        let Some((value, behind)) = behind.split_at_checked(len) else { break };
        columns.push(String::from_utf8_lossy(value).into_owned());
        rest = behind;
    }
    columns
}

/// What is asked, what somebody else does then, and how that is undone.
const OUTDATED: &[(&str, &str, &[&str])] = &[
    ("SELECT id FROM t", "INSERT INTO t VALUES (9,90,'z')", &["DELETE FROM t WHERE id = 9"]),
    ("SELECT v FROM t WHERE id = 9", "INSERT INTO t VALUES (9,90,'z')", &["DELETE FROM t WHERE id = 9"]),
    ("SELECT CAST(s AS SIGNED) FROM o WHERE id = 1", "UPDATE o SET s = 'abc'", &["UPDATE o SET s = '12'"]),
    (
        "SELECT s FROM o WHERE id = 1",
        "DROP TABLE o",
        &["CREATE TABLE o (id INT PRIMARY KEY, s VARCHAR(10))", "INSERT INTO o VALUES (1,'12')"],
    ),
    ("SELECT s FROM o WHERE id < 3", "LOCK TABLES o WRITE", &["UNLOCK TABLES"]),
];
const ASKED_THEN: &[&str] = &[
    "SELECT FOUND_ROWS() + 0, ROW_COUNT()",
    "SELECT @@warning_count, @@error_count",
    "SHOW WARNINGS",
    "SHOW COUNT(*) ERRORS",
    "INSERT INTO w (a) VALUES (FOUND_ROWS())",
];

/// What an answer from memory left to its client is what it was, whatever the statement would leave by now; and nobody waits for a table to be told.
#[test]
fn what_an_answer_left_is_not_what_it_would_leave_now() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "last_11");
        run(&mut ground.direct, OUTDATED[3].2);
        for (hit, then, undo) in OUTDATED {
            for (asked, executes) in ASKED_THEN.iter().flat_map(|asked| [(asked, false), (asked, true)]) {
                let answers: Vec<_> = [&server.target, freshet.target()]
                    .into_iter()
                    .map(|target| {
                        let mut client = client(target, 0);
                        client.stream().set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
                        run(&mut ground.direct, &["TRUNCATE w"]);
                        caught_up(freshet);
                        if target.port == freshet.target().port {
                            ground.prime(&mut client, hit);
                        }
                        if executes {
                            let prepared =
                                client.ask(command::STMT_PREPARE, hit.as_bytes()).expect("an answer");
                            let execution = [&prepared[0][1..5], &[0, 1, 0, 0, 0]].concat();
                            (0..2).for_each(|_| drop(client.ask(command::STMT_EXECUTE, &execution)));
                        } else {
                            ask(&mut client, hit);
                        }
                        run(&mut ground.direct, &[then]);
                        let told = [ask(&mut client, asked), ask(&mut client, "SELECT a FROM w")];
                        run(&mut ground.direct, undo);
                        told
                    })
                    .collect();
                assert_eq!(answers[1], answers[0], "{:?}: {hit}; {then}; {asked} {executes}", server.flavor);
            }
        }
    });
}

/// Who wants notes is not given an answer that was made for somebody who wants none.
#[test]
fn notes_are_each_sessions_own() {
    with_each(|server, freshet| {
        if server.flavor != Flavor::MariaDb {
            return;
        }
        let mut ground = Ground::set_up(server, freshet, "last_12");
        run(
            &mut ground.direct,
            &["CREATE TABLE k (id INT PRIMARY KEY, s VARCHAR(10), KEY (s))", "INSERT INTO k VALUES (1,'5')"],
        );
        caught_up(freshet);
        let asked = "SELECT id FROM k WHERE s = 5";
        let loud = "SET note_verbosity = 'unusable_keys'";
        for quiet in [&["SET note_verbosity = ''"][..], &[loud, "SET sql_notes = 0"]] {
            let mut first = client(freshet.target(), 0);
            quiet.iter().for_each(|set| drop(ask(&mut first, set)));
            ground.prime(&mut first, asked);
            let answers = [&server.target, freshet.target()].map(|target| {
                let mut other = client(target, 0);
                ask(&mut other, loud);
                [ask(&mut other, asked), ask(&mut other, "SHOW WARNINGS")]
            });
            assert_eq!(answers[1], answers[0], "after {quiet:?}");
        }
    });
}
