//! Holds a login to what the server demands of its channel, where the server cannot judge that itself.
//!
//! The server judges the channel that it sees, which is ours to it. Where ours is no better than the client's, its
//! verdict is the right one. Where ours is better (TLS that the settings ask for, or a unix socket, behind a client that
//! has less), the account's REQUIRE and `require_secure_transport` are read and enforced here, in the server's words.

use std::time::Duration;

use freshet_protocol::ErrPacket;
use freshet_sql::Flavor;
use freshet_upstream::server::Version;
use freshet_upstream::{Address, Channel, Connection, Error, Preference, TlsMode};

use super::gate::Gate;
use super::knowledge::Epoch;
use super::requirement::Requirement;
use crate::environment::modes_of_server;

/// Who the login is to the server, and as which of its accounts. In hexadecimal digits, which mean the same in every
/// character set that the client may have.
const WHO: &str = "SELECT HEX(USER()), HEX(CURRENT_USER())";
/// Whether accounts can be read: no row is wanted.
const CAN_READ: &str = "SELECT ssl_type FROM mysql.user LIMIT 0";
/// How often, and how long apart, somebody to ask is looked for.
const ASKING_TRIES: u32 = 60;
const ASKING_PAUSE: Duration = Duration::from_millis(50);
/// ER_ACCESS_DENIED_ERROR.
const ACCESS_DENIED: u16 = 1045;
/// ER_SECURE_TRANSPORT_REQUIRED.
const SECURE_TRANSPORT_REQUIRED: u16 = 3159;
/// Whether clients need a channel that others cannot read.
const REQUIRES_SECURE: &str = "SHOW GLOBAL VARIABLES LIKE 'require_secure_transport'";
/// From this MariaDB on, the server looks at the channel before it looks at who comes, and has an error for it.
const CHANNEL_COMES_FIRST: Version = Version { major: 11, minor: 4, patch: 0 };

/// For whom the server is asked.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub(super) gate: &'a Gate,
    /// What the client's connection passes over.
    pub(super) channel: Channel,
    /// From before the login.
    pub(super) epoch: Option<Epoch>,
}

impl Asker<'_> {
    /// Which channel to the server lets the server judge the client's, or lets us.
    ///
    /// # Errors
    /// The settings want TLS and the client has none, so that the accounts would have to be read, and cannot be.
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
            // Nobody on the way could listen anyway.
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

    /// Asks whether accounts can be read. There is nobody to ask for a moment after the start, and after a break: a login that
    /// is lost without an answer waits for that.
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

    /// Refuses a login that the server has accepted because our channel to it is better than the client's.
    ///
    /// # Errors
    /// [`Error::Server`] with what the server would have said; and what can go wrong when it is asked.
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
        // What the server has judged by itself need not be judged again.
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

    /// What the client is told of a login that the server has refused on our better channel: it may be the client's own channel that
    /// comes first.
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
        // A unix socket upstream is judged by the server but for `require_secure_transport`.
        let tls = connection.channel() == Channel::Tls && {
            let rows = self.gate.ask(&question).await?;
            // An account that is not found is taken to demand it.
            rows.text(0, 0) != Some("")
        };
        Ok((unhex(&account), Requirement { tls, secure: self.requires_secure().await? }))
    }
}

/// The user with its host, and the account, both in hexadecimal digits.
pub(super) async fn who(connection: &mut Connection) -> Result<(String, String), Error> {
    let rows = connection.query(WHO).await?;
    match (rows.text(0, 0), rows.text(0, 1)) {
        (Some(user), Some(account)) => Ok((user.to_owned(), account.to_owned())),
        _ => Err(Error::Unexpected { question: WHO }),
    }
}

impl Requirement {
    /// Whether a server of this version refuses the channel in words of its own. MySQL looks at the account's demands first.
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

/// The servers' own words, of which the SQL states differ.
fn insecure(version: &[u8]) -> ErrPacket {
    let sqlstate = if channel_comes_first(version) { "08004" } else { "HY000" };
    let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    ErrPacket::new(SECURE_TRANSPORT_REQUIRED, sqlstate, text)
}

/// Where `who`, in hexadecimal digits, may not come.
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

/// The bytes that hexadecimal digits stand for.
pub(super) fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}
