//! One stream type for both sides of the proxy: TCP or a unix socket, plain or under TLS.

mod socket;

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ClientConfig, ProtocolVersion, ServerConfig};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::address::Address;
use crate::channel::Channel;
use socket::Socket;

/// A silent TCP connection is probed after this time, so that a peer that vanished is noticed.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
/// The time between two further probes.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// The time between two tries for a place in the queue of a unix socket.
const PLACE_LOOKED_FOR_EVERY: Duration = Duration::from_millis(2);

/// A connection to a client or to the server.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A unix domain socket.
    Unix(UnixStream),
    /// TLS over either, on the client's or on the server's side.
    Tls(Box<TlsStream<Socket>>),
}

/// What a TLS handshake has agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tls {
    /// The version.
    pub version: ProtocolVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
}

impl Stream {
    /// Connects to an address. The caller bounds the time.
    ///
    /// # Errors
    /// What the operating system or the name resolution says.
    pub async fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => Self::tcp(TcpStream::connect((host.as_str(), *port)).await?),
            Address::Unix(path) => Self::unix(path).await,
        }
    }

    /// Connects to a unix socket. A server with a full queue refuses a client that does not wait for a place. Linux does not report when
    /// there is one.
    async fn unix(path: &Path) -> io::Result<Self> {
        loop {
            match UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(PLACE_LOOKED_FOR_EVERY).await;
                }
                connected => return Ok(Self::Unix(connected?)),
            }
        }
    }

    /// Wraps a TCP connection, accepted or made, and sets the options for a protocol of questions and answers: no delay for small
    /// packets, and keepalive.
    ///
    /// # Errors
    /// If the socket options cannot be set, which means that the connection is already gone.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        Ok(Self::Tcp(stream))
    }

    /// Returns the other end's address and our own, over TCP.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let ends = |stream: &TcpStream| Some((stream.peer_addr().ok()?, stream.local_addr().ok()?));
        match self {
            Self::Tcp(stream) => ends(stream),
            Self::Unix(_) => None,
            Self::Tls(stream) => stream.get_ref().0.over_tcp().and_then(ends),
        }
    }

    /// Waits until the other end has sent something, or has gone. The last read must have found nothing.
    ///
    /// # Errors
    /// The system's.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            Self::Tls(stream) => stream.get_ref().0.readable().await,
        }
    }

    /// Returns the transport of the connection.
    pub fn channel(&self) -> Channel {
        match self {
            Self::Tcp(_) => Channel::Clear,
            Self::Unix(_) => Channel::Socket,
            Self::Tls(_) => Channel::Tls,
        }
    }

    /// Returns the version of TLS and the cipher suite in use, if TLS is.
    pub fn tls(&self) -> Option<Tls> {
        let Self::Tls(stream) = self else { return None };
        let (_, session) = stream.get_ref();
        Some(Tls { version: session.protocol_version()?, suite: session.negotiated_cipher_suite()?.suite() })
    }

    /// Starts TLS as the client.
    ///
    /// # Errors
    /// If the handshake fails, or TLS is already in use.
    pub async fn connect_tls(self, name: ServerName<'static>, config: Arc<ClientConfig>) -> io::Result<Self> {
        let socket = self.into_socket(BytesMut::new())?;
        let tls = TlsConnector::from(config).connect(name, socket).await?;
        Ok(Self::Tls(Box::new(tls.into())))
    }

    /// Starts TLS as the server. `early` are the bytes that the client has already sent behind its request for TLS: a client does not
    /// wait for an answer, so its first TLS record often comes with the request.
    ///
    /// # Errors
    /// If the handshake fails, or TLS is already in use.
    pub async fn accept_tls(self, early: BytesMut, config: Arc<ServerConfig>) -> io::Result<Self> {
        let socket = self.into_socket(early)?;
        let tls = TlsAcceptor::from(config).accept(socket).await?;
        Ok(Self::Tls(Box::new(tls.into())))
    }

    /// Tells the other end that nothing more is sent, and goes on reading. Under TLS too the connection itself ends in this way, without
    /// the farewell of TLS: a server that checks whether its client is there takes any byte for a yes.
    ///
    /// # Errors
    /// If the connection is over already.
    pub fn hang_up(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
            Self::Unix(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
            Self::Tls(stream) => stream.get_ref().0.hang_up(),
        }
    }

    /// Whether a read may find something: bytes, or the end. The system is asked first. Under TLS only a read can tell.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx).map(drop),
            Self::Unix(stream) => stream.poll_read_ready(cx).map(drop),
            Self::Tls(_) => Poll::Ready(()),
        }
    }

    fn into_socket(self, early: BytesMut) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => Ok(Socket::tcp(early, stream)),
            Self::Unix(stream) => Ok(Socket::unix(early, stream)),
            Self::Tls(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "TLS is already in use")),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests;
