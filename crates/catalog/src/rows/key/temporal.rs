//! Dates, dates with a time, times, and years.
//!
//! Only the canonical forms are read, only dates that exist, and only years of the documented range: the servers' rules for the others
//! differ. The keys count days, or units of the column's last fractional digit, from the first day of the year 0.

use freshet_protocol::binlog::{Date, DateTime, Time};
use freshet_sql::Datum;

/// The years that a literal may have.
const LITERAL_YEAR_MIN: u16 = 1000;

pub(super) const SECONDS_A_DAY: u64 = 86_400;

const MICROS_A_SECOND: u32 = 1_000_000;

/// A number above that of the last day of the year 9999.
pub(super) const DAY_MAX: u64 = 10_000 * 366;

/// The years that a YEAR holds, 0 aside. Shorter literals stand for years of this or the last century.
const YEAR_MIN: u64 = 1901;
pub(super) const YEAR_MAX: u64 = 2155;

/// The greatest hour of a TIME, on either side of zero.
const TIME_HOURS_MAX: i64 = 838;

/// Added to a TIME's units so that its key sorts as the value does.
const TIME_BIAS: i64 = 1 << 62;

/// The most fractional digits that can be told apart.
const DECIMALS_MAX: u8 = 6;

/// A literal of a date, or of a date with a time.
pub(super) struct DatetimeLiteral {
    /// See [`day_number`].
    pub(super) day: u64,
    /// The second of the day.
    pub(super) second: u64,
    pub(super) micros: u32,
}

impl DatetimeLiteral {
    /// Reads `YYYY-MM-DD` and, after one blank, `HH:MM:SS` with up to six fractional digits.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (date, time) = match text.split_once(' ') {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let [year, month, day] = parts(date, '-', [4, 2, 2])?;
        let date = Date { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? };
        let day = (year >= LITERAL_YEAR_MIN).then(|| day_number(date)).flatten()?;
        let Some(time) = time else { return Some(Self { day, second: 0, micros: 0 }) };
        let (time, fraction) = match time.split_once('.') {
            Some((_, "")) => return None,
            Some((time, fraction)) => (time, fraction),
            None => (time, ""),
        };
        let second = second_number(parts(time, ':', [2, 2, 2])?)?;
        Some(Self { day, second, micros: micros(fraction)? })
    }
}

/// Reads numbers of exactly these lengths.
fn parts(text: &str, separator: char, lens: [usize; 3]) -> Option<[u16; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split(separator);
    for (number, len) in numbers.iter_mut().zip(lens) {
        let part = parts.next()?;
        let is_number = part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn micros(fraction: &str) -> Option<u32> {
    let is_fraction =
        fraction.len() <= usize::from(DECIMALS_MAX) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(usize::from(DECIMALS_MAX));
    is_fraction.then(|| digits.fold(0, |micros, digit| 10 * micros + u32::from(digit - b'0')))
}

/// Returns the number of a day. `None` if there is no such day.
fn day_number(date: Date) -> Option<u64> {
    let Date { year, month, day } = date;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if year == 0 || year > 9999 || day == 0 || day > days_in_month {
        return None;
    }
    // Years that begin in March have the leap day at their end.
    let (year, month) = if month > 2 {
        (u64::from(year), u64::from(month) - 3)
    } else {
        (u64::from(year) - 1, u64::from(month) + 9)
    };
    let days_before_month = (153 * month + 2) / 5;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + days_before_month + u64::from(day))
}

fn second_number([hour, minute, second]: [u16; 3]) -> Option<u64> {
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then(|| (u64::from(hour) * 60 + u64::from(minute)) * 60 + u64::from(second))
}

/// Returns the key of a date and time. `None` if the column cannot hold the fraction.
pub(super) fn datetime_number(day: u64, second: u64, micros: u32, decimals: u8) -> Option<u64> {
    let unit = micros_a_unit(decimals);
    let units = u64::from(MICROS_A_SECOND / unit);
    (micros < MICROS_A_SECOND && micros.is_multiple_of(unit))
        .then(|| (day * SECONDS_A_DAY + second) * units + u64::from(micros / unit))
}

pub(super) fn datetime_max(decimals: u8) -> u64 {
    datetime_number(DAY_MAX, 0, 0, decimals).unwrap_or(u64::MAX)
}

/// Returns the day of a date without a time.
pub(super) fn date_of_text(text: &[u8]) -> Option<u64> {
    DatetimeLiteral::parse(text).filter(|_| !text.contains(&b' ')).map(|written| written.day)
}

/// Returns the bounds of a DATE that is compared with a literal with a time: a DATE counts as its midnight. The literal may be rounded up to
/// the next day.
pub(super) fn date_bounds(text: &[u8]) -> Option<(u64, u64)> {
    let written = DatetimeLiteral::parse(text)?;
    Some((written.day, written.day + u64::from(written.second > 0 || written.micros > 0)))
}

/// Returns the bounds of a DATETIME. A literal without a time counts as its midnight; one with more fractional digits than the column may
/// be cut, or rounded up.
pub(super) fn datetime_bounds(decimals: u8, text: &[u8]) -> Option<(u64, u64)> {
    let written = DatetimeLiteral::parse(text)?;
    datetimes_around(written.day, written.second, written.micros, decimals)
}

/// Returns the last date and time that the column can hold and that is not after this one, and the first that is not before it.
pub(super) fn datetimes_around(day: u64, second: u64, micros: u32, decimals: u8) -> Option<(u64, u64)> {
    let over = micros % micros_a_unit(decimals);
    let floor = datetime_number(day, second, micros - over, decimals)?;
    Some((floor, floor + u64::from(over > 0)))
}

/// The microseconds of the last of these fractional digits.
fn micros_a_unit(decimals: u8) -> u32 {
    10u32.pow(u32::from(DECIMALS_MAX - decimals.min(DECIMALS_MAX)))
}

pub(super) fn date_of_field(date: Date) -> Option<u64> {
    day_number(date)
}

pub(super) fn datetime_of_field(value: DateTime) -> Option<u64> {
    let second = second_number([value.hour, value.minute, value.second].map(u16::from))?;
    datetime_number(day_number(value.date)?, second, value.micros, value.decimals)
}

/// Returns the bounds of a TIME that is compared with `[-]HH:MM:SS`, with two or three digits of hours. More fractional digits than the
/// column has may be cut, or rounded to either side.
pub(super) fn time_bounds(decimals: u8, text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let (is_negative, length) = match text.strip_prefix('-') {
        Some(length) => (true, length),
        None => (false, text),
    };
    let (length, fraction) = match length.split_once('.') {
        Some((_, "")) => return None,
        Some((length, fraction)) => (length, fraction),
        None => (length, ""),
    };
    let hour_digits = length.find(':').filter(|digits| matches!(digits, 2 | 3))?;
    let [hours, minutes, seconds] = parts(length, ':', [hour_digits, 2, 2])?.map(i64::from);
    if hours > TIME_HOURS_MAX || minutes > 59 || seconds > 59 {
        return None;
    }
    let whole = (hours * 60 + minutes) * 60 + seconds;
    let micros = whole * i64::from(MICROS_A_SECOND) + i64::from(micros(fraction)?);
    // After the last second the servers cut in different ways.
    let is_cut = hours == TIME_HOURS_MAX && (minutes, seconds) == (59, 59) && !fraction.is_empty();
    if is_cut || is_negative && micros == 0 {
        return None;
    }
    let micros = if is_negative { -micros } else { micros };
    let over = micros.rem_euclid(i64::from(micros_a_unit(decimals)));
    let floor = time_number(micros - over, decimals)?;
    Some((floor, floor + u64::from(over > 0)))
}

pub(super) fn time_of_field(value: Time) -> Option<u64> {
    time_number(value.micros, value.decimals)
}

/// Returns the key of a time. `None` if the column cannot hold the fraction.
fn time_number(micros: i64, decimals: u8) -> Option<u64> {
    let unit = i64::from(micros_a_unit(decimals));
    (micros % unit == 0).then(|| u64::try_from(micros / unit + TIME_BIAS).ok()).flatten()
}

/// Returns a year of four digits within the type's range, as a number or as a text.
pub(super) fn year_of_datum(datum: &Datum) -> Option<u64> {
    let year = match datum {
        Datum::Int(year) => u64::try_from(*year).ok()?,
        Datum::Text(text) | Datum::Shown(text) if text.len() == 4 && text.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(text).ok()?.parse().ok()?
        }
        _ => return None,
    };
    (YEAR_MIN..=YEAR_MAX).contains(&year).then_some(year)
}
