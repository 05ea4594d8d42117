//! The ready answers of the floor.

use bytes::BytesMut;
use freshet_protocol::{
    BinaryValue, Capabilities, Column, Command, EofPacket, Greeting, MYSQL_NATIVE_PASSWORD, OkPacket,
    StatusFlags, binary_result_set, put_packet, text_result_set,
};

/// The length of the one value of a row, in bytes, as in a sysbench table.
const VALUE_BYTES: usize = 120;
/// The rows of a range.
const RANGE_ROWS: usize = 100;
/// MYSQL_TYPE_STRING.
const STRING: u8 = 0xFE;
/// The place of a statement's number in the packet of its execution.
const ID_AT: usize = 1;
/// The capabilities that the greeting offers. They are those that the clients of this program want.
const OFFERED: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::PLUGIN_AUTH);

/// The answers.
pub struct Answers {
    /// The first packet of all.
    pub greeting: BytesMut,
    /// The answer to every login: the client is accepted.
    pub let_in: BytesMut,
    ok: BytesMut,
    text: Rows,
    binary: Rows,
}

/// One row, and many.
struct Rows {
    one: BytesMut,
    many: BytesMut,
}

/// The kind of answer to a statement. Its number is also the number of each prepared statement with this answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ok = 1,
    One = 2,
    Many = 3,
}

impl Kind {
    fn of(text: &[u8]) -> Kind {
        if !text.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT")) {
            return Kind::Ok;
        }
        let has = |word: &[u8]| text.windows(word.len()).any(|there| there == word);
        if has(b" BETWEEN ") && !has(b"SUM(") { Kind::Many } else { Kind::One }
    }
}

impl Answers {
    /// Makes the answers.
    pub fn new() -> Self {
        let greeting = Greeting {
            server_version: b"8.0.0-floor".to_vec(),
            connection_id: 1,
            scramble: [b'7'; 20],
            capabilities: OFFERED,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: MYSQL_NATIVE_PASSWORD.to_owned(),
        };
        let ok = OkPacket { status: StatusFlags::AUTOCOMMIT, ..OkPacket::default() }.encode(OFFERED, 0);
        let rows = |put: fn(usize) -> BytesMut| Rows { one: put(1), many: put(RANGE_ROWS) };
        Self {
            greeting: packet(0, &greeting.encode()),
            let_in: packet(2, &ok),
            ok: packet(1, &ok),
            text: rows(text),
            binary: rows(binary),
        }
    }

    /// Returns the answer to a packet: a ready one, or the answer to a preparation, which is made in `made`.
    pub fn to<'a>(&'a self, payload: &[u8], made: &'a mut BytesMut) -> &'a [u8] {
        let Some((&command, text)) = payload.split_first() else { return &self.ok };
        match Command::from_byte(command) {
            Command::Query => self.of(Kind::of(text), &self.text),
            Command::StmtPrepare => {
                *made = prepared(text);
                made
            }
            Command::StmtExecute => match payload.get(ID_AT) {
                Some(&id) if id == Kind::One as u8 => self.of(Kind::One, &self.binary),
                Some(&id) if id == Kind::Many as u8 => self.of(Kind::Many, &self.binary),
                _ => &self.ok,
            },
            _ => &self.ok,
        }
    }

    fn of<'a>(&'a self, kind: Kind, rows: &'a Rows) -> &'a [u8] {
        match kind {
            Kind::Ok => &self.ok,
            Kind::One => &rows.one,
            Kind::Many => &rows.many,
        }
    }
}

fn packet(mut seq: u8, payload: &[u8]) -> BytesMut {
    let mut frames = BytesMut::new();
    put_packet(&mut frames, &mut seq, payload);
    frames
}

fn column() -> Column {
    let named = |name: &str| name.as_bytes().to_vec();
    Column {
        schema: named("sbtest"),
        table: named("sbtest1"),
        org_table: named("sbtest1"),
        name: named("c"),
        org_name: named("c"),
        collation: 45,
        length: 480,
        kind: STRING,
        ..Column::default()
    }
}

fn text(count: usize) -> BytesMut {
    let mut frames = BytesMut::new();
    let rows = vec![[Some(vec![b'7'; VALUE_BYTES])]; count];
    text_result_set(&mut frames, &mut 1, OFFERED, StatusFlags::AUTOCOMMIT, &[column()], rows.iter());
    frames
}

fn binary(count: usize) -> BytesMut {
    let mut frames = BytesMut::new();
    let rows = vec![[BinaryValue::Text(vec![b'7'; VALUE_BYTES])]; count];
    binary_result_set(&mut frames, &mut 1, OFFERED, StatusFlags::AUTOCOMMIT, &[column()], rows.iter());
    frames
}

/// Returns the answer to a preparation: the head, and the definitions of its parameters and of its column.
fn prepared(text: &[u8]) -> BytesMut {
    let kind = Kind::of(text);
    let parameters = text.iter().filter(|byte| **byte == b'?').count() as u16;
    let columns = u16::from(kind != Kind::Ok);
    let mut head = vec![OkPacket::HEADER];
    head.extend((kind as u32).to_le_bytes());
    head.extend(columns.to_le_bytes());
    head.extend(parameters.to_le_bytes());
    // A filler and no warnings.
    head.extend([0; 3]);
    let (mut frames, mut seq) = (BytesMut::new(), 1);
    put_packet(&mut frames, &mut seq, &head);
    let eof = EofPacket { warnings: 0, status: StatusFlags::AUTOCOMMIT }.encode();
    for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
        for _ in 0..count {
            put_packet(&mut frames, &mut seq, &column().encode(OFFERED));
        }
        put_packet(&mut frames, &mut seq, &eof);
    }
    frames
}

#[cfg(test)]
mod tests;
