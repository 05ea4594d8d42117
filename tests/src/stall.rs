//! A way to a server on which the binlog stream can be held up, as a slow network or a busy machine would.
//!
//! It passes bytes on between Freshet and the server, without TLS so that it can tell the connection on which the stream was
//! asked for. What the server sends on that one waits while it is held; all others go on.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::Server;

/// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
const DUMPS: [u8; 2] = [0x12, 0x1e];
/// A packet's header: length, and number 0 of a command.
const HEADER: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);

/// Such a way. Its threads end with their connections.
#[derive(Debug)]
pub struct Stall {
    /// The server, reached this way.
    pub url: String,
    held: Arc<AtomicBool>,
}

impl Stall {
    /// Opens a way to a server.
    ///
    /// # Panics
    /// If there is no port to be had.
    pub fn before(server: &Server) -> Stall {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let held = Arc::new(AtomicBool::new(false));
        let address = (server.target.host.clone(), server.target.port);
        let for_all = Arc::clone(&held);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(upstream) = TcpStream::connect((address.0.as_str(), address.1)) {
                    connect(client, upstream, &for_all);
                }
            }
        });
        let (user, password) = (&server.target.user, &server.target.password);
        Stall { url: format!("mysql://{user}:{password}@127.0.0.1:{port}/?ssl-mode=disabled"), held }
    }

    /// Holds the stream up, until [`Self::release`].
    pub fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    /// Lets everything through that has waited.
    pub fn release(&self) {
        self.held.store(false, Ordering::SeqCst);
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.release();
    }
}

fn connect(client: TcpStream, upstream: TcpStream, held: &Arc<AtomicBool>) {
    let (Ok(from_client), Ok(from_upstream)) = (client.try_clone(), upstream.try_clone()) else { return };
    let _ = (client.set_nodelay(true), upstream.set_nodelay(true));
    let is_stream = Arc::new(AtomicBool::new(false));
    let (seen, held) = (Arc::clone(&is_stream), Arc::clone(held));
    thread::spawn(move || {
        pass(from_client, upstream, |bytes| {
            let asks = bytes.get(HEADER - 1) == Some(&0)
                && bytes.get(HEADER).is_some_and(|command| DUMPS.contains(command));
            if asks {
                seen.store(true, Ordering::SeqCst);
            }
        });
    });
    thread::spawn(move || {
        pass(from_upstream, client, |_| {
            while is_stream.load(Ordering::SeqCst) && held.load(Ordering::SeqCst) {
                thread::sleep(PAUSE);
            }
        });
    });
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut before: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read) = from.read(&mut buffer) {
        before(&buffer[..read]);
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
