//! Global transaction identifiers of both servers, and the events that carry them.

use std::fmt;

use super::xid::Xid;
use crate::{Malformed, Reader};

/// Bytes of the longest tag.
pub(super) const TAG_LEN_MAX: usize = 32;

/// One transaction's identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gtid {
    /// MySQL's.
    MySql {
        /// The server that committed it first.
        uuid: [u8; 16],
        /// Its tag (8.3 and later), in lower case; empty if it has none.
        tag: String,
        /// Its number on that server, from 1.
        gno: u64,
    },
    /// MariaDB's.
    MariaDb {
        /// Replication domain.
        domain: u32,
        /// The server that committed it first.
        server: u32,
        /// Its number in the domain.
        seq: u64,
    },
}

impl Gtid {
    /// Reads MariaDB's form, `domain-server-sequence`.
    ///
    /// A GTID of MySQL is a set of one; [`super::GtidSet::parse`] reads it.
    pub fn parse_mariadb(text: &[u8]) -> Option<Gtid> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.trim().split('-');
        let gtid = Gtid::MariaDb {
            domain: parts.next()?.parse().ok()?,
            server: parts.next()?.parse().ok()?,
            seq: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(gtid)
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gtid::MySql { uuid, tag, gno } => {
                write_uuid(f, uuid)?;
                if !tag.is_empty() {
                    write!(f, ":{tag}")?;
                }
                write!(f, ":{gno}")
            }
            Gtid::MariaDb { domain, server, seq } => write!(f, "{domain}-{server}-{seq}"),
        }
    }
}

/// Writes a UUID as both servers print it: lower case, with dashes.
pub(super) fn write_uuid(f: &mut fmt::Formatter<'_>, uuid: &[u8; 16]) -> fmt::Result {
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// The start of a transaction that has a GTID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GtidEvent {
    /// Its identifier.
    pub gtid: Gtid,
    /// MariaDB: one statement that commits by itself, so no commit follows.
    /// Always false for MySQL, where the next event tells.
    pub standalone: bool,
    /// MariaDB: the XA transaction that this one prepares or completes.
    pub xid: Option<Xid>,
    /// MariaDB: the rows that follow are prepared, not committed.
    pub prepared_xa: bool,
    /// MariaDB: what follows commits or rolls back `xid`, prepared earlier.
    pub completed_xa: bool,
    /// MariaDB: the transaction is a definition (DDL).
    pub ddl: bool,
    /// MariaDB: the definition is written when it begins, and once more when it ends (`binlog_alter_two_phase`); this is one of the two.
    pub in_two_phases: bool,
}

impl GtidEvent {
    pub(super) fn mysql(uuid: [u8; 16], tag: String, gno: u64) -> Self {
        GtidEvent {
            gtid: Gtid::MySql { uuid, tag, gno },
            standalone: false,
            xid: None,
            prepared_xa: false,
            completed_xa: false,
            ddl: false,
            in_two_phases: false,
        }
    }

    /// MySQL's untagged event; what follows the number are times and sizes.
    pub(super) fn parse_mysql(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        reader.u8()?;
        let uuid = take_uuid(&mut reader)?;
        let gno = reader.u64()?;
        Ok(Self::mysql(uuid, String::new(), gno))
    }

    pub(super) fn parse_mariadb(server: u32, body: &[u8]) -> Result<Self, Malformed> {
        const STANDALONE: u8 = 1;
        const GROUP_COMMIT_ID: u8 = 2;
        const DDL: u8 = 32;
        const PREPARED_XA: u8 = 64;
        const COMPLETED_XA: u8 = 128;
        /// START ALTER, COMMIT ALTER, ROLLBACK ALTER.
        const TWO_PHASES: u8 = 2 | 4 | 8;

        let mut reader = Reader::new(body);
        let seq = reader.u64()?;
        let domain = reader.u32()?;
        let flags = reader.u8()?;
        if flags & GROUP_COMMIT_ID != 0 {
            reader.u64()?;
        }
        let xid = if flags & (PREPARED_XA | COMPLETED_XA) != 0 {
            Some(Xid::parse_short(&mut reader)?)
        } else {
            None
        };
        // Where there are none of these flags, zeros follow, or nothing does.
        let more_flags = reader.u8().unwrap_or(0);
        Ok(GtidEvent {
            gtid: Gtid::MariaDb { domain, server, seq },
            standalone: flags & STANDALONE != 0,
            xid,
            prepared_xa: flags & PREPARED_XA != 0,
            completed_xa: flags & COMPLETED_XA != 0,
            ddl: flags & DDL != 0,
            in_two_phases: more_flags & TWO_PHASES != 0,
        })
    }
}

pub(super) fn take_uuid(reader: &mut Reader<'_>) -> Result<[u8; 16], Malformed> {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(reader.take(16)?);
    Ok(uuid)
}
