//! From packed bytes; the lengths of the slices come from the column's type.

use super::{Date, DateTime, Time, Timestamp};
use crate::Malformed;

/// Bytes of a fraction with so many digits.
pub(in crate::binlog) fn fraction_len(decimals: u16) -> Result<usize, Malformed> {
    if decimals > 6 {
        return Err(Malformed::new("temporal column with more than six fractional digits"));
    }
    Ok(usize::from(decimals.div_ceil(2)))
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A fraction of so many bytes counts hundredths of what one byte less counts.
fn micros(fraction: u64, len: usize) -> u32 {
    let unit = [0, 10_000, 100, 1][len.min(3)];
    // A fraction out of range would be a broken event; it must only not panic.
    u32::try_from(fraction * unit).unwrap_or(u32::MAX) % 1_000_000
}

/// Returns the bits of a value, from `at` up, as many as `len`.
fn bits(value: u64, at: u32, len: u32) -> u64 {
    value >> at & ((1 << len) - 1)
}

/// DATE: three bytes.
pub(in crate::binlog) fn date(bytes: &[u8]) -> Date {
    let packed = little_endian(bytes);
    Date { year: bits(packed, 9, 15) as u16, month: bits(packed, 5, 4) as u8, day: bits(packed, 0, 5) as u8 }
}

/// DATETIME: five bytes and the fraction.
pub(in crate::binlog) fn datetime(bytes: &[u8], decimals: u16) -> DateTime {
    let (whole, fraction) = bytes.split_at(bytes.len().min(5));
    let packed = big_endian(whole);
    let months = bits(packed, 22, 17);
    DateTime {
        date: Date { year: (months / 13) as u16, month: (months % 13) as u8, day: bits(packed, 17, 5) as u8 },
        hour: bits(packed, 12, 5) as u8,
        minute: bits(packed, 6, 6) as u8,
        second: bits(packed, 0, 6) as u8,
        micros: micros(big_endian(fraction), fraction.len()),
        decimals: decimals as u8,
    }
}

/// TIME: three bytes and the fraction, together one number around its middle,
/// so that the bytes sort as the values do.
pub(in crate::binlog) fn time(bytes: &[u8], decimals: u16) -> Time {
    let fraction_len = bytes.len().saturating_sub(3);
    let fraction_bits = 8 * fraction_len as u32;
    let packed = big_endian(bytes) as i64 - (0x80_0000 << fraction_bits);
    let magnitude = packed.unsigned_abs();
    let whole = magnitude >> fraction_bits;
    let seconds = bits(whole, 12, 10) * 3600 + bits(whole, 6, 6) * 60 + bits(whole, 0, 6);
    let fraction = micros(bits(magnitude, 0, fraction_bits), fraction_len);
    let length = (seconds * 1_000_000 + u64::from(fraction)) as i64;
    Time { micros: length * packed.signum(), decimals: decimals as u8 }
}

/// TIMESTAMP: four bytes and the fraction.
pub(in crate::binlog) fn timestamp(bytes: &[u8], decimals: u16) -> Timestamp {
    let (whole, fraction) = bytes.split_at(bytes.len().min(4));
    Timestamp {
        seconds: big_endian(whole) as i64,
        micros: micros(big_endian(fraction), fraction.len()),
        decimals: decimals as u8,
    }
}

/// DATETIME before 5.6: eight bytes that read YYYYMMDDhhmmss in decimal.
pub(in crate::binlog) fn datetime_old(bytes: &[u8]) -> DateTime {
    let packed = little_endian(bytes);
    let two_digits = |unit: u64| (packed / unit % 100) as u8;
    DateTime {
        date: Date {
            year: (packed / 10_000_000_000 % 10_000) as u16,
            month: two_digits(100_000_000),
            day: two_digits(1_000_000),
        },
        hour: two_digits(10_000),
        minute: two_digits(100),
        second: two_digits(1),
        micros: 0,
        decimals: 0,
    }
}

/// TIME before 5.6: three bytes, signed, that read hhmmss in decimal.
pub(in crate::binlog) fn time_old(bytes: &[u8]) -> Time {
    let packed = ((little_endian(bytes) << 40) as i64) >> 40;
    let digits = packed.abs();
    let seconds = digits / 10_000 * 3600 + digits / 100 % 100 * 60 + digits % 100;
    Time { micros: seconds * 1_000_000 * packed.signum(), decimals: 0 }
}

/// TIMESTAMP before 5.6: four bytes.
pub(in crate::binlog) fn timestamp_old(bytes: &[u8]) -> Timestamp {
    Timestamp { seconds: little_endian(bytes) as i64, micros: 0, decimals: 0 }
}
