//! Clients that begin as others did, and read what may be carried, need no connection of their own.

use freshet_tests::cached::{eventually, user_of};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Target};
use mysql::prelude::Queryable as _;

use super::{carried, with_lanes};

/// A client that asks nothing by itself.
struct Client(Raw);

impl Client {
    fn of(target: &Target, schema: &str) -> Client {
        let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
        raw.login(schema, schema, 0).expect("a login");
        Client(raw)
    }

    /// The first column of all rows; the last packet where there are none.
    fn ask(&mut self, statement: &str) -> String {
        let packets = self.0.query(statement).expect("an answer");
        let rows = packets.iter().skip(2).filter(|packet| packet[0] != 0xfe && packet.len() > 1);
        let value = |row: &Vec<u8>| String::from_utf8_lossy(&row[1..=usize::from(row[0])]).into_owned();
        rows.filter(|row| row.len() == usize::from(row[0]) + 1).map(value).collect::<Vec<_>>().join(",")
    }
}

/// Returns the first clients of an account, by whose reads it is known how its sessions begin. How they begin is known from the second that
/// does; and who logs in before it is known that the account is new may keep rights of another.
fn all_are_carried(freshet: &Freshet, schema: &str, read: &str) -> Vec<Client> {
    eventually("all of them are carried", || {
        let mut first: Vec<_> = (0..3).map(|_| Client::of(freshet.target(), schema)).collect();
        first.iter_mut().for_each(|client| assert_eq!(client.ask(read), "20"));
        let asked = carried(freshet);
        first.iter_mut().for_each(|client| assert_eq!(client.ask(read), "20"));
        (carried(freshet) - asked == 3).then_some(first)
    })
}

/// A session that has had no connection yet is ended as well.
#[test]
fn who_has_never_had_a_connection_may_be_silent_no_longer_than_others() {
    let schema = "lanes_newcomers_silent";
    with_lanes(schema, |server, direct, freshet| {
        user_of(direct, schema);
        direct.query_drop("SET GLOBAL wait_timeout = 4").expect("it is set");
        let read = "SELECT v FROM t WHERE id = 2";
        let _first = all_are_carried(freshet, schema, read);
        let mut client = Client::of(freshet.target(), schema);
        assert_eq!(client.ask(read), "20", "{:?}", server.flavor);
        let look = format!("SELECT server_id IS NULL FROM freshet.sessions WHERE id = {}", client.0.id);
        let is_without: Option<bool> =
            freshet.target().connect().query_first(look).expect("the list of sessions");
        assert_eq!(is_without, Some(true), "{:?}", server.flavor);
        direct.query_drop("SET GLOBAL wait_timeout = 28800").expect("it is set");
        std::thread::sleep(std::time::Duration::from_secs(8));
        assert!(
            client.0.query(read).is_err(),
            "{:?}: it was silent for twice as long as it may be",
            server.flavor
        );
    });
}

#[test]
fn who_only_reads_opens_no_connection() {
    let schema = "lanes_newcomers";
    with_lanes(schema, |server, direct, freshet| {
        user_of(direct, schema);
        let there = |direct: &mut mysql::Conn| -> usize {
            let list = format!("SELECT id FROM information_schema.processlist WHERE user = '{schema}'");
            direct.query::<u64, _>(list).expect("they are listed").len()
        };
        let read = "SELECT v FROM t WHERE id = 2";
        let mut first = all_are_carried(freshet, schema, read);
        let before = there(direct);
        let mut crowd: Vec<_> = (0..20).map(|_| Client::of(freshet.target(), schema)).collect();
        let asked = carried(freshet);
        for client in first.iter_mut().take(1).chain(&mut crowd) {
            assert_eq!(client.ask(read), "20", "{:?}", server.flavor);
        }
        assert_eq!(carried(freshet) - asked, 21, "{:?}", server.flavor);
        assert_eq!(there(direct), before, "{:?}: clients that only read", server.flavor);
        // Whoever needs one has it, with all that it was promised.
        let last = &mut crowd[19];
        last.ask("UPDATE t SET v = 21 WHERE id = 2");
        assert_eq!(last.ask("SELECT ROW_COUNT()"), "1", "{:?}", server.flavor);
        for client in &mut crowd {
            assert_eq!(client.ask(read), "21", "{:?}", server.flavor);
        }
        // What a session has read is what its next question is about.
        let third = &mut crowd[3];
        assert_eq!(third.ask("SELECT v FROM t WHERE id IN (1, 2)"), "10,21");
        assert_eq!(third.ask("SELECT FOUND_ROWS()"), "2", "{:?}", server.flavor);
        third.ask("SET SESSION sql_mode = 'ANSI_QUOTES'");
        assert_eq!(third.ask("SELECT \"v\" FROM t WHERE id = 1"), "10", "{:?}", server.flavor);
        assert_eq!(crowd[4].ask("SELECT \"v\" FROM t WHERE id = 1"), "v", "{:?}", server.flavor);
    });
}
