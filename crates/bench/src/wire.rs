//! One connection: a socket, what has been read of it, and what is to be written.

use std::io;

use bytes::BytesMut;
use freshet_protocol::{Packet, put_packet, take_packet};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::target::{Address, Failure};
use crate::tls;

/// The largest packet that is expected while logging in.
const PACKET_BYTES_MAX: usize = 1 << 20;

/// What a connection passes over.
pub type Socket = Box<dyn Stream>;

/// What can be read from and written to.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// One connection.
pub struct Wire {
    socket: Socket,
    read: BytesMut,
    write: BytesMut,
    /// Whether nobody on the way can listen.
    pub secure: bool,
}

impl Wire {
    /// Connects.
    pub async fn connect(address: &Address) -> io::Result<Wire> {
        let (socket, secure): (Socket, bool) = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                (Box::new(stream), false)
            }
            Address::Unix(path) => (Box::new(UnixStream::connect(path).await?), true),
        };
        Ok(Wire { socket, read: BytesMut::with_capacity(16 << 10), write: BytesMut::new(), secure })
    }

    /// Goes on in TLS. Nothing may be read that is not taken.
    pub async fn start_tls(self) -> Result<Wire, Failure> {
        let name = ServerName::try_from("localhost")?;
        let socket = TlsConnector::from(tls::config()?).connect(name, self.socket).await?;
        Ok(Wire { socket: Box::new(socket), secure: true, ..self })
    }

    /// Returns the next whole packet; for logging in.
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
        self.socket.write_all(&self.write).await?;
        self.socket.flush().await
    }

    /// Sends bytes that are packets already.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await?;
        self.socket.flush().await
    }

    /// Reads once; what has not been consumed stays.
    pub async fn fill(&mut self) -> io::Result<()> {
        self.read.reserve(4096);
        match self.socket.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Returns what has been read.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.read
    }
}
