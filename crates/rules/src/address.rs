//! From where a client comes, as rules tell clients apart by it.

/// From where a client comes, and where it has come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// Its address; `localhost` of one that has come by a unix socket.
    pub addr: String,
    /// The address at which it has connected; empty of a unix socket.
    pub proxy_addr: String,
    /// The port at which it has connected; 0 of a unix socket.
    pub proxy_port: u16,
}

/// What a rule says of where clients come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientPattern {
    pub(crate) client_addr: Option<String>,
    pub(crate) proxy_addr: Option<String>,
    pub(crate) proxy_port: Option<u16>,
}

impl ClientPattern {
    /// Whether it says anything.
    pub(crate) const fn says_anything(&self) -> bool {
        self.client_addr.is_some() || self.proxy_addr.is_some() || self.proxy_port.is_some()
    }

    pub(crate) fn has(&self, client: &Client) -> bool {
        let is = |wanted: &Option<String>, addr: &str| wanted.as_ref().is_none_or(|it| is_like(it, addr));
        is(&self.client_addr, &client.addr)
            && self.proxy_addr.as_ref().is_none_or(|it| *it == client.proxy_addr)
            && self.proxy_port.is_none_or(|port| port == client.proxy_port)
    }
}

/// Whether an address is this one, or begins so if that ends with `%`.
fn is_like(wanted: &str, addr: &str) -> bool {
    wanted.strip_suffix('%').map_or_else(|| wanted == addr, |start| addr.starts_with(start))
}
