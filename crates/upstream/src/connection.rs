//! One connection to the server, and the packets on it.

mod dial;
mod login;
mod query;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Capabilities, Command, Greeting, Packet, put_packet, take_packet};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::channel::Channel;
use crate::error::Error;
use crate::net::Stream;

pub use dial::{Dialled, MAX_PACKET_SIZE};
pub use query::{ANSWER_BYTES_MAX, Answered, Row, Rows};

/// The largest packet of a handshake, in bytes: the packets of a handshake are small.
pub const HANDSHAKE_PACKET_BYTES_MAX: usize = 1 << 20;
/// The bytes by which the read buffer grows when a packet is not complete.
const READ_BYTES: usize = 16 << 10;
/// How long a farewell may take; it is not worth waiting for.
const QUIT_TIMEOUT: Duration = Duration::from_millis(200);

/// A connection to the server that is logged in.
///
/// It does not reconnect, retry or time out by itself: a failure other than [`Error::Server`]
/// leaves it unusable, and its owner drops it.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    read: BytesMut,
    /// The sequence number of the next packet in either direction.
    seq: u8,
    capabilities: Capabilities,
    greeting: Greeting,
    /// [`Connection::query`] was used since the login.
    queried: bool,
}

impl Connection {
    /// Makes a connection whose login is over.
    #[cfg(test)]
    pub(crate) fn over(stream: tokio::net::UnixStream, greeting: Greeting) -> Self {
        let (stream, capabilities) = (Stream::Unix(stream), greeting.capabilities);
        Self { stream, read: BytesMut::new(), seq: 0, capabilities, greeting, queried: false }
    }

    /// Returns what both sides have agreed to.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Returns the server's number for this connection, as KILL and the process list know it.
    pub fn thread_id(&self) -> u32 {
        self.greeting.connection_id
    }

    /// Returns the greeting, in which the server described itself.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Returns the transport of the connection.
    pub fn channel(&self) -> Channel {
        self.stream.channel()
    }

    /// Whether nobody can read what is sent.
    pub fn is_secure(&self) -> bool {
        self.channel().is_secure()
    }

    /// Whether TLS is in use.
    pub fn is_tls(&self) -> bool {
        self.channel() == Channel::Tls
    }

    /// Whether [`Self::query`] was used since the login: such a question changes the row count of the session.
    pub fn was_queried(&self) -> bool {
        self.queried
    }

    /// Whether the server has sent nothing unasked. A server that ends a connection says so, or closes it.
    pub async fn is_quiet(&mut self) -> bool {
        let Self { stream, read, .. } = self;
        let mut heard = pin!(stream.read_buf(read));
        std::future::poll_fn(|context| Poll::Ready(heard.as_mut().poll(context).is_pending())).await
    }

    /// Waits until the server says something that nobody asked for, or closes the connection.
    pub fn poll_unasked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.stream.poll_read_ready(cx) {
            Poll::Pending => Poll::Pending,
            // In all cases (the server spoke, closed or failed), the connection is over.
            Poll::Ready(()) => pin!(self.stream.read_buf(&mut self.read)).poll(cx).map(drop),
        }
    }

    /// Gives the buffer back, if there is nothing in it: for a connection that is not used for a while.
    pub fn trim(&mut self) {
        if self.read.is_empty() {
            self.read = BytesMut::new();
        }
    }

    /// Returns the bytes that have been read and not yet used.
    pub fn heard(&self) -> &[u8] {
        &self.read
    }

    /// Returns the stream, and the bytes that have been read from it and not yet used, for a caller that relays frames and counts the
    /// sequence numbers itself.
    pub fn parts(&mut self) -> (&mut Stream, &mut BytesMut) {
        (&mut self.stream, &mut self.read)
    }

    /// Reads the next logical packet, at most `bytes_max` long, and sets the sequence number
    /// behind it.
    ///
    /// Cancelling the returned future loses nothing: the bytes that were read stay in the buffer.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the stream, [`Error::Frame`] for a packet too large.
    pub async fn read_packet(&mut self, bytes_max: usize) -> Result<Packet, Error> {
        loop {
            if let Some(packet) = take_packet(&mut self.read, bytes_max)? {
                self.seq = packet.last_seq.wrapping_add(1);
                return Ok(packet);
            }
            self.read.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(Error::Closed);
            }
        }
    }

    /// As [`Self::read_packet`], for an answer whose first packet must have the expected number.
    async fn read_in_order(&mut self, bytes_max: usize) -> Result<Packet, Error> {
        let expected = self.seq;
        let packet = self.read_packet(bytes_max).await?;
        if packet.first_seq != expected {
            return Err(Error::Frame(format!(
                "sequence number {} where {expected} was due",
                packet.first_seq
            )));
        }
        Ok(packet)
    }

    /// Writes bytes that already are frames.
    ///
    /// # Errors
    /// If the connection broke.
    pub async fn write(&mut self, frames: &[u8]) -> Result<(), Error> {
        self.stream.write_all(frames).await?;
        Ok(self.stream.flush().await?)
    }

    /// Frames one packet with the next sequence number and writes it.
    async fn write_packet(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut frames = BytesMut::with_capacity(payload.len() + freshet_protocol::HEADER_LEN);
        put_packet(&mut frames, &mut self.seq, payload);
        self.write(&frames).await
    }

    /// Starts a command: the payload is its byte and its arguments.
    ///
    /// # Errors
    /// If the connection broke.
    pub async fn send_command(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.seq = 0;
        self.write_packet(payload).await
    }

    /// Says goodbye, so that the server does not count an aborted connection.
    pub async fn quit(mut self) {
        let farewell = async {
            let _ = self.send_command(&[Command::Quit.byte()]).await;
            let _ = self.stream.shutdown().await;
        };
        let _ = tokio::time::timeout(QUIT_TIMEOUT, farewell).await;
    }
}

/// Runs a future within a time limit.
pub async fn within<T>(
    limit: Duration,
    doing: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(Error::TimedOut { doing, limit }))
}

#[cfg(test)]
mod tests;
