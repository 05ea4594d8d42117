//! What of a client's session is known here. The session itself lives in the server; this is what is needed to answer
//! in its place, and to know when we must not.

use std::collections::HashSet;
use std::sync::Arc;

use ahash::HashMap;
use freshet_protocol::StatusFlags;
use freshet_sql::{Effects, Temporary};

use crate::environment::Known;
use crate::fences::Pending;
use crate::variables::{Locals, Warning};

/// How many temporary tables are told apart by name; a session with more counts as one whose tables are not known.
const TEMPORARY_TABLES_MAX: usize = 256;

/// The flags of an answer that are the session's own; all others are the query's.
const SESSION_FLAGS: StatusFlags = StatusFlags::AUTOCOMMIT
    .union(StatusFlags::IN_TRANS)
    .union(StatusFlags::IN_TRANS_READONLY)
    .union(StatusFlags::DB_DROPPED)
    .union(StatusFlags::NO_BACKSLASH_ESCAPES)
    .union(StatusFlags::ANSI_QUOTES);

/// The session's temporary tables, which hide permanent ones of the same name.
#[derive(Debug)]
pub(crate) enum TemporaryTables {
    /// Exactly these, with their schemas.
    Known(HashSet<(String, String)>),
    /// A procedure may have made some.
    Unknown,
}

impl TemporaryTables {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Known(tables) if tables.is_empty())
    }

    /// Whether a temporary table stands, or may stand, in the place of this one: whether the server tells names apart
    /// by case is not known here.
    pub(crate) fn shadow(&self, schema: &str, name: &str) -> bool {
        match self {
            Self::Known(tables) => {
                tables.iter().any(|(s, n)| s.eq_ignore_ascii_case(schema) && n.eq_ignore_ascii_case(name))
            }
            Self::Unknown => true,
        }
    }

    /// Whether a temporary table certainly stands in the place of this one.
    pub(crate) fn surely_shadow(&self, schema: &str, name: &str) -> bool {
        matches!(self, Self::Known(tables) if tables.contains(&(schema.to_owned(), name.to_owned())))
    }

    fn note(&mut self, change: &Temporary, schema: Option<&str>) {
        match change {
            Temporary::None | Temporary::Drops(_) => {}
            Temporary::Unknown => *self = Self::Unknown,
            Temporary::Creates(made) => {
                let Self::Known(tables) = self else { return };
                for table in made {
                    let Some(schema) = table.schema.as_deref().or(schema) else {
                        return *self = Self::Unknown;
                    };
                    tables.insert((schema.to_owned(), table.name.clone()));
                }
                if tables.len() > TEMPORARY_TABLES_MAX {
                    *self = Self::Unknown;
                }
            }
        }
    }

    fn drop_tables(&mut self, change: &Temporary, schema: Option<&str>) {
        if let (Self::Known(tables), Temporary::Drops(gone)) = (&mut *self, change) {
            for table in gone {
                if let Some(schema) = table.schema.as_deref().or(schema) {
                    tables.remove(&(schema.to_owned(), table.name.clone()));
                }
            }
        }
    }
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What executing it may do.
    pub(crate) effects: Effects,
}

/// What is known of one session.
#[derive(Debug)]
pub(crate) struct State {
    /// The status flags of the server's last answer.
    pub(crate) status: StatusFlags,
    pub(crate) environment: Known,
    pub(crate) temporary: TemporaryTables,
    /// LOCK TABLES is in force.
    pub(crate) locked: bool,
    /// `SET TRANSACTION` holds for the next statement alone, which must therefore reach the server.
    pub(crate) one_shot: bool,
    /// The client has set session tracking up for itself.
    pub(crate) tells_all: bool,
    pub(crate) pending: Pending,
    pub(crate) prepared: HashMap<u32, Arc<Prepared>>,
    /// The statement prepared last, which MariaDB's clients may execute as number −1.
    pub(crate) prepared_last: Option<Arc<Prepared>>,
    pub(crate) locals: Locals,
    /// Warnings of a statement that we answered ourselves.
    pub(crate) warnings: Vec<Warning>,
    /// The statement of the last answer from memory, while no other has reached the server since: empty otherwise.
    pub(crate) last_hit: Vec<u8>,
    /// The environment part of the keys of this session's lookups; `None` while it must not be answered from memory.
    pub(crate) key: Option<u32>,
    /// When the server's connection was last used, in monotonic milliseconds.
    pub(crate) upstream_used_ms: u64,
    /// Commands so far.
    pub(crate) commands: u64,
}

impl State {
    pub(crate) fn new(status: StatusFlags) -> Self {
        Self {
            status,
            environment: Known::Unknown,
            temporary: TemporaryTables::Known(HashSet::new()),
            locked: false,
            one_shot: false,
            tells_all: false,
            pending: Pending::default(),
            prepared: HashMap::default(),
            prepared_last: None,
            locals: Locals::default(),
            warnings: Vec::new(),
            last_hit: Vec::new(),
            key: None,
            upstream_used_ms: 0,
            commands: 0,
        }
    }

    /// Whether a transaction is open, or would be opened by the next statement.
    pub(crate) fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANS)
    }

    /// Whether a statement runs in a transaction of its own.
    pub(crate) fn autocommits(&self) -> bool {
        self.status.contains(StatusFlags::AUTOCOMMIT) && !self.in_transaction()
    }

    /// The flags of an answer of ours.
    pub(crate) fn status_for_answers(&self) -> StatusFlags {
        self.status & SESSION_FLAGS
    }

    /// Notes what a statement may do before it is sent: from then on it may have done it.
    pub(crate) fn about_to(&mut self, effects: &Effects) {
        let schema = self.environment.schema().map(str::to_owned);
        self.temporary.note(&effects.temporary, schema.as_deref());
        self.locked |= effects.locks_tables == Some(true);
        self.tells_all |= effects.sets_tracking;
    }

    /// Notes what a statement has done once it succeeded.
    pub(crate) fn succeeded(&mut self, effects: &Effects) {
        let schema = self.environment.schema().map(str::to_owned);
        self.temporary.drop_tables(&effects.temporary, schema.as_deref());
        if effects.locks_tables == Some(false) {
            self.locked = false;
        }
    }
}

#[cfg(test)]
mod tests;
