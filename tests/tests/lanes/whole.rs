//! What a lane carries comes whole, and to whom it belongs: however long it is, whoever leaves, and by whichever way to the server.

use freshet_tests::cached::{caught_up, user_of};
use freshet_tests::raw::{Raw, command};

use super::*;

/// The largest answer that a lane carries, in bytes.
const CARRIED_BYTES_MAX: usize = 64 << 10;
/// A packet of its own is longer than one frame.
const LARGE_BYTES: usize = 20 << 20;

/// Reads over the lanes until it is told that it is over. Each read is asked once.
fn read_until(is_over: &AtomicBool, of: u32, conn: &mut Conn) {
    for round in 0..u32::MAX {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let key = 1 + (of + round) % 2;
        let got = one(conn, &format!("SELECT v, {of}, {round} FROM u WHERE id = {key}"));
        assert_eq!(got, format!("{},{of},{round}", 100 * key));
    }
}

/// Does something while four clients of this account read.
fn beside_readers<T>(target: &Target, schema: &str, what: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let conns: Vec<Conn> = (0..4).map(|_| connect(target, schema)).collect();
        for (of, mut conn) in conns.into_iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || read_until(is_over, of as u32, &mut conn));
        }
        let done = std::panic::catch_unwind(AssertUnwindSafe(what));
        is_over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// How many reads wait on lanes.
fn waiting(look: &mut Conn) -> u64 {
    look.query_first::<Option<u64>, _>("SELECT SUM(waiting) FROM freshet.lanes")
        .expect("it is computed")
        .flatten()
        .unwrap_or(0)
}

fn client(freshet: &Freshet, schema: &str) -> Raw {
    let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
    raw.login(schema, schema, 0).expect("it is let in");
    raw
}

const READ: &str = "SELECT v FROM t WHERE id = ";

#[test]
fn whoever_vanishes_while_its_read_waits_takes_nobody_with_it() {
    let schema = "lanes_vanished";
    with_stages(schema, &["--multiplexing", "always", "--threads", "1"], |server, direct, freshet| {
        user_of(direct, schema);
        // Nobody logs in before it is known that the account is new.
        caught_up(freshet);
        let mut look = freshet.target().connect();
        run(&mut look, &["SET GLOBAL query_cache_type = OFF"]);
        let target = Target { user: schema.into(), password: String::new(), ..freshet.target().clone() };
        let mut lender = lender_of(freshet, &target, schema);
        let id = one(&mut lender, "SELECT @@pseudo_thread_id");
        let mut clients: Vec<Raw> = (0..3).map(|_| client(freshet, schema)).collect();
        for client in &mut clients {
            client.query(&format!("{READ}1")).expect("it is answered");
        }
        one(&mut lender, &format!("{READ}1"));
        run(direct, &["SET SESSION wait_timeout = 30", "LOCK TABLES t WRITE"]);
        for (client, id) in clients.iter_mut().zip(1..) {
            client.send(command::QUERY, format!("{READ}{id}").as_bytes()).expect("it is sent");
        }
        eventually("they wait on a lane", || (waiting(&mut look) > 0).then_some(()));
        drop((clients.remove(2), clients.remove(0)));
        beside_readers(&target, schema, || {
            run(direct, &["UNLOCK TABLES"]);
            let packets = clients[0].answer().expect("it is answered");
            assert!(packets.iter().any(|packet| packet.ends_with(b"20")), "{packets:?}");
            // Those behind them have their own answers.
            let mut crowd: Vec<Raw> = (0..60).map(|_| client(freshet, schema)).collect();
            let before = carried(freshet);
            for mut gone in crowd.drain(..) {
                gone.send(command::QUERY, format!("{READ}3").as_bytes()).expect("it is sent");
            }
            eventually("they were carried", || (carried(freshet) - before > 100).then_some(()));
        });
        eventually("nobody waits", || (waiting(&mut look) == 0).then_some(()));
        eventually("only those are left who have not gone", || {
            (status(&mut look, "Freshet_clients") == 3).then_some(())
        });
        assert_eq!(one(&mut lender, "SELECT @own, @@pseudo_thread_id"), format!("1,{id}"));
        assert_eq!(clients[0].query(&format!("{READ}1")).expect("it is answered").len(), 5);
        assert_eq!(one(&mut lender, &format!("{READ}3")), "30", "{:?}", server.flavor);
    });
}

#[test]
fn answers_about_as_long_as_a_lane_carries_come_whole_and_so_do_longer_ones() {
    let schema = "lanes_whole";
    with_lanes(schema, |server, direct, freshet| {
        // What is around a row's text takes less than 100 bytes.
        let lengths = [
            CARRIED_BYTES_MAX - 400,
            CARRIED_BYTES_MAX - 150,
            CARRIED_BYTES_MAX,
            CARRIED_BYTES_MAX + 400,
            LARGE_BYTES,
        ];
        run(
            direct,
            &["CREATE TABLE w (id INT PRIMARY KEY, w LONGTEXT)", "INSERT INTO w VALUES (0, 'short')"],
        );
        for (id, length) in (1..).zip(lengths) {
            run(direct, &[&format!("INSERT INTO w VALUES ({id}, REPEAT('{id}', {length}))")]);
        }
        let _lender = lender(freshet, schema);
        let mut conn = connect(freshet.target(), schema);
        for (id, length) in (1..).zip(lengths) {
            // A form of its own: one with a large answer is not carried for a while.
            let select = |id: i32| format!("SELECT w AS as{length} FROM w WHERE id = {id}");
            let mut is_carried = |id: i32, expected: &str| {
                let before = carried(freshet);
                let got = one(&mut conn, &select(id));
                assert!(got == expected, "{length} on {:?}: {} bytes came", server.flavor, got.len());
                carried(freshet) > before
            };
            let expected = id.to_string().repeat(length);
            eventually("the form is carried", || is_carried(0, "short").then_some(()));
            assert!(is_carried(id, &expected), "{length} on {:?}", server.flavor);
            let is_still = is_carried(0, "short");
            assert!(
                is_still || length >= CARRIED_BYTES_MAX,
                "{length} on {:?}: it came on the lane",
                server.flavor
            );
            assert!(!is_still || length < LARGE_BYTES, "{:?}: it came beside the lane", server.flavor);
        }
        beside_readers(freshet.target(), schema, || {
            let mut conn = connect(freshet.target(), schema);
            for (id, length) in (1..).zip(lengths).cycle().take(3 * lengths.len()) {
                let form = format!("SELECT w AS beside{length} FROM w WHERE id =");
                (0..3).for_each(|_| assert_eq!(one(&mut conn, &format!("{form} 0")), "short"));
                let got = one(&mut conn, &format!("{form} {id}"));
                assert!(got == id.to_string().repeat(length), "{length} on {:?}", server.flavor);
            }
        });
    });
}

#[test]
fn reads_are_carried_over_the_servers_socket_too() {
    let schema = "lanes_socket";
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let before = Server { url: server.url_over_socket(), ..server.clone() };
        let (_direct, freshet) = stage(&before, schema, &["--multiplexing", "always"]);
        let mut look = freshet.target().connect();
        run(&mut look, &["SET GLOBAL query_cache_type = OFF"]);
        let mut lender = lender(&freshet, schema);
        let hosts = || -> Vec<String> {
            let list = format!(
                "SELECT DISTINCT SUBSTRING_INDEX(HOST, ':', 1) FROM information_schema.PROCESSLIST WHERE DB = '{schema}' AND ID <> CONNECTION_ID()"
            );
            server.target.connect().query(list).expect("they are listed")
        };
        // The client that is straight at the server comes by its port.
        assert!(hosts().contains(&"localhost".to_owned()), "{:?}: {:?}", server.flavor, hosts());
        let before = carried(&freshet);
        beside_readers(freshet.target(), schema, || {
            eventually("they are carried", || (carried(&freshet) - before > 100).then_some(()));
        });
        assert_eq!(one(&mut lender, "SELECT @own"), "1");
    });
}

/// Whoever has a connection keeps it, however long it is silent.
#[test]
fn with_multiplexing_off_silent_clients_keep_their_connections() {
    const CLIENTS: usize = 20;
    let schema = "lanes_off_silent";
    with_stages(schema, &["--multiplexing", "off"], |server, direct, freshet| {
        let list = format!(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{schema}' AND ID <> CONNECTION_ID() ORDER BY ID"
        );
        let mut conns: Vec<Conn> = (0..CLIENTS).map(|_| connect(freshet.target(), schema)).collect();
        for (conn, at) in conns.iter_mut().zip(0..) {
            assert_eq!(one(conn, &format!("SELECT v, {at} FROM t WHERE id = 1")), format!("10,{at}"));
        }
        let mut there = || -> Vec<u64> { direct.query(&list).expect("they are listed") };
        let before = there();
        assert_eq!(before.len(), CLIENTS, "{:?}", server.flavor);
        thread::sleep(Duration::from_secs(3));
        assert_eq!(there(), before, "{:?}", server.flavor);
        for (conn, at) in conns.iter_mut().zip(0..) {
            assert_eq!(one(conn, &format!("SELECT v, {at}, 1 FROM t WHERE id = 1")), format!("10,{at},1"));
        }
        assert_eq!(there(), before, "{:?}", server.flavor);
        assert_eq!(status(&mut freshet.target().connect(), "Freshet_connections_given_up"), 0);
    });
}
