//! Whether the server is set up so that it can be followed, and what mends it if not.
//!
//! What can be said from [`ServerInfo`] alone is a pure function of it, [`settings`] and
//! [`privileges`], so that the follower can ask the same question at every start; only the
//! inventory of tables asks the server.

mod inventory;
mod privileges;
mod settings;

use freshet_catalog::ForeignKeys;
use freshet_upstream::{Connection, Error, ServerInfo};

/// How well a precondition is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Fine,
    /// Freshet works, with the loss that is told.
    Degraded,
    /// Without it nothing is cached: Freshet is a plain proxy.
    Missing,
}

/// One precondition, as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, for example `binlog_format`.
    pub subject: &'static str,
    /// How well it is met.
    pub state: State,
    /// What was found, in words for users.
    pub found: String,
    /// The exact statement, or the setting and a restart, that mends it.
    pub remedy: Option<String>,
}

impl Finding {
    fn fine(subject: &'static str, found: impl Into<String>) -> Self {
        Self { subject, state: State::Fine, found: found.into(), remedy: None }
    }

    fn degraded(subject: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, state: State::Degraded, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn missing(subject: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, state: State::Missing, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn without_remedy(self) -> Self {
        Self { remedy: None, ..self }
    }
}

/// Looks at everything. Works with any privileges, and says which ones it lacked. `wants_semisync`: the configuration
/// relies on the server's commits to wait for us.
///
/// # Errors
/// Only if the connection breaks.
pub async fn examine(connection: &mut Connection, wants_semisync: bool) -> Result<Vec<Finding>, Error> {
    let server = ServerInfo::read(connection).await?;
    let mut findings = settings(&server);
    findings.push(semisync(&server, wants_semisync));
    findings.extend(privileges(&server));
    findings.push(inventory::engines(connection).await?);
    findings.push(match ForeignKeys::read(connection, &server).await {
        Ok(keys) => inventory::cascades(&keys),
        Err(error) => inventory::unread("foreign keys", error)?,
    });
    Ok(findings)
}

/// What the server's version and settings say.
pub fn settings(server: &ServerInfo) -> Vec<Finding> {
    settings::all(server)
}

/// Whether commits could wait for us. `wanted`: somebody relies on it.
pub fn semisync(server: &ServerInfo, wanted: bool) -> Finding {
    settings::semisync(server, wanted)
}

/// What our account may do.
pub fn privileges(server: &ServerInfo) -> Vec<Finding> {
    privileges::all(server)
}

/// The first thing without which the server cannot be followed, if there is one.
pub fn obstacle(server: &ServerInfo) -> Option<Finding> {
    settings(server).into_iter().chain(privileges(server)).find(|finding| finding.state == State::Missing)
}

#[cfg(test)]
mod tests;
