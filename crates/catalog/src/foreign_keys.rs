//! The foreign keys of a whole server through which a change of one table changes another.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use freshet_upstream::control::{query_definitions, quote};
use freshet_upstream::{Connection, Error, Rows, ServerInfo};

use crate::name::Name;

/// InnoDB's own list names every foreign key on the server, whatever tables our account sees; it needs PROCESS. It is quick, where the
/// standard view opens every table on the server.
const INNODB_MYSQL: &str = "SELECT ID, FOR_NAME, REF_NAME, TYPE FROM information_schema.INNODB_FOREIGN";
/// The columns of the keys, and the columns to which they refer. Both servers would join the two lists row by row, without an index.
const INNODB_MYSQL_COLUMNS: &str =
    "SELECT ID, FOR_COL_NAME, REF_COL_NAME FROM information_schema.INNODB_FOREIGN_COLS";
const INNODB_MARIADB_COLUMNS: &str =
    "SELECT ID, FOR_COL_NAME, REF_COL_NAME FROM information_schema.INNODB_SYS_FOREIGN_COLS";
/// The standard view shows the foreign keys of the tables on which our account holds anything.
const STANDARD: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, \
     UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS";
/// On MariaDB the standard view hides a key whose parent our account cannot see. This view shows the key, but does not say what the key
/// does.
const STANDARD_COLUMNS: &str = "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_SCHEMA, \
     REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL";
/// The bits of InnoDB's TYPE for NO ACTION, on delete and on update. RESTRICT has no bit, and all other bits change the child.
const INNODB_PASSIVE: u64 = 16 | 32;
/// CASCADE, on delete.
const INNODB_DELETES: u64 = 1;
/// SET NULL, on delete.
const INNODB_SETS_NULL: u64 = 2;
/// CASCADE, on update.
const INNODB_UPDATES: u64 = 4;
/// SET NULL, on update.
const INNODB_UPDATE_SETS_NULL: u64 = 8;

/// The keys of one table, from the same views; the server looks up that table and no other.
const OF_TABLE: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, \
     UPDATE_RULE, DELETE_RULE, CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ";
/// The columns of the keys, and the columns to which they refer.
const COLUMNS_OF_TABLE: &str = "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_COLUMN_NAME \
     FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND ";

/// How often the list is read, and how long the pauses are, while a table in it is being changed.
const READINGS_MAX: usize = 10;
const READING_PAUSE: Duration = Duration::from_millis(100);

/// One foreign key that makes a change of the parent change the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForeignKey {
    /// The table to which the key refers.
    pub parent: Name,
    /// The table that has the key.
    pub child: Name,
    /// The changes of the parent that change the child.
    pub acts: Acts,
    /// Each column of the child with the column to which it refers, in lower case; empty if they are not known.
    pub columns: Vec<(String, String)>,
}

/// Which changes of a parent's row make a foreign key change the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acts {
    /// What happens to the child's row when the parent's row is deleted.
    pub on_delete: OnDelete,
    /// What happens to the child's row when the parent's row is updated.
    pub on_update: OnUpdate,
}

/// What a foreign key does to the child's row when the parent's row is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDelete {
    /// Nothing: a child's row keeps the parent's row from being deleted, or there is none.
    Nothing,
    /// CASCADE: the child's row is deleted too.
    Deletes,
    /// SET NULL: the key's columns in the child become NULL.
    SetsNull,
    /// Perhaps anything.
    Anything,
}

/// What a foreign key does to the child's row when the referred columns of the parent's row change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnUpdate {
    /// Nothing: the change is refused, or no row refers to the parent's row.
    Nothing,
    /// CASCADE: the key's columns in the child change in the same way.
    Cascades,
    /// SET NULL: the key's columns in the child become NULL.
    SetsNull,
    /// Perhaps anything, whatever column of the parent's row changes.
    Anything,
}

impl ForeignKey {
    /// Returns the key with its columns. `columns` are those of all keys: schema, table, key, column, and the column to which it refers.
    /// `name` is the key's name.
    fn with_columns(mut self, name: &str, columns: &[[&str; 5]]) -> Self {
        let (schema, table) = (&self.child.0, &self.child.1);
        let own = columns.iter().filter(|row| row[0] == schema && row[1] == table && row[2] == name);
        self.columns = own.map(|row| (row[3].to_lowercase(), row[4].to_lowercase())).collect();
        self
    }

    /// Returns those columns of the parent whose update changes the child; none if no update does. `None`: any column.
    #[must_use]
    pub fn acts_on_update_of(&self) -> Option<Vec<&str>> {
        match self.acts.on_update {
            OnUpdate::Nothing => Some(Vec::new()),
            OnUpdate::Cascades | OnUpdate::SetsNull if !self.columns.is_empty() => {
                Some(self.columns.iter().map(|(_, parent)| parent.as_str()).collect())
            }
            OnUpdate::Cascades | OnUpdate::SetsNull | OnUpdate::Anything => None,
        }
    }

    fn folded(&self) -> Self {
        Self { parent: fold(&self.parent), child: fold(&self.child), ..self.clone() }
    }
}

impl Acts {
    /// Any change of the parent's row may do anything to the child's.
    pub const ALWAYS: Self = Self { on_delete: OnDelete::Anything, on_update: OnUpdate::Anything };
}

/// Which foreign keys are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedKeys {
    /// All keys of the server.
    All,
    /// The keys by which these tables refer to others.
    Of(Vec<Name>),
}

/// Foreign keys that were read.
#[derive(Debug, Clone)]
pub enum ReadKeys {
    /// All keys of the server.
    All(ForeignKeys),
    /// All by which these tables refer to others.
    Of(Vec<Name>, Vec<ForeignKey>),
}

impl ReadKeys {
    /// Returns the same keys with all names in lower case.
    pub(crate) fn folded(self) -> Self {
        match self {
            Self::All(keys) => Self::All(keys.folded()),
            Self::Of(tables, keys) => {
                Self::Of(tables.iter().map(fold).collect(), keys.iter().map(ForeignKey::folded).collect())
            }
        }
    }
}

fn fold((schema, name): &Name) -> Name {
    (schema.to_lowercase(), name.to_lowercase())
}

/// All foreign keys of a server with CASCADE, SET NULL or SET DEFAULT.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys {
    pub(crate) children: HashMap<Name, Vec<Name>>,
    /// The keys by the parent's name.
    pub(crate) keys: HashMap<Name, Vec<ForeignKey>>,
    pub(crate) parents: HashMap<Name, Vec<Name>>,
    /// Whether the list holds every such key of the server, also those of tables that our account cannot see.
    pub(crate) is_complete: bool,
}

impl ForeignKeys {
    /// Reads all keys. If a table is just being changed, reads them again after a pause.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses; [`Error::Unsettled`] if a table is still being changed after the last reading.
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
        let mut keys: Vec<ForeignKey> = from_standard(&rows).map(|(key, _)| key).collect();
        let is_complete = server.privileges.has("SELECT");
        if !is_complete {
            keys.extend(unexplained(&rows, &query_definitions(connection, STANDARD_COLUMNS).await?));
        }
        Ok(Self { is_complete, ..Self::from_keys(keys) })
    }

    /// Reads the wanted keys. If a table is just being changed, reads them again after a pause. Where our account does not see every
    /// table, the standard views do not show all keys of a table, and the keys of all tables are read.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_wanted(
        connection: &mut Connection,
        server: &ServerInfo,
        wanted: WantedKeys,
    ) -> Result<ReadKeys, Error> {
        match wanted {
            WantedKeys::Of(tables) if server.privileges.has("SELECT") => {
                let keys = read_of(connection, &tables).await?;
                Ok(ReadKeys::Of(tables, keys))
            }
            WantedKeys::Of(_) | WantedKeys::All => Self::read(connection, server).await.map(ReadKeys::All),
        }
    }

    /// Makes a list from keys. It counts as complete.
    pub fn from_keys(keys: impl IntoIterator<Item = ForeignKey>) -> Self {
        let mut all = Self { is_complete: true, ..Self::default() };
        keys.into_iter().for_each(|key| all.add(key));
        all
    }

    fn add(&mut self, key: ForeignKey) {
        let ForeignKey { parent, child, .. } = &key;
        self.parents.entry(child.clone()).or_default().push(parent.clone());
        self.children.entry(parent.clone()).or_default().push(child.clone());
        self.keys.entry(parent.clone()).or_default().push(key);
    }

    /// Replaces all keys by which these tables refer to others.
    pub(crate) fn replace(&mut self, tables: &[Name], keys: Vec<ForeignKey>) {
        for child in tables {
            for parent in self.parents.remove(child).unwrap_or_default() {
                retain_in(&mut self.children, &parent, |other| other != child);
                retain_in(&mut self.keys, &parent, |key| key.child != *child);
            }
        }
        keys.into_iter().for_each(|key| self.add(key));
    }

    /// Whether a table refers to another, or another to it.
    pub(crate) fn mention(&self, table: &Name) -> bool {
        self.children.contains_key(table) || self.parents.contains_key(table)
    }

    /// Whether a key refers to such a column of this table, or has such a column in this table, or its columns are not known.
    pub(crate) fn go_by(&self, table: &Name, is_such: impl Fn(&str) -> bool) -> bool {
        self.keys.values().flatten().any(|key| {
            let is_child = key.child == *table;
            let is_parent = key.parent == *table;
            let goes_by = |(child, parent): &(String, String)| {
                is_child && is_such(child) || is_parent && is_such(parent)
            };
            (is_child || is_parent) && (key.columns.is_empty() || key.columns.iter().any(goes_by))
        })
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.children.values().map(Vec::len).sum()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns all keys, as parent and child.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.children.iter().flat_map(|(parent, children)| children.iter().map(move |child| (parent, child)))
    }

    /// Returns the same keys with all names in lower case.
    pub(crate) fn folded(&self) -> Self {
        let keys = self.keys.values().flatten().map(ForeignKey::folded);
        Self { is_complete: self.is_complete, ..Self::from_keys(keys) }
    }
}

fn retain_in<T>(map: &mut HashMap<Name, Vec<T>>, name: &Name, keep: impl Fn(&T) -> bool) {
    if let Some(values) = map.get_mut(name) {
        values.retain(keep);
        if values.is_empty() {
            map.remove(name);
        }
    }
}

/// Returns the keys by which these tables refer to others.
async fn read_of(connection: &mut Connection, tables: &[Name]) -> Result<Vec<ForeignKey>, Error> {
    let each = |question: &str, schema_column: &str, tables: &[&Name]| {
        let of_one = |(schema, name): &&Name| {
            format!("{question}{schema_column} = {} AND TABLE_NAME = {}", quote(schema), quote(name))
        };
        tables.iter().map(of_one).collect::<Vec<_>>().join(" UNION ALL ")
    };
    let all: Vec<&Name> = tables.iter().collect();
    let rows = query_definitions(connection, &each(OF_TABLE, "CONSTRAINT_SCHEMA", &all)).await?;
    let keys: Vec<(ForeignKey, &str)> = from_standard(&rows).collect();
    let with_columns: Vec<&Name> =
        all.into_iter().filter(|name| keys.iter().any(|(key, _)| key.child == **name)).collect();
    if with_columns.is_empty() {
        return Ok(keys.into_iter().map(|(key, _)| key).collect());
    }
    let columns =
        query_definitions(connection, &each(COLUMNS_OF_TABLE, "TABLE_SCHEMA", &with_columns)).await?;
    let columns: Vec<[&str; 5]> = columns.texts().filter_map(|row| <[&str; 5]>::try_from(row).ok()).collect();
    Ok(keys.into_iter().map(|(key, name)| key.with_columns(name, &columns)).collect())
}

async fn read_innodb(connection: &mut Connection, server: &ServerInfo) -> Result<Option<ForeignKeys>, Error> {
    let (keys, columns) = if server.is_mariadb() || server.is_before_8() {
        (innodb_mariadb(), INNODB_MARIADB_COLUMNS)
    } else {
        (INNODB_MYSQL.to_owned(), INNODB_MYSQL_COLUMNS)
    };
    let keys = connection.query(&keys).await?;
    // A change between the two questions is told, and then both are asked again.
    Ok(from_innodb(&keys, &connection.query(columns).await?))
}

/// Returns the question for InnoDB's own list in MariaDB, and in MySQL before 8.0. Its names are those of files, in an encoding that the
/// server itself can undo, but not across the slash.
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

/// Returns the keys that change the child, with their names where these were asked for.
fn from_standard(rows: &Rows) -> impl Iterator<Item = (ForeignKey, &str)> {
    rows.texts().filter_map(|row| match row[..] {
        [child_schema, child, parent_schema, parent, update, delete, ref name @ ..]
            if is_active(update) || is_active(delete) =>
        {
            let acts = Acts { on_delete: on_delete(delete), on_update: on_update(update) };
            let key = ForeignKey { acts, ..key([child_schema, child, parent_schema, parent]) };
            Some((key, name.first().copied().unwrap_or_default()))
        }
        _ => None,
    })
}

/// Returns the keys whose columns are shown and whose rules are not: they count as doing anything.
fn unexplained(rules: &Rows, columns: &Rows) -> Vec<ForeignKey> {
    let ends = |row: Vec<&str>| row.first_chunk::<4>().map(|ends| key(*ends));
    let explained: HashSet<ForeignKey> = rules.texts().filter_map(ends).collect();
    columns.texts().filter_map(ends).filter(|key| !explained.contains(key)).collect()
}

/// Returns a key that may do anything.
fn key([child_schema, child, parent_schema, parent]: [&str; 4]) -> ForeignKey {
    let (parent, child) = ((parent_schema.into(), parent.into()), (child_schema.into(), child.into()));
    ForeignKey { parent, child, acts: Acts::ALWAYS, columns: Vec::new() }
}

fn on_delete(rule: &str) -> OnDelete {
    match rule {
        "CASCADE" => OnDelete::Deletes,
        "SET NULL" => OnDelete::SetsNull,
        rule if is_active(rule) => OnDelete::Anything,
        _ => OnDelete::Nothing,
    }
}

fn on_update(rule: &str) -> OnUpdate {
    match rule {
        "CASCADE" => OnUpdate::Cascades,
        "SET NULL" => OnUpdate::SetsNull,
        rule if is_active(rule) => OnUpdate::Anything,
        _ => OnUpdate::Nothing,
    }
}

/// Whether a rule changes the child. A rule that is not known counts as changing it.
fn is_active(rule: &str) -> bool {
    !matches!(rule, "RESTRICT" | "NO ACTION")
}

/// Reads keys from InnoDB's list. `None` if a name cannot be read with certainty.
fn from_innodb(rows: &Rows, columns: &Rows) -> Option<ForeignKeys> {
    let mut by_key: HashMap<&str, Vec<(String, String)>> = HashMap::new();
    for row in columns.texts() {
        let [id, column, parent] = row[..] else { return None };
        by_key.entry(id).or_default().push((column.to_lowercase(), parent.to_lowercase()));
    }
    let mut keys = Vec::new();
    for row in rows.texts() {
        let [id, child, parent, kind] = row[..] else { return None };
        let kind = kind.parse::<u64>().ok()? & !INNODB_PASSIVE;
        if kind != 0 {
            let columns = by_key.get(id).cloned().unwrap_or_default();
            let acts = acts_of_innodb(kind);
            keys.push(ForeignKey { parent: innodb_name(parent)?, child: innodb_name(child)?, acts, columns });
        }
    }
    Some(ForeignKeys::from_keys(keys))
}

fn acts_of_innodb(kind: u64) -> Acts {
    if kind & !(INNODB_DELETES | INNODB_SETS_NULL | INNODB_UPDATES | INNODB_UPDATE_SETS_NULL) != 0 {
        return Acts::ALWAYS;
    }
    let on_update = match (kind & INNODB_UPDATES != 0, kind & INNODB_UPDATE_SETS_NULL != 0) {
        (false, false) => OnUpdate::Nothing,
        (true, false) => OnUpdate::Cascades,
        (false, true) => OnUpdate::SetsNull,
        (true, true) => OnUpdate::Anything,
    };
    let on_delete = match (kind & INNODB_DELETES != 0, kind & INNODB_SETS_NULL != 0) {
        (false, false) => OnDelete::Nothing,
        (true, false) => OnDelete::Deletes,
        (false, true) => OnDelete::SetsNull,
        (true, true) => OnDelete::Anything,
    };
    Acts { on_delete, on_update }
}

/// Reads `schema/table`. `None` if there is a further slash, which may belong to either name, or a question mark, which may stand for an
/// undecodable character: the standard view is read instead.
fn innodb_name(text: &str) -> Option<Name> {
    let (schema, name) = text.split_once('/')?;
    let is_certain = !name.contains('/') && !text.contains('?');
    is_certain.then(|| (schema.into(), name.into()))
}

#[cfg(test)]
mod tests;
