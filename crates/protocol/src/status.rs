//! The server's status flags, which every OK and EOF packet carries.

use bitflags::bitflags;

bitflags! {
    /// `SERVER_STATUS_*`. Unknown bits are kept.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct StatusFlags: u16 {
        /// A transaction is open.
        const IN_TRANS = 1;
        /// Statements commit by themselves.
        const AUTOCOMMIT = 1 << 1;
        /// Another result of the same command follows.
        const MORE_RESULTS = 1 << 3;
        /// No good index was used.
        const NO_GOOD_INDEX = 1 << 4;
        /// No index was used.
        const NO_INDEX = 1 << 5;
        /// A cursor is open: rows come with `COM_STMT_FETCH`.
        const CURSOR_EXISTS = 1 << 6;
        /// The cursor has no more rows.
        const LAST_ROW_SENT = 1 << 7;
        /// A schema was dropped.
        const DB_DROPPED = 1 << 8;
        /// Backslashes are no escapes (`sql_mode`).
        const NO_BACKSLASH_ESCAPES = 1 << 9;
        /// A prepared statement's columns are not what they were.
        const METADATA_CHANGED = 1 << 10;
        /// The statement was slow.
        const QUERY_WAS_SLOW = 1 << 11;
        /// The result set holds a procedure's OUT parameters.
        const PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read-only.
        const IN_TRANS_READONLY = 1 << 13;
        /// The OK packet carries changes of the session's state.
        const SESSION_STATE_CHANGED = 1 << 14;
        /// Double quotes enclose names (`sql_mode`, MariaDB).
        const ANSI_QUOTES = 1 << 15;

        const _ = !0;
    }
}
