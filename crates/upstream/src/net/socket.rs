//! The stream under TLS: a plain socket, preceded by the bytes that were read from it before TLS began.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A plain socket whose first bytes may already have been read.
#[derive(Debug)]
pub struct Socket {
    early: BytesMut,
    inner: SocketKind,
}

#[derive(Debug)]
enum SocketKind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(super) fn tcp(early: BytesMut, stream: TcpStream) -> Self {
        Self::new(early, SocketKind::Tcp(stream))
    }

    pub(super) fn unix(early: BytesMut, stream: UnixStream) -> Self {
        Self::new(early, SocketKind::Unix(stream))
    }

    fn new(early: BytesMut, inner: SocketKind) -> Self {
        // No bytes that were split from a buffer still hold that buffer.
        let early = if early.is_empty() { BytesMut::new() } else { early };
        Self { early, inner }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        match &self.inner {
            SocketKind::Tcp(stream) => stream.readable().await,
            SocketKind::Unix(stream) => stream.readable().await,
        }
    }

    pub(super) fn over_tcp(&self) -> Option<&TcpStream> {
        match &self.inner {
            SocketKind::Tcp(stream) => Some(stream),
            SocketKind::Unix(_) => None,
        }
    }

    pub(super) fn hang_up(&self) -> io::Result<()> {
        match &self.inner {
            SocketKind::Tcp(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
            SocketKind::Unix(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.early.has_remaining() {
            let len = this.early.len().min(buf.remaining());
            buf.put_slice(&this.early.split_to(len));
            if this.early.is_empty() {
                this.early = BytesMut::new();
            }
            return Poll::Ready(Ok(()));
        }
        match &mut this.inner {
            SocketKind::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            SocketKind::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().inner {
            SocketKind::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            SocketKind::Unix(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().inner {
            SocketKind::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            SocketKind::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            SocketKind::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            SocketKind::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            SocketKind::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            SocketKind::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
