//! A way to a server on which the binlog stream can be held up or cut, as a slow network or a busy machine would.
//!
//! It passes bytes on between Freshet and the server, without TLS so that it can tell the connection on which the stream was
//! asked for. What the server sends on that one comes late if it is to, and waits while it is held, and only that one is
//! cut; all others go on.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::Failure;

/// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
const DUMPS: [u8; 2] = [0x12, 0x1e];
/// A packet's header: length, and number 0 of a command.
const HEADER: usize = 4;
/// Bytes that are passed on at once.
const CHUNK: usize = 64 << 10;
/// Between two looks at whether the stream is still held.
const PAUSE: Duration = Duration::from_millis(1);
/// An order to the relay is answered within this.
const ANSWER_SECONDS_MAX: u64 = 10;

/// Such a way. Its threads end with their connections.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Where it takes connections.
    pub address: SocketAddr,
    streams: Arc<Streams>,
}

/// The connections on which a stream was asked for, and what is to become of them.
#[derive(Debug, Default)]
struct Streams {
    /// What they bring comes so much later.
    lag: Duration,
    are_held: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Streams {
    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Opens a way to a server, given as `host:port`.
    ///
    /// # Errors
    /// If there is no port to be had.
    pub fn before(server: String) -> io::Result<Self> {
        Self::late(server, Duration::ZERO)
    }

    /// The same, on which the stream is late by so much at least.
    ///
    /// # Errors
    /// If there is no port to be had.
    pub fn late(server: String, lag: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let streams = Streams { lag, ..Streams::default() };
        let relay = Self { address: listener.local_addr()?, streams: Arc::new(streams) };
        let streams = Arc::clone(&relay.streams);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Where the server is away, the client's connection ends, as it would there.
                if let Ok(upstream) = TcpStream::connect(&server) {
                    let _ = join(client, upstream, &streams);
                }
            }
        });
        Ok(relay)
    }

    /// Holds the stream up, until [`Self::release`].
    pub fn hold(&self) {
        self.streams.are_held.store(true, Ordering::SeqCst);
    }

    /// Lets everything through that has waited.
    pub fn release(&self) {
        self.streams.are_held.store(false, Ordering::SeqCst);
    }

    /// Breaks the connections of all streams; says how many there were.
    #[must_use]
    pub fn cut(&self) -> usize {
        let streams = std::mem::take(&mut *self.streams.open());
        streams.iter().filter(|stream| stream.shutdown(Shutdown::Both).is_ok()).count()
    }

    /// Obeys whoever connects: each line is an order, and each is answered by a line with a number. Who holds the stream up
    /// and goes away has let it go.
    ///
    /// # Errors
    /// When no more connections can be taken.
    pub fn obey(&self, orders: &TcpListener) -> io::Result<()> {
        loop {
            let (master, _) = orders.accept()?;
            let relay = self.clone();
            thread::spawn(move || {
                let mut is_held = false;
                let _ = relay.obey_one(&master, &mut is_held);
                if is_held {
                    relay.release();
                }
            });
        }
    }

    fn obey_one(&self, mut master: &TcpStream, is_held: &mut bool) -> io::Result<()> {
        for order in BufReader::new(master.try_clone()?).lines() {
            let count = match order?.as_str() {
                "hold" => {
                    *is_held = true;
                    self.hold();
                    self.streams.open().len()
                }
                "release" => {
                    *is_held = false;
                    self.release();
                    0
                }
                "cut" => self.cut(),
                unknown => return Err(io::Error::other(format!("{unknown} is no order"))),
            };
            writeln!(master, "{count}")?;
        }
        Ok(())
    }
}

fn join(client: TcpStream, upstream: TcpStream, streams: &Arc<Streams>) -> io::Result<()> {
    let (from_client, from_upstream, to_be_cut) =
        (client.try_clone()?, upstream.try_clone()?, client.try_clone()?);
    let _ = (client.set_nodelay(true), upstream.set_nodelay(true));
    let is_stream = Arc::new(AtomicBool::new(false));
    let (seen, of_all) = (Arc::clone(&is_stream), Arc::clone(streams));
    let mut to_be_cut = Some(to_be_cut);
    thread::spawn(move || {
        pass(from_client, upstream, |bytes| {
            if asks_for_a_stream(bytes) {
                seen.store(true, Ordering::SeqCst);
                let mut open = of_all.open();
                // There is one stream at a time: what came before it has ended.
                open.retain(|stream| stream.peer_addr().is_ok());
                open.extend(to_be_cut.take());
            }
        });
    });
    let of_all = Arc::clone(streams);
    thread::spawn(move || {
        pass(from_upstream, client, |_| {
            if is_stream.load(Ordering::SeqCst) {
                thread::sleep(of_all.lag);
            }
            while is_stream.load(Ordering::SeqCst) && of_all.are_held.load(Ordering::SeqCst) {
                thread::sleep(PAUSE);
            }
        });
    });
    Ok(())
}

fn asks_for_a_stream(bytes: &[u8]) -> bool {
    bytes.get(HEADER - 1) == Some(&0) && bytes.get(HEADER).is_some_and(|command| DUMPS.contains(command))
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut before: impl FnMut(&[u8])) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        before(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // Both ways end, as with a connection that breaks.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

/// Who gives orders to a relay in another process.
#[derive(Debug)]
pub struct Orders(BufReader<TcpStream>);

impl Orders {
    /// Takes command, until this is dropped.
    ///
    /// # Errors
    /// When no relay is there.
    pub fn to(relay: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(relay)?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Holds the stream up; the number of streams that are held.
    ///
    /// # Errors
    /// When the relay is gone.
    pub fn hold(&mut self) -> Result<usize, Failure> {
        self.give("hold")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When the relay is gone.
    pub fn release(&mut self) -> Result<(), Failure> {
        self.give("release").map(|_| ())
    }

    /// Breaks it; the number of streams that were broken.
    ///
    /// # Errors
    /// When the relay is gone.
    pub fn cut(&mut self) -> Result<usize, Failure> {
        self.give("cut")
    }

    fn give(&mut self, order: &str) -> Result<usize, Failure> {
        writeln!(self.0.get_mut(), "{order}")?;
        let mut answer = String::new();
        self.0.read_line(&mut answer)?;
        Ok(answer.trim().parse()?)
    }
}

#[cfg(test)]
mod tests;
