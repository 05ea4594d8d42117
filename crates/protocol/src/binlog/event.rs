//! What an event is: its header, and the kinds of body a reader can meet.

use super::gtid::GtidEvent;
use super::rows::RowsEvent;
use super::table_map::TableMap;
use super::xid::Xid;
use crate::{Malformed, Reader};

/// Set in [`EventHeader::flags`] of an event that the server made up for the
/// stream and that stands in no file.
const ARTIFICIAL: u16 = 0x20;
/// Set in [`EventHeader::flags`] of an event that a reader who does not know
/// it may skip.
const IGNORABLE: u16 = 0x80;

/// The 19 bytes that every event starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// Seconds since 1970 at which the statement started; 0 in artificial events.
    pub timestamp: u32,
    /// The event's type, as the servers number it.
    pub kind: u8,
    /// The server that wrote the event first.
    pub server_id: u32,
    /// Bytes of the whole event, this header and the checksum included.
    pub size: u32,
    /// Where the next event starts in the file, modulo 2³²; 0 inside a
    /// compressed transaction and in some artificial events.
    pub end_pos: u32,
    /// `LOG_EVENT_*_F` bits.
    pub flags: u16,
}

impl EventHeader {
    /// Length of the header in bytes.
    pub const LEN: usize = 19;

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        Ok(EventHeader {
            timestamp: reader.u32()?,
            kind: reader.u8()?,
            server_id: reader.u32()?,
            size: reader.u32()?,
            end_pos: reader.u32()?,
            flags: reader.u16()?,
        })
    }

    /// Whether the server made this event up for the stream: it stands in no
    /// file and its `end_pos` is no position to resume from.
    pub fn is_artificial(&self) -> bool {
        self.flags & ARTIFICIAL != 0
    }

    /// Whether the writer allows a reader who does not know the event to skip it.
    pub fn is_ignorable(&self) -> bool {
        self.flags & IGNORABLE != 0
    }
}

/// One decoded event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its header.
    pub header: EventHeader,
    /// What it says.
    pub body: EventBody,
}

/// What an event says, reduced to what bears on data and on positions.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBody {
    /// FORMAT_DESCRIPTION: the first event of each file.
    Format {
        /// The server's version, without the padding.
        version: Vec<u8>,
    },
    /// ROTATE: the stream goes on in another file. The server also sends an
    /// artificial one at the start of a stream.
    Rotate {
        /// The next file's name.
        file: Vec<u8>,
        /// The offset in it at which the stream goes on.
        position: u64,
    },
    /// QUERY, also MariaDB's compressed form: a statement as text.
    Query {
        /// The default schema it ran in; empty if there was none.
        schema: Vec<u8>,
        /// The statement.
        text: Vec<u8>,
        /// The connection that ran it.
        thread_id: u32,
        /// The error it ended with on the writer; 0 if none.
        error_code: u16,
        /// The `sql_mode` it ran under, which decides how it must be read.
        sql_mode: Option<u64>,
        /// `character_set_client` as a collation id.
        client_collation: Option<u16>,
    },
    /// A GTID of either server: a transaction starts.
    Gtid(GtidEvent),
    /// ANONYMOUS_GTID: a transaction starts on a server with GTIDs off.
    AnonymousGtid,
    /// XID: the transaction is committed.
    Xid,
    /// XA_PREPARE: the transaction's rows end here, and its fate is open
    /// unless it was committed in one phase.
    XaPrepare {
        /// The transaction's identifier.
        xid: Xid,
        /// `XA COMMIT … ONE PHASE`: it is committed by this very event.
        one_phase: bool,
    },
    /// TABLE_MAP: which table a number stands for in the rows that follow.
    TableMap(TableMap),
    /// Inserted, updated or deleted rows, in any of their encodings.
    Rows(RowsEvent),
    /// HEARTBEAT of either version: nothing happened up to here.
    Heartbeat {
        /// The file the server is at.
        file: Vec<u8>,
        /// The offset in it.
        position: u64,
    },
    /// PREVIOUS_GTIDS: MySQL's summary at the head of a file.
    PreviousGtids,
    /// GTID_LIST: MariaDB's summary at the head of a file.
    GtidList,
    /// TRANSACTION_PAYLOAD, unpacked: everything between a GTID and its end.
    Transaction(Vec<Event>),
    /// INCIDENT: the writer says that events may be missing.
    Incident,
    /// Known to change no data: intvar, rand, uservar, rows_query, annotate,
    /// view change, stop, and whatever carries the ignorable flag.
    Ignorable,
    /// Not understood, or beyond [`super::UNPACKED_LEN_MAX`]: it may have
    /// changed anything.
    Unknown,
}
