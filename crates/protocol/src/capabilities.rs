//! What the two ends agree on in the handshake, and what therefore changes
//! the form of every later packet.

use bitflags::bitflags;

bitflags! {
    /// Capability flags. The low 32 bits are MySQL's; the high 32 are
    /// MariaDB's extended ones, which exist only between two ends that both
    /// leave [`Capabilities::LONG_PASSWORD`] unset.
    ///
    /// Unknown bits are kept, since a greeting must be relayed as it came.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Capabilities: u64 {
        /// MySQL's first flag. MariaDB calls it `CLIENT_MYSQL` and leaves it
        /// unset to say that extended capabilities follow.
        const LONG_PASSWORD = 1;
        /// `affected_rows` counts the rows found instead of those changed.
        const FOUND_ROWS = 1 << 1;
        /// Column flags take two bytes.
        const LONG_FLAG = 1 << 2;
        /// The login names a schema.
        const CONNECT_WITH_DB = 1 << 3;
        /// `db.table.column` is not allowed.
        const NO_SCHEMA = 1 << 4;
        /// Packets may be compressed with zlib.
        const COMPRESS = 1 << 5;
        /// An ODBC client.
        const ODBC = 1 << 6;
        /// The client can send files for LOAD DATA LOCAL.
        const LOCAL_FILES = 1 << 7;
        /// Blanks after function names are ignored.
        const IGNORE_SPACE = 1 << 8;
        /// The protocol of 4.1, without which nothing here works.
        const PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` instead of `wait_timeout`.
        const INTERACTIVE = 1 << 10;
        /// TLS follows the greeting.
        const SSL = 1 << 11;
        /// The client ignores SIGPIPE.
        const IGNORE_SIGPIPE = 1 << 12;
        /// Status flags are wanted in EOF packets.
        const TRANSACTIONS = 1 << 13;
        /// Unused since 4.1.
        const RESERVED = 1 << 14;
        /// Passwords are scrambled as since 4.1.
        const SECURE_CONNECTION = 1 << 15;
        /// Several statements may be sent as one.
        const MULTI_STATEMENTS = 1 << 16;
        /// Several results may come as the answer to one statement.
        const MULTI_RESULTS = 1 << 17;
        /// The same for prepared statements.
        const PS_MULTI_RESULTS = 1 << 18;
        /// Authentication plugins are named.
        const PLUGIN_AUTH = 1 << 19;
        /// The login carries attributes of the client.
        const CONNECT_ATTRS = 1 << 20;
        /// The authentication response may be longer than 255 bytes.
        const PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        /// The client can log in with an expired password to change it.
        const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets carry changes of the session's state.
        const SESSION_TRACK = 1 << 23;
        /// Result sets end with an OK packet and have no EOF packets.
        const DEPRECATE_EOF = 1 << 24;
        /// Result sets may come without column definitions (MySQL).
        const OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// Packets may be compressed with zstd (MySQL).
        const ZSTD_COMPRESSION_ALGORITHM = 1 << 26;
        /// Statements carry query attributes (MySQL).
        const QUERY_ATTRIBUTES = 1 << 27;
        /// Several factors of authentication (MySQL).
        const MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// The client library's own: extended capabilities (MySQL).
        const CAPABILITY_EXTENSION = 1 << 29;
        /// The client verifies the server's certificate.
        const SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// The client library's own: options are remembered.
        const REMEMBER_OPTIONS = 1 << 31;

        /// Reports of progress may come before an answer (MariaDB).
        const MARIADB_PROGRESS = 1 << 32;
        /// Once `COM_MULTI` (MariaDB); now reserved.
        const MARIADB_RESERVED_1 = 1 << 33;
        /// `COM_STMT_BULK_EXECUTE` (MariaDB).
        const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
        /// Column definitions carry extended types (MariaDB).
        const MARIADB_EXTENDED_METADATA = 1 << 35;
        /// Known column definitions of prepared statements are not sent again (MariaDB).
        const MARIADB_CACHE_METADATA = 1 << 36;
        /// Bulk statements answer with one result for each row (MariaDB).
        const MARIADB_BULK_UNIT_RESULTS = 1 << 37;

        const _ = !0;
    }
}

impl Capabilities {
    /// MySQL's half.
    #[must_use]
    pub const fn low(self) -> u32 {
        (self.bits() & 0xFFFF_FFFF) as u32
    }

    /// MariaDB's half: the extended capabilities.
    #[must_use]
    pub const fn extended(self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// Joins the two halves. The extended one counts only if MySQL's first
    /// flag is unset: what stands in its place then is filler.
    #[must_use]
    pub const fn from_halves(low: u32, extended: u32) -> Self {
        let low_bits = Self::from_bits_retain(low as u64);
        if low_bits.contains(Self::LONG_PASSWORD) {
            return low_bits;
        }
        Self::from_bits_retain((extended as u64) << 32 | low as u64)
    }

    /// Whether result sets end with an OK packet and have no EOF packets.
    #[must_use]
    pub const fn deprecate_eof(self) -> bool {
        self.contains(Self::DEPRECATE_EOF)
    }
}
