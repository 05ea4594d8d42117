//! One column's value, where it lies in the event.

use super::decimal::Decimal;
use super::temporal::{Date, DateTime, Time, Timestamp};

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
    /// Strings of characters or bytes, in the column's character set, without
    /// the padding of CHAR and BINARY; MariaDB's INET4, INET6 and UUID; the
    /// little-endian floats of a VECTOR.
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
