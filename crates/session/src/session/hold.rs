//! Why a session cannot be answered from memory, or must keep its server connection. All reasons are here.
//!
//! | | no answers from memory | keeps its connection |
//! |---|---|---|
//! | [`Hold::UnknownReads`] to [`Hold::Unreported`] | yes | yes |
//! | [`Hold::CacheOff`] | yes | no |
//! | [`Hold::EnvironmentUnknown`] | yes | until the environment is read |
//! | [`Hold::EnvironmentRefused`] | yes | yes |
//! | all others | no | yes |
//!
//! [`Hold::Transaction`], [`Hold::PreparedStatements`] and [`Hold::LastStatement`] keep the connection only if their state cannot be brought
//! about on another connection: see `leaves_nothing_elsewhere` in `giving_up.rs`.
//!
//! Temporary tables and doubts bar a statement only if it may name such a table: see `key_for` in `commands/asked.rs`.

use std::fmt;

use super::{Lease, State};
use crate::variables::{Globals, TYPE_OFF};
use crate::why::Why;

/// One reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    UnknownReads,
    NextTransaction,
    Locks,
    TemporaryTables,
    Doubts,
    Unreported,
    CacheOff,
    EnvironmentUnknown,
    EnvironmentRefused,
    Transaction,
    NamedLocks,
    UserVariables,
    OtherState,
    PreparedStatements,
    PreparedTexts,
    LongData,
    Cursor,
    LastStatement,
    UnknownCode,
    UnloggedWrites,
}

impl Hold {
    /// In the order of the table above.
    const ALL: [Self; 20] = [
        Self::UnknownReads,
        Self::NextTransaction,
        Self::Locks,
        Self::TemporaryTables,
        Self::Doubts,
        Self::Unreported,
        Self::CacheOff,
        Self::EnvironmentUnknown,
        Self::EnvironmentRefused,
        Self::Transaction,
        Self::NamedLocks,
        Self::UserVariables,
        Self::OtherState,
        Self::PreparedStatements,
        Self::PreparedTexts,
        Self::LongData,
        Self::Cursor,
        Self::LastStatement,
        Self::UnknownCode,
        Self::UnloggedWrites,
    ];

    /// Returns a set of reasons in words.
    pub(crate) fn words(set: u32) -> String {
        let has = |at: &usize| set & (1 << at) != 0;
        let words: Vec<String> =
            (0..Self::ALL.len()).filter(has).map(|at| Self::ALL[at].to_string()).collect();
        words.join("; ")
    }

    /// The reasons that bar every answer from memory, whatever tables it reads.
    const BAR_ALL_HITS: [Self; 7] = [
        Self::UnknownReads,
        Self::NextTransaction,
        Self::Locks,
        Self::Unreported,
        Self::CacheOff,
        Self::EnvironmentUnknown,
        Self::EnvironmentRefused,
    ];

    /// The reasons that bar the answers whose tables may be hidden by temporary tables.
    const HIDE_TABLES: [Self; 2] = [Self::TemporaryTables, Self::Doubts];
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownReads => "a transaction is open, or may be, and it is not known as of when it reads",
            Self::Transaction => "a transaction is open, or may be",
            Self::NextTransaction => "SET TRANSACTION holds for the next transaction",
            Self::Locks => "LOCK TABLES is in force",
            Self::TemporaryTables => "there are temporary tables, or may be",
            Self::Doubts => "it is not known yet what code ran",
            Self::Unreported => "the server does not report what changes in the session",
            Self::CacheOff => "query_cache_type is OFF",
            Self::EnvironmentUnknown => {
                "a statement may have changed the session, which is read before the next SELECT"
            }
            Self::EnvironmentRefused => "the session's settings do not let results be shared",
            Self::NamedLocks => "it may hold named locks",
            Self::UserVariables => "user variables are set",
            Self::OtherState => "a statement has changed what the server alone knows of the session",
            Self::PreparedStatements => "statements are prepared",
            Self::PreparedTexts => "statements are prepared by PREPARE",
            Self::LongData => "a parameter's value has been sent in part",
            Self::Cursor => "a cursor may be open",
            Self::LastStatement => "the server has the row counts and warnings of the last statement",
            Self::UnknownCode => "unknown code ran",
            Self::UnloggedWrites => "its writes may be kept out of the binlog",
        })
    }
}

/// The reasons of one session at one moment.
#[derive(Clone, Copy)]
pub(crate) struct SessionHolds<'a> {
    pub(crate) state: &'a State,
    pub(crate) lease: &'a Lease,
    pub(crate) globals: &'a Globals,
}

impl SessionHolds<'_> {
    /// Returns all reasons of the session.
    pub(crate) fn list(self) -> impl Iterator<Item = Hold> {
        Hold::ALL.into_iter().filter(move |hold| self.has(*hold))
    }

    /// Returns the reasons as a set, for [`Hold::words`].
    pub(crate) fn set(self) -> u32 {
        self.list().fold(0, |set, hold| set | 1 << hold as u32)
    }

    /// Whether the session cannot be answered from memory, whatever it asks.
    pub(crate) fn bar_all_hits(self) -> bool {
        Hold::BAR_ALL_HITS.into_iter().any(|hold| self.has(hold))
    }

    /// Returns why the session cannot be answered from memory, in the words for a statement.
    pub(crate) fn why(self) -> Why {
        let bars = Hold::BAR_ALL_HITS.into_iter().find(|hold| self.has(*hold));
        match bars {
            Some(Hold::UnknownReads | Hold::NextTransaction) => Why::Transaction,
            Some(Hold::Locks) => Why::TablesLocked,
            Some(Hold::CacheOff) => Why::CacheOff,
            Some(Hold::EnvironmentRefused) => Why::Settings,
            _ => Why::Session,
        }
    }

    /// Whether a temporary table may hide some table.
    pub(crate) fn hide_tables(self) -> bool {
        Hold::HIDE_TABLES.into_iter().any(|hold| self.has(hold))
    }

    /// Whether the session has this reason.
    pub(crate) fn has(self, hold: Hold) -> bool {
        let Self { state, lease, globals } = self;
        match hold {
            Hold::UnknownReads => !state.knows_reads(),
            Hold::Transaction => !state.tx.surely_autocommits(),
            // The server also reports this for an open transaction. A statement outside of transactions is a transaction of its own.
            Hold::NextTransaction => {
                let is_of_open = state.tx.is_open() || state.tx.begun().is_some();
                let is_noted = !state.tx.said().is_empty() && state.tx.surely_autocommits();
                is_noted || state.tx.next_differs() && !(is_of_open && state.view().is_known())
            }
            Hold::Locks => state.locks.are_in_force(),
            Hold::TemporaryTables => !state.hidden.tables().are_none(),
            Hold::Doubts => state.hidden.are_doubtful(),
            // In a new session nothing has happened yet that would be reported.
            Hold::Unreported => !lease.tracking.is_complete() && !lease.is_new(),
            Hold::CacheOff => state.locals.effective_type(globals) == TYPE_OFF,
            Hold::EnvironmentUnknown => state.environment.current().is_none(),
            Hold::EnvironmentRefused => state.environment.current().is_some_and(|it| it.refused.is_some()),
            Hold::NamedLocks => lease.traces().named_locks,
            Hold::UserVariables => lease.traces().user_variables,
            Hold::OtherState => lease.traces().others,
            Hold::PreparedStatements => !lease.prepared.are_none(),
            Hold::PreparedTexts => !state.texts.are_none(),
            Hold::LongData => lease.prepared.have_long_data(),
            Hold::Cursor => lease.traces().cursor && !lease.prepared.are_none(),
            // If the last statement was answered from memory, its statement brings the same counts about on any connection.
            Hold::LastStatement => !lease.is_untouched() && !state.last.is_from_memory(),
            Hold::UnknownCode => lease.traces().unknown_code,
            Hold::UnloggedWrites => state.deeds.are_unlogged(),
        }
    }
}

#[cfg(test)]
mod tests;
