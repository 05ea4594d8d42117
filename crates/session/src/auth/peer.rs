//! Makes sure that nobody uses the identity of Freshet's own process.
//!
//! On a unix socket the server may let a process in because of its operating system user (`unix_socket`, `auth_socket`): it then judges
//! Freshet and not the client. A client may profit from that only if the server would have judged it the same, because it is
//! a process of the same user.

use std::sync::OnceLock;

use freshet_protocol::{Login, random_scramble};
use freshet_upstream::{Address, Connection, Error, Password, Secret};
use tokio::net::UnixStream;

use super::asker::{LoginAsker, unhex, who};
use super::at_server::{ask_server, with_plugin};
use super::error::AdmitError;

/// Whether the server has surely accepted the client's answer, and not Freshet's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Answer,
    /// The client is of Freshet's own user, so the server may have accepted either.
    Either,
}

/// Refuses a login that the server has accepted because of Freshet's identity.
pub(super) async fn check(
    asker: LoginAsker<'_>,
    connection: &mut Connection,
    login: &Login,
    peer_uid: Option<u32>,
    challenged: bool,
) -> Result<Judged, AdmitError> {
    let LoginAsker { gate, epoch, .. } = asker;
    if !matches!(gate.config.address, Address::Unix(_)) {
        return Ok(Judged::Answer);
    }
    if is_our_own(peer_uid) {
        return Ok(Judged::Either);
    }
    if !challenged {
        return Err(borrowed(login));
    }
    // MariaDB's accounts may have several plugins, and one of them suffices: Freshet's identity may have replaced a wrong answer.
    if gate.secrets.peer_checked(&login.user, epoch) {
        return Ok(Judged::Answer);
    }
    let nonsense = Secret::new(random_scramble().to_vec());
    match ask_server(None, with_plugin(login, None), &mut Password::new(nonsense), asker).await {
        Ok(_) => Err(borrowed(login)),
        Err(Error::Server(_) | Error::Authentication { .. }) => {
            let (_, account) = who(connection).await.map_err(AdmitError::Upstream)?;
            gate.secrets.peer_was_checked(&login.user, &unhex(&account), epoch);
            Ok(Judged::Answer)
        }
        Err(other) => Err(AdmitError::Upstream(other)),
    }
}

/// Returns the server's error for a login without a password.
fn borrowed(login: &Login) -> AdmitError {
    let user = String::from_utf8_lossy(&login.user);
    AdmitError::refused(1698, "28000", format!("Access denied for user '{user}'@'localhost'"))
}

/// Whether the client's process runs as the same user as Freshet.
fn is_our_own(peer_uid: Option<u32>) -> bool {
    static OURS: OnceLock<Option<u32>> = OnceLock::new();
    let ours = *OURS.get_or_init(|| Some(UnixStream::pair().ok()?.0.peer_cred().ok()?.uid()));
    ours.is_some() && ours == peer_uid
}
