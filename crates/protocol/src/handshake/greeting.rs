//! The server's first packet.

use ::bytes::BufMut;

use super::SCRAMBLE_LEN;
use crate::{Capabilities, ErrPacket, Malformed, Put, Reader, StatusFlags};

/// The protocol version that every server since 3.21 speaks.
const PROTOCOL_VERSION: u8 = 10;
/// The bytes of the scramble that come before the capabilities.
const SCRAMBLE_HEAD: usize = 8;
/// The least length of the scramble's second part, its NUL included.
const SCRAMBLE_TAIL_MIN: usize = 13;
/// Filler between the scramble's length and MariaDB's capabilities.
const RESERVED: usize = 6;

/// The server's greeting (`HandshakeV10`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The version as the server writes it, without its NUL.
    pub server_version: Vec<u8>,
    /// The server's number for this connection, as in `SHOW PROCESSLIST`.
    pub connection_id: u32,
    /// The challenge for the authentication.
    pub scramble: [u8; SCRAMBLE_LEN],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The server's default collation; its low byte if it has more.
    pub collation: u8,
    /// The new session's status.
    pub status: StatusFlags,
    /// The plugin whose challenge the scramble is; empty if none is named.
    pub auth_plugin: String,
}

impl Greeting {
    /// Reads a greeting.
    ///
    /// # Errors
    /// If it is truncated, of another protocol version, or has no scramble of
    /// twenty bytes (as before 4.1).
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != PROTOCOL_VERSION {
            return Err(Malformed::new("protocol version"));
        }
        let server_version = reader.nul_bytes()?.to_vec();
        let connection_id = reader.u32()?;
        let head = reader.array::<SCRAMBLE_HEAD>()?;
        reader.u8()?;
        let low_half = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags::from_bits_retain(reader.u16()?);
        let high_half = reader.u16()?;
        let scramble_len = usize::from(reader.u8()?);
        reader.take(RESERVED)?;
        let extended = reader.u32()?;
        let tail = reader.take(SCRAMBLE_TAIL_MIN.max(scramble_len.saturating_sub(SCRAMBLE_HEAD)))?;
        let low = u32::from(high_half) << 16 | u32::from(low_half);
        Ok(Self {
            server_version,
            connection_id,
            scramble: join_scramble(head, tail)?,
            capabilities: Capabilities::from_halves(low, extended),
            collation,
            status,
            auth_plugin: plugin_name(reader.rest())?,
        })
    }

    /// Returns the greeting's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (head, tail) = self.scramble.split_at(SCRAMBLE_HEAD);
        let low = self.capabilities.low().to_le_bytes();
        let mut out = Vec::with_capacity(64 + self.server_version.len() + self.auth_plugin.len());
        out.put_u8(PROTOCOL_VERSION);
        out.put_nul_bytes(&self.server_version);
        out.put_u32_le(self.connection_id);
        out.put_slice(head);
        out.put_u8(0);
        out.put_slice(&low[..2]);
        out.put_u8(self.collation);
        out.put_u16_le(self.status.bits());
        out.put_slice(&low[2..]);
        out.put_u8(self.scramble_len_byte());
        out.put_bytes(0, RESERVED);
        out.put_u32_le(self.extended_capabilities());
        out.put_slice(tail);
        out.put_u8(0);
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            out.put_nul_bytes(self.auth_plugin.as_bytes());
        }
        out
    }

    /// Returns the scramble's length with its NUL, or 0 where no plugin is named.
    const fn scramble_len_byte(&self) -> u8 {
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) { SCRAMBLE_LEN as u8 + 1 } else { 0 }
    }

    /// Returns the extended capabilities, where a client would look for them at all.
    const fn extended_capabilities(&self) -> u32 {
        if self.capabilities.contains(Capabilities::LONG_PASSWORD) { 0 } else { self.capabilities.extended() }
    }
}

/// Joins both parts of the scramble and drops the NUL behind them.
fn join_scramble(head: [u8; SCRAMBLE_HEAD], tail: &[u8]) -> Result<[u8; SCRAMBLE_LEN], Malformed> {
    let tail = tail.get(..SCRAMBLE_LEN - SCRAMBLE_HEAD).ok_or(Malformed::new("scramble"))?;
    let mut scramble = [0; SCRAMBLE_LEN];
    for (to, from) in scramble.iter_mut().zip(head.iter().chain(tail)) {
        *to = *from;
    }
    Ok(scramble)
}

/// Returns the plugin's name, whose NUL some old servers forget.
fn plugin_name(bytes: &[u8]) -> Result<String, Malformed> {
    let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8(name.to_vec()).map_err(|_| Malformed::new("authentication plugin"))
}

/// What a server says first: it greets, or it refuses the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerHello {
    /// The handshake begins.
    Greeting(Greeting),
    /// For instance "Too many connections".
    Err(ErrPacket),
}

impl ServerHello {
    /// Reads a server's first packet.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        match payload.first() {
            Some(&ErrPacket::HEADER) => ErrPacket::parse(payload).map(Self::Err),
            _ => Greeting::parse(payload).map(Self::Greeting),
        }
    }
}
