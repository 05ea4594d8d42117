//! What a client costs that is there and says nothing.

use std::time::Duration;

use freshet_tests::cached::{answer, caught_up, fresh_schema, run, user_of};
use freshet_tests::raw::Raw;
use freshet_tests::resident_bytes;
use rustix::process::{Resource, getrlimit};

use super::{process_of, with_flags};

const SCHEMA: &str = "robust_idle_memory";
const FEW: usize = 500;
const MANY: usize = 1_500;
/// What one may take, in bytes: 16 KiB, and something for what the allocator keeps of the commotion before. Those who ask make more of it.
const SILENT_BYTES_MAX: u64 = (16 << 10) + (4 << 10);
const ASKED_BYTES_MAX: u64 = 2 * (16 << 10);
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
        assert!(each[0] <= SILENT_BYTES_MAX && each[1] <= ASKED_BYTES_MAX, "{each:?} on {:?}", server.flavor);
    });
}
