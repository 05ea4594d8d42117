//! The foreign keys of a whole server through which a change of one table changes another.

use std::collections::HashMap;

use super::Name;
use crate::connection::{Connection, Rows};
use crate::error::Error;
use crate::server::ServerInfo;

/// InnoDB's own list names every foreign key on the server, whatever may be seen of the tables; it
/// needs PROCESS. And it is quick where the standard view opens every table on the server.
const INNODB_MARIADB: &str = "SELECT FOR_NAME, REF_NAME, TYPE FROM information_schema.INNODB_SYS_FOREIGN";
const INNODB_MYSQL: &str = "SELECT FOR_NAME, REF_NAME, TYPE FROM information_schema.INNODB_FOREIGN";
/// The standard view shows the foreign keys of the tables on which our account holds anything.
const STANDARD: &str = "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, \
     UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS";
/// The bits of InnoDB's TYPE that say NO ACTION, on delete and on update. RESTRICT is no bit at
/// all, and all others change the child.
const INNODB_PASSIVE: u64 = 16 | 32;

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
    /// Reads them.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses.
    pub async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        if server.privileges.has("PROCESS") {
            let question = if server.is_mariadb() { INNODB_MARIADB } else { INNODB_MYSQL };
            match connection.query(question).await {
                Ok(rows) => {
                    if let Some(keys) = from_innodb(&rows, server.is_mariadb()) {
                        return Ok(keys);
                    }
                }
                Err(Error::Server(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let rows = connection.query(STANDARD).await?;
        Ok(Self { is_complete: server.privileges.has("SELECT"), ..Self::from_keys(from_standard(&rows)) })
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

fn from_standard(rows: &Rows) -> impl Iterator<Item = ForeignKey> {
    rows.texts().filter_map(|row| match row[..] {
        [child_schema, child, parent_schema, parent, update, delete]
            if is_active(update) || is_active(delete) =>
        {
            Some(ForeignKey {
                parent: (parent_schema.into(), parent.into()),
                child: (child_schema.into(), child.into()),
            })
        }
        _ => None,
    })
}

/// Whether a rule changes the child. What is not known to leave it alone counts as changing it.
fn is_active(rule: &str) -> bool {
    !matches!(rule, "RESTRICT" | "NO ACTION")
}

/// `None` if a name cannot be read with certainty.
fn from_innodb(rows: &Rows, encoded: bool) -> Option<ForeignKeys> {
    let mut keys = Vec::new();
    for row in rows.texts() {
        let [child, parent, kind] = row[..] else { return None };
        if kind.parse::<u64>().ok()? & !INNODB_PASSIVE == 0 {
            continue;
        }
        keys.push(ForeignKey { parent: innodb_name(parent, encoded)?, child: innodb_name(child, encoded)? });
    }
    Some(ForeignKeys::from_keys(keys))
}

fn innodb_name(text: &str, encoded: bool) -> Option<Name> {
    let (schema, name) = text.split_once('/')?;
    if name.contains('/') {
        return None;
    }
    if encoded { Some((file_name(schema)?, file_name(name)?)) } else { Some((schema.into(), name.into())) }
}

/// Undoes the encoding of names in file names: `@` and four hexadecimal digits stand for a
/// character. There is a shorter form for the letters of some alphabets, which is a long table;
/// a name with such letters is read from the standard view instead.
fn file_name(text: &str) -> Option<String> {
    let mut parts = text.split('@');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let digits = part.get(..4)?;
        if !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        name.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        name.push_str(&part[4..]);
    }
    Some(name)
}

#[cfg(test)]
mod tests;
