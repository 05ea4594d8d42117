//! EXECUTE as a text: answered from memory where the server would say the same, byte for byte, and by the server where it would not.

use std::cell::Cell;

use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, run, user_of};
use freshet_tests::raw::{Raw, capability, error_code};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::Conn;

thread_local! {
    /// The schema of this test, and its user.
    static SCHEMA: Cell<&'static str> = const { Cell::new("") };
}

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(10) CHARACTER SET utf8mb4, b VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_bin)",
    "INSERT INTO t VALUES (1,10,'a','a'),(2,20,'b','A'),(3,30,'c','b')",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "INSERT INTO u VALUES (1,100)",
    "CREATE PROCEDURE gives(OUT x INT) SET x = 2",
    "CREATE PROCEDURE sets() SET @a = 2",
    "CREATE PROCEDURE prepares() BEGIN PREPARE s FROM 'SELECT id + 90 FROM t'; END",
    "CREATE FUNCTION touches() RETURNS INT BEGIN SET @a = 2; RETURN 1; END",
    "CREATE TABLE w (a INT)",
    "CREATE TRIGGER wt BEFORE INSERT ON w FOR EACH ROW SET @a = 2",
];

struct Ground {
    is_freshet: bool,
    direct: Conn,
    counted: Counted,
}

impl Ground {
    fn set_up(server: &Server, freshet: &Freshet, schema: &'static str) -> Ground {
        SCHEMA.set(schema);
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, &["SET GLOBAL log_bin_trust_function_creators = 1"]);
        run(&mut direct, SETUP);
        user_of(&mut direct, schema);
        caught_up(freshet);
        Ground { is_freshet: freshet.is_there(), direct, counted: Counted::of(freshet) }
    }

    /// Asks until an answer comes from memory, and gives it.
    fn prime(&mut self, raw: &mut Raw, text: &str) -> Vec<Vec<u8>> {
        eventually(&format!("a hit for {text}"), || {
            let (hit, answer) = self.is_hit(raw, text);
            (hit || !self.is_freshet).then_some(answer)
        })
    }

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

/// An answer without the flags that tell how it was found; of an error, its code.
fn ask(raw: &mut Raw, text: &str) -> Vec<Vec<u8>> {
    let mut answer = raw.query(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    for packet in &mut answer {
        if let Some(code) = error_code(packet) {
            *packet = code.to_le_bytes().to_vec();
        }
        if let [0xfe, _, _, flags, high, ..] = &mut packet[..] {
            *flags &= !(1 << 4 | 1 << 5);
            *high &= !(1 << 6);
        }
    }
    answer
}

/// The same on both servers' connections.
fn both(clients: &mut [Raw; 2], texts: &[&str]) {
    for text in texts {
        let [direct, through] = clients;
        let wanted = ask(direct, text);
        assert_eq!(ask(through, text), wanted, "{text}, of {texts:?}");
    }
}

fn pair(server: &Server, freshet: &Freshet, further: u32) -> [Raw; 2] {
    [client(&server.target, further), client(freshet.target(), further)]
}

/// What is prepared, what is done before it is executed, and how it is executed.
const HITS: &[(&str, &[&str], &str)] = &[
    ("SELECT id, v, s FROM t ORDER BY id", &[], "EXECUTE s"),
    ("SELECT id, v, s FROM t WHERE id = 2", &[], "execute `S`"),
    ("SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1", &[], "EXECUTE s"),
    ("SELECT v, s FROM t WHERE id = ?", &["SET @a = 2"], "EXECUTE s USING @a"),
    ("SELECT v, s FROM t WHERE id BETWEEN ? AND ?", &["SET @a = 1, @B = 2"], "EXECUTE s USING @A, @b"),
    ("SELECT id FROM t WHERE s = ?", &["SET @a = 'b'"], "EXECUTE s USING @a"),
    ("SELECT id FROM t WHERE b = ?", &["SET @a = 'a'"], "EXECUTE s USING @a"),
    ("SELECT id, ? FROM t WHERE id = 1", &["SET @a := -5"], "EXECUTE s USING @a"),
];

#[test]
fn an_execution_by_a_text_is_answered_from_memory_as_the_server_would() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_1");
        for (inner, before, execute) in HITS {
            for form in [0, capability::DEPRECATE_EOF] {
                let mut clients = pair(server, freshet, form);
                both(&mut clients, &[&format!("PREPARE s FROM '{inner}'")]);
                both(&mut clients, before);
                let wanted = ask(&mut clients[0], execute);
                assert_eq!(error_code(&wanted[0]), None, "{inner}");
                assert_eq!(ground.prime(&mut clients[1], execute), wanted, "{:?}: {inner}", server.flavor);
                // What is asked about it.
                for asked in ["SHOW WARNINGS", "SELECT FOUND_ROWS()", "SELECT ROW_COUNT()"] {
                    both(&mut clients, &[execute, asked]);
                }
                // Another session's, too, and not as the text itself or as another's values.
                let mut others = pair(server, freshet, form);
                both(&mut others, &[&format!("PREPARE s FROM '{inner}'")]);
                both(&mut others, before);
                both(&mut others, &[execute]);
                both(&mut others, &[&inner.replace('?', "1"), "SET @a = 3, @b = 3", execute]);
            }
        }
    });
}

#[test]
fn an_execution_by_a_text_is_as_new_as_any_answer() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_2");
        let mut through = client(freshet.target(), 0);
        for (inner, execute) in [
            ("SELECT v FROM t WHERE id = 1", "EXECUTE s"),
            ("SELECT v FROM t WHERE id = ?", "EXECUTE s USING @a"),
        ] {
            ask(&mut through, &format!("PREPARE s FROM '{inner}'"));
            ask(&mut through, "SET @a = 1");
            for value in [7, 8] {
                ground.prime(&mut through, execute);
                ask(&mut through, &format!("UPDATE t SET v = {value} WHERE id = 1"));
                assert_eq!(ask(&mut through, execute), ask(&mut through, "SELECT v FROM t WHERE id = 1"));
                ground.prime(&mut through, execute);
                // Another row is nobody's concern here. What other tests define and grant meanwhile is.
                eventually(&format!("a hit beside a write: {inner}"), || {
                    ground.prime(&mut through, execute);
                    ask(&mut through, "UPDATE t SET v = v + 1 WHERE id = 2");
                    let (hit, _) = ground.is_hit(&mut through, execute);
                    (hit || !ground.is_freshet).then_some(())
                });
            }
            // As its definition says now.
            run(&mut ground.direct, &["ALTER TABLE t MODIFY v BIGINT UNSIGNED"]);
            caught_up(freshet);
            let mut direct = client(&server.target, 0);
            both_answers(&mut direct, &mut through, inner, execute);
            run(&mut ground.direct, &["ALTER TABLE t MODIFY v INT"]);
            caught_up(freshet);
        }
    });
}

fn both_answers(direct: &mut Raw, through: &mut Raw, inner: &str, execute: &str) {
    ask(direct, &format!("PREPARE s FROM '{inner}'"));
    ask(direct, "SET @a = 1");
    assert_eq!(ask(through, execute), ask(direct, execute), "{inner}");
}

/// What may come between two executions that makes the second another one.
const BETWEEN: &[&[&str]] = &[
    &["DEALLOCATE PREPARE s"],
    &["drop prepare S"],
    &["PREPARE s FROM 'SELECT id + 50 FROM t'"],
    &["PREPARE S FROM 'SELECT id + 60 FROM t WHERE id = ?'"],
    &["PREPARE s FROM 'selec'"],
    &["PREPARE s FROM 'SELECT nothing FROM t'"],
    &["SET @q = 'SELECT id + 70 FROM t'", "PREPARE s FROM @q"],
    &["PREPARE `\u{15b}` FROM 'SELECT id + 80 FROM t'"],
    &["CALL prepares()"],
    &["SELECT 1; PREPARE s FROM 'SELECT 5'"],
    &["USE mysql"],
    &["CREATE TEMPORARY TABLE t (id INT, v INT)"],
    &["SET @a = 3"],
    &["SET @A = 3"],
    &["SET @a := 'b'"],
    &["SET @a = @a + 1"],
    &["SET @`a` = 3"],
    &["SELECT 2 INTO @a"],
    &["SELECT @a := 2"],
    &["SET @a = (SELECT MAX(id) FROM t)"],
    &["CALL gives(@a)"],
    &["CALL sets()"],
    &["SELECT touches()"],
    &["INSERT INTO w VALUES (1)"],
    &["PREPARE x FROM 'SELECT 3 INTO @a'", "EXECUTE x"],
    &["PREPARE x FROM 'SELECT @a := 2'", "/* by its name */ EXECUTE x"],
    &["GET DIAGNOSTICS @a = NUMBER"],
    &["SELECT 1; SET @a = 3"],
    &["SET sql_mode = 'ANSI_QUOTES'", "SET @a = 2"],
];

#[test]
fn what_comes_between_makes_it_another_execution() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_3");
        for (inner, execute) in [
            ("SELECT id FROM t WHERE id > 0", "EXECUTE s"),
            ("SELECT id, v FROM t WHERE id = ?", "EXECUTE s USING @a"),
        ] {
            for between in BETWEEN {
                let mut clients = pair(server, freshet, 0);
                both(&mut clients, &[&format!("PREPARE s FROM '{inner}'"), "SET @a = 1"]);
                ground.prime(&mut clients[1], execute);
                both(&mut clients, between);
                both(&mut clients, &[execute, execute]);
                both(&mut clients, &["SELECT @a"]);
            }
        }
    });
}

/// The history of a statement's values, by which MySQL resolves the types of its parameters.
#[test]
fn values_of_other_types_are_other_questions() {
    with_each(|server, freshet| {
        let _ground = Ground::set_up(server, freshet, "byname_4");
        let values =
            ["1", "'1'", "1.5", "'1.5'", "NULL", "-2", "'b'", "2", "18446744073709551615", "1e0", "''"];
        for inner in [
            "SELECT v * ? FROM t WHERE id = 2",
            "SELECT id FROM t WHERE s = ?",
            "SELECT id FROM t WHERE b = ?",
            "SELECT id, ? AS given FROM t WHERE id = 1",
            "SELECT COALESCE(s, ?) FROM t WHERE id < 3",
        ] {
            for names in ["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES latin1"] {
                // Stored by clients that have executed nothing else.
                for value in values {
                    let mut clients = pair(server, freshet, 0);
                    both(
                        &mut clients,
                        &[names, &format!("PREPARE s FROM '{inner}'"), &format!("SET @a = {value}")],
                    );
                    for _ in 0..3 {
                        both(&mut clients, &["EXECUTE s USING @a"]);
                    }
                }
                let mut clients = pair(server, freshet, 0);
                both(&mut clients, &[names, &format!("PREPARE s FROM '{inner}'")]);
                for value in values.iter().chain(values.iter().rev()) {
                    both(&mut clients, &[&format!("SET @a = {value}"), "EXECUTE s USING @a"]);
                }
            }
        }
    });
}

#[test]
fn an_immediate_execution_is_answered_from_memory() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_5");
        let mut clients = pair(server, freshet, 0);
        let text = "EXECUTE IMMEDIATE 'SELECT id, s FROM t WHERE id = 2'";
        both(&mut clients, &[text, text]);
        if server.flavor == Flavor::MariaDb {
            ground.prime(&mut clients[1], text);
            both(&mut clients, &[text, "SELECT FOUND_ROWS()", text, "SHOW WARNINGS"]);
        }
    });
}

/// A SET of a user variable leaves everything else of a session as it is.
#[test]
fn a_plain_user_variable_costs_no_hit() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_6");
        let mut through = client(freshet.target(), 0);
        let text = "SELECT v FROM t WHERE id = 3";
        ask(&mut through, "SELECT COUNT(*) FROM u");
        eventually("a hit behind a user variable", || {
            ground.prime(&mut through, text);
            ask(&mut through, "SET @a = 1, @b = 'x'");
            let (hit, _) = ground.is_hit(&mut through, text);
            (hit || !ground.is_freshet).then_some(())
        });
    });
}

/// A trigger that is made while a write waits for the table runs with that write, and nobody could know of it before.
#[test]
fn a_variable_that_an_unforeseen_trigger_sets_is_not_known_any_more() {
    const EXECUTE: &str = "EXECUTE s USING @a";
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_8");
        run(&mut ground.direct, &["CREATE TABLE x (id INT PRIMARY KEY, e VARCHAR(20))"]);
        caught_up(freshet);
        let mut clients = pair(server, freshet, 0);
        // The form of the write is known by then.
        for id in 1..=4 {
            ask(&mut clients[1], &format!("INSERT INTO x (id, e) VALUES ({id}, 'a')"));
        }
        both(&mut clients, &["PREPARE s FROM 'SELECT id, v FROM t WHERE id = ?'", "SET @a = 1"]);
        let [mut direct, mut through] = clients;
        ground.prime(&mut through, EXECUTE);
        let [mut holder, mut definer] = [(); 2].map(|()| connect(&server.target, "byname_8"));
        run(&mut holder, &["BEGIN", "DO (SELECT COUNT(*) FROM x)"]);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                run(&mut definer, &["CREATE TRIGGER xt BEFORE INSERT ON x FOR EACH ROW SET @a = 2"])
            });
            waits(&mut ground.direct, "CREATE TRIGGER xt%");
            let writer = scope.spawn(|| ask(&mut through, "INSERT INTO x (id, e) VALUES (9, 'b')"));
            waits(&mut ground.direct, "INSERT INTO x%(9%");
            run(&mut holder, &["COMMIT"]);
            writer.join().expect("no panic");
        });
        ask(&mut direct, "SET @a = 2");
        let wanted = ask(&mut direct, EXECUTE);
        for _ in 0..20 {
            assert_eq!(ask(&mut through, EXECUTE), wanted, "{:?}", server.flavor);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        both(&mut [direct, through], &["SELECT @a"]);
    });
}

/// Waits until a statement like this one waits for the definition of a table.
fn waits(direct: &mut Conn, like: &str) {
    let counted = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
         WHERE DB = 'byname_8' AND STATE LIKE 'Waiting for table%' AND INFO LIKE '{like}'"
    );
    eventually(&format!("{like} waits"), || {
        (answer(direct, &counted) == Ok(vec![vec!["1".into()]])).then_some(())
    });
}

/// What is prepared while the session's environment is not known is known by what it is executed in.
#[test]
fn what_is_prepared_before_the_environment_is_known_is_answered_from_memory() {
    with_each(|server, freshet| {
        let mut ground = Ground::set_up(server, freshet, "byname_7");
        for (inner, execute) in
            [("SELECT id FROM t", "EXECUTE s"), ("SELECT v FROM t WHERE id = ?", "EXECUTE s USING @a")]
        {
            let mut clients = pair(server, freshet, 0);
            both(
                &mut clients,
                &["USE mysql", "USE byname_7", "INSERT INTO u VALUES (1,1) ON DUPLICATE KEY UPDATE v = v"],
            );
            both(&mut clients, &[&format!("PREPARE s FROM '{inner}'"), "SET @a = 2", execute]);
            let wanted = ask(&mut clients[0], execute);
            assert_eq!(ground.prime(&mut clients[1], execute), wanted, "{:?}: {inner}", server.flavor);
        }
    });
}
