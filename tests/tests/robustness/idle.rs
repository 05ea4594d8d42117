//! What a client costs that is there and says nothing, and what is left of clients that have gone.

use std::time::Duration;

use freshet_tests::cached::{answer, caught_up, eventually_of, fresh_schema, run, user_of};
use freshet_tests::raw::Raw;
use freshet_tests::resident_bytes;
use rustix::process::{Resource, getrlimit};

use super::{process_of, with_flags};

const SCHEMA: &str = "robust_idle_memory";
const FEW: usize = 500;
const MANY: usize = 1_500;
/// What one may take, in bytes.
const SILENT_BYTES_MAX: u64 = 16 << 10;
/// By then buffers and connections are given back.
const SILENT: Duration = Duration::from_secs(2);
/// For as long again, so often is looked for the least.
const LOOKS: u32 = 10;
/// Files for everything else; each client takes two of them, of the program or of the test.
const FILES_BESIDE: u64 = 600;

/// What they ask: of memory, and of the server.
const ASKED: [&str; 2] = ["SELECT v FROM t WHERE id = 1", "SELECT v, NOW() FROM t WHERE id = 1"];

fn clients_max() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files.saturating_sub(FILES_BESIDE) / 2).unwrap_or(usize::MAX).min(MANY)
}

fn each_takes(server: &freshet_tests::Server, asked: &[&str]) -> u64 {
    let freshet = freshet_tests::Freshet::with(server, &[]);
    caught_up(&freshet);
    let pid = process_of(&freshet);
    let mut clients = Vec::new();
    let mut grow_to = |count: usize| {
        while clients.len() < count {
            let mut raw = Raw::dial(&freshet.target().host, freshet.target().port).expect("it greets");
            raw.login(SCHEMA, SCHEMA, 0).expect("it is let in");
            for statement in asked {
                let packets = raw.query(statement).expect("it is answered");
                assert_ne!(packets[0][0], 0xff, "{statement}: {packets:?}");
            }
            clients.push(raw);
        }
        std::thread::sleep(SILENT);
        // What they have is given back one after the other.
        let looks = (0..LOOKS).map(|_| {
            std::thread::sleep(SILENT / LOOKS);
            resident_bytes(pid)
        });
        looks.min().expect("there are some")
    };
    let many = clients_max();
    let (few, all) = (grow_to(FEW), grow_to(many));
    let each = all.saturating_sub(few) / (many - FEW) as u64;
    println!(
        "{:?}, asked {asked:?}: {} MiB for {FEW}, {} MiB for {many}: {each} bytes each",
        server.flavor,
        few >> 20,
        all >> 20
    );
    drop(clients);
    freshet.stop();
    each
}

#[test]
fn silent_clients_take_little_memory() {
    with_flags(&[], |server, freshet| {
        freshet.stop();
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 10)"]);
        user_of(&mut direct, SCHEMA);
        let before = answer(&mut direct, "SELECT @@GLOBAL.max_connections").expect("it is told").concat();
        run(&mut direct, &["SET GLOBAL max_connections = 4000"]);
        let each = [&ASKED[..0], &ASKED].map(|asked| each_takes(server, asked));
        run(&mut direct, &[&format!("SET GLOBAL max_connections = {}", before[0])]);
        assert!(each.iter().all(|bytes| *bytes <= SILENT_BYTES_MAX), "{each:?} on {:?}", server.flavor);
    });
}

/// How many clients come at once, and how many statements each of them sends.
const CROWDS: usize = 8;
const EACH_CROWD: usize = 40;
const ASKED_EACH: usize = 12;

/// Sends a mix of statements for each client, while all of them are there.
fn crowd(host: &str, port: u16, number: usize) -> Vec<Raw> {
    let dial = |_| {
        let mut raw = Raw::dial(host, port).expect("it greets");
        raw.login(GONE_SCHEMA, GONE_SCHEMA, 0).expect("it is let in");
        raw
    };
    let mut clients: Vec<Raw> = (0..EACH_CROWD).map(dial).collect();
    for asked in 0..ASKED_EACH {
        for (at, raw) in clients.iter_mut().enumerate() {
            let (id, column) = (1 + (at * 7 + asked) % 100, number * EACH_CROWD + at);
            let statement = match asked % 4 {
                0 => format!("SELECT w FROM t WHERE id = {id}"),
                1 => format!("SELECT w, NOW() FROM t WHERE id BETWEEN {id} AND {}", id + 8),
                2 => format!("SELECT id AS c{column}_{asked}, NOW() FROM t WHERE id = {id}"),
                _ => format!("UPDATE t SET v = v + 1 WHERE id = {id}"),
            };
            let packets = raw.query(&statement).expect("it is answered");
            assert_ne!(packets[0][0], 0xff, "{statement}: {packets:?}");
        }
    }
    clients
}

const GONE_SCHEMA: &str = "robust_gone_memory";
/// What the whole process may take without a cache when they have gone, in bytes. 64 MiB are promised; 30 to 40 are seen.
const LEFT_BYTES_MAX: u64 = 48 << 20;

#[test]
fn clients_that_have_gone_leave_little_memory() {
    with_flags(&["--query-cache-size", "0"], |server, freshet| {
        let mut direct = fresh_schema(server, GONE_SCHEMA);
        let rows: Vec<String> = (1..=110).map(|id| format!("({id}, 0, REPEAT('w', 20000))")).collect();
        let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT, w TEXT)", &insert]);
        user_of(&mut direct, GONE_SCHEMA);
        let pid = process_of(&freshet);
        let (host, port) = (&*freshet.target().host, freshet.target().port);
        std::thread::scope(|scope| {
            let crowds: Vec<_> =
                (0..CROWDS).map(|number| scope.spawn(move || crowd(host, port, number))).collect();
            let there: Vec<_> = crowds.into_iter().map(|crowd| crowd.join().expect("it is served")).collect();
            println!("{:?}: {} MiB while they are there", server.flavor, resident_bytes(pid) >> 20);
            drop(there);
        });
        let left = eventually_of(
            "the memory is given back",
            &mut (),
            |()| Some(resident_bytes(pid)).filter(|left| *left <= LEFT_BYTES_MAX),
            |()| format!("{} bytes are left", resident_bytes(pid)),
        );
        println!("{:?}: {} MiB when they have gone", server.flavor, left >> 20);
        freshet.stop();
    });
}
