//! Reads that are held up on a lane, all at once.

use std::time::Instant;

use freshet_tests::cached::{caught_up, user_of};
use freshet_tests::raw::Raw;

use super::*;

const ROWS: u64 = 1_000;

/// Rows of `t` by which executions of a read of all of them are counted.
fn fill(direct: &mut Conn) {
    let digits = "SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
         UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9";
    let rows = format!(
        "INSERT INTO t SELECT 1 + a.n + 10 * b.n + 100 * c.n, 1 FROM ({digits}) a, ({digits}) b, ({digits}) c"
    );
    run(direct, &["DELETE FROM t", &rows]);
}

/// So many clients that have logged in.
fn clients(freshet: &Freshet, schema: &str, many: usize) -> Vec<Raw> {
    let client = |_| {
        let target = freshet.target();
        let mut raw = Raw::dial(&target.host, target.port).expect("it listens");
        raw.login(schema, schema, 0).expect("it is let in");
        raw
    };
    (0..many).map(client).collect()
}

/// Many ask the same, of a form that was quick so far, and lanes are there: those that were not first wait for one of them.
#[test]
fn a_crowd_that_asks_the_same_costs_few_executions() {
    const CROWD: usize = 300;
    /// On each of two event loops, lanes are held up by one read each, before it is known that the reads are slow.
    const FEW: u64 = 24;
    /// What is behind such a read on a connection that a session has lent is carried out, and nobody hears it.
    const UNHEARD_MAX: u64 = 2 * 64;
    const TRIES: u64 = 3;
    const PATIENCE: Duration = Duration::from_secs(10);
    let schema = "lanes_crowd";
    with_stages(schema, &["--multiplexing", "always", "--threads", "2"], |server, direct, freshet| {
        fill(direct);
        user_of(direct, schema);
        caught_up(freshet);
        let mut crowd = clients(freshet, schema, CROWD);
        let mut look = server.target.connect();
        let mut count = |name: &str| status(&mut look, name);
        let mut watch = freshet.target().connect();
        let mut coalesced = || status(&mut watch, "Freshet_coalesced");
        // Another form each time, which was quick so far. A machine that is busy lets more lanes be held up.
        let outcome = |form: u64| {
            let sum = format!("SELECT SUM(v) AS sum_{form} FROM t WHERE id >");
            for (at, client) in crowd.iter_mut().enumerate() {
                client.query(&format!("{sum} {}", 900 + at % 50)).expect("an answer");
            }
            let (read, waited) = (count("Handler_read_next"), coalesced());
            run(direct, &["LOCK TABLES t WRITE"]);
            for client in &mut crowd {
                client.send(3, format!("{sum} 0").as_bytes()).expect("it is sent");
            }
            let sent = Instant::now();
            while coalesced() - waited < CROWD as u64 - FEW && sent.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(10));
            }
            let waited = coalesced() - waited;
            run(direct, &["UNLOCK TABLES"]);
            for client in &mut crowd {
                let packets = client.answer().expect("it is answered");
                assert!(packets.iter().any(|packet| packet.ends_with(b"\x041000")), "{packets:?}");
            }
            (waited, (count("Handler_read_next") - read) / ROWS)
        };
        let is_good = |(waited, executions): &(u64, u64)| {
            *waited >= CROWD as u64 - FEW && (1..=FEW + UNHEARD_MAX).contains(executions)
        };
        let outcomes: Vec<(u64, u64)> = (0..TRIES).map(outcome).collect();
        let good = outcomes.iter().filter(|outcome| is_good(outcome)).count();
        assert!(good > 0, "{:?}: so many have waited, so many executions: {outcomes:?}", server.flavor);
    });
}

/// However many that have no connection ask at once, few connections are opened: one that is there carries the reads of all.
#[test]
fn many_that_begin_at_once_open_few_connections() {
    const CROWD: usize = 400;
    const FEW: usize = 120;
    const TRIES: usize = 3;
    let schema = "lanes_rush";
    with_stages(schema, &["--threads", "2"], |server, direct, freshet| {
        user_of(direct, schema);
        caught_up(freshet);
        let read = b"SELECT v, NOW() FROM t WHERE id = 2";
        let opened = |direct: &mut Conn| {
            let list = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{schema}'");
            direct.query_first::<usize, _>(list).expect("a count").expect("a row")
        };
        let mut tries = Vec::new();
        while tries.len() < TRIES && tries.last().is_none_or(|opened| *opened > FEW) {
            // It is known then how such sessions begin. That is trusted for ten seconds, and the logins may take longer.
            let begin = || {
                let mut first = clients(freshet, schema, 1);
                first[0].query("SELECT 1 FROM t WHERE id = 2").expect("an answer");
            };
            begin();
            let mut crowd = clients(freshet, schema, CROWD);
            begin();
            // By then no lane is there, and no connection waits for a session.
            eventually("nobody has a connection", || (opened(direct) == 0).then_some(()));
            for client in &mut crowd {
                client.send(3, read).expect("it is sent");
            }
            for client in &mut crowd {
                let packets = client.answer().expect("it is answered");
                assert!(packets.iter().any(|packet| packet.starts_with(b"\x0220")), "{packets:?}");
            }
            tries.push(opened(direct));
        }
        let is_few = tries.last().is_some_and(|opened| *opened <= FEW);
        assert!(is_few, "{:?}: {tries:?} connections for {CROWD} clients", server.flavor);
    });
}

/// Nobody waits for the reads that are still on the connection, and the session that has lent it needs it.
#[test]
fn a_session_gets_its_connection_back_though_many_reads_wait_there() {
    const CROWD: usize = 60;
    /// Far less than if the reads ended one after the other, a second for each.
    const SECONDS_MAX: u64 = 20;
    let schema = "lanes_crowd_back";
    with_stages(schema, &["--multiplexing", "always", "--threads", "1"], |server, direct, freshet| {
        user_of(direct, schema);
        caught_up(freshet);
        run(&mut freshet.target().connect(), &["SET GLOBAL query_cache_type = OFF"]);
        let mut lender = lender(freshet, schema);
        let mut crowd = clients(freshet, schema, CROWD);
        for client in &mut crowd {
            client.query("SELECT v FROM t WHERE id = 1").expect("an answer");
        }
        run(direct, &["LOCK TABLES t WRITE"]);
        for (at, client) in crowd.iter_mut().enumerate() {
            client.send(3, format!("SELECT v, {at} FROM t WHERE id = 1").as_bytes()).expect("it is sent");
        }
        thread::sleep(Duration::from_millis(200));
        let began = Instant::now();
        run(&mut lender, &["UPDATE u SET v = 101 WHERE id = 1"]);
        assert!(began.elapsed() < Duration::from_secs(SECONDS_MAX), "{:?}", server.flavor);
        assert_eq!(one(&mut lender, "SELECT @own"), "1", "it is the connection that it had");
        run(direct, &["UNLOCK TABLES"]);
        for client in &mut crowd {
            let packets = client.answer().expect("it is answered");
            assert!(packets.iter().any(|packet| packet.starts_with(b"\x0210")), "{packets:?}");
        }
    });
}
