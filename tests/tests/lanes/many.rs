//! Many clients on few connections, with the settings as they are by default.

use std::time::Instant;

use freshet_tests::cached::{caught_up, fresh_schema, user_of};
use freshet_tests::raw::Raw;

use super::*;

/// More than the server lets in.
const CLIENTS: usize = 1_024;
/// A few are left in fact, and more on a machine that is busy: a client whose read waited for too long keeps a connection for a while.
const CONNECTIONS_MAX: u64 = 64;
const ROWS: usize = 2_000;
/// One client in so many changes a row first.
const WRITES_EACH: usize = 16;

/// Each client reads a row, and another one than in the round before, so that most reads are not in memory.
fn read(clients: &mut [Raw], round: usize) {
    for (at, client) in clients.iter_mut().enumerate() {
        let id = ((at + 7 * round * CLIENTS) % ROWS).to_string();
        let packets = client.query(&format!("SELECT id FROM t WHERE id = {id}")).expect("it is answered");
        let row = packets.iter().any(|packet| packet.strip_prefix(&[id.len() as u8]) == Some(id.as_bytes()));
        assert!(row, "{id}: {packets:?}");
    }
}

/// Some clients change a row each.
fn write(clients: &mut [Raw], round: usize) {
    for (at, client) in clients.iter_mut().enumerate().skip(round).step_by(WRITES_EACH) {
        let end = client.query(&format!("UPDATE t SET v = v + 1 WHERE id = {at}")).expect("it is answered");
        assert_eq!(end[0][0], 0, "{end:?}");
    }
}

#[test]
fn a_thousand_clients_that_read_and_write_now_and_then_have_few_connections() {
    let schema = "lanes_many";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, schema);
        let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0)")).collect();
        let insert = format!("INSERT INTO t VALUES {}", rows.join(","));
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", &insert]);
        user_of(&mut direct, schema);
        let freshet = Freshet::before(server);
        caught_up(&freshet);
        let mut clients: Vec<Raw> = (0..CLIENTS)
            .map(|at| {
                let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
                raw.login(schema, schema, 0).expect("it is let in");
                read(std::slice::from_mut(&mut raw), at);
                raw
            })
            .collect();
        let mut connections = || -> u64 {
            let opened =
                format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE user = '{schema}'");
            direct.query_first(opened).expect("the list of clients").expect("a count")
        };
        // None of them has been silent for long.
        let now = connections();
        assert!(now <= CONNECTIONS_MAX + CONNECTIONS_MAX / 2, "{:?}: {now} have a connection", server.flavor);
        for round in 0..2 {
            write(&mut clients, round);
            let until = Instant::now() + Duration::from_secs(60);
            loop {
                // So long takes a client that has a connection, and does nothing.
                thread::sleep(Duration::from_millis(300));
                read(&mut clients, round);
                let now = connections();
                if now <= CONNECTIONS_MAX {
                    break;
                }
                assert!(Instant::now() < until, "{:?}: {now} have a connection", server.flavor);
            }
        }
    });
}
