//! Whether the server is set up so that it can be followed, and what mends it if not.
#![allow(clippy::unimplemented)]

use crate::connection::Connection;
use crate::error::Error;

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
    /// The exact statement, or setting, that mends it.
    pub remedy: Option<String>,
}

/// Looks at everything. Works with any privileges, and says which ones it lacked.
///
/// # Errors
/// Only if the connection breaks.
pub async fn examine(connection: &mut Connection) -> Result<Vec<Finding>, Error> {
    let _ = connection;
    unimplemented!()
}
