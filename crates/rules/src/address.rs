//! The place of a client, in the form in which rules tell clients apart.

/// The place of a client: its own address, and the address to which it has connected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// Its address; `localhost` if it has come by a unix socket.
    pub addr: String,
    /// The address to which it has connected; empty for a unix socket.
    pub proxy_addr: String,
    /// The port to which it has connected; 0 for a unix socket.
    pub proxy_port: u16,
}

/// A rule's conditions on the place of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientPattern {
    pub(crate) client_addr: Option<String>,
    pub(crate) proxy_addr: Option<String>,
    pub(crate) proxy_port: Option<u16>,
}

impl ClientPattern {
    /// Whether there is any condition.
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

/// Whether an address is the wanted one, or begins with it if that ends with `%`.
fn is_like(wanted: &str, addr: &str) -> bool {
    wanted.strip_suffix('%').map_or_else(|| wanted == addr, |start| addr.starts_with(start))
}
