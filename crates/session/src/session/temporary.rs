//! The session's temporary tables, which hide permanent ones of the same name from this session alone.
//!
//! A statement that makes or drops a temporary table says so. Unknown code does not: after it, any table may be hidden, until the server
//! has been asked about that table by its name (`session/hidden.rs`). Only this session can make its temporary tables, so the server's
//! reply holds until the session runs unknown code again.

use ahash::HashMap;
use freshet_catalog::{Name, is_same_name};
use freshet_sql::{Effects, TableName, Temporary, TransactionEffect, Writes};

/// The most tables that are noted by name. With more, the server is asked about each table again.
const TABLES_MAX: usize = 256;

/// What Freshet knows of the session's temporary tables.
#[derive(Debug, Default)]
pub(crate) struct TemporaryTables {
    known: HashMap<Name, Existence>,
    /// Unknown code ran: there may be more than the known ones.
    suspected: bool,
    /// Unknown code may have locked tables, too.
    suspects_locks: bool,
    /// A statement has been read since that memory could have answered.
    reads_again: bool,
}

/// Whether a temporary table exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existence {
    /// The table's creation was sent and did not succeed, or the table may be gone: both the permanent and the temporary table count.
    Maybe,
    /// Like `Maybe`, and the server did not say when it was asked.
    Untold,
    /// The table's creation succeeded, or the server said that it exists, and nothing since could have removed it.
    Sure,
    /// The server said that there is none, and nothing since could have made one.
    Absent,
}

impl TemporaryTables {
    /// Whether no table can be hidden at all.
    pub(crate) fn are_none(&self) -> bool {
        !self.suspected && self.known.values().all(|existence| *existence == Existence::Absent)
    }

    /// Whether a temporary table hides, or may hide, this table. Whether the server's names are case-sensitive
    /// is not known here.
    pub(crate) fn shadow(&self, schema: &str, name: &str) -> bool {
        if self.are_none() {
            return false;
        }
        let asked = (schema.to_owned(), name.to_owned());
        match self.known.get(&asked) {
            Some(existence) => *existence != Existence::Absent,
            None => self.suspected || self.has_like(&asked),
        }
    }

    /// Whether there may be a temporary table of this name in another case.
    fn has_like(&self, table: &Name) -> bool {
        self.known
            .iter()
            .any(|(known, existence)| *existence != Existence::Absent && is_same_name(known, table))
    }

    /// Whether a question to the server about this exact name is useful: there may be such a table, and nobody has asked since.
    pub(crate) fn is_open(&self, schema: &str, name: &str) -> bool {
        let asked = (schema.to_owned(), name.to_owned());
        match self.known.get(&asked) {
            Some(existence) => *existence == Existence::Maybe,
            None => self.suspected || self.has_like(&asked),
        }
    }

    /// Whether a temporary table certainly hides this table.
    pub(crate) fn surely_shadow(&self, schema: &str, name: &str) -> bool {
        !self.known.is_empty()
            && self.known.get(&(schema.to_owned(), name.to_owned())) == Some(&Existence::Sure)
    }

    /// Notes that unknown code ran: the known facts do not hold any more.
    pub(crate) fn suspect(&mut self) {
        self.known.clear();
        self.suspected = true;
        self.suspects_locks = true;
        self.reads_again = false;
    }

    /// Whether a question about hidden tables pays. If each read follows unknown code, no second read would
    /// gain by the question, unless this one `waits` to be stored.
    pub(crate) fn is_worth_asking(&mut self, waits: bool) -> bool {
        !self.are_none() && (std::mem::replace(&mut self.reads_again, true) || waits)
    }

    /// Whether unknown code may have left LOCK TABLES in force, and nobody has asked since.
    pub(crate) fn suspect_locks(&self) -> bool {
        self.suspects_locks
    }

    /// Notes that the server has said whether tables are locked.
    pub(crate) fn learned_locks(&mut self) {
        self.suspects_locks = false;
    }

    /// Notes the server's reply about a table.
    pub(crate) fn learned(&mut self, schema: &str, name: &str, existence: Existence) {
        self.insert((schema.to_owned(), name.to_owned()), existence);
    }

    fn insert(&mut self, table: Name, existence: Existence) {
        if self.known.len() >= TABLES_MAX {
            self.suspect();
        }
        self.known.insert(table, existence);
    }

    /// Notes a statement with these effects that ran, completely or in part.
    pub(super) fn ran(&mut self, effects: &Effects) {
        match &effects.temporary {
            Temporary::Unknown => self.suspect(),
            Temporary::Creates(made) => {
                for table in made.iter().map(key) {
                    // If the server's names are not case-sensitive, this creates tables that the server had reported as absent under
                    // another case.
                    let is_absent = |(known, it): &(&Name, &mut Existence)| {
                        **it != Existence::Sure && is_same_name(known, &table)
                    };
                    self.known.iter_mut().filter(is_absent).for_each(|(_, it)| *it = Existence::Maybe);
                    if !self.known.contains_key(&table) {
                        self.insert(table, Existence::Maybe);
                    }
                }
            }
            Temporary::Drops(gone) => {
                // If the server's names are not case-sensitive, this drops tables that were made under another case.
                let is_gone = |known: &Name| gone.iter().any(|table| is_same_name(known, &key(table)));
                for (_, existence) in self.known.iter_mut().filter(|(known, _)| is_gone(known)) {
                    if *existence == Existence::Sure {
                        *existence = Existence::Maybe;
                    }
                }
            }
            // A definition (RENAME, ALTER … RENAME) may give a temporary table another name.
            Temporary::None if !self.are_none() && defines(effects) => self.suspect(),
            Temporary::None => {}
        }
    }

    /// Notes that the statement succeeded.
    pub(super) fn succeeded(&mut self, effects: &Effects) {
        match &effects.temporary {
            Temporary::Creates(made) => {
                // ALTER TABLE … RENAME names the old and the new table: which of them exists now is not certain.
                let created = effects.writes == Writes::Nothing;
                for table in made {
                    self.insert(key(table), if created { Existence::Sure } else { Existence::Maybe });
                }
            }
            Temporary::Drops(gone) => {
                for table in gone.iter().map(key) {
                    // If unknown code has made the table, the server is asked about the name again.
                    self.known.remove(&table);
                }
            }
            Temporary::None | Temporary::Unknown => {}
        }
    }
}

/// Returns the full name of a table: effects reach this module with every table named in full.
fn key(table: &TableName) -> Name {
    (table.schema.clone().unwrap_or_default(), table.name.clone())
}

/// Whether a statement may change definitions: definitions commit implicitly, and a statement that is not understood may be one.
fn defines(effects: &Effects) -> bool {
    effects.writes == Writes::Everything
        || effects.transaction == TransactionEffect::MayCommit && effects.writes != Writes::Nothing
}
