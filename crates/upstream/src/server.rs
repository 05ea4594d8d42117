//! What is known of the server, read once per control connection.
#![allow(clippy::unimplemented)]

use std::collections::BTreeMap;

use freshet_protocol::Capabilities;
use freshet_sql::{Flavor, Modes};

use crate::connection::Connection;
use crate::error::Error;

/// A server's version as numbers: major, minor, patch.
pub type Version = (u16, u16, u16);

/// What is known of the server.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The version string exactly as the greeting has it.
    pub version_text: Vec<u8>,
    /// Its numbers.
    pub version: Version,
    /// Which family of servers it is of.
    pub flavor: Flavor,
    /// What it offers in its greeting.
    pub capabilities: Capabilities,
    /// The collation of its greeting.
    pub collation: u8,
    /// The authentication plugin of its greeting.
    pub auth_plugin: String,
    /// Whether rows are logged, and how.
    pub variables: BTreeMap<String, String>,
}

impl ServerInfo {
    /// Reads it all.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses even what everybody may ask.
    pub async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let _ = connection;
        unimplemented!()
    }

    /// The modes in which the server shows definitions to our own sessions.
    pub fn modes(&self) -> Modes {
        Modes::new(self.flavor)
    }
}
