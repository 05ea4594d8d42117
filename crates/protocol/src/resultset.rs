//! Our own answers: a result set in the text protocol.

#[cfg(test)]
mod tests;

use ::bytes::{BufMut, BytesMut};

use crate::{Capabilities, Column, EofPacket, OkPacket, Put, StatusFlags, put_packet};

/// What stands for NULL in a row of the text protocol.
const NULL: u8 = 0xFB;
/// Says that column definitions follow.
const METADATA_FOLLOWS: u8 = 1;

/// Appends a whole result set, from the column count to its end, in the form
/// that `caps` asks for. `status` goes into every EOF or OK packet; `seq` is
/// the first frame's sequence number and ends one above the last's.
///
/// Each row has one value for each column, None being NULL.
#[allow(clippy::too_many_arguments, reason = "a packet's place, its form and its content are two each")]
pub fn text_result_set(
    out: &mut BytesMut,
    seq: &mut u8,
    caps: Capabilities,
    status: StatusFlags,
    columns: &[Column],
    rows: impl Iterator<Item = impl AsRef<[Option<Vec<u8>>]>>,
) {
    let put_row = |payload: &mut Vec<u8>, row: &_| {
        <_ as AsRef<[Option<Vec<u8>>]>>::as_ref(row)
            .iter()
            .for_each(|value| put_value(payload, value.as_deref()));
    };
    ResultSetWriter { out, seq, caps, status }.write(columns, rows, put_row);
}

/// A value of a row in the binary protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum BinaryValue {
    /// NULL.
    Null,
    /// Of a LONGLONG.
    Int(i64),
    /// Of a DOUBLE.
    Double(f64),
    /// Of any type that is written with its length.
    Text(Vec<u8>),
}

/// The same in the binary protocol, for an execution of a prepared statement. Each value is of its column's type.
#[allow(clippy::too_many_arguments, reason = "a packet's place, its form and its content are two each")]
pub fn binary_result_set(
    out: &mut BytesMut,
    seq: &mut u8,
    caps: Capabilities,
    status: StatusFlags,
    columns: &[Column],
    rows: impl Iterator<Item = impl AsRef<[BinaryValue]>>,
) {
    let put_row = |payload: &mut Vec<u8>, row: &_| put_binary_row(payload, <_ as AsRef<[_]>>::as_ref(row));
    ResultSetWriter { out, seq, caps, status }.write(columns, rows, put_row);
}

/// Writes a result set in the form that a client asks for.
struct ResultSetWriter<'a> {
    out: &'a mut BytesMut,
    seq: &'a mut u8,
    caps: Capabilities,
    status: StatusFlags,
}

impl ResultSetWriter<'_> {
    /// Writes all of it; `put_row` has the payload of a row.
    fn write<R>(
        mut self,
        columns: &[Column],
        rows: impl Iterator<Item = R>,
        put_row: impl Fn(&mut Vec<u8>, &R),
    ) {
        let (caps, status) = (self.caps, self.status);
        self.put(&column_count(caps, columns.len()));
        for column in columns {
            self.put(&column.encode(caps));
        }
        let eof = EofPacket { warnings: 0, status };
        if !caps.deprecate_eof() {
            self.put(&eof.encode());
        }
        let mut payload = Vec::new();
        for row in rows {
            payload.clear();
            put_row(&mut payload, &row);
            self.put(&payload);
        }
        if caps.deprecate_eof() {
            let ok = OkPacket { status, ..OkPacket::default() };
            self.put(&ok.encode(caps, OkPacket::HEADER_AS_EOF));
        } else {
            self.put(&eof.encode());
        }
    }

    fn put(&mut self, payload: &[u8]) {
        put_packet(self.out, self.seq, payload);
    }
}

/// Returns the column count, and the byte that the clients of both servers expect
/// behind it if they may do without the definitions.
fn column_count(caps: Capabilities, columns: usize) -> Vec<u8> {
    const SAYS_METADATA: Capabilities =
        Capabilities::OPTIONAL_RESULTSET_METADATA.union(Capabilities::MARIADB_CACHE_METADATA);
    let mut out = Vec::new();
    out.put_lenenc_int(columns as u64);
    if caps.intersects(SAYS_METADATA) {
        out.put_u8(METADATA_FOLLOWS);
    }
    out
}

/// The header, a bit for each NULL, of which the first is the third, and the values that are not NULL.
fn put_binary_row(payload: &mut Vec<u8>, row: &[BinaryValue]) {
    const HEADER: u8 = 0;
    const FIRST_BIT: usize = 2;
    payload.put_u8(HEADER);
    let nulls = payload.len();
    payload.resize(nulls + (row.len() + FIRST_BIT).div_ceil(8), 0);
    for (at, value) in row.iter().enumerate() {
        match value {
            BinaryValue::Null => payload[nulls + (at + FIRST_BIT) / 8] |= 1 << ((at + FIRST_BIT) % 8),
            BinaryValue::Int(number) => payload.extend_from_slice(&number.to_le_bytes()),
            BinaryValue::Double(number) => payload.extend_from_slice(&number.to_le_bytes()),
            BinaryValue::Text(bytes) => payload.put_lenenc_bytes(bytes),
        }
    }
}

fn put_value(payload: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(bytes) => payload.put_lenenc_bytes(bytes),
        None => payload.put_u8(NULL),
    }
}
