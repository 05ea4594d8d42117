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
    put_packet(out, seq, &column_count(caps, columns.len()));
    for column in columns {
        put_packet(out, seq, &column.encode(caps));
    }
    let eof = EofPacket { warnings: 0, status };
    if !caps.deprecate_eof() {
        put_packet(out, seq, &eof.encode());
    }
    let mut payload = Vec::new();
    for row in rows {
        payload.clear();
        row.as_ref().iter().for_each(|value| put_value(&mut payload, value.as_deref()));
        put_packet(out, seq, &payload);
    }
    if caps.deprecate_eof() {
        let ok = OkPacket { status, ..OkPacket::default() };
        put_packet(out, seq, &ok.encode(caps, OkPacket::HEADER_AS_EOF));
    } else {
        put_packet(out, seq, &eof.encode());
    }
}

/// The column count, and the byte that the clients of both servers expect
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

fn put_value(payload: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(bytes) => payload.put_lenenc_bytes(bytes),
        None => payload.put_u8(NULL),
    }
}
