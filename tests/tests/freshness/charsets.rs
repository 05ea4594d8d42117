//! In some character sets of clients, a backslash can be half of a character. A text is cut there as the server cuts it, and what such a session
//! does costs the others nothing.

use std::time::Duration;

use freshet_tests::cached::{Counted, eventually, eventually_of, fresh_schema, run, staged, status, user_of};
use freshet_tests::raw::{Raw, command, error_code};
use freshet_tests::{Freshet, Target, with_each};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Each with the number of a collation, and with characters of which each has two bytes or more; the last one ends with a backslash where there is such a character.
const CHARSETS: &[(&str, u8, &[u8])] = &[
    ("big5", 1, b"\xa4\xa4\xa5\\"),
    ("cp932", 95, b"\x93\xfa\x95\\"),
    ("eucjpms", 97, b"\xc6\xfc\xcb\xdc"),
    ("euckr", 19, b"\xc7\xd1\xb1\xdb"),
    ("gb18030", 248, b"\xd6\xd0\x810\x810\x81\\"),
    ("gb2312", 24, b"\xd6\xd0\xce\xc4"),
    ("gbk", 28, b"\xd6\xd0\x81\\"),
    ("sjis", 13, b"\x93\xfa\x95\\"),
    ("ujis", 12, b"\xc6\xfc\xcb\xdc"),
];

/// Between two logins.
const NEXT_LOGIN: Duration = Duration::from_millis(200);

/// A session in a character set; `None` where the server has none of that name.
fn session(target: &Target, schema: &str, charset: &str) -> Option<Raw> {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(schema, schema, 0).expect("it lets the account in");
    let said = raw.query(&format!("SET NAMES {charset}")).expect("an answer");
    error_code(&said[0]).is_none().then_some(raw)
}

fn ask(raw: &mut Raw, text: &[u8]) -> Vec<Vec<u8>> {
    raw.ask(command::QUERY, text).expect("an answer")
}

/// What Freshet says of why a statement is not answered from memory.
fn explained(raw: &mut Raw, text: &[u8]) -> String {
    let told = ask(raw, &[b"EXPLAIN FRESHET ", text].concat());
    told.iter().map(|packet| String::from_utf8_lossy(packet).into_owned()).collect::<Vec<_>>().join(" / ")
}

/// Whether the first string ends in front of the subquery or behind it, the text is a SELECT: from `u` or from `t`.
fn of_two_readings(charset: &str) -> Vec<Vec<u8>> {
    let text = |begins: &[u8]| [b"SELECT '", begins, b"\\', (SELECT MAX(v) FROM u), ' FROM t -- '"].concat();
    let mut texts: Vec<Vec<u8>> = (0x80..=0xFF).map(|first: u8| text(&[first])).collect();
    texts.push(text(b"\x81\x81"));
    texts.push(text(b"\\\x81"));
    if charset == "gb18030" {
        texts.extend([&b"\x810\x81"[..], b"\x810", b"\x810\x819", b"\x810\x819\x81"].map(text));
    }
    texts
}

#[test]
fn a_string_ends_where_the_server_says_so_in_each_character_set() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "charsets_cut");
        user_of(&mut direct, "charsets_cut");
        run(
            &mut direct,
            &[
                "CREATE TABLE t (v INT)",
                "CREATE TABLE u (v INT)",
                "INSERT INTO t VALUES (1)",
                "INSERT INTO u VALUES (1)",
            ],
        );
        let mut counted = Counted::of(freshet);
        let mut writer = freshet.target().try_connect("charsets_cut").expect("it listens");
        for (charset, _, characters) in CHARSETS {
            let Some(mut reader) = session(freshet.target(), "charsets_cut", charset) else { continue };
            let mut told = session(&server.target, "charsets_cut", charset).expect("the server has it");
            let texts = of_two_readings(charset);
            // A string that is not well-formed in its character set warns, and such a result is not stored.
            let is_told_apart = characters.last() == Some(&b'\\');
            eventually(&format!("hits in {charset}"), || {
                let before = counted.hits();
                for text in texts.iter().chain(&texts) {
                    let _ = ask(&mut reader, text);
                }
                let hits = counted.hits() - before;
                (hits >= 60 || !is_told_apart || !freshet.is_there()).then_some(())
            });
            run(&mut writer, &["UPDATE u SET v = v + 1", "INSERT INTO t VALUES (1)"]);
            for text in &texts {
                let (got, expected) = (ask(&mut reader, text), ask(&mut told, text));
                assert_eq!(got, expected, "{charset}: {}", text.escape_ascii());
            }
        }
    });
}

#[test]
fn texts_with_characters_of_several_bytes_are_answered_from_memory() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "charsets_hit");
        user_of(&mut direct, "charsets_hit");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb4)"]);
        let mut counted = Counted::of(freshet);
        for (at, (charset, collation, characters)) in CHARSETS.iter().enumerate() {
            let Some(mut own) = session(freshet.target(), "charsets_hit", charset) else { continue };
            let mut told = session(&server.target, "charsets_hit", charset).expect("the server has it");
            let _ = ask(&mut own, b"SELECT id FROM t");
            let insert = [format!("INSERT INTO t VALUES ({at}, '").as_bytes(), characters, b"')"].concat();
            assert_eq!(ask(&mut own, &insert)[0][0], 0, "{charset}");
            let read = [b"SELECT w, HEX(w) FROM t WHERE w = '", *characters, b"'"].concat();
            let is_hit = |own: &mut Raw| {
                let before = counted.hits();
                assert_eq!(ask(own, &read), ask(&mut told, &read), "{charset}");
                (counted.hits() > before || !freshet.is_there()).then_some(())
            };
            eventually_of(&format!("a hit in {charset}"), &mut own, is_hit, |own| explained(own, &read));
            // A session that has logged in so need not have asked for anything before.
            eventually(&format!("a hit in a new session in {charset}"), || {
                let mut new = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
                new.collation = *collation;
                new.login("charsets_hit", "charsets_hit", 0).expect("it lets the account in");
                let before = counted.hits();
                assert_eq!(ask(&mut new, &read), ask(&mut told, &read), "{charset}");
                let is_hit = counted.hits() > before || !freshet.is_there();
                if !is_hit {
                    // A server takes so many connections, and no more, and needs its time to notice that one is closed.
                    std::thread::sleep(NEXT_LOGIN);
                }
                is_hit.then_some(())
            });
            let update = [b"UPDATE t SET w = CONCAT(w, 'x') WHERE w = '", *characters, b"'"].concat();
            let _ = ask(&mut own, &update);
            assert_eq!(ask(&mut own, &read), ask(&mut told, &read), "{charset}");
        }
        let rows: u32 = direct
            .query_first("SELECT COUNT(*) FROM t WHERE w LIKE '%x'")
            .expect("it answers")
            .expect("a row");
        assert!(rows >= 8, "{rows} rows were written");
    });
}

#[test]
fn such_a_session_is_known_again_after_what_may_have_changed_it() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "charsets_again");
        user_of(&mut direct, "charsets_again");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb4)"]);
        let mut counted = Counted::of(freshet);
        let (charset, _, characters) = CHARSETS[0];
        let Some(mut own) = session(freshet.target(), "charsets_again", charset) else { return };
        let _ = ask(&mut own, b"SELECT id FROM t");
        // It is not read what this does.
        let _ = ask(&mut own, b"SET @@session.sql_notes = 1");
        let read = [b"SELECT w, HEX(w) FROM t WHERE w = '", characters, b"'"].concat();
        let is_hit = |own: &mut Raw| {
            let before = counted.hits();
            let _ = ask(own, &read);
            (counted.hits() > before || !freshet.is_there()).then_some(())
        };
        eventually_of("a hit", &mut own, is_hit, |own| explained(own, &read));
    });
}

#[test]
fn a_session_in_such_a_character_set_costs_the_others_nothing() {
    with_each(|server, _| {
        // The account is older than Freshet. Otherwise Freshet may find some time later that it has new rights, and drop what was stored.
        user_of(&mut server.target.connect(), "charsets_cost");
        let tables = [
            "CREATE TABLE t (v INT)",
            "CREATE TABLE u (w VARCHAR(20) CHARACTER SET utf8mb4)",
            "INSERT INTO t VALUES (1)",
        ];
        let (_, freshet) = staged(server, "charsets_cost", &tables, &[]);
        let mut others = Others::of(&freshet);
        for (charset, _, characters) in CHARSETS {
            let Some(mut own) = session(freshet.target(), "charsets_cost", charset) else { continue };
            let _ = ask(&mut own, b"SELECT v FROM t");
            let _ = others.counted.prime(&mut others.reader, Others::READ);
            for text in [
                &b"INSERT INTO u VALUES ('"[..],
                b"SELECT * FROM u WHERE w = '",
                b"DELETE FROM u WHERE w <> '",
            ] {
                let close: &[u8] = if text.starts_with(b"INSERT") { b"')" } else { b"'" };
                let _ = ask(&mut own, &[text, characters, close].concat());
                assert!(!freshet.is_there() || others.are_served(), "{charset}: {}", text.escape_ascii());
            }
        }
    });
}

/// Another client, with what it reads.
struct Others {
    reader: Conn,
    counter: Conn,
    counted: Counted,
}

impl Others {
    const READ: &str = "SELECT v FROM t";

    fn of(freshet: &Freshet) -> Self {
        let reader = freshet.target().try_connect("charsets_cost").expect("it listens");
        Self { reader, counter: freshet.target().connect(), counted: Counted::of(freshet) }
    }

    /// Whether the next answer comes from memory. On a machine that is held up, there may be no proof for a moment that anything in memory
    /// is right. A look-up at such a moment does not count.
    fn are_served(&mut self) -> bool {
        let Self { reader, counter, counted } = self;
        let mut unproven = || {
            ["Freshet_not_proven", "Freshet_not_live"].map(|name| status(counter, name)).iter().sum::<u64>()
        };
        eventually("a look-up with a proof", || {
            let before = unproven();
            let is_hit = counted.hits_of(reader, Self::READ, 1) == 1;
            (is_hit || unproven() == before).then_some(is_hit)
        })
    }
}
