//! Global variables at the last look: a change of them changes results, rights and logins, and no binlog tells of it.

use freshet_upstream::server::Concerns;
use freshet_upstream::{Connection, Error, Rows, ServerInfo};

/// The times when those variables were set that every statement reads: a variable that is set and set back between two looks has its old
/// value. Servers without such times, such as MariaDB, refuse this question.
const SET_TIMES: &str = "(SELECT GROUP_CONCAT(VARIABLE_NAME, '=', IFNULL(SET_TIME, '') ORDER BY VARIABLE_NAME) \
    FROM performance_schema.variables_info WHERE VARIABLE_NAME IN ";

/// One row of values, in the order of the variables.
type Values = Vec<Vec<Option<Vec<u8>>>>;

/// The variables that are looked at, as expressions, and their values. Two looks are equal if nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WatchedGlobals {
    variables: Vec<(String, Concerns)>,
    values: Values,
}

impl WatchedGlobals {
    /// Reads the variables.
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
            // A variable that we do not know, and may not read.
            Err(Error::Server(_)) => {
                variables.retain(|(_, concerns)| *concerns != Concerns::Unknown);
                values(connection, &variables).await?
            }
            values => values?,
        };
        Ok(Self { variables, values })
    }

    /// Reads the variables again. Returns the widest concern of those that have changed, if any has.
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
