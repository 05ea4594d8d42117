//! How statements are written: as texts, or as executions of prepared statements.

use std::io::Write;

use freshet_protocol::{Command, HEADER_LEN};

use crate::load::Load;
use crate::mix::name;
use crate::statement::{Form, Statement, VALUES_MAX, Value};

/// MYSQL_TYPE_LONG and MYSQL_TYPE_VAR_STRING.
const LONG: u8 = 3;
const VAR_STRING: u8 = 253;
/// In the place of flags: no cursor. Behind it: once.
const NO_CURSOR: u8 = 0;
const ONCE: u32 = 1;
/// Strings below this are written with one byte for their length.
const SHORT: usize = 251;

/// The texts of all forms for all tables.
#[derive(Debug)]
pub struct Texts {
    all: Vec<Text>,
}

/// A text, cut where its values stand.
#[derive(Debug)]
struct Text {
    pieces: Vec<String>,
}

/// A statement that is prepared on a connection.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    /// The server's number.
    pub id: u32,
    /// Whether the types of its values have been sent.
    pub bound: bool,
}

impl Texts {
    /// Those of the tables of a load.
    pub fn new(load: &Load) -> Texts {
        let of = |table| {
            let name = name(&load.table, load.tables, table);
            Form::ALL.map(|form| form.text().replace("{t}", &name))
        };
        let cut = |text: String| Text { pieces: text.split('?').map(str::to_owned).collect() };
        Texts { all: (1..=load.tables).flat_map(of).map(cut).collect() }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of a text.
    pub fn at(form: Form, table: u32) -> usize {
        (table as usize - 1) * Form::ALL.len() + form as usize
    }

    /// Returns the text to be prepared.
    pub fn question(&self, at: usize) -> String {
        self.all.get(at).map(|text| text.pieces.join("?")).unwrap_or_default()
    }

    /// Appends a statement as a text.
    pub fn put(&self, packet: &mut Vec<u8>, statement: &Statement) {
        frame(packet, |packet| {
            packet.push(Command::Query.byte());
            match statement {
                Statement::Begin => packet.extend(b"BEGIN"),
                Statement::Commit => packet.extend(b"COMMIT"),
                Statement::Of { form, table, values } => {
                    if let Some(text) = self.all.get(Texts::at(*form, *table)) {
                        text.put(packet, values);
                    }
                }
            }
        });
    }
}

impl Text {
    fn put(&self, packet: &mut Vec<u8>, values: &[Value; VALUES_MAX]) {
        let mut values = values.iter();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                // Writing to memory cannot fail.
                let _ = match values.next() {
                    Some(Value::Int(int)) => write!(packet, "{int}"),
                    Some(Value::Digits { number, width }) => write!(packet, "'{number:0width$}'"),
                    Some(Value::None) | None => Ok(()),
                };
            }
            packet.extend(piece.as_bytes());
        }
    }
}

/// Appends the execution of a prepared statement. As other clients do, it sends the types the first time only.
pub fn put_execution(packet: &mut Vec<u8>, prepared: &mut Prepared, values: &[Value; VALUES_MAX]) {
    frame(packet, |packet| {
        packet.push(Command::StmtExecute.byte());
        packet.extend(prepared.id.to_le_bytes());
        packet.push(NO_CURSOR);
        packet.extend(ONCE.to_le_bytes());
        let values = || values.iter().take_while(|value| **value != Value::None);
        if values().count() == 0 {
            return;
        }
        // No value is NULL: a bit for each, of at most eight.
        packet.push(0);
        packet.push(u8::from(!prepared.bound));
        if !prepared.bound {
            values().for_each(|value| packet.extend([kind(value), 0]));
            prepared.bound = true;
        }
        values().for_each(|value| put_value(packet, value));
    });
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Digits { .. } => VAR_STRING,
        Value::Int(_) | Value::None => LONG,
    }
}

fn put_value(packet: &mut Vec<u8>, value: &Value) {
    match value {
        Value::None => {}
        Value::Int(int) => packet.extend(int.to_le_bytes()),
        Value::Digits { number, width } => {
            packet.push((*width).min(SHORT - 1) as u8);
            // Writing to memory cannot fail.
            let _ = write!(packet, "{number:0width$}");
        }
    }
}

/// Appends a packet whose payload, which is far below the size that would split it, `put` appends.
fn frame(packet: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = packet.len();
    packet.extend([0; HEADER_LEN]);
    put(packet);
    let [a, b, c, ..] = (packet.len() - start - HEADER_LEN).to_le_bytes();
    if let Some(header) = packet.get_mut(start..start + HEADER_LEN) {
        header.copy_from_slice(&[a, b, c, 0]);
    }
}

#[cfg(test)]
mod tests;
