//! Clients that hold more than their share: that vanish, do not read, or send halves.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run, status};
use freshet_tests::raw::{Raw, command, error_code};
use freshet_tests::{Freshet, Server, resident_bytes};
use mysql::prelude::Queryable;
use rustix::net::sockopt;
use rustix::process::Signal;
use socket2::{Domain, Socket, Type};

use super::{process_of, with_flags};

/// The account of the clients here, without a password.
const ACCOUNT: &str = "robust_raw";
/// What waits here would wait for this long by itself, in seconds; what ends it has to be much sooner.
const WAIT_SECONDS: u64 = 100;
/// A result that no socket takes at once, in bytes.
const LARGE_BYTES: u64 = 8 << 20;
/// What the system takes in for a client that does not read, about.
const RECEIVE_BUFFER_BYTES: usize = 64 << 10;
/// What a process may grow by beside what is being measured.
const SLACK_BYTES: u64 = 48 << 20;

/// A schema with a result of [`LARGE_BYTES`], and the account.
fn prepare(server: &Server, schema: &str) -> mysql::Conn {
    let mut direct = fresh_schema(server, schema);
    run(
        &mut direct,
        &[
            &format!("CREATE USER IF NOT EXISTS {ACCOUNT} IDENTIFIED BY ''"),
            &format!("GRANT ALL PRIVILEGES ON *.* TO {ACCOUNT}"),
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 1)",
            "CREATE TABLE large (id INT PRIMARY KEY, w MEDIUMTEXT)",
            &format!("INSERT INTO large VALUES (1, REPEAT('x', {LARGE_BYTES}))"),
        ],
    );
    direct
}

fn client(freshet: &Freshet, schema: &str) -> Raw {
    let mut client = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
    client.login(ACCOUNT, schema, 0).expect("it lets in");
    // The system would otherwise read ahead for it what it does not read.
    sockopt::set_socket_recv_buffer_size(client.stream(), RECEIVE_BUFFER_BYTES).expect("it can be set");
    client
}

/// Resets the connection, as the system does for a process that is killed with unread bytes.
fn reset(client: Raw) {
    sockopt::set_socket_linger(client.stream(), Some(Duration::ZERO)).expect("it can be set");
    drop(client);
}

/// How many threads of the server run a statement with this mark.
fn running(direct: &mut mysql::Conn, mark: &str) -> u64 {
    let list = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE";
    direct.query_first(format!("{list} '%/*{mark}%' AND INFO NOT LIKE '%PROCESSLIST%'")).unwrap().unwrap()
}

fn await_running(direct: &mut mysql::Conn, mark: &str, count: u64) {
    eventually(mark, || (running(direct, mark) == count).then_some(()));
}

/// Waits until all clients but these are gone.
fn await_clients(counter: &mut mysql::Conn, count: u64) {
    eventually("the others are gone", || (status(counter, "Freshet_clients") == count).then_some(()));
}

/// Until its end or a reset; how many bytes came before.
fn drained(client: &mut Raw) -> usize {
    let mut heard = Vec::new();
    match client.stream().read_to_end(&mut heard) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("it is kept: {error}"),
        _ => heard.len(),
    }
}

#[test]
fn clients_are_probed_for_life() {
    with_flags(&[], |_, freshet| {
        let client = std::net::TcpStream::connect((&*freshet.target().host, freshet.target().port)).unwrap();
        let ours = format!(":{:04X}", freshet.target().port);
        let theirs = format!(":{:04X}", client.local_addr().unwrap().port());
        // A keepalive timer is shown as 02.
        eventually("a keepalive timer", || {
            let table = std::fs::read_to_string("/proc/net/tcp").expect("the sockets are listed");
            let mut sockets = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let socket = sockets.find(|it| it[1].ends_with(&ours) && it[2].ends_with(&theirs))?;
            socket[5].starts_with("02:").then_some(())
        });
    });
}

#[test]
fn what_a_client_waits_for_ends_when_it_has_gone() {
    with_flags(&[], |server, freshet| {
        let mut direct = prepare(server, "robust_gone");
        run(&mut direct, &["DO GET_LOCK('robust_gone', 1)"]);
        type Leaves = fn(Raw);
        let leaves: [(&str, Leaves); 3] = [
            ("closed", drop),
            ("reset", reset),
            ("quit", |mut client| client.send(command::QUIT, &[]).expect("it is sent")),
        ];
        for wait in ["SLEEP", "GET_LOCK('robust_gone', "] {
            let what = if wait == "SLEEP" { "SLEEP(" } else { wait };
            let mut clients = Vec::new();
            for (how, leave) in leaves {
                let mut client = client(&freshet, "robust_gone");
                let text = format!("SELECT {what}{WAIT_SECONDS}) /*gone {how}*/");
                client.send(command::QUERY, text.as_bytes()).expect("it is sent");
                clients.push((client, leave));
            }
            await_running(&mut direct, "gone", 3);
            clients.into_iter().for_each(|(client, leave)| leave(client));
            await_running(&mut direct, "gone", 0);
        }
        let mut counter = freshet.target().connect();
        assert_eq!(status(&mut counter, "Freshet_vanished"), 6);
        await_clients(&mut counter, 1);
    });
}

#[test]
fn a_write_whose_client_has_gone_holds_its_fence_no_longer_than_it_runs() {
    with_flags(&[], |server, freshet| {
        let mut direct = prepare(server, "robust_fence");
        let mut reader = connect(freshet.target(), "robust_fence");
        let mut counted = Counted::of(&freshet);
        let read = "SELECT v FROM t WHERE id = 1";
        let _ = counted.prime(&mut reader, read);
        for leave in [drop, reset] {
            let mut writer = client(&freshet, "robust_fence");
            let write = format!("UPDATE t SET v = v + 1 + SLEEP({WAIT_SECONDS}) /*fence*/ WHERE id = 1");
            writer.send(command::QUERY, write.as_bytes()).expect("it is sent");
            await_running(&mut direct, "fence", 1);
            assert_eq!(
                counted.hits_of(&mut reader, read, 3),
                0,
                "a write under way fences what it may change"
            );
            leave(writer);
            await_running(&mut direct, "fence", 0);
            let seen = counted.prime(&mut reader, read);
            assert_eq!(seen, answer(&mut direct, read), "what the write left behind");
        }
    });
}

#[test]
fn a_client_that_sends_nothing_more_is_answered_to_the_end() {
    with_flags(&[], |server, freshet| {
        let mut direct = prepare(server, "robust_half");
        let mut client = client(&freshet, "robust_half");
        client.send(command::QUERY, b"SELECT SLEEP(1) /*half*/").expect("it is sent");
        await_running(&mut direct, "half", 1);
        client.send(command::QUERY, b"UPDATE t SET v = 7").expect("it is sent");
        client.send(command::QUERY, b"SELECT v FROM t").expect("it is sent");
        client.stream().shutdown(Shutdown::Write).expect("it is told");
        for rows in [1, 0, 1] {
            // Each answer begins the sequence anew behind its command.
            client.begin_answer();
            let packets = client.answer().expect("it is answered");
            assert!(error_code(&packets[0]).is_none(), "{packets:?}");
            assert_eq!(packets.len(), if rows == 1 { 5 } else { 1 });
        }
        assert_eq!(drained(&mut client), 0);
        assert_eq!(answer(&mut direct, "SELECT v FROM t"), Ok(vec![vec!["7".into()]]));
    });
}

#[test]
fn what_a_client_sends_ahead_waits_outside() {
    with_flags(&[], |server, freshet| {
        let mut direct = prepare(server, "robust_ahead");
        let pid = process_of(&freshet);
        let mut client = client(&freshet, "robust_ahead");
        client.send(command::QUERY, format!("SELECT SLEEP({WAIT_SECONDS}) /*ahead*/").as_bytes()).unwrap();
        await_running(&mut direct, "ahead", 1);
        let before = resident_bytes(pid);
        client.stream().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let flood = [1, 0, 0, 0, command::PING].repeat(200_000);
        for _ in 0..200 {
            if client.stream().write_all(&flood).is_err() {
                break;
            }
        }
        let grown = resident_bytes(pid).saturating_sub(before);
        assert!(grown < SLACK_BYTES, "{grown} bytes are kept for a client that waits");
    });
}

/// The result of [`LARGE_BYTES`], as it can be stored.
const STORED: &str = "SELECT w FROM large WHERE id = 1";

/// Clients of a Freshet that do not read a large result: from memory the first, from the server the second.
fn who_do_not_read(server: &Server, freshet: &Freshet, schema: &str) -> (mysql::Conn, Vec<Raw>) {
    let _ = prepare(server, schema);
    let mut counter = freshet.target().connect();
    let mut first = client(freshet, schema);
    eventually("a hit", || {
        let before = status(&mut counter, "Qcache_hits");
        first.query(STORED).expect("it is answered");
        (status(&mut counter, "Qcache_hits") > before).then_some(())
    });
    let mut second = client(freshet, schema);
    first.send(command::QUERY, STORED.as_bytes()).expect("it is sent");
    second.send(command::QUERY, b"SELECT w, RAND() FROM large").expect("it is sent");
    eventually("both are under way", || (status(&mut counter, "Freshet_send_bytes") > 0).then_some(()));
    (counter, vec![first, second])
}

const LARGE_RESULTS: [&str; 2] = ["--query-cache-limit", "16M"];

#[test]
fn a_client_that_does_not_read_is_disconnected_in_time() {
    with_flags(&[&LARGE_RESULTS[..], &["--net-write-timeout", "1s"]].concat(), |server, freshet| {
        let (mut counter, mut clients) = who_do_not_read(server, &freshet, "robust_timeout");
        await_clients(&mut counter, 1);
        assert_eq!(status(&mut counter, "Freshet_net_write_timeouts"), 2);
        assert_eq!(status(&mut counter, "Freshet_send_bytes"), 0);
        for client in &mut clients {
            assert!((drained(client) as u64) < LARGE_BYTES);
        }
    });
}

#[test]
fn a_client_that_does_not_read_can_be_killed() {
    with_flags(&LARGE_RESULTS, |server, freshet| {
        let (mut counter, clients) = who_do_not_read(server, &freshet, "robust_killed");
        let mut killer = client(&freshet, "");
        for client in &clients {
            killer.query(&format!("KILL {}", client.id)).expect("it is answered");
        }
        drop(killer);
        await_clients(&mut counter, 1);
    });
}

#[test]
fn a_client_that_does_not_read_is_idle_in_time() {
    with_flags(&[&LARGE_RESULTS[..], &["--idle-timeout", "3s"]].concat(), |server, freshet| {
        let (mut counter, clients) = who_do_not_read(server, &freshet, "robust_idle");
        // The one that has its answer from memory; the other is with the server.
        await_clients(&mut counter, 2);
        drop(clients);
    });
}

#[test]
fn a_client_that_does_not_read_holds_no_shutdown_up() {
    with_flags(&[&LARGE_RESULTS[..], &["--drain-timeout", "1h"]].concat(), |server, freshet| {
        let (counter, _clients) = who_do_not_read(server, &freshet, "robust_stalled");
        drop(counter);
        freshet.signal(Signal::TERM);
        assert!(freshet.wait().success());
    });
}

#[test]
fn clients_that_do_not_read_hold_no_more_memory_than_there_is_for_them() {
    const CLIENTS: u64 = 40;
    const SEND: u64 = 32 << 20;
    with_flags(&[&LARGE_RESULTS[..], &["--send-buffers-size", "32M"]].concat(), |server, freshet| {
        let (mut counter, mut clients) = who_do_not_read(server, &freshet, "robust_unread");
        let before = resident_bytes(process_of(&freshet));
        for _ in 0..CLIENTS {
            let mut client = client(&freshet, "robust_unread");
            client.send(command::QUERY, STORED.as_bytes()).expect("it is sent");
            clients.push(client);
        }
        eventually("no more is given from memory", || {
            (status(&mut counter, "Freshet_send_refused") >= CLIENTS - SEND / LARGE_BYTES).then_some(())
        });
        assert!(status(&mut counter, "Freshet_send_bytes") <= SEND);
        let grown = resident_bytes(process_of(&freshet)).saturating_sub(before);
        assert!(grown < SEND + SLACK_BYTES, "{grown} bytes for clients that do not read");
        // Whoever reads in the end has the whole answer, wherever it came from.
        for client in clients.iter_mut().skip(2) {
            let length: usize = client.answer().expect("it is answered").iter().map(Vec::len).sum();
            assert!(length as u64 > LARGE_BYTES);
        }
        eventually("it is given back", || (status(&mut counter, "Freshet_send_bytes") < SEND).then_some(()));
    });
}

/// A client to which little fits on the way.
fn narrow_client(freshet: &Freshet, schema: &str) -> Raw {
    const SEGMENT_BYTES: u32 = 536;
    const RECEIVED_BYTES: usize = 4 << 10;
    let target = freshet.target();
    let host: IpAddr = target.host.parse().expect("an address");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("it is made");
    socket.set_tcp_mss(SEGMENT_BYTES).expect("it can be set");
    socket.set_recv_buffer_size(RECEIVED_BYTES).expect("it can be set");
    socket.connect(&SocketAddr::new(host, target.port).into()).expect("it connects");
    let mut client = Raw::over(socket.into()).expect("it greets");
    client.login(ACCOUNT, schema, 0).expect("it lets in");
    client
}

#[test]
fn an_answer_is_read_and_stored_although_its_client_does_not_read() {
    // More than fits on the way to such a client, and less than is read on for it.
    const ANSWER_BYTES: u64 = 900 << 10;
    with_flags(&LARGE_RESULTS, |server, freshet| {
        let mut direct = prepare(server, "robust_ahead");
        run(&mut direct, &[&format!("UPDATE large SET w = REPEAT('y', {ANSWER_BYTES})")]);
        let mut counter = freshet.target().connect();
        let before = status(&mut counter, "Qcache_inserts");
        // An answer that comes too soon after the update is not stored, nor is that of a statement that is new.
        let mut client = eventually("it is stored", || {
            let mut client = narrow_client(&freshet, "robust_ahead");
            client
                .send(command::QUERY, b"SELECT w /*robust_ahead*/ FROM large WHERE id = 1")
                .expect("it is sent");
            await_running(&mut direct, "robust_ahead", 0);
            (status(&mut counter, "Qcache_inserts") > before).then_some(client)
        });
        let length: usize = client.answer().expect("it is answered").iter().map(Vec::len).sum();
        assert!(length as u64 > ANSWER_BYTES, "it has the whole of it when it reads");
    });
}

/// A packet of `bytes`, as far as three quarters of it.
fn most_of_a_packet(bytes: usize) -> Vec<u8> {
    let mut frames = Vec::new();
    for (seq, at) in (0..bytes).step_by(0xff_ffff).enumerate() {
        let len = (bytes - at).min(0xff_ffff);
        frames.extend([len as u8, (len >> 8) as u8, (len >> 16) as u8, seq as u8]);
        frames.resize(frames.len() + len, command::QUERY);
    }
    frames.truncate(bytes / 4 * 3);
    frames
}

#[test]
fn half_packets_are_borne_for_a_time() {
    with_flags(&["--net-read-timeout", "1s"], |server, freshet| {
        let _ = prepare(server, "robust_halves");
        let mut clients: Vec<Raw> = (0..4).map(|_| client(&freshet, "")).collect();
        let halves = [&b"\x05"[..], b"\x05\0\0\0", b"\x05\0\0\0\x03SE", &most_of_a_packet(1 << 20)];
        for (client, half) in clients.iter_mut().zip(halves) {
            client.stream().write_all(half).expect("it is sent");
        }
        for client in &mut clients {
            client.begin_answer();
            assert_eq!(error_code(&client.packet().expect("it is told")), Some(1159));
            assert_eq!(drained(client), 0);
        }
        let mut counter = freshet.target().connect();
        assert_eq!(status(&mut counter, "Freshet_net_read_timeouts"), 4);
        assert_eq!(status(&mut counter, "Freshet_receive_bytes"), 0);
    });
}

#[test]
fn half_packets_hold_no_more_memory_than_there_is_for_them() {
    const PACKET: usize = 59 << 20;
    const RECEIVE: u64 = 64 << 20;
    with_flags(&["--receive-buffers-size", "64M"], |server, freshet| {
        let mut direct = prepare(server, "robust_sum");
        let mut other = connect(freshet.target(), "robust_sum");
        let pid = process_of(&freshet);
        let before = resident_bytes(pid);
        let half = most_of_a_packet(PACKET);
        let (mut clients, mut most) = (Vec::new(), 0);
        std::thread::scope(|scope| {
            let mut senders = Vec::new();
            for _ in 0..8 {
                let client = client(&freshet, "");
                senders.push(scope.spawn(|| {
                    // Who is refused may be so in the middle.
                    let _ = client.stream().write_all(&half);
                    client
                }));
            }
            while senders.iter().any(|sender| !sender.is_finished()) {
                most = most.max(resident_bytes(pid).saturating_sub(before));
                assert!(answer(&mut other, "SELECT v FROM t").is_ok());
                std::thread::sleep(Duration::from_millis(20));
            }
            clients.extend(senders.into_iter().map(|sender| sender.join().unwrap()));
        });
        // One may go beyond, and one be moved to a larger place.
        let bound = RECEIVE + 2 * PACKET as u64 + SLACK_BYTES;
        assert!(most < bound, "{most} bytes for halves");
        // An honest packet finds its room.
        let started = Instant::now();
        let text = format!("UPDATE large SET w = '{}' WHERE id = 1", "y".repeat(12 << 20));
        run(&mut other, &[&text]);
        assert!(started.elapsed() < Duration::from_secs(20), "an honest client is harmed");
        let length = "SELECT LENGTH(w) FROM large WHERE id = 1";
        assert_eq!(answer(&mut direct, length), Ok(vec![vec![(12 << 20).to_string()]]));
        drop(clients);
        eventually("it is given back", || (status(&mut other, "Freshet_receive_bytes") == 0).then_some(()));
    });
}

#[test]
fn copies_for_the_cache_hold_no_more_memory_than_there_is_for_them() {
    const CLIENTS: u64 = 12;
    const FILL: u64 = 8 << 20;
    let flags = [&LARGE_RESULTS[..], &["--fill-buffers-size", "8M"]].concat();
    with_flags(&flags, |server, freshet| {
        let _ = prepare(server, "robust_fill");
        let mut counter = freshet.target().connect();
        eventually("the stream is live", || {
            let live: Option<(String, String)> =
                counter.query_first("SHOW STATUS LIKE 'Freshet_live'").unwrap();
            live.filter(|(_, live)| live == "ON")
        });
        // An answer is copied once the table's last change is known to be visible.
        eventually("what is in the table is stored", || {
            let _: Option<u64> =
                counter.query_first("SELECT id FROM robust_fill.large WHERE id = 1").unwrap();
            (status(&mut counter, "Qcache_hits") > 0).then_some(())
        });
        let mut clients: Vec<Raw> = (0..CLIENTS).map(|_| client(&freshet, "robust_fill")).collect();
        for (at, client) in clients.iter_mut().enumerate() {
            let text = format!("SELECT w FROM large WHERE id = 1 AND id <> -{at}");
            client.send(command::QUERY, text.as_bytes()).expect("it is sent");
        }
        eventually("no more is copied", || {
            (status(&mut counter, "Freshet_fill_refused") >= CLIENTS / 2).then_some(())
        });
        assert!(status(&mut counter, "Freshet_fill_bytes") <= FILL);
        for client in &mut clients {
            let length: usize = client.answer().expect("it is answered").iter().map(Vec::len).sum();
            assert!(length as u64 > LARGE_BYTES);
        }
        eventually("it is given back", || (status(&mut counter, "Freshet_fill_bytes") == 0).then_some(()));
    });
}
