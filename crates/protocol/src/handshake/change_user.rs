//! `COM_CHANGE_USER`: a login on a connection that has one already.

use ::bytes::BufMut;

use crate::{Capabilities, Command, Malformed, Put, Reader};

/// A new login. Its form depends on what the connection agreed on.
#[derive(Clone, PartialEq, Eq)]
pub struct ChangeUser {
    /// The account's name.
    pub user: Vec<u8>,
    /// The answer to the greeting's challenge.
    pub auth_response: Vec<u8>,
    /// The schema to start in; empty for none.
    pub database: Vec<u8>,
    /// The client's collation; some old clients say none.
    pub collation: Option<u16>,
    /// The plugin that made `auth_response`.
    pub auth_plugin: Option<Vec<u8>>,
    /// The attributes, raw and without the outer length.
    pub attributes: Option<Vec<u8>>,
}

impl ChangeUser {
    /// Reads what follows the command byte. What the end of the packet cuts
    /// off is absent, field by field, as the servers read it.
    ///
    /// # Errors
    /// If user, response or schema are truncated, or the attributes exceed
    /// the packet.
    pub fn parse(body: &[u8], caps: Capabilities) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(body);
        Ok(Self {
            user: reader.nul_bytes()?.to_vec(),
            auth_response: auth_response(reader, caps)?.to_vec(),
            database: reader.nul_bytes()?.to_vec(),
            collation: reader.u16().ok(),
            auth_plugin: auth_plugin(reader, caps),
            attributes: attributes(reader, caps)?,
        })
    }

    /// Returns the whole payload, command byte included. Each field goes only where
    /// those before it go, since nothing but its place says what it is.
    ///
    /// A response longer than 255 bytes cannot be said here and is cut; no
    /// plugin makes one before it is asked for more.
    #[must_use]
    pub fn encode(&self, caps: Capabilities) -> Vec<u8> {
        let mut out = vec![Command::ChangeUser.byte()];
        out.put_nul_bytes(&self.user);
        put_auth_response(&mut out, caps, &self.auth_response);
        out.put_nul_bytes(&self.database);
        let Some(collation) = self.collation else { return out };
        out.put_u16_le(collation);
        if caps.contains(Capabilities::PLUGIN_AUTH) {
            out.put_nul_bytes(self.auth_plugin.as_deref().unwrap_or_default());
        }
        if caps.contains(Capabilities::CONNECT_ATTRS) {
            out.put_lenenc_bytes(self.attributes.as_deref().unwrap_or_default());
        }
        out
    }
}

impl std::fmt::Debug for ChangeUser {
    // The response can be a password in clear.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeUser")
            .field("user", &self.user.escape_ascii().to_string())
            .field("database", &self.database.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

fn auth_response<'a>(reader: &mut Reader<'a>, caps: Capabilities) -> Result<&'a [u8], Malformed> {
    if !caps.contains(Capabilities::SECURE_CONNECTION) {
        return reader.nul_bytes();
    }
    let len = reader.u8()?;
    reader.take(usize::from(len))
}

fn put_auth_response(out: &mut Vec<u8>, caps: Capabilities, response: &[u8]) {
    if !caps.contains(Capabilities::SECURE_CONNECTION) {
        return out.put_nul_bytes(response);
    }
    let len = response.len().min(usize::from(u8::MAX));
    out.put_u8(len as u8);
    out.put_slice(&response[..len]);
}

fn auth_plugin(reader: &mut Reader<'_>, caps: Capabilities) -> Option<Vec<u8>> {
    if reader.is_empty() || !caps.contains(Capabilities::PLUGIN_AUTH) {
        return None;
    }
    let whole = *reader;
    let name = reader.nul_bytes().unwrap_or_else(|_| {
        *reader = whole;
        reader.rest()
    });
    Some(name.to_vec())
}

fn attributes(reader: &mut Reader<'_>, caps: Capabilities) -> Result<Option<Vec<u8>>, Malformed> {
    if reader.is_empty() || !caps.contains(Capabilities::CONNECT_ATTRS) {
        return Ok(None);
    }
    reader.lenenc_bytes().map(|bytes| Some(bytes.to_vec()))
}
