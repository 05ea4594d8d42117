//! One connection: a socket, what has been read of it, and what is to be written.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use freshet_protocol::{Packet, put_packet, take_packet};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::args::{Address, Failure};

/// The largest packet that is expected while logging in.
const PACKET_BYTES_MAX: usize = 1 << 20;

/// Either kind of socket.
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Connects.
    pub async fn connect(address: &Address) -> io::Result<Socket> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Address::Unix(path) => Ok(Socket::Unix(UnixStream::connect(path).await?)),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// One connection.
pub struct Wire {
    socket: Socket,
    read: BytesMut,
    write: BytesMut,
    /// Whether nobody on the way can listen.
    pub secure: bool,
}

impl Wire {
    /// Wraps a socket.
    pub fn new(socket: Socket) -> Wire {
        let secure = matches!(socket, Socket::Unix(_));
        Wire { socket, read: BytesMut::with_capacity(16 << 10), write: BytesMut::new(), secure }
    }

    /// The next whole packet; for logging in.
    pub async fn packet(&mut self) -> Result<Packet, Failure> {
        loop {
            if let Some(packet) =
                take_packet(&mut self.read, PACKET_BYTES_MAX).map_err(|error| format!("{error:?}"))?
            {
                return Ok(packet);
            }
            self.fill().await?;
        }
    }

    /// Sends one packet.
    pub async fn send(&mut self, mut seq: u8, payload: &[u8]) -> io::Result<()> {
        self.write.clear();
        put_packet(&mut self.write, &mut seq, payload);
        self.socket.write_all(&self.write).await
    }

    /// Sends bytes that are packets already.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Reads once; what has not been consumed stays.
    pub async fn fill(&mut self) -> io::Result<()> {
        self.read.reserve(4096);
        match self.socket.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// What has been read.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.read
    }
}
