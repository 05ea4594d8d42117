//! One login at the server.

use freshet_protocol::{ChangeUser, Login, OkPacket};
use freshet_upstream::{Connection, Error, Responder};
use tokio::time::sleep;

use super::asker::LoginAsker;
use crate::full::{LOGIN_FULL_FOR, Looks, is_refused_as_full};

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
    let mut looks = Looks::begin();
    loop {
        let opened = open_new(login.clone(), responder, asker).await;
        if !matches!(&opened, Err(error) if is_refused_as_full(error)) {
            return opened;
        }
        asker.gate.spares.clear();
        // Also if this login cannot wait, the next ones find a connection.
        let may_have_room = asker.gate.note_full();
        let waits = asker.waits && may_have_room && responder.may_begin_again();
        // MySQL has one more place than it tells of, for administrators. It refuses others there after the client was asked for its proof,
        // which the client gives once.
        let mut has_place = false;
        while !has_place {
            let Some(pause) = looks.next(LOGIN_FULL_FOR).filter(|_| waits) else { return opened };
            sleep(pause).await;
            has_place = asker.gate.has_place().await;
            asker.gate.note_full();
        }
    }
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
