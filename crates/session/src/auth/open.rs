//! A connection to the server for a client that was let in without one.

use freshet_upstream::{Error, now_ms};
use tokio::time::timeout;

use super::admitted::Admitted;
use super::asker::Asker;
use super::begun::LoginBegun;
use super::gate::Gate;
use super::login::with_password;

impl Admitted {
    /// This login without its connection, for one that takes its place.
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

/// Logs in to the server as the client did, with the password that it proved to know, within the login timeout, and takes the
/// connection over.
///
/// # Errors
/// The server cannot be reached or refuses the login now; or the client's password is not known, because it was never
/// handed over: then there is no way to the server but the connection that came with the login.
pub async fn open(gate: &Gate, admitted: &mut Admitted) -> Result<(), Error> {
    let Some(credential) = &admitted.credential else { return Err(Error::Closed) };
    let limit = gate.options.login_timeout;
    let (epoch, at_ms) = (gate.epoch(), now_ms());
    let asker = Asker { gate, channel: admitted.channel, epoch };
    let asked = with_password(None, &admitted.login, credential, asker);
    let (connection, _) =
        timeout(limit, asked).await.unwrap_or(Err(Error::TimedOut { doing: "logging in", limit }))?;
    admitted.upstream = Some(connection);
    admitted.begun = LoginBegun::new(epoch, at_ms);
    Ok(())
}
