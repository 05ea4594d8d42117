//! The floor: a server that reads a packet and writes a ready answer. No server answers at less cost. The cost of another server above
//! the floor is its own work.

pub mod answers;

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::thread;

use bytes::BytesMut;
use freshet_protocol::{FrameHeader, HEADER_LEN};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Socket, Type};

use crate::target::Failure;
use answers::Answers;

/// The bytes that one read asks for.
const READ_BYTES: usize = 64 * 1024;
/// The most events that are taken at once.
const EVENTS_MAX: usize = 256;
/// The clients that may wait to be accepted, for each thread.
const BACKLOG: i32 = 1024;
const LISTENER: Token = Token(0);

/// Serves on `address` with so many threads, until the process is ended.
pub fn serve(address: SocketAddr, threads: u32) -> Result<(), Failure> {
    let serving: Vec<_> = (0..threads)
        .map(|_| {
            let listener = listener(address)?;
            Ok(thread::spawn(move || Floor::new(listener)?.run()))
        })
        .collect::<Result<_, Failure>>()?;
    for thread in serving {
        thread.join().map_err(|_| "a thread has panicked")??;
    }
    Ok(())
}

/// Returns a listener. Each thread has its own, and the system distributes the clients over them.
fn listener(address: SocketAddr) -> Result<TcpListener, Failure> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

struct Client {
    stream: TcpStream,
    read: Vec<u8>,
    is_in: bool,
}

struct Floor {
    poll: Poll,
    listener: TcpListener,
    clients: HashMap<Token, Client>,
    met: usize,
    answers: Answers,
    buffer: Vec<u8>,
}

impl Floor {
    fn new(mut listener: TcpListener) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let answers = Answers::new();
        Ok(Self { poll, listener, clients: HashMap::new(), met: 0, answers, buffer: vec![0; READ_BYTES] })
    }

    fn run(mut self) -> std::io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            self.poll.poll(&mut events, None)?;
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    token => self.serve(token),
                }
            }
        }
    }

    fn accept(&mut self) -> std::io::Result<()> {
        while let Ok((mut stream, _)) = self.listener.accept() {
            stream.set_nodelay(true)?;
            self.met += 1;
            let token = Token(self.met);
            self.poll.registry().register(&mut stream, token, Interest::READABLE)?;
            let _ = stream.write(&self.answers.greeting);
            self.clients.insert(token, Client { stream, read: Vec::new(), is_in: false });
        }
        Ok(())
    }

    fn serve(&mut self, token: Token) {
        let Some(client) = self.clients.get_mut(&token) else { return };
        if client.answer(&mut self.buffer, &self.answers).is_none() {
            self.clients.remove(&token);
        }
    }
}

impl Client {
    /// Reads once, and answers each complete packet; `None` if the client is gone, or does not read.
    fn answer(&mut self, buffer: &mut [u8], answers: &Answers) -> Option<()> {
        loop {
            let read = match self.stream.read(buffer) {
                Ok(0) => return None,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(()),
                Err(_) => return None,
            };
            self.read.extend_from_slice(buffer.get(..read)?);
            let (mut at, mut made) = (0, BytesMut::new());
            while let Some(header) = FrameHeader::parse(self.read.get(at..)?) {
                let start = at + HEADER_LEN;
                let Some(payload) = self.read.get(start..start + header.len) else { break };
                let answer = if self.is_in { answers.to(payload, &mut made) } else { &answers.let_in };
                self.is_in = true;
                if self.stream.write(answer).ok()? < answer.len() {
                    return None;
                }
                at = start + header.len;
            }
            self.read.drain(..at);
            // A read that does not fill the buffer was the last one.
            if read < buffer.len() {
                return Some(());
            }
        }
    }
}
