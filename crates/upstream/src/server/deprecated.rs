//! The syntax of which the server warns. The server is asked, since it differs by version.

use freshet_sql::Deprecated;

use crate::connection::Connection;
use crate::error::Error;

/// Asks with one statement for each syntax. The server does not warn of syntax that it refuses.
pub(super) async fn ask_about(connection: &mut Connection) -> Result<Vec<Deprecated>, Error> {
    let mut warns_of = Vec::new();
    for what in Deprecated::ALL {
        match connection.query(what.sample()).await {
            Ok(rows) if rows.warnings == 1 => warns_of.push(what),
            Ok(_) | Err(Error::Server(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(warns_of)
}
