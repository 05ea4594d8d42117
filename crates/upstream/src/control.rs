//! The connections on which we ask for ourselves.

use freshet_protocol::{Capabilities, Login};

use crate::config::Config;
use crate::connection::Connection;
use crate::error::Error;
use crate::password::Password;

/// utf8mb4_general_ci, which every server since MySQL 5.5 and MariaDB 5.5 knows.
pub const UTF8MB4: u8 = 45;
/// What our own questions need; nothing that would make their answers harder to read.
const WANT: Capabilities = Capabilities::DEPRECATE_EOF
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH);
/// The session that our questions are written for. The modes decide how the server quotes what it
/// shows us; the long wait lets a connection on which little is asked live on; the isolation makes
/// each question see what is committed when it is asked.
const SESSION: &str = "SET SESSION sql_mode = '', autocommit = 1, wait_timeout = 86400, \
     sql_select_limit = DEFAULT, max_join_size = DEFAULT";
/// Both servers take this form, and neither the other's name of the variable.
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Connection attributes by which an operator recognises us in the process list.
const ATTRIBUTES: [(&str, &str); 2] = [("program_name", "freshet"), ("_client_name", "freshet")];

/// Opens a connection with our own account and a session in which names and definitions come in
/// UTF-8 and in the servers' default notation.
///
/// # Errors
/// What dialling, logging in or setting up can fail with.
pub async fn connect(config: &Config) -> Result<Connection, Error> {
    let dialled = Connection::dial(config, WANT, UTF8MB4).await?;
    let mut password = Password::new(config.password.clone());
    let (mut connection, _) = dialled.login(login(config), &mut password).await?;
    connection.query(SESSION).await?;
    connection.query(ISOLATION).await?;
    Ok(connection)
}

/// A login with our own account, the answer still open.
pub fn login(config: &Config) -> Login {
    Login {
        capabilities: Capabilities::empty(),
        max_packet_size: crate::connection::MAX_PACKET_SIZE,
        collation: UTF8MB4,
        user: config.user.clone().into_bytes(),
        auth_response: Vec::new(),
        database: config.database.clone().map(String::into_bytes),
        auth_plugin: None,
        attributes: Some(attributes()),
        zstd_level: None,
    }
}

fn attributes() -> Vec<u8> {
    use freshet_protocol::Put;
    let mut out = Vec::new();
    for (name, value) in ATTRIBUTES {
        out.put_lenenc_bytes(name.as_bytes());
        out.put_lenenc_bytes(value.as_bytes());
    }
    out
}

/// A text as an SQL literal, for a session without NO_BACKSLASH_ESCAPES.
///
/// The only character sets of our sessions are ASCII-safe, so no second byte of a character can be
/// taken for a quote.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        match character {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// A name as an SQL identifier.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests;
