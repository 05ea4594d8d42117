//! A connection to the server for a client that was let in without one.

use freshet_upstream::{Connection, Error, Password};

use super::{Admitted, Gate};

impl Admitted {
    /// This login with its connection, for one that takes its place; what is left has none.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self {
            user: self.user.clone(),
            login: self.login.clone(),
            database: self.database.clone(),
            upstream: self.upstream.take(),
            secret: self.secret.clone(),
            connection_id: self.connection_id,
            ok: self.ok.clone(),
            scrambles: self.scrambles.clone(),
        }
    }
}

/// Logs in to the server as the client did, with the password that it proved to know.
///
/// # Errors
/// The server cannot be reached or refuses the login now.
pub async fn open(gate: &Gate, admitted: &Admitted) -> Result<Connection, Error> {
    let Some(secret) = &admitted.secret else { return Err(Error::Closed) };
    let dialled = gate.dial(admitted.login.capabilities, admitted.login.collation).await?;
    let mut login = admitted.login.clone();
    login.capabilities = dialled.capabilities;
    let (connection, _) = dialled.login(login, &mut Password::new(secret.clone())).await?;
    Ok(connection)
}
