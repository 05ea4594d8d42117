//! Who can read the bytes of a connection, in the servers' own terms.

/// The transport of a connection. The servers make exactly these distinctions, in REQUIRE SSL of an account and in
/// `require_secure_transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// TCP in clear.
    Clear,
    /// A unix socket in clear.
    Socket,
    /// TLS, over either.
    Tls,
}

impl Channel {
    /// Whether nobody between the two ends can read what is sent.
    ///
    /// TLS counts even where the certificate is not verified, as it does for MySQL's own clients: the demands on the certificate are
    /// decided when the connection is made.
    pub fn is_secure(self) -> bool {
        self != Self::Clear
    }
}

/// Where the mode `preferred` uses TLS with a server that offers it. The other modes leave no choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preference {
    /// Nowhere.
    Nowhere,
    /// Over TCP: a unix socket cannot be overheard. This is the default.
    #[default]
    Tcp,
    /// Everywhere, so that the server sees TLS.
    Everywhere,
}
