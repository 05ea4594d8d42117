//! From an address to a connection that has been greeted and, if wanted, uses TLS.

use std::time::Duration;

use bytes::BytesMut;
use freshet_protocol::{Capabilities, Greeting, SCRAMBLE_LEN, ServerHello, SslRequest, StatusFlags};

use super::{Connection, HANDSHAKE_PACKET_BYTES_MAX, within};
use crate::config::{TlsMode, UpstreamConfig};
use crate::error::Error;
use crate::net::Stream;
use crate::{Address, Preference, tls};

/// The largest packet that we claim to accept. In practice the server's own limit counts.
pub const MAX_PACKET_SIZE: u32 = 1 << 30;
/// The capabilities that every connection of ours needs; both servers have offered them for decades.
const NEEDED: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::SECURE_CONNECTION);
/// Asked for whenever the server offers them, because this module drives the login.
const FOR_LOGIN: Capabilities = Capabilities::PLUGIN_AUTH
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::LONG_PASSWORD)
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::TRANSACTIONS);
/// Never asked for: compression changes the framing of everything, and nothing here reads it.
const NEVER: Capabilities = Capabilities::COMPRESS
    .union(Capabilities::ZSTD_COMPRESSION_ALGORITHM)
    .union(Capabilities::SSL)
    .union(Capabilities::CAPABILITY_EXTENSION);

/// A connection that has been greeted and awaits a login.
#[derive(Debug)]
pub struct Dialled {
    pub(super) connection: Connection,
    pub(super) collation: u8,
    /// The time that the login may take.
    pub(super) limit: Duration,
}

impl Connection {
    /// Connects, reads the greeting and starts TLS as the configuration asks.
    ///
    /// `want` are the capabilities that the caller can use. The connection uses those that the server has too, plus those that the login
    /// itself needs. `collation` is the number that the login will name; TLS needs it before.
    ///
    /// # Errors
    /// [`Error::Connect`] and [`Error::TimedOut`] if the server cannot be reached,
    /// [`Error::Server`] if it refuses instead of greeting (too many connections, a blocked
    /// host), [`Error::Tls`] if TLS is wanted and cannot be had.
    pub async fn dial(config: &UpstreamConfig, want: Capabilities, collation: u8) -> Result<Dialled, Error> {
        Self::dial_preferring(Preference::default(), config, want, collation).await
    }

    /// As [`Self::dial`], with another preference where the mode is `preferred`.
    ///
    /// # Errors
    /// As [`Self::dial`].
    pub async fn dial_preferring(
        preference: Preference,
        config: &UpstreamConfig,
        want: Capabilities,
        collation: u8,
    ) -> Result<Dialled, Error> {
        let dialling = dial(preference, config, want, collation);
        within(config.connect_timeout, "connecting to the server", dialling).await
    }
}

impl Dialled {
    /// Returns the greeting, in which the server described itself.
    pub fn greeting(&self) -> &Greeting {
        &self.connection.greeting
    }

    /// Returns what both sides agree to.
    pub fn capabilities(&self) -> Capabilities {
        self.connection.capabilities
    }
}

async fn dial(
    preference: Preference,
    config: &UpstreamConfig,
    want: Capabilities,
    collation: u8,
) -> Result<Dialled, Error> {
    let stream = Stream::connect(&config.address)
        .await
        .map_err(|source| Error::Connect { address: config.address.to_string(), source })?;
    let mut connection = Connection {
        stream,
        read: BytesMut::new(),
        seq: 0,
        capabilities: Capabilities::empty(),
        greeting: nobody(),
        queried: false,
    };
    let hello = connection.read_in_order(HANDSHAKE_PACKET_BYTES_MAX).await?;
    connection.greeting = match ServerHello::parse(&hello.payload)? {
        ServerHello::Greeting(greeting) => greeting,
        ServerHello::Err(refusal) => return Err(Error::Server(refusal.with_sqlstate())),
    };
    connection.capabilities = agree(want, connection.greeting.capabilities)?;
    if wants_tls(preference, config, connection.greeting.capabilities)? {
        connection = start_tls(connection, config, collation).await?;
    }
    Ok(Dialled { connection, collation, limit: config.connect_timeout })
}

fn agree(want: Capabilities, offered: Capabilities) -> Result<Capabilities, Error> {
    if !offered.contains(NEEDED) {
        return Err(Error::Unexpected {
            question: "the handshake: the server speaks a protocol older than 4.1",
        });
    }
    Ok((want | NEEDED | FOR_LOGIN).difference(NEVER) & offered)
}

fn wants_tls(preference: Preference, config: &UpstreamConfig, offered: Capabilities) -> Result<bool, Error> {
    let offered = offered.contains(Capabilities::SSL);
    match config.tls {
        TlsMode::Disabled => Ok(false),
        TlsMode::Preferred => Ok(offered
            && match preference {
                Preference::Nowhere => false,
                Preference::Tcp => matches!(config.address, Address::Tcp { .. }),
                Preference::Everywhere => true,
            }),
        _ if offered => Ok(true),
        mode => Err(Error::Tls(format!("ssl-mode is '{mode}' and the server offers no TLS"))),
    }
}

async fn start_tls(
    mut connection: Connection,
    config: &UpstreamConfig,
    collation: u8,
) -> Result<Connection, Error> {
    // Bytes that came before the request for TLS did not come from the peer whose identity TLS will prove.
    if !connection.read.is_empty() {
        return Err(Error::Unexpected { question: "the handshake: bytes follow the greeting" });
    }
    let client = config.tls_client.config(config.tls, config.tls_ca.as_deref())?;
    let name = tls::server_name(&config.address)?;
    connection.capabilities |= Capabilities::SSL;
    let request =
        SslRequest { capabilities: connection.capabilities, max_packet_size: MAX_PACKET_SIZE, collation };
    connection.write_packet(&request.encode()).await?;
    connection.stream =
        connection.stream.connect_tls(name, client).await.map_err(|error| Error::Tls(error.to_string()))?;
    Ok(connection)
}

/// Returns the greeting of a connection until the server has spoken.
fn nobody() -> Greeting {
    Greeting {
        server_version: Vec::new(),
        connection_id: 0,
        scramble: [0; SCRAMBLE_LEN],
        capabilities: Capabilities::empty(),
        collation: 0,
        status: StatusFlags::empty(),
        auth_plugin: String::new(),
    }
}
