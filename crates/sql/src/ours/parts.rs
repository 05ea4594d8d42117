//! The statements of ours, and the parts that they share.

use super::caches::CacheStatement;
use crate::cursor::Cursor;
use crate::modes::TableName;
use crate::words::is_in;

/// A statement of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Ours {
    /// SET of our variables only.
    SetVariables(Vec<Assignment>),
    /// SET of our variables and of the server's.
    SetMixed {
        /// Ours, in order.
        ours: Vec<Assignment>,
        /// The SET without ours, for the server.
        rest: String,
    },
    /// MariaDB's SET STATEMENT … FOR with ours among the server's.
    SetStatement {
        /// Our assignments, in order, which hold for the one statement.
        ours: Vec<Assignment>,
        /// The rest without ours: with the server's assignments, or the statement alone.
        rest: Vec<u8>,
    },
    /// RESET PERSIST, of one of our variables or of all.
    ResetPersist {
        /// The variable in lower case; None for all.
        name: Option<String>,
        /// Whether a missing one only gives a warning.
        if_exists: bool,
    },
    /// SHOW VARIABLES that can match only ours.
    ShowVariables {
        /// GLOBAL or SESSION.
        scope: Scope,
        /// Which of them.
        like: LikeFilter,
    },
    /// SHOW STATUS that can match only ours.
    ShowStatus {
        /// GLOBAL or SESSION.
        scope: Scope,
        /// Which of them.
        like: LikeFilter,
    },
    /// SHOW VARIABLES or SHOW STATUS that can match ours and the server's.
    ShowAll {
        /// What it shows.
        lists: Lists,
        /// GLOBAL or SESSION.
        scope: Scope,
        /// Which of them.
        filter: ShowFilter,
    },
    /// SELECT of our system variables only.
    SelectVariables(Vec<SelectedVariable>),
    /// SHOW COLUMNS or DESCRIBE of `information_schema.query_cache_info`.
    ShowColumns {
        /// SHOW FULL COLUMNS.
        full: bool,
        /// Which of them.
        like: Option<LikeFilter>,
    },
    /// FLUSH QUERY CACHE.
    FlushQueryCache,
    /// FLUSH STATUS, which is the server's and also concerns us.
    FlushStatus,
    /// FLUSH TABLES without a lock: the server's. Results that rest on these tables are dropped from our cache; without names, all
    /// results.
    FlushTables(Vec<TableName>),
    /// RESET QUERY CACHE.
    ResetQueryCache,
    /// FLUSH or RESET of a list that names the query cache and objects of the server's.
    AmongOthers {
        /// Whether it is RESET, which empties the cache.
        is_reset: bool,
        /// The statement without the query cache.
        rest: String,
    },
    /// A statement about caches of single queries.
    Caches(Box<CacheStatement>),
}

/// One assignment of a SET.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// GLOBAL, SESSION, or neither written.
    pub scope: Scope,
    /// The variable in lower case.
    pub name: String,
    /// What it is set to.
    pub value: AssignedValue,
    /// Whether the value is kept over restarts.
    pub keeps: Keeps,
}

/// Whether a SET keeps a value over restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// It sets the value and keeps nothing over restarts.
    #[default]
    Not,
    /// PERSIST: it sets the value and keeps it.
    Too,
    /// PERSIST_ONLY: it keeps the value and sets nothing now.
    Only,
}

impl Keeps {
    /// Reads PERSIST or PERSIST_ONLY, if it stands here.
    pub(super) fn at(cursor: &Cursor<'_>) -> Self {
        if cursor.at_word("PERSIST") {
            Self::Too
        } else if cursor.at_word("PERSIST_ONLY") {
            Self::Only
        } else {
            Self::Not
        }
    }
}

/// The scope a variable is named with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// SESSION or LOCAL.
    Session,
    /// GLOBAL.
    Global,
    /// None was written.
    Unspecified,
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignedValue {
    /// An integer, signed.
    Int(i128),
    /// A number that is no integer, as it was written.
    Real(String),
    /// A string, or a bare word such as ON.
    Text(String),
    /// DEFAULT.
    Default,
    /// Any other expression, as it was written.
    Other(String),
}

/// One column of `SELECT @@query_cache_size, @@global.query_cache_type AS t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedVariable {
    /// GLOBAL, SESSION, or neither written.
    pub scope: Scope,
    /// The variable in lower case.
    pub name: String,
    /// The column's name: the alias, or the expression as it was written.
    pub title: String,
}

/// What a SHOW or a table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// System variables.
    Variables,
    /// Status values.
    Status,
}

/// The rows for which a SHOW asks, if they can include the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowFilter {
    /// All.
    All,
    /// Those whose names match.
    Names(LikeFilter),
    /// Those for which this condition on `Variable_name` and `Value` holds, as it was written.
    Where(Vec<u8>),
}

/// The names for which a SHOW asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LikeFilter {
    /// Those that match this LIKE pattern (`%`, `_`, `\` as escape), case-insensitively.
    Like(String),
    /// Those named here, case-insensitively.
    Names(Vec<String>),
}

/// Whether a variable is ours.
pub(super) fn is_ours(name: &[u8]) -> bool {
    const HEAD: &[u8] = b"query_cache_";
    name.get(..HEAD.len()).is_some_and(|head| head.eq_ignore_ascii_case(HEAD))
        || is_in(
            name,
            &["FILL_WAIT", "FRESHNESS", "HAVE_QUERY_CACHE", "MAX_STALENESS", "TRANSACTION_SNAPSHOT"],
        )
}

/// Reads GLOBAL, SESSION or LOCAL as a word of its own.
pub(super) fn scope(cursor: &mut Cursor<'_>) -> Scope {
    if cursor.any(&["GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
        Scope::Global
    } else if cursor.any(&["SESSION", "LOCAL"]) {
        Scope::Session
    } else {
        Scope::Unspecified
    }
}

/// Reads the rest of `@@name`, `@@global.name`, `@@session.name` behind the two marks: scope and name in lower case.
pub(super) fn system_variable(cursor: &mut Cursor<'_>) -> Option<(Scope, String)> {
    let dotted = cursor.peek_at(1).is_some_and(|token| token.is(b'.'));
    let scope = if dotted { scope(cursor) } else { Scope::Unspecified };
    if scope != Scope::Unspecified {
        cursor.punct(b'.');
    }
    Some((scope, cursor.identifier()?.to_ascii_lowercase()))
}
