//! Integers and decimals. Each number is a scaled integer of 128 bits, as floor and ceiling, until it becomes a key.

use freshet_protocol::binlog::{Decimal, Value};
use freshet_sql::Datum;

use super::canonical::{Key, ORDERED_DIGITS_MAX};

/// Added to a signed value so that its key sorts as the value does.
const BIAS: i128 = 1 << 63;

/// A number beyond every value of a column whose keys have an order, on either side.
const BEYOND: i128 = 1 << 100;

/// A string and an integer are compared as doubles: below this bound a double holds every integer exactly.
const EXACT_IN_DOUBLE: u128 = 1 << 53;

/// This many significant digits survive the way into a double and back.
const DIGITS_IN_DOUBLE: usize = 15;

/// The most digits of a literal, before or after the point; a longer literal is undecided.
const DIGITS_MAX: usize = 100;

/// A written number: its digits.
struct Number<'a> {
    is_negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Number<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |text: &str| text.len() <= DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit());
        let is_number = is_digits(whole) && is_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
        is_number.then(|| Self {
            is_negative: text.starts_with('-'),
            whole: whole.trim_start_matches('0'),
            fraction: fraction.trim_end_matches('0'),
        })
    }

    /// Returns the nearest values with so many digits after the point, not above and not below the number, both times ten to that power.
    fn scaled(&self, scale: u8) -> (i128, i128) {
        let scale = usize::from(scale);
        let kept = &self.fraction[..self.fraction.len().min(scale)];
        let rest = i128::from(self.fraction.len() > scale);
        let magnitude = magnitude(self.whole, kept, scale).unwrap_or(BEYOND);
        if self.is_negative { (-(magnitude + rest), -magnitude) } else { (magnitude, magnitude + rest) }
    }
}

/// Returns the number as a scaled integer. `None` if it is too great.
fn magnitude(whole: &str, fraction: &str, scale: usize) -> Option<i128> {
    let zeros = std::iter::repeat_n(b'0', scale - fraction.len());
    let mut value = 0i128;
    for digit in whole.bytes().chain(fraction.bytes()).chain(zeros) {
        value = value * 10 + i128::from(digit - b'0');
        if value > BEYOND {
            return None;
        }
    }
    Some(value)
}

/// Calls `with` on the number as which a literal is compared, if the comparison is exact.
fn with_number<T>(
    datum: &Datum,
    in_text: fn(&Number<'_>) -> bool,
    with: impl Fn(&Number<'_>) -> T,
) -> Option<T> {
    match datum {
        Datum::Int(value) => Number::parse(&value.to_string()).as_ref().map(with),
        Datum::InRow(value) => Number::parse(&value.to_string()).as_ref().map(with),
        Datum::Decimal(text) => Number::parse(text).as_ref().map(with),
        Datum::Text(text) | Datum::Shown(text) => {
            let text = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
            Number::parse(text).filter(in_text).as_ref().map(with)
        }
        Datum::Bytes(_)
        | Datum::Double(_)
        | Datum::Moment(_)
        | Datum::Null
        | Datum::Param(_)
        | Datum::Other => None,
    }
}

/// Whether a string is an integer that is compared with integers exactly.
fn is_small_integer(number: &Number<'_>) -> bool {
    number.fraction.is_empty()
        && (number.whole.is_empty() || number.whole.parse().is_ok_and(|value: u128| value < EXACT_IN_DOUBLE))
}

fn is_short(number: &Number<'_>) -> bool {
    number.whole.len() + number.fraction.len() <= DIGITS_IN_DOUBLE
}

fn never(_: &Number<'_>) -> bool {
    false
}

/// Returns the least and the greatest value of an integer column.
fn integer_range(unsigned: bool, bytes: u8) -> (i128, i128) {
    let bits = 8 * u32::from(bytes.clamp(1, 8));
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

fn integer_key(unsigned: bool, value: i128) -> u64 {
    let biased = if unsigned { value } else { value + BIAS };
    u64::try_from(biased.max(0)).unwrap_or(u64::MAX)
}

pub(super) fn integer_extent(unsigned: bool, bytes: u8) -> (u64, u64) {
    let (least, greatest) = integer_range(unsigned, bytes);
    (integer_key(unsigned, least), integer_key(unsigned, greatest))
}

pub(super) fn integer_bounds(unsigned: bool, bytes: u8, datum: &Datum) -> Option<(u64, u64)> {
    let (floor, ceiling) = match datum {
        Datum::Int(value) => (*value, *value),
        // No other integer is the same as a DOUBLE.
        Datum::Double(value) => (i128::from(*value), i128::from(*value)),
        _ => with_number(datum, is_small_integer, |number| number.scaled(0))?,
    };
    let (least, greatest) = integer_range(unsigned, bytes);
    let key = |value: i128| integer_key(unsigned, value.clamp(least, greatest));
    Some((key(floor), key(ceiling)))
}

/// Returns the key of an integer that is stored unchanged: without a fraction, and in range. Otherwise `None`.
pub(super) fn integer_assigned(unsigned: bool, bytes: u8, datum: &Datum) -> Option<u64> {
    let (floor, ceiling) = match datum {
        Datum::Double(value) => (i128::from(*value), i128::from(*value)),
        _ => with_number(datum, is_small_integer, |number| number.scaled(0))?,
    };
    let (least, greatest) = integer_range(unsigned, bytes);
    (floor == ceiling && least <= floor && floor <= greatest).then(|| integer_key(unsigned, floor))
}

/// Returns the key of an integer in a row image. The catalog says whether it is unsigned: some events give all integers as signed ones.
pub(super) fn integer_of_field(unsigned: bool, bytes: u8, value: Value<'_>) -> Option<u64> {
    let value = match value {
        Value::Int(value) if unsigned && value < 0 => {
            i128::from(value) + (1 << (8 * u32::from(bytes.clamp(1, 8))))
        }
        Value::Int(value) => i128::from(value),
        Value::UInt(value) if unsigned => i128::from(value),
        _ => return None,
    };
    let (least, greatest) = integer_range(unsigned, bytes);
    (least..=greatest).contains(&value).then(|| integer_key(unsigned, value))
}

pub(super) fn bit_greatest(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits.clamp(1, 64)))
}

/// Returns the bounds of a BIT. Only whole numbers within its range are compared with it as numbers: a number below zero wraps around.
pub(super) fn bit_bounds(bits: u8, datum: &Datum) -> Option<(u64, u64)> {
    bit_assigned(bits, datum).map(|key| (key, key))
}

/// Returns the key of a BIT, if the number fits.
pub(super) fn bit_assigned(bits: u8, datum: &Datum) -> Option<u64> {
    let Datum::Int(value) = datum else { return None };
    u64::try_from(*value).ok().filter(|value| *value <= bit_greatest(bits))
}

fn decimal_greatest(precision: u8) -> i128 {
    10i128.pow(u32::from(precision.min(ORDERED_DIGITS_MAX))) - 1
}

pub(super) fn decimal_extent(precision: u8) -> (u64, u64) {
    let greatest = decimal_greatest(precision);
    (integer_key(false, -greatest), integer_key(false, greatest))
}

/// Returns the bounds of a column whose keys have an order. A string is compared with it as a double, which is exact if neither has more
/// digits than a double.
pub(super) fn decimal_bounds(precision: u8, scale: u8, datum: &Datum) -> Option<(u64, u64)> {
    let in_text = if usize::from(precision) <= DIGITS_IN_DOUBLE { is_short } else { never };
    let (floor, ceiling) = with_number(datum, in_text, |number| number.scaled(scale))?;
    let greatest = decimal_greatest(precision);
    let key = |value: i128| integer_key(false, value.clamp(-greatest, greatest));
    Some((key(floor), key(ceiling)))
}

/// Returns the key of a column with more digits: a text. A literal between two values is undecided.
pub(super) fn long_of_datum(scale: u8, datum: &Datum) -> Option<Vec<u8>> {
    let key = with_number(datum, never, |number| {
        let is_exact = number.fraction.len() <= usize::from(scale);
        is_exact.then(|| long_key(number.is_negative, number.whole, number.fraction))
    });
    key.flatten()
}

/// Returns the key without leading and trailing zeros; a zero has no sign.
fn long_key(is_negative: bool, whole: &str, fraction: &str) -> Vec<u8> {
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let sign = if is_negative && !(whole.is_empty() && fraction.is_empty()) { "-" } else { "" };
    format!("{sign}{whole}.{fraction}").into_bytes()
}

/// Whether a literal is stored unchanged. A number below zero may be stored as zero.
pub(super) fn is_exact(precision: u8, scale: u8, datum: &Datum) -> bool {
    let whole_max = usize::from(precision.saturating_sub(scale));
    let is_exact = with_number(datum, is_short, |number| {
        !number.is_negative && number.whole.len() <= whole_max && number.fraction.len() <= usize::from(scale)
    });
    is_exact == Some(true)
}

pub(super) fn decimal_of_field(precision: u8, scale: u8, value: &Decimal<'_>) -> Option<Key> {
    let all = value.digits();
    let digits = all.get(..usize::from(precision))?;
    if precision > ORDERED_DIGITS_MAX {
        let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let (whole, fraction) = text.split_at_checked(text.len().checked_sub(usize::from(scale))?)?;
        return Some(Key::Text(long_key(value.is_negative(), whole, fraction)));
    }
    let magnitude = digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(*digit));
    let signed = if value.is_negative() { -magnitude } else { magnitude };
    Some(Key::Ordered(integer_key(false, signed)))
}
