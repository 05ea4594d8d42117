//! The changes that the applier finds, and the sinks that are told of them.
//!
//! The applier turns events into changes and tells them to a [`ChangeSink`]. The first sink sets stamps ([`crate::stamps::Stamps`]), the
//! second brings the news of definitions and accounts to the catalog, and the third hands rows to the keeper of copies ([`crate::feed`]). A
//! pair of sinks is a sink.

use freshet_cache::Position;
use freshet_catalog::{Changed, Name};
use freshet_sql::{Alteration, OnRights};

use super::cascades::Referring;
use super::changed_rows::ChangedRows;

/// Is told of changes.
///
/// The calls come in the order of the binlog. For one event: [`Self::reach`], then its changes. For one transaction: its events, then
/// [`Self::ended`]; after that, its position is published as applied. So a session that sees a position applied sees everything that the
/// sinks did for it.
///
/// A sink is a type parameter of the applier: a call is direct, and allocates nothing.
pub trait ChangeSink {
    /// Announces the changes of an event that ends at `at`. Anything that comes into use after this call is told of them.
    fn reach(&mut self, at: Position);

    /// Tells a change of an event that ends at `at`.
    fn change(&mut self, change: &StreamChange<'_>, at: Position);

    /// Tells the end of a transaction at `at`. All its changes were told before.
    fn ended(&mut self, ending: TransactionEnd, at: Position);

    /// Tells the loss of the stream: no change is told from here on, whatever happens, until another generation begins. `above` is above
    /// all positions that were given out.
    fn forget(&mut self, above: Position);
}

/// One change. Names are in the form in which the catalog compares them.
#[derive(Clone, Copy, Debug)]
pub enum StreamChange<'a> {
    /// Rows of one table, with their images.
    Rows(ChangedRows<'a>),
    /// Rows of one table that refer to deleted or updated rows of another table: foreign keys delete them too, or change their columns.
    /// They need not be in any event.
    Referring(&'a Referring, ChangedRows<'a>),
    /// Any rows of this table.
    AnyRows(&'a Name),
    /// Any rows of any MERGE table.
    AnyMerged,
    /// Any rows of any table.
    AnyTable,
    /// The definitions of these tables and views. Changes of their rows are told before.
    Tables(&'a [Name]),
    /// The definitions of these tables and views. None of them refers to a table to which it did not refer before.
    Unlinked(&'a [Name]),
    /// The definition of this table, and its effect on the columns: all rows stay. The table refers to no table to which it did not refer
    /// before.
    Altered(&'a Name, &'a Alteration),
    /// The definition of this procedure or function, with its name as it was written; `None`: of any routine, and of the code that runs
    /// it.
    Routine(Option<&'a Name>),
    /// Everything in this schema.
    Schema(&'a str),
    /// Rights.
    Accounts {
        /// The rights of these users; `None`: of any user, and everything that depends on rights.
        users: Option<&'a [String]>,
        /// The server counts the statement as one on accounts, so the server's count can be compared with the stream.
        is_counted: bool,
        /// What the statement does to the users' rights.
        on_rights: OnRights,
    },
    /// The grant tables were written: the rights in them take effect once they are loaded.
    GrantTables,
    /// Everything: the event is not understood.
    Anything,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its changes are in effect.
    Committed,
    /// The transaction is an XA transaction that is prepared: nobody sees its changes yet. Its commit is a transaction of its own, which
    /// changes any rows of its tables.
    Prepared,
    /// All, some or none of its changes are in effect: it was rolled back or cut off, and tables without transactions keep their changes.
    Unclear,
}

impl StreamChange<'_> {
    /// Returns the change of definitions in this; `None`: there is none.
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

/// Both sinks are told, the first one first.
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
