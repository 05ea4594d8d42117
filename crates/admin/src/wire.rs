//! Packets over a connection.

use bytes::BytesMut;
use freshet_protocol::{put_packet, take_packet};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest packet that a client may send, in bytes.
const PACKET_BYTES_MAX: usize = 16 << 20;
/// The bytes that one read asks for.
const READ_BYTES: usize = 16 * 1024;

/// The connection is over.
#[derive(Debug)]
pub struct ConnectionOver;

impl From<std::io::Error> for ConnectionOver {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// Packets over a connection.
pub struct Wire<S> {
    stream: S,
    input: BytesMut,
    output: BytesMut,
    seq: u8,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, input: BytesMut::new(), output: BytesMut::new(), seq: 0 }
    }

    /// Returns the buffer for packets, and the number of the next packet.
    pub fn out(&mut self) -> (&mut BytesMut, &mut u8) {
        (&mut self.output, &mut self.seq)
    }

    pub fn put(&mut self, payload: &[u8]) {
        put_packet(&mut self.output, &mut self.seq, payload);
    }

    pub async fn flush(&mut self) -> Result<(), ConnectionOver> {
        self.stream.write_all_buf(&mut self.output).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads the next packet; the answer is numbered behind it.
    pub async fn packet(&mut self) -> Result<BytesMut, ConnectionOver> {
        loop {
            match take_packet(&mut self.input, PACKET_BYTES_MAX) {
                Ok(Some(packet)) => {
                    self.seq = packet.last_seq.wrapping_add(1);
                    return Ok(packet.payload);
                }
                Ok(None) => {}
                Err(_) => return Err(ConnectionOver),
            }
            self.input.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(ConnectionOver);
            }
        }
    }
}
