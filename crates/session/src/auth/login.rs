//! Judges a login: by remembered facts if they are certain, else by the server.

use freshet_protocol::{ChangeUser, ErrPacket, Login, OkPacket, auth_more, caching_sha2};
use freshet_upstream::{Address, Connection, Credential, Error, Password, now_ms};

use tokio::time::Instant;

use super::asker::LoginAsker;
use super::at_server::{ask_server, change_of, with_plugin};
use super::begun::LoginBegun;
use super::error::AdmitError;
use super::gate::Gate;
use super::local::{self, Verified};
use super::peer::{self, Judged};
use super::relay::{Learned, LoginRelay, RelayedLogin};
use super::secrets::{Accepted, LoginKind};
use super::spare::Leave;

use super::admitted::{Admitted, LoginClient};
use crate::introspection::SCHEMA;
use crate::wire::Wire;

/// What a server answers that has no more connections, or none for the account: that says nothing of the password.
const FULL: [u16; 3] = [ErrPacket::TOO_MANY_CONNECTIONS, 1203, 1226];
/// A plugin that no account has: the server answers with the account's own plugin and a challenge, also for users that
/// do not exist.
const NO_PLUGIN: &str = "freshet";

/// A login that the server has accepted, or would accept.
struct AcceptedLogin {
    upstream: Option<Connection>,
    leave: Option<Leave>,
    credential: Option<Credential>,
    ok: OkPacket,
}

/// A login that proves its user's remembered password.
struct Proven {
    proof: Verified,
    credential: Credential,
    /// The server's answer, if it need not be asked.
    accepted: Option<OkPacket>,
}

/// Judges a first login and answers the client.
pub(super) async fn login(wire: &mut Wire, client: LoginClient, gate: &Gate) -> Result<Admitted, AdmitError> {
    judge(wire, client, None, gate).await
}

/// Judges a COM_CHANGE_USER and answers the client.
pub(super) async fn change_user(
    wire: &mut Wire,
    before: Admitted,
    change: ChangeUser,
    gate: &Gate,
) -> Result<Admitted, AdmitError> {
    let Admitted { login, scrambles, connection_id, upstream, .. } = before;
    let deadline = Instant::now() + gate.options.login_timeout;
    let client = LoginClient { login: changed(login, change), scrambles, connection_id, deadline };
    judge(wire, client, upstream, gate).await
}

/// Returns the login that would have had the same effect as `change`.
fn changed(before: Login, change: ChangeUser) -> Login {
    Login {
        user: change.user,
        auth_response: change.auth_response,
        database: Some(change.database).filter(|name| !name.is_empty()),
        auth_plugin: change.auth_plugin,
        attributes: change.attributes,
        // A login has room only for the first 256 collations; a client with another one sets it by SET NAMES.
        collation: change.collation.and_then(|id| u8::try_from(id).ok()).unwrap_or(before.collation),
        ..before
    }
}

/// `upstream` is the connection for the login, if there is one already.
async fn judge(
    wire: &mut Wire,
    mut client: LoginClient,
    upstream: Option<Connection>,
    gate: &Gate,
) -> Result<Admitted, AdmitError> {
    // Read before anything is sent: a change meanwhile makes the outcome one of an earlier epoch.
    let (epoch, at_ms) = (gate.epoch(), now_ms());
    let chooses_ours = chooses_ours(&mut client.login);
    let channel = wire.channel();
    let asker = LoginAsker { gate, channel, epoch, waits: true };
    let is_first = upstream.is_none();
    let verdict = match proven(&client, asker) {
        Some(Proven { proof, accepted: Some(ok), credential }) if is_first => {
            mark(wire, proof);
            AcceptedLogin { upstream: None, leave: None, credential: Some(credential), ok }
        }
        Some(proven) => by_memory(wire, &mut client, proven, upstream, asker).await?,
        None => by_relay(wire, &mut client, upstream, asker).await?,
    };
    wire.put(&verdict.ok.encode(client.login.capabilities, 0x00));
    wire.flush().await?;
    let LoginClient { login, scrambles, connection_id, .. } = client;
    let AcceptedLogin { upstream, leave, credential, ok } = verdict;
    let begun = LoginBegun::new(epoch, at_ms).filter(|_| is_first && upstream.is_some());
    let (user, database) = (login.user.clone(), login.database.clone());
    Ok(Admitted {
        user,
        login,
        database,
        chooses_ours,
        upstream,
        begun,
        leave,
        credential,
        connection_id,
        channel,
        ok,
        scrambles,
    })
}

/// Whether a login names the schema `freshet`. Then the login is made without a schema, and the session chooses the schema afterwards.
fn chooses_ours(login: &mut Login) -> bool {
    login.database.take_if(|name| name == SCHEMA.as_bytes()).is_some()
}

/// Returns the remembered facts that this login proves.
fn proven(client: &LoginClient, asker: LoginAsker<'_>) -> Option<Proven> {
    let LoginClient { login, scrambles, .. } = client;
    let LoginAsker { gate, channel, epoch, .. } = asker;
    let known = gate.secrets.remembered(&login.user, &LoginKind::of(login, channel), epoch)?;
    // By now the server may let Freshet's own process in as this account, without a password.
    let may_ask = known.is_current || matches!(gate.config.address, Address::Tcp { .. });
    let proof = local::verify(login, scrambles, &known.credential).filter(|_| may_ask)?;
    Some(Proven { proof, credential: known.credential, accepted: known.accepted })
}

/// Tells a client that waits for it that its proof was enough.
fn mark(wire: &mut Wire, proof: Verified) {
    if proof == Verified::Fast {
        wire.put(&auth_more(&[caching_sha2::FAST_AUTH_OK]));
    }
}

/// Judges a login that proves a known password: the server is asked, and the client need not be. If the account has
/// another plugin by now, which needs more than is known, the client is asked after all.
async fn by_memory(
    wire: &mut Wire,
    client: &mut LoginClient,
    proven: Proven,
    upstream: Option<Connection>,
    asker: LoginAsker<'_>,
) -> Result<AcceptedLogin, AdmitError> {
    let Proven { proof, credential, .. } = proven;
    let (secrets, login) = (&asker.gate.secrets, &client.login);
    let is_first = upstream.is_none();
    let (mut connection, ok) = match with_password(upstream, login, &credential, asker).await {
        Ok(asked) => asked,
        Err(Error::Authentication { .. }) if is_first => {
            secrets.forget(&login.user);
            return by_relay(wire, client, None, asker).await;
        }
        Err(error) => {
            if matches!(&error, Error::Server(refusal) if !FULL.contains(&refusal.code)) {
                secrets.forget(&login.user);
            }
            return Err(from_server(asker.refused(error).await));
        }
    };
    mark(wire, proof);
    if asker.epoch.is_some() {
        let accepted = Accepted { user: &login.user, kind: LoginKind::of(login, asker.channel), ok: &ok };
        let learned = Learned::Known(credential.clone());
        asker.learn(&mut connection, accepted, learned).await.map_err(from_server)?;
    }
    Ok(AcceptedLogin { upstream: Some(connection), leave: None, credential: Some(credential), ok })
}

/// Makes the login at the server with a password that the client has proved to know.
pub(super) async fn with_password(
    upstream: Option<Connection>,
    login: &Login,
    credential: &Credential,
    asker: LoginAsker<'_>,
) -> Result<(Connection, OkPacket), Error> {
    let mut password = Password::new(credential.clone());
    // The client's own answer was made for another scramble: the password gives a new answer.
    let (mut connection, ok) = ask_server(upstream, with_plugin(login, None), &mut password, asker).await?;
    asker.hold(&mut connection, &login.user, !credential.is_empty()).await?;
    Ok((connection, ok))
}

/// Relays a login: the server asks, the client answers, the server decides.
async fn by_relay(
    wire: &mut Wire,
    client: &mut LoginClient,
    upstream: Option<Connection>,
    asker: LoginAsker<'_>,
) -> Result<AcceptedLogin, AdmitError> {
    let LoginAsker { gate, channel, .. } = asker;
    let login = client.login.clone();
    let peer_uid = wire.peer_uid();
    let mut relay = LoginRelay::new(wire, gate, client);
    let is_first = upstream.is_none();
    let asked = ask_through(upstream, with_plugin(&login, Some(NO_PLUGIN)), &mut relay, asker).await;
    let RelayedLogin { learned, challenged, is_proven, has_password, failure } = relay.finish();
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Err(Error::Server(_)) = &asked {
        gate.secrets.refused(&login.user);
    }
    let (mut connection, ok) = match asked {
        Ok(asked) => asked,
        Err(error) => return Err(from_server(asker.refused(error).await)),
    };
    asker.hold(&mut connection, &login.user, has_password).await.map_err(from_server)?;
    let judged = peer::check(asker, &mut connection, &login, peer_uid, challenged).await?;
    // An answer that the server perhaps did not check proves nothing to others.
    let Some(learned) = learned.filter(|_| judged == Judged::Answer) else {
        let leave = match is_proven && is_first && judged == Judged::Answer {
            true => asker.leave(&mut connection, &login).await.map_err(from_server)?,
            false => None,
        };
        return Ok(AcceptedLogin { upstream: Some(connection), leave, credential: None, ok });
    };
    let accepted = Accepted { user: &login.user, kind: LoginKind::of(&login, channel), ok: &ok };
    let credential = asker.learn(&mut connection, accepted, learned).await.map_err(from_server)?;
    Ok(AcceptedLogin { upstream: Some(connection), leave: None, credential, ok })
}

/// Like [`ask_server`], if the client is asked: on a connection that is kept for its user, if there is one.
async fn ask_through(
    upstream: Option<Connection>,
    login: Login,
    relay: &mut LoginRelay<'_>,
    asker: LoginAsker<'_>,
) -> Result<(Connection, OkPacket), Error> {
    if upstream.is_none()
        && let Some(mut spare) = asker.gate.spares.take(&login, asker.channel, asker.epoch).await
    {
        match spare.change_user(change_of(login.clone()), relay).await {
            Ok(ok) => return Ok((spare, ok)),
            Err(error) if relay.has_asked() => return Err(error),
            // The kept connection was useless, and the client does not notice.
            Err(_) => {}
        }
    }
    ask_server(upstream, login, relay, asker).await
}

/// Passes the server's own errors to the client word for word.
fn from_server(error: Error) -> AdmitError {
    match error {
        Error::Server(packet) => AdmitError::Refused(packet),
        other => AdmitError::Upstream(other),
    }
}
