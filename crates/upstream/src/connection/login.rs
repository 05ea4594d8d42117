//! The conversation of a login, and of COM_CHANGE_USER, which is a login without a greeting.

use freshet_protocol::{
    AuthReply, Capabilities, ChangeUser, ErrPacket, Login, MYSQL_NATIVE_PASSWORD, OkPacket, scramble_in,
};

use super::{Connection, Dialled, HANDSHAKE_PACKET_BYTES_MAX, within};
use crate::error::Error;
use crate::responder::{Challenge, Responder};

/// The most rounds of a login. A login asks and answers a few times; a server that goes on for longer is not logging anyone in.
const ROUNDS_MAX: usize = 32;

impl Dialled {
    /// Logs in.
    ///
    /// If `login.auth_plugin` is set, the login goes out with the `auth_response` it carries, which
    /// lets a relay name whatever plugin it likes. If it is `None`, the responder is asked for the
    /// answer to the greeting's plugin. Capabilities and collation are those of the dialling;
    /// the database is sent if one is given.
    ///
    /// # Errors
    /// [`Error::Server`] with the server's own refusal, [`Error::Authentication`] from the
    /// responder, and what can go wrong on a connection.
    pub async fn login(
        self,
        login: Login,
        responder: &mut impl Responder,
    ) -> Result<(Connection, OkPacket), Error> {
        let limit = self.limit;
        within(limit, "logging in", self.login_without_limit(login, responder)).await
    }

    /// As [`Self::login`] with no limit of time, for a responder that waits for a client and
    /// bounds the whole by itself.
    ///
    /// # Errors
    /// As [`Self::login`].
    pub async fn login_without_limit(
        self,
        mut login: Login,
        responder: &mut impl Responder,
    ) -> Result<(Connection, OkPacket), Error> {
        let mut connection = self.connection;
        connection.settle_optional_parts(&mut login);
        login.capabilities = connection.capabilities;
        login.collation = self.collation;
        let plugin = match &login.auth_plugin {
            Some(plugin) => plugin_name(plugin),
            None => {
                let (plugin, response) = connection.first_answer(responder).await?;
                login.auth_plugin = Some(plugin.clone().into_bytes());
                login.auth_response = response;
                plugin
            }
        };
        if !connection.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            login.auth_plugin = None;
        }
        connection.write_packet(&login.encode()).await?;
        let ok = connection.authenticate(plugin, responder).await?;
        Ok((connection, ok))
    }
}

impl Connection {
    /// Logs in as somebody else on this connection, which also resets the whole session.
    ///
    /// `auth_plugin` has the meaning it has in [`Dialled::login`]. Bounding the time is the
    /// caller's part.
    ///
    /// # Errors
    /// As [`Dialled::login`]. After any error the connection is of no use: the server closes it.
    pub async fn change_user(
        &mut self,
        mut to: ChangeUser,
        responder: &mut impl Responder,
    ) -> Result<OkPacket, Error> {
        let plugin = match &to.auth_plugin {
            Some(plugin) => plugin_name(plugin),
            None => {
                let (plugin, response) = self.first_answer(responder).await?;
                to.auth_plugin = Some(plugin.clone().into_bytes());
                to.auth_response = response;
                plugin
            }
        };
        self.send_command(&to.encode(self.capabilities)).await?;
        self.queried = false;
        self.authenticate(plugin, responder).await
    }

    /// Brings the parts that a login may lack and the capabilities that announce them together.
    ///
    /// MySQL reads the announcement from the request for TLS and ignores the login's own after that. So an announced part is always sent;
    /// an empty part means the same as none.
    fn settle_optional_parts(&mut self, login: &mut Login) {
        if self.is_tls() && self.capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            login.database.get_or_insert_default();
        }
        if !self.capabilities.contains(Capabilities::CONNECT_ATTRS) {
            login.attributes = None;
        } else if self.is_tls() {
            login.attributes.get_or_insert_default();
        }
        self.capabilities.set(Capabilities::CONNECT_WITH_DB, login.database.is_some());
        self.capabilities.set(Capabilities::CONNECT_ATTRS, login.attributes.is_some());
    }

    /// Returns the answer to the plugin that the greeting names. If the responder does not know that one,
    /// the login starts with the oldest plugin, as client libraries do: the account may use another
    /// one, and then the server asks again.
    async fn first_answer(&self, responder: &mut impl Responder) -> Result<(String, Vec<u8>), Error> {
        let scramble = &self.greeting.scramble;
        let secure = self.is_secure();
        let named = match self.greeting.auth_plugin.as_str() {
            "" => MYSQL_NATIVE_PASSWORD,
            plugin => plugin,
        };
        match responder.answer(named, Challenge::Switch(scramble), secure).await {
            Ok(answer) => Ok((named.to_owned(), answer.unwrap_or_default())),
            Err(Error::Authentication { .. }) => {
                let answer =
                    responder.answer(MYSQL_NATIVE_PASSWORD, Challenge::Switch(scramble), secure).await?;
                Ok((MYSQL_NATIVE_PASSWORD.to_owned(), answer.unwrap_or_default()))
            }
            Err(error) => Err(error),
        }
    }

    async fn authenticate(
        &mut self,
        mut plugin: String,
        responder: &mut impl Responder,
    ) -> Result<OkPacket, Error> {
        let secure = self.is_secure();
        for _ in 0..ROUNDS_MAX {
            let packet = self.read_in_order(HANDSHAKE_PACKET_BYTES_MAX).await?;
            let answer = match AuthReply::parse(&packet.payload)? {
                AuthReply::Ok(payload) => return Ok(OkPacket::parse(payload, self.capabilities)?),
                AuthReply::Err(payload) => return Err(Error::Server(ErrPacket::parse(payload)?)),
                AuthReply::OldSwitch => return Err(old_password()),
                AuthReply::Switch { plugin: named, data } => {
                    plugin = plugin_name(named);
                    responder.answer(&plugin, Challenge::Switch(without_nul(data)), secure).await?
                }
                AuthReply::More(data) => responder.answer(&plugin, Challenge::More(data), secure).await?,
            };
            if let Some(answer) = answer {
                self.write_packet(&answer).await?;
            }
        }
        Err(Error::Unexpected { question: "the login: the server asks without end" })
    }
}

fn plugin_name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a scramble without the NUL behind it, which is no part of it; other plugins' data stay unchanged.
fn without_nul(data: &[u8]) -> &[u8] {
    match scramble_in(data) {
        Some(_) => data.strip_suffix(&[0]).unwrap_or(data),
        None => data,
    }
}

fn old_password() -> Error {
    Error::Authentication {
        plugin: "mysql_old_password".into(),
        why: "the passwords of MySQL 4.0 are not supported: set the account's password anew",
    }
}
