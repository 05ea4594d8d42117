//! What a statement may do.

use crate::TableName;
use crate::calls::Calls;
use crate::cursor::Cursor;
use crate::lex::{contains_ignoring_case, contains_name};
use crate::reads::Reads;

/// The most tables that are told of a text of many statements; a text that may write more counts as writing everything.
const TABLES_MAX: usize = 1024;

/// What a statement, or a text of several, may do. Where that cannot be told, the worse is assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The permanent tables whose data it may change, directly: the caller adds triggers and cascades.
    pub writes: Writes,
    /// What happens to the transaction.
    pub transaction: TransactionEffect,
    /// Temporary tables that appear or go.
    pub temporary: Temporary,
    /// It may change session variables, user variables, the current schema, the role, named locks, or prepared texts.
    pub session: bool,
    /// `Some(true)` for LOCK TABLES and similar statements, `Some(false)` for UNLOCK TABLES.
    pub locks_tables: Option<bool>,
    /// Its answer depends on the statement before it: FOUND_ROWS(), ROW_COUNT(), SHOW WARNINGS, GET DIAGNOSTICS….
    pub reads_last_statement: bool,
    /// What it does to the `session_track_*` variables, or shows of them.
    pub tracking: TrackingEffect,
    /// It turns the binlog off for the session or for itself.
    pub unlogged: bool,
    /// It changes the default schema.
    pub moves: bool,
    /// It changes rows of tables in a way that runs their triggers, which a definition does not.
    pub fires: bool,
    /// The tables and views that it may read. A view among these may run stored functions; the caller has to find that out.
    pub reads: Reads,
    /// The stored routines that it may run: the caller adds their effects.
    pub calls: Calls,
    /// What it defines: other statements may reach something else by these names afterwards.
    pub defines: Defines,
    /// The tables that LOCK TABLES names for writing.
    pub write_locks: Writes,
    /// It is several statements, or a block of them: each commits by itself, and after an error the statements before it stay done.
    pub several: bool,
    /// It is a definition: it commits an open transaction, and leaves none open, whether or not it succeeds.
    pub is_definition: bool,
    /// It changes what writes to tables reach: it defines a trigger or a foreign key, or changes a name.
    pub redirects: bool,
    /// It is a block that may begin and end transactions.
    pub commits_inside: bool,
    /// It may be XA COMMIT, which needs no privilege.
    pub may_commit_for_others: bool,
    /// The text holds a statement that no server accepts, so it ends there with a parse error. If the answer is no such error, a server
    /// accepted it after all: then anything may have happened.
    pub refused: bool,
    /// Its possible changes that are in no binlog.
    pub around: Around,
}

/// The names that a definition defines. They may mean something else from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defines {
    /// Nothing is defined.
    Nothing,
    /// These tables and views: their kind, columns, keys, foreign keys and triggers.
    Tables(Vec<TableName>),
    /// All objects in this schema; None is the current one.
    Schema(Option<String>),
    /// A procedure or a function.
    Routine,
    /// Anything.
    Everything,
}

/// The changes of a statement that are in no binlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Nothing, or it cannot be told from the text.
    Nothing,
    /// Accounts or rights. The binlog tells of these changes unless it is off.
    Accounts,
    /// Global variables.
    Globals,
    /// Rights, by loading earlier writes to their tables.
    Rights,
}

/// The tables a statement may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writes {
    /// None.
    Nothing,
    /// These, and no others.
    Tables(Vec<TableName>),
    /// Any table of this schema.
    Schema(String),
    /// No table, but the rights of accounts with these user names, in lower case. Roles are accounts too.
    Accounts(Vec<String>),
    /// Any table at all.
    Everything,
}

/// What a statement does to its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEffect {
    /// Nothing; an autocommit statement commits itself.
    None,
    /// A transaction begins; one that was open is committed.
    Begins,
    /// The open transaction is committed: COMMIT. Another may begin at once, as the answer says.
    Ends,
    /// The open transaction is rolled back: ROLLBACK, but not to a savepoint. Another may begin at once.
    RollsBack,
    /// The open transaction may be committed, and another may begin: an implicit commit, SET autocommit, or a statement that is not
    /// understood.
    MayCommit,
}

/// What a statement does with the variables that decide which changes the server reports to a session: `session_track_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrackingEffect {
    /// It does not name them.
    None,
    /// It may show their values.
    Shows,
    /// It sets them, and does nothing else but set variables.
    Sets,
    /// It may set them, among other things.
    Obscured,
}

impl TrackingEffect {
    /// Returns the effect of a text that is not understood.
    pub(super) fn obscured_in(text: &[u8]) -> Self {
        if contains_ignoring_case(text, b"session_track_") { Self::Obscured } else { Self::None }
    }
}

/// What happens to the session's temporary tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Temporary {
    /// Nothing.
    None,
    /// These appear.
    Creates(Vec<TableName>),
    /// These may go.
    Drops(Vec<TableName>),
    /// Not known: CALL, EXECUTE….
    Unknown,
}

impl Effects {
    /// Whether it reads no table, and calls no code that may read one.
    pub fn reads_nothing(&self) -> bool {
        self.reads.is_nothing() && self.calls.is_nothing()
    }

    /// Returns the effects of a statement that changes nothing.
    pub fn none() -> Self {
        Effects {
            writes: Writes::Nothing,
            transaction: TransactionEffect::None,
            temporary: Temporary::None,
            session: false,
            locks_tables: None,
            reads_last_statement: false,
            tracking: TrackingEffect::None,
            unlogged: false,
            moves: false,
            fires: false,
            reads: Reads::NOTHING,
            calls: Calls::NOTHING,
            defines: Defines::Nothing,
            write_locks: Writes::Nothing,
            several: false,
            is_definition: false,
            redirects: false,
            commits_inside: false,
            may_commit_for_others: false,
            refused: false,
            around: Around::Nothing,
        }
    }

    /// Whether it changes nothing, reads no table and runs no code.
    pub fn is_plain(&self) -> bool {
        *self == Effects { tracking: self.tracking, ..Effects::none() }
    }

    /// Returns the effects of a text that ends with a parse error before anything of it runs.
    pub fn refused() -> Self {
        Effects { refused: true, ..Effects::none() }
    }

    /// Returns the effects of a statement that may do anything.
    ///
    /// `unlogged` and `tracking` stay off: a statement that sets these variables names them, and where the text is not readable at all,
    /// the server's own tracking of variables still tells.
    pub fn worst() -> Self {
        Effects {
            writes: Writes::Everything,
            transaction: TransactionEffect::MayCommit,
            temporary: Temporary::Unknown,
            session: true,
            locks_tables: None,
            reads_last_statement: true,
            tracking: TrackingEffect::None,
            unlogged: false,
            moves: true,
            fires: true,
            reads: Reads::Unknown,
            calls: Calls::Unknown,
            defines: Defines::Everything,
            write_locks: Writes::Everything,
            several: true,
            is_definition: false,
            redirects: false,
            commits_inside: true,
            may_commit_for_others: true,
            refused: false,
            around: Around::Nothing,
        }
    }

    /// Returns the effects of a text that may do anything, but names its variables.
    pub(super) fn worst_of(text: &[u8]) -> Self {
        Effects {
            unlogged: names_log_bin(text),
            tracking: TrackingEffect::obscured_in(text),
            ..Effects::worst()
        }
    }

    pub(super) fn may_run_routines(&self) -> bool {
        !self.calls.is_nothing() || matches!(self.defines, Defines::Routine | Defines::Everything)
    }

    /// Returns the effects of the same statement in the case that it runs unknown code: a stored function behind a view, or a trigger.
    /// That may do anything but end the transaction.
    #[must_use]
    pub fn running_unknown_code(&self) -> Self {
        Effects {
            writes: Writes::Everything,
            temporary: Temporary::Unknown,
            session: true,
            fires: true,
            reads: Reads::NOTHING,
            calls: Calls::NOTHING,
            ..self.clone()
        }
    }

    /// Notes tables that are defined or emptied; a name may also be a temporary table's.
    pub(super) fn set_tables(&mut self, names: Vec<TableName>, cursor: Cursor<'_>) {
        let of_table = ["TABLE", "TABLES", "SEQUENCE"].iter().any(|word| cursor.at_word_ahead(1, word));
        if of_table && cursor.at_word("DROP") {
            self.temporary = Temporary::Drops(names.clone());
        } else if cursor.at_word("ALTER") && names.len() > 1 {
            self.temporary = Temporary::Creates(names.clone());
        }
        self.writes = Writes::Tables(names);
    }

    /// Returns the effects of this statement followed by that one.
    pub(super) fn and(self, next: Effects) -> Effects {
        Effects {
            writes: self.writes.and(next.writes),
            transaction: self.transaction.and(next.transaction),
            temporary: self.temporary.and(next.temporary),
            session: self.session || next.session,
            locks_tables: next.locks_tables.or(self.locks_tables),
            reads_last_statement: self.reads_last_statement || next.reads_last_statement,
            tracking: self.tracking.max(next.tracking),
            unlogged: self.unlogged || next.unlogged,
            moves: self.moves || next.moves,
            fires: self.fires || next.fires,
            reads: self.reads.and(next.reads),
            calls: self.calls.and(next.calls),
            defines: self.defines.and(next.defines),
            write_locks: self.write_locks.and(next.write_locks),
            several: self.several || next.several,
            is_definition: self.is_definition || next.is_definition,
            redirects: self.redirects || next.redirects,
            commits_inside: self.commits_inside || next.commits_inside,
            may_commit_for_others: self.may_commit_for_others || next.may_commit_for_others,
            refused: self.refused || next.refused,
            around: self.around.and(next.around),
        }
    }
}

impl Writes {
    pub(super) fn and(self, next: Writes) -> Writes {
        match (self, next) {
            (Writes::Nothing, other) | (other, Writes::Nothing) => other,
            (Writes::Tables(all), Writes::Tables(more)) => {
                TableName::union(all, more, TABLES_MAX).map_or(Writes::Everything, Writes::Tables)
            }
            (Writes::Schema(one), Writes::Schema(other)) if one == other => Writes::Schema(one),
            (Writes::Accounts(mut all), Writes::Accounts(more)) => {
                all.extend(more);
                Writes::Accounts(all)
            }
            _ => Writes::Everything,
        }
    }
}

impl Defines {
    pub(super) fn and(self, next: Defines) -> Defines {
        match (self, next) {
            (Defines::Nothing, other) | (other, Defines::Nothing) => other,
            (Defines::Tables(all), Defines::Tables(more)) => {
                TableName::union(all, more, TABLES_MAX).map_or(Defines::Everything, Defines::Tables)
            }
            _ => Defines::Everything,
        }
    }
}

impl Around {
    pub(super) fn and(self, next: Around) -> Around {
        match (self, next) {
            (Around::Nothing, other) | (other, Around::Nothing) => other,
            (one, other) if one == other => one,
            _ => Around::Rights,
        }
    }
}

impl TransactionEffect {
    pub(super) fn and(self, next: TransactionEffect) -> TransactionEffect {
        match (self, next) {
            (TransactionEffect::None, other) | (other, TransactionEffect::None) => other,
            (one, other) if one == other => one,
            _ => TransactionEffect::MayCommit,
        }
    }
}

impl Temporary {
    pub(super) fn and(self, next: Temporary) -> Temporary {
        match (self, next) {
            (Temporary::None, other) | (other, Temporary::None) => other,
            (Temporary::Creates(all), Temporary::Creates(more)) => {
                TableName::union(all, more, TABLES_MAX).map_or(Temporary::Unknown, Temporary::Creates)
            }
            (Temporary::Drops(all), Temporary::Drops(more)) => {
                TableName::union(all, more, TABLES_MAX).map_or(Temporary::Unknown, Temporary::Drops)
            }
            _ => Temporary::Unknown,
        }
    }
}

/// As [`crate::scan::Facts::names_log_bin`], also for texts within the text.
pub(super) fn names_log_bin(text: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"sql_log_bin", b"gtid_seq_no", b"insert_id"];
    names.iter().any(|name| contains_name(text, name))
}
