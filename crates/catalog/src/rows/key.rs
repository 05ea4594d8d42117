//! Keys: values that the servers compare as equal have equal keys.
//!
//! There are three sources of a key, and each has its own function, because each needs other rules. A literal that is *compared* with a
//! column ([`key_of_datum`]) may be of any form that the server converts. A literal that is *assigned* to a column ([`key_of_assigned`])
//! may be changed, cut or rounded by that. A field of a row image ([`key_of_field`]) is the value in the column. All three return `None`
//! where this code does not follow the servers' conversions. `tests/keys.rs` asks real servers whether the keys are right.

// A key.
mod canonical;

// From values to keys, for each kind of type.
mod number;
mod letters;
mod text;
mod temporal;
mod moment;
mod named;
mod address;

// The types in words.
mod display;

use std::sync::Arc;

use freshet_protocol::binlog::{Field, Value};
use freshet_sql::Datum;

use super::zone::Zone;
use canonical::ORDERED_DIGITS_MAX;

pub use canonical::Key;
pub use named::Labels;

/// How values of a column become keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Never: this code does not follow the servers' idea of equality.
    None,
    /// TINYINT to BIGINT.
    Integer {
        /// Declared UNSIGNED; the binlog does not always say so.
        unsigned: bool,
        /// Bytes of a value, 1 to 8.
        bytes: u8,
    },
    /// DECIMAL.
    Decimal {
        /// Digits in all, 1 to 65.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Characters in a collation that tells printable ASCII apart, except case and trailing blanks. Of the letters beyond ASCII, at most
    /// those are equal that `letters` makes equal.
    Text {
        /// The collation's name, in lower case.
        collation: Arc<str>,
        /// The most characters that the column holds.
        chars: u64,
    },
    /// BINARY, VARBINARY and BLOB.
    Bytes {
        /// The most bytes that the column holds.
        len: u64,
    },
    /// DATE.
    Date,
    /// DATETIME.
    DateTime {
        /// Fractional digits, 0 to 6.
        decimals: u8,
    },
    /// TIMESTAMP.
    Timestamp {
        /// Fractional digits, 0 to 6.
        decimals: u8,
    },
    /// TIME.
    Time {
        /// Fractional digits, 0 to 6.
        decimals: u8,
    },
    /// YEAR.
    Year,
    /// BIT.
    Bit {
        /// The number of bits, 1 to 64.
        bits: u8,
    },
    /// ENUM.
    Enum(Labels),
    /// SET.
    Set(Labels),
    /// MariaDB's UUID.
    Uuid,
    /// MariaDB's INET4 and INET6.
    Address {
        /// Bytes of a value, 4 or 16.
        bytes: u8,
    },
}

/// Whether a text in the canonical form of a date or of a moment has a time. `None` if the text is in another form, or if there is no such
/// day.
#[must_use]
pub fn has_time(text: &[u8]) -> Option<bool> {
    temporal::DatetimeLiteral::parse(text).map(|_| text.contains(&b' '))
}

impl KeyType {
    /// Whether the keys are numbers that sort as the values do, so that a range of values is a range of keys.
    #[must_use]
    pub const fn is_ordered(&self) -> bool {
        match self {
            Self::Integer { .. }
            | Self::Date
            | Self::DateTime { .. }
            | Self::Timestamp { .. }
            | Self::Time { .. }
            | Self::Year
            | Self::Bit { .. } => true,
            Self::Decimal { precision, .. } => *precision <= ORDERED_DIGITS_MAX,
            Self::None
            | Self::Text { .. }
            | Self::Bytes { .. }
            | Self::Enum(_)
            | Self::Set(_)
            | Self::Uuid
            | Self::Address { .. } => false,
        }
    }

    /// Whether the beginning of a value can be told from its key.
    #[must_use]
    pub const fn has_prefixes(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Bytes { .. })
    }

    /// Whether values of two columns that the servers find equal have the same key, so that a condition on one column holds for the
    /// other. Lengths do not matter. Never for ENUM and SET: a number that is compared with one of them is an index or bits, and is a
    /// label where a UNION has made a text of it.
    #[must_use]
    pub fn compares_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None | Self::Enum(_) | Self::Set(_), _) => false,
            (Self::Integer { unsigned: one, .. }, Self::Integer { unsigned: other, .. }) => one == other,
            (Self::Text { collation: one, .. }, Self::Text { collation: other, .. }) => one == other,
            (Self::Bytes { .. }, Self::Bytes { .. }) => true,
            (one, other) => one == other,
        }
    }
}

/// Returns the key of the values that the server finds equal to this literal in a session of this time zone. If no value is equal to the
/// literal, any key is right. `None`: undecided.
#[must_use]
pub fn key_of_datum(key_type: &KeyType, datum: &Datum, zone: Zone) -> Option<Key> {
    if *datum == Datum::Null {
        return (*key_type != KeyType::None).then_some(Key::Null);
    }
    if let Datum::InRow(value) = datum {
        let is_named = matches!(key_type, KeyType::Enum(_) | KeyType::Set(_));
        return if is_named { None } else { key_of_datum(key_type, &Datum::Int(i128::from(*value)), zone) };
    }
    match key_type {
        KeyType::None => None,
        KeyType::Text { collation, .. } => {
            text::folded_in_statement(collation, text_of(datum)?).map(Key::Text)
        }
        KeyType::Bytes { .. } => Some(Key::Text(text::trimmed(bytes_of(datum)?).to_vec())),
        KeyType::Decimal { scale, .. } if !key_type.is_ordered() => {
            number::long_of_datum(*scale, datum).map(Key::Text)
        }
        KeyType::Enum(labels) => labels.one_of_datum(datum).map(Key::Text),
        KeyType::Set(labels) => labels.set_of_datum(datum).map(Key::Text),
        KeyType::Uuid => address::uuid_of_text(text_of(datum)?).map(Key::Text),
        KeyType::Address { bytes } => address::address_of_text(*bytes, text_of(datum)?).map(Key::Text),
        // MariaDB rounds a literal between two values before it looks the literal up in an index, and finds one of the two.
        _ => bounds_of_datum(key_type, datum, zone)
            .filter(|(floor, ceiling)| floor == ceiling)
            .map(|(floor, _)| Key::Ordered(floor)),
    }
}

/// Returns the greatest key of the values that are not above this literal, and the least key of the values that are not below it. The two
/// are equal if the literal is a value of the column. `None`: undecided, or keys of this type have no order.
pub(super) fn bounds_of_datum(key_type: &KeyType, datum: &Datum, zone: Zone) -> Option<(u64, u64)> {
    match key_type {
        KeyType::Integer { unsigned, bytes } => number::integer_bounds(*unsigned, *bytes, datum),
        KeyType::Decimal { precision, scale } if key_type.is_ordered() => {
            number::decimal_bounds(*precision, *scale, datum)
        }
        KeyType::Date => temporal::date_bounds(moment_of(datum)?),
        KeyType::DateTime { decimals } => temporal::datetime_bounds(*decimals, moment_of(datum)?),
        KeyType::Timestamp { decimals } => moment::bounds_of_text(*decimals, moment_of(datum)?, zone),
        KeyType::Time { decimals } => temporal::time_bounds(*decimals, text_of(datum)?),
        KeyType::Year => temporal::year_of_datum(datum).map(|key| (key, key)),
        KeyType::Bit { bits } => number::bit_bounds(*bits, datum),
        _ => None,
    }
}

/// Returns the least and the greatest key of this type's values; `None` if they have no order.
pub(super) fn extent(key_type: &KeyType) -> Option<(u64, u64)> {
    match key_type {
        KeyType::Integer { unsigned, bytes } => Some(number::integer_extent(*unsigned, *bytes)),
        KeyType::Decimal { precision, .. } if key_type.is_ordered() => {
            Some(number::decimal_extent(*precision))
        }
        KeyType::Date => Some((0, temporal::DAY_MAX)),
        KeyType::DateTime { decimals } => Some((0, temporal::datetime_max(*decimals))),
        KeyType::Timestamp { decimals } => Some((0, moment::greatest(*decimals))),
        KeyType::Time { .. } => Some((0, u64::MAX)),
        KeyType::Year => Some((0, temporal::YEAR_MAX)),
        KeyType::Bit { bits } => Some((0, number::bit_greatest(*bits))),
        _ => None,
    }
}

/// Returns the key of a column after this literal was assigned to it in a session of this time zone. `None`: the server may change the
/// literal.
#[must_use]
pub fn key_of_assigned(key_type: &KeyType, datum: &Datum, zone: Zone) -> Option<Key> {
    if *datum == Datum::Null {
        return (*key_type != KeyType::None).then_some(Key::Null);
    }
    match key_type {
        KeyType::None => None,
        KeyType::Text { collation, chars } => {
            let text = Some(text_of(datum)?).filter(|text| fits(text, *chars))?;
            text::folded_in_statement(collation, text).map(Key::Text)
        }
        KeyType::Bytes { len } => {
            let bytes = Some(bytes_of(datum)?).filter(|bytes| fits(bytes, *len))?;
            Some(Key::Text(text::trimmed(bytes).to_vec()))
        }
        KeyType::Integer { unsigned, bytes } => {
            number::integer_assigned(*unsigned, *bytes, datum).map(Key::Ordered)
        }
        KeyType::Decimal { precision, scale } => {
            number::is_exact(*precision, *scale, datum).then(|| key_of_datum(key_type, datum, zone)).flatten()
        }
        // The time of day would be rounded away.
        KeyType::Date => temporal::date_of_text(moment_of(datum)?).map(Key::Ordered),
        KeyType::DateTime { .. }
        | KeyType::Timestamp { .. }
        | KeyType::Time { .. }
        | KeyType::Year
        | KeyType::Uuid
        | KeyType::Address { .. } => key_of_datum(key_type, datum, zone),
        KeyType::Bit { bits } => number::bit_assigned(*bits, datum).map(Key::Ordered),
        KeyType::Enum(labels) => labels.one_of_datum(datum).filter(|key| !key.is_empty()).map(Key::Text),
        KeyType::Set(labels) => labels.set_of_datum(datum).map(Key::Text),
    }
}

/// Returns the key of a column in a row image. `None`: undecided, or the column is not in the image.
#[must_use]
pub fn key_of_field(key_type: &KeyType, field: Field<'_>) -> Option<Key> {
    let value = match field {
        Field::Absent => return None,
        Field::Null => return Some(Key::Null),
        Field::Value(value) => value,
    };
    match (key_type, value) {
        (KeyType::Integer { unsigned, bytes }, Value::Int(_) | Value::UInt(_)) => {
            number::integer_of_field(*unsigned, *bytes, value).map(Key::Ordered)
        }
        (KeyType::Decimal { precision, scale }, Value::Decimal(value)) if value.scale() == *scale => {
            number::decimal_of_field(*precision, *scale, &value)
        }
        (KeyType::Text { collation, .. }, Value::Bytes(bytes)) => {
            text::folded(collation, bytes).map(Key::Text)
        }
        (KeyType::Bytes { .. }, Value::Bytes(bytes)) => Some(Key::Text(text::trimmed(bytes).to_vec())),
        (KeyType::Text { .. } | KeyType::Bytes { .. }, Value::Compressed(packed)) => {
            let mut bytes = Vec::new();
            packed.unpack(&mut bytes).ok()?;
            key_of_field(key_type, Field::Value(Value::Bytes(&bytes)))
        }
        (KeyType::Date, Value::Date(date)) => temporal::date_of_field(date).map(Key::Ordered),
        (KeyType::DateTime { decimals }, Value::DateTime(value)) if value.decimals == *decimals => {
            temporal::datetime_of_field(value).map(Key::Ordered)
        }
        (KeyType::Timestamp { decimals }, Value::Timestamp(value)) if value.decimals == *decimals => {
            moment::key_of_field(value).map(Key::Ordered)
        }
        (KeyType::Time { decimals }, Value::Time(value)) if value.decimals == *decimals => {
            temporal::time_of_field(value).map(Key::Ordered)
        }
        (KeyType::Year, Value::Year(year)) => Some(Key::Ordered(u64::from(year))),
        (KeyType::Bit { .. }, Value::Bit(value)) => Some(Key::Ordered(value)),
        (KeyType::Enum(labels), Value::Enum(number)) => labels.one(u64::from(number)).map(Key::Text),
        (KeyType::Set(labels), Value::Set(bits)) => labels.set(bits).map(Key::Text),
        (KeyType::Uuid, Value::Bytes(bytes)) => Some(Key::Text(address::uuid_of_field(bytes))),
        (KeyType::Address { .. }, Value::Bytes(bytes)) => {
            Some(Key::Text(address::without_zeros(bytes).to_vec()))
        }
        _ => None,
    }
}

/// Returns the beginning of the keys of all values that begin with this text of printable ASCII; `None` if keys of this type have none.
pub(super) fn prefix_of_text(key_type: &KeyType, text: &[u8]) -> Option<Vec<u8>> {
    match key_type {
        KeyType::Text { .. } => text::plain(text),
        KeyType::Bytes { .. } => Some(text::trimmed(text).to_vec()),
        _ => None,
    }
}

fn text_of(datum: &Datum) -> Option<&[u8]> {
    match datum {
        Datum::Text(text) | Datum::Shown(text) => Some(text),
        _ => None,
    }
}

fn bytes_of(datum: &Datum) -> Option<&[u8]> {
    match datum {
        Datum::Text(bytes) | Datum::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the text of a moment. A column of moments takes both kinds of literals alike.
fn moment_of(datum: &Datum) -> Option<&[u8]> {
    match datum {
        Datum::Moment(text) | Datum::Text(text) | Datum::Shown(text) => Some(text),
        _ => None,
    }
}

fn fits(text: &[u8], len_max: u64) -> bool {
    u64::try_from(text.len()).is_ok_and(|len| len <= len_max)
}

#[cfg(test)]
mod tests;
