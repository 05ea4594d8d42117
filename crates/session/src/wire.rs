//! The client's connection in packets: buffered both ways, in sequence, within bounds.
//!
//! Reading checks the sequence numbers and the size of every packet, and takes no memory for bytes that a client only
//! announces. Writing collects: nothing is sent until [`Wire::flush`], so that an answer of many packets is one write.
//!
//! The time and memory that a client may hold up are bounded, both ways ([`crate::bounds`]).
//!
//! If the client has agreed on it, the compressed protocol is below the packets ([`compressed`]).

// Errors.
mod error;

// Packets that arrive, and packets that leave.
mod incoming;
mod pace;
mod ahead;
mod outgoing;

// The compressed protocol below the packets.
mod compressed;

#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use freshet_protocol::{
    Compression, FrameError, FrameHeader, HEADER_LEN, Numbering, Packet, put_packet, take_packet_numbered,
};
use freshet_upstream::Channel;
use freshet_upstream::net::{Stream, Tls};
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) use self::ahead::Heard;
use self::compressed::Compressed;
pub use self::error::WireError;
use self::pace::Pace;
use crate::bounds::{Bounds, Permit, SEND_FREE_BYTES};
use crate::registry::Handle;
/// The client's stream is of the same kind as the server's: TCP or a unix socket, plain or under TLS.
pub use freshet_upstream::net::Stream as ClientStream;

/// How many bytes one read asks for; also the size of a buffer that was never needed larger.
const READ_BYTES: usize = 8 * 1024;
/// A buffer larger than this, in bytes, is given back when it is empty.
const IDLE_BUFFER_BYTES_MAX: usize = 2 * READ_BYTES;
/// Answers are sent together until they have this many bytes.
const TOGETHER_BYTES_MAX: usize = SEND_FREE_BYTES / 2;

/// One client's connection.
#[derive(Debug)]
pub struct Wire {
    /// `None` only after a failed TLS handshake, which has consumed the stream.
    stream: Option<Stream>,
    peer_uid: Option<u32>,
    read: BytesMut,
    write: BytesMut,
    /// The number of the next packet, read or written: both sides count together.
    seq: u8,
    packet_bytes_max: usize,
    /// The layer between the packets and the stream, if there is one.
    compressed: Option<Box<Compressed>>,
    bounds: Arc<Bounds>,
    /// Ends the session from elsewhere, also while its client does not read.
    handle: Option<Arc<Handle>>,
    /// The permit for the packet in `read`, or the one that was taken from it last.
    received: Permit,
    pace: Option<Pace>,
    /// The permit for the bytes in `write`.
    sending: Permit,
    /// The client sends nothing more.
    heard_end: bool,
}

impl Wire {
    /// Packets larger than `packet_bytes_max` are refused by their header, before their bytes arrive. `bounds` limit what the client
    /// may hold up.
    pub fn new(stream: Stream, packet_bytes_max: usize, bounds: &Arc<Bounds>) -> Self {
        Self {
            peer_uid: peer_uid(&stream),
            stream: Some(stream),
            read: BytesMut::new(),
            write: BytesMut::new(),
            seq: 0,
            packet_bytes_max,
            compressed: None,
            bounds: Arc::clone(bounds),
            handle: None,
            received: Permit::default(),
            pace: None,
            sending: Permit::default(),
            heard_end: false,
        }
    }

    /// Ends the wait for a client that does not read when this handle ends the session.
    pub(crate) fn obey(&mut self, handle: &Arc<Handle>) {
        self.handle = Some(Arc::clone(handle));
    }

    /// Returns the bounds of this client.
    pub(crate) fn bounds(&self) -> &Arc<Bounds> {
        &self.bounds
    }

    /// Changes the bound, for example after the login, when `max_allowed_packet` replaces the bound of logins.
    pub fn set_packet_bytes_max(&mut self, bytes: usize) {
        self.packet_bytes_max = bytes;
    }

    /// Returns the next packet of the exchange under way.
    ///
    /// # Errors
    /// [`WireError::Closed`] if the client has gone between two packets, [`WireError::Truncated`] within one,
    /// [`WireError::OutOfOrder`] and [`WireError::TooLarge`] for what the client must not send.
    pub async fn packet(&mut self) -> Result<Packet, WireError> {
        loop {
            if let Some(packet) = self.buffered()? {
                return Ok(packet);
            }
            self.fill().await?;
        }
    }

    /// Returns the next packet of a client that has been silent for a while: meanwhile no buffers are kept for it.
    ///
    /// # Errors
    /// As [`Wire::packet`].
    pub(crate) async fn packet_after_rest(&mut self) -> Result<Packet, WireError> {
        if self.read.is_empty() && self.incoming().is_empty() && self.write.is_empty() {
            self.begins_command();
            (self.read, self.write) = (BytesMut::new(), BytesMut::new());
            if let Some(compressed) = &mut self.compressed {
                (compressed.incoming, compressed.outgoing) = (BytesMut::new(), BytesMut::new());
            }
            if let Some(stream) = &self.stream {
                stream.readable().await?;
            }
        }
        self.packet().await
    }

    /// Returns the next packet if all of it has arrived; never waits.
    ///
    /// # Errors
    /// As [`Wire::packet`].
    pub fn buffered(&mut self) -> Result<Option<Packet>, WireError> {
        loop {
            let taken = self.take()?;
            let Some(compressed) = self.compressed.as_mut().filter(|_| taken.is_none()) else {
                return Ok(taken);
            };
            if !compressed.unpack(&mut self.read, self.packet_bytes_max)? {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> Result<Option<Packet>, WireError> {
        let numbering = self.numbering();
        if let Some(header) = FrameHeader::parse(&self.read)
            && header.seq != self.seq
            && numbering == Numbering::Counts
        {
            return Err(WireError::OutOfOrder);
        }
        let taken = take_packet_numbered(&mut self.read, self.packet_bytes_max, numbering);
        let taken = taken.map_err(|error| match error {
            FrameError::TooLarge { len, max } => WireError::TooLarge { len, max },
            FrameError::OutOfOrder => WireError::OutOfOrder,
        })?;
        if let Some(packet) = &taken {
            self.seq = packet.last_seq.wrapping_add(1);
        }
        Ok(taken)
    }

    /// Inside of compressed frames only the frames' own numbers count, as on the servers.
    fn numbering(&self) -> Numbering {
        if self.compressed.is_some() { Numbering::Ignored } else { Numbering::Counts }
    }

    /// Returns the first packet of the next command: the numbering starts again, and large buffers are given back first.
    ///
    /// # Errors
    /// As [`Wire::packet`]; [`WireError::Closed`] here is a client that left without saying so.
    pub async fn command(&mut self) -> Result<Packet, WireError> {
        self.begins_command();
        self.packet().await
    }

    /// Begins the next command: see [`Wire::command`].
    pub(crate) fn begins_command(&mut self) {
        self.seq = 0;
        if let Some(compressed) = &mut self.compressed {
            compressed.begin_command();
        }
        self.packet_is_done();
        self.trim();
    }

    /// Returns the next command if all of it has arrived, so that its answer can be sent together with the earlier ones; `None` also
    /// if these have many bytes. With compression answers are not sent together: the numbers of their frames follow the command's.
    ///
    /// # Errors
    /// As [`Wire::packet`].
    pub(crate) fn command_at_hand(&mut self) -> Result<Option<Packet>, WireError> {
        if self.compressed.is_some() || self.received.is_held() || self.write.len() > TOGETHER_BYTES_MAX {
            return Ok(None);
        }
        self.seq = 0;
        self.take()
    }

    /// Reads once from the client, whatever it sends. Once a packet has begun, the wait is limited to the time for a packet;
    /// before that, there is no limit here.
    ///
    /// # Errors
    /// [`WireError::Closed`], [`WireError::Truncated`] or the system's error; within a packet [`WireError::ReadTimeout`]
    /// and [`WireError::NoMemory`].
    pub async fn fill(&mut self) -> Result<(), WireError> {
        if !self.is_between_packets() {
            // Boxed, since it is rare and large: the room of a future is moved whenever it is made.
            return Box::pin(self.fill_rest()).await;
        }
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    /// Like [`Wire::fill`] between two packets, polled by hand.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WireError>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(WireError::Closed)) };
        let incoming = below(&mut self.read, &mut self.compressed);
        incoming.reserve(READ_BYTES);
        Poll::Ready(match ready!(pin!(stream.read_buf(incoming)).poll(cx)) {
            Ok(0) => Err(WireError::Closed),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }

    /// Polls for the next command, after [`Wire::begins_command`]. `None`: a packet has begun to arrive, and [`Wire::packet`] waits for the
    /// rest of it.
    ///
    /// # Errors
    /// As [`Wire::command`].
    pub(crate) fn poll_command(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Packet>, WireError>> {
        if self.is_between_packets() {
            ready!(self.poll_fill(cx))?;
        }
        Poll::Ready(self.buffered())
    }

    fn is_between_packets(&self) -> bool {
        self.read.is_empty() && self.incoming().is_empty()
    }

    /// Returns the bytes that have arrived and are not yet parsed; compressed if the client compresses.
    fn incoming(&self) -> &BytesMut {
        self.compressed.as_ref().map_or(&self.read, |compressed| &compressed.incoming)
    }

    /// Appends one packet, cut into frames and numbered.
    pub fn put(&mut self, payload: &[u8]) {
        put_packet(&mut self.write, &mut self.seq, payload);
    }

    /// Appends whole frames as they are; `next_seq` is the number that follows theirs.
    pub fn put_frames(&mut self, frames: &[u8], next_seq: u8) {
        self.write.extend_from_slice(frames);
        self.seq = next_seq;
    }

    /// Whether this many more bytes may be put for a client that may not read them. Small answers always may.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        let (write, sending) = (&self.write, &mut self.sending);
        sending.cover(&self.bounds.send, write.len() + bytes)
    }

    /// Returns the frames that are not yet sent, to append to, and the number of the next one.
    pub fn out(&mut self) -> (&mut BytesMut, &mut u8) {
        (&mut self.write, &mut self.seq)
    }

    /// Sends what has been put, and tells the client that nothing follows.
    pub async fn close(&mut self) {
        // The client may be gone already; in any case this was the last message.
        let _ = self.flush().await;
        if let Some(stream) = &mut self.stream {
            let _ = stream.shutdown().await;
        }
    }

    /// Changes the connection to TLS, as the server side. Bytes that the client has sent after its request already belong
    /// to the TLS handshake: none of them counts as a packet, so that nobody on the way can slip one in.
    ///
    /// # Errors
    /// The system's if the handshake fails; the connection cannot be used any more then.
    pub async fn start_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), WireError> {
        let stream = self.stream.take().ok_or(WireError::Closed)?;
        self.stream = Some(stream.accept_tls(self.read.split(), config).await?);
        Ok(())
    }

    /// Begins compression in both directions, as the login has agreed. Called when its OK packet is sent.
    pub fn start_compression(&mut self, compression: Compression) {
        self.compressed = Some(Box::new(Compressed::new(compression, self.read.split())));
    }

    /// Returns the compression of the frames around the client's packets, if there is one.
    pub fn compression(&self) -> Option<Compression> {
        self.compressed.as_ref().map(|compressed| compressed.compression())
    }

    /// Returns the bytes that the client has sent, whatever packets they belong to: for a connection that carries a stream.
    ///
    /// # Errors
    /// Errors of a compressed frame; its number does not matter here.
    pub fn streamed(&mut self) -> Result<BytesMut, WireError> {
        if let Some(compressed) = &mut self.compressed {
            compressed.accept_number();
            while compressed.unpack(&mut self.read, self.packet_bytes_max)? {
                compressed.accept_number();
            }
        }
        Ok(self.read.split())
    }

    /// Gives the memory of a large packet back. Kept small buffers cost less than allocating them again.
    pub fn trim(&mut self) {
        trim(&mut self.read);
        trim(&mut self.write);
        if let Some(below) = &mut self.compressed {
            trim(&mut below.incoming);
            trim(&mut below.outgoing);
        }
    }

    /// Returns the number of the next packet.
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Sets the number of the next packet, after other code has read or written some.
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Whether nobody on the way can read the sent bytes: TLS or a unix socket. The server uses the same notion
    /// (`require_secure_transport`), and clients use it to decide whether to send a password in clear.
    pub fn is_secure(&self) -> bool {
        self.channel().is_secure()
    }

    /// Returns the channel of the client's connection.
    pub fn channel(&self) -> Channel {
        self.stream.as_ref().map_or(Channel::Clear, Stream::channel)
    }

    /// Returns the client's TLS, if it has one.
    pub fn tls(&self) -> Option<Tls> {
        self.stream.as_ref().and_then(Stream::tls)
    }

    /// Returns the client's address, and the address that it has connected to, if it came over TCP.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.stream.as_ref().and_then(Stream::ends)
    }

    /// Returns the user id of the client's process, if it came through a unix socket.
    pub fn peer_uid(&self) -> Option<u32> {
        self.peer_uid
    }

    /// Returns the stream, the bytes read from it and not yet taken, and the bytes not yet sent, for relaying. `None` after a
    /// failed TLS handshake, which no admitted client has. With compression these are compressed frames.
    pub fn parts(&mut self) -> Option<(&mut Stream, &mut BytesMut, &mut BytesMut)> {
        let stream = self.stream.as_mut()?;
        Some(match &mut self.compressed {
            None => (stream, &mut self.read, &mut self.write),
            Some(compressed) => (stream, &mut compressed.incoming, &mut compressed.outgoing),
        })
    }

    /// Returns how many bytes this connection's buffers hold.
    pub fn memory(&self) -> usize {
        let below = self.compressed.as_ref();
        let below = below.map_or(0, |below| below.incoming.capacity() + below.outgoing.capacity());
        self.read.capacity() + self.write.capacity() + below
    }
}

fn trim(buffer: &mut BytesMut) {
    if buffer.is_empty() && buffer.capacity() > IDLE_BUFFER_BYTES_MAX {
        *buffer = BytesMut::new();
    }
}

/// Returns the buffer that is read into.
fn below<'a>(read: &'a mut BytesMut, compressed: &'a mut Option<Box<Compressed>>) -> &'a mut BytesMut {
    compressed.as_mut().map_or(read, |compressed| &mut compressed.incoming)
}

fn peer_uid(stream: &Stream) -> Option<u32> {
    match stream {
        Stream::Unix(unix) => Some(unix.peer_cred().ok()?.uid()),
        _ => None,
    }
}

// `buffered` needs a header to judge a packet, and one read always has room for it.
const _: () = assert!(READ_BYTES > HEADER_LEN);
