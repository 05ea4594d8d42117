//! Rights that change without a word in the binlog.
//!
//! Accounts and grants are logged like other definitions, and the applier stamps everything for them. Not logged are a reload that is
//! local (`FLUSH LOCAL PRIVILEGES`, `mariadb-admin reload`), which puts into effect what was written to the grant tables at any
//! time before, and whatever a session does with `sql_log_bin` off. So the server is asked now and then:
//!
//! 1. *The sign.* It counts the statements of each kind that it was given ([`SIGNS`]). As long as these counts stand still, no rights were changed. The
//!    question costs the server a millisecond.
//! 2. *The rights.* The counts also move for statements that fail, and for FLUSH TABLES. So what the grant tables hold, and what the
//!    server says of the rights that are in effect, is summed up, and compared with what it was. A server with very many grants is
//!    read in full only when a count has moved.
//!
//! 3. *The writes.* A right that is given and taken between two looks leaves the sum as it was, and answers that were stored by it.
//!    So it is also told whether the grant tables were written: MySQL by the times of their last changes, MariaDB by the
//!    count of syncs of the log that its grant tables have. Statements that fail write nothing.
//!
//! A reload may put into effect what was in the tables before the last look. So it is compared with what was found at the last
//! reload, and with the number of changes of accounts that the stream had told of by then.
//!
//! Where our account may not read the grant tables, every move of a count is taken for a change of rights.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use freshet_upstream::{Connection, Error, Rows, ServerInfo};

/// Counts of statements that change rights. Either server has some of them.
const SIGNS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_flush', 'Com_grant', 'Com_grant_role', \
    'Com_grant_roles', 'Com_revoke', 'Com_revoke_all', 'Com_revoke_role', 'Com_revoke_roles', 'Com_create_user', \
    'Com_alter_user', 'Com_drop_user', 'Com_rename_user', 'Com_create_role', 'Com_drop_role', 'Com_set_password', \
    'Com_alter_user_default_role')";

/// MySQL's times of the last changes of the grant tables, and the time: in whole seconds, so that a change in the second of the last
/// look may have been before it or after it.
const WRITTEN: &str = "SELECT TABLE_NAME, UPDATE_TIME, NOW() FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME IN ";
/// Without this MySQL shows times that are up to a day old. Older servers have no such variable, and show them as they are.
const UNCACHED: &str = "SET SESSION information_schema_stats_expiry = 0";
/// The log of MariaDB's grant tables is synced by each transaction, unless it is told to take several together; then each
/// write counts, those to temporary tables included.
const SYNCED: &str = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = \
    IF(@@GLOBAL.aria_group_commit = 'none', 'Aria_transaction_log_syncs', 'Aria_pagecache_write_requests')";

/// The count of reloads, among other things.
const RELOADS: &str = "Com_flush";

/// What says which rights are in effect, and the tables that they are loaded from: of both servers, and of MariaDB's or MySQL's own.
const BOTH: [&str; 9] = [
    "information_schema.USER_PRIVILEGES",
    "information_schema.SCHEMA_PRIVILEGES",
    "information_schema.TABLE_PRIVILEGES",
    "information_schema.COLUMN_PRIVILEGES",
    "mysql.db",
    "mysql.tables_priv",
    "mysql.columns_priv",
    "mysql.procs_priv",
    "mysql.proxies_priv",
];
const MARIADB: [&str; 2] = ["mysql.global_priv", "mysql.roles_mapping"];
const MYSQL: [&str; 4] = ["mysql.user", "mysql.role_edges", "mysql.default_roles", "mysql.global_grants"];

/// The rights as they were last looked at, for the life of one control connection.
#[derive(Debug)]
pub(crate) struct Rights {
    signs: Signs,
    now: Sum,
    at_reload: Reloaded,
    written: GrantsWritten,
    /// The last look found that a sign had moved: what it stands for may have come into effect only after that.
    is_due: bool,
    tables: Vec<&'static str>,
}

/// How far the grant tables were written.
#[derive(Debug, PartialEq, Eq)]
enum GrantsWritten {
    /// MySQL: the time of the last change of each, and the time when it was asked for.
    Times { last: Vec<(GrantValue, GrantValue)>, at: GrantValue },
    /// MariaDB: a count.
    Count(GrantValue),
}

/// A value as the server gives it.
type GrantValue = Option<Vec<u8>>;

/// Names and counts, as the server tells them.
type Signs = Vec<Vec<Option<Vec<u8>>>>;

/// The sum of everything that was read; `None` if it may not be read.
type Sum = Option<u64>;

/// What was found at a reload.
#[derive(Debug, PartialEq, Eq)]
struct Reloaded {
    sum: Sum,
    /// The accounts' epoch: what the stream has told of.
    accounts: u64,
}

impl Rights {
    /// Looks for the first time. Whatever is in effect by then is found. `accounts` is the accounts' epoch.
    pub(crate) async fn read(
        connection: &mut Connection,
        server: &ServerInfo,
        accounts: u64,
    ) -> Result<Self, Error> {
        let own: &[&str] = if server.is_mariadb() { &MARIADB } else { &MYSQL };
        let tables = [&BOTH, own].concat();
        // Before the rights: what changes between the two is noticed the next time.
        let signs = connection.query(SIGNS).await?.rows;
        if !server.is_mariadb()
            && let Err(error) = connection.query(UNCACHED).await
            && !matches!(error, Error::Server(_))
        {
            return Err(error);
        }
        let written = written(connection, server.is_mariadb(), &tables).await?;
        let now = sum(connection, &tables).await?;
        Ok(Self { signs, now, at_reload: Reloaded { sum: now, accounts }, written, is_due: true, tables })
    }

    /// Looks again. True if rights may have changed in a way that the stream does not tell of. With `is_told`, somebody has
    /// changed rights, of which no sign may tell.
    pub(crate) async fn look(
        &mut self,
        connection: &mut Connection,
        accounts: u64,
        is_told: bool,
    ) -> Result<bool, Error> {
        let signs = connection.query(SIGNS).await?.rows;
        // Before the rights: what is written between the two is noticed the next time.
        let written = written(connection, self.written.is_mariadbs(), &self.tables).await?;
        let signs_moved = signs != self.signs;
        let was_written = written.is_after(&self.written, signs_moved);
        // MariaDB's count moves for other tables too.
        let has_moved = signs_moved || was_written && !self.written.is_mariadbs();
        self.written = written;
        if !has_moved && !is_told && !self.is_due {
            return Ok(false);
        }
        self.is_due = has_moved;
        let is_reload = count(&signs, RELOADS) != count(&self.signs, RELOADS);
        let now = sum(connection, &self.tables).await?;
        let mut has_changed = now.is_none() || now != self.now || was_written;
        if is_reload {
            let reloaded = Reloaded { sum: now, accounts };
            has_changed |= reloaded != self.at_reload;
            self.at_reload = reloaded;
        }
        if has_changed && self.at_reload.accounts == accounts {
            // The caller begins another epoch for this, of which the stream has told nothing.
            self.at_reload.accounts += 1;
        }
        (self.signs, self.now) = (signs, now);
        Ok(has_changed)
    }
}

impl GrantsWritten {
    const fn is_mariadbs(&self) -> bool {
        matches!(self, Self::Count(_))
    }

    /// Whether the grant tables may have been written since `before`. `signs_moved`: a statement that may have done so was given
    /// to the server since; it may have done so in the second of the last look, after another one.
    fn is_after(&self, before: &Self, signs_moved: bool) -> bool {
        match (self, before) {
            (Self::Times { last, .. }, Self::Times { last: before, at }) => {
                let is_late = |time: &GrantValue| time.is_some() && time >= at;
                last != before || signs_moved && last.iter().any(|(_, time)| is_late(time))
            }
            _ => self != before,
        }
    }
}

/// Asks how far the grant tables were written.
async fn written(
    connection: &mut Connection,
    is_mariadb: bool,
    tables: &[&str],
) -> Result<GrantsWritten, Error> {
    if is_mariadb {
        let mut rows = connection.query(SYNCED).await?.rows;
        return Ok(GrantsWritten::Count(rows.pop().and_then(|mut row| row.pop()).flatten()));
    }
    let names: Vec<String> = tables
        .iter()
        .filter_map(|table| table.strip_prefix("mysql."))
        .map(|name| format!("'{name}'"))
        .collect();
    let mut rows = connection.query(&format!("{WRITTEN}({})", names.join(", "))).await?.rows;
    rows.sort();
    let mut at = None;
    let last = rows.into_iter().filter_map(|row| {
        let [name, time, now] = <[GrantValue; 3]>::try_from(row).ok()?;
        at = now;
        Some((name, time))
    });
    let last = last.collect();
    Ok(GrantsWritten::Times { last, at })
}

fn count<'a>(signs: &'a Signs, name: &str) -> Option<&'a [u8]> {
    let is_named = |row: &&Vec<Option<Vec<u8>>>| {
        row.first().is_some_and(|found| found.as_deref() == Some(name.as_bytes()))
    };
    signs.iter().find(is_named)?.get(1)?.as_deref()
}

/// The sum over all rows, in whatever order they come.
async fn sum(connection: &mut Connection, tables: &[&str]) -> Result<Sum, Error> {
    let mut sum = 0_u64;
    for table in tables {
        let Rows { rows, .. } = match connection.query(&format!("SELECT * FROM {table}")).await {
            Ok(rows) => rows,
            Err(Error::Server(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        for row in rows {
            let mut hasher = DefaultHasher::new();
            (table, row).hash(&mut hasher);
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok(Some(sum))
}
