//! What the text of a Query event in the binlog means.

use crate::modes::Flavor;

/// What a Query event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinlogEffect {
    /// No data and no definition changes.
    Nothing,
    /// BEGIN, COMMIT or ROLLBACK.
    Transaction(Boundary),
    /// XA START.
    XaStart {
        /// The branch.
        xid: Xid,
    },
    /// XA END.
    XaEnd {
        /// The branch.
        xid: Xid,
    },
    /// XA PREPARE.
    XaPrepare {
        /// The branch.
        xid: Xid,
    },
    /// XA COMMIT.
    XaCommit {
        /// The branch.
        xid: Xid,
    },
    /// XA ROLLBACK.
    XaRollback {
        /// The branch.
        xid: Xid,
    },
    /// Definition and content of these tables and views (schema, name) may have changed.
    Definition {
        /// The tables and views.
        tables: Vec<(String, String)>,
    },
    /// These tables were emptied.
    Truncate {
        /// The tables.
        tables: Vec<(String, String)>,
    },
    /// Anything in this schema may have changed.
    Schema(String),
    /// Accounts, roles or privileges changed.
    Accounts,
    /// Anything may have changed, or the text is not understood.
    Everything,
}

/// How a transaction is bounded in the binlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK, but not to a savepoint.
    Rollback,
}

/// The identity of an XA branch, in the form that compares by value however it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Xid {
    /// formatID; 1 if none was written.
    pub format_id: i64,
    /// The global part, at most 64 bytes.
    pub gtrid: Vec<u8>,
    /// The branch part, at most 64 bytes.
    pub bqual: Vec<u8>,
}

impl Xid {
    /// One string of bytes for a map's key: format id (8 bytes, little-endian), length of gtrid (1), of bqual (1), both.
    pub fn bytes(&self) -> Vec<u8> {
        unimplemented!()
    }
}

/// What a Query event's text, run with `schema` as the current one, means to whoever caches the server's tables.
pub fn binlog_effect(_text: &[u8], _schema: &str, _flavor: Flavor) -> BinlogEffect {
    unimplemented!()
}
