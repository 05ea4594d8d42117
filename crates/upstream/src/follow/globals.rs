//! Global variables that can change results without a word in the binlog, as they were last looked at.

use crate::connection::{Connection, Rows};
use crate::error::Error;
use crate::server::ServerInfo;

/// The values, and the question that they answer. Equal if nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Globals {
    question: String,
    values: Vec<Vec<Option<Vec<u8>>>>,
}

impl Globals {
    /// Reads them.
    pub(crate) async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        let question = server.globals_question();
        let Rows { rows: values, .. } = connection.query(&question).await?;
        Ok(Self { question, values })
    }

    /// Reads them again. True if any has changed.
    pub(crate) async fn look(&mut self, connection: &mut Connection) -> Result<bool, Error> {
        let Rows { rows: values, .. } = connection.query(&self.question).await?;
        let changed = values != self.values;
        self.values = values;
        Ok(changed)
    }
}
