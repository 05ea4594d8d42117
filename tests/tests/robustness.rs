//! What breaks other proxies: garbage, crowds, a server that goes away, a shutdown under load, clients that hold more
//! than their share.

mod idle;
mod pressure;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use freshet_tests::cached::{
    Counted, answer, connect, eventually, fresh_schema, hits, run, status, try_answer,
};
use freshet_tests::raw::Raw;
use freshet_tests::{Freshet, Server, Target, resident_bytes, with_each};
use mysql::prelude::Queryable;
use rustix::process::Signal;

/// How long a client that does not log in is borne, in the tests that set it.
const LOGIN_TIMEOUT: &str = "2s";
/// Until then it must be gone.
const GONE_SECONDS_MAX: u64 = 20;
/// The limit of the process's memory beyond 1.15 times the cache's size.
const MEMORY_BEYOND_CACHE: u64 = 64 << 20;

/// Runs a test with a Freshet of its own, started with flags; there is nothing to be tested without one.
fn with_flags(flags: &[&str], test: impl Fn(&Server, Freshet)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in freshet_tests::server::all() {
        test(&server, Freshet::with(&server, flags));
    }
}

/// The process that listens on a port, found as an administrator would.
fn process_of(freshet: &Freshet) -> u32 {
    let port = format!(":{:04X}", freshet.target().port);
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the sockets are listed");
    let inode = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields.len() > 9 && fields[1].ends_with(&port) && fields[3] == "0A")
        .map(|fields| format!("socket:[{}]", fields[9]))
        .expect("somebody listens");
    let holds = |pid: u32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut files| {
            files.any(|file| {
                let link = file.ok().and_then(|file| std::fs::read_link(file.path()).ok());
                link.is_some_and(|link| link.to_str() == Some(inode.as_str()))
            })
        })
    };
    let processes = std::fs::read_dir("/proc").expect("the processes are listed");
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .find(|&pid| holds(pid))
        .expect("the listener's process is there")
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives").count()
}

/// What a client may send that is no client.
fn garbage() -> Vec<Vec<u8>> {
    let mut noise: Vec<u8> = (0..5000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    noise.extend([0xff; 500]);
    let login = |payload: &[u8]| {
        let mut frame = u32::try_from(payload.len()).expect("short").to_le_bytes().to_vec();
        frame[3] = 1;
        [frame, payload.to_vec()].concat()
    };
    vec![
        Vec::new(),
        noise,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0xff, 0xff, 0xff, 1],
        vec![0xff, 0xff, 0xff, 0],
        vec![5, 0, 0, 1, 1, 2],
        vec![0, 0, 0, 1],
        vec![1, 0, 0, 1, 0],
        vec![1, 0, 0, 77, 0],
        login(&[0x85; 31]),
        login(&[0xff; 32]),
        login(&[0xff; 64]),
        login(&[[0x0d, 0xa2, 0x0b, 0].as_slice(), &[0; 28], b"user\0", &[250; 3]].concat()),
        login(
            &[
                [0xff, 0xff, 0xff, 0xff].as_slice(),
                &[0; 28],
                b"user\0",
                &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ]
            .concat(),
        ),
        // A request for TLS that is followed by none.
        login(&[[0x0d, 0xaa, 0x0b, 0].as_slice(), &[0; 28]].concat()),
        [login(&[[0x0d, 0xaa, 0x0b, 0].as_slice(), &[0; 28]].concat()), vec![0x55; 3000]].concat(),
    ]
}

#[test]
fn garbage_is_shown_the_door_and_disturbs_nobody() {
    with_flags(&["--login-timeout", LOGIN_TIMEOUT], |server, freshet| {
        let mut direct = fresh_schema(server, "robust_garbage");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]);
        let mut other = connect(freshet.target(), "robust_garbage");
        let mut noisy: Vec<TcpStream> = Vec::new();
        for said in garbage() {
            let mut client = TcpStream::connect(("127.0.0.1", freshet.target().port)).expect("it listens");
            let _ = client.write_all(&said);
            assert!(answer(&mut other, "SELECT id FROM t").is_ok());
            noisy.push(client);
        }
        // One that goes on, byte by byte, must not live for ever by that.
        let mut slow = TcpStream::connect(("127.0.0.1", freshet.target().port)).expect("it listens");
        let until = Instant::now() + Duration::from_secs(GONE_SECONDS_MAX);
        while slow.write_all(&[0x20]).is_ok() {
            assert!(Instant::now() < until, "a slow login is borne for ever");
            std::thread::sleep(Duration::from_millis(100));
        }
        for (at, client) in noisy.iter_mut().enumerate() {
            client.set_read_timeout(Some(Duration::from_secs(GONE_SECONDS_MAX))).expect("it can be set");
            let mut heard = Vec::new();
            let ended = client.read_to_end(&mut heard);
            let gone =
                ended.as_ref().err().is_none_or(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
            assert!(gone, "garbage {at} is kept: {ended:?}");
        }
        assert!(answer(&mut other, "SELECT id FROM t").is_ok());
        drop(other);
        freshet.stop();
    });
}

#[test]
fn garbage_after_the_login_ends_that_client_alone() {
    with_each(|server, freshet| {
        run(
            &mut server.target.connect(),
            &["CREATE USER IF NOT EXISTS robust_raw IDENTIFIED BY ''", "GRANT SELECT ON *.* TO robust_raw"],
        );
        let mut other = freshet.target().connect();
        for said in garbage().into_iter().filter(|said| !said.is_empty()) {
            let mut client = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
            client.login("robust_raw", "", 0).expect("it lets in");
            let _ = client.stream().write_all(&said);
            assert!(answer(&mut other, "SELECT 1").is_ok());
            // What is left of a packet that is longer than what was sent will not come.
            let _ = client.stream().shutdown(std::net::Shutdown::Write);
            let mut heard = Vec::new();
            let ended = client.stream().read_to_end(&mut heard);
            let gone =
                ended.as_ref().err().is_none_or(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
            assert!(gone, "a client is kept that said {said:?}: {ended:?}");
        }
        // Every command there may be, with nothing and with noise behind it.
        for command in (0..=255u8).filter(|command| ![8, 18, 30].contains(command)) {
            for body in [&b""[..], &[0xff; 3], &[0x7f; 40]] {
                let mut client = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
                client.login("robust_raw", "", 0).expect("it lets in");
                client.send(command, body).expect("it is sent");
            }
        }
        assert!(answer(&mut other, "SELECT 1").is_ok());
    });
}

/// Reads, and now and then writes.
fn be_busy(target: &Target, client: u32) {
    let mut conn = connect(target, "robust_crowd");
    for round in 0..30 {
        let id = 1 + (client + round) % 2;
        assert!(answer(&mut conn, &format!("SELECT v FROM t WHERE id = {id}")).is_ok());
        if round % 10 == 0 {
            let _ = answer(&mut conn, &format!("UPDATE t SET v = v + 1 WHERE id = {id}"));
        }
    }
}

#[test]
fn a_crowd_leaves_nothing_behind() {
    with_flags(&[], |server, freshet| {
        let mut direct = fresh_schema(server, "robust_crowd");
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1),(2, 2)"],
        );
        let pid = process_of(&freshet);
        let mut counted = Counted::of(&freshet);
        let _ = counted.prime(&mut connect(freshet.target(), "robust_crowd"), "SELECT v FROM t WHERE id = 1");
        let mut counter = freshet.target().connect();
        eventually("the first clients have left", || {
            (status(&mut counter, "Freshet_clients") == 2).then_some(())
        });
        let before = descriptors(pid);
        let idle: Vec<_> = (0..200).map(|_| freshet.target().connect()).collect();
        std::thread::scope(|scope| {
            for client in 0..64 {
                let target = freshet.target();
                scope.spawn(move || be_busy(target, client));
            }
        });
        assert!(status(&mut counter, "Freshet_clients") >= 200);
        drop(idle);
        eventually("all clients have left", || (status(&mut counter, "Freshet_clients") == 2).then_some(()));
        eventually("their descriptors are closed", || (descriptors(pid) <= before + 4).then_some(()));
        drop((counted, counter));
        freshet.stop();
    });
}

#[test]
fn memory_stays_within_its_bound() {
    const SIZE: u64 = 16 << 20;
    with_flags(&["--query-cache-size", "16M"], |server, freshet| {
        let mut direct = fresh_schema(server, "robust_memory");
        run(
            &mut direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(3000))",
                "INSERT INTO t VALUES (1, REPEAT('x', 3000)), (2, REPEAT('y', 3000))",
            ],
        );
        let pid = process_of(&freshet);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let target = freshet.target();
                scope.spawn(move || {
                    let mut conn = connect(target, "robust_memory");
                    for number in 0..5000 {
                        let id = 1 + number % 2;
                        let text = format!("SELECT w FROM t WHERE id = {id} AND id <> -{client}{number}");
                        conn.query_drop(text).expect("it is answered");
                    }
                });
            }
        });
        let mut conn = freshet.target().connect();
        assert!(status(&mut conn, "Qcache_inserts") > 5000);
        assert!(status(&mut conn, "Qcache_lowmem_prunes") > 0);
        let bound = SIZE * 115 / 100 + MEMORY_BEYOND_CACHE;
        let resident = resident_bytes(pid);
        assert!(resident <= bound, "{resident} bytes resident, {bound} allowed");
        drop(conn);
        freshet.stop();
    });
}

#[test]
fn a_crowd_beyond_max_clients_is_told_so() {
    with_flags(&["--max-clients", "8"], |_, freshet| {
        let mut clients: Vec<_> = (0..8).map(|_| freshet.target().connect()).collect();
        for _ in 0..20 {
            match freshet.target().try_connect("") {
                Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1040),
                other => panic!("{:?}", other.err()),
            }
        }
        for client in &mut clients {
            assert!(answer(client, "SELECT 1").is_ok());
        }
        clients.pop();
        let _again = eventually("a place is free", || freshet.target().try_connect("").ok());
    });
}

#[test]
fn clients_that_vanish_in_the_middle_are_cleaned_up() {
    with_flags(&[], |server, freshet| {
        let mut direct = fresh_schema(server, "robust_vanish");
        run(
            &mut direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
                "INSERT INTO t VALUES (1, 1)",
                "CREATE USER IF NOT EXISTS robust_raw IDENTIFIED BY ''",
                "GRANT ALL PRIVILEGES ON robust_vanish.* TO robust_raw",
            ],
        );
        for said in ["BEGIN; UPDATE t SET v = 99", "SELECT SLEEP(5)", "SELECT REPEAT('x', 10000000) FROM t"] {
            let mut client = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
            client.login("robust_raw", "robust_vanish", 0).expect("it lets in");
            client.send(3, said.as_bytes()).expect("it is sent");
            std::thread::sleep(Duration::from_millis(100));
        }
        // The lock of the one that left is not held on, and what it did is undone.
        run(&mut direct, &["SET innodb_lock_wait_timeout = 20", "UPDATE t SET v = v + 1 WHERE id = 1"]);
        let mut reader = connect(freshet.target(), "robust_vanish");
        eventually("the change is seen", || {
            (answer(&mut reader, "SELECT v FROM t") == Ok(vec![vec!["2".into()]])).then_some(())
        });
        let mut counter = freshet.target().connect();
        eventually("the vanished are counted out", || {
            (status(&mut counter, "Freshet_clients") == 2).then_some(())
        });
        drop((reader, counter));
        freshet.stop();
    });
}

#[test]
fn without_a_server_clients_get_an_error_and_later_the_server() {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in freshet_tests::server::all() {
        let relay = Relay::before(&server);
        relay.cut();
        let mut command = freshet_tests::freshet::command();
        command.env("UPSTREAM_DB_URL", relay.url(&server)).env("LISTEN_ADDRESS", "127.0.0.1:0");
        let freshet = Freshet::start(command);
        let target = freshet_tests::Target { port: freshet.target().port, ..server.target.clone() };
        let started = Instant::now();
        assert!(target.try_connect("").is_err());
        assert!(started.elapsed() < Duration::from_secs(GONE_SECONDS_MAX), "silence instead of an error");
        relay.mend();
        let mut direct = fresh_schema(&server, "robust_away");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)"]);
        let mut counter = eventually("the server is reached", || target.try_connect("robust_away").ok());
        let read = "SELECT v FROM t WHERE id = 1";
        for version in 2..4 {
            let mut reader = connect(&target, "robust_away");
            let mut hit = || {
                let before = freshet_tests::cached::hits(&mut counter);
                let _ = try_answer(&mut reader, read);
                (freshet_tests::cached::hits(&mut counter) > before).then_some(())
            };
            eventually("a hit", &mut hit);
            relay.cut();
            run(&mut direct, &[&format!("UPDATE t SET v = {version} WHERE id = 1")]);
            // Whoever is answered after the lag gets the truth, and whoever cannot be gets an error.
            let until = Instant::now() + Duration::from_secs(6);
            let mut last = None;
            while Instant::now() < until {
                match target.try_connect("robust_away").and_then(|mut conn| try_answer(&mut conn, read)) {
                    Ok(Ok(rows)) => last = Some((Instant::now(), rows)),
                    _ => std::thread::sleep(Duration::from_millis(50)),
                }
            }
            if let Some((at, rows)) = last
                && rows != [[version.to_string()]]
            {
                assert!(until - at > Duration::from_secs(1), "{rows:?} is still answered without a server");
            }
            relay.mend();
            let wanted = Ok(vec![vec![version.to_string()]]);
            eventually("the new version", || {
                let mut conn = target.try_connect("robust_away").ok()?;
                (try_answer(&mut conn, read).ok()? == wanted).then_some(())
            });
            counter = eventually("the counter is back", || target.try_connect("robust_away").ok());
        }
        drop(counter);
        freshet.stop();
    }
}

/// A stretch of network before the server that can be cut.
struct Relay {
    port: u16,
    cut: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Relay {
    fn before(server: &Server) -> Relay {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let cut = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (upstream, is_cut) = ((server.target.host.clone(), server.target.port), cut.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if is_cut.load(std::sync::atomic::Ordering::Relaxed) {
                    continue;
                }
                if let Ok(server) = TcpStream::connect(&upstream) {
                    pump(&client, &server, &is_cut);
                    pump(&server, &client, &is_cut);
                }
            }
        });
        Relay { port, cut }
    }

    fn url(&self, server: &Server) -> String {
        format!("mysql://{}:{}@127.0.0.1:{}/", server.target.user, server.target.password, self.port)
    }

    fn cut(&self) {
        self.cut.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    fn mend(&self) {
        self.cut.store(false, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Carries bytes one way until either end is gone or the relay is cut.
fn pump(from: &TcpStream, to: &TcpStream, cut: &std::sync::Arc<std::sync::atomic::AtomicBool>) {
    let (mut from, mut to) = (from.try_clone().expect("cloned"), to.try_clone().expect("cloned"));
    let cut = cut.clone();
    from.set_read_timeout(Some(Duration::from_millis(50))).expect("it can be set");
    std::thread::spawn(move || {
        let mut bytes = vec![0; 65_536];
        while !cut.load(std::sync::atomic::Ordering::Relaxed) {
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) if to.write_all(&bytes[..count]).is_err() => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

#[test]
fn a_shutdown_lets_a_transaction_finish() {
    with_flags(&["--drain-timeout", "30s"], |server, freshet| {
        let mut direct = fresh_schema(server, "robust_drain");
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 7)"],
        );
        const READ: &str = "SELECT v FROM t WHERE id = 2";
        let mut busy = connect(freshet.target(), "robust_drain");
        let mut reader = connect(freshet.target(), "robust_drain");
        for _ in 0..2 {
            let seven = Ok(vec![vec!["7".into()]]);
            assert_eq!((answer(&mut busy, READ), answer(&mut reader, READ)), (seven.clone(), seven));
        }
        run(&mut busy, &["BEGIN", "UPDATE t SET v = 2 WHERE id = 1"]);
        // Its transaction begins with an answer from memory, while it waits for its next command.
        run(&mut reader, &["SET autocommit = 0"]);
        eventually("a transaction begins from memory", || {
            run(&mut reader, &["COMMIT"]);
            let before = hits(&mut busy);
            assert_eq!(answer(&mut reader, READ), Ok(vec![vec!["7".into()]]));
            (hits(&mut busy) == before + 1).then_some(())
        });
        freshet.signal(Signal::TERM);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(answer(&mut reader, READ), Ok(vec![vec!["7".into()]]), "the transaction goes on");
        run(&mut reader, &["COMMIT"]);
        run(&mut busy, &["UPDATE t SET v = v + 1 WHERE id = 1", "COMMIT"]);
        assert!(freshet.wait().success());
        assert_eq!(answer(&mut direct, "SELECT v FROM t WHERE id = 1"), Ok(vec![vec!["3".into()]]));
    });
}
