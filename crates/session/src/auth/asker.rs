//! Checks a login against the server's demands on its channel, where the server cannot check that itself.
//!
//! The server judges the channel that it sees: the channel from Freshet. If that channel is no better than the client's, the server's
//! verdict is right. If it is better (TLS by the settings, or a unix socket, behind a client that
//! has less), Freshet reads the account's REQUIRE and `require_secure_transport`, and enforces them here, with the server's error messages.

use std::time::Duration;

use freshet_protocol::ErrPacket;
use freshet_sql::Flavor;
use freshet_upstream::server::Version;
use freshet_upstream::{Address, Channel, Connection, Error, Preference, TlsMode};

use super::gate::Gate;
use super::knowledge::Epoch;
use super::requirement::Requirement;
use crate::environment::modes_of_server;

/// Asks for the user and the account of the login. In hexadecimal digits, which mean the same in every
/// character set that the client may have.
const WHO: &str = "SELECT HEX(USER()), HEX(CURRENT_USER())";
/// Whether accounts can be read: no row is wanted.
const CAN_READ: &str = "SELECT ssl_type FROM mysql.user LIMIT 0";
/// How often, and how long apart, a login tries again to find somebody who can ask.
const ASKING_TRIES: u32 = 60;
const ASKING_PAUSE: Duration = Duration::from_millis(50);
/// ER_ACCESS_DENIED_ERROR.
const ACCESS_DENIED: u16 = 1045;
/// ER_SECURE_TRANSPORT_REQUIRED.
const SECURE_TRANSPORT_REQUIRED: u16 = 3159;
/// Asks whether clients need a channel that others cannot read.
const REQUIRES_SECURE: &str = "SHOW GLOBAL VARIABLES LIKE 'require_secure_transport'";
/// From this MariaDB on, the server checks the channel before it checks the user, and has an error for it.
const CHANNEL_COMES_FIRST: Version = Version { major: 11, minor: 4, patch: 0 };

/// The login for which the server is asked.
#[derive(Clone, Copy)]
pub(super) struct LoginAsker<'a> {
    pub(super) gate: &'a Gate,
    /// The channel of the client's connection.
    pub(super) channel: Channel,
    /// The epoch from before the login.
    pub(super) epoch: Option<Epoch>,
    /// If the server has no more connections, the login waits for one. A session that opens a connection of its own waits by itself.
    pub(super) waits: bool,
}

impl LoginAsker<'_> {
    /// Returns the channel to the server with which the server, or Freshet, can judge the client's channel.
    ///
    /// # Errors
    /// The settings want TLS and the client has none, so the accounts would have to be read, and cannot be.
    pub(super) async fn preference(self) -> Result<Preference, Error> {
        let config = &self.gate.config;
        let over_tcp = matches!(config.address, Address::Tcp { .. });
        let (preferred, has_tls) = match config.tls {
            TlsMode::Disabled => return Ok(Preference::Nowhere),
            TlsMode::Preferred => (true, self.gate.server_has_tls()),
            TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => (false, true),
        };
        match self.channel {
            Channel::Tls => Ok(Preference::Everywhere),
            // Nobody could listen on this way anyway.
            Channel::Clear if preferred && config.address.is_local() => Ok(Preference::Nowhere),
            Channel::Socket if preferred && !over_tcp => Ok(Preference::Nowhere),
            _ if !has_tls => Ok(Preference::Nowhere),
            _ => match self.can_read_accounts(preferred).await {
                Ok(true) => Ok(Preference::Tcp),
                _ if preferred => Ok(Preference::Nowhere),
                Ok(false) => Err(Error::Server(unreadable())),
                Err(error) => Err(error),
            },
        }
    }

    /// Asks whether accounts can be read. For a moment after the start, and after a break, nobody can ask: a login that
    /// needs the answer waits for that.
    async fn can_read_accounts(self, is_optional: bool) -> Result<bool, Error> {
        if let Some(known) = self.gate.secrets.readable(self.epoch) {
            return Ok(known);
        }
        let mut tries = if is_optional { 1 } else { ASKING_TRIES };
        loop {
            tries -= 1;
            match self.gate.ask(CAN_READ).await {
                Ok(_) => return Ok(self.remember_readable(true)),
                Err(Error::Server(_)) => return Ok(self.remember_readable(false)),
                Err(error) if tries == 0 => return Err(error),
                Err(_) => tokio::time::sleep(ASKING_PAUSE).await,
            }
        }
    }

    fn remember_readable(self, readable: bool) -> bool {
        self.gate.secrets.set_readable(readable, self.epoch);
        readable
    }

    /// Refuses a login that the server has accepted because Freshet's channel to it is better than the client's.
    ///
    /// # Errors
    /// [`Error::Server`] with the server's error for such a channel; and errors of the question itself.
    pub(super) async fn hold(
        self,
        connection: &mut Connection,
        user: &[u8],
        has_password: bool,
    ) -> Result<(), Error> {
        let ours = connection.channel();
        let lacks_tls = ours == Channel::Tls && self.channel != Channel::Tls;
        let lacks_secrecy = ours.is_secure() && !self.channel.is_secure();
        if !lacks_tls && !lacks_secrecy {
            return Ok(());
        }
        let requirement = match self.gate.secrets.requirement(user, self.epoch) {
            Some(known) => known,
            None => {
                let (account, read) = self.read(connection).await?;
                self.gate.secrets.set_requirement(user, &account, read, self.epoch);
                read
            }
        };
        // Requirements that the server has judged by itself need not be judged again.
        let requirement = Requirement { tls: requirement.tls && lacks_tls, ..requirement };
        if requirement.is_met_by(self.channel) {
            return Ok(());
        }
        let version = connection.greeting().server_version.clone();
        if requirement.is_for_the_channel_alone(self.channel, &version) {
            return Err(Error::Server(insecure(&version)));
        }
        let (who, _) = who(connection).await?;
        Err(Error::Server(denied(&who, has_password)))
    }

    /// Returns the error for a login that the server has refused on Freshet's better channel: the server might have refused the client's
    /// own channel first.
    pub(super) async fn refused(self, error: Error) -> Error {
        if self.channel.is_secure() || !matches!(error, Error::Server(_)) {
            return error;
        }
        match self.gate.greeting().await {
            Ok(greeting) if channel_comes_first(&greeting.server_version) => {
                let is_required = self.requires_secure().await.unwrap_or(false);
                if is_required { Error::Server(insecure(&greeting.server_version)) } else { error }
            }
            _ => error,
        }
    }

    async fn requires_secure(self) -> Result<bool, Error> {
        let rows = self.gate.ask(REQUIRES_SECURE).await?;
        Ok(rows.text(0, 1).is_some_and(|value| value.eq_ignore_ascii_case("ON")))
    }

    async fn read(self, connection: &mut Connection) -> Result<(Vec<u8>, Requirement), Error> {
        let (_, account) = who(connection).await?;
        let question = format!(
            "SELECT ssl_type FROM mysql.user WHERE CAST(CONCAT(User, '@', Host) AS BINARY) = X'{account}'"
        );
        // The server judges a unix socket to it, except for `require_secure_transport`.
        let tls = connection.channel() == Channel::Tls && {
            let rows = self.gate.ask(&question).await?;
            // An account that is not found counts as one that demands TLS.
            rows.text(0, 0) != Some("")
        };
        Ok((unhex(&account), Requirement { tls, secure: self.requires_secure().await? }))
    }
}

/// Returns the user with its host, and the account, both in hexadecimal digits.
pub(super) async fn who(connection: &mut Connection) -> Result<(String, String), Error> {
    let rows = connection.query(WHO).await?;
    match (rows.text(0, 0), rows.text(0, 1)) {
        (Some(user), Some(account)) => Ok((user.to_owned(), account.to_owned())),
        _ => Err(Error::Unexpected { question: WHO }),
    }
}

impl Requirement {
    /// Whether a server of this version refuses the channel with an error of its own. MySQL checks the account's demands first.
    fn is_for_the_channel_alone(self, channel: Channel, version: &[u8]) -> bool {
        match modes_of_server(version).flavor {
            Flavor::MySql => !self.tls,
            Flavor::MariaDb => self.secure && !channel.is_secure() && channel_comes_first(version),
        }
    }
}

fn channel_comes_first(version: &[u8]) -> bool {
    modes_of_server(version).flavor == Flavor::MariaDb
        && Version::parse(&String::from_utf8_lossy(version)) >= CHANNEL_COMES_FIRST
}

/// Returns the server's error. The SQL state depends on the version.
fn insecure(version: &[u8]) -> ErrPacket {
    let sqlstate = if channel_comes_first(version) { "08004" } else { "HY000" };
    let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    ErrPacket::new(SECURE_TRANSPORT_REQUIRED, sqlstate, text)
}

/// Returns the error that denies access to `who`, given in hexadecimal digits.
fn denied(who: &str, has_password: bool) -> ErrPacket {
    let who = unhex(who);
    let who = String::from_utf8_lossy(&who);
    let (user, host) = who.rsplit_once('@').unwrap_or((&who, ""));
    let used = if has_password { "YES" } else { "NO" };
    let text = format!("Access denied for user '{user}'@'{host}' (using password: {used})");
    ErrPacket::new(ACCESS_DENIED, "28000", text)
}

fn unreadable() -> ErrPacket {
    let text = "Connections using insecure transport are prohibited: which accounts may use it cannot be read; \
                use TLS, or grant Freshet's account SELECT on mysql.user";
    ErrPacket::new(SECURE_TRANSPORT_REQUIRED, "HY000", text)
}

/// Returns the bytes for hexadecimal digits.
pub(super) fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}
