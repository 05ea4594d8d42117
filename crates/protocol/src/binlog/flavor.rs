//! The two kinds of streams.

/// Which server writes the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinlogFlavor {
    /// MySQL and what is built from it.
    MySql,
    /// MariaDB.
    MariaDb,
}
