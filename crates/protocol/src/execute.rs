//! The parameters of `COM_STMT_EXECUTE`, where they lie in the packet.
//!
//! The types of the parameters come with the first execution of a statement only; a client may leave them out afterwards,
//! so whoever reads the next packet has to have kept them. Source: the protocol's page on COM_STMT_EXECUTE, and for
//! MariaDB the one on its own.

#[cfg(test)]
mod tests;

use crate::{Capabilities, Malformed, Reader};

/// Set in a packet's flags when it tells the number of its parameters although the statement has none: it has
/// attributes.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// The most parameters that a statement can have.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;
/// The bit of a parameter's type that says that it is unsigned.
const UNSIGNED: u16 = 1 << 15;

mod kind {
    pub(super) const DECIMAL: u8 = 0;
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const VAR_STRING: u8 = 253;
    pub(super) const STRING: u8 = 254;
}

/// A parameter's type as the client sends it: the column type's number, and whether it is unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType(u16);

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A string of characters.
    Text(&'a [u8]),
    /// A floating-point number.
    Float(f64),
    /// A decimal number in text.
    Decimal(&'a [u8]),
    /// A moment or a date: its parts, those that are missing 0.
    DateTime {
        /// Whether it was sent as a date, without a time.
        is_date: bool,
        /// The year.
        year: u16,
        /// Month, day, hour, minute, second.
        parts: [u8; 5],
        /// Microseconds.
        micros: u32,
    },
    /// Any other: times, binary strings, and what was sent in pieces before.
    Other,
}

/// One execution's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution<'a> {
    /// The values of the statement's markers, in order; attributes are left out.
    pub parameters: Vec<Parameter<'a>>,
    /// Their types, if this packet brought them: for the executions that follow.
    pub types: Option<Vec<ParameterType>>,
}

impl<'a> Execution<'a> {
    /// Reads a whole packet. `parameters` is the number of the statement's markers, `types` what an earlier execution
    /// brought, and `is_long` says which parameters were sent in pieces before and have no value here.
    ///
    /// # Errors
    /// If the packet is truncated, or has no types and there are none of before.
    pub fn parse(
        packet: &'a [u8],
        parameters: usize,
        caps: Capabilities,
        types: Option<&[ParameterType]>,
        is_long: impl Fn(usize) -> bool,
    ) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        reader.take(1 + 4)?;
        let flags = reader.u8()?;
        reader.take(4)?;
        let attributes = caps.contains(Capabilities::QUERY_ATTRIBUTES);
        if parameters == 0 && !(attributes && flags & PARAMETER_COUNT_AVAILABLE != 0) {
            return Ok(Self { parameters: Vec::new(), types: None });
        }
        let count =
            if attributes { usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX) } else { parameters };
        if count < parameters || count > PARAMETERS_MAX {
            return Err(Malformed::new("number of parameters"));
        }
        let nulls = reader.take(count.div_ceil(8))?;
        let sent = (reader.u8()? != 0).then(|| read_types(&mut reader, count, attributes)).transpose()?;
        let used = sent.as_deref().or(types).ok_or(Malformed::new("parameters without types"))?;
        let mut values = Vec::with_capacity(parameters);
        for at in 0..parameters {
            let is_null = nulls.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            let kind = *used.get(at).ok_or(Malformed::new("parameters without types"))?;
            values.push(match (is_long(at), is_null) {
                (true, _) => Parameter::Other,
                (false, true) => Parameter::Null,
                (false, false) => value(&mut reader, kind)?,
            });
        }
        Ok(Self { parameters: values, types: sent })
    }
}

fn read_types(
    reader: &mut Reader<'_>,
    count: usize,
    attributes: bool,
) -> Result<Vec<ParameterType>, Malformed> {
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        types.push(ParameterType(reader.u16()?));
        if attributes {
            reader.lenenc_bytes()?;
        }
    }
    Ok(types)
}

fn value<'a>(
    reader: &mut Reader<'a>,
    ParameterType(kind): ParameterType,
) -> Result<Parameter<'a>, Malformed> {
    let is_unsigned = kind & UNSIGNED != 0;
    let kind = kind as u8;
    Ok(match kind {
        kind::NULL => Parameter::Null,
        kind::TINY => integer(reader.take(1)?, is_unsigned),
        kind::SHORT | kind::YEAR => integer(reader.take(2)?, is_unsigned),
        kind::LONG | kind::INT24 => integer(reader.take(4)?, is_unsigned),
        kind::LONGLONG => integer(reader.take(8)?, is_unsigned),
        kind::FLOAT => Parameter::Float(f64::from(f32::from_le_bytes(exactly(reader.take(4)?)?))),
        kind::DOUBLE => Parameter::Float(f64::from_le_bytes(exactly(reader.take(8)?)?)),
        kind::TIME => {
            let len = usize::from(reader.u8()?);
            other(reader.take(len)?)
        }
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => {
            let len = usize::from(reader.u8()?);
            date_time(reader.take(len)?, kind == kind::DATE)
        }
        kind::VARCHAR | kind::VAR_STRING | kind::STRING => Parameter::Text(reader.lenenc_bytes()?),
        kind::DECIMAL | kind::NEWDECIMAL => Parameter::Decimal(reader.lenenc_bytes()?),
        _ => other(reader.lenenc_bytes()?),
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed::new("parameter"))
}

const fn other(_bytes: &[u8]) -> Parameter<'_> {
    Parameter::Other
}

fn integer(bytes: &[u8], is_unsigned: bool) -> Parameter<'static> {
    let value = bytes.iter().rev().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
    if is_unsigned {
        return Parameter::UInt(value);
    }
    let unused_bits = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    Parameter::Int((value << unused_bits) as i64 >> unused_bits)
}

/// 0, 4, 7 or 11 bytes: what is zero at the end may be left out.
fn date_time(bytes: &[u8], is_date: bool) -> Parameter<'_> {
    let mut whole = [0; 11];
    let Some(given) = whole.get_mut(..bytes.len()) else { return Parameter::Other };
    given.copy_from_slice(bytes);
    let [low, high, month, day, hour, minute, second, micros @ ..] = whole;
    Parameter::DateTime {
        is_date,
        year: u16::from_le_bytes([low, high]),
        parts: [month, day, hour, minute, second],
        micros: u32::from_le_bytes(micros),
    }
}
