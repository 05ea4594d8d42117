//! A Freshet that hears of every change late: its binlog stream, and nothing else, is held up on the way.
//!
//! A write that was not fenced is then seen by the next reader for certain, and not in one of twenty runs, because the
//! event that would make up for it is still under way.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Freshet, Server, server};

/// How late events come: long beside a statement, short beside the heartbeats without which nothing is cached.
pub const LAG: Duration = Duration::from_millis(60);
/// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
const DUMPS: [u8; 2] = [0x12, 0x1e];
/// Bytes read at once.
const CHUNK: usize = 65_536;

/// Runs a test against every server there is, with a Freshet of its own before it whose stream lags.
pub fn with_each_late(test: impl Fn(&Server, &Freshet)) {
    for server in server::all() {
        let port = relay(format!("{}:{}", server.target.host, server.target.port));
        let target = &server.target;
        // What is encrypted cannot be told apart.
        let url = format!("mysql://{}:{}@127.0.0.1:{port}/?ssl-mode=disabled", target.user, target.password);
        let freshet = Freshet::before(&Server { url, ..server.clone() });
        test(&server, &freshet);
        freshet.stop();
    }
}

/// Takes connections to a server, for as long as the tests run.
fn relay(upstream: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            if let Ok(server) = TcpStream::connect(&upstream) {
                let _ = client.set_nodelay(true);
                let _ = server.set_nodelay(true);
                carry(client, server);
            }
        }
    });
    port
}

fn carry(client: TcpStream, server: TcpStream) {
    let is_stream = Arc::new(AtomicBool::new(false));
    let (late, events) = channel();
    let (from, to) = (client.try_clone().expect("cloned"), server.try_clone().expect("cloned"));
    let asked = Arc::clone(&is_stream);
    thread::spawn(move || ask(from, to, &asked));
    thread::spawn(move || hold(server, &late, &is_stream));
    thread::spawn(move || deliver(client, &events));
}

fn ask(mut from: TcpStream, mut to: TcpStream, is_stream: &AtomicBool) {
    let mut bytes = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if count > 4 && bytes[3] == 0 && DUMPS.contains(&bytes[4]) {
            is_stream.store(true, Ordering::Relaxed);
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Reads at once, so that no sender is slowed down, and says when the bytes are due.
fn hold(mut from: TcpStream, late: &Sender<(Instant, Vec<u8>)>, is_stream: &AtomicBool) {
    let mut bytes = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let lag = if is_stream.load(Ordering::Relaxed) { LAG } else { Duration::ZERO };
        if late.send((Instant::now() + lag, bytes[..count].to_vec())).is_err() {
            break;
        }
    }
}

fn deliver(mut to: TcpStream, events: &Receiver<(Instant, Vec<u8>)>) {
    for (due, bytes) in events {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
