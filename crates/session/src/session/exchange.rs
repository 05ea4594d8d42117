//! One exchange with the server: a command is sent, its answer is read, and the server is told if nobody waits for the answer any more.
//!
//! Freshet follows and copies the bytes of an answer as it reads them (`relay.rs`), and sends them to the client as fast as the client
//! reads. Reading does not wait for the client until [`AHEAD_BYTES_MAX`] are unsent, or until the budget that all clients share has no more
//! room. From then on a client that does not read holds the server up, for as long as the client may (`crate::bounds`).

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Command, ErrPacket, FRAME_MAX, FrameHeader, Malformed, put_packet};
use freshet_sql::Effects;
use freshet_upstream::net::Stream;
use freshet_upstream::{Connection, Error, Rows};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use super::{Flow, Lease, Session, split};
use crate::bounds::Bounds;
use crate::counters::{self, Count};
use crate::registry::{Ending, Handle};
use crate::relay::{Filter, Lost, Relay, RelayStep, Relayed};
use crate::wire::{Heard, Wire, WireError};

/// How many bytes are collected for the client before they are sent: an answer of many small rows takes few writes.
const FLUSH_AT_BYTES: usize = 32 * 1024;
/// How many bytes are read ahead while the client does not read.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// How many bytes one read from the server asks for.
const READ_BYTES: usize = 32 * 1024;
/// How long the server may take to end a connection that it has killed.
const KILLED_WAIT_MAX: Duration = Duration::from_secs(10);
/// The largest packet, in bytes, that is copied before it is sent.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

impl Lease {
    /// Sends a command in one write, and before it the statements `before`, which get answers of their own.
    ///
    /// # Errors
    /// The server's connection is lost.
    async fn send(&mut self, before: &[String], payload: &[u8]) -> Result<(), Lost> {
        self.note_sends(before);
        let mut frames = std::mem::take(&mut self.scratch);
        frames.clear();
        for sql in before {
            let statement = [&query_prefix(self.has_attributes()), sql.as_bytes()].concat();
            put_packet(&mut frames, &mut 0, &statement);
        }
        let (stream, _) = self.connection()?.parts();
        let sent = send(stream, &mut frames, payload).await;
        self.scratch = frames;
        sent.map_err(Lost::Upstream)
    }

    /// Sends a command of Freshet's own that gets no answer.
    ///
    /// # Errors
    /// The server's connection is lost.
    pub(super) async fn tell(&mut self, payload: &[u8]) -> Result<(), Lost> {
        self.send(&[], payload).await
    }

    /// Sends statements of Freshet's own in one write. The caller reads an answer to each.
    ///
    /// # Errors
    /// The server's connection is lost.
    pub(super) async fn send_all(&mut self, statements: &[String]) -> Result<(), Lost> {
        let Some((last, before)) = statements.split_last() else { return Ok(()) };
        self.note_asks(last);
        self.send(before, &[&query_prefix(self.has_attributes()), last.as_bytes()].concat()).await
    }

    /// Reads the answer that `relay` follows. The answer passes to the client; without a wire it is dropped. The last bytes stay in
    /// the client's buffer, and the caller flushes them. The server does not delay a session that `handle` ends.
    ///
    /// # Errors
    /// [`Lost`]; the connections are useless then.
    pub(crate) async fn answer(
        &mut self,
        relay: &mut Relay<'_>,
        wire: Option<&mut Wire>,
        handle: &Handle,
    ) -> Result<(), Lost> {
        let (connection, handle) = (self.connection()?, Some(handle));
        Receiving { connection, wire, handle, backpressure: Backpressure::default() }.run(relay).await
    }
}

impl Lease {
    /// Reads an answer that the client is not to see.
    ///
    /// # Errors
    /// As [`Lease::answer`].
    pub(super) async fn unseen_answer(&mut self, command: Command, handle: &Handle) -> Result<Relayed, Lost> {
        let capabilities = self.capabilities();
        let filter = Filter { capabilities, begun: None, told: None, schema: "" };
        let mut relay = Relay::new(&filter, command, capabilities);
        self.answer(&mut relay, None, handle).await?;
        Ok(relay.finish())
    }

    /// Asks a question of Freshet's own, as [`Lease::ask`]. The server does not delay a session that `handle` ends.
    ///
    /// # Errors
    /// As [`Lease::ask`]. If the session has ended, the connection is lost.
    pub(super) async fn ask_unless_ended(&mut self, sql: &str, handle: &Handle) -> Result<Rows, Error> {
        let asked = unless_killed(handle, self.ask(sql)).await;
        asked.unwrap_or_else(|| {
            self.lose();
            Err(Error::Closed)
        })
    }

    /// Undoes what `init_connect` has done on the connection, as far as COM_RESET_CONNECTION does. The prepared statements are still to be made
    /// there. The server does not delay a session that `handle` ends.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn is_reset(&mut self, handle: &Handle) -> Result<(), Error> {
        let reset = match self.connection() {
            Ok(connection) => unless_killed(handle, connection.reset()).await.unwrap_or(Err(Error::Closed)),
            Err(_) => Err(Error::Closed),
        };
        if let Err(error) = reset {
            self.lose();
            return Err(error);
        }
        self.note_beginning_undone();
        Ok(())
    }

    /// Reads the answer to a question of Freshet's own that was sent with other statements, whose answers have been read before.
    ///
    /// # Errors
    /// As [`Lease::answer`]. The inner error is the server's refusal.
    pub(super) async fn next_answer(&mut self, handle: &Handle) -> Result<Result<Rows, ErrPacket>, Lost> {
        match unless_killed(handle, self.connection()?.read_next_answer()).await {
            Some(Ok(rows)) => Ok(Ok(rows)),
            Some(Err(Error::Server(refusal))) => Ok(Err(refusal)),
            Some(Err(error)) => Err(Lost::Upstream(std::io::Error::other(error))),
            None => Err(Lost::Client(WireError::Ended)),
        }
    }
}

impl Session {
    /// Sends a command of Freshet's own, and reads the answer, which the client does not see. If the session's set-up is due, sends that
    /// first.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn exchange_unseen(&mut self, payload: &[u8]) -> Result<Relayed, Lost> {
        self.send_behind(&[], payload).await?;
        self.finish_tracking().await?;
        self.lease.unseen_answer(split(payload).0, &self.handle).await
    }

    /// Sends a command, and before it the session's set-up, if that is due, and these statements. The caller reads the answers.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn send_behind(&mut self, statements: &[String], payload: &[u8]) -> Result<(), Lost> {
        let tracking = self.due_tracking();
        if statements.is_empty() {
            return self.write_command(payload, tracking.as_slice()).await;
        }
        let before: Vec<String> = tracking.into_iter().chain(statements.iter().cloned()).collect();
        self.write_command(payload, &before).await
    }

    /// Passes on a command that gets no answer.
    pub(crate) async fn forward_silently(&mut self, payload: &[u8]) -> Result<Flow, Lost> {
        self.lease.note_command(split(payload).0, &Effects::none(), &[]);
        self.write_command(payload, &[]).await?;
        Ok(Flow::Continue)
    }

    /// Writes one command and the statements before it in one write.
    async fn write_command(&mut self, payload: &[u8], before: &[String]) -> Result<(), Lost> {
        self.shared.counters.add(Count::Forwarded);
        self.shared.counters.add_many(Count::BytesSent, payload.len());
        self.handle.begins();
        let sent = unless_killed(&self.handle, self.lease.send(before, payload)).await;
        sent.unwrap_or(Err(Lost::Client(WireError::Ended)))
    }

    /// Asks the server a question of Freshet's own on the session's connection. The question leaves its row count and warnings behind.
    ///
    /// # Errors
    /// The server refuses, the session has ended, or the connection is lost or not open.
    pub(crate) async fn ask(&mut self, sql: &str) -> Result<Rows, Error> {
        self.lease.ask_unless_ended(sql, &self.handle).await
    }
}

/// Follows an answer that no client waits for, and copies it if `relay` has a copy to make.
///
/// # Errors
/// [`Lost`]; the connection is useless then.
pub(crate) async fn follow(connection: &mut Connection, relay: &mut Relay<'_>) -> Result<(), Lost> {
    Receiving { connection, wire: None, handle: None, backpressure: Backpressure::default() }.run(relay).await
}

/// An answer that is being read.
struct Receiving<'a> {
    connection: &'a mut Connection,
    wire: Option<&'a mut Wire>,
    /// The session's; `None` for an answer of no session.
    handle: Option<&'a Handle>,
    backpressure: Backpressure,
}

impl Receiving<'_> {
    async fn run(mut self, relay: &mut Relay<'_>) -> Result<(), Lost> {
        loop {
            let out = self.wire.as_mut().map(|wire| wire.out().0);
            match relay.follow(self.connection.parts().1, out)? {
                RelayStep::Last => {
                    self.connection.trim();
                    return Ok(());
                }
                RelayStep::Infile { seq } => {
                    self.infile(seq).await?;
                    relay.infile_done();
                }
                RelayStep::NeedMore => {
                    if self.is_held_up() {
                        relay.is_held_up();
                    }
                    self.read_on().await?;
                }
            }
        }
    }

    /// Whether the client is far behind the bytes that are read for it.
    fn is_held_up(&mut self) -> bool {
        let backpressure = &self.backpressure;
        self.wire.as_mut().is_some_and(|wire| {
            wire.out().0.len() >= FLUSH_AT_BYTES
                && backpressure.stalled.is_some()
                && !backpressure.may_read_ahead(wire)
        })
    }

    /// Reads more of the answer, and meanwhile sends the bytes that have been collected for the client, if they are many.
    async fn read_on(&mut self) -> Result<(), Lost> {
        let unsent = self.wire.as_mut().map_or(0, |wire| wire.out().0.len());
        match &mut self.wire {
            Some(wire) if unsent >= FLUSH_AT_BYTES => {
                let (stream, buffer) = self.connection.parts();
                self.backpressure.read_on(stream, buffer, wire).await
            }
            _ => self.wait().await,
        }
    }

    /// Waits for more of the answer, and meanwhile for the client to leave. A client that sends nothing more may still
    /// read: Freshet hangs up in the same way towards the server, and the server does what it does for its own clients (it ends waits
    /// such as SLEEP and GET_LOCK, and goes on with everything else).
    async fn wait(&mut self) -> Result<(), Lost> {
        loop {
            let (stream, buffer) = self.connection.parts();
            let listening = self.wire.as_mut().filter(|wire| wire.is_listening());
            let (heard, bounds) = tokio::select! {
                biased;
                read = fill(stream, buffer) => return read,
                heard = overheard(listening) => heard,
                () = ended(self.handle) => return Err(Lost::Client(WireError::Ended)),
            };
            match heard {
                Ok(Heard::More) => {}
                Ok(Heard::End) => {
                    counters::count(&bounds.vanished);
                    self.cancel();
                }
                Err(error) => {
                    counters::count(&bounds.vanished);
                    return Err(Lost::Client(error));
                }
            }
        }
    }

    /// Tells the server that nobody waits for the answer. If that fails, the connection is over, and the next read reports that.
    fn cancel(&mut self) {
        let _ = self.connection.parts().0.hang_up();
    }

    /// LOAD DATA LOCAL: the server asks for a file. Passes the client's packets to the server until the empty packet.
    async fn infile(&mut self, seq: u8) -> Result<(), Lost> {
        let Some(wire) = &mut self.wire else {
            return Err(Malformed { what: "LOCAL INFILE without a client" }.into());
        };
        wire.flush().await?;
        // A client that compresses numbers its packets differently from the server.
        let mut seq = seq.wrapping_add(1);
        wire.set_seq(seq);
        let mut frames = BytesMut::new();
        let mut has_spoken = false;
        loop {
            // Between two packets the server's time limit holds. The server may report an error early; the client still goes on
            // to the end of its file.
            let (stream, buffer) = self.connection.parts();
            let packet = tokio::select! {
                biased;
                packet = wire.packet() => packet?,
                read = stream.read_buf(buffer), if !has_spoken => {
                    filled(read)?;
                    has_spoken = true;
                    continue;
                }
                () = ended(self.handle) => return Err(Lost::Client(WireError::Ended)),
            };
            frames.clear();
            put_packet(&mut frames, &mut seq, &packet.payload);
            stream.write_all(&frames).await.map_err(Lost::Upstream)?;
            if packet.payload.is_empty() {
                return stream.flush().await.map_err(Lost::Upstream);
            }
        }
    }
}

/// How far a client holds up the bytes that are read for it.
#[derive(Default)]
struct Backpressure {
    /// Since when the client has taken nothing while the server is read.
    stalled: Option<Instant>,
}

impl Backpressure {
    /// Sends the bytes that are owed to the client, and reads on meanwhile if that is allowed. Returns when either is done.
    async fn read_on(
        &mut self,
        stream: &mut Stream,
        buffer: &mut BytesMut,
        wire: &mut Wire,
    ) -> Result<(), Lost> {
        let unsent = wire.out().0.len();
        // Most clients take all bytes at once, and nothing is reserved for them.
        if let Some(sent) = at_once(wire.flush()).await {
            self.stalled = None;
            return Ok(sent?);
        }
        if !self.may_read_ahead(wire) {
            return Ok(wire.flush().await?);
        }
        let read = tokio::select! {
            biased;
            sent = wire.flush() => {
                self.stalled = None;
                return Ok(sent?);
            }
            read = fill(stream, buffer) => read,
        };
        let has_taken = wire.out().0.len() < unsent;
        self.stalled = self.stalled.filter(|_| !has_taken).or_else(|| Some(Instant::now()));
        read
    }

    /// Whether more may be read while the client has not taken the bytes that are there. If a client has taken nothing for its whole time,
    /// only the client is waited for, so that its time runs out however slowly the server goes on.
    fn may_read_ahead(&self, wire: &mut Wire) -> bool {
        let patience = wire.bounds().net_write_timeout;
        let has_time = self.stalled.is_none_or(|since| since.elapsed() < patience);
        let out = wire.out().0;
        let (unsent, more) = (out.len(), growth(out, READ_BYTES));
        has_time && unsent < AHEAD_BYTES_MAX && wire.has_room(more)
    }
}

/// Returns the output that a future has without waiting. The future must be safe to drop.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        })
    })
    .await
}

/// Returns by how much a buffer's memory exceeds its content when the buffer takes `bytes` more: the buffer doubles.
fn growth(buffer: &BytesMut, bytes: usize) -> usize {
    let (len, capacity) = (buffer.len(), buffer.capacity());
    if len + bytes <= capacity { capacity - len } else { bytes.max(2 * capacity - len) }
}

/// Listens to a client, if there is one to listen to.
async fn overheard(wire: Option<&mut &mut Wire>) -> (Result<Heard, WireError>, Arc<Bounds>) {
    match wire {
        Some(wire) => (wire.overhear().await, Arc::clone(wire.bounds())),
        None => pending().await,
    }
}

/// Waits until the session, if there is one, has ended and the server need not be waited for any more.
async fn ended(handle: Option<&Handle>) {
    match handle {
        Some(handle) => killed(handle).await,
        None => pending().await,
    }
}

/// Returns the output of a future, or `None` if the session has ended and the server need not be waited for any more.
pub(super) async fn unless_killed<T>(handle: &Handle, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = killed(handle) => None,
    }
}

/// Waits until the session has ended and the server need not be waited for any more.
async fn killed(handle: &Handle) {
    if handle.ends(Ending::Cut).await == Ending::Cut {
        tokio::time::sleep(KILLED_WAIT_MAX).await;
    }
}

/// Reads from the server once it has sent something. Until then no memory is taken: of many clients that wait, each would hold a buffer.
async fn fill(stream: &mut Stream, buffer: &mut BytesMut) -> Result<(), Lost> {
    poll_fn(|cx| stream.poll_read_ready(cx)).await;
    buffer.reserve(READ_BYTES);
    filled(stream.read_buf(buffer).await)
}

/// Judges a read from the server: the end of the stream is an error.
fn filled(read: std::io::Result<usize>) -> Result<(), Lost> {
    match read {
        Ok(0) => Err(Lost::Upstream(std::io::ErrorKind::UnexpectedEof.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(Lost::Upstream(error)),
    }
}

/// Sends `frames`, and a packet after them.
async fn send(stream: &mut Stream, frames: &mut BytesMut, payload: &[u8]) -> std::io::Result<()> {
    if payload.len() > SCRATCH_BYTES_MAX {
        stream.write_all(frames).await?;
        return send_large(stream, payload).await;
    }
    put_packet(frames, &mut 0, payload);
    stream.write_all(frames).await?;
    stream.flush().await
}

/// Sends a packet frame by frame without a copy.
async fn send_large(stream: &mut Stream, payload: &[u8]) -> std::io::Result<()> {
    let end = payload.len().is_multiple_of(FRAME_MAX).then_some(&[][..]);
    for (seq, piece) in payload.chunks(FRAME_MAX).chain(end).enumerate() {
        let header = FrameHeader { len: piece.len(), seq: seq as u8 };
        stream.write_all(&header.encode()).await?;
        stream.write_all(piece).await?;
    }
    stream.flush().await
}

/// Returns the start of a COM_QUERY packet: the command and, if agreed on, no attributes.
pub(crate) fn query_prefix(attributes: bool) -> Vec<u8> {
    if attributes { vec![Command::Query.byte(), 0, 1] } else { vec![Command::Query.byte()] }
}

// A packet that is parsed as a whole is one frame: no report of the server on a session is larger.
const _: () = assert!(FRAME_MAX > FLUSH_AT_BYTES);

#[cfg(test)]
mod tests;
