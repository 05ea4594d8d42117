//! The session's temporary tables, which hide permanent ones of the same name from this session alone.
//!
//! A statement that makes or drops one says so. Unknown code does not: after it, any table may be hidden, until the server has
//! been asked about that table by its name (`session/hidden.rs`). Only this session can make one, so an answer holds
//! until the session runs unknown code again.

use ahash::HashMap;
use freshet_catalog::{Name, is_same_name};
use freshet_sql::{Effects, TableName, Temporary, TransactionEffect, Writes};

/// How many tables are told apart by name. A session with more is asked about anew, table by table.
const TABLES_MAX: usize = 256;

/// What is known of the session's temporary tables.
#[derive(Debug, Default)]
pub(crate) struct TemporaryTables {
    known: HashMap<Name, Existence>,
    /// Unknown code ran: there may be more than the known ones.
    suspected: bool,
    /// It may have locked tables, too.
    suspects_locks: bool,
    /// A statement has been read since that could have been answered from memory.
    reads_again: bool,
}

/// Whether a temporary table is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existence {
    /// Its creation was sent and did not succeed, or it may be gone: the permanent table counts, and so may it.
    Maybe,
    /// The same, and the server did not say when it was asked.
    Untold,
    /// Its creation succeeded, or the server said so, and nothing since could have taken it away.
    Sure,
    /// The server said that there is none, and nothing since could have made it.
    Absent,
}

impl TemporaryTables {
    /// Whether no table at all can be hidden.
    pub(crate) fn are_none(&self) -> bool {
        !self.suspected && self.known.values().all(|existence| *existence == Existence::Absent)
    }

    /// Whether a temporary table stands, or may stand, in the place of this one: whether the server tells names apart
    /// by case is not known here.
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

    /// Whether there may be one of this name in another case.
    fn has_like(&self, table: &Name) -> bool {
        self.known
            .iter()
            .any(|(known, existence)| *existence != Existence::Absent && is_same_name(known, table))
    }

    /// Whether the server can tell more of this very name: there may be one, and nobody has been asked since.
    pub(crate) fn is_open(&self, schema: &str, name: &str) -> bool {
        let asked = (schema.to_owned(), name.to_owned());
        match self.known.get(&asked) {
            Some(existence) => *existence == Existence::Maybe,
            None => self.suspected || self.has_like(&asked),
        }
    }

    /// Whether a temporary table certainly stands in the place of this one.
    pub(crate) fn surely_shadow(&self, schema: &str, name: &str) -> bool {
        !self.known.is_empty()
            && self.known.get(&(schema.to_owned(), name.to_owned())) == Some(&Existence::Sure)
    }

    /// Unknown code ran: nothing that was known holds any more.
    pub(crate) fn suspect(&mut self) {
        self.known.clear();
        self.suspected = true;
        self.suspects_locks = true;
        self.reads_again = false;
    }

    /// Whether it is worth a question what is hidden: where each read follows unknown code, there is no second one that would
    /// gain by it, unless this one `waits` to be stored.
    pub(crate) fn is_worth_asking(&mut self, waits: bool) -> bool {
        !self.are_none() && (std::mem::replace(&mut self.reads_again, true) || waits)
    }

    /// Whether unknown code may have left LOCK TABLES in force, about which nobody has been asked since.
    pub(crate) fn suspect_locks(&self) -> bool {
        self.suspects_locks
    }

    /// Notes that the server has said whether tables are locked.
    pub(crate) fn learned_locks(&mut self) {
        self.suspects_locks = false;
    }

    /// Notes what the server has said of a table.
    pub(crate) fn learned(&mut self, schema: &str, name: &str, existence: Existence) {
        self.insert((schema.to_owned(), name.to_owned()), existence);
    }

    fn insert(&mut self, table: Name, existence: Existence) {
        if self.known.len() >= TABLES_MAX {
            self.suspect();
        }
        self.known.insert(table, existence);
    }

    /// A statement with these effects ran, as far as it came.
    pub(super) fn ran(&mut self, effects: &Effects) {
        match &effects.temporary {
            Temporary::Unknown => self.suspect(),
            Temporary::Creates(made) => {
                for table in made.iter().map(key) {
                    // A server that does not tell names apart by case makes what others were told not to be there.
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
                // A server that does not tell names apart by case drops what was made by the name in another case.
                let is_gone = |known: &Name| gone.iter().any(|table| is_same_name(known, &key(table)));
                for (_, existence) in self.known.iter_mut().filter(|(known, _)| is_gone(known)) {
                    if *existence == Existence::Sure {
                        *existence = Existence::Maybe;
                    }
                }
            }
            // A definition (RENAME, ALTER … RENAME) may give one another name.
            Temporary::None if !self.are_none() && defines(effects) => self.suspect(),
            Temporary::None => {}
        }
    }

    /// It came to its end.
    pub(super) fn succeeded(&mut self, effects: &Effects) {
        match &effects.temporary {
            Temporary::Creates(made) => {
                // ALTER TABLE … RENAME names the old and the new one: which of them is there now is not certain.
                let created = effects.writes == Writes::Nothing;
                for table in made {
                    self.insert(key(table), if created { Existence::Sure } else { Existence::Maybe });
                }
            }
            Temporary::Drops(gone) => {
                for table in gone.iter().map(key) {
                    // Where unknown code has made it, the name is asked about again.
                    self.known.remove(&table);
                }
            }
            Temporary::None | Temporary::Unknown => {}
        }
    }
}

/// Effects reach this room with every table named in full.
fn key(table: &TableName) -> Name {
    (table.schema.clone().unwrap_or_default(), table.name.clone())
}

/// Whether a statement may change definitions: those commit implicitly, and what is not understood may be one.
fn defines(effects: &Effects) -> bool {
    effects.writes == Writes::Everything
        || effects.transaction == TransactionEffect::MayCommit && effects.writes != Writes::Nothing
}
