//! Sees to it that nobody borrows our own process's name.
//!
//! Behind a unix socket the server may let a process in for whom it runs (`unix_socket`, `auth_socket`): it then judges
//! us and not the client. A client may profit from that only if the server would have judged it the same, because it is
//! a process of the same user.

use std::sync::OnceLock;

use freshet_protocol::{Login, random_scramble};
use freshet_upstream::{Address, Connection, Error, Password, Secret};
use tokio::net::UnixStream;

use super::asker::{Asker, unhex, who};
use super::at_server::{ask_server, with_plugin};
use super::error::AdmitError;

/// Whether it is surely the client's answer that the server has accepted, and not who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Answer,
    /// The client is of our own user, so that either may be.
    Either,
}

/// Refuses a login that the server has accepted because of who we are.
pub(super) async fn check(
    asker: Asker<'_>,
    connection: &mut Connection,
    login: &Login,
    peer_uid: Option<u32>,
    challenged: bool,
) -> Result<Judged, AdmitError> {
    let Asker { gate, epoch, .. } = asker;
    if !matches!(gate.config.address, Address::Unix(_)) {
        return Ok(Judged::Answer);
    }
    if is_our_own(peer_uid) {
        return Ok(Judged::Either);
    }
    if !challenged {
        return Err(borrowed(login));
    }
    // MariaDB's accounts may have several plugins, of which one suffices: our name may have stood in for a wrong answer.
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

/// What the server says where no password was used.
fn borrowed(login: &Login) -> AdmitError {
    let user = String::from_utf8_lossy(&login.user);
    AdmitError::refused(1698, "28000", format!("Access denied for user '{user}'@'localhost'"))
}

/// Whether the client's process runs for the user that ours runs for.
fn is_our_own(peer_uid: Option<u32>) -> bool {
    static OURS: OnceLock<Option<u32>> = OnceLock::new();
    let ours = *OURS.get_or_init(|| Some(UnixStream::pair().ok()?.0.peer_cred().ok()?.uid()));
    ours.is_some() && ours == peer_uid
}
