//! The syntax of which the server warns. The server is asked, since it differs by version.

use freshet_sql::Deprecated;

use crate::connection::{Answered, Connection};
use crate::error::Error;

/// Asks with one statement for each syntax, all in one write. The server does not warn of syntax that it refuses.
pub(super) async fn ask_about(connection: &mut Connection) -> Result<Vec<Deprecated>, Error> {
    let answers = connection.query_each(&Deprecated::ALL.map(Deprecated::sample)).await?;
    let warns = |answer: &Answered| answer.as_ref().is_ok_and(|rows| rows.warnings == 1);
    let asked = Deprecated::ALL.into_iter().zip(&answers);
    Ok(asked.filter(|(_, answer)| warns(answer)).map(|(what, _)| what).collect())
}
