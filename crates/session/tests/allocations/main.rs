//! How often a session takes memory from the allocator: never for an answer from memory, and so often for one of the server's.
//!
//! Sessions run on the thread that counts, as on an event loop of the program; the client and the follower run on others.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod alone;
mod carried;
mod client;
mod secured;

use std::sync::{Arc, mpsc};
use std::thread;

use freshet_cache::{Cache, Freshness};
use freshet_follow::Upstream;
use freshet_session::auth::{Gate, LoginOptions};
use freshet_session::{Multiplexing, SessionOptions, Shared, serve};
use freshet_upstream::UpstreamConfig;
use freshet_upstream::net::Stream;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::unbounded_channel;

use client::{Attempt, Client};

#[test]
fn a_session_allocates_no_more_than_it_has_to_before_mariadb() {
    before("FRESHET_TEST_MARIADB");
}

#[test]
fn a_session_allocates_no_more_than_it_has_to_before_mysql() {
    before("FRESHET_TEST_MYSQL");
}

fn before(variable: &str) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set, and FRESHET_TEST_SERVERS=required");
        return println!("skipped: {variable} is not set");
    };
    counts(&shared(&url, Multiplexing::On, None), &url, alone::ask);
    counts(&shared(&url, Multiplexing::Always, None), &url, carried::ask);
    counts(&shared(&url, Multiplexing::On, Some(secured::server_config())), &url, secured::ask);
}

/// How often a part may allocate more than allowed, one attempt after the other. The end of earlier work, on a machine that is held up, may
/// fall into one attempt. What a question itself allocates is in every attempt.
const EXCESSES_MAX: u64 = 5;

/// Serves a client that `ask`s in parts, and counts the allocations of each part.
fn counts(shared: &Arc<Shared>, url: &str, ask: fn(&Client)) {
    let (runtime, port) = serving(shared);
    let (begin, begins) = mpsc::sync_channel(1);
    let (accept, accepted) = mpsc::channel();
    let (end, mut ends) = unbounded_channel();
    let client =
        Client { cache: Arc::clone(&shared.cache), url: url.to_owned(), port, begins, end, accepted };
    let client = thread::spawn(move || ask(&client));
    let name = thread::current().name().unwrap_or_default().to_owned();
    let (mut all, mut too_many, mut excesses) = (0, Vec::new(), 0);
    while begin.send(()).is_ok() {
        let mut attempt = None;
        let counted = allocation_counter::measure(|| attempt = runtime.block_on(ends.recv()));
        match attempt {
            // An attempt in which not all went as it should, on a machine that is held up, tells nothing.
            Some(Attempt::Void) => {}
            Some(Attempt::Whole(part)) => {
                let count = counted.count_total;
                println!("{name}: {count} allocations in {} {}", part.asks, part.what);
                all += count;
                excesses += u64::from(count > part.allocations_max);
                let is_accepted = count <= part.allocations_max || excesses == EXCESSES_MAX;
                if is_accepted {
                    too_many.extend((count > part.allocations_max).then_some((part, count)));
                    excesses = 0;
                }
                accept.send(is_accepted).expect("a client");
            }
            None => break,
        }
    }
    client.join().expect("the client's answers");
    assert!(all > 0, "nothing is counted");
    assert!(too_many.is_empty(), "more allocations than allowed: {too_many:?}");
}

/// Returns an event loop on which clients are served, and the port where they come in.
fn serving(shared: &Arc<Shared>) -> (LocalRuntime, u16) {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let runtime = runtime.expect("an event loop");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let shared = Arc::clone(shared);
    runtime.spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = Stream::tcp(stream).expect("a client");
            tokio::task::spawn_local(serve(stream, Arc::clone(&shared)));
        }
    });
    (runtime, port)
}

fn shared(url: &str, multiplexing: Multiplexing, tls: Option<Arc<ServerConfig>>) -> Arc<Shared> {
    let freshness = Arc::new(Freshness::new());
    let config = UpstreamConfig::from_url(url).expect("a server's URL");
    let upstream = Upstream::start(config, Arc::clone(&freshness)).expect("a follower");
    let cache = Arc::new(Cache::new(freshness, 16 << 20, 1 << 20));
    let gate =
        Gate::new(Arc::clone(upstream.config()), Arc::new(upstream.clone()), tls, LoginOptions::default());
    // As the program has them.
    let options = SessionOptions { counts_digests: true, multiplexing, ..SessionOptions::default() };
    Arc::new(Shared::new(gate, upstream, cache, options))
}
