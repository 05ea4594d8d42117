//! The hostgroup of a count, where no query rule names it: the tables of users and servers decide.

use std::collections::HashMap;

use crate::error::Refusal;
use crate::runtime::{SqliteValue, Statistic};
use crate::store::Store;

/// Returns the places of two columns in the rows of a statistic: the hostgroup, and the user if there is one.
const fn columns(of: Statistic) -> Option<(usize, Option<usize>)> {
    match of {
        Statistic::Digests | Statistic::DigestsReset => Some((0, Some(2))),
        Statistic::Errors | Statistic::ErrorsReset => Some((0, Some(3))),
        Statistic::Prepared => Some((1, Some(3))),
        Statistic::FreeConnections => Some((1, Some(4))),
        Statistic::Connections | Statistic::ConnectionsReset => Some((0, None)),
        Statistic::Processes => Some((6, Some(2))),
        _ => None,
    }
}

/// Fills in the hostgroups that are NULL: a user's is `default_hostgroup`; the server's is the first of `mysql_servers`; otherwise 0.
pub fn fill_in(store: &Store, of: Statistic, rows: &mut [Vec<SqliteValue>]) -> Result<(), Refusal> {
    let Some((hostgroup, user)) = columns(of) else { return Ok(()) };
    let servers = store.rows("SELECT MIN(hostgroup_id) FROM main.runtime_mysql_servers")?;
    let server = servers.first().and_then(|row| number(row.first()?.as_deref())).unwrap_or(0);
    let users =
        store.rows("SELECT username, default_hostgroup FROM main.runtime_mysql_users WHERE frontend = 1")?;
    let users: HashMap<String, i64> = users
        .into_iter()
        .filter_map(|row| match &row[..] {
            [Some(user), of] => Some((user.clone(), number(of.as_deref())?)),
            _ => None,
        })
        .collect();
    for row in rows {
        let named = user.and_then(|user| match row.get(user) {
            Some(SqliteValue::Text(user)) => users.get(user).copied(),
            _ => None,
        });
        let default = if user.is_some() { 0 } else { server };
        if let Some(place) = row.get_mut(hostgroup).filter(|place| **place == SqliteValue::Null) {
            *place = SqliteValue::Integer(named.unwrap_or(default));
        }
    }
    Ok(())
}

fn number(text: Option<&str>) -> Option<i64> {
    text?.parse().ok()
}
