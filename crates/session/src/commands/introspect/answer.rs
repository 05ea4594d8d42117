//! Freshet's own answers in either form of the protocol.

use bytes::BytesMut;
use freshet_protocol::{BinaryValue, Column, ErrPacket, binary_result_set, text_result_set};

use crate::introspection::{IntrospectionValue, Rowset};
use crate::relay::Lost;
use crate::session::{Flow, Session};

/// utf8mb4_general_ci and binary, as both servers number them.
const COLLATION_TEXT: u16 = 45;
const COLLATION_NUMBER: u16 = 63;
/// MYSQL_TYPE_LONGLONG, MYSQL_TYPE_DOUBLE and MYSQL_TYPE_VAR_STRING.
const LONGLONG: u8 = 0x08;
const DOUBLE: u8 = 0x05;
const VAR_STRING: u8 = 0xfd;
/// The flag BINARY of numbers.
const FLAGS_NUMBER: u16 = 128;
/// Digits behind the point of a DOUBLE, where they are not fixed.
const DECIMALS_ANY: u8 = 31;

/// How a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum RowFormat {
    /// As texts, in the answer to a text.
    Text,
    /// In the binary form, in the answer to an execution of a prepared statement.
    Binary,
}

/// Returns the type of a column, which is the type of its values.
fn kind(found: &Rowset, at: usize) -> u8 {
    let values = || found.rows.iter().filter_map(|row| row.get(at));
    let all = |is: fn(&IntrospectionValue) -> bool| {
        values().all(|value| *value == IntrospectionValue::Null || is(value))
    };
    if values().all(|value| *value == IntrospectionValue::Null) {
        VAR_STRING
    } else if all(|value| matches!(value, IntrospectionValue::Integer(_))) {
        LONGLONG
    } else if all(|value| matches!(value, IntrospectionValue::Integer(_) | IntrospectionValue::Real(_))) {
        DOUBLE
    } else {
        VAR_STRING
    }
}

fn columns(found: &Rowset) -> Vec<Column> {
    let column = |(at, name): (usize, &String)| {
        let kind = kind(found, at);
        let is_number = kind != VAR_STRING;
        Column {
            name: name.clone().into_bytes(),
            collation: if is_number { COLLATION_NUMBER } else { COLLATION_TEXT },
            length: if is_number { 21 } else { u32::from(u16::MAX) },
            kind,
            flags: if is_number { FLAGS_NUMBER } else { 0 },
            decimals: if kind == DOUBLE { DECIMALS_ANY } else { 0 },
            ..Column::default()
        }
    };
    found.columns.iter().enumerate().map(column).collect()
}

fn text_of(value: &IntrospectionValue) -> Option<Vec<u8>> {
    match value {
        IntrospectionValue::Null => None,
        IntrospectionValue::Integer(number) => Some(number.to_string().into_bytes()),
        IntrospectionValue::Real(number) => Some(number.to_string().into_bytes()),
        IntrospectionValue::Text(text) => Some(text.clone().into_bytes()),
    }
}

/// Returns a value in its column's type.
fn binary_of(value: &IntrospectionValue, kind: u8) -> BinaryValue {
    match (value, kind) {
        (IntrospectionValue::Null, _) => BinaryValue::Null,
        (IntrospectionValue::Integer(number), LONGLONG) => BinaryValue::Int(*number),
        (IntrospectionValue::Integer(number), DOUBLE) => BinaryValue::Double(*number as f64),
        (IntrospectionValue::Real(number), DOUBLE) => BinaryValue::Double(*number),
        (value, _) => text_of(value).map_or(BinaryValue::Null, BinaryValue::Text),
    }
}

/// Puts an answer into the client's buffer.
pub(in crate::commands) fn put(session: &mut Session, found: &Rowset, form: RowFormat) -> Result<Flow, Lost> {
    let columns = columns(found);
    let (capabilities, status) = (session.capabilities(), session.state.status_for_answers());
    let (mut out, mut seq) = (BytesMut::new(), *session.wire.out().1);
    match form {
        RowFormat::Text => {
            let rows = found.rows.iter().map(|row| row.iter().map(text_of).collect::<Vec<_>>());
            text_result_set(&mut out, &mut seq, capabilities, status, &columns, rows);
        }
        RowFormat::Binary => {
            let row = |row: &Vec<IntrospectionValue>| {
                row.iter()
                    .zip(&columns)
                    .map(|(value, column)| binary_of(value, column.kind))
                    .collect::<Vec<_>>()
            };
            binary_result_set(&mut out, &mut seq, capabilities, status, &columns, found.rows.iter().map(row));
        }
    }
    if !session.wire.has_room(out.len()) {
        return session.refuse(&ErrPacket::new(
            1041,
            "HY000",
            "Out of memory: send_buffers_size is in use by answers that clients do not read",
        ));
    }
    let (buffer, place) = session.wire.out();
    buffer.extend_from_slice(&out);
    *place = seq;
    Ok(Flow::Continue)
}
