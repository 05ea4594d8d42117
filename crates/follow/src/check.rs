//! Whether the server is set up so that it can be followed, and what mends it if not.
//!
//! The findings that [`ServerInfo`] alone decides are pure functions of it: [`settings`], [`semisync`] and [`privileges`]. Only the
//! inventory of tables asks the server.

mod finding;
mod settings;
mod privileges;
mod inventory;

use freshet_catalog::ForeignKeys;
use freshet_upstream::{Connection, Error, ServerInfo};

pub use finding::{Finding, Readiness};

/// Checks all preconditions. Works with any privileges, and says which ones it lacked. `wants_semisync`: the configuration relies on the
/// server's commits to wait for us.
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

/// Returns what the server's version and settings say.
pub fn settings(server: &ServerInfo) -> Vec<Finding> {
    settings::all(server)
}

/// Whether commits could wait for us. `wanted`: a setting relies on it.
pub fn semisync(server: &ServerInfo, wanted: bool) -> Finding {
    settings::semisync(server, wanted)
}

/// Returns what our account may do.
pub fn privileges(server: &ServerInfo) -> Vec<Finding> {
    privileges::all(server)
}

#[cfg(test)]
mod tests;
