//! One event at a time, from bytes.

use super::checksum::{self, Checksum};
use super::event::{Event, EventBody, EventHeader};
use super::flavor::BinlogFlavor;
use super::gtid::GtidEvent;
use super::query::{self, Form};
use super::rows::{Encoding, RowsEvent, RowsKind};
use super::table_map::KnownTables;
use super::xid::Xid;
use super::{kind, payload, tagged};
use crate::{Malformed, Reader};

/// Decodes the events of one stream, in order.
#[derive(Clone, Debug)]
pub struct Decoder {
    flavor: BinlogFlavor,
    checksum: Checksum,
    tables: KnownTables,
}

impl Decoder {
    /// Returns a decoder for a stream from its start; a new stream needs a new one.
    pub fn new(flavor: BinlogFlavor) -> Self {
        Decoder { flavor, checksum: Checksum::Unknown, tables: KnownTables::default() }
    }

    /// Decodes one event: the bytes after the network packet's leading 0x00
    /// (and after the two bytes of semi-synchronous replication, if any).
    ///
    /// # Errors
    ///
    /// If the checksum does not match or the bytes contradict themselves. The
    /// event is then lost, and nothing may be concluded from the stream any
    /// more. An event that is sound but not understood is [`EventBody::Unknown`].
    pub fn event(&mut self, bytes: &[u8]) -> Result<Event, Malformed> {
        let header = EventHeader::parse(bytes)?;
        if header.size as usize != bytes.len() {
            return Err(Malformed::new("binlog event is not as long as it says"));
        }
        let body = if header.kind == kind::FORMAT_DESCRIPTION {
            self.format(body_of(checksum::strip_format(bytes)?)?)?
        } else {
            self.body(&header, body_of(self.checksum.strip(bytes)?)?)?
        };
        Ok(Event { header, body })
    }

    /// FORMAT_DESCRIPTION: from here on, events end as it says.
    fn format(&mut self, body: &[u8]) -> Result<EventBody, Malformed> {
        const VERSION_LEN: usize = 50;

        let mut reader = Reader::new(body);
        reader.u16()?;
        let version = reader.take(VERSION_LEN)?;
        let version = version.split(|byte| *byte == 0).next().unwrap_or(version);
        let algorithm = reader
            .rest()
            .last()
            .ok_or(Malformed::new("binlog format description without checksum algorithm"))?;
        self.checksum = Checksum::from_byte(*algorithm)?;
        Ok(EventBody::Format { version: version.to_vec() })
    }

    fn body(&mut self, header: &EventHeader, body: &[u8]) -> Result<EventBody, Malformed> {
        match header.kind {
            kind::TRANSACTION_PAYLOAD => self.transaction(body),
            _ => self.plain_body(header, body),
        }
    }

    /// Unpacks a compressed transaction. One inside another does not exist and
    /// is not followed, so that depth is bounded too.
    fn transaction(&mut self, body: &[u8]) -> Result<EventBody, Malformed> {
        let mut events = Vec::new();
        let whole = payload::each_event(body, &mut |bytes| {
            let header = EventHeader::parse(bytes)?;
            let body = self.plain_body(&header, body_of(bytes)?)?;
            events.push(Event { header, body });
            Ok(())
        })?;
        Ok(if whole { EventBody::Transaction(events) } else { EventBody::Unknown })
    }

    fn plain_body(&mut self, header: &EventHeader, body: &[u8]) -> Result<EventBody, Malformed> {
        if let Some((rows, encoding)) = rows_kind(header.kind) {
            return Ok(RowsEvent::parse(body, rows, encoding)?.map_or(EventBody::Unknown, EventBody::Rows));
        }
        Ok(match header.kind {
            kind::QUERY => query::parse(body, Form::Plain)?,
            kind::MARIADB_QUERY_COMPRESSED => query::parse(body, Form::Compressed)?,
            kind::EXECUTE_LOAD_QUERY => query::parse(body, Form::Load)?,
            kind::ROTATE => rotate(body)?,
            kind::XID => EventBody::Xid,
            kind::TABLE_MAP => EventBody::TableMap(self.tables.parse(body, self.flavor)?),
            kind::GTID => EventBody::Gtid(GtidEvent::parse_mysql(body)?),
            kind::GTID_TAGGED => EventBody::Gtid(tagged::parse_gtid(body)?),
            kind::MARIADB_GTID => EventBody::Gtid(GtidEvent::parse_mariadb(header.server_id, body)?),
            kind::ANONYMOUS_GTID => EventBody::AnonymousGtid,
            kind::XA_PREPARE => {
                let (xid, one_phase) = Xid::parse_prepare(&mut Reader::new(body))?;
                EventBody::XaPrepare { xid, one_phase }
            }
            kind::HEARTBEAT => heartbeat(self.flavor, header, body)?,
            kind::HEARTBEAT_V2 => heartbeat_v2(body)?,
            kind::PREVIOUS_GTIDS => EventBody::PreviousGtids,
            kind::MARIADB_GTID_LIST => EventBody::GtidList,
            kind::INCIDENT => EventBody::Incident,
            kind if changes_nothing(kind) || header.is_ignorable() => EventBody::Ignorable,
            _ => EventBody::Unknown,
        })
    }
}

/// Returns an event's bytes after its header.
fn body_of(event: &[u8]) -> Result<&[u8], Malformed> {
    event.get(EventHeader::LEN..).ok_or(Malformed::new("binlog event shorter than its header"))
}

fn rows_kind(kind: u8) -> Option<(RowsKind, Encoding)> {
    use RowsKind::{Delete, Insert, Update};
    Some(match kind {
        kind::WRITE_ROWS_V1 => (Insert, Encoding::V1),
        kind::UPDATE_ROWS_V1 => (Update, Encoding::V1),
        kind::DELETE_ROWS_V1 => (Delete, Encoding::V1),
        kind::WRITE_ROWS => (Insert, Encoding::V2),
        kind::UPDATE_ROWS => (Update, Encoding::V2),
        kind::DELETE_ROWS => (Delete, Encoding::V2),
        kind::PARTIAL_UPDATE_ROWS => (Update, Encoding::V2Partial),
        kind::MARIADB_WRITE_ROWS_COMPRESSED_V1 => (Insert, Encoding::V1Compressed),
        kind::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => (Update, Encoding::V1Compressed),
        kind::MARIADB_DELETE_ROWS_COMPRESSED_V1 => (Delete, Encoding::V1Compressed),
        kind::MARIADB_WRITE_ROWS_COMPRESSED => (Insert, Encoding::V2Compressed),
        kind::MARIADB_UPDATE_ROWS_COMPRESSED => (Update, Encoding::V2Compressed),
        kind::MARIADB_DELETE_ROWS_COMPRESSED => (Delete, Encoding::V2Compressed),
        _ => return None,
    })
}

/// Events that by themselves change no data. The files of a statement-logged
/// LOAD DATA are among them, since its EXECUTE_LOAD_QUERY is read as a query.
fn changes_nothing(kind: u8) -> bool {
    matches!(
        kind,
        kind::STOP
            | kind::INTVAR
            | kind::RAND
            | kind::USER_VAR
            | kind::IGNORABLE
            | kind::ROWS_QUERY
            | kind::TRANSACTION_CONTEXT
            | kind::VIEW_CHANGE
            | kind::BEGIN_LOAD_QUERY
            | kind::APPEND_BLOCK
            | kind::DELETE_FILE
            | kind::MARIADB_ANNOTATE_ROWS
            | kind::MARIADB_BINLOG_CHECKPOINT
            | kind::MARIADB_START_ENCRYPTION
    )
}

fn rotate(body: &[u8]) -> Result<EventBody, Malformed> {
    let mut reader = Reader::new(body);
    Ok(EventBody::Rotate { position: reader.u64()?, file: reader.rest().to_vec() })
}

/// Reads the first version: the header has the position. MariaDB, beyond 4 GiB,
/// leaves 0 there and puts eight bytes before the file's name.
fn heartbeat(flavor: BinlogFlavor, header: &EventHeader, body: &[u8]) -> Result<EventBody, Malformed> {
    let mut reader = Reader::new(body);
    let position = match (flavor, header.end_pos) {
        (BinlogFlavor::MariaDb, 0) => reader.u64()?,
        (_, position) => u64::from(position),
    };
    Ok(EventBody::Heartbeat { file: reader.rest().to_vec(), position })
}

/// Reads the second version, MySQL 8.0.26 and later: fields of number, length, value.
fn heartbeat_v2(body: &[u8]) -> Result<EventBody, Malformed> {
    const END: u64 = 0;
    const FILE: u64 = 1;
    const POSITION: u64 = 2;

    let mut reader = Reader::new(body);
    let (mut file, mut position) = (Vec::new(), 0);
    while !reader.is_empty() {
        let field = reader.lenenc_int()?;
        if field == END {
            break;
        }
        let value = reader.lenenc_bytes()?;
        match field {
            FILE => file = value.to_vec(),
            POSITION => position = Reader::new(value).lenenc_int()?,
            _ => {}
        }
    }
    Ok(EventBody::Heartbeat { file, position })
}
