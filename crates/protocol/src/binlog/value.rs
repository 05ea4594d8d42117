//! One column's value, where it lies in the event.

use super::decimal::{self, Decimal};
use super::inflate::{self, UNPACKED_LEN_MAX};
use super::kind::column;
use super::table_map::TableColumn;
use super::temporal::{self, Date, DateTime, Time, Timestamp};
use crate::{Malformed, Reader};

/// One column of a row image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// Not in the image (`binlog_row_image`): for an after image, unchanged.
    Absent,
    /// NULL.
    Null,
    /// Any other value.
    Value(Value<'a>),
}

/// A value that is not NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer, or one whose sign the event does not tell.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// DECIMAL.
    Decimal(Decimal<'a>),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// Strings of characters or bytes, in the column's character set, and the
    /// little-endian floats of a VECTOR. Of CHAR the trailing blanks and of
    /// BINARY, and MariaDB's INET4, INET6 and UUID, the trailing bytes that
    /// pad them are not logged.
    Bytes(&'a [u8]),
    /// A value of a MariaDB COMPRESSED column that is stored compressed.
    Compressed(Compressed<'a>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME.
    DateTime(DateTime),
    /// TIMESTAMP.
    Timestamp(Timestamp),
    /// YEAR: 0 or 1901 to 2155.
    Year(u16),
    /// ENUM: the value's number from 1; 0 is the error value.
    Enum(u16),
    /// SET: one bit for each value.
    Set(u64),
    /// BIT: up to 64 bits.
    Bit(u64),
    /// MySQL's binary JSON.
    Json(&'a [u8]),
    /// A change of a JSON value of which only the difference was logged.
    JsonPartial(&'a [u8]),
    /// A geometry: four bytes of SRID, then WKB.
    Geometry(&'a [u8]),
}

/// A compressed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed<'a> {
    packed: &'a [u8],
}

impl Compressed<'_> {
    /// Appends the value, unpacked.
    ///
    /// # Errors
    ///
    /// If it is broken, of an unknown kind, or larger than [`UNPACKED_LEN_MAX`].
    pub fn unpack(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        const ZLIB: u8 = 8;
        /// Set when zlib's own frame is left out, which is the default.
        const BARE: u8 = 8;

        let mut reader = Reader::new(self.packed);
        let head = reader.u8()?;
        let len = big_endian(reader.take(usize::from(head & 7))?);
        if head >> 4 != ZLIB || len > UNPACKED_LEN_MAX as u64 {
            return Err(Malformed::new("compressed value too large or of an unknown kind"));
        }
        // Below the bound, and so within a usize.
        let len = len as usize;
        if head & BARE != 0 {
            inflate::deflate(reader.rest(), len, out)
        } else {
            inflate::zlib(reader.rest(), len, out)
        }
    }
}

/// Bytes that the value at the front of `data` takes, its own length included.
pub(super) fn cell_len(column: &TableColumn, data: &[u8]) -> Result<usize, Malformed> {
    let meta = column.meta;
    Ok(match column.kind {
        column::TINY | column::YEAR => 1,
        column::SHORT => 2,
        column::INT24 | column::DATE | column::NEWDATE | column::TIME => 3,
        column::LONG | column::FLOAT | column::TIMESTAMP => 4,
        column::LONGLONG | column::DOUBLE | column::DATETIME => 8,
        column::NEWDECIMAL => decimal::packed_len(meta)?,
        column::TIMESTAMP2 => 4 + temporal::fraction_len(meta)?,
        column::DATETIME2 => 5 + temporal::fraction_len(meta)?,
        column::TIME2 => 3 + temporal::fraction_len(meta)?,
        column::ENUM | column::SET => usize::from(meta),
        column::BIT => bit_len(meta),
        kind => {
            let prefix = prefix_len(kind, meta).ok_or(Malformed::new("value of an unknown type"))?;
            let len = little_endian(data.get(..prefix).ok_or(CUT)?);
            usize::try_from(len).ok().and_then(|len| len.checked_add(prefix)).ok_or(CUT)?
        }
    })
}

const CUT: Malformed = Malformed::new("row cut short");

/// Whole bytes in the high half of the parameter, further bits in the low one.
fn bit_len(meta: u16) -> usize {
    let [bits, bytes] = meta.to_le_bytes();
    usize::from(bytes) + usize::from(bits > 0)
}

/// Bytes of the length before a value; `None` if the type has no such length.
fn prefix_len(kind: u8, meta: u16) -> Option<usize> {
    Some(match kind {
        column::VARCHAR | column::VAR_STRING | column::STRING | column::VARCHAR_COMPRESSED => {
            if meta < 256 {
                1
            } else {
                2
            }
        }
        column::TINY_BLOB..=column::BLOB
        | column::BLOB_COMPRESSED
        | column::GEOMETRY
        | column::JSON
        | column::VECTOR => usize::from(meta),
        _ => return None,
    })
}

/// Returns the value in the bytes that [`cell_len`] has measured.
pub(super) fn decode<'a>(column: &TableColumn, cell: &'a [u8]) -> Result<Value<'a>, Malformed> {
    let meta = column.meta;
    Ok(match column.kind {
        column::TINY | column::SHORT | column::INT24 | column::LONG | column::LONGLONG => {
            integer(cell, column.unsigned == Some(true))
        }
        column::YEAR => Value::Year(match little_endian(cell) {
            0 => 0,
            year => 1900 + year as u16,
        }),
        column::FLOAT => Value::Float(f32::from_le_bytes(exact(cell)?)),
        column::DOUBLE => Value::Double(f64::from_le_bytes(exact(cell)?)),
        column::NEWDECIMAL => Value::Decimal(Decimal::new(meta, cell)),
        column::DATE | column::NEWDATE => Value::Date(temporal::date(cell)),
        column::TIME => Value::Time(temporal::time_old(cell)),
        column::TIME2 => Value::Time(temporal::time(cell, meta)),
        column::DATETIME => Value::DateTime(temporal::datetime_old(cell)),
        column::DATETIME2 => Value::DateTime(temporal::datetime(cell, meta)),
        column::TIMESTAMP => Value::Timestamp(temporal::timestamp_old(cell)),
        column::TIMESTAMP2 => Value::Timestamp(temporal::timestamp(cell, meta)),
        column::ENUM => Value::Enum(little_endian(cell) as u16),
        column::SET => Value::Set(little_endian(cell)),
        column::BIT => Value::Bit(big_endian(cell)),
        kind => {
            let bytes = prefix_len(kind, meta).and_then(|prefix| cell.get(prefix..)).ok_or(CUT)?;
            match kind {
                column::JSON => Value::Json(bytes),
                column::GEOMETRY => Value::Geometry(bytes),
                column::VARCHAR_COMPRESSED | column::BLOB_COMPRESSED => compressed(bytes),
                _ => Value::Bytes(bytes),
            }
        }
    })
}

/// MariaDB compresses a value only if that makes it shorter; a byte in front
/// tells, except before the empty one.
fn compressed(bytes: &[u8]) -> Value<'_> {
    match bytes {
        [] => Value::Bytes(&[]),
        [0, plain @ ..] => Value::Bytes(plain),
        packed => Value::Compressed(Compressed { packed }),
    }
}

fn exact<const N: usize>(cell: &[u8]) -> Result<[u8; N], Malformed> {
    cell.try_into().map_err(|_short| CUT)
}

fn integer(cell: &[u8], unsigned: bool) -> Value<'static> {
    let value = little_endian(cell);
    if unsigned {
        return Value::UInt(value);
    }
    let unused_bits = 64 - 8 * cell.len().clamp(1, 8) as u32;
    Value::Int((value << unused_bits) as i64 >> unused_bits)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
