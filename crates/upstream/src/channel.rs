//! Who can read what passes over a connection, in the servers' own terms.

/// What a connection passes over. The servers tell exactly these apart, in REQUIRE SSL of an account and in
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
    /// TLS counts even where the certificate is not verified, as it does for MySQL's own clients:
    /// what is wanted of the certificate is decided when the connection is made.
    pub fn is_secure(self) -> bool {
        self != Self::Clear
    }
}

/// Where the mode `preferred` has TLS towards a server that offers it. The other modes leave no choice.
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
