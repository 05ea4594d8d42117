//! The client's first packet: a wish for TLS, or the login itself.

use ::bytes::BufMut;

use crate::{Capabilities, Compression, Malformed, NoSuchLevel, Put, Reader};

/// Filler before MariaDB's extended capabilities.
const RESERVED: usize = 19;

/// The client's wish for TLS: the head of a login, sent before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client wants of the server's capabilities.
    pub capabilities: Capabilities,
    /// The longest packet that the client takes, in bytes.
    pub max_packet_size: u32,
    /// The client's collation; its low byte if it has more.
    pub collation: u8,
}

impl SslRequest {
    /// Reads the head of a login, which is all there is of this packet.
    ///
    /// # Errors
    /// If it is truncated, or from before 4.1.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(payload))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let low = reader.u32()?;
        if !Capabilities::from_halves(low, 0).contains(Capabilities::PROTOCOL_41) {
            return Err(Malformed::new("protocol before 4.1"));
        }
        let max_packet_size = reader.u32()?;
        let collation = reader.u8()?;
        reader.take(RESERVED)?;
        let capabilities = Capabilities::from_halves(low, reader.u32()?);
        Ok(Self { capabilities, max_packet_size, collation })
    }

    /// Returns the request's payload, which is also the head of the login after it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mariadb = !self.capabilities.contains(Capabilities::LONG_PASSWORD);
        let mut out = Vec::with_capacity(128);
        out.put_u32_le(self.capabilities.low());
        out.put_u32_le(self.max_packet_size);
        out.put_u8(self.collation);
        out.put_bytes(0, RESERVED);
        out.put_u32_le(if mariadb { self.capabilities.extended() } else { 0 });
        out
    }
}

/// The client's login (`HandshakeResponse41`).
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// What the client wants of the server's capabilities.
    pub capabilities: Capabilities,
    /// The longest packet that the client takes, in bytes.
    pub max_packet_size: u32,
    /// The client's collation; its low byte if it has more.
    pub collation: u8,
    /// The account's name.
    pub user: Vec<u8>,
    /// The answer to the greeting's challenge.
    pub auth_response: Vec<u8>,
    /// The schema to start in.
    pub database: Option<Vec<u8>>,
    /// The plugin that made `auth_response`.
    pub auth_plugin: Option<Vec<u8>>,
    /// The attributes' names and values as length-encoded strings, raw and
    /// without the outer length.
    pub attributes: Option<Vec<u8>>,
    /// The level of zstd compression, where that was agreed.
    pub zstd_level: Option<u8>,
}

impl Login {
    /// Reads a login.
    ///
    /// # Errors
    /// If it is truncated, or from before 4.1.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        let head = SslRequest::read(reader)?;
        let caps = head.capabilities;
        Ok(Self {
            capabilities: caps,
            max_packet_size: head.max_packet_size,
            collation: head.collation,
            user: reader.nul_bytes()?.to_vec(),
            auth_response: auth_response(reader, caps)?.to_vec(),
            database: when(caps, Capabilities::CONNECT_WITH_DB, || reader.nul_bytes())?,
            auth_plugin: when(caps, Capabilities::PLUGIN_AUTH, || last_string(reader))?,
            attributes: when(caps, Capabilities::CONNECT_ATTRS, || optional_lenenc(reader))?,
            zstd_level: zstd_level(reader, caps),
        })
    }

    /// Returns the login's payload. The capabilities that say which fields follow
    /// (schema, plugin, attributes, zstd) are set by which of them are there,
    /// so that what is written is always what the server will read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let capabilities = self.encoded_capabilities();
        let head =
            SslRequest { capabilities, max_packet_size: self.max_packet_size, collation: self.collation };
        let mut out = head.encode();
        out.put_nul_bytes(&self.user);
        put_auth_response(&mut out, capabilities, &self.auth_response);
        for name in [&self.database, &self.auth_plugin].into_iter().flatten() {
            out.put_nul_bytes(name);
        }
        if let Some(attributes) = &self.attributes {
            out.put_lenenc_bytes(attributes);
        }
        out.extend(self.zstd_level);
        out
    }

    /// Returns how both sides compress once the login is accepted, if `capabilities` are those agreed on.
    ///
    /// # Errors
    /// If it names a level of zstd that there is not.
    pub fn compression(&self) -> Result<Option<Compression>, NoSuchLevel> {
        Compression::agreed(self.capabilities, self.zstd_level)
    }

    /// Returns the capabilities, made to agree with the fields.
    fn encoded_capabilities(&self) -> Capabilities {
        let mut caps = self.capabilities;
        caps.set(Capabilities::CONNECT_WITH_DB, self.database.is_some());
        caps.set(Capabilities::PLUGIN_AUTH, self.auth_plugin.is_some());
        caps.set(Capabilities::CONNECT_ATTRS, self.attributes.is_some());
        caps.set(Capabilities::ZSTD_COMPRESSION_ALGORITHM, self.zstd_level.is_some());
        if self.auth_response.len() > usize::from(u8::MAX) || !caps.contains(Capabilities::SECURE_CONNECTION)
        {
            caps |= Capabilities::PLUGIN_AUTH_LENENC_DATA;
        }
        caps
    }
}

impl std::fmt::Debug for Login {
    // The response and the attributes stay out of logs: the one can be a
    // password in clear, the others are nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("capabilities", &self.capabilities)
            .field("user", &self.user.escape_ascii().to_string())
            .field("database", &self.database.as_deref().map(|name| name.escape_ascii().to_string()))
            .field("auth_plugin", &self.auth_plugin.as_deref().map(|name| name.escape_ascii().to_string()))
            .finish_non_exhaustive()
    }
}

/// Reads a field that is there only with a capability.
fn when<'a>(
    caps: Capabilities,
    needs: Capabilities,
    read: impl FnOnce() -> Result<&'a [u8], Malformed>,
) -> Result<Option<Vec<u8>>, Malformed> {
    if caps.contains(needs) { read().map(|bytes| Some(bytes.to_vec())) } else { Ok(None) }
}

/// Reads the response, in one of the three forms that history left.
fn auth_response<'a>(reader: &mut Reader<'a>, caps: Capabilities) -> Result<&'a [u8], Malformed> {
    if caps.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
        return reader.lenenc_bytes();
    }
    if caps.contains(Capabilities::SECURE_CONNECTION) {
        let len = reader.u8()?;
        return reader.take(usize::from(len));
    }
    reader.nul_bytes()
}

fn put_auth_response(out: &mut Vec<u8>, caps: Capabilities, response: &[u8]) {
    if caps.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
        return out.put_lenenc_bytes(response);
    }
    // Longer ones have the length-encoded form, by `encoded_capabilities`.
    out.put_u8(response.len() as u8);
    out.put_slice(response);
}

/// Reads a name at the end of a packet, where servers forgive a missing NUL.
fn last_string<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let whole = *reader;
    reader.nul_bytes().or_else(|_| {
        *reader = whole;
        Ok(reader.rest())
    })
}

/// Reads the attributes, which some clients announce and then leave out.
fn optional_lenenc<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    if reader.is_empty() { Ok(&[]) } else { reader.lenenc_bytes() }
}

fn zstd_level(reader: &mut Reader<'_>, caps: Capabilities) -> Option<u8> {
    caps.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM).then(|| reader.u8().ok()).flatten()
}

/// A client's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientHello {
    /// TLS comes next, and then the login.
    Ssl(SslRequest),
    /// The login, in clear.
    Login(Login),
}

impl ClientHello {
    /// Reads a client's first packet. It asks for TLS if nothing follows its
    /// head: every login has at least a user's NUL there.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        let head = SslRequest::read(reader)?;
        if reader.is_empty() && head.capabilities.contains(Capabilities::SSL) {
            return Ok(Self::Ssl(head));
        }
        Login::parse(payload).map(Self::Login)
    }
}
