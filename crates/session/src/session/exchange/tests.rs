use std::sync::Arc;
use std::time::Duration;

use freshet_upstream::{UpstreamConfig, control};
use tokio::net::UnixStream;

use super::*;
use crate::bounds::{Bounds, Limits, Permit};
use crate::registry::Registry;
use crate::relay::Filter;

/// More than the sockets of a test hold, and less than that plus what is read ahead.
const ANSWER_BYTES: usize = 900 << 10;
/// If a client is to be given up, that happens soon.
const PATIENCE: Duration = Duration::from_millis(200);

fn impatient() -> Limits {
    Limits { net_write_timeout: PATIENCE, ..Limits::default() }
}

/// A client that does not read, and the server's end and ours of a connection to it.
struct Setting {
    wire: Wire,
    bounds: Arc<Bounds>,
    _client: UnixStream,
    server: UnixStream,
    stream: Stream,
}

fn setting(limits: Limits) -> Setting {
    let bounds = Arc::new(Bounds::new(&limits));
    let (ours, client) = UnixStream::pair().unwrap();
    let (stream, server) = UnixStream::pair().unwrap();
    let wire = Wire::new(Stream::Unix(ours), 1 << 20, &bounds);
    Setting { wire, bounds, _client: client, server, stream: Stream::Unix(stream) }
}

impl Setting {
    /// Reads on until this many bytes have been read.
    async fn read(&mut self, bytes: usize) -> (usize, Result<(), Lost>) {
        let (mut backpressure, mut buffer, mut read) = (Backpressure::default(), BytesMut::new(), 0);
        self.wire.put(&[0; FLUSH_AT_BYTES]);
        while read < bytes {
            let done = backpressure.read_on(&mut self.stream, &mut buffer, &mut self.wire).await;
            read += buffer.len();
            self.wire.put(&buffer.split());
            if done.is_err() {
                return (read, done);
            }
        }
        (read, Ok(()))
    }

    /// Makes the server send this many bytes, in this many pieces.
    fn sends(&mut self, bytes: usize, pieces: usize, pause: Duration) {
        let (mut server, _) = UnixStream::pair().unwrap();
        std::mem::swap(&mut server, &mut self.server);
        tokio::spawn(async move {
            for _ in 0..pieces {
                server.write_all(&vec![1; bytes / pieces]).await.unwrap();
                tokio::time::sleep(pause).await;
            }
            std::future::pending::<()>().await;
        });
    }
}

fn is_given_up(done: &Result<(), Lost>) -> bool {
    matches!(done, Err(Lost::Client(WireError::WriteTimeout)))
}

#[tokio::test]
async fn the_server_is_read_although_the_client_does_not_read() {
    let mut setting = setting(Limits::default());
    setting.sends(ANSWER_BYTES, 1, Duration::ZERO);
    let (read, done) = setting.read(ANSWER_BYTES).await;
    assert!(done.is_ok() && read == ANSWER_BYTES);
    assert!(setting.bounds.send.used() > 0);
}

#[tokio::test]
async fn no_more_is_read_on_than_may_be() {
    let mut setting = setting(impatient());
    setting.sends(64 << 20, 1, Duration::ZERO);
    let (read, done) = setting.read(64 << 20).await;
    assert!(is_given_up(&done));
    assert!(read < 4 * AHEAD_BYTES_MAX, "{read}");
    assert_eq!(setting.bounds.send.used(), 0);
}

#[tokio::test]
async fn nothing_is_read_on_where_there_is_no_room_for_it() {
    let mut setting = setting(Limits { send_bytes_max: 1 << 20, ..impatient() });
    let mut others = Permit::default();
    assert!(others.cover(&setting.bounds.send, 1 << 20));
    setting.sends(ANSWER_BYTES, 1, Duration::ZERO);
    let (read, done) = setting.read(ANSWER_BYTES).await;
    assert!(is_given_up(&done) && read < ANSWER_BYTES);
    assert_eq!(setting.bounds.send.used(), 1 << 20);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_given_up_however_slowly_the_server_goes_on() {
    let mut setting = setting(impatient());
    // More than its socket holds.
    setting.wire.put(&vec![0; 512 << 10]);
    setting.sends(100 << 10, 100 << 10, PATIENCE / 20);
    let read = tokio::time::timeout(100 * PATIENCE, setting.read(100 << 10)).await;
    let (read, done) = read.expect("it is never given up");
    assert!(is_given_up(&done));
    assert!(read < 1 << 10, "{read}");
}

/// A statement under way at a server, and what ends its session. Without the server the test is skipped, unless
/// FRESHET_TEST_SERVERS is `required`.
fn ended_at(variable: &str) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set, and FRESHET_TEST_SERVERS=required");
        return println!("skipped: {variable} is not set");
    };
    let config = UpstreamConfig::from_url(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut lease = Lease::as_new(Some(control::connect(&config).await.unwrap()));
        let handle = Registry::default().handle(b"u".to_vec(), None, 0);
        let capabilities = lease.capabilities();
        let filter = Filter { capabilities, begun: None, told: None, schema: "" };
        let relay = || Relay::new(&filter, Command::Query, capabilities);
        let query = |sql: &str| [&query_prefix(false), sql.as_bytes()].concat();
        lease.send(&["DO 1".to_owned()], &query("SELECT 2")).await.unwrap();
        for _ in 0..2 {
            let mut relay = relay();
            lease.answer(&mut relay, None, &handle).await.unwrap();
            assert!(relay.finish().error.is_none());
        }
        lease.send(&[], &query("SELECT SLEEP(1000)")).await.unwrap();
        handle.end(Ending::Drain);
        let mut unheard = relay();
        let answer = tokio::time::timeout(PATIENCE, lease.answer(&mut unheard, None, &handle)).await;
        assert!(answer.is_err(), "what is drained is waited for");
        let ((), answer) =
            tokio::join!(async { handle.end(Ending::Now) }, lease.answer(&mut unheard, None, &handle));
        assert!(matches!(answer, Err(Lost::Client(WireError::Ended))));
        // A question of Freshet's own is no exception.
        let mut lease = Lease::as_new(Some(control::connect(&config).await.unwrap()));
        let handle = Registry::default().handle(b"u".to_vec(), None, 0);
        let asked = lease.ask_unless_ended("SELECT SLEEP(1000)", &handle);
        let asked = async { tokio::join!(async { handle.end(Ending::Now) }, asked).1 };
        let asked = tokio::time::timeout(PATIENCE, asked).await.expect("the server is not waited for");
        assert!(matches!(asked, Err(Error::Closed)) && lease.is_lost());
    });
}

#[test]
fn a_session_that_is_ended_does_not_wait_for_mariadb() {
    ended_at("FRESHET_TEST_MARIADB");
}

#[test]
fn a_session_that_is_ended_does_not_wait_for_mysql() {
    ended_at("FRESHET_TEST_MYSQL");
}
