//! What a statement may do: to data, to the transaction, and to the session.

use crate::TableName;
use crate::modes::Modes;

/// What a statement, or a text of several, may do. Where it cannot be told, the worse is assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The data of permanent tables that it may change, directly: triggers and cascades are the caller's to add.
    pub writes: Writes,
    /// What becomes of the transaction.
    pub transaction: TransactionEffect,
    /// Temporary tables that appear or go.
    pub temporary: Temporary,
    /// It may change session variables, user variables, the current schema, the role, named locks, or prepared texts.
    pub session: bool,
    /// `Some(true)` for LOCK TABLES and its kin, `Some(false)` for UNLOCK TABLES.
    pub locks_tables: Option<bool>,
    /// Its answer depends on the statement before it: FOUND_ROWS(), ROW_COUNT(), SHOW WARNINGS, GET DIAGNOSTICS….
    pub reads_last_statement: bool,
    /// It assigns a `session_track_*` variable.
    pub sets_tracking: bool,
    /// It turns the binlog off for the session or for itself.
    pub unlogged: bool,
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
    /// Any table at all.
    Everything,
}

/// What a statement does to the transaction it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEffect {
    /// Nothing; an autocommit statement commits itself.
    None,
    /// A transaction begins; one that was open is committed.
    Begins,
    /// The open transaction is committed: COMMIT.
    Ends,
    /// The open transaction is rolled back: ROLLBACK, but not to a savepoint.
    RollsBack,
    /// The open transaction may be committed, and another may begin: an implicit commit, COMMIT AND CHAIN,
    /// SET autocommit, or a statement that is not understood.
    MayCommit,
}

/// What becomes of the session's temporary tables.
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

/// The effects of `text`, whatever it is; several statements give the union of theirs.
pub fn effects(_text: &[u8], _modes: Modes) -> Effects {
    unimplemented!()
}
