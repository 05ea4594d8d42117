//! The sockets that clients connect to.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;

use crate::config::Listen;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// How long accepting pauses when the system has no descriptors left: a failed accept leaves the client queued, and would otherwise be
/// tried again at once, forever.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A client that has connected and has not been greeted, in a form that any event loop can take over.
#[derive(Debug)]
pub enum Incoming {
    /// Over TCP.
    Tcp(std::net::TcpStream),
    /// Over a unix socket.
    Unix(std::os::unix::net::UnixStream),
}

/// A socket that clients connect to.
#[derive(Debug)]
pub enum Listener {
    /// Over TCP.
    Tcp(TcpListener),
    /// Over a unix socket, whose file is removed with it.
    Unix(UnixListener, SocketFile),
}

/// The file of a unix socket; removed when dropped.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Starts to listen.
    ///
    /// # Errors
    /// What the system says, with the address before it.
    pub async fn bind(listen: &Listen) -> io::Result<Vec<Listener>> {
        let named = |error: io::Error, name: &str| io::Error::new(error.kind(), format!("{name}: {error}"));
        match listen {
            Listen::Tcp(address) => bind_tcp(address).await.map_err(|error| named(error, address)),
            Listen::Unix(path) => bind_unix(path)
                .map(|listener| vec![listener])
                .map_err(|error| named(error, &path.display().to_string())),
        }
    }

    /// Returns the address in the form that clients write.
    pub fn address(&self) -> String {
        match self {
            Listener::Tcp(listener) => {
                listener.local_addr().map_or_else(|e| e.to_string(), |a| a.to_string())
            }
            Listener::Unix(_, file) => file.0.display().to_string(),
        }
    }

    /// Returns the setting that listens at the same address again.
    pub fn listen(&self) -> Listen {
        match self {
            Listener::Tcp(_) => Listen::Tcp(self.address()),
            Listener::Unix(_, file) => Listen::Unix(file.0.clone()),
        }
    }

    /// Returns the next client.
    ///
    /// # Errors
    /// What the system says; the listener goes on.
    pub async fn accept(&self) -> io::Result<Incoming> {
        match self {
            Listener::Tcp(listener) => Ok(Incoming::Tcp(listener.accept().await?.0.into_std()?)),
            Listener::Unix(listener, _) => Ok(Incoming::Unix(listener.accept().await?.0.into_std()?)),
        }
    }
}

/// Listens at an address. A name may stand for several, such as localhost for one of IPv4 and one of IPv6.
async fn bind_tcp(address: &str) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for address in tokio::net::lookup_host(address).await? {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        // A restart must not wait for the connections of the earlier run.
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        listeners.push(Listener::Tcp(TcpListener::from_std(socket.into())?));
    }
    Ok(listeners)
}

fn bind_unix(path: &Path) -> io::Result<Listener> {
    // A file on which nobody answers is left over from a killed run.
    if let Err(error) = std::os::unix::net::UnixStream::connect(path)
        && error.kind() == io::ErrorKind::ConnectionRefused
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    let file = SocketFile(path.to_owned());
    // As with the servers' own sockets, the login protects it.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(Listener::Unix(listener, file))
}

/// Accepts clients and hands them on, as long as somebody takes them.
pub async fn accept_into(listener: Listener, sender: mpsc::Sender<Incoming>) {
    loop {
        match listener.accept().await {
            Ok(incoming) => {
                if sender.send(incoming).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
