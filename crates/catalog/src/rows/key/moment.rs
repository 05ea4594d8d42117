//! TIMESTAMP: moments. Literals write them as the clock shows them in the session's time zone.
//!
//! The keys count units of the column's last fractional digit since 1970 in UTC, as the binlog does. '0000-00-00' is 0 there and here.
//! The moments that the type holds differ by server, and so does the handling of a literal beyond them: literals near the ends, and
//! beyond them, have no key that can be told.

use freshet_protocol::binlog::Timestamp;

use super::super::zone::Zone;
use super::temporal::{DatetimeLiteral, SECONDS_A_DAY, datetime_number, datetimes_around};

/// The first day of 1970, in the count of the days of literals.
const DAY_OF_1970: i64 = 719_469;

/// The moments that every server holds, in seconds since 1970, with a day to spare at either end: MySQL's last moment is in January 2038.
const TOLD_S: std::ops::RangeInclusive<i64> = 2 * 86_400..=i32::MAX as i64 - 86_400;

/// The last second that any server holds: MariaDB's since 11.5.
const SECOND_MAX: u64 = u32::MAX as u64;

pub(super) fn greatest(decimals: u8) -> u64 {
    // One more, for the fractions of the last second.
    number(SECOND_MAX + 1, 0, decimals).unwrap_or(u64::MAX)
}

/// Returns the greatest key of the values that are not above a literal, and the least key of those that are not below it. Where the
/// servers differ, the two bounds include all keys. `None`: undecided.
pub(super) fn bounds_of_text(decimals: u8, text: &[u8], zone: Zone) -> Option<(u64, u64)> {
    let Zone::Fixed(ahead_s) = zone else { return None };
    let DatetimeLiteral { day, second, micros } = DatetimeLiteral::parse(text)?;
    let day = i64::try_from(day).ok()? - DAY_OF_1970;
    let seconds = day * SECONDS_A_DAY as i64 + i64::try_from(second).ok()? - i64::from(ahead_s);
    if !TOLD_S.contains(&seconds) {
        return Some((0, greatest(decimals)));
    }
    datetimes_around(0, u64::try_from(seconds).ok()?, micros, decimals)
}

pub(super) fn key_of_field(value: Timestamp) -> Option<u64> {
    let seconds = u64::try_from(value.seconds).ok().filter(|seconds| *seconds <= SECOND_MAX)?;
    number(seconds, value.micros, value.decimals)
}

/// Returns the key of a moment. `None` if the column cannot hold the fraction.
fn number(second: u64, micros: u32, decimals: u8) -> Option<u64> {
    datetime_number(0, second, micros, decimals)
}
