//! Opening a connection to the server for a client that was let in without one.

use freshet_upstream::{Error, now_ms};
use tokio::time::timeout;

use super::admitted::Admitted;
use super::asker::LoginAsker;
use super::begun::LoginBegun;
use super::gate::Gate;
use super::login::with_password;

impl Admitted {
    /// Returns this login without its connection, for a login that replaces it.
    pub fn hand_over(&self) -> Self {
        Self {
            user: self.user.clone(),
            login: self.login.clone(),
            database: self.database.clone(),
            chooses_ours: self.chooses_ours,
            upstream: None,
            begun: None,
            leave: None,
            credential: self.credential.clone(),
            connection_id: self.connection_id,
            channel: self.channel,
            ok: self.ok.clone(),
            scrambles: self.scrambles.clone(),
        }
    }
}

/// Logs in to the server as the client did, with the password that it proved to know, within the login timeout, and takes over the
/// connection.
///
/// # Errors
/// The server cannot be reached or refuses the login now. Or the client's password is unknown, because the client never
/// handed it over: then only the connection of its own login reaches the server.
pub async fn open(gate: &Gate, admitted: &mut Admitted) -> Result<(), Error> {
    let Some(credential) = &admitted.credential else { return Err(Error::Closed) };
    let limit = gate.options.login_timeout;
    let (epoch, at_ms) = (gate.epoch(), now_ms());
    let asker = LoginAsker { gate, channel: admitted.channel, epoch, waits: false };
    let asked = with_password(None, &admitted.login, credential, asker);
    let (connection, _) =
        timeout(limit, asked).await.unwrap_or(Err(Error::TimedOut { doing: "logging in", limit }))?;
    admitted.upstream = Some(connection);
    admitted.begun = LoginBegun::new(epoch, at_ms);
    Ok(())
}
