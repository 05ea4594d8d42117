//! Prepared statements of one client. All columns are texts, as in the text protocol.

use std::collections::HashMap;

use freshet_protocol::{
    Capabilities, Column, EofPacket, ErrPacket, Execution, OkPacket, Parameter, ParameterType, StatusFlags,
};

use crate::store::SqliteParameter;

/// The most statements that a client may have prepared at once.
const STATEMENTS_MAX: usize = 1000;
/// The most bytes that a client may send in pieces for a statement's parameters.
const LONG_BYTES_MAX: usize = 16 << 20;

/// A prepared statement.
pub struct PreparedStatement {
    pub text: String,
    parameters: usize,
    types: Option<Vec<ParameterType>>,
    /// Parameters that were sent in pieces, by their place.
    long: HashMap<usize, Vec<u8>>,
}

/// The prepared statements of one client.
#[derive(Default)]
pub struct Prepared {
    statements: HashMap<u32, PreparedStatement>,
    last: u32,
}

impl Prepared {
    /// Keeps a statement. Returns its number.
    pub fn add(&mut self, text: String, parameters: usize) -> Result<u32, ErrPacket> {
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(ErrPacket::new(1461, "42000", "Can't create more than 1000 prepared statements"));
        }
        self.last = self.last.wrapping_add(1);
        let statement = PreparedStatement { text, parameters, types: None, long: HashMap::new() };
        self.statements.insert(self.last, statement);
        Ok(self.last)
    }

    pub fn clear(&mut self) {
        self.statements.clear();
    }

    pub fn close(&mut self, body: &[u8]) {
        if let Some(id) = number(body) {
            self.statements.remove(&id);
        }
    }

    /// Returns the statement whose number a command begins with.
    fn named(&mut self, body: &[u8]) -> Result<&mut PreparedStatement, ErrPacket> {
        let statement = number(body).and_then(|id| self.statements.get_mut(&id));
        statement.ok_or_else(|| ErrPacket::new(1243, "HY000", "Unknown prepared statement handler"))
    }

    /// Drops the pieces that were sent.
    pub fn reset(&mut self, body: &[u8]) -> Result<(), ErrPacket> {
        self.named(body).map(|statement| statement.long.clear())
    }

    /// Takes a piece of a parameter. A piece that does not fit has no answer; its parameter is missing at the execution.
    pub fn take_piece(&mut self, body: &[u8]) {
        let Ok(statement) = self.named(body) else { return };
        let Some((&[low, high], piece)) = body.get(4..).and_then(<[u8]>::split_first_chunk) else { return };
        let held: usize = statement.long.values().map(Vec::len).sum();
        let place = usize::from(u16::from_le_bytes([low, high]));
        if place < statement.parameters && held + piece.len() <= LONG_BYTES_MAX {
            statement.long.entry(place).or_default().extend_from_slice(piece);
        }
    }

    /// Returns the statement that is to be executed, and its parameters. `packet` is the whole packet.
    pub fn execution(
        &mut self,
        packet: &[u8],
        caps: Capabilities,
    ) -> Result<(String, Vec<SqliteParameter>), ErrPacket> {
        let statement = self.named(packet.get(1..).unwrap_or_default())?;
        let long = std::mem::take(&mut statement.long);
        let is_long = |at: usize| long.contains_key(&at);
        let execution =
            Execution::parse(packet, statement.parameters, caps, statement.types.as_deref(), is_long);
        let execution =
            execution.map_err(|_| ErrPacket::new(1210, "HY000", "Incorrect arguments to EXECUTE"))?;
        let given = execution.parameters.iter().enumerate();
        let values =
            given.map(|(at, value)| long.get(&at).map_or_else(|| bound(value), |piece| Some(text(piece))));
        let values = values.collect::<Option<Vec<_>>>();
        let values = values.ok_or_else(|| {
            ErrPacket::new(1210, "HY000", "Parameters are numbers, texts, dates or NULL here")
        })?;
        let text = statement.text.clone();
        if execution.types.is_some() {
            statement.types = execution.types;
        }
        Ok((text, values))
    }
}

fn number(body: &[u8]) -> Option<u32> {
    body.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn text(bytes: &[u8]) -> SqliteParameter {
    SqliteParameter::Text(String::from_utf8_lossy(bytes).into_owned())
}

/// Returns a parameter in SQLite's form; `None` for a kind that is not supported.
fn bound(value: &Parameter<'_>) -> Option<SqliteParameter> {
    Some(match *value {
        Parameter::Null => SqliteParameter::Null,
        Parameter::Int(number) => SqliteParameter::Integer(number),
        Parameter::UInt(number) => SqliteParameter::Integer(i64::try_from(number).ok()?),
        // Clients with only one kind of number send whole numbers in this way.
        Parameter::Float(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
            SqliteParameter::Integer(number as i64)
        }
        Parameter::Float(number) => SqliteParameter::Real(number),
        Parameter::Text(bytes) | Parameter::Decimal(bytes) => text(bytes),
        Parameter::DateTime { is_date, year, parts: [month, day, hour, minute, second], .. } => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            let time = format!(" {hour:02}:{minute:02}:{second:02}");
            SqliteParameter::Text(if is_date { date } else { date + &time })
        }
        Parameter::Bytes(_) | Parameter::Other => return None,
    })
}

/// Returns the packets of the answer to a preparation.
pub fn prepared_packets(id: u32, parameters: usize, caps: Capabilities, columns: &[Column]) -> Vec<Vec<u8>> {
    let count = |many: usize| u16::try_from(many).unwrap_or(u16::MAX);
    let mut head = vec![OkPacket::HEADER];
    head.extend(id.to_le_bytes());
    head.extend(count(columns.len()).to_le_bytes());
    head.extend(count(parameters).to_le_bytes());
    // An unused byte, and no warnings.
    head.extend([0; 3]);
    let mut packets = vec![head];
    let parameter = Column { name: b"?".to_vec(), ..columns.first().cloned().unwrap_or_default() };
    let parameters = vec![parameter; parameters];
    for definitions in [&parameters[..], columns] {
        packets.extend(definitions.iter().map(|column| column.encode(caps)));
        if !definitions.is_empty() && !caps.deprecate_eof() {
            packets.push(EofPacket { warnings: 0, status: StatusFlags::AUTOCOMMIT }.encode());
        }
    }
    packets
}

#[cfg(test)]
mod tests;
