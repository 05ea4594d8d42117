//! Finding the tables that temporary tables hide, after unknown code that may have made some.
//!
//! No server lists all temporary tables of a session: MySQL's `INNODB_TEMP_TABLE_INFO` has no names and one engine, and
//! MariaDB's `information_schema.TABLES` has them since 11.2 only. Both servers tell about a table by its name: SHOW CREATE TABLE
//! opens the table that a SELECT in this session would open, and its result begins with CREATE TEMPORARY if that is a temporary table.

use freshet_upstream::{Error, Rows};

use super::Session;
use super::temporary::Existence;
use crate::rows::Named;

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

/// The name of a table that does not exist.
const NOT_THERE: &str = "freshet asks about locks";

impl Session {
    /// Asks the server about those tables of a statement that unknown code may have hidden. The row counts and
    /// warnings of the statement before are lost, as with [`Session::learn`], and the question opens tables: never call it inside a
    /// transaction.
    /// The connection is lost.
    pub(crate) async fn find_hidden(&mut self, tables: &[Named], waits: bool) -> Result<(), Error> {
        if self.key_but_for_temporary_tables().is_none()
            || !self.state.hidden.tables_mut().is_worth_asking(waits)
        {
            return Ok(());
        }
        let names = tables.iter().map(|table| (&*table.schema, &*table.name)).collect::<Vec<_>>();
        Box::pin(self.find_hidden_among(&names)).await
    }

    /// Like [`Session::find_hidden`], for tables of these schemas and names.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn find_hidden_among(&mut self, tables: &[(&str, &str)]) -> Result<(), Error> {
        if let Some((schema, _)) = tables.first().filter(|_| self.state.hidden.tables().suspect_locks()) {
            let are_in_force = Box::pin(self.has_locks(schema)).await?;
            self.state.locks.learned(are_in_force);
            self.state.hidden.tables_mut().learned_locks();
        }
        for (schema, name) in tables {
            if self.state.hidden.tables().is_open(schema, name) {
                let existence = Box::pin(self.ask_about(schema, name)).await?;
                self.state.hidden.tables_mut().learned(schema, name, existence);
            }
        }
        Ok(())
    }

    /// Whether LOCK TABLES is in force: if so, the server refuses a table that is not locked before it looks for the table. If the server's
    /// error says neither (the account may see only some tables of the schema), tables count as locked.
    async fn has_locks(&mut self, schema: &str) -> Result<bool, Error> {
        Ok(self.ask_about(schema, NOT_THERE).await? != Existence::Absent)
    }

    async fn ask_about(&mut self, schema: &str, name: &str) -> Result<Existence, Error> {
        // The meaning of other characters depends on the session's character set.
        let are_told = schema.is_ascii() && name.is_ascii() || self.modes().utf8_names;
        if !are_told {
            return Ok(Existence::Untold);
        }
        let sql = format!("SHOW CREATE TABLE {}.{}", quoted(schema), quoted(name));
        match self.ask(&sql).await {
            Ok(rows) => {
                // MariaDB may have moved the session to the view's schema and back to open the view.
                self.lease.tracking.note_view_opened();
                Ok(shown(&rows))
            }
            Err(Error::Server(error)) if error.code == NO_SUCH_TABLE => Ok(Existence::Absent),
            // The account may not see it, or LOCK TABLES is in force.
            Err(Error::Server(_)) => Ok(Existence::Untold),
            Err(error) => Err(error),
        }
    }
}

/// Returns what the definition of a table or a view says.
fn shown(rows: &Rows) -> Existence {
    let definition = rows.rows.first().and_then(|row| row.get(1)?.as_deref()).unwrap_or_default();
    if definition.starts_with(b"CREATE TEMPORARY ") {
        Existence::Sure
    } else if definition.starts_with(b"CREATE ") {
        Existence::Absent
    } else {
        Existence::Untold
    }
}

/// Returns a name in backticks, which every mode reads alike.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
