//! Global variables as they were last looked at: they change results, rights and logins without a word in the binlog.

use freshet_upstream::server::Concerns;
use freshet_upstream::{Connection, Error, Rows, ServerInfo};

/// When those variables were set that every statement reads: one that is set and set back between two looks has its value
/// again. Servers that cannot tell, as MariaDB, refuse this.
const SET_TIMES: &str = "(SELECT GROUP_CONCAT(VARIABLE_NAME, '=', IFNULL(SET_TIME, '') ORDER BY VARIABLE_NAME) \
    FROM performance_schema.variables_info WHERE VARIABLE_NAME IN ";

/// One row of values, in the order of the variables.
type Values = Vec<Vec<Option<Vec<u8>>>>;

/// What is looked at, as expressions, and its values. Equal if nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WatchedGlobals {
    variables: Vec<(String, Concerns)>,
    values: Values,
}

impl WatchedGlobals {
    /// Reads them.
    pub(crate) async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        let watched = server.watched_globals();
        let read_by_all: Vec<String> = watched
            .iter()
            .filter(|(_, concerns)| *concerns == Concerns::Results)
            .map(|(name, _)| format!("'{name}'"))
            .collect();
        let mut variables: Vec<(String, Concerns)> =
            watched.into_iter().map(|(name, concerns)| (format!("@@global.{name}"), concerns)).collect();
        if !server.is_mariadb() && !read_by_all.is_empty() {
            variables.push((format!("{SET_TIMES}({}))", read_by_all.join(", ")), Concerns::Unknown));
        }
        let values = match values(connection, &variables).await {
            // One that we have never heard of, and may not read.
            Err(Error::Server(_)) => {
                variables.retain(|(_, concerns)| *concerns != Concerns::Unknown);
                values(connection, &variables).await?
            }
            values => values?,
        };
        Ok(Self { variables, values })
    }

    /// Reads them again. What those that have changed concern, if any has: the most of it.
    pub(crate) async fn look(&mut self, connection: &mut Connection) -> Result<Option<Concerns>, Error> {
        let values = values(connection, &self.variables).await?;
        let before = std::mem::replace(&mut self.values, values);
        if before == self.values {
            return Ok(None);
        }
        let of = |values: &Values| values.first().cloned().unwrap_or_default();
        let (before, now) = (of(&before), of(&self.values));
        let is_harmless = |at: usize, concerns| concerns == Concerns::Logins || before.get(at) == now.get(at);
        let mut each = self.variables.iter().enumerate();
        let all_harmless =
            before.len() == now.len() && each.all(|(at, (_, concerns))| is_harmless(at, *concerns));
        Ok(Some(if all_harmless { Concerns::Logins } else { Concerns::Results }))
    }
}

async fn values(connection: &mut Connection, variables: &[(String, Concerns)]) -> Result<Values, Error> {
    let all: Vec<&str> = variables.iter().map(|(expression, _)| expression.as_str()).collect();
    let Rows { rows, .. } = connection.query(&format!("SELECT {}", all.join(", "))).await?;
    Ok(rows)
}
