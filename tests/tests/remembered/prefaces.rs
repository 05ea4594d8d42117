//! What drivers say before an application's first question is answered from memory, if others have said it; and the server hears of it
//! before anything that it is asked.

use freshet_tests::Target;
use freshet_tests::cached::{eventually, run, user_of};
use freshet_tests::raw::Raw;
use mysql::prelude::Queryable as _;

use super::{SCHEMA, with_each};

/// A client that asks nothing by itself.
fn client(target: &Target) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
    raw.login(SCHEMA, SCHEMA, 0).expect("a login");
    raw
}

/// What is said, in this order, and then the question.
const SAID: [&[&str]; 3] = [
    &["SET NAMES utf8mb4", "SELECT @@SESSION.sql_mode", "SET SESSION sql_mode = 'ANSI_QUOTES'"],
    &["SET autocommit=0"],
    &["SELECT @@max_allowed_packet,@@wait_timeout", "SET time_zone = '+00:00', sql_mode = ''"],
];
const QUESTION: &str = "SELECT v, \"v\" AS w FROM t WHERE id = 1";

#[test]
fn what_drivers_say_first_needs_no_server() {
    with_each(|server, freshet| {
        let mut direct = server.target.connect();
        user_of(&mut direct, SCHEMA);
        let there = |direct: &mut mysql::Conn| -> usize {
            let list = format!("SELECT id FROM information_schema.processlist WHERE user = '{SCHEMA}'");
            direct.query::<u64, _>(list).expect("they are listed").len()
        };
        for said in SAID {
            let expected: Vec<_> = {
                let mut straight = client(&server.target);
                said.iter().chain([&QUESTION]).map(|text| straight.query(text).expect("an answer")).collect()
            };
            eventually(&format!("nobody is connected after {said:?}"), || {
                let mut one = client(freshet.target());
                for (text, expected) in said.iter().chain([&QUESTION]).zip(&expected) {
                    assert_eq!(&one.query(text).expect("an answer"), expected, "{:?}: {text}", server.flavor);
                }
                (there(&mut direct) == 0).then_some(())
            });
            // What is asked next is asked of a session that was told the same.
            for next in [
                "SELECT ROW_COUNT(), @@sql_mode, @@autocommit, @@character_set_client, @@time_zone",
                "SHOW SESSION STATUS LIKE 'Com_set_option'",
                "SHOW WARNINGS",
                "SELECT \"v\" FROM t WHERE id = 1 FOR UPDATE",
            ] {
                let [got, expected] = [freshet.target(), &server.target].map(|target| {
                    let mut one = client(target);
                    said.iter().for_each(|text| drop(one.query(text).expect("an answer")));
                    one.query(next).expect("an answer")
                });
                assert_eq!(got, expected, "{:?}: {said:?}, {next}", server.flavor);
            }
        }
    });
}

#[test]
fn what_was_set_before_there_was_a_connection_holds_on_it() {
    with_each(|server, freshet| {
        let mut direct = server.target.connect();
        user_of(&mut direct, SCHEMA);
        for _ in 0..3 {
            let mut one = client(freshet.target());
            one.query("SET autocommit=0").expect("an answer");
            one.query("UPDATE t SET v = v + 1 WHERE id = 1").expect("an answer");
            let seen: Option<i64> =
                direct.query_first(format!("SELECT v FROM {SCHEMA}.t WHERE id = 1")).expect("it is read");
            assert_eq!(seen, Some(10), "{:?}: it is not committed", server.flavor);
            one.query("ROLLBACK").expect("an answer");
        }
        // Another global value is another way to begin.
        let mode = |raw: &mut Raw| raw.query("SELECT @@sql_mode").expect("an answer");
        mode(&mut client(freshet.target()));
        let before: Option<String> = direct.query_first("SELECT @@GLOBAL.sql_mode").expect("it is read");
        let before = before.expect("there is one");
        run(&mut freshet.target().connect(), &["SET GLOBAL sql_mode = 'ANSI_QUOTES'"]);
        let (ours, servers) = (mode(&mut client(freshet.target())), mode(&mut client(&server.target)));
        run(&mut direct, &[&format!("SET GLOBAL sql_mode = '{before}'")]);
        assert_eq!(ours, servers, "{:?}", server.flavor);
    });
}
