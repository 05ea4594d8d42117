//! Lets in every client that the server itself would let in, without a list of users and without privileges on the server's tables.
//!
//! The server judges each login. Freshet's login names a plugin that no account has, so the server answers with the account's
//! own plugin and its challenge. Freshet relays them to the client, and the client's answers back ([`relay`]). If the
//! client hands over its password on a channel fit for it, the password is remembered ([`secrets`]). A later login that
//! proves to know the password, and that the server has already accepted in the same form, is answered without the server
//! ([`local`]). Every doubtful login goes to the server.

// Facts of the server, of accounts and of logins.
mod error;
mod knowledge;
mod requirement;
mod begun;
mod secrets;
mod spare;
mod admitted;
mod gate;

// Questions to the server.
mod asker;
mod at_server;
mod account;

// Proofs of the client's identity.
mod full;
mod local;
mod relay;
mod peer;

// The login, from Freshet's greeting on.
mod login;
mod greet;
mod open;

#[cfg(test)]
mod tests;

use std::time::Duration;

use freshet_protocol::ChangeUser;
use freshet_upstream::net::Stream;
use tokio::time::timeout;

pub use self::admitted::Admitted;
pub(crate) use self::begun::LoginBegun;
pub use self::error::AdmitError;
pub use self::gate::{CONNECTION_ID_MIN, Gate, LOGIN_TIMEOUT, LoginOptions, refuse_too_many};
pub use self::knowledge::{Epoch, Knowledge};
pub use self::open::open;
pub(crate) use self::spare::{Leave, LoginFit};
use crate::wire::Wire;

/// How many bytes a packet may have before its sender has logged in: connection attributes are at most 64 KiB.
pub const LOGIN_PACKET_BYTES_MAX: usize = 128 * 1024;

/// How much longer than its client a login may take, so that the server can refuse an unfinished login.
const FAREWELL_TO_SERVER_MAX: Duration = Duration::from_secs(2);

/// Carries out the whole handshake with a client, from Freshet's greeting to the OK packet, within the login timeout.
///
/// # Errors
/// The client is not let in. It has been told already, if possible, and the caller drops the connection.
pub async fn admit(stream: Stream, gate: &Gate) -> Result<(Wire, Admitted), AdmitError> {
    let mut wire = Wire::new(stream, LOGIN_PACKET_BYTES_MAX, gate.bounds());
    let outcome =
        timeout(gate.options.login_timeout + FAREWELL_TO_SERVER_MAX, greet::greet_and_login(&mut wire, gate))
            .await;
    let admitted = told(&mut wire, outcome.unwrap_or(Err(AdmitError::TimedOut))).await?;
    wire.set_packet_bytes_max(gate.options.max_allowed_packet);
    // A level that zstd does not have has been refused before.
    if let Ok(Some(compression)) = admitted.login.compression() {
        wire.start_compression(compression);
    }
    Ok((wire, admitted))
}

/// COM_CHANGE_USER: a new login on a connection that has one. It replaces everything of the old login, also its upstream
/// connection.
///
/// # Errors
/// The client is not let in. As with the server, its connection ends: the client has been told, and the caller drops the connection.
pub async fn reauthenticate(
    wire: &mut Wire,
    before: Admitted,
    change: ChangeUser,
    gate: &Gate,
) -> Result<Admitted, AdmitError> {
    let outcome = timeout(
        gate.options.login_timeout + FAREWELL_TO_SERVER_MAX,
        login::change_user(wire, before, change, gate),
    )
    .await;
    told(wire, outcome.unwrap_or(Err(AdmitError::TimedOut))).await
}

/// Tells the client why it is not let in, if it is not.
async fn told<T>(wire: &mut Wire, outcome: Result<T, AdmitError>) -> Result<T, AdmitError> {
    if let Err(error) = &outcome {
        error.tell(wire).await;
    }
    outcome
}
