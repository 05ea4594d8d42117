//! The foreign keys of a whole server through which a change of one table changes another.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::Name;
use crate::connection::{Connection, Rows};
use crate::control::query_definitions;
use crate::error::Error;
use crate::server::ServerInfo;

/// InnoDB's own list names every foreign key on the server, whatever may be seen of the tables; it
/// needs PROCESS. And it is quick where the standard view opens every table on the server.
const INNODB_MYSQL: &str = "SELECT FOR_NAME, REF_NAME, TYPE FROM information_schema.INNODB_FOREIGN";
/// The standard view shows the foreign keys of the tables on which our account holds anything.
const STANDARD: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, \
     UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS";
/// MariaDB hides from the standard view a key whose parent our account cannot see, but not from this
/// one, which does not say what the key does.
const STANDARD_COLUMNS: &str = "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_SCHEMA, \
     REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL";
/// The bits of InnoDB's TYPE that say NO ACTION, on delete and on update. RESTRICT is no bit at
/// all, and all others change the child.
const INNODB_PASSIVE: u64 = 16 | 32;

/// How often, and how long after one another, the list is read while a table in it is being changed.
const READINGS_MAX: usize = 10;
const READING_PAUSE: Duration = Duration::from_millis(100);

/// One foreign key that makes a change of the parent change the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForeignKey {
    /// The table that is referred to.
    pub parent: Name,
    /// The table that refers to it.
    pub child: Name,
}

/// All foreign keys of a server with CASCADE, SET NULL or SET DEFAULT.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys {
    pub(super) children: HashMap<Name, Vec<Name>>,
    pub(super) parents: HashMap<Name, Vec<Name>>,
    /// Whether the list holds every such key of the server, seen or not.
    pub(super) is_complete: bool,
}

impl ForeignKeys {
    /// Reads them, again for a moment if a table is just being changed.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses; [`Error::Unsettled`] if a table is being
    /// changed for longer.
    pub async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        for _ in 1..READINGS_MAX {
            match Self::read_once(connection, server).await {
                Err(Error::Unsettled) => tokio::time::sleep(READING_PAUSE).await,
                other => return other,
            }
        }
        Self::read_once(connection, server).await
    }

    async fn read_once(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        if server.privileges.has("PROCESS") {
            let question = if server.is_mariadb() { innodb_mariadb() } else { INNODB_MYSQL.to_owned() };
            match connection.query(&question).await {
                Ok(rows) => {
                    if let Some(keys) = from_innodb(&rows) {
                        return Ok(keys);
                    }
                }
                Err(Error::Server(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let rows = query_definitions(connection, STANDARD).await?;
        let mut keys: Vec<ForeignKey> = from_standard(&rows).collect();
        let is_complete = server.privileges.has("SELECT");
        if !is_complete {
            keys.extend(unexplained(&rows, &query_definitions(connection, STANDARD_COLUMNS).await?));
        }
        Ok(Self { is_complete, ..Self::from_keys(keys) })
    }

    /// From a list of keys, taken to be complete.
    pub fn from_keys(keys: impl IntoIterator<Item = ForeignKey>) -> Self {
        let mut all = Self { is_complete: true, ..Self::default() };
        for ForeignKey { parent, child } in keys {
            all.parents.entry(child.clone()).or_default().push(parent.clone());
            all.children.entry(parent).or_default().push(child);
        }
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.children.values().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.children.iter().flat_map(|(parent, children)| children.iter().map(move |child| (parent, child)))
    }

    /// The same with all names in lower case.
    pub(super) fn folded(&self) -> Self {
        let fold = |(schema, name): &Name| (schema.to_lowercase(), name.to_lowercase());
        let keys = self.iter().map(|(parent, child)| ForeignKey { parent: fold(parent), child: fold(child) });
        Self { is_complete: self.is_complete, ..Self::from_keys(keys) }
    }
}

/// InnoDB's own list in MariaDB: its names are those of files, in an encoding that the server itself can
/// undo, but not across the slash.
fn innodb_mariadb() -> String {
    let part = |column: &str, index: i8| {
        format!(
            "CONVERT(CONVERT(CAST(SUBSTRING_INDEX({column}, '/', {index}) AS BINARY) USING filename) USING utf8mb4)"
        )
    };
    let name = |column: &str| format!("CONCAT({}, '/', {})", part(column, 1), part(column, -1));
    format!(
        "SELECT {}, {}, TYPE FROM information_schema.INNODB_SYS_FOREIGN",
        name("FOR_NAME"),
        name("REF_NAME")
    )
}

fn from_standard(rows: &Rows) -> impl Iterator<Item = ForeignKey> {
    rows.texts().filter_map(|row| match row[..] {
        [child_schema, child, parent_schema, parent, update, delete]
            if is_active(update) || is_active(delete) =>
        {
            Some(key([child_schema, child, parent_schema, parent]))
        }
        _ => None,
    })
}

/// The keys whose columns are shown and whose rules are not: they may do anything.
fn unexplained(rules: &Rows, columns: &Rows) -> Vec<ForeignKey> {
    let ends = |row: Vec<&str>| row.first_chunk::<4>().map(|ends| key(*ends));
    let explained: HashSet<ForeignKey> = rules.texts().filter_map(ends).collect();
    columns.texts().filter_map(ends).filter(|key| !explained.contains(key)).collect()
}

fn key([child_schema, child, parent_schema, parent]: [&str; 4]) -> ForeignKey {
    ForeignKey { parent: (parent_schema.into(), parent.into()), child: (child_schema.into(), child.into()) }
}

/// Whether a rule changes the child. What is not known to leave it alone counts as changing it.
fn is_active(rule: &str) -> bool {
    !matches!(rule, "RESTRICT" | "NO ACTION")
}

/// `None` if a name cannot be read with certainty.
fn from_innodb(rows: &Rows) -> Option<ForeignKeys> {
    let mut keys = Vec::new();
    for row in rows.texts() {
        let [child, parent, kind] = row[..] else { return None };
        if kind.parse::<u64>().ok()? & !INNODB_PASSIVE == 0 {
            continue;
        }
        keys.push(ForeignKey { parent: innodb_name(parent)?, child: innodb_name(child)? });
    }
    Some(ForeignKeys::from_keys(keys))
}

/// `schema/table`. A further slash belongs to either, and a question mark may stand for what could
/// not be decoded: both are read from the standard view instead.
fn innodb_name(text: &str) -> Option<Name> {
    let (schema, name) = text.split_once('/')?;
    let is_certain = !name.contains('/') && !text.contains('?');
    is_certain.then(|| (schema.into(), name.into()))
}

#[cfg(test)]
mod tests;
