//! One login at the server.

use freshet_protocol::{ChangeUser, ErrPacket, Login, OkPacket};
use freshet_upstream::{Connection, Error, Responder};

use super::asker::LoginAsker;

/// Makes the login at the server: on a connection of its own, or as a change of user on the connection there is.
pub(super) async fn ask_server(
    upstream: Option<Connection>,
    login: Login,
    responder: &mut impl Responder,
    asker: LoginAsker<'_>,
) -> Result<(Connection, OkPacket), Error> {
    if let Some(mut connection) = upstream {
        let ok = connection.change_user(change_of(login), responder).await?;
        return Ok((connection, ok));
    }
    let opened = open_new(login, responder, asker).await;
    if matches!(&opened, Err(Error::Server(refusal)) if refusal.code == ErrPacket::TOO_MANY_CONNECTIONS) {
        asker.gate.spares.clear();
    }
    opened
}

async fn open_new(
    login: Login,
    responder: &mut impl Responder,
    asker: LoginAsker<'_>,
) -> Result<(Connection, OkPacket), Error> {
    let preference = asker.preference().await?;
    let dialled = asker.gate.dial(preference, login.capabilities, login.collation).await?;
    // The client's time limit covers the whole login already.
    dialled.login_without_limit(login, responder).await
}

/// Returns the same login for Freshet to send: with `plugin`, or with the server's choice if the password is known.
pub(super) fn with_plugin(login: &Login, plugin: Option<&str>) -> Login {
    let auth_plugin = plugin.map(|name| name.as_bytes().to_vec());
    Login { auth_response: Vec::new(), auth_plugin, zstd_level: None, ..login.clone() }
}

pub(super) fn change_of(login: Login) -> ChangeUser {
    ChangeUser {
        user: login.user,
        auth_response: login.auth_response,
        database: login.database.unwrap_or_default(),
        collation: Some(u16::from(login.collation)),
        auth_plugin: login.auth_plugin,
        attributes: login.attributes,
    }
}
