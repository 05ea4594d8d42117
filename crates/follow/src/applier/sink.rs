//! What the applier finds, and who is told.
//!
//! The applier turns events into changes and feeds them to a [`ChangeSink`]. The first sink sets stamps
//! ([`crate::stamps::Stamps`]), the second takes the news of definitions and accounts to the catalog. A pair of sinks is a sink.

use freshet_cache::Position;
use freshet_catalog::{Changed, Name};
use freshet_sql::{Alteration, OnRights};

use super::cascades::Referring;
use super::changed_rows::ChangedRows;

/// Who is told of changes.
///
/// The calls come in the order of the binlog. Of one event: [`Self::reach`], then its changes. Of one transaction: its events,
/// then [`Self::ended`]; after that, its position is published as applied. So a session that sees a position applied sees
/// all that the sinks did for it.
///
/// A sink is a type parameter of the applier: a call of it is direct, and nothing is allocated for it.
pub trait ChangeSink {
    /// Changes follow that an event makes which ends at `at`. What comes into use after this call is told of them.
    fn reach(&mut self, at: Position);

    /// An event that ends at `at` changes this.
    fn change(&mut self, change: &StreamChange<'_>, at: Position);

    /// The transaction ends at `at`, all changes of which were told.
    fn ended(&mut self, ending: TransactionEnd, at: Position);

    /// The stream is lost: no change is told from here on, whatever happens, until another generation begins. `above` is above
    /// all positions that were given out.
    fn forget(&mut self, above: Position);
}

/// One change. Names are as the catalog compares them.
#[derive(Clone, Copy, Debug)]
pub enum StreamChange<'a> {
    /// Rows of one table, with their images.
    Rows(ChangedRows<'a>),
    /// Rows of one table that refer to rows of another table that are deleted or updated: foreign keys delete them too, or change
    /// their columns. They need not be in any event.
    Referring(&'a Referring, ChangedRows<'a>),
    /// Any rows of this table.
    AnyRows(&'a Name),
    /// Any rows of any MERGE table.
    AnyMerged,
    /// Any rows of any table.
    AnyTable,
    /// The definitions of these tables and views. That their rows change is told before.
    Tables(&'a [Name]),
    /// The same, by a definition that makes none of them refer to a table that it did not refer to before.
    Unlinked(&'a [Name]),
    /// The definition of this table, and what that does to its columns: all its rows stay. It makes it refer to no table that it did not
    /// refer to before.
    Altered(&'a Name, &'a Alteration),
    /// The definition of this procedure or function, its name as it was written; `None`: of any, and of what runs it.
    Routine(Option<&'a Name>),
    /// Whatever is in this schema.
    Schema(&'a str),
    /// Rights.
    Accounts {
        /// Those of these users; `None`: of any, and whatever hangs on rights.
        users: Option<&'a [String]>,
        /// By a statement that the server counts as one on accounts, so that the count can be held against the stream.
        is_counted: bool,
        /// What it does to who has them.
        on_rights: OnRights,
    },
    /// The grant tables were written: rights, once they are loaded.
    GrantTables,
    /// Anything at all: the event is not understood.
    Anything,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its changes are in effect.
    Committed,
    /// It is an XA transaction that is prepared: nobody sees its changes yet. Its commit is a transaction of its own, which
    /// changes any rows of its tables.
    Prepared,
    /// All, some or none of its changes are in effect: it was rolled back or cut off, and tables without transactions keep
    /// their changes.
    Unclear,
}

impl StreamChange<'_> {
    /// Returns what it says of definitions; `None`: nothing.
    #[must_use]
    pub const fn of_definitions(&self) -> Option<Changed<'_>> {
        match self {
            Self::Tables(names) => Some(Changed::Tables(names)),
            Self::Unlinked(names) => Some(Changed::Unlinked(names)),
            Self::Altered(name, alteration) => Some(Changed::Altered(name, alteration)),
            Self::Routine(_) => Some(Changed::Routine),
            Self::Schema(schema) => Some(Changed::Schema(schema)),
            Self::Anything => Some(Changed::Everything),
            Self::Rows(_)
            | Self::Referring(..)
            | Self::AnyRows(_)
            | Self::AnyMerged
            | Self::AnyTable
            | Self::Accounts { .. }
            | Self::GrantTables => None,
        }
    }

    /// Whether accounts or rights may have changed.
    #[must_use]
    pub const fn concerns_accounts(&self) -> bool {
        matches!(self, Self::Accounts { .. } | Self::GrantTables | Self::Anything)
    }
}

/// Both are told, the first one first.
impl<A: ChangeSink, B: ChangeSink> ChangeSink for (A, B) {
    fn reach(&mut self, at: Position) {
        self.0.reach(at);
        self.1.reach(at);
    }

    fn change(&mut self, change: &StreamChange<'_>, at: Position) {
        self.0.change(change, at);
        self.1.change(change, at);
    }

    fn ended(&mut self, ending: TransactionEnd, at: Position) {
        self.0.ended(ending, at);
        self.1.ended(ending, at);
    }

    fn forget(&mut self, above: Position) {
        self.0.forget(above);
        self.1.forget(above);
    }
}
