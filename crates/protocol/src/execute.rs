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
const PARAMETERS_MAX: usize = u16::MAX as usize;
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
    pub(super) const TINY_BLOB: u8 = 249;
    pub(super) const MEDIUM_BLOB: u8 = 250;
    pub(super) const LONG_BLOB: u8 = 251;
    pub(super) const BLOB: u8 = 252;
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
    /// A string of bytes.
    Bytes(&'a [u8]),
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
    /// Any other: times, JSON, and what was sent in pieces before.
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
    /// If the packet is truncated, or has no types and no earlier packet had any.
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
        // A client may tell that there are neither parameters nor attributes; nothing more follows then.
        if count == 0 {
            return Ok(Self { parameters: Vec::new(), types: None });
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

/// An execution's packet, cut into what decides its answer. Nothing is read of the values themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionParts<'a> {
    /// Which parameters are NULL: a bit for each.
    pub nulls: &'a [u8],
    /// The values, one behind the other.
    pub values: &'a [u8],
    /// The answer is not one result set: it stays at the server as a cursor, or there are several executions.
    pub has_cursor: bool,
    /// The types and the names, if this packet brings them, and how many bytes each takes with its name.
    types: Option<(&'a [u8], usize)>,
    /// Where in the packet the byte stands that says whether it brings types.
    types_at: usize,
    /// How many parameters there are.
    count: usize,
}

impl<'a> ExecutionParts<'a> {
    /// Cuts a whole packet of a statement with so many markers. `None` if it has attributes beside them, or is truncated.
    #[must_use]
    pub fn cut(packet: &'a [u8], parameters: usize, caps: Capabilities) -> Option<Self> {
        const HEAD: usize = 1 + 4;
        const ONCE: [u8; 4] = [1, 0, 0, 0];
        let mut reader = Reader::new(packet.get(HEAD..)?);
        let attributes = caps.contains(Capabilities::QUERY_ATTRIBUTES);
        let flags = reader.u8().ok()?;
        let counts = attributes && flags & PARAMETER_COUNT_AVAILABLE != 0;
        let times = reader.take(4).ok()?;
        let has_cursor = flags & !PARAMETER_COUNT_AVAILABLE != 0 || times != ONCE;
        if attributes && (parameters > 0 || counts) && reader.lenenc_int().ok()? != parameters as u64 {
            return None;
        }
        if parameters == 0 {
            return Some(Self {
                nulls: &[],
                values: &[],
                has_cursor,
                types: None,
                types_at: packet.len(),
                count: 0,
            });
        }
        let nulls = reader.take(parameters.div_ceil(8)).ok()?;
        let types_at = packet.len() - reader.remaining();
        let bytes = if attributes { 3 } else { 2 };
        let types = match reader.u8().ok()? {
            0 => None,
            _ => Some((reader.take(bytes * parameters).ok()?, bytes)),
        };
        // A marker has no name, which is a length of zero.
        let is_named = |(types, bytes): (&[u8], usize)| {
            types.chunks(bytes).any(|one| one.get(2).is_some_and(|len| *len != 0))
        };
        if types.is_some_and(is_named) {
            return None;
        }
        Some(Self {
            nulls,
            values: reader.take(reader.remaining()).ok()?,
            has_cursor,
            types,
            types_at,
            count: parameters,
        })
    }

    /// Returns the types, if this packet brings them.
    pub fn types(&self) -> Option<impl Iterator<Item = ParameterType> + Clone + 'a> {
        let (types, bytes) = self.types?;
        Some(
            types
                .chunks(bytes)
                .filter_map(|one| Some(ParameterType(u16::from_le_bytes([*one.first()?, *one.get(1)?])))),
        )
    }

    /// Returns the values of parameters of these types; an error ends them.
    pub fn parameters(
        &self,
        types: &'a [ParameterType],
    ) -> impl Iterator<Item = Result<Parameter<'a>, Malformed>> + 'a {
        let (nulls, mut reader) = (self.nulls, Reader::new(self.values));
        types.iter().enumerate().map(move |(at, kind)| {
            let is_null = nulls.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            if is_null { Ok(Parameter::Null) } else { value(&mut reader, *kind) }
        })
    }

    /// Returns the packet with these types; none if it brings its own, if it has no parameters, or if it has another number of them.
    #[must_use]
    pub fn with_types(&self, packet: &[u8], types: &[ParameterType], caps: Capabilities) -> Option<Vec<u8>> {
        if types.len() != self.count {
            return None;
        }
        let (head, rest) = packet.split_at_checked(self.types_at)?;
        let (_, values) = rest.split_first().filter(|_| self.types.is_none())?;
        let mut with = head.to_vec();
        with.push(1);
        for one in types {
            with.extend_from_slice(&one.0.to_le_bytes());
            with.extend(caps.contains(Capabilities::QUERY_ATTRIBUTES).then_some(0));
        }
        with.extend_from_slice(values);
        Some(with)
    }
}

impl ParameterType {
    /// Returns the type's number and its sign, as a packet has them.
    #[must_use]
    pub const fn bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Whether it says nothing but that the value is NULL.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 as u8 == kind::NULL
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
        kind::TINY_BLOB | kind::MEDIUM_BLOB | kind::LONG_BLOB | kind::BLOB => {
            Parameter::Bytes(reader.lenenc_bytes()?)
        }
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
