//! How to reach the server, and with which account: read from a URL, checked, and not changed after that.

mod error;
mod tls_mode;
mod url;

use std::path::PathBuf;
use std::time::Duration;

use crate::address::Address;
use crate::secret::Secret;
use crate::tls;

pub use error::ConfigError;
pub use tls_mode::TlsMode;

/// Time allowed for connecting, TLS and the login together, unless told otherwise.
pub const CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// The longest connect timeout allowed.
pub const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// How often the stream proves that it is alive while nothing changes, unless told otherwise.
pub const HEARTBEAT_DEFAULT: Duration = Duration::from_millis(200);
/// The shortest and the longest heartbeat allowed.
pub const HEARTBEAT_RANGE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60));
/// The stream counts as live for this many heartbeats after it was last heard.
pub const HEARTBEATS_TO_LIVE: u32 = 5;

/// How to reach the server, and as whom the follower's own connections log in.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// Where the server listens.
    pub address: Address,
    /// The account of our own connections.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The default schema of our own connections, and of clients that name none.
    pub database: Option<String>,
    /// How much TLS is demanded.
    pub tls: TlsMode,
    /// A PEM file with the authorities that may have signed the server's certificate.
    pub tls_ca: Option<PathBuf>,
    /// Time allowed for connecting, TLS and the login together.
    pub connect_timeout: Duration,
    /// The server id under which the binlog is read; 0: a high number at random.
    pub server_id: u32,
    /// How often the server is to prove that the stream is alive while nothing changes.
    pub heartbeat: Duration,
    /// Whether to join as a semi-synchronous replica from the start, so that the server's commits wait for us.
    pub semisync: bool,
    /// What TLS keeps from one connection to the next.
    pub(crate) tls_client: tls::TlsClient,
}

impl UpstreamConfig {
    /// Returns a configuration with every default, for this address and account.
    pub fn new(address: Address, user: impl Into<String>, password: Secret) -> Self {
        Self {
            address,
            user: user.into(),
            password,
            database: None,
            tls: TlsMode::default(),
            tls_ca: None,
            connect_timeout: CONNECT_TIMEOUT_DEFAULT,
            server_id: 0,
            heartbeat: HEARTBEAT_DEFAULT,
            semisync: false,
            tls_client: tls::TlsClient::default(),
        }
    }

    /// Checks what the types cannot express.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first setting that is out of its range or contradicts another.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.tls.verifies() && self.tls_ca.is_none() {
            return Err(ConfigError::new(
                format!("ssl-mode is '{}' and no authority is given", self.tls),
                "a PEM file in ssl-ca, or ssl-mode=required to accept any certificate",
            ));
        }
        if self.tls == TlsMode::VerifyIdentity && self.address.host().is_none() {
            return Err(ConfigError::new(
                "ssl-mode is 'verify-identity' over a unix socket, which has no host name to verify",
                "verify-ca or a weaker ssl-mode with a unix socket",
            ));
        }
        if self.connect_timeout.is_zero() || self.connect_timeout > CONNECT_TIMEOUT_MAX {
            return Err(ConfigError::new(
                format!("connect-timeout is {:?}", self.connect_timeout),
                format!("more than 0, at most {CONNECT_TIMEOUT_MAX:?}"),
            ));
        }
        let (least, most) = HEARTBEAT_RANGE;
        if self.heartbeat < least || self.heartbeat > most {
            return Err(ConfigError::new(
                format!("heartbeat is {:?}", self.heartbeat),
                format!("{least:?} to {most:?}"),
            ));
        }
        Ok(())
    }

    /// Returns how long the stream counts as live after it was last heard.
    pub fn live_limit(&self) -> Duration {
        self.heartbeat * HEARTBEATS_TO_LIVE
    }
}

#[cfg(test)]
mod tests;
