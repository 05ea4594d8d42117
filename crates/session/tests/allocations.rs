//! How often a session takes memory from the allocator: never for an answer from memory, and so often for one of the server's.
//!
//! Sessions run on the thread that counts, as on an event loop of the program; the client and the follower run on others.
#![allow(clippy::expect_used, clippy::print_stdout)]

use std::cell::{Cell, RefCell};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use freshet_cache::{Cache, Freshness};
use freshet_follow::Upstream;
use freshet_session::auth::{Gate, LoginOptions};
use freshet_session::{SessionOptions, Shared, serve};
use freshet_upstream::UpstreamConfig;
use freshet_upstream::net::Stream;
use mysql::prelude::Queryable as _;
use mysql::{Conn, Opts, OptsBuilder, Statement};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const HITS: u64 = 500;
const MISSES: u64 = 200;
/// What a miss may take of which the form is known and the result is stored.
const ALLOCATIONS_PER_MISS_MAX: u64 = 20;
/// What all hits of a transaction that has written may take: a few of the first ones.
const ALLOCATIONS_OF_WRITER_MAX: u64 = HITS / 10;
/// What preparing a statement from memory, executing it from memory and closing it may take.
const ALLOCATIONS_PER_PREPARATION_MAX: u64 = 4;
/// How often a part is tried.
const ATTEMPTS_MAX: u64 = 500;
/// A statement that takes longer may be one that others wait for, which is more to do for the statements of its form that follow.
const QUICK_MAX: Duration = Duration::from_millis(9);
/// By then what a transaction sees has been followed.
const READABLE_AFTER: Duration = Duration::from_millis(100);
/// Statements by which a form is known.
const KNOWN_BY: u64 = 10;
/// How long a result may take to be stored for the first time.
const WARM_MAX: Duration = Duration::from_secs(30);

#[test]
fn a_hit_allocates_nothing_before_mariadb() {
    before("FRESHET_TEST_MARIADB");
}

#[test]
fn a_hit_allocates_nothing_before_mysql() {
    before("FRESHET_TEST_MYSQL");
}

fn before(variable: &str) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set, and FRESHET_TEST_SERVERS=required");
        return println!("skipped: {variable} is not set");
    };
    let shared = shared(&url);
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let runtime = runtime.expect("an event loop");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let serving = Arc::clone(&shared);
    runtime.spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = Stream::tcp(stream).expect("a client");
            tokio::task::spawn_local(serve(stream, Arc::clone(&serving)));
        }
    });
    let (begin, begins) = mpsc::sync_channel(1);
    let (end, mut ends) = unbounded_channel();
    let client = Client { cache: Arc::clone(&shared.cache), begins, end };
    let client = thread::spawn(move || client.run(&url, port));
    // A part in which not all went as it should, on a machine that is held up, says nothing of what it should cost.
    let mut part = || loop {
        begin.send(()).expect("a client");
        let mut was_whole = false;
        let counted =
            allocation_counter::measure(|| was_whole = runtime.block_on(ends.recv()).expect("a client"));
        if was_whole {
            return counted.count_total;
        }
    };
    part();
    let hits = part();
    let executions = part();
    let per_preparation = part() / HITS;
    let in_transaction = part();
    let per_miss = part() / MISSES;
    client.join().expect("the client's answers");
    println!(
        "{variable}: {hits} allocations in {HITS} hits, {executions} in as many executions, {in_transaction} in as many hits of a transaction that \
         has written, {per_preparation} in a statement that is prepared, executed and closed, {per_miss} in a miss"
    );
    assert_eq!((hits, executions), (0, 0), "allocations in {HITS} hits");
    assert!(in_transaction < ALLOCATIONS_OF_WRITER_MAX, "{in_transaction} allocations in {HITS} hits");
    assert!(
        per_preparation <= ALLOCATIONS_PER_PREPARATION_MAX,
        "{per_preparation} allocations in a preparation"
    );
    assert!(per_miss > 0, "nothing is counted");
    assert!(per_miss <= ALLOCATIONS_PER_MISS_MAX, "{per_miss} allocations in a miss");
}

fn shared(url: &str) -> Arc<Shared> {
    let freshness = Arc::new(Freshness::new());
    let config = UpstreamConfig::from_url(url).expect("a server's URL");
    let upstream = Upstream::start(config, Arc::clone(&freshness)).expect("a follower");
    let cache = Arc::new(Cache::new(freshness, 16 << 20, 1 << 20));
    let gate =
        Gate::new(Arc::clone(upstream.config()), Arc::new(upstream.clone()), None, LoginOptions::default());
    let options = SessionOptions { counts_digests: true, ..SessionOptions::default() }; // As the program has them.
    Arc::new(Shared::new(gate, upstream, cache, options))
}

/// Asks in parts, each when it is told to: until results are stored, hits of several kinds, misses.
struct Client {
    cache: Arc<Cache>,
    begins: mpsc::Receiver<()>,
    end: UnboundedSender<bool>,
}

impl Client {
    fn run(self, url: &str, port: u16) {
        let direct = Opts::from_url(url).expect("a server's URL");
        let through = OptsBuilder::from_opts(direct.clone()).ip_or_hostname(Some("127.0.0.1"));
        let through = through.tcp_port(port).prefer_socket(false).db_name(Some("session_allocations"));
        let through = through.stmt_cache_size(0);
        let mut server = Conn::new(direct).expect("a connection");
        for statement in [
            "CREATE DATABASE IF NOT EXISTS session_allocations",
            "DROP TABLE IF EXISTS session_allocations.t",
            "CREATE TABLE session_allocations.t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO session_allocations.t VALUES (1, 10), (2, 20), (3, 30)",
            "DROP TABLE IF EXISTS session_allocations.w",
            "CREATE TABLE session_allocations.w (id INT PRIMARY KEY, v INT)",
        ] {
            server.query_drop(statement).expect(statement);
        }
        self.begins.recv().expect("the beginning");
        let conn = RefCell::new(Conn::new(through).expect("a connection through us"));
        let ask = |id: u64| {
            let text = format!("SELECT v FROM t WHERE id = {id}");
            conn.borrow_mut().query_drop(text).expect("an answer");
        };
        let execute = |statement: &Statement| {
            conn.borrow_mut().exec_drop(statement, (1,)).expect("an answer");
        };
        let prepare = || conn.borrow_mut().prep("SELECT v FROM t WHERE id = ?").expect("a statement");
        let prepare_and_execute = || {
            let statement = prepare();
            execute(&statement);
            conn.borrow_mut().close(statement).expect("it is closed");
        };
        let kept = prepare();
        let until = Instant::now() + WARM_MAX;
        while self.cache.statistics().hits < HITS {
            assert!(Instant::now() < until, "nothing is stored: {:?}", self.cache.statistics());
            (1..20).for_each(ask);
            execute(&kept);
            prepare_and_execute();
        }
        self.end.send(true).expect("the end");
        self.part((HITS, 0), None, || each(HITS, |_| ask(1)));
        self.part((HITS, 0), None, || each(HITS, |_| execute(&kept)));
        self.part((HITS, 0), None, || each(HITS, |_| prepare_and_execute()));
        let writes = || {
            const EACH_BY_ITSELF: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
            for statement in ["ROLLBACK", EACH_BY_ITSELF, "BEGIN", "INSERT INTO w VALUES (1, 1)"] {
                conn.borrow_mut().query_drop(statement).expect(statement);
            }
            thread::sleep(READABLE_AFTER);
        };
        self.part((HITS, 0), Some(&writes), || each(HITS, |_| ask(1)));
        conn.borrow_mut().query_drop("ROLLBACK").expect("the end of it");
        // A form of its own for each attempt: none of its statements was slow.
        let (form, asked) = (Cell::new(0), Cell::new(0));
        let miss = || {
            asked.set(asked.get() + 1);
            let text = format!("SELECT v AS form{} FROM t WHERE id = {}", form.get(), 1000 + asked.get());
            let begun = Instant::now();
            conn.borrow_mut().query_drop(text).expect("an answer");
            begun.elapsed() < QUICK_MAX
        };
        let another_form = || {
            let is_quick = || {
                form.set(form.get() + 1);
                (0..KNOWN_BY).fold(true, |are_quick, _| miss() & are_quick)
            };
            assert!((0..ATTEMPTS_MAX).any(|_| is_quick()), "the machine is too slow to tell");
        };
        self.part((0, MISSES), Some(&another_form), || {
            (0..MISSES).fold(true, |are_quick, _| miss() & are_quick)
        });
    }

    /// Asks whenever it is told to, until there were so many hits and so many inserts, and all went as it should. `before`: what comes before each attempt,
    /// and does not count.
    fn part(&self, wanted: (u64, u64), before: Option<&dyn Fn()>, ask: impl Fn() -> bool) {
        for _ in 1..ATTEMPTS_MAX {
            if let Some(before) = before {
                self.begins.recv().expect("the beginning");
                before();
                self.end.send(false).expect("the end");
            }
            self.begins.recv().expect("the beginning");
            let before = self.cache.statistics();
            let went_well = ask();
            let after = self.cache.statistics();
            let was_whole = went_well && (after.hits - before.hits, after.inserts - before.inserts) == wanted;
            self.end.send(was_whole).expect("the end");
            if was_whole {
                return;
            }
        }
    }
}

/// Does something so many times.
fn each(times: u64, what: impl Fn(u64)) -> bool {
    (0..times).for_each(what);
    true
}
