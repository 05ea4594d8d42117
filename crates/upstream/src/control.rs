//! The connections for our own questions.

use freshet_protocol::{Capabilities, Login};

use crate::config::UpstreamConfig;
use crate::connection::{Connection, Rows};
use crate::error::Error;
use crate::password::Password;

/// utf8mb4_general_ci, which every server since MySQL 5.5 and MariaDB 5.5 knows.
pub const UTF8MB4: u8 = 45;
/// The capabilities that our own questions need; none of them makes the answers harder to read.
const WANT: Capabilities = Capabilities::DEPRECATE_EOF
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH);
/// The session for which our questions are written. The modes decide how the server quotes names and texts for us. The long wait keeps a
/// connection alive on which little is asked. The isolation makes each question see what is committed when it is asked. And a question
/// does not wait for a definition that is being changed, because others wait behind it.
const SESSION: &str = "SET SESSION sql_mode = '', autocommit = 1, wait_timeout = 86400, \
     lock_wait_timeout = 1, sql_select_limit = DEFAULT, max_join_size = DEFAULT";
/// How many of the statements that begin a session must not fail: [`SESSION`] and [`ISOLATION`].
const NEEDED: usize = 2;
/// So that no warning is lost. MySQL lets only some accounts set this; the others go on with fewer warnings.
const ALL_WARNINGS: &str = "SET SESSION max_error_count = 65535";
/// ER_WARN_I_S_SKIPPED_TABLE: information_schema leaves a table out that is being changed.
const SKIPPED_TABLE: &str = "1684";
/// Both servers accept this form; each rejects the other's name of the variable.
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Connection attributes by which an operator recognises us in the process list.
const ATTRIBUTES: [(&str, &str); 2] = [("program_name", "freshet"), ("_client_name", "freshet")];

/// Opens a connection with our own account and a session in which names and definitions come in
/// UTF-8 and in the servers' default notation.
///
/// # Errors
/// What dialling, logging in or setting up can fail with.
pub async fn connect(config: &UpstreamConfig) -> Result<Connection, Error> {
    connect_as(config, WANT, login(config)).await
}

/// As [`connect`], without a default schema and with answers of another form: for questions that others have asked.
///
/// # Errors
/// As [`connect`].
pub async fn connect_in_form(config: &UpstreamConfig, form: Capabilities) -> Result<Connection, Error> {
    let want = WANT.difference(Capabilities::DEPRECATE_EOF).union(form);
    connect_as(config, want, Login { database: None, ..login(config) }).await
}

async fn connect_as(config: &UpstreamConfig, want: Capabilities, login: Login) -> Result<Connection, Error> {
    let dialled = Connection::dial(config, want, UTF8MB4).await?;
    let mut password = Password::new(config.password.clone());
    let (mut connection, _) = dialled.login(login, &mut password).await?;
    let mut answers = connection.query_each(&[SESSION, ISOLATION, ALL_WARNINGS]).await?;
    answers.truncate(NEEDED);
    answers.into_iter().collect::<Result<Vec<_>, _>>().map_err(Error::Server)?;
    Ok(connection)
}

/// Asks information_schema about definitions, and takes no answer that leaves something out.
///
/// MariaDB opens each table to describe it. It leaves out a table that is locked for a change, in whole or in part, with a warning; and
/// if that change fails, the stream never tells of it.
///
/// # Errors
/// [`Error::Unsettled`] if something was left out. A later question gets it.
pub async fn query_definitions(connection: &mut Connection, sql: &str) -> Result<Rows, Error> {
    let rows = connection.query(sql).await?;
    if rows.warnings > 0 {
        let warnings = connection.query("SHOW WARNINGS").await?;
        let all_shown = warnings.rows.len() >= usize::from(rows.warnings);
        if !all_shown || warnings.texts().any(|warning| warning.get(1) == Some(&SKIPPED_TABLE)) {
            return Err(Error::Unsettled);
        }
    }
    Ok(rows)
}

/// Returns a login with our own account, its answer not yet made.
pub fn login(config: &UpstreamConfig) -> Login {
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

/// Returns a text as an SQL literal, for a session without NO_BACKSLASH_ESCAPES.
///
/// The only character sets of our sessions are ASCII-safe, so no second byte of a character can be mistaken for a quote.
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

/// Returns a name as an SQL identifier.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests;
