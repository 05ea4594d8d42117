//! The client's connection in packets: buffered both ways, in sequence, within bounds.
//!
//! Reading checks the sequence numbers and the size of every packet and takes no memory for what a client only
//! announces. Writing collects: nothing is sent until [`Wire::flush`], so that an answer of many packets is one write.
//!
//! What a client may hold up is bounded in time and memory, both ways ([`crate::bounds`]).
//!
//! Below the packets of a client that has agreed on it is the compressed protocol ([`compressed`]).

mod ahead;
mod compressed;
mod error;
mod incoming;
mod pace;
mod outgoing;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

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

/// What one read asks for, in bytes, and what a buffer has that was never needed larger.
const READ_BYTES: usize = 8 * 1024;
/// A buffer that has grown above this, in bytes, is given back when its connection has nothing in it.
const IDLE_BUFFER_BYTES_MAX: usize = SEND_FREE_BYTES;
/// Answers are sent together until there are so many bytes of them.
const TOGETHER_BYTES_MAX: usize = SEND_FREE_BYTES / 2;

/// One client's connection.
#[derive(Debug)]
pub struct Wire {
    /// `None` only where a TLS handshake failed: it has consumed the stream.
    stream: Option<Stream>,
    peer_uid: Option<u32>,
    read: BytesMut,
    write: BytesMut,
    /// The number of the next packet, read or written: both sides count together.
    seq: u8,
    packet_bytes_max: usize,
    /// What is between the packets and the stream, if anything is.
    compressed: Option<Box<Compressed>>,
    bounds: Arc<Bounds>,
    /// Others end the session by it, also while its client does not read.
    handle: Option<Arc<Handle>>,
    /// For the packet in `read`, or the one that was taken from it last.
    received: Permit,
    pace: Option<Pace>,
    /// For what is in `write`.
    sending: Permit,
    /// The client sends nothing more.
    heard_end: bool,
}

impl Wire {
    /// Packets larger than `packet_bytes_max` are refused from their header, before their bytes arrive. What the client
    /// may hold up is bounded by `bounds`.
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

    /// From now on the session that this handle ends is given up too while its client does not read.
    pub(crate) fn obey(&mut self, handle: &Arc<Handle>) {
        self.handle = Some(Arc::clone(handle));
    }

    /// What bounds this client.
    pub(crate) fn bounds(&self) -> &Arc<Bounds> {
        &self.bounds
    }

    /// Changes the bound, as after login, when `max_allowed_packet` takes the place of what a login may need.
    pub fn set_packet_bytes_max(&mut self, bytes: usize) {
        self.packet_bytes_max = bytes;
    }

    /// The next packet of the exchange under way.
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

    /// The next packet, of a client that has been silent for a while: as long as it is, nothing is kept for what it may send.
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

    /// The next packet if all of it is here already; never waits.
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

    /// Inside of compressed frames only their own numbers count, as for the servers.
    fn numbering(&self) -> Numbering {
        if self.compressed.is_some() { Numbering::Ignored } else { Numbering::Counts }
    }

    /// The first packet of the next command: the numbering starts again, and large buffers are given back first.
    ///
    /// # Errors
    /// As [`Wire::packet`]; [`WireError::Closed`] here is a client that left without saying so.
    pub async fn command(&mut self) -> Result<Packet, WireError> {
        self.begins_command();
        self.packet().await
    }

    fn begins_command(&mut self) {
        self.seq = 0;
        if let Some(compressed) = &mut self.compressed {
            compressed.begin_command();
        }
        self.packet_is_done();
        self.trim();
    }

    /// The next command if all of it is here already, so that its answer can go with those that are put already; `None` also
    /// where these are many. Behind compression answers do not go together: the numbers of their frames follow the command's.
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

    /// Reads once from the client, whatever it sends. Nothing is waited for longer than a packet may take once it has
    /// begun; before that, there is no limit here.
    ///
    /// # Errors
    /// [`WireError::Closed`], [`WireError::Truncated`] or the system's error; within a packet [`WireError::ReadTimeout`]
    /// and [`WireError::NoMemory`].
    pub async fn fill(&mut self) -> Result<(), WireError> {
        let is_between = self.read.is_empty() && self.incoming().is_empty();
        if !is_between {
            // Boxed, since it is rare and large: what a future has room for is moved whenever it is made.
            return Box::pin(self.fill_rest()).await;
        }
        let Some(stream) = &mut self.stream else { return Err(WireError::Closed) };
        let incoming = below(&mut self.read, &mut self.compressed);
        incoming.reserve(READ_BYTES);
        match stream.read_buf(incoming).await? {
            0 => Err(WireError::Closed),
            _ => Ok(()),
        }
    }

    /// What has come and is not yet looked at, packed where the client packs.
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

    /// Whether so many bytes more may be put for a client that may not read them. Small answers always may.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        let (write, sending) = (&self.write, &mut self.sending);
        sending.cover(&self.bounds.send, write.len() + bytes)
    }

    /// The frames not yet sent, to append to, and the number of the next one.
    pub fn out(&mut self) -> (&mut BytesMut, &mut u8) {
        (&mut self.write, &mut self.seq)
    }

    /// Sends what has been put, and tells the client that nothing follows.
    pub async fn close(&mut self) {
        // The client may be gone already; either way nothing more is to be said to it.
        let _ = self.flush().await;
        if let Some(stream) = &mut self.stream {
            let _ = stream.shutdown().await;
        }
    }

    /// Takes the connection over into TLS, as the server. What the client has sent behind its request already belongs
    /// to the TLS handshake: nothing of it is taken for a packet, so that nobody on the way can slip one in.
    ///
    /// # Errors
    /// The system's if the handshake fails; the connection cannot be used any more then.
    pub async fn start_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), WireError> {
        let stream = self.stream.take().ok_or(WireError::Closed)?;
        self.stream = Some(stream.accept_tls(self.read.split(), config).await?);
        Ok(())
    }

    /// Both sides compress from here on, as the login has agreed. To be called when its OK packet is sent.
    pub fn start_compression(&mut self, compression: Compression) {
        self.compressed = Some(Box::new(Compressed::new(compression, self.read.split())));
    }

    /// How the frames around the client's packets are compressed, if they are.
    pub fn compression(&self) -> Option<Compression> {
        self.compressed.as_ref().map(|compressed| compressed.compression())
    }

    /// What the client has sent and is here, whatever packets and numbers it is in: for a connection that carries a stream.
    ///
    /// # Errors
    /// What a compressed frame may have; its number counts for nothing here.
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
        let below = self.compressed.as_mut().map(|below| [&mut below.incoming, &mut below.outgoing]);
        for buffer in [&mut self.read, &mut self.write].into_iter().chain(below.into_iter().flatten()) {
            if buffer.is_empty() && buffer.capacity() > IDLE_BUFFER_BYTES_MAX {
                *buffer = BytesMut::new();
            }
        }
    }

    /// The number of the next packet.
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Sets the number of the next packet, where something else than this type has read or written some.
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Whether nobody on the way can read what is sent: TLS or a unix socket. It is the server's own notion
    /// (`require_secure_transport`), and the one by which clients decide to send a password in clear.
    pub fn is_secure(&self) -> bool {
        self.channel().is_secure()
    }

    /// What the client's connection passes over.
    pub fn channel(&self) -> Channel {
        self.stream.as_ref().map_or(Channel::Clear, Stream::channel)
    }

    /// The TLS that the client has, if it has.
    pub fn tls(&self) -> Option<Tls> {
        self.stream.as_ref().and_then(Stream::tls)
    }

    /// The client's address, and the one that it has connected to, if it came over TCP.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.stream.as_ref().and_then(Stream::ends)
    }

    /// The user id of the client's process, if it came through a unix socket.
    pub fn peer_uid(&self) -> Option<u32> {
        self.peer_uid
    }

    /// The stream, the bytes read from it and not yet taken, and the bytes not yet sent, for relaying. `None` after a
    /// failed TLS handshake, which no admitted client has behind it. Behind compression these are compressed frames.
    pub fn parts(&mut self) -> Option<(&mut Stream, &mut BytesMut, &mut BytesMut)> {
        let stream = self.stream.as_mut()?;
        Some(match &mut self.compressed {
            None => (stream, &mut self.read, &mut self.write),
            Some(compressed) => (stream, &mut compressed.incoming, &mut compressed.outgoing),
        })
    }

    /// Bytes this connection's buffers hold on to.
    pub fn memory(&self) -> usize {
        let below = self.compressed.as_ref();
        let below = below.map_or(0, |below| below.incoming.capacity() + below.outgoing.capacity());
        self.read.capacity() + self.write.capacity() + below
    }
}

/// The buffer that is read into.
fn below<'a>(read: &'a mut BytesMut, compressed: &'a mut Option<Box<Compressed>>) -> &'a mut BytesMut {
    compressed.as_mut().map_or(read, |compressed| &mut compressed.incoming)
}

fn peer_uid(stream: &Stream) -> Option<u32> {
    match stream {
        Stream::Unix(unix) => Some(unix.peer_cred().ok()?.uid()),
        _ => None,
    }
}

// A header is what `buffered` needs to judge a packet, and one read always has room for it.
const _: () = assert!(READ_BYTES > HEADER_LEN);
