//! The commands that a client can send: the first byte of its packets.

#[cfg(test)]
mod tests;

/// Declares the enum and both directions of its mapping in one table.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $byte:literal,)*) => {
        /// A command's first byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Command {
            $($(#[$doc])* $name,)*
            /// A byte that names no command known here.
            Other(u8),
        }

        impl Command {
            /// Every byte is some command.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Self {
                match byte {
                    $($byte => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// Returns the byte that names it.
            #[must_use]
            pub const fn byte(self) -> u8 {
                match self {
                    $(Self::$name => $byte,)*
                    Self::Other(byte) => byte,
                }
            }
        }
    };
}

commands! {
    /// Internal to the server.
    Sleep = 0,
    /// Ends the session; has no answer.
    Quit = 1,
    /// Changes the schema.
    InitDb = 2,
    /// A statement as text.
    Query = 3,
    /// A table's columns.
    FieldList = 4,
    /// Creates a schema (obsolete).
    CreateDb = 5,
    /// Drops a schema (obsolete).
    DropDb = 6,
    /// FLUSH and RESET (obsolete).
    Refresh = 7,
    /// Stops the server (obsolete in MySQL).
    Shutdown = 8,
    /// One line of statistics.
    Statistics = 9,
    /// SHOW PROCESSLIST (obsolete).
    ProcessInfo = 10,
    /// Internal to the server.
    Connect = 11,
    /// KILL (obsolete).
    ProcessKill = 12,
    /// Has the server write debug information to its log.
    Debug = 13,
    /// Asks whether the server is alive.
    Ping = 14,
    /// Internal to the server.
    Time = 15,
    /// Internal to the server.
    DelayedInsert = 16,
    /// Logs in anew on the same connection.
    ChangeUser = 17,
    /// Asks for the binlog from a file and an offset.
    BinlogDump = 18,
    /// Asks for a table's file (obsolete).
    TableDump = 19,
    /// Internal to the server.
    ConnectOut = 20,
    /// Announces a replica.
    RegisterReplica = 21,
    /// Prepares a statement.
    StmtPrepare = 22,
    /// Executes a prepared statement.
    StmtExecute = 23,
    /// A piece of a parameter; has no answer.
    StmtSendLongData = 24,
    /// Forgets a prepared statement; has no answer.
    StmtClose = 25,
    /// Resets a prepared statement's parameters and cursor.
    StmtReset = 26,
    /// Turns multi-statements on or off.
    SetOption = 27,
    /// Rows of a cursor.
    StmtFetch = 28,
    /// Internal to the server.
    Daemon = 29,
    /// Asks for the binlog by GTIDs (MySQL).
    BinlogDumpGtid = 30,
    /// Resets the session.
    ResetConnection = 31,
    /// Clones the server (MySQL).
    Clone = 32,
    /// Subscribes to the group's messages (MySQL).
    SubscribeGroupReplicationStream = 33,
    /// Executes a prepared statement for many rows (MariaDB).
    StmtBulkExecute = 0xFA,
}
