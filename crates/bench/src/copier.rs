//! A proxy that only copies: it sends the commands of all its clients over two connections, one behind the other, and reads no more of an
//! answer than where it ends. No proxy that stands in the same place costs less: what another one costs above it is its own work.
//!
//! It lets everybody in, and mixes the sessions of all clients. So it is good for statements that concern no session, and for nothing
//! else.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;

use freshet_protocol::{Command, FrameHeader, HEADER_LEN};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::answer::{Step, Walk};
use crate::floor::answers::Answers;
use crate::login;
use crate::target::{Account, Failure, Target};
use crate::wire::Wire;

/// The connections to the server. Two, so that the server has work while the answers of one of them are handed out.
const LANES: usize = 2;
/// The bytes that one read of a client asks for.
const READ_BYTES: usize = 16 * 1024;

/// One connection to the server.
#[derive(Default)]
struct Lane {
    unsent: RefCell<Vec<u8>>,
    /// Whose answers come, in their order.
    waiting: RefCell<VecDeque<Rc<TcpStream>>>,
    wake: Notify,
}

/// Serves on `address` in front of a server, until the process is ended.
///
/// # Errors
/// If the address cannot be used, or the server lets nobody in.
pub async fn serve(address: SocketAddr, account: &Account, server: &Target) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await?;
    let mut lanes = Vec::new();
    for _ in 0..LANES {
        let (lane, wire) = (Rc::new(Lane::default()), login::open(account, server, &account.database).await?);
        lanes.push(Rc::clone(&lane));
        tokio::task::spawn_local(async move {
            // Its clients wait for ever then, which a measurement does not overlook.
            let _ = lane.drive(wire).await;
        });
    }
    let (lanes, answers) = (Rc::new(lanes), Rc::new(Answers::new()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::task::spawn_local(client(Rc::new(stream), Rc::clone(&lanes), Rc::clone(&answers)));
    }
}

/// Serves a client until it leaves.
async fn client(stream: Rc<TcpStream>, lanes: Rc<Vec<Rc<Lane>>>, answers: Rc<Answers>) -> Option<()> {
    put(&stream, &answers.greeting)?;
    let (mut read, mut is_in) = (Vec::new(), false);
    loop {
        stream.readable().await.ok()?;
        read.reserve(READ_BYTES);
        match stream.try_read_buf(&mut read) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        }
        let mut at = 0;
        while let Some(header) = FrameHeader::parse(read.get(at..)?) {
            let end = at + HEADER_LEN + header.len;
            let Some(frame) = read.get(at..end) else { break };
            let is_quit = frame.get(HEADER_LEN) == Some(&Command::Quit.byte());
            match is_in {
                false => put(&stream, &answers.let_in)?,
                true if is_quit => return None,
                true => lanes.iter().min_by_key(|lane| lane.waiting.borrow().len())?.carry(frame, &stream),
            }
            (is_in, at) = (true, end);
        }
        read.drain(..at);
    }
}

/// Sends what a client is to get; `None` if it does not read.
fn put(stream: &TcpStream, bytes: &[u8]) -> Option<()> {
    (stream.try_write(bytes).ok()? == bytes.len()).then_some(())
}

impl Lane {
    fn carry(&self, frame: &[u8], client: &Rc<TcpStream>) {
        self.waiting.borrow_mut().push_back(Rc::clone(client));
        let mut unsent = self.unsent.borrow_mut();
        if unsent.is_empty() {
            self.wake.notify_one();
        }
        unsent.extend_from_slice(frame);
    }

    /// Sends commands, and hands the answers out.
    async fn drive(&self, mut wire: Wire) -> Result<(), Failure> {
        let (mut walk, mut walked) = (Walk::default(), 0);
        loop {
            tokio::select! {
                biased;
                () = self.wake.notified() => {
                    let unsent = self.unsent.take();
                    wire.send_raw(&unsent).await?;
                }
                read = wire.fill() => {
                    read?;
                    self.hand_out(&mut wire, &mut walk, &mut walked)?;
                }
            }
        }
    }

    /// Gives each complete answer to its client. `walked`: how many bytes of the first answer have been walked.
    fn hand_out(&self, wire: &mut Wire, walk: &mut Walk, walked: &mut usize) -> Result<(), Failure> {
        let buffer = wire.buffer();
        loop {
            let rest = buffer.get(*walked..).unwrap_or_default();
            let end = match walk.step(rest) {
                Step::More(more) => {
                    *walked += more;
                    return Ok(());
                }
                Step::End(end) => *walked + end,
                Step::Err(at) => {
                    let header =
                        rest.get(at..).and_then(FrameHeader::parse).ok_or("an error without a header")?;
                    *walked + at + HEADER_LEN + header.len
                }
            };
            let client = self.waiting.borrow_mut().pop_front().ok_or("an answer to nothing")?;
            let answer = buffer.split_to(end);
            // A client that does not read, or has left, harms nobody else.
            let _ = put(&client, &answer);
            (*walk, *walked) = (Walk::default(), 0);
        }
    }
}
