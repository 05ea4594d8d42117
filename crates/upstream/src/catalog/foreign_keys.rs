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
const INNODB_MYSQL: &str = "SELECT ID, FOR_NAME, REF_NAME, TYPE FROM information_schema.INNODB_FOREIGN";
/// The columns that they refer to. Both servers would join the two lists row by row, without an index.
const INNODB_MYSQL_COLUMNS: &str = "SELECT ID, REF_COL_NAME FROM information_schema.INNODB_FOREIGN_COLS";
const INNODB_MARIADB_COLUMNS: &str =
    "SELECT ID, REF_COL_NAME FROM information_schema.INNODB_SYS_FOREIGN_COLS";
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
/// CASCADE and SET NULL, on delete.
const INNODB_ON_DELETE: u64 = 1 | 2;
/// The same, on update.
const INNODB_ON_UPDATE: u64 = 4 | 8;

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
    /// When it does so.
    pub acts: Acts,
}

/// Which changes of a parent's row make a foreign key change the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acts {
    /// It is deleted.
    pub on_delete: bool,
    /// It is updated.
    pub on_update: OnUpdate,
}

/// Which updates of a parent's row make a foreign key change the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OnUpdate {
    /// None.
    Never,
    /// Those that change one of these columns.
    OfColumns(Vec<String>),
    /// Perhaps any.
    OfAny,
}

impl Acts {
    /// On whatever is done to the parent's row.
    pub const ALWAYS: Self = Self { on_delete: true, on_update: OnUpdate::OfAny };
}

/// All foreign keys of a server with CASCADE, SET NULL or SET DEFAULT.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys {
    pub(super) children: HashMap<Name, Vec<Name>>,
    /// The keys by the parent's name.
    pub(super) keys: HashMap<Name, Vec<ForeignKey>>,
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
            match read_innodb(connection, server).await {
                Ok(Some(keys)) => return Ok(keys),
                Ok(None) | Err(Error::Server(_)) => {}
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
        for key in keys {
            let ForeignKey { parent, child, .. } = &key;
            all.parents.entry(child.clone()).or_default().push(parent.clone());
            all.children.entry(parent.clone()).or_default().push(child.clone());
            all.keys.entry(parent.clone()).or_default().push(key);
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
        let keys = self.keys.values().flatten().map(|ForeignKey { parent, child, acts }| ForeignKey {
            parent: fold(parent),
            child: fold(child),
            acts: acts.clone(),
        });
        Self { is_complete: self.is_complete, ..Self::from_keys(keys) }
    }
}

async fn read_innodb(connection: &mut Connection, server: &ServerInfo) -> Result<Option<ForeignKeys>, Error> {
    let (keys, columns) = if server.is_mariadb() {
        (innodb_mariadb(), INNODB_MARIADB_COLUMNS)
    } else {
        (INNODB_MYSQL.to_owned(), INNODB_MYSQL_COLUMNS)
    };
    let keys = connection.query(&keys).await?;
    // What changes between the two is told of, and then both are read again.
    Ok(from_innodb(&keys, &connection.query(columns).await?))
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
        "SELECT ID, {}, {}, TYPE FROM information_schema.INNODB_SYS_FOREIGN",
        name("FOR_NAME"),
        name("REF_NAME")
    )
}

fn from_standard(rows: &Rows) -> impl Iterator<Item = ForeignKey> {
    rows.texts().filter_map(|row| match row[..] {
        [child_schema, child, parent_schema, parent, update, delete]
            if is_active(update) || is_active(delete) =>
        {
            let on_update = if is_active(update) { OnUpdate::OfAny } else { OnUpdate::Never };
            let acts = Acts { on_delete: is_active(delete), on_update };
            Some(ForeignKey { acts, ..key([child_schema, child, parent_schema, parent]) })
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

/// One that may do anything.
fn key([child_schema, child, parent_schema, parent]: [&str; 4]) -> ForeignKey {
    let (parent, child) = ((parent_schema.into(), parent.into()), (child_schema.into(), child.into()));
    ForeignKey { parent, child, acts: Acts::ALWAYS }
}

/// Whether a rule changes the child. What is not known to leave it alone counts as changing it.
fn is_active(rule: &str) -> bool {
    !matches!(rule, "RESTRICT" | "NO ACTION")
}

/// `None` if a name cannot be read with certainty.
fn from_innodb(rows: &Rows, columns: &Rows) -> Option<ForeignKeys> {
    let mut referenced: HashMap<&str, Vec<String>> = HashMap::new();
    for row in columns.texts() {
        let [id, column] = row[..] else { return None };
        referenced.entry(id).or_default().push(column.to_lowercase());
    }
    let mut keys = Vec::new();
    for row in rows.texts() {
        let [id, child, parent, kind] = row[..] else { return None };
        let kind = kind.parse::<u64>().ok()? & !INNODB_PASSIVE;
        if kind != 0 {
            let acts = acts_of_innodb(kind, referenced.get(id));
            keys.push(ForeignKey { parent: innodb_name(parent)?, child: innodb_name(child)?, acts });
        }
    }
    Some(ForeignKeys::from_keys(keys))
}

fn acts_of_innodb(kind: u64, referenced: Option<&Vec<String>>) -> Acts {
    if kind & !(INNODB_ON_DELETE | INNODB_ON_UPDATE) != 0 {
        return Acts::ALWAYS;
    }
    let on_update = match referenced {
        _ if kind & INNODB_ON_UPDATE == 0 => OnUpdate::Never,
        Some(columns) => OnUpdate::OfColumns(columns.clone()),
        None => OnUpdate::OfAny,
    };
    Acts { on_delete: kind & INNODB_ON_DELETE != 0, on_update }
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
