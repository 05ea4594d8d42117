//! Where a server listens.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// The port a MySQL or MariaDB server listens on unless told otherwise.
pub const DEFAULT_PORT: u16 = 3306;

/// Where a server listens: a host and port, or a socket in the file system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP endpoint. The host is a name or an address; an IPv6 address stands without brackets.
    Tcp {
        /// Host name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// A unix domain socket.
    Unix(PathBuf),
}

impl Address {
    /// Whether nothing leaves the machine on the way there, as far as the address itself tells: a unix socket, a
    /// loopback address, or `localhost`.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => {
                host.eq_ignore_ascii_case("localhost")
                    || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            }
            Self::Unix(_) => true,
        }
    }

    /// Returns the name that a certificate must carry for this address, none for a unix socket.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Tcp { host, .. } => Some(host),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
